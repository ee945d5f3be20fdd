"""Residual trees: what remains of a tree once the first features of an order are known.

A tree tests features in any order. In an ordered diagram each path tests them in one order, so a
node *is* what remains of the tree once the earlier features are known. Nodes are normalised: the
least value below a node is 0 and what was taken off is an amount on the arc, so residual trees
that differ by a constant are one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, Account
from axfi_kc.circuits.targets.mdd_nodes import runs_of_values
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Grid
from axfi_kc.models import Positive, TreeSum

__all__ = ["Ensemble", "FlatTrees", "LeafSets", "OrderedTrees", "in_limbs", "limbs_for"]


Amount = tuple[int, int]  # what is added, and the residual tree
_LIMB = 52  # bits of every limb but the first, as in the kernels
_ONE_LIMB = 62  # bits that a single limb holds
_FIRST_LIMB = 60  # bits of the first of several: carries go there
_BYTES, _BYTES_OF_LIMB = 156, 80  # that one of these takes
_SETS_AT_ONCE = 1 << 10  # sets of leaves that are looked at between two looks at the clock
_SMALLEST = 1 << 12  # sets of leaves of a tree, and residual trees, at first


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
    least value is 0, its largest ``mosts[r]``. Numbers grow with the place, so among several residual
    trees those that test the first feature have the lowest numbers.

    Parameters
    ----------
    order
        The features, first to last.
    trees
        Leaf sets and the leaves' values (one per entry of ``leaves``), for each tree.
    tables
        Further trees, of one test each: its feature, and what each cell adds.
    account
        Charged with residual trees before they are made; may raise.

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
        account: Account,
    ) -> None:
        self._account = account
        self._number: dict[tuple[int, tuple[tuple[int, int, int], ...]], int] = {}
        self.place: list[int] = [len(order)]
        self.mosts: list[int] = [0]
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
            for s in self._account.paced(open_sets, at_once=_SETS_AT_ONCE):
                first = (s & -s).bit_length() - 1
                if s & others[first]:
                    layer.append(s)
                else:
                    found[s] = (values[first], 0)
            # Once per layer, before it is made: the layers are what can grow exponentially.
            self._account.spend(len(layer))
            layers.append(layer)
            # Never an empty set: some leaf takes any completion of the cells chosen so far.
            parts, open_sets = set(sets.of_runs[i][1]), set[int]()
            for s in self._account.paced(layer):
                open_sets.update([s & part for part in parts])
        found.update({s: (values[(s & -s).bit_length() - 1], 0) for s in open_sets})
        # From the last feature up: sets of a layer lead to sets that are found already.
        for i, layer in zip(reversed(features), reversed(layers), strict=True):
            place, (ends, of_runs) = place_of[i], sets.of_runs[i]
            for s in self._account.paced(layer):
                found[s] = self._node(place, ends, [found[s & part] for part in of_runs])
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
            self.mosts.append(max([amount + self.mosts[child] for _, amount, child in arcs]))
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
        self.mosts = [self.mosts[r] for r in by_place]
        self.arcs = [[(end, amount, new[child]) for end, amount, child in arcs[r]] for r in by_place]
        # The keys held all arcs a second time.
        self._number.clear()

    def most(self, trees: Sequence[int]) -> int:
        """Return what some trees add at most."""
        return sum(self.mosts[r] for r in trees)

    def flat(self, n_limbs: int) -> FlatTrees:
        """Return the residual trees in arrays."""
        from axfi_kc.compilers.sum_kernels import Trees

        arcs = [arc for row in self.arcs for arc in row]
        arrays = Trees(
            places=np.array(self.place, dtype=np.int32),
            mosts=in_limbs(self.mosts, n_limbs),
            starts=np.cumsum([0, *map(len, self.arcs)], dtype=np.int64),
            ends=np.array([end for end, _, _ in arcs], dtype=np.int32),
            amounts=in_limbs([amount for _, amount, _ in arcs], n_limbs),
            children=np.array([child for _, _, child in arcs], dtype=np.int32),
        )
        return FlatTrees(arrays, n_limbs, self.roots)


def _others(values: Sequence[int]) -> list[int]:
    """Return for each leaf those with another value, as an int with a bit for each."""
    alike: dict[int, int] = {}
    for k, value in enumerate(values):
        alike[value] = alike.get(value, 0) | 1 << k
    return [~alike[value] for value in values]


class Ensemble:
    """The trees of a model, for residual trees made in a kernel.

    Parameters
    ----------
    model
        Trees of at most as many leaves as fit a word (:meth:`fits`).
    order
        The features, first to last.
    """

    def __init__(self, model: TreeSum, order: Sequence[int]) -> None:
        from axfi_kc.compilers import residual_kernels

        self.kernels: Any = residual_kernels
        places, n_cells = np.zeros(len(model.grid.n_cells), np.int32), np.array(model.grid.n_cells, dtype=np.int64)
        places[list(order)] = np.arange(len(order))
        arrays = model.feature, model.left, model.right, model.leaf, model.mask_offset, model.left_mask
        self.flat: Any = self.kernels.Ensemble(model.tree_offset, *map(np.ascontiguousarray, arrays), places, n_cells)
        self.n_trees, self.n_places = model.n_trees, len(order)
        # Leaves in the order of nodes, and where those of each tree begin.
        is_leaf = model.feature < 0
        self._leaves = model.leaf[is_leaf]
        first = model.tree_offset[:-1]
        self._starts: npt.NDArray[np.int64] = np.cumsum(is_leaf)[first] - is_leaf[first]
        self.largest = int(np.diff(model.tree_offset).max(initial=0))

    @staticmethod
    def fits(model: TreeSum) -> bool:
        """Tell whether no tree has too many leaves."""
        from axfi_kc.compilers.residual_kernels import MOST_LEAVES

        # a tree of n leaves has 2 n - 1 nodes
        return int(np.diff(model.tree_offset).max(initial=0)) < 2 * MOST_LEAVES

    @classmethod
    @cache
    def compile_kernels(cls) -> None:
        """Compile the kernel on an ensemble without trees, or load it from disk, before a budget's clock starts."""
        grid, none = Grid.of_values(Domain([Integer("a", 0, 1)])), np.zeros(0, np.int32)
        offsets, masks = np.zeros(1, np.int64), np.zeros(0, np.int64)
        values = np.zeros((0, 1))
        model = TreeSum(
            grid,
            offsets,
            none,
            none,
            none,
            masks,
            none.astype(np.uint8),
            none,
            values,
            (Fraction(0),),
            Positive((0, 1)),
        )
        cls(model, [0]).residuals([], 0, account=Account(None, goal="diagram"))

    def bound(self, values: Sequence[int]) -> int:
        """Return a number that no sum of trees with these values of leaves exceeds, with all that is taken off."""
        of_leaves = np.array(values, dtype=object)[self._leaves]
        least = np.minimum.reduceat(of_leaves, self._starts)
        return int(abs(least).sum() + 3 * (np.maximum.reduceat(of_leaves, self._starts) - least).sum())

    def residuals(self, values: Sequence[int], base: int, *, account: Account) -> FlatTrees:
        """Return the residual trees with these values of leaves, for a sum that begins with `base`.

        Raises
        ------
        BudgetError
            If the budget was spent.
        """
        n_limbs = limbs_for(self.bound(values) + abs(base) + 2)
        numbers, counted, size = in_limbs(values, n_limbs).reshape(-1), 0, _SMALLEST
        while True:
            account.require(size * (_BYTES + _BYTES_OF_LIMB * n_limbs))
            met, made = self._empty(size, n_limbs)
            registers = np.zeros(self.kernels.REGISTERS, np.int64)
            registers[self.kernels.N_MADE] = 1
            status = self.kernels.residuals(self.flat, numbers, met, made, registers, (0,) * n_limbs)
            found = int(registers[self.kernels.N_MET])
            account.spend(max(found - counted, 0))
            counted, size = max(found, counted), 4 * size
            if status == DONE:
                return FlatTrees.of(made, n_limbs, *registers[[self.kernels.N_MADE, self.kernels.N_MADE_ARCS]].tolist())

    def _empty(self, size: int, n_limbs: int) -> tuple[Any, Any]:
        """Return room for about so many sets of leaves of one tree, and residual trees of all."""
        words, short, n, features = np.int64, np.int32, self.largest + 2, self.n_places + 1
        runs = int(self.flat.n_cells.sum())
        met = self.kernels.Met(
            nodes=np.zeros(n, words),
            below=np.zeros(n, words),
            rows=np.zeros(n, words),
            tests=np.zeros(n, words),
            tested=np.zeros(features, words),
            run_starts=np.zeros(features, words),
            run_ends=np.zeros(runs, words),
            run_sets=np.zeros(runs, words),
            sets=np.zeros(size, words),
            slots=np.zeros(size, words),
            marks=np.zeros(size, words),
            amounts=np.zeros(size * n_limbs, words),
            trees=np.zeros(size, words),
            table=np.zeros(2 * size, words),
            layers=np.zeros(2 * size, words),
            starts=np.zeros(features, words),
        )
        made = self.kernels.Made(
            places=np.zeros(size, short),
            mosts=np.zeros(size * n_limbs, words),
            starts=np.zeros(size, words),
            ends=np.zeros(8 * size, short),
            amounts=np.zeros(8 * size * n_limbs, words),
            children=np.zeros(8 * size, short),
            table=np.zeros(2 * size, words),
            root_amounts=np.zeros(self.n_trees * n_limbs, words),
            root_trees=np.zeros(self.n_trees, words),
        )
        made.places[0] = self.n_places
        return met, made


@dataclass(frozen=True, slots=True)
class FlatTrees:
    """Residual trees in arrays, as kernels take them; `roots` as in :class:`OrderedTrees`."""

    arrays: Any
    n_limbs: int
    roots: list[Amount]

    @classmethod
    def of(cls, made: Any, n_limbs: int, n_trees: int, n_arcs: int) -> FlatTrees:
        """Return what a kernel made, with lower numbers for earlier features."""
        from axfi_kc.compilers.sum_kernels import Trees

        # The constant 0 stays first. Stable, so that numbers do not depend on how numpy sorts.
        by_place = np.concatenate([[0], 1 + np.argsort(made.places[1:n_trees], kind="stable")])
        new = np.empty(n_trees, np.int64)
        new[by_place] = np.arange(n_trees)
        lengths = np.diff(made.starts[: n_trees + 1])[by_place]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        arcs = np.repeat(made.starts[:n_trees][by_place] - starts[:-1], lengths) + np.arange(n_arcs)
        arrays = Trees(
            places=made.places[:n_trees][by_place],
            mosts=made.mosts.reshape(-1, n_limbs)[:n_trees][by_place],
            starts=starts,
            ends=made.ends[arcs],
            amounts=made.amounts.reshape(-1, n_limbs)[arcs],
            children=new[made.children[arcs]].astype(np.int32),
        )
        amounts = _integers(made.root_amounts.reshape(-1, n_limbs))
        return cls(arrays, n_limbs, list(zip(amounts, new[made.root_trees].tolist(), strict=True)))

    def most(self, trees: Sequence[int]) -> int:
        """Return what some trees add at most."""
        return sum(_integers(self.arrays.mosts[trees]))


def limbs_for(number: int) -> int:
    """Return how many limbs hold twice a number that is beyond all others."""
    bits = (2 * number).bit_length()
    return 1 if bits <= _ONE_LIMB else 1 + -(-(bits - _FIRST_LIMB) // _LIMB)


def in_limbs(integers: Sequence[int], n_limbs: int) -> npt.NDArray[np.int64]:
    """Return integers as rows of limbs, highest first."""
    shifts = range(_LIMB * (n_limbs - 1), -1, -_LIMB)
    mask = (1 << _LIMB) - 1
    # Python's shift and mask treat negative numbers as two's complement: no limb but the first is negative.
    rows = [integers, *([k >> s & mask for k in integers] for s in shifts[1:])]
    rows[0] = [k >> shifts[0] for k in integers]
    return np.array(rows, dtype=np.int64).T.reshape(-1, n_limbs).copy()


def _integers(rows: npt.NDArray[np.int64]) -> list[int]:
    """Return the integers that rows of limbs are."""
    found: list[int] = rows[:, 0].tolist()
    for k in range(1, rows.shape[1]):
        found = [high << _LIMB | low for high, low in zip(found, rows[:, k].tolist(), strict=True)]
    return found
