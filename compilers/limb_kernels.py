"""Integers of any size in flat arrays of limbs, for kernels; compiled by numba.

A number is some words in a row, highest first: the first limb has the sign and is as wide as it must be, the others
are of 52 bits and not negative, so order is lexicographic. `limbs` is a tuple as long as a number: its length is part
of its type, so that loops over the limbs are unrolled, and one limb costs what an integer does. Arrays are of one
dimension and numbers are given by their first word: widths that the compiler knows are no loads and products.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.compiled import part

__all__ = ["LIMB", "add", "copy", "copy_where", "is_less", "sign", "subtract"]


LIMB = 52  # bits of every limb but the first
_MASK = (1 << LIMB) - 1


@part
def add(a, i, b, j, out, k, limbs):
    """Set the number at out[k] to the sum of those at a[i] and b[j]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i + limb] + b[j + limb] + carry
        carry = s >> LIMB
        out[k + limb] = s & _MASK
    out[k] = a[i] + b[j] + carry


@part
def subtract(a, i, b, j, out, k, limbs):
    """Set the number at out[k] to that at a[i] less that at b[j]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i + limb] - b[j + limb] + carry
        carry = s >> LIMB
        out[k + limb] = s & _MASK
    out[k] = a[i] - b[j] + carry


@part
def copy(a, i, out, k, limbs):
    """Set the number at out[k] to that at a[i]."""
    for limb in range(len(limbs)):
        out[k + limb] = a[i + limb]


@part
def copy_where(mask, a, i, out, k, limbs):
    """Set the number at out[k] to that at a[i] if the mask is -1, and leave it if it is 0, without a branch."""
    for limb in range(len(limbs)):
        out[k + limb] ^= (out[k + limb] ^ a[i + limb]) & mask


@part
def is_less(a, i, b, j, limbs):
    """Tell whether the number at a[i] is less than that at b[j]."""
    for limb in range(len(limbs)):
        if a[i + limb] != b[j + limb]:
            return a[i + limb] < b[j + limb]
    return False


@part
def sign(a, i, b, j, limbs):
    """Return -1 if the number at a[i] is less than that at b[j], else 0, without a branch."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        carry = (a[i + limb] - b[j + limb] + carry) >> LIMB
    return (a[i] - b[j] + carry) >> 63
