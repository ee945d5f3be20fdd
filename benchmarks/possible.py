"""Only points that can exist: constraints next to the enumeration of all possible points, and what they cost.

compas: a person has at most one of the race flags and at most one of the age flags, which leaves 5,616 of 39,936
points. For every row of a test split, CXps, AXps, counts, ratios and scores through every target must equal what a
listing of those points says, by the model's own ``predict``; and how much that differs from all points is told.
adult: a default XGBoost model with ten rules mined from the data, next to the same rows without rules in the same run,
and a thousand counterfactuals, of which none may violate a rule.
wine and breast cancer: a scaled logistic regression over 13 and 14 real features with three rules about medians, next
to the same rows without rules; the independent checker proves the answers of the first rows.

    python benchmarks/possible.py [--quick]

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import factorial, lcm
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import axfi_kc as ax
from axfi_kc.domain.constraints import at_most_one, feature
from axfi_kc.domain.rules import mine_rules

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.shared_data import SHARED, tree_set

SEED = 0
TARGETS = ("auto", "mdd", "obdd", "sdd", "ddnnf")
RACES = ("African_American", "Asian", "Hispanic", "Native_American", "Other")
AGES = ("Age_Above_FourtyFive", "Age_Below_TwentyFive")
RULES = 10


class Listing:
    """Points with the outputs of a model's own predict, and what they say about an instance."""

    def __init__(self, points: np.ndarray, outputs: np.ndarray) -> None:
        self.points, self.outputs, self.m = points, outputs, points.shape[1]

    def cxps(self, v: np.ndarray, here: Any) -> dict[int, tuple[int, int]]:
        """Return the CXps: how many dissimilar points each has, and how many points are in its box."""
        masks = (self.points != v) @ (1 << np.arange(self.m))
        every = np.bincount(masks, minlength=1 << self.m)
        bad = np.bincount(masks[self.outputs != here], minlength=1 << self.m)
        sets = np.flatnonzero(bad).tolist()
        minimal = [Y for Y in sets if not any(T & Y == T and T != Y for T in sets)]
        present = np.flatnonzero(every)
        return {Y: (int(bad[Y]), int(every[present[present & ~Y == 0]].sum())) for Y in minimal}

    def axps(self, cxps: dict[int, Any]) -> set[int]:
        """Return the minimal sets that meet every CXp, from all sets."""
        meets = [S for S in range(1 << self.m) if all(S & Y for Y in cxps)]
        return {S for S in meets if not any(S >> i & 1 and all(S & ~(1 << i) & Y for Y in cxps) for i in range(self.m))}

    def scores(self, weights: dict[int, Fraction], kind: str) -> list[Fraction]:
        """Return the Shapley value or the Banzhaf index of v_r, from their definitions over all sets."""
        whole = lcm(*(w.denominator for w in weights.values())) if weights else 1
        S = np.arange(1 << self.m)
        value = np.zeros(1 << self.m, dtype=object)
        for Y, w in weights.items():
            value += ((S & Y) != 0) * int(w * whole)
        size, m = np.bitwise_count(S), self.m
        factor = np.array(
            [factorial(k) * factorial(m - 1 - k) if kind == "shapley" else 1 for k in range(m)] + [0], object
        )
        below = (factorial(m) if kind == "shapley" else 1 << m - 1) * whole * (len(weights) or 1)
        found = []
        for i in range(m):
            without = S[S >> i & 1 == 0]
            gains = (value[without | 1 << i] - value[without]) * factor[size[without]]
            found.append(Fraction(int(gains.sum()), below))
        return found


def compas_models(X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    yield "tree", DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(X, y)
    yield "xgboost", XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, random_state=SEED).fit(X, y)


def distinct(X: Any) -> Any:
    """Return the different rows; each is explained once."""
    return X.drop_duplicates().reset_index(drop=True)


def masks(explained: Any, domain: ax.Domain) -> list[int]:
    return [domain.mask(one.features) for one in explained]


def check_row(e: Any, listing: Listing, expected: dict[int, tuple[int, int]], weights: str, whole: bool) -> list[str]:
    """Return what disagrees in one explanation."""
    domain = e.domain
    found = dict(zip(masks(e.cxps, domain), (Fraction(c.weight) for c in e.cxps), strict=True))
    wanted = {Y: Fraction(a, b if weights == "ratio" else 1) for Y, (a, b) in expected.items()}
    scores = {kind: list(e.scores(kind).values()) for kind in ("shapley", "banzhaf")}
    wrong = [kind for kind, values in scores.items() if values != listing.scores(wanted, kind)]
    if found != wanted:
        wrong.append(f"CXps by {weights}")
    if whole and set(masks(e.axps, domain)) != listing.axps(expected):
        wrong.append("AXps")
    return wrong


def compas(rows: int | None) -> dict[str, Any]:
    data = tree_set("compas")
    plain = ax.Domain.from_data(data.X)
    domain = plain.where(at_most_one(*RACES), at_most_one(*AGES))
    names = list(domain.names)
    race, age = ([names.index(n) for n in group] for group in (RACES, AGES))
    everything = np.array(list(plain.points()))
    possible = (everything[:, race].sum(1) <= 1) & (everything[:, age].sum(1) <= 1)
    print(f"compas: {int(possible.sum()):,} of {len(everything):,} points are possible")
    X, test, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=SEED)
    instances = distinct(test)[:rows]
    result: dict[str, Any] = {"possible": int(possible.sum()), "points": len(everything), "test rows": len(test)}
    for name, model in compas_models(X, y):
        outputs = model.predict(_frame(everything, names))
        result[name] = _compas_model(model, plain, domain, instances, everything, outputs, possible)
        print(f"  {name}: {result[name]}", flush=True)
    return result


def _frame(points: np.ndarray, names: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(points, columns=names)


def _compas_model(
    model: Any, plain: ax.Domain, domain: ax.Domain, instances: Any, points: np.ndarray, outputs: Any, possible: Any
) -> dict[str, Any]:
    listing, whole = Listing(points[possible], outputs[possible]), Listing(points, outputs)
    here = model.predict(instances).tolist()
    rows = instances.to_numpy()
    expected = [listing.cxps(v, y) for v, y in zip(rows, here, strict=True)]
    before = [whole.cxps(v, y) for v, y in zip(rows, here, strict=True)]
    wrong, checks, seconds = [], 0, {}
    for target, weights in product(TARGETS, ("ratio", "count")):
        begin = perf_counter()
        batch = list(
            ax.Explainer(model, domain, weights=weights, target=target).explain_batch(instances, progress=False)
        )
        seconds[f"{target} {weights}"] = round(perf_counter() - begin, 2)
        for n, e in enumerate(batch):
            wrong += [(target, n, what) for what in check_row(e, listing, expected[n], weights, weights == "ratio")]
            checks += 1
    free = list(ax.Explainer(model, plain).explain_batch(instances, progress=False))
    gone = sum(
        len([Y for Y in b if _is_impossible(v, Y, listing, y)]) for v, y, b in zip(rows, here, before, strict=True)
    )
    if [set(masks(e.cxps, plain)) for e in free] != [set(b) for b in before]:
        wrong.append(("auto", -1, "CXps of all points"))
    return {
        "distinct rows": len(rows),
        "explanations checked": checks,
        "wrong": wrong[:20],
        "CXps of all points": sum(map(len, before)),
        "of these without a possible adversarial example": gone,
        "CXps of possible points": sum(map(len, expected)),
        "rows whose set of CXps changes": sum(set(a) != set(b) for a, b in zip(expected, before, strict=True)),
        "seconds": seconds,
    }


def _is_impossible(v: np.ndarray, Y: int, listing: Listing, here: Any) -> bool:
    """Tell whether no possible point that differs from v in Y only is dissimilar."""
    fixed = [i for i in range(listing.m) if not Y >> i & 1]
    inside = (listing.points[:, fixed] == v[fixed]).all(axis=1)
    return not (listing.outputs[inside] != here).any()


def adult(rows: int, max_size: int | None, wanted: int) -> dict[str, Any]:
    data = tree_set("adult")
    X, test, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=SEED)
    model = XGBClassifier(n_jobs=1, random_state=SEED).fit(X, y)
    rules = mine_rules(data.X, max_size=2)[:RULES]
    plain = ax.Domain.from_data(data.X)
    domain = plain.where(*(rule.constraint for rule in rules))
    instances = distinct(test)[:rows]
    for rule in rules:
        print(f"  {rule}")
    times, batches = {}, {}
    for name, space in (("warm", domain), ("without", plain), ("with", domain)):  # the first loads compiled code
        explainer = ax.Explainer(model, space, max_size=max_size)
        begin = perf_counter()
        batches[name] = explainer.explain_batch(instances[:2] if name == "warm" else instances, progress=False)
        times[name] = perf_counter() - begin
        print(f"  {name}: {times[name]:.2f} s for {len(batches[name])} rows", flush=True)
    ratio = times["with"] / times["without"]
    print(f"  adult, {RULES} rules, {len(instances)} rows, max_size={max_size}: {ratio:.2f} times as long with rules")
    counts = {name: sum(len(e.cxps) for e in batches[name]) for name in ("without", "with")}
    found, bad = _counterfactuals(batches["with"], domain, wanted)
    print(f"  {found} counterfactuals, {bad} of them impossible; CXps {counts}")
    return {
        "rules": [str(rule) for rule in rules],
        "rows": len(instances),
        "max_size": max_size,
        "seconds": {k: round(v, 2) for k, v in times.items()},
        "ratio": round(ratio, 3),
        "CXps": counts,
        "counterfactuals": found,
        "impossible": bad,
    }


def _counterfactuals(batch: Any, domain: ax.Domain, wanted: int) -> tuple[int, int]:
    """Draw points of CXps, and take nearest ones; return how many, and how many violate a constraint."""
    found = bad = 0
    seed = 0
    while found < wanted:
        before = found
        for e in batch:
            for cxp in list(e.cxps)[: 1 + seed]:
                if found == wanted:
                    break
                made = e.counterfactual(cxp, seed=None if seed == 0 else seed)
                codes = domain.encode([made.point])[0].tolist()
                bad += not all(c.holds(codes, domain) for c in domain.constraints)
                found += 1
        if found == before:
            break
        seed += 1
    return found, bad


def linear(rows: int, proved: int) -> dict[str, Any]:
    """Explain logistic regressions over real features, with and without rules, in one run."""
    result = {}
    for name, load, n_features in (("wine", load_wine, 13), ("breast cancer", load_breast_cancer, 14)):
        X, y = load(return_X_y=True, as_frame=True)
        X = X.iloc[:, :n_features]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(X, y)
        plain = ax.Domain.from_data(X)
        high = [feature(c) >= float(X[c].median()) for c in X.columns]
        domain = plain.where(high[0] >> high[2], ~high[3] | high[0], high[5] | high[0])
        possible = [all(c.holds(row, domain) for c in domain.constraints) for row in domain.encode(X).tolist()]
        instances = X[possible][:rows]
        times, batches = {}, {}
        for kind, space in (("warm", domain), ("without", plain), ("with", domain)):
            explainer, begin = ax.Explainer(model, space), perf_counter()
            batches[kind] = explainer.explain_batch(instances[:2] if kind == "warm" else instances, progress=False)
            times[kind] = perf_counter() - begin
        failed = sum(not ax.verify(e, model).ok for e in batches["with"][:proved])
        counts = {kind: sum(len(e.cxps) for e in batches[kind]) for kind in ("without", "with")}
        result[name] = {
            "rows": len(instances),
            "seconds": {kind: round(t, 3) for kind, t in times.items()},
            "ratio": round(times["with"] / times["without"], 2),
            "CXps": counts,
            "proved": proved,
            "failed": failed,
        }
        print(f"  {name}: {result[name]}", flush=True)
    return result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="30 rows of compas, 10 of adult, 50 counterfactuals")
    parser.add_argument("--only", choices=("compas", "adult", "linear"), help="one of the three")
    options = parser.parse_args(arguments)
    result: dict[str, Any] = {}
    if options.only in (None, "linear"):
        result["linear"] = linear(5 if options.quick else 50, 2 if options.quick else 5)
    if not (SHARED / "data" / "compas").exists():
        print("compas and adult are not available; set AXFI_SHARED to the folder that holds them")
        return 0
    if options.only in (None, "compas"):
        result["compas"] = compas(30 if options.quick else None)
    if options.only in (None, "adult"):
        result["adult"] = adult(10 if options.quick else 100, None, 50 if options.quick else 1000)
    if options.only is None:
        name = "possible_quick" if options.quick else "possible"
        print("written:", save(name, stamp(("numpy", "scikit-learn", "xgboost"), quick=options.quick) | result))
    wrong = any(result.get("compas", {}).get(name, {}).get("wrong") for name in ("tree", "xgboost"))
    unproved = any(row["failed"] for row in result.get("linear", {}).values())
    return 1 if wrong or unproved or result.get("adult", {}).get("impossible") else 0


if __name__ == "__main__":
    sys.exit(main())
