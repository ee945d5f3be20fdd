"""Exact numbers from residues modulo primes of 31 bits, whose products fit int64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice

import numpy as np
import numpy.typing as npt

__all__ = ["combined", "combined_rows", "n_primes_beyond", "primes_not_dividing", "shares_modulo"]


_BITS = 30  # primes of 31 bits exceed 2**30


def n_primes_beyond(largest: int, *, bits: int = _BITS + 1) -> int:
    """Return a number of primes of so many bits whose product surely exceeds `largest`.

    Examples
    --------
    >>> n_primes_beyond(2**30 - 1), n_primes_beyond(2**30)
    (2, 2)
    """
    # Every prime of 31 bits exceeds 2**30, so that many of them multiply to more than 2**(bit_length of largest).
    return largest.bit_length() // (bits - 1) + 1


def primes_not_dividing(numbers: Iterable[int], *, count: int, bits: int = _BITS + 1) -> list[int]:
    """Return the `count` largest primes of so many bits, at most 31, that divide none of `numbers`.

    Notes
    -----
    Some 50 microseconds each; more than 50 million are above 2**30.

    Examples
    --------
    >>> primes_not_dividing([2**31 - 1], count=2)
    [2147483629, 2147483587]
    """
    # Shares are divided by these numbers modulo each prime, so none of them may be 0 there. Distinct ones
    # only: a grid has thousands of cells but few denominators.
    distinct = set(numbers)
    # Always the same primes, largest first, so the cache of `_is_prime` serves every call.
    candidates = (p for p in range(2**bits - 1, 2 ** (bits - 1), -2) if _is_prime(p))
    return list(islice((p for p in candidates if all(n % p for n in distinct)), count))


@cache
def _is_prime(n: int) -> bool:
    """Tell whether an odd number from 8 to 2**31 is prime: there, 2, 3, 5 and 7 witness against all others."""
    # The least composite that passes with all four bases is 3,215,031,751, beyond 2**31: no doubt is left.
    return all(_is_likely(n, base) for base in (2, 3, 5, 7))


def _is_likely(n: int, base: int) -> bool:
    """Tell whether `base` does not witness that n is composite (Miller and Rabin)."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    power = pow(base, odd, n)
    # Modulo a prime the last value of the sequence is 1, and what comes before the first 1 can only be -1:
    # nothing else squares to 1.
    if power in (1, n - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % n
        if power == n - 1:
            return True
    return False


def shares_modulo(worths: Sequence[int], wholes: Sequence[int], primes: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Return ``worths[k] / wholes[k]`` modulo each prime: a row per share, a column per prime.

    No prime may divide a whole.

    Examples
    --------
    >>> prime = 2**31 - 1
    >>> int(shares_modulo([1], [3], [prime])[0, 0]) * 3 % prime
    1
    """
    table = np.empty((len(worths), len(primes)), dtype=np.uint64)
    small = max(worths, default=0) < 2**63  # then numpy takes the remainders, and not Python one by one
    for k, q in enumerate(primes):
        # One inverse for each distinct whole: an inverse costs far more than a product.
        inverse = {d: pow(d, -1, q) for d in set(wholes)}
        factors = np.array([inverse[d] for d in wholes], dtype=np.uint64)
        remainders = np.array(worths if small else [w % q for w in worths], dtype=np.uint64) % np.uint64(q)
        table[:, k] = remainders * factors % np.uint64(q)
    return table


def combined(remainders: Sequence[int], primes: Sequence[int]) -> int:
    """Return the least number that is not negative and leaves these remainders.

    Examples
    --------
    >>> primes = primes_not_dividing([], count=n_primes_beyond(10**20))
    >>> combined([10**20 % p for p in primes], primes) == 10**20
    True
    """
    found, modulus = 0, 1
    for remainder, prime in zip(remainders, primes, strict=True):
        # Mixed radix: what is added is a multiple of all primes so far, so it changes no remainder that is
        # right already. Numbers stay as small as the product of the primes used.
        found += modulus * ((remainder - found) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return found


def combined_rows(table: npt.NDArray[np.uint64], primes: Sequence[int]) -> list[int]:
    """Return what :func:`combined` makes of each row of remainders.

    Notes
    -----
    By a tree of products, made once for all rows: far faster than one prime after the other where there are hundreds.

    Examples
    --------
    >>> primes = primes_not_dividing([], count=3)
    >>> combined_rows(np.array([[5] * 3, [10**9 % p for p in primes]], dtype=np.uint64), primes)
    [5, 1000000000]
    """
    levels = [list(primes)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([below[k] * below[k + 1] if k + 1 < len(below) else below[k] for k in range(0, len(below), 2)])
    whole = levels[-1][0]
    # A number is the sum of c_p * (whole / p) with c_p = remainder / (whole / p) modulo p.
    inverses = np.array([pow(whole // p % p, -1, p) for p in primes], dtype=np.uint64)
    numerators = table * inverses % np.array(primes, dtype=np.uint64)
    return [_joined(row, levels) % whole for row in numerators.tolist()]


def _joined(numbers: list[int], levels: Sequence[Sequence[int]]) -> int:
    """Return the sum of ``numbers[k] * whole / primes[k]``, from the products of two, of four, and so on."""
    for moduli in levels[:-1]:
        pairs = range(0, len(numbers) - 1, 2)
        joined = [numbers[k] * moduli[k + 1] + numbers[k + 1] * moduli[k] for k in pairs]
        numbers = joined + numbers[len(numbers) & ~1 :]
    return numbers[0]
