"""Forests of CXps as files."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import networkx as nx
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.errors import AxfiError, UnknownFeatureError, WeightError
from axfi_kc.scores import SCORES, register_score
from tests.support.oracle import banzhaf, hitting_value, shapley


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def explainer(cancer) -> ax.Explainer:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(cancer.data, cancer.target)
    return ax.Explainer(model, ax.Domain.from_data(cancer.data))


def test_forest_files(explainer: ax.Explainer, cancer, tmp_path) -> None:
    forest = explainer.explain(cancer.data.iloc[78]).forest
    forest.to_graphml(tmp_path / "forest.graphml")
    read = nx.read_graphml(tmp_path / "forest.graphml", node_type=int)
    assert set(read.edges) == set(forest.graph.edges)
    weights = [Fraction(d["weight"]) for _, d in read.nodes(data=True) if "weight" in d]
    assert weights == list(forest.weights.values())
    text = forest.to_dot(tmp_path / "forest.dot")
    assert (tmp_path / "forest.dot").read_text() == text
    assert text.count("->") == forest.graph.number_of_edges()


def test_names_that_no_xml_can_hold(tmp_path) -> None:
    names = ("a\x00b\x1b\x0b", "c<&>\"'\n", "d\ud800\uffff", "größe 😀")
    forest = ax.CXpForest.of({names[:2]: 1, names[1:]: 2}, features=names)
    forest.to_graphml(tmp_path / "forest.graphml")
    read = nx.read_graphml(tmp_path / "forest.graphml", node_type=int)
    assert read.graph["features"].startswith("a\ufffdb\ufffd\ufffd c<&>\"'")
    assert set(read.edges) == set(forest.graph.edges)
    assert "\x00" not in forest.to_dot(tmp_path / "forest.dot")


def test_a_forest_of_masks_and_numerators() -> None:
    forest = ax.CXpForest(("x1", "x2", "x3"), (0b011, 0b101, 0b110), (1, 4, 2), 3)
    assert forest.weights == {("x1", "x2"): Fraction(1, 3), ("x1", "x3"): Fraction(4, 3), ("x2", "x3"): Fraction(2, 3)}
    assert (forest.masks, forest.numerators, forest.denominator) == ((0b011, 0b101, 0b110), (1, 4, 2), 3)


def test_two_scores_of_one_name_are_refused_when_the_second_comes() -> None:
    first, second = (register_score("mine", "mine", needs="cxps") for _ in range(2))
    first(lambda family, *, budget=None: family.counts())
    try:
        with pytest.raises(WeightError, match="nothing else has"):
            second(lambda family, *, budget=None: {})
    finally:
        del SCORES["mine"]
    with pytest.raises(WeightError, match="identifier"):
        register_score(5, "five", needs="cxps")(dict)  # type: ignore[arg-type]


def random_sets(rng: Random, m: int) -> dict[frozenset[int], Fraction]:
    sets = (frozenset(rng.sample(range(m), rng.randint(1, m))) for _ in range(rng.randint(0, 5)))
    return {Y: Fraction(rng.randint(-6, 6), rng.randint(1, 5)) for Y in sets}


@pytest.mark.parametrize("seed", range(40))
def test_scores_with_penalties_are_those_of_the_definition(seed: int) -> None:
    rng = Random(seed)
    m = rng.randint(1, 5)
    names = list("abcde")[:m]
    weights, penalties = random_sets(rng, m), random_sets(rng, m)

    def value(S: frozenset[int]) -> Fraction:
        return hitting_value(weights, S) - sum((amount for p, amount in penalties.items() if S & p), Fraction(0))

    named = [{tuple(names[i] for i in Y): w for Y, w in sets.items()} for sets in (weights, penalties)]
    forest = ax.CXpForest.of(named[0], features=names).with_penalties(named[1])
    for mask in range(1 << m):
        chosen = frozenset(i for i in range(m) if mask >> i & 1)
        assert forest.value_of_mask(mask) == value(chosen)
    assert list(ax.shapley_like(forest).values()) == shapley(value, m)
    assert list(ax.banzhaf_like(forest).values()) == banzhaf(value, m)


def test_penalties_of_an_explanation_are_taken_from_the_scores() -> None:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    e = ax.Explainer(lambda p: p[0] and (p[1] or p[2]), domain).explain((1, 1, 1))
    before, after = e.scores("shapley"), ax.shapley_like(e.forest.with_penalties({("a", "b"): Fraction(1, 3), "c": 1}))
    assert {n: before[n] - after[n] for n in "abc"} == {"a": Fraction(1, 6), "b": Fraction(1, 6), "c": 1}


def test_penalties_that_mean_nothing_are_refused() -> None:
    forest = ax.CXpForest.of({("a",): 1}, features=list("ab"))
    with pytest.raises(UnknownFeatureError, match="no feature 'z'"):
        forest.with_penalties({("z",): 1})
    with pytest.raises(WeightError, match="at least one feature"):
        forest.with_penalties({(): 1})


@pytest.mark.parametrize("weight", ["x", None, [], 1j, float("nan"), float("inf")])
def test_a_weight_is_a_number(weight: Any) -> None:
    with pytest.raises(AxfiError, match="weight of a CXp must be"):
        ax.CXpForest.of({("a",): weight}, features=["a"])
