"""Linear models with too many CXps to state: all of them listed in bulk, and their weights added up modulo a prime.

What an explanation says of such CXps are their number and their scores. Listing them with floats, each comparison with
a margin for rounding, confirms the number; their weights, modulo a prime that is drawn at random, confirm the scores
but for a chance of about one in ten thousand per prime. No code is shared with what counts them without listing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from random import Random

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.features import Feature, Integer, Real
from axfi_kc.domain.measures import Uniform
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.reading.forms import LinearForm, Margin
from axfi_kc.verification.report import Allowance
from axfi_kc.verification.spaces import first_of, number_of, shares_of, values_of

__all__ = ["ListedCovers", "list_covers", "random_prime"]


_MOST_ROWS = 1 << 23  # of partial sets at once
_NEAR = 1e-11  # of the sum of all losses: nearer to the margin, floats decide nothing
_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ListedCovers:
    """How many CXps there are of each size, and what those with each feature weigh, by size, modulo a prime."""

    sizes: dict[int, int]
    members: int
    sums: dict[int, list[int]]
    prime: int


@dataclass(frozen=True)
class _Move:
    """What changing one feature can do: how much it adds, and what it makes of a weight."""

    feature: int
    gain: Fraction
    factor: Fraction
    dimension: int


def random_prime(rng: Random) -> int:
    """Return a prime between 2**30 and 2**31."""
    while True:
        n = rng.randrange(2**30 + 1, 2**31, 2)
        if all(n % d for d in range(3, 1 << 16, 2) if d * d <= n):
            return n


def list_covers(form: LinearForm, claim: Claim, prime: int, allowance: Allowance) -> ListedCovers | None:
    """Return all minimal sets of features that can change the output; None if they are too many, or too close to tell.

    Notes
    -----
    Partial sets grow by one feature at a time, all at once in arrays, most effective features first: then a set is
    minimal exactly when its last feature completes it.
    """
    within = []
    for margin in form.rule.margins(claim.prediction, claim.delta, len(form.base)):
        moves, lack = _moves(form, claim, margin), _lack(form, claim, margin)
        if moves is None:
            return None
        if margin.holds(sum((move.gain for move in moves), -lack)):
            within.append((moves, lack))
    if len(within) != 1 or len(claim.domain) > 64:
        return None
    moves, lack = within[0]
    return _grown(sorted(moves, key=lambda move: -move.gain), lack, prime, len(claim.domain), allowance)


def _lack(form: LinearForm, claim: Claim, margin: Margin) -> Fraction:
    """Return how far the instance is from the other side."""
    rows = zip(claim.codes.tolist(), claim.domain.features, strict=True)
    own = (margin.part(form.row(i, number_of(code), feature)) for i, (code, feature) in enumerate(rows))
    return -sum(own, margin.constant + margin.part(form.base))


def _moves(form: LinearForm, claim: Claim, margin: Margin) -> list[_Move] | None:
    """Return what each feature that matters can do; None if one has a weight of another kind."""
    found = []
    for i, feature in enumerate(claim.domain.features):
        own = margin.part(form.row(i, number_of(float(claim.codes[i])), feature))
        if feature.missing:
            return None
        gains = [margin.part(form.row(i, end, feature)) for end in _ends(form, i, feature)]
        if max(gains) == own:
            continue
        if isinstance(feature, Real):
            plain, share = isinstance(feature.measure, Uniform), 1 / (max(gains) - min(gains))
        else:
            plain, share = values_of(feature) == 2, shares_of(feature)[gains.index(max(gains))]
        if claim.weights == "unit" or (claim.weights == "count" and not isinstance(feature, Real)):
            share = Fraction(1)
        if not plain and claim.weights != "unit":
            return None
        found.append(_Move(i, max(gains) - own, share, int(isinstance(feature, Real) and claim.weights == "ratio")))
    return found


def _ends(form: LinearForm, i: int, feature: Feature) -> list[Fraction]:
    """Return the values at which a feature adds least and most."""
    entries = form.entries[i]
    if entries is not None:
        return [Fraction(first_of(feature) + k) for k in range(len(entries))]
    return [Fraction(feature.low), Fraction(feature.high)] if isinstance(feature, Integer | Real) else []


def _grown(moves: list[_Move], lack: Fraction, prime: int, n: int, allowance: Allowance) -> ListedCovers | None:
    whole = sum((move.gain for move in moves), Fraction(0))
    gains = [float(move.gain / whole) for move in moves]
    need, p = float(lack / whole), np.uint64(prime)
    residues = [_modulo(move.gain, prime) for move in moves]
    factors = [_modulo(move.factor, prime) for move in moves]
    sizes: dict[int, int] = {}
    sums: dict[int, list[int]] = {}
    members = 0
    # Of each partial set: what it gains, as a float and modulo p, its factors, its dimension and its features.
    totals, masks = np.zeros(1), np.zeros(1, np.uint64)
    parts, products, dimensions = np.zeros(1, np.uint64), np.ones(1, np.uint64), np.zeros(1, np.int64)
    for k, move in enumerate(moves):
        if allowance.is_late or len(totals) > _MOST_ROWS:
            return None
        reached = totals + gains[k]
        if (np.abs(reached - need) < _NEAR).any():
            return None
        bit = np.uint64(1 << move.feature)
        covers = reached > need
        if covers.any():
            slack = (parts[covers] + np.uint64(residues[k] + prime - _modulo(lack, prime))) % p
            weights = products[covers] * np.uint64(factors[k]) % p
            weights = weights * _power(slack, dimensions[covers] + move.dimension, prime) % p
            chosen = masks[covers] | bit
            members |= int(np.bitwise_or.reduce(chosen))
            _add(sizes, sums, chosen, weights, n)
        left = sum(gains[k + 1 :]) + _NEAR
        out, into = totals + left >= need, ~covers & (reached + left >= need)
        totals = np.concatenate([totals[out], reached[into]])
        masks = np.concatenate([masks[out], masks[into] | bit])
        parts = np.concatenate([parts[out], (parts[into] + np.uint64(residues[k])) % p])
        products = np.concatenate([products[out], products[into] * np.uint64(factors[k]) % p])
        dimensions = np.concatenate([dimensions[out], dimensions[into] + move.dimension])
    return ListedCovers(
        dict(sorted(sizes.items())), members, {k: [s % prime for s in row] for k, row in sums.items()}, prime
    )


def _modulo(number: Fraction, prime: int) -> int:
    return number.numerator * pow(number.denominator, -1, prime) % prime


def _power(base: _Words, exponents: npt.NDArray[np.int64], prime: int) -> _Words:
    """Return ``base**e / e!`` modulo a prime."""
    p, found, power = np.uint64(prime), np.ones(len(base), np.uint64), np.ones(len(base), np.uint64)
    for e in range(int(exponents.max(initial=0)) + 1):
        found = np.where(exponents == e, power * np.uint64(pow(factorial(e), -1, prime)) % p, found)
        power = power * base % p
    return found


def _add(sizes: dict[int, int], sums: dict[int, list[int]], masks: _Words, weights: _Words, n: int) -> None:
    lengths = np.bitwise_count(masks)
    for size in np.unique(lengths).tolist():
        own, row = lengths == size, sums.setdefault(size, [0] * n)
        sizes[size] = sizes.get(size, 0) + int(own.sum())
        for i in range(n):
            inside = own & (masks >> np.uint64(i) & np.uint64(1)).astype(bool)
            # Fewer than 2**23 residues of 31 bits add up to less than 2**54.
            row[i] += int(weights[inside].sum())
