"""Sums of decision trees: one tree, a forest, a boosted ensemble.

Leaf values are floats, so all of them are integers over one denominator. Integers that int64
cannot add without overflow are cut into limbs of 40 bits, each limb is added by itself, and the
carries are settled once at the end.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Number
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import is_hashable, is_listable, quoted
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer
from axfi_kc.domain.grid import Cut, Grid, Holed, Split
from axfi_kc.domain.measures import counted, exact
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models.base import LINK_ERROR, GriddedModel, Uses, adding_error, check_never_missing

__all__ = [
    "LIMB",
    "LIMB_MASK",
    "Argmax",
    "LeafSums",
    "Margins",
    "Positive",
    "Score",
    "Split",
    "TreeNodes",
    "TreeSum",
    "is_above",
    "largest",
]


_LIMB = 40  # 2**22 trees of limbs this wide add up within int64
_MASK = (1 << _LIMB) - 1
_INT64_BITS = 62
LIMB = 52  # bits of every limb but the first
LIMB_MASK = (1 << LIMB) - 1
_FIRST_LIMB = 50  # bits: sums of 2,000 of these fit an int64
Integers = npt.NDArray[np.object_]
Limbs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """The integers behind the leaf vectors of a sum of trees.

    Attributes
    ----------
    denominator
        What all integers are divided by.
    leaves
        Limbs of the leaf vectors, lowest limb first, shape ``(limbs, leaves, scores)``.
    base
        Limbs of the scores before any tree, shape ``(limbs, scores)``.

    Examples
    --------
    >>> sums = LeafSums.of([[0.5], [2.0**-80]], [Fraction(1, 3)], n_trees=2)
    >>> totals = sums.totals(np.array([[0, 0], [1, 0]]))
    >>> sums.fractions(totals)[0]
    [Fraction(4, 3)]
    """

    denominator: int
    leaves: Limbs
    base: Limbs

    @classmethod
    def of(cls, values: npt.ArrayLike, base: Sequence[Fraction], *, n_trees: int) -> LeafSums:
        """Return the integers of `values` (leaves times scores) and `base`.

        Notes
        -----
        Linear in the number of values, once per model.
        """
        rows = np.asarray(values, dtype=np.float64)
        ratios = [x.as_integer_ratio() for x in rows.reshape(-1).tolist()]
        ratios += [b.as_integer_ratio() for b in base]
        # Leaves are dyadic, so this is a power of two unless a base is not.
        denominator = math.lcm(*{d for _, d in ratios})
        integers = [n * (denominator // d) for n, d in ratios]
        bits = max((k.bit_length() for k in integers), default=0)
        narrow = bits + (n_trees + 1).bit_length() <= _INT64_BITS
        # In several limbs the last one has fewer than 40 bits and the sign, so it can take the carries.
        limbs = _limbs(integers, 1 if narrow else bits // _LIMB + 1)
        split = rows.size
        return cls(denominator, limbs[:, :split].reshape(-1, *rows.shape), limbs[:, split:])

    def totals(self, reached: npt.NDArray[np.integer]) -> Limbs:
        """Return the scores of points that reach the given leaves, as limbs.

        Parameters
        ----------
        reached
            The leaf of each tree that each point reaches, shape ``(points, trees)``.

        Returns
        -------
        array of shape ``(limbs, points, scores)``; all limbs but the last lie in [0, 2**40)
        """
        totals = self.leaves.take(reached, axis=1).sum(axis=2) + self.base[:, np.newaxis]
        # From the lowest limb up, each carry before the limb it goes to is cut; rows are views into `totals`.
        for low, high in itertools.pairwise(totals):
            high += low >> _LIMB
            low &= _MASK
        return totals

    def integers(self, totals: Limbs) -> list[list[int]]:
        """Return each point's scores, times the denominator."""
        # Python integers only where int64 cannot hold the value.
        joined = totals[-1].astype(object) if len(totals) > 1 else totals[0]
        for limb in totals[-2::-1]:
            joined = (joined << _LIMB) + limb
        return joined.tolist()

    def fractions(self, totals: Limbs) -> list[list[Fraction]]:
        """Return each point's scores."""
        return [[Fraction(k, self.denominator) for k in row] for row in self.integers(totals)]


def is_above(totals: Limbs, others: Limbs | int = 0) -> npt.NDArray[np.bool_]:
    """Tell for settled limbs whether the integers are above `others`."""
    pairs = zip(totals, itertools.repeat(others) if isinstance(others, int) else others, strict=False)
    above: npt.NDArray[np.bool_] = np.greater(*next(pairs))
    for mine, theirs in pairs:
        # Lowest limb first: each higher one overrules what the lower ones said, unless it is equal.
        above = (mine > theirs) | ((mine == theirs) & above)
    return above


def largest(totals: Limbs) -> npt.NDArray[np.int64]:
    """Return the position of each point's largest score, the lowest at a tie."""
    if len(totals) == 1:
        return totals[0].argmax(axis=1)
    best, position = totals[:, :, 0].copy(), np.zeros(totals.shape[1], dtype=np.int64)
    for k in range(1, totals.shape[2]):
        # Strictly above, so the first of several equal scores stays.
        higher = is_above(totals[:, :, k], best)
        position[higher] = k
        best[:, higher] = totals[:, higher, k]
    return position


def _limbs(integers: Sequence[int], count: int) -> Limbs:
    """Return integers in `count` limbs, lowest first; the last one carries the sign."""
    # Python's shift and mask treat negative numbers as two's complement: no limb but the last is negative.
    rows = [[k >> _LIMB * level & _MASK for k in integers] for level in range(count - 1)]
    rows.append([k >> _LIMB * (count - 1) for k in integers])
    return np.array(rows, dtype=np.int64).reshape(count, len(integers))


_BLOCK = 32768  # points times trees walked at a time, so that they stay in the processor's cache
_FEW_VALUES = 1 << 14  # of leaves, that are worth listing for single points
_SINGLE, _DOUBLE = 24, 53  # bits of float32 and float64
_PRODUCT = 48  # bits of a product of two float32 numbers
_ZERO = Fraction(0)
_T = TypeVar("_T", int, Fraction)


@dataclass(frozen=True, slots=True)
class Argmax:
    """The output is the label of the largest score, the lowest index at a tie."""

    labels: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        """Check the labels."""
        object.__setattr__(self, "labels", _labels(self.labels))

    def favoured(self, base: Sequence[_T], label: Hashable, by: _T) -> tuple[_T, ...]:
        """Return the scores before any summand with those for `label` better by `by`."""
        own = self.labels.index(label)
        return tuple(b + by if k == own else b for k, b in enumerate(base))


@dataclass(frozen=True, slots=True)
class Positive:
    """The output is ``labels[1]`` if the one score is above zero (or is zero, if `closed`), else ``labels[0]``."""

    labels: tuple[Hashable, Hashable]
    closed: bool = False

    def __post_init__(self) -> None:
        """Check the labels."""
        object.__setattr__(self, "labels", _labels(self.labels))
        if len(self.labels) != 2:
            raise UnsupportedModelError(
                f"The sign of a score tells two classes apart, but {quoted(self.labels)} was given; use Argmax, with a "
                "score for each class."
            )

    def favoured(self, base: Sequence[_T], label: Hashable, by: _T) -> tuple[_T, ...]:
        """Return the score before any summand with that for `label` better by `by`."""
        return (base[0] + by if label == self.labels[1] else base[0] - by,)


@dataclass(frozen=True, slots=True)
class Score:
    """The output is the one score itself, times `scale`: a regression."""

    scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Take a scale of any kind, a float for the rational that it denotes."""
        object.__setattr__(self, "scale", exact(self.scale, "scale"))


def _labels(given: Any) -> tuple[Hashable, ...]:
    """Return labels of classes as Python values, in order; refuse those by which classes cannot be told apart."""
    plain = given.tolist() if isinstance(given, np.ndarray) or hasattr(given, "dtype") else given
    is_ordered = isinstance(plain, str) or (is_listable(plain) and not isinstance(plain, Set | Mapping))
    labels = tuple(plain) if is_ordered else ()
    if not is_ordered or not all(map(is_hashable, labels)):
        raise UnsupportedModelError(
            f"A class has a label, such as a number or a word, but {quoted(given)} was given; give a list of one each."
        )
    twice = next((y for y, k in Counter(labels).items() if k > 1), None)
    if twice is not None:
        raise UnsupportedModelError(
            f"Each class needs a label of its own, but {quoted(twice)} occurs twice; rename one."
        )
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class TreeNodes:
    """One tree as its library stores it, tests on model columns; the root is node 0.

    Attributes
    ----------
    column
        The model column tested at each node, -1 at a leaf.
    splits
        What goes left at each node; None at a leaf.
    left, right
        The children; -1 at a leaf.
    values
        The vector of scores at each node (read at leaves only), shape ``(nodes, scores)``.
    missing_left
        Whether a missing value goes left at each node; None: the library predicts nothing for it.
    """

    column: npt.NDArray[np.int64]
    splits: Sequence[Split | None]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    missing_left: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class TreeSum(GriddedModel):
    """Trees over cells, whose leaf vectors are added to `base`, and a rule for the output.

    Attributes
    ----------
    grid
        The cells of each feature.
    tree_offset
        The nodes of tree t are ``tree_offset[t]:tree_offset[t + 1]``, root first.
    feature
        The feature tested at each node, -1 at a leaf.
    left, right
        Children, as positions in these arrays; -1 at a leaf.
    mask_offset, left_mask
        Cell c of the tested feature goes left iff ``left_mask[mask_offset[node] + c]``.
    leaf
        The row of `values` at a leaf, -1 elsewhere.
    values
        Leaf vectors, shape ``(leaves, scores)``; the rationals these floats denote.
    base
        The scores before any tree.
    rule
        From scores to output.
    """

    grid: Grid
    tree_offset: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    mask_offset: npt.NDArray[np.int64]
    left_mask: npt.NDArray[np.uint8]
    leaf: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    base: tuple[Fraction, ...]
    rule: Argmax | Positive | Score

    def __post_init__(self) -> None:
        """Check that the leaves hold numbers that can be added."""
        _check_finite("leaves", self.values)

    @classmethod
    def of(
        cls,
        domain: Domain,
        trees: Sequence[TreeNodes],
        *,
        rule: Argmax | Positive | Score,
        base: Sequence[Any] | None = None,
    ) -> TreeSum:
        """Put trees with tests on columns onto the cells they cut out of `domain`.

        The base may be of numbers of any kind, floats standing for the rationals they denote.

        Notes
        -----
        Linear in the number of nodes times the cells of a feature.
        """
        owners = _owners(domain, max((int(t.column.max(initial=-1)) for t in trees), default=-1) + 1)
        grid = Grid.of(domain, _cuts(domain, trees, owners))
        column, missing_left = np.concatenate([t.column for t in trees]), _missing_left(domain, trees)
        is_leaf = column < 0
        splits = [s for t in trees for s in t.splits]
        inner = np.flatnonzero(~is_leaf).tolist()
        masks = grid.left_masks([(*owners[column[k]], splits[k], bool(missing_left[k])) for k in inner])
        offsets = np.cumsum([0, *(len(t.column) for t in trees)]).astype(np.int64)
        widths = np.zeros(len(column) + 1, dtype=np.int64)
        widths[np.array(inner, dtype=np.int64) + 1] = [len(mask) for mask in masks]
        # Numbered in the order of the nodes, so that `values` keeps the rows of the leaves only.
        leaf = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
        values = np.concatenate([t.values for t in trees]).astype(np.float64)[is_leaf]
        scores = [_ZERO] * values.shape[1] if base is None else list(base)
        _check_finite("base scores", [float(b) for b in scores if isinstance(b, float | np.floating)])
        return cls(
            grid=grid,
            tree_offset=offsets,
            feature=np.array([*(i for i, _ in owners), -1], dtype=np.int32)[np.where(is_leaf, -1, column)],
            left=_shifted([t.left for t in trees], offsets, is_leaf),
            right=_shifted([t.right for t in trees], offsets, is_leaf),
            mask_offset=np.cumsum(widths)[:-1],
            left_mask=np.concatenate([np.zeros(0, np.uint8), *masks]),
            leaf=leaf,
            values=values,
            base=tuple(exact(b, "base score") for b in scores),
            rule=rule,
        )

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.tree_offset) - 1

    @property
    def is_regression(self) -> bool:
        """Whether the output is a number."""
        return isinstance(self.rule, Score)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The classes; none for a regression."""
        return () if isinstance(self.rule, Score) else self.rule.labels

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return f"sum of {counted(self.n_trees, 'tree')} with {counted(len(self.feature), 'node')}"

    def uses(self) -> Uses:
        """Return how often and how near the root each feature is tested, and which features each tree tests."""
        influence = np.zeros(len(self.grid.axes))
        nodes, depth = self.tree_offset[:-1], 0
        while len(nodes):
            inner = nodes[self.feature[nodes] >= 0]
            np.add.at(influence, self.feature[inner], 0.5**depth)
            nodes, depth = np.concatenate([self.left[inner], self.right[inner]]), depth + 1
        trees = np.split(self.feature, self.tree_offset[1:-1])
        return Uses(influence, [frozenset(tested.tolist()) - {-1} for tested in trees])

    @property
    def rounding_error(self) -> Fraction:
        """How far a score that the library computes can be from the exact one; see :class:`Model`."""
        bits, is_product = _precision(self.values)
        unit = Fraction(1, 1 << bits)
        sizes, counts = _sizes(self)
        steps = (2 * n + 1 if is_product else n for n in counts)
        adding = [adding_error(n, unit) * size for n, size in zip(steps, sizes, strict=True)]
        if _adds_exactly(self, max(sizes), bits):
            adding = [_ZERO] * len(sizes)
        if isinstance(self.rule, Score):
            return 2 * adding[0] + (0 if not adding[0] and self.rule.scale == 1 else 2 * unit * sizes[0])
        two = sum(sorted(adding)[-2:], _ZERO)  # a difference has the errors of both
        if self.is_average:
            return two
        return two + LINK_ERROR * unit * min(len(sizes), 2)

    @cached_property
    def is_average(self) -> bool:
        """Whether the scores are probabilities that a forest averages; their sums, held here, decide alike."""
        if not isinstance(self.rule, Argmax) or any(self.base):
            return False
        return bool((self.values >= 0).all() and np.allclose(self.values.sum(axis=1), 1))

    def with_ties_moved(self, output: Any, delta: Fraction | None, shift: Fraction) -> tuple[Self, Fraction | None]:
        """Return the model and delta for which more points are dissimilar to `output`; see :class:`Model`."""
        if isinstance(self.rule, Score):
            return self, (delta or _ZERO) - shift * abs(self.rule.scale)
        return replace(self, base=self.rule.favoured(self.base, output, -shift)), delta

    def leaves(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the leaf of each tree that each point reaches, shape ``(points, trees)``.

        Notes
        -----
        Depth times trees per point, in a kernel.
        """
        from axfi_kc.models.leaf_kernels import reach

        found = np.empty((len(cells), self.n_trees), np.int32)
        trees = self.tree_offset, self.feature, self.left, self.right, self.mask_offset, self.left_mask, self.leaf
        reach(np.ascontiguousarray(cells), *trees, found)
        return found

    def decide(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        """Return the outputs at points given by their cells, a row each."""
        # With one tree the output is a matter of the leaf: decided once per leaf, not once per point.
        if self.n_trees == 1:
            outputs = self._leaf_outputs
            return [outputs[k] for k in self.leaves(cells)[:, 0].tolist()]
        if len(cells) == 1 and self.values.size <= _FEW_VALUES and not isinstance(self.rule, Score):
            return [self._decided(self.leaves(cells)[0].tolist(), self.rule)]
        totals = self._totals(cells)
        if isinstance(self.rule, Argmax):
            return [self.rule.labels[k] for k in largest(totals).tolist()]
        if isinstance(self.rule, Positive):
            # The last limb has the sign, so "at least zero" can be read off it.
            above = totals[-1, :, 0] >= 0 if self.rule.closed else is_above(totals[:, :, 0])
            return [self.rule.labels[k] for k in above.tolist()]
        scale = self.rule.scale / self._sums.denominator
        return [k * scale for (k,) in self._sums.integers(totals)]

    def _decided(self, reached: list[int], rule: Argmax | Positive) -> Any:
        """Return the class at a point that reaches these leaves: of one point, in Python, in a quarter of the time."""
        totals = [sum(map(values.__getitem__, reached), base) for values, base in self._listed_integers]
        if isinstance(rule, Argmax):
            return rule.labels[totals.index(max(totals))]  # the lowest index of the maximum
        return rule.labels[totals[0] > 0 or (rule.closed and totals[0] == 0)]

    @cached_property
    def _listed_integers(self) -> list[tuple[list[int], int]]:
        """For each score the integers of the leaves, and the one before any tree."""
        leaves, base, _ = self.integers
        return list(zip(leaves.T.tolist(), base.tolist(), strict=True))

    def scores_at(self, codes: npt.NDArray[np.float64]) -> list[list[Fraction]]:
        """Return the exact scores, before the rule, at points given by their codes, a row each.

        Notes
        -----
        Depth times trees per point, plus a Fraction per score.
        """
        return self._sums.fractions(self._totals(self.grid.locate(codes)))

    @cached_property
    def _sums(self) -> LeafSums:
        return LeafSums.of(self.values, self.base, n_trees=self.n_trees)

    @cached_property
    def integers(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_], int]:
        """Leaf vectors and base as Python integers, and what they are divided by."""
        leaves = np.array(self._sums.integers(self._sums.leaves), dtype=object).reshape(self.values.shape)
        base = np.array(self._sums.integers(self._sums.base[:, np.newaxis])[0], dtype=object)
        return leaves, base, self._sums.denominator

    def _totals(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        step = max(1, _BLOCK // self.n_trees)
        # One block even without points, so that there is something to concatenate.
        blocks = [self._sums.totals(self.leaves(cells[k : k + step])) for k in range(0, max(len(cells), 1), step)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def leaf_outputs(self) -> list[Any]:
        """Return the output at each leaf of a single tree."""
        return list(self._leaf_outputs)

    @cached_property
    def _leaf_outputs(self) -> tuple[Any, ...]:
        return tuple(
            self._output([b + Fraction(float(x)) for b, x in zip(self.base, row, strict=True)]) for row in self.values
        )

    def _output(self, scores: Sequence[Fraction]) -> Any:
        if isinstance(self.rule, Argmax):
            # Ties go to the lowest index, as `argmax` has them.
            return self.rule.labels[max(range(len(scores)), key=lambda k: (scores[k], -k))]
        if isinstance(self.rule, Positive):
            return self.rule.labels[scores[0] > 0 or (self.rule.closed and scores[0] == 0)]
        return scores[0] * self.rule.scale


def _check_finite(what: str, numbers: npt.ArrayLike) -> None:
    """Raise if a number is NaN or infinite."""
    given = np.asarray(numbers, dtype=np.float64)
    odd = given[~np.isfinite(given)]
    if odd.size:
        raise UnsupportedModelError(
            f"The {what} of a sum of trees should be finite numbers, but {odd[0]} was found, with which no sum is "
            "exact; train the model again, on smaller numbers if they are very large."
        )


def _sizes(model: TreeSum) -> tuple[list[Fraction], list[int]]:
    """Return for each score the sum of the largest summands, base included, and how many trees add to it."""
    sizes, counts = [abs(b) for b in model.base], [0] * len(model.base)
    for first, end in zip(model.tree_offset[:-1], model.tree_offset[1:], strict=True):
        rows = model.leaf[first:end]
        for k, most in enumerate(np.abs(model.values[rows[rows >= 0]]).max(axis=0).tolist()):
            sizes[k] += Fraction(most)
            counts[k] += most != 0
    return sizes, counts


def _precision(values: npt.NDArray[np.float64]) -> tuple[int, bool]:
    """Return the precision in which numbers like these are added, and whether they may be rounded products."""
    mantissas = np.abs(np.frexp(values[values != 0])[0])
    if all(m.is_integer() for m in (mantissas * float(1 << _SINGLE)).tolist()):
        return _SINGLE, False
    if all(m.is_integer() for m in (mantissas * float(1 << _PRODUCT)).tolist()):
        return _SINGLE, True
    return _DOUBLE, False


def _adds_exactly(model: TreeSum, size: Fraction, bits: int) -> bool:
    """Tell whether every partial sum is a float: few enough bits over one power of two."""
    if model.n_trees == 1 and not any(model.base):
        return True
    denominator = model.integers[2]
    return denominator & (denominator - 1) == 0 and size * denominator < 1 << bits


_Owner = tuple[int, int]  # a feature, and which of its columns


def _owners(domain: Domain, width: int) -> list[_Owner]:
    owners = [(i, k) for i, f in enumerate(domain.features) for k in range(len(f.columns))]
    if width > len(owners):
        raise UnsupportedModelError(
            f"The model tests column {width - 1}, but the domain describes {len(owners)} columns; "
            "make the domain from the data the model was trained on."
        )
    return owners


def _missing_left(domain: Domain, trees: Sequence[TreeNodes]) -> npt.NDArray[np.bool_]:
    """Return where missing values go at each node of all trees, after checking that they go anywhere."""
    if any(tree.missing_left is None for tree in trees):
        check_never_missing(domain)
    return np.concatenate(
        [np.zeros(len(t.column), np.bool_) if t.missing_left is None else t.missing_left for t in trees]
    )


def _cuts(domain: Domain, trees: Sequence[TreeNodes], owners: Sequence[_Owner]) -> list[set[Cut]]:
    cuts: list[set[Cut]] = [set() for _ in domain.features]
    for tree in trees:
        for column, split in zip(tree.column.tolist(), tree.splits, strict=True):
            if column >= 0 and split is not None:
                i = owners[column][0]
                cuts[i].update(_cuts_of(domain.features[i], split))
    return cuts


def _cuts_of(feature: Feature, split: Split) -> list[Cut]:
    if isinstance(split, Holed):
        return [split.cut, split.low, split.high]
    return [split] if isinstance(split, Cut) else _around(feature, split)


def _around(feature: Feature, codes: frozenset[Any]) -> list[Cut]:
    """Return the cuts that set `codes` apart on an ordered feature."""
    if isinstance(feature, Integer) and all(isinstance(c, Number) for c in codes):
        # Closed cuts after c - 1 and after c leave c alone in its cell.
        return [Cut(edge, closed=True) for c in codes for edge in (c - 1, c)]
    if isinstance(feature, Categorical):
        return []
    raise UnsupportedModelError(
        f"The model splits feature {feature.name!r} by sets of categories, such as {next(iter(codes), None)!r}, "
        "but the domain has it as numbers; declare it categorical."
    )


def _shifted(
    children: Sequence[npt.NDArray[np.int64]], offsets: npt.NDArray[np.int64], is_leaf: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    # A leaf's child, -1, is shifted too; it is put right below.
    joined = np.concatenate([c + o for c, o in zip(children, offsets, strict=False)])
    return np.where(is_leaf, -1, joined).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Sums of trees as Python integers; dissimilar means that one of them is above 0.

    For a binary model that is the score itself or its negative, for K classes the K - 1 differences to the
    instance's class, for a regression how far the output passes either end of the similar range. Over a common
    denominator the sums are integers, and a comparison that also holds at equality becomes strict by adding one.

    Attributes
    ----------
    values
        The summand of each leaf for each sum, shape ``(leaves, sums)``.
    base
        The sums before any tree.
    n_trees
        The number of trees.
    """

    values: Integers
    base: Integers
    n_trees: int

    @classmethod
    def of(cls, model: TreeSum, output: Hashable, delta: Fraction | None) -> Margins:
        """Return the sums that are positive where `model` is dissimilar to `output`."""
        leaves, base, denominator = model.integers
        if isinstance(model.rule, Argmax):
            own = model.rule.labels.index(output)
            others = [k for k in range(len(base)) if k != own]
            ties = [int(k < own) for k in others]  # the lower index wins a tie
            # In integers, "not less than" is "more than one less": adding 1 makes every comparison strict.
            return cls(leaves[:, others] - leaves[:, [own]], base[others] - base[own] + ties, model.n_trees)
        if isinstance(model.rule, Positive):
            if output == model.rule.labels[1]:
                # Class 1 means above 0, so what is dissimilar to it includes 0, unless 0 is class 1 as well.
                return cls(-leaves, -base + (not model.rule.closed), model.n_trees)
            return cls(leaves, base + model.rule.closed, model.n_trees)
        return cls._outside(leaves, base, model, Fraction(denominator) / model.rule.scale, output, delta)

    @classmethod
    def _outside(
        cls, leaves: Integers, base: Integers, model: TreeSum, unit: Fraction, output: Any, delta: Fraction | None
    ) -> Margins:
        """Return how far the sum, in integers, is above and below the similar range."""
        reach = Fraction(0) if delta is None else delta
        # The sum is an integer, so it exceeds a limit iff it exceeds the floor of that limit.
        middle, half = output * unit, reach * abs(unit)
        above, below = math.floor(middle + half), math.floor(half - middle)
        # Beyond what the trees can reach it does not matter how far: a huge delta must not widen the limbs.
        most = model.n_trees * max(map(abs, leaves.reshape(-1).tolist()), default=0) + abs(int(base[0])) + 1
        limits = [max(-most, min(most, limit)) for limit in (above, below)]
        both = np.concatenate([leaves, -leaves], axis=1)
        return cls(both, np.array([base[0] - limits[0], -base[0] - limits[1]], dtype=object), model.n_trees)

    def limbs(self) -> tuple[Limbs, Limbs]:
        """Return values and base in limbs of 64-bit integers, the first limb as fine as it can be."""
        numbers = [*self.values.reshape(-1).tolist(), *self.base.tolist()]
        bits = max(n.bit_length() for n in numbers)
        # All trees and the base together stay below 2**62 in absolute value: one limb is enough.
        if bits + (self.n_trees + 1).bit_length() <= _INT64_BITS:
            return self.values.astype(np.int64)[..., np.newaxis], self.base.astype(np.int64)[..., np.newaxis]
        # As many further limbs as the bits beyond the first one need; at least one, even if the first would hold every
        # number, because then the trees are so many that a first limb filled by shifting would overflow when summed.
        count = 1 + max(1, -(-(bits - _FIRST_LIMB) // LIMB))
        # Shifted so that the widest number fills the first limb: the finer ones are then seldom needed.
        shift = _FIRST_LIMB + LIMB * (count - 1) - bits
        return _cut(self.values, count, shift), _cut(self.base, count, shift)


def _cut(integers: Integers, count: int, shift: int) -> Limbs:
    scaled = integers * (1 << shift)
    # Floor division and mask agree for negative numbers too: only the first limb carries a sign.
    rest = [(scaled // (1 << LIMB * (count - 1 - k))) & LIMB_MASK for k in range(1, count)]
    first = scaled // (1 << LIMB * (count - 1))
    return np.stack([part.astype(np.int64) for part in (first, *rest)], axis=-1)
