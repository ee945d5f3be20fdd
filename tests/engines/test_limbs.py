"""Wide integers as limbs, and the scores made of them, against Python's integers and Fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import gcd, prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc.engines import limb_kernels
from axfi_kc.engines.found import Found, Share, fractions_of, nearest_floats
from axfi_kc.engines.limbs import integers_of, limbs_of
from axfi_kc.scores import SCORES

WIDE = st.integers(min_value=0, max_value=2**300)
SHARES = [score.share for score in SCORES.values() if score.share is not None]


@given(st.lists(WIDE))
def test_limbs_hold_integers(integers: list[int]) -> None:
    limbs = limbs_of(integers, 10)
    assert integers_of(limbs) == integers


@settings(deadline=None)  # the first call compiles
@given(WIDE, WIDE)
def test_limbs_are_multiplied(a: int, b: int) -> None:
    row = np.full(30, 7, np.uint32)
    row[:10] = limbs_of([a], 10)[0]
    used = 10
    while used and not row[used - 1]:
        used -= 1
    used = limb_kernels.multiply(row, used, limbs_of([5, b], 10), 1)
    assert integers_of(row[np.newaxis, : used or 1])[0] * bool(used) == a * b


@settings(deadline=None)
@given(WIDE, WIDE, st.integers(min_value=0, max_value=2**32 - 1))
def test_limbs_are_added(a: int, b: int, factor: int) -> None:
    totals = limbs_of([1, a], 12)
    limb_kernels.add(totals, 1, limbs_of([b], 10)[0], 10, np.uint64(factor))
    assert integers_of(totals) == [1, a + b * factor]


def found_at_random(random: Random, *, bits: int, features: int) -> Found:
    """Return sets of features with weights from 0 to 1, of instances of which some have none."""
    wholes = tuple(random.randrange(1, 1 << random.randrange(1, bits)) for _ in range(features))
    counts = [random.choice([0, 1, 2, 5, 9]) for _ in range(6)]
    masks = [mask for n in counts for mask in random.sample(range(1, 1 << min(features, 60)), n)]
    masks = [mask << random.randrange(features - mask.bit_length() + 1) if features > 60 else mask for mask in masks]
    boxes = [prod(w for i, w in enumerate(wholes) if mask >> i & 1) for mask in masks]
    totals = [random.choice([0, 1, box, random.randrange(box + 1)]) for box in boxes]
    words = [[mask >> 64 * k & (1 << 64) - 1 for k in range(-(-features // 64))] for mask in masks]
    return Found(
        list(range(6)),
        np.cumsum([0, *counts]),
        np.array(words, dtype=np.uint64).reshape(len(masks), -(-features // 64)),
        limbs_of(totals),
        wholes,
        "ratio",
    )


def means(found: Found, share: Share) -> list[list[Fraction]]:
    """Return the mean of what each feature gets by the definition."""
    weights = [sets.weights for sets in found]
    return [
        [
            sum((Fraction(w) * share(m.bit_count()) for m, w in of.items() if m >> i & 1), Fraction(0)) / (n or 1)
            for i in range(len(found.wholes))
        ]
        for of, n in zip(weights, found.counts, strict=True)
    ]


@pytest.mark.parametrize("seed", range(120))
def test_scores_of_wide_integers(seed: int) -> None:
    random = Random(seed)
    found = found_at_random(random, bits=random.choice([2, 20, 70, 200]), features=random.choice([4, 13, 20, 70]))
    totals = found.listed_totals
    if max(totals, default=0) < 2**63 and random.random() < 0.5:  # as engines give what fits into words
        found = replace(found, totals=np.array(totals, dtype=np.int64))
    for share in SHARES:
        expected = means(found, share)
        numerators, denominators = found.mean(share)
        rows = zip(numerators.tolist(), denominators, strict=True)
        assert [[Fraction(t, d) for t in row] for row, d in rows] == expected
        exact = found.mean_fractions(share)
        assert exact.tolist() == expected
        assert all(Fraction(f.numerator, f.denominator) == f and f.denominator > 0 for f in exact.flat)
        assert all(gcd(f.numerator, f.denominator) == 1 for f in exact.flat)
        assert found.mean_floats(share).tolist() == [[float(f) for f in row] for row in expected]


@pytest.mark.parametrize("numerator", [2**53 + 1, 2**53 + 3, 2**54 - 1, 2**53 - 1, 1])
@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_floats_are_the_nearest_near_a_tie(numerator: int, nudge: int) -> None:
    # Exactly in the middle between two floats, and so little beside it that only the exact quotient tells.
    whole = 3**140 << 60
    found = Found(
        [0],
        np.array([0, 1]),
        np.array([[1]], dtype=np.uint64),
        limbs_of([(numerator * 3**140 << 2) + nudge]),
        (whole,),
        "ratio",
    )
    ((score,),) = found.mean_floats(SCORES["shapley"].share).tolist()
    assert score == float(Fraction((numerator * 3**140 << 2) + nudge, whole))


def test_weights_beyond_floats() -> None:
    found = Found(
        [0], np.array([0, 1]), np.array([[3]], dtype=np.uint64), limbs_of([1]), (2**600 + 1, 2**600 + 1), "ratio"
    )
    assert found.mean_floats(SCORES["banzhaf"].share).tolist() == [[0.0, 0.0]]
    assert found.mean_fractions(SCORES["banzhaf"].share)[0, 0] == Fraction(1, 2 * (2**600 + 1) ** 2)


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(1, 2**62)), min_size=1))
def test_tables_of_words(pairs: list[tuple[int, int]]) -> None:
    numerators = np.array([[t] for t, _ in pairs], dtype=np.int64)
    denominators = [d for _, d in pairs]
    assert nearest_floats(numerators, denominators)[:, 0].tolist() == [t / d for t, d in pairs]
    assert fractions_of(numerators, denominators)[:, 0].tolist() == [Fraction(t, d) for t, d in pairs]


def test_batches_of_several_widths_are_joined() -> None:
    random = Random(1)
    parts = [found_at_random(random, bits=70, features=4) for _ in range(2)]
    wider = Found.joined(
        [
            Found(p.outputs, p.starts, p.words, limbs_of(integers_of(p.totals), 9 + k), p.wholes, "ratio")
            for k, p in enumerate(parts)
        ]
    )
    assert wider.listed_totals == parts[0].listed_totals + parts[1].listed_totals
