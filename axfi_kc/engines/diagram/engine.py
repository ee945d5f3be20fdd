"""Explains instances through the complete diagram of a model.

The diagram of "not similar to output c" is compiled once and answers for every instance with that
output. The CXps are found as a family on a diagram (:mod:`axfi_kc.engines.diagram.ordered_diagram`) and
listed at once when there are few.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.compilers import compile_target
from axfi_kc.compilers.model_diagrams import prepare
from axfi_kc.engines.diagram.ordered_diagram import OrderedDiagram
from axfi_kc.engines.found import LISTED, CxpSets, DiagramCxps, Found, Located, cell_worths
from axfi_kc.engines.per_output import PerOutput
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import IncompleteError
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.models import Model, Similarity
from axfi_kc.models.joint import Box, BoxList

__all__ = ["DiagramEngine"]


_AT_ONCE = 1000  # CXps that are listed and weighed one by one; of more, scores are faster on a diagram
Codes = npt.NDArray[np.float64]


class DiagramEngine:
    """Explains instances of a model through its complete diagram.

    Parameters
    ----------
    model
        Any neutral form.
    similarity
        Which outputs count as similar.
    target
        An ordered one of ``axfi_kc.circuits.targets.TARGETS``: ``"mdd"`` or ``"obdd"``.
    constant
        The one output of a model known to be constant; None otherwise.
    at_once
        How many CXps are listed and weighed one by one; more stay on a diagram.

    Notes
    -----
    Compilation is exponential at worst. After it, an instance costs a pass over the diagram with
    operations on families of sets, and for the weights a pass over pairs of a node of the diagram and a
    node of the family of CXps.
    """

    def __init__(
        self,
        model: Model,
        similarity: Similarity,
        *,
        target: str = "mdd",
        constant: Hashable | None = None,
        at_once: int | None = None,
    ) -> None:
        self._model = model
        self.locate = model.cells_and_outputs
        self._similarity = similarity
        self._target = target
        self.constant = constant
        self._at_once = _AT_ONCE if at_once is None else at_once
        self._at = PerOutput(self._diagram)

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
        """Return the CXps and weights of each instance; a diagram fits or does not, so nothing is `partial`.

        Raises
        ------
        BudgetError
            If the budget was spent on the diagram, or on the families of an instance.
        """
        prepare(self._model, budget)
        cells, outputs = located or self.locate(codes)
        worths, wholes = cell_worths(self._model.grid, weights)
        weighed: list[tuple[Sequence[int], Sequence[int]] | CxpSets] = []
        for n, (v, output) in enumerate(zip(cells.tolist(), outputs, strict=True)):
            with naming_row(n):
                weighed.append(self._weighed(v, output, (weights, worths, wholes), max_size, budget))
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights)

    def _weighed(
        self,
        v: list[int],
        output: Hashable,
        weighting: tuple[str, Any, Any],
        max_size: int | None,
        budget: Budget | None,
    ) -> tuple[Sequence[int], Sequence[int]] | CxpSets:
        """Return the CXps of one instance with their totals, listed or on a diagram."""
        weights, worths, wholes = weighting
        account = Account(budget, goal="explanation", advice="allow more, or limit max_size")
        diagram = self._at(output, budget)
        cxps = diagram.cxps(v, max_size=max_size, budget=account.rest())
        if cxps.count > self._at_once:
            dag = cxps.dag if weights == "unit" else diagram.dag(v, cxps, worths, wholes, budget=account.rest())
            return DiagramCxps(cxps, dag, weights)
        totals = dict.fromkeys(cxps, 1) if weights == "unit" else diagram.totals(v, cxps, worths, account)
        found = sorted_sets(totals)
        return found, [totals[Y] for Y in found]

    def explain_in_boxes(
        self,
        codes: Codes,
        *,
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        apart: Callable[[int, Sequence[int]], list[list[int]] | None] | None = None,
    ) -> tuple[Found, BoxList]:
        """Return the CXps of each instance, with unit weights, and the adversarial examples of each as boxes.

        Parameters
        ----------
        codes, max_size, budget, located
            As for :meth:`explain`.
        apart
            Gives what cells of features are worth next to an instance, given by its number, if these features do not
            depend on each other; CXps that are too many to list have ratios, and no boxes, then.

        Raises
        ------
        IncompleteError
            If an instance has too many CXps to list.
        """
        cells, outputs = located or self.locate(codes)
        weighed: list[tuple[Sequence[int], Sequence[int]] | CxpSets] = []
        boxes: list[list[Box]] = []
        for n, (v, output) in enumerate(zip(cells.tolist(), outputs, strict=True)):
            worths_of = None if apart is None else functools.partial(apart, n)
            with naming_row(n):
                found, own = self._in_boxes(v, output, worths_of, max_size, budget)
            weighed.append(found)
            boxes += own
        result = Found.of_instances(outputs, weighed, wholes=(1,) * cells.shape[1], kind="unit")
        return result, BoxList.of(result.features, boxes)

    def _in_boxes(
        self,
        v: list[int],
        output: Hashable,
        apart: Callable[[Sequence[int]], list[list[int]] | None] | None,
        max_size: int | None,
        budget: Budget | None,
    ) -> tuple[tuple[Sequence[int], Sequence[int]] | CxpSets, list[list[Box]]]:
        """Return the CXps of one instance, and the boxes of each that is listed."""
        account = Account(budget, goal="explanation", advice="allow more, or limit max_size")
        diagram = self._at(output, budget)
        cxps = diagram.cxps(v, max_size=max_size, budget=account.rest())
        if cxps.count > LISTED:
            worths = None if apart is None else apart(features_of(cxps.support))
            if worths is None:
                raise _too_many()
            dag = diagram.dag(v, cxps, worths, [sum(row) for row in worths], budget=account.rest())
            return DiagramCxps(cxps, dag, "ratio"), []
        found = sorted_sets(cxps)
        boxes = [self._boxes(diagram, v, mask) for mask in account.paced(found, at_once=1)]
        return (found, [1] * len(found)), boxes

    def dissimilar_boxes(
        self, v: npt.NDArray[np.int64], output: Hashable, mask: int, *, budget: Budget | None = None
    ) -> list[Box]:
        """Return disjoint boxes of the dissimilar points that agree with v, given by its cells, outside `mask`."""
        return self._boxes(self._at(output, budget), v.tolist(), mask)

    def diagram(self, output: Hashable, *, budget: Budget | None = None) -> OrderedDiagram:
        """Return the diagram of the points that are not similar to an output, and possible."""
        return self._at(output, budget)

    def _boxes(self, diagram: OrderedDiagram, v: Sequence[int], mask: int) -> list[Box]:
        members, n_cells = features_of(mask), self._model.grid.n_cells
        return [[part.get(i, range(n_cells[i])) for i in members] for part in diagram.boxes.around(v, mask)]

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar.

        Notes
        -----
        Linear in the diagram.
        """
        cells, outputs = self.locate(code[np.newaxis])
        return self._at(outputs[0], budget).reaches_true(cells[0].tolist(), mask)

    def _diagram(self, output: Hashable, budget: Budget | None) -> OrderedDiagram:
        made = compile_target(self._model, output, self._similarity, target=self._target, budget=budget)
        return OrderedDiagram(made.to_circuit())


def _too_many() -> IncompleteError:
    return IncompleteError(
        "Where features depend on each other ratios are made CXp by CXp, but an instance has too many to list; explain "
        "with max_size, weights='count' or weights='unit', or with independent features."
    )
