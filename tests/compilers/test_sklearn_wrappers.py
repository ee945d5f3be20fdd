"""scikit-learn's wrappers: what is read predicts as they do, is explained as enumeration explains it, or is refused."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.cli.skops_files import load_skops
from axfi_kc.errors import ConstantModelError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import LinearModel, TableModel, TreeSum
from axfi_kc.models.own_predict import library_of

cases = pytest.importorskip("tests.support.wrapper_cases")
from sklearn import calibration, ensemble, linear_model, model_selection, multiclass, multioutput, svm, tree  # noqa: E402

from tests.support.oracle import Judge, space_of  # noqa: E402
from tests.support.probes import gaps, random_codes  # noqa: E402

CASES, DOMAIN, SMALL, GRID, X = cases.CASES, cases.DOMAIN, cases.SMALL, cases.GRID, cases.X
ROWS = 10_000
DELTA = Fraction(5, 8)


def probes(form: TreeSum | LinearModel) -> np.ndarray:
    """Return 10,000 points: random ones, and ones on each cut of the form and one float either side of it."""
    rng = np.random.default_rng(0)
    parts = []
    if isinstance(form, TreeSum):
        for i in (0, 1, 3):
            cuts = np.array([cut.last_left for cut in form.grid.axes[i].cuts])
            near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
            low, high = float(DOMAIN.features[i].low), float(DOMAIN.features[i].high)
            near = near[(near >= low) & (near <= high)]
            rows = random_codes(DOMAIN, 3 * len(near), rng)
            rows[:, i] = np.tile(near, 3)
            parts.append(rows)
    near = sum(map(len, parts))
    return np.concatenate([*parts, random_codes(DOMAIN, max(ROWS - near, 100), rng)])


def exact_scores(form: TreeSum | LinearModel, codes: np.ndarray) -> list[list[Fraction]]:
    if isinstance(form, TreeSum):
        return form.scores_at(codes)
    numerators, shifts = form.numerators_at(codes)
    pairs = zip(numerators.tolist(), shifts.tolist(), strict=True)
    return [[Fraction(n, form.denominator << shift) for n in row] for row, shift in pairs]


@pytest.mark.parametrize("name", CASES)
def test_predictions_on_ten_thousand_rows(name: str) -> None:
    model = CASES[name].fitted()
    form = ax.read_model(model, DOMAIN)
    assert isinstance(form, TreeSum | LinearModel)
    codes = probes(form)
    ours, theirs = form.outputs_at(codes), model.predict(codes).tolist()
    if CASES[name].target == "number":
        assert max(abs(a - Fraction(b)) for a, b in zip(ours, theirs, strict=True)) <= form.rounding_error
        return
    different = np.array([a != b for a, b in zip(ours, theirs, strict=True)])
    assert len(set(ours)) > 1
    # The library may differ within its own rounding of a tie, and nowhere else.
    assert different.mean() < 0.01
    if different.any():
        assert gaps(exact_scores(form, codes[different])).max() <= form.rounding_error


@pytest.mark.parametrize("name", CASES)
def test_explanations_equal_enumeration(name: str) -> None:
    delta = DELTA if CASES[name].target == "number" else None
    space, found = space_of(SMALL), 0
    for seed in range(3):
        model = CASES[name].fitted_to_grid(seed)
        outputs = dict(zip(map(tuple, GRID.tolist()), model.predict(GRID).tolist(), strict=True))
        explainer = ax.Explainer(model, SMALL, delta=delta)
        for v in ((0, 0, 0), (3, 2, 1), (1, 1, 2)):
            judge = Judge(space, lambda x, outputs=outputs: outputs[tuple(map(float, x))], v, delta)
            if not judge.is_wcxp(frozenset(range(3))):
                continue
            e = explainer.explain(v)
            found += 1
            weights = {frozenset(map(SMALL.names.index, c.features)): c.weight for c in e.cxps}
            assert weights == {S: judge.ratio(S) for S in judge.cxps()}
            assert {frozenset(map(SMALL.names.index, a.features)) for a in e.axps} == judge.axps()
    assert found >= 2


def test_thresholds_move_the_ties_of_a_forest() -> None:
    """Grown out, every tree votes 0 or 1, and the average of ten is compared with tenths as floats have them."""
    forest = ensemble.RandomForestClassifier(10, random_state=0).fit(X, cases.targets(cases.score(X), "two"))
    codes = random_codes(DOMAIN, 2000, np.random.default_rng(1))
    for tenths in range(11):
        for threshold in {tenths / 10, np.nextafter(tenths / 10, 2), np.nextafter(tenths / 10, -1), 0.1 * tenths}:
            for first in (None, 0):
                model = model_selection.FixedThresholdClassifier(forest, threshold=threshold, pos_label=first)
                form = ax.read_model(model, DOMAIN)
                assert form.outputs_at(codes) == model.predict(codes).tolist()


def test_thresholds_of_votes_with_little_weight() -> None:
    y = cases.targets(cases.score(X), "two")
    inner = ensemble.AdaBoostClassifier(n_estimators=3, learning_rate=0.1, random_state=0).fit(X, y)
    assert inner.estimator_weights_.sum() < 1
    for threshold in (0.3, 0.49, 0.5, 0.6, 0.73):
        for first in (None, 0):
            model = model_selection.FixedThresholdClassifier(inner, threshold=threshold, pos_label=first)
            assert ax.read_model(model, DOMAIN).outputs_at(X) == model.predict(X).tolist()


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 1.5, float("nan"), float("inf")])
def test_thresholds_that_all_pass_or_none(threshold: float) -> None:
    y = cases.targets(cases.score(X), "two")
    for inner in (linear_model.LogisticRegression(), tree.DecisionTreeClassifier(max_depth=2)):
        model = model_selection.FixedThresholdClassifier(inner.fit(X, y), threshold=threshold)
        assert set(ax.read_model(model, DOMAIN).outputs_at(X)) == set(model.predict(X).tolist())
        with pytest.raises(ConstantModelError):
            ax.Explainer(model, DOMAIN).explain(X[0])


def test_the_edge_of_a_logistic_threshold_is_that_of_its_own_sigmoid() -> None:
    """At the floats around the margin where the probability passes, the two agree float by float."""
    inner = linear_model.LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    inner.coef_, inner.intercept_ = np.ones((1, 1)), np.zeros(1)
    domain = ax.Domain([ax.Real("x", -5, 5)])
    for threshold in (0.1, 0.3, 0.5, 0.7310585786300049, 0.9):
        for first in (None, 0):
            model = model_selection.FixedThresholdClassifier(inner, threshold=threshold, pos_label=first)
            form = ax.read_model(model, domain)
            edge = float(-form.base[0] / Fraction(form.parts[0].factors[0]))
            near = [edge]
            for way in (-np.inf, np.inf):
                x = edge
                for _ in range(40):
                    x = float(np.nextafter(x, way))
                    near.append(x)
            points = np.array(near).reshape(-1, 1)
            assert form.outputs_at(points) == model.predict(points).tolist()
            assert len(set(form.outputs_at(points))) == 2


def test_votes_that_are_no_sum_are_asked_at_every_point() -> None:
    logistic, depth = linear_model.LogisticRegression(), tree.DecisionTreeClassifier(max_depth=3)
    mixed = ensemble.VotingClassifier([("a", logistic), ("b", depth)], voting="soft")
    for make in (mixed, multiclass.OneVsOneClassifier(svm.LinearSVC()), ensemble.BaggingClassifier(logistic, 3)):
        rows = GRID[np.random.default_rng(0).integers(0, len(GRID), 90)]
        model = make.fit(rows, cases.targets(cases.score(rows), "three"))
        form = ax.read_model(model, SMALL)
        assert isinstance(form, TableModel)
        assert form.outputs_at(GRID) == model.predict(GRID).tolist()


def test_a_median_is_asked_at_every_point() -> None:
    rows = GRID[np.random.default_rng(0).integers(0, len(GRID), 90)]
    model = ensemble.AdaBoostRegressor(n_estimators=5, random_state=0).fit(rows, cases.score(rows))
    outputs = dict(zip(map(tuple, GRID.tolist()), model.predict(GRID).tolist(), strict=True))
    e = ax.Explainer(model, SMALL, delta=DELTA).explain((3, 2, 1))
    judge = Judge(space_of(SMALL), lambda x: outputs[tuple(map(float, x))], (3, 2, 1), DELTA)
    weights = {frozenset(map(SMALL.names.index, c.features)): c.weight for c in e.cxps}
    assert weights == {S: judge.ratio(S) for S in judge.cxps()}


def test_successive_halving() -> None:
    pytest.importorskip("sklearn.experimental.enable_halving_search_cv")
    y = cases.targets(cases.score(X), "three")
    for make in (model_selection.HalvingGridSearchCV, model_selection.HalvingRandomSearchCV):
        model = make(
            tree.DecisionTreeClassifier(random_state=0), {"max_depth": list(range(1, 61))}, cv=2, random_state=0
        )
        with pytest.raises(UnfittedModelError, match="call fit first"):
            ax.read_model(model, DOMAIN)
        assert ax.read_model(model.fit(X, y), DOMAIN).outputs_at(X) == model.predict(X).tolist()


def test_frozen_models() -> None:
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    y = cases.targets(cases.score(X), "two")
    forest, depth = ensemble.RandomForestClassifier(5, max_depth=3, random_state=0), tree.DecisionTreeClassifier()
    inner = frozen(forest.fit(X, y))
    assert library_of(inner) == "sklearn"
    sure = calibration.CalibratedClassifierCV(inner).fit(X, y)
    votes = ensemble.VotingClassifier([("a", inner), ("b", frozen(depth.fit(X, y)))], voting="soft").fit(X, y)
    for model in (inner, sure, votes, model_selection.FixedThresholdClassifier(frozen(sure), threshold=0.4)):
        assert ax.read_model(model, DOMAIN).outputs_at(X) == model.predict(X).tolist()


def test_thresholds_of_what_is_behind_a_calibration() -> None:
    """The calibrated form has its own edge moved; a second threshold must not be put on top of that."""
    y = cases.targets(cases.score(X), "two")
    sure = calibration.CalibratedClassifierCV(linear_model.LogisticRegression(), cv=2, ensemble=False)
    fixed = model_selection.FixedThresholdClassifier
    search = model_selection.GridSearchCV(sure, {"method": ["isotonic"]}, cv=2)
    for inner in (sure, search):
        model = fixed(inner, threshold=0.2).fit(X, y)
        assert ax.read_model(model, DOMAIN).outputs_at(X) == model.predict(X).tolist()
    with pytest.raises(UnsupportedModelError, match="only if it calibrates single decision trees"):
        ax.read_model(fixed(cases._scaled(sure), threshold=0.2).fit(X, y), DOMAIN)
    with pytest.raises(UnsupportedModelError, match="FixedThresholdClassifier are not averages"):
        ax.read_model(fixed(fixed(sure, threshold=0.2), threshold=0.3).fit(X, y), DOMAIN)


@pytest.mark.parametrize("target", ["two", "three"])
@pytest.mark.parametrize("whole", [True, False])
def test_temperatures(target: str, whole: bool) -> None:
    made = calibration.CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=3), cv=2, ensemble=whole)
    if "temperature" not in next(c for c in made._parameter_constraints["method"] if hasattr(c, "options")).options:
        pytest.skip("this scikit-learn has no temperatures")
    y = cases.targets(cases.score(X), target)
    models = [made.set_params(method="temperature")]
    if target == "two":
        forest = calibration.CalibratedClassifierCV(
            ensemble.RandomForestClassifier(4, max_depth=3), method="temperature", cv=2, ensemble=False
        )
        models += [forest, model_selection.FixedThresholdClassifier(forest, threshold=0.2)]
    codes = random_codes(DOMAIN, 2000, np.random.default_rng(1))
    for model in models:
        assert ax.read_model(model.fit(X, y), DOMAIN).outputs_at(codes) == model.predict(codes).tolist()


@pytest.mark.parametrize(
    "name", ["grid search", "soft vote", "sigmoid of trees, three", "isotonic of a forest", "tuned threshold of forest"]
)
def test_wrappers_in_skops_files(name: str, tmp_path) -> None:
    skops = pytest.importorskip("skops.io")
    model = CASES[name].fitted()
    skops.dump(model, tmp_path / "model.skops")
    again = load_skops(tmp_path / "model.skops")
    assert ax.read_model(again, DOMAIN).outputs_at(X) == model.predict(X).tolist()


def test_a_search_over_a_pipeline_of_words() -> None:
    pd = pytest.importorskip("pandas")
    from sklearn import compose, pipeline, preprocessing

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 200), "age": rng.integers(0, 80, 200), "port": rng.choice([*"QSC"], 200)}
    )
    y = np.where((frame.sex == "f") ^ (frame.age < 12), "lived", "died")
    words = preprocessing.OneHotEncoder(handle_unknown="ignore")
    columns = compose.ColumnTransformer([("w", words, ["sex", "port"]), ("n", preprocessing.StandardScaler(), ["age"])])
    for last, key in (
        (linear_model.LogisticRegression(), "C"),
        (ensemble.RandomForestClassifier(5, max_depth=4, random_state=0), "n_estimators"),
    ):
        steps = pipeline.Pipeline([("columns", columns), ("model", last)])
        search = model_selection.GridSearchCV(steps, {f"model__{key}": [3, 4]}, cv=2)
        fixed = model_selection.FixedThresholdClassifier(search, threshold=0.6, pos_label="died")
        for model in (search, fixed):
            model.fit(frame, y)
            domain = ax.Domain.from_data(frame)
            assert ax.read_model(model, domain).predict(frame) == model.predict(frame).tolist()
            explanation = ax.Explainer(model, domain).explain(frame.iloc[0])
            assert explanation.prediction == model.predict(frame.iloc[:1])[0]


def _refused() -> dict[str, tuple]:
    logistic, forest = linear_model.LogisticRegression(), ensemble.RandomForestClassifier(3)
    depth, line = tree.DecisionTreeRegressor(max_depth=2), linear_model.LinearRegression()
    search = model_selection.GridSearchCV(tree.DecisionTreeClassifier(), {"max_depth": [2]}, cv=2, refit=False)
    fixed = model_selection.FixedThresholdClassifier
    both = calibration.CalibratedClassifierCV(logistic, cv=2)
    return {
        "no refit": (search, "two", r"GridSearchCV\(refit=False\) keeps no model"),
        "average of sigmoids": (ensemble.BaggingClassifier(logistic, 2), "three", "not averages over trees"),
        "vote of forests": (ensemble.VotingClassifier([("a", forest)]), "three", "where its members are single trees"),
        "vote of lines": (ensemble.VotingClassifier([("a", logistic)]), "two", "where its members are single trees"),
        "soft vote of lines": (ensemble.VotingClassifier([("a", logistic)], voting="soft"), "two", "not averages"),
        "mixture": (ensemble.VotingRegressor([("a", depth), ("b", line)]), "number", "mixes kinds of models"),
        "median": (ensemble.AdaBoostRegressor(n_estimators=5, random_state=0), "number", "weighted median"),
        "calibrated lines": (both, "two", "where its members are single trees"),
        "threshold of calibrated lines": (fixed(both), "two", "where its members are single trees"),
        "pairs of lines": (
            multiclass.OneVsOneClassifier(svm.LinearSVC()),
            "three",
            "where its members are single trees",
        ),
        "boosted lines": (ensemble.AdaBoostClassifier(logistic, n_estimators=2), "two", "members are single trees"),
        "negative weights": (
            ensemble.VotingClassifier([(n, tree.DecisionTreeClassifier()) for n in "ab"], weights=[2, -1]),
            "two",
            "VotingClassifier should have a positive weight for each",
        ),
    }


@pytest.mark.parametrize("name", _refused())
def test_what_is_refused(name: str) -> None:
    model, target, message = _refused()[name]
    model.fit(X, cases.targets(cases.score(X), target))
    with pytest.raises(UnsupportedModelError, match=message):
        ax.read_model(model, DOMAIN)


@pytest.mark.parametrize("name", CASES)
def test_unfitted_wrappers(name: str) -> None:
    with pytest.raises(UnfittedModelError, match="call fit first"):
        ax.read_model(CASES[name].make(), DOMAIN)


def test_a_class_that_is_none_of_the_two() -> None:
    inner = tree.DecisionTreeClassifier(max_depth=2).fit(X, cases.targets(cases.score(X), "two"))
    model = model_selection.FixedThresholdClassifier(inner, pos_label="yes")
    with pytest.raises(UnsupportedModelError, match="should name one of the classes"):
        ax.read_model(model, DOMAIN)


def test_members_that_predict_by_themselves_are_refused() -> None:
    class Stubborn(tree.DecisionTreeClassifier):
        def predict(self, X, check_input=True):
            return np.zeros(len(X), dtype=int)

    class Twice(ensemble.VotingClassifier):
        def _collect_probas(self, X):
            return super()._collect_probas(X) ** 2

    y = cases.targets(cases.score(X), "two")
    for model in (
        ensemble.BaggingClassifier(Stubborn(max_depth=2), 2),
        ensemble.BaggingClassifier(Stubborn(max_depth=2), 2, max_features=0.5),
        model_selection.FixedThresholdClassifier(Stubborn(max_depth=2)),
        model_selection.GridSearchCV(Stubborn(), {"max_depth": [2]}, cv=2),
        Twice([("a", tree.DecisionTreeClassifier(max_depth=2))], voting="soft"),
    ):
        with pytest.raises(UnsupportedModelError, match="of its own, which cannot be read"):
            ax.read_model(model.fit(X, y), DOMAIN)


ASKED = {
    "GridSearchCV": ("grid search", [{"refit": False}]),
    "RandomizedSearchCV": ("random search", [{"refit": False}]),
    "FixedThresholdClassifier": (
        "threshold of logistic",
        [{"threshold": 0.6}, {"threshold": "auto"}, {"pos_label": 0}, {"response_method": "decision_function"}],
    ),
    "TunedThresholdClassifierCV": ("tuned threshold of logistic", [{"response_method": "decision_function"}]),
    "BaggingClassifier": ("bagging", [{"n_estimators": 1}, {"n_estimators": 2}]),
    "BaggingRegressor": ("bagged regression", [{"n_estimators": 1}, {"n_estimators": 2}, {"n_estimators": 9}]),
    "VotingClassifier": (
        "hard vote",
        [{"voting": "soft"}, {"weights": [1, 2, 2, 0]}, {"voting": "soft", "weights": [1, 5, 1, 9]}, {"weights": [1]}],
    ),
    "VotingRegressor": ("voting regression", [{"weights": [1, 2, 5]}, {"weights": [1, 2]}]),
}


def same(outputs: list, others: list) -> bool:
    pairs = zip(outputs, others, strict=True)
    return all(abs(float(a) - b) < 1e-9 if isinstance(b, float) else a == b for a, b in pairs)


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_is_obeyed_or_refused(name: str) -> None:
    case, settings = ASKED[name]
    model, acted = CASES[case].fitted_to_grid(0), 0
    before = model.predict(GRID).tolist()
    for setting in settings:
        changed = copy.deepcopy(model).set_params(**setting)
        try:
            after = changed.predict(GRID).tolist()
        except Exception:  # the library refuses to predict by these, whatever it raises
            with pytest.raises(UnsupportedModelError):
                ax.read_model(changed, SMALL)
            acted += 1
            continue
        ours = ax.read_model(changed, SMALL).outputs_at(GRID)
        assert same(ours, after), setting
        acted += not same(after, before)
    assert acted


def test_adaboost_takes_no_missing_values_but_bagging_does() -> None:
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    y = cases.targets(cases.score(X), "three")
    domain = ax.Domain.from_data(holes)
    some = {"max_features": 0.7, "random_state": 0}
    for model in (
        ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=4), 5, **some),
        ensemble.VotingClassifier([("a", tree.DecisionTreeClassifier(max_depth=3))]),
        multiclass.OneVsRestClassifier(tree.DecisionTreeClassifier(max_depth=3)),
        calibration.CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=3), cv=2),
    ):
        assert ax.read_model(model.fit(holes, y), domain).predict(holes) == model.predict(holes).tolist()
    with pytest.raises(UnsupportedModelError, match="predicts nothing where a value is missing"):
        ax.read_model(ensemble.AdaBoostClassifier().fit(X, y), domain)


MISSING = ax.Domain(
    [ax.Integer("a", 0, 3, missing=0.2), ax.Integer("b", 0, 2, weights=[1, 2, 3]), ax.Integer("c", 0, 2, missing=0.5)]
)
ROUTING = (
    *("bagging", "bagging of columns, some twice", "hard vote", "weighted soft vote", "sigmoid of trees, three"),
    *("grid search", "threshold of forest", "threshold of histograms", "threshold of xgboost", "threshold of lightgbm"),
    *("one versus rest, trees, three", "one versus rest, histograms, three", "voting regression", "bagged regression"),
    *("one versus one, trees, three", "isotonic of a forest", "threshold of calibrated trees"),
)


@pytest.mark.parametrize("name", ROUTING)
def test_explanations_with_missing_values_equal_enumeration(name: str) -> None:
    delta = DELTA if CASES[name].target == "number" else None
    grid = np.array(list(MISSING.points()), dtype=float)
    space, found = space_of(MISSING), 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = grid[rng.integers(0, len(grid), 90)]
        numbers = cases.score(np.nan_to_num(rows, nan=5.0)) + rng.normal(size=len(rows))
        make = CASES[name].make()
        if name == "voting regression":  # gradient boosting takes no missing values
            make.set_params(c="drop")
        model = make.fit(rows, cases.targets(numbers, CASES[name].target))
        outputs = dict(zip(MISSING.points(), model.predict(grid).tolist(), strict=True))
        for v in ((0, 0, 0), (3, 2, None), (None, 1, 2)):
            judge = Judge(space, outputs.__getitem__, v, delta)
            if not judge.is_wcxp(frozenset(range(3))):
                continue
            e = ax.Explainer(model, MISSING, delta=delta).explain(v)
            found += 1
            weights = {frozenset(map(MISSING.names.index, c.features)): c.weight for c in e.cxps}
            assert weights == {S: judge.ratio(S) for S in judge.cxps()}
            assert {frozenset(map(MISSING.names.index, a.features)) for a in e.axps} == judge.axps()
    assert found >= 3


TWO = np.column_stack([cases.targets(cases.score(X), "two"), (X[:, 0] > 0) + 2 * (X[:, 2] > 1)])
NUMBERS = np.column_stack([cases.score(X), X[:, 0] - X[:, 1], X[:, 2] * 1.0])
SEVERAL = {
    "members": (multioutput.MultiOutputClassifier(tree.DecisionTreeClassifier(max_depth=3)), TWO),
    "members of a regression": (multioutput.MultiOutputRegressor(linear_model.Ridge()), NUMBERS),
    "tree": (tree.DecisionTreeClassifier(max_depth=4), TWO),
    "regression tree": (tree.DecisionTreeRegressor(max_depth=4), NUMBERS),
    "forest": (ensemble.RandomForestClassifier(4, max_depth=4, random_state=0), TWO),
    "regression forest": (ensemble.ExtraTreesRegressor(4, max_depth=4, random_state=0), NUMBERS),
    "bagging": (ensemble.BaggingRegressor(n_estimators=3, random_state=0), NUMBERS),
    "bagging of columns": (ensemble.BaggingRegressor(n_estimators=3, max_features=0.6, random_state=0), NUMBERS),
    "line": (linear_model.LinearRegression(), NUMBERS),
    "line without intercept": (linear_model.Lasso(0.1, fit_intercept=False), NUMBERS),
    "search": (model_selection.GridSearchCV(tree.DecisionTreeRegressor(), {"max_depth": [3]}, cv=2), NUMBERS),
    "pipeline": (cases._scaled(tree.DecisionTreeClassifier(max_depth=4)), TWO),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_one_of_several_outputs(name: str) -> None:
    model, y = SEVERAL[name]
    model.fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"axfi_kc.output_of\(model, k\)"):
        ax.read_model(model, DOMAIN)
    codes = random_codes(DOMAIN, 2000, np.random.default_rng(1))
    both = model.predict(codes)
    for k in range(y.shape[1]):
        one = ax.output_of(model, k)
        assert np.allclose(one.predict(codes), both[:, k], rtol=0, atol=1e-12)
        ours = ax.read_model(one, DOMAIN).outputs_at(codes)
        assert np.allclose(np.array(ours, dtype=float), both[:, k], rtol=0, atol=1e-12)
    assert model.predict(codes).tolist() == both.tolist()  # the model itself stays as it was


def test_several_outputs_are_also_refused_over_finite_domains() -> None:
    model = ensemble.BaggingRegressor(n_estimators=3, max_features=0.6).fit(GRID, np.column_stack([GRID[:, 0]] * 2))
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        ax.read_model(model, SMALL)


def test_outputs_that_are_none() -> None:
    model = tree.DecisionTreeClassifier(max_depth=2).fit(X, TWO)
    for which in (2, -1, "second", True):
        with pytest.raises(UnsupportedModelError, match="from 0 to 1"):
            ax.output_of(model, which)
    with pytest.raises(UnsupportedModelError, match="no output can be taken"):
        ax.output_of(svm.LinearSVC(), 0)
    with pytest.raises(UnfittedModelError, match="call fit first"):
        ax.output_of(tree.DecisionTreeClassifier(), 0)


def test_rounding_of_a_pure_forest_behind_a_threshold_is_none() -> None:
    forest = ensemble.RandomForestClassifier(10, random_state=0)
    model = model_selection.FixedThresholdClassifier(forest, threshold=0.3).fit(X, TWO[:, 0])
    found = ax.Explainer(model, DOMAIN).explain(X[0]).rounding
    assert found.sets_hold
    assert not any(found.affected.values())
