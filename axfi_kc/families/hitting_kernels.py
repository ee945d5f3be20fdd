"""All minimal hitting sets by the MMCS search of Murakami and Uno; compiled by numba."""

from __future__ import annotations

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL
from axfi_kc.compiled import kernel, part

__all__ = ["FRESH", "N_OUT", "REGISTERS", "minimal_hitting_sets"]


# registers besides NODES and LIMIT
DEPTH, N_OUT, FRESH = 2, 3, 4
REGISTERS = 5


@part
def _choose(members, open_sets, candidates, branch):
    """Candidates of the uncovered set that has fewest; False if all are covered."""
    best = -1
    fewest = members.shape[1] + 1
    for e in range(members.shape[0]):
        # Padding bits past the last row are 0 in `uncovered` from the start, and stay so.
        if open_sets[e >> 6] >> np.uint64(e & 63) & np.uint64(1):
            size = 0
            for i in range(members.shape[1]):
                size += members[e, i] & candidates[i]
            # The fewest candidates give the fewest branches; a set without any gives none, and ends this one.
            if size < fewest:
                fewest = size
                best = e
    if best < 0:
        return False
    for i in range(members.shape[1]):
        # Elements of the branch leave the candidates together and return one by one as they have been tried.
        # So a hitting set with several of them is found only under the last one: never twice.
        branch[i] = members[best, i] & candidates[i]
        candidates[i] &= 1 - branch[i]
    return True


@part
def _add(occurs, i, d, chosen, uncovered, critical):
    """Add `i` as element d; False if an earlier element has no set of its own left."""
    words = occurs.shape[1]
    for k in range(d):
        # Critical rows are those that element k alone hits. They only become fewer further down, so once
        # there are none, no set below is minimal. What was written to depth d + 1 until then is overwritten.
        own = np.uint64(0)
        for w in range(words):
            critical[d + 1, k, w] = critical[d, k, w] & ~occurs[i, w]
            own |= critical[d + 1, k, w]
        if not own:
            return False
    for w in range(words):
        # Not empty, because i comes from a set that is still uncovered; hence no test for the new element.
        critical[d + 1, d, w] = uncovered[d, w] & occurs[i, w]
        uncovered[d + 1, w] = uncovered[d, w] & ~occurs[i, w]
    chosen[d] = i
    return True


@kernel
def minimal_hitting_sets(members, occurs, chosen, candidates, branch, uncovered, critical, out, reg):
    """Continue listing the minimal hitting sets of the rows of `members` (0/1).

    `occurs[i]` is the bit set of rows that contain i. Depth d has `candidates[d]`
    still allowed below it and `branch[d]` still to be tried; an element that
    spoils minimality once is not tried again below. Each set is written
    to `out` as a 0/1 row. Any status but DONE leaves a state to continue from.
    """
    n = members.shape[1]
    while reg[DEPTH] >= 0:
        d = reg[DEPTH]
        # Both tests come before the state changes, so a call that returns here can simply be repeated.
        if reg[N_OUT] >= out.shape[0]:
            return STORE_FULL
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        # Set on the way down only: coming back up, the branch of this depth goes on where it stopped.
        if reg[FRESH]:
            reg[FRESH] = 0
            reg[NODES] += 1
            if not _choose(members, uncovered[d], candidates[d], branch[d]):
                # All are covered, and by `_add` each element has a row of its own: a minimal hitting set.
                for i in range(n):
                    out[reg[N_OUT], i] = 0
                for k in range(d):
                    out[reg[N_OUT], chosen[k]] = 1
                reg[N_OUT] += 1
                reg[DEPTH] = d - 1
                if d > 0:
                    # The element that led here has been tried with all that follows; its siblings may use it again.
                    candidates[d - 1, chosen[d - 1]] = 1
                continue
        i = 0
        while i < n and not branch[d, i]:
            i += 1
        if i == n:
            reg[DEPTH] = d - 1
            if d > 0:
                candidates[d - 1, chosen[d - 1]] = 1
            continue
        # Before it is known whether the element fits: one that does not is out for all of its siblings too,
        # because it stays out of the candidates.
        branch[d, i] = 0
        if _add(occurs, i, d, chosen, uncovered, critical):
            for k in range(n):
                candidates[d + 1, k] = candidates[d, k]
            reg[DEPTH] = d + 1
            reg[FRESH] = 1
    return DONE
