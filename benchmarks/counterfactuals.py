"""The nearest counterfactual of all CXps, next to the explanation it belongs to, in the same run.

XGBoost defaults on breast cancer (30 features): for each row the explanation, the first counterfactual and the nearest
one, which must be dissimilar by the model's own ``predict``, and no further than the first. Ratios are to the
explanation's own time.

    python benchmarks/counterfactuals.py [--quick]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from sklearn.datasets import load_breast_cancer
from tqdm import tqdm
from xgboost import XGBClassifier

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp

SEED = 0


def timed(work: Any) -> tuple[Any, float]:
    """Return what `work` gives and how long it took."""
    start = perf_counter()
    return work(), perf_counter() - start


def row_of(explainer: ax.Explainer, x: Any) -> dict[str, Any]:
    """Return the times of one row."""
    e, explaining = timed(lambda: explainer.explain(x))
    nearest, searching = timed(e.counterfactual)
    first, once = timed(lambda: e.counterfactual(first=True))
    if nearest.distance > first.distance or nearest.output == e.prediction:
        raise AssertionError(f"the counterfactual of row {x.name} is wrong: {nearest}")
    return {
        "row": str(x.name),
        "cxps": e.cxp_count,
        "explain_s": explaining,
        "first_s": once,
        "nearest_s": searching,
        "ratio": searching / explaining,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="5 rows instead of 50")
    options = parser.parse_args()
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    explainer = ax.Explainer(XGBClassifier(n_jobs=1, random_state=SEED).fit(X, y), X)
    explainer.explain(X.iloc[0]).counterfactual()  # compiles kernels
    chosen = X.sample(5 if options.quick else 50, random_state=SEED)
    rows = []
    for _, x in tqdm(chosen.iterrows(), total=len(chosen), leave=False):
        rows.append(row_of(explainer, x))
        middle = median(row["ratio"] for row in rows)
        tqdm.write(f"row {x.name}: {rows[-1]['cxps']} CXps, ratio {rows[-1]['ratio']:.3g}, median so far {middle:.3g}")
    middle = {
        name: median(row[name] for row in rows) for name in ("cxps", "explain_s", "first_s", "nearest_s", "ratio")
    }
    print(f"{len(rows)} rows, medians: " + ", ".join(f"{name} {value:.3g}" for name, value in middle.items()))
    print(f"largest ratio {max(row['ratio'] for row in rows):.3g}")
    result = {**stamp(("xgboost", "scikit-learn", "numba"), seed=SEED), "median": middle, "rows": rows}
    print(f"wrote {save('counterfactuals' + ('_quick' if options.quick else ''), result)}")


if __name__ == "__main__":
    main()
