"""The hot loop of the linear engine, compiled by numba on first use and cached on disk.

Long for speed: one depth-first walk per instance and side, with no allocation per set. Losses
come rounded down to int64, and every comparison that rounding could decide wrongly makes the walk
give the instance up, for the exact walk in :mod:`axfi_kc.engines.linear.covers` to take over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axfi_kc.compiled import kernel, part

__all__ = ["minimal_covers"]


DONE, UNCERTAIN, TOO_MANY = 0, 1, 2


@part
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


@kernel
def _verdict(losses: Any, low: Any, high: Any, rounded: Any, n: Any, side: Any, chosen: Any, size: Any) -> Any:
    """Return 1 if a minimal cover of `side` is minimal for all sides and new, 0 if not, -1 if unsure."""
    for other in range(losses.shape[1]):
        # Minimal on its own side by construction; a proper part may still cover another one.
        if other == side:
            continue
        total = np.int64(0)
        smallest = np.int64(-1)
        for k in range(size):
            # Losses of exactly 0 are marked -1, which must not be added.
            loss = max(losses[n, other, chosen[k]], 0)
            total += loss
            if smallest < 0 or loss < smallest:
                smallest = loss
        # The best proper part leaves out the smallest loss of that side. Rounding is monotone, so the
        # smallest rounded loss belongs to one that is smallest in truth, or tied with it when rounded.
        without = _covers(total - smallest, (size - 1) * rounded[n, other], low[n, other], high[n, other])
        if without != 0:
            return -1 if without < 0 else 0
        # If the whole set covers an earlier side, no proper part of it does, so it was listed there.
        if other < side:
            whole = _covers(total, size * rounded[n, other], low[n, other], high[n, other])
            if whole != 0:
                return -1 if whole < 0 else 0
    return 1


@kernel
def _walk(
    losses: Any, low: Any, high: Any, rounded: Any, order: Any, max_size: int, most: int, chosen: Any, stack: Any,
    below: Any, first: int, starts: Any, states: Any, sets: Any,
) -> Any:  # fmt: skip
    """Find the covers of the instances from `first` on; return how many are done: all, unless `sets` is full.

    See :func:`minimal_covers`; ``order[n, side]`` lists features by falling loss. Neither allocates, nor takes parts of
    arrays: numba compiles either for seconds.
    """
    for n in range(first, losses.shape[0]):
        end = starts[n]
        met = 0
        state = DONE
        for side in range(losses.shape[1]):
            usable = 0
            for k in range(losses.shape[2]):
                # A loss of exactly 0 (marked -1, hence last) is in no minimal cover; one rounded to 0 may be.
                loss = losses[n, side, order[n, side, k]]
                if loss >= 0:
                    # Entry 0 is never written and stays 0; what earlier sides left behind is beyond `usable`.
                    below[usable + 1] = below[usable] + loss
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
                    i = order[n, side, k]
                    loss = losses[n, side, i]
                    verdict = _covers(total + loss, (depth + 1) * unit, lo, hi)
                    # A wrong answer here would lose or invent a set, so the instance is given up at once.
                    if verdict < 0:
                        state = UNCERTAIN
                    elif verdict == 0:
                        # Not a cover yet: go down, with the features after k as candidates.
                        stack[depth] = k
                        chosen[depth] = i
                        depth += 1
                        total += loss
                    else:
                        # A cover, and minimal: without its last feature it was surely none, and leaving out
                        # another one, which comes earlier and is no smaller, leaves no more than that.
                        chosen[depth] = i
                        # Candidates are counted before duplicates go: that is what the work is proportional to.
                        met += 1
                        kept = _verdict(losses, low, high, rounded, n, side, chosen, depth + 1)
                        if kept < 0:
                            state = UNCERTAIN
                        elif met > most:
                            state = TOO_MANY
                        elif kept == 1:
                            if end == sets.shape[0]:
                                return n
                            for w in range(sets.shape[1]):
                                sets[end, w] = 0
                            for c in range(depth + 1):
                                sets[end, chosen[c] >> 6] |= np.uint64(1) << np.uint64(chosen[c] & 63)
                            end += 1
                    # On a cover this passes to the next sibling, after going down to the first child.
                    k += 1
                elif depth == 0:
                    break
                else:
                    depth -= 1
                    k = stack[depth]
                    total -= losses[n, side, order[n, side, k]]
                    k += 1
        states[n] = state
        # An instance that was given up leaves no sets; what it wrote is overwritten by the next one.
        starts[n + 1] = end if state == DONE else starts[n]
    return losses.shape[0]


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
    n_instances, _, n_features = losses.shape
    # Largest first. Ties in any order: the covers are the same, only their sequence differs.
    order = np.argsort(-losses, axis=2)
    scratch = (*np.zeros((2, n_features + 1), np.int64), np.zeros(n_features + 1, np.int64))
    starts, states = np.zeros(n_instances + 1, np.int64), np.zeros(n_instances, np.int64)
    sets = np.empty((8 * n_instances + 8, n_words), np.uint64)
    task = (losses, low, high, rounded, order, max_size, most, *scratch)
    done = _walk(*task, 0, starts, states, sets)
    while done < n_instances:
        # Doubling keeps all copies, and what is walked twice, linear in what is stored at the end.
        sets = np.concatenate([sets, np.empty_like(sets)])
        done = _walk(*task, done, starts, states, sets)
    return starts, sets[: starts[-1]].copy(), states
