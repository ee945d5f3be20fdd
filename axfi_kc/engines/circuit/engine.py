"""Explains instances through circuits: those that a model is given by, or that it is compiled into."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from axfi_kc.budget import Budget, BudgetSpent, Meter, Watch
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.compilers import compile_target
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.per_output import Cells, Codes, InstanceEngine, Weighting, unfinished
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.models import CircuitModel, Model, Similarity
from axfi_kc.models.joint import BoxList

if TYPE_CHECKING:
    from axfi_kc.engines.circuit.regions import Region

__all__ = ["CircuitEngine", "TargetEngine"]


@cache
def _compile_kernels() -> None:
    """Compile the kernels on a literal, or load them from disk, before a budget's clock starts."""
    from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

    build = CircuitBuilder(Grid.of_values(Domain([Integer("x", 0, 1)])))
    boxes = InstanceBoxes(Region.of(build.circuit(build.literal(0, [1])), holds=True), np.zeros(1, np.int64))
    boxes.weigh([boxes.shrink(boxes.all)], "unit", [[1, 1]])


class _RegionEngine(InstanceEngine):
    """Explains instances through the circuit of the points that are not similar to their output.

    Notes
    -----
    Whether a set is a weak CXp is told in one pass over the circuit, or, where dissimilar points are
    those at which a circuit with disjunctions fails, in one pass for each 30 bits of the number of
    points. A weight takes a pass for each 30 bits of what the CXp's box is worth.
    """

    def _prepare(self, *, by_size: bool = False) -> None:
        _compile_kernels()

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        from axfi_kc.engines.circuit.regions import InstanceBoxes

        cells, outputs = self.locate(code[np.newaxis])
        boxes = InstanceBoxes(self._at(outputs[0], budget), cells[0])
        return boxes.is_weak(sum(1 << k for k, i in enumerate(boxes.region.scope.tolist()) if mask >> i & 1))

    def _explain_one(
        self, v: Cells, searched: Region, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[list[int], list[int]]:
        from axfi_kc.engines.circuit.regions import InstanceBoxes
        from axfi_kc.engines.circuit.search import find_cxps, weigh

        boxes = InstanceBoxes(searched, v)
        try:
            masks = find_cxps(boxes, max_size=max_size, meter=meter)
            totals = weigh(boxes, masks, *weights, meter=meter)
        except BudgetSpent as spent:
            raise unfinished(boxes.global_masks(spent.found), self._model.domain, meter) from None
        total_of = dict(zip(boxes.global_masks(masks), totals, strict=True))
        found = sorted_sets(total_of)
        return found, [total_of[Y] for Y in found]

    def _boxes(self, v: Cells, searched: Region, masks: list[int], meter: Meter, *, minimal: bool) -> BoxList:
        boxes = [searched.boxes(v.tolist(), mask) for mask in masks]
        return BoxList.of([features_of(mask) for mask in masks], boxes)


class CircuitEngine(_RegionEngine):
    """Explains instances of a model whose outputs are given by deterministic, decomposable circuits."""

    _model: CircuitModel

    @cached_property
    def constant(self) -> Hashable | None:
        """The one output that occurs anywhere; None if there are several."""
        from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

        anywhere = np.zeros((1, len(self._model.grid.axes)), dtype=np.int64)
        output = self._model.decide(anywhere)[0]
        others = self._model.region([y != output for y in self._model.outputs])
        boxes = InstanceBoxes(Region.of(*others), anywhere[0])
        return None if boxes.is_weak(boxes.all) else output

    def _made(self, output: Hashable, _: Budget | None) -> Region:
        from axfi_kc.engines.circuit.regions import Region

        wanted = [not self._similarity.holds(y, output) for y in self._model.outputs]
        return Region.of(*self._model.region(wanted))


class TargetEngine(_RegionEngine):
    """Explains instances of any model through its circuit in a target language.

    Parameters
    ----------
    target
        One of ``axfi_kc.circuits.targets.TARGETS``.
    constant
        The one output of a model known to be constant; None otherwise.

    Notes
    -----
    The circuit of "not similar to output c" is compiled once and answers for every instance with
    that output.
    """

    def __init__(
        self, model: Model, similarity: Similarity, *, target: str = "ddnnf", constant: Hashable | None = None
    ) -> None:
        super().__init__(model, similarity)
        self._target = target
        self.constant = constant

    def _made(self, output: Hashable, budget: Budget | None) -> Region:
        from axfi_kc.engines.circuit.regions import Region

        watch = Watch(budget)
        made = compile_target(self._model, output, self._similarity, target=self._target, budget=budget)
        # a circuit over bits may have several bits of one feature under one conjunction: then it is converted
        model = CircuitModel.of(made.to_circuit(), deterministic=True, budget=watch.rest())
        return Region.of(*model.region([False, True]))
