"""Explainer, batches, pictures, files and the command line, as people use them."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import joblib
import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from skops.io import dump

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.plots import plot_forest, plot_scores

mpl.use("Agg")


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
    assert repr(e).startswith("<Explanation: prediction 0, 7 CXps; shapley: worst concave points 0.018")
    assert repr(explainer) == (
        "Explainer(DecisionTreeClassifier(max_depth=6, random_state=0), <Domain of 30 features>, delta=None, "
        "weights='ratio', max_size=None, budget=Budget(seconds=None, nodes=None, bytes=None), target='auto')"
    )
    assert "5 explanations" in repr(explainer.explain_batch(cancer.data.iloc[:5]))


def test_regression(tmp_path) -> None:
    data = load_diabetes(as_frame=True)
    model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(data.data, data.target)
    e = ax.Explainer(model, ax.Domain.from_data(data.data), delta=20).explain(data.data.iloc[0])
    assert e.prediction == Fraction(model.predict(data.data.iloc[[0]])[0])
    assert sum(e.scores("shapley").values()) == e.forest.value(e.domain.names)


def test_forest_files(explainer: ax.Explainer, cancer, tmp_path) -> None:
    forest = explainer.explain(cancer.data.iloc[78]).forest
    forest.to_graphml(tmp_path / "forest.graphml")
    read = nx.read_graphml(tmp_path / "forest.graphml", node_type=int)
    assert set(read.edges) == set(forest.graph.edges)
    weights = [Fraction(d["weight"]) for _, d in read.nodes(data=True) if "weight" in d]
    assert weights == list(forest.weights.values())
    text = forest.to_dot(tmp_path / "forest.dot")
    assert (tmp_path / "forest.dot").read_text() == text
    assert text.count("->") == forest.graph.number_of_edges()


def test_pictures(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    axes = plot_scores(e, "banzhaf", max_features=4)
    assert axes.get_yticklabels()[0].get_text() == "worst concave points = 0.2508"
    assert len(axes.patches) == 4
    assert "7 trees, 5 lighter ones not drawn" in plot_forest(e.forest, max_trees=2).get_title()
    mpl.pyplot.close("all")


def test_import_is_quick_and_light() -> None:
    code = "import sys, axfi_kc; print([m for m in ('numba', 'sklearn', 'xgboost', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def saved(tmp_path, cancer):
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(cancer.data, cancer.target)
    dump(model, tmp_path / "tree.skops")
    joblib.dump(model, tmp_path / "tree.joblib")
    cancer.data.head(50).assign(diagnosis=cancer.target.head(50)).to_csv(tmp_path / "data.csv", index=False)
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
        (["tree.skops", "data.csv", "--row", "50"], "rows 0 to 49"),
        (["tree.skops", "data.csv", "--target", "label"], "no column 'label'"),
        (["tree.skops", "data.csv"], "fitted on 30 columns, but the domain describes 31"),
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


def test_frames_of_pandas_extension_types() -> None:
    frame = pd.DataFrame({"a": pd.array([1, 2, 3], dtype="Int64"), "b": pd.Categorical(["x", "y", "x"])})
    domain = ax.Domain.from_data(frame, integer=["a"])
    assert [f.kind for f in domain.features] == ["integer", "categorical"]
    assert np.array_equal(domain.encode(frame), [[1, 0], [2, 1], [3, 0]])
