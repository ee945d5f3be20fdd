"""Exact totals by residues: the root's value modulo enough primes, put together at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit
from axfi_kc.queries.shares import Shares

__all__ = ["N_BITS", "residue_total"]

N_BITS = 30  # what each prime adds at least
_AT_ONCE = 8  # primes per pass: their residues of one node fill half a cache line


def residue_total(circuit: Circuit, shares: Shares, whole: int) -> int | None:
    """Return the total of the circuit, a non-negative integer; None if no useful bound for it is found.

    Parameters
    ----------
    circuit
        Decomposable; where it is not deterministic, points count as often as they occur.
    shares
        What the cells of each arc are worth.
    whole
        The product of the features' whole worths.

    Notes
    -----
    Linear in the circuit for each prime, and a prime per 30 bits of the result.
    """
    from axfi_kc.queries import residue_kernels as kernels

    arrays = (circuit.kinds, circuit.offsets, circuit.children, shares.of_arc)
    upper = [math.nextafter(w / d, math.inf) for w, d in zip(shares.worths, shares.wholes, strict=True)]
    bound = float(kernels.upper_bound(*arrays, np.array(upper, dtype=np.float64)))
    if not bound < 2.0**1000:
        return None
    bits = whole.bit_length() + max(0, math.frexp(bound)[1])
    needed = -(-(bits + 1) // N_BITS)
    primes = list(islice(_primes(frozenset(shares.wholes)), needed))
    found: list[int] = []
    for first in range(0, needed, _AT_ONCE):
        some = primes[first : first + _AT_ONCE]
        mod = np.array(some, dtype=np.uint64)
        found += kernels.residues(*arrays, _shares_modulo(shares, some), mod).tolist()
    return _combined([r * (whole % q) % q for r, q in zip(found, primes, strict=True)], primes)


def _shares_modulo(shares: Shares, primes: Sequence[int]) -> npt.NDArray[np.uint64]:
    table = np.empty((len(shares.worths), len(primes)), dtype=np.uint64)
    small = max(shares.worths, default=0) < 2**63 and max(shares.wholes, default=0) < 2**63
    for k, q in enumerate(primes):
        inverse = {d: pow(d, -1, q) for d in set(shares.wholes)}
        factors = np.array([inverse[d] for d in shares.wholes], dtype=np.uint64)
        worths = np.array(shares.worths if small else [w % q for w in shares.worths], dtype=np.uint64)
        table[:, k] = worths % np.uint64(q) * factors % np.uint64(q)
    return table


def _combined(residues: Sequence[int], primes: Sequence[int]) -> int:
    """Return the least number with these residues (Garner's way)."""
    found, product = 0, 1
    for r, q in zip(residues, primes, strict=True):
        found += product * ((r - found) * pow(product, -1, q) % q)
        product *= q
    return found


def _primes(avoided: frozenset[int]) -> Iterator[int]:
    """Yield primes between 2**30 and 2**31 that divide none of the numbers `avoided`."""
    for candidate in range(2**31 - 1, 2**30, -2):
        if _is_prime(candidate) and all(a % candidate for a in avoided):
            yield candidate


@cache
def _is_prime(number: int) -> bool:
    """Tell whether an odd number below 2**32 is prime; bases 2, 3, 5 and 7 leave no doubt there."""
    if any(number % p == 0 for p in (3, 5, 7, 11, 13, 17, 19, 23)):
        return False
    twos = (number - 1 & 1 - number).bit_length() - 1
    for base in (2, 3, 5, 7):
        x = pow(base, (number - 1) >> twos, number)
        if x not in (1, number - 1) and not any((x := x * x % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True
