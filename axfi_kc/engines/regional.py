"""Explains instances within a region around each of them: a smaller domain, and the model restricted to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.domain.constraints import check_possible
from axfi_kc.domain.region import Near, Region
from axfi_kc.engines.ball_weights import BallWeights, near_of
from axfi_kc.engines.found import Found, Located, masks_of_words
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import IncompleteError
from axfi_kc.models import Model, Similarity
from axfi_kc.models.restriction import restricted

if TYPE_CHECKING:
    from axfi_kc.engines import Engine

__all__ = ["RegionEngine", "within"]


def within(model: Model, codes: npt.NDArray[np.float64], region: Region) -> tuple[Model, npt.NDArray[np.float64]]:
    """Return a model over the region around an instance, and the instance's codes there, which are the same."""
    return restricted(model, region.around(model.domain, codes)), codes


class RegionEngine:
    """Explains each instance within the region around it.

    Parameters
    ----------
    model
        Any neutral form.
    region
        How far one may go.
    make
        Makes the engine of the model that is left around an instance. A partial function or a method rather than a
        lambda: engines are sent to workers.
    similarity
        Which outputs count as similar, for weights within l1 balls; None: equal ones.
    """

    searches = True  # around each instance there is another model

    def __init__(
        self, model: Model, region: Region, make: Callable[[Model], Engine], *, similarity: Similarity | None = None
    ) -> None:
        region.check(model.domain)
        self._similarity = similarity
        self._model, self._region, self._make = model, region, make

    def locate(self, codes: npt.NDArray[np.float64]) -> Located:
        """Return the codes themselves, since cells are others around each, and the outputs there.

        Raises
        ------
        DomainError
            If an instance cannot exist.
        """
        check_possible(self._model.domain, codes)
        return codes, self._model.outputs_at(codes)

    @property
    def constant(self) -> Hashable | None:
        """None: what changes nothing around one instance may do so around another."""
        return None

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
        _, outputs = located or self.locate(codes)
        parts = []
        for n, row in enumerate(codes):
            model, own = within(self._model, row, self._region)
            near = near_of(model) if weights == "ratio" else None
            # Where a ball cuts through cells, these say which sets are CXps but not what they weigh.
            kind = weights if near is None else "unit"
            asked: dict[str, Any] = {"weights": kind, "max_size": max_size, "budget": budget, "partial": partial}
            with naming_row(n):
                found = self._make(model).explain(own[np.newaxis], **asked)
            parts.append(_explicit(found) if near is None else self._weighed(found, model, near, own))
        empty = Found.of_instances([], [], wholes=(1,) * codes.shape[1], kind=weights)
        joined = Found.joined(parts) if parts else empty
        return replace(joined, outputs=outputs, kind=weights, nodes=None)

    def _weighed(self, found: Found, model: Model, near: Near, own: npt.NDArray[np.float64]) -> Found:
        """Return what was found with its ratios within a ball."""
        _check_listed(is_listed=not found.unlisted)
        similarity = self._similarity or Similarity.of(model, None)
        weights, output = BallWeights(model, near), found.outputs[0]
        ratios = [weights.ratio(own, output, mask, similarity) for mask in masks_of_words(found.words)]
        totals = np.empty(len(ratios), dtype=object)
        totals[:] = [r.numerator for r in ratios]
        wholes, divisors = (1,) * len(found.wholes), [r.denominator for r in ratios]
        return replace(found, totals=totals, wholes=wholes, kind="ratio", divisors=divisors)

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        model, own = within(self._model, code, self._region)
        return self._make(model).is_weak_cxp(own, mask, budget=budget)


def _explicit(found: Found) -> Found:
    """Return what was found with each weight as a fraction of its own: around each instance cells are worth others."""
    # Cells are worth others around each instance, on a diagram too; what is counted has its own weights.
    _check_listed(is_listed=all(sets.dag is None for sets in found.unlisted.values()))
    numerators, denominators = found.scaled
    totals = np.empty(len(numerators), dtype=object)
    totals[:] = numerators
    owner = np.repeat(np.arange(len(found)), np.diff(found.starts)).tolist()
    divisors = [denominators[n] for n in owner]
    return replace(found, totals=totals, wholes=(1,) * len(found.wholes), divisors=divisors)


def _check_listed(*, is_listed: bool) -> None:
    if not is_listed:
        raise IncompleteError(
            "Within a region CXps are listed, but an instance has too many; narrow the region, or set max_size."
        )
