"""Forests of CXps as files."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.errors import WeightError
from axfi_kc.scores import SCORES, register_score


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
