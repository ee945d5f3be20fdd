"""Sums and products of wide integers, compiled by numba; see :mod:`axfi_kc.engines.limbs` for how these are laid out.

The callers see to it that every row is wide enough for all sums and products that go into it, so no carry is lost.
"""

from __future__ import annotations

import math

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros, trailing_zeros

from axfi_kc.compiled import kernel, part

__all__ = ["add", "mean_floats", "means", "multiply"]


_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_LARGEST = np.uint64(2**63 - 1)
_BASE = 2.0**32
_SPLIT = 2.0**27 + 1.0
_LOSS = 2.0**-95


@kernel
def multiply(row, used, factors, f):
    """Multiply the number in the first `used` limbs of `row` by ``factors[f]``; return how many limbs it has then."""
    n_factor = factors.shape[1]
    while n_factor > 0 and factors[f, n_factor - 1] == 0:
        n_factor -= 1
    for k in range(used, used + n_factor):
        row[k] = 0
    # From the highest limb down, so that a limb is read before anything is added in its place.
    for a in range(used - 1, -1, -1):
        limb = np.uint64(row[a])
        row[a] = 0
        carry = np.uint64(0)
        for b in range(n_factor):
            # (2**32 - 1)**2 + 2 * (2**32 - 1) is 2**64 - 1: the product and both addends just fit.
            carry += limb * np.uint64(factors[f, b]) + np.uint64(row[a + b])
            row[a + b] = np.uint32(carry & _LOW)
            carry >>= _HALF
        k = a + n_factor
        while carry != 0:
            carry += np.uint64(row[k])
            row[k] = np.uint32(carry & _LOW)
            carry >>= _HALF
            k += 1
    used += n_factor
    while used > 0 and row[used - 1] == 0:
        used -= 1
    return used


@kernel
def add(totals, n, row, used, factor):
    """Add `factor`, a single limb, times the number in the first `used` limbs of `row` to ``totals[n]``."""
    carry = np.uint64(0)
    k = 0
    while k < used or carry != 0:
        carry += np.uint64(totals[n, k])
        if k < used:
            carry += np.uint64(row[k]) * factor
        totals[n, k] = np.uint32(carry & _LOW)
        carry >>= _HALF
        k += 1


@part
def _loaded(row, rows, s):
    """Copy ``rows[s]`` into `row`; return how many limbs it has without leading zeros."""
    used = rows.shape[1]
    while used > 0 and rows[s, used - 1] == 0:
        used -= 1
    for k in range(used):
        row[k] = rows[s, k]
    return used


@part
def _holds(words, s, i):
    return (words[s, i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != 0


@part
def _gain(first, last, words, totals, wholes, parts, i, union, row, numerator, denominator):
    """Write what feature i gets of the sets from `first` to `last` as a fraction; return the lengths of both numbers.

    A set is worth its total over the product of the wholes of its features, and each member gets ``parts`` times that.
    Sums are over one denominator: the wholes of `union`, all features beside which the feature is in a set, which are
    far fewer than those of the instance.
    """
    n_features = wholes.shape[0]
    denominator[0] = below = 1
    for j in range(n_features):
        if _holds(union, 0, j):
            below = multiply(denominator, below, wholes, j)
    for k in range(numerator.shape[1]):
        numerator[0, k] = 0
    for s in range(first, last):
        if _holds(words, s, i):
            used = _loaded(row, totals, s)
            for j in range(n_features):
                if _holds(union, 0, j) and not _holds(words, s, j):
                    used = multiply(row, used, wholes, j)
            add(numerator, 0, row, used, parts[s])
    above = numerator.shape[1]
    while above > 0 and numerator[0, above - 1] == 0:
        above -= 1
    return above, below


@part
def _word(rows, s):
    """Return the number in ``rows[s]`` if it is below 2**63, and otherwise the largest word."""
    found = np.uint64(rows[s, 0])
    if rows.shape[1] > 1:
        found |= np.uint64(rows[s, 1]) << _HALF
    for k in range(2, rows.shape[1]):
        if rows[s, k] != 0:
            found = _LARGEST
    return min(found, _LARGEST)


@part
def _length(word):
    """Return how many bits a word has."""
    return 64 - leading_zeros(word)


@part
def _gain_in_words(first, last, words, totals, wholes, lengths, parts, i, union):
    """Return the same fraction as two words; 0 as a denominator where they might not hold a number on the way."""
    n_features = wholes.shape[0]
    # A product has no more bits than its factors together, and a sum of k numbers no more than k has beside theirs.
    whole = 0
    below = np.uint64(1)
    for j in range(n_features):
        if _holds(union, 0, j):
            whole += lengths[j]
            below *= _word(wholes, j)
    above = np.uint64(0)
    if whole > 63:
        return above, above
    count = _length(np.uint64(last - first))
    for s in range(first, last):
        if _holds(words, s, i):
            gained = _word(totals, s)
            length = _length(gained) + _length(parts[s]) + count + whole
            gained *= parts[s]
            for j in range(n_features):
                if _holds(union, 0, j):
                    if _holds(words, s, j):
                        length -= lengths[j]
                    else:
                        gained *= _word(wholes, j)
            if length > 63:
                return above, np.uint64(0)
            above += gained
    return above, below


@part
def _gcd(a, b):
    """Return the greatest common divisor of two positive integers, which takes no division."""
    shift = trailing_zeros(a | b)
    a >>= trailing_zeros(a)
    while b != 0:
        b >>= trailing_zeros(b)
        if a > b:
            a, b = b, a
        b -= a
    return a << shift


@kernel
def means(
    starts, words, totals, wholes, lengths, parts, divisors, scratch, union, n, place, spans, shorts, limbs, done
):
    """Write the mean over the sets of each instance from `n` on of what each feature gets, as fractions.

    Of each instance and feature that is in a set: where it is in ``place``, and in ``shorts`` numerator and
    denominator, reduced, if both are below 2**63. Otherwise a denominator of 0 stands there, and in ``limbs`` both as
    they are, one after the other; ``spans`` says where they begin and how long they are. What an instance has is
    divided by its row of ``divisors``, and ``lengths`` are the bits of the wholes. Returns up to which instance that
    is done, how many fractions there are, and how many limbs, from `done` on; it ends where `limbs` has no room for all
    features of one more.
    """
    row, numerator, denominator = scratch
    entries, used = done
    n_features = wholes.shape[0]
    while n < starts.shape[0] - 1:
        if used + n_features * (numerator.shape[1] + denominator.shape[0]) > limbs.shape[0]:
            break
        first, last = starts[n], starts[n + 1]
        divisor = _word(divisors, n)
        for i in range(n_features):
            for w in range(union.shape[1]):
                union[0, w] = 0
            for s in range(first, last):
                if _holds(words, s, i):
                    for w in range(union.shape[1]):
                        union[0, w] |= words[s, w]
            if not _holds(union, 0, i):
                continue
            place[entries] = n * n_features + i
            a, b = _gain_in_words(first, last, words, totals, wholes, lengths, parts, i, union)
            is_short = b != 0 and _length(b) + _length(divisor) <= 63
            if is_short:
                b *= divisor
            else:
                above, below = _gain(first, last, words, totals, wholes, parts, i, union, row, numerator, denominator)
                below = multiply(denominator, below, divisors, n)
                a, b = _word(numerator, 0), _LARGEST
                if below <= 2:
                    b = np.uint64(denominator[0])
                    if below == 2:
                        b |= np.uint64(denominator[1]) << _HALF
                is_short = a < _LARGEST and b < _LARGEST
            if a == 0:
                shorts[0, entries] = 0
                shorts[1, entries] = 1
            elif is_short:
                common = _gcd(a, b)
                shorts[0, entries] = np.int64(a // common)
                shorts[1, entries] = np.int64(b // common)
            else:
                shorts[0, entries] = shorts[1, entries] = 0
                spans[0, entries] = used
                spans[1, entries] = above
                spans[2, entries] = below
                for k in range(above):
                    limbs[used + k] = numerator[0, k]
                used += above
                for k in range(below):
                    limbs[used + k] = denominator[k]
                used += below
            entries += 1
        n += 1
    return n, entries, used


@part
def _sum_of_two(a, b):
    """Return a + b rounded, and what was rounded off, which is a float as well."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@part
def _product_of_two(a, b):
    """Return a * b rounded, and what was rounded off: factors are cut into halves whose products are exact."""
    product = a * b
    cut = a * _SPLIT
    a_high = cut - (cut - a)
    a_low = a - a_high
    cut = b * _SPLIT
    b_high = cut - (cut - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@part
def _times(a, a_low, b, b_low):
    """Return the product of two numbers that are sums of two floats each, as such a sum."""
    product, error = _product_of_two(a, b)
    return _sum_of_two(product, error + (a * b_low + a_low * b))


@part
def _over(a, a_low, b, b_low):
    """Return the quotient, likewise."""
    first = a / b
    product, error = _product_of_two(first, b)
    return _sum_of_two(first, (((a - product) - error) + (a_low - first * b_low)) / b)


@part
def _leading(rows, s):
    """Return the number in ``rows[s]`` as the sum of two floats, and by which power of 2 to multiply it.

    The first four limbs have 97 bits at least, so less than 2**-96 of it is lost.
    """
    used = rows.shape[1]
    while used > 0 and rows[s, used - 1] == 0:
        used -= 1
    high = low = 0.0
    for k in range(used - 1, max(used - 5, -1), -1):
        high, error = _sum_of_two(high * _BASE, float(rows[s, k]))
        high, low = _sum_of_two(high, low * _BASE + error)
    return high, low, 32 * max(used - 4, 0)


@kernel
def mean_floats(starts, words, totals, wholes, powers, parts, common, found):
    """Fill `found` with the mean over the sets of each instance of what each feature gets; return how many are unsure.

    A set is worth its total over the product of the wholes of its features, each
    ``(wholes[i, 0] + wholes[i, 1]) * 2**powers[i]``, and a member gets ``parts / common`` of it.

    All is computed in sums of two floats. Every step loses less than 2**-95 of its result, and as nothing is
    negative, steps only add their losses up. Where all numbers that near to the result round to one float, that float
    is the nearest to the exact score. Elsewhere, and where floats get scarce, there is NaN.
    """
    m = wholes.shape[0]
    unsure = 0
    lows = np.empty(m, np.float64)
    for n in range(starts.shape[0] - 1):
        first, last = starts[n], starts[n + 1]
        for i in range(m):
            lows[i] = 0.0
        for s in range(first, last):
            a, a_low, power = _leading(totals, s)
            b = 1.0
            b_low = 0.0
            for i in range(m):
                if _holds(words, s, i):
                    b, b_low = _times(b, b_low, wholes[i, 0], wholes[i, 1])
                    power -= powers[i]
            if abs(power) > 700 or b > 1e60:
                a = np.nan  # scarce
                power = 0
            a, a_low = _over(a, a_low, b, b_low)
            a, a_low = _times(math.ldexp(a, power), math.ldexp(a_low, power), float(parts[s]), 0.0)
            for i in range(m):
                if _holds(words, s, i):
                    total, error = _sum_of_two(found[n, i], a)
                    found[n, i], lows[i] = _sum_of_two(total, lows[i] + a_low + error)
        b, b_low = _product_of_two(common, float(last - first))
        for i in range(m):
            if found[n, i] != 0.0:
                a, a_low = _over(found[n, i], lows[i], b, b_low)
                error = a * _LOSS * (3 * (last - first) + m + 8)
                found[n, i] = a
                # Not so written that NaN, of which nothing is true, would pass.
                if not (a > 1e-200 and a + (a_low - error) == a and a + (a_low + error) == a):
                    found[n, i] = np.nan
                    unsure += 1
    return unsure
