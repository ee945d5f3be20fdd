"""The pictures of one explanation, into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axfi_kc.errors import MissingExtraError
from axfi_kc.scores import DEFAULT_SCORES

__all__ = ["write_pictures"]

_DPI = 150


def write_pictures(explanation: Any, folder: Path, *, kinds: Sequence[str] = DEFAULT_SCORES) -> list[Path]:
    """Draw scores, CXps and the forest, write the forest's files, and return the paths."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing") from error
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from axfi_kc.plots import plot_cxps, plot_forest, plot_scores

    folder.mkdir(parents=True, exist_ok=True)
    drawn = {kind: plot_scores(explanation, kind) for kind in kinds}
    if explanation.cxps:
        drawn["cxps"] = plot_cxps(explanation)
    if isinstance(explanation.cxps, tuple) and explanation.cxps:  # more than a tuple holds make no picture
        drawn["forest"] = plot_forest(explanation.forest)
    written = []
    for name, axes in drawn.items():
        written.append(folder / f"{name}.png")
        figure: Any = axes.figure
        figure.savefig(written[-1], dpi=_DPI)
        plt.close(figure)
    explanation.forest.to_graphml(folder / "forest.graphml")
    explanation.forest.to_dot(folder / "forest.dot")
    return [*written, folder / "forest.graphml", folder / "forest.dot"]
