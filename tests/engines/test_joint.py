"""Explanations under joint distributions, through every target, against sums over all combinations of states."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Budget, ChowLiu, Domain, Integer, Mixture, Product, Real, States
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, ConstantModelError, DomainError, IncompleteError, UnsupportedModelError
from axfi_kc.models import LinearModel, Positive, Samples, tree_weights
from axfi_kc.models.joint import BoxList, BoxWeigher, TotalWeigher
from axfi_kc.models.tree_weights import TreeWeigher
from axfi_kc.scores.shap.margins import margin_shap_scores
from benchmarks import soak
from tests.engines.test_possible import rows_of
from tests.support import hard_problems
from tests.support.random_constraints import constrained
from tests.support.random_distributions import (
    DISTRIBUTION_KINDS,
    JointTruth,
    random_distribution,
    random_tree,
    with_distribution,
)
from tests.support.random_problems import KINDS, random_truth
from tests.support.random_spaces import Around, random_region


def _agrees(explainer: ax.Explainer, truth: JointTruth, v: tuple[int, ...], row: Any, rng: Random) -> bool:
    """Compare one explanation with the sums; False where its surroundings have probability 0, as both must say."""
    try:
        e = explainer.explain(row)
    except DomainError as error:
        if "probability 0" not in str(error) or truth.has_ratios(v):
            raise
        return False
    if explainer.weights == "ratio" or truth.has_ratios(v):
        others = [rng.choice(soak.SCORES)]
        soak.check_instance(e, truth.answer(v), weights=explainer.weights, others=others)
    return True


def check_truth(truth: JointTruth, rng: Random) -> int:
    """Compare all targets with the sums; return how many explanations were compared."""
    rows, checked = rows_of(truth), 0
    for target, weights in product(soak.TARGETS, ("ratio", "unit")):
        try:
            options = {"delta": truth.delta, "weights": weights, "target": target}
            explainer = ax.Explainer(truth.model, truth.domain, **options)
            for v, row in zip(truth.instances, rows, strict=True):
                checked += _agrees(explainer, truth, v, row, rng)
        except ConstantModelError:
            assert truth.is_constant
    return checked


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
@pytest.mark.parametrize("form", KINDS)
def test_every_target_equals_the_sum_over_all_states(form: str, kind: str) -> None:
    rng, checked = Random(f"joint {form} {kind}"), 0
    for _ in range(4):
        truth = random_truth(rng, form, n_instances=3)
        joint = with_distribution(truth, random_distribution(rng, truth.domain, kind))
        checked += check_truth(joint, rng)
    assert checked >= 10


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
@pytest.mark.parametrize("form", KINDS)
def test_under_constraints_it_is_the_distribution_given_them(form: str, kind: str) -> None:
    rng, checked = Random(f"joint constrained {form} {kind}"), 0
    while checked < 10:
        truth = random_truth(rng, form, n_instances=3)
        joint = with_distribution(truth, random_distribution(rng, truth.domain, kind, zeros=0.05))
        found = constrained(rng, joint, n_instances=2)
        checked += check_truth(found, rng) if found is not None else 0


@pytest.mark.parametrize("target", ["auto", "mdd", "ddnnf"])
@pytest.mark.parametrize("form", KINDS)
def test_whatever_the_budget_the_radius_that_fits_is_weighed(form: str, target: str) -> None:
    """Under each budget what is given are the CXps, with their ratios, of at most so many features."""
    rng, checked = Random(f"joint radius {form} {target}"), 0
    while checked < 6:
        truth = random_truth(rng, form, n_instances=1)
        joint = with_distribution(truth, random_distribution(rng, truth.domain, "tree", zeros=0))
        if truth.is_constant:
            continue
        (v,), (row,) = joint.instances, rows_of(joint)
        expected = joint.answer(v).ratios
        codes = joint.domain.encode_point(row)[np.newaxis]
        engine = ax.Explainer(truth.model, joint.domain, delta=truth.delta, target=target)._engine
        for nodes in (3, 30, 300, 30_000):
            try:
                found = engine.explain(codes, budget=Budget(nodes=nodes), partial=True)
            except BudgetError:
                continue
            radius, sets = found.radius(0), found[0].listed()
            assert sets is not None
            assert sets.weights == {Y: w for Y, w in expected.items() if radius is None or Y.bit_count() <= radius}
            checked += 1


def test_a_spent_budget_gives_the_ratios_of_a_radius() -> None:
    model, x = hard_problems.boosted()
    joint = model.domain.with_distribution(ChowLiu.fit(_corners(model.domain), model.domain))
    found = []
    for _ in range(2):
        with pytest.warns(ax.errors.AxfiWarning, match="complete up to"):
            found.append(ax.Explainer(model, joint, budget=Budget(nodes=100_000)).explain(x))
    radius = found[0].radius
    assert radius is not None
    assert 1 <= radius == found[1].radius < len(joint)
    limited = ax.Explainer(model, joint, max_size=radius).explain(x)
    assert found[0].cxps == found[1].cxps == limited.cxps
    with pytest.raises(BudgetError):
        ax.Explainer(model, joint, budget=Budget(nodes=100_000), on_budget="raise").explain(x)


def _corners(domain: Domain) -> list[list[float]]:
    """Return rows at both ends of every feature, neighbours mostly alike."""
    rng, rows = Random(1), list[list[float]]()
    for _ in range(50):
        row = [float(rng.random() < 0.5)]
        for _ in domain.features[1:]:
            row.append(row[-1] if rng.random() < 0.8 else 1 - row[-1])
        rows.append([float(f.low if bit == 0 else f.high) for bit, f in zip(row, domain.features, strict=True)])
    return rows


@pytest.mark.parametrize("kind", ["tree", "mixture"])
@pytest.mark.parametrize("form", KINDS)
def test_within_regions_it_is_the_distribution_given_them(form: str, kind: str) -> None:
    rng, checked = Random(f"joint regions {form} {kind}"), 0
    while checked < 12:
        truth = random_truth(rng, form, n_instances=2)
        if not truth.is_finite:
            continue
        joint = with_distribution(truth, random_distribution(rng, truth.domain, kind))
        region = random_region(rng, truth.domain, norm=rng.choice(("linf", "l1")))
        for v in joint.instances:
            around = Around(truth, truth.domain, region, v)
            inside = replace(joint, possible=frozenset(around.inside))
            if not inside.has_ratios(v):
                continue
            row = dict(zip(truth.domain.names, truth.point(v), strict=True))
            for target in ("auto", "mdd"):
                explainer = ax.Explainer(truth.model, joint.domain, delta=truth.delta, target=target, within=region)
                e = explainer.explain(row)
                found = dict(zip(soak.masks(e.cxps, truth.domain.names), (c.weight for c in e.cxps), strict=True))
                assert found == inside.answer(v).ratios
                checked += 1


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("form", ["tree", "ensemble", "circuit"])
def test_one_part_alone_is_independent_also_where_balls_cut_through_cells(form: str, norm: str) -> None:
    """A mixture of one product takes the way of joint distributions, to where measures get in another."""
    rng, checked = Random(f"joint balls {form} {norm}"), 0
    while checked < 15:
        truth = random_truth(rng, form, n_instances=2)
        region = random_region(rng, truth.domain, norm=norm)
        joint = truth.domain.with_distribution(Mixture((Product.of(truth.domain),), (1,)))
        for row in rows_of(truth):
            weighed = []
            for domain in (truth.domain, joint):
                try:
                    e = ax.Explainer(truth.model, domain, delta=truth.delta, within=region).explain(row)
                    weighed.append({c.features: c.weight for c in e.cxps})
                except DomainError as error:
                    if "probability 0" not in str(error):
                        raise
            if len(weighed) == 2:
                assert weighed[0] == weighed[1]
                checked += 1


def random_boxes(rng: Random, n_cells: tuple[int, ...], members: list[int]) -> list[list[range]]:
    """Return boxes that need not be disjoint: what they weigh together is a sum all the same."""
    boxes = []
    for _ in range(rng.randint(0, 4)):
        ends = [sorted(rng.sample(range(n_cells[i] + 1), 2)) for i in members]
        boxes.append([range(a, b) for a, b in ends])
    return boxes


def test_the_kernel_weighs_as_totals_do(monkeypatch: Any) -> None:
    rng = Random("kernel")
    monkeypatch.setattr(tree_weights, "_FEW_SPANS", 0)
    for n in range(60):
        sizes = [rng.randint(1, 5) for _ in range(rng.randint(1, 7))]
        domain = Domain([Integer(f"x{i}", 0, k) for i, k in enumerate(sizes)])
        states = tuple(States.of(f, None if rng.random() < 0.7 else [rng.randint(1, f.high)]) for f in domain.features)
        tree = random_tree(rng, states, zeros=0)
        if n % 3 == 0:  # probabilities of hundreds of bits
            tables = [tuple(_long_row(rng, len(row)) for row in table) for table in tree.tables]
            tree = ChowLiu(states, tree.parents, tuple(tables))
        grid = Grid.of_values(domain.with_distribution(tree))
        codes = np.array([[float(rng.randint(0, k)) for k in sizes] for _ in range(3)])
        members = [sorted(rng.sample(range(len(sizes)), rng.randint(0, len(sizes)))) for _ in range(9)]
        owner = [rng.randrange(3) for _ in members]
        boxes = BoxList.of(members, [random_boxes(rng, grid.n_cells, own) for own in members])
        question, weigher = (codes, grid.locate(codes), owner, boxes), TreeWeigher(grid, tree)
        by_totals = list(TotalWeigher(grid, tree).ratios(*question))
        assert list(weigher.ratios(*question)) == by_totals
        assert list(BoxWeigher.ratios(weigher, *question)) == by_totals  # part by part


def _long_row(rng: Random, size: int) -> tuple[Fraction, ...]:
    weights = [rng.getrandbits(rng.choice((3, 64, 300))) + 1 for _ in range(size)]
    return tuple(Fraction(w, sum(weights)) for w in weights)


@pytest.mark.parametrize("form", KINDS)
def test_probabilities_of_compiled_models_are_those_of_the_distribution(form: str, monkeypatch: Any) -> None:
    rng, checked = Random(f"compiled {form}"), 0
    while checked < 12:
        truth = random_truth(rng, form, n_instances=1)
        joint = with_distribution(truth, random_distribution(rng, truth.domain, rng.choice(("tree", "mixture"))))
        if rng.random() < 0.4:
            joint = constrained(rng, joint, n_instances=1)
        if joint is None or joint.delta is not None:
            continue
        whole = sum((joint.density(p, p, range(len(p))) for p, _ in joint.existing), Fraction(0))
        for output, target in product({y for _, y in joint.existing}, soak.TARGETS[1:]):
            monkeypatch.setattr(tree_weights, "_FEW_PATHS", rng.choice((0, 2000)))
            inside = [p for p, y in joint.existing if y == output]
            compiled = ax.compile_model(joint.model, joint.domain, output=output, target=target)
            if whole:
                expected = sum((joint.density(p, p, range(len(p))) for p in inside), Fraction(0)) / whole
                assert compiled.probability() == expected
                checked += 1


def test_more_cxps_than_a_list_holds_are_refused_in_a_sentence() -> None:
    n = 22
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(
        domain, [[1] * n], intercepts=[Fraction(-n, 2) + Fraction(1, 2)], rule=Positive((0, 1))
    )
    joint = domain.with_distribution(ChowLiu.fit([[0] * n, [1] * n], domain))
    with pytest.raises(IncompleteError, match="Where features depend on each other ratios are made CXp by CXp"):
        ax.Explainer(model, joint, target="mdd").explain([1] * n)
    assert ax.Explainer(model, joint, target="mdd", weights="count").explain([1] * n).cxp_count == comb(n, n // 2 + 1)
    # Independent features need no list, wherever they come from.
    alone = domain.with_distribution(Product.of(domain))
    e = ax.Explainer(model, alone, target="mdd").explain([1] * n)
    assert e.scores() == ax.Explainer(model, domain, target="mdd").explain([1] * n).scores()


def test_families_too_large_to_list_have_ratios_where_their_features_do_not_depend_on_each_other() -> None:
    """Each of the features that matter depends on one that does not: given that one, they are independent."""
    rng, n = Random("apart"), 22
    domain = Domain([Integer("hidden", 0, 2), *(Integer(f"x{i}", 0, 1) for i in range(n))])
    states = tuple(States.of(f) for f in domain.features)
    tables = [(_long_row(rng, 3),), *(tuple(_long_row(rng, 2) for _ in range(3)) for _ in range(n))]
    tree = ChowLiu(states, (-1, *(0,) * n), tuple(tables))
    model = LinearModel.of_columns(
        domain, [[0] + [1] * n], intercepts=[Fraction(-n, 2) + Fraction(1, 2)], rule=Positive((0, 1))
    )
    for hidden in (0, 2):
        e = ax.Explainer(model, domain.with_distribution(tree), target="mdd").explain([hidden] + [1] * n)
        assert e.cxp_count == comb(n, n // 2 + 1)
        # Given what is hidden, a domain with these measures is the same space.
        alone = Domain([domain.features[0], *(Integer(f"x{i}", 0, 1, weights=tables[i + 1][hidden]) for i in range(n))])
        same = LinearModel.of_columns(
            alone, [[0] + [1] * n], intercepts=[Fraction(-n, 2) + Fraction(1, 2)], rule=Positive((0, 1))
        )
        assert e.scores() == ax.Explainer(same, alone, target="mdd").explain([hidden] + [1] * n).scores()


HALF = Fraction(1, 2)
COINS = Domain([Integer("a", 0, 1), Integer("b", 0, 1), Integer("c", 0, 1)])
AGREE = ChowLiu.fit([(0, 0, 0), (1, 1, 1)], COINS, smoothing=0)


@pytest.mark.parametrize("target", soak.TARGETS)
def test_a_distribution_that_excludes_the_instance_is_an_error_and_not_a_quotient(target: str) -> None:
    explainer = ax.Explainer(lambda p: p[0], COINS.with_distribution(AGREE), target=target)
    with pytest.raises(DomainError, match="have probability 0, so that nothing has a probability among them; smooth"):
        explainer.explain((1, 0, 1))
    assert [c.weight for c in explainer.explain((1, 1, 1)).cxps] == [0]
    for weights in ("count", "unit"):
        options = {"target": target, "weights": weights}
        e = ax.Explainer(lambda p: p[0], COINS.with_distribution(AGREE), **options).explain((1, 0, 1))
        assert [(c.features, c.weight) for c in e.cxps] == [(("a",), 1)]


ROW = (Fraction(1, 4), Fraction(3, 4))
NEVER = (Fraction(1), Fraction(0))
PRODUCT = Product(tuple(map(States.of, COINS.features)), (ROW, NEVER, ROW))


def _network(*, child: bool = False, edge: bool = False) -> ax.BayesianNetwork:
    """Return a network of the coins: without arrows, or with a child of all that is no feature, or with an arrow."""
    tables: dict[str, Any] = {"a": [ROW, ROW] if edge else ROW, "b": NEVER, "c": ROW}
    parents = {"a": ["b"]} if edge else {}
    if child:
        tables, parents = tables | {"d": [[[ROW] * 2] * 2] * 2}, parents | {"d": ["a", "b", "c"]}
    return ax.BayesianNetwork(dict.fromkeys(tables, (0, 1)), tables, parents=parents)


def _tree(*parents: int) -> ChowLiu:
    tables = [(row,) * (1 if p < 0 else 2) for row, p in zip((ROW, NEVER, ROW), parents, strict=True)]
    return ChowLiu(PRODUCT.states, parents, tuple(tables))


OTHER = Product(PRODUCT.states, (ROW, NEVER, NEVER))
INDEPENDENT = {
    "product": PRODUCT,
    "tree without edges": _tree(-1, -1, -1),
    "tree with an edge elsewhere": _tree(-1, -1, 0),
    "network without arrows": _network(),
    "network with a child that is no feature": _network(child=True),
    "mixture of one": Mixture((PRODUCT, OTHER), (1, 0)),
    "mixture of two that are alike": Mixture((PRODUCT, _tree(-1, -1, -1)), (HALF, HALF)),
    "mixture that differs elsewhere": Mixture((PRODUCT, OTHER), (HALF, HALF)),
}
DEPENDENT = {
    "tree": _tree(1, -1, -1),
    "network": _network(edge=True),
    "mixture": Mixture((PRODUCT, _tree(1, -1, -1)), (HALF, HALF)),
}


@pytest.mark.parametrize("kind", INDEPENDENT)
@pytest.mark.parametrize("target", soak.TARGETS)
def test_a_value_of_probability_0_cancels_where_what_changes_does_not_depend_on_it(kind: str, target: str) -> None:
    """Features with measures of their own say what is right: there b has the weights 1 and 0."""
    measured = Domain([Integer("a", 0, 1, weights=ROW), Integer("b", 0, 1, weights=NEVER), COINS.features[2]])
    model = lambda p: p[0]  # noqa: E731
    joint = COINS.with_distribution(INDEPENDENT[kind])
    plain, given = (ax.Explainer(model, domain, target=target).explain((1, 1, 0)) for domain in (measured, joint))
    assert [(c.features, c.weight) for c in given.cxps] == [(("a",), ROW[0])]
    assert given.scores() == plain.scores()
    assert given.precision(["b"]) == plain.precision(["b"]) == ROW[1]
    assert given.precision(["a", "b"]) == 1
    assert given.counterfactual().plausibility == plain.counterfactual().plausibility == ROW[0]
    assert given.counterfactual(seed=1).changes == {"a": (1, 0)}
    assert given.circuit(given.cxps[0]).weight() == ROW[0]
    assert ax.verify(given, model).complete
    near = ax.Explainer(model, joint, target=target, within=ax.Region(radius=1, norm="l1")).explain((1, 1, 0))
    assert [c.weight for c in near.cxps] == [ROW[0]]


@pytest.mark.parametrize("kind", DEPENDENT)
@pytest.mark.parametrize("target", soak.TARGETS)
def test_a_value_of_probability_0_is_an_error_where_what_changes_depends_on_it(kind: str, target: str) -> None:
    explainer = ax.Explainer(lambda p: p[0], COINS.with_distribution(DEPENDENT[kind]), target=target)
    with pytest.raises(DomainError, match="have probability 0, so that nothing has a probability among them; smooth"):
        explainer.explain((1, 1, 0))
    other = ax.Explainer(lambda p: p[2], COINS.with_distribution(DEPENDENT[kind]), target=target)
    if kind != "mixture":  # c is in a block of its own
        assert [c.weight for c in other.explain((1, 1, 1)).cxps] == [ROW[0]]


def test_what_has_no_exact_way_is_refused_in_a_sentence() -> None:
    domain = Domain([Real("r", 0, 1), Integer("a", 0, 1)])
    joint = domain.with_distribution(ChowLiu.fit([[0.2, 0], [0.9, 1]], domain))
    model = LinearModel.of_columns(domain, [[2, 1]], intercepts=[-1], rule=Positive((0, 1)))
    for target in soak.TARGETS:
        with pytest.raises(UnsupportedModelError, match="over the real feature 'r' is not explained under a joint"):
            ax.Explainer(model, joint, target=target)
    # With independent features its closed forms hold.
    alone = ax.Explainer(model, domain.with_distribution(Product.of(domain))).explain((0.2, 1))
    assert alone.scores() == ax.Explainer(model, domain).explain((0.2, 1)).scores()
    with pytest.raises(DomainError, match="the domain has a distribution"):
        Samples.of(joint, [[0.2, 0]], [1])
    compiled = ax.compile_model(lambda p: p[0], COINS.with_distribution(AGREE), output=1)
    with pytest.raises(DomainError, match="SHAP scores of a circuit are those of independent features"):
        ax.shap_scores(compiled, (1, 1, 1))
    with pytest.raises(DomainError, match="SHAP scores of margins are those of independent features"):
        margin_shap_scores(model, joint, [(0.2, 1)])
