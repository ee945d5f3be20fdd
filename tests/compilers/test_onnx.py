"""ONNX: what onnxruntime computes, for models that were converted and for graphs made by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, ModelFileError, UnsupportedModelError
from axfi_kc.models import LinearModel, TreeSum
from axfi_kc.models.own_predict import predictor
from tests.support.onnx_graphs import MODES, made, random_trees
from tests.support.reader_checks import check_explanations, check_predictions, points_around, some_points

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
FLOAT, DOUBLE, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Z = X[:, 0] + X[:, 1] * X[:, 2]
BINARY = np.where(Z > 0.1, "yes", "no")
THREE = np.digitize(Z, [-0.5, 0.5])
DOMAIN = ax.Domain.from_data(X)
HOLES = ax.Domain([ax.Real(f.name, f.low, f.high, missing=0.2) for f in DOMAIN.features])


def thresholds(model) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for node in model.graph.node:
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values = given.get("nodes_values")
        if values is None and "nodes_values_as_tensor" in given:
            values = onnx.numpy_helper.to_array(given["nodes_values_as_tensor"]).tolist()
        for column, value in zip(given.get("nodes_featureids", ()), values or (), strict=True):
            found.setdefault(column, []).append(value)
    return found


def check(model, domain: ax.Domain = DOMAIN, *, more: dict[int, Any] | None = None) -> None:
    codes = points_around(domain, {**thresholds(model), **(more or {})})
    read = ax.read_model(model, domain)
    if isinstance(read, LinearModel):
        own, ours = predictor(model, domain)(codes), read.outputs_at(codes)
        if read.is_regression:
            assert max(abs(a - float(b)) for a, b in zip(own, ours, strict=True)) <= read.rounding_error
            return
        scores, shifts = read.numerators_at(codes)
        gaps = [
            _gap(row, read.denominator << shift) for row, shift in zip(scores.tolist(), shifts.tolist(), strict=True)
        ]
        odd = [g for g, a, b in zip(gaps, own, ours, strict=True) if a != b]
        assert all(g <= read.rounding_error for g in odd)
        assert len(set(own)) > 1
        return
    check_predictions(model, domain, codes)


def _gap(row: list[int], denominator: int) -> float:
    ordered = sorted(row)
    return (abs(row[0]) if len(row) == 1 else ordered[-1] - ordered[-2]) / denominator


class TestConverted:
    """Models of other libraries, through their usual converters."""

    @staticmethod
    def _converted(estimator, target, **options):
        convert = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        sample = options.pop("sample", X[:1].astype(np.float32))
        return convert.to_onnx(estimator.fit(X, target), sample, **options)

    @pytest.mark.parametrize("target", [BINARY, THREE, Z > 0.1])
    def test_trees(self, target) -> None:
        ensemble, tree = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.tree")
        for estimator in (
            tree.DecisionTreeClassifier(max_depth=4),
            ensemble.RandomForestClassifier(6, max_depth=4, random_state=0),
            ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
        ):
            check(self._converted(estimator, target))
            check(self._converted(estimator, target, options={"zipmap": False}))
            check(self._converted(estimator, target, sample=X[:1]))  # of float64

    def test_regressions(self) -> None:
        ensemble, linear = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.linear_model")
        for estimator in (
            ensemble.RandomForestRegressor(6, max_depth=4, random_state=0),
            ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0),
            linear.LinearRegression(),
        ):
            check(self._converted(estimator, Z))

    @pytest.mark.parametrize("target", [BINARY, THREE])
    def test_linear_classifiers(self, target) -> None:
        linear, svm = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.svm")
        for estimator in (linear.LogisticRegression(), svm.LinearSVC(), linear.RidgeClassifier()):
            model = self._converted(estimator, target)
            assert isinstance(ax.read_model(model, DOMAIN), LinearModel)
            check(model)

    def test_scalers(self) -> None:
        pipelines, scalers = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.preprocessing")
        ensemble, linear = pytest.importorskip("sklearn.ensemble"), pytest.importorskip("sklearn.linear_model")
        for estimator in (ensemble.RandomForestClassifier(6, max_depth=4), linear.LogisticRegression()):
            pipeline = pipelines.make_pipeline(scalers.StandardScaler(), estimator)
            model = self._converted(pipeline, BINARY)
            assert model.graph.node[0].op_type == "Scaler"
            more = {}
            if "forest" in type(estimator).__name__.lower():
                scaler = pipeline.steps[0][1]
                more = {
                    k: (np.array(values) * scaler.scale_[k] + scaler.mean_[k]).tolist()
                    for k, values in thresholds(model).items()
                }
            check(model, more=more)

    def test_xgboost_and_lightgbm(self) -> None:
        tools = pytest.importorskip("onnxmltools", reason="onnxmltools is not installed")
        from onnxmltools.convert.common.data_types import FloatTensorType

        types = [("input", FloatTensorType([None, 3]))]
        lgb = pytest.importorskip("lightgbm")
        settings = {"n_estimators": 5, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
        for target in ((BINARY == "yes").astype(int), THREE):
            model = lgb.LGBMClassifier(**settings).fit(X, target)
            check(tools.convert_lightgbm(model, initial_types=types, zipmap=False))
        check(tools.convert_lightgbm(lgb.LGBMRegressor(**settings).fit(X, Z), initial_types=types))

    def test_files(self, tmp_path) -> None:
        tree = pytest.importorskip("sklearn.tree")
        model = self._converted(tree.DecisionTreeClassifier(max_depth=3), BINARY)
        path = tmp_path / "tree.onnx"
        path.write_bytes(model.SerializeToString())
        read = ax.read_onnx(path, DOMAIN)
        assert isinstance(read, TreeSum)
        assert read.predict(X) == ax.read_onnx(model.SerializeToString(), DOMAIN).predict(X)
        explanation = ax.Explainer(model, DOMAIN).explain(X[0])
        assert explanation.prediction == read.predict(X[:1])[0]

    def test_what_is_between_is_refused(self) -> None:
        linear = pytest.importorskip("sklearn.linear_model")
        with pytest.raises(UnsupportedModelError, match="comes from ArrayFeatureExtractor"):
            ax.read_model(self._converted(linear.SGDClassifier(), BINARY), DOMAIN)
        model = self._converted(linear.LogisticRegression(), BINARY)
        with pytest.raises(DomainError, match="3 columns, but the domain describes 2"):
            ax.read_model(model, ax.Domain(DOMAIN.features[:2]))
        with pytest.raises(UnsupportedModelError, match="predicts nothing where a value is missing"):
            ax.read_model(model, HOLES)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tracks", [True, False])
def test_every_mode_and_missing_values(seed, tracks) -> None:
    rng = np.random.default_rng(seed)
    lists = random_trees(rng, n_trees=4, n_scores=3, tracks=tracks)
    check(made("TreeEnsembleClassifier", classlabels_strings=["u", "v", "w"], **lists), HOLES)
    lists = random_trees(rng, n_trees=4, n_scores=1, prefix="target", tracks=tracks)
    base = [0.25] if seed % 2 else []
    how = ("SUM", "AVERAGE")[seed % 2]
    check(made("TreeEnsembleRegressor", n_targets=1, base_values=base, aggregate_function=how, **lists), HOLES)


@pytest.mark.parametrize("seed", range(4))
def test_equality(seed) -> None:
    rng = np.random.default_rng(seed)
    lists = random_trees(rng, n_trees=3, n_scores=3, modes=(*MODES, "BRANCH_EQ", "BRANCH_NEQ"))
    model = made("TreeEnsembleClassifier", classlabels_int64s=[7, -3, 5], **lists)
    domain = ax.Domain(
        [ax.Integer("a", -3, 3, missing=0.25), ax.Categorical("b", [-1, 0, 2.5]), ax.Integer("c", -1, 2)]
    )
    check_predictions(model, domain, points_around(domain, {}, n=2000))
    check_explanations(model, domain, some_points(domain, 3, seed=seed))
    with pytest.raises(DomainError, match="has it as real"):
        ax.read_model(model, DOMAIN)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_one_score_for_two_classes(post, positive) -> None:
    rng = np.random.default_rng(3)
    lists = random_trees(rng, n_trees=4, n_scores=1)
    lists["class_ids"] = [positive] * len(lists["class_ids"])
    if post == "NONE":  # shares, which must exceed one half; some leaves add up to exactly that
        lists["class_weights"] = [float(rng.choice([0, 0.0625, 0.125, 0.25])) for _ in lists["class_weights"]]
    else:
        lists["class_weights"] = [float(rng.choice([-1, -0.5, 0, 0.5, 1])) for _ in lists["class_weights"]]
    model = made("TreeEnsembleClassifier", classlabels_int64s=[0, 1], post_transform=post, **lists)
    codes = points_around(DOMAIN, thresholds(model))
    read = ax.read_model(model, DOMAIN)
    assert read.outputs_at(codes) == predictor(model, DOMAIN)(codes)
    assert any(score == 0 for (score,) in read.scores_at(codes))
    other = {"NONE": "LOGISTIC", "LOGISTIC": "NONE"}[post]
    with pytest.raises(UnsupportedModelError, match="not the same in all runtimes"):
        ax.read_model(made("TreeEnsembleClassifier", classlabels_int64s=[0, 1], post_transform=other, **lists), DOMAIN)


def test_two_scores_for_two_classes_are_refused() -> None:
    """onnxruntime then asks whether the second is above zero, whatever the first."""
    lists = random_trees(np.random.default_rng(3), n_trees=2, n_scores=2)
    with pytest.raises(UnsupportedModelError, match="not the same in all runtimes"):
        ax.read_model(made("TreeEnsembleClassifier", classlabels_int64s=[0, 1], **lists), DOMAIN)


def test_columns_that_are_inputs_of_their_own() -> None:
    node = made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **random_trees(RNG, n_trees=3, n_scores=3))
    join = onnx.helper.make_node("Concat", ["a", "b"], ["J"], axis=1)
    cast = onnx.helper.make_node("Cast", ["J"], ["X"], to=FLOAT)
    del node.graph.input[:]
    for name, width in (("a", 1), ("b", 2)):
        node.graph.input.append(onnx.helper.make_tensor_value_info(name, DOUBLE, [None, width]))
    node.graph.node.insert(0, cast)
    node.graph.node.insert(0, join)
    check(node, HOLES)
    node.graph.input[1].type.tensor_type.shape.dim[1].dim_value = 1
    with pytest.raises(DomainError, match="2 columns, but the domain describes 3"):
        ax.read_model(node, DOMAIN)
    with pytest.raises(DomainError, match="'a' where the domain has 'x0'"):
        ax.read_model(node, ax.Domain(DOMAIN.features[:2]))


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_ties_of_several_classes(post) -> None:
    rng = np.random.default_rng(5)
    lists = random_trees(rng, n_trees=3, n_scores=3)
    lists["class_weights"] = [float(rng.integers(-2, 2)) for _ in lists["class_weights"]]
    for base in ([], [1.0, 0.0, 1.0]):
        model = made(
            "TreeEnsembleClassifier",
            classlabels_strings=["u", "v", "w"],
            post_transform=post,
            base_values=base,
            **lists,
        )
        codes = points_around(DOMAIN, thresholds(model))
        read = ax.read_model(model, DOMAIN)
        assert read.outputs_at(codes) == predictor(model, DOMAIN)(codes)
        assert any(sorted(row)[-1] == sorted(row)[-2] for row in read.scores_at(codes))


def test_thresholds_of_float64() -> None:
    rng = np.random.default_rng(1)
    lists = random_trees(rng, n_trees=3, n_scores=3)
    values = np.array(lists.pop("nodes_values")) + 1e-12 * np.arange(len(lists["nodes_modes"]))
    weights = np.array(lists.pop("class_weights"))
    tensors = {
        "nodes_values_as_tensor": onnx.numpy_helper.from_array(values),
        "class_weights_as_tensor": onnx.numpy_helper.from_array(weights),
    }
    labels = {"classlabels_strings": ["u", "v", "w"]}
    model = made("TreeEnsembleClassifier", elem=DOUBLE, **labels, **tensors, **lists)
    check(model, HOLES)


def test_integers() -> None:
    rng = np.random.default_rng(2)
    model = made(
        "TreeEnsembleClassifier",
        elem=INT64,
        classlabels_int64s=[0, 1, 2],
        **random_trees(rng, n_trees=3, n_scores=3),
    )
    domain = ax.Domain([ax.Integer("a", -4, 4), ax.Integer("b", -4, 4), ax.Categorical("c", [-1, 0, 2])])
    check_predictions(model, domain, points_around(domain, {}, n=2000))
    with pytest.raises(UnsupportedModelError, match=r"'b' may hold others, or some beyond 2\*\*24"):
        ax.read_model(model, ax.Domain([domain.features[0], ax.Integer("b", 0, 2**25), domain.features[2]]))


def test_scalers_that_round() -> None:
    """Behind a scaler every threshold is where its rounding puts it."""
    rng = np.random.default_rng(4)
    scaler = onnx.helper.make_node(
        "Scaler", ["X"], ["S"], domain="ai.onnx.ml", offset=[0.1, -7.3, 1e-3], scale=[3.7, 0.01, 1e3]
    )
    model = made(
        "TreeEnsembleClassifier",
        classlabels_int64s=[0, 1, 2],
        head=(scaler,),
        **random_trees(rng, n_trees=3, n_scores=3),
    )
    reach = [(0.1, 3.7), (-7.3, 0.01), (1e-3, 1e3)]
    domain = ax.Domain([ax.Real("a", -1, 1), ax.Real("b", -200, 200), ax.Real("c", -0.01, 0.01)])
    values = [-1, -0.5, 0, 0.3, 1, 2]
    edges = {k: [float(np.float32(v)) / s + o for v in values] for k, (o, s) in enumerate(reach)}
    near = {k: [x + j * abs(x) * 2.0**-24 for x in found for j in range(-6, 7)] for k, found in edges.items()}
    check_predictions(model, domain, points_around(domain, near))
    negative = onnx.helper.make_node("Scaler", ["X"], ["S"], domain="ai.onnx.ml", offset=[0.0], scale=[-1.0])
    with pytest.raises(UnsupportedModelError, match="not positive"):
        ax.read_model(
            made(
                "TreeEnsembleClassifier",
                classlabels_int64s=[0, 1, 2],
                head=(negative,),
                **random_trees(rng, n_trees=1, n_scores=3),
            ),
            DOMAIN,
        )


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_graphs(post) -> None:
    rows = {"coefficients": [0.5, -1.25, 2.0, 0.0, 1.0, 1.0], "intercepts": [0.25, -0.5]}
    check(made("LinearClassifier", classlabels_ints=[3, 4], post_transform=post, **rows))
    model = made("LinearRegressor", coefficients=[0.5, -1.25, 2.0], intercepts=[0.25], targets=1)
    check(model)


def test_linear_models_with_one_score_for_two_classes() -> None:
    rows = {"coefficients": [0.5, -1.25, 2.0], "intercepts": [0.25]}
    for post in ("NONE", "LOGISTIC"):
        check(made("LinearClassifier", classlabels_ints=[0, 1], post_transform=post, **rows))
        domain = ax.Domain([ax.Integer(name, -2, 2) for name in "abc"])
        tied = {"coefficients": [0.5, -1.0, 2.0], "intercepts": [0.0]}
        model = made("LinearClassifier", classlabels_ints=[0, 1], post_transform=post, **tied)
        codes = np.array([domain.encode_point(point) for point in domain.points()])
        assert ax.read_model(model, domain).outputs_at(codes) == predictor(model, domain)(codes)


@pytest.mark.parametrize("seed", range(4))
def test_explanations_are_those_of_brute_force(seed) -> None:
    rng = np.random.default_rng(seed)
    domain = ax.Domain([ax.Integer("a", -1, 2, missing=0.25), ax.Categorical("b", [-1, 0, 2]), ax.Integer("c", -1, 1)])
    rows = some_points(domain, 4, seed=seed)
    lists = random_trees(rng, n_trees=3, n_scores=3)
    check_explanations(made("TreeEnsembleClassifier", classlabels_strings=list("uvw"), **lists), domain, rows)
    lists = random_trees(rng, n_trees=3, n_scores=1, prefix="target")
    check_explanations(made("TreeEnsembleRegressor", n_targets=1, **lists), domain, rows, delta=0.37)
    whole = ax.Domain([ax.Integer("a", -1, 2), *domain.features[1:]])
    linear = {"coefficients": rng.normal(size=9).tolist(), "intercepts": rng.normal(size=3).tolist()}
    model = made("LinearClassifier", classlabels_ints=[1, 2, 3], post_transform="SOFTMAX", **linear)
    check_explanations(model, whole, some_points(whole, 4, seed=seed))


def test_without_onnxruntime_the_reference_is_asked(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    lists = random_trees(np.random.default_rng(0), n_trees=3, n_scores=3)
    model = made("TreeEnsembleClassifier", classlabels_int64s=[4, 5, 6], **lists)
    codes = points_around(HOLES, thresholds(model), n=50)
    assert predictor(model, HOLES)(codes) == ax.read_model(model, HOLES).outputs_at(codes)


def test_the_command_line_takes_files(tmp_path, capsys) -> None:
    from axfi_kc.cli import main

    lists = random_trees(np.random.default_rng(0), n_trees=3, n_scores=3)
    model = made("TreeEnsembleClassifier", classlabels_strings=["u", "v", "w"], **lists)
    file, table = tmp_path / "model.onnx", tmp_path / "data.csv"
    file.write_bytes(model.SerializeToString())
    table.write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in X[:40]))
    assert main(["explain", str(file), str(table), "--row", "0"]) == 0
    assert predictor(model, DOMAIN)(X[:1])[0] in capsys.readouterr().out
    assert main(["info", str(file), "--json"]) == 0
    assert '"TreeEnsembleClassifier"' in capsys.readouterr().out


class TestDamaged:
    """What comes from files ends in an error or in a right answer."""

    LISTS = random_trees(np.random.default_rng(0), n_trees=2, n_scores=3)

    def _read(self, **changed: Any) -> Any:
        lists = {**{k: list(v) for k, v in self.LISTS.items()}, **changed}
        return ax.read_model(made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **lists), DOMAIN)

    @pytest.mark.parametrize(
        ("key", "place", "value", "words"),
        [
            ("nodes_truenodeids", 0, 0, "reached twice"),
            ("nodes_truenodeids", 1, 2, "reached twice"),
            ("nodes_truenodeids", 0, 99, "its tree lacks"),
            ("nodes_featureids", 0, 9, "which no input has"),
            ("nodes_featureids", 0, -1, "which no input has"),
            ("nodes_nodeids", 1, 0, "as many entries"),
            ("nodes_values", 0, float("nan"), "holds nan"),
            ("class_weights", 0, float("inf"), "finite"),
            ("class_ids", 0, 5, "weight for score 5"),
            ("class_nodeids", 0, 77, "at node 77"),
        ],
    )
    def test_nodes(self, key, place, value, words) -> None:
        changed = list(self.LISTS[key])
        changed[place] = value
        with pytest.raises(ModelFileError, match=words):
            self._read(**{key: changed})

    def test_lists_of_other_lengths(self) -> None:
        for key, found in self.LISTS.items():
            with pytest.raises(ModelFileError):
                self._read(**{key: found[:-1]})

    def test_infinite_thresholds(self) -> None:
        values = [float("inf") if k % 2 else float("-inf") for k, _ in enumerate(self.LISTS["nodes_values"])]
        model = made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **{**self.LISTS, "nodes_values": values})
        assert ax.read_model(model, DOMAIN).predict(X[:50]) == predictor(model, DOMAIN)(X[:50])

    def test_modes(self) -> None:
        with pytest.raises(UnsupportedModelError, match="BRANCH_MEMBER"):
            self._read(nodes_modes=["BRANCH_MEMBER", *self.LISTS["nodes_modes"][1:]])

    def test_classes_without_scores(self) -> None:
        kept = [k for k, score in enumerate(self.LISTS["class_ids"]) if score or k % 3]
        changed = {key: [self.LISTS[key][k] for k in kept] for key in self.LISTS if key.startswith("class_")}
        with pytest.raises(UnsupportedModelError, match="without a score"):
            self._read(**changed)

    def test_no_model_at_all(self, tmp_path) -> None:
        with pytest.raises(ModelFileError, match="does not parse"):
            ax.read_onnx(b"not a model", DOMAIN)
        with pytest.raises(ModelFileError, match="no graph"):
            ax.read_onnx(b"", DOMAIN)
        with pytest.raises(ModelFileError, match="cannot be read"):
            ax.read_onnx(tmp_path / "missing.onnx", DOMAIN)

    def test_graphs_that_run_in_a_circle(self) -> None:
        for name in ("label", "X"):
            model = made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **self.LISTS)
            del model.graph.input[:]
            del model.graph.node[name == "X" :]
            model.graph.node.insert(0, onnx.helper.make_node("Identity", [name], [name]))
            with pytest.raises(UnsupportedModelError, match="comes from nothing"):
                ax.read_model(model, DOMAIN)

    def test_truncated_files(self) -> None:
        data = made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **self.LISTS).SerializeToString()
        for end in range(0, len(data), 37):
            with pytest.raises(ax.AxfiError):
                ax.read_onnx(data[:end], DOMAIN)


class TestOperators:
    """Which operators a graph has is a matter of their domains and versions, not of their names alone."""

    LISTS = random_trees(np.random.default_rng(0), n_trees=2, n_scores=3)

    def _model(self) -> Any:
        return made("TreeEnsembleClassifier", classlabels_int64s=[0, 1, 2], **self.LISTS)

    @pytest.mark.parametrize("domain", ["", "ai.onnx", "com.microsoft", "x"])
    def test_other_domains(self, domain: str) -> None:
        model = self._model()
        model.graph.node[0].domain = domain
        with pytest.raises(UnsupportedModelError, match=r"it comes from .*TreeEnsembleClassifier of opset"):
            ax.read_model(model, DOMAIN)

    def test_other_domains_on_the_way(self) -> None:
        for place, kind in (("before", "Identity"), ("before", "Cast"), ("after", "Identity")):
            model = self._model()
            names = ("X", "Z") if place == "before" else ("label", "last")
            options = {"to": FLOAT} if kind == "Cast" else {}
            node = onnx.helper.make_node(kind, [names[0]], [names[1]], domain="x", **options)
            if place == "before":
                model.graph.node[0].input[0] = "Z"
                model.graph.node.insert(0, node)
            else:
                model.graph.node.append(node)
                model.graph.output[0].name = "last"
            with pytest.raises(UnsupportedModelError, match=f"x.{kind} of opset 0"):
                ax.read_model(model, DOMAIN)
            node.domain = "ai.onnx"
            model.graph.node[0 if place == "before" else -1].domain = "ai.onnx"  # another name of the standard domain
            assert ax.read_model(model, DOMAIN).labels == (0, 1, 2)

    @pytest.mark.parametrize("version", [0, -1, 5, 100])
    def test_versions_without_the_operator(self, version: int) -> None:
        model = self._model()
        model.opset_import[1].version = version
        with pytest.raises(UnsupportedModelError, match=f"of opset {version}"):
            ax.read_model(model, DOMAIN)

    def test_no_version_at_all(self) -> None:
        model = self._model()
        del model.opset_import[1]
        with pytest.raises(UnsupportedModelError, match="of opset 0"):
            ax.read_model(model, DOMAIN)

    def test_functions_in_place_of_operators(self) -> None:
        model = self._model()
        inner, opset = onnx.helper.make_node("Identity", ["X"], ["label"]), onnx.helper.make_opsetid("", 17)
        model.functions.append(
            onnx.helper.make_function(
                "ai.onnx.ml", "TreeEnsembleClassifier", ["X"], ["label", "scores"], [inner], [opset]
            )
        )
        with pytest.raises(UnsupportedModelError, match="a function of its own called TreeEnsembleClassifier"):
            ax.read_model(model, DOMAIN)

    @pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
    def test_thresholds_beyond_the_ends_of_float32(self, kind: int) -> None:
        largest = float(np.finfo(np.float32).max)
        wide = ax.Domain([ax.Real(name, -1e300, 1e300) for name in "abc"])
        numbers = [largest, -largest, float("inf"), float("-inf")]
        found = [numbers[k % 4] for k in range(30)]
        model = made(
            "TreeEnsembleClassifier", elem=kind, classlabels_int64s=[0, 1, 2], **{**self.LISTS, "nodes_values": found}
        )
        ends = [largest, largest + 2.0**103, np.nextafter(largest + 2.0**103, 0), 1e39, 0.0]
        points = np.array([[a, b, -a] for a in [*ends, *(-x for x in ends)] for b in [*ends, *(-x for x in ends)]])
        with np.errstate(over="ignore"):
            assert ax.read_model(model, wide).predict(points.tolist()) == predictor(model, wide)(points)

    def test_scalers_of_odd_numbers(self) -> None:
        lists = random_trees(np.random.default_rng(0), n_trees=2, n_scores=1, prefix="target")
        for key, number in (("offset", float("nan")), ("scale", float("inf"))):
            head = onnx.helper.make_node("Scaler", ["X"], ["Z"], domain="ai.onnx.ml", **{key: [1.0, number, 1.0]})
            with pytest.raises(ModelFileError, match=f"{key!r} of an ONNX model should hold finite numbers"):
                ax.read_model(made("TreeEnsembleRegressor", head=(head,), n_targets=1, **lists), DOMAIN)

    def test_base_values_of_odd_numbers(self) -> None:
        lists = random_trees(np.random.default_rng(0), n_trees=2, n_scores=1, prefix="target")
        with pytest.raises(ModelFileError, match="'base_values' of an ONNX model should hold finite numbers"):
            ax.read_model(made("TreeEnsembleRegressor", base_values=[float("inf")], n_targets=1, **lists), DOMAIN)

    def test_leaves_without_a_weight(self) -> None:
        lists = random_trees(np.random.default_rng(0), n_trees=2, n_scores=1, prefix="target")
        for key in ("ids", "treeids", "nodeids", "weights"):
            del lists[f"target_{key}"][0]  # that of node 7
        check(made("TreeEnsembleRegressor", n_targets=1, **lists))  # its value is 0
        lists["nodes_values"][7] = 0.5
        with pytest.raises(
            ModelFileError, match="Node 7 of an ONNX tree ensemble is a leaf, which should have a weight"
        ):
            ax.read_model(made("TreeEnsembleRegressor", n_targets=1, **lists), DOMAIN)
