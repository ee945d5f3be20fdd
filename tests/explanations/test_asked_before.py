"""What an explanation says is the same whatever it was asked before, in whatever order, by however many threads."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.cli.explain import explanation_text
from axfi_kc.errors import ArgumentError, AxfiError, UnknownFeatureError
from axfi_kc.explanations.page import report_html
from axfi_kc.families import SetFamily
from axfi_kc.models import LinearModel, Positive

N_THREADS = 8
IRIS = load_iris(as_frame=True)
X = IRIS.data.round(1)
DOMAIN = ax.Domain.from_data(X)
Explained = tuple[ax.Explainer, Any]


def _tree() -> Explained:
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, IRIS.target)
    return ax.Explainer(model, DOMAIN, class_names=list(IRIS.target_names)), X.iloc[[77]]


def _forest() -> Explained:
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, IRIS.target)
    return ax.Explainer(model, DOMAIN, toward=1), X.iloc[[77]]


def _regressor() -> Explained:
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X.iloc[:, 3] * 7)
    return ax.Explainer(model, DOMAIN, delta=2, within=ax.Region(only_up=[X.columns[0]])), X.iloc[[60]]


def _function() -> Explained:
    plain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2), ax.Categorical("c", "pq")])
    possible = plain.where("a <= 2 or b <= 1")
    rows = [p for p in plain.points() if p[0] <= 2 or p[1] <= 1 for _ in range(1 + p[0])]
    space = possible.with_distribution(ax.ChowLiu.fit(rows, possible))
    return ax.Explainer(lambda p: int(p[0] * (p[2] == "p") > p[1]), space, weights="unit"), (1, 1, "p")


def _many(target: str) -> Explained:
    """Return "at least ten of 20 features are 1", where none is: it has more CXps than are listed."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(20)])
    model = LinearModel.of_columns(domain, [[1] * 20], intercepts=[-Fraction(19, 2)], rule=Positive((0, 1)))
    return ax.Explainer(model, domain, target=target, budget=ax.Budget(nodes=300_000)), [0] * 20


KINDS: dict[str, Callable[[], Explained]] = {
    "tree": _tree,
    "forest": _forest,
    "regressor": _regressor,
    "function": _function,
    "many": lambda: _many("mdd"),
    "counted": lambda: _many("auto"),
}

# What a method is given; others are asked with nothing.
GIVEN: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "critical_radius": lambda e: (e.smallest_cxp(),),
    "paxp": lambda e: (Fraction(3, 4),),
    "paxps": lambda e: (Fraction(1, 2),),
    "plausibility": lambda e: (e.instance,),
    "precision": lambda e: (e.domain.names[:-1],),
    "with_answers": lambda e: (
        (e.paxp(Fraction(1, 2)), e.inflated_axp(), e.inflated_cxp()) if hasattr(e, "paxp") else ()
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "ask": {"min_precision": 0.9, "inflate": True},
    "some_axps": {"seconds": 1},
    "to_json": {"axps": True},
}
# Functions that need no explanation; and what asks 184,756 CXps one by one, where there are as many.
LEFT_OUT = {"from_dict", "from_json"}
SLOW = {"ask", "circuit", "counterfactual", "counterfactuals", "heaviest_cxps", "paxp", "paxps", "precision"}
SLOW |= {
    "with_answers",
    "in_smallest_cxps",
    "inflated_axp",
    "inflated_cxp",
    "most_general",
    "to_dict",
    "to_json",
    "rounding",
}


def questions(kind: str, e: Any) -> list[str]:
    names = [name for name in dir(e) if not name.startswith("_") and name not in LEFT_OUT]
    return [name for name in names if kind not in ("many", "counted") or name not in SLOW]


def answer(e: Any, name: str) -> Any:
    """Return what an explanation answers, in a form that can be compared; an error is an answer, too."""
    try:
        found = getattr(e, name)
        if callable(found):
            found = found(*GIVEN.get(name, lambda _: ())(e), **OPTIONS.get(name, {}))
        return plain(found)
    except (AxfiError, ImportError) as error:
        return type(error).__name__, str(error)


def plain(found: Any) -> Any:
    if isinstance(found, ax.Explanation | ax.SavedExplanation):
        return found.to_json()
    if isinstance(found, SetFamily):
        return found.sizes
    if isinstance(found, ax.ExampleCircuit):
        return repr(found), [found.circuit.arcs(node) for node in range(found.size.nodes)]
    if isinstance(found, ax.CXpForest):
        return found.features, found.value(found.features)
    if isinstance(found, Iterator):
        return [plain(one) for one in islice(found, 20)]
    if isinstance(found, Mapping):
        return {name: plain(value) for name, value in found.items()}
    return found.to_csv() if hasattr(found, "to_csv") else repr(found)


def texts(kind: str, e: Any) -> list[str]:
    """Return all that an explanation is shown and saved as."""
    made = [repr(e), e.to_html(), e.to_frame().to_csv(), repr(e.to_frame().attrs)]
    if kind in ("many", "counted"):
        return made
    again = ax.Explanation.from_json(e.to_json())
    made += [e.to_json(), e.to_json(axps=True), again.to_json(), pickle.loads(pickle.dumps(again)).to_json()]
    return [*made, report_html(e), report_html([e]), explanation_text(e), explanation_text(again)]


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # pages say when they were made


@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_texts_depend_on_no_question_before(kind: str) -> None:
    explainer, x = KINDS[kind]()
    fresh = explainer.explain(x)
    wanted = {name: answer(KINDS[kind]()[0].explain(x), name) for name in questions(kind, fresh)}
    shown = texts(kind, fresh)
    for seed in range(3):
        names = list(wanted)
        Random(seed).shuffle(names)
        e = explainer.explain(x)
        for name in names:
            assert answer(e, name) == wanted[name], name
        assert texts(kind, e) == shown


@pytest.mark.parametrize("kind", KINDS)
def test_threads_get_the_same_answers_and_texts(kind: str) -> None:
    explainer, x = KINDS[kind]()
    fresh = explainer.explain(x)
    wanted = {name: answer(fresh, name) for name in questions(kind, fresh)}
    shown = texts(kind, KINDS[kind]()[0].explain(x))
    shared = explainer.explain(x)

    def asked(seed: int) -> tuple[list[str], list[str]]:
        rng, names = Random(seed), list(wanted)
        rng.shuffle(names)
        e = shared if seed % 2 else explainer.explain(x)
        wrong = [name for name in names[: rng.randint(0, len(names))] if answer(e, name) != wanted[name]]
        return wrong, texts(kind, e)

    with ThreadPoolExecutor(N_THREADS) as pool:
        for wrong, found in pool.map(asked, range(2 * N_THREADS)):
            assert not wrong
            assert found == shown


def test_saved_explanations_answer_the_same_whatever_came_before() -> None:
    explainer, x = _tree()
    e = explainer.explain(x)
    e = e.with_answers(e.paxps(Fraction(1, 2)), e.inflated_cxp())
    for text in (e.to_json(), e.to_json(axps=True), e.to_json(kinds=["ffa"], interactions=["moebius"])):
        for model in (None, explainer.model):
            fresh = ax.Explanation.from_json(text, model=model)
            shown, wanted = texts("saved", fresh), {}
            for name in questions("saved", fresh):
                wanted[name] = answer(ax.Explanation.from_json(text, model=model), name)
            for name in sorted(wanted, key=lambda _: Random(len(text)).random()):
                assert answer(fresh, name) == wanted[name], name
            assert texts("saved", fresh) == shown


def test_batches_answer_the_same_whatever_came_before() -> None:
    explainer, _ = _tree()
    batch = explainer.explain_batch(X.iloc[::30])
    first = [e.to_json() for e in batch]
    tables = ["scores", "shares", "to_frame", "importance", "to_html", "_repr_html_", "__repr__"]
    wanted = {name: plain(getattr(explainer.explain_batch(X.iloc[::30]), name)()) for name in tables}
    for seed in range(4):
        Random(seed).shuffle(tables)
        for name in tables:
            assert plain(getattr(batch, name)()) == wanted[name], name
        _ = [(e.axps, e.most_general(), e.probability) for e in batch]
        assert [e.to_json() for e in batch] == first


def test_a_document_has_answers_that_it_is_told_to_hold() -> None:
    explainer, x = _tree()
    e = explainer.explain(x)
    general = e.most_general()
    held = e.with_answers(e.inflated_cxp(), general, e.paxp(0.9)).with_answers(e.paxps(0.5), e.inflated_axp())
    other = e.with_answers(e.inflated_axp(), e.paxps(0.5)).with_answers(e.paxp(0.9), e.inflated_cxp(), general)
    document = held.to_dict()
    assert set(document["inflated"]) == {"most_general", "axps", "cxps"}
    assert document == other.to_dict() == ax.Explanation.from_json(held.to_json()).to_dict()
    assert not {"inflated", "local_paxps", "paxps"} & set(e.to_dict())
    assert e.ask(min_precision=0.9, inflate=True).to_json() == e.to_json(min_precision=0.9, inflate=True)
    assert held.ask(min_precision=0.9, inflate=True) is held
    assert ax.verify(held, explainer.model).ok


def test_other_things_are_no_answers() -> None:
    explainer, x = _tree()
    e = explainer.explain(x)
    with pytest.raises(ArgumentError, match="paxps"):
        e.with_answers(e.smallest_axp())
    (small, point) = _function()
    with pytest.raises(UnknownFeatureError):
        e.with_answers(small.explain(point).most_general())
