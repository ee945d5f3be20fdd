"""The study's pictures, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from axfi_kc.errors import MissingExtraError
from benchmarks.paper.published import OVERLAPS, PAIRS

__all__ = ["draw_bars", "draw_overlaps", "draw_sizes"]


_BAR, _PUBLISHED, _MEAN = "#2a6f97", "#8a8f98", "#b3261e"
_COLOURS = {"mdd": "#2a6f97", "obdd": "#b3261e", "sdd": "#e9a23b", "ddnnf": "#4c8c4a"}
_NAMES = {
    "shapley": "Shapley-like",
    "banzhaf": "Banzhaf-like",
    "wffa": "WFFA",
    "shap": "SHAP",
    "abs(shap)": "abs(SHAP)",
}


def _pyplot() -> Any:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing the study's figures") from error
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _saved(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # it is found; finding it again for each format costs most of the time
    for suffix in (".png", ".svg"):
        figure.savefig(path.with_suffix(suffix), dpi=120)
    _pyplot().close(figure)
    return path.with_suffix(".png")


def draw_overlaps(name: str, instances: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw how the overlaps of the nine pairs are distributed, with the mean here and in the paper."""
    figure, grid = _pyplot().subplots(3, 3, figsize=(9, 6.6), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.065, right=0.985, bottom=0.13, top=0.9, wspace=0.07, hspace=0.3)
    for axes, (one, other), published in zip(grid.flat, PAIRS, OVERLAPS[name], strict=True):
        values = [float(Fraction(i["overlaps"][f"{one}-{other}"])) for i in instances]
        axes.hist(values, bins=20, range=(0, 1), color=_BAR)
        axes.axvline(sum(values) / len(values), color=_MEAN, lw=1.5, label="mean here")
        axes.axvline(published[2], color=_PUBLISHED, lw=1.5, ls="--", label="mean in the paper")
        axes.set_title(f"{_NAMES[one]} and {_NAMES[other]}", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("rank-biased overlap", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel("instances", fontsize=9)
    figure.suptitle(f"{name}: overlap of rankings at {len(instances)} test instances", fontsize=11)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=2, fontsize=9, frameon=False)
    return _saved(figure, path)


def draw_bars(title: str, names: Sequence[str], scores: Mapping[str, Sequence[float]], path: Path) -> Path:
    """Draw the scores of one instance side by side, features in the order of the domain."""
    figure, grid = _pyplot().subplots(
        1, len(scores), figsize=(3.1 * len(scores) + 1.2, 0.9 + 0.28 * len(names)), layout="constrained", sharey=True
    )
    for axes, (kind, values) in zip(grid, scores.items(), strict=True):
        bars = axes.barh(range(len(names)), values, color=_BAR, height=0.7)
        axes.bar_label(bars, [f"{v:.3f}" if v else "0" for v in values], padding=2, fontsize=7)
        axes.set_title(_NAMES[kind], fontsize=10)
        axes.margins(x=0.2)
        axes.locator_params(axis="x", nbins=4)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_yticks(range(len(names)), names, fontsize=9)
    grid[0].invert_yaxis()
    figure.suptitle(title, fontsize=11)
    return _saved(figure, path)


def draw_sizes(rows: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> Path | None:
    """Draw for each model the nodes and the edges of the smallest circuit of each language."""
    best = {name: _smallest(found) for name, found in rows.items()}
    best = {name: found for name, found in best.items() if found}
    if not best:
        return None
    figure, grid = _pyplot().subplots(1, 3, figsize=(11, 1.2 + 0.62 * len(best)), layout="constrained", sharey=True)
    for axes, quantity in zip(grid, ("nodes", "bytes", "seconds"), strict=True):
        for k, (language, colour) in enumerate(_COLOURS.items()):
            at = [y for y, found in enumerate(best.values()) if language in found]
            values = [found[language][quantity] for found in best.values() if language in found]
            places = [y + 0.2 * (k - 1.5) for y in at]
            axes.barh(places, values, height=0.19, color=colour, label=language)
        axes.set_xscale("log")
        axes.set_xlabel(quantity)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_yticks(range(len(best)), list(best))
    grid[0].invert_yaxis()
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("The smallest circuit of each language, over all orders and codes tried", fontsize=11)
    return _saved(figure, path)


def _smallest(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        nodes = row.get("nodes")
        if nodes is not None and nodes < found.get(row["target"], {"nodes": float("inf")})["nodes"]:
            found[row["target"]] = row
    return found
