"""XGBoost estimators, boosters and files as sums of trees.

A point goes left iff ``float32(x) < threshold``; at a categorical split the listed categories go
right. The library adds float32 numbers in float32; the neutral form has the exact sum of the same
numbers, so the two differ by the library's own rounding. The class is decided by the margin:
``margin > 0``, or the lowest index of the largest margin.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from axfi_kc.compilers.readers import check_own_predict, reads
from axfi_kc.compilers.readers.checks import (
    check_columns,
    check_known_categories,
    check_whole_codes,
    parse_json,
    plain_labels,
    spread,
)
from axfi_kc.compilers.readers.xgboost_files import XGBoostFile, parse_document, parse_xgboost
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Cut, float32_cuts
from axfi_kc.errors import ModelFileError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum
from axfi_kc.models.own_predict import (
    Codes,
    Predict,
    blocks_of,
    compares,
    frame_of,
    numbers_of,
    plain_predictor,
    predicts,
    table_predictor,
)

__all__ = ["Reading", "objective_kind", "read_xgboost", "sum_of_file"]


_SIGN = ("binary:hinge", "binary:logistic", "binary:logitraw")
_ARGMAX = ("multi:softmax", "multi:softprob")
_IDENTITY = (
    "rank:map",
    "rank:ndcg",
    "rank:pairwise",
    "reg:absoluteerror",
    "reg:linear",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:squarederror",
    "reg:squaredlogerror",
)

Iterations = int | Literal["best", "all"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file, where its library leaves a choice.

    Attributes
    ----------
    labels
        Class labels; None stands for 0, 1, ...
    iterations
        How many rounds count: a number, ``"best"`` or ``"all"``.
    base
        The margins before any tree, where they are known better than from the file.
    threshold
        What a binary margin must exceed for the second class.
    """

    labels: Sequence[Hashable] | None = None
    iterations: Iterations = "best"
    base: tuple[float, ...] | None = None
    threshold: Fraction = Fraction(0)


def read_xgboost(
    source: str | os.PathLike[str] | bytes | bytearray,
    domain: Domain,
    *,
    labels: Sequence[Hashable] | None = None,
    iterations: Iterations = "best",
) -> TreeSum:
    """Read an XGBoost model file, without XGBoost.

    Parameters
    ----------
    source
        The path of a file that ``save_model`` wrote as JSON or UBJSON (XGBoost 1.6 or later),
        or its bytes.
    domain
        The space on which the model is explained. The codes of a categorical column are the
        numbers the model saw; where the file names its categories (since 3.1, if trained on a
        DataFrame), they are those names.
    labels
        The class labels, in the order of the model's class numbers, which are the default.
    iterations
        How many rounds of boosting count. ``"best"``: up to the best iteration if early stopping
        recorded one, as ``XGBClassifier.predict`` does; ``"all"``, as ``Booster.predict`` does.

    Raises
    ------
    ModelFileError
        If the file is damaged, or no XGBoost model.
    UnsupportedModelError
        If the model has no exact form: a linear booster, or an objective that transforms the sum.
    DomainError
        If the domain does not describe the model's columns.

    Notes
    -----
    The margin of a ``base_score`` that is a probability is computed in float32, as the library
    does, with a logarithm that is rounded correctly; C's ``logf`` may differ in the last place.
    Sums are exact where the library rounds to float32, and ``margin > 0`` is exact where it
    rounds the probability: there, margins below about 1e-7 give exactly 0.5 and the first class.

    Examples
    --------
    >>> from axfi_kc.domain.features import Real
    >>> stump = b'''{"version": [2, 0, 3], "learner": {"feature_names": [], "attributes": {},
    ...     "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
    ...     "objective": {"name": "binary:logistic"}, "gradient_booster": {"name": "gbtree",
    ...     "model": {"tree_info": [0], "iteration_indptr": [0, 1], "trees": [{"tree_param": {},
    ...     "left_children": [1, -1, -1], "right_children": [2, -1, -1],
    ...     "split_indices": [0, 0, 0], "split_conditions": [3.5, -0.25, 0.75]}]}}}}'''
    >>> read_xgboost(stump, Domain([Real("x", 0, 9)])).predict([[3.4], [3.5]])
    [0, 1]
    """
    return sum_of_file(parse_xgboost(source), domain, Reading(labels=labels, iterations=iterations))


def sum_of_file(file: XGBoostFile, domain: Domain, reading: Reading) -> TreeSum:
    """Return the sum of trees that a parsed file describes."""
    kind = objective_kind(file)
    check_columns(domain, file.n_columns, file.names)
    _check_categories(file, domain)
    trees = _nodes(file, _n_trees(file, reading.iterations))
    if not trees:
        raise UnsupportedModelError("Expected a model with trees, but this one has none; train it for some rounds.")
    margins = reading.base if reading.base is not None else _base_margins(file)
    base = [Fraction(float(b)) for b in margins]
    rule = _rule(file, kind, reading.labels)
    if isinstance(rule, Positive):
        # "Above the threshold" becomes "above 0".
        base = [b - reading.threshold for b in base]
    return TreeSum.of(domain, trees, rule=rule, base=base)


def objective_kind(file: XGBoostFile) -> Literal["sign", "argmax", "identity"]:
    """Return how the objective turns margins into outputs, if it does so exactly."""
    if file.objective in _ARGMAX:
        return "argmax"
    if file.n_scores > 1:
        raise UnsupportedModelError(
            f"Objective {file.objective!r} with {file.n_scores} targets was given; "
            "explain one target at a time, with a model trained on it alone."
        )
    if file.objective in _SIGN:
        return "sign"
    if file.objective in _IDENTITY:
        return "identity"
    raise UnsupportedModelError(
        f"Objective {file.objective!r} does not output a class or the sum of its trees itself, so it has no exact "
        f"form; supported are {', '.join((*_SIGN, *_ARGMAX, *_IDENTITY))}."
    )


def _rule(file: XGBoostFile, kind: str, labels: Sequence[Hashable] | None) -> Argmax | Positive | Score:
    if kind == "identity":
        if labels is not None:
            raise UnsupportedModelError(f"Labels were given, but {file.objective!r} is a regression; leave them out.")
        return Score()
    n = file.n_scores if kind == "argmax" else 2
    names = tuple(range(n)) if labels is None else tuple(labels)
    if len(names) != n:
        raise UnsupportedModelError(f"The model has {n} classes, but {len(names)} labels were given; give one each.")
    return Argmax(names) if kind == "argmax" else Positive((names[0], names[1]))


def _n_trees(file: XGBoostFile, iterations: Iterations) -> int:
    n_rounds = len(file.rounds) - 1
    if iterations == "all" or (iterations == "best" and file.best_iteration is None):
        wanted = n_rounds
    elif iterations == "best":
        # Rounds are counted from 0.
        wanted = (file.best_iteration or 0) + 1
    else:
        wanted = iterations
    if not isinstance(wanted, int) or not 0 <= wanted <= n_rounds:
        raise ModelFileError(f"The model has {n_rounds} rounds of boosting, but {wanted!r} were asked for.")
    return file.rounds[wanted]


def _base_margins(file: XGBoostFile) -> tuple[float, ...]:
    """Return what the library adds before any tree."""
    # Before 3.1 there is one number for all classes.
    scores = file.base_score * (file.n_scores if len(file.base_score) == 1 else 1)
    if file.objective != "binary:logistic":  # of all that are read, the one whose bias is a probability
        return scores
    odd = next((p for p in scores if not 0 < p < 1), None)
    if odd is not None:
        raise ModelFileError(f"base_score of {file.objective!r} should be a probability in (0, 1), but it is {odd}.")
    return tuple(_logit(p) for p in scores)


def _logit(probability: float) -> float:
    """Return ``-log(1 / p - 1)``, each step rounded to float32."""
    odds = np.float32(1) / np.float32(probability) - np.float32(1)
    # A probability that float32 rounds to 1 leaves no odds.
    return float(-np.float32(math.log(float(odds)))) if odds > 0 else math.inf


def _check_categories(file: XGBoostFile, domain: Domain) -> None:
    for column in _categorical_columns(file):
        names = file.categories[column] if file.categories else ()
        if names:
            check_known_categories(domain, column, names)
        else:
            check_whole_codes(domain, column)


def _categorical_columns(file: XGBoostFile) -> list[int]:
    pairs = (pair for t in file.trees for pair in zip(t.column.tolist(), t.listed, strict=True))
    return sorted({column for column, listed in pairs if column >= 0 and listed is not None})


def _nodes(file: XGBoostFile, n_trees: int) -> list[TreeNodes]:
    """Return the first trees; the cuts of all of them are made together."""
    trees = file.trees[:n_trees]
    straight = [np.array([s is None for s in tree.listed]) for tree in trees]
    numeric = [tree.threshold[(tree.column >= 0) & plain] for tree, plain in zip(trees, straight, strict=True)]
    # The library's test is "less than", so a value equal to the threshold goes right.
    cuts = iter(float32_cuts(np.concatenate([np.zeros(0, np.float32), *numeric]), strict=True))
    return [
        TreeNodes(
            column=tree.column,
            splits=[_split(file, column, s, cuts) for column, s in zip(tree.column.tolist(), tree.listed, strict=True)],
            # what a set selects goes right here, and left in the neutral form
            left=np.where(plain, tree.left, tree.right),
            right=np.where(plain, tree.right, tree.left),
            values=scores,
        )
        for tree, plain, scores in zip(trees, straight, _scores(file, n_trees), strict=True)
    ]


def _split(file: XGBoostFile, column: int, listed: frozenset[int] | None, cuts: Iterator[Cut]) -> Split | None:
    if column < 0:
        return None
    return next(cuts) if listed is None else _members(file, column, listed)


def _scores(file: XGBoostFile, n_trees: int) -> list[npt.NDArray[np.float64]]:
    """Return what each node of each tree adds to each score."""
    pairs = zip(file.trees[:n_trees], file.weight, strict=False)
    values = [tree.values.astype(np.float64) * weight for tree, weight in pairs]  # 24 bits times 24 bits: exact
    odd = next((v.shape[1] for v in values if v.shape[1] not in (1, file.n_scores)), None)
    if odd is not None:
        raise ModelFileError(f"Leaves should hold {file.n_scores} numbers, but they hold {odd}.")
    alone = [t for t, v in enumerate(values) if v.shape[1] != file.n_scores]
    if alone:
        sizes = [len(values[t]) for t in alone]
        flat = np.concatenate([values[t][:, 0] for t in alone])
        vectors = spread(flat, np.repeat([file.score[t] for t in alone], sizes), file.n_scores)
        for t, part in zip(alone, np.split(vectors, np.cumsum(sizes)[:-1]), strict=True):
            values[t] = part
    return values


def _members(file: XGBoostFile, column: int, listed: frozenset[int]) -> Split:
    """Return the domain's codes of the listed category numbers."""
    names = file.categories[column] if file.categories else ()
    # A number beyond the names stands for no category of this column, so no point has it.
    return frozenset(names[k] for k in listed if k < len(names)) if names else listed


def _file_of(booster: Any) -> tuple[XGBoostFile, tuple[float, ...]]:
    """Return what the booster would save, and the margins the library starts from."""
    raw = bytes(booster.save_raw("json"))
    return parse_document(parse_json(raw)), _library_base(raw)


def _library_base(raw: bytes) -> tuple[float, ...]:
    """Return the margins of the model without its trees: what the library itself adds first."""
    document = json.loads(raw)
    learner = document["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster).get("model", {})
    if "trees" not in model:
        return ()
    model["trees"], model["tree_info"] = [], []
    model["gbtree_model_param"]["num_trees"] = "0"
    if "iteration_indptr" in model:
        model["iteration_indptr"] = [0]
    learner["gradient_booster"] = {"name": "gbtree", "model": model}
    learner["learner_model_param"]["boost_from_average"] = "0"  # else an empty model awaits training
    learner["feature_names"], learner["feature_types"] = [], []
    empty = xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))
    width = int(learner["learner_model_param"]["num_feature"])
    margins = empty.predict(xgb.DMatrix(np.zeros((1, width)), nthread=1), output_margin=True)
    return tuple(np.asarray(margins, dtype=np.float64).reshape(-1).tolist())


def _fitted(model: Any) -> Any:
    try:
        booster = model.get_booster()
    except (AttributeError, ValueError) as error:  # scikit-learn's NotFittedError is both
        name = type(model).__name__
        raise UnfittedModelError(
            f"Expected a fitted {name}, but this one has not been fitted; call fit first."
        ) from error
    check_own_predict(booster)
    return booster


@reads(xgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(model)
    return sum_of_file(file, domain, Reading(iterations="all", base=base))


@reads(xgb.XGBClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    kind, labels = objective_kind(file), plain_labels(model.classes_)
    if kind == "identity" or (kind == "argmax" and len(labels) < 3):
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} and {len(labels)} classes does not predict "
            "a class as classifiers do; train it with objective 'binary:logistic' or 'multi:softprob'."
        )
    # predict compares what the objective outputs with 0.5: for logitraw that is the margin itself.
    threshold = Fraction(1, 2) if file.objective == "binary:logitraw" else Fraction(0)
    return sum_of_file(file, domain, Reading(labels=labels, base=base, threshold=threshold))


@reads(xgb.XGBRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    if objective_kind(file) != "identity":
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} predicts a probability or a class number, "
            "which has no exact form as a regression; train an XGBClassifier, or use 'reg:squarederror'."
        )
    return sum_of_file(file, domain, Reading(base=base))


@predicts(xgb.XGBModel)
def _ask_estimator(model: Any, domain: Domain) -> Predict:
    return table_predictor(model, domain, categories=_categories(model.get_booster()))


@predicts(xgb.Booster)
def _ask_booster(model: Any, domain: Domain) -> Predict:
    objective = str(json.loads(model.save_config())["learner"]["objective"]["name"])
    categories = _categories(model)
    named = bool(categories) and _names_categories(model)

    def predict(codes: Codes) -> list[Any]:
        if named:
            frame = frame_of(
                dict(zip(model.feature_names, blocks_of(domain, codes), strict=True)), categories=categories
            )
            return _decided(np.asarray(model.predict(xgb.DMatrix(frame, enable_categorical=True))), objective)
        numbers = numbers_of(domain, codes)
        table = xgb.DMatrix(numbers, feature_names=model.feature_names, feature_types=model.feature_types)
        return _decided(np.asarray(model.predict(table)), objective)

    return predict


@compares(xgb.XGBModel)
@compares(xgb.Booster)
def _compare(model: Any, domain: Domain) -> Predict | None:
    booster = model if isinstance(model, xgb.Booster) else model.get_booster()
    return None if _categories(booster) else plain_predictor(model, domain)


def _categories(booster: Any) -> list[int]:
    """Return the columns that the library knows as categories."""
    return [k for k, kind in enumerate(booster.feature_types or ()) if kind == "c"]


def _names_categories(booster: Any) -> bool:
    """Tell whether a model was trained on a frame, whose categories have names."""
    trained = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    grown = trained.get("gbtree", trained).get("model", {})
    return any(len(e.get("values", ())) for e in (grown.get("cats") or {}).get("enc", ()))


def _decided(found: npt.NDArray[Any], objective: str) -> list[Any]:
    """Return classes, where a booster gives probabilities."""
    if found.ndim == 2 and found.shape[1] > 1:
        return found.argmax(axis=1).tolist()
    if objective.startswith("binary"):
        half = 0.0 if objective == "binary:logitraw" else 0.5  # that one gives margins
        return (found.reshape(-1) > half).astype(np.int64).tolist()
    if objective.startswith("multi:softmax"):
        return found.reshape(-1).astype(np.int64).tolist()
    return found.reshape(-1).astype(np.float64).tolist()
