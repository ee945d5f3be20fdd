"""Compiled models as people use them: default outputs, conditioning, errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from joblib import Parallel, delayed

import axfi_kc as ax
from axfi_kc import errors, queries
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.models import LinearModel, Positive

DOMAIN = ax.Domain(
    [ax.Integer("a", 0, 3), ax.Categorical("b", ["x", "y", "z"], weights=[1, 2, 3]), ax.Integer("c", 0, 1)]
)


def at_least_three(p):
    return p[0] + ("x", "y", "z").index(p[1]) + p[2] >= 3


def test_default_output_is_the_greater_of_two() -> None:
    assert ax.compile_model(at_least_three, DOMAIN).output is True
    assert ax.compile_model(lambda p: "no" if at_least_three(p) else "yes", DOMAIN).output == "yes"


def test_default_output_of_boosting_is_the_second_class() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    for kind in (GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier):
        model = kind(max_depth=2, random_state=0)
        model.set_params(**{"max_iter" if "Hist" in kind.__name__ else "n_estimators": 3})
        model.fit(X, y.map({0: "bad", 1: "good"}))
        assert ax.compile_model(model, ax.Domain.from_data(X)).output == model.classes_[1]


@pytest.mark.parametrize("target", TARGETS)
def test_a_budget_pays_for_reading_the_model(target: str) -> None:
    from sklearn.datasets import make_classification
    from sklearn.ensemble import ExtraTreesClassifier

    X, y = make_classification(200, random_state=0)
    forest, domain = ExtraTreesClassifier(10, random_state=0).fit(X, y), ax.Domain.from_data(X)
    for model, over in ((forest, domain), (at_least_three, DOMAIN)):
        with pytest.raises(errors.BudgetError, match="the reading of the model is not finished; allow more") as caught:
            ax.compile_model(model, over, target=target, budget=ax.Budget(seconds=1e-9))
        assert caught.value.seconds > 0

    compiled = ax.compile_model(at_least_three, DOMAIN)
    points = list(DOMAIN.points())
    assert compiled.count() == sum(map(at_least_three, points))
    given = compiled.condition({"b": "y"})
    assert given.count() == sum(at_least_three(p) for p in points if p[1] == "y")
    assert given.probability() == Fraction(given.count(), 8)
    both = given.condition({"a": 2})
    assert both.fixed == {"b": "y", "a": 2}
    assert (both.count(), both.probability(), both.size.nodes) == (2, 1, 0)
    shares = {"x": Fraction(1, 6), "y": Fraction(1, 3), "z": Fraction(1, 2)}
    assert compiled.probability() == sum(s * compiled.condition({"b": b}).probability() for b, s in shares.items())


@pytest.mark.parametrize(
    "again", [lambda it: pickle.loads(pickle.dumps(it)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
@pytest.mark.parametrize("target", TARGETS)
def test_copies_of_what_was_compiled(target: str, again: Callable[[Any], Any]) -> None:
    compiled = ax.compile_model(at_least_three, DOMAIN, target=target)
    for one in (compiled, compiled.condition({"b": "y"}), compiled.condition({"b": "y", "a": 2})):
        made = again(one)
        assert (made.language, made.output, made.fixed) == (one.language, one.output, one.fixed)
        assert (made.size, made.count(), made.probability()) == (one.size, one.count(), one.probability())
        assert made.condition({"c": 1}).size == one.condition({"c": 1}).size
        assert queries.count(again(one.circuit)) == one.count()
    explainer = ax.Explainer(at_least_three, DOMAIN, target=target)
    for x in list(DOMAIN.points())[::5]:
        e = explainer.explain(x)
        for made in (again(explainer).explain(x), again(e)):
            assert (list(made.cxps), list(made.axps), made.scores()) == (list(e.cxps), list(e.axps), e.scores())
    model = ax.CircuitModel.of(compiled.circuit)
    assert again(model).predict(list(DOMAIN.points())) == model.predict(list(DOMAIN.points()))


@pytest.mark.parametrize("target", TARGETS)
def test_workers_take_what_was_compiled(target: str) -> None:
    compiled = ax.compile_model(at_least_three, DOMAIN, target=target)
    given = [compiled.condition({"b": b}) for b in ("x", "y", "z")]
    found = Parallel(n_jobs=2)(delayed(_asked)(one) for one in given)
    assert found == [_asked(one) for one in given]


def _asked(one: ax.CompiledModel) -> Any:
    return one.count(), one.probability(), one.size


def test_real_features_are_counted_once_they_are_fixed() -> None:
    from sklearn.tree import DecisionTreeClassifier

    X, y = [[0.0, 0], [0.5, 1], [1.0, 0], [1.0, 1]], [0, 0, 0, 1]
    domain = ax.Domain.from_data(X, integer=["n"], names=["r", "n"])
    compiled = ax.compile_model(DecisionTreeClassifier(random_state=0).fit(X, y), domain)
    with pytest.raises(errors.CircuitError, match="'r' is real"):
        compiled.count()
    assert compiled.condition({"r": 0.9}).count() == 1
    # float32(r) <= 0.75 holds up to half-way to the next float32 number
    assert compiled.condition({"n": 1}).probability() == Fraction(1, 4) - Fraction(1, 2**25)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"target": "obd"}, errors.UnsupportedTargetError, r"one of 'mdd'.*'obd'"),
        ({"order": "sift"}, errors.DomainError, r"'influence', 'force', 'given'.*'sift'"),
        ({"order": ["a", "b"]}, errors.DomainError, r"each of the 3 features once.*2 names"),
        ({"order": ["a", "b", "b"]}, errors.DomainError, r"3 names, 2 of them different"),
        ({"order": ["a", "b", "d"]}, errors.UnknownFeatureError, r"no feature 'd'"),
        ({"output": 7}, errors.DomainError, r"one of False, True.*7"),
        ({"delta": 1}, errors.SimilarityError, r"pass output="),
    ],
)
def test_errors(options, error, words) -> None:
    with pytest.raises(error, match=words):
        ax.compile_model(at_least_three, DOMAIN, **options)


def test_three_classes_need_an_output() -> None:
    with pytest.raises(errors.SimilarityError, match=r"0, 1, 2; pass output"):
        ax.compile_model(lambda p: p[0] % 3, DOMAIN)
    with pytest.raises(errors.SimilarityError, match="pass output"):
        ax.compile_model(lambda p: "yes" if p[0] else 0, DOMAIN)
    assert ax.compile_model(lambda p: p[0] % 3, DOMAIN, output=0).count() == 12


def test_regression() -> None:
    compiled = ax.compile_model(lambda p: p[0] * 0.5, DOMAIN, output=1, delta=0.5)
    assert compiled.probability() == Fraction(3, 4)


def test_conditioning_errors() -> None:
    compiled = ax.compile_model(at_least_three, DOMAIN)
    with pytest.raises(errors.DomainError, match="'b' must be one of"):
        compiled.condition({"b": "w"})
    with pytest.raises(errors.UnknownFeatureError, match="no feature 'd'"):
        compiled.condition({"d": 0})
    with pytest.raises(errors.DomainError, match="'b' is fixed already"):
        compiled.condition({"b": "x"}).condition({"b": "y"})


def test_linear_models_in_every_order() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 2)])
    model = LinearModel.of_columns(domain, [[1, 2]], intercepts=[-3], rule=Positive((0, 1)))
    compiled = {str(o): ax.compile_model(model, domain, order=o) for o in ("influence", "force", "given", ["a", "b"])}
    assert {o: c.count() for o, c in compiled.items()} == dict.fromkeys(compiled, 4)
    tops = {o: int(c.circuit.features[c.circuit.root]) for o, c in compiled.items()}
    assert tops == {"influence": 1, "force": 1, "given": 0, "['a', 'b']": 0}
    e, f = (ax.Explainer(model, domain, target=t).explain((2, 2)) for t in ("auto", "mdd"))
    assert (e.cxps, e.scores()) == (f.cxps, f.scores())


def test_a_linear_model_of_2000_features_and_a_budget() -> None:
    """At least 1,001 of 2,000 bits would need a million partial sums; at least one needs 2,000."""
    n = 2000
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    some = LinearModel.of_columns(domain, [[1] * n], intercepts=[0], rule=Positive((0, 1)))
    assert ax.compile_model(some, domain).count() == 2**n - 1
    many = LinearModel.of_columns(domain, [[1] * n], intercepts=[-1000], rule=Positive((0, 1)))
    with pytest.raises(errors.BudgetError, match=r"spent after \d+ sub-diagrams"):
        ax.compile_model(many, domain, budget=ax.Budget(nodes=5000))


def test_unknown_target_of_an_explainer() -> None:
    with pytest.raises(errors.UnsupportedTargetError, match=r"'auto', 'mdd'.*'bdd'"):
        ax.Explainer(at_least_three, DOMAIN, target="bdd")
    assert "target='mdd'" in repr(ax.Explainer(at_least_three, DOMAIN, target="mdd"))
