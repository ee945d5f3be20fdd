"""Which library a model is from, and whose predict it uses: inherited ones are compared, overridden ones refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import RoundingError, UnsupportedModelError
from axfi_kc.models.own_predict import library_of, own_predictor, predictor

pytest.importorskip("sklearn")
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=80), RNG.integers(0, 3, 80), RNG.normal(size=80)])
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
DOMAIN = ax.Domain([ax.Real("a", -5, 5), ax.Integer("b", 0, 2), ax.Real("c", -5, 5)])


def xgb_classifier(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2, **options)


def lgb_classifier(**options: Any) -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, num_leaves=4, verbose=-1, **options)


MAKERS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(3, max_depth=2, random_state=0),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
    "logistic": LogisticRegression,
    "xgboost": xgb_classifier,
    "lightgbm": lgb_classifier,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}


def extended(model: Any, **methods: Any) -> Any:
    """Return a model of the same parameters whose class, in this module, extends its class."""
    kind = type("Mine", (type(model),), {**methods, "__module__": __name__, "__init__": type(model).__init__})
    return kind(**model.get_params(deep=False))


def calling(name: str) -> Any:
    """Return a method that does what the inherited one does, which nobody can tell by looking at it."""
    return lambda self, *given, **named: getattr(super(type(self), self), name)(*given, **named)


@pytest.mark.parametrize("name", MAKERS)
def test_a_subclass_that_inherits_predict_is_explained_compared_and_proved(name: str) -> None:
    model, plain = extended(MAKERS[name]()).fit(X, Y), MAKERS[name]().fit(X, Y)
    e = ax.Explainer(model, DOMAIN).explain(X[0])
    assert e.to_dict() == ax.Explainer(plain, DOMAIN).explain(X[0]).to_dict()
    assert own_predictor(model, DOMAIN) is not None
    mine, base = ax.verify(e, model), ax.verify(e, plain)
    assert mine.complete
    assert mine.reading == base.reading != "predict alone"


def test_a_wrong_leaf_of_a_subclass_is_found() -> None:
    model = extended(MAKERS["tree"]()).fit(X, Y)
    explainer = ax.Explainer(model, DOMAIN)
    model.tree_.value[:] = model.tree_.value[:, :, ::-1].copy()
    with pytest.raises(RoundingError, match="predict should give the exact output"):
        explainer.explain(X[0])


WITH_MARGINS = ("boosted", "logistic", "pipeline")
METHODS = [(name, method) for name in MAKERS for method in ("predict", "predict_proba")]
METHODS += [(name, "decision_function") for name in WITH_MARGINS]


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_a_subclass_that_overrides_is_refused(name: str, method: str) -> None:
    plain = MAKERS[name]()
    model = extended(plain, **{method: calling(method)}).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match=f"but this Mine has a {method} of its own.*; use a plain") as found:
        ax.Explainer(model, DOMAIN)
    assert str(found.value).count(". ") == 0
    e = ax.Explainer(plain.fit(X, Y), DOMAIN).explain(X[0])
    assert ax.verify(e, model).reading == "predict alone"  # nothing is proved from a dump that may not be what predicts


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LinearRegression(), "_decision_function"),
        (BernoulliNB(), "_joint_log_likelihood"),
        (MAKERS["boosted"](), "_raw_predict"),
    ],
)
def test_methods_that_predict_goes_through_count(model: Any, method: str) -> None:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    bits = (X > 0).astype(int)
    with pytest.raises(UnsupportedModelError, match=f"{method} of its own"):
        ax.read_model(extended(model, **{method: calling(method)}).fit(bits, Y), domain)


def test_methods_that_do_not_act_in_predict_may_change() -> None:
    harmless = {name: lambda self, *given: None for name in ("apply", "score", "predict_with_reasons", "__call__")}
    model = extended(MAKERS["tree"](), **harmless).fit(X, Y)
    assert ax.Explainer(model, DOMAIN).explain(X[0]).cxps


@pytest.mark.parametrize("name", MAKERS)
def test_an_attribute_of_the_instance_counts(name: str) -> None:
    model = MAKERS[name]().fit(X, Y)
    model.predict = lambda table: np.ones(len(table))
    with pytest.raises(UnsupportedModelError, match="has a predict of its own"):
        ax.Explainer(model, DOMAIN)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_the_booster_of_an_estimator_counts(name: str) -> None:
    model = MAKERS[name]().fit(X, Y)
    e = ax.Explainer(model, DOMAIN).explain(X[0])
    booster = model.get_booster() if name == "xgboost" else model.booster_
    booster.predict = lambda table, **options: type(booster).predict(booster, table, **options)
    assert ax.verify(e, model).reading == "predict alone"
    for given in (model, booster):
        with pytest.raises(UnsupportedModelError, match="this Booster has a predict of its own"):
            ax.Explainer(given, DOMAIN)


def test_a_tree_of_a_forest_counts() -> None:
    forest = MAKERS["forest"]().fit(X, Y)
    e = ax.Explainer(forest, DOMAIN).explain(X[0])
    forest.estimators_[1].predict_proba = forest.estimators_[1].predict_proba
    assert ax.verify(e, forest).reading == "predict alone"
    with pytest.raises(UnsupportedModelError, match="this DecisionTreeClassifier has a predict_proba of its own"):
        ax.Explainer(forest, DOMAIN)


def test_mixins_count() -> None:
    class Louder:
        def predict(self, table: Any) -> Any:
            return 1 - super().predict(table)  # type: ignore[misc]

    class Loud(Louder, DecisionTreeClassifier):  # type: ignore[misc]
        pass

    with pytest.raises(UnsupportedModelError, match="this Loud has a predict of its own"):
        ax.Explainer(Loud().fit(X, Y), DOMAIN)


def test_mixins_of_another_library_do_not_decide_where_a_model_is_from() -> None:
    model = MAKERS["xgboost"]()
    kind = type("Mine", (TransformerMixin, type(model)), {"__module__": __name__})
    assert library_of(kind()) == "xgboost"
    assert library_of(extended(MAKERS["logistic"]())) == "sklearn"
    assert library_of(print) is None


SCALER = extended(StandardScaler(), transform=calling("transform"))
OWN_MODEL = extended(LogisticRegression(), predict=calling("predict"))
OWN_PIPELINE = extended(make_pipeline(LogisticRegression()), predict=calling("predict"))
STEPS: dict[str, Any] = {
    "scaler": make_pipeline(SCALER, LogisticRegression()),
    "nested": make_pipeline(make_pipeline(SCALER), LogisticRegression()),
    "columns": make_pipeline(ColumnTransformer([("one", SCALER, [0, 1, 2])]), LogisticRegression()),
    "model": make_pipeline(StandardScaler(), OWN_MODEL),
    "nested model": make_pipeline(StandardScaler(), OWN_PIPELINE),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_pipelines_count(name: str) -> None:
    model: Pipeline = STEPS[name].fit(X, Y)
    with pytest.raises(UnsupportedModelError, match=r"works as sklearn\.\w+ does, but this Mine has a"):
        ax.Explainer(model, DOMAIN)
    e = ax.Explainer(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y), DOMAIN).explain(X[0])
    assert ax.verify(e, model).reading == "predict alone"


def test_a_scaler_that_inherits_transform_is_read_and_proved() -> None:
    model = make_pipeline(extended(StandardScaler()), LogisticRegression()).fit(X, Y)
    e = ax.Explainer(model, DOMAIN).explain(X[0])
    assert ax.verify(e, model).complete


def test_boosters_of_margins_are_asked_for_their_sign() -> None:
    xgboost = pytest.importorskip("xgboost")
    options = {"objective": "binary:logitraw", "max_depth": 1, "base_score": 0.0}
    booster = xgboost.train(options, xgboost.DMatrix(X, label=Y), num_boost_round=1)
    margins = booster.predict(xgboost.DMatrix(X))
    between = X[(margins > 0) & (margins <= 0.5)][0]
    assert ax.Explainer(booster, DOMAIN).explain(between).prediction == 1


def test_a_fresh_process_asks_as_the_reader_says() -> None:
    pytest.importorskip("xgboost")
    code = (
        "import numpy as np, xgboost, axfi_kc as ax\n"
        "from axfi_kc.models.own_predict import predictor\n"
        "X = np.array([[0.0], [1.0]] * 9)\n"
        "booster = xgboost.train({'objective': 'binary:logistic'}, xgboost.DMatrix(X, label=X[:, 0]))\n"
        "print(predictor(booster, ax.Domain([ax.Integer('a', 0, 1)]))(X[:2]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[0, 1]"


def test_functions_and_neutral_forms_have_nothing_to_compare() -> None:
    assert own_predictor(lambda point: point[1] > 1, DOMAIN) is None
    form = ax.read_model(MAKERS["tree"]().fit(X, Y), DOMAIN)
    assert own_predictor(form, DOMAIN) is None
    assert predictor(form, DOMAIN)(DOMAIN.encode(X[:3])) == form.predict(X[:3])


class Slippery(DecisionTreeClassifier):
    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found if name != "predict" else lambda *given, **options: 1 - found(*given, **options)


class Halved(ColumnTransformer):
    def _hstack(self, *given: Any, **options: Any) -> Any:
        return super()._hstack(*given, **options) / 2


class Tilted(DummyRegressor):
    def predict(self, X: Any, return_std: bool = False) -> Any:
        return super().predict(X) + np.asarray(X)[:, 0]


HIDDEN = {
    "__getattribute__": lambda: Slippery(max_depth=3),
    "_hstack": lambda: make_pipeline(Halved([("all", "passthrough", [0, 1, 2])]), LogisticRegression()),
    "starts from Tilted": lambda: GradientBoostingRegressor(n_estimators=2, init=Tilted()),
    "pred_early_stop": lambda: lgb_classifier(pred_early_stop=True),
}


@pytest.mark.parametrize("what", HIDDEN)
def test_what_acts_in_predict_and_is_not_read_is_refused(what: str) -> None:
    with pytest.raises(UnsupportedModelError, match=what):
        ax.Explainer(HIDDEN[what]().fit(X, Y), DOMAIN, delta=1 if "Tilted" in what else None)


def test_a_proxy_is_not_what_it_says_it_is() -> None:
    class Proxy:
        def __init__(self, model: Any) -> None:
            self._model = model

        __class__ = property(lambda self: type(self._model))  # type: ignore[assignment]

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["_model"], name)

        def predict(self, X: Any, **options: Any) -> Any:
            return 1 - self._model.predict(X, **options)

    with pytest.raises(UnsupportedModelError, match="Expected a model that can be read exactly"):
        ax.Explainer(Proxy(DecisionTreeClassifier(max_depth=3).fit(X, Y)), DOMAIN)


def test_a_booster_is_asked_on_one_thread_and_left_as_it_was() -> None:
    xgb = pytest.importorskip("xgboost")
    model = xgb_classifier(n_jobs=2).fit(X, Y)
    booster = model.get_booster()
    before = booster.save_config(), bytes(booster.save_raw("json")), model.get_params()
    predict = own_predictor(model, DOMAIN)
    assert predict is not None
    assert predict(X) == model.predict(X).tolist()
    ax.Explainer(model, DOMAIN).explain(X[0])
    assert (booster.save_config(), bytes(booster.save_raw("json")), model.get_params()) == before
    assert own_predictor(booster, DOMAIN)(X) == predict(X)
    # What the booster becomes is what is asked.
    booster.update(xgb.DMatrix(X, 1 - Y), 3)
    booster.update(xgb.DMatrix(X, 1 - Y), 4)
    assert predict(X) == model.predict(X).tolist()


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_predict_of_boosters(classes: int, early: bool) -> None:
    xgb = pytest.importorskip("xgboost")
    target = np.digitize(X[:, 0] + X[:, 1], [1, 2][: classes - 1])
    options = {"early_stopping_rounds": 1} if early else {}
    model = xgb_classifier(**options)
    model.fit(X, target, eval_set=[(X[::-1], target)] if early else None, verbose=False)
    assert own_predictor(model, DOMAIN)(X) == model.predict(X).tolist()
    regressor = xgb.XGBRegressor(n_estimators=3).fit(X, X[:, 2])
    assert own_predictor(regressor, DOMAIN)(X) == regressor.predict(X).tolist()
    forest = xgb.XGBRFClassifier(n_estimators=3, max_depth=2).fit(X, target)
    assert own_predictor(forest, DOMAIN)(X) == forest.predict(X).tolist()
