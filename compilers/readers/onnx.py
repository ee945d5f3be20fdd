"""ONNX: tree ensembles and linear models of ``ai.onnx.ml``, as onnxruntime computes them.

A graph is read if its first output is what one such operator decides, with at most casts, reshapes and identities
between, and its inputs reach the operator through casts, a concatenation and a scaler at most. Columns are rounded to
float32, unless the operator is given float64. Where the runtimes known disagree about a class, the model is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from axfi_kc.compilers.readers import reads
from axfi_kc.compilers.readers.checks import check_columns, codes_of_column
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Cut, Split, float32_cuts, float64_cut
from axfi_kc.errors import ModelFileError, UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Model, Positive, Score, TreeNodes, TreeSum
from axfi_kc.models.base import check_never_missing
from axfi_kc.models.own_predict import Codes, Predict, compares, numbers_of, predicts

__all__: list[str] = []

_SINGLE = 24
_UNIT = Fraction(1, 1 << _SINGLE)
_FLOAT, _DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
_WHOLE = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
_NUMPY: dict[int, Any] = {_FLOAT: np.float32, _DOUBLE: np.float64, _WHOLE[0]: np.int64, _WHOLE[1]: np.int32}
_LABELS: dict[int, Any] = {_WHOLE[0]: int, _WHOLE[1]: int, onnx.TensorProto.BOOL: bool, _FLOAT: float, _DOUBLE: float}
_STEPS = 0x7F800000  # of float32 numbers from zero to infinity
_FAR = 1 << 8  # integers within which those are that round to the same float32, up to 2**32
_OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "LinearClassifier", "LinearRegressor")
_STANDARD, _LEARNING = ("Cast", "Concat", "Identity", "Reshape"), "ai.onnx.ml"
_Labels = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Graph:
    """What the first output of a model depends on.

    Attributes
    ----------
    node
        The operator that decides.
    inputs
        The inputs that are its columns, in their order.
    kind
        The type of number the operator is given.
    offset, scale
        What a scaler before it takes away and multiplies by; None: there is no scaler.
    cast
        From the operator's labels to those of the output.
    """

    node: Any
    inputs: tuple[Any, ...]
    kind: int
    offset: npt.NDArray[np.float32] | None
    scale: npt.NDArray[np.float32] | None
    cast: Callable[[Any], Any]

    @classmethod
    def of(cls, model: Any) -> _Graph:
        if not model.graph.output:
            raise ModelFileError("Expected a model in ONNX, but it has no graph with an output; save it again.")
        made = {name: node for node in model.graph.node for name in node.output}
        name = model.graph.output[0].name
        cast: Callable[[Any], Any] = _same
        while name in made and _kind(model, made[name]) in ("Identity", "Cast", "Reshape"):
            node = made.pop(name)  # once each: a damaged graph may run in a circle
            cast = _then_cast(node, cast) if node.op_type == "Cast" else cast
            name = node.input[0]
        node = made.get(name)
        kind = "nothing" if node is None else _kind(model, node)
        # The second output of a classifier is its probabilities, of which none is exact.
        if node is None or kind not in _OPERATORS or node.output[0] != name:
            raise _not_read(kind)
        return cls(node, *_head(model, made, node.input[0]), cast)

    @property
    def attributes(self) -> dict[str, Any]:
        """The operator's attributes, as Python values."""
        return _attributes(self.node)

    def check(self, domain: Domain) -> None:
        """Raise unless the domain describes the columns of the inputs."""
        widths = [_width(info) for info in self.inputs]
        if all(widths):
            names = [info.name for info in self.inputs] if len(widths) > 1 and set(widths) == {1} else None
            check_columns(domain, sum(w or 0 for w in widths), names)
        if self.kind in _WHOLE:
            _check_whole(domain)


def _kind(model: Any, node: Any) -> str:
    """Return the name of an operator as ONNX defines it; that of any other one is given with its domain.

    Domains may define operators of the same name, and so may the functions of a model; trees have another form since
    version 5 of their domain.
    """
    kind, home = node.op_type, "" if node.op_type in _STANDARD else _LEARNING
    versions = {_domain(opset): opset.version for opset in model.opset_import}
    if any((_domain(f), f.name) == (_domain(node), kind) for f in model.functions):
        return f"a function of its own called {kind}"
    end = 5 if kind in _OPERATORS[:2] else math.inf
    if _domain(node) == home and 0 < versions.get(home, 0) < end:
        return kind
    return f"{_domain(node) or 'ai.onnx'}.{kind} of opset {versions.get(_domain(node), 0)}"


def _domain(owner: Any) -> str:
    return "" if owner.domain == "ai.onnx" else owner.domain  # two names of one


def _not_read(kind: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"The first output of an ONNX model should come from a TreeEnsemble or Linear operator, but it comes from "
        f"{kind}; give the model that was converted instead, or a Python function over a finite domain."
    )


_KINDS = onnx.AttributeProto
_ATTRIBUTES = {
    **dict.fromkeys(("nodes_values", "nodes_hitrates", "class_weights", "target_weights"), _KINDS.FLOATS),
    **dict.fromkeys(("base_values", "coefficients", "intercepts", "offset", "scale"), _KINDS.FLOATS),
    **dict.fromkeys(("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids"), _KINDS.INTS),
    **dict.fromkeys(("nodes_falsenodeids", "nodes_missing_value_tracks_true"), _KINDS.INTS),
    **{f"{prefix}_{key}": _KINDS.INTS for prefix in ("class", "target") for key in ("ids", "treeids", "nodeids")},
    **dict.fromkeys(("classlabels_ints", "classlabels_int64s"), _KINDS.INTS),
    **dict.fromkeys(("nodes_modes", "classlabels_strings"), _KINDS.STRINGS),
    **dict.fromkeys(("post_transform", "aggregate_function"), _KINDS.STRING),
    **dict.fromkeys(("n_targets", "targets", "multi_class", "to", "axis", "saturate"), _KINDS.INT),
    **{f"{key}_as_tensor": _KINDS.TENSOR for key in ("nodes_values", "nodes_hitrates", "base_values")},
    **{f"{key}_as_tensor": _KINDS.TENSOR for key in ("class_weights", "target_weights")},
}


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an operator, each of the type that the standard gives it."""
    odd = next((a.name for a in node.attribute if _ATTRIBUTES.get(a.name) != a.type), None)
    if odd is not None:
        raise ModelFileError(
            f"{node.op_type} has an attribute {odd[:40]!r} that ONNX does not know, or of another type."
        )
    return {a.name: _value(a) for a in node.attribute}


def _value(attribute: Any) -> Any:
    found = onnx.helper.get_attribute_value(attribute)
    if attribute.type == _KINDS.TENSOR:
        return _tensor(found)
    if attribute.type == _KINDS.STRING:
        return _text(found)
    return list(map(_text, found)) if attribute.type == _KINDS.STRINGS else found


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"The words of an ONNX model should be UTF-8, but {data[:40]!r} was found.") from error


def _tensor(tensor: Any) -> list[float]:
    try:
        return onnx.numpy_helper.to_array(tensor).astype(np.float64).reshape(-1).tolist()
    except Exception as error:  # whatever the bytes of a damaged file lead to
        raise ModelFileError("A tensor of an ONNX model should hold numbers, but it cannot be read.") from error


def _same(label: Any) -> Any:
    return label


def _then_cast(node: Any, after: Callable[[Any], Any]) -> Callable[[Any], Any]:
    to = _attributes(node).get("to")
    if to == onnx.TensorProto.STRING:
        return lambda label: after(label if isinstance(label, str) else _no_text(label))
    if to not in _LABELS:
        raise _not_read("a Cast")
    kind = _LABELS[to]
    return lambda label: after(_no_text(label) if isinstance(label, str) else kind(label))


def _no_text(label: Any) -> Any:
    raise UnsupportedModelError(f"The ONNX model casts the label {label!r} between numbers and text; leave that out.")


def _head(model: Any, made: dict[str, Any], name: str) -> tuple[tuple[Any, ...], int, Any, Any]:
    """Return the inputs that are columns, the type they arrive in, and a scaler's offset and scale."""
    inputs, offset, scale, cast = {info.name: info for info in model.graph.input}, None, None, None
    while name not in inputs:
        if name not in made:
            raise _not_read("nothing")
        node = made.pop(name)
        kind, attributes = _kind(model, node), _attributes(node)
        if kind == "Concat" and attributes.get("axis") in (1, -1) and all(part in inputs for part in node.input):
            return _arriving([inputs[part] for part in node.input], cast, offset, scale)
        if kind == "Scaler" and scale is None:
            given = {"offset": [0.0], "scale": [1.0], **attributes}
            offset, scale = (_numbers(given, key).astype(np.float32) for key in ("offset", "scale"))
            cast = _FLOAT
        elif kind == "Cast" and scale is None and attributes.get("to") == _FLOAT:
            cast = _FLOAT
        elif kind != "Identity":
            raise UnsupportedModelError(
                f"The ONNX model has {kind} before its TreeEnsemble or Linear operator, which is not read; give "
                "the pipeline that was converted instead."
            )
        name = node.input[0]
    return _arriving([inputs[name]], cast, offset, scale)


def _arriving(infos: Sequence[Any], cast: int | None, offset: Any, scale: Any) -> tuple[tuple[Any, ...], int, Any, Any]:
    kinds = {info.type.tensor_type.elem_type for info in infos}
    strange = kinds - set(_NUMPY) or (scale is not None and kinds != {_FLOAT}) or (cast is None and len(kinds) > 1)
    if strange:
        raise UnsupportedModelError(
            "The ONNX model takes inputs of a type or mixture of types that is not read; convert it for one input of "
            "floats."
        )
    return tuple(infos), cast if cast is not None else kinds.pop(), offset, scale


def _width(info: Any) -> int | None:
    sizes = info.type.tensor_type.shape.dim
    return int(sizes[1].dim_value) or None if len(sizes) == 2 else None


def _check_whole(domain: Domain) -> None:
    """Raise unless all values are integers that float32 holds: a runtime compares integers with float32 thresholds."""
    for k, name in enumerate(domain.columns):
        _, codes = codes_of_column(domain, k)
        ends: list[Any] = [codes[0], codes[-1]] if isinstance(codes, range) else list(codes)
        if not all(isinstance(c, int | np.integer) and abs(int(c)) <= 1 << _SINGLE for c in ends):
            raise UnsupportedModelError(
                f"The ONNX model takes integers, but column {name!r} may hold others, or some beyond 2**24; convert "
                "the model for inputs of floats."
            )


@reads(onnx.ModelProto)
def _model(model: Any, domain: Domain) -> Model:
    graph = _Graph.of(model)
    graph.check(domain)
    kind = graph.node.op_type
    if graph.attributes.get("post_transform", "NONE") != "NONE" and kind.endswith("Regressor"):
        raise UnsupportedModelError(f"{kind} with a post_transform has no exact form; convert the model without it.")
    if kind.startswith("Tree"):
        return _trees_classifier(graph, domain) if kind.endswith("Classifier") else _trees_regressor(graph, domain)
    return _linear(graph, domain)


def _labels(graph: _Graph, key: str) -> _Labels:
    attributes = graph.attributes
    return tuple(map(graph.cast, attributes.get(key) or attributes.get("classlabels_strings") or ()))


def _numbers(attributes: Mapping[str, Any], key: str) -> npt.NDArray[np.float64]:
    """Return a list of numbers, which may be a tensor of float64 under another name."""
    found = attributes.get(f"{key}_as_tensor")
    numbers = np.asarray(attributes.get(key, ()) if found is None else found, dtype=np.float64)
    odd = numbers[np.isnan(numbers) if key == "nodes_values" else ~np.isfinite(numbers)]
    if odd.size:
        raise ModelFileError(f"Attribute {key!r} of an ONNX model should hold finite numbers, but it holds {odd[0]}.")
    return numbers


@dataclass(frozen=True, slots=True)
class _Ensemble:
    """The trees of an operator: nodes in the order of the file, and where each tree and node is."""

    tree: list[int]
    feature: list[int]
    mode: list[str]
    value: npt.NDArray[np.float64]
    true: list[int]
    false: list[int]
    tracks_true: list[int]
    place: dict[tuple[int, int], int]

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> _Ensemble:
        trees, numbers = (list(attributes.get(f"nodes_{key}", ())) for key in ("treeids", "nodeids"))
        modes = list(attributes.get("nodes_modes", ()))
        size = len(modes)
        tracks = list(attributes.get("nodes_missing_value_tracks_true") or [0] * size)
        value = _numbers(attributes, "nodes_values")
        found = cls(
            trees,
            list(attributes.get("nodes_featureids", ())),
            modes,
            value,
            list(attributes.get("nodes_truenodeids", ())),
            list(attributes.get("nodes_falsenodeids", ())),
            tracks,
            {key: k for k, key in enumerate(zip(trees, numbers, strict=False))},
        )
        lists = (trees, numbers, found.feature, value, found.true, found.false, tracks)
        if not size or any(len(one) != size for one in lists) or len(found.place) != size:
            raise ModelFileError("The nodes of an ONNX tree ensemble should have as many entries in every list.")
        return found

    def child(self, k: int, side: list[int]) -> int:
        found = self.place.get((self.tree[k], side[k]))
        if found is None:
            raise ModelFileError(f"Node {k} of an ONNX tree ensemble leads to node {side[k]}, which its tree lacks.")
        return found

    def below(self, root: int) -> list[int]:
        """Return the nodes of a tree, its root first."""
        nodes, seen = [root], {root}
        for k in nodes:  # grows
            if self.mode[k] != "LEAF":
                children = [self.child(k, self.true), self.child(k, self.false)]
                if children[0] == children[1] or seen.intersection(children):
                    raise ModelFileError(f"Node {k} of an ONNX tree ensemble leads to a node that is reached twice.")
                nodes += children
                seen.update(children)
        return nodes

    def roots(self) -> list[int]:
        """Return the first node of each tree, which is its root."""
        first: dict[int, int] = {}
        for k, tree in enumerate(self.tree):
            first.setdefault(tree, k)
        return list(first.values())


def _weights(
    attributes: Mapping[str, Any], prefix: str, ensemble: _Ensemble, n_scores: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return what each node adds to each score, and to which scores it adds."""
    ids, trees, nodes = (list(attributes.get(f"{prefix}_{key}", ())) for key in ("ids", "treeids", "nodeids"))
    weights = _numbers(attributes, f"{prefix}_weights")
    if not len(ids) == len(trees) == len(nodes) == len(weights):
        raise ModelFileError(f"The {prefix} weights of an ONNX tree ensemble should be numbers, one per node.")
    values, given = np.zeros((len(ensemble.mode), n_scores)), np.zeros((len(ensemble.mode), n_scores), dtype=np.bool_)
    for score, tree, node, weight in zip(ids, trees, nodes, weights.tolist(), strict=True):
        k = ensemble.place.get((tree, node))
        if k is None or not 0 <= score < n_scores or given[k, score]:
            raise ModelFileError(f"An ONNX tree ensemble has a weight for score {score} at node {node}, which is odd.")
        values[k, score], given[k, score] = weight, True
    _check_weighed(ensemble, given)
    return values, given


def _check_weighed(ensemble: _Ensemble, given: npt.NDArray[np.bool_]) -> None:
    """Raise if a leaf has a value and no weight: onnxruntime then takes the value for its weight."""
    leaf = np.array([mode == "LEAF" for mode in ensemble.mode])
    odd = np.flatnonzero(leaf & ~given.any(axis=1) & (ensemble.value != 0))
    if odd.size:
        raise ModelFileError(
            f"Node {odd[0]} of an ONNX tree ensemble is a leaf, which should have a weight, but has none."
        )


def _tree_nodes(graph: _Graph, domain: Domain, ensemble: _Ensemble, values: npt.NDArray[np.float64]) -> list[TreeNodes]:
    sides = [None if m == "LEAF" else _side(graph, domain, ensemble, k) for k, m in enumerate(ensemble.mode)]
    trees = []
    for root in ensemble.roots():
        nodes = ensemble.below(root)
        place, found = {k: n for n, k in enumerate(nodes)}, [sides[k] for k in nodes]
        ways = [(-1, -1) if s is None else _ways(ensemble, k, s[1]) for k, s in zip(nodes, found, strict=True)]
        children = [(-1, -1) if a < 0 else (place[a], place[b]) for a, b in ways]
        trees.append(
            TreeNodes(
                column=np.array([-1 if s is None else ensemble.feature[k] for k, s in zip(nodes, found, strict=True)]),
                splits=[None if side is None else side[0] for side in found],
                left=np.array([a for a, _ in children], dtype=np.int64),
                right=np.array([b for _, b in children], dtype=np.int64),
                values=values[nodes],
                missing_left=np.array([side is not None and side[2] for side in found]),
            )
        )
    return trees


def _ways(ensemble: _Ensemble, k: int, is_true: bool) -> tuple[int, int]:
    true, false = ensemble.child(k, ensemble.true), ensemble.child(k, ensemble.false)
    return (true, false) if is_true else (false, true)


def _side(graph: _Graph, domain: Domain, ensemble: _Ensemble, k: int) -> tuple[Split, bool, bool]:
    """Return what goes left at a node, whether that is where its test is true, and whether missing values do."""
    mode, value, column = ensemble.mode[k], float(ensemble.value[k]), ensemble.feature[k]
    if not 0 <= column < len(domain.columns):
        raise ModelFileError(f"Node {k} of an ONNX tree ensemble tests column {column}, which no input has.")
    # Compared like any number NaN is unequal to all, and neither above nor below.
    missing = bool(ensemble.tracks_true[k]) or mode == "BRANCH_NEQ"
    if mode in ("BRANCH_EQ", "BRANCH_NEQ"):
        is_true = mode == "BRANCH_EQ"
        return _equal(graph, domain, column, value), is_true, missing == is_true
    if mode not in ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"):
        raise UnsupportedModelError(f"An ONNX tree ensemble has a node of mode {mode!r}, which is not read.")
    is_true = mode in ("BRANCH_LEQ", "BRANCH_LT")
    return _cut(graph, value, column, strict=mode in ("BRANCH_LT", "BRANCH_GTE")), is_true, missing == is_true


def _equal(graph: _Graph, domain: Domain, column: int, value: float) -> frozenset[Any]:
    """Return the codes of a column that are equal to a number, once rounded as the operator has them."""
    if graph.scale is not None:
        raise UnsupportedModelError("An ONNX tree ensemble asks for equal numbers behind a scaler, which is not read.")
    _, codes = codes_of_column(domain, column)  # refuses a real feature
    if isinstance(codes, range):
        if abs(value) >= _FAR << _SINGLE:
            raise UnsupportedModelError(f"An ONNX tree ensemble asks for numbers equal to {value}, which is too large.")
        # Integers that round to the same number lie together; none is far from it.
        codes = range(max(codes[0], math.floor(value) - _FAR), min(codes[-1], math.ceil(value) + _FAR) + 1)
    return frozenset(code for code in codes if isinstance(code, int | float) and _NUMPY[graph.kind](code) == value)


def _cut(graph: _Graph, value: float, column: int, *, strict: bool) -> Cut:
    """Return where ``x <= value`` (or ``<``, if `strict`) ends, for columns as they were before they were rounded."""
    if graph.scale is not None and graph.offset is not None:
        value, strict = (
            _unscaled(value, _entry(graph.offset, column), _entry(graph.scale, column), strict=strict),
            False,
        )
    elif graph.kind == _DOUBLE:
        return Cut(value, closed=False) if strict and math.isfinite(value) else float64_cut(value)
    return float32_cuts([value], strict=strict)[0]


def _entry(numbers: npt.NDArray[np.float32], column: int) -> np.float32:
    return np.float32(numbers[column if len(numbers) > 1 else 0])


def _unscaled(value: float, offset: np.float32, scale: np.float32, *, strict: bool) -> float:
    """Return the largest float32 that a scaler, which rounds twice, leaves on the left of a threshold."""
    if not scale > 0:
        raise UnsupportedModelError("An ONNX scaler multiplies by a number that is not positive, which is not read.")
    # As numbers of float32 steps from zero, the first beyond the infinities: NaN, up to which nothing goes left.
    low, high = -(_STEPS + 1), _STEPS + 1

    def goes_left(steps: int) -> bool:
        bits = np.array([abs(steps)], dtype=np.int32).view(np.float32)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (np.float32(math.copysign(bits, steps)) - offset) * scale
        return bool(scaled < value) if strict else bool(scaled <= value)

    while low + 1 < high:  # rounding keeps the order, so the left is everything up to one number
        middle = (low + high) // 2
        low, high = (middle, high) if goes_left(middle) else (low, middle)
    return math.copysign(float(np.array([abs(low)], dtype=np.int32).view(np.float32)[0]), low)


def _trees_regressor(graph: _Graph, domain: Domain) -> TreeSum:
    attributes = graph.attributes
    how = attributes.get("aggregate_function", "SUM")
    if attributes.get("n_targets", 1) != 1 or how not in ("SUM", "AVERAGE"):
        raise UnsupportedModelError(
            f"TreeEnsembleRegressor with {attributes.get('n_targets', 1)} targets and aggregate {how} was given, but "
            "one target that is a sum or an average is read."
        )
    ensemble = _Ensemble.of(attributes)
    values, _ = _weights(attributes, "target", ensemble, 1)
    trees = _tree_nodes(graph, domain, ensemble, values)
    many = len(trees) if how == "AVERAGE" else 1
    base = [Fraction(float(b)) * many for b in _numbers(attributes, "base_values")] or [Fraction(0)]
    return TreeSum.of(domain, trees, rule=Score(Fraction(1, many)), base=base)


def _trees_classifier(graph: _Graph, domain: Domain) -> TreeSum:
    attributes, labels = graph.attributes, _labels(graph, "classlabels_int64s")
    ensemble = _Ensemble.of(attributes)
    values, given = _weights(attributes, "class", ensemble, len(labels))
    used = np.flatnonzero(given.any(axis=0)).tolist()
    base = [Fraction(float(b)) for b in _numbers(attributes, "base_values")]
    if len(labels) == 2:
        threshold = _threshold(attributes, values[:, used], base)
        trees = _tree_nodes(graph, domain, ensemble, values[:, used])
        return TreeSum.of(domain, trees, rule=Positive((labels[0], labels[1])), base=[sum(base, -threshold)])
    _check_scored(attributes, ensemble, given)
    if base and len(base) != len(labels):
        raise ModelFileError(f"An ONNX tree ensemble has {len(base)} base values for {len(labels)} classes.")
    trees = _tree_nodes(graph, domain, ensemble, values)
    return TreeSum.of(domain, trees, rule=Argmax(labels), base=base or None)


def _threshold(attributes: Mapping[str, Any], weights: npt.NDArray[np.float64], base: Sequence[Fraction]) -> Fraction:
    """Return what one score must exceed for the second of two classes."""
    is_share, is_plain = bool((weights >= 0).all()), attributes.get("post_transform", "NONE") in ("NONE", "PROBIT")
    # With two scores, onnxruntime asks whether the second is above zero, and others which is the larger one.
    if weights.shape[1] != 1 or is_share != is_plain or len(base) > 1:
        raise UnsupportedModelError(
            "What decides between the two classes of this ONNX tree ensemble (zero, one half, or the larger score) is "
            "not the same in all runtimes; give the model that was converted instead."
        )
    return Fraction(1, 2) if is_share else Fraction(0)


def _check_scored(attributes: Mapping[str, Any], ensemble: _Ensemble, given: npt.NDArray[np.bool_]) -> None:
    """Raise unless every class has a score at every point: runtimes differ in what they do with one that has none."""
    leaf = np.array([mode == "LEAF" for mode in ensemble.mode])
    tree = np.array(ensemble.tree)
    whole = np.array([given[leaf & (tree == t)].all(axis=0) for t in set(ensemble.tree)]).any(axis=0)
    if not whole.all() or attributes.get("post_transform", "NONE") in ("SOFTMAX_ZERO", "PROBIT"):
        raise UnsupportedModelError(
            "The ONNX tree ensemble leaves a class without a score at some points, or transforms scores out of order, "
            "which runtimes treat differently; give the model that was converted instead."
        )


def _linear(graph: _Graph, domain: Domain) -> LinearModel:
    check_never_missing(domain)
    attributes, width = graph.attributes, len(domain.columns)
    coefficients, intercepts = _numbers(attributes, "coefficients"), _numbers(attributes, "intercepts")
    if not coefficients.size or coefficients.size % width:
        raise ModelFileError(f"An ONNX linear model should have {width} coefficients per score.")
    rows = coefficients.reshape(-1, width)
    constants = [Fraction(float(b)) for b in intercepts] or [Fraction(0)] * len(rows)
    rule: Argmax | Positive | Score = Score()
    if graph.node.op_type == "LinearClassifier":
        labels = _labels(graph, "classlabels_ints")
        rule = _linear_rule(labels, len(rows))
    if len(constants) != len(rows) or (isinstance(rule, Score) and len(rows) != 1):
        raise UnsupportedModelError(
            f"The ONNX linear model has {len(rows)} rows of coefficients and {len(constants)} intercepts; one per "
            "class is read, or one in all."
        )
    return _columns_scaled(graph, domain, rows, constants, rule)


def _linear_rule(labels: _Labels, n_rows: int) -> Argmax | Positive:
    if n_rows == len(labels) > 1:
        return Argmax(labels)
    if n_rows == 1 and len(labels) == 2:
        return Positive((labels[0], labels[1]))
    raise UnsupportedModelError(
        f"The ONNX linear classifier has {n_rows} scores for {len(labels)} classes; one per class is read."
    )


def _columns_scaled(
    graph: _Graph, domain: Domain, rows: npt.NDArray[np.float64], constants: list[Fraction], rule: Any
) -> LinearModel:
    """Return the linear model in the columns before a scaler, with all that float32 may lose."""
    offsets = _fractions(graph.offset, rows.shape[1], 0)
    scales = _fractions(graph.scale, rows.shape[1], 1)
    slopes = [[Fraction(w) * s for w, s in zip(row, scales, strict=True)] for row in rows.tolist()]
    moved = [
        b - sum((w * o for w, o in zip(row, offsets, strict=True)), Fraction(0))
        for b, row in zip(constants, slopes, strict=True)
    ]
    model = LinearModel.of_columns(domain, slopes, intercepts=moved, rule=rule)
    if graph.kind == _DOUBLE:
        return model
    reach = [_reach(domain, k) for k in range(rows.shape[1])]
    # Every column is rounded when it comes in, when its offset is taken away, and when it is scaled.
    lost = max(
        sum((abs(w) * (r + abs(o)) for w, r, o in zip(row, reach, offsets, strict=True)), Fraction(0)) for row in slopes
    )
    return replace(model, precision=_SINGLE, column_error=8 * _UNIT * lost)


def _fractions(numbers: npt.NDArray[np.float32] | None, width: int, default: int) -> list[Fraction]:
    if numbers is None:
        return [Fraction(default)] * width
    return [Fraction(float(_entry(numbers, k))) for k in range(width)]


def _reach(domain: Domain, column: int) -> Fraction:
    """Return the largest absolute value of a column."""
    feature = next(f for f in domain.features if domain.columns[column] in f.columns)
    if isinstance(feature, Categorical):
        return max(Fraction(abs(row[feature.columns.index(domain.columns[column])])) for row in feature.codes)
    return max(abs(Fraction(feature.low)), abs(Fraction(feature.high)))


@predicts(onnx.ModelProto)
def _ask(model: Any, domain: Domain) -> Predict:
    graph = _Graph.of(model)
    run = _session(_pruned(model))

    def predict(codes: Codes) -> list[Any]:
        return np.asarray(run(_feeds(graph, domain, codes))).reshape(-1).tolist()

    return predict


@compares(onnx.ModelProto)
def _compare(model: Any, domain: Domain) -> Predict | None:
    listed = (code for f in domain.features if isinstance(f, Categorical) for row in f.codes for code in row)
    return _ask(model, domain) if all(isinstance(code, int | float) for code in listed) else None


def _feeds(graph: _Graph, domain: Domain, codes: Codes) -> dict[str, npt.NDArray[Any]]:
    table = numbers_of(domain, codes)
    kinds = [_NUMPY[info.type.tensor_type.elem_type] for info in graph.inputs]
    if len(graph.inputs) == 1:
        return {graph.inputs[0].name: table.astype(kinds[0])}
    ends = np.cumsum([_width(info) or 1 for info in graph.inputs])
    parts = np.split(table, ends[:-1], axis=1)
    return {i.name: part.astype(kind) for i, part, kind in zip(graph.inputs, parts, kinds, strict=True)}


def _pruned(model: Any) -> Any:
    """Return the model with its first output alone, and only what that needs: runtimes do not know all the rest."""
    kept, wanted = [], {model.graph.output[0].name}
    for node in reversed(model.graph.node):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(node.input)
    pruned = onnx.ModelProto()
    pruned.CopyFrom(model)
    del pruned.graph.node[:], pruned.graph.output[1:]
    pruned.graph.node.extend(reversed(kept))
    unused = [tensor for tensor in pruned.graph.initializer if tensor.name not in wanted]
    for tensor in unused:
        pruned.graph.initializer.remove(tensor)
    return pruned


def _session(model: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return what runs a model: onnxruntime if it is installed, else the reference that comes with onnx."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        reference = ReferenceEvaluator(model)
        return lambda feeds: reference.run(None, dict(feeds))[0]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no base of their own
        raise UnsupportedModelError(
            f"onnxruntime should run the model, but says: {error}; convert it again."
        ) from error
    return lambda feeds: session.run(None, dict(feeds))[0]
