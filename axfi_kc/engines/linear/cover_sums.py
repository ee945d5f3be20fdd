"""The minimal covers of a linear model counted and weighed together, without listing them.

Let losses descend and t be the last member of a minimal cover Y. Then Y is t and a set Z of larger losses with
``need - d_t <= sum(Z) < need``: a cover by t alone, and none without. The larger losses are split into two halves. For
a subset a of one half, the subsets b of the other that fit it are neighbours when sorted by their sums: a *window*.
The weight of Y, ``(sum(Z) + d_t - margin)**k / k!`` times a factor per member, expands into products of a power of a's
part and a power of b's, so prefix sums of the latter weigh a whole window at once. Sums are compared as exact
integers; the weights are added up modulo primes (:mod:`axfi_kc.engines.linear.lane_kernels`) until their product
exceeds every numerator over a common denominator, from which these follow exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations
from math import comb, factorial, gcd, prod

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.circuits.modular import combined_rows, n_primes_beyond, primes_not_dividing

__all__ = ["CoverSums", "Covers", "count_covers", "sum_covers"]


_KEY_BITS = 62  # of a sum rounded to int64
_PRIME_BITS = 28  # see the kernels
_DEPTH = 64  # powers that a window of the kernels can add up
_BYTES = 6 << 30  # of memory at once
_PAIRINGS = (((0, 2), (1, 3)), ((0, 1), (2, 3)), ((0, 3), (1, 2)))
"""Quarters that form a half: any two elements are in one half of one of these."""

Integers = npt.NDArray[np.int64]
Residues = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Covers:
    """The minimal covers of one side of an instance, and what each weighs.

    The weight of a cover Y is ``((sum of losses - margin) / scale)**k / k!`` times its members' factors, k the number
    of its members with a dimension.

    Attributes
    ----------
    losses
        A non-negative integer per feature.
    margin, need
        What must be lost, and the least sum of losses that makes a cover.
    scale
        The unit of losses and margin.
    has_dimension
        Which features are real; the others have two values, and what a member of these adds is its factor alone.
    factors
        A positive number per feature.
    """

    losses: tuple[int, ...]
    margin: int
    need: int
    scale: int
    has_dimension: tuple[bool, ...]
    factors: tuple[Fraction, ...]

    def weight(self, members: Sequence[int]) -> Fraction:
        """Return the weight of one minimal cover."""
        dimension = sum([self.has_dimension[i] for i in members])
        slack = Fraction(sum([self.losses[i] for i in members]) - self.margin, self.scale)
        factors = [self.factors[i] for i in members]
        # Numerators and denominators apart until the end: a gcd of long integers costs more than all the products.
        above = slack.numerator**dimension * prod([f.numerator for f in factors])
        below = slack.denominator**dimension * prod([f.denominator for f in factors])
        return Fraction(above, below * factorial(dimension))

    def avoiding(self, mask: int) -> Covers:
        """Return the covers without the features of `mask`."""
        kept = tuple(0 if mask >> i & 1 else loss for i, loss in enumerate(self.losses))
        return Covers(kept, self.margin, self.need, self.scale, self.has_dimension, self.factors)

    @cached_property
    def order(self) -> list[int]:
        """The features with a loss, the largest first."""
        return sorted((i for i, loss in enumerate(self.losses) if loss), key=lambda i: -self.losses[i])

    @cached_property
    def sizes(self) -> range:
        """The sizes that minimal covers can have."""
        largest = [self.losses[i] for i in self.order]
        if sum(largest) < self.need:
            return range(0)
        fewest = next(k for k, total in enumerate(accumulate(largest), start=1) if total >= self.need)
        # All but the smallest member are below the need together, and so are as many of the smallest losses.
        most = 1 + sum(total < self.need for total in accumulate(reversed(largest)))
        return range(fewest, min(most, len(largest)) + 1)

    @property
    def bytes_needed(self) -> int:
        """About how much memory their sums take at once."""
        subsets = 1 << (len(self.order) + 1) // 2
        # Per subset a sum of its own, for each size three rows of residues, and what a window is limited by.
        return subsets * (200 + 3 * sum(self.losses).bit_length() // 8 + 3 * 64 * self.sizes.stop)

    @property
    def is_summable(self) -> bool:
        """Whether the sums fit into memory, and into the kernels."""
        return self.sizes.stop <= _DEPTH and self.bytes_needed <= _BYTES


@dataclass(frozen=True)
class CoverSums:
    """What the minimal covers with each feature weigh together, by size.

    Attributes
    ----------
    numerators
        For each size and feature, the sum of the weights of the covers with it, times the size's denominator.
    denominators
        A positive integer per size, each a divisor of those of larger sizes.
    pairs
        The same as `numerators` for covers with two features, by both, the smaller one first; None if not asked for.
    """

    numerators: dict[int, tuple[int, ...]]
    denominators: dict[int, int]
    pairs: dict[int, dict[tuple[int, int], int]] | None = None

    @property
    def whole(self) -> int:
        """The denominator of the largest size, which all others divide."""
        return max(self.denominators.values(), default=1)


class _Half:
    """All subsets of some losses: exact sums, sorted within classes of equal size and dimension."""

    def __init__(self, losses: Sequence[int], has_dimension: Sequence[bool], cut: int) -> None:
        self.n = len(losses)
        sums = _subset_sums(losses)
        masks = np.arange(1 << self.n)
        self.sizes = np.bitwise_count(masks).astype(np.int64)
        real = sum(1 << k for k, flag in enumerate(has_dimension) if flag)
        self.dimensions = np.bitwise_count(masks & real).astype(np.int64)
        kinds = self.sizes * (self.n + 1) + self.dimensions
        keys = np.array([total >> cut for total in sums], dtype=np.int64)
        # Keys first, which numpy sorts; equal keys are put in their exact order below.
        order = np.lexsort((keys, kinds))
        self.order = order if not cut else _in_exact_order(order, kinds, keys, sums)
        self.keys = keys[self.order]
        self.sums = [sums[k] for k in self.order.tolist()]
        changes = np.flatnonzero(np.diff(kinds[self.order])) + 1
        self.starts = np.concatenate([[0], changes, [len(masks)]]).astype(np.int64)

    @property
    def rows(self) -> Integers:
        """The subsets in order, with -1 before each class."""
        return np.insert(self.order, self.starts[:-1], -1)


def _subset_sums(losses: Sequence[int]) -> list[int]:
    sums = [0]
    for loss in losses:
        sums += [total + loss for total in sums]
    return sums


def _in_exact_order(order: Integers, kinds: Integers, keys: Integers, sums: Sequence[int]) -> Integers:
    """Return the order with subsets of equal class and equal rounded sum sorted by their exact sums."""
    same = (np.diff(kinds[order]) == 0) & (np.diff(keys[order]) == 0)
    if not same.any():
        return order
    # Runs of equal keys: their ends are where the next one differs.
    ends = np.flatnonzero(~np.append(same, False)) + 1
    found, begin = order.tolist(), 0
    for end in ends.tolist():
        if end - begin > 1:
            found[begin:end] = sorted(found[begin:end], key=sums.__getitem__)
        begin = end
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True)
class _Step:
    """The covers whose last member is one feature: the other members split into two halves."""

    covers: Covers
    last: int
    members: tuple[list[int], list[int]]
    quarters: tuple[int, int]  # how many members of each half are of its first quarter
    halves: tuple[_Half, _Half]
    cut: int

    def windows(self, own: int) -> Integers:
        """Return the windows of one half (0 or 1), as the kernels want them but with sizes instead of slots."""
        return _windows(self.halves[own], self.halves[1 - own], self.covers, self.last, self.cut)


def _steps(covers: Covers, pairing: int = 0) -> Iterator[_Step]:
    """Yield the covers by their last member, largest loss first."""
    losses, order = covers.losses, covers.order
    total, cut = 0, max(0, max(sum(losses), covers.need).bit_length() - _KEY_BITS)
    for k, t in enumerate(order):
        total += losses[t]
        if total < covers.need:
            continue
        # A loss that suffices alone is in no larger minimal cover.
        larger = [i for i in order[:k] if losses[i] < covers.need]
        members = [[*larger[a::4], *larger[b::4]] for a, b in _PAIRINGS[pairing]]
        quarters = [len(larger[a::4]) for a, _ in _PAIRINGS[pairing]]
        halves = [_Half([losses[i] for i in h], [covers.has_dimension[i] for i in h], cut) for h in members]
        yield _Step(covers, t, (members[0], members[1]), (quarters[0], quarters[1]), (halves[0], halves[1]), cut)


def _windows(own: _Half, other: _Half, covers: Covers, t: int, cut: int) -> Integers:
    """Return for each subset of one half the rows of the other's table whose difference holds its covers."""
    upper = [covers.need - 1 - total for total in own.sums]
    ends = [_Limits(upper, cut), _Limits([limit - covers.losses[t] for limit in upper], cut)]
    parts = []
    extra = int(covers.has_dimension[t])
    for c in range(len(other.starts) - 1):
        begin, end = int(other.starts[c]), int(other.starts[c + 1])
        high, low = (limits.places(other, begin, end) for limits in ends)
        some = np.flatnonzero(high > low)
        subset, like = own.order[some], int(other.order[begin])
        power = own.dimensions[subset] + other.dimensions[like] + extra
        size = own.sizes[subset] + other.sizes[like] + 1
        # Each class begins with a row of zeros, so the classes before have shifted the rows of this one.
        columns = [some, low[some] + begin + c, high[some] + begin + c, power, size]
        parts.append(np.stack(columns, axis=1).astype(np.int32))
    found = np.concatenate(parts)
    found = found[np.argsort(found[:, 0], kind="stable")]
    found[:, 0] = own.order[found[:, 0]]
    return np.ascontiguousarray(found)


class _Limits:
    """How large a sum of the other half may be for each subset of the own half."""

    def __init__(self, exact: Sequence[int], cut: int) -> None:
        self._exact, self._cut = exact, cut
        # A limit far below zero admits nothing, however far: -1 does as well, and fits int64.
        self._keys = np.array([max(limit >> cut, -1) for limit in exact], dtype=np.int64)

    def places(self, other: _Half, begin: int, end: int) -> Integers:
        """Return for each limit how many sums of a class, sorted, do not exceed it."""
        keys = other.keys[begin:end]
        found = np.searchsorted(keys, self._keys, side="right")
        if self._cut:
            surely = np.searchsorted(keys, self._keys, side="left")
            # Rounded sums decide unless they are equal; then the sums themselves do.
            for k in np.flatnonzero(surely != found).tolist():
                a, b = begin + int(surely[k]), begin + int(found[k])
                found[k] = bisect_right(other.sums, self._exact[k], a, b) - begin
        return found


def _counts(windows: Integers) -> dict[int, int]:
    sizes, numbers = windows[:, 4], (windows[:, 2] - windows[:, 1]).astype(np.int64)
    return {int(s): int(numbers[sizes == s].sum()) for s in np.unique(sizes)}


def count_covers(covers: Covers, account: Account) -> tuple[dict[int, int], int]:
    """Return the number of minimal covers of each size that occurs, and the features in them, as a mask.

    Notes
    -----
    About ``2**(m / 2)`` times m for m features with a loss.

    Examples
    --------
    >>> covers = Covers((3, 2, 2), 4, 4, 1, (False,) * 3, (Fraction(1),) * 3)
    >>> count_covers(covers, Account(None, goal="count"))
    ({2: 3}, 7)
    """
    account.require(covers.bytes_needed)
    found: dict[int, int] = {}
    last = -1
    for step in account.paced(_steps(covers), at_once=1):
        for size, number in _counts(step.windows(0)).items():
            found[size] = found.get(size, 0) + number
            last = step.last
    # What is no smaller than a member of some cover can take its place in it, so the features in covers come first.
    members = covers.order[: covers.order.index(last) + 1] if found else []
    return dict(sorted(found.items())), sum(1 << i for i in members)


def sum_covers(covers: Covers, account: Account, *, pairs: bool = False) -> CoverSums:
    """Return what the minimal covers with each feature, or with each two, weigh together, by size.

    Notes
    -----
    About ``2**(m / 2)`` times m squared modulo each prime, for m features with a loss; three times that for pairs.

    Examples
    --------
    >>> covers = Covers((3, 2, 2), 4, 4, 1, (False,) * 3, (Fraction(1, 2), Fraction(1), Fraction(1)))
    >>> found = sum_covers(covers, Account(None, goal="sums"))
    >>> [Fraction(n, found.denominators[2]) for n in found.numerators[2]]
    [Fraction(1, 1), Fraction(3, 2), Fraction(3, 2)]
    """
    account.require(covers.bytes_needed)
    if not covers.sizes:
        return CoverSums({}, {}, {} if pairs else None)
    adder = _Adder(covers, pairs=pairs)
    for pairing in range(len(_PAIRINGS) if pairs else 1):
        for step in _steps(covers, pairing):
            adder.add(step, account, is_first=not pairing)
    return adder.sums()


class _Field:
    """Numbers modulo primes, in the form of the kernels: a row of residues per number."""

    def __init__(self, primes: Sequence[int], depth: int) -> None:
        self.primes = list(primes)
        self._radix = [pow(2, 32, p) for p in primes]
        self.moduli = np.array(primes, dtype=np.uint32)
        self._negated = np.array([-pow(p, -1, 1 << 32) % (1 << 32) for p in primes], dtype=np.uint32)
        self._one = self.residues(1)
        self._reciprocals = np.stack([self.residues(1, max(j, 1)) for j in range(depth)])

    def residues(self, above: int, below: int = 1) -> Residues:
        """Return ``above / below``."""
        found = [above * r * pow(below, -1, p) % p for p, r in zip(self.primes, self._radix, strict=True)]
        return np.array(found, dtype=np.uint32)

    def at(self, lanes: slice) -> tuple[Residues, Residues, Residues, Residues]:
        """Return what the kernels need to know of some of the primes."""
        whole = np.ascontiguousarray(self._reciprocals[:, lanes]).ravel()
        return self.moduli[lanes], self._negated[lanes], self._one[lanes], whole

    def integers(self, table: npt.NDArray[np.uint64], factor: int, count: int) -> list[int]:
        """Return the integers whose residues divided by `factor` are the rows of a table, by `count` primes."""
        primes = self.primes[:count]
        undone = [factor * pow(r, -1, p) % p for p, r in zip(primes, self._radix, strict=False)]
        moduli = np.array(primes, dtype=np.uint64)
        return combined_rows(table[:, :count] * np.array(undone, dtype=np.uint64) % moduli, primes)


class _Adder:
    """Adds up weights modulo primes, as many at once as the kernels have lanes."""

    def __init__(self, covers: Covers, *, pairs: bool) -> None:
        from axfi_kc.engines.linear import lane_kernels

        self._kernels, self._covers, self._with_pairs = lane_kernels, covers, pairs
        self._sizes = list(covers.sizes)
        common = gcd(covers.scale, covers.margin, *covers.losses)
        scale = covers.scale // common
        self._set_denominators(scale)
        lanes, depth = lane_kernels.LANES, self._sizes[-1] + 1
        avoided = {scale, *(covers.factors[i].denominator for i in covers.order)}
        count = -(-self._needed[-1] // lanes) * lanes
        self._field = field = _Field(primes_not_dividing(avoided, count=count, bits=_PRIME_BITS), depth)
        self._losses = {i: field.residues(covers.losses[i] // common, scale) for i in covers.order}
        self._margin = field.residues(covers.margin // common, scale)
        self._factors = {i: field.residues(*covers.factors[i].as_integer_ratio()) for i in covers.order}
        n, m = len(self._sizes), len(covers.losses)
        self._singles = np.zeros((n, m, count), dtype=np.uint64)
        self._pairs = np.zeros((n, m, m, count) if pairs else (0, 0, 0, 0), dtype=np.uint64)

    def _set_denominators(self, scale: int) -> None:
        """Set a denominator for the weights of each size, and how many primes that size needs.

        With losses as fractions of `scale`, a weight is an integer over ``scale**k * k!`` and the denominators of
        all factors, and at most 1: no sum over a size exceeds the number of sets of that size.
        """
        covers, m = self._covers, len(self._covers.order)
        factors = prod(covers.factors[i].denominator for i in covers.order)
        dimensions = [min(k, sum(covers.has_dimension[i] for i in covers.order)) for k in self._sizes]
        self._denominators = [scale**d * factorial(d) * factors for d in dimensions]
        bounds = (d * comb(m, k) for d, k in zip(self._denominators, self._sizes, strict=True))
        # Never fewer for a larger size, so that what is left to do modulo later primes are the sizes from some one on.
        self._needed = list(accumulate((n_primes_beyond(b, bits=_PRIME_BITS) for b in bounds), max))

    def add(self, step: _Step, account: Account, *, is_first: bool) -> None:
        """Add the covers of one step; only the first pairing counts each feature's, the others but pairs."""
        for own in (0, 1):
            windows = step.windows(own)
            if not len(windows):
                continue
            low, high = int(windows[:, 4].min()), int(windows[:, 4].max())
            depth = 1 + int(windows[:, 3].max())
            windows[:, 4] -= low
            slots = range(low, high + 1)
            work = self._room(step, own, depth, len(slots))
            for begin in account.paced(range(0, self._needed[high - self._sizes[0]], self._kernels.LANES), at_once=1):
                self._add_block(step, own, windows, slots, depth, begin, work, is_first=is_first)

    def _room(self, step: _Step, own: int, depth: int, n_slots: int) -> tuple[Residues, ...]:
        """Return the arrays that the kernel works in, the same for all primes."""
        lanes, mine, other = self._kernels.LANES, 1 << step.halves[own].n, 1 << step.halves[1 - own].n
        rows = other + len(step.halves[1 - own].starts) - 1
        values = mine * n_slots
        spare = values // 2 if self._with_pairs else 0
        numbers = (mine, mine, other, other, rows * depth, values, spare)
        return tuple(np.empty(number * lanes, dtype=np.uint32) for number in numbers)

    def _add_block(
        self,
        step: _Step,
        own: int,
        windows: Integers,
        slots: range,
        depth: int,
        begin: int,
        work: tuple[Residues, ...],
        *,
        is_first: bool,
    ) -> None:
        """Add the covers of one half of one step modulo the primes from number `begin` on."""
        lanes = slice(begin, begin + self._kernels.LANES)
        prime = self._field.moduli[lanes].astype(np.uint64)
        shift = (self._losses[step.last][lanes] + prime - self._margin[lanes]) % prime
        last = (shift.astype(np.uint32), self._factors[step.last][lanes])
        done = next(k for k, needed in enumerate(self._needed) if needed > begin)  # sizes before need no more primes
        n, n_slots = step.halves[own].n, len(slots)
        totals, singles = (np.zeros(count * n_slots * self._kernels.LANES, np.uint32) for count in (1, n))
        pairs = np.zeros(n * n * n_slots * self._kernels.LANES if self._with_pairs else 0, np.uint32)
        self._kernels.add_windows(
            self._of(step.members[own], lanes),
            self._of(step.members[1 - own], lanes),
            last,
            self._field.at(lanes),
            step.halves[1 - own].rows,
            depth,
            windows,
            max(0, self._sizes[done] - slots.start),
            n_slots,
            self._with_pairs,
            work,
            totals,
            singles,
            pairs,
        )
        place = slice(slots.start - self._sizes[0], slots.stop - self._sizes[0])
        self._keep(step, own, place, lanes, totals, singles, pairs, is_first=is_first)

    def _of(self, members: Sequence[int], lanes: slice) -> tuple[Residues, Residues]:
        empty = [np.empty(0, np.uint32)]
        losses, factors = ([of[i][lanes] for i in members] or empty for of in (self._losses, self._factors))
        return np.concatenate(losses), np.concatenate(factors)

    def _keep(
        self,
        step: _Step,
        own: int,
        place: slice,
        lanes: slice,
        totals: Residues,
        singles: Residues,
        pairs: Residues,
        *,
        is_first: bool,
    ) -> None:
        """Add what a kernel found to what is known, by size and feature."""
        members, n = step.members[own], step.halves[own].n
        shape = (place.stop - place.start, self._kernels.LANES)
        # Added up without reducing: fewer than 2**36 residues fit 64 bits, and there are a few per step.
        if is_first and not own:  # either half sees every cover of the step
            self._singles[place, step.last, lanes] += totals.reshape(shape)
        for i, found in zip(members, singles.reshape(n, *shape) if is_first else (), strict=is_first):
            self._singles[place, i, lanes] += found
            if self._with_pairs:
                self._pairs[place, min(i, step.last), max(i, step.last), lanes] += found
        for k, j in combinations(range(n) if self._with_pairs else (), 2):
            # Two of one quarter are in one half of every pairing, others of a single one.
            if is_first or k < step.quarters[own] <= j:
                a, b = sorted((members[k], members[j]))
                self._pairs[place, a, b, lanes] += pairs.reshape(n, n, *shape)[j, k]

    def sums(self) -> CoverSums:
        """Return the exact sums."""
        prime = self._field.moduli.astype(np.uint64)
        numerators, twos = {}, {}
        for k, size in enumerate(self._sizes):
            options = (self._denominators[k], self._needed[k])
            numerators[size] = tuple(self._field.integers(self._singles[k] % prime, *options))
            if self._with_pairs:
                chosen = list(combinations(sorted(self._covers.order), 2))
                rows = [self._pairs[k, a, b] % prime for a, b in chosen]
                found = self._field.integers(np.array(rows).reshape(len(chosen), len(prime)), *options)
                twos[size] = dict(zip(chosen, found, strict=True))
        denominators = dict(zip(self._sizes, self._denominators, strict=True))
        return CoverSums(numerators, denominators, twos if self._with_pairs else None)
