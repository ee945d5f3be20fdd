"""The total of a circuit modulo several primes at once, compiled by numba.

A node's value is divided by the whole worth of its features, so no parent has to know which
features its children mention: conjunctions multiply, disjunctions add.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE
from axfi_kc.compiled import kernel

__all__ = ["fill", "residues", "upper_bound"]


_TINY = 1e-300  # rounded up to this, so that products of bounds never vanish


@kernel
def fill(kinds, offsets, children, shares_of_arc, shares, primes, found):
    """Put the value of each node modulo each prime (below 2**31) into `found`, a row per node.

    ``shares[shares_of_arc[a], k]`` is what the cells of arc a are worth, divided by the whole of
    the feature, modulo ``primes[k]``.
    """
    n = len(primes)
    # Products of two residues are below 2**62, and sums of 2**33 residues fit: no overflow in uint64.
    total = np.empty(n, np.uint64)
    for node in range(len(kinds)):
        first, last = offsets[node], offsets[node + 1]
        if kinds[node] == AND:
            for k in range(n):
                total[k] = 1
            # Decomposable parts are independent, so values multiply whatever features they mention.
            for arc in range(first, last):
                child = children[arc]
                for k in range(n):
                    total[k] = total[k] * found[child, k] % primes[k]
        elif kinds[node] == OR:
            # Deterministic parts exclude each other, so values add up; reducing once per node saves divisions.
            for k in range(n):
                total[k] = 0
            for arc in range(first, last):
                child = children[arc]
                for k in range(n):
                    total[k] += found[child, k]
            for k in range(n):
                total[k] %= primes[k]
        elif kinds[node] == DECISION:
            for k in range(n):
                total[k] = 0
            for arc in range(first, last):
                child, share = children[arc], shares_of_arc[arc]
                for k in range(n):
                    # Reduced per arc, unlike a disjunction's sum: more than four products of 62 bits may overflow.
                    total[k] += shares[share, k] * found[child, k] % primes[k]
            for k in range(n):
                total[k] %= primes[k]
        else:
            for k in range(n):
                total[k] = kinds[node] == TRUE
        for k in range(n):
            found[node, k] = total[k]


@kernel
def residues(kinds, offsets, children, shares_of_arc, shares, primes):
    """Return the value of the root modulo each prime; see :func:`fill`."""
    # Residues are below 2**31, so 32 bits hold them, and a large circuit takes half the memory.
    found = np.zeros((len(kinds), len(primes)), np.uint32)
    fill(kinds, offsets, children, shares_of_arc, shares, primes, found)
    return found[-1].copy()


@kernel
def upper_bound(kinds, offsets, children, shares_of_arc, shares):
    """Return a float that the root's value, given the arcs' shares rounded up, certainly does not pass.

    Each operation rounds by less than one part in 2**52; adding four of them keeps the bound above.
    """
    # Nothing is negative, so nothing cancels, and every rounding is a relative error of at most that size.
    up = 1.0 + 2.0**-50
    found = np.zeros(len(kinds), np.float64)
    for node in range(len(kinds)):
        first, last = offsets[node], offsets[node + 1]
        value = 0.0
        if kinds[node] == AND:
            value = 1.0
            for arc in range(first, last):
                # A relative error bound fails among subnormal numbers, so tiny values are lifted out of their range;
                # only a factor that is 0 itself makes the product 0.
                if value > 0.0 and found[children[arc]] > 0.0:
                    value = max(value * found[children[arc]] * up, _TINY)
                else:
                    value = 0.0
        elif kinds[node] == OR:
            for arc in range(first, last):
                value = (value + found[children[arc]]) * up
        elif kinds[node] == DECISION:
            for arc in range(first, last):
                part = shares[shares_of_arc[arc]] * found[children[arc]]
                # The product of two positive numbers may have become 0; the bound must not.
                if part > 0.0 or (shares[shares_of_arc[arc]] > 0.0 and found[children[arc]] > 0.0):
                    part = max(part, _TINY)
                value = (value + part * up) * up
        elif kinds[node] == TRUE:
            value = 1.0
        found[node] = value
    return found[-1]
