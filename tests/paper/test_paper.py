"""Every number of the paper's examples."""

from __future__ import annotations

from fractions import Fraction as F

import networkx as nx
import pytest

import axfi_kc as ax
from axfi_kc.circuits.queries import count
from tests.support.gadgets import gadget_domain, gadget_tree

ONES = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
DOMAIN = ax.Domain([ax.Integer("1", 0, 2), ax.Integer("2", 0, 1), ax.Integer("3", 0, 2)])


def kappa(point: tuple[int, ...]) -> int:
    return int(point in ONES)


@pytest.fixture(scope="module")
def running() -> ax.Explanation:
    return ax.Explainer(kappa, DOMAIN, weights="count").explain((2, 1, 2))


def test_explanations_of_the_running_example(running: ax.Explanation) -> None:
    assert running.prediction == 1
    assert [(c.features, c.weight) for c in running.cxps] == [(("1", "2"), 1), (("1", "3"), 4), (("2", "3"), 2)]
    assert [a.features for a in running.axps] == [("1", "2"), ("1", "3"), ("2", "3")]
    assert running.relevant == ("1", "2", "3")


def test_covered_points_of_the_running_example(running: ax.Explanation) -> None:
    covered = [set(ax.covered_points(running.problem, c)) for c in running.cxps]
    assert covered == [{(1, 0, 2)}, {(0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 1)}, {(2, 0, 0), (2, 0, 1)}]


@pytest.mark.parametrize("kind", ["shapley", "banzhaf"])
def test_scores_of_the_running_example(running: ax.Explanation, kind: str) -> None:
    assert running.scores(kind) == {"1": F(5, 6), "2": F(1, 2), "3": F(1)}
    assert all(isinstance(s, F) for s in running.scores(kind).values())


def test_ratios_of_the_running_example() -> None:
    e = ax.Explainer(kappa, DOMAIN).explain((2, 1, 2))
    assert [c.weight for c in e.cxps] == [F(1, 6), F(4, 9), F(2, 6)]


VALUES = {"": F(0), "1": F(5, 3), "2": F(1), "3": F(2), "12": F(7, 3), "13": F(7, 3), "23": F(7, 3), "123": F(7, 3)}


def test_characteristic_function(running: ax.Explanation) -> None:
    assert {S: running.forest.value(set(S)) for S in VALUES} == VALUES


@pytest.mark.parametrize(
    ("feature", "without", "difference"),
    [
        ("1", "", F(5, 3)), ("1", "2", F(4, 3)), ("1", "3", F(1, 3)), ("1", "23", F(0)),
        ("2", "", F(1)), ("2", "1", F(2, 3)), ("2", "3", F(1, 3)), ("2", "13", F(0)),
        ("3", "", F(2)), ("3", "1", F(2, 3)), ("3", "2", F(4, 3)), ("3", "12", F(0)),
    ],
)  # fmt: skip
def test_differences(running: ax.Explanation, feature: str, without: str, difference: F) -> None:
    value = running.forest.value
    assert value({*without, feature}) - value(set(without)) == difference


def test_forest_is_the_one_of_figure_2(running: ax.Explanation) -> None:
    graph = running.forest.graph
    assert nx.is_forest(graph.to_undirected())
    assert graph.number_of_nodes() == 15
    assert [graph.nodes[n]["label"] for n in range(1, 16)] == [
        "1", "2", "1", "0", "1", "1", "3", "1", "0", "1", "2", "3", "1", "0", "1",
    ]  # fmt: skip
    assert {n: graph.nodes[n]["weight"] for n in (1, 6, 11)} == {1: 1, 6: 4, 11: 2}
    assert set(graph.edges) == {(a + s, b + s) for s in (0, 5, 10) for a, b in ((1, 2), (1, 3), (2, 4), (2, 5))}
    assert graph.edges[1, 3]["member"]
    assert not graph.edges[1, 2]["member"]


def test_walking_the_graph_gives_the_characteristic_function(running: ax.Explanation) -> None:
    graph = running.forest.graph
    roots = [n for n, degree in graph.in_degree() if degree == 0]

    def walked(S: str) -> F:
        total = F(0)
        for root in roots:
            node = root
            while graph.nodes[node]["kind"] == "feature":
                present = graph.nodes[node]["feature"] in S
                node = next(b for _, b, member in graph.out_edges(node, data="member") if member == present)
            total += graph.nodes[root]["weight"] * graph.nodes[node]["value"]
        return total / graph.graph["n"]

    assert {S: walked(S) for S in VALUES} == VALUES


def test_circuit_of_the_running_example(running: ax.Explanation) -> None:
    assert count(running.problem.circuit) == 18 - len(ONES)


@pytest.mark.parametrize("k", range(1, 11))
def test_gadget_tree(k: int) -> None:
    domain = gadget_domain(k)
    e = ax.Explainer(gadget_tree(k), domain).explain([1] * (3 * k))
    assert e.prediction == 1
    pairs = {frozenset(p) for i in range(1, k + 1) for p in ((f"x{2 * i - 1}", f"x{2 * i}"), (f"x{2 * i}", f"y{i}"))}
    assert {frozenset(c.features) for c in e.cxps} == pairs
    assert len(e.axps) == 2**k
    choices = [{frozenset([f"x{2 * i}"]), frozenset([f"x{2 * i - 1}", f"y{i}"])} for i in range(1, k + 1)]
    assert all(sum(c <= set(a.features) for options in choices for c in options) == k for a in e.axps)


def test_gadget_tree_of_more_features_than_a_word_has_bits() -> None:
    k = 30
    e = ax.Explainer(gadget_tree(k), gadget_domain(k)).explain([1] * (3 * k))
    pairs = {frozenset(p) for i in range(1, k + 1) for p in ((f"x{2 * i - 1}", f"x{2 * i}"), (f"x{2 * i}", f"y{i}"))}
    assert {frozenset(c.features) for c in e.cxps} == pairs
    assert {c.weight for c in e.cxps} == {F(1, 4)}


def test_gadget_tree_is_the_function_of_the_paper() -> None:
    tree = gadget_tree(2)
    for x1, x2, x3, x4, y1, y2 in gadget_domain(2).points():
        if not x1:
            expected = x2
        elif not x2:
            expected = y1
        elif not x3:
            expected = x4
        else:
            expected = 1 if x4 else y2
        assert tree.predict([[x1, x2, x3, x4, y1, y2]]) == [expected]


def test_counterexample_to_axp_minimal_monotonicity() -> None:
    forest = ax.CXpForest.of({("1",): 1, ("2", "3"): 5}, features=["1", "2", "3"])
    assert ax.shapley_like(forest) == {"1": F(1, 2), "2": F(5, 4), "3": F(5, 4)}
    found = ax.axioms.axp_minimal_monotonicity(ax.shapley_like, forest)
    assert found is not None
    assert found.features in {("2", "1"), ("3", "1")}
    assert ax.axioms.axp_minimal_monotonicity(ax.banzhaf_like, forest) is not None


def test_unit_shapley_is_deegan_packel_on_cxps() -> None:
    unit = ax.Explainer(kappa, DOMAIN, weights="unit").explain((2, 1, 2))
    sets = [set(c.features) for c in unit.cxps]
    expected = {j: sum((F(1, len(Y)) for Y in sets if j in Y), F(0)) / len(sets) for j in DOMAIN.names}
    assert unit.scores("shapley") == expected
