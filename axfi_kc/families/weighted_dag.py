"""Weighted families: a DAG in which every path from the root to the end is a weighted set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

from axfi_kc.budget import Account, paced

__all__ = ["NO_ELEMENT", "Arc", "WeightedDag"]


NO_ELEMENT = -1
Arc = tuple[int, int, int]  # child, element or NO_ELEMENT, factor


@dataclass(frozen=True, eq=False)
class WeightedDag:
    """A family of weighted sets that share what they have in common.

    A path from the root to the end is a set, that of the elements on its arcs; no path meets an
    element twice. It weighs the product of its factors, divided by ``whole ** size``. A set weighs
    what all its paths weigh together.

    Attributes
    ----------
    arcs
        For each node its arcs ``(child, element, factor)``, the element -1 for none. Node 0 is the
        end, children come before parents, the root is last.
    whole
        A positive integer.

    Examples
    --------
    The sets {0} and {1}, the second one twice as heavy:

    >>> dag = WeightedDag(((), ((0, 1, 2),), ((0, 0, 1), (1, NO_ELEMENT, 1))), whole=4)
    >>> dag.total(), dag.total(avoiding=0b10)
    (Fraction(3, 4), Fraction(1, 4))
    >>> dag.spread({1: 1})
    {1: 2, 0: 1}
    """

    arcs: tuple[tuple[Arc, ...], ...]
    whole: int = 1

    @property
    def n_arcs(self) -> int:
        """The number of arcs."""
        return sum(map(len, self.arcs))

    @cached_property
    def numerators(self) -> dict[int, int]:
        """For each size, what the sets of that size weigh together, times ``whole ** size``."""
        return self.numerators_within(None)

    def numerators_within(self, account: Account | None) -> dict[int, int]:
        """Return the `numerators`, held to the budget of an account."""
        first, prefixes = self._prefixes_within(account)
        return {size: total for size, total in enumerate(prefixes[0], start=first[0]) if total}

    def total(self, *, avoiding: int = 0) -> Fraction:
        """Return what all sets weigh together that contain no element of the set `avoiding`.

        Notes
        -----
        Linear in the DAG.
        """
        worth = [Fraction(1)]
        for arcs in self.arcs[1:]:
            found = Fraction(0)
            for child, element, factor in arcs:
                if element == NO_ELEMENT:
                    found += worth[child] * factor
                elif not avoiding >> element & 1:
                    # Divided once per element, which is what ``whole ** size`` means.
                    found += worth[child] * Fraction(factor, self.whole)
            worth.append(found)
        return worth[-1]

    def avoiding(self, elements: Collection[int]) -> WeightedDag:
        """Return the sets that contain none of some elements (cost: linear)."""
        if not elements:
            return self
        return WeightedDag(tuple(tuple(a for a in arcs if a[1] not in elements) for arcs in self.arcs), self.whole)

    def weight(self, mask: int) -> Fraction:
        """Return what the set `mask` weighs, where no set contains another (cost: linear in the DAG)."""
        # Going down, only paths inside `mask` are followed. A member contains no other set, so those that
        # reach the end are exactly its own.
        worth = {len(self.arcs) - 1: 1}
        for node in reversed(range(1, len(self.arcs))):
            found = worth.get(node, 0)
            for child, element, factor in self.arcs[node] if found else ():
                if element == NO_ELEMENT or mask >> element & 1:
                    worth[child] = worth.get(child, 0) + found * factor
        return Fraction(worth.get(0, 0), self.whole ** mask.bit_count())

    def spread(self, shares: Mapping[int, int], *, account: Account | None = None) -> dict[int, int]:
        """Return for each element the sum over its sets of the share of their size times their numerator.

        Parameters
        ----------
        shares
            An integer for each size; sizes left out count 0. The numerator of a set is its weight times
            ``whole ** size``.

        Notes
        -----
        Arcs times different sizes of what leads to them. With what is above a node by size, and
        what is below it already multiplied by shares, each arc is one scalar product.
        """
        first, prefixes = self._prefixes_within(account)
        # Sizes of complete sets, smallest first: position k of the end's list is size first[0] + k.
        ends = range(first[0], first[0] + len(prefixes[0]))
        below = [[shares.get(size, 0) for size in ends]]
        found: dict[int, int] = {}
        for node, arcs in enumerate(paced(self.arcs[1:], account), start=1):
            above = prefixes[node]
            own: list[int] = []
            for child, element, factor in arcs:
                # Lists begin at the least size of their own node, so that sparse sizes cost little; the shift
                # lines up the parent's list with the child's.
                shift = first[node] - first[child] + (element != NO_ELEMENT)
                part = _scaled(below[child][shift : shift + len(above)], factor)
                # All parts are as long as `above`, so they can be added up entry by entry.
                own = list(map(int.__add__, own, part)) if own else part
                if element != NO_ELEMENT:
                    found[element] = found.get(element, 0) + sum(map(mul, above, part))
            below.append(own or [0] * len(above))
        return found

    def _prefixes_within(self, account: Account | None) -> tuple[list[int], list[list[int]]]:
        """Return the prefixes, which are made once."""
        # A cached property cannot be given an account; the instance's own dict is where one would be kept.
        kept = vars(self)
        if "_prefixes" not in kept:
            kept["_prefixes"] = self._made_prefixes(account)
        return kept["_prefixes"]

    def _made_prefixes(self, account: Account | None) -> tuple[list[int], list[list[int]]]:
        """Return for each node the least number of elements on a way there, and from there on what ways of each weigh.

        A node that no way leads to has an empty list.
        """
        first, last = _ranges(self.arcs)
        found = [[0] * (b - a + 1) for a, b in zip(first, last, strict=True)]
        found[-1][0] = 1
        for node in paced(reversed(range(1, len(self.arcs))), account):
            above = found[node]
            for child, element, factor in self.arcs[node] if above else ():
                shift = first[node] - first[child] + (element != NO_ELEMENT)
                into, span = found[child], slice(shift, shift + len(above))
                into[span] = map(int.__add__, into[span], _scaled(above, factor))
        return first, found

    def sets(self) -> Iterator[tuple[int, int]]:
        """Yield every path as ``(set, numerator)``; the numerators of equal sets are to be added.

        Notes
        -----
        Linear in the total length of the paths, of which there may be exponentially many.
        """
        stack = [(len(self.arcs) - 1, 0, 1)]
        while stack:
            node, mask, numerator = stack.pop()
            if node == 0:
                yield mask, numerator
            for child, element, factor in self.arcs[node]:
                stack.append((child, mask | (1 << element if element != NO_ELEMENT else 0), numerator * factor))


def _scaled(numbers: list[int], factor: int) -> list[int]:
    return numbers if factor == 1 else [factor * x for x in numbers]


def _ranges(arcs: Sequence[Sequence[Arc]]) -> tuple[list[int], list[int]]:
    """Return the least and the largest number of elements on a way to each node; (0, -1) for no way."""
    # More elements than any path can have stands for "no way yet".
    first, last = [len(arcs)] * len(arcs), [-1] * len(arcs)
    first[-1] = last[-1] = 0
    for node in reversed(range(1, len(arcs))):
        if last[node] < 0:
            first[node] = 0
            continue
        for child, element, _ in arcs[node]:
            step = element != NO_ELEMENT
            first[child] = min(first[child], first[node] + step)
            last[child] = max(last[child], last[node] + step)
    # Node 0 has no arcs and is not met in the loop.
    if last[0] < 0:
        first[0] = 0
    return first, last
