"""An explainer behaves as people expect of scikit-learn's objects."""

from __future__ import annotations

import copy
import pickle

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.models import TreeSum

X = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "race_a": [1, 0, 1, 0, 1, 0], "race_b": [0, 1, 0, 1, 0, 1]})
DOMAIN = ax.Domain.from_data(X, integer=["age"], one_hot={"race": ["race_a", "race_b"]})


@pytest.fixture
def explainer() -> ax.Explainer:
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 0, 1, 1])
    return ax.Explainer(tree, DOMAIN, weights="count", max_size=2)


def test_parameters_are_those_of_the_constructor(explainer: ax.Explainer) -> None:
    given = explainer.get_params()
    assert list(given) == ["model", "domain", "delta", "weights", "max_size", "budget", "target"]
    assert given["model"] is explainer.model
    assert (given["weights"], given["max_size"], given["delta"]) == ("count", 2, None)
    assert ax.Explainer(**given).explain(X.iloc[0]).cxps == explainer.explain(X.iloc[0]).cxps
    assert not hasattr(explainer, "set_params")


def test_clones_keep_the_fitted_model(explainer: ax.Explainer) -> None:
    for made in (
        clone(explainer),
        copy.copy(explainer),
        copy.deepcopy(explainer),
        pickle.loads(pickle.dumps(explainer)),
    ):
        assert made is not explainer
        assert made.explain(X.iloc[2]).cxps == explainer.explain(X.iloc[2]).cxps
    assert clone(explainer).model is explainer.model
    assert isinstance(pickle.loads(pickle.dumps(explainer)).model, TreeSum)
    assert clone(pickle.loads(pickle.dumps(explainer))).explain(X.iloc[2]).cxps == explainer.explain(X.iloc[2]).cxps


def test_an_explainer_of_a_lambda_can_be_pickled() -> None:
    made = ax.Explainer(lambda p: p[0] and p[1], ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)]))
    again = pickle.loads(pickle.dumps(made))
    assert again.explain((1, 1)).cxps == made.explain((1, 1)).cxps
    assert repr(again).startswith(
        "Explainer(<TableModel: truth table of 4 points over 2 features>, <Domain of 2 features>"
    )


def test_names_in_and_out(explainer: ax.Explainer) -> None:
    assert explainer.feature_names_in_.tolist() == ["age", "race_a", "race_b"]
    assert explainer.n_features_in_ == 3
    assert explainer.get_feature_names_out().tolist() == ["age", "race"]
    assert list(explainer.explain_batch(X).scores().columns) == explainer.get_feature_names_out().tolist()


def test_frames_in_and_out(explainer: ax.Explainer) -> None:
    rows = X.set_index(pd.Index(list("uvwxyz")))
    assert list(explainer.explain_batch(rows).scores().index) == list("uvwxyz")
    assert list(explainer.explain_batch(rows).to_frame().index) == list("uvwxyz")
    assert explainer.explain(rows.loc["w"]).to_frame()["value"].tolist() == [40, "a"]


def test_long_reprs_are_shortened() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])

    class Model:
        def __repr__(self) -> str:
            return "x" * 500

        def __call__(self, p: tuple) -> int:
            return p[0]

    assert repr(ax.Explainer(Model(), domain)).startswith("Explainer(<Model>, <Domain of 1 features>")
