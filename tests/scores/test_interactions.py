"""Interactions against their definitions over all coalitions, and against other software."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import CXpForest, Domain, Explainer, Integer
from axfi_kc.budget import Account, Budget
from axfi_kc.engines.found import DiagramCxps, ListedCxps, joint_totals
from axfi_kc.engines.linear.counted import CountedCxps
from axfi_kc.engines.linear.cover_sums import count_covers, sum_covers
from axfi_kc.errors import BudgetError, WeightError
from axfi_kc.models import LinearModel, Positive, Slope
from axfi_kc.scores.interactions import INTERACTIONS, interactions_of
from axfi_kc.verification import definitions
from tests.engines.test_cover_sums import random_covers
from tests.support.interaction_definitions import by_definition, random_forest

ACCOUNT = Account(None, goal="test")


@pytest.mark.parametrize("seed", range(50))
def test_closed_forms_are_the_definitions(seed: int) -> None:
    rng = Random(seed)
    for _ in range(10):
        forest = random_forest(rng, rng.randint(2, 5))
        n, kind = len(forest.features), rng.choice(list(INTERACTIONS))
        order = rng.randint(1, min(n, 4))
        up_to = rng.randint(order, min(n, 4))
        expected = by_definition(forest.value_of_mask, n, kind, order, up_to)
        found = interactions_of(forest.sets, forest.features, kind, order=order, up_to=up_to)
        assert found == {tuple(f"x{i}" for i in T): x for T, x in expected.items() if x}


@pytest.mark.parametrize("seed", range(10))
def test_listed_counted_and_on_a_diagram_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axfi_kc.engines.linear.counted._FASTER_LISTED", 0 if seed % 2 else 10**6)
    rng = Random(seed)
    covers = random_covers(rng, 7)
    counted = CountedCxps(covers, sum_covers(covers, ACCOUNT), "ratio", *count_covers(covers, ACCOUNT))
    names = tuple(f"x{i}" for i in range(len(covers.losses)))
    listed = counted.listed(10**6)
    assert listed is not None
    for kind in INTERACTIONS:
        for order in (1, 2, 3, 4):
            expected = interactions_of(listed, names, kind, order=order)
            assert interactions_of(counted, names, kind, order=order) == expected


@pytest.mark.parametrize("seed", range(10))
def test_a_diagram_gives_what_its_list_does(seed: int) -> None:
    rng = Random(seed)
    n = rng.randint(3, 6)
    domain = Domain([Integer(f"x{i}", 0, rng.randint(1, 2)) for i in range(n)])
    parts = [Slope((rng.randint(1, 4),)) for _ in range(n)]
    model = LinearModel.of(domain, parts, base=[-n], rule=Positive((0, 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("axfi_kc.engines.diagram.engine._AT_ONCE", 0)
        many = Explainer(model, domain, target="mdd").explain([0] * n)
    few = Explainer(model, domain).explain([0] * n)
    assert isinstance(many._found, DiagramCxps)
    assert isinstance(few._found, ListedCxps)
    for kind in INTERACTIONS:
        for order in (1, 2, 3):
            assert many.interactions(kind, order=order) == few.interactions(kind, order=order)


def test_scores_are_the_interactions_of_order_one() -> None:
    e = Explainer(lambda p: sum(p) > 2, Domain([Integer(f"x{i}", 0, i + 1) for i in range(4)])).explain([0, 1, 1, 1])
    for kind in ("shapley", "banzhaf"):
        found = e.interactions(kind, order=1)
        assert {names[0]: value for names, value in found.items()} == {n: s for n, s in e.scores(kind).items() if s}
    assert all(value < 0 for value in e.interactions().values())
    assert ax.Explanation.from_json(e.to_json()).interactions() == e.interactions()


def test_sums_of_long_and_of_negative_weights_are_exact() -> None:
    rng = Random(3)
    masks = [rng.randrange(1, 1 << 9) for _ in range(1_500)]  # many enough for the kernel
    weights = [rng.randint(-(2**170), 2**170) for _ in masks]
    for order in (1, 2, 3):
        found = joint_totals(masks, weights, order, ACCOUNT)
        for T in combinations(range(9), order):
            mask = sum(1 << i for i in T)
            total = sum(w for m, w in zip(masks, weights, strict=True) if m & mask == mask)
            assert found.get(mask, 0) == total


def test_bad_questions_are_one_sentence() -> None:
    e = Explainer(lambda p: p[0], Domain([Integer("a", 0, 1)])).explain([1])
    assert e.interactions() == {}
    for kind in ("sii", "", "ffa"):
        with pytest.raises(WeightError, match="must be one of 'shapley', 'banzhaf', 'moebius'"):
            e.interactions(kind)
    for order in (0, -1, True, 1.5):
        with pytest.raises(WeightError, match="positive number of features"):
            e.interactions(order=order)
    with pytest.raises(WeightError, match="up to 1 features says nothing about 2"):
        e.interactions("faith", up_to=1)
    model = LinearModel.of_columns(
        Domain([Integer(f"x{i}", 0, 1) for i in range(30)]), [[1] * 30], intercepts=[-14.5], rule=Positive((0, 1))
    )
    many = Explainer(model, model.domain).explain([0] * 30)
    pairs = many.interactions("moebius")
    assert len(pairs) == 435
    assert set(pairs.values()) == {-Fraction(15 * 14, 30 * 29) / 2**15}
    with pytest.raises(BudgetError, match="interactions"):
        interactions_of(many._found.__class__(**_fields(many._found)), many.domain.names, "shapley", budget=_TINY)


_TINY = Budget(seconds=1e-6)


def _fields(counted: CountedCxps) -> dict[str, object]:
    return {name: getattr(counted, name) for name in ("covers", "sums", "kind", "_sizes", "_support")}


@pytest.mark.parametrize("kind", INTERACTIONS)
def test_interactions_equal_those_of_shapiq(kind: str) -> None:
    shapiq = pytest.importorskip("shapiq")
    rng = Random(7)
    for n in (4, 7, 9):
        forest = random_forest(rng, n)
        theirs = shapiq.ExactComputer(game_of(forest), n_players=n)(INTERACTIONS[kind].code, 3).dict_values
        for order in (1, 2, 3):
            ours = interactions_of(forest.sets, forest.features, kind, order=order, up_to=3)
            for T in combinations(range(n), order):
                mine = float(ours.get(tuple(f"x{i}" for i in T), 0))
                assert theirs.get(T, 0.0) == pytest.approx(mine, abs=1e-9)


def game_of(forest: CXpForest) -> Callable[[np.ndarray], np.ndarray]:
    """Return the forest's value as a function of rows of flags."""

    def value(row: np.ndarray) -> float:
        return float(forest.value_of_mask(sum(1 << i for i, flag in enumerate(row.tolist()) if flag)))

    return lambda coalitions: np.array([value(row) for row in coalitions])


def test_the_checker_knows_the_same_interactions() -> None:
    assert set(definitions.INTERACTIONS) == set(INTERACTIONS)
    forest = random_forest(Random(5), 6)
    weighted = {frozenset(names): Fraction(w) for names, w in forest.weights.items()}
    for kind in INTERACTIONS:
        ours = {frozenset(pair): x for pair, x in interactions_of(forest.sets, forest.features, kind).items()}
        assert definitions.interaction_by_definition(kind, weighted) == ours
