"""Streams notice damage and mend it, keep labels, go on over budget, and read what earlier releases wrote."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import axfi_kc as ax
from axfi_kc.errors import AxfiWarning, BudgetError, IncompleteError, ResultFileError, WeightError
from axfi_kc.explanations.files.labels import label_text, row_label
from axfi_kc.explanations.files.stores import store_at
from axfi_kc.explanations.page import report_html
from axfi_kc.models import LinearModel, Positive
from tests.faults.scenes import BLOCK, ROWS, equal_blocks, explainer, rows

SUFFIXES = ("jsonl", "parquet")
OLD = Path(__file__).parent / "data"


def whole(folder: Path, suffix: str, name: str = "out", **options) -> Path:
    path = folder / f"{name}.{suffix}"
    with equal_blocks():
        explainer(**options).explain_to(path, rows(), progress=False)
    return path


def read(path: Path) -> list[dict]:
    return list(store_at(path).records())


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def parts_of(path: Path) -> list[Path]:
    return sorted(path.glob("part-*"))


def mended(path: Path, damaged: str) -> None:
    with equal_blocks(), pytest.warns(AxfiWarning, match=f"was damaged at {damaged}: computed again"):
        explainer().explain_to(path, rows(), progress=False)


# Damage of lines. Line n + 1 is row n.


def swap(lines: list[bytes]) -> None:
    lines[5], lines[9] = lines[9], lines[5]


def replace_row(lines: list[bytes]) -> None:
    lines[5] = lines[9]


def renumber(lines: list[bytes]) -> None:
    lines[5] = lines[5].replace(b'"row": 4', b'"row": 5')


def cut_cxps(lines: list[bytes]) -> None:
    row = json.loads(lines[5])
    lines[5] = json.dumps({**row, "cxps": row["cxps"][:1]}).encode() + b"\n"


def drop(lines: list[bytes]) -> None:
    del lines[5]


def repeat(lines: list[bytes]) -> None:
    lines.insert(6, lines[5])


def flip(lines: list[bytes]) -> None:
    lines[5] = lines[5][:40] + bytes([lines[5][40] ^ 1]) + lines[5][41:]


def blank(lines: list[bytes]) -> None:
    lines[5] = bytes(len(lines[5]) - 1) + b"\n"


@pytest.mark.parametrize("damage", [swap, replace_row, renumber, cut_cxps, drop, repeat, flip, blank])
def test_a_damaged_line_is_named_and_computed_again(tmp_path, damage) -> None:
    path = whole(tmp_path, "jsonl")
    right, lines = path.read_bytes(), lines_of(path)
    damage(lines)
    path.write_bytes(b"".join(lines))
    with pytest.raises(ResultFileError, match=r"^Row (4|5) of .* is damaged: .* run explain_to once more"):
        read(path)
    with pytest.raises(ResultFileError, match="is damaged"):
        len(ax.read_results(path))
    if damage is repeat:  # nothing to compute
        explainer().explain_to(path, rows(), progress=False)
    else:
        mended(path, "row 4, row 8" if damage is swap else "row 4")
    assert path.read_bytes() == right


def test_a_row_of_another_run_is_noticed(tmp_path) -> None:
    path, other = whole(tmp_path, "jsonl"), whole(tmp_path, "jsonl", "other", weights="count")
    right, lines = path.read_bytes(), lines_of(path)
    lines[3] = lines_of(other)[3]
    path.write_bytes(b"".join(lines))
    with pytest.raises(ResultFileError, match=r"Row 2 of .* is cut or changed"):
        read(path)
    mended(path, "row 2")
    assert path.read_bytes() == right


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_changed_header_is_noticed(tmp_path, suffix: str) -> None:
    path = whole(tmp_path, suffix)
    file = path if suffix == "jsonl" else path / "_axfi.json"
    right = file.read_bytes()
    file.write_bytes(right.replace(b'"ratio"', b'"count"', 1))
    with pytest.raises(ResultFileError, match=r"header of .* is damaged"):
        ax.read_results(path)
    with equal_blocks():  # the rows say whose they are
        explainer().explain_to(path, rows(), progress=False)
    assert file.read_bytes() == right
    file.write_bytes(right.replace(b'"ratio"', b'"count"', 1))
    with pytest.raises(ResultFileError, match=r"header of .* is damaged"):
        explainer(weights="count").explain_to(path, rows(), progress=False)


def test_a_swapped_a_changed_and_a_missing_part_are_noticed(tmp_path) -> None:
    path, other = whole(tmp_path, "parquet"), whole(tmp_path, "parquet", "other", weights="count")
    right = {p.name: p.read_bytes() for p in parts_of(path)}
    first, second, third = parts_of(path)[:3]

    def check(words: str, damaged: str) -> None:
        with pytest.raises(ResultFileError, match=words):
            read(path)
        mended(path, damaged)
        assert {p.name: p.read_bytes() for p in parts_of(path)} == right

    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    check("rows 0 to 3 are cut, changed or of another run", "rows 0 to 7")
    second.write_bytes(second.read_bytes().replace(b"PAR1", b"PAR2"))
    check("rows 4 to 7 are cut, changed", "rows 4 to 7")
    second.unlink()
    check("rows 4 to 7 are missing", "rows 4 to 7")
    third.write_bytes(parts_of(other)[2].read_bytes())
    check("rows 8 to 11 are cut, changed or of another run", "rows 8 to 11")
    shutil.copy(parts_of(other)[2], path)
    with pytest.raises(ResultFileError, match=r"row 8 is there twice|cut, changed"):
        read(path)
    explainer().explain_to(path, rows(), progress=False)
    assert {p.name: p.read_bytes() for p in parts_of(path)} == right


def test_a_copied_part_without_a_checksum_is_noticed_and_removed(tmp_path) -> None:
    path = whole(tmp_path, "parquet")
    first, expected = parts_of(path)[0], read(path)
    shutil.copy(first, path / f"{first.name.rpartition('-')[0]}.parquet")
    with pytest.raises(ResultFileError):
        read(path)
    with equal_blocks():
        explainer().explain_to(path, rows(), progress=False)
    assert read(path) == expected


def test_only_what_is_damaged_is_computed_again(tmp_path) -> None:
    path = whole(tmp_path, "parquet")
    parts_of(path)[2].unlink()
    own, seen = explainer(), []
    find = own._find
    own._find = lambda codes: seen.append(len(codes)) or find(codes)
    with equal_blocks(), pytest.warns(AxfiWarning):
        own.explain_to(path, rows(), progress=False)
    assert seen == [BLOCK]


# Earlier releases.

FOUR = [{"a": 3, "b": 4, "c": "x"}, {"a": 7, "b": 7, "c": "y"}, {"a": 9, "b": 0, "c": "z"}, {"a": 0, "b": 9, "c": "y"}]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_streams_without_checksums_are_read_and_gone_on_with(tmp_path, suffix: str) -> None:
    copy = shutil.copytree if suffix == "parquet" else shutil.copy
    path = Path(copy(OLD / f"v1.{suffix}", tmp_path / f"v1.{suffix}"))
    saved = ax.read_results(path)
    assert [e.cxps for e in saved] == [e.cxps for e in explainer().explain_batch(FOUR)]
    if suffix == "jsonl":
        path.write_bytes(path.read_bytes()[:-30])
    else:
        parts_of(path)[0].unlink()
    assert explainer().explain_to(path, FOUR, progress=False).is_complete
    if suffix == "jsonl":
        assert path.read_bytes() == (OLD / "v1.jsonl").read_bytes()
    else:
        assert pd.read_parquet(path).equals(pd.read_parquet(OLD / "v1.parquet"))
        assert [p.name for p in parts_of(path)] == ["part-0000000000-0000000004.parquet"]
    with pytest.raises(ResultFileError, match="another model"):
        explainer(weights="unit").explain_to(path, FOUR, progress=False)


def test_a_damaged_stream_without_checksums_is_refused(tmp_path) -> None:
    path = Path(shutil.copy(OLD / "v1.jsonl", tmp_path / "v1.jsonl"))
    lines = lines_of(path)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    with pytest.raises(ResultFileError, match=r"damaged: row 1 should come next; remove it"):
        explainer().explain_to(path, FOUR, progress=False)
    with pytest.raises(ResultFileError, match=r"Row 1 of .* row 2 is in its place"):
        read(path)


# Labels.

INDEXES = {
    "range": pd.RangeIndex(4),
    "integers": pd.Index([5, -3, 2**60, 0]),
    "unsigned": pd.Index([0, 1, 2, 2**64 - 1], dtype="uint64"),
    "floats": pd.Index([0.5, -1.0, 1e300, np.inf]),
    "with a gap": pd.Index([0.5, np.nan, 1.0, 2.0]),
    "texts": pd.Index(["a", "1", '{"tuple": [1]}', ""]),
    "booleans": pd.Index([True, False, True, False]),
    "times": pd.date_range("2026-03-28 23:30", periods=4, freq="h"),
    "times somewhere": pd.date_range("2026-10-25 00:30", periods=4, freq="h", tz="Europe/Berlin"),
    "spans": pd.to_timedelta(["1D", "3ns", "-2h", "0s"]),
    "periods": pd.period_range("2026-01", periods=4, freq="M"),
    "intervals": pd.interval_range(0.0, 2.0, periods=4),
    "intervals of time": pd.interval_range(pd.Timestamp("2026"), periods=4, closed="left"),
    "categories": pd.CategoricalIndex(["low", "high", "low", "mid"]),
    "pairs": pd.MultiIndex.from_product([["x", "y"], [1, 2]]),
    "pairs with times": pd.MultiIndex.from_arrays([[1, 2, 3, 4], pd.date_range("2026", periods=4)]),
    "dates": pd.Index([dt.date(2026, 1, d) for d in (1, 2, 3, 4)]),
    "decimals": pd.Index([Decimal("1.50"), Decimal("1.5"), Decimal("-0"), Decimal(3)]),
    "fractions": pd.Index([Fraction(1, 3), Fraction(2), Fraction(-1, 7), Fraction(0)]),
    "bytes": pd.Index([b"", b"a", b"\0\xff", b"b"]),
    "mixed": pd.Index(["a", 1, None, (1, "b")], dtype=object),
    "twice the same": pd.Index(["a", "a", "b", "b"]),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_labels_are_the_same_through_every_door(tmp_path, kind: str) -> None:
    table = pd.DataFrame(FOUR, index=INDEXES[kind])
    batch = explainer().explain_batch(table)
    doors = [explainer().explain_to(tmp_path / f"out.{suffix}", table, progress=False) for suffix in SUFFIXES]
    for saved in doors:
        assert [(type(x), repr(x)) for x in saved.rows] == [(type(x), repr(x)) for x in batch.rows]
        pd.testing.assert_index_equal(saved.scores().index, batch.scores().index)
        saved_again = explainer().explain_to(saved.path, table, progress=False)  # the same run
        assert len(saved_again) == 4


def test_skipped_rows_keep_their_labels(tmp_path) -> None:
    table = pd.DataFrame(FOUR, index=pd.date_range("2026", periods=4))
    table.iloc[2, 0] = 99
    batch = explainer().explain_batch(table, on_error="skip")
    for suffix in SUFFIXES:
        saved = explainer().explain_to(tmp_path / f"out.{suffix}", table, on_error="skip", progress=False)
        assert saved.skipped == batch.skipped
        assert list(saved.skipped) == [pd.Timestamp("2026-01-03")]


def test_labels_of_any_other_kind_are_texts() -> None:
    zone = dt.timezone(dt.timedelta(hours=2), "own")
    for label, text in ((1j, "1j"), (dt.time(1, tzinfo=zone), "01:00:00+02:00"), (((1,), 2), "((1,), 2)")):
        assert label_text(label) == text
    with pytest.raises(ResultFileError, match="label of a row"):
        row_label({"timestamp": ["yesterday?", "ns", None]})
    with pytest.raises(ResultFileError):
        row_label({"no": "such"})


# What is asked.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_kinds_named_twice_are_written_once(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    options = {"kinds": ["shapley", "banzhaf", "shapley"], "interactions": ["shapley", "shapley"]}
    saved = explainer().explain_to(path, FOUR, progress=False, **options)
    assert [e.scores() for e in saved] == [e.scores() for e in explainer().explain_batch(FOUR)]
    assert len(explainer().explain_to(path, FOUR, kinds=["shapley", "banzhaf"], interactions=["shapley"])) == 4


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_call_that_fails_does_not_stand_in_the_way_of_the_right_one(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    domain = ax.Domain([ax.Real("a", 0, 9), ax.Real("b", 0, 9)])
    model = LinearModel.of_columns(domain, [[1, 1]], intercepts=[-9], rule=Positive((0, 1)))
    with pytest.raises(WeightError):
        ax.Explainer(model, domain, weights="count").explain_to(path, [[1, 2]], progress=False)
    with pytest.raises(WeightError):
        explainer().explain_to(path, FOUR, kinds=["no such"])
    saved = ax.Explainer(model, domain).explain_to(path, [[1, 2]], progress=False)
    assert len(saved) == 1
    with pytest.raises(ResultFileError, match="another model"):
        ax.Explainer(model, domain, weights="unit").explain_to(path, [[1, 2]], progress=False)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_halves_of_characters_come_back(tmp_path, suffix: str) -> None:
    """In labels, outputs and names of classes; UTF-8 has no letters for them."""
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    labels = ["x\ud800", ("y", "\udfff")]
    table = pd.DataFrame(
        [[0, 1], [2, 3]], columns=["a", "b"], index=pd.Index(labels, dtype=object, tupleize_cols=False)
    )
    outputs = ["n\udc00", "\ud800"]
    for k, names in enumerate((None, {outputs[0]: "\udead", outputs[1]: "b"})):
        made = ax.Explainer(lambda p: outputs[p[0] > 1], domain, class_names=names)
        saved = made.explain_to(tmp_path / f"{k}.{suffix}", table, progress=False)
        assert (list(saved.rows), saved.predictions) == (labels, outputs)
        assert [e.prediction_name for e in saved] == [e.prediction_name for e in made.explain_batch(table)]


# Rows over budget.


def over_budget(own: ax.Explainer, bad: set[int]) -> ax.Explainer:
    """Let the budget of some rows, by their first feature, be spent at once."""
    find = own._find

    def finding(codes, *located):
        for n, code in enumerate(codes.tolist()):
            if code[0] in bad:
                error = BudgetError("The budget was spent after 1 node; allow more.", nodes=1)
                error.row = n
                raise error
        return find(codes, *located)

    own._find = finding
    return own


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_row_over_budget_is_recorded_and_the_run_goes_on(tmp_path, suffix: str) -> None:
    path, table = tmp_path / f"out.{suffix}", pd.DataFrame(rows(), index=[f"p{k}" for k in range(ROWS)])
    bad = [n for n, row in enumerate(rows()) if row["a"] in (2, 8)]
    assert bad
    own = over_budget(explainer(), {2, 8})
    with equal_blocks(), pytest.warns(AxfiWarning, match=f"{len(bad)} rows complete up to 0 features"):
        saved = own.explain_to(path, table, kinds=["shapley", "ffa"], progress=False)
    assert saved.is_complete
    assert saved.stopped_rows == {f"p{n}": 0 for n in bad}
    batch = explainer().explain_batch(table)
    assert saved.predictions == batch.predictions
    for n, (mine, theirs) in enumerate(zip(saved, batch, strict=True)):
        assert (mine.stopped_at, mine.cxps) == ((0, ()) if n in bad else (None, theirs.cxps))
        assert mine.instance == theirs.instance
    words = "the budget was spent after 1 node; allow more."
    assert saved.over_budget == {f"p{n}": f"Row 'p{n}': {words}" for n in bad}
    page = report_html(saved)
    assert "complete up to 0 features" in page
    table_of_scores = saved.scores("shapley")
    assert all((table_of_scores.iloc[n] == 0).all() == (n in bad) for n in range(ROWS))
    with pytest.raises(IncompleteError, match=f"row 'p{bad[0]}' was spent"):
        saved.scores("ffa")
    good = [n for n in range(ROWS) if n not in bad]
    wanted = batch.scores("ffa").iloc[good]
    stated = [e.stated.scores["ffa"] for n, e in enumerate(saved) if n in good]
    assert stated == wanted.to_dict("records")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_of_one_label_are_counted_each(tmp_path, suffix: str) -> None:
    """By streams, batches, their words and what they warn of."""
    table = pd.DataFrame(rows(), index=["same"] * ROWS)
    bad = [n for n, row in enumerate(rows()) if row["a"] in (2, 8)]
    told = rf"some of {ROWS} rows.*: {len(bad)} rows complete up to 0 features \(the first is 'same'\)"
    with equal_blocks(), pytest.warns(AxfiWarning, match=told):
        saved = over_budget(explainer(), {2, 8}).explain_to(tmp_path / f"out.{suffix}", table, progress=False)
    for found in (saved.stopped_rows, saved.over_budget):
        assert len(found) == len(list(found)) == len(found.values()) == len(bad)
        assert found != {"same": found["same"]}
    assert dict(saved.stopped_rows) == {"same": 0}
    stopping = explainer(budget=ax.Budget(nodes=1))
    stopping._find = lambda codes, *_: replace(explainer()._find(codes), radii=[1] * len(codes))
    with pytest.warns(AxfiWarning, match=f"{ROWS} rows complete up to 1 feature "):
        batch = stopping.explain_batch(table)
    assert len(batch.stopped_rows) == ROWS
    assert f"{ROWS} rows complete up to 1 feature>" in repr(batch)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_pages_about_a_run_that_is_not_finished_say_so(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    value = rows()[BLOCK + 2]["a"]
    with equal_blocks(), pytest.raises(BudgetError):
        over_budget(explainer(on_budget="raise"), {value}).explain_to(path, rows(), progress=False)
    part = ax.read_results(path)
    assert 0 < len(part) < ROWS
    assert f"{len(part)} of {ROWS} rows: the run is not finished" in report_html(part)
    assert f"There are {len(part)} of {ROWS} rows: the run is not finished" in ax.explore_html(part)
    whole = explainer().explain_to(path, rows(), progress=False)
    for page in (report_html(whole), ax.explore_html(whole)):
        assert "not finished" not in page


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_it_is_an_error_the_rows_before_it_stay(tmp_path, suffix: str) -> None:
    path, value = tmp_path / f"out.{suffix}", rows()[BLOCK + 2]["a"]
    first = next(n for n, row in enumerate(rows()) if row["a"] == value)
    assert first % BLOCK
    with equal_blocks(), pytest.raises(BudgetError, match=f"^Row {first}: the budget was spent"):
        over_budget(explainer(on_budget="raise"), {value}).explain_to(path, rows(), progress=False)
    assert len(ax.read_results(path)) == first
    for _ in range(2):  # nothing is lost by trying again
        with equal_blocks(), pytest.raises(BudgetError, match=f"^Row {first}: "):
            over_budget(explainer(on_budget="raise"), {value}).explain_to(path, rows(), progress=False)
    with pytest.warns(AxfiWarning, match="0 features"):  # nor does it block the run for good
        saved = over_budget(explainer(), {value}).explain_to(path, rows(), progress=False)
    assert saved.is_complete


def test_a_budget_that_does_not_say_which_row_finds_it(tmp_path) -> None:
    own = explainer()
    find = own._find

    def finding(codes, *located):
        if 8 in codes[:, 0]:
            raise BudgetError("The budget was spent; allow more.")
        return find(codes, *located)

    own._find = finding
    with pytest.warns(AxfiWarning, match="0 features"):
        saved = own.explain_to(tmp_path / "out.jsonl", rows(), progress=False)
    assert list(saved.stopped_rows) == [n for n, row in enumerate(rows()) if row["a"] == 8]
    assert all("Row" in record.get("over_budget", "Row") for record in read(tmp_path / "out.jsonl"))


def test_a_budget_that_is_far_too_small_still_gives_a_file(tmp_path) -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 10, (200, 8)).astype(float)
    model = GradientBoostingClassifier(n_estimators=40, max_depth=4, random_state=0).fit(X, X[:, :4].sum(axis=1) > 18)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 9) for i in range(8)])
    own = ax.Explainer(model, domain, budget=ax.Budget(nodes=1))
    with pytest.warns(AxfiWarning, match="0 features"):
        saved = own.explain_to(tmp_path / "out.jsonl", X[:6], progress=False)
    assert (len(saved), saved.radii) == (6, [0] * 6)
    assert saved.predictions == model.predict(X[:6]).tolist()
    row = next(iter(saved))
    assert ax.verify(row, model).ok
    for asked in ("necessary", "in_smallest_cxps"):
        with pytest.raises(IncompleteError, match="before any CXp was"):
            getattr(row, asked)
