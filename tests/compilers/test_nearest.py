"""What is said about a model that cannot be read: one short sentence, with the nearest thing that works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers.nearest import _NEAREST
from axfi_kc.errors import UnsupportedModelError

svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
discriminant_analysis = pytest.importorskip("sklearn.discriminant_analysis")
feature_selection = pytest.importorskip("sklearn.feature_selection")
linear_model = pytest.importorskip("sklearn.linear_model")
naive_bayes = pytest.importorskip("sklearn.naive_bayes")
neighbors = pytest.importorskip("sklearn.neighbors")
neural_network = pytest.importorskip("sklearn.neural_network")
DecisionTreeClassifier = pytest.importorskip("sklearn.tree").DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)
DOMAIN = ax.Domain.from_data(X)


class Search:
    """An object that a library of its own found the best model with."""

    def __init__(self, found: Any) -> None:
        self.best_estimator_ = found

    def predict(self, table: Any) -> Any:
        return self.best_estimator_.predict(table)


def said(model: Any) -> str:
    with pytest.raises(UnsupportedModelError) as caught:
        ax.Explainer(model, DOMAIN)
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (svm.SVC(), "train a LinearSVC, or give"),
        (svm.SVR(), "train a Ridge or Lasso, or give"),
        (neural_network.MLPClassifier(), "train a HistGradientBoostingClassifier, or give"),
        (neural_network.MLPRegressor(), "train a HistGradientBoostingRegressor, or give"),
        (neighbors.KNeighborsClassifier(), "; give a Python function over a finite domain"),
        (neighbors.LocalOutlierFactor(novelty=True), "train an IsolationForest, or give"),
        (naive_bayes.GaussianNB(), "train a CategoricalNB or LogisticRegression, or give"),
        (discriminant_analysis.QuadraticDiscriminantAnalysis(), "train a LogisticRegression, or give"),
        (linear_model.TweedieRegressor(), "train a Ridge or Lasso, or give"),
        (object(), "builtins.object was given; give a Python function over a finite domain"),
        (None, "builtins.NoneType was given; give a Python function"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_the_nearest_thing_that_works(model: Any, advice: str) -> None:
    sentence = said(model)
    assert advice in sentence
    assert len(sentence) < 200
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0


def test_objects_that_hold_a_model() -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    assert "Search was given; explain its best_estimator_." in said(Search(tree))
    assert ax.Explainer(Search(tree).best_estimator_, DOMAIN).explain(X[0]).cxps
    # A model inside that cannot be read either is no help.
    assert "Search was given; give a Python function" in said(Search(neighbors.KNeighborsClassifier()))
    chosen = feature_selection.RFE(linear_model.LogisticRegression(), n_features_to_select=1).fit(X, Y)
    assert "explain a Pipeline of the selected columns and its estimator_, or give" in said(chosen)


def test_subclasses_are_told_what_their_base_is() -> None:
    class Mine(svm.SVC):
        pass

    assert "Mine was given; train a LinearSVC" in said(Mine())


def test_classes_and_paths() -> None:
    assert said(DecisionTreeClassifier) == (
        "Expected a trained model, but the class DecisionTreeClassifier itself was given; make one of it and fit it."
    )
    for path in ("model.json", Path("model.json"), b"bytes"):
        assert "read_xgboost or read_onnx" in said(path)


def test_everything_listed_is_unread_and_its_nearest_is_read() -> None:
    from sklearn.utils import all_estimators

    known = dict(all_estimators())
    for name, nearest in _NEAREST.items():
        if name in known and name not in ("RFE", "RFECV", "StackingClassifier", "StackingRegressor"):
            assert nearest in said(known[name]())
        for other in nearest.split(" ", 2)[2].split(" or "):
            if other in known:
                with pytest.raises(ax.AxfiError, match="call fit first"):
                    ax.read_model(known[other](), DOMAIN)
