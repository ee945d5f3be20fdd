"""Branch and bound over a sum of trees, in exact integers.

A box is a set of pieces per free feature. Each tree keeps the leaves that the box still reaches; the sums of the
least and of the largest leaves bound every margin. A box whose bounds do not decide it is split by a leaf's own
set of pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from axfi_kc.features import Categorical
from axfi_kc.predictions import Codes
from axfi_kc.verification.allowances import Allowance
from axfi_kc.verification.forms import OwnTree, TreeForm, owners_of
from axfi_kc.verification.pieces import Bound, Piece
from axfi_kc.verification.rules import Margin
from axfi_kc.verification.spaces import Space

__all__ = ["TreeProofs"]

_Leaf = tuple[tuple[int, ...], dict[int, int]]  # what it adds to each margin, and its pieces per feature


@dataclass(frozen=True, slots=True)
class _Box:
    pieces: dict[int, int]
    trees: tuple[tuple[_Leaf, ...], ...]


class TreeProofs:
    """Proves statements about all points that agree with the instance outside some features.

    Parameters
    ----------
    form
        The trees.
    space
        The pieces they cut.
    """

    method = "branch and bound over the trees' leaves, in exact integers"
    weighing = method

    def __init__(self, form: TreeForm, space: Space) -> None:
        self._space = space
        self._form = form
        claim = space.claim
        margins = form.rule.margins(claim.prediction, claim.delta, len(form.base))
        leaves = self._leaves = [_leaves(tree, space) for tree in form.trees]
        sums = [[tuple(_part(m, values) for m in margins) for values, _ in tree] for tree in leaves]
        base = [m.at(form.base) for m in margins]
        scale = lcm(*(x.denominator for x in base), *(x.denominator for t in sums for row in t for x in row))
        self._base = [int(b * scale) + m.tie for b, m in zip(base, margins, strict=True)]
        self._trees: list[list[_Leaf]] = [
            [(tuple(int(x * scale) for x in row), where) for row, (_, where) in zip(t, tree, strict=True)]
            for t, tree in zip(sums, leaves, strict=True)
        ]

    def output(self) -> object:
        """Return the exact output at the instance."""
        scores, home = list(self._form.base), self._space.home
        for tree in self._leaves:
            values = next(values for values, where in tree if all(mask >> home[i] & 1 for i, mask in where.items()))
            scores = [a + b for a, b in zip(scores, values, strict=True)]
        return self._form.rule.output(scores)

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
        box = next(self._dissimilar(free, allowance), None)
        if box is None:
            return None
        return {i: (mask & -mask).bit_length() - 1 for i, mask in box.items()}

    def weigh(self, free: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return what all dissimilar points weigh together."""
        worths = {i: [self._space.worth(i, k) for k in range(len(self._space.pieces[i]))] for i in free}
        total = Fraction(0)
        for box in self._dissimilar(free, allowance):
            part = Fraction(1)
            for i, mask in box.items():
                part *= sum((w for k, w in enumerate(worths[i]) if mask >> k & 1), Fraction(0))
            total += part
        return total

    def _dissimilar(self, free: tuple[int, ...], allowance: Allowance) -> Iterator[dict[int, int]]:
        """Iterate over disjoint boxes that hold exactly the dissimilar points."""
        stack = [self._start(free)]
        while stack:
            box = stack.pop()
            allowance.spend()
            least, most, spread = list(self._base), list(self._base), []
            for leaves in box.trees:
                gap = 0
                for k in range(len(least)):
                    values = [leaf[0][k] for leaf in leaves]
                    low, high = min(values), max(values)
                    least[k] += low
                    most[k] += high
                    gap = max(gap, high - low)
                spread.append(gap)
            if any(low > 0 for low in least):
                yield box.pieces
            elif any(high > 0 for high in most):
                stack += _halves(box, box.trees[spread.index(max(spread))])

    def _start(self, free: tuple[int, ...]) -> _Box:
        """Return the box of all pieces of the free features, with the leaves that the instance allows."""
        home = {i: 1 << h for i, h in enumerate(self._space.home) if i not in free}
        trees = []
        for tree in self._trees:
            kept = [leaf for leaf in tree if all(leaf[1].get(i, -1) & bit for i, bit in home.items() if i in leaf[1])]
            trees.append(tuple((values, {i: m for i, m in where.items() if i in free}) for values, where in kept))
        return _Box({i: (1 << len(self._space.pieces[i])) - 1 for i in free}, tuple(trees))


def _part(margin: Margin, values: tuple[Fraction, ...]) -> Fraction:
    return sum((f * v for f, v in zip(margin.factors, values, strict=True)), Fraction(0))


def _halves(box: _Box, leaves: tuple[_Leaf, ...]) -> list[_Box]:
    """Split a box by the first set of pieces that tells two of its leaves apart."""
    for _, where in leaves:
        for i, mask in where.items():
            inside, outside = box.pieces[i] & mask, box.pieces[i] & ~mask
            if inside and outside:
                return [_within(box, i, inside), _within(box, i, outside)]
    return []  # unreachable: two leaves of one tree share no point


def _within(box: _Box, feature: int, pieces: int) -> _Box:
    trees = tuple(
        tuple(leaf for leaf in leaves if leaf[1].get(feature, -1) & pieces) if len(leaves) > 1 else leaves
        for leaves in box.trees
    )
    return _Box({**box.pieces, feature: pieces}, trees)


def _leaves(tree: OwnTree, space: Space) -> list[tuple[tuple[Fraction, ...], dict[int, int]]]:
    """Return the leaves that hold a point of the domain, with their pieces of the features tested above them."""
    features, owners = space.claim.domain.features, owners_of(space.claim.domain)
    found: list[tuple[tuple[Fraction, ...], dict[int, int]]] = []
    stack: list[tuple[int, dict[int, int]]] = [(0, {})]
    while stack:
        node, where = stack.pop()
        if tree.column[node] < 0:
            found.append((tree.values[node], where))
            continue
        i, component = owners[tree.column[node]]
        bound = tree.bound[node] or (Fraction(0), True)
        left = 0
        for k, piece in enumerate(space.pieces[i]):
            left |= _goes_left(features[i], component, piece, k, bound) << k
        here = where.get(i, (1 << len(space.pieces[i])) - 1)
        for child, mask in ((tree.left[node], here & left), (tree.right[node], here & ~left)):
            if mask:
                stack.append((child, {**where, i: mask}))
    return found


def _goes_left(feature: object, component: int, piece: Piece, k: int, bound: Bound) -> bool:
    number = Fraction(float(feature.codes[k][component])) if isinstance(feature, Categorical) else piece.number
    return number < bound[0] or (number == bound[0] and bound[1])
