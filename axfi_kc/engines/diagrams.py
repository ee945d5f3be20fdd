"""Explains instances through the complete diagram of a model.

The diagram of "not similar to output c" is compiled once and answers for every instance with that
output. Let a node test feature i, let c_v be its child in the instance's cell, and C(u) the minimal
sets of features below u whose change reaches true. Then C(u) is C(c_v), together with {i} + T for
the minimal T among the C of the other children that contain no member of C(c_v).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.circuit import TRUE, Circuit
from axfi_kc.compilers import compile_mdd
from axfi_kc.engines.families import Found, cell_worths
from axfi_kc.models import Model
from axfi_kc.sets import sorted_sets
from axfi_kc.similarity import Similarity

__all__ = ["DiagramEngine"]

_KEPT = 16  # diagrams, one per output: a classifier has few, a regression many
_NOTHING, _AT_ONCE = 0, 1  # the families {} and {{}}, by number
Codes = npt.NDArray[np.float64]


class DiagramEngine:
    """Explains instances of a model through its complete diagram.

    Parameters
    ----------
    model
        Any neutral form.
    similarity
        Which outputs count as similar.
    budget
        What the compilation of one diagram may cost.
    constant
        The one output of a model known to be constant; None otherwise.

    Notes
    -----
    Compilation is exponential at worst. After it, an instance costs a pass over the diagram with
    operations on explicit families of sets, and each CXp a walk over the part of the diagram
    that its own changes reach.
    """

    def __init__(
        self, model: Model, similarity: Similarity, budget: Budget, *, constant: Hashable | None = None
    ) -> None:
        self.constant = constant
        self._model = model
        self._similarity = similarity
        self._budget = budget
        self._diagrams: dict[Hashable, _Diagram] = {}

    def explain(self, codes: Codes, *, weights: str = "ratio", max_size: int | None = None) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget was spent on the diagram.
        """
        cells = self._model.grid.locate(codes)
        outputs = self._model.outputs_at(codes)
        worths, wholes = cell_worths(self._model.grid, weights)
        limit = cells.shape[1] if max_size is None else max_size
        weighed = []
        for v, output in zip(cells.tolist(), outputs, strict=True):
            diagram = self._diagram(output)
            found = sorted_sets(diagram.cxps(v, limit))
            totals = [1] * len(found) if weights == "unit" else [diagram.weigh(v, Y, worths) for Y in found]
            weighed.append((found, totals))
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights)

    def is_weak_cxp(self, code: Codes, mask: int) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar.

        Notes
        -----
        Linear in the diagram.
        """
        cells = self._model.grid.locate(code[np.newaxis])
        diagram = self._diagram(self._model.outputs_at(code[np.newaxis])[0])
        return diagram.true in diagram.reached(cells[0].tolist(), mask)

    def _diagram(self, output: Hashable) -> _Diagram:
        found = self._diagrams.get(output)
        if found is None:
            if len(self._diagrams) >= _KEPT and isinstance(output, Fraction):
                self._diagrams.clear()
            circuit = compile_mdd(self._model, output, self._similarity, budget=self._budget)
            found = self._diagrams[output] = _Diagram(circuit)
        return found


class _Diagram:
    """An ordered MDD as Python lists; a cell without an arc leads to false."""

    def __init__(self, circuit: Circuit) -> None:
        kinds = circuit.kinds.tolist()
        self.true = kinds.index(TRUE) if TRUE in kinds else -1
        self._root = circuit.root
        self._features = circuit.features.tolist()
        self._arcs = [circuit.arcs(node) for node in range(len(kinds))]

    def cxps(self, v: Sequence[int], max_size: int) -> Iterable[int]:
        """Return the CXps of the instance with cells v, as masks."""
        families = _Families(max_size)
        found: list[int] = []
        for node, feature in enumerate(self._features):
            if feature < 0:
                found.append(_AT_ONCE if node == self.true else _NOTHING)
                continue
            stays, changes = _NOTHING, set()
            for cells, child in self._arcs[node]:
                if v[feature] in cells:
                    stays = found[child]
                else:
                    changes.add(found[child])
            found.append(families.joined(feature, stays, changes))
        return families.members[found[self._root]]

    def reached(self, v: Sequence[int], mask: int, *, strictly: bool = False) -> set[int]:
        """Return the nodes that points reach that agree with v outside `mask`.

        Parameters
        ----------
        v
            The instance's cells.
        mask
            The features that may change ...
        strictly
            ... or must, wherever they are tested.
        """
        seen, stack = {self._root}, [self._root]
        while stack:
            for _, child in self._followed(stack.pop(), v, mask, strictly):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return seen

    def _followed(
        self, node: int, v: Sequence[int], mask: int, strictly: bool
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        feature = self._features[node]
        free = feature >= 0 and mask >> feature & 1
        for cells, child in self._arcs[node]:
            kept = v[feature] in cells
            if (free and not (strictly and kept)) or (not free and kept):
                yield cells, child

    def weigh(self, v: Sequence[int], mask: int, worths: Sequence[Sequence[int]]) -> int:
        """Return what the dissimilar points of the CXp `mask` are worth.

        By minimality such a point changes every feature of the CXp and no path to true can skip
        one of them, so paths that follow changed cells only are all there is to add up.
        """
        worth = {self.true: 1}
        for node in sorted(self.reached(v, mask, strictly=True)):
            feature = self._features[node]
            if feature >= 0:
                arcs = self._followed(node, v, mask, strictly=True)
                if mask >> feature & 1:
                    worth[node] = sum(sum([worths[feature][c] for c in cells]) * worth[child] for cells, child in arcs)
                else:
                    worth[node] = sum(worth[child] for _, child in arcs)
        return worth.get(self._root, 0)


class _Families:
    """Families of minimal sets as ints, each made once and known by a number."""

    def __init__(self, max_size: int) -> None:
        self.members: list[frozenset[int]] = [frozenset(), frozenset({0})]
        self._max_size = max_size
        self._number = {family: k for k, family in enumerate(self.members)}
        self._joined: dict[tuple[int, int, frozenset[int]], int] = {}

    def joined(self, feature: int, stays: int, changes: set[int]) -> int:
        """Return the family of a node, from those of its children."""
        others = frozenset(changes - {stays, _NOTHING})
        if stays == _AT_ONCE or not others:
            return stays
        key = feature, stays, others
        found = self._joined.get(key)
        if found is None:
            family = frozenset(self._family(feature, self.members[stays], others))
            found = self._joined[key] = self._number.setdefault(family, len(self.members))
            if found == len(self.members):
                self.members.append(family)
        return found

    def _family(self, feature: int, stays: frozenset[int], others: frozenset[int]) -> Iterator[int]:
        yield from stays
        candidates = set().union(*(self.members[k] for k in others))
        kept = list(stays)
        for T in sorted(candidates, key=int.bit_count):
            if T.bit_count() < self._max_size and not any(s & T == s for s in kept):
                kept.append(T)
                yield T | 1 << feature
