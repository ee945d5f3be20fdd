"""The passes of exact SHAP scores modulo several primes at once, compiled by numba.

A node's value is a probability, divided by nothing and lifted by nothing: conjunctions multiply,
disjunctions add, and a decision adds its children weighed by their mixed shares.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR
from axfi_kc.circuits.queries.counting_kernels import fill
from axfi_kc.compiled import kernel, part

__all__ = ["changes"]


@part
def _spread(first, last, children, values, rates, rate, primes, after):
    """Give each part of a conjunction its rate times the product of the other parts."""
    n = len(primes)
    # Products of the parts behind and before each one, and no division: a value may be 0 modulo a prime.
    for k in range(n):
        after[last - first, k] = 1
    for arc in range(last - 1, first - 1, -1):
        child = children[arc]
        for k in range(n):
            after[arc - first, k] = after[arc - first + 1, k] * values[child, k] % primes[k]
    for arc in range(first, last):
        child = children[arc]
        for k in range(n):
            # Below 2**31 + 2**62 before it is reduced; `rate` holds, besides the node's own rate, the product
            # of the parts already passed.
            rates[child, k] = (rates[child, k] + rate[k] * after[arc - first + 1, k]) % primes[k]
            rate[k] = rate[k] * values[child, k] % primes[k]


@kernel
def changes(kinds, features, offsets, children, share_of_arc, mixed, gains, primes, n_features):
    """Return for each feature what fixing it changes in the mean, modulo each prime (below 2**31).

    ``mixed[share_of_arc[a]]`` is the weight of arc a when its feature is kept with probability q and
    else drawn, ``gains[...]`` that weight if kept, less that if drawn.
    """
    n = len(primes)
    values = np.zeros((len(kinds), n), np.uint64)
    rates = np.zeros((len(kinds), n), np.uint64)
    found = np.zeros((n_features, n), np.uint64)
    rate, total = np.empty(n, np.uint64), np.empty(n, np.uint64)
    widest = 0
    for node in range(len(kinds)):
        # One scratch table for all conjunctions, as wide as the widest.
        widest = max(widest, offsets[node + 1] - offsets[node])
    after = np.empty((widest + 1, n), np.uint64)
    fill(kinds, offsets, children, share_of_arc, mixed, primes, values)
    # The mean is linear in each node's value; a rate is its derivative, and the root's is 1.
    for k in range(n):
        rates[len(kinds) - 1, k] = 1
    # Parents come after children, so going down every rate is complete before it is passed on.
    for node in range(len(kinds) - 1, -1, -1):
        first, last = offsets[node], offsets[node + 1]
        # A copy, since a conjunction multiplies into it.
        for k in range(n):
            rate[k] = rates[node, k]
        if kinds[node] == AND:
            _spread(first, last, children, values, rates, rate, primes, after)
        elif kinds[node] == OR:
            for arc in range(first, last):
                child = children[arc]
                for k in range(n):
                    rates[child, k] = (rates[child, k] + rate[k]) % primes[k]
        elif kinds[node] == DECISION:
            for k in range(n):
                total[k] = 0
            for arc in range(first, last):
                child, share = children[arc], share_of_arc[arc]
                for k in range(n):
                    # A node with several parents collects a rate from each.
                    rates[child, k] = (rates[child, k] + rate[k] * mixed[share, k]) % primes[k]
                    total[k] += gains[share, k] * values[child, k] % primes[k]
            i = features[node]
            for k in range(n):
                # Residues of the arcs were added up unreduced; the product needs a factor below the prime.
                found[i, k] = (found[i, k] + total[k] % primes[k] * rate[k]) % primes[k]
    return found
