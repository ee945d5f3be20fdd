"""All CXps of an instance from one question: whether changing some features can change the output.

Asked for all small sets, or for hitting sets of the CXps known so far, which gives the AXps as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Protocol

from axfi_kc.budget import BudgetSpent, Meter
from axfi_kc.families.masks import features_of

__all__ = ["Oracle", "cxps_by_duality", "cxps_by_size"]


class Oracle(Protocol):
    """Tells which sets of features, as masks, are weak CXps of one instance."""

    @property
    def all(self) -> int:
        """The set of all features that may matter: bits from 0 on."""
        ...

    def is_weak(self, mask: int) -> bool:
        """Tell whether changing only these features can make the output dissimilar."""
        ...

    def shrunk(self, mask: int, meter: Meter) -> int | None:
        """Return a CXp within a weak one; None if the meter ends."""
        ...


def cxps_by_size(oracle: Oracle, *, max_size: int, meter: Meter) -> list[int]:
    """Return the CXps of at most `max_size` features, smallest first, by asking for all such sets.

    Raises
    ------
    BudgetSpent
        With the CXps found so far.
    """
    found: list[int] = []
    bits = [1 << k for k in range(oracle.all.bit_length())]
    for size in range(min(len(bits), max_size) + 1):
        for chosen in combinations(bits, size):
            S = sum(chosen)
            # Smallest first, so a weak set that contains no CXp found so far is minimal.
            if any(Y & S == Y for Y in found):
                continue
            if not meter.spend(1) or meter.is_spent:
                raise BudgetSpent(found)
            if oracle.is_weak(S):
                found.append(S)
    return found


def cxps_by_duality(oracle: Oracle, *, meter: Meter) -> list[int]:
    """Return all CXps, found together with all AXps.

    A minimal hitting set of the CXps known so far either frees no dissimilar point,
    and is an AXp, or leaves one, which is shrunk to a CXp that it does not hit. The hitting sets
    that miss the new CXp are then extended (Berge's multiplication); AXps never are.

    Raises
    ------
    BudgetSpent
        With the CXps found so far.

    Notes
    -----
    An oracle call for each AXp, and one for each CXp and feature. Hitting sets of the CXps known so
    far can outnumber both families.
    """
    cxps: list[int] = []
    axps: list[int] = []
    waiting = [0]
    while waiting:
        if not meter.spend(1) or meter.is_spent:  # a step may take long
            raise BudgetSpent(cxps)
        candidate = waiting.pop()
        rest = oracle.all & ~candidate
        if not oracle.is_weak(rest):
            axps.append(candidate)
            continue
        found = oracle.shrunk(rest, meter)
        if found is None:
            raise BudgetSpent(cxps)
        cxps.append(found)
        meter.spend(rest.bit_count())
        # The new CXp lies in the candidate's complement, so the candidate misses it and is extended with the others.
        waiting.append(candidate)
        extended = _extended(waiting, axps, found, lambda: meter.is_spent)
        if extended is None:
            raise BudgetSpent(cxps)
        waiting = extended
    return cxps


def _extended(waiting: list[int], axps: Sequence[int], found: int, is_spent: Callable[[], bool]) -> list[int] | None:
    """Return the minimal hitting sets that also hit `found`, except the AXps; None if the budget is spent."""
    missing = [h for h in waiting if not h & found]
    hitting = [h for h in waiting if h & found]
    without: dict[int, list[int]] = {1 << k: [] for k in features_of(found)}
    for h in (*hitting, *axps):
        met = h & found
        if met in without:  # h meets `found` in one element only
            without[met].append(h ^ met)
    extended: list[int] = []
    for h in missing:
        if is_spent():
            return None  # not some of them: when none of these is left, the search would seem to be complete
        # h has nothing of `found`, so only a hitting set that meets it in `bit` alone can lie within h | bit. AXps
        # take part in this test although they are never extended.
        extended += [h | bit for bit, rests in without.items() if not any(rest & ~h == 0 for rest in rests)]
    return hitting + extended
