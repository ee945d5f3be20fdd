"""Explains linear models under constraints that only leave out categories."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.domain.constraints import check_possible
from axfi_kc.engines.found import Found, Located
from axfi_kc.engines.linear.engine import LinearEngine
from axfi_kc.models import LinearModel, Similarity
from axfi_kc.models.renumbering import Renumbered

__all__ = ["RenumberedEngine"]


class RenumberedEngine:
    """An engine for a linear model, around that of the model over the categories that are left."""

    def __init__(self, model: LinearModel, similarity: Similarity, small: Renumbered) -> None:
        self._model, self._small = model, small
        self._engine = LinearEngine(small.model, similarity)

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        return self._engine.constant

    def locate(self, codes: npt.NDArray[np.float64]) -> Located:
        """Return the codes themselves and the outputs there; DomainError if one cannot exist."""
        check_possible(self._model.domain, codes)
        return codes, self._model.outputs_at(codes)

    def explain(
        self,
        codes: npt.NDArray[np.float64],
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance."""
        if located is None:
            check_possible(self._model.domain, codes)
        inner = self._small.inward(codes)
        return self._engine.explain(inner, weights=weights, max_size=max_size, budget=budget, partial=partial)

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        check_possible(self._model.domain, code[np.newaxis])
        return self._engine.is_weak_cxp(self._small.inward(code), mask, budget=budget)
