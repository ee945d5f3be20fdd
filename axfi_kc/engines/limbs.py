"""Rows of wide integers: non-negative, of any width, as limbs of 32 bits that kernels can add and multiply.

The limb of least worth comes first. Limbs are half a machine word, so that a product of two of them and two carries
still fit into one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Limbs", "integers_of", "limbs_for", "limbs_of"]


_BITS = 32
Limbs = npt.NDArray[np.uint32]
"""A row of limbs per integer."""


def limbs_for(bits: int) -> int:
    """Return how many limbs hold integers of so many bits."""
    return max(-(-bits // _BITS), 1)


def limbs_of(integers: Sequence[int], width: int | None = None) -> Limbs:
    """Return integers as rows of `width` limbs; None: of as many as the largest needs.

    Examples
    --------
    >>> limbs_of([5, 2**40]).tolist()
    [[5, 0], [0, 256]]
    """
    if width is None:
        width = limbs_for(max(map(int.bit_length, integers), default=1))
    size = 4 * width
    joined = b"".join([n.to_bytes(size, "little") for n in integers])
    return np.frombuffer(joined, dtype="<u4").astype(np.uint32).reshape(len(integers), width)


def integers_of(limbs: Limbs) -> list[int]:
    """Return rows of limbs as Python integers.

    Examples
    --------
    >>> integers_of(limbs_of([5, 2**40, 0]))
    [5, 1099511627776, 0]
    """
    rows = np.ascontiguousarray(limbs, dtype="<u4").view(f"S{4 * limbs.shape[1]}")
    # NumPy takes zeros off the end of text, which are those before the number.
    return [int.from_bytes(row, "little") for row in rows.reshape(-1).tolist()]
