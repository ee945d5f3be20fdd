"""Joint distributions: totals against sums over all combinations of states, states, documents, and bad input."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc import Categorical, ChowLiu, Domain, Integer, Mixture, Product, Real, States
from axfi_kc.domain.distribution import distribution_of, measured_domain, states_of
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.errors import DomainError, ResultFileError, UnknownFeatureError
from axfi_kc.explanations.files import domain_document, domain_of
from tests.support.random_distributions import (
    DISTRIBUTION_KINDS,
    joint_table,
    random_distribution,
    random_row,
    share_within,
    state_at,
)
from tests.support.random_problems import KINDS, random_truth

HALF = Fraction(1, 2)
COIN = Domain([Categorical("a", "ht"), Categorical("b", "ht")])
FAIR = Product.of(COIN)
# What depends on what, learnt from rows in which a and b agree.
BENT = ChowLiu.fit([("h", "h"), ("t", "t")], COIN)


def random_domain(rng: Random) -> Domain:
    return random_truth(rng, rng.choice(KINDS), n_instances=1).domain


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
def test_a_total_is_the_sum_over_all_combinations_of_states(kind: str) -> None:
    rng = Random(f"totals {kind}")
    for _ in range(40):
        joint = random_distribution(rng, random_domain(rng), kind)
        evidence: list[Any] = []
        for states in joint.states:
            row = [rng.choice((0, 1, 2, Fraction(1, 3))) for _ in range(states.size)]
            evidence.append(rng.choice((None, row, list(random_row(rng, states.size)))))
        expected = Fraction(0)
        for s, p in joint_table(joint).items():
            for row, k in zip(evidence, s, strict=True):
                p *= 1 if row is None else row[k]
            expected += p
        assert joint.total(evidence) == expected
        assert joint.total([None] * len(evidence)) == 1


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
def test_documents_give_back_distributions_and_domains(kind: str) -> None:
    rng = Random(f"documents {kind}")
    for _ in range(25):
        domain = random_domain(rng)
        joint = random_distribution(rng, domain, kind)
        assert distribution_of(json.loads(json.dumps(joint.document()))) == joint
        space = domain.with_distribution(joint)
        back = domain_of(json.loads(json.dumps(domain_document(space))))
        assert back == space
        assert back != domain
        assert hash(back.distribution) == hash(joint)


def test_shares_of_cells_and_states_of_values_agree_with_the_definitions() -> None:
    rng = Random("shares")
    for _ in range(150):
        truth = random_truth(rng, rng.choice(KINDS), n_instances=1)
        joint = random_distribution(rng, truth.domain, "product")
        for states, feature, values in zip(joint.states, truth.domain.features, truth.values, strict=True):
            present = [x for x in values if x is not None]
            codes = np.array([[np.nan if x is None else float(x) for x in values]]).T
            if isinstance(feature, Categorical):
                codes = np.array([[np.nan if x is None else float(feature.values.index(x)) for x in values]]).T
            assert states.locate(codes[:, 0], feature).tolist() == [state_at(states, x) for x in values]
            cuts: list[Cut] = []
            if not isinstance(feature, Categorical):
                ends = present[::2] if isinstance(feature, Real) else present  # between them are midpoints
                cuts = [Cut(float(x), closed=rng.random() < 0.5) for x in rng.sample(ends, len(ends) // 2)]
            axis = Axis.of(feature, cuts)
            shares, cells = states.shares(axis), axis.locate(codes[:, 0]).tolist()
            for n in range(states.size):
                expected = [Fraction(0)] * axis.n_cells
                for k, cell in enumerate(cells):
                    expected[cell] += share_within(states, feature, values, k, n)
                assert [row[n] for row in shares] == expected


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(2, 40))
def test_bins_of_integers_share_their_values_alike(cuts: list[int], high: int) -> None:
    age = Integer("age", 0, high)
    states = States.of(age, cuts)
    for state, column in enumerate(zip(*states.shares(Axis.of_values(age)), strict=True)):
        width = states.edges[state + 1] - states.edges[state]
        assert sorted(set(column)) in ([1 / width], [0, 1 / width])
        assert sum(column) == 1


def test_independent_distributions_are_measures() -> None:
    rng = Random("measures")
    made = 0
    for _ in range(120):
        domain = random_domain(rng)
        joint = random_distribution(rng, domain, "product")
        plain = measured_domain(domain.with_distribution(joint))
        if plain is None:  # missing values are there, but have no probability
            continue
        made += 1
        assert plain.distribution is None
        for states, table, feature, old in zip(
            joint.states, joint.tables, plain.features, domain.features, strict=True
        ):
            cuts = () if isinstance(feature, Categorical) else [Cut(float(feature.low) + 1, closed=True)]
            own, axis = Axis.of(feature, cuts), Axis.of(old, cuts)
            expected = [sum(s * p for s, p in zip(row, table, strict=True)) for row in states.shares(axis)]
            assert [Fraction(n, own.denominator) for n in own.numerators] == expected
    assert made > 60
    assert measured_domain(COIN.with_distribution(BENT)) is None
    assert measured_domain(COIN) is None


def test_the_measures_of_a_domain_are_a_product() -> None:
    rng = Random("product")
    for _ in range(60):
        domain = random_domain(rng)
        assert measured_domain(domain.with_distribution(Product.of(domain))) is not None
        for states, table, feature in zip(*_fields(Product.of(domain)), domain.features, strict=True):
            axis = Axis.of(feature)
            expected = [sum(s * p for s, p in zip(row, table, strict=True)) for row in states.shares(axis)]
            assert [Fraction(n, axis.denominator) for n in axis.numerators] == expected


def _fields(product: Product) -> tuple[Any, Any]:
    return product.states, product.tables


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
def test_samples_are_points_that_have_a_probability(kind: str) -> None:
    rng = Random(f"samples {kind}")
    for _ in range(10):
        domain = random_domain(rng)
        joint = random_distribution(rng, domain, kind, zeros=0.4)
        points = joint.sample(20, seed=3)
        assert points == joint.sample(20, seed=3)
        domain.encode([dict(zip(domain.names, p, strict=True)) for p in points])
        for p in points:
            assert joint.probability({i: state_at(s, x) for i, (s, x) in enumerate(zip(joint.states, p, strict=True))})


def test_samples_have_the_frequencies_of_the_distribution() -> None:
    points = BENT.sample(4000, seed=1)
    assert abs(sum(a == b for a, b in points) / 4000 - 2 / 3) < 0.04


def _mixed(rng: Random) -> tuple[Domain, Mixture, list[tuple[Any, ...]]]:
    """Return a mixture of parts that have states of their own, and the points of its domain."""
    domain = Domain([Integer("n", 0, 5), Categorical("c", "xyz"), Integer("m", 1, 4, missing=HALF)])
    rows = rng.choices(list(domain.points()), k=20)
    turned = Domain([domain.features[0], Categorical("c", "zxy"), domain.features[2]])
    network = ax.BayesianNetwork(
        {"n": ["low", "high"], "c": "yxz", "m": ["few", "missing", "many"]},
        {"n": random_row(rng, 2), "c": [random_row(rng, 3) for _ in range(2)], "m": random_row(rng, 3)},
        parents={"c": ["n"]},
        bins={"n": [rng.randint(1, 5)], "m": [rng.randint(2, 4)]},
    )
    parts = [
        ChowLiu.fit(rows, domain, bins={"n": [2, 3], "m": [3]}),
        Product.of(turned),
        network.over(domain),
        ChowLiu.fit(rows, turned),
        Mixture((Product.of(domain), ChowLiu.fit(rows, domain, bins={"n": [4]})), (HALF, HALF)),
    ]
    kept = tuple(rng.sample(parts, 3))
    return domain, Mixture(kept, random_row(rng, 3, zeros=0)), list(domain.points())


def _chance(distribution: Any, domain: Domain, point: tuple[Any, ...]) -> Fraction:
    """Return the probability of a point of discrete features: that of its states, shared evenly within bins."""
    if isinstance(distribution, Mixture):
        parts = zip(distribution.weights, distribution.parts, strict=True)
        return sum((w * _chance(part, domain, point) for w, part in parts), Fraction(0))
    places = {i: state_at(s, x) for i, (s, x) in enumerate(zip(distribution.states, point, strict=True))}
    found = distribution.probability(places)
    for i, k in places.items():
        states = distribution.states[i]
        if states.edges and k < states.n_present:
            found /= states.edges[k + 1] - states.edges[k]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_mixture_of_parts_with_states_of_their_own_is_their_sum(seed: int) -> None:
    rng = Random(f"mixed {seed}")
    domain, mixture, points = _mixed(rng)
    chances = {p: _chance(mixture, domain, p) for p in points}
    assert sum(chances.values()) == 1
    joint = domain.with_distribution(mixture)
    outputs = {p: rng.randrange(2) for p in points}
    compiled = ax.compile_model(outputs.get, joint, output=1)
    assert compiled.probability() == sum(c for p, c in chances.items() if outputs[p])
    e = ax.Explainer(outputs.get, joint).explain(rng.choice(points))
    report = ax.verify(e, outputs.get)
    assert report.complete, str(report)
    for cxp in e.cxps:
        changing = [joint.index(name) for name in cxp.features]
        own = [e.instance[name] for name in joint.names]
        around = [p for p in points if all(i in changing or p[i] == x for i, x in enumerate(own))]
        wrong = sum(chances[p] for p in around if outputs[p] != e.prediction)
        assert cxp.weight == wrong / sum(chances[p] for p in around)
    assert distribution_of(mixture.document()) == mixture
    assert distribution_of(mixture.document()).states == mixture.states
    assert len(mixture.sample(5)) == 5


def test_a_mixture_of_what_was_learnt_and_what_is_even() -> None:
    domain = Domain([Real("r", 0, 10), Integer("n", 0, 99)])
    learnt = ChowLiu.fit([[1, 5], [9, 80], [8, 90]], domain, bins={"r": [2, 5], "n": [50]})
    mixture = Mixture((learnt, Product.of(domain)), (HALF, HALF))
    assert [len(s.edges) for s in mixture.states] == [4, 3]
    assert mixture.probability({0: 0}) == (learnt.probability({0: 0}) + Fraction(1, 5)) / 2
    for other in (Domain([Real("r", 0, 11), domain.features[1]]), Domain([domain.features[0], Integer("n", 0, 98)])):
        with pytest.raises(DomainError, match=r"A mixture needs distributions of the same values, but those of '[rn]'"):
            Mixture((learnt, Product.of(other)), (HALF, HALF))


def test_a_tree_is_learnt_by_smoothed_counts_along_its_heaviest_edges() -> None:
    # c is b with one exception, and a depends on b a little: the edge from a to c is the weakest.
    rows = [(0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 0, 0)]
    domain = Domain([Integer(name, 0, 1) for name in "abc"])
    tree = ChowLiu.fit(rows, domain, smoothing=HALF)
    assert tree.parents == (-1, 0, 1)
    assert tree.edges == (("a", "b"), ("b", "c"))
    assert tree.tables[0] == ((HALF, HALF),)
    assert tree.tables[2] == ((Fraction(9, 10), Fraction(1, 10)), (Fraction(3, 10), Fraction(7, 10)))
    assert ChowLiu.fit(rows, domain, smoothing=0).tables[2] == ((1, 0), (Fraction(1, 4), Fraction(3, 4)))


def test_features_that_do_not_depend_on_each_other_get_no_edge() -> None:
    tree = ChowLiu.fit([(a, b) for a in (0, 1) for b in (0, 1)], Domain([Integer("a", 0, 1), Integer("b", 0, 1)]))
    assert tree.edges == ()
    assert tree.independent == ((HALF, HALF), (HALF, HALF))


def test_reals_are_binned_and_missing_values_are_a_state() -> None:
    domain = Domain([Real("r", 0, 10), Integer("n", 0, 200, missing=Fraction(1, 4)), Integer("k", 0, 3)])
    rows = [{"r": 0.5, "n": None, "k": 0}, {"r": 9.5, "n": 150, "k": 3}]
    assert [s.size for s in ChowLiu.fit(rows, domain).states] == [10, 11, 4]
    assert [s.size for s in ChowLiu.fit(rows, domain, bins=2).states] == [2, 3, 2]
    assert [s.size for s in ChowLiu.fit(rows, domain, bins={"r": [5], "k": 2}).states] == [2, 11, 2]
    with pytest.raises(UnknownFeatureError, match="x"):
        ChowLiu.fit(rows, domain, bins={"x": 2})


def test_a_domain_keeps_its_distribution_and_says_so() -> None:
    joint = COIN.with_distribution(BENT)
    assert repr(joint).endswith("; with a tree of 1 edge over 2 features: a - b)")
    limited = joint.where(ax.feature("a") == "h")
    assert limited.distribution == BENT
    assert limited.unconstrained == joint
    assert joint.with_distribution(None) == COIN
    assert limited.with_distribution(None).constraints == limited.constraints


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: COIN.with_distribution("fair"), "Expected a distribution"),
        (lambda: Domain([Integer("a", 0, 1)]).with_distribution(FAIR), "is over a, b, but the domain has a"),
        (lambda: Domain([Categorical("a", "htx"), COIN.features[1]]).with_distribution(FAIR), "'x' is no state of it"),
        (lambda: Domain([Integer("a", 0, 1), COIN.features[1]]).with_distribution(FAIR), "are categories, not numbers"),
        (
            lambda: Domain([Categorical("a", "ht", missing=HALF), COIN.features[1]]).with_distribution(FAIR),
            "they may be missing",
        ),
        (
            lambda: Domain([Integer("n", 0, 9)]).with_distribution(Product.of(Domain([Integer("n", 0, 8)]))),
            "from 0 to 8 only",
        ),
        (
            lambda: Domain([Real("n", 0, 1)]).with_distribution(Product.of(Domain([Integer("n", 0, 1)]))),
            "its states are of integers",
        ),
        (lambda: FAIR.total([[1, 0]]), "a row for each of 2 features"),
        (lambda: BENT.total([[1, 0], [1, 0, 0]]), "a number for each of its states"),
        (lambda: Mixture((), ()), "at least one"),
        (lambda: Mixture((FAIR, FAIR), (1, 1)), "add up to 2"),
        (lambda: Product(FAIR.states, ((HALF, HALF),)), "needs a table for each, but has 1"),
        (lambda: Product(FAIR.states, ((HALF, HALF), (HALF, 1))), "add up to 1.5"),
        (lambda: ChowLiu(FAIR.states, (1, 0), (((HALF, HALF),) * 2,) * 2), "form a cycle"),
        (lambda: ChowLiu(FAIR.states, (-1, 0), (((HALF, HALF),),) * 2), "needs 2 rows, but has 1"),
        (lambda: ChowLiu(FAIR.states, (-1, 7), (((HALF, HALF),),) * 2), "for each a parent, or -1, and a table"),
        (lambda: ChowLiu.fit([("h", "h")], COIN, smoothing=-1), "smoothing=-1 was given"),
        (lambda: ChowLiu.fit(np.zeros((0, 2)), COIN), "there are no rows"),
        (lambda: States.of(COIN.features[0], [1]), "is categorical, so it has no bins"),
        (lambda: States.of(Integer("n", 0, 2**40)), "too many for a state each; give it bins"),
        (lambda: states_of(Domain([Real("r", 0, 1)]), 0), "at least one bin, but 0"),
        (lambda: ax.read_distribution("nowhere.json"), r"nowhere\.json cannot be read as a distribution"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make: Any, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        make()


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"kind": "nothing"},
        {"kind": "product", "states": [], "tables": 3},
        {"kind": "product", "states": [], "tables": []},
        {"kind": "chow-liu", "states": [], "parents": [], "tables": []},
        {"kind": "chow-liu", "states": [{"name": "a", "values": ["h"]}], "parents": [float("inf")], "tables": [[[1]]]},
        {"kind": "product", "states": [{"name": "a", "values": ["h", "h"]}], "tables": [[1, 0]]},
        {"kind": "product", "states": [{"name": "a", "edges": [2, 1]}], "tables": [[1]]},
        {"kind": "product", "states": [{"name": "a", "integers": ["1/2", 3]}], "tables": [[1]]},
        {"kind": "product", "states": [{"name": "a", "values": ["h"]}], "tables": [["x"]]},
        {"kind": "product", "states": [{"name": "a", "values": ["h"]}], "tables": [[2]]},
        {"kind": "chow-liu", "states": [{"name": "a", "values": ["h"]}], "parents": [0], "tables": [[[1]]]},
        {"kind": "chow-liu", "states": [{"name": "a", "values": ["h"]}], "parents": ["x"], "tables": [[[1]]]},
        {"kind": "mixture", "parts": [{"kind": "mixture", "parts": [], "weights": []}], "weights": [1]},
    ],
)
def test_documents_of_nothing_are_refused(document: Any) -> None:
    with pytest.raises(DomainError, match="Expected a distribution"):
        distribution_of(document)
    entries = [*domain_document(COIN), {"kind": "distribution", "distribution": document}]
    with pytest.raises(ResultFileError, match="describes no valid domain"):
        domain_of(entries)


def test_a_domain_has_one_distribution() -> None:
    entries = domain_document(COIN.with_distribution(FAIR))
    with pytest.raises(ResultFileError, match="one distribution, but 2 were found"):
        domain_of([*entries, entries[-1]])


def test_grids_are_not_cut_by_states() -> None:
    """States need not fit a model's cells: shares of states say how much of each a cell holds."""
    domain = Domain([Real("r", 0, 10)])
    assert Grid.of(domain.with_distribution(ChowLiu.fit([[1.0], [7.0]], domain)), [()]).n_cells == (1,)
