"""The diagram of "a sum of trees is above 0".

A tree tests features in any order. In an ordered diagram each path tests them in one order, so a
node *is* what remains of the tree once the earlier features are known. Nodes are normalised: the
least value below a node is 0 and what was taken off is an amount on the arc, so residual trees
that differ by a constant are one node.

The diagram is made top-down over the features: what remains below a point of the search is a multiset of residual
trees and a partial sum. Sub-diagrams are remembered per multiset, each with the interval of partial sums for which it
is the same; without the intervals almost nothing would be met twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.circuits.targets.mdd_nodes import runs_of_values
from axfi_kc.circuits.targets.mdd_table import MddTable, aligned, enlarged, extended, larger_table, metered
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Grid

__all__ = ["LeafSets", "OrderedTrees", "compile_kernels", "node_above_zero"]


Amount = tuple[int, int]  # what is added, and the residual tree
_LIMB = 52  # bits of every limb but the first, as in the kernels
_ONE_LIMB = 62  # bits that a single limb holds
_FIRST_LIMB = 60  # bits of the first of several: carries go there
_SMALLEST = 1 << 12  # states and groups at first
_ENTRIES = 1 << 15  # of lists of intervals at first


@dataclass(frozen=True, slots=True)
class LeafSets:
    """Which leaves of one tree are open to which cells.

    Attributes
    ----------
    leaves
        The leaves, as rows of the model's values.
    of_runs
        For each tested feature the ends of runs of cells, and for each run the leaves that no test of the feature
        excludes, as an int whose bit k is ``leaves[k]``.
    """

    leaves: list[int]
    of_runs: dict[int, tuple[list[int], list[int]]]

    @classmethod
    def of(cls, leaves: list[int], of_cell: Mapping[int, Sequence[int]]) -> LeafSets:
        """Return leaves by runs of cells, given the open leaves for each cell of each tested feature."""
        return cls(leaves, {i: runs_of_values(sets) for i, sets in of_cell.items()})


class OrderedTrees:
    """Residual trees with integer leaves, each made once.

    Residual tree 0 is the constant 0. Residual tree r tests the feature at place ``place[r]`` of
    the order; ``arcs[r]`` has for each run of cells its end, what is added and the residual tree that is left. Its
    least value is 0, its largest ``most[r]``. Numbers grow with the place, so among several residual
    trees those that test the first feature have the lowest numbers.

    Parameters
    ----------
    order
        The features, first to last.
    trees
        Leaf sets and the leaves' values (one per entry of ``leaves``), for each tree.
    tables
        Further trees, of one test each: its feature, and what each cell adds.
    spend
        Called with a number of residual trees before they are made; may raise.

    Attributes
    ----------
    roots
        Per tree, what is added whatever the point, and the residual tree.
    """

    def __init__(
        self,
        order: Sequence[int],
        trees: Iterable[tuple[LeafSets, Sequence[int]]] = (),
        *,
        tables: Iterable[tuple[int, Sequence[int]]] = (),
        spend: Callable[[int], None],
    ) -> None:
        self._spend = spend
        self._number: dict[tuple[int, tuple[tuple[int, int, int], ...]], int] = {}
        self.place: list[int] = [len(order)]
        self.most: list[int] = [0]
        place_of = {feature: k for k, feature in enumerate(order)}
        roots = [self._root(sets, values, place_of) for sets, values in trees]
        for i, gains in tables:
            ends, distinct = runs_of_values(gains)
            roots.append(self._node(place_of[i], ends, [(gain, 0) for gain in distinct]))
        self._renumber(roots)

    def _root(self, sets: LeafSets, values: Sequence[int], place_of: Mapping[int, int]) -> Amount:
        """Add one tree: down over the sets of leaves that can still be reached, then up."""
        features = sorted(sets.of_runs, key=place_of.__getitem__)
        everything = (1 << len(sets.leaves)) - 1
        others = _others(values)
        found: dict[int, Amount] = {}
        layers: list[list[int]] = []
        open_sets = {everything}
        for i in features:
            # One value left means that no later feature matters: a constant, residual tree 0.
            layer = []
            for s in open_sets:
                first = (s & -s).bit_length() - 1
                if s & others[first]:
                    layer.append(s)
                else:
                    found[s] = (values[first], 0)
            # Once per layer, before it is made: the layers are what can grow exponentially.
            self._spend(len(layer))
            layers.append(layer)
            # Never an empty set: some leaf takes any completion of the cells chosen so far.
            open_sets = {s & part for part in set(sets.of_runs[i][1]) for s in layer}
        found.update({s: (values[(s & -s).bit_length() - 1], 0) for s in open_sets})
        # From the last feature up: sets of a layer lead to sets that are found already.
        for i, layer in zip(reversed(features), reversed(layers), strict=True):
            place, (ends, parts) = place_of[i], sets.of_runs[i]
            for s in layer:
                found[s] = self._node(place, ends, [found[s & part] for part in parts])
        return found[everything]

    def _node(self, place: int, ends: Sequence[int], row: list[Amount]) -> Amount:
        # All cells do the same, so the feature is not tested.
        if row.count(row[0]) == len(row):
            return row[0]
        least = min(row)[0]
        # Normalised to least value 0: trees that differ by a constant share this node.
        arcs = tuple(
            [
                (end, arc[0] - least, arc[1])
                for end, arc, after in zip(ends, row, [*row[1:], None], strict=True)
                if arc != after
            ]
        )
        number = self._number.setdefault((place, arcs), len(self._number) + 1)
        # New exactly if it got the next free number.
        if number == len(self.place):
            self.place.append(place)
            self.most.append(max([amount + self.most[child] for _, amount, child in arcs]))
        return least, number

    def _renumber(self, roots: Sequence[Amount]) -> None:
        """Give lower numbers to earlier features."""
        arcs = [(), *(found for _, found in self._number)]
        # But for the constant 0, children come after their parents, because they test later features.
        by_place = [0, *sorted(range(1, len(arcs)), key=lambda r: self.place[r])]
        new = [0] * len(arcs)
        for number, old in enumerate(by_place):
            new[old] = number
        self.roots = [(amount, new[r]) for amount, r in roots]
        self.place = [self.place[r] for r in by_place]
        self.most = [self.most[r] for r in by_place]
        self.arcs = [[(end, amount, new[child]) for end, amount, child in arcs[r]] for r in by_place]
        # The keys held all arcs a second time.
        self._number.clear()


def _others(values: Sequence[int]) -> list[int]:
    """Return for each leaf those with another value, as an int with a bit for each."""
    alike: dict[int, int] = {}
    for k, value in enumerate(values):
        alike[value] = alike.get(value, 0) | 1 << k
    return [~alike[value] for value in values]


def node_above_zero(trees: OrderedTrees, base: int, *, table: MddTable) -> int:
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
    most = sum(trees.most[r] for r in residuals)
    # Residual trees are at least 0, so `total` is the least and `total + most` the largest sum.
    if total > 0 or total + most <= 0:
        return int(total > 0)
    return _Search(trees, residuals, total, most, table).node()


class _Search:
    """The arrays of one compilation, and how they grow."""

    def __init__(self, trees: OrderedTrees, residuals: list[int], total: int, most: int, table: MddTable) -> None:
        from axfi_kc.compilers import sum_kernels

        self._kernels: Any = sum_kernels
        self._table, self._account = table, table.account
        # beyond every partial sum, also after all amounts on a path are taken off
        far = abs(total) + 2 * most + 2
        bits = (2 * far).bit_length()
        self._n_limbs = 1 if bits <= _ONE_LIMB else 1 + -(-(bits - _FIRST_LIMB) // _LIMB)
        self._limbs = (0,) * self._n_limbs  # of which kernels see the length
        self._trees = self._flat(trees)
        depth, widest = len(table.order) + 2, max(table.grid.n_cells)
        self._widest = widest
        self._registers = np.zeros(sum_kernels.REGISTERS, np.int64)
        self._frames = sum_kernels.Frames(
            states=np.zeros(depth, np.int64),
            runs=np.zeros(depth, np.int64),
            totals=self._numbers([total] * depth),
            lows=self._numbers([0] * depth),
            highs=self._numbers([0] * depth),
            children=np.zeros(depth * widest, np.int32),
            numbers=self._numbers([far, -far, 1, 0, 0, 0, 0]),
            trees=np.array(residuals, dtype=np.int32),
            at=np.zeros(len(residuals), np.int64),
        )
        self._groups, self._states, self._lists = self._empty(len(residuals), widest)

    def node(self) -> int:
        metered(self._registers, self._run, self._make_room, self._account)
        return int(self._registers[self._kernels.VALUE])

    def _run(self) -> int:
        state = self._groups, self._states, self._lists, self._frames, self._registers
        return int(self._kernels.search(self._trees, self._table.flat, *state, self._limits(), self._limbs))

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
        limits[kernels.LARGEST] = len(self._lists.free)
        limits[kernels.REGISTERS :] = self._table.limits
        return limits

    def _numbers(self, integers: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return integers as rows of limbs, highest first."""
        shifts = range(_LIMB * (self._n_limbs - 1), -1, -_LIMB)
        mask = (1 << _LIMB) - 1
        # Python's shift and mask treat negative numbers as two's complement: no limb but the first is negative.
        rows = [[k >> s & mask if s != shifts[0] else k >> s for s in shifts] for k in integers]
        return np.array(rows, dtype=np.int64).reshape(len(rows), self._n_limbs)

    def _flat(self, trees: OrderedTrees) -> Any:
        arcs = [arc for row in trees.arcs for arc in row]
        return self._kernels.Trees(
            places=np.array(trees.place, dtype=np.int32),
            mosts=self._numbers(trees.most),
            starts=np.cumsum([0, *map(len, trees.arcs)], dtype=np.int64),
            ends=np.array([end for end, _, _ in arcs], dtype=np.int32),
            amounts=self._numbers([amount for _, amount, _ in arcs]),
            children=np.array([child for _, _, child in arcs], dtype=np.int32),
        )

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
        self._table.make_room()
        kernels, used = self._kernels, self._registers.tolist()
        widest, n_trees = self._widest, len(self._frames.trees)
        n_states, n_groups = used[kernels.N_STATES] + 2, used[kernels.N_GROUPS] + 2
        lists = self._with_room(self._lists, used[kernels.N_ENTRIES] + self._most_entries(), ("entries",))
        self._lists = self._with_room(lists, used[kernels.N_BLOCKS] + 2, ("blocks",))
        states = self._with_room(self._states, n_states, ("rows", "hashes"))
        states = self._with_room(states, used[kernels.N_REST] + n_trees, ("rest",))
        self._states = self._with_room(states, used[kernels.N_BELOW] + widest, ("below",))
        groups = self._with_room(self._groups, n_groups, ("key_starts", "run_starts", "least", "most"))
        groups = self._with_room(groups, used[kernels.N_GROUP_KEYS] + n_trees, ("keys",))
        n_runs = used[kernels.N_GROUP_RUNS] + widest + 1
        groups = self._with_room(groups, n_runs, ("ends", "amounts", "mosts", "hashes", "child_starts"))
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


@cache
def compile_kernels() -> None:
    """Compile the kernels on two small sums, or load them from disk, before a budget's clock starts."""
    grid = Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]))
    table = MddTable(grid, [0, 1], account=Account(None, goal="diagram"))
    trees = OrderedTrees([0, 1], tables=[(0, [0, 1]), (1, [0, 2])], spend=lambda _: None)
    search = _Search(trees, [1, 2], -1, 3, table)
    # Growth calls a kernel too, which would otherwise be compiled in the middle of a measured compilation.
    table._grow_table(1)
    table.circuit(table.union([search.node(), *table.nodes(1, [[0, 1]]).tolist()]))
