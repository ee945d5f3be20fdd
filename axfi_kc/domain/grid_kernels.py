"""From codes to cells, compiled by numba on first use."""

from __future__ import annotations

from typing import Any

from axfi_kc.compiled import kernel

__all__ = ["locate"]


@kernel
def locate(codes: Any, starts: Any, last_left: Any, missing: Any, cells: Any) -> None:
    """Fill `cells` with the cell of each code.

    The last floats left of the cuts of feature i are ``last_left[starts[i, 0]:starts[i, 1]]``; a start of -1 stands for
    codes that are cells themselves. NaN lies in cell ``missing[i]``, or after all cuts where that is -1.
    """
    for n in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            code = codes[n, i]
            first, last = starts[i, 0], starts[i, 1]
            if missing[i] >= 0 and code != code:
                cells[n, i] = missing[i]
            elif first < 0:
                cells[n, i] = int(code)
            else:
                low = first
                while low < last:
                    middle = (low + last) >> 1
                    if code <= last_left[middle]:
                        last = middle
                    else:
                        low = middle + 1
                cells[n, i] = low - first
