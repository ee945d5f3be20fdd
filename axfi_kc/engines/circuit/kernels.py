"""Oracle and counts of a circuit in the box of an instance; compiled by numba.

A box frees some features and holds the others at the instance's cells. Every pass goes over the
nodes, children first. `holds` tells for each arc of a decision whether the instance follows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE
from axfi_kc.circuits.queries.truth_kernels import has_cell
from axfi_kc.compiled import kernel, part

__all__ = ["BY_COUNT", "BY_DECISIONS", "NEVER", "WHERE_TRUE", "cheapest", "followed", "is_weak", "residues", "shrink"]


# what is looked for: a point where the circuit holds, or one where it fails; in the latter case
# decisions and conjunctions alone tell by themselves, disjunctions by counting
WHERE_TRUE, BY_DECISIONS, BY_COUNT = 0, 1, 2
NEVER = 1 << 40  # more changes than there are features


@kernel
def _follow(flat, v, out):
    for node in range(flat.kinds.shape[0]):
        if flat.kinds[node] == DECISION:
            at = v[flat.features[node]]
            for arc in range(flat.offsets[node], flat.offsets[node + 1]):
                out[arc] = has_cell(flat, flat.labels[arc], at)


def followed(flat: Any, v: Any) -> Any:
    """Tell for each arc whether the instance with cells v follows it."""
    # Arcs of conjunctions and disjunctions keep a 1 that nobody reads.
    out = np.ones(flat.children.shape[0], np.uint8)
    _follow(flat, v, out)
    return out


@part
def _somewhere(flat, holds, free, flags):
    """Tell whether the circuit holds at some point of the box."""
    for node in range(flat.kinds.shape[0]):
        kind = flat.kinds[node]
        first, last = flat.offsets[node], flat.offsets[node + 1]
        found = kind in (TRUE, AND)
        # Decomposability makes this right: parts without a common feature can be satisfied independently.
        if kind == AND:
            for arc in range(first, last):
                if not flags[flat.children[arc]]:
                    found = False
                    break
        elif kind == OR:
            for arc in range(first, last):
                if flags[flat.children[arc]]:
                    found = True
                    break
        elif kind == DECISION:
            # A set of cells is never empty, so a free feature can take any arc.
            any_cell = free[flat.features[node]]
            for arc in range(first, last):
                if (any_cell or holds[arc]) and flags[flat.children[arc]]:
                    found = True
                    break
        flags[node] = found
    return flags[flat.kinds.shape[0] - 1] != 0


@part
def _everywhere(flat, holds, free, flags):
    """Tell whether a circuit without disjunctions holds at all points of the box."""
    for node in range(flat.kinds.shape[0]):
        kind = flat.kinds[node]
        first, last = flat.offsets[node], flat.offsets[node + 1]
        found = kind in (TRUE, AND)
        if kind == AND:
            for arc in range(first, last):
                if not flags[flat.children[arc]]:
                    found = False
                    break
        elif kind == DECISION:
            # A disjunction has no case of its own: it can hold everywhere though none of its parts does,
            # which is why such circuits are counted instead.
            if free[flat.features[node]]:
                # A cell that no arc names leads to false, so the arcs must name all of them.
                found = flat.complete[node] != 0
                for arc in range(first, last):
                    if not flags[flat.children[arc]]:
                        found = False
                        break
            else:
                for arc in range(first, last):
                    # Arcs of one decision share no cell, so the instance follows one at most; none means false.
                    if holds[arc]:
                        found = flags[flat.children[arc]] != 0
                        break
        flags[node] = found
    return flags[flat.kinds.shape[0] - 1] != 0


@part
def _share(flat, holds, free, share_of_arc, shares, prime, values):
    """Return the circuit's share of the box modulo `prime`; arc a has ``shares[share_of_arc[a]]`` of its feature."""
    for node in range(flat.kinds.shape[0]):
        kind = flat.kinds[node]
        first, last = flat.offsets[node], flat.offsets[node + 1]
        # Shares are of the whole box, so a feature that a part does not mention counts 1 and nothing needs to
        # be smoothed.
        total = np.int64(kind in (TRUE, AND))
        if kind == AND:
            for arc in range(first, last):
                # Both factors are below a prime below 2**31, so products stay below 2**62.
                total = total * values[flat.children[arc]] % prime
                if total == 0:
                    break
        elif kind == OR:
            # Deterministic parts share no point and may be added. Reducing once at the end is enough for any
            # number of arcs that fits into memory (2**32 of them would be needed to overflow).
            for arc in range(first, last):
                total += values[flat.children[arc]]
            total %= prime
        elif kind == DECISION:
            if free[flat.features[node]]:
                for arc in range(first, last):
                    below = values[flat.children[arc]]
                    if below:
                        # At most 2**31 + 2**62, within int64 before it is reduced.
                        total = (total + shares[share_of_arc[arc]] * below) % prime
            else:
                for arc in range(first, last):
                    if holds[arc]:
                        total = values[flat.children[arc]]
                        break
        values[node] = total
    return values[flat.kinds.shape[0] - 1]


@kernel
def is_weak(flat, holds, free, task, share_of_arc, shares, primes, flags, values):
    """Tell whether the box has a point of the kind that `task` looks for.

    By counting: all points satisfy the circuit exactly when its share is 1. A share that is not 1
    modulo some prime is not 1; one that is 1 modulo primes whose product exceeds the number of
    points, is.
    """
    if task == WHERE_TRUE:
        return _somewhere(flat, holds, free, flags)
    if task == BY_DECISIONS:
        return not _everywhere(flat, holds, free, flags)
    # The number of points that fail lies between 0 and that of the box, and is divisible by each prime for
    # which the share is 1. One prime mostly ends this: a share other than 1 seldom looks like 1.
    k = 0
    while k < primes.shape[0] and _share(flat, holds, free, share_of_arc, shares[k], primes[k], values) == 1:
        k += 1
    return k < primes.shape[0]


@kernel
def shrink(flat, holds, free, features, task, share_of_arc, shares, primes, flags, values):
    """Fix those of the free `features` without which the box keeps a point that is looked for."""
    # One try per feature is enough: what a larger box cannot do without, a smaller one cannot either.
    for k in range(features.shape[0]):
        i = features[k]
        if free[i]:
            free[i] = 0
            if not is_weak(flat, holds, free, task, share_of_arc, shares, primes, flags, values):
                free[i] = 1


@kernel
def residues(flat, holds, features, offsets, free, share_of_arc, shares, primes, n_primes, values, out):
    """Write the circuit's share of each box modulo its first primes.

    Box b frees ``features[offsets[b]:offsets[b + 1]]``; `free` is all 0 before and after.
    """
    for b in range(offsets.shape[0] - 1):
        for k in range(offsets[b], offsets[b + 1]):
            free[features[k]] = 1
        # A small box has few points, so it needs fewer primes than the largest of the batch.
        for k in range(n_primes[b]):
            out[b, k] = _share(flat, holds, free, share_of_arc, shares[k], primes[k], values)
        # Undoing only what was set costs the size of the box, not the number of features.
        for k in range(offsets[b], offsets[b + 1]):
            free[features[k]] = 0


@kernel
def cheapest(flat, holds, free, wanted, without, using):
    """Write for each node how few features must change to make it true: any, and one of them being `wanted`.

    A feature that is not free keeps the instance's cell. `using` counts only ways on which a decision on `wanted` is
    left by an arc that the instance does not follow: on others its change would be for nothing.
    """
    for node in range(flat.kinds.shape[0]):
        kind = flat.kinds[node]
        first, last = flat.offsets[node], flat.offsets[node + 1]
        least, least_using = NEVER, NEVER
        if kind == TRUE:
            least = 0
        elif kind == AND:
            least, best = 0, NEVER
            for arc in range(first, last):
                child = flat.children[arc]
                least += without[child]
                # Parts have no feature in common, so `wanted` changes in one of them.
                if using[child] < NEVER and without[child] < NEVER:
                    best = min(best, using[child] - without[child])
                elif using[child] < NEVER:
                    best = min(best, using[child] - NEVER)
            least_using = least + best if best < NEVER else NEVER
            least, least_using = min(least, NEVER), min(least_using, NEVER)
        elif kind == OR:
            for arc in range(first, last):
                least = min(least, without[flat.children[arc]])
                least_using = min(least_using, using[flat.children[arc]])
        elif kind == DECISION:
            feature = flat.features[node]
            for arc in range(first, last):
                child = flat.children[arc]
                if holds[arc]:
                    least = min(least, without[child])
                    least_using = min(least_using, using[child])
                elif free[feature]:
                    if feature == wanted:
                        least_using = min(least_using, without[child] + 1)
                    else:
                        least_using = min(least_using, using[child] + 1)
                    least = min(least, without[child] + 1)
            least, least_using = min(least, NEVER), min(least_using, NEVER)
        without[node] = least
        using[node] = least_using
