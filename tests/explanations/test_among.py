"""Explanations among the rows of a data set, against the definition row by row."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.domain.constraints import feature
from axfi_kc.engines import samples as sample_engine
from axfi_kc.errors import ArgumentError, DomainError, SimilarityError, UnsupportedModelError, WeightError
from axfi_kc.explanations.among import explain_among
from axfi_kc.models.samples import Samples
from tests.support.oracle import banzhaf, hitting_value, shapley


def same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


def by_definition(rows: list[Any], dissimilar: list[bool], v: Any) -> dict[frozenset[int], tuple[int, int]]:
    """Return the minimal difference sets of dissimilar rows: how many these are, and how many rows are in the box."""
    sets = [frozenset(i for i in range(len(v)) if not same(r[i], v[i])) for r in rows]
    bad = [d for d, wrong in zip(sets, dissimilar, strict=True) if wrong]
    minimal = {d for d in bad if not any(e < d for e in bad)}
    return {d: (bad.count(d), sum(e <= d for e in sets)) for d in minimal}


def found_of(e: ax.Explanation) -> dict[frozenset[int], Any]:
    return {frozenset(map(e.domain.index, c.features)): c.weight for c in e.cxps}


def random_rows(rng: np.random.Generator, n: int, m: int, values: int = 3) -> np.ndarray:
    X = rng.integers(0, values, (n, m)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X[np.unique(np.nan_to_num(X, nan=-1), axis=0, return_index=True)[1]]


@pytest.mark.parametrize("tabled", [True, False])
@pytest.mark.parametrize(("n", "m"), [(40, 3), (120, 5), (60, 7)])
def test_cxps_weights_and_scores_are_those_of_the_rows(
    n: int, m: int, tabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tabled:
        monkeypatch.setattr(sample_engine, "_TABLED", 0)
    rng = np.random.default_rng(n + m)
    for _ in range(15):
        X = random_rows(rng, n, m)
        y = rng.integers(0, 3, len(X))
        delta = [None, 1][rng.integers(2)]
        v, here = X[0], int(y[0])
        wrong = [int(o) != here if delta is None else abs(int(o) - here) > delta for o in y]
        expected = by_definition(X.tolist(), wrong, v.tolist())
        options = {"delta": delta, "domain": ax.Domain.from_data(X, integer=range(m))}
        e = explain_among(X, y, v, **options)
        ratios = {Y: Fraction(*pair) for Y, pair in expected.items()}
        assert found_of(e) == ratios
        assert found_of(explain_among(X, y, v, weights="count", **options)) == {Y: a for Y, (a, _) in expected.items()}
        small = {Y: w for Y, w in ratios.items() if len(Y) <= 2}
        assert found_of(explain_among(X, y, v, max_size=2, **options)) == small
        for kind, index in (("shapley", shapley), ("banzhaf", banzhaf)):
            assert list(e.scores(kind).values()) == index(lambda S, r=ratios: hitting_value(r, S), m)
        for S in ({"x0"}, {"x0", "x1"}, set(e.domain.names)):
            weak = any(set(map(e.domain.index, S)) >= Y for Y in expected)
            assert ax.is_wcxp(e.problem, S) == weak


def test_axps_are_what_keeps_every_row_similar() -> None:
    rng = np.random.default_rng(3)
    X = random_rows(rng, 80, 4)
    y = rng.integers(0, 2, len(X))
    e = explain_among(X, y, X[0], domain=ax.Domain.from_data(X, integer=range(4)))
    keeps = []
    for mask in sorted(range(16), key=int.bit_count):
        fixed = [i for i in range(4) if mask >> i & 1]
        agree = [o for r, o in zip(X, y, strict=True) if all(same(r[i], X[0][i]) for i in fixed)]
        if all(o == y[0] for o in agree) and not any(K & mask == K for K in keeps):
            keeps.append(mask)
    assert sorted(e.domain.mask(a.features) for a in e.axps) == sorted(keeps)


FRAME = pd.DataFrame(
    {
        "age": [30, 30, 41, 30, 52, 30],
        "job": ["a", "b", "a", "a", "b", "a"],
        "pay": [1.5, 1.5, 0.25, 2.75, 1.5, np.nan],
    }
)
OUTPUTS = ["no", "yes", "no", "yes", "no", "yes"]


def test_a_counterfactual_is_a_row() -> None:
    e = explain_among(FRAME, OUTPUTS, FRAME.iloc[0])
    assert {c.features: c.weight for c in e.cxps} == {("job",): Fraction(1, 2), ("pay",): Fraction(2, 3)}
    rows = {tuple(None if x != x else x for x in row): y for row, y in zip(FRAME.values.tolist(), OUTPUTS, strict=True)}
    for cxp in e.cxps:
        for seed in (None, 1, 2, 3):
            found = e.counterfactual(cxp, seed=seed)
            assert rows[tuple(found.point.values())] == found.output == "yes"
            assert found.printed is not None
            assert found.printed.point == found.point
    assert str(e.counterfactual(["pay"])) == "pay = 2.75: yes (for instance pay from 1.5 to 2.75)"
    assert e.counterfactual().changes == {"pay": (1.5, 2.75)}  # half of the range; another job is a whole step
    assert set(ax.covered_points(e.problem, e.cxps[1])) == {(30, "a", 2.75), (30, "a", None)}


def test_an_instance_that_is_no_row_needs_its_output() -> None:
    x = {"age": 70, "job": "c", "pay": 1.5}
    with pytest.raises(DomainError, match=r"none of the rows.*give the output"):
        explain_among(FRAME, OUTPUTS, x)
    e = explain_among(FRAME, OUTPUTS, x, output="no")
    assert e.prediction == "no"
    assert e.instance == x
    assert {c.features: c.weight for c in e.cxps} == {("age", "job"): Fraction(1, 3)}
    assert e.counterfactual().point == {"age": 30, "job": "b", "pay": 1.5}
    assert ax.is_wcxp(e.problem, {"age", "job"})
    assert not ax.is_wcxp(e.problem, {"age", "pay"})


def test_regressions_need_delta_only_where_outputs_are_to_be_close() -> None:
    e = explain_among([[0], [1], [2]], [0.5, 0.75, 3.0], [0], delta=1)
    assert {c.features: c.weight for c in e.cxps} == {("x0",): Fraction(1, 3)}
    e = explain_among([[0], [1], [2]], [0.5, 0.75, 3.0], [7], delta=1, output=2)
    assert {c.features: c.weight for c in e.cxps} == {("x0",): Fraction(2, 3)}
    with pytest.raises(SimilarityError, match="negative"):
        explain_among([[0], [1]], [0, 1], [0], delta=-1)


def test_it_is_an_ordinary_explanation(tmp_path: Any) -> None:
    e = explain_among(FRAME, OUTPUTS, FRAME.iloc[0])
    read = ax.SavedExplanation.from_json(e.to_json())
    assert [c.features for c in read.cxps] == [c.features for c in e.cxps]
    assert read.scores("ffa") == e.scores("ffa")
    assert "job" in e.to_html()
    assert len(e.to_frame()) == 3
    assert e.rounding is not None
    assert e.forest.n == 2
    again = ax.Explainer(e.problem.model, e.domain).explain(FRAME.iloc[0])
    assert [(c.features, c.weight) for c in again.cxps] == [(c.features, c.weight) for c in e.cxps]


def test_what_rows_cannot_answer_is_refused_in_a_sentence() -> None:
    e = explain_among(FRAME, OUTPUTS, FRAME.iloc[0])
    with pytest.raises(UnsupportedModelError, match="no circuit"):
        _ = e.problem.circuit
    with pytest.raises(UnsupportedModelError, match="no circuit"):
        ax.compile_model(e.problem.model, e.domain, output="yes")
    with pytest.raises(UnsupportedModelError, match="about these rows alone"):
        ax.verify(e, lambda p: "no")
    with pytest.raises(DomainError, match="A row equal to the instance has another output"):
        explain_among([[0, 1], [0, 1], [1, 1]], ["a", "b", "b"], [0, 1], output="a")
    with pytest.raises(DomainError, match="equal to the instance have different outputs"):
        explain_among([[0, 1], [0, 1], [1, 1]], ["a", "b", "b"], [0, 1])
    with pytest.raises(DomainError, match="an output for each of 6 rows"):
        explain_among(FRAME, OUTPUTS[:3], FRAME.iloc[0])
    with pytest.raises(DomainError, match="has constraints"):
        Samples.of(e.domain.where(feature("age") > 3), FRAME, OUTPUTS)
    with pytest.raises(WeightError, match="weights must be one of"):
        explain_among(FRAME, OUTPUTS, FRAME.iloc[0], weights="some")
    with pytest.raises(DomainError, match="max_size must be a positive"):
        explain_among(FRAME, OUTPUTS, FRAME.iloc[0], max_size=0)
    with pytest.raises(DomainError, match="64 features"):
        explain_among(np.zeros((2, 65)), [0, 1], np.zeros(65))


def test_outputs_of_any_kind() -> None:
    mixed = np.array(["a", 1, None, "a"], dtype=object)
    e = explain_among([[0], [1], [2], [3]], mixed, [0])
    assert e.prediction == "a"
    assert e.cxps[0].weight == Fraction(2, 4)
    assert explain_among([[0], [1]], [True, False], [1]).prediction is False


@pytest.mark.parametrize(
    "outputs", [[1.0, float("nan"), 0.0], ["a", float("nan"), None], np.array([1, pd.NA, 0], dtype=object)]
)
def test_rows_without_an_output_are_named(outputs: Any) -> None:
    for x in ([0, 0], [0, 1]):
        with pytest.raises(DomainError, match=r"for each of 3 rows, but that of row 1 is missing \((nan|<NA>)\); "):
            explain_among([[0, 0], [0, 1], [1, 1]], outputs, x)
    with pytest.raises(ArgumentError, match="output= takes what a model may answer, but nan was given"):
        explain_among([[0, 0], [0, 1], [1, 1]], [0, 1, 1], [1, 0], output=float("nan"))


@pytest.mark.parametrize("numbers", [float, np.float32, Fraction])
def test_numbers_that_are_not_whole_need_a_delta(numbers: Any) -> None:
    rows, outputs = [[0, 0], [0, 1], [1, 1]], [numbers(0), numbers(0.25), numbers(0.75)]
    with pytest.raises(SimilarityError, match=r"such as 0\.25 are those of a regression, which needs delta, .*delta="):
        explain_among(rows, outputs, rows[0])
    e = explain_among(rows, outputs, rows[0], delta=Fraction(1, 4))
    assert [c.features for c in e.cxps] == [("x0", "x1")]


def test_whole_floats_may_be_labels() -> None:
    rows = [[0, 0], [0, 1], [1, 1]]
    e = explain_among(rows, [0.0, 1.0, 1.0], rows[0])
    assert [c.features for c in e.cxps] == [("x1",)]
    assert explain_among(rows, [0.5, 1.5, 1.5], rows[0], toward=1.5).toward == 1.5


def test_outputs_have_the_index_of_the_rows() -> None:
    rows = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]}, index=[5, 6, 7])
    outputs = pd.Series([0, 1, 0], index=[5, 6, 7])
    expected = [("b",)]
    assert [c.features for c in explain_among(rows, outputs, rows.iloc[0]).cxps] == expected
    for other in (outputs.reset_index(drop=True), outputs.iloc[::-1], outputs.set_axis([5, 6, 8])):
        with pytest.raises(DomainError, match=r"same index, but .*; give outputs\.loc\[rows\.index\]"):
            explain_among(rows, other, rows.iloc[0])
    assert [c.features for c in explain_among(rows, outputs.to_numpy(), rows.iloc[0]).cxps] == expected
    assert [c.features for c in explain_among(rows.to_numpy(), outputs, [0, 0], output=0).cxps] == [("x1",)]


def test_outputs_of_several_kinds_stay_what_they_are() -> None:
    rows = [[0, 0], [0, 1], [1, 1]]
    assert ax.explain_among(rows, [1, "y", 1], [0, 0]).prediction == 1
    e = ax.explain_among(rows, [1, "y", 1], [1, 0], output=1)
    assert [c.features for c in e.cxps] == [("x0", "x1")]
    assert ax.explain_among(rows, ["y", 1, 1], [0, 0], toward=1).cxp_count == 1
    assert ax.explain_among(rows, [b"n", "y", b"n"], [0, 0]).prediction == b"n"


@pytest.mark.parametrize(
    ("outputs", "why"),
    [([float("nan"), "y", "n"], "that of row 0 is missing"), (pd.Series([[1], [2], [3]]), "number or a label")],
)
def test_what_is_no_output_is_refused_beside_others(outputs: Any, why: str) -> None:
    with pytest.raises(DomainError, match=why):
        ax.explain_among([[0, 0], [0, 1], [1, 1]], outputs, [0, 0])
