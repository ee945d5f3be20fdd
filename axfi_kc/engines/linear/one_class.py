"""Explains why a linear model does not choose one class among several.

A point has class b where the differences of b's score to all others are positive, ties by the lowest index: an
intersection of half-spaces, while points that are not like an instance's class are a union. Whether changing some
features leads there is a linear program for each combination of discrete values that bounds leave open; what a CXp
weighs is the rest of its box that the half-spaces of the other classes leave, piece by piece of the measures.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, BudgetSpent, Meter
from axfi_kc.domain.features import Feature, Integer, Real
from axfi_kc.domain.measures import Weights
from axfi_kc.engines.duality import cxps_by_duality, cxps_by_size
from axfi_kc.engines.found import Found, Located, words_of_masks
from axfi_kc.engines.linear.half_spaces import Side, pieces, sides_of
from axfi_kc.engines.linear.programs import can_all_be_positive
from axfi_kc.engines.linear.union_weights import box_share
from axfi_kc.engines.linear.weights import check_budget
from axfi_kc.engines.per_output import unfinished
from axfi_kc.engines.radius import found_by_radius, naming_row
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.models import LinearModel, Similarity

__all__ = ["LinearClassEngine"]


_SMALL = 3  # up to so many features, all sets are asked for
_ZERO = Fraction(0)
Codes = npt.NDArray[np.float64]
Vector = tuple[Fraction, ...]  # a number for each other class


class _Option(NamedTuple):
    """Values of a feature: one of them, or an interval from `low` to `low + step` along which all scores are linear."""

    share: Fraction
    low: Vector
    step: Vector | None = None

    @property
    def most(self) -> Vector:
        """The most that it can add to each difference."""
        if self.step is None:
            return self.low
        return tuple(a + max(s, _ZERO) for a, s in zip(self.low, self.step, strict=True))


class _Differences:
    """How far one class is ahead of each other one, feature by feature."""

    def __init__(self, model: LinearModel, wanted: int) -> None:
        self.sides: tuple[Side, ...] = sides_of(model, Similarity(), wanted)
        self.features = model.domain.features
        # At a tie the lower index wins: a side that is strict for the others leaves the tie to the class itself.
        self.strict = [not side.strict for side in self.sides]
        self.options = [self._options(i, feature) for i, feature in enumerate(self.features)]
        self.relevant = [
            i for i, own in enumerate(self.options) if len({(o.low, o.step) for o in own}) > 1 or self._moves(i)
        ]

    def _moves(self, i: int) -> bool:
        return any(o.step is not None and any(o.step) for o in self.options[i])

    def at(self, i: int, code: float | Fraction) -> Vector:
        """Return what feature i at a value adds to each difference."""
        return tuple(side.added(i, code) for side in self.sides)

    def base(self, codes: Sequence[float], free: Sequence[int]) -> Vector:
        """Return the differences without the free features, all others as in the instance."""
        kept = [self.at(i, code) for i, code in enumerate(codes) if i not in free]
        return tuple(side.base + sum((row[k] for row in kept), _ZERO) for k, side in enumerate(self.sides))

    def _options(self, i: int, feature: Feature) -> list[_Option]:
        present, found = 1 - feature.missing, list[_Option]()
        if isinstance(feature, Real):
            for share, low, high in pieces(feature):
                start, end = self.at(i, low), self.at(i, high)
                step = tuple(b - a for a, b in zip(start, end, strict=True)) if low < high else None
                found.append(_Option(present * share, start, step))
        else:
            first = feature.low if isinstance(feature, Integer) else 0
            n = (feature.size or 0) - bool(feature.missing)
            shares = feature.measure.shares if isinstance(feature.measure, Weights) else (Fraction(1, n),) * n
            found = [_Option(present * share, self.at(i, first + k)) for k, share in enumerate(shares)]
        return [*found, _Option(feature.missing, self.at(i, nan))] if feature.missing else found

    def holds(self, totals: Sequence[Fraction]) -> bool:
        """Tell whether such differences mean the class."""
        return all(t > 0 or (t == 0 and not strict) for t, strict in zip(totals, self.strict, strict=True))


class _Reached:
    """Which sets of features of one instance lead to the class."""

    def __init__(self, ahead: _Differences, codes: Sequence[float], meter: Meter) -> None:
        self._ahead, self._codes, self._meter = ahead, codes, meter

    @property
    def all(self) -> int:
        """The set of all features that matter; bits are their places among these."""
        return (1 << len(self._ahead.relevant)) - 1

    def is_weak(self, mask: int) -> bool:
        """Tell whether changing only these features can lead to the class."""
        return self.reaches([self._ahead.relevant[k] for k in features_of(mask)])

    def reaches(self, free: Sequence[int]) -> bool:
        """Tell whether changing only these features, by their own numbers, can lead to the class."""
        ahead = self._ahead
        rows = sorted((self._merged(ahead.options[i]) for i in free), key=len)
        most = [tuple(map(max, zip(*(o.most for o in row), strict=True))) for row in rows]
        stack: list[tuple[int, Vector, list[Vector]]] = [(0, ahead.base(self._codes, free), [])]
        while stack:
            k, so_far, steps = stack.pop()
            if not self._meter.spend(1) or self._meter.is_spent:
                raise BudgetSpent([])
            ups = [sum((max(s[j], _ZERO) for s in steps), _ZERO) for j in range(len(so_far))]
            best = [sum((m[j] for m in most[k:]), x + ups[j]) for j, x in enumerate(so_far)]
            if not ahead.holds(best):
                continue
            if k < len(rows):
                grown = [(o.low, steps if o.step is None else [*steps, o.step]) for o in rows[k]]
                stack += [(k + 1, _plus(so_far, low), more) for low, more in grown]
            elif can_all_be_positive(so_far, [[s[j] for s in steps] for j in range(len(so_far))], ahead.strict):
                return True
        return False

    @staticmethod
    def _merged(options: Sequence[_Option]) -> list[_Option]:
        """Return options without measures: intervals next to each other are one, and equal values, too."""
        moving = [o for o in options if o.step is not None]
        found = {(o.low, None): o for o in options if o.step is None}
        if moving:
            last = moving[-1]
            end = _plus(last.low, last.step or ())
            step = tuple(b - a for a, b in zip(moving[0].low, end, strict=True))
            found[moving[0].low, step] = _Option(Fraction(1), moving[0].low, step)  # type: ignore[index]
        return list(found.values())

    def shrunk(self, mask: int, meter: Meter) -> int | None:
        """Return a minimal part of a set that leads to the class; None if the meter ends."""
        for k in features_of(mask):
            if meter.is_spent:
                return None
            if self.is_weak(mask & ~(1 << k)):
                mask &= ~(1 << k)
        return mask

    def cxps(self, max_size: int) -> list[int]:
        """Return the CXps of at most so many features, with bit i for feature i."""
        if max_size <= _SMALL:
            found = cxps_by_size(self, max_size=max_size, meter=self._meter)
        else:
            found = [Y for Y in cxps_by_duality(self, meter=self._meter) if Y.bit_count() <= max_size]
        return sorted_sets(sum(1 << self._ahead.relevant[k] for k in features_of(Y)) for Y in found)

    def weight(self, free: Sequence[int], kind: str, account: Account) -> Fraction:
        """Return the probability of the class, or the number of its points, where only these features change.

        Raises
        ------
        BudgetError
            If there are too many combinations of values and of pieces of the measures.
        """
        ahead, total = self._ahead, _ZERO
        check_budget(prod(len(ahead.options[i]) for i in free), ahead.features, free)
        base = ahead.base(self._codes, free)
        for chosen in account.paced(product(*(ahead.options[i] for i in free)), at_once=1):
            worth = prod((o.share for o in chosen), start=Fraction(1)) if kind == "ratio" else Fraction(1)
            moving = [o.step for o in chosen if o.step is not None]
            start = base
            for option in chosen:
                start = _plus(start, option.low)
            total += worth * self._share(start, moving, account)
        return total

    def _share(self, start: Vector, steps: Sequence[Vector], account: Account) -> Fraction:
        """Return the part of a unit cube on which all differences are as the class needs them."""
        halves: list[Any] = []  # box_share takes any exact numbers
        for j, (at, strict) in enumerate(zip(start, self._ahead.strict, strict=True)):
            row = [s[j] for s in steps]
            least = at + sum((s for s in row if s < 0), _ZERO)
            # Where a difference does not move a tie counts; elsewhere it has measure 0.
            if not any(row) and (at < 0 or (at == 0 and strict)):
                return _ZERO
            if any(row) and least < 0:
                halves.append((-least, row))
        return 1 - box_share(halves, [Fraction(1)] * len(steps), account=account) if halves else Fraction(1)


def _plus(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


class LinearClassEngine:
    """Explains instances of a linear model toward one class of several.

    Notes
    -----
    Duality: a linear program in exact fractions for each question, times the discrete values that bounds do not settle.
    """

    searches = True

    def __init__(self, model: LinearModel, similarity: Similarity) -> None:
        self._model, self._similarity = model, similarity
        self._ahead = _Differences(model, model.labels.index(similarity.toward))

    @property
    def constant(self) -> Hashable | None:
        """None: a class that is never chosen has no CXps, and that is an answer."""
        return None

    def locate(self, codes: Codes) -> Located:
        """Return the codes themselves, since a hyperplane cuts through cells, and the outputs there."""
        return codes, self._model.outputs_at(codes)

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget for one instance was spent, or a weight needs too many combinations of values.
        """
        located = located or self.locate(codes)
        if partial:
            return found_by_radius(self.explain, codes, located, weights=weights, max_size=max_size, budget=budget)
        limit = codes.shape[1] if max_size is None else max_size
        rows, nodes = [], []
        for n, code in enumerate(codes.tolist()):
            meter = Meter(budget)
            with naming_row(n):
                rows.append(list(self._weighed(code, weights, limit, meter)))
            nodes.append(meter.nodes)
        masks, found = [m for row in rows for m, _ in row], [w for row in rows for _, w in row]
        totals = np.empty(len(found), dtype=object)
        totals[:] = [w.numerator for w in found]
        starts, words = np.cumsum([0, *map(len, rows)]), words_of_masks(masks, codes.shape[1])
        wholes, divisors = (1,) * codes.shape[1], [w.denominator for w in found]
        return Found(located[1], starts, words, totals, wholes, weights, divisors, nodes=nodes)

    def _weighed(self, code: list[float], kind: str, limit: int, meter: Meter) -> Iterator[tuple[int, Fraction]]:
        reached = _Reached(self._ahead, code, meter)
        try:
            masks = reached.cxps(limit)
        except BudgetSpent as spent:
            relevant = self._ahead.relevant
            found = [sum(1 << relevant[k] for k in features_of(Y)) for Y in spent.found]
            raise unfinished(found, self._model.domain, meter) from None
        account = Account(meter.rest(), goal="explanation", advice="allow more, or ask for small CXps with max_size")
        for mask in masks:
            yield mask, Fraction(1) if kind == "unit" else reached.weight(features_of(mask), kind, account)

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can lead to the class."""
        meter = Meter(budget)
        try:
            return _Reached(self._ahead, code.tolist(), meter).reaches(features_of(mask))
        except BudgetSpent:
            raise unfinished([], self._model.domain, meter) from None
