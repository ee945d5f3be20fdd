"""What shap and shapiq get: the same numbers, and objects that their plots draw."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Real
from axfi_kc.errors import IncompleteError, MissingExtraError, WeightError
from axfi_kc.scores.interactions import INTERACTIONS
from tests.scores.test_interactions import game_of

mpl.use("Agg")

DOMAIN = Domain([Categorical("colour", ["red", "blue", "green"], missing=0.25), Integer("n", 0, 4), Real("x", 0, 1)])
ROWS = [("blue", 3, 0.25), (None, 0, 0.75), ("red", 4, 0.5)]


def table() -> Any:
    from axfi_kc.domain.grid import Axis, Cut, Grid
    from axfi_kc.models import TableModel

    colour, n, x = DOMAIN.features
    axes = Axis.of(colour), Axis.of(n, [Cut(1.5, closed=True)]), Axis.of(x, [Cut(0.5, closed=True)])
    outputs = np.random.default_rng(1).integers(0, 2, (4, 2, 2))
    return TableModel(Grid(DOMAIN, axes), (0, 1), outputs)


@pytest.fixture(scope="module")
def batch() -> Any:
    return ax.Explainer(table(), DOMAIN, class_names=["no", "yes"]).explain_batch(ROWS)


def saved(batch: Any, folder: Path) -> Any:
    return ax.Explainer(table(), DOMAIN, class_names=["no", "yes"]).explain_to(folder / "out.jsonl", ROWS)


def test_one_explanation_for_shap(batch: Any) -> None:
    shap = pytest.importorskip("shap")
    e = batch[1]
    for one in (e, ax.Explanation.from_json(e.to_json())):
        for kind in ("shapley", "banzhaf", "ffa"):
            found = one.to_shap(kind)
            assert isinstance(found, shap.Explanation)
            assert found.feature_names == ["colour", "n", "x"]
            assert found.values.tolist() == [float(s) for s in e.scores(kind).values()]
            assert one.to_shap(kind, shares=True).values.tolist() == [float(s) for s in e.shares(kind).values()]
        assert found.base_values == 0
        assert np.isnan(found.data[0])
        assert found.data[1:].tolist() == [0.0, 0.75]
        assert found.display_data.tolist() == [None, 0, 0.75]
    assert batch[2].to_shap().data.tolist() == [0.0, 4.0, 0.5]
    assert batch[2].to_shap().display_data.tolist() == ["red", 4, 0.5]


def test_batches_for_shap(batch: Any, tmp_path: Path) -> None:
    pytest.importorskip("shap")
    for many in (batch, saved(batch, tmp_path)):
        found, raw = many.to_shap(), many.to_shap("banzhaf", shares=False)
        assert found.values.tolist() == batch.shares().astype(float).values.tolist()
        assert raw.values.tolist() == batch.scores("banzhaf", exact=False).values.tolist()
        assert np.array_equal(found.data, DOMAIN.encode(ROWS), equal_nan=True)
        assert [tuple(row) for row in found.display_data] == ROWS
        assert found.base_values.tolist() == [0, 0, 0]
        assert found[1].values.tolist() == batch[1].to_shap(shares=True).values.tolist()


def test_plots_of_shap_draw_them() -> None:
    shap = pytest.importorskip("shap")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    domain = Domain([Integer(f"x{i}", 0, 3) for i in range(4)])
    many = ax.Explainer(lambda p: p[0] + p[1] * p[2] > 3, domain).explain_batch(rng.integers(0, 4, (20, 4)).tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in (shap.plots.waterfall, shap.plots.bar):
            draw(many[0].to_shap(), show=False)
            assert plt.gca().get_yticklabels()
            plt.close("all")
        for draw in (shap.plots.beeswarm, shap.plots.bar, shap.plots.heatmap):
            draw(many.to_shap(), show=False)
            assert "x0" in {label.get_text() for label in plt.gcf().axes[0].get_yticklabels()}
            plt.close("all")
        shap.plots.scatter(many.to_shap()[:, "x0"], show=False)
        plt.close("all")


@pytest.mark.parametrize("kind", INTERACTIONS)
def test_interactions_for_shapiq_are_those_it_computes(kind: str) -> None:
    shapiq = pytest.importorskip("shapiq")
    domain = Domain([Integer(f"x{i}", 0, 2) for i in range(6)])
    e = ax.Explainer(lambda p: p[0] + p[1] * p[2] + p[3] * p[4] > 4, domain).explain([1, 1, 2, 0, 2, 1])
    for order in (1, 2, 3):
        for one in (e, ax.Explanation.from_json(e.to_json())):
            found = one.to_shapiq(kind, order=order)
            exact = shapiq.ExactComputer(game_of(e.forest), n_players=6)(INTERACTIONS[kind].code, order)
            assert isinstance(found, shapiq.InteractionValues)
            assert found.index == exact.index
            assert (found.max_order, found.n_players, found.estimated) == (order, 6, False)
            for members, value in exact.dict_values.items():
                if members:
                    assert found[members] == pytest.approx(value, abs=1e-8)
    assert found.baseline_value == 0


def test_plots_of_shapiq_draw_them() -> None:
    pytest.importorskip("shapiq")
    import matplotlib.pyplot as plt

    domain = Domain([Integer(f"x{i}", 0, 2) for i in range(5)])
    found = ax.Explainer(lambda p: p[0] + p[1] * p[2] > 2, domain).explain([1, 1, 2, 0, 2]).to_shapiq("k_shapley")
    names = np.array(domain.names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.plot_network(feature_names=list(names), show=False)
        assert {"x0", "x1"} <= {text.get_text() for text in plt.gcf().axes[0].texts}
        for draw in (found.plot_waterfall, found.plot_upset, found.plot_stacked_bar, found.plot_force):
            draw(feature_names=names, show=False)
            plt.close("all")


def test_what_cannot_be_is_one_sentence(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeightError, match="must be one of"):
        batch[0].to_shapiq("SII")
    with pytest.raises(WeightError, match="positive number"):
        batch[0].to_shapiq(order=0)
    with pytest.raises(WeightError, match="must be one of"):
        batch.to_shap("sharp")
    monkeypatch.setitem(sys.modules, "shap", None)
    monkeypatch.setitem(sys.modules, "shapiq", None)
    for ask in (batch.to_shap, batch[0].to_shap):
        with pytest.raises(MissingExtraError, match=r"needs shap, .* our \[shap\]"):
            ask()
    with pytest.raises(MissingExtraError, match=r"needs shapiq, .* our \[shapiq\]"):
        batch[0].to_shapiq()


def test_a_file_without_a_list_of_cxps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("shapiq")
    e = ax.Explainer(lambda p: sum(p) > 1, Domain([Integer(f"x{i}", 0, 1) for i in range(4)])).explain([0] * 4)
    with monkeypatch.context() as patch:
        patch.setattr("axfi_kc.explanations.files.document._MOST_SETS", 1)
        text = e.to_json(interactions=["shapley", "k_shapley"])
    again = ax.Explanation.from_json(text)
    assert again.to_shapiq().dict_values == e.to_shapiq().dict_values
    with pytest.raises(IncompleteError, match="1 features"):
        again.to_shapiq("k_shapley")
