"""scikit-learn trees: the neutral form predicts what the library predicts, on every side of every threshold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import axfi_kc as ax
from axfi_kc.domain.grid import float32_cuts
from tests.support.shared_data import TREE_SETS, tree_set


def around(thresholds: np.ndarray) -> np.ndarray:
    """Return every threshold and its neighbours, in float64 and in float32, and half-way between."""
    single = thresholds.astype(np.float32)
    near = [thresholds, single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))]
    doubles = np.concatenate([n.astype(np.float64) for n in near])
    middles = np.add.outer(doubles, doubles)[np.abs(np.subtract.outer(doubles, doubles)) < 1e-5].reshape(-1) / 2
    base = np.concatenate([doubles, middles])
    return np.unique(np.concatenate([base, np.nextafter(base, np.inf), np.nextafter(base, -np.inf)]))


def probes(model, X: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """Return random points of the domain, and rows moved onto each side of each threshold."""
    rng = np.random.default_rng(seed)
    low, high = X.min(axis=0), X.max(axis=0)
    points = [rng.uniform(low, high, size=(n, X.shape[1]))]
    tree = model.tree_
    for j in range(X.shape[1]):
        at = tree.threshold[tree.feature == j]
        if len(at):
            values = np.clip(around(at), low[j], high[j])
            rows = X[rng.integers(0, len(X), len(values))].astype(np.float64)
            rows[:, j] = values
            points.append(rows)
    return np.concatenate(points)


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_classifier_on_every_threshold(load, kind) -> None:
    X, y = load(return_X_y=True)
    model = kind(random_state=1).fit(X, y)
    points = probes(model, X, 5000)
    neutral = ax.read_model(model, ax.Domain.from_data(X))
    assert neutral.predict(points) == model.predict(points).tolist()


def test_regressor_on_every_threshold() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=9, random_state=0).fit(X, y)
    points = probes(model, X, 5000)
    neutral = ax.read_model(model, ax.Domain.from_data(X))
    assert neutral.predict(points) == [Fraction(p) for p in model.predict(points)]


def test_a_threshold_between_two_float32_numbers() -> None:
    step = np.float32(2**-20)  # the closest values that scikit-learn still separates
    X = np.array([[np.float32(0.1)], [np.float32(0.1) + step]], dtype=np.float64)
    model = DecisionTreeClassifier().fit(np.concatenate([X, X]), [0, 1, 0, 1])
    points = np.clip(around(model.tree_.threshold[:1]), 0, 1)[:, np.newaxis]
    neutral = ax.read_model(model, ax.Domain([ax.Real("x", 0, 1)]))
    assert neutral.predict(points) == model.predict(points).tolist()
    assert len(set(neutral.predict(points))) == 2


@pytest.mark.parametrize("strict", [False, True])
def test_float32_cuts_are_the_library_rule(strict: bool) -> None:
    rng = np.random.default_rng(5)
    thresholds = np.concatenate(
        [rng.normal(size=300), rng.normal(size=50).astype(np.float32), [0.0, -0.0, 1e-40, 1e30]]
    )
    for t, cut in zip(thresholds, float32_cuts(thresholds, strict=strict), strict=True):
        for x in around(np.array([t])):
            rounded = np.float64(np.float32(x))
            assert (x <= cut.last_left) == bool(rounded < t if strict else rounded <= t)


def test_categorical_codes_need_not_be_ordered_or_contiguous() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([2, 3, 5, 7], size=(300, 3))
    model = DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] == 3) ^ (X[:, 1] > 2))
    domain = ax.Domain([ax.Categorical(n, [7, 2, 5, 3]) for n in "abc"])
    points = rng.choice([2, 3, 5, 7], size=(2000, 3))
    assert ax.read_model(model, domain).predict(points) == model.predict(points).tolist()


def test_class_labels_are_kept() -> None:
    model = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    assert ax.Explainer(model, ax.Domain([ax.Integer("x", 0, 1)])).explain([1]).prediction == "yes"


def brute_force(model, X, v, codes, delta):
    """Return {CXp: (adversarial examples, points of its box)} by predicting every point of the space."""
    sizes = [len(c) for c in codes]
    grid = np.indices(sizes).reshape(len(sizes), -1).T
    space = np.stack([np.asarray(c)[grid[:, i]] for i, c in enumerate(codes)], axis=1)
    found = model.predict(space)
    own = model.predict(np.asarray([v]))[0]
    wrong = found != own if delta is None else np.abs(found - own) > delta
    changed = ((space != np.asarray(v)) << np.arange(len(v))).sum(axis=1)
    counts = np.bincount(changed[wrong], minlength=1 << len(v))
    weak = np.flatnonzero(counts)
    minimal = [s for s in weak if not np.any(((weak & s) == weak) & (weak != s))]
    return {int(s): (int(counts[s]), int(np.prod([n for i, n in enumerate(sizes) if s >> i & 1]))) for s in minimal}


@pytest.mark.parametrize("name", ["compas", "recidivism"])
def test_real_trees_equal_exhaustion(name: str) -> None:
    data = tree_set(name)
    X = data.X.to_numpy()
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, data.y)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    codes = [sorted(f.values) for f in domain.features]
    ratio = ax.Explainer(model, domain)
    counted = ax.Explainer(model, domain, weights="count")
    for row in np.random.default_rng(0).choice(len(X), 4, replace=False):
        expected = brute_force(model, X, X[row], codes, None)
        e, c = ratio.explain(X[row]), counted.explain(X[row])
        assert {domain.mask(y.features): y.weight for y in c.cxps} == {s: n for s, (n, _) in expected.items()}
        assert {domain.mask(y.features): y.weight for y in e.cxps} == {s: Fraction(*p) for s, p in expected.items()}
        for j, feature in enumerate(domain.names):
            mine = [(Fraction(*p), bin(s).count("1")) for s, p in expected.items() if s >> j & 1]
            n = len(expected)
            assert e.scores("shapley")[feature] == sum((w / k for w, k in mine), Fraction(0)) / n
            assert e.scores("banzhaf")[feature] == sum((w / 2 ** (k - 1) for w, k in mine), Fraction(0)) / n


@pytest.mark.slow
def test_the_adult_tree_equals_exhaustion() -> None:
    """All 161,663,040 points of adult, in slices that fix the first three features."""
    data = tree_set("adult")
    X = data.X.to_numpy()
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, data.y)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    codes = [np.array(sorted(f.values), dtype=np.float32) for f in domain.features]
    rows = X[np.random.default_rng(0).choice(len(X), 3, replace=False)].astype(np.float32)
    own = model.predict(rows)
    rest = np.stack([g.reshape(-1) for g in np.meshgrid(*codes[3:], indexing="ij")], axis=1)
    changed = [((rest != v[3:]) << np.arange(3, len(codes))).sum(axis=1) for v in rows]
    counts = np.zeros((3, 1 << len(codes)), dtype=np.int64)
    points = np.empty((len(rest), len(codes)), dtype=np.float32)
    points[:, 3:] = rest
    for first in product(*codes[:3]):
        points[:, :3] = first
        found = model.predict(points)
        for k, v in enumerate(rows):
            offset = sum(int(a != b) << i for i, (a, b) in enumerate(zip(first, v[:3], strict=True)))
            counts[k] += np.bincount(changed[k][found != own[k]] + offset, minlength=counts.shape[1])
    explainer = ax.Explainer(model, domain, weights="count")
    for k, v in enumerate(rows):
        weak = np.flatnonzero(counts[k])
        minimal = {int(s): int(counts[k, s]) for s in weak if not np.any(((weak & s) == weak) & (weak != s))}
        assert {domain.mask(c.features): c.weight for c in explainer.explain(v.astype(int)).cxps} == minimal


@pytest.mark.parametrize("name", ["auto-mpg", "boston"])
def test_real_regression_trees_equal_exhaustion(name: str) -> None:
    """Over five features, each made of the integers it can take after scaling, the space can be enumerated."""
    data = tree_set(name)
    columns = data.X.columns[:5]
    X = np.floor(data.X[columns].rank(pct=True).to_numpy() * 11.999)
    model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X, data.y)
    domain = ax.Domain([ax.Integer(c, 0, 11) for c in columns])
    explainer = ax.Explainer(model, domain, delta=1.5)
    for row in np.random.default_rng(0).choice(len(X), 4, replace=False):
        expected = brute_force(model, X, X[row], [range(12)] * 5, 1.5)
        found = {domain.mask(y.features): y.weight for y in explainer.explain(X[row]).cxps}
        assert found == {s: Fraction(*p) for s, p in expected.items()}


@pytest.mark.parametrize("name", TREE_SETS)
def test_real_trees_predict_like_the_library_on_100_000_points(name: str) -> None:
    data = tree_set(name)
    kind = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
    model = kind(max_depth=8, random_state=0).fit(data.X.to_numpy(), data.y)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    rng = np.random.default_rng(0)
    columns = [
        rng.choice(f.values, 100_000) if isinstance(f, ax.Categorical)
        else rng.integers(f.low, f.high + 1, 100_000) if isinstance(f, ax.Integer)
        else rng.uniform(float(f.low), float(f.high), 100_000)
        for f in domain.features
    ]  # fmt: skip
    points = np.stack(columns, axis=1)
    predicted = ax.read_model(model, domain).predict(points)
    assert [float(p) for p in predicted] == model.predict(points).tolist()
