"""Tables that the command line reads: a row is explained as it stands in the file, or refused in a sentence."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

from axfi_kc.cli import main

ROWS = ("0,0,1", "0,1,0", "1,0,5", "1,1,2")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows no names of columns: nothing but their order tells them apart."""
    path = tmp_path_factory.mktemp("tables") / "tree.skops"
    X = [[int(cell) for cell in row.split(",")] for row in ROWS]
    dump(DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1]), path)
    return path


def explained(tree: Path, table: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str, str]:
    status = main(["explain", str(tree), str(table), "--row", "2", *more])
    out, err = capsys.readouterr()
    return status, out, err


def written(folder: Path, header: str, *rows: str, name: str = "table.csv", end: str = "\n") -> Path:
    (path := folder / name).write_text(end.join([header, *rows, ""]), newline="")
    return path


RAGGED = {
    "a label before each row": (["a,b,c", *(f"{k},{row}" for k, row in enumerate(ROWS))], "line 2 has 4 cells"),
    "two labels": (["a,b,c", *(f"{k},x,{row}" for k, row in enumerate(ROWS))], "line 2 has 5 cells"),
    "one more in the first row": (["a,b,c", "7," + ROWS[0], *ROWS[1:]], "line 2 has 4 cells"),
    "one more in a later row": (["a,b,c", *ROWS[:2], "7," + ROWS[2], ROWS[3]], "line 4 has 4 cells"),
    "one less": (["a,b,c", *ROWS[:3], "1,1"], "line 5 has 2 cells"),
    "one less in each row": (["a,b,c", *(row[:3] for row in ROWS)], "line 2 has 2 cells"),
    "one cell": (["a,b,c", "1", *ROWS], "line 2 has 1 cell,"),
    "separators at the end of rows": (["a,b,c", *(row + "," for row in ROWS)], "line 2 has 4 cells"),
    "after a line break in a cell": (['a,b,"c\nd"', *ROWS[:2], "1,1"], "line 5 has 2 cells"),
    "after empty lines": (["", "a,b,c", "", "  ", *ROWS[:2], "1,1"], "line 7 has 2 cells"),
}


@pytest.mark.parametrize(("lines", "words"), RAGGED.values(), ids=RAGGED)
def test_each_line_has_a_cell_for_each_column(lines, words: str, tree: Path, tmp_path: Path, capsys) -> None:
    table = written(tmp_path, *lines)
    expected = f"axfi-kc: {table}: {words}"
    for command in (["explain", str(tree)], ["info"], ["rules"]):
        assert main([*command, str(table)]) == 1
        out, err = capsys.readouterr()
        assert (out, err[: len(expected)]) == ("", expected)
        assert err.endswith("but the header names 3 columns; give each line a cell for each column.\n")
    plain = written(tmp_path, "a,b,c", *ROWS, name="plain.csv")
    assert main(["explain", str(tree), str(plain), "--domain", str(table)]) == 1
    assert capsys.readouterr().err.startswith(expected)


@pytest.mark.parametrize("pack", [gzip.open, bz2.open, lzma.open], ids=["gz", "bz2", "xz"])
def test_packed_tables_are_looked_at_as_well(pack: Callable[..., object], tree: Path, tmp_path: Path, capsys) -> None:
    suffix = {gzip.open: "gz", bz2.open: "bz2", lzma.open: "xz"}[pack]
    for rows, status in ((ROWS, 0), (["9," + row for row in ROWS], 1)):
        with pack(table := tmp_path / f"table.csv.{suffix}", "wt") as file:
            file.write("\n".join(["a,b,c", *rows]))
        found, _, err = explained(tree, table, capsys)
        assert found == status
        assert ("line 2 has 4 cells" in err) == bool(status)


def test_an_archive_holds_one_table(tree: Path, tmp_path: Path, capsys) -> None:
    for names, status in ((["a.csv"], 0), (["a.csv", "b.csv"], 1), ([], 1)):
        with ZipFile(table := tmp_path / "table.zip", "w") as archive:
            for name in names:
                archive.writestr(name, "\n".join(["a,b,c", *ROWS]))
        found, _, err = explained(tree, table, capsys)
        assert found == status
        assert ("cannot be read as CSV" in err) == bool(status)


@pytest.mark.parametrize("name", ["table.csv.zst", "table.tar.gz", "table.tar"])
def test_other_packings_are_named(name: str, tree: Path, tmp_path: Path, capsys) -> None:
    status, _, err = explained(tree, written(tmp_path, "a,b,c", *ROWS, name=name), capsys)
    assert (status, "plain or packed as .gz, .bz2, .xz or .zip, but it is not; unpack it" in err) == (1, True)


def test_names_of_columns_differ(tree: Path, tmp_path: Path, capsys) -> None:
    status, _, err = explained(tree, written(tmp_path, "a,b,a", *ROWS), capsys)
    assert (status, "needs a name of its own, but 'a' occurs twice; rename one" in err) == (1, True)
    columns = [pa.array([0, 0, 1, 1]), pa.array([0, 1, 0, 1]), pa.array([1, 0, 5, 2])]
    pq.write_table(pa.Table.from_arrays(columns, names=["a", "b", "a"]), table := tmp_path / "table.parquet")
    status, _, err = explained(tree, table, capsys)
    assert (status, len(err.splitlines())) == (1, 1)


@pytest.mark.parametrize(
    "lines",
    [
        ("\ufeffa,b,c", *ROWS),
        ('"a",b,"c"', '0,"0",1', *ROWS[1:]),
        ("a,b,c", "", ROWS[0], "   ", *ROWS[1:]),
        (",a,b,c", *(f"{k},{row}" for k, row in enumerate(ROWS))),
        ("a,b,c,", *(f"{row}," for row in ROWS)),
    ],
    ids=["mark at the beginning", "quotes", "empty lines", "a column without a name", "an empty column"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_as_programs_write_them(lines, end: str, tree: Path, tmp_path: Path, capsys) -> None:
    named = tree.with_name("named.skops")
    X = pd.DataFrame([[int(cell) for cell in row.split(",")] for row in ROWS], columns=list("abc"))
    dump(DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1]), named)
    status, out, _ = explained(named, written(tmp_path, *lines, end=end), capsys, "--json")
    assert status == 0
    assert json.loads(out)["instance"] == [1, 0, 5]


DIGITS = "1" * 400
LARGE = {
    "every cell": ([f"{DIGITS},0,1", f"{DIGITS}0,1,5"], "column 'a' should hold numbers that floats can hold, but"),
    "one cell": ([*ROWS, f"{DIGITS},0,1"], "column 'a' should hold numbers that floats can hold, but"),
    "an exponent": ([*ROWS, "1e400,0,1"], "Feature 'a' must be a number from"),
    "below": ([*ROWS, f"-{DIGITS},0,1"], "column 'a' should hold numbers that floats can hold, but"),
    "5000 digits": ([*ROWS, f"{'1' * 5000},0,1"], "column 'a' should hold numbers that floats can hold, but"),
    "beyond 2**53": ([*ROWS, f"{2**53 + 1},0,1"], "Integer feature 'a' must stay within"),
}


@pytest.mark.parametrize(("rows", "words"), LARGE.values(), ids=LARGE)
def test_numbers_that_no_float_holds(rows, words: str, tree: Path, tmp_path: Path, capsys) -> None:
    status, out, err = explained(tree, written(tmp_path, "a,b,c", *rows), capsys)
    assert (status, out, len(err.splitlines())) == (1, "", 1)
    assert words in err


def test_bounds_that_no_float_holds(tree: Path, tmp_path: Path, capsys) -> None:
    table = written(tmp_path, "a,b,c", *ROWS)
    for bound in ("1e400", DIGITS, "nan"):
        status, _, err = explained(tree, table, capsys, "--bounds", f"a=0:{bound}")
        assert (status, len(err.splitlines())) == (1, 1)
