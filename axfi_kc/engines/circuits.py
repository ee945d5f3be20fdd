"""Explains instances of a model given by circuits."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, BudgetSpent, Meter
from axfi_kc.circuit import CircuitBuilder
from axfi_kc.domain import Domain
from axfi_kc.engines.families import Found, cell_worths
from axfi_kc.errors import BudgetError
from axfi_kc.features import Integer
from axfi_kc.grid import Grid
from axfi_kc.models.circuits import CircuitModel
from axfi_kc.sets import sorted_sets
from axfi_kc.similarity import Similarity

if TYPE_CHECKING:
    from axfi_kc.engines.circuit_regions import InstanceBoxes, Region, Worths

__all__ = ["CircuitEngine"]

Codes = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]


@cache
def _compile_kernels() -> None:
    """Compile the kernels on a literal, or load them from disk, before a budget's clock starts."""
    from axfi_kc.engines.circuit_regions import InstanceBoxes, Region

    build = CircuitBuilder(Grid.of_values(Domain([Integer("x", 0, 1)])))
    boxes = InstanceBoxes(Region.of(build.circuit(build.literal(0, [1])), holds=True), np.zeros(1, np.int64))
    boxes.weigh([boxes.shrink(boxes.all)], "unit", [[1, 1]])


class CircuitEngine:
    """Explains instances of a model whose outputs are given by circuits.

    Parameters
    ----------
    model
        Its circuits are deterministic and decomposable.
    similarity
        Which outputs count as similar.
    budget
        What one instance may cost.

    Notes
    -----
    Whether a set is a weak CXp is told in one pass over the circuit, or, where dissimilar points are
    those at which a circuit with disjunctions fails, in one pass for each 30 bits of the number of
    points. A weight takes a pass for each 30 bits of what the CXp's box is worth.
    """

    def __init__(self, model: CircuitModel, similarity: Similarity, budget: Budget) -> None:
        self._model = model
        self._similarity = similarity
        self._budget = budget
        self._regions: dict[Hashable, Region] = {}
        self.constant = self._constant()

    def explain(
        self, codes: Codes, *, weights: str = "ratio", max_size: int | None = None, budget: Budget | None = None
    ) -> Found:
        """Return the CXps and weights of each instance; `budget` stands for the engine's own where it is given.

        Raises
        ------
        BudgetError
            If the budget for one instance was spent; it carries the CXps certified so far.
        """
        _compile_kernels()
        cells = self._model.grid.locate(codes)
        outputs = self._model.decide(cells)
        worths, wholes = cell_worths(self._model.grid, weights)
        limit = cells.shape[1] if max_size is None else max_size
        weighed, nodes = [], []
        for v, output in zip(cells, outputs, strict=True):
            boxes = self._boxes(v, output)
            allowed = budget or self._budget
            meter = Meter(allowed)
            weight_of = self._explain_one(boxes, weights, worths, limit, meter, allowed)
            found = sorted_sets(weight_of)
            weighed.append((found, [weight_of[Y] for Y in found]))
            nodes.append(meter.nodes)
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights, nodes=nodes)

    def is_weak_cxp(self, code: Codes, mask: int) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        cells = self._model.grid.locate(code[np.newaxis])
        boxes = self._boxes(cells[0], self._model.decide(cells)[0])
        return boxes.is_weak(sum(1 << k for k, i in enumerate(boxes.region.scope.tolist()) if mask >> i & 1))

    def _explain_one(
        self, boxes: InstanceBoxes, kind: str, worths: Worths, max_size: int, meter: Meter, budget: Budget
    ) -> dict[int, int]:
        from axfi_kc.engines.circuit_searches import find_cxps, weigh

        try:
            masks = find_cxps(boxes, max_size=max_size, meter=meter, budget=budget)
            totals = weigh(boxes, masks, kind, worths, meter=meter)
        except BudgetSpent as spent:
            raise self._budget_error(boxes.global_masks(spent.found), meter) from None
        return dict(zip(boxes.global_masks(masks), totals, strict=True))

    def _budget_error(self, found: list[int], meter: Meter) -> BudgetError:
        cxps = tuple(self._model.domain.names_of(mask) for mask in sorted_sets(found))
        return BudgetError(
            f"The budget was spent after {meter.nodes} search nodes and {meter.seconds:.2f} s, with {len(cxps)} CXps "
            "found (the error's cxps, each certified); allow more, or set max_size.",
            cxps=cxps,
            nodes=meter.nodes,
            seconds=meter.seconds,
        )

    def _boxes(self, v: Cells, output: Hashable) -> InstanceBoxes:
        from axfi_kc.engines.circuit_regions import InstanceBoxes

        return InstanceBoxes(self._region(output), v)

    def _region(self, output: Hashable) -> Region:
        """Return the region of the points that are not similar to `output`."""
        from axfi_kc.engines.circuit_regions import Region

        if output not in self._regions:
            wanted = [not self._similarity.holds(y, output) for y in self._model.outputs]
            self._regions[output] = Region.of(*self._model.region(wanted))
        return self._regions[output]

    def _constant(self) -> Hashable | None:
        """Return the one output that occurs anywhere; None if there are several."""
        anywhere = np.zeros((1, len(self._model.grid.axes)), dtype=np.int64)
        output = self._model.decide(anywhere)[0]
        others = self._model.region([y != output for y in self._model.outputs])
        from axfi_kc.engines.circuit_regions import InstanceBoxes, Region

        boxes = InstanceBoxes(Region.of(*others), anywhere[0])
        return None if boxes.is_weak(boxes.all) else output
