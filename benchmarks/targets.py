"""Target languages side by side: sizes and speeds on the complete diagram of one boosted ensemble.

The diagram of XGBoost on Pima goes into every target, under each code and in two orders; seconds of the
processor to make it, to lead it back to a circuit and to count (here: the probability, as features are real).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import axfi_kc as ax
from axfi_kc.circuit import Circuit
from axfi_kc.targets import CODES, Mdd, mdd_of, reordered, sifted, target_of
from benchmarks.boosted import Case, trained
from benchmarks.provenance import save, stamp

T = TypeVar("T")


def timed(function: Callable[[], T]) -> tuple[T, float]:
    start = process_time()
    found = function()
    return found, process_time() - start


def measure(label: str, name: str, circuit: Circuit, **options: Any) -> dict[str, Any]:
    target, build = timed(lambda: target_of(name, circuit, **options))
    back, traverse = timed(target.to_circuit)
    probability, count = timed(target.probability)
    row = {
        "case": label, "nodes": target.size.nodes, "edges": target.size.edges, "bytes": target.bytes,
        "circuit_nodes": back.size.nodes, "build": build, "traverse": traverse, "count": count,
        "probability": float(probability),
    }  # fmt: skip
    print(
        f"{label:34}{row['nodes']:9}{row['edges']:9}{row['bytes']:11}{build:9.2f}{traverse:9.2f}{count:8.2f}"
        f"{row['nodes'] / build:12.0f}{row['circuit_nodes'] / max(count, 1e-9):12.0f}",
        flush=True,
    )
    return row


def orders(mdd: Mdd) -> list[dict[str, Any]]:
    found = []
    for label, function in [("window 3", reordered), ("sifting", sifted)]:
        made, seconds = timed(lambda f=function: f(mdd))
        found.append({"case": label, "before": mdd.size.nodes, "after": made.size.nodes, "seconds": seconds})
        print(f"mdd, {label:29}{mdd.size.nodes:9} -> {made.size.nodes:7} nodes in {seconds:.2f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller ensemble")
    quick = parser.parse_args().quick
    found = trained(Case("diabetes", 8, 2) if quick else Case("diabetes", 20, 3))
    if found is None:
        return
    model, domain, _ = found
    circuit = ax.compile_model(model, domain).circuit
    given = mdd_of(circuit, order=range(len(domain.features)))
    print(
        f"{'':34}{'nodes':>9}{'edges':>9}{'bytes':>11}{'build':>9}{'back':>9}{'count':>8}{'built/s':>12}{'counted/s':>12}"
    )
    rows = []
    for order, source in [("influence", circuit), ("columns", given.circuit)]:
        rows.append(measure(f"mdd, {order}", "mdd", source))
        rows += [measure(f"obdd, {order}, {code}", "obdd", source, code=code) for code in CODES]
        rows += [measure(f"sdd, {order}, right, {code}", "sdd", source, code=code) for code in CODES]
        rows.append(measure(f"ddnnf, {order}", "ddnnf", source))
    rows.append(measure("mdd, influence to columns", "mdd", circuit, order=range(len(domain.features))))
    rows.append(measure("obdd, columns, sifted", "obdd", given.circuit, sift=True))
    rows.append(
        measure("sdd, influence, balanced, order", "sdd", circuit, vtree="balanced", budget=ax.Budget(seconds=120))
    )
    assert len({row["probability"] for row in rows}) == 1
    result = {"rows": rows, "orders": orders(given), **stamp(("dd", "PySDD", "xgboost", "numpy"), quick=quick)}
    print(save("targets-quick" if quick else "targets", result))


if __name__ == "__main__":
    main()
