"""Power indices of small games are those of the definition."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from axfi_kc.families import SetFamily
from axfi_kc.families.masks import features_of
from axfi_kc.scores.power_indices import banzhaf_index, shapley_shubik_index
from tests.support.listed_families import random_sets
from tests.support.oracle import banzhaf, shapley


@pytest.mark.parametrize("seed", range(6))
def test_power_indices_of_small_games(seed: int) -> None:
    rng, n = Random(seed), 4
    family = random_sets(rng, n, 4)

    def wins(S: frozenset[int]) -> Fraction:
        return Fraction(any(S.issuperset(features_of(s)) for s in family))

    f = SetFamily.of(family)
    assert [shapley_shubik_index(f).get(e, 0) for e in range(n)] == shapley(wins, n)
    assert [banzhaf_index(f).get(e, 0) for e in range(n)] == banzhaf(wins, n)
