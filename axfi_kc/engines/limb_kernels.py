"""Sums and products of wide integers, compiled by numba; see :mod:`axfi_kc.engines.limbs` for how these are laid out.

The callers see to it that every row is wide enough for all sums and products that go into it, so no carry is lost.
"""

from __future__ import annotations

import math

import numpy as np

from axfi_kc.compiled import kernel, part

__all__ = ["add", "mean_floats", "multiply", "spread"]


_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
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


@kernel
def spread(starts, words, totals, wholes, parts, row_of, numerators, denominators):
    """Fill the rows of limbs ``row_of[n, i]`` with what feature i gets of the sets of instance n, as a fraction.

    A set is worth its total over the product of the wholes of its features, and each member gets ``parts`` times that.
    Sums are over one denominator for each instance and feature: the wholes of all features beside which the feature
    is in a set, which are far fewer than those of the instance.
    """
    n_features = wholes.shape[0]
    row = np.empty(numerators.shape[1] + wholes.shape[1], np.uint32)
    union = np.empty(n_features, np.uint8)
    for n in range(starts.shape[0] - 1):
        for i in range(n_features):
            at = row_of[n, i]
            if at < 0:
                continue
            for j in range(n_features):
                union[j] = 0
            for s in range(starts[n], starts[n + 1]):
                if _holds(words, s, i):
                    for j in range(n_features):
                        union[j] |= _holds(words, s, j)
            row[0] = used = 1
            for j in range(n_features):
                if union[j]:
                    used = multiply(row, used, wholes, j)
            for k in range(used):
                denominators[at, k] = row[k]
            for s in range(starts[n], starts[n + 1]):
                if _holds(words, s, i):
                    used = _loaded(row, totals, s)
                    for j in range(n_features):
                        if union[j] and not _holds(words, s, j):
                            used = multiply(row, used, wholes, j)
                    add(numerators, at, row, used, parts[s])


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
