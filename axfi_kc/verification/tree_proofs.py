"""Branch and bound over a sum of trees, in exact integers.

A box is a set of pieces per free feature. Each tree keeps the leaves that the box still reaches; the sums of the
least and of the largest leaves bound every margin. A box whose bounds do not decide it is split by a leaf's own
set of pieces. Many boxes are bounded at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.possible import Possible
from axfi_kc.verification.reading.forms import LinearForm, OwnTree, TreeForm
from axfi_kc.verification.report import Allowance, Spent
from axfi_kc.verification.spaces import Space

__all__ = ["TreeProofs"]


_AT_ONCE = 64  # boxes
_SAFE = 2**61  # sums below it fit into 64 bits, and so does what stands for "not reached"
Where = dict[int, int]  # pieces per feature, as bits


@dataclass(frozen=True, slots=True)
class _Conditioned:
    """The trees that are left when all other features are as in the instance."""

    base: npt.NDArray[Any]  # what the margins start from, trees with one leaf included
    values: npt.NDArray[Any]  # what each leaf adds to each margin
    starts: npt.NDArray[np.int64]  # the first leaf of each tree
    where: list[Where]  # the pieces of each leaf, for the free features that its path tests
    testing: dict[int, list[tuple[int, int]]]  # the leaves below tests of each feature, and their pieces of it

    def bounds(self, reached: npt.NDArray[np.bool_]) -> tuple[Any, Any, Any]:
        """Return the least and the largest margins of each box, and the tree that leaves most open."""
        if not len(self.starts):
            whole = np.repeat(self.base[np.newaxis], len(reached), axis=0)
            return whole, whole, np.zeros(len(reached), dtype=np.int64)
        # Larger than any leaf, so what is not reached never wins; every tree keeps a reached leaf, so it
        # never enters a sum either.
        far = _SAFE if self.values.dtype != object else 1 + 2 * int(abs(self.values).max())
        low = np.minimum.reduceat(np.where(reached[:, :, None], self.values, far), self.starts, axis=1)
        high = np.maximum.reduceat(np.where(reached[:, :, None], self.values, -far), self.starts, axis=1)
        widest = (high - low).max(axis=2).argmax(axis=1)
        return self.base + low.sum(axis=1), self.base + high.sum(axis=1), widest

    def leaves(self, tree: int) -> range:
        """Return the leaves of a tree."""
        end = self.starts[tree + 1] if tree + 1 < len(self.starts) else len(self.where)
        return range(int(self.starts[tree]), int(end))

    def within(self, reached: npt.NDArray[np.bool_], feature: int, pieces: int) -> npt.NDArray[np.bool_]:
        """Return the leaves that are still reached when a feature has these pieces only."""
        kept = reached.copy()
        kept[[leaf for leaf, mask in self.testing[feature] if not mask & pieces]] = False
        return kept


class TreeProofs:
    """Proves statements about all possible points that agree with the instance outside some features.

    A linear form over values counts as a sum of trees, one per feature. Making one lists all leaves that a point
    reaches, as long as the allowance lasts.
    """

    method = "branch and bound over the trees' leaves, in exact integers"
    weighing = method

    def __init__(
        self, form: TreeForm | LinearForm, space: Space, possible: Possible | None, allowance: Allowance
    ) -> None:
        self._space, self._possible = space, possible
        claim = space.claim
        if form.rule is None:
            raise Spent  # there are no outputs to prove anything about
        # Asked why not a class, the points of that class are those that are not unlike it.
        self._is_class = claim.toward is not None
        own = claim.toward if self._is_class else claim.prediction
        margins = form.rule.margins(own, claim.delta, len(form.base))
        if isinstance(form, TreeForm):
            leaves = [_leaves(tree, form, space, allowance) for tree in form.trees]
        else:
            leaves = _values(form, space)
        sums = [[tuple(m.part(values) for m in margins) for values, _ in tree] for tree in leaves]
        base = [m.constant + m.part(form.base) for m in margins]
        scale = lcm(*(x.denominator for x in base), *(x.denominator for t in sums for row in t for x in row))
        # In integers a tie counts as above 0 when 1 is added.
        self._base = [int(b * scale) + m.tie for b, m in zip(base, margins, strict=True)]
        self._trees: list[list[tuple[tuple[int, ...], Where, int]]] = [
            [
                (tuple(int(x * scale) for x in row), where, self._left(where))
                for row, (_, where) in zip(rows, tree, strict=True)
            ]
            for rows, tree in zip(sums, leaves, strict=True)
        ]
        largest = sum(max(abs(x) for row, _, _ in tree for x in row) for tree in self._trees)
        # Twice, because bounds from both sides are subtracted from each other.
        fits = 2 * (largest + max(map(abs, self._base))) < _SAFE
        self._type: Any = np.int64 if fits else object

    def _left(self, where: Where) -> int:
        """Return the features that must move, as bits, before the instance reaches a leaf."""
        home = self._space.home
        return sum(1 << i for i, mask in where.items() if not mask >> home[i] & 1)

    def codes(self, box: dict[int, int]) -> Codes | None:
        """Return a point of a box as codes; None if it holds no float."""
        found = self._space.claim.codes.copy()
        for i, k in box.items():
            code = self._space.pieces[i][k].code
            if code is None:
                return None
            found[i] = code
        return found

    def find(self, free: tuple[int, ...], allowance: Allowance) -> dict[int, int] | None:
        """Return a box all of whose points are dissimilar, as one piece per free feature; None: there is none."""
        found = next(self._dissimilar(free, allowance), None)
        if found is None:
            return None
        # Any piece of the box is as good as another: all its points are dissimilar, and can exist.
        return {i: (mask & -mask).bit_length() - 1 for i, mask in found[0].items()}

    def weigh(self, free: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return what all dissimilar points weigh together; a ratio is one of the possible points."""
        found = self._space.weight_of(self._dissimilar(free, allowance), free)
        if self._possible is None or self._space.claim.weights != "ratio":
            return found
        whole = self._possible.weight(free, allowance)
        if not whole:
            raise Spent  # nothing that can exist has a probability
        return found / whole

    def find_within(self, box: Where, allowance: Allowance, *, similar: bool) -> dict[int, int] | None:
        """Return a similar (or dissimilar) point within a box, as one piece per feature of it; None: there is none."""
        found = next(self._dissimilar(tuple(box), allowance, within=box, flipped=similar), None)
        return None if found is None else {i: (mask & -mask).bit_length() - 1 for i, mask in found[0].items()}

    def _dissimilar(
        self, free: tuple[int, ...], allowance: Allowance, *, within: Where | None = None, flipped: bool = False
    ) -> Iterator[tuple[Where, int | Fraction]]:
        """Iterate over disjoint boxes that hold exactly the dissimilar points, with the share that is possible.

        Only those `within` a box, if one is given; the similar ones instead, if `flipped`.
        """
        trees, limits = self._conditioned(free), self._possible
        everything = within or {i: (1 << len(self._space.pieces[i])) - 1 for i in free}
        start = np.ones(len(trees.where), dtype=np.bool_)
        for i, mask in (within or {}).items():
            start = trees.within(start, i, mask)
        stack = [(everything, start)]
        while stack:
            # From the top of the stack, so the search stays depth first in blocks.
            boxes = stack[-_AT_ONCE:]
            del stack[-_AT_ONCE:]
            allowance.spend(len(boxes))
            least, most, widest = trees.bounds(np.array([reached for _, reached in boxes]))
            every, some = (least > 0).any(axis=1), (most > 0).any(axis=1)
            if self._is_class != flipped:
                every, some = ~some, ~every
            inside, reachable = every.tolist(), some.tolist()
            for k, (pieces, reached) in enumerate(boxes):
                if inside[k]:
                    yield from ((pieces, 1),) if limits is None else limits.boxes(pieces, allowance)
                elif reachable[k]:
                    halves = _halves(trees, pieces, reached, int(widest[k]))
                    stack += [half for half in halves if limits is None or limits.may_exist(half[0])]

    def _conditioned(self, free: tuple[int, ...]) -> _Conditioned:
        """Return the trees with the leaves that the instance allows outside the free features."""
        fixed, base = ~sum(1 << i for i in free), list(self._base)
        values: list[tuple[int, ...]] = []
        where: list[Where] = []
        starts: list[int] = []
        for tree in self._trees:
            # A leaf counts if nothing outside the free features has to move to reach it.
            kept = [leaf for leaf in tree if not leaf[2] & fixed]
            # A tree that the free features do not touch is a constant.
            if len(kept) == 1:
                base = [a + b for a, b in zip(base, kept[0][0], strict=True)]
                continue
            starts.append(len(values))
            values += [value for value, _, _ in kept]
            where += [{i: m for i, m in leaf.items() if i in free} for _, leaf, _ in kept]
        table = np.array(values, dtype=self._type).reshape(len(values), len(base))
        testing = {i: [(leaf, found[i]) for leaf, found in enumerate(where) if i in found] for i in free}
        start = np.array(starts, dtype=np.int64)
        return _Conditioned(np.array(base, dtype=self._type), table, start, where, testing)


def _halves(
    trees: _Conditioned, pieces: Where, reached: npt.NDArray[np.bool_], tree: int
) -> list[tuple[Where, npt.NDArray[np.bool_]]]:
    """Split a box by the first set of pieces that tells two leaves of a tree apart."""
    for leaf in trees.leaves(tree):
        for i, mask in trees.where[leaf].items() if reached[leaf] else ():
            # Splitting by a leaf's own pieces settles that leaf: one half has all of it, as far as this feature goes.
            inside, outside = pieces[i] & mask, pieces[i] & ~mask
            if inside and outside:
                return [({**pieces, i: part}, trees.within(reached, i, part)) for part in (inside, outside)]
    return []  # unreachable: two leaves of one tree share no point


def _values(form: LinearForm, space: Space) -> list[list[tuple[tuple[Fraction, ...], Where]]]:
    """Return a linear form as trees: one per feature, with a leaf per piece, which is a value."""
    rows = enumerate(zip(space.pieces, space.claim.domain.features, strict=True))
    return [[(form.row(i, p.number, f), {i: 1 << k}) for k, p in enumerate(pieces)] for i, (pieces, f) in rows]


def _leaves(
    tree: OwnTree, form: TreeForm, space: Space, allowance: Allowance
) -> list[tuple[tuple[Fraction, ...], Where]]:
    """Return the leaves that hold a point of the domain, with their pieces of the features tested above them."""
    allowance.tick()
    features = space.claim.domain.features
    found: list[tuple[tuple[Fraction, ...], Where]] = []
    stack: list[tuple[int, Where]] = [(0, {})]
    while stack:
        node, where = stack.pop()
        if tree.column[node] < 0:
            found.append((tree.values[node], where))
            continue
        seen = form.columns[tree.column[node]]
        i, left = seen.feature, 0
        for k, piece in enumerate(space.pieces[i]):
            left |= tree.sends_left(node, seen.at(features[i], piece.number)) << k
        here = where.get(i, (1 << len(space.pieces[i])) - 1)
        for child, mask in ((tree.left[node], here & left), (tree.right[node], here & ~left)):
            # No piece left means that no point of the domain gets there.
            if mask:
                stack.append((child, {**where, i: mask}))
    return found
