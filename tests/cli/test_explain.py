"""The command explains rows of a table, and says what is wrong."""

from __future__ import annotations

import json

import joblib
import matplotlib as mpl
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

import axfi_kc as ax
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
        "banzhaf.png", "cxps.png", "force.png", "forest.dot", "forest.graphml", "forest.png", "shapley.png",
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


def test_columns_that_the_model_does_not_use_are_named_once(saved, capsys, cancer) -> None:
    table = cancer.data.head(50).assign(diagnosis=cancer.target.head(50), name=[f"tumour {k}" for k in range(50)])
    table.iloc[:, ::-1].to_csv(saved / "raw.csv", index=False)
    assert main(["explain", str(saved / "tree.skops"), str(saved / "data.csv"), "--target", "diagnosis"]) == 0
    expected = capsys.readouterr().out
    assert main(["explain", str(saved / "tree.skops"), str(saved / "raw.csv"), "--row", "0"]) == 0
    output, error = capsys.readouterr()
    assert output == expected
    assert error == "axfi-kc: Columns that are no features are ignored: 'name', 'diagnosis'.\n"


@pytest.mark.parametrize("names", [["sick", "well"], ["1=well", "0=sick"]])
def test_classes_have_names(saved, capsys, names) -> None:
    files = [str(saved / "tree.skops"), str(saved / "data.csv"), "--target", "diagnosis", "--class-names", *names]
    assert main(["explain", *files, "--row", "3"]) == 0
    assert capsys.readouterr().out.startswith("prediction: sick (0), probability ")
    assert main(["explain", *files, "--row", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["prediction"], document["prediction_name"]) == (0, "sick")
    assert main(["report", *files, "--rows", "5", "--out", str(saved / "report.html")]) == 0
    assert "<bdi>sick</bdi>" in (saved / "report.html").read_text()
    assert main(["batch", *files, "--rows", "5", "--out", str(saved / "out.jsonl")]) == 0
    assert main(["report", str(saved / "out.jsonl"), "--out", str(saved / "again.html")]) == 0
    assert "<bdi>sick</bdi>" in (saved / "again.html").read_text()
    assert main(["verify", str(saved / "out.jsonl"), str(saved / "tree.skops"), "--rows", "1"]) == 0
    assert main(["explain", *files[:4], "--class-names", "2=odd"]) == 1
    assert "'2' is none of them" in capsys.readouterr().err


def test_rows_are_skipped_by_choice(saved, capsys, cancer) -> None:
    table = cancer.data.head(6).astype({"mean radius": object})
    table.loc[2, "mean radius"] = 1e9
    table.loc[4, "mean radius"] = "large"
    table.to_csv(saved / "wrong.csv", index=False)
    files = [str(saved / "tree.skops"), str(saved / "wrong.csv"), "--domain", str(saved / "data.csv")]
    for command in (
        ["batch"],
        ["batch", "--out", str(saved / "out.jsonl")],
        ["report", "--out", str(saved / "r.html")],
    ):
        assert main([command[0], *files, *command[1:]]) == 1
        assert "axfi-kc: Row 2: Feature 'mean radius' must be" in capsys.readouterr().err
        assert main([command[0], *files, *command[1:], "--on-error", "skip"]) == 0
        output = capsys.readouterr().out
        assert "row  skipped because" in output
        assert "2    Feature 'mean radius' must be a number from" in output
        assert "4    Feature 'mean radius' takes numbers, but 'large' was found" in output
        assert main([command[0], *files, *command[1:], "--on-error", "skip", "--json"]) == 0
        assert list(json.loads(capsys.readouterr().out)["skipped"]) == ["2", "4"]


def test_rows_that_cannot_exist_are_skipped_by_choice(saved, capsys, cancer) -> None:
    cancer.data.head(6).to_csv(saved / "few.csv", index=False)
    files = [str(saved / "tree.skops"), str(saved / "few.csv"), "--domain", str(saved / "data.csv")]
    files += ["--where", f"feature('mean radius') != {cancer.data['mean radius'][2]}"]
    for command in (
        ["batch"],
        ["batch", "--out", str(saved / "out.jsonl")],
        ["report", "--out", str(saved / "r.html")],
    ):
        assert main([command[0], *files, *command[1:]]) == 1
        assert "axfi-kc: Row 2: The instance cannot exist, because it violates" in capsys.readouterr().err
        assert main([command[0], *files, *command[1:], "--on-error", "skip"]) == 0
        assert "2    The instance cannot exist, because it violates a constraint" in capsys.readouterr().out
        assert main([command[0], *files, *command[1:], "--on-error", "skip", "--json"]) == 0
        assert list(json.loads(capsys.readouterr().out)["skipped"]) == ["2"]


def test_changes_of_so_few_features(saved, capsys) -> None:
    files = [str(saved / "tree.skops"), str(saved / "data.csv"), "--target", "diagnosis", "--max-size", "1"]
    assert main(["explain", *files, "--row", "3"]) == 0
    assert "features are in no CXp of at most 1 feature: they score 0." in capsys.readouterr().out


def test_classes_of_two(tmp_path, cancer, capsys) -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(cancer.data, cancer.target)
    model.save_model(tmp_path / "model.json")
    assert main(["info", str(tmp_path / "model.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == 2


def test_one_of_a_kind_is_singular(tmp_path, capsys) -> None:
    rows = pd.DataFrame({"a": [0, 1, 2, 3], "b": [0, 1, 0, 1]})
    dump(DecisionTreeClassifier().fit(rows, rows.a > 1), tmp_path / "tree.skops")
    rows.to_csv(tmp_path / "data.csv", index=False)
    files = [str(tmp_path / "tree.skops"), str(tmp_path / "data.csv")]
    assert main(["explain", *files, "--domain", files[1], "--max-size", "1"]) == 0
    text = capsys.readouterr().out
    assert "The other feature is in no CXp of at most 1 feature: it scores 0." in text
    e = ax.Explainer(lambda p: p[0] > 1, ax.Domain([ax.Integer("a", 0, 3)]), max_size=1).explain([0])
    assert "1 CXp of at most 1 feature;" in repr(e)
    assert repr(e.problem.circuit).endswith("over 1 feature (a)>")
