"""Where set families are computed: one zero-suppressed decision diagram per store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL, Budget, Meter
from axfi_kc.errors import BudgetError

__all__ = ["BASE", "EMPTY", "FamilyStore"]


EMPTY, BASE = 0, 1  # the family without a set; the family of the empty set
_TERMINAL = 2**31 - 1  # a level below every other
_SMALLEST = 1 << 10  # rows at first
_MOVED_AT_ONCE = 1 << 16  # entries of a table that grows, between two looks at the clock
Rows = npt.NDArray[np.int32]


class FamilyStore:
    """A workshop for set families; they are row numbers, valid in this store only.

    Elements are levels here: 0 is the top of the diagram. Everything made stays until the store
    goes; what is wanted is taken out with :meth:`rows`. Stores share nothing, so each thread can have its
    own; one store must not be used by two threads at once.

    Parameters
    ----------
    budget
        What all operations together may cost; a node is one step of an operation.

    Examples
    --------
    >>> store = FamilyStore()
    >>> pair, single = store.chain([0, 1]), store.chain([1])
    >>> store.minimal(store.union(pair, single)) == single
    True
    """

    def __init__(self, budget: Budget | None = None) -> None:
        if budget is not None:
            # Before the meter starts, so that compiling is not charged to anybody's budget.
            _compile_kernels()
        from axfi_kc.families import zdd_kernels as kernels

        self._kernels: Any = kernels
        self._rows: Rows = np.empty((_SMALLEST, 5), np.int32)
        # The constants' level is below all others, and the empty set has no element; so kernels need no case
        # for them when they compare levels.
        self._rows[:2] = _TERMINAL, 0, 0, 0, 0
        # Twice the rows, so that probing always meets a free slot.
        self._table = np.zeros(2 * _SMALLEST, np.int32)
        self._known = np.zeros((2 * _SMALLEST, 4), np.int32)
        self._stack = np.zeros((64, 5), np.int32)
        self._registers = np.zeros(kernels.REGISTERS, np.int64)
        self._registers[kernels.N_ROWS] = 2
        self._meter = Meter(budget or Budget())
        self._meter.attach(self._registers)

    def __len__(self) -> int:
        """Return the number of rows made so far."""
        return int(self._registers[self._kernels.N_ROWS])

    def node(self, level: int, low: int, high: int) -> int:
        """Return the family of the sets of `low`, and those of `high` with the element `level` added.

        Both must be about later levels only.
        """
        # The kernel makes a row without looking whether there is room.
        if len(self) + 1 >= len(self._rows):
            self._grow(len(self) + 2)
        return self._kernels.make_row(self._rows, self._table, self._registers, level, low, high)

    def chain(self, levels: Iterable[int]) -> int:
        """Return the family of one set."""
        found = BASE
        # Last level first, since a row needs its children.
        for level in sorted(levels, reverse=True):
            found = self.node(level, EMPTY, found)
        return found

    def load(self, rows: Rows) -> int:
        """Return a family taken out of a store, itself or another."""
        if len(self) + len(rows) >= len(self._rows):
            self._grow(len(self) + len(rows) + 1)
        # Rows 0 and 1 are the same in every store; the kernel fills in the rest.
        number = np.arange(len(rows), dtype=np.int32)
        self._kernels.copy_rows(self._rows, self._table, self._registers, rows, number)
        return int(number[-1])

    def union(self, f: int, g: int) -> int:
        """Return the sets that are in f or in g."""
        return self._run(self._kernels.UNION, f, g)

    def union_all(self, families: Iterable[int]) -> int:
        """Return the sets that are in some of the families, two by two so that most unions are small."""
        found = list(families) or [EMPTY]
        while len(found) > 1:
            odd = found[-1:] if len(found) % 2 else []
            # In pairs like a tournament: one by one, the first sets would be walked through in every union.
            found = [self.union(a, b) for a, b in zip(found[::2], found[1::2], strict=False)] + odd
        return found[0]

    def minimal(self, f: int) -> int:
        """Return the sets of f that contain no other."""
        return self._run(self._kernels.MINIMAL, f, 0)

    def non_supersets(self, f: int, g: int) -> int:
        """Return the sets of f that contain no set of g."""
        return self._run(self._kernels.NON_SUPERSETS, f, g)

    def hitting(self, f: int) -> int:
        """Return the minimal sets that meet every set of f."""
        return self._run(self._kernels.HITTING, f, 0)

    def at_most(self, f: int, size: int) -> int:
        """Return the sets of f with at most `size` elements."""
        return self._run(self._kernels.AT_MOST, f, size)

    def rows(self, f: int) -> Rows:
        """Return what f needs, children first and f last, after the two constants."""
        if f < 2:
            return self._rows[: f + 1].copy()
        kept = self._kernels.reached(self._rows, f)
        found = self._rows[: f + 1][kept]
        # The new number of a row is how many kept rows come before it.
        found[2:, 1:3] = (np.cumsum(kept) - 1)[found[2:, 1:3]]
        return found

    def split(self, f: int, level: int) -> tuple[int, int]:
        """Return the sets of f without `level`, and those with it, it taken out; f must have no earlier level."""
        top, low, high = self._rows[f, :3].tolist()
        # A family that begins later has no set with this level.
        return (low, high) if top == level else (f, EMPTY)

    def spend(self, nodes: int) -> None:
        """Count steps that were made outside the store against its budget."""
        self._registers[NODES] += nodes
        while self._registers[NODES] >= self._registers[LIMIT]:
            self._extend()

    def _run(self, operation: int, f: int, g: int) -> int:
        kernels, registers = self._kernels, self._registers
        begin = operation
        while True:
            status = kernels.run(self._rows, self._table, self._known, self._stack, registers, begin, f, g)
            # A continued call finds what it was doing on the stack.
            begin = 0
            if status == DONE:
                return int(registers[kernels.VALUE])
            if status == STORE_FULL:
                self._make_room()
            elif status == ALLOWANCE:
                self._extend()
            else:
                self._stack = np.concatenate([self._stack, np.zeros_like(self._stack)])

    def _extend(self) -> None:
        if not self._meter.extend():
            raise self._error()

    def _error(self) -> BudgetError:
        nodes, seconds = self._meter.spent
        return BudgetError(
            f"The budget was spent after {nodes} step{'s' * (nodes != 1)} and {seconds:.2f} s on families of "
            "sets, and nothing of the unfinished family is kept; allow more, or limit max_size.",
            nodes=nodes,
            seconds=seconds,
        )

    def _make_room(self) -> None:
        if len(self) + 1 >= len(self._rows):
            self._grow(len(self) + 1)
        if 2 * self._registers[self._kernels.N_KNOWN] >= len(self._known):
            known = np.zeros((self._times_known() * len(self._known), 4), np.int32)
            for first in self._spans(0, len(self._known)):
                self._kernels.remember(known, self._known[first : first + _MOVED_AT_ONCE])
            self._known = known

    def _times_known(self) -> int:
        """Return by how much the table of known results grows; entries lie anywhere, so all of it is used at once."""
        # Four times while memory allows, because all entries have to be placed anew each time.
        found = next((times for times in (4, 2) if self._meter.fits(times * self._known.nbytes)), None)
        if found is None:
            raise self._error()
        return found

    def _grow(self, needed: int) -> None:
        """Make room for at least twice the rows, or for `needed` ones."""
        size = 2 * len(self._rows)
        # Strictly more than needed: kernels want one row to spare.
        while size <= needed:
            size *= 2
        # Asked before anything is allocated, so that a refusal leaves the store as it was.
        if not self._meter.fits(self._rows.nbytes + 2 * size * self._table.itemsize):
            raise self._error()
        rows = np.empty((size, 5), np.int32)
        rows[: len(self)] = self._rows[: len(self)]
        self._table = np.zeros(2 * size, np.int32)
        for first in self._spans(2, len(self)):
            self._kernels.rehash(rows, self._table, first, min(first + _MOVED_AT_ONCE, len(self)))
        self._rows = rows

    def _spans(self, begin: int, end: int) -> Iterator[int]:
        """Yield where parts of a large table begin, with a look at the clock before each."""
        for first in range(begin, end, _MOVED_AT_ONCE):
            if first > begin and self._meter.is_spent:
                raise self._error()
            yield first


@cache
def _compile_kernels() -> None:
    """Compile the kernels on a small family, or load them from disk, before a budget's clock starts."""
    store = FamilyStore()
    pair = store.union(store.chain([0]), store.chain([1]))
    store.load(store.rows(store.at_most(store.hitting(store.minimal(pair)), 2)))
    # Growth calls a kernel too, and would otherwise be compiled in the middle of a measured operation.
    store._grow(len(store) + 1)
    store._kernels.remember(store._known.copy(), store._known[:0])
