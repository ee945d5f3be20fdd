"""What stands above a picture: the output by name, how sure the model is, and the nearest change."""

from __future__ import annotations

import random

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

import axfi_kc as ax
from axfi_kc.errors import CircuitError, DomainError, MissingExtraError
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
from axfi_kc.plots.style import label
from axfi_kc.plots.titles import change_words

mpl.use("Agg")

DOMAIN = ax.Domain(
    [ax.Integer("age", 0, 99), ax.Categorical("home", ["rents", "owns", "lodges"]), ax.Integer("x", 0, 1)]
)


def model(point) -> int:
    return int(point[0] > 60 and point[1] == "owns")


@pytest.fixture
def explained() -> ax.Explanation:
    explainer = ax.Explainer(model, DOMAIN, class_names=["refused", "granted"])
    yield explainer.explain((70, "owns", 1))
    plt.close("all")


def texts_of(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_scores_show_name_output_share_and_the_way_of_the_nearest_change(explained) -> None:
    axes = plot_scores(explained)
    change = explained.counterfactual()
    assert change.changes == {"age": (70, 60)}
    assert axes.get_title() == "Why granted?"
    assert texts_of(axes)[-1] == f"output granted (1)\nnearest change: {change.words} → refused"
    bars = dict(zip([t.get_text() for t in axes.get_yticklabels()], texts_of(axes), strict=False))
    shares = explained.shares()
    assert bars["age = 70"].endswith(f"({float(shares['age']):.0%})   ▼ to 60")
    assert bars["home = owns"].endswith(f"({float(shares['home']):.0%})")
    assert "nearest" not in " ".join(texts_of(plot_scores(explained, nearest=False)))


def test_categories_have_no_up_and_down(explained) -> None:
    e = ax.Explainer(model, DOMAIN).explain((70, "lodges", 1))
    assert any("◆ to owns" in text for text in texts_of(plot_scores(e)))
    e = ax.Explainer(model, DOMAIN).explain((50, "owns", 1))
    assert any("▲ to 61" in text for text in texts_of(plot_scores(e)))


def test_one_class_that_was_asked_about() -> None:
    e = ax.Explainer(lambda p: "xyz"[min(p[0], 2)], ax.Domain([ax.Integer("a", 0, 3)]), toward="z").explain([0])
    assert plot_scores(e).get_title() == plot_force(e).get_title() == "Why x and not z?"


def test_upset_plots_count_what_they_show() -> None:
    names = [f"x{k}" for k in range(6)]
    domain = ax.Domain([ax.Integer(n, 0, 1) for n in names])
    e = ax.Explainer(lambda p: sum(p) > 3, domain).explain([1] * 6)
    for most, features in ((20, 6), (4, 15), (20, 4), (3, 1)):
        axes = plot_cxps(e, max_cxps=most, max_features=features)
        above, beside = (a for a in axes.figure.axes if a.axison and a is not axes)
        columns = len(above.patches)
        dots = [tuple(map(round, p)) for c in axes.collections[1::2] for p in c.get_offsets().tolist()]
        rows = len(axes.get_yticklabels())
        assert [p.get_width() for p in beside.patches] == [sum(y == r for _, y in dots) for r in range(rows)]
        hidden = len(e.cxps) - columns
        assert (f"{hidden} not shown" in above.get_title()) == (hidden > 0)
        assert beside.get_xlabel().endswith("shown") == (hidden > 0)
        assert columns <= most
        plt.close("all")


@pytest.mark.parametrize("given", [0, -1, 1.5, "3", None, True])
def test_limits_are_checked(explained, given) -> None:
    for draw, name in (
        (plot_scores, "max_features"),
        (plot_cxps, "max_cxps"),
        (plot_cxps, "max_features"),
        (plot_forest, "max_trees"),
        (plot_force, "max_features"),
        (plot_interactions, "max_pairs"),
    ):
        with pytest.raises(DomainError, match=f"{name} must be a whole number of at least 1, but "):
            draw(explained, **{name: given})
    with pytest.raises(DomainError, match="max_points"):
        plot_batch([explained], max_points=given)


def test_axes_are_checked(explained) -> None:
    with pytest.raises(DomainError, match="ax must be matplotlib axes, but int was given"):
        plot_scores(explained, ax=3)
    with pytest.raises(DomainError, match="A CXpForest or an explanation is drawn"):
        plot_forest({})


def test_graphviz_is_optional(monkeypatch) -> None:
    compiled = ax.compile_model(model, DOMAIN)
    with pytest.raises(CircuitError, match="one of auto, dot, layers, but 'tree' was given"):
        plot_circuit(compiled, layout="tree")
    monkeypatch.setenv("PATH", "")
    assert plot_circuit(compiled).texts
    with pytest.raises(MissingExtraError, match="needs Graphviz"):
        plot_circuit(compiled, layout="dot")


def test_a_program_that_fails_is_no_failure_of_the_picture(monkeypatch, tmp_path) -> None:
    (tmp_path / "dot").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    compiled = ax.compile_model(model, DOMAIN)
    assert plot_circuit(compiled).texts
    with pytest.raises(CircuitError, match=r"dot failed .*; take layout='layers'"):
        plot_circuit(compiled, layout="dot")
    plt.close("all")


class _Nothing:
    """Something that no picture can be drawn of."""


@pytest.mark.parametrize("given", [3, None, "text", [], {}, _Nothing()])
def test_what_cannot_be_drawn_is_refused_in_words(given) -> None:
    for draw in (plot_scores, plot_cxps, plot_force, plot_interactions):
        with pytest.raises(
            DomainError, match=r"One explanation is drawn, but .* was given; take what Explainer.explain"
        ):
            draw(given)
    with pytest.raises(DomainError, match=r"A batch is drawn|this batch is empty|One explanation is drawn"):
        plot_batch(given)
    with pytest.raises(DomainError, match="A path of radii is drawn"):
        plot_radius_path(given)
    with pytest.raises(DomainError, match=r"DataFrame or a list of rows|at least one row"):
        plot_sizes(given)
    with pytest.raises(DomainError, match=r"Overlaps are|Each pair"):
        plot_rbo(given)


def test_numbers_that_are_none_are_refused(explained) -> None:
    for bad in (float("nan"), "x", None):
        with pytest.raises(DomainError, match="Overlaps are"):
            plot_rbo({"a": [bad]})
        with pytest.raises(DomainError, match="finite numbers"):
            plot_force(explained, shap={"age": bad, "home": 0, "x": 0})
    for bad in (-1, "x"):
        with pytest.raises(DomainError, match="A size is a number of at least 0"):
            plot_sizes([{"target": "mdd", "nodes": bad, "edges": 1}])
    assert texts_of(plot_sizes([{"target": "mdd", "nodes": 0, "edges": 3}])) == ["0", "3"]
    assert texts_of(plot_sizes([{"target": "mdd", "nodes": 0, "edges": 0}])) == ["0", "0"]
    other = ax.Explainer(lambda p: p[0] > 1, ax.Domain([ax.Integer("a", 0, 3)])).explain([0])
    with pytest.raises(DomainError, match="the same features in every row"):
        plot_batch([explained, other])
    zeros = dict.fromkeys(("age", "home", "x"), 0)
    assert any("SHAP gives every feature 0" in text for text in texts_of(plot_force(explained, shap=zeros)))


WORDS = (
    "income",
    "of",
    "the",
    "household",
    "and",
    ">=",
    "<=",
    "=",
    "0.0034",
    "12",
    "-1.5e-07",
    "year_of_the_last_survey",
)


@pytest.mark.parametrize("length", [16, 20, 24, 28, 40, 60, 90])
def test_no_number_or_sign_is_cut(length: int) -> None:
    rng = random.Random(length)
    for _ in range(300):
        words = rng.choices(WORDS, k=rng.randint(2, 30))
        line = " ".join(words)
        found = label(line, length)
        assert len(found) <= length
        if len(line) <= length:
            assert found == line
            continue
        begin, end = found.split("…")
        assert line.startswith(begin)
        assert line.endswith(end)
        for word in (*begin.split()[-1:], *end.split()[:1]):
            assert word in words or any(c.isalpha() for c in word.replace("e", ""))


def test_names_that_differ_at_their_ends_still_do() -> None:
    names = [
        f"{what} of all that was measured there (in {unit})" for what in ("mean", "worst") for unit in ("cm", "mm")
    ]
    assert len({label(name) for name in names}) == len(names)
    assert label("x" * 50) == "x" * 18 + "…" + "x" * 9


def test_the_nearest_change_is_cut_between_its_conditions() -> None:
    names = [f"the {what} of it as measured and counted" for what in ("length", "width", "height")]
    domain = ax.Domain([ax.Integer(name, 0, 9) for name in names])
    change = ax.Explainer(lambda p: sum(p) > 20, domain).explain([0] * 3).counterfactual()
    assert change.words == " and ".join(f"{name} >= {k}" for name, k in zip(names, (3, 9, 9), strict=True))
    assert change_words(change) == f"nearest change: {names[0]} >= 3 and 2 more → True"


def test_one_condition_that_is_too_long_keeps_its_number() -> None:
    for name in ("the sum of all that was measured and" + " counted" * 12, "the_sum_of_all_that_was" + "_counted" * 12):
        change = (
            ax.Explainer(lambda p: p[0] > 4321, ax.Domain([ax.Integer(name, 0, 9999)])).explain([0]).counterfactual()
        )
        found = change_words(change)
        assert found.startswith("nearest change: the")
        assert found.endswith("counted >= 4322 → True")
        assert len(found) <= 90 + len("nearest change:  → True")
