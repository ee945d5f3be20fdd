"""Every picture at 100 dots per inch: no label cut or over another, light and dark, in colours all eyes tell apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from shutil import which
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.domain.chow_liu import ChowLiu
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
from axfi_kc.plots.style import DARK, LIGHT, bare, label_bars, own_axes, palette
from tests.support.pictures import check_readable, drawn_texts

mpl.use("Agg")

NAMES = {
    "short": [f"x{k}" for k in range(12)],
    "long": [f"a feature of the kind {'abcdefgh'[k] * 9} with a long name, number {k}" for k in range(8)],
    "unicode": ["Größe", "возраст", "δείκτης", "naïve café", "ŝtato", "Ünïcödé", "$a_b$ ^ {c", "100 %"],
}


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def majority(kind: str) -> tuple[Any, ax.Domain]:
    """Return a vote that more than half of the features have to win, over features with names of a kind."""
    domain = ax.Domain([ax.Categorical(name, ["in favour, as before", "b", "c"]) for name in NAMES[kind]])
    least = len(domain) // 2
    return partial(in_favour, least=least), domain


def in_favour(point: Any, *, least: int) -> str:
    return "granted" if sum(v[0] == "i" for v in point) > least else "refused"


@pytest.fixture(scope="module")
def explained() -> dict[str, ax.Explanation]:
    found = {}
    for kind in NAMES:
        model, domain = majority(kind)
        first = {f.name: f.values[0] for f in domain.features}
        found[kind] = ax.Explainer(model, domain).explain(first)
    assert len(found["short"].cxps) == 924
    return found


def one_row_pictures(e: ax.Explanation) -> dict[str, Callable[[], Axes]]:
    shap = {name: (-1) ** k / (k + 1) for k, name in enumerate(e.domain.names)}
    return {
        "scores": partial(plot_scores, e),
        "cxps": partial(plot_cxps, e),
        "forest": partial(plot_forest, e.forest),
        "interactions": partial(plot_interactions, e),
        "force": partial(plot_force, e, shap=shap),
        "batch": partial(plot_batch, [e] * 5),
    }


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("picture", ["scores", "cxps", "forest", "interactions", "force", "batch"])
def test_pictures_of_one_row(explained, kind: str, picture: str) -> None:
    check_readable(one_row_pictures(explained[kind])[picture]())


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("kind", NAMES)
def test_pictures_say_the_space_in_a_line_that_covers_nothing(kind: str, style: str) -> None:
    names = first, second, *_ = NAMES[kind][:5]
    domain = ax.Domain([ax.Categorical(name, ["in favour, as before", "b", "c"]) for name in names])
    rules = [(ax.feature(first) != "b") | (ax.feature(second) != "b"), ax.feature(names[2]) != "c"]
    instance = {f.name: f.values[0] for f in domain.features}
    joint = domain.where(*rules).with_distribution(ChowLiu.fit(pd.DataFrame([instance] * 3), domain))
    model = partial(in_favour, least=3)
    e = ax.Explainer(model, joint, within=ax.Region(frozen=[first, second])).explain(instance)
    path = radius_path(ax.Explainer(model, domain.where(*rules)), instance, norm="l1", up_to=3)
    with plt.style.context(style):
        drawn = {name: draw() for name, draw in one_row_pictures(e).items() if name != "forest"}
        for axes in (*drawn.values(), plot_radius_path(path, most=4)):
            said = " ".join(" ".join(check_readable(axes)).split())
            assert "among possible points (2 constraints)" in said


@pytest.mark.parametrize("picture", ["scores", "cxps", "force"])
def test_large_letters_make_large_figures(explained, picture: str) -> None:
    with mpl.rc_context({"font.size": 17}):
        check_readable(one_row_pictures(explained["long"])[picture]())


@pytest.mark.parametrize("layout", ["dot", "layers"])
@pytest.mark.parametrize("target", ["mdd", "obdd", "sdd", "ddnnf"])
def test_circuits(target: str, layout: str) -> None:
    if layout == "dot" and which("dot") is None:
        pytest.skip("Graphviz is not installed")
    names = ["the age of whoever asks, in years", "δείκτης", "housing"]
    features = [ax.Integer(names[0], 18, 90), ax.Integer(names[1], 0, 3), ax.Categorical(names[2], ["rents", "owns"])]
    compiled = ax.compile_model(
        lambda p: (p[0] > 60 and p[1] in (1, 3)) or (p[2] == "owns" and p[0] > 30), ax.Domain(features), target=target
    )
    if compiled.size.nodes <= 60:
        check_readable(plot_circuit(compiled, layout=layout))


def test_radius_path_from_zero_on() -> None:
    """A CXp at radius 0 had its number over its name."""
    domain = ax.Domain([ax.Real("a name that is rather long", 0, 1), ax.Real("b", 0, 1)])
    grid = np.linspace(0, 1, 21)
    rows = np.array([(a, b) for a in grid for b in grid])
    model = DecisionTreeClassifier(max_depth=2).fit(rows, (rows[:, 0] > 0.48) | (rows[:, 1] > 0.8))
    edge = float(model.tree_.threshold[model.tree_.feature == 0][0])
    path = radius_path(ax.Explainer(model, domain), [edge, 0.1])
    assert float(path[0].start) == 0 or float(path[1].start) < 0.01
    check_readable(plot_radius_path(path, title="a title"))


@pytest.mark.parametrize("unit", ["value", "range", "std"])
@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_radius_path_says_how_distances_are_measured(norm: str, unit: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9)])
    path = radius_path(ax.Explainer(lambda p: p[0] + p[1] > 6, domain), (2, 2), norm=norm, unit=unit, weights={"a": 2})
    axes = plot_radius_path(path)
    words = {"linf": "each feature may go (linf)", "l1": "all features together may go (l1)"}[norm]
    assert words in axes.get_xlabel()
    assert ("standard deviations of measures" in axes.get_xlabel()) == (unit == "std")
    assert "a counted 2 times" in [text.get_text() for text in axes.texts]
    check_readable(axes)


def test_sizes_and_overlaps() -> None:
    rows = [{"target": "mdd", "nodes": 2, "edges": 3}, {"target": "obdd", "code": "order", "nodes": 9, "edges": 12}]
    texts = check_readable(
        plot_sizes(rows, title="a title that is long enough to need more than one line of the figure " * 2)
    )
    assert {"1", "2", "5", "10"} <= set(texts)
    check_readable(plot_sizes([{**rows[0], "nodes": 10**k} for k in range(0, 9, 2)]))
    check_readable(plot_rbo({tuple(NAMES["long"][:2]): [0.5, 1], "δείκτης": [0.2]}, title="a long title " * 9))


def test_no_offset_stands_over_an_axis() -> None:
    for largest in (3e-9, 2.5e-5, 4e7):
        axes = own_axes(None, width=5, height=2)
        label_bars(bare(axes), axes.barh([0, 1], [largest, largest / 3]), ["one", "two"])
        check_readable(axes)
        assert not axes.xaxis.get_offset_text().get_text()
        powers = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
        ticks = [t.get_text().translate(powers).replace("·10", "e") for t in axes.get_xticklabels()]
        assert np.allclose([float(t) for t in ticks], axes.get_xticks(), rtol=1e-5)


def test_overlaps_are_seen() -> None:
    """Check the measure itself: a text over another, and one outside, are found."""
    axes = own_axes(None, width=3, height=2)
    axes.text(0.5, 0.5, "first")
    check_readable(axes)
    second = axes.text(0.52, 0.5, "second")
    with pytest.raises(AssertionError, match="overlap"):
        check_readable(axes)
    second.set_position((0.5, 3.0))
    axes.figure.set_layout_engine("none")
    with pytest.raises(AssertionError, match="cut"):
        check_readable(axes)


@pytest.mark.parametrize("picture", ["scores", "cxps", "forest", "interactions", "force", "batch"])
def test_dark_pictures_are_dark(explained, picture: str) -> None:
    """Check that nothing is drawn in the colour of what it stands on: every text has the contrast that letters need."""
    with plt.style.context("dark_background"):
        figure = one_row_pictures(explained["unicode"])[picture]().figure
        texts = drawn_texts(figure)
        face = figure.get_facecolor()
    assert to_rgb(face) == (0, 0, 0)
    for text in texts:
        frame = text.get_bbox_patch()
        behind = face if frame is None else frame.get_facecolor()
        assert contrast(text.get_color(), behind) >= 4.5, text.get_text()


def test_given_axes_decide() -> None:
    figure, (light, dark) = plt.subplots(1, 2)
    dark.set_facecolor("#101820")
    assert (palette(light).ink, palette(dark).ink) == (LIGHT.ink, DARK.ink)
    assert palette(dark).paper == "#101820"
    figure.set_facecolor("none")
    light.set_facecolor("none")
    with mpl.rc_context({"text.color": "white"}):
        assert palette(light).ink == DARK.ink


def contrast(colour: Any, other: Any) -> float:
    """Return the contrast of two colours as the web's accessibility guidelines define it."""
    low, high = sorted(_luminance(np.array(to_rgb(c))) for c in (colour, other))
    return (high + 0.05) / (low + 0.05)


def _linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _luminance(rgb: np.ndarray) -> float:
    return float(_linear(rgb) @ [0.2126, 0.7152, 0.0722])


# What full protanopia, deuteranopia and tritanopia make of linear light (Machado, Oliveira and Fernandes, 2009).
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}


def _lab(colour: str, eye: np.ndarray) -> np.ndarray:
    seen = np.clip(eye @ _linear(np.array(to_rgb(colour))), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    f = np.cbrt(np.maximum(xyz / [0.9505, 1, 1.089], 1e-9))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_that_stand_together_are_told_apart(colours, eye: str) -> None:
    groups = [
        (colours.bar, colours.second),
        (colours.bar, colours.against),
        (*colours.low_to_high, colours.unordered),
        (colours.ink, colours.faint, colours.paper),
    ]
    for group in groups:
        for a, b in combinations(group, 2):
            assert np.linalg.norm(_lab(a, EYES[eye]) - _lab(b, EYES[eye])) >= 12, (a, b)
    lightness = [_lab(c, EYES[eye])[0] for c in colours.low_to_high]
    assert lightness == sorted(lightness)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_letters_and_bars_have_contrast(colours) -> None:
    assert min(contrast(c, colours.paper) for c in (colours.ink, colours.soft)) >= 4.5
    assert contrast(colours.ink, colours.faint) >= 4.5
    for colour in (colours.bar, colours.against, colours.unordered, *colours.low_to_high):
        assert contrast(colour, colours.paper) >= 2.2, colour
