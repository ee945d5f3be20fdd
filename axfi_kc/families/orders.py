"""Orders of elements in which the diagrams of families given as lists stay small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, paced
from axfi_kc.sets import features_of

__all__ = ["linked_order"]

_ROUNDS = 30
Numbers = npt.NDArray[np.int64]


def linked_order(masks: Sequence[int], *, account: Account | None = None) -> tuple[int, ...]:
    """Return the elements of the sets, those that occur together close to each other.

    Elements that no chain of sets links are kept apart. Among linked ones, elements are moved to
    the mean place of their sets again and again (the FORCE heuristic of Aloul, Markov and
    Sakallah); the order with the smallest spans is taken.

    Parameters
    ----------
    masks
        The sets.
    account
        Under which it is done, if there is a budget.

    Notes
    -----
    Thirty rounds, each linear in the total size of the sets, and a sort.

    Examples
    --------
    >>> linked_order([0b000101, 0b101000, 0b000110])
    (0, 2, 1, 3, 5)
    """
    members = [features_of(mask) for mask in paced(masks, account) if mask]
    if not members:
        return ()
    owner = np.repeat(np.arange(len(members)), [len(s) for s in members])
    elements, flat = np.unique(np.array([e for s in paced(members, account) for e in s]), return_inverse=True)
    group = _groups(paced(members, account), elements.tolist())
    place = np.argsort(np.argsort(group, kind="stable"))
    best, least = place, _span(place, owner, flat)
    for _ in paced(range(_ROUNDS), account, at_once=1):
        centre = np.bincount(owner, place[flat]) / np.bincount(owner)
        wanted = np.bincount(flat, centre[owner]) / np.bincount(flat)
        place = np.argsort(np.lexsort((wanted, group)))
        span = _span(place, owner, flat)
        if span < least:
            best, least = place, span
    return tuple(elements[np.argsort(best)].tolist())


def _span(place: Numbers, owner: Numbers, flat: Numbers) -> int:
    """Return the sum over the sets of the distance between their first and last element."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return int((np.maximum.reduceat(place[flat], starts) - np.minimum.reduceat(place[flat], starts)).sum())


def _groups(members: Iterable[Sequence[int]], elements: Sequence[int]) -> Numbers:
    """Return for each element the place of the first element that it is linked to."""
    parent = {e: e for e in elements}

    def top(e: int) -> int:
        while parent[e] != e:
            parent[e] = parent[parent[e]]
            e = parent[e]
        return e

    for first, *others in members:
        for e in others:
            a, b = top(first), top(e)
            parent[max(a, b)] = min(a, b)
    return np.searchsorted(np.array(elements), np.array([top(e) for e in elements]))
