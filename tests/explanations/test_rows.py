"""Tables as people have them: columns by name, a table for a domain, and rows that cannot be explained."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.errors import AxfiWarning, DomainError, RoundingError
from axfi_kc.explanations.page import report_html
from tests.support.kinds import kind

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, 60),
        "name": [f"somebody {k}" for k in range(60)],
        "sex": RNG.choice(["f", "m"], 60),
        "fare": RNG.uniform(0, 100, 60).round(1),
    },
    index=[f"p{k}" for k in range(60)],
)
LABEL = (TABLE.age > 50) ^ (TABLE.fare > 40)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(TABLE[["age", "fare"]], LABEL)


def quiet(function: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AxfiWarning)
        return function(*arguments, **options)


def test_a_table_is_a_domain() -> None:
    with pytest.warns(AxfiWarning, match=r"^Columns that are no features are ignored: 'name', 'sex'\.$") as told:
        made = ax.Explainer(TREE, TABLE)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert made.domain == ax.Domain.from_data(TABLE[["age", "fare"]])
    array = TABLE[["age", "fare"]].to_numpy()
    assert ax.Explainer(TREE, array).domain.names == ("age", "fare")
    assert ax.Explainer(lambda p: p[0] > 1, np.array([[0], [3]])).domain.names == ("x0",)
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"fare": TABLE.fare.tolist(), "age": TABLE.age.tolist()})
    assert ax.Explainer(TREE, frame).domain == made.domain


def test_columns_that_a_table_lacks() -> None:
    model = DecisionTreeClassifier(max_depth=2).fit(TABLE[["age", "fare"]].assign(more=1, less=0), LABEL)
    with pytest.raises(DomainError, match=r"trained on columns 'more', 'less', which the table lacks; it has 'age'"):
        ax.Explainer(model, TABLE)
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    with pytest.raises(DomainError, match=r"no value for features 'age', 'fare'.*found: 'name'"):
        made.explain_batch(TABLE[["name"]])
    with pytest.raises(DomainError, match=r"no value for feature 'fare'.*found: 'age', 'name'"):
        made.explain(TABLE[["age", "name"]].iloc[0])


def test_columns_in_any_order() -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    expected = made.explain_batch(TABLE[["age", "fare"]]).scores()
    pd.testing.assert_frame_equal(made.explain_batch(TABLE[["fare", "age"]]).scores(), expected)
    pd.testing.assert_frame_equal(quiet(made.explain_batch, TABLE[["name", "fare", "age"]]).scores(), expected)
    for row in (TABLE.iloc[0], TABLE.iloc[[0]], dict(TABLE.iloc[0])):
        with pytest.warns(AxfiWarning, match="ignored: 'name', 'sex'") as told:
            assert made.explain(row).scores() == dict(expected.iloc[0])
        assert len(told) == 1


def test_a_pipeline_that_drops_columns() -> None:
    columns = make_column_transformer((StandardScaler(), ["fare"]), (OneHotEncoder(), ["sex"]))
    model = make_pipeline(columns, LogisticRegression()).fit(TABLE, TABLE.fare > 40)
    made = quiet(ax.Explainer, model, TABLE)
    assert made.domain.names == ("sex", "fare")
    batch = quiet(made.explain_batch, TABLE)
    assert batch.predictions == model.predict(TABLE).tolist()
    own = model.predict_proba(TABLE)
    assert batch.probabilities == pytest.approx(own.max(axis=1).tolist(), rel=1e-12)
    assert ax.verify(batch[0], model).ok


def wrong() -> pd.DataFrame:
    """Return rows of which one lies outside, one is no number and one is missing."""
    found = TABLE[["age", "fare"]].head(8).astype(object)
    found.loc["p2", "fare"], found.loc["p4", "age"], found.loc["p7", "fare"] = 1e6, "old", None
    return found


def test_the_first_wrong_row_is_named() -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    with pytest.raises(DomainError, match=r"^Row 'p2': Feature 'fare' must be a number from .*1000000"):
        made.explain_batch(wrong())
    with pytest.raises(DomainError, match=r"^Row 1: Feature 'age' takes numbers, but 'old' was found"):
        made.explain_batch([{"age": 30, "fare": 5.0}, {"age": "old", "fare": 5.0}])
    with pytest.raises(DomainError, match="on_error must be 'raise' or 'skip'"):
        made.explain_batch(wrong(), on_error="ignore")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_wrong_rows_are_skipped(tmp_path: Path, suffix: str) -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    good = TABLE[["age", "fare"]].head(8).drop(index=["p2", "p4", "p7"])
    batch, right = made.explain_batch(wrong(), on_error="skip"), made.explain_batch(good)
    assert batch.rows == ("p0", "p1", "p3", "p5", "p6")
    assert list(batch.skipped) == ["p2", "p4", "p7"]
    assert "must be a number from" in batch.skipped["p2"]
    assert "takes numbers, but 'old' was found" in batch.skipped["p4"]
    assert "is missing" in batch.skipped["p7"]
    assert "3 rows skipped" in repr(batch)
    pd.testing.assert_frame_equal(batch.to_frame(exact=True), right.to_frame(exact=True))
    path = tmp_path / f"out.{suffix}"
    with pytest.raises(DomainError, match="Row 'p2'"):
        made.explain_to(path, wrong())
    assert not path.exists()
    saved = made.explain_to(path, wrong(), on_error="skip")
    assert (saved.skipped, saved.rows) == (dict(batch.skipped), batch.rows)
    assert saved.is_complete
    assert "3 rows skipped" in repr(saved)
    assert made.explain_to(path, wrong(), on_error="skip").skipped == saved.skipped  # goes on
    for found in (batch, saved):
        assert "takes numbers, but &#x27;old&#x27; was found" in report_html(found)
    assert "Skipped rows" not in report_html(right)


RULED = pd.DataFrame(
    {"age": [30, 99, 40, 20, 30, 60], "fare": [5.0, 5.0, 60.0, 5.0, 60.0, 5.0]},
    index=["anna", "bert", "carl", "dora", "emil", "fred"],
)
REASONS = {
    "bert": "Feature 'age' must be an integer from 18 to 89",
    "carl": "The instance cannot exist, because it violates a constraint of its domain: if age >= 40 then fare < 50; ",
    "dora": "The region leaves out the instance itself, whose 'age' is 20; widen its range",
}


def ruled(**options: Any) -> ax.Explainer:
    """Return what explains points that can exist, within a region: all rows above but three."""
    domain = ax.Domain([ax.Integer("age", 18, 89), ax.Real("fare", 0, 100)])
    possible = domain.where((ax.feature("age") >= 40) >> (ax.feature("fare") < 50))
    return ax.Explainer(TREE, possible, within=ax.Region(ranges={"age": (25, 70)}), **options)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_that_cannot_exist_or_are_left_out_are_skipped(tmp_path: Path, suffix: str, n_jobs: int) -> None:
    made, path = ruled(), tmp_path / f"out.{suffix}"
    batch = made.explain_batch(RULED, on_error="skip", n_jobs=n_jobs)
    right = made.explain_batch(RULED.drop(index=list(REASONS)))
    assert batch.rows == ("anna", "emil", "fred")
    assert list(batch.skipped) == list(REASONS)
    assert all(batch.skipped[label].startswith(why) for label, why in REASONS.items())
    pd.testing.assert_frame_equal(batch.to_frame(exact=True), right.to_frame(exact=True))
    saved = made.explain_to(path, RULED, on_error="skip", n_jobs=n_jobs)
    assert (saved.skipped, saved.rows, saved.n_rows) == (batch.skipped, batch.rows, 3)
    pd.testing.assert_frame_equal(saved.scores(), batch.scores())
    assert made.explain_to(path, RULED, on_error="skip", n_jobs=n_jobs).skipped == batch.skipped  # goes on
    for found in (batch, saved):
        assert "3 rows skipped" in repr(found)
        assert "widen its range" in report_html(found)


def test_rows_that_cannot_exist_or_are_left_out_are_named(tmp_path: Path) -> None:
    made = ruled()
    for label in REASONS:
        row, why = RULED.drop(index=[other for other in REASONS if other != label]), REASONS[label]
        with pytest.raises(DomainError) as told:
            made.explain_batch(row)
        assert str(told.value).startswith(f"Row {label!r}: {why}")
        with pytest.raises(DomainError) as told:
            made.explain_to(tmp_path / "out.jsonl", row)
        assert str(told.value).startswith(f"Row {label!r}: {why}")
        with pytest.raises(DomainError) as told:
            made.explain(RULED.loc[[label]])  # which is one, and needs no name
        assert str(told.value).startswith(why)
    with pytest.raises(DomainError, match="Row 'carl'"):
        made.explain_batch(RULED.drop(index="bert"))  # the first of two
    with pytest.raises(DomainError, match="Row 'dora'"):
        made.explain_batch(RULED.loc[["anna", "dora", "carl"]])
    assert not list(tmp_path.iterdir())


def test_all_rows_may_be_left_out(tmp_path: Path) -> None:
    batch = ruled().explain_batch(RULED.loc[list(REASONS)], on_error="skip")
    assert (len(batch), list(batch.skipped)) == (0, list(REASONS))
    saved = ruled().explain_to(tmp_path / "out.jsonl", RULED.loc[list(REASONS)], on_error="skip")
    assert (len(saved), saved.skipped) == (0, batch.skipped)


KINDS_OF_RULES = {
    "function": lambda p: p[0] > 3,
    "forest": RandomForestClassifier(5, random_state=0).fit([[k, k % 5] for k in range(10)], [0] * 4 + [1] * 6),
    "linear": LogisticRegression().fit([[k, k % 5] for k in range(10)], [0] * 4 + [1] * 6),
}


@pytest.mark.parametrize("name", KINDS_OF_RULES)
@pytest.mark.parametrize("space", ["discrete", "real", "distributed", "categories"])
def test_impossible_rows_are_skipped_by_every_engine(name: str, space: str) -> None:
    first = ax.Real("a", 0, 9) if space == "real" and name != "function" else ax.Integer("a", 0, 9)
    domain = ax.Domain([first, ax.Integer("b", 0, 9), ax.Categorical("c", ["x", "y", "z"])])
    model: Any = KINDS_OF_RULES[name]
    if name != "function":
        domain = ax.Domain(domain.features[:2])
    elif space == "categories":
        domain = domain.where(ax.feature("c") != "z")
    domain = domain.where(ax.feature("a") != 5 if space != "real" else ax.feature("a") < 5)
    if space == "distributed":
        domain = domain.with_distribution(ax.Product.of(domain))
    rows = [(4, 1, "x"), (5, 1, "y"), (1, 2, "x"), (5, 3, "z")]
    rows = rows if name == "function" else [row[:2] for row in rows]
    made = ax.Explainer(model, domain)
    batch = made.explain_batch(rows, on_error="skip")
    assert (batch.rows, list(batch.skipped)) == ((0, 2), [1, 3])
    assert [e.cxps for e in batch] == [made.explain(rows[n]).cxps for n in (0, 2)]
    with pytest.raises(DomainError, match=r"^Row 1: The instance cannot exist"):
        made.explain_batch(rows)


def test_a_region_that_fits_no_row_is_no_fault_of_the_rows() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Categorical("c", ["x", "y"])])
    for ranges, said in (({"c": ["w"]}, "no category 'w'"), ({"a": (1, 2, 3)}, r"must be \(low, high\)")):
        with pytest.raises(DomainError, match=said):
            ax.Explainer(lambda p: p[0] > 3, domain, within=ax.Region(ranges=ranges))


def test_all_rows_may_be_wrong() -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    batch = made.explain_batch(wrong().loc[["p2", "p2", "p4"]], on_error="skip")
    assert len(batch) == 0
    assert list(batch.skipped) == ["p2", "p2", "p4"]  # a label that occurs twice
    assert [why.count("1000000") for why in batch.skipped.values()] == [1, 1, 0]
    assert "3 rows skipped" in repr(batch)


def test_rows_within_rounding_of_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    rows, own = TABLE[["age", "fare"]].head(6), made._predict
    tie = rows.age["p3"]

    def rounded(codes: np.ndarray) -> list[bool]:
        return [y ^ bool(c[0] == tie) for y, c in zip(own(codes), codes, strict=True)]

    monkeypatch.setattr(made, "_predict", rounded)
    with pytest.raises(RoundingError, match=r"^Row 'p3': The model's own predict should give"):
        made.explain_batch(rows)
    batch = made.explain_batch(rows, on_error="skip")
    assert batch.rows == tuple(label for label in rows.index if rows.age[label] != rows.age["p3"])
    assert "rounding of a tie" in batch.skipped["p3"]
    right = ax.Explainer(TREE, made.domain)
    assert batch.scores().to_dict("records") == [right.explain(rows.loc[n]).scores() for n in batch.rows]


@pytest.mark.parametrize("name", ["function", "forest", "linear", "circuit"])
def test_every_kind_of_model_skips(name: str) -> None:
    made = kind(name)
    explainer = ax.Explainer(made.model, made.domain, delta=made.delta)
    rows = [*made.rows, ["nothing"] * len(made.domain)]
    batch = explainer.explain_batch(rows, on_error="skip")
    assert (len(batch), list(batch.skipped)) == (len(made.rows), [len(made.rows)])


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_numbers_of_workers(n_jobs: Any, tmp_path: Path) -> None:
    made = ax.Explainer(TREE, TABLE[["age", "fare"]])
    with pytest.raises(DomainError, match="n_jobs must be a number of workers"):
        made.explain_batch(TABLE[["age", "fare"]], n_jobs=n_jobs)
    with pytest.raises(DomainError, match="n_jobs must be a number of workers"):
        made.explain_to(tmp_path / "out.jsonl", TABLE[["age", "fare"]], n_jobs=n_jobs)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("max_size", ["1", 1.5, 0, -1, True])
def test_largest_sizes(max_size: Any) -> None:
    with pytest.raises(DomainError, match="max_size must be a positive whole number"):
        ax.Explainer(TREE, TABLE[["age", "fare"]], max_size=max_size)


def test_labels_that_do_not_compare_are_no_other_rows() -> None:
    explainer = ax.Explainer(lambda p: p[0] > 1, ax.Domain([ax.Integer("a", 0, 3)]))
    odd = explainer.explain_batch(pd.DataFrame({"a": [0, 1, 2]}, index=["007", "7", pd.NA]))
    assert [odd.at(label).row for label in ("007", "7")] == ["007", "7"]
    paired = explainer.explain_batch(pd.DataFrame({"a": [0, 3]}, index=pd.MultiIndex.from_tuples([(1, 2), (1, 3)])))
    assert paired.at((1, 3)).instance == {"a": 3}
    for batch, label in ((odd, pd.NA), (odd, "x"), (paired, np.int64(1)), (paired, pd.NA)):
        with pytest.raises(DomainError, match="was asked for; choose one"):
            batch.at(label)
