"""Models whose numbers are infinite, NaN or huge, and classifiers of one class: the library's answer, or a sentence."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import float32_cuts, float64_cut
from axfi_kc.errors import ConstantModelError, ModelFileError, RoundingError, UnsupportedModelError
from axfi_kc.verification.spaces import double_precision, single_precision

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)).round(2)
Y = (X.sum(axis=1) > 0).astype(int)
DOMAIN = ax.Domain([ax.Real("a", -3, 3), ax.Real("b", -3, 3)])
LARGEST = float(np.finfo(np.float32).max)
ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e39, LARGEST, -LARGEST)
FAR = [LARGEST, LARGEST + 2.0**103, np.nextafter(LARGEST + 2.0**103, 0), 1e39, 1e308, 0.0]


class TestCuts:
    """Where thresholds at the ends of float32, and beyond them, split the reals."""

    @pytest.mark.parametrize("strict", [False, True])
    def test_single_precision(self, strict: bool) -> None:
        thresholds = [*ODD, 1.0]
        for threshold, cut in zip(thresholds, float32_cuts(thresholds, strict=strict), strict=True):
            bound, closed = single_precision(threshold, strict=strict)
            for x in [*FAR, *(-x for x in FAR)]:
                with np.errstate(over="ignore"):
                    rounded = float(np.float32(x))
                expected = rounded < threshold if strict else rounded <= threshold
                assert (x <= cut.last_left) == expected
                if math.isfinite(threshold):  # others stand for what is missing, and all numbers go to one side
                    assert (Fraction(x) < bound or (Fraction(x) == bound and closed)) == expected

    def test_double_precision(self) -> None:
        for threshold in ODD:
            bound, closed = double_precision(threshold)
            for x in [*FAR, *(-x for x in FAR)]:
                assert (x <= float64_cut(threshold).last_left) == (x <= threshold)
                assert (Fraction(x) < bound or (Fraction(x) == bound and closed)) == (x <= threshold)


def with_number(tree: Any, place: str, number: float) -> None:
    """Put a number into a fitted tree, as the threshold of its root or the value of a leaf."""
    state = tree.__getstate__()
    nodes, values = state["nodes"].copy(), state["values"].copy()
    if place == "threshold":
        nodes["threshold"][0] = number
    else:
        values[np.flatnonzero(nodes["left_child"] < 0)[0], 0, 0] = number
    tree.__setstate__({**state, "nodes": nodes, "values": values})


def check_numbers(model: Any, *, place: str, number: float) -> None:
    """Require the library's outputs, and a proof of the explanation; or one sentence, where a number is not finite."""
    if place != "threshold" and not math.isfinite(number):
        with pytest.raises(UnsupportedModelError, match=f"should be finite numbers, but {number}"):
            ax.read_model(model, DOMAIN)
        return
    form = ax.read_model(model, DOMAIN)
    assert [float(y) for y in form.predict(X.tolist())] == pytest.approx(model.predict(X).tolist())
    try:
        explained = ax.Explainer(model, DOMAIN, delta=1 if form.is_regression else None).explain(X[0])
    except (ConstantModelError, RoundingError):
        return
    assert ax.verify(explained, model).verdict == "proved"


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize("place", ["threshold", "leaf"])
class TestSklearnTrees:
    """Fitted trees that were edited, as trees of damaged files are."""

    def test_single_trees(self, place: str, number: float) -> None:
        trees = pytest.importorskip("sklearn.tree")
        for kind, target in ((trees.DecisionTreeClassifier, Y), (trees.DecisionTreeRegressor, X[:, 0])):
            model = kind(max_depth=2, random_state=0).fit(X, target)
            with_number(model.tree_, place, number)
            check_numbers(model, place=place, number=number)

    def test_forests(self, place: str, number: float) -> None:
        ensembles = pytest.importorskip("sklearn.ensemble")
        for kind, target in ((ensembles.RandomForestClassifier, Y), (ensembles.RandomForestRegressor, X[:, 0])):
            model = kind(n_estimators=3, max_depth=2, random_state=0).fit(X, target)
            with_number(model.estimators_[0].tree_, place, number)
            check_numbers(model, place=place, number=number)

    def test_boosting(self, place: str, number: float) -> None:
        ensembles = pytest.importorskip("sklearn.ensemble")
        for kind, target in ((ensembles.GradientBoostingClassifier, Y), (ensembles.GradientBoostingRegressor, X[:, 0])):
            model = kind(n_estimators=3, max_depth=2, random_state=0).fit(X, target)
            with_number(model.estimators_[0, 0].tree_, place, number)
            check_numbers(model, place=place, number=number)

    def test_committees(self, place: str, number: float) -> None:
        ensembles, trees = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.tree")
        member = trees.DecisionTreeClassifier(max_depth=2)
        for kind in (ensembles.AdaBoostClassifier, ensembles.BaggingClassifier):
            model = kind(member, n_estimators=3, random_state=0).fit(X, Y)
            with_number(model.estimators_[0].tree_, place, number)
            check_numbers(model, place=place, number=number)


@pytest.mark.parametrize("number", ODD)
@pytest.mark.parametrize("place", ["threshold", "leaf", "base"])
def test_histogram_boosting(place: str, number: float) -> None:
    ensembles = pytest.importorskip("sklearn.ensemble")
    pairs = ((ensembles.HistGradientBoostingClassifier, Y), (ensembles.HistGradientBoostingRegressor, X[:, 0]))
    for kind, target in pairs:
        model = kind(max_iter=3, min_samples_leaf=5).fit(X, target)
        nodes = model._predictors[0][0].nodes
        if place == "threshold":
            nodes["num_threshold"][0] = number
        elif place == "leaf":
            nodes["value"][np.flatnonzero(nodes["is_leaf"])[0]] = number
        else:
            model._baseline_prediction = np.full_like(model._baseline_prediction, number)
        check_numbers(model, place=place, number=number)


def test_isolation_forests_do_not_look_at_leaves() -> None:
    model = pytest.importorskip("sklearn.ensemble").IsolationForest(n_estimators=3, random_state=0).fit(X)
    with_number(model.estimators_[0].tree_, "leaf", math.nan)
    assert ax.verify(ax.Explainer(model, DOMAIN).explain(X[0]), model).verdict != "failed"


@pytest.mark.parametrize("size", [1e308, -1e308, 1e300, 5e-324])
def test_targets_near_the_ends_of_float64(size: float) -> None:
    trees, ensembles = pytest.importorskip("sklearn.tree"), pytest.importorskip("sklearn.ensemble")
    for kind in (
        trees.DecisionTreeRegressor,
        ensembles.RandomForestRegressor,
        ensembles.GradientBoostingRegressor,
        ensembles.HistGradientBoostingRegressor,
    ):
        with np.errstate(all="ignore"):
            model = kind(random_state=0).fit(X, np.where(Y, size, 0.9 * size))
            if np.isfinite(model.predict(X)).all():
                exact = ax.read_model(model, DOMAIN).predict(X.tolist())
                assert [float(y) for y in exact] == pytest.approx(model.predict(X).tolist())
                continue
        with pytest.raises(UnsupportedModelError, match="should be finite numbers"):
            ax.read_model(model, DOMAIN)


def test_weights_of_members() -> None:
    ensembles, trees = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.tree")
    members = [(name, trees.DecisionTreeClassifier(max_depth=2)) for name in "ab"]
    for weight in (math.nan, math.inf):
        model = ensembles.VotingClassifier(members, voting="soft", weights=[1, weight]).fit(X, Y)
        with pytest.raises(ax.AxfiError, match="must be a finite number"):
            ax.read_model(model, DOMAIN)
        boosted = ensembles.AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, Y)
        boosted.estimator_weights_[0] = weight
        with pytest.raises(UnsupportedModelError, match="should be finite numbers"):
            ax.read_model(boosted, DOMAIN)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["coef_", "intercept_"])
def test_linear_models(place: str, number: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    for kind, target in ((linear.LogisticRegression, Y), (linear.Ridge, X[:, 0])):
        model = kind().fit(X, target)
        changed = np.array(getattr(model, place), dtype=np.float64)
        changed.reshape(-1)[0] = number
        setattr(model, place, changed)
        with pytest.raises(ax.AxfiError, match="must be a finite number"):
            ax.read_model(model, DOMAIN)


def test_sums_that_the_library_cannot_hold() -> None:
    model = pytest.importorskip("sklearn.linear_model").Ridge().fit(X, X[:, 0])
    model.coef_ = np.array([1e308, 0.0])
    with np.errstate(over="ignore"):
        explained = ax.Explainer(model, DOMAIN, delta=1).explain([0.5, 0.0])
        assert ax.verify(explained, model).verdict in ("failed", "not refuted")  # for predict is infinite elsewhere
        with pytest.raises(RoundingError, match="gives inf"):
            ax.Explainer(model, DOMAIN, delta=1).explain([2.5, 0.0])


class TestOneClass:
    """Classifiers that saw one class predict it everywhere."""

    @pytest.mark.parametrize("label", [7, "no", True])
    def test_sklearn(self, label: Any) -> None:
        ensembles = pytest.importorskip("sklearn.ensemble")
        for kind in (ensembles.HistGradientBoostingClassifier, ensembles.RandomForestClassifier):
            self._check(kind().fit(X, np.full(len(X), label)), label)

    def test_lightgbm(self) -> None:
        lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
        options: dict[str, Any] = {"n_estimators": 2, "verbose": -1, "n_jobs": 1}
        alone = lightgbm.LGBMClassifier(**options).fit(X, np.full(len(X), "no"))
        self._check(alone, "no")
        two = lightgbm.LGBMClassifier(**options).fit(X, Y)
        # It goes on from a model of two classes, and predict fails where that one says the second.
        further = lightgbm.LGBMClassifier(**options).fit(X, np.full(len(X), "no"), init_model=two)
        with pytest.raises(UnsupportedModelError, match="one class 'no' should have no score above 0"):
            ax.read_model(further, DOMAIN)

    def test_xgboost(self) -> None:
        xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
        alone = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, np.zeros(len(X), dtype=int))
        self._check(alone, 0)
        two = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, Y)
        further = xgboost.XGBClassifier(n_estimators=1, n_jobs=1).fit(X, np.zeros(len(X), dtype=int), xgb_model=two)
        assert set(further.predict(X).tolist()) == {0, 1}  # of which it should know one
        assert ax.read_model(further, DOMAIN).predict(X.tolist()) == further.predict(X).tolist()
        assert ax.verify(ax.Explainer(further, DOMAIN).explain(X[0]), further).verdict == "proved"

    def test_interpret(self) -> None:
        glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
        self._check(glassbox.ExplainableBoostingClassifier().fit(X, np.full(len(X), "no")), "no")

    def _check(self, model: Any, label: Any) -> None:
        assert set(model.predict(X).tolist()) == {label}
        assert set(ax.read_model(model, DOMAIN).predict(X.tolist())) == {label}
        with pytest.raises(ConstantModelError):
            ax.Explainer(model, DOMAIN).explain(X[0])


class TestXGBoostBase:
    """The bias of a logistic model is a probability, which the library clips since 3.2."""

    @pytest.mark.parametrize("share", [0.0, 1e-45, 1e-7, 1e-6, 0.3, 1 - 2.0**-24, 1.0])
    def test_margins(self, share: float) -> None:
        xgboost = pytest.importorskip("xgboost", minversion="3.2", reason="xgboost 3.2 is not installed")
        booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, Y), 2)
        document = json.loads(bytes(booster.save_raw("json")))
        document["learner"]["learner_model_param"]["base_score"] = f"[{share!r}]"
        data = json.dumps(document).encode()
        booster.load_model(bytearray(data))
        margins = booster.predict(xgboost.DMatrix(X), output_margin=True)
        for model in (ax.read_xgboost(data, DOMAIN), ax.read_model(booster, DOMAIN)):
            found = [float(score) for (score,) in model.scores_at(X)]
            assert found == pytest.approx(margins.tolist(), rel=1e-6)

    def test_older_files_are_not_clipped(self) -> None:
        stump = {"left_children": [-1], "right_children": [-1], "split_indices": [0], "split_conditions": [0.0]}
        grown = {"tree_info": [0], "iteration_indptr": [0, 1], "trees": [{**stump, "tree_param": {}}]}
        learner: dict[str, Any] = {
            "learner_model_param": {"base_score": "1E-8", "num_class": "0", "num_feature": "2"},
            "objective": {"name": "binary:logistic"},
            "gradient_booster": {"name": "gbtree", "model": grown},
        }
        for version, margin in (([3, 1, 1], math.log(1e-8)), ([3, 2, 0], math.log(1e-6))):
            data = json.dumps({"version": version, "learner": learner}).encode()
            (base,) = ax.read_xgboost(data, DOMAIN).base
            assert float(base) == pytest.approx(margin, rel=1e-6)
        for share, version in (("0", [3, 1, 1]), ("1.5", [3, 2, 0])):
            learner["learner_model_param"]["base_score"] = share
            with pytest.raises(ModelFileError, match="should be a probability"):
                ax.read_xgboost(json.dumps({"version": version, "learner": learner}).encode(), DOMAIN)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e308])
def test_interpret(number: float) -> None:
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
    fitted = glassbox.ExplainableBoostingRegressor(interactions=0, outer_bags=1, max_rounds=20).fit(X, X[:, 0])
    for place in ("leaf", "base", "cut"):
        model = copy.deepcopy(fitted)
        if place == "leaf":
            model.term_scores_[0][2] = number
        elif place == "base":
            model.intercept_ = number
        else:
            model.bins_[0][0] = np.array([number, *model.bins_[0][0][1:]])
        if place != "cut" and math.isfinite(number):
            exact = ax.read_model(model, DOMAIN).predict(X.tolist())
            assert [float(y) for y in exact] == pytest.approx(model.predict(X).tolist())
            continue
        with pytest.raises(UnsupportedModelError, match="should be finite numbers"):
            ax.read_model(model, DOMAIN)


def test_catboost_counts_borders_in_their_order(tmp_path: Any) -> None:
    catboost = pytest.importorskip("catboost", reason="catboost is not installed")
    model = catboost.CatBoostRegressor(iterations=3, depth=2, verbose=0, allow_writing_files=False).fit(X, X[:, 0])
    path = tmp_path / "model.json"
    model.save_model(str(path), format="json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["features_info"]["float_features"][0]["borders"][0] = 2.5
    path.write_text(json.dumps(document), encoding="utf-8")
    model.load_model(str(path), format="json")
    with pytest.raises(UnsupportedModelError, match="ascending order"):
        ax.read_model(model, DOMAIN)
