"""Pictures, with matplotlib (``pip install matplotlib``).

Functions draw into the axes they are given, or make their own, and return them; nothing is shown
or saved behind the caller's back. To add one:

1. write a file here with ``plot_mine(what, *, ax=None) -> Axes``, and name the function below;
2. take axes, colours (light or dark) and letter sizes from :mod:`axfi_kc.plots.style`, which imports matplotlib only
   when one draws; its ``check_...`` refuse what cannot be drawn;
3. show names, values and numbers with its ``label``, ``value`` and ``number``, which abridge them, and make room for
   them with ``text_width``; ``tests/plots/test_readable.py`` measures what is cut or covered.
"""

from axfi_kc.plots.circuit import circuit_dot, circuit_graph, plot_circuit
from axfi_kc.plots.cxps import plot_cxps
from axfi_kc.plots.force import plot_force
from axfi_kc.plots.forest import plot_forest
from axfi_kc.plots.interactions import plot_interactions
from axfi_kc.plots.overlaps import plot_rbo
from axfi_kc.plots.radii import plot_radius_path
from axfi_kc.plots.scores import plot_batch, plot_scores
from axfi_kc.plots.sizes import plot_sizes

__all__ = [
    "circuit_dot",
    "circuit_graph",
    "plot_batch",
    "plot_circuit",
    "plot_cxps",
    "plot_force",
    "plot_forest",
    "plot_interactions",
    "plot_radius_path",
    "plot_rbo",
    "plot_scores",
    "plot_sizes",
]
