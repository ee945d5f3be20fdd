"""A family of feature sets as a zero-suppressed decision diagram: counted and drawn from without listing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import or_
from random import Random

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, paced
from axfi_kc.errors import CircuitError
from axfi_kc.families.force import force_order
from axfi_kc.families.masks import features_of
from axfi_kc.families.weighted_dag import NO_ELEMENT, WeightedDag
from axfi_kc.families.zdd_store import BASE, EMPTY, FamilyStore

__all__ = ["SetFamily"]


@dataclass(frozen=True, eq=False)
class SetFamily:
    """A family of sets, each an int whose bit i is element i.

    A value: operations return new families and share no state, so families can be used from
    several threads, copied and pickled. Two families can be combined when their orders are equal.

    Attributes
    ----------
    order
        The elements, from the top of the diagram down.
    rows
        The diagram: (level, low, high, least size, largest size) per node, children first, after the
        family without a set (row 0) and, except for that family, that of the empty set (row 1).

    Examples
    --------
    >>> family = SetFamily.of([0b011, 0b001, 0b110])
    >>> family.count, family.sizes, 0b110 in family, 0b100 in family
    (3, {1: 1, 2: 2}, True, False)
    >>> list(family.minimal()), list(family.hitting_sets())
    ([1, 6], [3, 5])
    """

    order: tuple[int, ...]
    rows: npt.NDArray[np.int32] = field(repr=False)

    @classmethod
    def of(cls, masks: Iterable[int], *, order: Sequence[int] | None = None, budget: Budget | None = None) -> SetFamily:
        """Return the family of the given sets.

        Parameters
        ----------
        masks
            The sets.
        order
            The elements from the top of the diagram down; by default those that occur together are
            neighbours. The diagram, and all that is computed on it, may be exponentially larger in a bad order.

        Raises
        ------
        CircuitError
            If an element of a set is not in the order.
        """
        sets = list(masks)
        account = Account(budget, goal="family of sets", advice="allow more, or limit max_size")
        if order is None:
            members = [features_of(mask) for mask in account.paced(sets)]
            order = force_order(features_of(reduce(or_, sets, 0)), members, account=account)
        chosen = tuple(order)
        level = {e: k for k, e in enumerate(chosen)}
        strange = next((e for s in account.paced(sets) for e in features_of(s) if e not in level), None)
        if strange is not None:
            raise CircuitError(f"An order must hold every element of the sets, but {strange} is missing; add it.")
        store = FamilyStore(None if budget is None else account.rest())
        found = store.union_all([store.chain([level[e] for e in features_of(s)]) for s in account.paced(sets)])
        return cls(chosen, store.rows(found))

    def __repr__(self) -> str:
        """Return the number of sets, nodes and elements."""
        n = self.count
        shown = str(n) if n < 10**9 else f"about 10**{len(str(n)) - 1}"
        return f"<SetFamily: {shown} sets, {self.n_nodes} nodes, {self.support.bit_count()} elements>"

    @property
    def root(self) -> int:
        """The last row."""
        return len(self.rows) - 1

    @property
    def n_nodes(self) -> int:
        """The nodes of the diagram, constants not counted."""
        return max(len(self.rows) - 2, 0)

    @cached_property
    def count(self) -> int:
        """The number of sets, exactly."""
        return self._counts[-1]

    @cached_property
    def sizes(self) -> dict[int, int]:
        """The number of sets of each size, smallest first."""
        return self.dag.numerators

    @cached_property
    def support(self) -> int:
        """The elements that occur in some set."""
        return sum(1 << self.order[k] for k in set(self.rows[2:, 0].tolist()))

    def __bool__(self) -> bool:
        """Tell whether there is a set."""
        return self.root != EMPTY

    def __contains__(self, mask: object) -> bool:
        """Tell whether a set is a member (cost: one way through the diagram)."""
        if not isinstance(mask, int):
            return False
        node, left = self.root, mask
        while node > BASE:
            level, low, high = self._nodes[node]
            element = self.order[level]
            node = high if mask >> element & 1 else low
            # What the way passes over is in no set below it, so nothing of the mask may be left at the end.
            left &= ~(1 << element)
        return node == BASE and not left

    def __iter__(self) -> Iterator[int]:
        """Iterate over the sets, smallest first; there may be more than can ever be listed."""
        for size in sorted(self.sizes):
            yield from self._of_size(size)

    def _of_size(self, size: int) -> Iterator[int]:
        """Yield the sets of one size; every branch entered yields one."""
        stack = [(self.root, size, 0)]
        while stack:
            node, left, mask = stack.pop()
            if node == BASE:
                yield mask
                continue
            level, low, high = self._nodes[node]
            # Entered only if a set of the wanted size lies below: no branch is walked in vain.
            if self._feasible[low] >> left & 1:
                stack.append((low, left, mask))
            # High last, so it is popped first: sets with early elements come first.
            if left and self._feasible[high] >> left - 1 & 1:
                stack.append((high, left - 1, mask | 1 << self.order[level]))

    def sample(self, rng: Random) -> int:
        """Return a set, each with the same probability.

        Notes
        -----
        One way through the diagram; the integers drawn are exact, whatever the number of sets.

        Raises
        ------
        CircuitError
            If there is no set.
        """
        if not self:
            raise CircuitError("A set can be drawn from a family with at least one, but this one is empty.")
        counts, node, mask = self._counts, self.root, 0
        while node > BASE:
            level, low, high = self._nodes[node]
            # An integer below the exact count, so there is no rounding, however many sets there are.
            if rng.randrange(counts[node]) < counts[low]:
                node = low
            else:
                node, mask = high, mask | 1 << self.order[level]
        return mask

    def smallest(self, *, budget: Budget | None = None) -> SetFamily:
        """Return the family of the members with the fewest elements."""
        return self.at_most(int(self.rows[-1, 3]), budget=budget)

    def union(self, other: SetFamily, *, budget: Budget | None = None) -> SetFamily:
        """Return the sets that are in one of the families."""
        return self._joined(other, FamilyStore.union, budget)

    def non_supersets(self, other: SetFamily, *, budget: Budget | None = None) -> SetFamily:
        """Return the sets that contain no set of `other`."""
        return self._joined(other, FamilyStore.non_supersets, budget)

    def minimal(self, *, budget: Budget | None = None) -> SetFamily:
        """Return the sets that contain no other set of the family."""
        return self._made(FamilyStore.minimal, budget)

    def at_most(self, size: int, *, budget: Budget | None = None) -> SetFamily:
        """Return the sets of at most `size` elements."""
        return self._made(lambda store, f: store.at_most(f, size), budget)

    def hitting_sets(self, *, budget: Budget | None = None) -> SetFamily:
        """Return the minimal sets that meet every set of the family: its dual.

        Raises
        ------
        BudgetError
            If the budget was spent; its nodes are steps of the operation.

        Notes
        -----
        With lo the sets without the first element and hi the others without it, the dual has the dual of
        lo and hi united and, with that element, what of the dual of lo contains none of these. It may be
        exponentially larger than the family, as a diagram too.
        """
        return self._made(FamilyStore.hitting, budget)

    def counts(self, *, account: Account | None = None) -> dict[int, int]:
        """Return for each element that occurs the number of sets with it (cost: linear)."""
        below, above = self._counts, [0] * len(self.rows)
        above[-1] = 1
        found: dict[int, int] = {}
        for node in paced(reversed(range(2, len(above))), account):
            level, low, high = self._nodes[node]
            element = self.order[level]
            # Sets with the element: ways from the root to this node times ways on from its high child.
            found[element] = found.get(element, 0) + above[node] * below[high]
            above[high] += above[node]
            above[low] += above[node]
        return found

    def with_elements(self, *, budget: Budget | None = None) -> dict[int, dict[int, int]]:
        """Return for each element that occurs the number of sets with it, by size.

        Notes
        -----
        Nodes times the square of the number of different sizes.
        """
        sizes, account = self.sizes, Account(budget, goal="count by sizes", advice="allow more")
        found: dict[int, dict[int, int]] = {e: {} for e in features_of(self.support)}
        for size in sizes:
            for element, n in self.dag.spread({size: 1}, account=account).items():
                if n:
                    found[element][size] = n
        return found

    def fewest_with(self, *, account: Account | None = None) -> dict[int, int]:
        """Return for each element that occurs the size of the smallest set with it (cost: linear)."""
        least, nodes = self.rows[:, 3].tolist(), self._nodes
        above = [len(self.order) + 1] * len(nodes)
        above[-1] = 0
        found: dict[int, int] = {}
        for node in paced(reversed(range(2, len(nodes))), account):
            level, low, high = nodes[node]
            element, with_it = self.order[level], above[node] + 1
            found[element] = min(found.get(element, with_it + least[high]), with_it + least[high])
            above[high] = min(above[high], with_it)
            # The low child of many nodes is the family without a set, to which no set leads.
            if low != EMPTY:
                above[low] = min(above[low], above[node])
        return found

    @cached_property
    def dag(self) -> WeightedDag:
        """The family as a weighted one in which every set weighs 1."""
        if self.root == EMPTY:
            return WeightedDag(((), ()))
        # The DAG's end is the family of the empty set, row 1, so all numbers go down by one; the family
        # without a set disappears, and arcs to it with it.
        arcs: list[tuple[tuple[int, int, int], ...]] = [()]
        for level, low, high in self._nodes[2:]:
            kept = ((low - 1, NO_ELEMENT, 1),) if low != EMPTY else ()
            arcs.append((*kept, (high - 1, self.order[level], 1)))
        return WeightedDag(tuple(arcs))

    @cached_property
    def _nodes(self) -> list[list[int]]:
        return self.rows[:, :3].tolist()

    @cached_property
    def _counts(self) -> list[int]:
        # Cut to the rows there are: the family without a set has only row 0.
        found = [0, 1][: len(self.rows)]
        for _, low, high in self._nodes[2:]:
            found.append(found[low] + found[high])
        return found

    @cached_property
    def _feasible(self) -> list[int]:
        """For each row the sizes of its sets, as an int whose bit k is size k."""
        found = [0, 1][: len(self.rows)]
        for _, low, high in self._nodes[2:]:
            # One shift adds the element to all sizes at once.
            found.append(found[low] | found[high] << 1)
        return found

    def _made(self, operation: Callable[[FamilyStore, int], int], budget: Budget | None) -> SetFamily:
        store = FamilyStore(budget)
        return SetFamily(self.order, store.rows(operation(store, store.load(self.rows))))

    def _joined(
        self, other: SetFamily, operation: Callable[[FamilyStore, int, int], int], budget: Budget | None
    ) -> SetFamily:
        if self.order != other.order:
            raise CircuitError("Two families can be combined when their elements are in the same order; give one.")
        store = FamilyStore(budget)
        return SetFamily(self.order, store.rows(operation(store, store.load(self.rows), store.load(other.rows))))
