"""Explains instances through the model's circuit in a target language."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Watch
from axfi_kc.circuit import Circuit
from axfi_kc.engines.circuits import CircuitEngine
from axfi_kc.engines.families import Found, cell_worths
from axfi_kc.engines.per_output import CompiledOutputs
from axfi_kc.models import CircuitModel
from axfi_kc.similarity import Similarity

__all__ = ["TargetEngine"]

Codes = npt.NDArray[np.float64]


class TargetEngine(CompiledOutputs[CircuitEngine]):
    """Explains instances of a model through its circuit in any target language.

    Its parameters are those of :class:`~axfi_kc.engines.per_output.CompiledOutputs`.

    Notes
    -----
    The circuit of "not similar to output c" is compiled once and answers for every instance with
    that output: each question whether a set is a weak CXp is one pass over it.
    """

    def explain(self, codes: Codes, *, weights: str = "ratio", max_size: int | None = None) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget was spent.
        """
        outputs = self._model.outputs_at(codes)
        parts = []
        for n, output in enumerate(outputs):
            watch = Watch(self._budget)
            engine = self._at(output)
            parts.append(engine.explain(codes[n : n + 1], weights=weights, max_size=max_size, budget=watch.rest()))
        if parts:
            return Found.joined(parts)
        return Found.of_instances([], [], wholes=cell_worths(self._model.grid, weights)[1], kind=weights)

    def is_weak_cxp(self, code: Codes, mask: int) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        return self._at(self._model.outputs_at(code[np.newaxis])[0]).is_weak_cxp(code, mask)

    def _prepared(self, circuit: Circuit, output: Hashable) -> CircuitEngine:
        model = CircuitModel.of(circuit, outputs=(output, _OTHER), deterministic=True)
        return CircuitEngine(model, Similarity(), self._budget)


class _Other:
    """The output of all points that are not similar."""

    def __repr__(self) -> str:
        return "any other output"


_OTHER = _Other()
