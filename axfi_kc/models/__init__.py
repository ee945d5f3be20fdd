"""Neutral model forms: what every reader produces and every engine consumes.

A form is a function on cells (see :mod:`axfi_kc.domain.grid`), free of the library that trained it.
"""

from axfi_kc.models.base import GriddedModel, ListedModel, Model, Similarity, Uses
from axfi_kc.models.bayes_classifier import BayesClassifier
from axfi_kc.models.box_model import Boxes, boxes_of, relabelled
from axfi_kc.models.circuit_model import CircuitModel
from axfi_kc.models.linear_model import LinearModel, Lookup, Slope
from axfi_kc.models.samples import Samples
from axfi_kc.models.table_model import TableModel
from axfi_kc.models.tree_sum import Argmax, Positive, Score, Split, TreeNodes, TreeSum

__all__ = [
    "Argmax",
    "BayesClassifier",
    "Boxes",
    "CircuitModel",
    "GriddedModel",
    "LinearModel",
    "ListedModel",
    "Lookup",
    "Model",
    "Positive",
    "Samples",
    "Score",
    "Similarity",
    "Slope",
    "Split",
    "TableModel",
    "TreeNodes",
    "TreeSum",
    "Uses",
    "boxes_of",
    "relabelled",
]
