"""Explains instances through circuits: those that a model is given by, or that it is compiled into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, BudgetSpent, Meter, Watch
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.compilers import compile_target
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.found import Found, Located, cell_worths
from axfi_kc.engines.per_output import PerOutput, unfinished
from axfi_kc.families.masks import sorted_sets
from axfi_kc.models import CircuitModel, Model
from axfi_kc.models.similarity import Similarity

if TYPE_CHECKING:
    from axfi_kc.engines.circuit.regions import InstanceBoxes, Region, Worths

__all__ = ["CircuitEngine", "TargetEngine"]


Codes = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]


@cache
def _compile_kernels() -> None:
    """Compile the kernels on a literal, or load them from disk, before a budget's clock starts."""
    from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

    build = CircuitBuilder(Grid.of_values(Domain([Integer("x", 0, 1)])))
    boxes = InstanceBoxes(Region.of(build.circuit(build.literal(0, [1])), holds=True), np.zeros(1, np.int64))
    boxes.weigh([boxes.shrink(boxes.all)], "unit", [[1, 1]])


class _RegionEngine(ABC):
    """Explains instances through the circuit of the points that are not similar to their output.

    Notes
    -----
    Whether a set is a weak CXp is told in one pass over the circuit, or, where dissimilar points are
    those at which a circuit with disjunctions fails, in one pass for each 30 bits of the number of
    points. A weight takes a pass for each 30 bits of what the CXp's box is worth.
    """

    def __init__(self, model: Model, similarity: Similarity) -> None:
        self._model = model
        self.locate = model.cells_and_outputs
        self._similarity = similarity
        self._region_at = PerOutput(self._region)

    @abstractmethod
    def _region(self, output: Hashable, budget: Budget | None) -> Region:
        """Return the region of the points that are not similar to `output`."""

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
    ) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget for one instance was spent; it carries the CXps certified so far.
        """
        _compile_kernels()
        cells, outputs = located or self.locate(codes)
        worths, wholes = cell_worths(self._model.grid, weights)
        limit = cells.shape[1] if max_size is None else max_size
        weighed, nodes = [], []
        for v, output in zip(cells, outputs, strict=True):
            meter = Meter(budget)
            boxes = self._boxes(v, output, budget)
            weight_of = self._explain_one(boxes, weights, worths, limit, meter)
            found = sorted_sets(weight_of)
            weighed.append((found, [weight_of[Y] for Y in found]))
            nodes.append(meter.nodes)
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights, nodes=nodes)

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        cells, outputs = self.locate(code[np.newaxis])
        boxes = self._boxes(cells[0], outputs[0], budget)
        return boxes.is_weak(sum(1 << k for k, i in enumerate(boxes.region.scope.tolist()) if mask >> i & 1))

    def _boxes(self, v: Cells, output: Hashable, budget: Budget | None) -> InstanceBoxes:
        from axfi_kc.engines.circuit.regions import InstanceBoxes

        return InstanceBoxes(self._region_at(output, budget), v)

    def _explain_one(
        self, boxes: InstanceBoxes, kind: str, worths: Worths, max_size: int, meter: Meter
    ) -> dict[int, int]:
        from axfi_kc.engines.circuit.search import find_cxps, weigh

        try:
            masks = find_cxps(boxes, max_size=max_size, meter=meter)
            totals = weigh(boxes, masks, kind, worths, meter=meter)
        except BudgetSpent as spent:
            raise unfinished(boxes.global_masks(spent.found), self._model.domain, meter) from None
        return dict(zip(boxes.global_masks(masks), totals, strict=True))


class CircuitEngine(_RegionEngine):
    """Explains instances of a model whose outputs are given by circuits.

    Parameters
    ----------
    model
        Its circuits are deterministic and decomposable.
    similarity
        Which outputs count as similar.
    """

    _model: CircuitModel

    def __init__(self, model: CircuitModel, similarity: Similarity) -> None:
        super().__init__(model, similarity)

    @cached_property
    def constant(self) -> Hashable | None:
        """The one output that occurs anywhere; None if there are several."""
        from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

        anywhere = np.zeros((1, len(self._model.grid.axes)), dtype=np.int64)
        output = self._model.decide(anywhere)[0]
        others = self._model.region([y != output for y in self._model.outputs])
        boxes = InstanceBoxes(Region.of(*others), anywhere[0])
        return None if boxes.is_weak(boxes.all) else output

    def _region(self, output: Hashable, _: Budget | None) -> Region:
        from axfi_kc.engines.circuit.regions import Region

        wanted = [not self._similarity.holds(y, output) for y in self._model.outputs]
        return Region.of(*self._model.region(wanted))


class TargetEngine(_RegionEngine):
    """Explains instances of any model through its circuit in a target language.

    Parameters
    ----------
    model
        Any neutral form.
    similarity
        Which outputs count as similar.
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

    def _region(self, output: Hashable, budget: Budget | None) -> Region:
        from axfi_kc.engines.circuit.regions import Region

        watch = Watch(budget)
        made = compile_target(self._model, output, self._similarity, target=self._target, budget=budget)
        # a circuit over bits may have several bits of one feature under one conjunction: then it is converted
        model = CircuitModel.of(made.to_circuit(), deterministic=True, budget=watch.rest())
        return Region.of(*model.region([False, True]))
