"""Orange3 trees: the reader against Orange's own predictions, and CXps against brute force."""

import doctest
import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("Orange", reason="Orange3 has an environment of its own: make test-orange")

import Orange.classification
import Orange.regression
import pandas as pd
from Orange.data import ContinuousVariable, DiscreteVariable, Table
from Orange.data import Domain as Space
from Orange.data.pandas_compat import table_to_frame
from Orange.preprocess import Discretize, Impute
from Orange.tree import DiscreteNode, MappedDiscreteNode, Node, NumericNode, TreeModel

import axfi_kc as ax
from axfi_kc.compilers.readers import orange
from axfi_kc.compilers.readers.orange import domain_of
from axfi_kc.errors import DomainError, RoundingError, UnsupportedModelError

pytestmark = pytest.mark.orange

SHARED = Path(os.environ.get("AXFI_SHARED", Path(__file__).parents[2] / ".." / "shared")) / "data"

CLASSES = DiscreteVariable("y", values=("no", "perhaps", "yes"))
NUMBER = ContinuousVariable("y")
MIXED = (
    ContinuousVariable("length"),
    DiscreteVariable("colour", values=("red", "green", "blue", "never seen")),
    ContinuousVariable("weight"),
    DiscreteVariable("shape", values=("round", "square", "flat", "long", "odd")),
    DiscreteVariable("sharp", values=("no", "yes")),
)


def mixed_table(target, *, rows=240, seed=0):
    """A table whose tree needs every attribute; "never seen" stays unseen, "odd" is rare."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=rows).round(2),
            rng.integers(0, 3, rows),
            rng.uniform(-5, 5, rows),
            rng.choice(5, rows, p=[0.3, 0.3, 0.2, 0.17, 0.03]),
            rng.integers(0, 2, rows),
        ]
    )
    signal = X[:, 0] + np.array([0, 2, -1])[X[:, 1].astype(int)] + (X[:, 3] % 2) * X[:, 2] + rng.normal(size=rows)
    y = signal if target.is_continuous else np.digitize(signal, [-1, 1.5])
    return Table.from_numpy(Space(MIXED, target), X, y.astype(float))


def learn(table, **options):
    kind = Orange.regression if table.domain.class_var.is_continuous else Orange.classification
    return kind.TreeLearner(**options)(table)


def nodes_of(model):
    stack, found = [model.root], []
    while stack:
        found.append(stack.pop())
        stack += [c for c in found[-1].children if c is not None]
    return found


def thresholds_of(model, column):
    if not isinstance(model, TreeModel):
        tree = model.skl_model.tree_
        return sorted(set(tree.threshold[tree.feature == column].tolist()))
    return sorted({float(n.threshold) for n in nodes_of(model) if isinstance(n, NumericNode) and n.attr_idx == column})


def wide_domain(table):
    """A domain that reaches one unit beyond the data on both sides."""
    X = table.X
    bounds = {
        a.name: (X[:, j].min() - 1, X[:, j].max() + 1) for j, a in enumerate(table.domain.attributes) if a.is_continuous
    }
    return domain_of(table, bounds=bounds)


def probes(model, domain, *, rows=1000, seed=1):
    """Random points, and for each threshold points on it and one ulp either side; as Orange has them."""
    rng = np.random.default_rng(seed)
    attributes = model.domain.attributes
    X = np.column_stack(
        [
            rng.integers(0, len(a.values), rows) if a.is_discrete else rng.uniform(float(f.low), float(f.high), rows)
            for a, f in zip(attributes, domain.features, strict=True)
        ]
    ).astype(float)
    blocks = [X]
    for j, a in enumerate(attributes):
        ts = range(len(a.values)) if a.is_discrete else thresholds_of(model, j)
        marks = [
            m for t in ts for m in ((t,) if a.is_discrete else (math.nextafter(t, -9e9), t, math.nextafter(t, 9e9)))
        ]
        for mark in marks:
            block = X[rng.integers(0, rows, 15)].copy()
            block[:, j] = mark
            blocks.append(block)
    return np.concatenate(blocks)


def named(space, X):
    """Rows of indices as dicts of values, as a user of `domain_of` has them."""
    return [
        {a.name: a.values[int(v)] if a.is_discrete else float(v) for a, v in zip(space.attributes, row, strict=True)}
        for row in X
    ]


def orange_outputs(model, X):
    """What Orange itself predicts, checked on its three ways in."""
    found = model(X)
    target = model.domain.class_var
    np.testing.assert_array_equal(found, model(Table.from_numpy(Space(model.original_domain.attributes), X)))
    if isinstance(model, TreeModel):
        np.testing.assert_array_equal(model.get_values(X), model.get_values_by_nodes(X))
    if target.is_continuous:
        return [Fraction(float(v)) for v in found]
    return [target.values[int(k)] for k in found]


def check_predictions(model, domain):
    X = probes(model, domain)
    form = ax.read_model(model, domain)
    assert form.domain == domain
    expected = orange_outputs(model, X)
    assert len(set(expected)) > 1
    assert form.predict(named(model.domain, X)) == expected


@pytest.mark.parametrize("target", [CLASSES, NUMBER], ids=["classes", "number"])
@pytest.mark.parametrize("binarize", [False, True])
@pytest.mark.parametrize("least", [1, 6])
def test_predictions_are_oranges_own(target, binarize, least):
    table = mixed_table(target)
    model = learn(table, binarize=binarize, min_samples_leaf=least)
    kinds = {type(n) for n in nodes_of(model)}
    assert kinds >= {NumericNode, Node, MappedDiscreteNode if binarize else DiscreteNode}
    assert any(None in n.children for n in nodes_of(model)) == (not binarize)
    check_predictions(model, wide_domain(table))


@pytest.mark.parametrize("target", [CLASSES, NUMBER], ids=["classes", "number"])
@pytest.mark.parametrize("kind", ["own", "scikit"])
def test_predictions_are_compared_when_explaining(target, kind, monkeypatch):
    table = mixed_table(target)
    if kind == "scikit":
        table = Table.from_numpy(Space([MIXED[0], MIXED[2]], target), table.X[:, [0, 2]], table.Y)
        learners = Orange.regression if target.is_continuous else Orange.classification
        name = "SklTreeRegressionLearner" if target.is_continuous else "SklTreeLearner"
        model = getattr(learners, name)(max_depth=4, random_state=0)(table)
    else:
        model = learn(table, max_depth=4)
    explainer = ax.Explainer(model, wide_domain(table), delta=0.25 if target.is_continuous else None)
    rows = named(model.domain, table.X[:20])
    assert len(explainer.explain_batch(rows)) == 20
    assert ax.verify(explainer.explain(rows[0]), model).ok
    kept = type(model).predict
    part = model.skl_model.tree_.value if kind == "scikit" else None
    if part is None:
        monkeypatch.setattr(type(model), "predict", lambda self, X: _turned(kept(self, X)))
    else:
        part[:] = part[:, :, ::-1].copy() if part.shape[2] > 1 else part + 1
    with pytest.raises(RoundingError, match="predict should give the exact output"):
        explainer.explain_batch(rows)


def _turned(found):
    """What a tree predicts, with other classes or another number."""
    return tuple(_turned(part) for part in found) if isinstance(found, tuple) else np.roll(found + 1, 1, axis=-1)


def test_indices_and_names_are_asked_alike():
    table = mixed_table(CLASSES)
    model = learn(table, max_depth=4)
    plain = [
        ax.Categorical(f.name, f.values) if isinstance(f, ax.Categorical) else f for f in wide_domain(table).features
    ]
    rows = named(model.domain, table.X[:20])
    assert len(ax.Explainer(model, ax.Domain(plain)).explain_batch(rows)) == 20


def test_a_tree_that_predicts_otherwise_is_refused():
    table = mixed_table(CLASSES)

    class Mine(TreeModel):
        def predict(self, X):
            return super().predict(X)[:, ::-1]

    with pytest.raises(UnsupportedModelError, match="this Mine has a predict of its own"):
        ax.Explainer(Mine(table, learn(table).root), wide_domain(table))


def test_values_never_seen_in_training_fall_back_to_the_node():
    table = mixed_table(CLASSES)
    model = learn(table, max_depth=1)
    root = DiscreteNode(MIXED[1], 1, np.array([1.0, 5.0, 2.0]))
    root.children = [*(Node(None, None, np.array(v)) for v in ([3.0, 0, 0], [0.0, 3, 0], [0.0, 0, 3])), None]
    plain = TreeModel(table, root)
    row = [0.0, 3, 0.0, 0, 0]
    for tree in (model, plain):
        form = ax.read_model(tree, wide_domain(table))
        assert form.predict(named(table.domain, [row])) == orange_outputs(tree, np.array([row]))
    assert ax.read_model(plain, wide_domain(table)).predict(named(table.domain, [row])) == ["perhaps"]


@pytest.mark.parametrize("binarize", [False, True])
def test_domains_may_hold_indices_or_names(binarize):
    table = mixed_table(CLASSES)
    model = learn(table, binarize=binarize)
    wide = wide_domain(table)
    X = probes(model, wide, rows=200)
    expected = orange_outputs(model, X)
    by_name = ax.Domain(ax.Categorical(f.name, f.values) if f.kind == "categorical" else f for f in wide.features)
    by_index = ax.Domain(ax.Categorical(f.name, range(f.size)) if f.kind == "categorical" else f for f in wide.features)
    backwards = ax.Domain(
        ax.Categorical(f.name, f.values[::-1]) if f.kind == "categorical" else f for f in wide.features
    )
    for domain, points in ((by_name, named(table.domain, X)), (by_index, X), (backwards, named(table.domain, X))):
        form = ax.read_model(model, domain)
        assert form.domain == domain
        assert form.predict(points) == expected


def test_a_domain_may_leave_values_out():
    table = mixed_table(CLASSES)
    model = learn(table)
    features = list(wide_domain(table).features)
    features[3] = ax.Categorical("shape", ["odd", "flat"], weights=[1, 3])
    X = probes(model, wide_domain(table))
    X = X[np.isin(X[:, 3], [2, 4])]
    form = ax.read_model(model, ax.Domain(features))
    assert form.predict(named(table.domain, X)) == orange_outputs(model, X)
    assert form.grid.axes[3].numerators == (1, 3)


def one_discrete(values, codes):
    """A tree on one attribute with these values, read over a feature with these codes."""
    attribute = DiscreteVariable("a", values=values)
    table = Table.from_numpy(Space([attribute], CLASSES), np.arange(3.0)[:, None], np.arange(3.0))
    return ax.read_model(learn(table), ax.Domain([ax.Categorical("a", codes)]))


def test_integers_that_could_be_indices_or_names_are_refused():
    assert one_discrete(("0", "1", "2"), [0, 1, 2]).predict([[1]]) == ["perhaps"]
    assert one_discrete(("1", "2", "3"), [0, 1, 2]).predict([[1]]) == ["perhaps"]  # no value is called "0"
    assert one_discrete(("1", "2", "3"), [1, 2, 3]).predict([[1]]) == ["no"]  # 3 is no index
    with pytest.raises(DomainError, match="indices or names"):
        one_discrete(("1", "2", "3"), [1, 2])
    with pytest.raises(DomainError, match="holds 'd'"):
        one_discrete(("a", "b", "c"), ["a", "d"])
    with pytest.raises(DomainError, match="holds 3,"):
        one_discrete(("a", "b", "c"), [0, 3])


@pytest.mark.parametrize("feature", [ax.Integer("colour", 0, 3), ax.Real("colour", 0, 3)])
def test_ordered_features_are_refused_for_discrete_attributes(feature):
    table = mixed_table(CLASSES)
    features = [feature if f.name == "colour" else f for f in wide_domain(table).features]
    with pytest.raises(DomainError, match="declare it categorical"):
        ax.read_model(learn(table), ax.Domain(features))


def test_other_columns_are_refused():
    table = mixed_table(CLASSES)
    with pytest.raises(DomainError, match="same columns in the same order"):
        ax.read_model(learn(table), ax.Domain(wide_domain(table).features[::-1]))


def test_ties_go_to_the_lowest_index():
    table = Table.from_numpy(Space([MIXED[0]], CLASSES), np.array([[0.0], [0], [1], [1]]), np.array([2.0, 1, 2, 0]))
    model = learn(table)
    X = np.array([[0.0], [1.0]])
    assert ax.read_model(model, domain_of(table)).predict(X) == orange_outputs(model, X) == ["perhaps", "no"]


def test_ties_that_rounding_makes_are_oranges_own():
    starts = np.random.default_rng(0).uniform(1.8, 2, 1000)
    rows = np.column_stack([starts, np.nextafter(starts, 9), 0.9 * starts])
    shares = rows / np.sum(rows, axis=1)[:, np.newaxis]
    heavy = rows[shares[:, 0] == shares[:, 1]][0]
    table = mixed_table(CLASSES)
    root = NumericNode(MIXED[0], 0, 0.25, np.array([1.0, 1.0, 0.0]))
    root.children = [Node(None, None, heavy), Node(None, None, np.array([0.0, 0.0, 1.0]))]
    model = TreeModel(table, root)
    assert model.root.children[0].value.argmax() == 1
    X = np.array([[0.25, 0, 0, 0, 0], [math.nextafter(0.25, 1), 0, 0, 0, 0]])
    form = ax.read_model(model, wide_domain(table))
    assert form.predict(named(table.domain, X)) == orange_outputs(model, X) == ["no", "yes"]


def test_leaves_without_rows():
    table = mixed_table(CLASSES)
    empty = TreeModel(table, _with_leaves(np.array([1.0, 2, 0]), np.zeros(3), np.array([0.0, 0, 1])))
    X = np.array([[0.0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0]])
    with np.errstate(invalid="ignore"):
        expected = orange_outputs(empty, X)
    assert ax.read_model(empty, wide_domain(table)).predict(named(table.domain, X)) == expected == ["no", "yes"]
    table = mixed_table(NUMBER)
    nan = TreeModel(table, _with_leaves(np.array([1.0, 0]), np.array([math.nan, 1]), np.array([2.0, 0])))
    with pytest.raises(UnsupportedModelError, match="predicts NaN"):
        ax.read_model(nan, wide_domain(table))


def _with_leaves(own, first, second):
    root = NumericNode(MIXED[0], 0, 0.5, own)
    root.children = [Node(None, None, first), Node(None, None, second)]
    return root


def test_values_added_after_training_are_refused():
    attribute = DiscreteVariable("a", values=("p", "q", "r"))
    table = Table.from_numpy(Space([attribute], CLASSES), np.arange(3.0)[:, None], np.arange(3.0))
    model = learn(table)
    attribute.add_value("s")
    with pytest.raises(UnsupportedModelError, match="'s' was added to attribute 'a' after training"):
        ax.read_model(model, domain_of(table))
    assert ax.read_model(model, ax.Domain([ax.Categorical("a", ["r", "q"])])).predict([["q"]]) == ["perhaps"]


def test_preprocessors():
    table = mixed_table(CLASSES)
    harmless = learn(table, preprocessors=[Impute()])
    assert harmless.domain != harmless.original_domain
    check_predictions(harmless, wide_domain(table))
    changed = learn(table, preprocessors=[Discretize()])
    with pytest.raises(UnsupportedModelError, match="preprocessors replaced"):
        ax.read_model(changed, domain_of(changed.domain))
    ready = Discretize()(table)
    check_predictions(learn(ready), domain_of(ready))


def test_scikit_learn_trees_in_orange():
    iris = Table("iris")
    check_predictions(Orange.classification.SklTreeLearner(max_depth=4, random_state=0)(iris), wide_domain(iris))
    housing = mixed_table(NUMBER)
    model = Orange.regression.SklTreeRegressionLearner(max_depth=4, random_state=0)(housing)
    wide = wide_domain(housing)
    features = [
        ax.Categorical(f.name, f.values, columns=[f"{f.name}={v}" for v in f.values]) if f.kind == "categorical" else f
        for f in wide.features
    ]
    X = probes(learn(housing, max_depth=2), wide)
    form = ax.read_model(model, ax.Domain(features))
    expected = [Fraction(float(y)) for y in model(Table.from_numpy(Space(MIXED), X))]
    assert form.predict(named(housing.domain, X)) == expected
    with pytest.raises(DomainError, match="same columns"):
        ax.read_model(model, wide)


def test_domain_of():
    table = mixed_table(CLASSES)
    domain = domain_of(table)
    assert domain.names == ("length", "colour", "weight", "shape", "sharp")
    assert domain.features[1].values == MIXED[1].values
    assert (domain.features[0].low, domain.features[0].high) == (
        Fraction(float(table.X[:, 0].min())),
        Fraction(float(table.X[:, 0].max())),
    )
    table.X[0, 0] = math.nan
    assert domain_of(table).features[0].low == Fraction(float(np.nanmin(table.X[:, 0])))
    with pytest.raises(DomainError, match=r"'length' has no known value.*bounds="):
        domain_of(table.domain)
    assert domain_of(table.domain, bounds={"length": (0, 1), "weight": (0, 2)}).features[2].high == 2
    with pytest.raises(DomainError, match="'colour', which is not one"):
        domain_of(table, bounds={"colour": (0, 1)})


def test_tables_become_points_through_pandas():
    table = mixed_table(CLASSES)
    model = learn(table)
    frame = table_to_frame(table).drop(columns="y")
    batch = ax.Explainer(model, domain_of(table)).explain_batch(frame)
    assert batch.predictions == orange_outputs(model, table.X)


def test_doctests():
    assert doctest.testmod(orange).attempted > 0
    assert doctest.testmod(orange).failed == 0


def cells_of(model, domain, column):
    """The cells of one attribute, each as one point (Orange's) and its probability."""
    attribute, feature = model.domain.attributes[column], domain.features[column]
    if attribute.is_discrete:
        return [(float(k), Fraction(1, len(attribute.values))) for k in range(len(attribute.values))]
    ends = [t for t in thresholds_of(model, column) if feature.low <= t < feature.high]
    edges = [feature.low, *map(Fraction, ends), feature.high]
    width = feature.high - feature.low
    return [
        (p, (b - a) / width) for p, (a, b) in zip([*ends, float(feature.high)], itertools.pairwise(edges), strict=True)
    ]


def brute_force_cxps(model, domain, x, delta, max_size):
    """CXps of at most `max_size` features and their ratios, by Orange's predictions on every vector of cells."""
    tested = sorted({n.attr_idx for n in nodes_of(model) if n.children})
    cells = {j: cells_of(model, domain, j) for j in tested}

    def changes(Y):
        """The probability of the dissimilar vectors within the box of Y; None if there are none."""
        combos = list(itertools.product(*(cells[j] for j in Y)))
        X = np.tile(x, (len(combos), 1))
        X[:, list(Y)] = [[point for point, _ in combo] for combo in combos]
        outputs, own = model(X), model(x[np.newaxis])[0]
        far = [combo for combo, y in zip(combos, outputs.tolist(), strict=True) if _differ(y, own, delta)]
        return sum((math.prod((p for _, p in combo), start=Fraction(1)) for combo in far), Fraction(0)) if far else None

    found = {}
    for size in range(1, min(max_size, len(tested)) + 1):
        for Y in itertools.combinations(tested, size):
            if any(set(smaller) <= set(Y) for smaller in found):
                continue
            weight = changes(Y)
            if weight is not None:
                found[Y] = weight
    return {tuple(domain.names[j] for j in Y): w for Y, w in found.items()}


def _differ(y, own, delta):
    return y != own if delta is None else abs(Fraction(y) - Fraction(float(own))) > delta


def check_cxps(model, table, domain, *, instances, delta=None, max_size=None):
    explainer = ax.Explainer(model, domain, delta=delta, max_size=max_size)
    seen = 0
    for x in table.X[:: max(1, len(table) // instances)][:instances]:
        found = explainer.explain(named(table.domain, [x])[0])
        expected = brute_force_cxps(model, domain, x, delta, max_size or len(domain))
        assert {c.features: c.weight for c in found.cxps} == expected
        seen += len(expected)
    assert seen > instances


@pytest.mark.parametrize("target", [CLASSES, NUMBER], ids=["classes", "number"])
@pytest.mark.parametrize("binarize", [False, True])
def test_cxps_equal_brute_force(target, binarize):
    table = mixed_table(target, rows=90)
    model = learn(table, binarize=binarize, max_depth=5, min_samples_leaf=2)
    delta = Fraction(3, 2) if target is NUMBER else None
    check_cxps(model, table, domain_of(table), instances=6, delta=delta)


def shared_table(path, *, target, discrete=(), drop=(), clip=None):
    if not (SHARED / path).exists():
        pytest.skip(f"{path} is not at hand; set AXFI_SHARED")
    frame = pd.read_csv(SHARED / path).drop(columns=list(drop)).clip(upper=clip)
    names = [*(c for c in frame.columns if c != target), target]
    variables, columns = [], []
    for name in names:
        if discrete == "all" or name in discrete:
            values = sorted(frame[name].unique())
            variables.append(DiscreteVariable(name, values=tuple(map(str, values))))
            columns.append(np.searchsorted(values, frame[name]).astype(float))
        else:
            variables.append(ContinuousVariable(name))
            columns.append(frame[name].to_numpy(float))
    return Table.from_numpy(Space(variables[:-1], variables[-1]), np.column_stack(columns[:-1]), columns[-1])


@pytest.mark.parametrize("binarize", [False, True])
@pytest.mark.parametrize(
    ("name", "target"), [("adult", "Target"), ("compas", "Two_yr_Recidivism"), ("recidivism", "Target")]
)
def test_discrete_data_sets(name, target, binarize):
    clip = 15 if binarize else None  # Orange binarises at most 16 values; Number_of_Priors has more
    table = shared_table(f"{name}/{name}_cat.csv", target=target, discrete="all", clip=clip)
    model = learn(table, binarize=binarize, max_depth=6)
    kinds = {type(n) for n in nodes_of(model)}
    assert (MappedDiscreteNode if binarize else DiscreteNode) in kinds
    domain = domain_of(table)
    check_predictions(model, domain)
    check_cxps(learn(table, binarize=binarize, max_depth=3), table, domain, instances=4, max_size=3)


@pytest.mark.parametrize("binarize", [False, True])
@pytest.mark.parametrize(
    ("path", "target", "discrete", "drop"),
    [
        ("auto-mpg/auto-mpg.csv", "mpg", ["origin", "cyl"], ["name"]),
        ("boston/boston_house_prices.csv", "MEDV", ["CHAS", "RAD"], []),
    ],
    ids=["auto-mpg", "boston"],
)
def test_regression_data_sets(path, target, discrete, drop, binarize):
    table = shared_table(path, target=target, discrete=discrete, drop=drop)
    check_predictions(learn(table, binarize=binarize), wide_domain(table))
    check_cxps(learn(table, binarize=binarize, max_depth=4), table, domain_of(table), instances=4, delta=Fraction(3, 2))
