"""Families of sets as lists of masks, straight from the definitions."""

from __future__ import annotations

from random import Random

ELEMENTS = 6


def random_sets(rng: Random, n: int = ELEMENTS, most: int = 8) -> list[int]:
    return [rng.randrange(1, 1 << n) for _ in range(rng.randint(0, most))]


def in_order(family: list[int]) -> list[int]:
    return sorted(family, key=lambda s: (s.bit_count(), [e for e in range(20) if s >> e & 1]))


def minimal_of(family: list[int]) -> list[int]:
    return in_order([s for s in set(family) if not any(t != s and t & s == t for t in family)])


def hitting_of(family: list[int], n: int = ELEMENTS) -> list[int]:
    return minimal_of([h for h in range(1 << n) if all(h & s for s in family)])
