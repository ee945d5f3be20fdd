"""Explainers and their batches, as people use them."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.models import TreeSum


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def explainer(cancer) -> ax.Explainer:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(cancer.data, cancer.target)
    return ax.Explainer(model, ax.Domain.from_data(cancer.data))


def test_batch_equals_one_by_one(cancer, explainer: ax.Explainer) -> None:
    rows = cancer.data.iloc[100:130]
    batch = explainer.explain_batch(rows)
    assert len(batch) == 30
    for (_, row), e in zip(rows.iterrows(), batch, strict=True):
        assert explainer.explain(row).cxps == e.cxps
    for kind in ("shapley", "banzhaf"):
        table = batch.scores(kind)
        assert list(table.index) == list(rows.index)
        assert list(table.columns) == list(cancer.data.columns)
        assert table.to_dict("records") == [e.scores(kind) for e in batch]
        assert isinstance(table.iloc[0, 0], Fraction)


def test_two_workers_give_the_same(cancer, explainer: ax.Explainer, capfd) -> None:
    one, two = explainer.explain_batch(cancer.data), explainer.explain_batch(cancer.data, n_jobs=2, progress=True)
    assert "explaining" in capfd.readouterr().err
    assert [e.cxps for e in one] == [e.cxps for e in two]
    assert one.predictions == two.predictions


def test_slices_negative_positions_and_empty_batches(cancer, explainer: ax.Explainer) -> None:
    batch = explainer.explain_batch(cancer.data.iloc[:5])
    assert batch[-1].cxps == batch[4].cxps
    assert [e.cxps for e in batch[1:3]] == [batch[1].cxps, batch[2].cxps]
    with pytest.raises(IndexError):
        batch[5]
    assert len(explainer.explain_batch(cancer.data.iloc[:0])) == 0


def test_reprs_are_readable(cancer, explainer: ax.Explainer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    assert repr(e).startswith("<Explanation: prediction 0 (probability 1), 7 CXps; shapley: worst concave points 0.018")
    assert repr(explainer) == (
        "Explainer(DecisionTreeClassifier(max_depth=6, random_state=0), <Domain of 30 features>, delta=None, "
        "weights='ratio', max_size=None, budget=Budget(seconds=None, nodes=None, bytes=None, threads=1), "
        "target='auto', class_names=None, within=None, on_budget='radius', on_interrupt='raise', toward=None)"
    )
    assert "5 explanations" in repr(explainer.explain_batch(cancer.data.iloc[:5]))


def test_regression(tmp_path) -> None:
    data = load_diabetes(as_frame=True)
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(data.data, data.target)
    e = ax.Explainer(model, ax.Domain.from_data(data.data), delta=20).explain(data.data.iloc[0])
    assert e.prediction == Fraction(model.predict(data.data.iloc[[0]])[0])
    assert sum(e.scores("shapley").values()) == e.forest.value(e.domain.names)


PEOPLE = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "race_a": [1, 0, 1, 0, 1, 0], "race_b": [0, 1, 0, 1, 0, 1]})
PEOPLE_DOMAIN = ax.Domain.from_data(PEOPLE, integer=["age"], one_hot={"race": ["race_a", "race_b"]})


@pytest.fixture
def of_people() -> ax.Explainer:
    tree = DecisionTreeClassifier(random_state=0).fit(PEOPLE, [0, 0, 1, 0, 1, 1])
    return ax.Explainer(tree, PEOPLE_DOMAIN, weights="count", max_size=2)


def test_parameters_are_those_of_the_constructor(of_people: ax.Explainer) -> None:
    given = of_people.get_params()
    options = ["delta", "weights", "max_size", "budget", "target", "class_names", "within", "on_budget", "on_interrupt"]
    assert list(given) == ["model", "domain", *options, "toward"]
    assert given["model"] is of_people.model
    assert (given["weights"], given["max_size"], given["delta"]) == ("count", 2, None)
    assert ax.Explainer(**given).explain(PEOPLE.iloc[0]).cxps == of_people.explain(PEOPLE.iloc[0]).cxps
    assert not hasattr(of_people, "set_params")


def test_clones_keep_the_fitted_model(of_people: ax.Explainer) -> None:
    for made in (
        clone(of_people),
        copy.copy(of_people),
        copy.deepcopy(of_people),
        pickle.loads(pickle.dumps(of_people)),
    ):
        assert made is not of_people
        assert made.explain(PEOPLE.iloc[2]).cxps == of_people.explain(PEOPLE.iloc[2]).cxps
    assert clone(of_people).model is of_people.model
    assert isinstance(pickle.loads(pickle.dumps(of_people)).model, TreeSum)
    assert (
        clone(pickle.loads(pickle.dumps(of_people))).explain(PEOPLE.iloc[2]).cxps
        == of_people.explain(PEOPLE.iloc[2]).cxps
    )


def test_an_explainer_of_a_lambda_can_be_pickled() -> None:
    made = ax.Explainer(lambda p: p[0] and p[1], ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)]))
    again = pickle.loads(pickle.dumps(made))
    assert again.explain((1, 1)).cxps == made.explain((1, 1)).cxps
    assert repr(again).startswith(
        "Explainer(<TableModel: truth table of 4 points over 2 features>, <Domain of 2 features>"
    )


def test_names_in_and_out(of_people: ax.Explainer) -> None:
    assert of_people.feature_names_in_.tolist() == ["age", "race_a", "race_b"]
    assert of_people.n_features_in_ == 3
    assert of_people.get_feature_names_out().tolist() == ["age", "race"]
    assert list(of_people.explain_batch(PEOPLE).scores().columns) == of_people.get_feature_names_out().tolist()


def test_frames_in_and_out(of_people: ax.Explainer) -> None:
    rows = PEOPLE.set_index(pd.Index(list("uvwxyz")))
    assert list(of_people.explain_batch(rows).scores().index) == list("uvwxyz")
    assert list(of_people.explain_batch(rows).to_frame().index) == list("uvwxyz")
    assert of_people.explain(rows.loc["w"]).to_frame()["value"].tolist() == [40, "a"]


def test_long_reprs_are_shortened() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])

    class Model:
        def __repr__(self) -> str:
            return "x" * 500

        def __call__(self, p: tuple) -> int:
            return p[0]

    assert repr(ax.Explainer(Model(), domain)).startswith("Explainer(<Model>, <Domain of 1 feature>")
