"""How much of the space changes its output if only some features change, next to enumeration of all its points.

The boosted trees of compas, lending and recidivism among the references (36,864, 196,608 and 786,432 points): for each
protected feature and each pair of them, the number of sensitive points by output must equal what a table of all outputs
says, and so must the share of points within radius 1 and 2 of another output.
Fairness: of trees of depth 8 on compas and recidivism, how probable it is that the output changes if only race changes,
or only sex, under independence and under a tree-shaped distribution learnt from the data (on compas among the possible
points): next to the exact sum over all points.

    python benchmarks/sensitivity.py [--quick]

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.reference_models import Reference, boosted_reference
from tests.support.shared_data import tree_set

PROTECTED = {
    "compas": (
        *("Age_Above_FourtyFive", "Age_Below_TwentyFive", "African_American", "Asian", "Hispanic", "Native_American"),
        *("Other", "Female"),
    ),
    "lending": ("home_ownership", "annual_inc", "desc", "pub_rec_bankruptcies"),
    "recidivism": ("Race", "Gender", "Married", "Age"),
}
RADII = {"compas": (1, 2), "lending": (1, 2), "recidivism": (1,)}


def outputs_everywhere(reference: Reference) -> np.ndarray:
    """Return the output at every point, an axis per feature: each point's trees are walked one by one."""
    sizes = [f.size or 0 for f in reference.domain.features]
    found: list[Any] = []
    block = list[tuple[int, ...]]()
    for cells in product(*map(range, sizes)):
        block.append(cells)
        if len(block) == 1 << 16:
            found += reference.model.decide(np.array(block))
            block = []
    if block:
        found += reference.model.decide(np.array(block))
    return np.array(found).reshape(sizes)


def listed(table: np.ndarray, axes: tuple[int, ...]) -> dict[Any, int]:
    """Return how many points of each output have another one somewhere along these axes."""
    changes = table.max(axis=axes, keepdims=True) != table.min(axis=axes, keepdims=True)
    hit = np.broadcast_to(changes, table.shape)
    return {y: int((hit & (table == y)).sum()) for y in np.unique(table).tolist()}


def listed_within(table: np.ndarray, radius: int) -> int:
    """Return how many points have another output somewhere within a radius."""
    hit = np.zeros(table.shape, dtype=bool)
    for axes in combinations(range(table.ndim), radius):
        changes = table.max(axis=axes, keepdims=True) != table.min(axis=axes, keepdims=True)
        hit |= np.broadcast_to(changes, table.shape)
    return int(hit.sum())


def check(name: str, *, quick: bool) -> list[dict[str, Any]]:
    reference = boosted_reference(name)
    domain, protected = reference.domain, PROTECTED[name]
    start = perf_counter()
    table = outputs_everywhere(reference)
    enumeration = perf_counter() - start
    sets = [*((f,) for f in protected), *combinations(protected, 2)]
    rows = []
    for features in sets[:2] if quick else sets:
        start = perf_counter()
        found = ax.sensitivity(reference.model, domain, features)
        seconds = perf_counter() - start
        wanted = listed(table, tuple(domain.index(f) for f in features))
        agrees = {p.name: p.count for p in found.outputs} == wanted and found.points == table.size
        agrees = agrees and found.probability * table.size == sum(wanted.values())
        rows.append(_row(name, " + ".join(features), found, seconds, agrees) | {"enumeration": enumeration})
    for radius in RADII[name][:1] if quick else RADII[name]:
        start = perf_counter()
        near = ax.robustness(reference.model, domain, radius=radius)
        agrees = near.count == listed_within(table, radius)
        rows.append(_row(name, f"any {radius}", near, perf_counter() - start, agrees) | {"enumeration": enumeration})
    return rows


RACES = ("African_American", "Asian", "Hispanic", "Native_American", "Other")
AGES = ("Age_Above_FourtyFive", "Age_Below_TwentyFive")
FAIR = {"compas": (RACES, ("Female",)), "recidivism": (("Race",), ("Gender",))}


def fair(name: str) -> list[dict[str, Any]]:
    """Return how probable it is that a tree treats people differently, under independence and under what was learnt."""
    from sklearn.tree import DecisionTreeClassifier

    data = tree_set(name)
    X = data.X
    tree = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X.to_numpy(), data.y)
    domain = ax.Domain.from_data(X)
    learnt = ax.ChowLiu.fit(X, domain)
    if name == "compas":
        domain = domain.where(ax.at_most_one(*RACES), ax.at_most_one(*AGES))
    rows = []
    for group in FAIR[name]:
        features = list(group)
        for distribution in (None, learnt):
            start = perf_counter()
            found = ax.sensitivity(tree, domain, features, under=distribution)
            seconds = perf_counter() - start
            agrees = (found.count, found.probability) == summed(tree, domain, features, distribution)
            under = "learnt" if distribution else "independent"
            rows.append(_row(name, f"{' + '.join(features)[:40]}, {under}", found, seconds, agrees))
    return rows


def summed(tree: Any, domain: ax.Domain, features: list[str], distribution: Any) -> tuple[int, Fraction]:
    """Return number and probability of the sensitive points among the possible ones, from a list of all points."""
    sizes = [f.high - f.low + 1 for f in domain.features]  # type: ignore[union-attr]
    places = np.indices(sizes).reshape(len(sizes), -1).T
    points = places + np.array([f.low for f in domain.features])  # type: ignore[union-attr]
    outputs = np.unique(tree.predict(points.astype(float)), return_inverse=True)[1].reshape(sizes)
    possible = _possible(domain.names, points).reshape(sizes) if domain.constraints else np.ones(sizes, dtype=bool)
    axes = tuple(domain.index(n) for n in features)
    # among the possible points along these axes, the largest and the least output differ
    most = np.where(possible, outputs, -1).max(axis=axes, keepdims=True)
    least = np.where(possible, outputs, outputs.max() + 1).min(axis=axes, keepdims=True)
    hit = (np.broadcast_to(most != least, possible.shape) & possible).ravel()
    weights = np.ones(len(points), dtype=object) if distribution is None else _weights(domain, distribution, points)
    return int(hit.sum()), Fraction(int(weights[hit].sum()), int(weights[possible.ravel()].sum()))


def _weights(domain: ax.Domain, tree: Any, points: np.ndarray) -> np.ndarray:
    """Return the probability of each point, in integers over one denominator: a product of table entries."""
    pairs = zip(tree.states, domain.features, strict=True)
    states = [s.locate(points[:, i].astype(float), f) for i, (s, f) in enumerate(pairs)]
    found = np.ones(len(points), dtype=object)
    for i, (parent, table) in enumerate(zip(tree.parents, tree.whole_tables, strict=True)):
        entries = np.array(table, dtype=object)
        found = found * entries[states[parent] if parent >= 0 else np.zeros(len(points), dtype=int), states[i]]
    return found


def _possible(names: tuple[str, ...], points: np.ndarray) -> np.ndarray:
    """Return which points have one race and one age at most."""
    flags = [points[:, [names.index(n) for n in group]].sum(axis=1) <= 1 for group in (RACES, AGES)]
    return flags[0] & flags[1]


def _row(name: str, change: str, found: Any, seconds: float, agrees: bool) -> dict[str, Any]:
    return {
        "model": name, "change": change, "points": found.points, "count": found.count,
        "share": float(found.probability), "nodes": found.region.size.nodes, "seconds": seconds, "agrees": agrees,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two sets of features of each model")
    parser.add_argument("--only", choices=PROTECTED, help="one model")
    options = parser.parse_args()
    rows = []
    for name in [options.only] if options.only else PROTECTED:
        print(f"{name}: change, points whose output changes, share, nodes of the region, seconds")
        for row in check(name, quick=options.quick):
            rows.append(row)
            verdict = "" if row["agrees"] else "  DISAGREES"
            print(
                f"  {row['change']:45} {row['count']:8,} {row['share']:8.4f} {row['nodes']:7,}"
                f" {row['seconds']:7.2f}{verdict}",
                flush=True,
            )
    for name in FAIR if not options.only else ():
        print(f"{name}, a tree: change, points whose output changes, probability, nodes of the region, seconds")
        for row in fair(name):
            rows.append(row)
            verdict = "" if row["agrees"] else "  DISAGREES"
            print(
                f"  {row['change']:55} {row['count']:8,} {row['share']:8.4f} {row['nodes']:7,}"
                f" {row['seconds']:7.2f}{verdict}"
            )
    wrong = sum(not row["agrees"] for row in rows)
    print(f"{len(rows) - wrong} of {len(rows)} answers equal enumeration")
    print("wrote", save("sensitivity", {**stamp(("axfi-kc", "numpy")), "rows": rows}))
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
