"""Circuits there and back: every function, every file, and what the way costs next to the library alone.

(1) All 256 Boolean functions of three variables and 500 random ones, with unused variables first, last and between:
each goes in memory to dd (CUDD and Python), PySDD, networkx and clauses and back, and into files that dd, PySDD and
dsharp read themselves; what they read is compared with the function that the library makes of the points.
(2) Operations on OBDDs and SDDs of random 3-CNF next to those of dd and PySDD alone on the same diagrams, each pair of
operands once, so that nobody's cache helps; medians. (3) A diagram read into a circuit, and back, next to dd's copy
into another manager (compiled code) and to its own way out of the manager, JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from itertools import product
from operator import and_, or_
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, flat_of
from axfi_kc.circuits.files import compile_with_dsharp, load_circuit, save_circuit
from axfi_kc.circuits.files.cnf import write_cnf
from axfi_kc.circuits.queries.truth_kernels import truths_at
from axfi_kc.circuits.targets import obdd_of, sdd_of
from axfi_kc.circuits.targets.bit_codes import balanced

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp

SEED = 19
NAMES = ("first", "x", "between", "y", "z", "last")
MANY = tuple(f"v{k}" for k in range(8))
Points = list[tuple[int, ...]]


def spread(table: int, used: tuple[int, ...], n: int) -> Points:
    true = {row for k, row in enumerate(product((0, 1), repeat=len(used))) if table >> k & 1}
    return [p for p in product((0, 1), repeat=n) if tuple(p[i] for i in used) in true]


def functions(n_random: int) -> Iterator[tuple[tuple[str, ...], Points]]:
    for table in range(256):
        yield NAMES, spread(table, (1, 3, 4), 6)
    rng = random.Random(SEED)
    for _ in range(n_random):
        used = tuple(sorted(rng.sample(range(8), rng.randint(1, 5))))
        yield MANY, spread(rng.getrandbits(2 ** len(used)), used, 8)


def truth(names: tuple[str, ...], points: Points) -> Circuit:
    true = set(points)
    return ax.from_truth_table([p in true for p in product((0, 1), repeat=len(names))], names=names)


def held(circuit: Circuit) -> Points:
    everything = np.array(list(product((0, 1), repeat=len(circuit.grid.axes))))
    return list(map(tuple, everything[truths_at(flat_of(circuit), everything).astype(bool)].tolist()))


def is_back(circuit: Circuit, names: tuple[str, ...], points: Points) -> bool:
    return circuit.grid.domain.names == names and held(circuit) == points


def in_dd(manager: Any, names: tuple[str, ...], points: Points) -> Any:
    cubes = [manager.cube(dict(zip(names, map(bool, p), strict=True))) for p in points]
    return reduce(or_, cubes, manager.false)


def in_pysdd(manager: Any, points: Points) -> Any:
    terms = [reduce(and_, [manager.literal(k if v else -k) for k, v in enumerate(p, 1)]) for p in points]
    return reduce(or_, terms, manager.false())


def dd_routes(name: str) -> dict[str, Callable[[Circuit, tuple[str, ...], Points, Path], bool]]:
    """Return what is checked with one of dd's managers: objects, and files that it reads itself."""
    from importlib import import_module

    module, managers = import_module(f"dd.{name}"), dict[tuple[str, ...], Any]()

    def manager_of(names: tuple[str, ...]) -> Any:
        if names not in managers:
            managers[names] = module.BDD()
            managers[names].declare(*names)
        return managers[names]

    def objects(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
        node = circuit.to_dd(manager_of(names))
        return node == in_dd(manager_of(names), names, points) and is_back(ax.from_dd(node), names, points)

    def files(suffix: str) -> Callable[[Circuit, tuple[str, ...], Points, Path], bool]:
        def read(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
            save_circuit(obdd_of(circuit), file := folder / f"a{suffix}")
            (node,) = manager_of(names).load(str(file))
            return node == in_dd(manager_of(names), names, points) and is_back(load_circuit(file), names, points)

        return read

    found = {f"dd.{name}, nodes": objects, f"dd.{name} reads .json": files(".json")}
    return found | ({"dd.cudd reads .dddmp": files(".dddmp")} if name == "cudd" else {})


def pysdd_objects(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    from pysdd.sdd import SddManager

    manager = SddManager(var_count=len(names))
    node = circuit.to_pysdd(manager)
    return node == in_pysdd(manager, points) and is_back(ax.from_pysdd(node, names=names), names, points)


def pysdd_files(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    from pysdd.sdd import SddManager, Vtree

    save_circuit(sdd_of(circuit, vtree=("right", "balanced")[len(points) % 2]), file := folder / "a.sdd")
    manager = SddManager.from_vtree(Vtree.from_file(str(file.with_suffix(".vtree"))))
    read = manager.read_sdd_file(str(file).encode())
    return read == in_pysdd(manager, points) and is_back(load_circuit(file), names, points)


def graphs(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    forms = (circuit, obdd_of(circuit), sdd_of(circuit, vtree="balanced"))
    return all(is_back(ax.from_networkx(form.to_networkx()), names, points) for form in forms)


def clauses(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    return is_back(ax.from_cnf(circuit.to_cnf()), names, points)


def nnf_files(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    save_circuit(circuit, folder / "a.nnf")
    return is_back(load_circuit(folder / "a.nnf"), names, points)


def dsharp_files(circuit: Circuit, names: tuple[str, ...], points: Points, folder: Path) -> bool:
    variables = write_cnf(circuit, folder / "a.cnf")
    return is_back(compile_with_dsharp(folder / "a.cnf", variables=variables), names, points)


def there_and_back(n_random: int, step: int) -> list[dict[str, Any]]:
    routes = {**dd_routes("cudd"), **dd_routes("autoref")} if _has_cudd() else dd_routes("autoref")
    routes |= {"PySDD, nodes": pysdd_objects, "PySDD reads .sdd": pysdd_files, "networkx": graphs}
    routes |= {"clauses": clauses, ".nnf": nnf_files, "dsharp reads .cnf": dsharp_files}
    given = list(functions(n_random))[::step]
    rows = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # dd's JSON makes a folder where it is run
        for name, route in routes.items():
            begin = perf_counter()
            right = sum(route(truth(*function), *function, Path(folder)) for function in given)
            seconds = perf_counter() - begin
            rows.append({"route": name, "functions": len(given), "the same": right, "seconds": round(seconds, 2)})
            print(f"{name:24s} {right:4d} of {len(given)} functions the same, {seconds:6.1f} s", flush=True)
    return rows


def _has_cudd() -> bool:
    try:
        import dd.cudd  # noqa: F401
    except ImportError:
        return False
    return True


def random_cnf(n: int, m: int, rng: random.Random) -> list[tuple[int, ...]]:
    return [tuple(rng.choice((-1, 1)) * v for v in rng.sample(range(1, n + 1), 3)) for _ in range(m)]


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = perf_counter()
    found = work()
    return perf_counter() - begin, found


def compared(name: str, pairs: Iterable[tuple[Callable[[], Any], Callable[[], Any]]]) -> dict[str, Any]:
    """Print and return the median times of ours and theirs, which are run in turns."""
    times = []
    for ours, theirs in pairs:
        alone, kept = seconds_of(theirs)
        own, made = seconds_of(ours)
        times.append((own, alone))
        del kept, made
    own, alone = (median(column) for column in zip(*times, strict=True))
    ratio = median(a / b for a, b in times)
    print(f"{name:46s} {1e3 * own:9.2f} ms  alone {1e3 * alone:9.2f} ms  ratio {ratio:5.2f}", flush=True)
    return {"operation": name, "axfi_kc": own, "library": alone, "ratio": round(ratio, 2)}


def cnfs(n: int, repeats: int) -> list[tuple[Circuit, Circuit]]:
    rng, names = random.Random(SEED), [f"x{k}" for k in range(1, n + 1)]
    made = [ax.from_cnf(random_cnf(n, n, rng), names=names) for _ in range(2 * repeats)]
    return list(zip(made[::2], made[1::2], strict=True))


def obdd_operations(n: int, repeats: int) -> list[dict[str, Any]]:
    """Return times of operations on the same diagrams in a manager of ours and in one of theirs."""
    first = obdd_of(cnfs(n, 1)[0][0], order=range(n))
    theirs = type(first.root.bdd)()
    theirs.configure(reordering=False)
    theirs.declare(*first.grid.domain.names)
    rows, exists = [], ax.operations.exists
    some = range(n // 2, n // 2 + 3)
    work: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
        "obdd: a & b": (and_, and_),
        "obdd: a | b": (or_, or_),
        "obdd: a ^ b": (lambda a, b: a ^ b, lambda u, v: theirs.apply("xor", u, v)),
        "obdd: exists of 3": (
            lambda a, b: exists(a, some),
            lambda u, v: theirs.exist([f"x{k + 1}" for k in some], u),
        ),
    }
    for name, (ours, alone) in work.items():
        operands = [
            ((obdd_of(a, beside=first), obdd_of(b, beside=first)), (a.to_dd(theirs), b.to_dd(theirs)))
            for a, b in cnfs(n, repeats)
        ]
        pairs = ((lambda p=p, f=ours: f(*p), lambda q=q, f=alone: f(*q)) for p, q in operands)
        rows.append(compared(name, pairs))
        first, theirs = _emptied(first, theirs)
    return rows


def _emptied(obdd: Any, manager: Any) -> tuple[Any, Any]:
    """Return new managers of the same kinds, without what the old ones remember."""
    fresh = type(manager)()
    fresh.configure(reordering=False)
    fresh.declare(*obdd.grid.domain.names)
    return obdd_of(obdd.to_circuit(), order=range(len(obdd.grid.axes))), fresh


def reading(n: int, repeats: int) -> list[dict[str, Any]]:
    """Return times of diagrams read into circuits and made again, next to dd's copy and dd's JSON."""
    from dd._copy import copy_bdd

    obdd = obdd_of(cnfs(n, 1)[0][0], order=range(n))
    root, circuit, manager = obdd.root, obdd.to_circuit(), type(obdd.root.bdd)
    bits, names = [bit.name for bit in obdd.bits], circuit.grid.domain.names

    def declared(names: Iterable[str]) -> Any:
        made = manager()
        made.declare(*names)
        return made

    def dumped() -> None:
        with tempfile.TemporaryDirectory() as folder:
            root.bdd.dump(os.path.join(folder, "a.json"), [root])

    def turns(ours: Callable[[Any], Any]) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
        for _ in range(repeats):
            theirs, other = declared(bits), declared(names)  # making a manager is no part of either
            yield partial(ours, other), partial(copy_bdd, root, theirs)

    print(f"an OBDD of {obdd.size.nodes} nodes")
    return [
        compared("from_dd (alone: dd's copy)", turns(lambda _: ax.from_dd(root))),
        compared("from_dd (alone: dd writes JSON)", [(lambda: ax.from_dd(root), dumped)] * repeats),
        compared("to_dd (alone: dd's copy)", turns(circuit.to_dd)),
    ]


def sdd_operations(n: int, repeats: int) -> list[dict[str, Any]]:
    from pysdd.sdd import SddManager

    first = cnfs(n, 1)[0][0].compile("sdd", vtree="balanced")
    theirs = SddManager.from_vtree(first.manager.vtree())
    print(f"SDDs like one of {first.size.edges} elements")
    rows = []
    for name, join in (("sdd: a & b", and_), ("sdd: a | b", or_)):
        operands = [
            ((sdd_of(a, beside=first), sdd_of(b, beside=first)), (a.to_pysdd(theirs), b.to_pysdd(theirs)))
            for a, b in cnfs(n, repeats)
        ]
        rows.append(compared(name, ((lambda p=p, f=join: f(*p), lambda q=q, f=join: f(*q)) for p, q in operands)))

    def alone(clauses: Any) -> Any:
        fresh = SddManager.from_vtree(first.manager.vtree())
        return balanced([reduce(or_, map(fresh.literal, c)) for c in clauses], and_, fresh.true())  # the same plan

    rng, names = random.Random(SEED), first.grid.domain.names
    given = [random_cnf(n, n, rng) for _ in range(repeats)]
    circuits = [ax.from_cnf(clauses, names=names) for clauses in given]
    vtree = first.manager.vtree
    pairs = (
        (lambda c=c: c.to_pysdd(SddManager.from_vtree(vtree())), lambda k=k: alone(k))
        for c, k in zip(circuits, given, strict=True)
    )
    rows.append(compared("to_pysdd of clauses (alone: the same joins)", pairs))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="every tenth function, smaller diagrams, no file")
    quick = parser.parse_args().quick
    rows = there_and_back(500, 10 if quick else 1)
    size, repeats = (20, 3) if quick else (28, 9)
    timed = [*obdd_operations(size, repeats), *reading(size, repeats), *sdd_operations(size // 2 + 4, repeats)]
    wrong = [row["route"] for row in rows if row["functions"] != row["the same"]]
    print("every function the same on every route" if not wrong else f"DIFFERENT: {wrong}")
    if not quick:
        settings = stamp(("axfi_kc", "dd", "PySDD", "problog", "networkx"), seed=SEED)
        print(save("exchange", {**settings, "routes": rows, "operations": timed}))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
