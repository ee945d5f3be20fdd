"""Covers counted and weighed together, against those listed one by one."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from axfi_kc import Categorical, Domain, Explainer, Integer, Real
from axfi_kc.budget import Account, Budget
from axfi_kc.engines.linear import engine as linear_engine
from axfi_kc.engines.linear.counted import CountedCxps, cover_family
from axfi_kc.engines.linear.cover_sums import Covers, count_covers, sum_covers
from axfi_kc.engines.linear.covers import minimal_covers
from axfi_kc.errors import BudgetError, ConstantModelError
from axfi_kc.families.masks import minimal_hitting_sets
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope

ACCOUNT = Account(None, goal="test")
KINDS = ("shapley", "banzhaf", "deegan_packel_cxp", "ffa")


def random_covers(rng: Random, most: int = 10) -> Covers:
    """Return covers with ties, zeros, equal losses and numbers of a few or of hundreds of bits."""
    n, size = rng.randint(1, most), rng.choice([3, 10, 1000, 2**40, 2**300])
    losses = [rng.randint(0, size) for _ in range(n)]
    if rng.random() < 0.4:
        losses = [rng.choice([0, 1, 2, 3]) * size + rng.choice([0, 0, 1]) for _ in range(n)]
    some = [loss for loss in losses if rng.random() < 0.5]
    margin = rng.choice([sum(some), rng.randint(0, sum(losses))])  # often exactly a sum of losses
    need, scale = max(1, margin + rng.randint(0, 1)), rng.randint(1, size)
    flags = [rng.random() < 0.7 for _ in range(n)]
    # Swings at least as large as losses, and shares at most 1, as weights are probabilities.
    factors = [
        Fraction(scale, max(loss, 1) * rng.randint(1, 3)) if real else Fraction(rng.randint(1, 3), 3)
        for loss, real in zip(losses, flags, strict=True)
    ]
    return Covers(tuple(losses), margin, need, scale, tuple(flags), tuple(factors))


def summed(covers: Covers) -> tuple[dict[int, int], dict[tuple[int, ...], Fraction]]:
    """Return the number of covers by size, and by size and one or two features what those with them weigh."""
    counts: dict[int, int] = {}
    sums: dict[tuple[int, ...], Fraction] = {}
    for members in minimal_covers(covers.losses, covers.need):
        size, weight = len(members), covers.weight(members)
        counts[size] = counts.get(size, 0) + 1
        for i in members:
            sums[size, i] = sums.get((size, i), Fraction(0)) + weight
            for j in members:
                if i < j:
                    sums[size, i, j] = sums.get((size, i, j), Fraction(0)) + weight
    return dict(sorted(counts.items())), {key: total for key, total in sums.items() if total}


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_the_list(seed: int) -> None:
    covers = random_covers(Random(seed))
    counts, sums = summed(covers)
    support = {i for members in minimal_covers(covers.losses, covers.need) for i in members}
    assert count_covers(covers, ACCOUNT) == (counts, sum(1 << i for i in support))
    found = sum_covers(covers, ACCOUNT, pairs=True)
    whole = {
        (k, i): Fraction(t, found.denominators[k]) for k, row in found.numerators.items() for i, t in enumerate(row)
    }
    two = {
        (k, *ij): Fraction(t, found.denominators[k]) for k, row in (found.pairs or {}).items() for ij, t in row.items()
    }
    assert {key: total for key, total in (whole | two).items() if total} == sums


def test_a_sum_that_equals_the_margin_is_no_cover_where_more_is_needed() -> None:
    ones = (Fraction(1, 2),) * 4
    for need, expected in ((4, {2: 6}), (5, {3: 4})):
        assert count_covers(Covers((2,) * 4, 4, need, 1, (True,) * 4, ones), ACCOUNT)[0] == expected


def test_ties_of_long_integers_are_decided_exactly() -> None:
    # Rounded to 62 bits all sums of two are equal; only exact ones tell 2 * large from the need one above.
    large = 2**500
    losses = (large, large, large, large - 1, large + 1)
    for need in (2 * large - 1, 2 * large, 2 * large + 1, 2 * large + 2):
        covers = Covers(losses, need, need, 1, (False,) * 5, (Fraction(1),) * 5)
        assert count_covers(covers, ACCOUNT)[0] == summed(covers)[0]


def test_no_cover_and_one_feature_that_suffices() -> None:
    ones = (Fraction(1),) * 3
    assert count_covers(Covers((1, 1, 1), 4, 4, 1, (False,) * 3, ones), ACCOUNT) == ({}, 0)
    assert sum_covers(Covers((1, 1, 1), 4, 4, 1, (False,) * 3, ones), ACCOUNT).numerators == {}
    assert count_covers(Covers((9, 0, 1), 5, 5, 1, (False,) * 3, ones), ACCOUNT) == ({1: 1}, 1)


@pytest.mark.parametrize("seed", range(40))
def test_families_of_covers_and_their_duals(seed: int) -> None:
    covers = random_covers(Random(1000 + seed))
    listed = [sum(1 << i for i in members) for members in minimal_covers(covers.losses, covers.need)]
    assert sorted(cover_family(covers.losses, covers.need)) == sorted(listed)
    sets = CountedCxps(covers, sum_covers(covers, ACCOUNT), "ratio", *count_covers(covers, ACCOUNT))
    if listed:
        assert sorted(sets.axps()) == sorted(minimal_hitting_sets(listed))


def test_a_spent_budget_ends_the_sums_and_the_family() -> None:
    losses = tuple(Random(0).randint(2**60, 2**61) for _ in range(26))
    need = sum(losses) // 3
    covers = Covers(losses, need, need, 2**61, (True,) * 26, (Fraction(2**61, 2**61),) * 26)
    with pytest.raises(BudgetError, match="is not finished"):
        sum_covers(covers, Account(Budget(seconds=0.01), goal="sum"))
    with pytest.raises(BudgetError, match="is not finished"):
        cover_family(losses, need, budget=Budget(nodes=100))
    assert covers.is_summable
    assert not Covers((1,) * 80, 40, 40, 1, (True,) * 80, (Fraction(1, 9),) * 80).is_summable


def random_model(rng: Random, most: int = 14) -> tuple[LinearModel, list[Any], Fraction | None]:
    """Return a linear model over real and two-valued features, and a few of other kinds, with an instance."""
    features: list[Any] = []
    parts: list[Any] = []
    kind = rng.choice(["positive"] * 4 + ["score", "argmax"])
    n_scores = 3 if kind == "argmax" else 1
    for i in range(rng.randint(1, most)):
        what = rng.choice(["real"] * 6 + ["two", "bool", "flat", "integer"] if rng.random() < 0.5 else ["real"])
        slope = tuple(Fraction(rng.randint(-9, 9), rng.choice([1, 2, 7])) for _ in range(n_scores))
        if what == "two":
            features.append(Categorical(f"x{i}", ["a", "b"], weights=[1, rng.randint(1, 4)]))
            parts.append(Lookup(tuple((Fraction(0), s) for s in slope)))
            continue
        low = rng.randint(-3, 3)
        width = {"real": rng.choice([1, 2, 5]), "bool": 1, "flat": 0, "integer": 3}[what]
        made = Real if what in ("real", "flat") else Integer
        features.append(made(f"x{i}", low, low + width))
        parts.append(Slope(slope))
    base = tuple(Fraction(rng.randint(-20, 20), 2) for _ in range(n_scores))
    rule: Any = {"positive": Positive((0, 1)), "argmax": Argmax((0, 1, 2)), "score": Score(Fraction(1))}[kind]
    model = LinearModel.of(Domain(features), parts, base=list(base), rule=rule)
    point = [
        rng.choice(f.values)
        if isinstance(f, Categorical)
        else rng.randint(f.low, f.high)
        if isinstance(f, Integer)
        else float(f.low) + rng.choice([0, 0.25, 0.5, 1]) * float(f.high - f.low)
        for f in features
    ]
    return model, point, Fraction(rng.randint(1, 20), 2) if kind == "score" else None


def explained(model: LinearModel, point: list[Any], delta: Fraction | None, weights: str = "ratio") -> Any:
    try:
        return Explainer(model, model.domain, delta=delta, weights=weights).explain(point)
    except ConstantModelError:
        return None


def check_alike(counted: Any, listed: Any) -> None:
    """Check that what was counted answers as the list does."""
    assert counted.cxp_count == listed.cxp_count
    assert counted.relevant == listed.relevant
    assert set(counted.cxps) == set(listed.cxps)
    for kind in KINDS:
        assert counted.scores(kind) == listed.scores(kind)
    assert counted.axps == listed.axps
    for names in (listed.relevant[:1], listed.relevant[1:3], listed.domain.names, ()):
        assert counted.forest.sets.weight_met(listed.domain.mask(names)) == listed.forest.sets.weight_met(
            listed.domain.mask(names)
        )


@pytest.mark.parametrize("seed", range(50))
def test_counted_models_answer_as_listed_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n_counted = Random(seed), 0
    for _ in range(10):
        model, point, delta = random_model(rng, 14 if rng.random() < 0.1 else 8)
        weights = rng.choice(["ratio", "ratio", "unit"])
        listed = explained(model, point, delta, weights)
        with monkeypatch.context() as patch:
            patch.setattr(linear_engine, "LISTED", 0)
            counted = explained(model, point, delta, weights)
        if listed is None:
            assert counted is None
            continue
        n_counted += isinstance(counted._found, CountedCxps)
        check_alike(counted, listed)
    assert n_counted
