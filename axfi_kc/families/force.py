"""Orders in which what occurs together is close together: the FORCE heuristic."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, paced

__all__ = ["force_order"]


_ROUNDS = 200
Numbers = npt.NDArray[np.int64]


def force_order(start: Sequence[int], sets: Sequence[Collection[int]], *, account: Account | None = None) -> list[int]:
    """Return the elements in an order in which those of each set are close to each other.

    Each set is put at the mean place of its elements, then each element at the mean of its sets, and again
    while the total span of the sets shrinks (Aloul, Markov and Sakallah, 2003). Elements that no chain of
    sets links are kept apart, and those of no set come last.

    Parameters
    ----------
    start
        Every element once, in the order to begin with, which also breaks ties.
    sets
        Sets of these elements.

    Notes
    -----
    Some rounds, each linear in the total size of the sets, and a sort. Going on after a round that did not
    help was measured: smaller spans, but larger diagrams.

    Examples
    --------
    >>> force_order([0, 1, 2, 3, 4, 5], [{0, 2}, {3, 5}, {1, 2}])
    [0, 2, 1, 3, 5, 4]
    """
    place_of = {element: k for k, element in enumerate(start)}
    members = [[place_of[e] for e in s] for s in paced(sets, account) if s]
    if not members:
        return list(start)
    # from here on an element is its place in `start`
    owner = np.repeat(np.arange(len(members)), [len(s) for s in members])
    flat = np.array([e for s in paced(members, account) for e in s], dtype=np.int64)
    group = _groups(members, len(start), account)
    uses = np.bincount(flat, minlength=len(start))
    place = np.argsort(np.lexsort((np.arange(len(start)), group)))
    best, least = place, _span(place, owner, flat)
    for _ in paced(range(_ROUNDS), account, at_once=1):
        centre = np.bincount(owner, place[flat]) / np.bincount(owner)
        wanted = np.bincount(flat, centre[owner], minlength=len(start)) / np.maximum(uses, 1)
        place = np.argsort(np.lexsort((place, wanted, group)))
        span = _span(place, owner, flat)
        if span >= least:
            break
        best, least = place, span
    return [start[k] for k in np.argsort(best).tolist()]


def _span(place: Numbers, owner: Numbers, flat: Numbers) -> int:
    """Return the sum over the sets of the distance between their first and last element."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return int((np.maximum.reduceat(place[flat], starts) - np.minimum.reduceat(place[flat], starts)).sum())


def _groups(members: Sequence[Sequence[int]], n: int, account: Account | None) -> Numbers:
    """Return for each of n elements the first one that it is linked to; n for elements of no set."""
    parent = list(range(n))
    used = np.zeros(n, dtype=bool)

    def top(e: int) -> int:
        while parent[e] != e:
            parent[e] = parent[parent[e]]
            e = parent[e]
        return e

    for some in paced(members, account):
        used[some] = True
        for e in some[1:]:
            a, b = top(some[0]), top(e)
            parent[max(a, b)] = min(a, b)
    return np.where(used, np.array([top(e) for e in range(n)], dtype=np.int64), n)
