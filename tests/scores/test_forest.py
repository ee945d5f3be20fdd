"""Forests of CXps as files."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax


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
