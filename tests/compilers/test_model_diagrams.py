"""Complete diagrams equal their models."""

from __future__ import annotations

import gc
from fractions import Fraction
from itertools import product
from math import prod
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.circuit import DECISION, TRUE, Circuit
from axfi_kc.circuits.queries import count, is_decomposable, probability
from axfi_kc.circuits.targets.mdd_table import MddTable
from axfi_kc.compilers import compile_mdd
from axfi_kc.compilers.feature_orders import ORDERS
from axfi_kc.compilers.model_diagrams import prepare
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import BudgetError
from axfi_kc.models import Argmax, Positive, Score, Similarity, TreeNodes, TreeSum, boxes_of
from tests.support.oracle import box
from tests.support.real_models import boosted
from tests.support.strategies import Case, box_cases, cases, ensemble_cases

MANY = settings(max_examples=120, deadline=None)


def holds(circuit: Circuit, cells: np.ndarray) -> np.ndarray:
    """Tell for each row of cells whether the circuit holds, by its definition."""
    found: list[np.ndarray] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        truth = np.full(len(cells), kind == TRUE)
        for label, child in circuit.arcs(node):
            truth |= np.isin(cells[:, circuit.features[node]], label) & found[child]
        found.append(truth)
    return found[-1]


def all_cells(grid: Any) -> np.ndarray:
    return np.indices(grid.n_cells).reshape(len(grid.axes), -1).T


def check_reduced_and_ordered(circuit: Circuit) -> None:
    """No two equal nodes, no node without effect, every path in one order."""
    nodes = {n for n, kind in enumerate(circuit.kinds.tolist()) if kind == DECISION}
    assert all(kind in (0, 1, DECISION) for kind in circuit.kinds.tolist())
    seen, before = (
        set(),
        {(int(circuit.features[n]), int(circuit.features[c])) for n in nodes for _, c in circuit.arcs(n)},
    )
    for n in nodes:
        arcs = circuit.arcs(n)
        named = [c for cells, _ in arcs for c in cells]
        children = [child for _, child in arcs]
        assert len(named) == len(set(named))
        assert len(children) == len(set(children)) > 0
        assert len(children) > 1 or len(named) < circuit.grid.n_cells[circuit.features[n]]
        seen.add((int(circuit.features[n]), tuple(sorted(arcs))))
    assert len(seen) == len(nodes)
    edges = {(a, b) for a, b in before if b >= 0}
    features = {f for edge in edges for f in edge}
    while features:  # an order exists exactly when features can be taken away last first
        last = {f for f in features if not any(a == f and b in features for a, b in edges)}
        assert last
        features -= last


@settings(max_examples=400, deadline=None)
@given(ensemble_cases(), st.sampled_from(ORDERS), st.booleans())
def test_diagrams_of_ensembles(case: Case, order: str, similar: bool) -> None:
    check_against_judge(case, order, similar)


@MANY
@given(box_cases, st.sampled_from(ORDERS), st.booleans())
def test_diagrams_of_tables_and_trees(case: Case, order: str, similar: bool) -> None:
    check_against_judge(case, order, similar)


def check_against_judge(case: Case, order: str, similar: bool) -> None:
    problem, judge = case.problem, case.judge
    circuit = compile_mdd(problem.model, problem.output, problem.similarity, order=order, similar=similar)
    everywhere = frozenset(range(len(problem.domain)))
    points = [(x, p, judge.dissimilar(x) != similar) for x, p in box(judge.space, judge.v, everywhere)]
    plain = [tuple(float(c) if isinstance(c, Fraction) else c for c in x) for x, _, _ in points]
    cells = problem.model.grid.locate(problem.domain.encode(plain))
    assert holds(circuit, cells).tolist() == [wanted for _, _, wanted in points]
    assert probability(circuit) == sum((p for _, p, wanted in points if wanted), Fraction(0))
    if problem.domain.size is not None:
        assert count(circuit) == sum(wanted for _, _, wanted in points)
    assert is_decomposable(circuit)
    check_reduced_and_ordered(circuit)


@MANY
@given(cases, st.randoms())
def test_named_orders_are_kept(case: Case, random: Any) -> None:
    problem = case.problem
    names = list(problem.domain.names)
    random.shuffle(names)
    circuit = compile_mdd(problem.model, problem.output, problem.similarity, order=names)
    place = [names.index(name) for name in problem.domain.names]
    for node, feature in enumerate(circuit.features.tolist()):
        below = [circuit.features[child] for _, child in circuit.arcs(node)]
        assert all(place[b] > place[feature] for b in below if b >= 0)
    outputs = problem.model.decide(all_cells(problem.model.grid))
    assert holds(circuit, all_cells(problem.model.grid)).tolist() == [problem.is_dissimilar(y) for y in outputs]


@MANY
@given(box_cases)
def test_boxes_have_the_same_diagram_as_their_model(case: Case) -> None:
    problem, boxes = case.problem, boxes_of(case.problem.model)
    one, other = (compile_mdd(m, problem.output, problem.similarity, order="given") for m in (problem.model, boxes))
    assert one.size == other.size
    everywhere = all_cells(boxes.grid)
    assert (holds(one, everywhere) == holds(other, everywhere)).all()


@MANY
@given(ensemble_cases())
def test_circuits_of_ensemble_problems(case: Case) -> None:
    assert probability(case.problem.circuit) == case.judge.ratio(frozenset(range(len(case.problem.domain))))


def test_real_forest_and_regression() -> None:
    from sklearn import datasets, ensemble

    X, y = datasets.load_diabetes(as_frame=True, return_X_y=True)
    domain = ax.Domain.from_data(X)
    regressor = ensemble.GradientBoostingRegressor(n_estimators=6, max_depth=3, random_state=0).fit(X, y)
    forest = ensemble.RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, y > 140)
    for model, delta in ((regressor, 20), (forest, None)):
        compiled = ax.compile_model(model, domain, delta=delta, output=None if delta is None else 150)
        cells = np.random.default_rng(0).integers(0, compiled.circuit.grid.n_cells, (5000, len(domain)))
        outputs = ax.read_model(model, domain).decide(cells)
        expected = [abs(y - 150) <= 20 if delta else y for y in outputs]
        assert holds(compiled.circuit, cells).tolist() == expected
        assert 0 < sum(expected) < len(expected)
        e, f = (ax.Explainer(model, domain, delta=delta, target=t).explain(X.iloc[7]) for t in ("auto", "mdd"))
        assert (e.cxps, e.axps) == (f.cxps, f.axps)


def test_library_predictions_are_in_the_circuit() -> None:
    model, X = boosted("breast_cancer", max_depth=2)
    compiled = ax.compile_model(model, ax.Domain.from_data(X))
    cells = compiled.circuit.grid.locate(compiled.domain.encode(X))
    assert compiled.output == 1
    assert (holds(compiled.circuit, cells) == (model.predict(X) == 1)).all()


@pytest.mark.parametrize("budget", [ax.Budget(nodes=1000), ax.Budget(seconds=0.1)])
def test_budget_error_says_how_far_it_got_and_lets_go(budget: ax.Budget) -> None:
    boosting, X = boosted("breast_cancer", n_estimators=60)
    domain = ax.Domain.from_data(X)
    model = ax.read_model(boosting, domain)  # which would be paid for as well
    with pytest.raises(
        BudgetError, match=r"after \d+ sub-diagrams and \d+\.\d\d s.*allow more.*target='auto'"
    ) as caught:
        ax.compile_model(model, domain, budget=budget)
    gc.collect()
    assert not any(isinstance(thing, MddTable) for thing in gc.get_objects())
    assert caught.value.nodes > 0
    assert caught.value.seconds > 0
    assert caught.value.nodes <= 1001 or budget.nodes is None
    with pytest.raises(BudgetError):
        ax.Explainer(model, domain, target="mdd", budget=budget).explain(X.iloc[0])


def deep_forest() -> tuple[Any, ax.Domain]:
    """Return trees of hundreds of leaves each, with thousands of thresholds on each feature, and their domain."""
    from sklearn.ensemble import ExtraTreesClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 10)), rng.integers(0, 2, 1500)
    return ExtraTreesClassifier(100, random_state=0).fit(X, y), ax.Domain.from_data(X)


def test_a_budget_stops_the_diagram_of_deep_trees_soon() -> None:
    model, domain = deep_forest()
    form, budget = ax.read_model(model, domain), ax.Budget(seconds=0.1)
    prepare(form, budget)
    begin = process_time()  # of the processor, which other programs do not slow down
    with pytest.raises(BudgetError, match="complete diagram"):
        compile_mdd(form, 1, Similarity(), budget=budget)
    assert process_time() - begin < 0.1 + 1


def stump(feature: int, value: float) -> TreeNodes:
    splits = [Cut(0.5, closed=True), None, None]
    values = np.array([[0.0], [0.0], [value]])
    return TreeNodes(np.array([feature, -1, -1]), splits, np.array([1, -1, -1]), np.array([2, -1, -1]), values)


def test_many_features_need_no_recursion() -> None:
    m = 1100  # more than Python recurses
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(m)])
    model = TreeSum.of(domain, [stump(i, 1.0) for i in range(m)], rule=Positive((0, 1)), base=[Fraction(1 - m)])
    compiled = ax.compile_model(model, domain)
    assert compiled.size.nodes == m
    assert compiled.count() == 1
    e = ax.Explainer(model, domain, target="mdd", max_size=1).explain([1] * m)
    assert [c.weight for c in e.cxps] == [Fraction(1, 2)] * m


def test_deep_trees_need_no_recursion() -> None:
    depth = 1200
    domain = ax.Domain([ax.Integer("a", 0, depth)])
    inner = np.arange(depth)
    column = np.repeat([0, -1], [depth, depth + 1])
    left, right = np.full(2 * depth + 1, -1), np.full(2 * depth + 1, -1)
    left[:depth], right[: depth - 1], right[depth - 1] = depth + inner, inner[1:], 2 * depth
    splits = [Cut(float(k), closed=True) for k in inner] + [None] * (depth + 1)
    values = np.concatenate([np.zeros(depth), np.arange(depth + 1) % 2])[:, np.newaxis]
    tree = TreeNodes(column, splits, left, right, values)
    model = TreeSum.of(domain, [tree, tree], rule=Score())
    assert ax.compile_model(model, domain, output=2, delta=0).count() == depth // 2


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["binary", "classes", "regression"]))
def test_many_partial_sums_share_their_residual_trees(seed: int, kind: str) -> None:
    """Sums of steps on seven features: every partial sum of a level meets the same residual trees.

    So each sub-diagram but the first at its level comes from an interval, or is refused by one.
    """
    rng = np.random.default_rng(seed)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 2) for i in range(7)])
    n_scores = 3 if kind == "classes" else 1
    points = np.array(list(domain.points()))
    trees, sums = [], np.zeros((len(points), n_scores), dtype=np.int64)
    for i in rng.integers(0, 7, 12).tolist():
        cut, values = int(rng.integers(0, 2)), rng.integers(-3, 4, (2, n_scores))
        splits = [Cut(float(cut), closed=True), None, None]
        column, left, right = np.array([i, -1, -1]), np.array([1, -1, -1]), np.array([2, -1, -1])
        trees.append(TreeNodes(column, splits, left, right, np.concatenate([values[:1], values]).astype(float)))
        sums += values[(points[:, i] > cut).astype(int)]
    rules = {"binary": Positive((0, 1)), "classes": Argmax((0, 1, 2)), "regression": Score()}
    outputs = {"binary": sums[:, 0] > 0, "classes": sums.argmax(axis=1), "regression": sums[:, 0]}[kind]
    model = TreeSum.of(domain, trees, rule=rules[kind])
    delta = 1 if kind == "regression" else None
    for wanted in sorted(set(outputs.tolist()))[:3]:
        compiled = ax.compile_model(model, domain, output=wanted, delta=delta, order="given")
        expected = abs(outputs.astype(int) - wanted) <= (delta or 0)
        assert (holds(compiled.circuit, compiled.circuit.grid.locate(domain.encode(points))) == expected).all()
        check_reduced_and_ordered(compiled.circuit)


def test_sums_beyond_64_bits_are_compared_exactly() -> None:
    m = 6
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(m)])
    sizes = [2.0**60, 2.0**60, 1.0, 2.0**-60, 2.0**-60, 2.0**-61]
    model = TreeSum.of(domain, [stump(i, s) for i, s in enumerate(sizes)], rule=Positive((0, 1)), base=[Fraction(-1)])
    compiled = ax.compile_model(model, domain)
    expected = [x for x in product((0, 1), repeat=m) if sum(Fraction(s) * b for s, b in zip(sizes, x, strict=True)) > 1]
    assert compiled.count() == len(expected)
    assert compiled.probability() == Fraction(len(expected), prod([2] * m))


def test_classes_that_tie_everywhere() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    same = TreeNodes(np.array([-1]), [None], np.array([-1]), np.array([-1]), np.array([[1.0, 1.0, 1.0]]))
    model = TreeSum.of(domain, [same, same], rule=Argmax(("x", "y", "z")))
    assert [ax.compile_model(model, domain, output=y).count() for y in "xyz"] == [2, 0, 0]
