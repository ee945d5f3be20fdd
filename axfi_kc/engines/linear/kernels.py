"""The hot loop of the linear engine, compiled by numba on first use and cached on disk.

Long for speed: one depth-first walk per instance and side, with no allocation per set. Losses
come rounded down to int64, and every comparison that rounding could decide wrongly makes the walk
give the instance up, for the exact walk in :mod:`axfi_kc.engines.linear.covers` to take over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["minimal_covers"]


DONE, UNCERTAIN, TOO_MANY = 0, 1, 2


@njit(cache=True, nogil=True)
def _covers(total: Any, n_rounded: Any, low: Any, high: Any) -> Any:
    """Return 1 if the total reaches what is needed, 0 if not, -1 if rounding hides it."""
    # The true sum is in [total, total + n_rounded), or is total if nothing was rounded; the true need is in
    # [low, high].
    if total >= high:
        return 1
    # Exact losses have low == high and n_rounded == 0, and then equality was answered above: this test must
    # not come first.
    if total + n_rounded <= low:
        return 0
    return -1


@njit(cache=True, nogil=True)
def _verdict(losses: Any, low: Any, high: Any, rounded: Any, side: Any, chosen: Any, size: Any) -> Any:
    """Return 1 if a minimal cover of `side` is minimal for all sides and new, 0 if not, -1 if unsure."""
    for other in range(len(losses)):
        # Minimal on its own side by construction; a proper part may still cover another one.
        if other == side:
            continue
        total = np.int64(0)
        smallest = np.int64(-1)
        for k in range(size):
            # Losses of exactly 0 are marked -1, which must not be added.
            loss = max(losses[other, chosen[k]], 0)
            total += loss
            if smallest < 0 or loss < smallest:
                smallest = loss
        # The best proper part leaves out the smallest loss of that side. Rounding is monotone, so the
        # smallest rounded loss belongs to one that is smallest in truth, or tied with it when rounded.
        without = _covers(total - smallest, (size - 1) * rounded[other], low[other], high[other])
        if without != 0:
            return -1 if without < 0 else 0
        # If the whole set covers an earlier side, no proper part of it does, so it was listed there.
        if other < side:
            whole = _covers(total, size * rounded[other], low[other], high[other])
            if whole != 0:
                return -1 if whole < 0 else 0
    return 1


@njit(cache=True, nogil=True)
def _grown(array: Any, needed: int) -> Any:
    """Return `array`, or a copy with room for `needed` rows."""
    if needed <= len(array):
        return array
    # Doubling keeps all copies together linear in what is stored at the end.
    larger = np.empty((max(needed, 2 * len(array)), array.shape[1]), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def minimal_covers(losses: Any, low: Any, high: Any, rounded: Any, n_words: int, max_size: int, most: int) -> Any:
    """Return for each instance the minimal sets whose losses reach what some side needs.

    Parameters
    ----------
    losses
        Per instance, side and feature, rounded down; -1 for a loss of exactly zero.
    low, high
        What is needed, rounded down and up, per instance and side.
    rounded
        1 where losses were rounded, 0 where they are exact, per instance and side.
    n_words
        Words of 64 features per set.
    max_size
        The largest size of a set.
    most
        How many sets may be met per instance.

    Returns
    -------
    starts, sets, states
        The sets of instance n are ``sets[starts[n]:starts[n + 1]]``; its state is DONE, or
        UNCERTAIN or TOO_MANY, and then it has none.
    """
    n_instances, n_sides, n_features = losses.shape
    starts = np.zeros(n_instances + 1, np.int64)
    states = np.zeros(n_instances, np.int64)
    sets = np.empty((8 * n_instances + 8, n_words), np.uint64)
    chosen = np.empty(n_features + 1, np.int64)
    stack = np.empty(n_features + 1, np.int64)
    below = np.zeros(n_features + 1, np.int64)
    for n in range(n_instances):
        end = starts[n]
        met = 0
        state = DONE
        for side in range(n_sides):
            own = losses[n, side]
            # Largest first. Ties in any order: the covers are the same, only their sequence differs.
            order = np.argsort(-own)
            usable = 0
            for i in order:
                # A loss of exactly 0 (marked -1, hence last) is in no minimal cover; one rounded to 0 may be.
                if own[i] >= 0:
                    # Entry 0 is never written and stays 0; what earlier sides left behind is beyond `usable`.
                    below[usable + 1] = below[usable] + own[i]
                    usable += 1
            lo, hi, unit = low[n, side], high[n, side], rounded[n, side]
            depth = 0
            total = np.int64(0)
            k = 0
            # The state of the walk: chosen[:depth] with its total, and k, the next feature in order to try.
            while state == DONE:
                # The next `room` features are the largest left, so their sum bounds every continuation. An
                # unsure bound must be followed: it may hide a cover.
                room = min(max_size - depth, usable - k)
                if room > 0 and _covers(total + below[k + room] - below[k], (depth + room) * unit, lo, hi) != 0:
                    i = order[k]
                    verdict = _covers(total + own[i], (depth + 1) * unit, lo, hi)
                    # A wrong answer here would lose or invent a set, so the instance is given up at once.
                    if verdict < 0:
                        state = UNCERTAIN
                    elif verdict == 0:
                        # Not a cover yet: go down, with the features after k as candidates.
                        stack[depth] = k
                        chosen[depth] = i
                        depth += 1
                        total += own[i]
                    else:
                        # A cover, and minimal: without its last feature it was surely none, and leaving out
                        # another one, which comes earlier and is no smaller, leaves no more than that.
                        chosen[depth] = i
                        # Candidates are counted before duplicates go: that is what the work is proportional to.
                        met += 1
                        kept = _verdict(losses[n], low[n], high[n], rounded[n], side, chosen, depth + 1)
                        if kept < 0:
                            state = UNCERTAIN
                        elif met > most:
                            state = TOO_MANY
                        elif kept == 1:
                            sets = _grown(sets, end + 1)
                            sets[end] = 0
                            for c in chosen[: depth + 1]:
                                sets[end, c >> 6] |= np.uint64(1) << np.uint64(c & 63)
                            end += 1
                    # On a cover this passes to the next sibling, after going down to the first child.
                    k += 1
                elif depth == 0:
                    break
                else:
                    depth -= 1
                    k = stack[depth]
                    total -= own[order[k]]
                    k += 1
        states[n] = state
        # An instance that was given up leaves no sets; what it wrote is overwritten by the next one.
        starts[n + 1] = end if state == DONE else starts[n]
    return starts, sets[: starts[-1]].copy(), states
