"""Small changes to the library's own code, to see whether the tests notice them.

    python benchmarks/mutate.py --module axfi_kc.scores.axfi
    python benchmarks/mutate.py --all --results mutants.jsonl
    python benchmarks/mutate.py --again mutants.jsonl --longest 60     # only what survived
    python benchmarks/mutate.py --report mutants.jsonl

`benchmarks/mutants.py` says what a mutant is. The judges are doctests, random problems of `benchmarks/soak.py` against
brute force, and test files with at most 25 examples of each property. Each is first run on the library as it is, for
its time and the lines it reaches. A mutant is then judged, in a forked process, by those that reach its line, those
that noticed most per second first, until one notices or --longest seconds of them have passed. A mutant on a line
that none reaches is "never run"; one for which the compiler makes the same code is "same code". A judge that takes much
longer than before notices too ("time"). Kernels run as Python (NUMBA_DISABLE_JIT), so theirs are like all others.
Results are appended to a file of JSON lines, and what is in there is not run again: a file belongs to one state
of the modules.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.mutants import NAMES, Mutant, live_functions, mutant, places  # noqa: E402

SEEDS = range(140)
ALONE = range(1000, 1350)
EXAMPLES = 25  # of each property, at most
SLOWEST = 1.0  # seconds of a judge; slower ones are left out
TESTS = [
    "tests/families",
    "tests/engines",
    "tests/scores",
    "tests/models/test_tree_sum.py",
    *(
        f"tests/circuits/test_{name}.py"
        for name in (
            "counting",
            "determinism",
            "equivalence",
            "languages",
            "modular",
            "recounting",
            "satisfiability",
            "structure",
            "structure_kernels",
            "transformations",
        )
    ),
    "tests/compilers/test_compile_target.py",
    "tests/compilers/test_compiled_model.py",
    "tests/compilers/test_model_diagrams.py",
    "tests/explanations/test_axioms.py",
    "tests/explanations/test_explanation.py",
    "tests/paper/test_paper.py",
    "tests/test_budgets.py",
    "tests/test_errors.py",
    "tests/test_soak.py",
    "axfi_kc/engines",
    "axfi_kc/families",
    "axfi_kc/circuits/queries",
    "axfi_kc/models",
]
UNTOLD = ("survived", "never run")


def path_of(name: str) -> Path:
    place = ROOT / name.replace(".", "/")
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


@dataclass
class Judge:
    """Something that fails when results are wrong: what it takes, which lines it reaches, and what it noticed."""

    name: str
    stage: str
    passes: Callable[[], bool]
    seconds: float = 0.0
    lines: dict[str, set[int]] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def reaches(self, m: Mutant) -> bool:
        lines = self.lines.get(m.module, ())
        return any(line in lines for line in range(m.first, m.last + 1))

    def noticed(self, module: str, function: str) -> None:
        self.kills.update([module, f"{module} {function}"])

    def promise(self, m: Mutant) -> float:
        """What to expect of a second of this judge: mutants noticed in the same function, and in the module."""
        noticed = 3 * self.kills[f"{m.module} {m.function}"] + self.kills[m.module]
        hope = 3.0 if "mutants" in self.name else 0.3  # those tests go where others do not
        return (noticed + hope) / (self.seconds + 0.01)


def soak_judges() -> list[Judge]:
    """Return the soak's models: each through every target, and more of them through their own engine only."""
    from benchmarks import soak

    def passes(seed: int) -> bool:
        soak.check_seed(seed)
        return True

    def passes_alone(seed: int) -> bool:
        kept = soak.TARGETS, soak.check_circuit
        soak.TARGETS, soak.check_circuit = ("auto",), lambda truth, rng: None
        try:
            return passes(seed)
        finally:
            soak.TARGETS, soak.check_circuit = kept

    alone = [Judge(f"soak {seed} auto", "soak", lambda seed=seed: passes_alone(seed)) for seed in ALONE]
    return alone + [Judge(f"soak {seed}", "soak", lambda seed=seed: passes(seed)) for seed in SEEDS]


def item_judge(item: Any) -> Judge:
    import pytest

    def passes() -> bool:
        try:  # what pytest does, without its reports
            item.ihook.pytest_runtest_setup(item=item)
            item.ihook.pytest_runtest_call(item=item)
            item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
        except pytest.skip.Exception:
            pass
        return True

    return Judge(item.nodeid, "doctests" if item.nodeid.startswith("axfi_kc") else "tests", passes)


def in_child(work: Callable[[], Any], *, seconds: float | None = None) -> tuple[Any, int]:
    """Return what `work` returns in a forked process (None if it fails), and the signal that ended that process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        if seconds is not None:
            limit(seconds)
        try:
            text = json.dumps(work())
        except BaseException:
            text = "null"
        with os.fdopen(write, "w") as stream:
            stream.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text or "null"), os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def limit(seconds: float) -> None:
    """End this process when it has computed for so long, or has waited for much longer."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds + 20)


def timed(judge: Judge) -> float | None:
    """Return the seconds a judge takes; None if it does not pass or is too slow."""

    def work() -> float | None:
        begin = time.process_time()
        return time.process_time() - begin if judge.passes() else None

    return in_child(work, seconds=SLOWEST)[0]


def reached(judge: Judge, modules: dict[str, str]) -> dict[str, list[int]]:
    """Return the lines of the modules' files that a judge reaches."""

    def work() -> dict[str, list[int]]:
        lines: defaultdict[str, set[int]] = defaultdict(set)

        def line(frame: FrameType, event: str, _: Any) -> Any:
            lines[modules[frame.f_code.co_filename]].add(frame.f_lineno)
            return line

        def call(frame: FrameType, event: str, _: Any) -> Any:
            return line if frame.f_code.co_filename in modules else None

        threading.settrace(call)
        sys.settrace(call)
        try:
            judge.passes()
        finally:
            sys.settrace(None)
        return {name: sorted(found) for name, found in lines.items()}

    return in_child(work, seconds=60 * SLOWEST)[0] or {}


def measured(judges: Iterable[Judge], known: Path | None) -> list[Judge]:
    """Return the judges that pass within the time, with their seconds and lines; `known`, JSON lines, keeps these."""
    modules = {str(path_of(name)): name for name in NAMES}
    there = known.read_text().splitlines() if known and known.exists() else []
    notes = {name: (seconds, lines) for name, seconds, lines in map(json.loads, there)}
    kept = []
    for judge in judges:
        if judge.name not in notes:
            seconds = timed(judge)
            notes[judge.name] = seconds, {} if seconds is None else reached(judge, modules)
            if known:
                with known.open("a") as stream:
                    stream.write(json.dumps([judge.name, *notes[judge.name]]) + "\n")
        seconds, lines = notes[judge.name]
        if seconds is None:
            print(f"left out: {judge.name}", flush=True)
            continue
        judge.seconds, judge.lines = seconds, {name: set(found) for name, found in lines.items()}
        kept.append(judge)
    return kept


def chosen(judges: list[Judge], m: Mutant, longest: float) -> list[Judge]:
    """Return judges that reach a mutant's line: for half of `longest` seconds the best ones, then the quick ones."""
    reaching = [j for j in judges if j.reaches(m)]
    best = sorted(reaching, key=lambda j: j.promise(m), reverse=True)
    quick = sorted(reaching, key=lambda j: j.seconds)
    found: dict[str, Judge] = {}
    total = 0.0
    for order, most in ((best, longest / 2), (quick, longest)):
        for judge in order:
            if judge.name not in found and (total + judge.seconds <= most or not found):
                total += judge.seconds
                found[judge.name] = judge
    return list(found.values())


def judged(m: Mutant, judges: list[Judge], live: dict[Any, Any], longest: float) -> tuple[str, str]:
    """Return how a mutant ended, and who noticed it."""
    if not m.code:
        return "same code", ""
    order = chosen(judges, m, longest)
    if not order:
        return "never run", ""
    changed = [(function, code) for key, code in m.code.items() for function in live[key]]
    read, write = os.pipe()  # the number of each judge as it begins: known even when the process is stopped

    def work() -> str:
        for function, code in changed:
            function.__code__ = code
        for number, judge in enumerate(order):
            os.write(write, number.to_bytes(2, "big"))
            limit(0.25 + 3 * judge.seconds)
            try:
                if not judge.passes():
                    return judge.stage
            except BaseException:
                return judge.stage
        return "survived"

    end, stopped = in_child(work)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        begun = stream.read()
    last = order[int.from_bytes(begun[-2:], "big")] if begun else order[0]
    if end == "survived":
        return end, ""
    last.noticed(m.module, m.function)
    return end or ("time" if stopped in (signal.SIGPROF, signal.SIGALRM) else "crash"), last.name


class Mutation:
    """A plugin that runs mutants where pytest would run tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._old = read_results(options.results)

    def pytest_runtestloop(self, session: Any) -> bool:
        options = self._options
        judges = soak_judges() + [item_judge(item) for item in session.items]
        judges = [judge for judge in judges if re.search(options.only, judge.name)]
        gc.collect()
        live = live_functions({name: path_of(name) for name in NAMES})
        gc.freeze()  # forked processes then copy less memory
        begin = time.perf_counter()
        judges = measured(judges, options.lines)
        by_name = {judge.name: judge for judge in judges}
        for one in self._old.values():
            if one["judge"] in by_name:
                by_name[one["judge"]].noticed(one["module"], one["function"])
        total = sum(j.seconds for j in judges)
        print(f"{len(judges)} judges of {total:.0f} s, {time.perf_counter() - begin:.0f} s to measure", flush=True)
        for name in options.module:
            self._run(name, judges, live[name])
        return True

    def _run(self, name: str, judges: list[Judge], live: dict[Any, Any]) -> None:
        options = self._options
        source = path_of(name).read_text()
        everything = range(len(places(ast.parse(source))))
        numbers = sorted(Random(f"{name} {options.seed}").sample(everything, min(options.most, len(everything))))
        begin, ends = time.perf_counter(), Counter()
        for number in numbers:
            old = self._old.get(f"{name} {number}")
            if old and not (options.again and old["end"] in UNTOLD):
                continue
            m = mutant(name, source, number)
            start = time.perf_counter()
            end, judge = judged(m, judges, live, options.longest)
            ends[end] += 1
            self._note(m, end, judge, time.perf_counter() - start)
        seconds = time.perf_counter() - begin
        print(f"{name}: {sum(ends.values())} of {len(everything)}, {dict(ends)}, {seconds:.0f} s", flush=True)

    def _note(self, m: Mutant, end: str, judge: str, seconds: float) -> None:
        found = {"module": m.module, "number": m.number, "function": m.function, "line": m.line, "what": m.what}
        with self._options.results.open("a") as stream:
            stream.write(json.dumps(found | {"end": end, "judge": judge, "seconds": round(seconds, 3)}) + "\n")


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Return what is known of each mutant: the last line about it."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = map(json.loads, lines)
    return {f"{one['module']} {one['number']}": one for one in found}


def report(path: Path) -> None:
    """Print a row per module, and what survived."""
    stages = ("doctests", "soak", "tests", "time", "crash", "same code", "never run", "survived")
    rows = read_results(path)
    print(f"| module | mutants | {' | '.join(stages)} |\n{'|---' * (len(stages) + 2)}|")
    for name in [*dict.fromkeys(one["module"] for one in rows.values()), "all"]:
        ends = Counter(one["end"] for one in rows.values() if name in (one["module"], "all"))
        print(f"| `{name}` | {ends.total()} | {' | '.join(str(ends[s] or '') for s in stages)} |")
    for one in rows.values():
        if one["end"] in UNTOLD:
            print(
                f"{one['module']} #{one['number']} {one['function']} line {one['line']}: {one['what']}  [{one['end']}]"
            )
    for end in stages:
        took = [one["seconds"] for one in rows.values() if one["end"] == end]
        if took:
            print(f"{end}: {len(took)} mutants, {sum(took) / len(took):.2f} s each")


def shorten_properties() -> None:
    """Let every property try a few examples only, always the same, and stop at the first failure."""
    import hypothesis

    begin = hypothesis.settings.__init__
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    fixed = {"phases": phases, "database": None, "deadline": None, "derandomize": True}

    def capped(self: Any, *arguments: Any, **options: Any) -> None:
        options |= fixed | {"suppress_health_check": list(hypothesis.HealthCheck)}
        options["max_examples"] = min(options.get("max_examples") or EXAMPLES, EXAMPLES)
        begin(self, *arguments, **options)

    hypothesis.settings.__init__ = capped
    hypothesis.settings.register_profile("mutants", hypothesis.settings(max_examples=EXAMPLES))
    hypothesis.settings.load_profile("mutants")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", choices=NAMES, action="append", default=[], metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every module listed in this file")
    parser.add_argument("--most", type=int, default=1_000_000, help="mutants per module [all]")
    parser.add_argument("--seed", type=int, default=0, help="of the sample [%(default)s]")
    parser.add_argument("--longest", type=float, default=8, help="seconds of judges for a mutant [%(default)s]")
    parser.add_argument("--only", default="", metavar="REGEX", help="judges with such names [all]")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"), help="where to append [%(default)s]")
    parser.add_argument("--lines", type=Path, help="where to keep which lines each judge reaches")
    parser.add_argument("--again", type=Path, metavar="FILE", help="run what survived in FILE again, and append there")
    parser.add_argument("--report", type=Path, metavar="FILE", help="print what is in FILE, and run nothing")
    options = parser.parse_args(arguments)
    if options.report:
        report(options.report)
        return 0
    if options.again:
        options.results = options.again
        options.module = options.module or sorted({one["module"] for one in read_results(options.again).values()})
    options.module = NAMES if options.all else options.module
    os.chdir(ROOT)
    import numpy as np
    import pytest

    np.seterr(all="ignore")  # kernels wrap around on purpose
    shorten_properties()
    for package in ("numba", "networkx", "pandas", "sklearn.tree", "dd.autoref", "pysdd.sdd", *NAMES):
        importlib.import_module(package)
    flags = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:logging", "--no-header", "-W", "ignore"]
    there = [test for test in [*TESTS, *map(str, sorted(Path("axfi_kc").glob("*.py")))] if Path(test).exists()]
    return int(pytest.main([*flags, "-m", "not slow and not orange", *there], plugins=[Mutation(options)]))


if __name__ == "__main__":
    sys.exit(main())
