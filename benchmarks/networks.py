"""Bayesian networks next to pyAgrum, and Bayesian-network classifiers next to their joint tables.

Boxes: of five networks (the sprinkler, a clinic of eight variables, a chain, a naive one and a random one), the
probability of 1,000 random boxes each must be pyAgrum's within 1e-12; ours are fractions, theirs floats.
Classifiers: of eight networks of up to 16 leaves, the diagram of every class must hold exactly where the joint table
says.

    python benchmarks/networks.py [--quick]

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits.circuit import flat_of
from axfi_kc.circuits.queries.truth_kernels import truths_at

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.random_networks import domain_of, random_network

NEAR = 1e-12


def sprinkler() -> ax.BayesianNetwork:
    yes = ["no", "yes"]
    return ax.BayesianNetwork(
        {"cloudy": yes, "sprinkler": yes, "rain": yes, "wet": yes},
        {
            "cloudy": [0.5, 0.5],
            "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
            "rain": [[0.8, 0.2], [0.2, 0.8]],
            "wet": [[[1, 0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
        },
        parents={"sprinkler": ["cloudy"], "rain": ["cloudy"], "wet": ["sprinkler", "rain"]},
    )


def clinic() -> ax.BayesianNetwork:
    """Return a network of the shape of the well-known one about dyspnoea, with numbers of its own."""
    names = ("visit", "smoker", "infection", "tumour", "bronchitis", "either", "xray", "dyspnoea")
    parents = {
        "infection": ["visit"], "tumour": ["smoker"], "bronchitis": ["smoker"], "either": ["infection", "tumour"],
        "xray": ["either"], "dyspnoea": ["either", "bronchitis"],
    }  # fmt: skip
    rng = Random(8)
    rows = {}
    for name in names:
        chances = [rng.random() for _ in range(2 ** len(parents.get(name, ())))]
        rows[name] = [[1 - p, p] for p in chances]
    rows["either"] = [[1, 0], [0, 1], [0, 1], [0, 1]]
    return ax.BayesianNetwork.of_rows(dict.fromkeys(names, ("no", "yes")), rows, parents=parents)


def as_pyagrum(network: ax.BayesianNetwork) -> Any:
    import pyagrum as gum

    made = gum.BayesNet()
    for v in network.variables:
        made.add(gum.LabelizedVariable(v.name, v.name, [str(s) for s in v.states]))
    for v in network.variables:
        for p in v.parents:
            made.addArc(network.variables[p].name, v.name)
    for v in network.variables:
        sizes = [len(network.variables[p].states) for p in v.parents]
        # Rows run through the parents as they were added, the last one fastest: pyAgrum is told each by name.
        table = made.cpt(v.name)
        for states, row in zip(np.ndindex(*sizes), v.rows, strict=True):
            at = {network.variables[p].name: int(s) for p, s in zip(v.parents, states, strict=True)}
            table[at] = [float(p) for p in row]
    return made


def check_boxes(name: str, network: ax.BayesianNetwork, n: int) -> dict[str, Any]:
    import pyagrum as gum

    rng, theirs = Random(name), as_pyagrum(network)
    ours = network.over(domain_of(network))
    asked = gum.LazyPropagation(theirs)
    worst, here, there = 0.0, 0.0, 0.0
    for _ in range(n):
        rows: list[list[int] | None] = []
        for v in network.variables:
            row = [int(rng.random() < 0.6) for _ in v.states]
            rows.append(row if any(row) and not all(row) else None)
        start = perf_counter()
        exact = ours.total(rows)
        here += perf_counter() - start
        start = perf_counter()
        found = _by_pyagrum(asked, {v.name: row for v, row in zip(network.variables, rows, strict=True) if row})
        there += perf_counter() - start
        worst = max(worst, abs(float(exact) - found))
    return {
        "network": name, "variables": len(network), "boxes": n, "worst": worst, "agrees": worst <= NEAR,
        "ms": here / n * 1e3, "pyagrum_ms": there / n * 1e3,
    }  # fmt: skip


def _by_pyagrum(asked: Any, evidence: dict[str, list[int]]) -> float:
    import pyagrum as gum

    asked.setEvidence(evidence)
    try:
        asked.makeInference()
        return float(asked.evidenceProbability())
    except gum.IncompatibleEvidence:  # probability 0
        return 0.0


def joint_outputs(network: ax.BayesianNetwork, target: str, features: list[str]) -> np.ndarray:
    """Return the most probable class at every point, from the joint table in whole numbers."""
    sizes = [len(v.states) for v in network.variables]
    whole = np.ones((1,) * len(sizes), dtype=object)
    for k, v in enumerate(network.variables):
        below = math.lcm(*(p.denominator for row in v.rows for p in row))
        shape = [1] * len(sizes)
        scope = [*v.parents, k]
        flat = np.array([int(p * below) for row in v.rows for p in row], dtype=object)
        table = flat.reshape([sizes[i] for i in scope])
        for i in scope:
            shape[i] = sizes[i]
        whole = whole * table.transpose(np.argsort(scope)).reshape(shape)
    places = [network.index(f) for f in features]
    hidden = tuple(i for i in range(len(sizes)) if i not in places and i != network.index(target))
    order = [i for i in range(len(sizes)) if i not in hidden]
    summed = np.asarray(whole.sum(axis=hidden) if hidden else whole, dtype=object)
    turned = summed.transpose([order.index(i) for i in (*places, network.index(target))])
    rows = turned.reshape(-1, turned.shape[-1]).tolist()
    return np.array([row.index(max(row)) for row in rows])


def classifiers(*, quick: bool) -> list[tuple[str, ax.BayesianNetwork, str, list[str]]]:
    """Return networks with their classes and features."""
    cases = [
        ("naive, 16 leaves", {"n": 17, "shape": "naive", "most_states": 2}, 0),
        ("naive, 10 leaves of up to 3 states", {"n": 11, "shape": "naive"}, 0),
        ("tree-augmented, 16 leaves", {"n": 17, "shape": "tree", "most_states": 2}, 0),
        ("tree-augmented, 10 leaves of up to 3 states", {"n": 11, "shape": "tree"}, 0),
        ("tree-augmented, decimals, 12 leaves", {"n": 13, "shape": "tree", "most_states": 2, "floats": True}, 0),
        ("general, 14 leaves", {"n": 15, "shape": "general", "most_states": 2}, 0),
        ("general, 12 leaves, 2 hidden", {"n": 15, "shape": "general", "most_states": 2}, 2),
        ("general, zeros, 12 leaves", {"n": 13, "shape": "general", "most_states": 2, "zeros": 0.3}, 0),
    ]
    found = []
    for name, options, hidden in cases[1:3] if quick else cases:
        rng = Random(name)
        network = random_network(rng, **{"zeros": 0.0, **options})  # type: ignore[arg-type]
        target = "x0" if options["shape"] != "general" else "x3"
        others = [n for n in network.names if n != target]
        found.append((name, network, target, others[hidden:]))
    return found


def check_classifier(name: str, network: ax.BayesianNetwork, target: str, features: list[str]) -> dict[str, Any]:
    domain = domain_of(network, features)
    start = perf_counter()
    outputs = joint_outputs(network, target, features)
    listing = perf_counter() - start
    model = ax.read_model(network.with_output(target), domain)
    sizes = [f.size or 0 for f in domain.features]
    cells = np.array(list(np.ndindex(*sizes)))
    agrees, nodes, edges = True, 0, 0
    start = perf_counter()
    circuits = [ax.compile_model(model, domain, output=y).circuit for y in model.labels]
    seconds = perf_counter() - start
    for k, circuit in enumerate(circuits):
        agrees = agrees and bool((truths_at(flat_of(circuit), cells).astype(bool) == (outputs == k)).all())
        nodes, edges = nodes + circuit.size.nodes, edges + circuit.size.edges
    decided = np.array([model.labels.index(y) for y in model.outputs_at(cells.astype(float))])
    agrees = agrees and bool((decided == outputs).all())
    return {
        "network": name, "leaves": len(features), "classes": len(model.labels), "points": len(cells),
        "table": math.prod(len(v.states) for v in network.variables),
        "tables": sum(len(v.rows) * len(v.states) for v in network.variables),
        "nodes": nodes, "edges": edges, "seconds": seconds, "listing_seconds": listing, "agrees": agrees,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="50 boxes of each network, two classifiers")
    options = parser.parse_args()
    networks = {
        "sprinkler": sprinkler(),
        "clinic": clinic(),
        "chain of 20": random_network(Random(1), n=20, shape="chain", floats=True),
        "naive, 12 leaves": random_network(Random(2), n=13, shape="naive", floats=True),
        "random, 16 variables": random_network(Random(3), n=16, shape="general", floats=True),
    }
    boxes = []
    print("network                variables  boxes  largest difference  ms here  ms pyAgrum")
    for name, network in networks.items():
        row = check_boxes(name, network, 50 if options.quick else 1000)
        boxes.append(row)
        print(
            f"{name:22} {row['variables']:9} {row['boxes']:6} {row['worst']:19.1e}"
            f" {row['ms']:8.2f} {row['pyagrum_ms']:11.2f}",
            flush=True,
        )
    rows = []
    print("classifier                                    points  joint table  tables  nodes  edges  seconds")
    for case in classifiers(quick=options.quick):
        row = check_classifier(*case)
        rows.append(row)
        verdict = "" if row["agrees"] else "  DISAGREES"
        print(
            f"{row['network']:44} {row['points']:7,} {row['table']:12,} {row['tables']:7,} {row['nodes']:6,}"
            f" {row['edges']:6,} {row['seconds']:8.2f}{verdict}",
            flush=True,
        )
    wrong = sum(not row["agrees"] for row in (*boxes, *rows))
    print(f"{len(boxes) + len(rows) - wrong} of {len(boxes) + len(rows)} agree")
    print("wrote", save("networks", {**stamp(("axfi-kc", "numpy", "pyagrum")), "boxes": boxes, "classifiers": rows}))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
