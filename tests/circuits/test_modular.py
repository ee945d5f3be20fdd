"""Primes that residues are taken by."""

from __future__ import annotations

from math import isqrt

from axfi_kc.circuits.modular import _is_prime, primes_not_dividing


def test_numbers_that_pass_the_test_of_fermat_are_no_primes() -> None:
    assert not _is_prime(601 * 1201 * 1801)  # of Carmichael: a**(n - 1) is 1 for every a without a common factor


def test_primes_are_those_of_trial_division() -> None:
    def is_prime(n: int) -> bool:
        return all(n % d for d in range(2, 1 + isqrt(n)))

    expected = [n for n in range(2**31 - 1, 2**31 - 400, -2) if is_prime(n)]
    assert primes_not_dividing([], count=len(expected)) == expected
    assert primes_not_dividing([expected[1] * 6, 10], count=3) == [expected[0], *expected[2:4]]
