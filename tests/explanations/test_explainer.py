"""Explainers and their batches, as people use them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.errors import AxfiError
from axfi_kc.explanations import explainer as explainers
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


def _three_classes() -> tuple[RandomForestClassifier, pd.DataFrame, ax.Domain]:
    iris = load_iris(as_frame=True)
    data = iris.data.round(1)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(data, iris.target)
    return model, data, ax.Domain.from_data(data)


def test_a_model_is_read_once_for_all_classes_and_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data, domain = _three_classes()
    reads, engines = [], []
    read, through = explainers.read_model, explainers.engine_through
    monkeypatch.setattr(explainers, "read_model", lambda *given: reads.append(1) or read(*given))
    monkeypatch.setattr(explainers, "engine_through", lambda *given: engines.append(1) or through(*given))
    explainer, near = ax.Explainer(model, domain, max_size=2), ax.Region(radius=1)
    for row in (0, 1, 60, 130):
        x = data.iloc[[row]]
        for label in {0, 1, 2} - {explainer.explain(x).prediction}:
            explainer.explain(x, toward=label)
    assert (len(reads), len(engines)) == (1, 4)  # an engine for any other class, and one for each
    e = explainer.explain(data.iloc[[60]], toward=2, within=near)
    assert len(reads) == 1
    assert (e.toward, e.within, explainer.toward, explainer.within) == (2, near, None, None)
    # The model itself is still asked, about the instance and about what is printed.
    assert e.probability is not None
    assert e.counterfactual().printed is not None


def test_explaining_toward_and_within_is_what_an_explainer_of_its_own_does() -> None:
    model, data, domain = _three_classes()
    names = ["setosa", "versicolor", "virginica"]
    shared = ax.Explainer(model, domain, max_size=2, class_names=names)
    regions = [None, ax.Region(frozen=[domain.names[0]]), ax.Region(radius=Fraction(1, 4), unit="range")]
    asked = [(row, toward, region) for row in (0, 60, 130) for toward in (None, *names) for region in regions]
    own = {"max_size": 2, "class_names": names}

    def text(explain: Callable[[], ax.Explanation]) -> str:
        try:
            return explain().to_json()
        except AxfiError as error:
            return str(error)

    wanted = [
        text(lambda r=r, t=t, w=w: ax.Explainer(model, domain, toward=t, within=w, **own).explain(data.iloc[[r]]))
        for r, t, w in asked
    ]
    with ThreadPoolExecutor(8) as pool:
        found = [
            pool.submit(text, lambda r=r, t=t, w=w: shared.explain(data.iloc[[r]], toward=t, within=w))
            for r, t, w in asked
        ]
        assert [one.result() for one in found] == wanted


def test_engines_that_are_kept_are_few_and_stay_behind_when_pickled() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 29)])
    explainer = ax.Explainer(lambda p: p[0], domain)
    for label in range(1, 30):
        assert explainer.explain([0], toward=label).toward == label
    assert len(explainer._engines) < 10
    copied = pickle.loads(pickle.dumps(explainer))
    assert copied._engines == ()
    assert copied.explain([0], toward=3).cxps == explainer.explain([0], toward=3).cxps
