"""Model files that are cut off, or hold bytes that are no text: one sentence, or the same model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.cli.inputs import load_model
from axfi_kc.compilers.readers.lightgbm_files import LightGBMText, parse_lightgbm, read_lightgbm
from axfi_kc.compilers.readers.xgboost_files import parse_xgboost
from axfi_kc.errors import AxfiError, ModelFileError
from tests.support.onnx_graphs import made, random_trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).clip(-3, 3)
X[:, 2] = RNG.choice([3, 5, 7], 80)
Y = (X[:, 0] + (X[:, 2] == 5) > 0.3).astype(int)
DOMAIN = ax.Domain([ax.Real("x0", -3, 3), ax.Real("x1", -3, 3), ax.Integer("x2", 0, 9)])


def cut_short(data: Any, read: Callable[[Any], Any], *, whole: Callable[[Any], Any]) -> int:
    """Cut at every place; require a sentence, or what the whole gives; return how often it was the latter."""
    expected, same = whole(read(data)), 0
    for end in range(len(data)):
        try:
            found = read(data[:end])
        except AxfiError:
            continue
        assert whole(found) == expected, end
        same += 1
    return same


def lightgbm_text(columns: Any, target: Any = Y, *, categories: Any = "auto", **settings: Any) -> str:
    lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    given = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 4}
    given |= {"min_data_per_group": 1, "cat_smooth": 1.0}
    table = lgb.Dataset(columns, target, categorical_feature=categories)
    return str(lgb.train({**given, **settings}, table, 3).model_to_string())


def what_counts(text: LightGBMText) -> Any:
    """Return all that a text says; names of categories matter only where a tree asks for a category."""
    asks = any(members is not None for tree in text.trees for members in tree.members)
    return (text.objective, text.n_scores, text.is_averaged, text.names, text.trees, text.categories if asks else None)


class TestLightGBM:
    """Its text, which the library reads tree by tree, at the places that ``tree_sizes`` says."""

    def test_numbers(self) -> None:
        text = lightgbm_text(X)
        after = len(text.partition("\nend of trees")[2])
        assert cut_short(text, parse_lightgbm, whole=what_counts) == after - len("null")

    def test_several_classes(self) -> None:
        text = lightgbm_text(X, Y + (X[:, 1] > 1), objective="multiclass", num_class=3)
        assert cut_short(text, parse_lightgbm, whole=what_counts) > 0

    def test_categories(self) -> None:
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).astype({"x2": int}).astype({"x2": "category"})
        text = lightgbm_text(frame)
        assert parse_lightgbm(text).categories[2] == (3, 5, 7)
        assert cut_short(text, parse_lightgbm, whole=what_counts) == 1  # the end of the last line
        with pytest.raises(ModelFileError, match="add 'pandas_categorical:null'"):
            parse_lightgbm(text.partition("\npandas_categorical")[0])

    def test_files_without_names_can_be_told_so(self) -> None:
        lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
        numbers = X.copy()
        numbers[:, 2] = (X[:, 2] - 3) / 2
        options = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 1.0}
        booster = lgb.train(options, lgb.Dataset(numbers, Y, categorical_feature=[2]), 3)
        text = booster.model_to_string().partition("\npandas_categorical")[0]
        domain = ax.Domain([*DOMAIN.features[:2], ax.Integer("x2", 0, 2)])
        with pytest.raises(ModelFileError, match="add 'pandas_categorical:null'"):
            read_lightgbm(text, domain)
        told = read_lightgbm(text + "\npandas_categorical:null\n", domain)
        assert told.predict(numbers.tolist()) == (booster.predict(numbers) > 0.5).astype(int).tolist()

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (r"tree_sizes=(\d+)", r"tree_sizes=1\1"),
            (r"tree_sizes=\d+ ", "tree_sizes="),
            (r"\nTree=1\n", "\nTrae=1\n"),
            (r"num_leaves=\d+", "num_leaves=9"),
            (r"num_cat=0", "num_cat=1"),
            (r"num_class=1", "num_class=2"),
            (r"max_feature_idx=2", "max_feature_idx=1"),
            (r"num_class=1\nnum_tree_per_iteration=1", "num_class=2\nnum_tree_per_iteration=2"),
        ],
    )
    def test_other_sizes(self, old: str, new: str) -> None:
        changed, n_changes = re.subn(old, new, lightgbm_text(X), count=1)
        assert n_changes == 1
        with pytest.raises(ModelFileError, match="does not parse"):
            parse_lightgbm(changed)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (r"leaf_value=\S+", "leaf_value=1_0"),
            (r"threshold=\S+", "threshold=\u0663"),
            (r"decision_type=\d+", "decision_type=12"),
            (r"decision_type=\d+", "decision_type=-1"),
            (r"\nshrinkage=", "\nshrinkage:"),
            (r"\nshrinkage=", "\nmore=" * 9 + "\nshrinkage="),
            (r"cat_boundaries=0", "cat_boundaries=1"),
            (r"cat_boundaries=.*", "cat_boundaries=0 9"),
            (r"cat_threshold=\d+", "cat_threshold=4294967296"),
            (r"cat_threshold=\d+", "cat_threshold=-1"),
        ],
    )
    def test_what_the_library_reads_otherwise(self, old: str, new: str) -> None:
        """Python's own numbers, lines that run into the next, and bits that no category has."""
        numbers = X.copy()
        numbers[:, 2] = (X[:, 2] - 3) / 2
        text = lightgbm_text(numbers, categories=[2])
        sized = re.sub("tree_sizes=.*\n", "", text)
        assert parse_lightgbm(sized) == parse_lightgbm(text)
        head, tree = sized.split("\nTree=", maxsplit=1)
        at = re.search(r"\bnum_cat=[1-9]", tree) if "cat" in old else re.match("", tree)
        assert at is not None
        changed, n_changes = re.subn(old, new, tree[at.start() :], count=1)
        assert n_changes == 1
        with pytest.raises(ModelFileError, match="does not parse"):
            parse_lightgbm(f"{head}\nTree={tree[: at.start()]}{changed}")

    def test_sizes_may_be_left_out(self) -> None:
        text = lightgbm_text(X)
        assert parse_lightgbm(re.sub("tree_sizes=.*\n", "", text)) == parse_lightgbm(text)

    def test_names_with_marks_that_end_lines_elsewhere(self) -> None:
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        names = ["a\u2028objective=regression", "b\x0cnum_class=7", "c\x85"]
        assert parse_lightgbm(lightgbm_text(pd.DataFrame(X, columns=names))).names == tuple(names)

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
        path = tmp_path / "model.txt"
        path.write_bytes(lightgbm_text(X).encode().replace(b"Column_1", b"C\xfflumn_1"))
        with pytest.raises(ModelFileError, match="no text of LightGBM"):
            load_model(path, DOMAIN, allow_pickle=False)
        with pytest.raises(ModelFileError, match="should be UTF-8"):
            ax.read_model(lgb.Booster(model_file=str(path)), DOMAIN)


class TestXGBoost:
    """JSON and UBJSON, which are whole or nothing."""

    @pytest.mark.parametrize("form", ["json", "ubj"])
    def test_cut_short(self, form: str) -> None:
        xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")
        booster = xgb.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, xgb.DMatrix(X, Y), 2)
        assert cut_short(bytes(booster.save_raw(form)), parse_xgboost, whole=lambda file: len(file.trees)) == 0

    @pytest.mark.parametrize("form", ["json", "ubj"])
    def test_bytes_that_are_no_text(self, form: str) -> None:
        xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")
        table = xgb.DMatrix(X, Y, feature_names=["first", "x1", "x2"])
        booster = xgb.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, table, 2)
        with pytest.raises(ModelFileError, match=r"(?i)utf-8"):
            parse_xgboost(bytes(booster.save_raw(form)).replace(b"first", b"f\xffrst"))


class TestOnnx:
    """Its protocol buffers, whose ends may be missing without a trace."""

    @staticmethod
    def _read(data: bytes) -> Any:
        return ax.read_onnx(data, ax.Domain([ax.Real(name, -3, 3) for name in "abc"]))

    def test_cut_short(self) -> None:
        pytest.importorskip("onnx", reason="onnx is not installed")
        lists = random_trees(np.random.default_rng(0), n_trees=2, n_scores=1, prefix="target")
        data = made("TreeEnsembleRegressor", n_targets=1, **lists).SerializeToString()
        assert cut_short(data, self._read, whole=lambda model: model.predict(X[:, [0, 1, 1]].tolist())) == 0

    def test_bytes_that_are_no_text(self) -> None:
        pytest.importorskip("onnx", reason="onnx is not installed")
        lists = random_trees(np.random.default_rng(0), n_trees=2, n_scores=3)
        model = made("TreeEnsembleClassifier", classlabels_strings=["first", "second", "third"], **lists)
        with pytest.raises(ModelFileError, match="should be UTF-8"):
            self._read(model.SerializeToString().replace(b"first", b"f\xffrst"))


class TestSkops:
    """Archives, which have a list of their parts at the end."""

    def test_cut_short(self, tmp_path: Path) -> None:
        skops, trees = pytest.importorskip("skops.io"), pytest.importorskip("sklearn.tree")
        data = skops.dumps(trees.DecisionTreeClassifier(max_depth=2).fit(X, Y))
        path = tmp_path / "model.skops"
        for end in range(0, len(data), 7):
            path.write_bytes(data[:end])
            with pytest.raises(AxfiError):
                load_model(path, DOMAIN, allow_pickle=False)


class TestCatBoost:
    """Models that the library itself loads, whatever is wrong with their names and classes."""

    @pytest.fixture
    def saved(self, tmp_path: Path) -> Callable[[str], bytes]:
        catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        frame = pd.DataFrame(X, columns=["first", "x1", "x2"])
        model = catboost.CatBoostClassifier(iterations=3, depth=2, verbose=0, allow_writing_files=False)
        model.fit(frame, np.where(Y, "yes", "no"))

        def save(form: str) -> bytes:
            model.save_model(str(tmp_path / "model"), format=form)
            return (tmp_path / "model").read_bytes()

        return save

    @staticmethod
    def _loaded(data: bytes, form: str, path: Path) -> Any:
        catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
        path.write_bytes(data)
        try:
            return catboost.CatBoostClassifier().load_model(str(path), format=form)
        except catboost.CatBoostError:
            return None

    @pytest.mark.parametrize("word", [b"first", b"yes"])
    def test_bytes_that_are_no_text(self, word: bytes, saved: Callable[[str], bytes], tmp_path: Path) -> None:
        data, refused = saved("cbm"), []
        domain = ax.Domain([ax.Real("first", -3, 3), *DOMAIN.features[1:]])
        for found in re.finditer(word, data):
            odd = data[: found.start()] + b"\xff" + data[found.start() + 1 :]
            model = self._loaded(odd, "cbm", tmp_path / "odd")
            if model is None:
                continue
            try:
                read = ax.read_model(model, domain)
            except AxfiError as error:
                refused.append(str(error))
                continue
            assert read.predict(X.tolist()) == model.predict(X).tolist()
        assert any("Expected a CatBoost model that is whole" in said for said in refused) or word == b"yes"
        assert refused

    def test_entries_that_are_missing(self, saved: Callable[[str], bytes], tmp_path: Path) -> None:
        document = json.loads(saved("json"))
        for key in ("oblivious_trees", "scale_and_bias"):
            less = {k: v for k, v in document.items() if k != key}
            model = self._loaded(json.dumps(less).encode(), "json", tmp_path / "odd")
            if model is not None:
                with pytest.raises(AxfiError):
                    ax.Explainer(model, DOMAIN).explain(X[0])
