"""The command explains rows of a table, and says what is wrong."""

from __future__ import annotations

import joblib
import matplotlib as mpl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

from axfi_kc.cli import main

mpl.use("Agg")


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture
def saved(tmp_path, cancer):
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(cancer.data, cancer.target)
    dump(model, tmp_path / "tree.skops")
    joblib.dump(model, tmp_path / "tree.joblib")
    cancer.data.head(50).assign(diagnosis=cancer.target.head(50)).to_csv(tmp_path / "data.csv", index=False)
    cancer.data.head(50).drop(columns=["mean radius", "mean area"]).to_csv(tmp_path / "narrow.csv", index=False)
    return tmp_path


def test_command_line_explains_a_row(saved, capsys) -> None:
    arguments = ["explain", str(saved / "tree.skops"), str(saved / "data.csv"), "--row", "3", "--target", "diagnosis"]
    assert main([*arguments, "--pictures", str(saved / "out")]) == 0
    output = capsys.readouterr().out
    assert "prediction: 0" in output
    assert "worst" in output
    assert {p.name for p in (saved / "out").iterdir()} == {
        "banzhaf.png", "cxps.png", "forest.dot", "forest.graphml", "forest.png", "shapley.png",
    }  # fmt: skip
    assert main([arguments[0], str(saved / "tree.joblib"), *arguments[2:], "--allow-pickle", "--max-size", "1"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tree.joblib", "data.csv"], "a pickle can run any code"),
        (["none.skops", "data.csv"], "no model file"),
        (["data.csv", "data.csv", "--allow-pickle"], "cannot be loaded as a pickled model"),
        (["tree.skops", "none.csv"], "cannot be read as CSV"),
        (["tree.skops", "data.csv", "--target", "diagnosis", "--row", "50"], "rows 0 to 49"),
        (["tree.skops", "data.csv", "--target", "label"], "no column 'label'"),
        (["tree.skops", "narrow.csv"], "columns 'mean radius', 'mean area', which the table lacks"),
    ],
)
def test_command_line_says_what_is_wrong(saved, capsys, arguments: list[str], words: str) -> None:
    files = [str(saved / a) if "." in a else a for a in arguments]
    assert main(["explain", *files]) == 1
    error = capsys.readouterr().err
    assert error.startswith("axfi-kc: ")
    assert words in error
    assert error.count("\n") == 1


def test_command_line_explains_an_xgboost_file(tmp_path, cancer, capsys) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(cancer.data, cancer.target)
    model.save_model(tmp_path / "model.json")
    cancer.data.head(50).to_csv(tmp_path / "data.csv", index=False)
    assert main(["explain", str(tmp_path / "model.json"), str(tmp_path / "data.csv"), "--row", "7"]) == 0
    assert "prediction: 0" in capsys.readouterr().out
    (tmp_path / "half.json").write_bytes((tmp_path / "model.json").read_bytes()[:5000])
    assert main(["explain", str(tmp_path / "half.json"), str(tmp_path / "data.csv")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_truncated_skops_file(saved, capsys) -> None:
    whole = (saved / "tree.skops").read_bytes()
    (saved / "half.skops").write_bytes(whole[: len(whole) // 2])
    assert main(["explain", str(saved / "half.skops"), str(saved / "data.csv")]) == 1
    assert "cannot be read as a skops file" in capsys.readouterr().err


def test_demo(tmp_path, capsys) -> None:
    assert main(["demo", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "worst concave points" in output
    assert (tmp_path / "forest.png").stat().st_size > 10_000
