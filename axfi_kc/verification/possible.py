"""Which points can exist: the constraints of a domain, at points and on boxes of pieces.

On a box a constraint may hold everywhere, nowhere, or on a part. Boxes of the last kind are split until none is left;
only a ball around the instance cuts through pieces of real features, and there its share is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.constraints import All, Between, Constraint, Implies, Not, Some
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.linear_proofs import above
from axfi_kc.verification.report import Allowance, Spent
from axfi_kc.verification.spaces import BALL, Space

__all__ = ["Possible", "possible_rows", "violated"]


_MOST = 4096  # combinations of pieces at which one comparison is asked about a box
Box = Mapping[int, int]
"""The pieces of each free feature, as bits."""
_Pair = tuple[
    Any, Any
]  # whether a constraint may hold, and whether it may fail: of a box, or of each of several points


def violated(domain: Domain, codes: Sequence[float]) -> Constraint | None:
    """Return a constraint that a point does not meet.

    Examples
    --------
    >>> from axfi_kc.domain.constraints import feature
    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("a", 0, 9)]).where(feature("a") > 3)
    >>> print(violated(domain, [3.0]), violated(domain, [4.0]))
    a > 3 None
    """
    return next((c for c in domain.constraints if not c.holds(codes, domain)), None)


def possible_rows(domain: Domain, codes: Codes) -> npt.NDArray[np.bool_]:
    """Tell which points meet all constraints; each combination of values is looked at once."""
    found = np.ones(len(codes), dtype=np.bool_)
    for constraint in domain.constraints:
        places = [domain.index(name) for name in constraint.names]
        known: dict[bytes, bool] = {}
        for n in np.flatnonzero(found).tolist():
            key = codes[n, places].tobytes()
            if key not in known:
                known[key] = constraint.holds(codes[n].tolist(), domain)
            found[n] = known[key]
    return found


def _truth(constraint: Constraint, leaf: Callable[[Constraint], _Pair]) -> _Pair:
    """Return whether a constraint may hold, and whether it may fail, from what is known of its comparisons."""
    if not constraint.parts:
        return leaf(constraint)
    pairs = [_truth(part, leaf) for part in constraint.parts]
    holds, fails = ([pair[k] for pair in pairs] for k in (0, 1))
    if isinstance(constraint, All):
        return reduce(and_, holds), reduce(or_, fails)
    if isinstance(constraint, Some):
        return reduce(or_, holds), reduce(and_, fails)
    if isinstance(constraint, Implies):
        return fails[0] | holds[1], holds[0] & fails[1]
    if isinstance(constraint, Not):
        return fails[0], holds[0]
    if isinstance(constraint, Between):
        least, most = sum(1 - f for f in fails), sum(1 * h for h in holds)
        return (most >= constraint.least) & (least <= constraint.most), (least < constraint.least) | (
            most > constraint.most
        )
    return leaf(constraint)  # a kind that is not known here is asked as a whole


class Possible:
    """The possible points of a space, cut into pieces on which every constraint but a ball is the same throughout."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._domain = space.claim.domain
        self._codes: list[Any] = space.claim.codes.tolist()
        self._features: dict[int, tuple[int, ...]] = {}
        self._asked: dict[tuple[int, tuple[int | None, ...]], bool] = {}
        self._known: dict[tuple[int, tuple[int | None, ...]], _Pair] = {}

    def _about(self, constraint: Constraint) -> tuple[int, ...]:
        """Return the features of a constraint; the domain keeps constraints, and so their ids, alive."""
        if id(constraint) not in self._features:
            self._features[id(constraint)] = tuple(map(self._domain.index, constraint.names))
        return self._features[id(constraint)]

    def _rules(self, free: Iterable[int]) -> list[Constraint]:
        """Return the constraints that moving some features can violate; the instance meets them all."""
        moved = set(free)
        return [c for c in self._domain.constraints if moved.intersection(self._about(c))]

    def _piece(self, i: int, k: int | None) -> Any:
        """Return a value of a piece as constraints take it; the instance's own where the feature is not free."""
        if k is None:
            return self._codes[i]
        number = self._space.pieces[i][k].number
        return np.nan if number is None else number

    def _holds(self, constraint: Constraint, places: tuple[int | None, ...]) -> bool:
        """Tell whether a comparison holds on a combination of pieces of its features."""
        key = (id(constraint), places)
        if key not in self._asked:
            point = list(self._codes)
            for i, k in zip(self._about(constraint), places, strict=True):
                point[i] = self._piece(i, k)
            self._asked[key] = constraint.holds(point, self._domain)
        return self._asked[key]

    def _on(self, constraint: Constraint, box: Box) -> _Pair:
        """Return whether a comparison may hold, and may fail, on a box."""
        features = self._about(constraint)
        key = (id(constraint), tuple(box.get(i) for i in features))
        if key not in self._known:
            ask = self._near if constraint.kind == BALL else self._asked_on
            self._known[key] = ask(constraint, box)
        return self._known[key]

    def _asked_on(self, constraint: Constraint, box: Box) -> _Pair:
        choices = [_bits(box[i]) if i in box else (None,) for i in self._about(constraint)]
        if prod(map(len, choices)) > _MOST:
            return True, True  # nothing is known of so large a box, so it will be split
        answers = {self._holds(constraint, places) for places in product(*choices)}
        return True in answers, False in answers

    def _near(self, ball: Any, box: Box) -> _Pair:
        """Return whether points of a box may be in a ball, and outside it."""
        rows = [self._moves(ball, j, i, box) for j, i in enumerate(self._about(ball)) if i in box]
        there = [[move for move in row if move is not None] for row in rows]
        if not all(there):
            return False, True
        least = [min(row) for row in there]
        low = sum((move.least for move in least), Fraction(0))
        high = sum((max(move.most for move in row) for row in there), Fraction(0))
        attained = low == ball.radius and not any(move.is_open for move in least)
        return low < ball.radius or attained, high > ball.radius or any(None in row for row in rows)

    def _moves(self, ball: Any, j: int, i: int, box: Box) -> list[_Move | None]:
        """Return how far the pieces of the j-th feature of a ball are from its centre; None: missing, never near."""
        centre, factor, feature = ball.centres[j], ball.factors[j], self._domain.features[i]
        found: list[_Move | None] = []
        for piece in (self._space.pieces[i][k] for k in _bits(box[i])):
            if piece.number is None:
                found.append(None)
            elif isinstance(feature, Categorical):
                away = factor * (feature.values[int(piece.number)] != centre)
                found.append(_Move(away, False, away))
            else:
                ends = piece.ends or ((piece.number, False), (piece.number, True))
                # Pieces are cut at the centre, so it lies beyond one end; the near one may belong to a neighbour.
                (near, is_open), (far, _) = sorted(
                    ((abs(end - Fraction(centre)) * factor, left_out) for end, left_out in _ends(*ends))
                )
                found.append(_Move(near, is_open, far))
        return found

    def may_exist(self, box: Box) -> bool:
        """Tell whether a box may hold a possible point: no constraint fails on all of it."""
        return all(_truth(rule, lambda c: self._on(c, box))[0] for rule in self._rules(box))

    def boxes(
        self, box: Box, allowance: Allowance, *, keep: Callable[[Box], bool] | None = None
    ) -> Iterator[tuple[dict[int, int], Fraction]]:
        """Iterate over disjoint boxes that hold exactly the possible points of one, with the share of these in each.

        Boxes that are not to be kept are left out, with all that is in them.
        """
        rules, stack = self._rules(box), [dict(box)]
        while stack:
            here = stack.pop()
            allowance.spend()
            if keep is not None and not keep(here):
                continue
            pairs = [_truth(rule, lambda c, here=here: self._on(c, here)) for rule in rules]  # type: ignore[misc]
            if not all(holds for holds, _ in pairs):
                continue
            undecided = [rule for rule, (_, fails) in zip(rules, pairs, strict=True) if fails]
            halves = next(filter(None, (self._halves(rule, here) for rule in undecided)), None)
            if halves is None:
                yield here, self._inside(undecided, here)
            else:
                stack += halves

    def _halves(self, rule: Constraint, box: Box) -> list[dict[int, int]] | None:
        """Split a box where a constraint is undecided on it; None if there is nothing left to split."""
        if _truth(rule, lambda c: self._on(c, box)) != (True, True):
            return None
        if rule.parts:
            return next(filter(None, (self._halves(part, box) for part in rule.parts)), None)
        i = max((i for i in self._about(rule) if i in box), key=lambda i: box[i].bit_count())
        bits = _bits(box[i])
        if len(bits) == 1:
            return None
        if len(self._about(rule)) == 1:
            one = sum(1 << k for k in bits if self._on(rule, {**box, i: 1 << k})[0])  # all of it, or nothing
        else:
            one = sum(1 << k for k in bits[: len(bits) // 2])
        return [{**box, i: one}, {**box, i: box[i] & ~one}]

    def _inside(self, rules: list[Any], box: Box) -> Fraction:
        """Return the share of a combination of pieces that lies in the balls that cut through it."""
        if not rules:
            return Fraction(1)
        if len(rules) > 1 or rules[0].kind != BALL:
            raise Spent  # a region has one ball
        ball, limit, widths = rules[0], -rules[0].radius, []
        for move in (self._moves(ball, j, i, box)[0] for j, i in enumerate(self._about(ball)) if i in box):
            limit += move.least if move else 0
            widths += [move.most - move.least] if move else []
        return 1 - above(limit, widths)

    def shares(self, free: Sequence[int], places: Sequence[npt.NDArray[np.int64]], n: int) -> list[int | Fraction]:
        """Return which share of each of `n` combinations of pieces is possible; 0 where no point is."""
        rules = self._rules(free)
        if not rules:
            return [1] * n
        columns = dict(zip(free, places, strict=True))
        pairs = [_truth(rule, lambda c: self._at(c, columns)) for rule in rules]
        holds = reduce(and_, (pair[0] for pair in pairs)) & np.ones(n, dtype=np.bool_)
        found: list[int | Fraction] = holds.astype(int).tolist()
        for k in np.flatnonzero(holds & reduce(or_, (pair[1] for pair in pairs))).tolist():
            box = {i: 1 << int(column[k]) for i, column in columns.items()}
            undecided = [rule for rule, pair in zip(rules, pairs, strict=True) if np.broadcast_to(pair[1], n)[k]]
            found[k] = self._inside(undecided, box)
        return found

    def _at(self, constraint: Constraint, columns: Mapping[int, npt.NDArray[np.int64]]) -> _Pair:
        """Return whether a comparison may hold, and may fail, on each of several combinations of pieces."""
        features = [i for i in self._about(constraint) if i in columns]
        if not features:
            return self._on(constraint, {})
        rows, inverse = np.unique(np.stack([columns[i] for i in features], axis=1), axis=0, return_inverse=True)
        pairs = [self._on(constraint, {i: 1 << k for i, k in zip(features, row, strict=True)}) for row in rows.tolist()]
        table = np.array(pairs, dtype=np.bool_)[inverse.reshape(-1)]
        return table[:, 0], table[:, 1]

    def weight(self, free: Sequence[int], allowance: Allowance) -> Fraction:
        """Return what all possible points that agree with the instance outside some features weigh together."""
        everything = {i: (1 << len(self._space.pieces[i])) - 1 for i in free}
        return self._space.weight_of(self.boxes(everything, allowance), free)


class _Move(NamedTuple):
    """How far a piece is from the centre of a ball; the least distance may be that of a point beside it."""

    least: Fraction
    is_open: bool
    most: Fraction


def _ends(low: tuple[Fraction, bool], high: tuple[Fraction, bool]) -> Iterator[tuple[Fraction, bool]]:
    """Iterate over the ends of an interval between two bounds, each with whether it is left out."""
    yield low[0], low[1]
    yield high[0], not high[1]


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(k for k in range(mask.bit_length()) if mask >> k & 1)
