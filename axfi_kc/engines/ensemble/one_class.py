"""Explains why a sum of trees does not choose one class among several.

A point has class b where no other class has a larger score, all differences at once; the points that are not of class b
are where one of them is above 0, which is what boxes bound. So the same covers are used, for the points that are left.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, BudgetSpent, Meter
from axfi_kc.engines.duality import cxps_by_duality, cxps_by_size
from axfi_kc.engines.ensemble.compiling import compile_kernels
from axfi_kc.engines.ensemble.engine import EnsembleEngine, sorted_totals
from axfi_kc.engines.per_output import Cells, Codes, InstanceEngine, Weighting, unfinished
from axfi_kc.families.masks import features_of
from axfi_kc.models.joint import BoxList
from axfi_kc.models.support import excluded
from axfi_kc.models.tree_sum import Margins

if TYPE_CHECKING:
    from axfi_kc.engines.ensemble.bound_kernels import Ensemble

__all__ = ["ClassEngine", "ClassPoints"]


_SMALL = 3  # up to so many features, all sets are asked for


class ClassPoints:
    """The points of one class around an instance: which sets of features lead to one.

    Parameters
    ----------
    ensemble
        The trees, laid out for the class.
    v
        The instance's cells.
    meter
        What all searches may cost.
    """

    def __init__(self, ensemble: Ensemble, v: npt.NDArray[np.int32], meter: Meter) -> None:
        self._ensemble, self._v, self._meter = ensemble, v, meter
        tested = np.unique(ensemble.node[:, 0])
        self.features = tested[tested >= 0].tolist()

    @property
    def all(self) -> int:
        """The set of all features that some tree tests; bits are their places in :attr:`features`."""
        return (1 << len(self.features)) - 1

    def is_weak(self, mask: int) -> bool:
        """Tell whether changing only these features can lead to the class."""
        return self.changed(mask) is not None

    def changed(self, mask: int) -> int | None:
        """Return in which of some features a point of the class differs from the instance; None: there is none.

        Raises
        ------
        BudgetSpent
            Without any set: this is one question of many.
        """
        from axfi_kc.engines.ensemble.search import cover_sets

        places = features_of(mask)
        free = [self.features[k] for k in places]
        options: dict[str, Any] = {"minimal": False, "others": True, "first": True}
        try:
            bounds, (count,) = cover_sets(self._ensemble, self._v, [free], meter=self._meter, **options)
        except BudgetSpent:
            raise BudgetSpent([]) from None
        if not count:
            return None
        ends = zip(places, free, bounds[0::2].tolist(), bounds[1::2].tolist(), strict=True)
        return sum(1 << k for k, i, low, high in ends if not low <= self._v[i] < high)

    def shrunk(self, mask: int, meter: Meter) -> int | None:
        """Return a minimal part of a set that leads to the class; None if the meter ends."""
        found = self.changed(mask)
        if found is None:
            return mask
        for k in features_of(found):
            if meter.is_spent:
                return None
            # A point that needs fewer features may do without several at once.
            fewer = self.changed(found & ~(1 << k)) if found >> k & 1 else None
            found = found if fewer is None else fewer
        return found

    def cxps(self, *, max_size: int) -> list[int]:
        """Return all CXps of at most `max_size` features, with bit i for feature i.

        Raises
        ------
        BudgetSpent
            With the CXps found so far.
        """
        found: list[int] = []
        try:
            if max_size <= _SMALL:
                found = cxps_by_size(self, max_size=max_size, meter=self._meter)
            else:
                found = [Y for Y in cxps_by_duality(self, meter=self._meter) if Y.bit_count() <= max_size]
        except BudgetSpent as spent:
            raise BudgetSpent([self._global(Y) for Y in spent.found]) from None
        return [self._global(Y) for Y in found]

    def _global(self, mask: int) -> int:
        return sum(1 << self.features[k] for k in features_of(mask))


class ClassEngine(EnsembleEngine):
    """Explains instances of a sum of trees toward one class of several.

    Notes
    -----
    Duality with an oracle that is branch and bound: exponential at worst.
    """

    def _prepare(self, *, by_size: bool = False) -> None:
        compile_kernels("weights")

    def _made(self, output: Hashable, _: Budget | None) -> Ensemble:
        """Return the trees laid out for the class that is asked about, with impossible points among the others."""
        from axfi_kc.engines.ensemble.search import lay_out_trees

        wanted, _own = self._similarity.sought(output, self._model.labels)
        model, margins = excluded(self._model, Margins.of(self._model, wanted, None), self._support)
        return lay_out_trees(model, *margins.limbs())

    def _explain_one(
        self, v: Cells, searched: Ensemble, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[list[int], list[int]]:
        try:
            masks = ClassPoints(searched, v.astype(np.int32), meter).cxps(max_size=max_size)
            totals = self._totals(v, searched, weights, masks, meter, others=True)
        except BudgetSpent as spent:
            raise unfinished(spent.found, self._model.domain, meter) from None
        return sorted_totals(totals)

    _explain_radius = InstanceEngine._explain_radius  # one size after the other, from scratch

    def cover(self, code: Codes, cxps: Sequence[Sequence[int]], *, meter: Meter) -> tuple[Any, Any]:
        """Return boxes of cells that cover the points of the class of CXps; see :func:`.search.cover_sets`."""
        from axfi_kc.engines.ensemble.search import cover_sets

        self._prepare()
        cells, outputs = self.locate(code[np.newaxis])
        return cover_sets(self._at(outputs[0]), cells[0].astype(np.int32), cxps, meter=meter, others=True)

    def _boxes(self, v: Cells, searched: Ensemble, masks: list[int], meter: Meter, *, minimal: bool) -> BoxList:
        from axfi_kc.engines.ensemble.search import cover_boxes

        sets = [features_of(mask) for mask in masks]
        try:
            return cover_boxes(searched, v.astype(np.int32), sets, meter=meter, minimal=minimal, others=True)
        except BudgetSpent as spent:
            raise unfinished(spent.found if minimal else [], self._model.domain, meter) from None

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can lead to the class."""
        self._prepare()
        cells, outputs = self.locate(code[np.newaxis])
        meter = Meter(budget)
        points = ClassPoints(self._at(outputs[0]), cells[0].astype(np.int32), meter)
        places = sum(1 << k for k, i in enumerate(points.features) if mask >> i & 1)
        try:
            return points.is_weak(places)
        except BudgetSpent:
            raise unfinished([], self._model.domain, meter) from None
