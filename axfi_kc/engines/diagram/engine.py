"""Explains instances through the complete diagram of a model.

The diagram of "not similar to output c" is compiled once and answers for every instance with that
output. The CXps are found as a family on a diagram (:mod:`axfi_kc.engines.diagram.ordered_diagram`) and
listed at once when there are few.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.compilers import compile_target
from axfi_kc.engines.diagram.ordered_diagram import OrderedDiagram
from axfi_kc.engines.found import CxpSets, DiagramCxps, Found, Located, cell_worths
from axfi_kc.engines.per_output import PerOutput
from axfi_kc.families.masks import sorted_sets
from axfi_kc.models import Model, Similarity

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
    ) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget was spent on the diagram, or on the families of an instance.
        """
        cells, outputs = located or self.locate(codes)
        worths, wholes = cell_worths(self._model.grid, weights)
        weighed: list[tuple[Sequence[int], Sequence[int]] | CxpSets] = []
        for v, output in zip(cells.tolist(), outputs, strict=True):
            account = Account(budget, goal="explanation", advice="allow more, or limit max_size")
            diagram = self._at(output, budget)
            cxps = diagram.cxps(v, max_size=max_size, budget=account.rest())
            if cxps.count > self._at_once:
                dag = cxps.dag if weights == "unit" else diagram.dag(v, cxps, worths, wholes, budget=account.rest())
                weighed.append(DiagramCxps(cxps, dag, weights))
            else:
                totals = dict.fromkeys(cxps, 1) if weights == "unit" else diagram.totals(v, cxps, worths, account)
                found = sorted_sets(totals)
                weighed.append((found, [totals[Y] for Y in found]))
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights)

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
