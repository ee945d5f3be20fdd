"""What engines found: batches are joined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from axfi_kc.engines.found import Found


def _batch(sizes: list[int], first: int, divisors: list[int] | None, nodes: list[int] | None) -> Found:
    n = sum(sizes)
    return Found(
        [f"y{k + first}" for k in range(len(sizes))],
        np.cumsum([0, *sizes]),
        np.arange(first, first + n, dtype=np.uint64)[:, np.newaxis],
        np.arange(n) + 10 * first,
        (7,),
        "ratio",
        divisors=divisors,
        nodes=nodes,
    )


def test_batches_are_joined() -> None:
    parts = [_batch([2, 0, 1], 0, None, [5, 6, 7]), _batch([1, 2], 3, [4, 8, 9], [1, 2])]
    whole = Found.joined(parts)
    assert whole.outputs == ["y0", "y1", "y2", "y3", "y4"]
    assert whole.starts.tolist() == [0, 2, 2, 3, 4, 6]
    assert whole.words[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert whole.totals.tolist() == [0, 1, 2, 30, 31, 32]
    assert whole.divisors == [1, 1, 1, 4, 8, 9]
    assert whole.nodes == [5, 6, 7, 1, 2]
    assert Found.joined(parts[:1]) is parts[0]
    assert Found.joined([parts[0], replace(parts[1], _large={1: "family"})])[4] == "family"
    assert Found.joined([_batch([1], 0, None, None)] * 2).divisors is None
