"""CXps and weights of linear models, without search over points.

Let d_i be the most that feature i alone can take off the margin of the instance, and g the
margin. A set is a weak CXp iff its d_i reach g, so the CXps are minimal covers, and the weight of
a CXp has a closed form (:mod:`axfi_kc.engines.linear.weights`).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, Watch, interruptible
from axfi_kc.engines.found import LISTED, Found, Located, features_of_members, members_of_words, words_of_masks
from axfi_kc.engines.linear.counted import CountedCxps, covers_of
from axfi_kc.engines.linear.cover_sums import Covers, count_covers, sum_covers
from axfi_kc.engines.linear.covers import union_covers
from axfi_kc.engines.linear.half_spaces import Side, common_unit, sides_of
from axfi_kc.engines.linear.union_weights import UnionWeigher
from axfi_kc.engines.linear.weights import BatchWeigher, SideWeigher
from axfi_kc.engines.per_output import PerOutput, one_by_one
from axfi_kc.engines.radius import found_by_radius
from axfi_kc.errors import BudgetError
from axfi_kc.models import LinearModel, Similarity
from axfi_kc.models.linear_model import dyadic

__all__ = ["LinearEngine"]


_WORD = 64
_BITS = 61  # of a sum of losses that the kernel holds in int64
_MOST = 2_000_000  # CXps of one instance
_FIRST = 1 << 12  # candidates of the first attempt where seconds are limited
_CAUTION = 0.8  # of the time left, because the next attempt may be slower
_SETS_AT_ONCE = 1 << 14
Codes = npt.NDArray[np.float64]
Integers = npt.NDArray[Any]  # of Python ints

_bit_length = np.frompyfunc(int.bit_length, 1, 1)


@cache
def _compile_kernels() -> None:
    """Compile the kernel, or load it from disk, before a budget's clock starts."""
    from axfi_kc.engines.linear import kernels

    one = np.ones((1, 1, 1), np.int64)
    kernels.minimal_covers(one, one[0], one[0], one[0], 1, 1, 1)


class _Tasks(NamedTuple):
    """What the instances of a batch can lose on each side, and must lose; all times ``2**shifts``."""

    homes: npt.NDArray[np.int64]
    losses: Integers  # per instance, side and feature
    margins: Integers  # per instance and side
    needs: Integers  # likewise: the least integer that makes the output dissimilar
    shifts: npt.NDArray[np.int64]

    def at(self, rows: Sequence[int]) -> _Tasks:
        """Return those of some instances."""
        return _Tasks(*(column[list(rows)] for column in self))


class LinearEngine:
    """Explains instances of a linear model.

    Notes
    -----
    Per instance: features times CXps to find them, and per CXp a power of an integer if its
    features are real, else the combinations of its discrete values that are dissimilar. Where there are more than
    100,000, and one side with real and two-valued features alone is within reach, CXps are counted and weighed
    together (:mod:`axfi_kc.engines.linear.cover_sums`).
    """

    def __init__(self, model: LinearModel, similarity: Similarity) -> None:
        self.model = model
        self._similarity = similarity
        self.sides = PerOutput(self._sides_of)
        self._weigher = PerOutput(self._weigher_of)

    @cached_property
    def constant(self) -> Hashable | None:
        """The one output of a constant model; None otherwise."""
        if not self.model.is_regression:
            alone = (y for c, y in enumerate(self.model.labels) if not any(s.is_reachable() for s in self.sides(c)))
            return next(alone, None)
        if any(self.sides(0)[0].swings):
            return None
        side = self.sides(0)[0]
        return Fraction(side.base + sum(side.least), self._unit)

    @cached_property
    def _unit(self) -> int:
        """What numbers of the sides are divided by to get scores."""
        return common_unit(self.model, self._similarity.delta)

    @cached_property
    def _in_batches(self) -> BatchWeigher | None:
        """What weighs whole batches, if the model allows it."""
        side = self.sides(0)[0]
        return BatchWeigher(side, self._unit) if BatchWeigher.fits(side) and not self._has_overlaps() else None

    def _sides_of(self, home: int, _: Budget | None) -> tuple[Side, ...]:
        """Return the ways out of class number `home`."""
        return sides_of(self.model, self._similarity, home)

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
        """Return the CXps and weights of each instance; a node of the budget is a candidate CXp.

        Raises
        ------
        BudgetError
            For an instance with more than 2,000,000 CXps that cannot be counted, a CXp whose weight needs too many
            combinations of discrete values, or if the budget was spent.
        """
        located = located or self.locate(codes)
        if partial:
            return found_by_radius(self.explain, codes, located, weights=weights, max_size=max_size, budget=budget)
        # A budget is for each instance, so under one they are explained one at a time.
        if not Watch(budget).is_free and len(codes) > 1:
            alone = functools.partial(self.explain, weights=weights, max_size=max_size, budget=budget)
            return one_by_one(alone, codes, located)
        _compile_kernels()
        account = Account(budget, goal="explanation", advice="allow more, or ask for small CXps with max_size")
        tasks = self._tasks(*located)
        large = self._counted(tasks, weights, account) if max_size is None else {}
        if large:
            return self._beside(large, codes, located, weights, budget)
        most = min(_MOST, account.budget.nodes or _MOST)
        starts, words = _covers_within(tasks, codes.shape[1] if max_size is None else max_size, most, account)
        account.spend(len(words))
        totals, wholes, divisors = self._weighed(tasks, starts, words, weights, account)
        found = Found(located[1], starts, words, totals, wholes, weights, divisors)
        if account.can_end:  # now, so that a smaller radius is found if there is no time for it
            found.scale(account)
        return found

    def _weighed(
        self,
        tasks: _Tasks,
        starts: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        kind: str,
        account: Account,
    ) -> tuple[npt.NDArray[Any], tuple[int, ...], list[int] | None]:
        """Return the totals, wholes and divisors of the weights of CXps."""
        n_features = tasks.losses.shape[2]
        ones = (1,) * n_features
        if kind == "unit":
            return np.ones(len(words), np.int64), ones, None
        if self._in_batches is not None and kind == "ratio":
            sides = tasks.losses, tasks.margins, tasks.shifts
            totals, divisors = self._in_batches.weights(*sides, starts, words, account=account)
            return totals, ones, divisors
        features = _features(words, n_features, account)
        listed, divisors = self._weights(tasks, starts, features, kind, account)
        totals = np.empty(len(listed), dtype=object)
        totals[:] = listed
        return totals, self._wholes(kind), divisors

    def _counted(self, tasks: _Tasks, kind: str, account: Account) -> dict[int, CountedCxps]:
        """Return the CXps of the instances that have too many to list, where these can be counted instead."""
        rows = range(len(tasks.homes)) if _most_sets(tasks.losses.shape[2]) > LISTED else ()
        sides = {n: side for n in rows if (side := _only_side(tasks, n)) is not None}
        counted: dict[int, CountedCxps] = {}
        for n in _beyond(tasks, list(sides), min(LISTED, account.budget.nodes or LISTED)):
            covers = self._covers_of(tasks, n, sides[n], kind)
            if covers is not None and covers.is_summable:
                sizes, support = count_covers(covers, account)
                counted[n] = CountedCxps(covers, sum_covers(covers, account), kind, sizes, support)
        return counted

    def _covers_of(self, tasks: _Tasks, n: int, k: int, kind: str) -> Covers | None:
        """Return the CXps of an instance as covers of side k; None if their weights are of another kind."""
        side = self.sides(int(tasks.homes[n]))[k]
        losses, shift = tuple(tasks.losses[n, k].tolist()), int(tasks.shifts[n])
        return covers_of(side, losses, tasks.margins[n, k], tasks.needs[n, k], unit=self._unit, shift=shift, kind=kind)

    def _beside(
        self, large: dict[int, CountedCxps], codes: Codes, located: Located, kind: str, budget: Budget | None
    ) -> Found:
        """Return what is found for a batch of which some instances have too many CXps to list."""
        rest = [n for n in range(len(codes)) if n not in large]
        listed: Found | None = None
        if rest:
            where = located[0][rest], [located[1][n] for n in rest]
            listed = self.explain(codes[rest], weights=kind, budget=budget, located=where)
        return Found.beside(listed, large, located[1], n_features=codes.shape[1], kind=kind)

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar.

        Notes
        -----
        Linear in features times sides.
        """
        tasks = self._tasks(*self.locate(code[np.newaxis]))
        free = [i for i in range(len(code)) if mask >> i & 1]
        return bool((tasks.losses[0][:, free].sum(axis=1) >= tasks.needs[0]).any())

    def locate(self, codes: Codes) -> Located:
        """Return the codes themselves, since a hyperplane cuts through cells, and the outputs there."""
        return codes, self.model.outputs_at(codes)

    def _tasks(self, codes: Codes, outputs: Sequence[Any]) -> _Tasks:
        homes = self._homes(outputs)
        n_sides = len(self.sides(0))
        losses = np.zeros((len(codes), n_sides, codes.shape[1]), dtype=object)
        margins, needs = (np.zeros((len(codes), n_sides), dtype=object) for _ in range(2))
        points = dyadic(codes)
        for home in np.unique(homes).tolist():
            rows = np.flatnonzero(homes == home)
            for k, side in enumerate(self.sides(home)):
                losses[rows, k], margins[rows, k] = side.losses(points.at(rows))
                # All are integers at this scale, so to lose more than the margin is to lose one more at least.
                needs[rows, k] = margins[rows, k] + int(side.strict)
        return _Tasks(homes, losses, margins, needs, points.shifts)

    def _homes(self, outputs: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Return the number of each output's class; 0 for a regression."""
        number = {label: k for k, label in enumerate(self.model.labels)}
        return np.array([number.get(y, 0) for y in outputs], dtype=np.int64)

    def _has_overlaps(self) -> bool:
        """Tell whether the sides of one instance can overlap: those of several classes can."""
        return len(self.model.labels) > 2

    def _weigher_of(self, key: tuple[int, str], _: Budget | None) -> tuple[SideWeigher, ...] | UnionWeigher:
        """Return what weighs CXps of a class, by its number and the kind of weights."""
        sides, kind = self.sides(key[0]), key[1]
        if self._has_overlaps():
            return UnionWeigher(sides, kind, self._unit)
        return tuple(SideWeigher(side, kind, self._unit) for side in sides)

    def _wholes(self, kind: str) -> tuple[int, ...]:
        weigher = self._weigher((0, kind))
        return (1,) * len(self.model.domain) if isinstance(weigher, UnionWeigher) else weigher[0].wholes

    def _weights(
        self,
        tasks: _Tasks,
        starts: npt.NDArray[np.int64],
        features: Sequence[Sequence[int]],
        kind: str,
        account: Account,
    ) -> tuple[list[int], list[int]]:
        found: list[tuple[int, int]] = []
        losses, margins = tasks.losses.tolist(), tasks.margins.tolist()
        spans = list(pairwise(starts.tolist()))
        for n, (home, q) in enumerate(zip(tasks.homes.tolist(), tasks.shifts.tolist(), strict=True)):
            weigher, sides = self._weigher((home, kind)), list(zip(losses[n], margins[n], strict=True))
            for chosen in account.paced(features[slice(*spans[n])], at_once=1):
                slacks = [sum([row[i] for i in chosen]) - margin for row, margin in sides]
                if isinstance(weigher, UnionWeigher):
                    found.append(weigher.weight(chosen, slacks, q, account=account))
                else:
                    found.append(_disjoint_weight(weigher, chosen, slacks, q, account))
        return [total for total, _ in found], [divisor for _, divisor in found]


def _most_sets(n: int) -> int:
    """Return how many sets of n features there can be of which none contains another (Sperner)."""
    return comb(n, n // 2)


def _only_side(tasks: _Tasks, n: int) -> int | None:
    """Return the one side within reach of an instance with features enough for many CXps; None: there is none."""
    within = [k for k, need in enumerate(tasks.needs[n]) if tasks.losses[n, k].sum() >= need]
    if len(within) != 1 or _most_sets(int(np.count_nonzero(tasks.losses[n, within[0]]))) <= LISTED:
        return None
    return within[0]


def _beyond(tasks: _Tasks, rows: list[int], most: int) -> list[int]:
    """Return which of some instances have more than so many candidate CXps, or may have."""
    from axfi_kc.engines.linear import kernels

    if not rows:
        return []
    losses, low, high, rounded = _rounded(tasks.at(rows))
    with interruptible():
        *_, states = kernels.minimal_covers(
            losses, low, high, rounded, -(-losses.shape[2] // _WORD), losses.shape[2], most
        )
    return [n for n, state in zip(rows, states.tolist(), strict=True) if state != kernels.DONE]


def _disjoint_weight(
    weighers: Sequence[SideWeigher], features: Sequence[int], slacks: Sequence[int], shift: int, account: Account
) -> tuple[int, int]:
    """Return the weight of a CXp that sides which exclude each other reach."""
    total, divisor = 0, 1
    for weigher, slack in zip(weighers, slacks, strict=True):
        if slack >= 0:
            part, divisor = weigher.weight(features, slack, shift, account=account)  # the same divisor on each side
            total += part
    return total, divisor


def _features(words: npt.NDArray[np.uint64], n_features: int, account: Account) -> list[list[int]]:
    """Return the features of each set."""
    found: list[list[int]] = []
    for begin in account.paced(range(0, len(words), _SETS_AT_ONCE), at_once=1):
        found += features_of_members(members_of_words(words[begin : begin + _SETS_AT_ONCE], n_features))
    return found


def _covers_within(
    tasks: _Tasks, max_size: int, most: int, account: Account
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return what :func:`_covers` does within the seconds that are left.

    The kernel knows no clock, but its work is in proportion to the candidates it meets: it is let meet four times
    as many each time, or as many as there is time for.
    """
    limit = account.budget.seconds
    if limit is None and account.budget.bytes is None:
        return _covers(tasks, max_size, most, account)
    # Four times as many each time: all failed attempts together cost about a third of the last one.
    allowed = min(_FIRST, most)
    while True:
        begin = account.seconds
        try:
            return _covers(tasks, max_size, allowed, account)
        except BudgetError:
            if allowed == most:
                raise
        account.look()
        share = 4.0 if limit is None else _CAUTION * (limit - account.seconds) / max(account.seconds - begin, 1e-6)
        if share < 1:
            raise account.error()
        allowed = min(most, int(allowed * min(share, 4)))


def _covers(
    tasks: _Tasks, max_size: int, most: int, account: Account
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the CXps of each instance: starts, and words of 64 features."""
    from axfi_kc.engines.linear import kernels

    losses, low, high, rounded = _rounded(tasks)
    n_words = -(-losses.shape[2] // _WORD)
    with interruptible():
        starts, words, states = kernels.minimal_covers(losses, low, high, rounded, n_words, max_size, most)
    if (states == kernels.TOO_MANY).any():
        raise _too_many(most, account)
    if not (states == kernels.UNCERTAIN).any():
        return starts, words
    parts = [words[a:b] for a, b in pairwise(starts.tolist())]
    for n in np.flatnonzero(states == kernels.UNCERTAIN).tolist():
        parts[n] = words_of_masks(_exact_covers(tasks, n, max_size, most, account), tasks.losses.shape[2])
    return np.cumsum([0, *map(len, parts)]), np.concatenate(parts)


def _exact_covers(tasks: _Tasks, n: int, max_size: int, most: int, account: Account) -> list[int]:
    found: list[int] = []
    for chosen in account.paced(union_covers(tasks.losses[n].tolist(), tasks.needs[n].tolist(), max_size=max_size)):
        found.append(sum(1 << i for i in chosen))
        if len(found) > most:
            raise _too_many(most, account)
    return found


def _too_many(most: int, account: Account) -> BudgetError:
    nodes, seconds = account.spent
    return BudgetError(
        f"An instance has more than {most} candidate CXps; ask for the small ones with max_size.",
        nodes=nodes + most,
        seconds=seconds,
    )


def _rounded(tasks: _Tasks) -> tuple[npt.NDArray[np.int64], ...]:
    """Return losses and needs in int64, rounded where they are too large; see the kernel."""
    sums = tasks.losses.sum(axis=2)
    needs = np.minimum(tasks.needs, sums + 1)  # beyond the sum, it does not matter how far
    cut = np.maximum(_bit_length(sums).astype(np.int64) - _BITS, 0)
    by = cut.astype(object)
    # Losses rounded down add up to less than 2**61, and needs are at most one more than sums: int64 holds both.
    losses = np.right_shift(tasks.losses, by[:, :, np.newaxis]).astype(np.int64)
    # A loss that is rounded to 0 may still decide, one that is 0 never does: only the latter is marked.
    losses[tasks.losses == 0] = -1
    # A shift rounds down, also below zero, so the negative's negative is rounded up.
    low, high = np.right_shift(needs, by), -np.right_shift(-needs, by)
    return losses, low.astype(np.int64), high.astype(np.int64), (cut > 0).astype(np.int64)
