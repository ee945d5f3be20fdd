"""Whether two families of sets are each other's minimal hitting sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from axfi_kc.verification.allowances import Allowance

__all__ = ["contained", "missed", "uncovered"]


def contained(family: Iterable[int], allowance: Allowance) -> tuple[int, int] | None:
    """Return two sets of a family of which the first is part of the second; None if there are none."""
    listed = sorted(family, key=int.bit_count)
    for k, large in enumerate(listed):
        allowance.tick()
        small = next((s for s in listed[:k] if s & large == s), None)
        if small is not None:
            return small, large
    return None


def missed(family: Iterable[int], others: Iterable[int], allowance: Allowance) -> tuple[int, int] | None:
    """Return a set of each family that do not meet; None if all meet."""
    listed = list(others)
    for a in family:
        allowance.tick()
        apart = next((b for b in listed if not a & b), None)
        if apart is not None:
            return a, apart
    return None


def uncovered(cxps: Iterable[int], axps: Iterable[int], everything: int, allowance: Allowance) -> int | None:
    """Return a set that contains no CXp and whose complement contains no AXp; None if there is none.

    If also every CXp meets every AXp and no set contains another of its family, then None means that each family
    consists of exactly the minimal hitting sets of the other.

    Notes
    -----
    The decomposition of Fredman and Khachiyan, on the most frequent feature: with and without it in the set, and
    both families reduced to what is left to decide.

    Examples
    --------
    >>> from axfi_kc.budget import Budget
    >>> uncovered([0b011, 0b110], [0b010, 0b101], 0b111, Allowance.of(Budget()))
    >>> uncovered([0b011, 0b110], [0b010], 0b111, Allowance.of(Budget())) is None
    False
    """
    stack = [(tuple(cxps), tuple(axps), everything, 0)]
    while stack:
        ours, theirs, rest, chosen = stack.pop()
        allowance.spend()
        if 0 in ours or 0 in theirs:
            continue
        if not ours or not theirs:
            return chosen | (rest if not ours else 0)
        counts = Counter(bit for family in (ours, theirs) for s in family for bit in _bits(s))
        bit = max(counts, key=lambda b: (counts[b], -b))
        after = rest & ~bit
        inside = (_minimal(s & ~bit for s in ours), tuple(s for s in theirs if not s & bit), after, chosen | bit)
        outside = (tuple(s for s in ours if not s & bit), _minimal(s & ~bit for s in theirs), after, chosen)
        stack += [inside, outside]
    return None


def _bits(mask: int) -> Iterable[int]:
    while mask:
        yield mask & -mask
        mask &= mask - 1


def _minimal(family: Iterable[int]) -> tuple[int, ...]:
    kept: list[int] = []
    for s in sorted(set(family), key=int.bit_count):
        if not any(k & s == k for k in kept):
            kept.append(s)
    return tuple(kept)
