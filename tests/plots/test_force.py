"""A row as a strip: pieces are as long as the scores, and as SHAP's values where these are given."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.errors import DomainError
from axfi_kc.plots import plot_force
from tests.support.pictures import check_readable

mpl.use("Agg")

DOMAIN = ax.Domain([ax.Integer("heat", 0, 3), ax.Integer("cooled", 0, 1), ax.Integer("thick", 0, 1)])


def runs(point: tuple[int, int, int]) -> bool:
    return {0: point[2] == 0, 3: point[1] == 1}.get(point[0], True)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def lengths(axes) -> list[tuple[float, float]]:
    """Return where each piece starts and ends."""
    ends = [piece.get_xy()[:, 0] for piece in axes.patches]
    return [(float(x.min()), float(x.max())) for x in ends]


def test_pieces_are_the_scores_and_end_at_the_value_of_all_features() -> None:
    e = ax.Explainer(runs, DOMAIN).explain((3, 1, 1))
    axes = plot_force(e)
    assert lengths(axes) == [(0, 0.25), (0.25, 0.375)]
    assert lengths(axes)[-1][1] == float(e.forest.value(set(DOMAIN.names)))
    assert [t.get_text() for t in axes.texts[:2]] == ["cooled = 1\n0.25", "heat = 3\n0.125"]
    assert axes.get_title() == "Why True?"
    check_readable(axes)


def test_exact_shap_values_stand_below_and_zeros_are_named() -> None:
    e = ax.Explainer(runs, DOMAIN).explain((3, 1, 1))
    exact = ax.shap_scores(ax.compile_model(runs, DOMAIN), (3, 1, 1))
    assert exact["heat"] == 0
    above = plot_force(e, shap=exact)
    below = above.figure.axes[2]
    output = float(sum(exact.values()))
    assert np.allclose(lengths(below), [(output - 5 / 16, output), (output, output + 1 / 16)])
    said = check_readable(above)
    assert any("relevant, but 0 here: heat = 3" in text for text in said)


def test_values_of_shap_itself() -> None:
    shap = pytest.importorskip("shap")
    cancer = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(cancer.data, cancer.target)
    e = ax.Explainer(model, ax.Domain.from_data(cancer.data)).explain(cancer.data.iloc[78])
    theirs = shap.TreeExplainer(model)(cancer.data.iloc[[78]])
    above = plot_force(e, shap=theirs[0, :, 0], max_features=3)
    below = above.figure.axes[2]
    found = theirs[0, :, 0]
    total = sum(end - start for start, end in lengths(below))
    assert total == pytest.approx(np.abs(found.values).sum())
    meet = [end for start, end in lengths(below)]
    assert min(abs(m - (found.base_values + found.values.sum())) for m in meet) < 1e-9
    assert sum(end - start for start, end in lengths(above)) == pytest.approx(float(sum(e.scores().values())))
    check_readable(above)
    with pytest.raises(DomainError, match="one row and one output"):
        plot_force(e, shap=theirs)


@pytest.mark.parametrize("shap", [{"heat": 1}, 3, {"heat": 1, "cooled": 2, "thick": 3, "more": 4}])
def test_values_of_other_features_are_refused(shap) -> None:
    with pytest.raises(DomainError, match="one number per feature"):
        plot_force(ax.Explainer(runs, DOMAIN).explain((3, 1, 1)), shap=shap)


def test_without_scores_there_is_nothing_to_draw() -> None:
    with pytest.raises(DomainError, match="no score above 0"):
        plot_force(ax.Explainer(lambda p: p[0] == 3 and p[1] == 1, DOMAIN, max_size=1).explain((0, 0, 0)))


def test_saved_explanations_are_drawn_alike() -> None:
    e = ax.Explainer(runs, DOMAIN, class_names={True: "runs", False: "fails"}).explain((3, 1, 1))
    saved = ax.Explanation.from_json(e.to_json())
    for draw in (
        plot_force,
        ax.plots.plot_scores,
        ax.plots.plot_cxps,
        ax.plots.plot_interactions,
        ax.plots.plot_forest,
    ):
        ours, theirs = ([t.get_text() for axes in draw(found).figure.axes for t in axes.texts] for found in (e, saved))
        # The nearest change needs the model, which the document does not hold.
        ours = [t.split("   ")[0].split("\nnearest")[0] for t in ours]
        assert ours == theirs
