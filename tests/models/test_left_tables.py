"""Tables of cells that go left, laid over each other: each is read back as it was."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from axfi_kc.models.left_tables import left_tables

ROWS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6).map(tuple) | st.none(), max_size=30)


@given(ROWS)
def test_every_table_is_read_back(tests) -> None:
    offsets, found = left_tables(tests, lambda row: np.array(row, dtype=np.uint8))
    assert [found[k : k + len(row)].tolist() for row, k in zip(tests, offsets, strict=True) if row] == [
        list(row) for row in tests if row
    ]
    assert found.flags.writeable  # kernels are compiled for such arrays


def test_steps_take_the_room_of_two() -> None:
    tests = [(k, 1000) for k in range(1001)]
    offsets, found = left_tables(tests, lambda test: (np.arange(test[1]) < test[0]).astype(np.uint8))
    assert len(found) == 2000
    assert all(found[at : at + 1000].sum() == k for (k, _), at in zip(tests, offsets.tolist(), strict=True))


def test_equal_tests_are_made_once() -> None:
    made = []
    left_tables(["a", None, "a", "b"], lambda test: made.append(test) or np.array([0, 1], dtype=np.uint8))
    assert made == ["a", "b"]
