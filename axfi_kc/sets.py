"""Families of feature sets as ints, bit i for feature i: minimal sets and hitting sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["features_of", "minimal_hitting_sets", "minimal_sets", "sorted_sets"]


def features_of(mask: int) -> tuple[int, ...]:
    """Return the features in `mask`, in order.

    Examples
    --------
    >>> features_of(0b1101)
    (0, 2, 3)
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def sorted_sets(family: Iterable[int]) -> list[int]:
    """Return the sets smallest first, then in the order of their features."""
    return sorted(family, key=lambda s: (s.bit_count(), features_of(s)))


def minimal_sets(family: Iterable[int]) -> list[int]:
    """Return the sets that contain no other, sorted.

    Notes
    -----
    Quadratic in the number of minimal sets in the worst case.

    Examples
    --------
    >>> minimal_sets([0b011, 0b001, 0b110])
    [1, 6]
    """
    kept: list[int] = []
    for candidate in sorted_sets(set(family)):
        if not any(s & candidate == s for s in kept):
            kept.append(candidate)
    return kept


def minimal_hitting_sets(family: Iterable[int]) -> list[int]:
    """Return the minimal sets that meet every set of `family`, sorted.

    The AXps of a problem are the minimal hitting sets of its CXps, and the other way round.

    Notes
    -----
    Depth first with critical sets: an element is added only while each element so far is the
    only one to hit some set, so every leaf of the search is a new answer and none is met twice.
    Exponential output is possible and no fault of the search.

    Examples
    --------
    >>> minimal_hitting_sets([0b011, 0b101])
    [1, 6]
    """
    return sorted_sets(_hitting_sets(minimal_sets(family)))


def _hitting_sets(sets: list[int]) -> Iterator[int]:
    """Yield the minimal hitting sets of `sets` (the search of Murakami and Uno)."""
    n = len(sets)
    occurs: dict[int, int] = {}  # element -> the sets (as bits) it is in
    for k, s in enumerate(sets):
        for e in features_of(s):
            occurs[e] = occurs.get(e, 0) | 1 << k
    everything = 0
    for s in sets:
        everything |= s
    stack: list[tuple[int, int, dict[int, int], int]] = [(0, (1 << n) - 1, {}, everything)]
    while stack:
        chosen, unhit, critical, candidates = stack.pop()
        if not unhit:
            yield chosen
            continue
        pivot = min((sets[k] & candidates for k in features_of(unhit)), key=int.bit_count)
        rest = candidates & ~pivot
        for e in features_of(pivot):
            kept = {c: hit & ~occurs[e] for c, hit in critical.items()}
            if all(kept.values()):
                kept[e] = occurs[e] & unhit
                stack.append((chosen | 1 << e, unhit & ~occurs[e], kept, rest))
            rest |= 1 << e
