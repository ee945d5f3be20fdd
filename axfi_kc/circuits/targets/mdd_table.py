"""Nodes of an ordered diagram in flat arrays, for compilers that make millions of them.

The nodes are those of :mod:`axfi_kc.circuits.targets.mdd_nodes`, reduced and shared, without an object for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import ALLOWANCE, DONE, Account, Meter
from axfi_kc.circuits.circuit import DECISION, TRUE, Circuit
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, CircuitError

__all__ = ["MddTable"]


_FALSE, _TRUE = 0, 1
_SMALLEST = 1 << 12  # nodes at first
_MOVED_AT_ONCE = 1 << 18  # slots of a table that grows, between two looks at the clock
_MOST_NODES = 2**31 - 1
_CACHE_LINE = 64  # bytes
_SMALL, _LARGE = (
    1 << 22,
    1 << 27,
)  # entries up to which arrays grow four times and twice; what is not used yet is not there


class MddTable:
    """A table of reduced, ordered nodes in arrays; 0 is false, 1 is true.

    Parameters
    ----------
    grid
        The cells.
    order
        The features from the top down.
    account
        What all operations together may cost: it is charged for each set of nodes that a union meets.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)]))
    >>> table = MddTable(grid, [0, 1], account=Account(None, goal="diagram"))
    >>> a, b = table.nodes(0, [[0, 0, 1]])[0], table.nodes(1, [[0, 1]])[0]
    >>> table.circuit(table.union([a, b])).size, table.circuit(a, negated=True).cell_sets
    (Size(nodes=2, edges=3), ((0, 1),))
    """

    def __init__(self, grid: Grid, order: Sequence[int], *, account: Account) -> None:
        from axfi_kc.circuits.targets import mdd_kernels

        self.grid, self.order, self.account = grid, list(order), account
        self._kernels: Any = mdd_kernels
        self._widest = max((grid.n_cells[i] for i in self.order), default=1)
        n_runs = max(4 * _SMALLEST, 2 * self._widest)
        self.flat: Any = mdd_kernels.FlatNodes(
            places=np.full(_SMALLEST, len(self.order), np.int32),
            offsets=np.zeros(_SMALLEST + 1, np.int64),
            ends=np.zeros(n_runs, np.int32),
            children=np.zeros(n_runs, np.int32),
            table=np.zeros(4 * _SMALLEST, np.int64),
            used=np.array([2, 0], np.int64),
        )

    def __len__(self) -> int:
        """Return the number of nodes made so far, constants included."""
        return int(self.flat.used[self._kernels.N_NODES])

    def nodes(self, place: int, rows: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Return for each row of children, one per cell, the node that tests the feature at `place`."""
        given = np.ascontiguousarray(rows, dtype=np.int32)
        made = np.empty(len(given), np.int32)
        self.make_room(len(given))
        ends = np.arange(1, given.shape[1] + 1, dtype=np.int32)
        self._kernels.make_nodes(self.flat, place, ends, given.reshape(-1), made)
        return made

    def make_room(self, nodes: int = 1) -> None:
        """Let as many nodes of any width fit.

        Raises
        ------
        BudgetError
            If the memory may not grow so much.
        CircuitError
            If there are more nodes than 32 bits can number.
        """
        flat, kernels = self.flat, self._kernels
        n_nodes, n_runs = len(self) + nodes + 2, int(flat.used[kernels.N_RUNS]) + nodes * self._widest
        if n_nodes > _MOST_NODES:
            raise CircuitError(
                f"A diagram in arrays has at most {_MOST_NODES} nodes, but this one needs {n_nodes}; try another order."
            )
        if n_runs > len(flat.ends):
            self.account.require(8 * (larger := enlarged(len(flat.ends), n_runs)))
            flat = flat._replace(ends=extended(flat.ends, larger), children=extended(flat.children, larger))
        if n_nodes >= len(flat.places):
            self.account.require(12 * (larger := enlarged(len(flat.places), n_nodes + 1)))
            flat = flat._replace(places=extended(flat.places, larger), offsets=extended(flat.offsets, larger + 1))
        self.flat = flat
        if 2 * n_nodes >= len(flat.table):
            self._grow_table(2 * n_nodes)

    @property
    def limits(self) -> tuple[int, int]:
        """Up to how many nodes and runs in use there is room for one more node."""
        return min(len(self.flat.places), len(self.flat.table) // 2) - 2, len(self.flat.ends) - self._widest

    def _grow_table(self, needed: int) -> None:
        self.flat = self.flat._replace(table=larger_table(self.flat.table, needed, self.account))

    def union(self, roots: Sequence[int]) -> int:
        """Return the disjunction of any number of nodes.

        Raises
        ------
        BudgetError
            If the budget was spent.

        Notes
        -----
        The number of sets of nodes met together: at worst the product of the diagrams' sizes. All at once,
        no diagram of some of them is ever made, which may be larger than that of all.
        """
        distinct = sorted({*roots} - {_FALSE})
        if len(distinct) <= 1 or _TRUE in distinct:
            return distinct[0] if distinct else _FALSE
        return _Union(self, distinct).node()

    def circuit(self, root: int, *, negated: bool = False) -> Circuit:
        """Return the diagram below `root`, or of its complement, as a circuit (cost: linear)."""
        kernels, absent = self._kernels, _TRUE if negated else _FALSE
        if root <= _TRUE:
            return _constant(self.grid, (root == _TRUE) != negated)
        marks = np.zeros(root + 1, np.uint8)
        kernels.mark_reached(self.flat, root, marks)
        marks[absent] = 0
        number = np.where(marks, np.cumsum(marks, dtype=np.int32) - np.int32(1), np.int32(-1)).astype(np.int32)
        n_nodes, most_arcs = int(number[-1]) + 1, int(self.flat.offsets[root + 1])
        self.account.require(8 * most_arcs)
        arcs = kernels.Arcs(
            kinds=np.full(n_nodes, TRUE, np.uint8),
            features=np.full(n_nodes, -1, np.int32),
            offsets=np.zeros(n_nodes + 1, np.int64),
            children=np.empty(most_arcs, np.int32),
            labels=np.empty(most_arcs, np.int32),
        )
        cell_sets = self._fill(arcs, number, absent)
        n_arcs = int(arcs.offsets[-1])
        children, labels = (a[:n_arcs].copy() for a in (arcs.children, arcs.labels))
        return Circuit(self.grid, arcs.kinds, arcs.features, arcs.offsets, children, labels, cell_sets)

    def _fill(self, arcs: Any, number: npt.NDArray[np.int32], absent: int) -> tuple[tuple[int, ...], ...]:
        """Write nodes and arcs, and return the sets of cells that label them."""
        kernels, cursor, order = self._kernels, np.zeros(2, np.int64), np.array(self.order, dtype=np.int32)
        size = max(_SMALLEST, 4 * self._widest)
        sets = kernels.CellSets(
            np.zeros(size + 1, np.int64),
            np.zeros(4 * size, np.int32),
            np.zeros(4 * size, np.int32),
            np.zeros(1, np.int64),
        )
        while not kernels.fill_arcs(self.flat, number, absent, sets, arcs, order, DECISION, cursor):
            starts, bounds = extended(sets.starts, 2 * len(sets.starts)), extended(sets.bounds, 2 * len(sets.bounds))
            sets = kernels.CellSets(starts, bounds, np.zeros(2 * len(sets.table), np.int32), sets.used)
            kernels.relabel(sets)
        starts = sets.starts[: int(sets.used[0]) + 1].tolist()
        bounds = sets.bounds[: starts[-1]].tolist()
        runs = [bounds[a:b] for a, b in pairwise(starts)]
        return tuple(tuple(chain.from_iterable(map(range, r[::2], r[1::2]))) for r in runs)


def _constant(grid: Grid, value: bool) -> Circuit:
    """Return the circuit of true or of false."""
    no_arcs = np.zeros(0, np.int32)
    offsets, features = np.zeros(2, np.int64), np.full(1, -1, np.int32)
    return Circuit(grid, np.array([value], np.uint8), features, offsets, no_arcs, no_arcs.copy(), ())


class _Union:
    """One union in the making."""

    def __init__(self, table: MddTable, roots: Sequence[int]) -> None:
        kernels = self._kernels = table._kernels
        self._table, width, depth = table, len(roots), len(table.order) + 1
        self._cells = np.array([*(table.grid.n_cells[i] for i in table.order), 0], dtype=np.int64)
        self._unions: Any = kernels.Unions(
            sets=np.zeros((_SMALLEST, width), np.int32),
            results=np.zeros(_SMALLEST, np.int32),
            table=np.zeros(4 * _SMALLEST, np.int64),
            members=np.zeros((depth, width), np.int32),
            at=np.zeros((depth, width), np.int64),
            places=np.zeros(depth, np.int64),
            n_runs=np.zeros(depth, np.int64),
            ends=np.zeros(depth * table._widest, np.int32),
            children=np.zeros(depth * table._widest, np.int32),
            scratch=np.zeros((1, width), np.int32),
        )
        self._registers = np.zeros(kernels.REGISTERS, np.int64)
        self._unions.members[0] = roots
        self._unions.at[0] = table.flat.offsets[roots]
        self._unions.places[0] = table.flat.places[roots].min()

    def node(self) -> int:
        metered(self._registers, self._run, self._make_room, self._table.account)
        return int(self._registers[self._kernels.VALUE])

    def _run(self) -> int:
        n_sets = min(len(self._unions.sets), len(self._unions.table) // 2) - 2
        limits = np.array([*self._table.limits, n_sets], dtype=np.int64)
        return int(self._kernels.unite(self._table.flat, self._unions, self._registers, limits, self._cells))

    def _make_room(self) -> None:
        account, kernels, unions = self._table.account, self._kernels, self._unions
        self._table.make_room()
        n = int(self._registers[kernels.N_SETS])
        if n + 2 >= len(unions.sets):
            size = enlarged(len(unions.sets), n + 3)
            account.require(4 * size * (1 + unions.sets.shape[1]))
            unions = unions._replace(sets=extended(unions.sets, size), results=extended(unions.results, size))
        if 2 * (n + 2) >= len(unions.table):
            unions = unions._replace(table=larger_table(unions.table, 2 * (n + 2), account))
        self._unions = unions


def metered(registers: npt.NDArray[np.int64], run: Any, make_room: Any, account: Account) -> None:
    """Run a kernel to its end, with more room whenever it asks, under an account.

    Raises
    ------
    BudgetError
        If the budget was spent.
    """
    meter = Meter(account.rest())
    meter.attach(registers)
    while (status := run()) != DONE:
        if status != ALLOWANCE:
            try:
                make_room()
            except BudgetError:
                account.nodes += meter.nodes  # the message says how far it got
                raise account.error() from None
        elif not meter.extend():
            account.nodes += meter.nodes
            raise account.error()
    account.spend(meter.nodes)


def enlarged(size: int, needed: int) -> int:
    """Return how large an array becomes that must hold `needed` entries."""
    return max(4 * size if size < _SMALL else 2 * size if size < _LARGE else size + size // 2, needed)


def extended(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return an array with the same beginning and `size` rows."""
    found = aligned(size, *array.shape[1:], dtype=array.dtype)
    found[: len(array)] = array
    return found


def aligned(*shape: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros that begin where a line of the processor's cache does, so that no short row lies in two."""
    size = prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + _CACHE_LINE, np.uint8)
    first = -raw.ctypes.data % _CACHE_LINE
    return raw[first : first + size].view(dtype).reshape(shape)


def larger_table(table: npt.NDArray[np.int64], needed: int, account: Account) -> npt.NDArray[np.int64]:
    """Return a table of tagged entries with more than `needed` slots, at least twice as many as before."""
    from axfi_kc.circuits.targets.mdd_kernels import move_entries

    size = max(1 << needed.bit_length(), 2 * len(table))
    account.require(8 * size)
    found = np.zeros(size, np.int64)
    for first in range(0, len(table), _MOVED_AT_ONCE):
        account.look()
        move_entries(table, found, first, min(first + _MOVED_AT_ONCE, len(table)))
    return found
