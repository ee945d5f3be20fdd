"""Tests that notice what mutation testing found unnoticed; see docs/mutation.md."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.queries import count, is_valid, probability
from axfi_kc.circuits.queries import counting as totals
from axfi_kc.circuits.queries.counting import residue_total, shares_of
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.errors import CircuitError, WeightError
from axfi_kc.families.masks import minimal_hitting_sets
from axfi_kc.models import LinearModel, Positive, Slope, TreeNodes, TreeSum
from tests.support.circuit_forms import circuit_of, holds, random_form
from tests.support.oracle import Judge, space_of, subsets


def test_scores_of_a_batch_with_more_cxps_than_can_be_listed() -> None:
    """Numerators beyond int64 stay integers of any size, next to an instance whose own are small."""
    n = 80
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[-n // 2], rule=Positive((0, 1)))
    batch = ax.Explainer(model, domain, target="mdd").explain_batch([[0] * n, [1] * 41 + [0] * 39])
    for kind in ("shapley", "banzhaf"):
        numerators, denominators = batch.score_numerators(kind)
        for e, row, whole in zip(batch, numerators.tolist(), denominators, strict=True):
            assert [Fraction(t, whole) for t in row] == list(e.scores(kind).values())
        assert max(map(max, numerators.tolist())) >= 2**63
    first = batch[0].scores("shapley")  # one point each in the boxes of all sets of 41 features
    assert set(first.values()) == {Fraction(1, n * 2**41)}


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129])
def test_hitting_sets_at_the_edges_of_words(n: int) -> None:
    """As many sets, and as many elements, as fill words of 64 bits, and one more or less."""
    assert minimal_hitting_sets(1 << i for i in range(n)) == [(1 << n) - 1]
    assert minimal_hitting_sets([(1 << n) - 1]) == [1 << i for i in range(n)]
    pairs = [1 << i | 1 << n for i in range(n)]
    assert minimal_hitting_sets(pairs) == sorted([1 << n, (1 << n) - 1], key=lambda m: (m.bit_count(), m & 1 == 0, m))


def test_weights_of_tables_beyond_int64() -> None:
    """Measures with denominators of 50 bits: the product of four does not fit, and nothing is rounded."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 2, weights=[1, 10**15 + i, 7**17]) for i in range(4)])

    def model(x: tuple[int, ...]) -> int:
        return int(sum(x) >= 5 or x[:2] == (1, 2))

    v = (0, 0, 0, 0)
    judge = Judge(space_of(domain), model, v)
    expected = {Y: judge.ratio(Y) for Y in judge.cxps()}
    found = ax.Explainer(model, domain).explain(v).cxps
    assert {frozenset(map(domain.names.index, c.features)): c.weight for c in found} == expected
    assert max(len(Y) for Y in expected) == 3


@pytest.mark.parametrize("kind", ["nonsense", "nonsense_cxp", "shapley_cxp"])
def test_unknown_scores_are_refused(kind: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    with pytest.raises(WeightError, match=kind):
        ax.Explainer(lambda p: p[0], domain).explain((0, 0)).scores(kind)


def test_counts_need_no_discrete_features_outside_the_cxps() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Real("b", 0, 1)])
    for factor, is_countable in ((0, True), (9, False)):
        model = LinearModel.of(domain, [Slope((1,)), Slope((factor,))], base=[-2], rule=Positive((0, 1)))
        explainer = ax.Explainer(model, domain, weights="count")
        if is_countable:
            assert [(c.features, c.weight) for c in explainer.explain((0, 0.0)).cxps] == [(("a",), 1)]
        else:
            with pytest.raises(WeightError, match="discrete"):
                explainer.explain((0, 0.0))


@pytest.mark.parametrize("n", [64, 65, 130])
def test_cxps_over_several_words_of_features(n: int) -> None:
    """Sets are words of 64 features; features of every word come out under their own names."""
    members = [3, n // 2, n - 1]
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    row = [int(i in members) for i in range(n)]
    model = LinearModel.of_columns(domain, [row], intercepts=[-1], rule=Positive((0, 1)))
    found = ax.Explainer(model, domain).explain([0] * n).cxps
    pairs = {(f"x{a}", f"x{b}") for k, a in enumerate(members) for b in members[k + 1 :]}
    assert {c.features for c in found} == pairs
    assert {c.weight for c in found} == {Fraction(1, 4)}


def _tree_nodes(form: Any) -> TreeNodes:
    """Return a tree: ``(column, cut, left, right)``, up to the cut to the left, or the value of a leaf, 0 or 1."""
    nodes, column, split, left, right, value = [form], [], [], [], [], []
    for node in nodes:  # grows while it is gone through
        is_leaf = not isinstance(node, tuple)
        column.append(-1 if is_leaf else node[0])
        split.append(None if is_leaf else Cut(node[1], closed=True))
        value.append([float(node) - 0.5 if is_leaf else 0.0])
        left.append(-1 if is_leaf else len(nodes))
        right.append(-1 if is_leaf else len(nodes) + 1)
        nodes += [] if is_leaf else node[2:]
    first, second, third = (np.array(row) for row in (column, left, right))
    return TreeNodes(first, split, second, third, np.array(value))


def _tree(domain: ax.Domain, form: Any) -> TreeSum:
    return TreeSum.of(domain, [_tree_nodes(form)], rule=Positive((0, 1)))


def _batch_scores(model: Any, domain: ax.Domain, kind: str, **options: Any) -> list[Fraction]:
    """Return the scores at the lowest values, from the integers of a batch."""
    batch = ax.Explainer(model, domain, **options).explain_batch([[f.low for f in domain.features]] * 2)
    numerators, denominators = batch.score_numerators(kind)
    first, second = ([Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True))
    assert first == second
    return first


def _any_of(columns: list[int]) -> Any:
    form: Any = 0
    for i in reversed(columns):
        form = (i, 0.5, form, 1)
    return form


def _all_of(columns: list[int]) -> Any:
    form: Any = 1
    for i in reversed(columns):
        form = (i, 0.5, 0, form)
    return form


@pytest.mark.parametrize(("kind", "share"), [("shapley", Fraction(1, 2)), ("banzhaf", Fraction(1, 2))])
def test_counts_whose_sum_passes_int64(kind: str, share: Fraction) -> None:
    """Five CXps {a, b} of 2**61 points each: the weights fit int64, their sum does not."""
    domain = ax.Domain([ax.Integer("a", 0, 2**31), *(ax.Integer(f"b{k}", 0, 2**30) for k in range(5))])
    found = _batch_scores(_tree(domain, (0, 0.5, 0, _any_of([1, 2, 3, 4, 5]))), domain, kind, weights="count")
    assert found == [2**61 * share] + [2**61 * share / 5] * 5


@pytest.mark.parametrize(("weights", "size"), [("count", 2**53), ("ratio", 2**45)])
def test_weights_times_shares_that_pass_int64(weights: str, size: int) -> None:
    """One CXp of one feature and one of twelve: the weight fits int64, times the common denominator it does not."""
    domain = ax.Domain([ax.Integer("a", 0, size - 1), *(ax.Integer(f"c{k}", 0, 1) for k in range(12))])
    model = _tree(domain, (0, 0.5, _all_of(list(range(1, 13))), 1))
    large, small = (size - 1, 1) if weights == "count" else (Fraction(size - 1, size), Fraction(1, 2**12))
    assert (
        _batch_scores(model, domain, "banzhaf", weights=weights)
        == [Fraction(large) / 2] + [Fraction(small) / 2**12] * 12
    )
    assert (
        _batch_scores(model, domain, "shapley", weights=weights) == [Fraction(large) / 2] + [Fraction(small) / 24] * 12
    )


def test_numerators_of_exactly_two_to_the_63() -> None:
    """The whole is 2**63 and the one CXp certain, so the score's numerator is the first that int64 does not hold."""
    domain = ax.Domain([ax.Integer("a", 0, 1, weights=[0, 1]), *(ax.Integer(f"b{k}", 0, 1) for k in range(63))])
    without_effect: Any = 0
    for i in range(1, 64):
        without_effect = (i, 0.5, 0, without_effect)
    for kind in ("shapley", "banzhaf"):
        assert _batch_scores(_tree(domain, (0, 0.5, without_effect, 1)), domain, kind) == [1] + [0] * 63


def test_a_large_count_next_to_a_large_cxp() -> None:
    """A sum of two trees, whose counts are int64: 2**53 - 1 times 2**11 is beyond it."""
    domain = ax.Domain([ax.Integer("a", 0, 2**53 - 1), *(ax.Integer(f"c{k}", 0, 1) for k in range(12))])
    parts = [_tree_nodes((0, 0.5, 0, 1)), _tree_nodes(_all_of(list(range(1, 13))))]  # -1/2 or 1/2 each
    model = TreeSum.of(domain, parts, rule=Positive((0, 1)), base=[Fraction(1, 2)])
    found = _batch_scores(model, domain, "banzhaf", weights="count")
    assert found == [Fraction(2**53 - 1, 2)] + [Fraction(1, 2**12)] * 12


def test_small_counts_over_features_with_many_values() -> None:
    """Totals are Python integers because they might be large, and are small."""
    domain = ax.Domain([ax.Integer("a", 0, 2**40), ax.Integer("b", 0, 2**40)])
    model = _tree(domain, (0, 2**40 - 1.5, 0, (1, 2**40 - 1.5, 0, 1)))
    assert _batch_scores(model, domain, "shapley", weights="count") == [2, 2]


def test_numerators_of_families_beyond_int64(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of the wholes fits int64, what a family is scaled by does not."""
    monkeypatch.setattr(diagrams, "_AT_ONCE", 0)
    primes = (10007, 10009, 10037, 10039)
    domain = ax.Domain([ax.Integer(f"x{p}", 0, 1, weights=[1, p - 1]) for p in primes])
    found = _batch_scores(_tree(domain, _all_of([0, 1, 2, 3])), domain, "shapley", target="mdd")
    assert found == [prod(Fraction(p - 1, p) for p in primes) / 4] * 4


@pytest.mark.parametrize("e", [63, 64, 65, 79, 80, 127, 128, 191, 192, 300])
def test_hitting_sets_of_few_elements_with_large_numbers(e: int) -> None:
    assert minimal_hitting_sets([1 | 1 << e, 2 | 1 << e, 1 << 5 | 1 << e]) == [1 << e, 1 | 2 | 1 << 5]
    assert minimal_hitting_sets([1 << e]) == [1 << e]


def test_totals_of_exactly_two_to_the_63() -> None:
    """Every feature of the one CXp has whole 2 and is changed for certain: the total is the first beyond int64."""
    domain = ax.Domain([*(ax.Integer(f"x{k}", 0, 2, weights=[0, 1, 1]) for k in range(63)), ax.Integer("y", 0, 1)])
    without_effect: Any = 0
    for i in range(63):
        without_effect = (i, 1.5, 0, without_effect)
    model = _tree(domain, (63, 0.5, _all_of(list(range(63))), without_effect))
    found = ax.Explainer(model, domain).explain([0] * 64).cxps
    assert [(len(c.features), c.weight) for c in found] == [(63, 1)]


def test_many_cxps_of_one_instance() -> None:
    """More CXps, and more boxes behind them, than there is room for at first."""
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(70)])
    for n in (1, 4, 5, 9, 30, 70):
        found = ax.Explainer(_tree(domain, _any_of(list(range(n)))), domain, weights="count").explain([0] * 70).cxps
        assert [(c.features, c.weight) for c in found] == [((f"x{k}",), 1) for k in range(n)]


def _complete_tree(domain: ax.Domain, columns: list[int], splits: list[Any], leaves: list[int]) -> TreeSum:
    """Return a tree of seven inner nodes and eight leaves; the children of node k are 2k + 1 and 2k + 2."""
    nodes = TreeNodes(
        np.array([*columns, *[-1] * 8]),
        [*splits, *[None] * 8],
        np.array([*(2 * k + 1 for k in range(7)), *[-1] * 8]),
        np.array([*(2 * k + 2 for k in range(7)), *[-1] * 8]),
        np.array([*[[0.0]] * 7, *([y - 0.5] for y in leaves)]),
    )
    return TreeSum.of(domain, [nodes], rule=Positive((0, 1)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [3, 130])
def test_trees_that_split_several_features_by_sets(n: int, seed: int) -> None:
    """Sets of categories that are no intervals, for three features of one tree, alone or among many."""
    rng, where = Random(seed), [0, n // 2, n - 1]
    domain = ax.Domain([ax.Categorical(f"c{k}", range(4 if k in where else 2)) for k in range(n)])
    splits = [frozenset(map(float, rng.sample(range(4), 2))) for _ in range(7)]
    columns = [0, 1, 2, rng.randrange(3), rng.randrange(3), rng.randrange(3), rng.randrange(3)]
    leaves = [0, 1, *(rng.randint(0, 1) for _ in range(6))]

    def model(x: tuple[int, ...]) -> int:
        node = 0
        while node < 7:
            node = 2 * node + (1 if x[columns[node]] in splits[node] else 2)
        return leaves[node - 7]

    tree = _complete_tree(domain, [where[k] for k in columns], splits, leaves)
    small = ax.Domain([domain.features[k] for k in where])
    points = rng.sample(list(product(range(4), repeat=3)), 12)
    rows = [[v[where.index(k)] if k in where else rng.randint(0, 1) for k in range(n)] for v in points]
    for most in (None, 1, 2):
        batch = ax.Explainer(tree, domain, max_size=most).explain_batch(rows)
        for v, e in zip(points[: 12 if most is None else 3], batch, strict=False):
            judge = Judge(space_of(small), model, v)
            expected = {Y: judge.ratio(Y) for Y in judge.cxps() if most is None or len(Y) <= most}
            found = {frozenset(where.index(int(name[1:])) for name in c.features): c.weight for c in e.cxps}
            assert (e.prediction, found) == (model(v), expected)
    for S in subsets(3):
        assert ax.is_wcxp(e.problem, [f"c{where[i]}" for i in S]) == judge.is_wcxp(S)


@pytest.mark.parametrize("way", ["integers", "residues"])
@pytest.mark.parametrize("values", [2, 3, 4, 6])
def test_counts_of_circuits_over_features_of_one_size(values: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "_FEW_ARCS", -1 if way == "residues" else 10**6)
    monkeypatch.setattr(totals, "_CHUNK", 2)
    grid = Grid.of_values(ax.Domain([ax.Integer(f"x{k}", 0, values - 1) for k in range(4)]))
    for seed in range(8):
        form = random_form(Random(f"{values} {seed}"), [0, 1, 2, 3], grid.n_cells)
        circuit = circuit_of(form, grid)
        expected = sum(holds(form, x) for x in product(range(values), repeat=4))
        assert count(circuit) == count(circuit, check=True) == expected
        assert probability(circuit) == Fraction(expected, values**4)
        assert is_valid(circuit) == (expected == values**4)


def test_a_second_count_notices_points_counted_twice() -> None:
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])))
    circuit = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [1])]))
    assert count(circuit) == 5
    with pytest.raises(CircuitError, match="another number"):
        count(circuit, check=True)


def test_points_counted_more_often_than_floats_can_say() -> None:
    """A bound that is no float is no bound; Python integers then tell that points were counted more than once."""
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 2)])))
    p, q = build.literal(0, [0]), build.literal(0, [0, 1])
    for _ in range(1100):
        p, q = build.disjunction([p, q]), build.disjunction([p, q, build.literal(1, [1])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(totals, "_FEW_ARCS", -1)
        with pytest.raises(CircuitError, match="counted more than once"):
            count(build.circuit(p))


@pytest.mark.parametrize(("a", "b"), [(2**40, 2**40), (2**32, 2**31), (2**32 - 1, 2**31)])
def test_counts_of_ensembles_at_the_edge_of_int64(a: int, b: int) -> None:
    domain = ax.Domain([ax.Integer("a", 0, a), ax.Integer("b", 0, b)])
    parts = [_tree_nodes((0, 0.5, 0, 1)), _tree_nodes((1, 0.5, 0, 1))]
    model = TreeSum.of(domain, parts, rule=Positive((0, 1)), base=[Fraction(-1, 2)])
    e = ax.Explainer(model, domain, weights="count").explain([0, 0])
    assert [(c.features, c.weight) for c in e.cxps] == [(("a", "b"), a * b)]
    assert _batch_scores(model, domain, "shapley", weights="count") == [Fraction(a * b, 2)] * 2


def test_counts_of_families_need_discrete_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagrams, "_AT_ONCE", 0)
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Real("b", 0, 1)])
    with pytest.raises(WeightError, match="'b', which is real"):
        ax.Explainer(_tree(domain, _all_of([0, 1])), domain, weights="count", target="mdd").explain([0, 0])


@pytest.mark.parametrize("seed", range(6))
def test_residues_of_circuits_that_count_points_many_times(seed: int) -> None:
    """Sums of up to hundreds of bits, each part computed alongside from its definition."""
    rng, n, values = Random(seed), 12, 5
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(f"x{k}", 0, values - 1) for k in range(n)])))
    made: list[tuple[int, set[int], Fraction]] = []
    for i in range(n):
        cells = rng.sample(range(values), rng.randint(1, 3))
        made.append((build.literal(i, cells), {i}, Fraction(len(cells), values)))
    for _ in range(120):
        (a, of_a, x), (b, of_b, y) = rng.choice(made[-6:]), rng.choice(made[-12:])
        i = rng.randrange(n)
        if a == b:
            continue
        if not of_a & of_b:
            made.append((build.conjunction([a, b]), of_a | of_b, x * y))
        elif i not in of_a | of_b:
            made.append((build.decision(i, [([0, 1], a), ([2], b)]), of_a | of_b | {i}, (2 * x + y) / values))
        else:
            made.append((build.disjunction([a, b]), of_a | of_b, x + y))
    for root, _, value in (made[-1], max(made, key=lambda one: one[2]), rng.choice(made)):
        circuit = build.circuit(root)
        shares = shares_of(circuit, [[1] * values] * n, [values] * n)
        assert residue_total(circuit, shares, values**n, account=Account(None, goal="count")) == value * values**n
