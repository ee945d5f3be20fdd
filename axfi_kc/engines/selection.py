"""Which engine explains which model form."""

from __future__ import annotations

from collections.abc import Hashable
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.engines.boxes import BoxEngine
from axfi_kc.engines.circuits import CircuitEngine
from axfi_kc.engines.diagrams import DiagramEngine
from axfi_kc.engines.ensemble import EnsembleEngine
from axfi_kc.engines.families import Found
from axfi_kc.engines.linear import LinearEngine
from axfi_kc.engines.targets import TargetEngine
from axfi_kc.errors import UnsupportedModelError, UnsupportedTargetError
from axfi_kc.models import Boxes, CircuitModel, LinearModel, Model, TableModel, TreeSum
from axfi_kc.similarity import Similarity
from axfi_kc.targets import TARGETS, language_of

__all__ = ["Engine", "engine_for", "engine_through"]

_NO_LIMIT = Budget()


class Engine(Protocol):
    """Finds the CXps of a model's instances, with their weights."""

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        ...

    def explain(self, codes: npt.NDArray[np.float64], *, weights: str = "ratio", max_size: int | None = None) -> Found:
        """Return the CXps and weights of each instance, given by its codes."""
        ...

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        ...


@singledispatch
def engine_for(model: Any, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    """Return the engine for a neutral form; building it is the work done once per model.

    The budget is that of each instance.
    """
    raise UnsupportedModelError(f"No engine explains {type(model).__name__}; expected a neutral form from read_model.")


@engine_for.register(TableModel)
@engine_for.register(Boxes)
def _boxes(model: TableModel | Boxes, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    return BoxEngine(model, similarity, budget)


@engine_for.register
def _trees(model: TreeSum, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    return (BoxEngine if model.n_trees == 1 else EnsembleEngine)(model, similarity, budget)


@engine_for.register
def _linear(model: LinearModel, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    return LinearEngine(model, similarity, budget)


@engine_for.register
def _circuits(model: CircuitModel, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    return CircuitEngine(model, similarity, budget)


def engine_through(target: str, model: Model, similarity: Similarity, budget: Budget = _NO_LIMIT) -> Engine:
    """Return the engine that explains through `target`: ``"auto"`` is :func:`engine_for`'s.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.
    """
    if target != "auto" and target not in TARGETS:
        raise UnsupportedTargetError(
            f"target must be one of {', '.join(map(repr, ('auto', *TARGETS)))}, but {target!r} was given."
        )
    engine = engine_for(model, similarity, budget)
    if target == "auto":
        return engine
    through = DiagramEngine if language_of(target).ordered else TargetEngine
    return through(model, similarity, budget, target=target, constant=engine.constant)
