"""What is printed of a counterfactual, typed in again, changes the output of the model's own predict."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import datasets
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Real
from axfi_kc.cli.explain import explanation_text
from axfi_kc.cli.main import main
from axfi_kc.domain.grid import Cut
from axfi_kc.explanations.counterfactuals import Counterfactual, find_counterfactual
from axfi_kc.explanations.counterfactuals.decimals import decimal_text, shortest, told_apart
from axfi_kc.explanations.page import report_html
from axfi_kc.explanations.problem import OwnPredict
from axfi_kc.models import LinearModel, Positive, Slope, TreeNodes, TreeSum
from tests.support import random_problems

DELTA = 40  # of the diabetes data, whose target runs from 25 to 346


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


# One maker of a classifier and one of a regressor per kind; the size of the model is a parameter.
KINDS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "tree": (
        lambda n: DecisionTreeClassifier(random_state=0),
        lambda n: DecisionTreeRegressor(max_depth=5, random_state=0),
    ),
    "forest": (
        lambda n: RandomForestClassifier(n, max_depth=5, random_state=0),
        lambda n: RandomForestRegressor(n, max_depth=4, random_state=0),
    ),
    "gradient boosting": (
        lambda n: GradientBoostingClassifier(n_estimators=n, random_state=0),
        lambda n: GradientBoostingRegressor(n_estimators=n, random_state=0),
    ),
    "histogram boosting": (
        lambda n: HistGradientBoostingClassifier(max_iter=n, max_depth=4, random_state=0),
        lambda n: HistGradientBoostingRegressor(max_iter=n, max_depth=4, random_state=0),
    ),
    "xgboost": (
        lambda n: XGBClassifier(n_estimators=n, max_depth=3, n_jobs=1),
        lambda n: XGBRegressor(n_estimators=n, max_depth=3, n_jobs=1),
    ),
    "lightgbm": (
        lambda n: LGBMClassifier(n_estimators=n, max_depth=4, verbose=-1, n_jobs=1),
        lambda n: LGBMRegressor(n_estimators=n, max_depth=4, verbose=-1, n_jobs=1),
    ),
    "scaled linear": (
        lambda n: _scaled(LogisticRegression(max_iter=1000)),
        lambda n: _scaled(Ridge()),
    ),
}
DATA = {"breast_cancer": 0, "wine": 0, "diabetes": 1}  # and whether its target is a number


def trained(kind: str, data: str, size: int) -> tuple[Any, Any]:
    X, y = getattr(datasets, f"load_{data}")(as_frame=True, return_X_y=True)
    return KINDS[kind][DATA[data]](size).fit(X, y), X


def counterfactuals(model: Any, X: Any, *, delta: Any, seed: int) -> Iterator[tuple[Any, Counterfactual]]:
    """Yield rows with their nearest counterfactuals of up to two features, where there are any."""
    explainer = ax.Explainer(model, Domain.from_data(X), delta=delta, max_size=2)
    for _, row in X.sample(frac=1, random_state=seed).iterrows():
        e = explainer.explain(row)
        if e.cxps:
            yield row, e.counterfactual()


def typed_in(text: str, row: Any, names: Any) -> tuple[Any, int]:
    """Return the row with the values that a text says, and how many of them it says are as before."""
    row, same = row.copy(), 0
    for name in names:
        found = re.search(rf"(?:instance |, ){re.escape(name)} from (\S+) to ([^\s,)]+)", text)
        assert found is not None, text
        row[name] = float(found[2])
        same += found[1] == found[2]
    return row, same


def bounds(words: str) -> dict[str, dict[str, float]]:
    """Return the signs and numbers of a condition on numeric features, by feature."""
    found: dict[str, dict[str, float]] = {}
    for part in words.split(" and "):
        match = re.fullmatch(r"(.+) (<=|>=|=) (\S+)", part)
        assert match is not None, words
        found.setdefault(match[1], {})[match[2]] = float(match[3])
    return found


def corner(words: str, row: Any) -> Any:
    """Return the row moved just as far as a condition asks."""
    row = row.copy()
    for name, ends in bounds(words).items():
        row[name] = min(ends.values(), key=lambda end: abs(end - row[name]))
    return row


def inside(words: str, row: Any, X: Any, random: np.random.Generator) -> Any:
    """Return the row moved somewhere within a condition, and within the domain."""
    row = row.copy()
    for name, ends in bounds(words).items():
        low, high = ends.get(">=", X[name].min()), ends.get("<=", X[name].max())
        row[name] = ends.get("=", random.uniform(low, high))
    return row


def flips(model: Any, rows: list[Any], delta: Any) -> list[bool]:
    """Tell which rows the model's own predict tells from the first of them."""
    outputs = model.predict(pd.DataFrame(rows))
    return [bool(y != outputs[0] if delta is None else abs(y - outputs[0]) > delta) for y in outputs[1:]]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_flips_the_models_own_predict(kind: str, data: str) -> None:
    model, X = trained(kind, data, 6)
    delta = DELTA if DATA[data] else None
    random = np.random.default_rng(0)
    for row, found in islice(counterfactuals(model, X, delta=delta, seed=1), 8):
        moved, same = typed_in(str(found), row, found.changes)
        assert same == 0
        within = [inside(found.words, row, X, random) for _ in range(5)]
        assert all(flips(model, [row, moved, corner(found.words, row), *within], delta)), str(found)
        assert found.printed is not None
        assert {n: found.printed.point[n] for n in found.changes} == {n: moved[n] for n in found.changes}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_three_hundred_rows_of_real_data(kind: str) -> None:
    rows = flipped = by_words = same = 0
    for data, regression in DATA.items():
        model, X = trained(kind, data, 20)
        delta = DELTA if regression else None
        for row, found in islice(counterfactuals(model, X, delta=delta, seed=1), 100):
            moved, equal = typed_in(str(found), row, found.changes)
            printed, worded = flips(model, [row, moved, corner(found.words, row)], delta)
            rows, flipped, by_words, same = rows + 1, flipped + printed, by_words + worded, same + (equal > 0)
    print(f"{kind}: {flipped} of {rows} printed points flip, {by_words} by the words, {same} from a to a")  # noqa: T201 - seen with -s
    assert (rows, flipped, by_words, same) == (300, 300, 300, 0)


def test_drawn_points_are_printed_inside_the_words() -> None:
    model, X = trained("forest", "wine", 6)
    e = ax.Explainer(model, Domain.from_data(X), max_size=2).explain(X.iloc[70])
    for seed in range(30):
        found = e.counterfactual(e.cxps[seed % len(e.cxps)], seed=seed)
        moved, same = typed_in(str(found), X.iloc[70], found.changes)
        assert same == 0
        assert all(flips(model, [X.iloc[70], moved], None))
        for name, ends in bounds(found.words).items():
            assert ends.get(">=", -np.inf) <= moved[name] <= ends.get("<=", np.inf)
            width = X[name].max() - X[name].min()
            assert abs(moved[name] - found.point[name]) < width / 10  # where it was drawn, and not elsewhere


positive = st.floats(1e-9, 1e9)


@given(positive, positive, st.booleans(), st.booleans())
def test_shortest_decimals(a: float, b: float, negative: bool, upper: bool) -> None:
    low, high = sorted((-a, -b) if negative else (a, b))
    near = high if upper else low
    found = shortest(low, high, near=near)
    assert low <= float(decimal_text(found)) <= high
    digits = len(Decimal(decimal_text(found)).normalize().as_tuple().digits)
    for fewer in range(1, min(digits, 16)):  # none of fewer digits lies between: not those around the end it is near to
        text = f"{near:.{fewer - 1}e}"
        step = Fraction(10) ** (int(text.split("e")[1]) - fewer + 1)
        assert not any(low <= Fraction(text) + k * step <= high for k in (-1, 0, 1))


@given(st.floats(-1e300, 1e300))
def test_a_single_float_is_its_own_shortest(x: float) -> None:
    assert shortest(x, x, near=x) == x == float(decimal_text(x))


def test_old_values_are_told_apart() -> None:
    assert told_apart(1.23456789, 2, 3) == "1.23457"
    assert told_apart(1.9999999, 2, 3) == "1.9999999"
    assert told_apart(math.nextafter(2, 0), 2, 3) == "1.9999999999999998"
    assert told_apart(1060.0, 2, 3) == "1060"


def test_thin_regions_are_printed_in_full() -> None:
    domain, thin = Domain([Real("a", 0, 1)]), math.nextafter(0.1, 1)
    cuts = [Cut(0.1, closed=True), None, Cut(thin, closed=True), None, None]
    links = [np.array(row) for row in ([0, -1, 0, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1])]
    tree = TreeNodes(links[0], cuts, links[1], links[2], np.array([[0.0], [-1], [0], [1], [-1]]))
    model = TreeSum.of(domain, [tree], rule=Positive((0, 1)), base=[0])
    found = find_counterfactual(ax.Problem.of(model, domain, (0.0999999999,)), ["a"])
    assert found.words == "a = 0.10000000000000002"
    assert found.moves == [("a", "0.1", "0.10000000000000002")]
    assert float(found.moves[0][2]) == thin


def near_a_tie() -> ax.Problem:
    """Return a linear problem whose output changes between 0.5 and 0.51."""
    domain = Domain([Real("a", 0, 1), Real("b", 0, 1)])
    model = LinearModel.of(domain, [Slope((1,)), Slope((0,))], base=[Fraction(-1, 2)], rule=Positive((0, 1)))
    return ax.Problem.of(model, domain, (0.25, 0.0))


def stubborn(problem: ax.Problem, least: float) -> ax.Problem:
    """Return the problem of a library whose own predict changes only later."""
    own = OwnPredict(lambda codes: [int(a > least) for a, _ in codes])
    return ax.Problem(problem.model, problem.codes, problem.output, problem.similarity, own)


def test_a_library_that_rounds_is_asked_until_it_agrees() -> None:
    problem = near_a_tie()
    assert find_counterfactual(problem, ["a"]).words == "a >= 0.51"
    error = float(problem.model.rounding_error)
    late = find_counterfactual(stubborn(problem, 0.5 + 1e5 * error), ["a"])
    assert late.words == "a >= 0.51"
    assert late.changes["a"][1] == np.nextafter(0.5, 1)  # the exact nearest point stays what it is


def test_what_no_printed_value_changes_is_said_in_one_sentence() -> None:
    found = find_counterfactual(stubborn(near_a_tie(), 0.9), ["a"])
    assert found.printed is None
    assert found.moves == []
    assert str(found) == found.words
    assert found.words.startswith("No change of a can be printed: ")
    assert found.words.count(".") == 1


def test_rounding_asks_for_more_margin() -> None:
    domain = Domain([Real("a", 0, 1)])
    base = Fraction(-3, 4) + Fraction(1, 1 << 60)  # the first decimal, 0.75, is enough by 2**-60
    model = LinearModel.of(domain, [Slope((1,))], base=[base], rule=Positive((0, 1)))
    exact = ax.Problem.of(model, domain, (0.25,))
    assert find_counterfactual(exact, ["a"]).words == "a >= 0.75"
    own = OwnPredict(lambda codes: [int(a > 0.75) for (a,) in codes])
    found = find_counterfactual(ax.Problem(model, exact.codes, exact.output, exact.similarity, own), ["a"])
    assert found.words == "a >= 0.76"
    assert found.point == {"a": 0.75}


def votes(*votes: tuple[int, float, float]) -> ax.Problem:
    """Return the problem, at 0, of trees that add a number each where an integer feature is above a cut."""
    domain = Domain([Integer(name, 0, 2) for name in "ab"])
    ends = np.array([-1, -1])
    trees = [
        TreeNodes(np.r_[i, ends], [Cut(cut, closed=True), None, None], np.r_[1, ends], np.r_[2, ends],
                  np.array([[0.0], [0], [leaf]]))
        for i, cut, leaf in votes
    ]  # fmt: skip
    return ax.Problem.of(TreeSum.of(domain, trees, rule=Positive((0, 1)), base=[0.0]), domain, (0, 0))


def test_trees_without_a_predict_to_ask_are_judged_with_a_margin() -> None:
    tiny = votes((0, 0.5, 2.0**-70), (0, 1.5, 1.0), (1, 0.5, 1.0))
    assert tiny.model.rounding_error > Fraction(1, 1 << 70)
    found = find_counterfactual(tiny, ["a"])
    assert found.changes == {"a": (0, 1)}
    assert found.moves == [("a", "0", "2")]
    # Where there is no more, a library may say anything; but the exact model is all there is.
    assert find_counterfactual(votes((0, 0.5, 2.0**-70), (1, 0.5, 1.0)), ["a"]).moves == [("a", "0", "1")]


def test_explanations_are_pickled_without_the_model() -> None:
    model, X = trained("tree", "wine", 1)
    explainer = ax.Explainer(model, Domain.from_data(X))
    e = explainer.explain(X.iloc[3])
    assert e.problem.own.ask is not None
    again = pickle.loads(pickle.dumps(e))
    assert again.problem.own.ask is None
    assert str(again.counterfactual()) == str(e.counterfactual())
    batch = explainer.explain_batch(X.head(3))
    assert batch[1].problem.own.ask is not None
    assert str(pickle.loads(pickle.dumps(batch))[1].counterfactual()) == str(batch[1].counterfactual())


def test_pages_and_the_command_line_print_the_same() -> None:
    model, X = trained("forest", "wine", 6)
    e = ax.Explainer(model, Domain.from_data(X), max_size=2).explain(X.iloc[70])
    page, text = report_html(e).replace("<wbr>", ""), explanation_text(e, limit=5)
    plain = re.sub(r"<[^>]+>", "", page)
    for cxp in e.heaviest_cxps()[:5]:
        found = e.counterfactual(cxp)
        moves = ", ".join(f"{name} from {old} to {new}" for name, old, new in found.moves)
        assert f"{moves}: {found.printed.output}" in text.splitlines()
        assert f"Nearest: {moves} gives {found.printed.output}." in plain


def test_the_command_line_as_json(tmp_path, capsys) -> None:
    X, y = datasets.load_wine(as_frame=True, return_X_y=True)
    model = XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
    model.save_model(tmp_path / "model.json")
    X.to_csv(tmp_path / "data.csv", index=False)
    files = [str(tmp_path / "model.json"), str(tmp_path / "data.csv")]
    assert main(["explain", *files, "--row", "70", "--max-size", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counterfactuals"]
    for found in document["counterfactuals"]:
        moved = X.iloc[70].copy()
        for name, move in found["changes"].items():
            moved[name] = float(move["to"])
            assert move["from"] != move["to"]
        assert flips(model, [X.iloc[70], moved], None) == [True]
        assert str(model.predict(pd.DataFrame([moved]))[0]) == found["output"]
    assert ax.Explanation.from_dict(document).cxp_count == len(document["cxps"])


def meets(words: str, point: dict[str, Any]) -> bool:
    """Evaluate a condition on features that may be missing."""
    signs = {"=": lambda a, b: a == b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}
    for part in words.split(" and "):
        if part.startswith(("leave ", "any ")):
            empty = part.startswith("leave ")
            holds = (point[part.split()[1]] is None) == empty
        else:
            name, sign, value = part.split(" ")
            holds = point[name] is not None and signs[sign](Fraction(str(point[name])), Fraction(value))
        if not holds:
            return False
    return True


def far(feature: Any, a: Any, b: Any) -> Fraction:
    if a is None or b is None or isinstance(feature, Categorical):
        return Fraction(a != b)
    return abs(Fraction(a) - Fraction(b)) / (Fraction(feature.high - feature.low) or 1)


@pytest.mark.parametrize("seed", range(150))
def test_missing_values_against_all_points(seed: int) -> None:
    rng = Random(seed)
    truth = random_problems.ensemble(rng, 2, n_trees=rng.choice((1, 3)))
    for v in () if truth is None else truth.instances:
        names, answer = truth.domain.names, truth.answer(v)
        problem = ax.Problem.of(truth.model, truth.domain, truth.point(v), delta=truth.delta)
        for Y, ratio in answer.ratios.items():
            members = [i for i in range(len(names)) if Y >> i & 1]
            found = find_counterfactual(problem, [names[i] for i in members])
            boxed = [p for p in truth.places if all(i in members or p[i] == v[i] for i in range(len(names)))]
            strange = [p for p in boxed if not truth.similar(truth.output(p), answer.output)]
            assert found.printed is not None
            assert meets(found.words, found.printed.point)
            met = [p for p in boxed if meets(found.words, dict(zip(names, truth.point(p), strict=True)))]
            assert set(met) <= set(strange)
            if not any(isinstance(truth.domain.features[i], Real) for i in members):
                costs = [
                    sum(far(truth.domain.features[i], truth.values[i][v[i]], truth.values[i][p[i]]) for i in members)
                    for p in strange
                ]
                assert found.distance == min(costs)
                assert met
            if ratio:
                drawn = find_counterfactual(problem, [names[i] for i in members], seed=seed)
                assert problem.is_dissimilar(problem.model.predict([drawn.point])[0])
                assert meets(drawn.words, drawn.printed.point)


def test_missing_is_drawn_with_its_probability() -> None:
    domain = Domain([Integer("a", 0, 3, missing=Fraction(1, 2)), Integer("b", 0, 1)])
    table = ax.TableModel.from_outputs(domain, [int(a != 0) for a, _ in domain.points()])
    problem = ax.Problem.of(table, domain, (0, 0))
    drawn = [find_counterfactual(problem, ["a"], seed=k).point["a"] for k in range(400)]
    # Of 7/8 that are dissimilar, 4/8 are missing.
    assert abs(drawn.count(None) / 400 - 4 / 7) < 0.1
    assert set(drawn) == {None, 1, 2, 3}


@pytest.mark.parametrize("kind", ["tree", "forest", "histogram boosting", "xgboost", "lightgbm"])
def test_models_trained_with_missing_values(kind: str) -> None:
    X, y = datasets.load_wine(as_frame=True, return_X_y=True)
    X = X.iloc[:, [0, 6, 12]].mask(np.random.default_rng(0).random((len(X), 3)) < 0.2)
    model = KINDS[kind][0](4).fit(X, y)
    explainer = ax.Explainer(model, Domain.from_data(X))
    emptied = 0
    for n, (_, row) in enumerate(X.head(25).iterrows()):
        e = explainer.explain(row)
        for found in (e.counterfactual(cxp, seed=seed) for cxp in e.cxps[:2] for seed in (None, n, n + 100)):
            moved = row.copy()
            for name, old, new in found.moves:
                assert old != new
                assert (old == "missing") == bool(np.isnan(row[name]))
                assert (new == "missing") == (f"leave {name} empty" in found.words)
                moved[name] = np.nan if new == "missing" else float(new)
                emptied += new == "missing"
            assert flips(model, [row, moved], None) == [True], str(found)
    assert emptied
