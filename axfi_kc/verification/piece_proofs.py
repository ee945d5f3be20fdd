"""Linear models among the points that can exist: extreme corners and volumes of the boxes that constraints leave.

Constraints cut features into pieces: values, single numbers, and intervals that need not hold their ends. What is
possible is a union of disjoint boxes of pieces. On each of them features are independent again, but for one thing: an
end that is left out is come close to and never reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import nextafter, prod
from typing import NamedTuple

import numpy as np

from axfi_kc.domain.constraints import Constraint
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer, Real
from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.linear_proofs import Half, LinearProofs, bins_of, solution
from axfi_kc.verification.possible import Possible
from axfi_kc.verification.reading.forms import LinearForm, Margin
from axfi_kc.verification.report import Allowance, Spent
from axfi_kc.verification.spaces import BALL, Bound, Number, Piece, Space, first_of, is_left, shares_of, values_of

__all__ = ["ClassPieceProofs", "PieceProofs"]


Box = Mapping[int, int]  # pieces per feature, as bits
Interval = tuple[Bound, Bound]


class PieceProofs(LinearProofs):
    """Proves statements about all possible points that agree with the instance outside some features.

    Any constraints will do that hold on all of a piece or on nothing of it, so all but balls; see :meth:`covers`.
    """

    method = "extreme corners of the boxes that constraints leave, in exact arithmetic"
    weighing = "volumes by inclusion and exclusion, in each box that constraints leave"

    def __init__(self, form: LinearForm, claim: Claim) -> None:
        super().__init__(form, claim)
        self._space = Space.of(claim, [set() for _ in claim.domain.features])
        self._possible = Possible(self._space)
        self._shares: dict[int, tuple[Fraction, ...]] = {}
        self._starts: dict[tuple[Margin, tuple[int, ...]], Fraction] = {}
        self._known: dict[tuple[Margin, int, int], _End] = {}
        # A box is of use where each of some margins, or one of them, may hold.
        self._needed: tuple[Margin, ...] = self._margins
        self._enough = any

    @staticmethod
    def covers(claim: Claim) -> bool:
        """Tell whether features are independent, and no ball cuts through intervals."""
        domain = claim.domain
        return domain.distribution is None and not any(_cuts_intervals(rule, domain) for rule in domain.constraints)

    def find(self, free: tuple[int, ...], allowance: Allowance) -> dict[int, Number] | None:
        """Return a possible and dissimilar point that differs in the free features; None: there is none."""
        for box in self._boxes(free, allowance):
            found = self._point(free, box, allowance)
            if found is not None:
                return found
        return None

    def _boxes(self, free: tuple[int, ...], allowance: Allowance) -> Iterator[Box]:
        """Iterate over disjoint boxes of possible points that hold all the dissimilar ones."""
        everything = {i: (1 << len(self._space.pieces[i])) - 1 for i in free}

        def keep(box: Box) -> bool:
            allowance.spend(len(self._needed))
            return self._enough(self._holds_in(margin, free, box) for margin in self._needed)

        # No ball cuts through a piece, so all of each box is possible.
        return (box for box, _ in self._possible.boxes(everything, allowance, keep=keep))

    def _point(self, free: tuple[int, ...], box: Box, allowance: Allowance) -> dict[int, Number] | None:
        """Return a dissimilar point of a box; None: there is none."""
        allowance.spend(len(self._margins))
        corners = (self._corner(margin, free, box) for margin in self._margins)
        return next((corner for corner in corners if corner is not None), None)

    def _holds_in(self, margin: Margin, free: tuple[int, ...], box: Box) -> bool:
        """Tell whether a margin holds somewhere in a box."""
        best = [self._best(margin, i, box[i]) for i in free]
        total = sum((end.gain for end in best), self._fixed(margin, free))
        # A largest sum that no point has says that all others are below it, some of them as near as one likes.
        return total > 0 or (margin.holds(total) and all(end.beyond is None for end in best))

    def _corner(self, margin: Margin, free: tuple[int, ...], box: Box) -> dict[int, Number] | None:
        """Return a point of a box at which a margin holds, next to where it is largest; None: there is none."""
        if not self._holds_in(margin, free, box):
            return None
        best, fixed = {i: self._best(margin, i, box[i]) for i in free}, self._fixed(margin, free)
        near: dict[int, Number] = {i: end.beside() for i, end in best.items()}
        if margin.holds(sum((self._gain(margin, i, x) for i, x in near.items()), fixed)):
            return near
        # From the corner to the middles the sum goes down evenly, from `total` by `loss`.
        total = sum((end.gain for end in best.values()), fixed)
        loss = sum((end.gain - self._gain(margin, i, end.towards(Fraction(1))) for i, end in best.items()), Fraction(0))
        return {i: end.towards(total / (total + loss)) for i, end in best.items()}

    def _fixed(self, margin: Margin, free: tuple[int, ...]) -> Fraction:
        if (margin, free) not in self._starts:
            self._starts[margin, free] = super()._fixed(margin, free)
        return self._starts[margin, free]

    def _best(self, margin: Margin, i: int, pieces: int) -> _End:
        """Return where some pieces of a feature add most to a margin; boxes share most of their pieces."""
        key = (margin, i, pieces)
        if key not in self._known:
            self._known[key] = self._best_of(margin, i, pieces)
        return self._known[key]

    def _best_of(self, margin: Margin, i: int, pieces: int) -> _End:
        ends = [_End(self._gain(margin, i, x), x) for x in self._extremes(i, pieces)]
        for low, high in self._intervals(i, pieces):
            # The middle counts where a feature adds the same throughout, and no end is in the interval.
            middle = (low[0] + high[0]) / 2
            for number, is_left_out in ((low[0], low[1]), (middle, False), (high[0], not high[1])):
                ends.append(_End(self._gain(margin, i, number), number, (low, high) if is_left_out else None))
        # Of two that add the same, one that the pieces hold.
        return max(ends, key=lambda end: (end.gain, end.beyond is None))

    def _pieces(self, i: int, pieces: int) -> list[Piece]:
        return [piece for k, piece in enumerate(self._space.pieces[i]) if pieces >> k & 1]

    def _intervals(self, i: int, pieces: int) -> list[Interval]:
        """Return the intervals that some pieces of a feature make, neighbours put together."""
        found: list[Interval] = []
        for ends in (piece.ends for piece in self._pieces(i, pieces) if piece.ends is not None):
            if found and found[-1][1] == ends[0]:
                found[-1] = (found[-1][0], ends[1])
            else:
                found.append(ends)
        return found

    def _extremes(self, i: int, pieces: int) -> list[Number]:
        """Return the values outside intervals among which a score is extreme: of a run of integers, its ends."""
        feature = self._claim.domain.features[i]
        if not isinstance(feature, Integer) or self._form.entries[i] is not None:
            return self._values(i, pieces)
        runs = [(p.number, p.count or 1) for p in self._pieces(i, pieces)]
        return [x for start, n in runs for x in ((None,) if start is None else (start, start + n - 1))]

    def _values(self, i: int, pieces: int) -> list[Number]:
        """Return the values outside intervals, the missing one last."""
        runs = [(p.number, p.count or 1) for p in self._pieces(i, pieces) if p.ends is None]
        return [x for start, n in runs for x in ((None,) if start is None else (start + k for k in range(n)))]

    def codes(self, corner: dict[int, Number]) -> Codes | None:
        """Return a point as codes, rounded within its pieces; None if one of them holds no float."""
        found = self._claim.codes.copy()
        for i, number in corner.items():
            code = np.nan if number is None else self._code(i, number)
            if code is None:
                return None
            found[i] = code
        return found

    def _code(self, i: int, number: Fraction) -> float | None:
        near = float(number)
        if Fraction(near) == number:
            return near
        # A number in between two floats is rounded to one of them; the other one is next to it.
        candidates = (near, nextafter(near, np.inf), nextafter(near, -np.inf))
        here = [p.ends for p in self._space.pieces[i] if p.ends is not None and _holds(p.ends, number)]
        return next((x for x in candidates for ends in here if _holds(ends, Fraction(x))), None)

    def weigh(self, free: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return what all possible and dissimilar points weigh together; a ratio is one of the possible points."""
        self._check_listable(free, allowance)
        is_counted = self._claim.weights == "count"
        if is_counted and any(isinstance(self._claim.domain.features[i], Real) for i in free):
            raise Spent  # there is no number of points
        total = Fraction(0)
        for box in self._boxes(free, allowance):
            for row in product(*(self._parts(i, box[i]) for i in free)):
                worth = prod((part.worth for part in row), start=Fraction(1))
                total += worth * self._share(free, row, allowance)
        if is_counted:
            return total
        whole = self._possible.weight(free, allowance)
        if not whole:
            raise Spent  # nothing that can exist has a probability
        return total / whole

    def _check_listable(self, free: tuple[int, ...], allowance: Allowance) -> None:
        """Raise Spent before values are listed that are too many."""
        if any((values_of(self._claim.domain.features[i]) or 0) > allowance.points for i in free):
            raise Spent

    def _parts(self, i: int, pieces: int) -> list[_Part]:
        """Return the values of some pieces, and the intervals on which a real feature is uniform, with their worths."""
        feature = self._claim.domain.features[i]
        found = [_Part(x, x, self._worth(i, x)) for x in self._values(i, pieces)]
        for low, high in self._intervals(i, pieces):
            for start, end, share in bins_of(feature):
                a, b = max(start, low[0]), min(end, high[0])
                if a < b:
                    found.append(_Part(a, b, (1 - feature.missing) * share * (b - a) / (end - start)))
        return [part for part in found if part.worth]

    def _worth(self, i: int, number: Number) -> Fraction:
        """Return what a value is worth."""
        feature = self._claim.domain.features[i]
        if self._claim.weights == "count":
            return Fraction(1)
        if number is None:
            return feature.missing
        if isinstance(feature, Real):
            return 1 - feature.missing  # an interval of one number
        if i not in self._shares:
            self._shares[i] = shares_of(feature)
        return self._shares[i][int(number) - first_of(feature)]

    def _share(self, free: tuple[int, ...], row: tuple[_Part, ...], allowance: Allowance) -> Fraction:
        """Return which share of a product of values and intervals is dissimilar."""
        numbers = {i: part.low for i, part in zip(free, row, strict=True) if part.low == part.high}
        reals = tuple(i for i in free if i not in numbers)
        allowance.spend(2 ** len(reals))
        box = tuple((a, b, w) for a, b, w in row if a is not None and b is not None and a < b)
        parts = [(margin, self._at(margin, free, numbers)) for margin in self._margins]
        return self._part(parts, reals, box, allowance)


class ClassPieceProofs(PieceProofs):
    """Proves statements about the possible points of one class: where no other one has a larger score.

    Whether a box holds any is decided by eliminating one variable after the other (Fourier and Motzkin).
    """

    method = "elimination of variables from linear inequalities in each box that constraints leave, in exact arithmetic"
    weighing = "volume of what the half-spaces of the other classes leave, in each box that constraints leave"

    def __init__(self, form: LinearForm, claim: Claim) -> None:
        super().__init__(form, claim)
        self._margins = form.rule.margins(claim.toward, claim.delta, len(form.base))
        # The class must be able to win against each of the others, if not against all of them at once.
        self._needed, self._enough = tuple(map(_opposite, self._margins)), all

    def _point(self, free: tuple[int, ...], box: Box, allowance: Allowance) -> dict[int, Number] | None:
        """Return a point of the class in a box; None: there is none."""
        self._check_listable(free, allowance)
        choices = [[*self._values(i, box[i]), *self._intervals(i, box[i])] for i in free]
        for row in product(*choices):
            allowance.spend()
            numbers = {i: x for i, x in zip(free, row, strict=True) if not isinstance(x, tuple)}
            intervals = {i: x for i, x in zip(free, row, strict=True) if isinstance(x, tuple)}
            found = self._solved(free, numbers, intervals, allowance)
            if found is not None:
                return found
        return None

    def _solved(
        self, free: tuple[int, ...], numbers: dict[int, Number], intervals: dict[int, Interval], allowance: Allowance
    ) -> dict[int, Number] | None:
        """Return a point of the class where some features have values and others are in intervals."""
        reals = tuple(intervals)
        box = tuple((low[0], high[0], Fraction(1)) for low, high in intervals.values())
        scaled = [(m, *self._scaled(m, self._at(m, free, numbers), reals, box)) for m in self._margins]
        # The class wins where no margin of another one holds: at most 0, and below it where a tie would hold.
        halves: list[Half] = [(tuple(steps), -constant, m.tie) for m, constant, steps in scaled]
        for k, (low, high) in enumerate(intervals.values()):
            unit = tuple(Fraction(j == k) for j in range(len(reals)))
            halves += [(tuple(-x for x in unit), Fraction(0), True)] if low[1] else []
            halves += [(unit, Fraction(1), True)] if not high[1] else []
        point = solution(halves, len(reals), allowance)
        if point is None:
            return None
        places = zip(reals, box, point, strict=True)
        return numbers | {i: low + (high - low) * u for i, (low, high, _), u in places}

    def _share(self, free: tuple[int, ...], row: tuple[_Part, ...], allowance: Allowance) -> Fraction:
        """Return which share of a product of values and intervals is of the class."""
        return 1 - super()._share(free, row, allowance)


class _End(NamedTuple):
    """Where a feature adds most to a margin: a value, or the end of an interval that does not hold it."""

    gain: Fraction
    number: Number
    beyond: Interval | None = None  # the interval that does not hold it

    def towards(self, part: Fraction) -> Number:
        """Return a number of the interval, a part of the way to its middle; a value stays what it is."""
        if self.beyond is None or self.number is None:
            return self.number
        return self.number + part * ((self.beyond[0][0] + self.beyond[1][0]) / 2 - self.number)

    def beside(self) -> Number:
        """Return the float next to the end, where the interval holds it, and else its middle."""
        middle = self.towards(Fraction(1))
        if self.beyond is None or self.number is None or middle is None:
            return self.number
        # Constraints cut at floats, and the ends of the domain are in it.
        near = Fraction(nextafter(float(self.number), np.inf if middle > self.number else -np.inf))
        return near if _holds(self.beyond, near) else middle


class _Part(NamedTuple):
    """Numbers from one to another, or a value, missing or not, that is both; and what they are worth."""

    low: Number
    high: Number
    worth: Fraction


def _holds(interval: Interval, number: Fraction) -> bool:
    return not is_left(number, interval[0]) and is_left(number, interval[1])


def _opposite(margin: Margin) -> Margin:
    """Return the margin that holds where another one does not."""
    return Margin(tuple(-x for x in margin.factors), -margin.constant, tie=not margin.tie)


def _cuts_intervals(rule: Constraint, domain: Domain) -> bool:
    """Tell whether a constraint, or a part of it, is a ball in which numbers of real features count."""
    if rule.parts:
        return any(_cuts_intervals(part, domain) for part in rule.parts)
    return rule.kind == BALL and any(isinstance(domain.features[domain.index(name)], Real) for name in rule.names)
