"""How far the nearest change is, next to dtai-veritas; and a large forest within a radius.

For three boosted models, the least critical radius (linf, features scaled to [0, 1]) of test instances, next to the
nearest adversarial example of dtai-veritas' robustness search. Thresholds are float32 and libraries round before they
compare, so both agree when they differ by at most one step of float32 at 1; dtai-veritas is also asked directly one
step below (nothing may be there) and one step above (something must be). Then all CXps with their weights of a random
forest of 100 unlimited trees on breast cancer, within 0.1 of each feature's range, 60 seconds each, or as long as it
takes (``--seconds 0``; hours), and only that (``--forest ROW ROW ...``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from tqdm import tqdm
from xgboost import XGBClassifier

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.budget import Account
from axfi_kc.compilers import read_model
from axfi_kc.domain.region import Region
from axfi_kc.engines import engine_for
from axfi_kc.engines.regional import RegionEngine
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.radius import reaches_of
from axfi_kc.models import Similarity
from benchmarks.provenance import save, stamp

SEED = 0
FOREST_SECONDS = 60.0
FOREST_RADIUS = Fraction(1, 10)
WIDE = 4.0  # the domain reaches so far beyond the data that the nearest change is always inside
Model = Callable[[], Any]
MODELS: dict[str, tuple[Callable[..., Any], Model]] = {
    "XGBoost 100 x 6, breast cancer": (load_breast_cancer, lambda: XGBClassifier(n_estimators=100, n_jobs=1)),
    "XGBoost 50 x 3, wine (first class or not)": (load_wine, lambda: XGBClassifier(n_estimators=50, max_depth=3)),
    "LightGBM 100 x 31 leaves, breast cancer": (load_breast_cancer, lambda: LGBMClassifier(n_jobs=1, verbose=-1)),
}


def scaled(load: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the data in [0, 1], as float32 numbers, with two classes."""
    X, y = load(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)
    return ((X - low) / (high - low)).astype(np.float32).astype(np.float64), (y == 0).astype(int)


def against_veritas(name: str, instances: int) -> dict[str, Any]:
    """Return how often both agree on the nearest change, and the seconds that each takes."""
    load, make = MODELS[name]
    X, y = scaled(load)
    train, test, target, _ = train_test_split(X, y, test_size=0.3, random_state=SEED)
    model = make().fit(train, target)
    names = [f"x{i}" for i in range(X.shape[1])]
    domain = ax.Domain([ax.Real(n, -WIDE, 1 + WIDE) for n in names])
    form, peer = read_model(model, domain), _Peer(model)
    rows = np.concatenate([test, train])[:instances]
    agreed, confirmed, ours, theirs, gaps = 0, 0, list[float](), list[float](), list[float]()
    for row in tqdm(rows, desc=name):
        start = perf_counter()
        problem = Problem(form, row, form.outputs_at(row[np.newaxis])[0], Similarity.of(form, None))
        reach = reaches_of(problem, Region(), Account(None, goal="radius"))[(1 << len(names)) - 1]
        ours.append(perf_counter() - start)
        start = perf_counter()
        found = peer.nearest(row, int(problem.output))
        theirs.append(perf_counter() - start)
        radius, step = float(reach.radius), float(np.spacing(np.float32(1)))
        gaps.append(abs(found - radius))
        agreed += gaps[-1] <= step
        confirmed += not peer.has_change(row, int(problem.output), radius - step)
        confirmed += peer.has_change(row, int(problem.output), radius + step)
    return {
        "model": name,
        "instances": len(rows),
        "within one float32 step": agreed,
        "confirmed below and above, of twice as many": confirmed,
        "largest difference": max(gaps),
        "our seconds": {"mean": mean(ours), "median": median(ours), "max": max(ours)},
        "their seconds": {"mean": mean(theirs), "median": median(theirs), "max": max(theirs)},
    }


class _Peer:
    """dtai-veritas, on its own reading of the model."""

    def __init__(self, model: Any) -> None:
        import veritas

        self._trees = veritas.get_addtree(model, silent=True)

    def _search(self, row: np.ndarray, output: int, start: float) -> Any:
        from veritas.robustness import VeritasRobustnessSearch

        sides = (
            {"source_at": self._trees, "target_at": None} if output else {"source_at": None, "target_at": self._trees}
        )
        options: dict[str, Any] = {"num_steps": 60, "max_time": 600, "search_guard": 0.0, "silent": True}
        return VeritasRobustnessSearch(row.tolist(), start, **sides, **options)

    def nearest(self, row: np.ndarray, output: int) -> float:
        """Return the distance of the nearest adversarial example, by their bisection."""
        return float(self._search(row, output, WIDE).search()[2])

    def has_change(self, row: np.ndarray, output: int, radius: float) -> bool:
        """Tell whether some point within a radius has another output."""
        if radius <= 0:
            return False
        search = self._search(row, output, radius)
        return len(search.get_max_output_difference(radius, 60.0)[1]) > 0


def forest(instances: Sequence[int], seconds: float) -> dict[str, Any]:
    """Return the seconds of a large forest within a radius, per instance; 0 seconds: as many as it takes."""
    X, y = load_breast_cancer(return_X_y=True)
    train, test, target, _ = train_test_split(X, y, test_size=0.3, random_state=SEED)
    model = RandomForestClassifier(100, random_state=SEED).fit(train, target)
    domain = ax.Domain.from_data(X, names=[f"x{i}" for i in range(X.shape[1])])
    form = read_model(model, domain)
    similarity = Similarity.of(form, None)
    engine = RegionEngine(form, Region(radius=FOREST_RADIUS, unit="range"), lambda part: engine_for(part, similarity))
    rows = []
    budget = ax.Budget(seconds=seconds or None, threads=2)
    for n in tqdm(instances, desc="forest"):
        start = perf_counter()
        found = engine.explain(test[[n]], budget=budget, partial=True)
        known = "complete" if found.is_complete else f"complete up to {found.radius(0)} features"
        rows.append({"row": n, "seconds": perf_counter() - start, "cxps": int(found.counts[0]), "known": known})
        tqdm.write(str(rows[-1]))
    return {
        "radius": str(FOREST_RADIUS),
        "trees": 100,
        "finished": sum(r["known"] == "complete" for r in rows),
        "rows": rows,
    }


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 instances each")
    parser.add_argument(
        "--seconds", type=float, default=FOREST_SECONDS, help="of the forest, per instance; 0: no limit"
    )
    parser.add_argument(
        "--forest", type=int, nargs="*", metavar="ROW", help="only the forest, and these test instances"
    )
    given = parser.parse_args()
    quick = given.quick
    result = {"stamp": stamp(("axfi-kc", "dtai-veritas", "xgboost", "lightgbm", "scikit-learn"), seed=SEED)}
    if given.forest is not None:
        print("only the forest, as asked for")
    elif find_spec("veritas") is None:
        print("dtai-veritas is not installed: pip install 'axfi-kc[benchmarks]'")
    else:
        result["veritas"] = [against_veritas(name, 5 if quick else 100) for name in MODELS]
    result["forest"] = forest(given.forest or range(3 if quick else 20), given.seconds)
    for row in result.get("veritas", ()):
        print(row)
    print(f"forest: {result['forest']['finished']} of {len(result['forest']['rows'])} complete")
    print("written to", save("radii", result))


if __name__ == "__main__":
    main()
