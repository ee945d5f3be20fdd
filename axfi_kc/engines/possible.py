"""Explains instances among the points that can exist.

The engine beneath finds adversarial examples among possible points only. Two things remain to be done: an instance must
be possible itself, and a ratio is the probability of a CXp's adversarial examples *given* that a point is possible and
agrees with the instance outside the CXp.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.domain.constraints import check_possible
from axfi_kc.engines.found import Found, Located, masks_of_words
from axfi_kc.errors import IncompleteError
from axfi_kc.models import Model
from axfi_kc.models.support import positive_share, support_of

if TYPE_CHECKING:
    from axfi_kc.engines import Engine

__all__ = ["PossibleEngine"]


class PossibleEngine:
    """An engine for a domain with constraints, around one whose adversarial examples are possible."""

    def __init__(self, engine: Engine, model: Model) -> None:
        self._engine = engine
        self._domain = model.domain
        found = support_of(model.grid)
        if found is None:
            raise ValueError("expected a domain with constraints")
        self._support = found

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        return self._engine.constant

    @property
    def searches(self) -> bool:
        """Whether the engine beneath searches, instance by instance."""
        return getattr(self._engine, "searches", False)

    def locate(self, codes: npt.NDArray[np.float64]) -> Located:
        """Return where instances lie and the model's outputs there; DomainError if one cannot exist."""
        check_possible(self._domain, codes)
        return self._engine.locate(codes)

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
        cells, outputs = located or self.locate(codes)
        asked: dict[str, Any] = {"max_size": max_size, "budget": budget, "partial": partial}
        found = self._engine.explain(codes, weights=weights, located=(cells, outputs), **asked)
        return self._given_possible(found, cells) if weights == "ratio" else found

    def _given_possible(self, found: Found, cells: npt.NDArray[np.int64]) -> Found:
        """Divide each weight by the probability of the possible points in the box of its CXp."""
        if found._large:
            raise IncompleteError(
                "Under constraints ratios are made CXp by CXp, but an instance has too many to list; explain with "
                "max_size, weights='count' or weights='unit'."
            )
        masks, rows = masks_of_words(found.words), cells.tolist()
        owner = np.repeat(np.arange(len(found)), np.diff(found.starts)).tolist()
        pairs = zip(owner, masks, strict=True)
        shares = [positive_share(self._support.share(rows[n], mask), self._domain.names_of(mask)) for n, mask in pairs]
        divisors = found.divisors or [1] * len(masks)
        totals = np.empty(len(masks), dtype=object)
        totals[:] = [t * s.denominator for t, s in zip(found.listed_totals, shares, strict=True)]
        return replace(found, totals=totals, divisors=[d * s.numerator for d, s in zip(divisors, shares, strict=True)])

    @property
    def cover(self) -> Any:
        """What covers the adversarial examples of CXps by boxes, if the engine beneath does; None otherwise."""
        return getattr(self._engine, "cover", None)

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        check_possible(self._domain, code[np.newaxis])
        return self._engine.is_weak_cxp(code, mask, budget=budget)
