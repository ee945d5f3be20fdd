"""Trees added up to larger ones, and trees of more leaves than one word has bits: the same function, the same CXps."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.engines import engine_for
from axfi_kc.engines.ensemble import merging
from axfi_kc.models import Positive, Similarity, TreeSum
from tests.support.oracle import Judge, space_of
from tests.support.random_problems import _Tree


def _score(ensemble: Any, x: tuple[int, ...], j: int) -> int:
    """Return limb 0 of score j at a point, by walking down each tree."""
    total = int(ensemble.base[j, 0])
    for t in range(ensemble.start[j], ensemble.start[j + 1]):
        n = int(ensemble.root[t])
        while ensemble.node[n, 0] >= 0:
            f, right, code = ensemble.node[n, :3].tolist()
            c = x[f]
            left = c < code if code >= 0 else ensemble.counts[c - code] > ensemble.counts[c - 1 - code]
            n = n + 1 if left else right
        total += int(ensemble.value[n, 0])
    return total


def _random_model(rng: Random, *, depth: int, n_trees: int, values: int) -> tuple[TreeSum, ax.Domain, list[_Tree]]:
    features = [ax.Integer(f"x{i}", 0, values - 1) for i in range(2)] + [ax.Categorical("c", range(values))]
    domain = ax.Domain(features)
    leaves = [float(k) for k in range(-9, 10)]
    trees = [_Tree(rng, domain, 1, 2**depth, leaves) for _ in range(n_trees)]
    return TreeSum.of(domain, [tree.nodes() for tree in trees], rule=Positive((0, 1))), domain, trees


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_trees_are_the_same_function(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tables of categories among the tests, and with all sizes of sums."""
    rng = Random(seed)
    model, _, _ = _random_model(rng, depth=rng.randint(1, 3), n_trees=7, values=4)
    engine: Any = engine_for(model, Similarity())
    points = list(product(*(range(f) for f in model.grid.n_cells)))
    scores = []
    for most in (1, 5, 64):
        monkeypatch.setattr(merging, "_MOST", most)
        ensemble = engine._made(0, None)
        scores.append([_score(ensemble, x, 0) for x in points])
        sizes = np.add.reduceat(np.diff(ensemble.leaf_start), ensemble.block_start[:-1])
        assert most == 1 or len(ensemble.root) < model.n_trees or (sizes > 1).all()
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_several_blocks_of_leaves(seed: int) -> None:
    """Trees of about a hundred leaves, explained as brute force does, with and without a limit of size."""
    rng = Random(100 + seed)
    model, domain, trees = _random_model(rng, depth=7, n_trees=3, values=7)

    def output(x: tuple[int, ...]) -> int:
        return int(sum(tree.scores(x)[0] for tree in trees) > 0)

    engine: Any = engine_for(model, Similarity())
    assert np.diff(engine._made(0, None).block_start).max() > 1
    v = tuple(rng.randrange(7) for _ in range(3))
    judge = Judge(space_of(domain), output, v)
    expected = {tuple(sorted(Y)): judge.ratio(Y) for Y in judge.cxps()}
    names = {name: i for i, name in enumerate(domain.names)}
    for most in (1, 2, None):
        found = ax.Explainer(model, domain, max_size=most).explain(list(v))
        assert {tuple(sorted(names[n] for n in c.features)): c.weight for c in found.cxps} == {
            Y: w for Y, w in expected.items() if most is None or len(Y) <= most
        }


def test_many_trees_are_added_up_in_groups() -> None:
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(4)])
    rng = Random(3)
    trees = [_Tree(rng, domain, 1, 4, (-1.0, 1.0, 2.0)).nodes() for _ in range(100)]
    engine: Any = engine_for(TreeSum.of(domain, trees, rule=Positive((0, 1))), Similarity())
    assert len(engine._made(0, None).root) == 1  # sixteen points are all there is to tell apart
