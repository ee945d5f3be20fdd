"""Explains instances under a joint distribution of their features.

CXps are logic, and those of the engine beneath. A ratio is the probability of a CXp's adversarial examples *given* that
a point is possible and agrees with the instance outside the CXp; the engine beneath cuts the adversarial examples into
disjoint boxes, and any distribution that can weigh a box weighs them.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.domain.constraints import check_possible
from axfi_kc.engines.diagram.engine import DiagramEngine
from axfi_kc.engines.found import Found, Located
from axfi_kc.engines.per_output import one_by_one
from axfi_kc.engines.radius import found_by_radius, naming_row
from axfi_kc.models import Model
from axfi_kc.models.joint import Box, BoxList, BoxWeigher, box_weigher

__all__ = ["BoxedEngine", "JointEngine"]


Codes = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]


class BoxedEngine(Protocol):
    """An engine that cuts adversarial examples into disjoint boxes."""

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        ...

    def locate(self, codes: Codes) -> Located:
        """Return the cells of instances, and the model's outputs there."""
        ...

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance; see :class:`axfi_kc.engines.Engine`."""
        ...

    def explain_in_boxes(
        self, codes: Codes, *, max_size: int | None = None, budget: Budget | None = None, located: Located | None = None
    ) -> tuple[Found, BoxList]:
        """Return the CXps of each instance, with unit weights, and the adversarial examples of each as boxes."""
        ...

    def dissimilar_boxes(self, v: Cells, output: Hashable, mask: int, *, budget: Budget | None = None) -> Iterable[Box]:
        """Return disjoint boxes of the dissimilar points that agree with v, given by its cells, outside `mask`."""
        ...

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        ...


class JointEngine:
    """An engine for a domain with a joint distribution, around one whose adversarial examples are possible.

    Parameters
    ----------
    engine
        Finds the CXps, and boxes of their adversarial examples.
    model
        The model, whose domain has the distribution.
    """

    def __init__(self, engine: BoxedEngine, model: Model) -> None:
        self._engine, self._model = engine, model

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        return self._engine.constant

    @property
    def searches(self) -> bool:
        """Whether the engine beneath searches, instance by instance."""
        return getattr(self._engine, "searches", False)

    @property
    def cover(self) -> Any:
        """What covers the adversarial examples of CXps by boxes, if the engine beneath does; None otherwise."""
        return getattr(self._engine, "cover", None)

    @cached_property
    def _weigher(self) -> BoxWeigher:
        return box_weigher(self._model.grid)

    def locate(self, codes: Codes) -> Located:
        """Return where instances lie and the model's outputs there; DomainError if one cannot exist."""
        check_possible(self._model.domain, codes)
        return self._engine.locate(codes)

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance; only CXps of the radius that fits are weighed.

        Raises
        ------
        DomainError
            If the distribution gives the surroundings of an instance probability 0.
        """
        where = located or self.locate(codes)
        asked: dict[str, Any] = {"max_size": max_size, "budget": budget}
        if weights != "ratio":
            return self._engine.explain(codes, weights=weights, located=where, partial=partial, **asked)
        if not Watch(budget).can_end or not len(codes):
            return self._ratios(codes, located=where, **asked)
        if not partial:
            return one_by_one(functools.partial(self._ratios, **asked), codes, where)
        for n in {output: n for n, output in enumerate(where[1])}.values():
            with naming_row(n):  # what is made for an output has the whole budget, and is kept
                self._engine.explain_in_boxes(codes[n : n + 1], max_size=0, budget=budget)
        return found_by_radius(self._ratios, codes, where, **asked)

    def _ratios(self, codes: Codes, *, max_size: int | None, located: Located, budget: Budget | None = None) -> Found:
        """Return the CXps of instances with their ratios."""
        cells, outputs = located
        account = Account(budget, goal="explanation", advice="allow more, or limit max_size")
        given: dict[str, Any] = {"max_size": max_size, "budget": budget, "located": located}
        if isinstance(self._engine, DiagramEngine):  # which holds more CXps than can be listed
            places = self._weigher.places(codes)
            given["apart"] = lambda n, features: self._weigher.apart(places[n], features)
        found, boxes = self._engine.explain_in_boxes(codes, **given)
        totals, divisors = self._weighed(found, boxes, codes, cells, account)
        column = np.empty(len(totals), dtype=object)
        column[:] = totals
        ones = (1,) * len(found.wholes)
        return replace(found, outputs=outputs, totals=column, wholes=ones, kind="ratio", divisors=divisors)

    def _weighed(
        self, found: Found, boxes: BoxList, codes: Codes, cells: Cells, account: Account
    ) -> tuple[list[int], list[int]]:
        owner = np.repeat(np.arange(len(found)), np.diff(found.starts)).tolist()
        totals, divisors = [], []
        for above, below in account.paced(self._weigher.ratios(codes, cells, owner, boxes)):
            totals.append(above)
            divisors.append(below)
        return totals, divisors

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        check_possible(self._model.domain, code[np.newaxis])
        return self._engine.is_weak_cxp(code, mask, budget=budget)
