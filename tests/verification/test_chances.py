"""Probabilities from tables alone, against those of the distributions themselves and sums over all states."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.verification import chances
from axfi_kc.verification.chances import Chances
from tests.support.crossed_problems import DISTRIBUTIONS, random_joint
from tests.support.random_problems import random_domain
from tests.support.random_psdds import deterministic_psdd


def _evidence(rng: Random, sizes: list[int]) -> list[Any]:
    return [
        None if rng.random() < 0.3 else [rng.choice((0, 1, 3, Fraction(2, 7))) for _ in range(size)] for size in sizes
    ]


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_totals_are_the_distributions_own_and_those_of_the_joint_table(kind: str) -> None:
    rng = Random(f"chances {kind}")
    for _ in range(12):
        domain = random_domain(rng, finite=False)
        joint = random_joint(rng, domain, kind)
        given = domain.with_distribution(joint.given).distribution
        assert given is not None
        own, sizes = Chances(given), [s.size for s in given.states]
        evidence = _evidence(rng, sizes)
        rows = [[1] * n if row is None else row for row, n in zip(evidence, sizes, strict=True)]
        whole = int(joint.table.sum())
        listed = sum(
            (Fraction(int(joint.table[s]), whole) * prod(row[k] for row, k in zip(rows, s, strict=True)))
            for s in product(*map(range, sizes))
        )
        assert own.is_own
        assert own.total(evidence) == given.total(evidence) == listed
        assert sorted(map(sorted, own.blocks)) == sorted(map(sorted, given.blocks)) == sorted(map(sorted, joint.blocks))
        _with_a_table(rng, own, given, evidence, sizes)


def _with_a_table(rng: Random, own: Chances, given: Any, evidence: list[Any], sizes: list[int]) -> None:
    """Compare a number for each combination of states of some features with sums of totals."""
    features = sorted(rng.sample(range(len(sizes)), rng.randint(0, len(sizes))))
    shape = [sizes[i] for i in features]
    values = np.array([rng.randint(0, 3) for _ in range(prod(shape))], dtype=object).reshape(shape or [1])
    rest = [None if i in features else row for i, row in enumerate(evidence)]
    expected = Fraction(0)
    for states in product(*map(range, shape)):
        rows = list(rest)
        for i, state in zip(features, states, strict=True):
            rows[i] = [int(k == state) for k in range(sizes[i])]
        expected += values[states or (0,)] * given.total(rows)
    assert own.total_of(features, values, rest) == expected


def test_what_is_too_large_or_not_known_is_asked_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(4)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 2) for i in range(3)])
    given: Any = domain.with_distribution(random_joint(rng, domain, "chow-liu").given).distribution
    right = Chances(given)
    monkeypatch.setattr(chances, "_MOST_ENTRIES", 0)
    other = Chances(given)
    assert (right.is_own, other.is_own) == (True, False)
    evidence = _evidence(rng, [3, 3, 3])
    assert other.total(evidence) == right.total(evidence)
    _with_a_table(rng, other, given, evidence, [3, 3, 3])


@pytest.mark.parametrize("shape", ["right_linear", "balanced"])
def test_diagrams_are_taken_point_by_point(shape: str) -> None:
    rng = Random(f"diagram {shape}")
    for n in (1, 3, 4):
        given = deterministic_psdd(rng, getattr(Vtree, shape)(range(n)), n)
        own, evidence = Chances(given), _evidence(rng, [2] * n)
        assert own.is_own
        assert own.total(evidence) == given.total(evidence)
