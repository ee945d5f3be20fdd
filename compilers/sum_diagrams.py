"""The diagram of "a sum of trees is above 0".

The diagram is made top-down over the features: what remains below a point of the search is a multiset of residual
trees and a partial sum. Sub-diagrams are remembered per multiset, each with the interval of partial sums for which it
is the same; without the intervals almost nothing would be met twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.circuits.targets.mdd_table import MddTable, aligned, enlarged, extended, larger_table, metered
from axfi_kc.compilers.residual_trees import FlatTrees, OrderedTrees, in_limbs, limbs_for
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Grid

__all__ = ["compile_kernels", "node_above_zero"]


_SMALLEST = 1 << 12  # states and groups at first
_ENTRIES = 1 << 15  # of lists of intervals at first


def node_above_zero(trees: OrderedTrees | FlatTrees, base: int, *, table: MddTable) -> int:
    """Return the node of "`base` plus the trees is above 0", made in `table`.

    Raises
    ------
    BudgetError
        If the budget of the table's account was spent.

    Notes
    -----
    Exponential at worst. Integers of any size; no recursion.
    """
    # Residual tree 0 adds nothing. Sorted, equal multisets are equal lists.
    residuals = sorted(r for _, r in trees.roots if r)
    total = base + sum(amount for amount, _ in trees.roots)
    most = trees.most(residuals)
    # Residual trees are at least 0, so `total` is the least and `total + most` the largest sum.
    if total > 0 or total + most <= 0:
        return int(total > 0)
    # beyond every partial sum, also after all amounts on a path are taken off
    far = abs(total) + 2 * most + 2
    flat = trees if isinstance(trees, FlatTrees) else trees.flat(limbs_for(far))
    return _Search(flat, residuals, total, far, table).node()


class _Search:
    """The arrays of one compilation, and how they grow."""

    def __init__(self, trees: FlatTrees, residuals: list[int], total: int, far: int, table: MddTable) -> None:
        from axfi_kc.compilers import sum_kernels

        self._kernels: Any = sum_kernels
        self._table, self._account = table, table.account
        self._trees, n_limbs = _of_one_dimension(trees.arrays), trees.n_limbs
        self._arguments: tuple[Any, ...] | None = None  # of the kernel, until an array grows
        self._n_limbs, self._limbs = n_limbs, (0,) * n_limbs  # of which kernels see the length
        depth, widest = len(table.order) + 2, max(table.grid.n_cells)
        self._widest = widest
        self._registers = np.zeros(sum_kernels.REGISTERS, np.int64)
        self._frames = sum_kernels.Frames(
            states=np.zeros(depth, np.int64),
            runs=np.zeros(depth, np.int64),
            n_open=np.zeros(depth, np.int64),
            open_runs=np.zeros(depth * widest, np.int32),
            positions=np.zeros(depth, np.int64),
            totals=in_limbs([total] * depth, n_limbs),
            lows=np.zeros((depth, n_limbs), np.int64),
            highs=np.zeros((depth, n_limbs), np.int64),
            children=np.zeros(depth * widest, np.int32),
            numbers=in_limbs([far, -far, 1, 0, 0, 0], n_limbs),
            trees=np.array(residuals, dtype=np.int32),
            at=np.zeros(len(residuals), np.int64),
            waiting=np.zeros(5, np.int64),
        )
        self._groups, self._states, self._lists = self._empty(len(residuals), widest)

    def node(self) -> int:
        metered(self._registers, self._run, self._make_room, self._account)
        return int(self._registers[self._kernels.VALUE])

    def _run(self) -> int:
        if self._arguments is None:
            own = map(_of_one_dimension, (self._groups, self._states, self._lists, self._frames))
            self._arguments = (self._trees, self._table.flat, *own, self._registers, self._limits(), self._limbs)
        return int(self._kernels.search(*self._arguments))

    def _most_entries(self) -> int:
        """Return how many entries of lists one step may take: a block, or a longer list of blocks."""
        return 2 * self._kernels.LONGEST + (8 << int(self._registers[self._kernels.LARGEST]))

    def _limits(self) -> npt.NDArray[np.int64]:
        """Return up to which value of each register one more of everything fits."""
        kernels, groups, states, n_trees = self._kernels, self._groups, self._states, len(self._frames.trees)
        limits = np.zeros(kernels.REGISTERS + 2, np.int64)
        limits[kernels.N_STATES] = min(len(states.rows), len(states.table) // 2) - 2
        limits[kernels.N_REST] = len(states.rest) - n_trees
        limits[kernels.N_BELOW] = len(states.below) - self._widest
        limits[kernels.N_GROUPS] = min(len(groups.key_starts), len(groups.table) // 2) - 2
        limits[kernels.N_GROUP_KEYS] = len(groups.keys) - n_trees
        limits[kernels.N_GROUP_RUNS] = len(groups.ends) - self._widest - 1
        limits[kernels.N_CHILDREN] = len(groups.children) - self._widest * n_trees
        limits[kernels.N_ENTRIES] = len(self._lists.entries) - self._most_entries()
        limits[kernels.N_BLOCKS] = len(self._lists.blocks) - 2
        limits[kernels.LARGEST] = self._registers[kernels.LARGEST]  # one step takes more entries as soon as it grows
        limits[kernels.REGISTERS :] = self._table.limits
        return limits

    def _empty(self, n_trees: int, widest: int) -> tuple[Any, Any, Any]:
        kernels, n, limbs = self._kernels, _SMALLEST, self._n_limbs
        groups = kernels.Groups(
            key_starts=np.zeros(n, np.int64),
            keys=np.zeros(n + n_trees, np.int32),
            run_starts=np.zeros(n, np.int64),
            ends=np.zeros(n + widest, np.int32),
            amounts=np.zeros((n + widest, limbs), np.int64),
            mosts=np.zeros((n + widest, limbs), np.int64),
            hashes=np.zeros(n + widest, np.int64),
            child_starts=np.zeros(n + widest, np.int64),
            links=np.zeros(n + widest, np.int32),
            children=np.zeros(n + n_trees * widest, np.int32),
            least=np.zeros((n, limbs), np.int64),
            most=np.zeros((n, limbs), np.int64),
            table=np.zeros(4 * n, np.int64),
        )
        states = kernels.States(
            rows=aligned(n, kernels.STATE_WORDS + 2 * limbs, dtype=np.int64),
            rest=np.zeros(n + n_trees, np.int32),
            below=np.zeros(n + widest, np.int32),
            hashes=np.zeros(n, np.int64),
            lefts=np.zeros((n, limbs), np.int64),
            table=np.zeros(4 * n, np.int64),
        )
        lists = kernels.Lists(
            entries=np.zeros((_ENTRIES, 2 * limbs + 1), np.int64),
            blocks=np.zeros((n, 3), np.int64),
            free=np.zeros(64, np.int64),
        )
        return groups, states, lists

    def _make_room(self) -> None:
        """Let one more of everything fit, at least."""
        self._arguments = None
        self._table.make_room()
        kernels, used = self._kernels, self._registers.tolist()
        widest, n_trees = self._widest, len(self._frames.trees)
        n_states, n_groups = used[kernels.N_STATES] + 2, used[kernels.N_GROUPS] + 2
        lists = self._with_room(self._lists, used[kernels.N_ENTRIES] + self._most_entries(), ("entries",))
        self._lists = self._with_room(lists, used[kernels.N_BLOCKS] + 2, ("blocks",))
        states = self._with_room(self._states, n_states, ("rows", "hashes", "lefts"))
        states = self._with_room(states, used[kernels.N_REST] + n_trees, ("rest",))
        self._states = self._with_room(states, used[kernels.N_BELOW] + widest, ("below",))
        groups = self._with_room(self._groups, n_groups, ("key_starts", "run_starts", "least", "most"))
        groups = self._with_room(groups, used[kernels.N_GROUP_KEYS] + n_trees, ("keys",))
        n_runs = used[kernels.N_GROUP_RUNS] + widest + 1
        groups = self._with_room(groups, n_runs, ("ends", "amounts", "mosts", "hashes", "child_starts", "links"))
        self._groups = self._with_room(groups, used[kernels.N_CHILDREN] + widest * n_trees, ("children",))
        if 2 * n_states >= len(self._states.table):
            self._states = self._states._replace(table=larger_table(states.table, 2 * n_states, self._account))
        if 2 * n_groups >= len(self._groups.table):
            self._groups = self._groups._replace(table=larger_table(groups.table, 2 * n_groups, self._account))

    def _with_room(self, arrays: Any, needed: int, names: Sequence[str]) -> Any:
        """Return arrays of which the named ones hold as many entries as needed."""
        return arrays._replace(**{name: self._longer(getattr(arrays, name), needed) for name in names})

    def _longer(self, array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
        if len(array) >= needed:
            return array
        size = enlarged(len(array), needed)
        self._account.require(size * (array.nbytes // len(array)))
        return extended(array, size)


def _of_one_dimension(arrays: Any) -> Any:
    return type(arrays)(*(array.reshape(-1) for array in arrays))


@cache
def compile_kernels() -> None:
    """Compile the kernels on two small sums, or load them from disk, before a budget's clock starts."""
    grid = Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]))
    table = MddTable(grid, [0, 1], account=Account(None, goal="diagram"))
    trees = OrderedTrees([0, 1], tables=[(0, [0, 1]), (1, [0, 2])], account=table.account)
    search = _Search(trees.flat(1), [1, 2], -1, 9, table)
    # Growth calls a kernel too, which would otherwise be compiled in the middle of a measured compilation.
    table._grow_table(1)
    table.circuit(table.union([search.node(), *table.nodes(0, [[0, 1]]).tolist()]))
