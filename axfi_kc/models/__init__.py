"""Neutral model forms: what every reader produces and every engine consumes.

A form is a function on cells (see :mod:`axfi_kc.grid`), free of the library that trained it.
"""

from axfi_kc.models.boxes import Boxes, boxes_of, relabelled
from axfi_kc.models.circuits import CircuitModel
from axfi_kc.models.gridded import GriddedModel, ListedModel, Model, Uses
from axfi_kc.models.linear import LinearModel, Lookup, Slope
from axfi_kc.models.tables import TableModel
from axfi_kc.models.trees import Argmax, Positive, Score, Split, TreeNodes, TreeSum

__all__ = [
    "Argmax",
    "Boxes",
    "CircuitModel",
    "GriddedModel",
    "LinearModel",
    "ListedModel",
    "Lookup",
    "Model",
    "Positive",
    "Score",
    "Slope",
    "Split",
    "TableModel",
    "TreeNodes",
    "TreeSum",
    "Uses",
    "boxes_of",
    "relabelled",
]
