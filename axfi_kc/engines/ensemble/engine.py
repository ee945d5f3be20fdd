"""Explains instances of boosted trees and forests."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.budget import Budget, BudgetSpent, Meter
from axfi_kc.engines.ensemble.compiling import compile_kernels
from axfi_kc.engines.per_output import Cells, Codes, InstanceEngine, Weighting, unfinished
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.models import TreeSum
from axfi_kc.models.joint import BoxList
from axfi_kc.models.support import Support, penalised, support_of
from axfi_kc.models.tree_sum import Margins

if TYPE_CHECKING:
    from axfi_kc.engines.ensemble.bound_kernels import Ensemble
    from axfi_kc.engines.ensemble.workers import Room

__all__ = ["EnsembleEngine", "sorted_totals"]


class EnsembleEngine(InstanceEngine):
    """Explains instances of a sum of trees.

    Notes
    -----
    Branch and bound: exponential at worst, milliseconds on models of ordinary size.
    """

    _model: TreeSum

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model whose trees are all constant; None otherwise."""
        leaf_tree = np.searchsorted(self._model.tree_offset, np.flatnonzero(self._model.leaf >= 0), side="right")
        order = np.argsort(leaf_tree, kind="stable")
        same_tree = np.diff(leaf_tree[order]) == 0
        changes = (np.diff(self._model.values[order], axis=0) != 0).any(axis=1)
        if (same_tree & changes).any():
            return None
        anywhere = np.zeros((1, len(self._model.grid.axes)), dtype=np.int64)
        return self._model.decide(anywhere)[0]

    def _prepare(self, *, by_size: bool = False) -> None:
        compile_kernels("all CXps", "minimal sets", "weights", *(["CXps by size"] if by_size else []))

    def _explain_one(
        self, v: Cells, searched: Ensemble, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[list[int], list[int]]:
        from axfi_kc.engines.ensemble.cxp_search import find_cxps

        try:
            masks = find_cxps(searched, v.astype(np.int32), max_size=max_size, meter=meter)
            totals = self._totals(v, searched, weights, masks, meter)
        except BudgetSpent as spent:
            raise unfinished(spent.found, self._model.domain, meter) from None
        return sorted_totals(totals)

    def _explain_radius(
        self, v: Cells, searched: Ensemble, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[tuple[list[int], list[int]], int | None]:
        from axfi_kc.engines.ensemble.cxp_search import CxpSearch

        search = CxpSearch(searched, v.astype(np.int32), max_size=max_size, meter=meter)
        totals: dict[int, int] = {}
        radius = 0
        try:
            for reached in search.radii(climbing=meter.can_end or max_size < len(v)):
                found = search.cxps()
                # Size by size: what is weighed when the budget ends is an answer, too. Without one, all at once.
                for size in range(radius + 1, reached + 1) if meter.can_end else (reached,):
                    new = [mask for mask in found if radius < mask.bit_count() <= size]
                    totals |= self._totals(v, searched, weights, new, meter, room=search.room) if new else {}
                    radius = size
        except BudgetSpent as spent:
            if not radius:
                raise unfinished(spent.found, self._model.domain, meter) from None
        search.give_back()
        return sorted_totals(totals), radius if radius < min(max_size, len(v)) else None

    def _totals(
        self,
        v: Cells,
        searched: Ensemble,
        weights: Weighting,
        masks: list[int],
        meter: Meter,
        *,
        others: bool = False,
        room: Room | None = None,
    ) -> dict[int, int]:
        """Return what each of some CXps weighs; see :func:`.search.weigh`."""
        from axfi_kc.engines.ensemble.search import weigh

        kind, worths = weights
        if kind == "unit":
            return dict.fromkeys(masks, 1)
        sets, below = [features_of(m) for m in masks], self._sums_below(kind, worths)
        found = weigh(searched, v.astype(np.int32), sets, below, meter=meter, others=others, room=room)
        return dict(zip(masks, found, strict=True))

    def _sums_below(self, kind: str, worths: tuple[tuple[int, ...], ...]) -> list[list[int]]:
        """Return for each feature what the cells before each of its cells are worth together."""
        if kind not in self._below:
            self._below[kind] = [list(accumulate(row, initial=0)) for row in worths]
        return self._below[kind]

    @cached_property
    def _below(self) -> dict[str, list[list[int]]]:
        return {}

    def cover(self, code: Codes, cxps: Sequence[Sequence[int]], *, meter: Meter) -> tuple[Any, Any]:
        """Return boxes of cells that cover the adversarial examples of CXps; see :func:`.search.cover_sets`."""
        from axfi_kc.engines.ensemble.search import cover_sets

        compile_kernels("weights")
        cells, outputs = self.locate(code[np.newaxis])
        return cover_sets(self._at(outputs[0]), cells[0].astype(np.int32), cxps, meter=meter)

    def _boxes(self, v: Cells, searched: Ensemble, masks: list[int], meter: Meter, *, minimal: bool) -> BoxList:
        from axfi_kc.engines.ensemble.search import cover_boxes

        try:
            sets = [features_of(mask) for mask in masks]
            return cover_boxes(searched, v.astype(np.int32), sets, meter=meter, minimal=minimal)
        except BudgetSpent as spent:
            raise unfinished(spent.found if minimal else [], self._model.domain, meter) from None

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        from axfi_kc.engines.ensemble.cxp_search import find_witness

        compile_kernels("a witness")
        cells, outputs = self.locate(code[np.newaxis])
        ensemble = self._at(outputs[0])
        meter = Meter(budget)
        try:
            return find_witness(ensemble, cells[0].astype(np.int32), mask, meter=meter) is not None
        except BudgetSpent as spent:
            raise unfinished(spent.found, self._model.domain, meter) from None

    def _made(self, output: Hashable, _: Budget | None) -> Ensemble:
        """Return the trees laid out for instances with this output; that is linear, and needs no budget."""
        from axfi_kc.engines.ensemble.search import lay_out_trees

        margins = Margins.of(self._model, output, self._similarity.delta)
        model, margins = penalised(self._model, margins, self._support)
        return lay_out_trees(model, *margins.limbs())

    @cached_property
    def _support(self) -> Support | None:
        return support_of(self._model.grid)


def sorted_totals(totals: dict[int, int]) -> tuple[list[int], list[int]]:
    """Return sets in their order, and what each weighs."""
    masks = sorted_sets(totals)
    return masks, [totals[mask] for mask in masks]
