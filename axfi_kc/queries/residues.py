"""Exact totals by residues: the root's value modulo enough primes, put together at the end."""

from __future__ import annotations

import math

import numpy as np

from axfi_kc.budget import Account, interruptible
from axfi_kc.circuit import Circuit
from axfi_kc.queries.shares import Shares
from axfi_kc.residues import combined, n_primes_beyond, primes_not_dividing, shares_modulo

__all__ = ["N_BITS", "residue_total"]

N_BITS = 30  # what each prime adds at least
_AT_ONCE = 8  # primes per pass: their residues of one node fill half a cache line


def residue_total(circuit: Circuit, shares: Shares, whole: int, *, account: Account) -> int | None:
    """Return the total of the circuit, a non-negative integer; None if no useful bound for it is found.

    Parameters
    ----------
    circuit
        Decomposable; where it is not deterministic, points count as often as they occur.
    shares
        What the cells of each arc are worth.
    whole
        The product of the features' whole worths.
    account
        Under which it is done.

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
    needed = n_primes_beyond(1 << bits)
    primes = primes_not_dividing(shares.wholes, count=needed)
    found: list[int] = []
    for first in account.paced(range(0, needed, _AT_ONCE), at_once=1):
        some = primes[first : first + _AT_ONCE]
        mod = np.array(some, dtype=np.uint64)
        with interruptible():
            found += kernels.residues(*arrays, shares_modulo(shares.worths, shares.wholes, some), mod).tolist()
    return combined([r * (whole % q) % q for r, q in zip(found, primes, strict=True)], primes)
