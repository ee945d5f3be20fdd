"""Draw every picture of the documentation into ``docs/images``, from data that ships with scikit-learn.

Run ``python docs/make_images.py``; seeded, so that the same versions draw the same pictures. Each is drawn twice, the
second time with matplotlib's ``dark_background``, as ``name_dark.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.explanations.radius_path import radius_path
from axfi_kc.plots import (
    plot_batch,
    plot_circuit,
    plot_cxps,
    plot_force,
    plot_forest,
    plot_interactions,
    plot_radius_path,
    plot_rbo,
    plot_scores,
    plot_sizes,
)

_DPI = 100
_SEED = 0


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images", help="folder [%(default)s]")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for ending, style in (("", "default"), ("_dark", "dark_background")):
        with plt.style.context(style):
            for name, draw in pictures().items():
                figure: Any = draw().figure
                figure.savefig(out / f"{name}{ending}.png", dpi=_DPI)
                plt.close(figure)
                print(out / f"{name}{ending}.png")


@cache
def pictures() -> dict[str, Callable[[], Axes]]:
    """Return how to draw each picture, by its file name."""
    cancer, iris, wine = (load(as_frame=True) for load in (load_breast_cancer, load_iris, load_wine))
    tree = DecisionTreeClassifier(max_depth=6, random_state=_SEED).fit(cancer.data, cancer.target_names[cancer.target])
    explainer = ax.Explainer(tree, ax.Domain.from_data(cancer.data))
    tumour = explainer.explain(cancer.data.iloc[78])
    boosted = GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=_SEED).fit(
        wine.data, wine.target_names[wine.target]
    )
    bottle = ax.Explainer(boosted, ax.Domain.from_data(wine.data)).explain(wine.data.iloc[0])
    batch = explainer.explain_batch(cancer.data)
    path = radius_path(explainer, cancer.data.iloc[78], unit="range")
    shap = ax.shap_scores(ax.compile_model(tree, explainer.domain, output="malignant"), cancer.data.iloc[78])
    return {
        "scores": partial(plot_scores, tumour),
        "force": partial(plot_force, tumour, shap=shap),
        "forest": partial(plot_forest, tumour.forest),
        "batch": partial(plot_batch, batch),
        "cxps": partial(plot_cxps, bottle),
        "interactions": partial(plot_interactions, bottle),
        "radius_path": partial(plot_radius_path, path),
        **{f"circuit_{target}": partial(plot_circuit, _iris_circuit(iris, target)) for target in ax.targets.TARGETS},
        "sizes": partial(plot_sizes, _sizes(tree, cancer)),
        "rbo": partial(plot_rbo, _overlaps(batch)),
    }


def _iris_circuit(iris: Any, target: str) -> ax.CompiledModel:
    tree = DecisionTreeClassifier(max_depth=3, random_state=_SEED).fit(iris.data, iris.target_names[iris.target])
    return ax.compile_model(tree, ax.Domain.from_data(iris.data), output="virginica", target=target)


def _sizes(tree: Any, cancer: Any) -> Any:
    return ax.compare_sizes(
        tree, ax.Domain.from_data(cancer.data), output="benign", orders=["influence", "given"], vtrees=["balanced"]
    )


def _overlaps(batch: ax.Batch) -> dict[tuple[str, str], list[Fraction]]:
    """Return the rank-biased overlap of three ways to rank the features, per instance."""
    rankings = [
        {
            "Shapley-like": _ranked(e.scores("shapley")),
            "Banzhaf-like": _ranked(e.scores("banzhaf")),
            "unit weights": _ranked(ax.shapley_like(_unweighted(e))),
        }
        for e in batch
    ]
    pairs = combinations(rankings[0], 2)
    return {(a, b): [_overlap(r[a], r[b]) for r in rankings] for a, b in pairs}


def _unweighted(e: ax.Explanation) -> ax.CXpForest:
    return ax.CXpForest.of({c.features: 1 for c in e.cxps}, features=e.domain.names)


def _ranked(scores: dict[str, Fraction]) -> list[str]:
    return [name for name, score in sorted(scores.items(), key=lambda item: -item[1]) if score]


def _overlap(a: list[str], b: list[str], depth: int = 5) -> Fraction:
    """Return the rank-biased overlap with persistence 1/2, cut at `depth`, as a share of the most possible."""
    shares = [(Fraction(len({*a[:d]} & {*b[:d]}), d), Fraction(1, 2**d)) for d in range(1, depth + 1)]
    return sum((share * weight for share, weight in shares), Fraction(0)) / sum(weight for _, weight in shares)


if __name__ == "__main__":
    main()
