"""The hot loop of interactions: for each two members of each set, its weight is added; compiled on first use."""

from __future__ import annotations

from typing import Any

from axfi_kc.compiled import kernel

__all__ = ["add_pairs"]


@kernel
def add_pairs(starts: Any, members: Any, limbs: Any, totals: Any) -> None:
    """Add the limbs of each set to the totals of each two of its members, the smaller one first.

    Limbs have 32 bits and totals 64, so there is no carry as long as there are fewer than 2**32 sets.
    """
    for k in range(len(starts) - 1):
        own = limbs[k]
        for i in range(starts[k], starts[k + 1]):
            row = totals[members[i]]
            for j in range(i + 1, starts[k + 1]):
                into = row[members[j]]
                # The innermost loop runs over neighbours in memory, several to an instruction.
                for e in range(len(into)):
                    into[e] += own[e]
