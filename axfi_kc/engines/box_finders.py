"""Finds boxes of similar, or of dissimilar, points within a box of cells: what makes sure that a box holds none.

A box is a set of cells per feature, as the bits of an int. What is found is a box all of whose points are as wanted and
of which at least one lies in the box that was asked about; it may reach beyond.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, BudgetSpent, Meter
from axfi_kc.circuits.circuit import AND, DECISION, TRUE, Circuit
from axfi_kc.compilers import compile_target
from axfi_kc.domain.features import Real
from axfi_kc.engines.ball_weights import near_of
from axfi_kc.engines.ensemble.compiling import compile_kernels
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Boxes, LinearModel, Model, Samples, Similarity, TableModel, TreeSum, boxes_of
from axfi_kc.models.support import excluded, penalised, possible_boxes, support_of
from axfi_kc.models.tree_sum import Margins

__all__ = ["BoxFinder", "Masks", "bits_of", "check_has_boxes", "finder_for", "mask_of"]


Masks = tuple[int, ...]  # per feature, a bit for each cell


class BoxFinder(Protocol):
    """Finds boxes of points that are similar to one output, or are not."""

    def find(self, box: Masks, *, similar: bool, meter: Meter) -> Masks | None:
        """Return a box of possible points that are similar, or dissimilar, and meets `box`; None if none does.

        Raises
        ------
        BudgetSpent
            If the meter has ended.
        """
        ...


def mask_of(cells: Any) -> int:
    """Return cells as the bits of an int."""
    return sum(1 << int(c) for c in cells)


def bits_of(mask: int) -> list[int]:
    """Return the cells of a mask, in order.

    Examples
    --------
    >>> bits_of(0b1101), mask_of([0, 2, 3]) == 0b1101
    ([0, 2, 3], True)
    """
    return [c for c in range(mask.bit_length()) if mask >> c & 1]


def finder_for(
    model: Model,
    similarity: Similarity,
    output: Hashable,
    cells: npt.NDArray[np.int64],
    *,
    budget: Budget | None = None,
) -> BoxFinder:
    """Return what finds boxes for instances with this output; `cells` are those of one of them.

    Raises
    ------
    BudgetError
        If the budget was spent on compiling the model.
    """
    if isinstance(model, TableModel | Boxes) or (isinstance(model, TreeSum) and model.n_trees == 1):
        return _OfBoxes(model, similarity, output)
    if isinstance(model, TreeSum):
        return _OfTrees(model, similarity, output, cells)
    return _OfCircuits(model, similarity, output, budget)


def check_has_boxes(model: Model) -> None:
    """Raise an UnsupportedModelError for models that are no function of cells, and where a ball cuts through cells."""
    if isinstance(model, Samples) or near_of(model) is not None:
        raise UnsupportedModelError(
            "Ranges of values are looked for over a whole domain, but here only rows, or the points of a ball of norm "
            "'l1', exist; explain the model over its domain."
        )
    odd = next((f for f in model.domain.features if isinstance(f, Real)), None)
    if isinstance(model, LinearModel) and odd is not None:
        raise UnsupportedModelError(
            f"A linear model over the real feature {odd.name!r} has no cells of which ranges are made; declare the "
            "feature integer."
        )


class _OfBoxes:
    """Of a model that is a list of boxes."""

    def __init__(self, model: TableModel | TreeSum | Boxes, similarity: Similarity, output: Hashable) -> None:
        boxes = possible_boxes(boxes_of(model), support_of(model.grid))
        n_cells = model.grid.n_cells
        self._inside = [~boxes.misses(i, np.arange(n)).T for i, n in enumerate(n_cells)]
        self._full = [(1 << n) - 1 for n in n_cells]
        self._similar = np.array([similarity.holds(y, output) for y in boxes.outputs])[boxes.output]
        # Large boxes first: they settle most. Floats only say which.
        shares = [np.array(axis.numerators, float) / axis.denominator for axis in model.grid.axes]
        sizes = np.prod([inside @ share for inside, share in zip(self._inside, shares, strict=True)], axis=0)
        self._order = np.argsort(-sizes, kind="stable")

    def find(self, box: Masks, *, similar: bool, meter: Meter) -> Masks | None:
        if not meter.spend(1) or meter.is_spent:
            raise BudgetSpent([])
        alive = self._similar == similar
        for inside, mask, full in zip(self._inside, box, self._full, strict=True):
            if mask != full:
                alive = alive & inside[:, bits_of(mask)].any(axis=1)
        found = self._order[alive[self._order]]
        return tuple(mask_of(np.flatnonzero(inside[found[0]])) for inside in self._inside) if len(found) else None


class _OfTrees:
    """Of a sum of trees, by branch and bound."""

    def __init__(self, model: TreeSum, similarity: Similarity, output: Hashable, cells: npt.NDArray[np.int64]) -> None:
        self._model, self._v = model, cells.astype(np.int32)
        self._output, self._is_class = similarity.sought(output, model.labels)
        self._delta = similarity.delta
        self._full = [(1 << n) - 1 for n in model.grid.n_cells]

    @cached_property
    def _unlike(self) -> Any:
        """The trees laid out for possible points that are unlike an output."""
        return self._laid_out(penalised)

    @cached_property
    def _like(self) -> Any:
        """The trees laid out for possible points of an output."""
        return self._laid_out(excluded)

    def _laid_out(self, limited: Any) -> Any:
        from axfi_kc.engines.ensemble.search import lay_out_trees

        compile_kernels("weights")
        margins = Margins.of(self._model, self._output, self._delta)
        model, limited_margins = limited(self._model, margins, support_of(self._model.grid))
        return lay_out_trees(model, *limited_margins.limbs())

    def find(self, box: Masks, *, similar: bool, meter: Meter) -> Masks | None:
        from axfi_kc.engines.ensemble.search import cover_sets

        others = similar != self._is_class  # like the output of the margins, or unlike it
        trees = self._like if others else self._unlike
        free = [i for i, mask in enumerate(box) if mask != 1 << int(self._v[i])]
        # A box of the search is a run of cells per feature: sets of categories are gone through run by run.
        for runs in product(*(list(_runs(box[i])) for i in free)):
            low, high = self._v.copy(), self._v + np.int32(1)
            low[free], high[free] = [a for a, _ in runs], [b for _, b in runs]
            options: dict[str, Any] = {"minimal": False, "others": others, "first": True, "within": (low, high)}
            ends, (count,) = cover_sets(trees, self._v, [free], meter=meter, **options)
            if count:
                found = [1 << int(c) for c in self._v]
                for i, a, b in zip(free, ends[0::2].tolist(), ends[1::2].tolist(), strict=True):
                    found[i] = (1 << b) - (1 << a)
                return tuple(found)
        return None


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """Iterate over the runs of cells of a mask: the first, and the one after the last."""
    first = None
    for c in range(mask.bit_length() + 1):
        if mask >> c & 1 and first is None:
            first = c
        elif not mask >> c & 1 and first is not None:
            yield first, c
            first = None


class _OfCircuits:
    """Of any other model on cells, through a diagram of the points that are similar, or are not."""

    def __init__(self, model: Model, similarity: Similarity, output: Hashable, budget: Budget | None) -> None:
        self._model, self._similarity, self._output, self._budget = model, similarity, output, budget
        self._made: dict[bool, _Paths] = {}

    def _paths(self, similar: bool) -> _Paths:
        if similar not in self._made:
            options: dict[str, Any] = {"target": "mdd", "similar": similar, "budget": self._budget}
            made = compile_target(self._model, self._output, self._similarity, **options)
            self._made[similar] = _Paths(made.to_circuit())
        return self._made[similar]

    def find(self, box: Masks, *, similar: bool, meter: Meter) -> Masks | None:
        return self._paths(similar).find(box, meter)


class _Paths:
    """Looks for a point of a decomposable circuit within a box."""

    def __init__(self, circuit: Circuit) -> None:
        self._kinds: list[int] = circuit.kinds.tolist()
        self._features: list[int] = circuit.features.tolist()
        sets = [mask_of(cells) for cells in circuit.cell_sets]
        ends, labels, children = circuit.offsets.tolist(), circuit.labels.tolist(), circuit.children.tolist()
        pairs = [(sets[k] if k >= 0 else 0, c) for k, c in zip(labels, children, strict=True)]
        self._arcs = [pairs[a:b] for a, b in pairwise(ends)]
        self._root, self._full = circuit.root, tuple((1 << n) - 1 for n in circuit.grid.n_cells)

    def find(self, box: Masks, meter: Meter) -> Masks | None:
        """Return a box of the circuit's points that meets `box`; None if none does (cost: linear in the circuit)."""
        if not meter.spend(1) or meter.is_spent:
            raise BudgetSpent([])
        reached: list[bool] = []
        for kind, feature, arcs in zip(self._kinds, self._features, self._arcs, strict=True):
            if kind == DECISION:
                reached.append(any(mask & box[feature] and reached[child] for mask, child in arcs))
            elif kind == AND:
                reached.append(all(reached[child] for _, child in arcs))
            else:
                reached.append(any(reached[child] for _, child in arcs) if arcs else kind == TRUE)
        return self._walked(box, reached) if reached[self._root] else None

    def _walked(self, box: Masks, reached: Sequence[bool]) -> Masks:
        found, stack = list(self._full), [self._root]
        while stack:
            node = stack.pop()
            kind, feature, arcs = self._kinds[node], self._features[node], self._arcs[node]
            if kind == DECISION:
                child = next(c for mask, c in arcs if mask & box[feature] and reached[c])
                found[feature] = sum(mask for mask, c in arcs if c == child)
                stack.append(child)
            elif kind == AND:
                stack += [c for _, c in arcs]
            elif arcs:
                stack.append(next(c for _, c in arcs if reached[c]))
        return tuple(found)
