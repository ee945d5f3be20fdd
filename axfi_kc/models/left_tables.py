"""Tables of the cells that go left at each test of an ensemble, laid over each other.

A table is as long as its feature has cells, and a large ensemble tests thousands of thresholds on each feature: one
after the other, their tables take gigabytes. Nearly all of them are steps, the first cells left and the others right,
and all steps over n cells are parts of one row: n times 1, then n times 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.models.base import reading

__all__ = ["left_tables"]


_AT_ONCE = 64  # nodes between two looks at the clock
Table = npt.NDArray[np.uint8]
_T = TypeVar("_T", bound=Hashable)


def left_tables(tests: Iterable[_T | None], table_of: Callable[[_T], Table]) -> tuple[npt.NDArray[np.int64], Table]:
    """Return where the table of each test begins, and the array in which all tables are.

    Parameters
    ----------
    tests
        A test per node; None at a leaf, whose table begins at 0 and is never read.
    table_of
        Makes the table of a test; called once for equal tests.

    Raises
    ------
    BudgetError
        If the budget of the question that needs the model was spent.

    Notes
    -----
    Linear in the distinct tests times the cells of a feature; the array is linear in the cells where all tests are
    steps.

    Examples
    --------
    >>> tables = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [0, 1, 0]}
    >>> offsets, found = left_tables(["a", None, "b", "c"], lambda test: np.array(tables[test], dtype=np.uint8))
    >>> offsets.tolist(), found.tolist()
    ([2, 0, 1, 6], [1, 1, 1, 0, 0, 0, 0, 1, 0])
    """
    rows = _Rows()
    known: dict[_T | None, int] = {None: 0}
    offsets = []
    for test in reading().paced(tests, at_once=_AT_ONCE):
        if test is not None and test not in known:
            known[test] = rows.place(table_of(test))
        offsets.append(known[test])
    return np.array(offsets, dtype=np.int64), np.frombuffer(rows.joined, np.uint8)


class _Rows:
    """Rows in one array, each kept once."""

    def __init__(self) -> None:
        self.joined = bytearray()
        self._starts: dict[int | bytes, int] = {}

    def place(self, table: Table) -> int:
        """Return where a table begins."""
        n, n_left = len(table), int(np.count_nonzero(table))
        if table[:n_left].all():
            return self._start(n, b"\1" * n + b"\0" * n) + n - n_left
        row = table.tobytes()
        return self._start(row, row)

    def _start(self, key: int | bytes, row: bytes) -> int:
        if key not in self._starts:
            self._starts[key] = len(self.joined)
            self.joined += row
        return self._starts[key]
