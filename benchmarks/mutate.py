"""Small changes to the library's own code, to see whether the tests notice them.

    python benchmarks/mutate.py --module axfi_kc.scores --most 40
    python benchmarks/mutate.py --all --most 20

A mutant is a module with one changed operator, comparison, condition or constant, or without one statement.
Each runs in a forked process: first the module's doctests and some dozens of random problems of
`benchmarks/soak.py` against brute force, then, if those notice nothing, the module's own test files, with
at most 25 examples of each property. One that
passes everything survives and is listed with its line; docs/mutation.md says why. A mutant that loops is stopped
after --seconds and counts as noticed. With --most, a seeded sample of the mutants of a module.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import importlib.abc
import importlib.util
import io
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import save, stamp  # noqa: E402

SEEDS = range(49)
EXAMPLES = 25  # of each property, at most
# the tests of each module beside the soak
TESTS: dict[str, list[str]] = {
    "axfi_kc.scores": [
        "tests/unit/test_mutants.py",
        "tests/properties/test_explanations.py",
        "tests/properties/test_families.py",
    ],
    "axfi_kc.family_scores": ["tests/properties/test_families.py"],
    "axfi_kc.sets": ["tests/unit/test_mutants.py", "tests/properties/test_families.py"],
    "axfi_kc.queries.totals": ["tests/unit/test_queries.py", "tests/unit/test_queries_map.py"],
    "axfi_kc.queries.shares": ["tests/unit/test_queries.py", "tests/unit/test_queries_map.py"],
    "axfi_kc.engines.boxes": ["tests/unit/test_mutants.py", "tests/properties/test_explanations.py"],
    "axfi_kc.engines.families": ["tests/properties/test_explanations.py", "tests/properties/test_linear.py"],
    "axfi_kc.engines.diagrams": ["tests/properties/test_diagrams.py"],
    "axfi_kc.engines.ordered_diagrams": ["tests/properties/test_diagrams.py"],
    "axfi_kc.engines.linear_weights": ["tests/properties/test_linear.py"],
    "axfi_kc.engines.covers": ["tests/properties/test_linear.py"],
    "axfi_kc.families.set_families": ["tests/properties/test_families.py"],
    "axfi_kc.families.weighted": ["tests/properties/test_families.py", "tests/properties/test_diagrams.py"],
    "axfi_kc.families.games": ["tests/properties/test_families.py"],
}
SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what can be changed within functions: a node, and how."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _within(statement)


def _within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.ClassDef):
        return  # messages are no results; functions within are visited on their own
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # a guard against mistakes of our own, without effect while there are none
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield node, "operator"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield node, "comparison"
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node, "condition"
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, "constant"
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield node, "dropped"
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield from _within(child)


def mutated(source: str, number: int) -> tuple[ast.Module, str]:
    """Return the module with place `number` changed, and what was changed."""
    tree = ast.parse(source)
    node, how = list(places(tree))[number]
    before = ast.unparse(node).splitlines()[0]
    if how == "operator":
        node.op = SWAPS[type(node.op)]()
    elif how == "comparison":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif how == "condition":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif how == "constant":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        for parent in ast.walk(tree):
            for _, value in ast.iter_fields(parent):
                if isinstance(value, list) and node in value:
                    value[value.index(node)] = ast.Pass()
    after = "(dropped)" if how == "dropped" else ast.unparse(node).splitlines()[0]
    return ast.fix_missing_locations(tree), f"line {node.lineno}: {before}  ->  {after}"


class _Loader(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Gives one module other code; its file stays as it is."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(compile(self._tree, str(self._path), "exec"), module.__dict__)


def _noticed(name: str, tests: list[str]) -> str:
    """Return which tests notice the mutant; "" if none does."""
    try:
        if doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed:
            return "doctests"
        from benchmarks import soak

        for seed in SEEDS:
            soak.check_seed(seed)
    except BaseException:
        return "soak"
    import pytest

    _shorten_properties()
    arguments = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--no-header",
        "-m",
        "not slow",
        "-W",
        "ignore",
    ]
    return "tests" if pytest.main([*arguments, *tests]) else ""


def _shorten_properties() -> None:
    """Let every property try a few examples only: one mutant should take seconds."""
    import hypothesis

    begin = hypothesis.settings.__init__

    def capped(self: Any, *arguments: Any, **options: Any) -> None:
        options["max_examples"] = min(options.get("max_examples") or EXAMPLES, EXAMPLES)
        begin(self, *arguments, **options)

    hypothesis.settings.__init__ = capped


def verdict(name: str, path: Path, tree: ast.Module, tests: list[str], seconds: float) -> str:
    """Return how a mutant ended: "doctests", "soak", "tests", "time" or "survived"."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(read)
        sys.meta_path.insert(0, _Loader(name, path, tree))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            try:
                found = _noticed(name, tests) or "survived"
            except BaseException:
                found = "tests"
        os.write(write, found.encode())
        os._exit(0)
    os.close(write)
    os.set_blocking(read, False)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    try:
        found = os.read(read, 100).decode()
    except BlockingIOError:
        found = ""
    os.close(read)
    return found or ("time" if time.monotonic() > end else "crash")


def run(name: str, *, most: int, seed: int, seconds: float) -> dict[str, Any]:
    path = ROOT / (name.replace(".", "/") + ".py")
    source = path.read_text()
    everything = range(len(list(places(ast.parse(source)))))
    chosen = sorted(Random(f"{name} {seed}").sample(everything, min(most, len(everything))))
    ends: Counter[str] = Counter()
    survivors = []
    if verdict(name, path, ast.parse(source), TESTS[name], seconds) != "survived":
        raise SystemExit(f"{name} fails its tests without any change")
    for number in chosen:
        tree, what = mutated(source, number)
        end = verdict(name, path, tree, TESTS[name], seconds)
        ends[end] += 1
        if end == "survived":
            survivors.append(what)
            print(f"  {name} #{number} survived, {what}", flush=True)
    print(f"{name}: {len(chosen)} of {len(everything)} mutants, {dict(ends)}", flush=True)
    return {"module": name, "mutants": len(chosen), "of": len(everything), "ends": dict(ends), "survivors": survivors}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", choices=TESTS, action="append", default=[])
    parser.add_argument("--all", action="store_true", help="every module that has tests listed here")
    parser.add_argument("--most", type=int, default=1_000_000, help="mutants per module [all]")
    parser.add_argument("--seed", type=int, default=0, help="of the sample [%(default)s]")
    parser.add_argument("--seconds", type=float, default=180, help="the longest one mutant may take [%(default)s]")
    options = parser.parse_args(arguments)
    for package in ("numba", "networkx", "pandas", "pytest", "hypothesis", "dd.autoref", "pysdd"):
        importlib.import_module(package)  # once, before forking; nothing of the library itself
    os.chdir(ROOT)
    names = list(TESTS) if options.all else options.module
    results = [run(name, most=options.most, seed=options.seed, seconds=options.seconds) for name in names]
    save("mutation", stamp((), most=options.most, seed=options.seed) | {"modules": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
