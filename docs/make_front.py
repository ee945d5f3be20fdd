"""Draw the picture of the front page: SHAP gives a relevant feature zero, AxFi does not, and the count shows why.

A tree on sixteen points, small enough to see all of them. An engine runs; in frost it needs thin oil, in heat it needs
cooling. This one runs in heat, cooled, with thick oil. In frost, everything else as it is, it would fail: the
temperature matters. Every number is computed here, the SHAP values twice: exactly on the circuit, and by shap.

Run ``python docs/make_front.py``; it writes ``front_light.png`` and ``front_dark.png``, the same for phones, and
``front.json`` (the numbers and what they were made with) into ``docs/_static``.
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.plots.style import Palette, bare, letters, palette

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.provenance import stamp

_WORDS = {
    "temperature": ("frost", "cool", "warm", "heat"),
    "cooling": ("off", "on"),
    "oil": ("thin", "thick"),
}
_ROWS = ((1, 1), (1, 0), (0, 1), (0, 0))  # cooling and oil of the rows of the left panel, from above
_ENGINE = {"temperature": 3, "cooling": 1, "oil": 1}
_OUT = Path(__file__).parent / "_static"
_NIGHT = {"figure.facecolor": "#0d1117", "axes.facecolor": "#0d1117", "savefig.facecolor": "#0d1117"}
_STYLES: dict[str, list[Any]] = {"light": ["default"], "dark": ["dark_background", _NIGHT]}


def main() -> None:
    """Compute the numbers, check them against shap's, and draw them twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_OUT, help="folder [%(default)s]")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    found = numbers()
    made_with = stamp(("axfi_kc", "matplotlib", "scikit-learn", "shap"))
    (out / "front.json").write_text(json.dumps({**found["said"], "made_with": made_with}, indent=2) + "\n")
    for name, style in _STYLES.items():
        with plt.style.context(style):
            for shape in ("", "tall_"):  # the second for phones
                figure = draw(found, tall=bool(shape))
                about = {"Title": "SHAP and AxFi on one engine", "Source": "docs/make_front.py", "Software": None}
                figure.savefig(out / f"front_{shape}{name}.png", dpi=200, metadata=about)
                plt.close(figure)
                print(out / f"front_{shape}{name}.png")


def engine_runs(temperature: int, cooling: int, oil: int) -> bool:
    """Tell whether the engine runs: in frost with thin oil only, in heat with cooling only."""
    return {0: oil == 0, 3: cooling == 1}.get(temperature, True)


def numbers() -> dict[str, Any]:
    """Return the explanation, both scores, and all of it in words for the file."""
    points = pd.DataFrame(list(product(range(4), range(2), range(2))), columns=list(_WORDS))
    runs = [engine_runs(*row) for row in points.to_numpy().tolist()]
    tree = DecisionTreeClassifier(random_state=0).fit(points, runs)
    domain = ax.Domain([ax.Integer(name, 0, len(words) - 1) for name, words in _WORDS.items()])
    e = ax.Explainer(tree, domain).explain(_ENGINE)
    shap = ax.shap_scores(ax.compile_model(tree, domain, output=True), _ENGINE)
    theirs = _by_shap(tree, points)
    if any(abs(float(shap[name]) - theirs[name]) > 1e-9 for name in shap):
        raise SystemExit(f"shap says {theirs}, but the circuit {shap}.")
    said = {
        "instance": {name: words[_ENGINE[name]] for name, words in _WORDS.items()},
        "cxps": [{"features": c.features, "weight": str(c.weight)} for c in e.cxps],
        "axfi": {name: str(score) for name, score in e.scores("shapley").items()},
        "shap_exact": {name: str(score) for name, score in shap.items()},
        "shap_by_shap": theirs,
    }
    return {"explanation": e, "shap": shap, "said": said}


def _by_shap(tree: Any, points: pd.DataFrame) -> dict[str, float]:
    """Return shap's own values of the probability that the engine runs, against all sixteen points."""
    import shap

    explainer = shap.TreeExplainer(tree, data=points, model_output="probability")
    values = np.asarray(explainer.shap_values(pd.DataFrame([_ENGINE])[list(points)]))
    return dict(zip(points, values.reshape(len(points.columns), -1)[:, -1].round(12).tolist(), strict=True))


def draw(found: dict[str, Any], *, tall: bool = False) -> Any:
    """Return the figure; a tall one has the points above the scores."""
    figure = plt.figure(figsize=(5.4, 8.6) if tall else (10.4, 4.7), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    if tall:
        placed = figure.subplot_mosaic("PP;SA", height_ratios=(1.15, 1))
        left, middle, right = placed["P"], placed["S"], placed["A"]
    else:
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.7, 1, 1))
    e, shap = found["explanation"], found["shap"]
    zero = next(name for name, score in shap.items() if score == 0 and name in e.relevant)
    _draw_points(left, palette(left))
    said = {zero: "though it can stop the engine", "oil": "though it cannot"}
    _draw_bars(middle, shap, "SHAP values", said, marked=zero)
    _draw_bars(right, e.scores("shapley"), "AxFi scores", {name: _count(e, name) for name in _WORDS})
    figure.suptitle(
        f"SHAP gives the {zero} zero,{chr(10) if tall else ' '}yet changing it alone stops the engine",
        fontsize=1.4 * letters("title"),
        fontweight="bold",
    )
    return figure


def _count(e: ax.Explanation, name: str) -> str:
    """Say in how many of a feature's values, all others as they are, the engine fails."""
    values = len(_WORDS[name])
    fails = sum(not engine_runs(**{**_ENGINE, name: k}) for k in range(values))
    weight = next((c.weight for c in e.cxps if c.features == (name,)), Fraction(0))
    if weight != Fraction(fails, values):  # the picture's claim, counted by hand
        raise SystemExit(f"{fails} of {values} by hand, but the weight is {weight}.")
    noun = {"temperature": "temperatures", "cooling": "settings", "oil": "oils"}[name]
    return f"{fails} of {values} {noun} stops it" if fails else f"none of {values} {noun} stops it"


def _draw_points(axes: Axes, colours: Palette) -> None:
    """Draw all points, this engine, and the two changes that make it fail."""
    for (x, temperature), (y, (cooling, oil)) in product(enumerate(range(4)), enumerate(_ROWS)):
        if engine_runs(temperature, cooling, oil):
            axes.plot(x, y, "o", markersize=13, color=colours.bar)
        else:
            axes.plot(x, y, "X", markersize=13, color=colours.against, markeredgewidth=0)
    axes.plot(3, 0, "o", markersize=24, markerfacecolor="none", markeredgecolor=colours.ink, markeredgewidth=2)
    style = {"arrowstyle": "-|>", "color": colours.ink, "linewidth": 1.8, "shrinkA": 15, "shrinkB": 11}
    axes.annotate("", (0, 0), (3, 0), arrowprops={**style, "connectionstyle": "arc3,rad=0.28"})
    axes.annotate("", (3, 2), (3, 0), arrowprops={**style, "connectionstyle": "arc3,rad=-0.45"})
    axes.text(1.5, -0.98, "another temperature", ha="center", va="center", fontsize=letters("label"))
    axes.text(3.62, 1, "no\ncooling", ha="left", va="center", fontsize=letters("label"))
    axes.set_xticks(range(4), _WORDS["temperature"])
    axes.set_yticks(range(4), [f"cooling {_WORDS['cooling'][c]}\n{_WORDS['oil'][o]} oil" for c, o in _ROWS])
    axes.set(xlim=(-0.5, 4.1), ylim=(3.5, -1.2))
    axes.set_xlabel("temperature", fontsize=letters("label"))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=letters("label"))
    axes.plot([], [], "o", markersize=9, color=colours.bar, label="runs")
    axes.plot([], [], "X", markersize=9, color=colours.against, markeredgewidth=0, label="fails")
    ring = {"markersize": 12, "markerfacecolor": "none", "markeredgecolor": colours.ink, "markeredgewidth": 1.6}
    axes.plot([], [], "o", label="this engine", linestyle="none", **ring)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3, frameon=False, handletextpad=0.3)
    axes.set_title("All sixteen points of the model", fontsize=1.1 * letters("title"))


def _draw_bars(axes: Axes, scores: dict[str, Fraction], title: str, said: dict[str, str], *, marked: str = "") -> None:
    """Draw a bar for each feature with its exact score, and a line about it."""
    colours = palette(axes)
    axes.axvline(0, color=colours.soft, linewidth=1)
    axes.barh(
        range(len(scores)),
        [float(s) for s in scores.values()],
        height=0.3,
        color=[colours.bar if s >= 0 else colours.against for s in scores.values()],
    )
    for row, (name, score) in enumerate(scores.items()):
        strong = {"fontweight": "bold", "color": colours.against} if name == marked else {}
        exact = f"{score}, exactly" if name == marked else str(score).replace("-", "\N{MINUS SIGN}")
        _write(axes, exact, max(float(score), 0.0), row, **strong)
        _write(axes, name, 0, row - 0.27, fontweight="bold")
        _write(axes, said.get(name, ""), 0, row + 0.27, color=colours.soft, fontsize=letters("label"))
    ends = [0.0, *map(float, scores.values())]
    axes.set(xlim=(min(ends), max(ends) * 1.3), ylim=(len(scores) - 0.45, -0.55), xticks=[], yticks=[])
    bare(axes).spines[["left", "bottom"]].set_visible(False)
    axes.set_title(title, fontsize=1.1 * letters("title"))


def _write(axes: Axes, text: str, x: float, y: float, **style: Any) -> None:
    """Write a little to the right of a point."""
    axes.annotate(
        text, (x, y), xytext=(6, 0), textcoords="offset points", va="center", **{"fontsize": letters("title"), **style}
    )


if __name__ == "__main__":
    main()
