"""The other ways to explain boosted trees, as fast as they go here.

`VeritasPeer`: dtai-veritas as the oracle and python-sat's Hitman as the enumerator of hitting sets;
all CXps and AXps by duality, no weights. `sampled_weights`: the paper's way, 5,000 random points of
the box of each given CXp, predicted by the model's own library. Both belong to the study of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from benchmarks.paper.peers import TimeIsUp, VeritasPeer
from benchmarks.paper.sampling import sampled_weights

__all__ = ["TimeIsUp", "VeritasPeer", "largest_error", "sampled_weights"]


def largest_error(exact: Sequence[Fraction | int], sampled: Sequence[float]) -> float:
    """Return the largest absolute error of sampled weights."""
    return max((abs(float(a) - b) for a, b in zip(exact, sampled, strict=True)), default=math.nan)
