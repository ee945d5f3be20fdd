"""Steps of the search in circuits, against brute force."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from axfi_kc.engines.duality import _extended


def _hitting(sets: Sequence[int], n: int) -> list[int]:
    every = [h for h in range(1 << n) if all(h & s for s in sets)]
    return [h for h in every if not any(g != h and g & h == g for g in every)]


def test_hitting_sets_are_extended_to_one_more_set() -> None:
    rng = Random(6)
    for _ in range(600):
        n = rng.randint(2, 6)
        known = [rng.randrange(1, 1 << n) for _ in range(rng.randint(0, 4))]
        found, before = rng.randrange(1, 1 << n), _hitting(known, n)
        axps = [h for h in before if h & found and rng.random() < 0.5]
        waiting = [h for h in before if h not in axps]
        rng.shuffle(waiting)
        extended = _extended(waiting, axps, found, lambda: False)
        assert extended is not None
        assert sorted([*extended, *axps]) == sorted(_hitting([*known, found], n))


def test_hitting_sets_that_are_not_finished_are_none() -> None:
    """A part of them may be empty, as if there were nothing left to look for."""
    assert _extended([0], [], 0b11, lambda: True) is None
