"""The workbench for circuits: what is counted, weighed, drawn and decided, next to independent counters and libraries.

1. Random CNFs of up to 60 variables: counts, weighted counts, marginals (as differences of conditioned counts), most
   probable explanations and samples of every language, against a counter of a page below (DPLL with components), truth
   tables up to 12 variables, python-nnf (its own reader and counter of what dsharp writes) and pyeda (its own BDDs).
2. Random 3-CNF (20 variables, 91 clauses, as uf20 is) and flat graph colouring (30 vertices, 60 edges, 3 colours), made
   by a seeded script: seconds and sizes in each language, next to dd, PySDD and dsharp alone on the same clauses.
   dd alone conjoins clauses as they come, in our order of variables; PySDD alone reads the file, on its own balanced
   vtree over that order.
3. Samples of 50 circuits, by a chi-square test at 0.001; entropy, divergence and information, against enumeration.
4. Relevance of every variable of an SDD of 500 variables and 5,000 nodes, at a model and at another point.
5. Bad input: one sentence each.

    python benchmarks/workbench.py [--quick]

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.cnf import _program
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.families.force import force_order
from benchmarks.provenance import save, stamp
from tests.circuits.test_information import listed_divergence, listed_entropy, random_vtree, table
from tests.support.random_clauses import models, random_clauses
from tests.support.random_psdds import deterministic_psdd

Clauses = list[tuple[int, ...]]


class Judge:
    """Sums and maxima over the models of clauses, by splitting and components; shares no code with the library."""

    def __init__(self, worths: dict[int, tuple[Any, Any]], plus: Callable[[Any, Any], Any]) -> None:
        self.worths, self.plus, self.known = worths, plus, dict[Any, Any]()

    def value(self, clauses: frozenset[frozenset[int]], variables: frozenset[int]) -> Any:
        if frozenset() in clauses:
            return 0
        found: Any = 1
        met = set[int]()
        for part in self.components(clauses):
            own = frozenset(abs(x) for clause in part for x in clause)
            met |= own
            key = part
            if key not in self.known:
                self.known[key] = self.split(part, own)
            found *= self.known[key]
        for v in variables - met:
            found *= self.plus(*self.worths[v])
        return found

    def split(self, clauses: frozenset[frozenset[int]], own: frozenset[int]) -> Any:
        often = Counter(abs(x) for clause in clauses for x in clause)
        v = max(often, key=lambda u: (often[u], -u))
        rest = own - {v}
        sides = [self.worths[v][x > 0] * self.value(self.given(clauses, x), rest) for x in (v, -v)]
        return self.plus(*sides)

    @staticmethod
    def given(clauses: frozenset[frozenset[int]], x: int) -> frozenset[frozenset[int]]:
        return frozenset(clause - {-x} for clause in clauses if x not in clause)

    @staticmethod
    def components(clauses: frozenset[frozenset[int]]) -> Iterator[frozenset[frozenset[int]]]:
        at: dict[int, list[frozenset[int]]] = {}
        for clause in clauses:
            for x in clause:
                at.setdefault(abs(x), []).append(clause)
        left = set(clauses)
        while left:
            stack, part = [left.pop()], set()
            while stack:
                clause = stack.pop()
                part.add(clause)
                fresh = {c for x in clause for c in at[abs(x)]} & left
                left -= fresh
                stack += fresh
            yield frozenset(part)


def judged(clauses: Clauses, n: int, worths: dict[int, tuple[Any, Any]], plus: Callable[[Any, Any], Any]) -> Any:
    return Judge(worths, plus).value(frozenset(map(frozenset, clauses)), frozenset(range(1, n + 1)))


def by_nnf(clauses: Clauses, n: int) -> int:
    from nnf import And, Or, Var, dsharp

    sentence = And({Or({Var(abs(x), x > 0) for x in clause}) for clause in clauses})
    made = dsharp.compile(sentence, executable=str(_program()), smooth=True)
    if not made.satisfiable():
        return 0
    return int(made.model_count()) << (n - len(made.vars()))


def by_pyeda(clauses: Clauses, n: int) -> int:
    from pyeda.inter import And, Or, expr2bdd, exprvar

    made = expr2bdd(And(*[Or(*[exprvar(f"x{x}") if x > 0 else ~exprvar(f"x{-x}") for x in c]) for c in clauses]))
    # What it lists, and counts, are cubes: variables that do not matter are left out.
    return sum(1 << (n - len(cube)) for cube in made.satisfy_all())


def random_cnf(rng: Random) -> tuple[int, Clauses]:
    n = rng.randint(3, 60)
    clauses = random_clauses(rng, n, rng.randint(n // 2, int(1.25 * n) if n > 25 else 3 * n))
    return n, [c for c in dict.fromkeys(clauses) if len(c) > 1] or [(1, 2)]


def check_cnf(rng: Random, number: int) -> dict[str, Any]:
    n, clauses = random_cnf(rng)
    weights = {v: (Fraction(rng.randint(0, 9), 7), Fraction(rng.randint(1, 9), 5)) for v in range(1, n + 1)}  # of 0, 1
    problem = ax.CountingProblem(n, tuple(clauses), {v: (one, zero) for v, (zero, one) in weights.items()})
    target = list(TARGETS)[number % 4]
    circuit = ax.compile_cnf(problem, target=target).to_circuit()
    rows = problem.worths
    count = judged(clauses, n, dict.fromkeys(weights, (1, 1)), lambda a, b: a + b)
    total = judged(clauses, n, weights, lambda a, b: a + b)
    best = judged(clauses, n, weights, max)
    found = queries.best_point(circuit, rows)
    agrees = {
        "count": queries.count(circuit) == count,
        "weighted count": queries.weighted_count(circuit, rows) == total == ax.count_models(problem).count,
        "best point": (found is None and not best)
        or (found is not None and found.weight == best and holds(clauses, found.cells)),
    }
    if count:
        agrees["samples"] = all(holds(clauses, x) for x in queries.sample(circuit, 20, "count", seed=number))
        agrees["marginals"] = marginals_agree(rng, circuit, clauses, n, count)
    if n <= 12:
        every = models(n, clauses)
        agrees["truth table"] = len(every) == count and list(queries.cell_models(circuit)) == every
        agrees["pyeda"] = by_pyeda(clauses, n) == count
    agrees["python-nnf"] = by_nnf(clauses, n) == count
    return {"n": n, "clauses": len(clauses), "target": target, "agrees": agrees}


def holds(clauses: Clauses, x: tuple[int, ...]) -> bool:
    return all(any(x[abs(k) - 1] == (k > 0) for k in clause) for clause in clauses)


def marginals_agree(rng: Random, circuit: Circuit, clauses: Clauses, n: int, count: int) -> bool:
    found = queries.marginals(circuit, "count")
    for v in rng.sample(range(1, n + 1), min(n, 4)):
        without = judged([*clauses, (-v,)], n, dict.fromkeys(range(1, n + 1), (1, 1)), lambda a, b: a + b)
        own = queries.count(queries.condition(circuit, {v - 1: 0}), fixed=[v - 1])
        if not found[v - 1][1] == Fraction(count - without, count) == Fraction(count - own, count):
            return False
    return all(sum(row) == 1 for row in found)


def part_cnfs(n: int) -> tuple[list[dict[str, Any]], bool]:
    begin, rows = perf_counter(), [check_cnf(Random(seed), seed) for seed in range(n)]
    checks = Counter(name for row in rows for name in row["agrees"])
    right = Counter(name for row in rows for name, agrees in row["agrees"].items() if agrees)
    print(f"{n} random CNFs, up to {max(r['n'] for r in rows)} variables, {perf_counter() - begin:.0f} s")
    for name, many in checks.items():
        print(f"  {name:16} {right[name]:5} of {many:5} agree")
    return rows, right == checks


def uf(n: int, m: int, seed: int) -> Clauses:
    rng = Random(seed)
    return [tuple(v if rng.random() < 0.5 else -v for v in rng.sample(range(1, n + 1), 3)) for _ in range(m)]


def flat(n: int, edges: int, seed: int, colours: int = 3) -> Clauses:
    """Return the colouring of a random graph that has one: edges join vertices of different hidden colours."""
    rng, k = Random(seed), colours
    hidden = [rng.randrange(k) for _ in range(n)]
    pairs = rng.sample([(a, b) for a in range(n) for b in range(a) if hidden[a] != hidden[b]], edges)
    some = [tuple(v * k + c + 1 for c in range(k)) for v in range(n)]
    one = [(-(v * k + c + 1), -(v * k + d + 1)) for v in range(n) for c in range(k) for d in range(c)]
    return some + one + [(-(a * k + c + 1), -(b * k + c + 1)) for a, b in pairs for c in range(k)]


@contextmanager
def silence() -> Iterator[None]:
    """PySDD prints from C."""
    sys.stdout.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def dimacs(clauses: Clauses, n: int) -> str:
    return f"p cnf {n} {len(clauses)}\n" + "".join(" ".join(map(str, c)) + " 0\n" for c in clauses)


def dd_alone(clauses: Clauses, n: int, order: list[int]) -> int:
    from dd.cudd import BDD

    manager = BDD()
    manager.configure(reordering=False)
    manager.declare(*(f"x{i + 1}" for i in order))
    found = manager.true
    for clause in clauses:
        part = manager.false
        for x in clause:
            part |= manager.var(f"x{x}") if x > 0 else ~manager.var(f"x{-x}")
        found &= part
    return len(found)


def pysdd_alone(clauses: Clauses, n: int, order: list[int]) -> int:
    from pysdd.sdd import SddManager, Vtree

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.cnf")
        path.write_text(dimacs(clauses, n))
        manager = SddManager.from_vtree(Vtree(var_count=n, var_order=[i + 1 for i in order], vtree_type="balanced"))
        manager.auto_gc_and_minimize_off()
        with silence():
            return int(manager.read_cnf_file(str(path).encode()).size())


def dsharp_alone(clauses: Clauses, n: int, order: list[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path, made = Path(folder, "a.cnf"), Path(folder, "a.nnf")
        path.write_text(dimacs(clauses, n))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([str(_program()), "-Fnnf", str(made), str(path)], cwd=folder, check=False, **quiet)
        return int(made.read_text().split()[1])


ALONE = {
    "obdd": ("dd", dd_alone),
    "sdd": ("PySDD", pysdd_alone),
    "ddnnf": ("dsharp", dsharp_alone),
    "mdd": ("dd", dd_alone),
}


def timed(make: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        made = make()
        seconds.append(perf_counter() - begin)
    return median(seconds), made


def part_languages(n: int) -> tuple[list[dict[str, Any]], bool]:
    sets = {"uf20": [uf(20, 91, s) for s in range(n)], "flat30": [flat(30, 60, s) for s in range(n)]}
    import_module("axfi_kc.circuits.files.nnf_kernels")  # which read circuits, and take a second to load
    ax.compile_cnf(flat(30, 60, n))
    rows, right = [], True
    for name, problems in sets.items():
        print(f"{name}, {len(problems)} problems: language, seconds, size, library alone: seconds, size, ratio")
        counts = dict[int, set[int]]()
        for target, (library, alone) in ALONE.items():
            ours = theirs = 0.0
            sizes, others = [], []
            for k, clauses in enumerate(problems):
                most = max(abs(x) for c in clauses for x in c)
                order = force_order(list(range(most)), [{abs(x) - 1 for x in c} for c in clauses])
                seconds, other = timed(lambda run=alone, c=clauses, m=most, o=order: run(c, m, o), 3)
                theirs += seconds
                others.append(other)
                seconds, made = timed(lambda c=clauses, t=target: ax.compile_cnf(c, target=t), 3)
                ours += seconds
                sizes.append(made.size.edges if target == "sdd" else made.size.nodes)
                counts.setdefault(k, set()).add(made.count())
            row = {"set": name, "target": target, "seconds": ours, "alone": theirs, "ratio": ours / theirs}
            rows.append({**row, "sizes": sizes, "others": others})
            print(
                f"  {target:6} {ours:8.3f} {median(sizes):8.0f}   {library:7} {theirs:8.3f} {median(others):8.0f}"
                f"   {ours / theirs:5.2f}"
            )
            right &= ours <= 1.5 * theirs
        right &= all(len(found) == 1 for found in counts.values())
    return rows, right


def part_samples(n: int) -> tuple[list[dict[str, Any]], bool]:
    from scipy.stats import chi2

    rows = []
    for seed in range(n):
        rng = Random(seed)
        size = rng.randint(3, 7)
        clauses = [c for c in random_clauses(rng, size, rng.randint(1, size)) if len(c) > 1] or [(1, 2)]
        circuit = ax.compile_cnf(ax.CountingProblem.of(clauses, size), target=list(TARGETS)[seed % 4]).to_circuit()
        worths: Any = "count" if seed % 2 else [[rng.randint(1, 4), rng.randint(1, 4)] for _ in range(size)]
        numbers = [[1, 1]] * size if worths == "count" else worths
        weights = {x: math.prod(r[c] for r, c in zip(numbers, x, strict=True)) for x in models(size, clauses)}
        draws, whole = 200 * len(weights), sum(weights.values())
        counts = Counter(queries.sample(circuit, draws, worths, seed=1000 + seed))
        expected = {x: draws * w / whole for x, w in weights.items()}
        statistic = sum((counts[x] - e) ** 2 / e for x, e in expected.items())
        limit = float(chi2.ppf(0.999, max(1, len(weights) - 1)))
        rows.append(
            {
                "seed": seed,
                "statistic": statistic,
                "limit": limit,
                "agrees": statistic <= limit and set(counts) <= set(weights),
            }
        )
    right = sum(row["agrees"] for row in rows)
    print(f"samples of {n} circuits: {right} pass the chi-square test at 0.001")
    return rows, right == n


def part_information(n: int) -> tuple[list[dict[str, Any]], bool]:
    rows, worst = [], 0.0
    for seed in range(n):
        rng = Random(seed)
        size = rng.randint(2, 6)
        tree = random_vtree(rng, size)
        p = deterministic_psdd(rng, tree, size)
        inside = [x for x, w in table(p).items() if w]
        q = deterministic_psdd(rng, tree, size, inside if seed % 3 else None)
        one, two = table(p), table(q)
        pairs = [
            (ax.entropy(p), listed_entropy(one.values())),
            (ax.divergence(p, q), listed_divergence(one, two)),
        ]
        for found, expected in pairs:
            error = 0.0 if math.isinf(expected) and float(found) == expected else abs(float(found) - expected)
            worst = max(worst, error)
            rows.append({"seed": seed, "found": float(found), "expected": expected, "agrees": error < 1e-12})
    right = sum(row["agrees"] for row in rows)
    print(
        f"entropy and divergence of {n} pairs of PSDDs: {right} of {len(rows)} equal enumeration, worst {worst:.0e} off"
    )
    return rows, right == len(rows)


def part_relevance() -> tuple[list[dict[str, Any]], bool]:
    rng, n = Random(1), 500
    clauses = []
    for _ in range(570):
        first = rng.randrange(1, n - 4)
        clauses.append(tuple(v if rng.random() < 0.5 else -v for v in rng.sample(range(first, first + 5), 3)))
    begin = perf_counter()
    sdd = ax.compile_cnf(ax.CountingProblem.of(clauses, n), target="sdd", order="given")
    print(
        f"SDD of {n} variables, {sdd.size.nodes:,} nodes, {sdd.size.edges:,} elements ({perf_counter() - begin:.1f} s)"
    )
    instances = {
        "a model": queries.sample(sdd.to_circuit(), 1, "count", seed=0)[0],
        "another point": tuple(rng.randrange(2) for _ in range(n)),
    }
    ax.relevance(sdd, instances["a model"], budget=ax.Budget(nodes=1))  # loads the kernels
    rows = []
    for name, x in instances.items():
        begin = perf_counter()
        found = ax.relevance(sdd, x)
        seconds = perf_counter() - begin
        rows.append({"instance": name, "seconds": seconds, "relevant": len(found.relevant), "nodes": sdd.size.nodes})
        print(
            f"  {name:14} {len(found.relevant):4} relevant, {len(found.necessary):4} necessary, "
            f"{len(found.unavoidable):3} unavoidable, {len(found.undecided)} undecided  {seconds:6.2f} s"
        )
        if found.undecided or seconds > 10:
            return rows, False
    return rows, True


def part_bad_input() -> tuple[list[dict[str, Any]], bool]:
    circuit = ax.compile_cnf([(1, 2)], target="mdd").to_circuit()
    calls: dict[str, Callable[[], Any]] = {
        "worths that do not fit": lambda: queries.marginals(circuit, [[1, 2]]),
        "evidence against the circuit": lambda: queries.marginals(circuit, given={0: [0], 1: [0]}),
        "no best points": lambda: queries.best_points(circuit, 0),
        "no seed": lambda: queries.sample(circuit, 1, seed=None),  # type: ignore[arg-type]
        "a feature on both sides": lambda: ax.mutual_information(circuit, [0], [0]),
        "two grids": lambda: ax.divergence(circuit, ax.compile_cnf([(1, 3)], target="mdd").to_circuit()),
        "a literal 0": lambda: ax.count_models([(1, 0)]),
        "no such route": lambda: ax.count_models([(1, 2)], via="z3"),
        "no such language": lambda: ax.compile_cnf([(1, 2)], target="bdd"),
        "no circuit": lambda: ax.relevance("sdd", (0, 1)),  # type: ignore[arg-type]
        "no domain": lambda: ax.size_study({"a": lambda p: 1}),
    }
    rows = []
    for name, call in calls.items():
        try:
            call()
            message = ""
        except ax.AxfiError as error:
            message = str(error)
        is_one = message.endswith((".", ")")) and ". " not in message and "\n" not in message
        rows.append({"what": name, "message": message, "agrees": is_one})
        print(f"  {name:28} {message}")
    return rows, all(row["agrees"] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 CNFs and 3 problems of each set")
    options = parser.parse_args()
    many, few = (100, 3) if options.quick else (1000, 10)
    parts = {
        "cnfs": lambda: part_cnfs(many),
        "languages": lambda: part_languages(few),
        "samples": lambda: part_samples(50),
        "information": lambda: part_information(50),
        "relevance": part_relevance,
        "bad input": part_bad_input,
    }
    found, wrong = {}, []
    for name, part in parts.items():
        rows, right = part()
        found[name] = rows
        wrong += [] if right else [name]
    print(f"not as it should be: {', '.join(wrong)}" if wrong else "all as it should be")
    packages = ("axfi-kc", "dd", "PySDD", "problog", "nnf", "pyeda", "numpy")
    print("wrote", save("workbench", {**stamp(packages), "parts": found}))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
