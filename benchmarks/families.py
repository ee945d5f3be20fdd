"""More explanations than can be listed: two ladders, and duals next to the other ways, in one run.

Gadget trees with k gadgets (2k CXps, 2**k AXps): seconds for the CXps, the family of AXps, FFA, WFFA,
Responsibility and both AxFi scores, all exact. Thresholds "at least half of m Boolean features changed":
seconds for the diagram, the CXps and both AxFi scores. Next to them, as far as they get in a few seconds, listing
(the hitting sets by search; every CXp with its weight), and graphillion for the dual of the gadgets. Then
minimal hitting sets of random families by our diagrams, by search, by graphillion, and by a recursion over
oxidd's diagrams.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from math import log
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.budget import BudgetSpent
from axfi_kc.errors import BudgetError
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import features_of, minimal_hitting_sets
from axfi_kc.models import LinearModel, Positive
from benchmarks.provenance import ROOT, save, stamp
from tests.support.gadgets import gadget_domain, gadget_tree

SEED = 0
PEER_SECONDS = 10.0
GADGETS = (10, 12, 14, 16, 25, 50, 100, 200, 500)
THRESHOLDS = (8, 12, 16, 18, 20, 30, 50, 100, 150, 200, 300)
RANDOM = ((40, 500, 0.1), (30, 200, 0.15), (30, 200, 0.2), (25, 200, 0.25))
KINDS = ("ffa", "wffa", "responsibility", "shapley", "banzhaf")


def seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    found = task()
    return perf_counter() - start, found


def gadget(k: int, *, peers: bool = False) -> dict[str, Any]:
    tree, domain = gadget_tree(k), gadget_domain(k)
    explainer = ax.Explainer(tree, domain)
    row: dict[str, Any] = {"k": k, "features": 3 * k}
    row["cxps_s"], e = seconds(lambda: explainer.explain([1] * (3 * k)))
    row["axps_s"], axps = seconds(lambda: e.axp_family)
    for kind in KINDS:
        row[f"{kind}_s"] = seconds(lambda kind=kind: e.scores(kind))[0]
    row["seconds"] = sum(value for key, value in row.items() if key.endswith("_s"))
    row["axps"] = str(axps.count)
    if peers:
        masks = list(e.cxp_family)
        row["listing_s"] = searched(masks)[0] if k <= 16 else None
        row["graphillion_s"] = graphillion_dual([features_of(m) for m in masks], e.cxp_family.order)[0]
    return row


def searched(masks: list[int]) -> tuple[float | None, int | None]:
    """Return the seconds of the search for minimal hitting sets, None if too many, and their number."""
    try:
        spent, found = seconds(lambda: minimal_hitting_sets(masks, budget=ax.Budget(seconds=PEER_SECONDS)))
    except BudgetSpent:
        return None, None
    return spent, len(found)


def graphillion_dual(sets: list[tuple[int, ...]], order: tuple[int, ...]) -> tuple[float | None, int | None]:
    try:
        from graphillion import setset
    except ImportError:
        return None, None
    setset.set_universe(list(order))
    spent, found = seconds(lambda: setset([set(s) for s in sets]).minimal().hitting().minimal())
    return spent, found.len()


def threshold(m: int, *, peers: bool = False) -> dict[str, Any]:
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(m)])
    model = LinearModel.of_columns(domain, [[1] * m], intercepts=[1 - m // 2], rule=Positive((0, 1)))
    row: dict[str, Any] = {"m": m}
    explainer = ax.Explainer(model, domain, target="mdd")
    row["cxps_s"], e = seconds(lambda: explainer.explain([0] * m))
    for kind in ("shapley", "banzhaf"):
        row[f"{kind}_s"] = seconds(lambda kind=kind: e.scores(kind))[0]
    row["seconds"] = sum(value for key, value in row.items() if key.endswith("_s"))
    row["cxps"] = str(e.cxp_family.count)
    if peers:
        lister = ax.Explainer(model, domain)
        row["listing_s"] = seconds(lambda: lister.explain([0] * m).scores("shapley"))[0] if m <= 18 else None
    return row


def random_family(n: int, size: int, density: float) -> dict[str, Any]:
    rng = Random(SEED)
    masks = [sum(1 << i for i in range(n) if rng.random() < density) for _ in range(size)]
    minimal = SetFamily.of([m for m in masks if m]).minimal()
    row: dict[str, Any] = {"elements": n, "sets": minimal.count, "density": density}
    try:
        row["ours_s"], dual = seconds(lambda: minimal.hitting_sets(budget=ax.Budget(seconds=60)))
        row |= {"hitting_sets": str(dual.count), "nodes": dual.n_nodes}
    except BudgetError:
        row |= {"ours_s": None, "hitting_sets": None, "nodes": None}
    row["search_s"], listed = searched(list(minimal))
    if row["ours_s"] is None or int(row["hitting_sets"]) > 50_000:
        return row | {"graphillion_s": None, "oxidd_s": None}
    assert listed in (None, dual.count)
    row["graphillion_s"], other = graphillion_dual([features_of(m) for m in minimal], minimal.order)
    assert other in (None, dual.count)
    row["oxidd_s"], third = oxidd_dual(minimal)
    assert third in (None, dual.count)
    return row


def oxidd_dual(family: SetFamily) -> tuple[float | None, int | None]:
    try:
        from oxidd.zbdd import ZBDDManager
    except ImportError:
        return None, None
    manager = ZBDDManager(1 << 22, 1 << 20, 1)
    singles = [manager.singleton(v) for v in manager.add_vars(len(family.order))]
    peer = OxiddFamilies(manager, singles)
    made = [manager.empty(), manager.base()]
    for level, low, high in family.rows[2:, :3].tolist():
        made.append(singles[level].make_node(made[high], made[low]))
    spent, dual = seconds(lambda: peer.hitting(made[-1]))
    return spent, peer.count(dual)


class OxiddFamilies:
    """Non-supersets and minimal hitting sets, recursively, over oxidd's nodes."""

    def __init__(self, manager: Any, singles: list[Any]) -> None:
        self._empty, self._base = manager.empty(), manager.base()
        self._singles = singles
        self._known: dict[Any, Any] = {}

    def non_supersets(self, f: Any, g: Any) -> Any:
        if f == self._empty or g == self._empty:
            return f
        if g == self._base or f == g:
            return self._empty
        key = f, g
        if key not in self._known:
            self._known[key] = self._non_supersets(f, g)
        return self._known[key]

    def _non_supersets(self, f: Any, g: Any) -> Any:
        top, other = self._level(f), self._level(g)
        if top > other:
            return self.non_supersets(f, g.cofactor_false())
        high, low = f.cofactors()
        without = g.cofactor_false() if top == other else g
        kept = self.non_supersets(high, without)
        if top == other:
            kept = self.non_supersets(kept, g.cofactor_true())
        return self._singles[f.node_level()].make_node(kept, self.non_supersets(low, without))

    def hitting(self, f: Any) -> Any:
        if f == self._empty:
            return self._base
        if f == self._base:
            return self._empty
        if f not in self._known:
            high, low = f.cofactors()
            without = self.hitting(low | high)
            with_it = self.non_supersets(self.hitting(low), without)
            self._known[f] = self._singles[f.node_level()].make_node(with_it, without)
        return self._known[f]

    def _level(self, f: Any) -> int:
        level = f.node_level()
        return 10**9 if level is None else level

    def count(self, f: Any) -> int:
        if f == self._empty or f == self._base:
            return int(f == self._base)
        if ("count", f) not in self._known:
            high, low = f.cofactors()
            self._known["count", f] = self.count(high) + self.count(low)
        return self._known["count", f]


def slope(rows: list[dict[str, Any]], key: str) -> float:
    """Return the exponent of growth between the largest case and one of about a quarter of its size."""
    last = rows[-1]
    early = min(rows[:-1], key=lambda r: abs(r[key] - last[key] / 4))
    return log(last["seconds"] / early["seconds"]) / log(last[key] / early[key])


def draw(gadgets: list[dict[str, Any]], thresholds: list[dict[str, Any]]) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    lines = [("seconds", "all scores, by families", "o-"), ("graphillion_s", "dual alone, graphillion", "^:")]
    for key, label, style in [*lines, ("listing_s", "listing the AXps", "s--")]:
        part = [(r["k"], r[key]) for r in gadgets if r.get(key)]
        if part:
            left.loglog(*zip(*part, strict=True), style, label=label)
    left.set(xlabel="gadgets k (2**k AXps)", ylabel="seconds", title="Gadget trees")
    for key, label, style in (
        ("seconds", "both AxFi scores, by families", "o-"),
        ("listing_s", "listing the CXps", "s--"),
    ):
        part = [(r["m"], r[key]) for r in thresholds if r.get(key)]
        right.loglog(*zip(*part, strict=True), style, label=label)
    right.set(xlabel="features m (about 2**m CXps)", ylabel="seconds", title="At least half of m features changed")
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    path = ROOT / "docs" / "images" / "families_ladders.png"
    plt.savefig(path, dpi=150)
    return path.relative_to(ROOT)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e3:.1f}"


def show(gadgets: list[dict[str, Any]], thresholds: list[dict[str, Any]], randoms: list[dict[str, Any]]) -> None:
    keys = ("cxps_s", "axps_s", *(f"{kind}_s" for kind in KINDS), "seconds", "listing_s", "graphillion_s")
    print("milliseconds; gadgets k:", *keys)
    for r in gadgets:
        print(f"{r['k']:5}", *(f"{_ms(r[key]):>9}" for key in keys))
    print("AXps of the largest:", gadgets[-1]["axps"])
    print("growth with k: exponent", round(slope(gadgets, "k"), 2))
    keys = ("cxps_s", "shapley_s", "banzhaf_s", "seconds", "listing_s")
    print("milliseconds; thresholds m:", *keys)
    for r in thresholds:
        print(f"{r['m']:5}", *(f"{_ms(r[key]):>9}" for key in keys))
    print("CXps of the largest:", thresholds[-1]["cxps"])
    print("growth with m: exponent", round(slope(thresholds, "m"), 2))
    print("milliseconds; minimal hitting sets of random families")
    for r in randoms:
        times = " ".join(f"{key} {_ms(r[key + '_s'])}" for key in ("ours", "search", "graphillion", "oxidd"))
        print(
            f"{r['elements']} elements, {r['sets']} sets: {r['hitting_sets']} hitting sets, {r['nodes']} nodes; {times}"
        )


def repeated(measure: Callable[..., dict[str, Any]], runs: int, *arguments: Any) -> dict[str, Any]:
    """Return the run of median total time, with what the others took in the first."""
    rows = [measure(*arguments, peers=run == 0) for run in range(runs)]
    middle = median(r["seconds"] for r in rows)
    return rows[0] | min(rows, key=lambda r: abs(r["seconds"] - middle))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short ladders, one run each")
    parser.add_argument("--runs", type=int, default=3, help="how often each case is run; the median counts")
    options = parser.parse_args()
    runs = 1 if options.quick else options.runs
    gadget(3), threshold(4)  # compiled and cached before the clock starts
    gadgets = [repeated(gadget, runs, k) for k in (GADGETS[:8] if options.quick else GADGETS)]
    thresholds = [repeated(threshold, runs, m) for m in (THRESHOLDS[:8] if options.quick else THRESHOLDS)]
    randoms = [random_family(*r) for r in (RANDOM[2:3] if options.quick else RANDOM)]
    show(gadgets, thresholds, randoms)
    if not options.quick:
        print("wrote", draw(gadgets, thresholds))
    packages = ("axfi-kc", "numpy", "numba", "graphillion", "oxidd")
    result = {"gadgets": gadgets, "thresholds": thresholds, "random_families": randoms}
    print("wrote", save("families", {**stamp(packages, seed=SEED, runs=runs), **result}))


if __name__ == "__main__":
    main()
