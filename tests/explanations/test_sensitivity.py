"""Sensitivity, robustness and fairness against enumeration of the space."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.distribution import Distribution
from axfi_kc.domain.measures import exact
from axfi_kc.plots import plot_circuit
from tests.support.random_networks import domain_of, random_network
from tests.support.reference_models import boosted_reference

Point = tuple[Any, ...]


def _domain(rng: Random) -> ax.Domain:
    features = [
        ax.Categorical(f"f{k}", [f"v{j}" for j in range(rng.randint(2, 3))], weights=None)
        if rng.random() < 0.5
        else ax.Integer(f"f{k}", 0, rng.randint(1, 3), missing=rng.choice((0, 0.25)))
        for k in range(rng.randint(2, 4))
    ]
    return ax.Domain(features)


def _chances(domain: ax.Domain, distribution: Distribution | None, points: list[Point]) -> dict[Point, Fraction]:
    found = {}
    for p in points:
        codes = domain.encode_point(p)
        if distribution is not None:
            pairs = zip(distribution.states, domain.features, strict=True)
            states = {i: int(s.locate(codes[[i]], f)[0]) for i, (s, f) in enumerate(pairs)}
            found[p] = distribution.probability(states)
            continue
        chance = Fraction(1)
        for f, value in zip(domain.features, p, strict=True):
            n = len(f.values) if isinstance(f, ax.Categorical) else f.high - f.low + 1
            chance *= exact(f.missing) if value is None else (1 - exact(f.missing)) / n
        found[p] = chance
    total = sum(found.values())
    return {p: c / total for p, c in found.items()}


def _problem(seed: int) -> tuple[ax.Domain, dict[Point, int], list[Point], Any]:
    rng = Random(seed)
    domain = _domain(rng)
    rows = list(domain.points())
    outputs = {p: rng.choice((0, 0, 1, 2)) for p in rows}
    if rng.random() < 0.5:
        kept = [p for p in rows if rng.random() < 0.7] or rows
        domain = domain.where(ax.allowed(domain.names, kept))
        rows = kept
    return domain, outputs, rows, rng


def _differ(p: Point, q: Point) -> set[int]:
    return {i for i, (a, b) in enumerate(zip(p, q, strict=True)) if a != b}


@pytest.mark.parametrize("seed", range(25))
def test_answers_are_those_of_enumeration(seed: int) -> None:
    domain, outputs, rows, rng = _problem(seed)
    distribution: Distribution | None = None
    if seed % 2:
        data = [rng.choice(rows) for _ in range(12)]
        distribution = ChowLiu.fit(data, domain)
        domain = domain.with_distribution(distribution)
    chances = _chances(domain, distribution, rows)
    model = lambda p: outputs[p]  # noqa: E731
    for size in (1, 2):
        features = rng.sample(domain.names, min(size, len(domain)))
        free = {domain.index(n) for n in features}
        hit = [p for p in rows if any(outputs[q] != outputs[p] and _differ(p, q) <= free for q in rows)]
        by = rng.choice(domain.names)
        found = ax.sensitivity(model, domain, features, by=by)
        _check(found, hit, rows, outputs, chances)
        assert sum(g.probability for g in found.groups) == found.probability
        assert sum(g.whole for g in found.groups) == 1
        assert sum(g.points or 0 for g in found.groups) == len(rows)
    for radius in (0, 1, 2):
        hit = [p for p in rows if any(outputs[q] != outputs[p] and len(_differ(p, q)) <= radius for q in rows)]
        _check(ax.robustness(model, domain, radius=radius), hit, rows, outputs, chances)


def _check(found: Any, hit: list[Point], rows: list[Point], outputs: Any, chances: dict[Point, Fraction]) -> None:
    assert found.count == len(hit) == found.region.count()
    assert found.points == len(rows)
    assert found.probability == sum((chances[p] for p in hit), Fraction(0))
    for part in found.outputs:
        inside = [p for p in hit if outputs[p] == part.name]
        whole = [p for p in rows if outputs[p] == part.name]
        assert (part.count, part.points) == (len(inside), len(whole))
        assert part.probability == sum((chances[p] for p in inside), Fraction(0))
        assert part.whole == sum((chances[p] for p in whole), Fraction(0))
        assert part.share is None or part.share == part.probability / part.whole


def _by_values(found: Any, hit: list[Point], rows: list[Point], chances: dict[Point, Fraction]) -> None:
    """Check the groups of an answer: each value of the feature is one, by the definition."""
    domain, feature = found.region.domain, found.region.domain.features[found.region.domain.index(found.by)]
    values = [*(feature.values if isinstance(feature, ax.Categorical) else range(feature.low, feature.high + 1))]
    values += [None] * bool(feature.missing)
    names = [f"{found.by} is missing" if v is None else f"{found.by} = {v!r}" for v in values]
    assert [part.name for part in found.groups] == names
    for value, part in zip(values, found.groups, strict=True):
        whole = [p for p in rows if p[domain.index(found.by)] == value]
        inside = [p for p in hit if p in whole]
        assert (part.count, part.points) == (len(inside), len(whole))
        assert part.probability == sum((chances[p] for p in inside), Fraction(0))
        assert part.whole == sum((chances[p] for p in whole), Fraction(0))


def _partial_models(seed: int) -> tuple[ax.Domain, list[Any]]:
    """Return a domain, and models of several readers, none of which tests all features at all values."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    rng = Random(seed)
    features = [ax.Integer("age", 0, 4), ax.Integer("sex", 0, 1), ax.Integer("town", 1, 3)]
    domain = ax.Domain(features)
    rows = [list(p) for p in domain.points()]
    blind = [[a, 0, town] for a, _, town in rows]  # sex is never of use
    labels = [int(a + rng.randint(0, 2) > 2) for a, _, _ in rows]
    labels[:2] = 0, 1
    tree = DecisionTreeClassifier(max_depth=2, random_state=seed).fit(blind, labels)
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=seed).fit(blind, labels)
    linear = LogisticRegression().fit(blind, labels)
    network = ax.BayesianNetwork(
        {"rich": ["no", "yes"], "age": ["low", "high"], "sex": ["all"], "town": [1, 2, 3]},
        {"rich": [0.5, 0.5], "age": [[0.75, 0.25], [0.25, 0.75]], "sex": [1], "town": [0.5, 0.25, 0.25]},
        parents={"age": ["rich"]},
        bins={"age": [2], "sex": []},
        output="rich",
    )
    return domain, [tree, boosted, linear, network, lambda p: bool(tree.predict([p])[0])]


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_the_values_whatever_the_model_tells_apart(seed: int) -> None:
    plain, models = _partial_models(seed)
    rng = Random(seed)
    domain, rows = plain, list(plain.points())
    if seed % 2:
        domain = domain.where((ax.feature("age") < 3) | (ax.feature("sex") == 1))
        rows = [p for p in rows if p[0] < 3 or p[1] == 1]
    joint = ChowLiu.fit([(a, int(a > 2) if rng.random() < 0.9 else s, t) for a, s, t in rows], plain)
    for model in models:
        outputs = dict(zip(rows, ax.read_model(model, plain).predict(rows), strict=True))
        for distribution in (None, joint):
            chances = _chances(plain, distribution, rows)
            for by in plain.names:
                found = ax.sensitivity(model, domain, ["age"], by=by, under=distribution)
                free = {0}
                hit = [p for p in rows if any(outputs[q] != outputs[p] and _differ(p, q) <= free for q in rows)]
                _by_values(found, hit, rows, chances)
                found = ax.robustness(model, domain, radius=1, by=by, under=distribution)
                hit = [p for p in rows if any(outputs[q] != outputs[p] and len(_differ(p, q)) <= 1 for q in rows)]
                _by_values(found, hit, rows, chances)
                (again,) = ax.fairness(outputs.get, domain, ["age"], by=by, under=[distribution]).answers
                (same,) = ax.fairness(model, domain, ["age"], by=by, under=[distribution]).answers
                assert same.groups == again.groups


def test_groups_of_a_real_feature_are_intervals_of_the_model_and_of_the_bins() -> None:
    from sklearn.tree import DecisionTreeClassifier

    domain = ax.Domain([ax.Integer("age", 0, 3), ax.Real("income", 0, 8, missing=0.25)])
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [3, 0]], [0, 1])
    data = [[0, 1], [1, 1], [1, 3], [2, 5], [3, 7], [3, None]]
    joint = ChowLiu.fit(data, domain, bins={"income": [2, 6]})
    alone, learnt = ax.fairness(tree, domain, ["age"], by="income", under=[None, joint]).answers
    assert [part.name for part in alone.groups] == ["any income", "income is missing"]
    names = ["income < 2", "income >= 2 and income < 6", "income >= 6", "income is missing"]
    assert [part.name for part in learnt.groups] == names
    assert [part.whole for part in learnt.groups] == [joint.probability({1: k}) for k in range(4)]
    split = ax.sensitivity(
        tree, domain.where((ax.feature("income") <= 4) | (ax.feature("age") > 1)), ["age"], by="income"
    )
    assert [part.name for part in split.groups] == ["income <= 4", "income > 4", "income is missing"]


def test_equal_regions_on_other_cells_have_the_same_probability() -> None:
    from sklearn.tree import DecisionTreeClassifier

    domain = ax.Domain([ax.Integer("age", 0, 3), ax.Integer("sex", 0, 1)])
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [1, 0], [2, 1], [3, 1]], [0, 0, 0, 1])
    joint = domain.with_distribution(ChowLiu.fit([[0, 0], [1, 0], [1, 0], [2, 1], [3, 1], [3, 1]], domain))
    found = [ax.sensitivity(model, joint, ["sex"]) for model in (tree, lambda p: int(p[0] > 2), tree)]
    assert [part.whole for part in found[0].outputs] == [Fraction(7, 10), Fraction(3, 10)]
    assert [one.outputs for one in found] == [found[0].outputs] * 3


def test_a_function_of_one_output_never_changes_it() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])
    found = ax.sensitivity(lambda p: "x", domain, ["a"], by="b")
    assert (found.probability, found.count, found.points) == (0, 0, 6)
    assert [(part.name, part.whole) for part in found.outputs] == [("x", 1)]
    assert [(part.name, part.points) for part in found.groups] == [("b = 0", 3), ("b = 1", 3)]
    assert ax.verify(found, lambda p: "x").complete


def test_fairness_under_independence_and_what_was_learnt(tmp_path: Path) -> None:
    rng = Random(3)
    rows = [(a, r, s) for a in range(10) for r in "ab" for s in "fm"]
    data = [(a, "a" if a < 5 else "b", s) for a, _, s in rng.choices(rows, k=60)]
    domain = ax.Domain([ax.Integer("age", 0, 9), ax.Categorical("race", "ab"), ax.Categorical("sex", "fm")])
    model = lambda p: p[0] > (6 if p[1] == "a" else 4)  # noqa: E731
    joint = domain.with_distribution(ChowLiu.fit(data, domain))
    found = ax.fairness(model, joint, ["race", "sex"])
    assert [(a.features, a.distribution[:11]) for a in found.answers[::2]] == [
        (("race",), "independent"),
        (("sex",), "independent"),
        (("race", "sex"), "independent"),
    ]
    assert found.answers[0].probability == Fraction(1, 5)
    assert found.answers[0].probability != found.answers[1].probability
    assert found.answers[1] == ax.sensitivity(model, joint, ["race"])
    assert found.answers[2].probability == 0
    assert len(found.to_frame()) == 6 * 3
    assert str(found).count("\n") == 5
    again = ax.fairness(model, domain, ["race"], under=[None, ChowLiu.fit(data, domain)])
    assert [a.probability for a in again.answers] == [a.probability for a in found.answers[:2]]
    assert repr(found).startswith("<Fairness: 6 answers: output changes if only race changes: 20 %")
    assert repr(found.answers[0]).startswith("<Sensitivity: output changes if only race changes: 20 %, 8 of 40 points")
    assert plot_circuit(found.answers[0].region) is not None
    assert found.answers[0].region.probability() == found.answers[0].probability
    assert found.answers[1].region.probability() == found.answers[1].probability
    found.answers[0].region.save(tmp_path / "region.nnf")
    assert ax.queries.count(ax.load_circuit(tmp_path / "region.nnf")) == 8


def test_real_features_have_probabilities_and_no_counts() -> None:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 0, 0, 1])
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 0, 1)])
    found = ax.sensitivity(tree, domain, ["a"])
    assert found.count is None
    assert abs(found.probability - Fraction(1, 2)) < Fraction(1, 10**7)  # the threshold is where float32 rounds
    assert "points" not in str(found)


def test_networks_as_models_and_as_distributions() -> None:
    network = random_network(Random(4), n=5, shape="tree", zeros=0)
    features = network.names[1:]
    domain = domain_of(network, features).with_distribution(network)
    model = network.with_output("x0")
    found = ax.sensitivity(model, domain, ["x1"])
    outputs = dict(zip(domain.points(), ax.read_model(model, domain).predict(list(domain.points())), strict=True))
    hit = [
        p
        for p in outputs
        if any(outputs[(v, *p[1:])] != outputs[p] for v in domain.features[0].values)  # type: ignore[union-attr]
    ]
    assert found.probability == sum(_chances(domain, domain.distribution, list(outputs))[p] for p in hit)


def test_bad_questions_are_one_sentence() -> None:
    from sklearn.tree import DecisionTreeRegressor

    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    regression = DecisionTreeRegressor().fit([[0, 0], [1, 1]], [0.5, 1.5])
    cases = [
        (lambda: ax.sensitivity(regression, domain, ["a"]), ax.errors.SimilarityError),
        (lambda: ax.sensitivity(sum, domain, []), ax.errors.DomainError),
        (lambda: ax.sensitivity(sum, domain, "a"), ax.errors.UnknownFeatureError),
        (lambda: ax.sensitivity(sum, domain, ["z"]), ax.errors.UnknownFeatureError),
        (lambda: ax.sensitivity(sum, domain, ["a"], by="z"), ax.errors.UnknownFeatureError),
        (lambda: ax.robustness(sum, domain, radius=-1), ax.errors.DomainError),
        (lambda: ax.sensitivity(sum, domain, ["a"], under=random_network(Random(1), n=2)), ax.errors.DomainError),
        (lambda: ax.sensitivity(sum, domain, ["a"], budget=ax.Budget(nodes=1)), ax.errors.BudgetError),
    ]
    for ask, kind in cases:
        with pytest.raises(kind) as caught:
            ask()
        assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("name", ["compas", "lending"])
def test_reference_models_by_enumeration(name: str) -> None:
    import numpy as np

    reference = boosted_reference(name)
    domain, sizes = reference.domain, [f.size or 0 for f in reference.domain.features]
    cells = np.array(list(itertools.product(*map(range, sizes))))
    table = np.array(reference.model.decide(cells)).reshape(sizes)
    for feature in domain.names[2:4]:
        axis = domain.index(feature)
        changes = (table.max(axis=axis) != table.min(axis=axis)).sum() * sizes[axis]
        assert ax.sensitivity(reference.model, domain, [feature]).count == changes
