"""Nodes per second of building, conditioning and asking large circuits."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from axfi_kc import queries
from tests.large_circuits import conjunction_chain, deterministic_dag, layered_diagram


def timed(report, name, function):
    begin = time.process_time()
    result = function()
    report[name] = round(time.process_time() - begin, 3)
    return result


def measure(make, n_features):
    report = {}
    circuit = timed(report, "build", make)
    report["nodes"], report["arcs"] = circuit.size.nodes, circuit.size.edges
    point = [0] * n_features
    timed(report, "first evaluate", lambda: queries.evaluate(circuit, point))
    timed(report, "evaluate", lambda: queries.evaluate(circuit, point))
    timed(report, "is_decomposable", lambda: queries.is_decomposable(circuit))
    timed(report, "is_consistent", lambda: queries.is_consistent(circuit, {0: 0}))
    timed(report, "count", lambda: queries.count(circuit))
    timed(report, "probability", lambda: queries.probability(circuit))
    timed(report, "condition", lambda: queries.condition(circuit, {n_features // 2: 0}))
    report["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50,000 nodes in place of a million")
    n = 50_000 if parser.parse_args().quick else 1_000_000
    for make in (conjunction_chain, deterministic_dag, layered_diagram):  # compile the kernels
        queries.evaluate(circuit := make(200), [0] * len(circuit.grid.axes))
        queries.count(circuit)
    report = {
        "dag": measure(lambda: deterministic_dag(n), 1000),
        "chain": measure(lambda: conjunction_chain(n // 2), n // 2),
        "diagram": measure(lambda: layered_diagram(n), 1000),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
