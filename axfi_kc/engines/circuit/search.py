"""All CXps of an instance of a circuit: read off its nodes, or by duality.

Let C(u) be the minimal sets of features whose change can make node u true, or false, whichever is
looked for. For a decision on i with the instance's child c_v, C(u) is C(c_v), together with {i} + T
for the minimal T of the other children that contain no member of C(c_v). When true is looked for,
the sets of a disjunction are the minimal ones of its parts, and those of a conjunction all unions of
one set of each part, which have no feature in common. When false is looked for, those of a
conjunction are the sets of all its parts. A disjunction cannot be made false part by part, because
its parts share features: then, and when the families on the way grow large, the search is by duality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb

from axfi_kc.budget import Budget, BudgetSpent, Meter
from axfi_kc.engines.circuit.kernels import BY_COUNT
from axfi_kc.engines.circuit.regions import InstanceBoxes, Worths
from axfi_kc.engines.duality import cxps_by_duality, cxps_by_size

__all__ = ["cxps_by_nodes", "find_cxps", "weigh"]


_MOST_STEPS = 4_000_000  # comparisons of sets before the families of nodes are given up: about a second
_MOST_SETS = 50_000  # sets of at most max_size features that are all asked for rather than searched
_FEW_SETS = 500  # asking for so many takes less than making families
_WEIGHED_AT_ONCE = 256  # CXps between two looks at the clock, of a small circuit
_ARCS_AT_ONCE = 1 << 20  # and of a large one, arcs gone over
_PAIRS_AT_ONCE = 1 << 16
_NOTHING: Sequence[int] = ()
_AT_ONCE: Sequence[int] = (0,)


class _TooManySets(Exception):
    """The families of the nodes have grown large."""


def find_cxps(boxes: InstanceBoxes, *, max_size: int, meter: Meter) -> list[int]:
    """Return all CXps of the instance of at most `max_size` features.

    Parameters
    ----------
    boxes
        The instance.
    max_size
        The largest CXps that are wanted.
    meter
        What the search may cost; the families of nodes, which are certain only when complete, get half of it.

    Raises
    ------
    BudgetSpent
        With the CXps certified so far.
    """
    found = None
    n = len(boxes.region.scope)
    n_sets = _n_sets(n, max_size) if 2 * max_size < n else _MOST_SETS + 1
    if boxes.region.task != BY_COUNT and n_sets > _FEW_SETS:
        # A meter of its own: families that are given up certify no CXp, and must leave enough for what follows.
        trial = Meter(_half(meter.rest()))
        found = cxps_by_nodes(boxes, max_size=max_size, meter=trial)
        meter.spend(trial.nodes)
    if found is None and n_sets <= _MOST_SETS:
        found = cxps_by_size(boxes, max_size=max_size, meter=meter)
    if found is None:
        # Large CXps are dropped only now: without them hitting sets would be taken for AXps that are none.
        found = [Y for Y in cxps_by_duality(boxes, meter=meter) if Y.bit_count() <= max_size]
    return found


def _half(budget: Budget) -> Budget:
    nodes = _MOST_STEPS if budget.nodes is None else max(1, min(_MOST_STEPS, budget.nodes // 2))
    return Budget(seconds=None if budget.seconds is None else budget.seconds / 2, nodes=nodes, bytes=budget.bytes)


def weigh(boxes: InstanceBoxes, cxps: Sequence[int], kind: str, worths: Worths, *, meter: Meter) -> list[int]:
    """Return what the dissimilar points of each CXp are worth.

    Raises
    ------
    BudgetSpent
        With all CXps.
    """
    if kind == "unit":
        return [1] * len(cxps)
    found: list[int] = []
    at_once = max(1, min(_WEIGHED_AT_ONCE, _ARCS_AT_ONCE // (1 + len(boxes.region.flat.children))))
    for first in range(0, len(cxps), at_once):
        part = cxps[first : first + at_once]
        found += boxes.weigh(part, kind, worths)
        if not meter.spend(len(part)) or meter.is_spent:
            raise BudgetSpent(list(cxps))
    return found


def _n_sets(n: int, max_size: int) -> int:
    """Return how many sets have at most `max_size` of n elements."""
    return sum(comb(n, k) for k in range(min(n, max_size) + 1))


def cxps_by_nodes(boxes: InstanceBoxes, *, max_size: int, meter: Meter) -> list[int] | None:
    """Return the CXps, from the families of all nodes; None if the meter does not allow it.

    Notes
    -----
    Of the order of the families' sizes, squared for decisions. A search node is a comparison of sets.
    """

    def spend(steps: int) -> None:
        if not meter.spend(steps):
            raise _TooManySets

    try:
        return list(_Families(boxes, max_size, spend).of_root())
    except _TooManySets:
        return None


class _Families:
    """Families of minimal sets, one for each node."""

    def __init__(self, boxes: InstanceBoxes, max_size: int, spend: Callable[[int], None]) -> None:
        self._boxes = boxes
        self._max_size = max_size
        self._spend = spend
        self._looks_for_true = boxes.region.holds
        self._bits = {i: 1 << k for k, i in enumerate(boxes.region.scope.tolist())}
        self._n_cells = boxes.region.circuit.grid.n_cells

    def of_root(self) -> Sequence[int]:
        """Return the family of the circuit's root."""
        at_false, at_true = (_NOTHING, _AT_ONCE) if self._looks_for_true else (_AT_ONCE, _NOTHING)
        return self._boxes.region.circuit.fold(
            decision=self._decision,
            conjunction=self._product if self._looks_for_true else self._union,
            disjunction=self._union,
            false=at_false,
            true=at_true,
        )[-1]

    def _decision(self, feature: int, labels: list[int], below: list[Sequence[int]]) -> Sequence[int]:
        """Return the family of a decision; cells that no arc names lead to false."""
        cell, bit, sets = self._boxes.cells[feature], self._bits[feature], self._boxes.region.cell_sets
        at_false = _NOTHING if self._looks_for_true else _AT_ONCE
        stays = next((family for k, family in zip(labels, below, strict=True) if cell in sets[k]), at_false)
        changes = [family for k, family in zip(labels, below, strict=True) if cell not in sets[k]]
        if sum([len(sets[k]) for k in labels]) < self._n_cells[feature]:
            changes.append(at_false)
        if stays and stays[0] == 0:
            return _AT_ONCE
        # Less than max_size, for `bit` comes on top. A set that is too large could only exclude larger ones.
        others = {T for family in changes if family is not stays for T in family if T.bit_count() < self._max_size}
        return [*stays, *(T | bit for T in self._minimal(others, stays))]

    def _union(self, families: Sequence[Sequence[int]]) -> Sequence[int]:
        distinct = {id(family): family for family in families if family}
        if len(distinct) <= 1:
            return next(iter(distinct.values()), _NOTHING)
        return list(self._minimal({T for family in distinct.values() for T in family}, []))

    def _minimal(self, candidates: Iterable[int], kept: Sequence[int]) -> Iterator[int]:
        """Iterate over the minimal candidates that contain none of `kept`."""
        known = list(kept)
        # By size: all proper parts of T come before it, and equal sets occur once.
        for T in sorted(candidates, key=int.bit_count):
            self._spend(1 + len(known))
            for s in known:  # a generator in any() takes twice as long
                if s & T == s:
                    break
            else:
                known.append(T)
                yield T

    def _product(self, families: Sequence[Sequence[int]]) -> Sequence[int]:
        """Return all unions of one set of each family; scopes are disjoint, so all are minimal."""
        made: Sequence[int] = _AT_ONCE
        for family in sorted(families, key=len):
            rows, united = max(1, _PAIRS_AT_ONCE // (1 + len(family))), list[int]()
            for first in range(0, len(made), rows):
                some = made[first : first + rows]
                self._spend(1 + len(some) * len(family))
                united += [S | T for S in some for T in family if (S | T).bit_count() <= self._max_size]
            made = united
        return made
