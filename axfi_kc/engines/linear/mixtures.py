"""Features that are a number or missing: a mixture of an interval, or a range, and an atom.

What is missing adds a constant, and what is not adds a slope times a number. So a CXp with such features is
taken apart into the cases of which of them are missing: in each, what they spend of the slack is known, and
what is left is a problem in which nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from axfi_kc.engines.linear.half_spaces import Side

__all__ = ["Case", "cases"]


class Case(NamedTuple):
    """Which features of a CXp are missing, of those that may be and add a slope otherwise."""

    missing: tuple[int, ...]
    present: tuple[int, ...]  # all others
    slacks: tuple[int, ...]  # per side, what is left of the slack


def cases(sides: Sequence[Side], features: Sequence[int], slacks: Sequence[int], shift: int) -> Iterator[Case]:
    """Yield the cases of a CXp in which some side can still be reached.

    Notes
    -----
    Features that may be missing times cases, of which there can be exponentially many. Where the instance itself
    is missing, no case has the feature missing: by minimality no dissimilar point keeps a feature of the CXp.
    """
    may_miss = [i for i in features if i in sides[0].mixed]
    others = tuple(i for i in features if i not in sides[0].mixed)
    gaps = [list(zip(*(side.mixed_gaps(i) for side in sides), strict=True)) for i in may_miss]
    stack = [Case((), others, tuple(slacks))]
    while stack:
        case = stack.pop()
        # Slacks are integers over 2**shift, so a strict side needs at least 1 and the others 0.
        if not any(slack >= side.strict for side, slack in zip(sides, case.slacks, strict=True)):
            continue
        k = len(case.missing) + len(case.present) - len(others)
        if k == len(may_miss):
            yield case
            continue
        missing, present = (_less(case.slacks, spent, shift) for spent in gaps[k])
        stack.append(Case((*case.missing, may_miss[k]), case.present, missing))
        stack.append(Case(case.missing, (*case.present, may_miss[k]), present))


def _less(slacks: Sequence[int], spent: Sequence[int], shift: int) -> tuple[int, ...]:
    return tuple(slack - (gap << shift) for slack, gap in zip(slacks, spent, strict=True))
