"""Weighted diagrams are sums over their sets."""

from __future__ import annotations

from random import Random

import pytest

from axfi_kc.families import SetFamily
from tests.support.listed_families import ELEMENTS, minimal_of, random_sets


@pytest.mark.parametrize("seed", range(3))
def test_weighted_diagrams_equal_their_paths(seed: int) -> None:
    """Totals, weights and spreads of a family are sums over its sets."""
    rng = Random(seed)
    for _ in range(4):
        sets = set(random_sets(rng))
        f, avoided = SetFamily.of(sets), rng.randrange(1 << ELEMENTS)
        dag = f.dag
        assert dag.total(avoiding=avoided) == sum(not s & avoided for s in sets)
        assert sorted(dag.sets()) == sorted((s, 1) for s in sets)
        shares = {size: rng.randint(0, 5) for size in range(ELEMENTS + 1)}
        expected = {e: sum(shares[s.bit_count()] for s in sets if s >> e & 1) for e in range(ELEMENTS)}
        assert {e: t for e, t in dag.spread(shares).items() if t} == {e: t for e, t in expected.items() if t}
        for s in minimal_of(list(sets)):
            assert SetFamily.of(minimal_of(list(sets))).dag.weight(s) == 1
