"""scikit-learn models that have several others vote, or average them.

These are bagging, AdaBoost, voting, calibration, one-versus-rest and one-versus-one. Averages of probabilities over
trees are sums of trees, and averages of regressions sums of what is averaged. A vote of a single tree is a tree again,
with the voted class at each leaf, and whatever a wrapper makes of a single tree's probabilities (a calibration) it
makes of each leaf, computed here by the library's own operations in floats. Weights are multiplied into leaves,
products that are rounded to float64 as the library rounds its own; so, as for every sum of floats, the two can differ
where the exact margin is within rounding of a tie. A vote of several trees, or of a linear score, is no sum of trees:
over small finite domains such a committee is read by asking it everywhere, and refused elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from axfi_kc.compilers.readers import check_own_predict, plain_labels, read_model, reads
from axfi_kc.compilers.readers.checks import spread
from axfi_kc.compilers.readers.joined_models import joined_linear, joined_trees
from axfi_kc.compilers.readers.pipeline_columns import columns_of, inner_of, pulled_back
from axfi_kc.compilers.readers.responses import Response, averages, decided, responds, response_of, total_of, totals
from axfi_kc.compilers.readers.sklearn_trees import check_fitted, check_width, nodes_of, takes_missing
from axfi_kc.compilers.readers.sklearn_wrappers import first_method, last_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import exact
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Model, Positive, Score, TableModel, TreeSum
from axfi_kc.models.base import check_never_missing
from axfi_kc.models.own_predict import predictor

__all__: list[str] = []


Floats = npt.NDArray[np.float64]
_MOST_POINTS = 100_000  # of a finite domain, at each of which a committee is asked
_Reader = Callable[[Any, Domain], Model]


def _or_by_points(read: _Reader) -> _Reader:
    """Let a committee that is no sum be read by asking it at every point of a small finite domain."""

    @wraps(read)
    def reader(model: Any, domain: Domain) -> Model:
        try:
            return read(model, domain)
        except UnsupportedModelError as error:
            size = domain.size
            if size is None or size > _MOST_POINTS:
                raise UnsupportedModelError(
                    f"{error} (Over a finite domain of at most {_MOST_POINTS:,} points it is read all the same.)"
                ) from error
            codes = domain.encode(list(domain.points()))
            outputs = predictor(model, domain)(codes)
            if len(outputs) != len(codes):  # several for each point
                raise
            return TableModel.from_outputs(domain, outputs)

    return reader


def _times(factor: Fraction, values: Floats) -> Floats:
    """Return leaf vectors times a number, rounded once where that number is a float."""
    return values if factor == 1 else float(factor) * values


def _factors(shares: Sequence[Fraction]) -> list[Fraction]:
    """Return numbers in the same ratios, whole where they are not too long: then sums of votes stay exact."""
    if len(set(shares)) == 1 and shares[0] > 0:
        return [Fraction(1)] * len(shares)
    whole = math.lcm(*(s.denominator for s in shares))
    # At most 1 in sum, by a power of two, which leaves every mantissa as it is.
    size = sum(abs(s) * whole for s in shares)
    return [s * whole / (1 << math.ceil(size).bit_length()) for s in shares]


def _tree(form: Model, owner: Any) -> TreeSum:
    """Return a form that is a single tree, and so decides leaf by leaf."""
    if isinstance(form, TreeSum) and form.n_trees == 1:
        return form
    raise UnsupportedModelError(
        f"{type(owner).__name__} is read exactly where its members are single trees, but a {form.words} was found; use "
        "single decision trees as members, or explain one member."
    )


def _trees(form: Model) -> TreeSum:
    if isinstance(form, TreeSum):
        return form
    raise UnsupportedModelError(f"Expected a member made of trees, but a {form.words} was read; use decision trees.")


def _votes(tree: TreeSum, labels: Sequence[Any]) -> Floats:
    """Return for each leaf 1 for the label that it says, and 0 for the others."""
    said = tree.leaf_outputs()
    return np.array([[label == out for label in labels] for out in said], dtype=np.float64)


def _bagged(model: Any) -> list[tuple[Any, list[int]]]:
    """Return the members that act in predict, each with the columns that it is given."""
    check_fitted(model, "estimators_features_")
    n = model.n_estimators  # a number that was set after fit acts in predict
    return [
        (member, np.asarray(columns).tolist())
        for member, columns in zip(model.estimators_[:n], model.estimators_features_[:n], strict=True)
    ]


def _on_columns(member: Any, domain: Domain, columns: list[int]) -> Model:
    """Read a member that is given some of the columns, in any order."""
    if columns == list(range(len(domain.columns))) or getattr(member, "n_outputs_", 1) != 1:
        return read_model(member, domain)  # which refuses several outputs
    if isinstance(member, DecisionTreeClassifier | DecisionTreeRegressor):
        # A tree may be given a column twice, as it tests one column at a time.
        check_own_predict(member)
        nodes = nodes_of(member.tree_, member.tree_.value[:, 0, :], missing=takes_missing(member))
        original = np.append(columns, -1)[nodes.column]
        is_class = isinstance(member, DecisionTreeClassifier)
        rule = Argmax(plain_labels(member.classes_)) if is_class else Score()
        return TreeSum.of(domain, [replace(nodes, column=original)], rule=rule)
    given = columns_of(domain)
    inner = inner_of(domain, [given[c] for c in columns], [f"column {k}" for k in range(len(columns))])
    return pulled_back(read_model(member, inner.domain), inner, domain)


@reads(BaggingClassifier)
@_or_by_points
def _bagging_classifier(model: Any, domain: Domain) -> Model:
    members = _bagged(model)
    check_width(model, domain)
    factors, labels = _factors(_bagging_shares(model)), plain_labels(model.classes_)
    joined = []
    for (member, columns), factor in zip(members, factors, strict=True):
        form: Any = _on_columns(member, domain, columns)
        if not hasattr(member, "predict_proba"):
            tree = _tree(form, model)
            joined.append((tree, _times(factor, _votes(tree, range(len(labels))))))
            continue
        vectors = np.zeros((len(_trees(form).values), len(labels)))
        # Members know the classes by their numbers, and may not have seen all.
        vectors[:, list(form.labels)] = _times(factor, form.values)
        joined.append((form, vectors))
    return joined_trees(joined, rule=Argmax(labels))


def _bagging_shares(model: Any) -> list[Fraction]:
    return [Fraction(1) / (total_of(member) if hasattr(member, "predict_proba") else 1) for member, _ in _bagged(model)]


@totals(BaggingClassifier)
def _of_bagging(model: Any) -> Fraction:
    shares = _bagging_shares(model)
    return model.n_estimators * _factors(shares)[0] / shares[0]


@reads(BaggingRegressor)
@_or_by_points
def _bagging_regressor(model: Any, domain: Domain) -> Model:
    members = _bagged(model)
    check_width(model, domain)
    forms = [_on_columns(member, domain, columns) for member, columns in members]
    return _mean(forms, [Fraction(1, model.n_estimators)] * len(forms), model)


def _mean(forms: Sequence[Model], shares: Sequence[Fraction], owner: Any) -> Model:
    """Return the regression that adds up shares of regressions."""
    if all(isinstance(f, LinearModel) for f in forms):
        terms: Any = [(f, 0, s * f.rule.scale) for f, s in zip(forms, shares, strict=True)]  # type: ignore[attr-defined]
        return joined_linear(forms[0].domain, [terms], rule=Score(), base=[0])
    trees = [f for f in forms if isinstance(f, TreeSum)]
    if len(trees) < len(forms):
        raise UnsupportedModelError(
            f"{type(owner).__name__} mixes kinds of models ({', '.join(sorted({f.words for f in forms}))}), "
            "of which there is no exact sum; average trees with trees, or linear models with linear models."
        )
    scales = [s * f.rule.scale for f, s in zip(trees, shares, strict=True) if isinstance(f.rule, Score)]
    factors = _factors(scales)
    # The common scale is put back by the rule, exactly.
    scale = next(s / f for s, f in zip(scales, factors, strict=True) if f)
    base = sum((f * t.base[0] for f, t in zip(factors, trees, strict=True)), Fraction(0))
    joined = [(t, _times(f, t.values)) for t, f in zip(trees, factors, strict=True)]
    return joined_trees(joined, rule=Score(scale), base=[base])


@reads(AdaBoostClassifier)
@_or_by_points
def _adaboost_classifier(model: Any, domain: Domain) -> Model:
    """Read the weighted votes of SAMME: for each class its weight, against it the weight over the other classes."""
    check_fitted(model, "estimator_weights_")
    check_width(model, domain)
    check_never_missing(domain)  # its members might, but it checks before them
    if getattr(model, "algorithm", "SAMME") == "SAMME.R":
        raise UnsupportedModelError(
            "AdaBoostClassifier(algorithm='SAMME.R') adds logarithms of probabilities, which are not read; fit it with "
            "algorithm='SAMME'."
        )
    labels = plain_labels(model.classes_)
    trees = [_tree(read_model(member, domain), model) for member in model.estimators_]
    # In floats, as the library does it: the product is a number that it works with.
    against = [-1 / max(len(labels) - 1, 1) * w for w in model.estimator_weights_]
    rows = zip(trees, model.estimator_weights_, against, strict=False)
    joined = [(tree, np.where(_votes(tree, labels) > 0, w, other)) for tree, w, other in rows]
    if len(labels) != 2:
        return joined_trees(joined, rule=Argmax(labels))
    return joined_trees([(tree, v[:, [1]]) for tree, v in joined], rule=Positive((labels[0], labels[1])))


@reads(AdaBoostRegressor)
@_or_by_points
def _adaboost_regressor(model: Any, domain: Domain) -> Model:
    check_fitted(model, "estimator_weights_")
    check_width(model, domain)
    check_never_missing(domain)  # its members might, but it checks before them
    if len(model.estimators_) > 1:
        raise UnsupportedModelError(
            "AdaBoostRegressor predicts the weighted median of its members, which is no sum of trees; use a "
            "GradientBoostingRegressor or a forest."
        )
    return read_model(model.estimators_[0], domain)


def _weights(model: Any) -> list[Fraction]:
    """Return the weights of the members that were not dropped."""
    given = model._weights_not_none
    weights = [Fraction(1)] * len(model.estimators_) if given is None else [exact(w, "weight") for w in given]
    if len(weights) != len(model.estimators_) or min(weights) < 0 or not any(weights):
        raise UnsupportedModelError(
            f"{type(model).__name__} should have a positive weight for each of its {len(model.estimators_)} members, "
            f"but has {given}; fit it with others."
        )
    return weights


@reads(VotingClassifier)
@_or_by_points
def _voting_classifier(model: Any, domain: Domain) -> Model:
    check_fitted(model, "estimators_")
    labels = plain_labels(model.classes_)
    numbers = range(len(labels))  # members know the classes by these
    if model.voting == "hard":
        trees = [_tree(read_model(member, domain), model) for member in model.estimators_]
        pairs = zip(trees, _weights(model), strict=True)
        return joined_trees([(t, _times(w, _votes(t, numbers))) for t, w in pairs], rule=Argmax(labels))
    forms = [averages(member, domain)[0] for member in model.estimators_]
    factors = _factors(_voting_shares(model))
    return joined_trees([(t, _times(f, t.values)) for t, f in zip(forms, factors, strict=True)], rule=Argmax(labels))


def _voting_shares(model: Any) -> list[Fraction]:
    return [w / total_of(member) for w, member in zip(_weights(model), model.estimators_, strict=True)]


@totals(VotingClassifier)
def _of_voting(model: Any) -> Fraction:
    shares = _voting_shares(model)
    ratio = next(f / s for f, s in zip(_factors(shares), shares, strict=True) if s)
    return ratio * sum(_weights(model))


@reads(VotingRegressor)
@_or_by_points
def _voting_regressor(model: Any, domain: Domain) -> Model:
    check_fitted(model, "estimators_")
    forms = [read_model(member, domain) for member in model.estimators_]
    weights = _weights(model)
    return _mean(forms, [w / sum(weights) for w in weights], model)


@reads(CalibratedClassifierCV)
@_or_by_points
def _calibrated(model: Any, domain: Domain) -> Model:
    check_fitted(model, "calibrated_classifiers_")
    labels, pairs = plain_labels(model.classes_), model.calibrated_classifiers_
    if not _calibrates_leaves(model) and len(pairs) == 1 and len(labels) == 2:
        # One margin behind functions that never fall, or never rise: the calibrated answer changes sides once.
        response = response_of(model, domain, "predict_proba", 1)
        return decided(response, lambda second: second > 1.0 - second, (labels[0], labels[1]))
    joined = []
    for pair in pairs:
        tree = _tree(read_model(pair.estimator, domain), model)
        total_of(pair.estimator)  # or raises: leaves hold no probabilities
        joined.append((tree, _calibrated_leaves(pair, tree.values, plain_labels(pair.estimator.classes_))))
    return joined_trees(joined, rule=Argmax(labels))


def _calibrates_leaves(model: Any) -> bool:
    return all(isinstance(last_of(pair.estimator), DecisionTreeClassifier) for pair in model.calibrated_classifiers_)


def _calibrated_leaves(pair: Any, leaves: Floats, seen: Sequence[Any]) -> Floats:
    """Return what a calibrated classifier makes of the probabilities at each leaf of its tree."""
    labels = plain_labels(pair.classes)
    if pair.method == "temperature":
        if len(seen) < len(labels):
            raise UnsupportedModelError("A tree that has not seen all classes is calibrated; fit with other splits.")
        found = pair.calibrators[0].predict(leaves if len(labels) > 2 else _both(leaves[:, 1]))
    else:
        found = np.zeros((len(leaves), len(labels)))
        # Of two classes the library asks for the second only.
        asked = leaves[:, 1:] if len(seen) == 2 else leaves
        for label, column, calibrator in zip(seen, asked.T, pair.calibrators, strict=False):
            found[:, labels.index(label) + (len(labels) == 2)] = calibrator.predict(column)
        found = _both(found[:, 1]) if len(labels) == 2 else _normalized(found)
    found[(found > 1.0) & (found <= 1.0 + 1e-5)] = 1.0
    return found


def _normalized(found: Floats) -> Floats:
    """Return rows divided by their sums; all equal where the sum is zero."""
    sums = np.sum(found, axis=1)[:, np.newaxis]
    return np.divide(found, sums, out=np.full_like(found, 1 / found.shape[1]), where=sums != 0)


def _both(second: Floats) -> Floats:
    return np.stack([1.0 - second, second], axis=1)


@totals(CalibratedClassifierCV)
def _of_calibrated(model: Any) -> Fraction:
    if not _calibrates_leaves(model):
        raise UnsupportedModelError(
            "The probabilities of CalibratedClassifierCV are averages over trees only if it calibrates single decision "
            "trees; use these, or explain it alone."
        )
    return Fraction(len(model.calibrated_classifiers_))


@responds(CalibratedClassifierCV)
def _response_of_calibrated(model: Any, domain: Domain, method: str, column: int) -> Response:
    if _calibrates_leaves(model) or len(model.calibrated_classifiers_) > 1:
        return response_of.dispatch(object)(model, domain, method, column)
    (pair,) = model.calibrated_classifiers_
    inner = pair.estimator
    asked = first_method(inner, ("decision_function", "predict_proba"))
    before = response_of(inner, domain, asked, 1)

    def answer(scores: Floats) -> Any:
        found = before.answer(scores)
        if pair.method == "temperature":
            return pair.calibrators[0].predict(found if asked == "decision_function" else _both(found))[:, column]
        return _both(pair.calibrators[0].predict(found))[:, column]

    return replace(before, answer=answer)


@reads(OneVsRestClassifier)
@_or_by_points
def _one_versus_rest(model: Any, domain: Domain) -> Model:
    check_fitted(model, "estimators_")
    if model.multilabel_:
        raise UnsupportedModelError(
            "OneVsRestClassifier fitted to several labels at once was given; explain one at a time, with a classifier "
            "fitted to it alone."
        )
    labels, members = plain_labels(model.classes_), model.estimators_
    if len(members) == 1:
        method = first_method(members[0], ("decision_function", "predict_proba"))
        least = 0.0 if method == "decision_function" else 0.5
        response = response_of(members[0], domain, method, 1)
        return decided(response, lambda answer: answer > least, (labels[0], labels[1]))
    return _beside(domain, [_binary_score(member, domain) for member in members], Argmax(labels))


def _binary_score(member: Any, domain: Domain) -> tuple[TreeSum | LinearModel, int, Fraction]:
    """Return what a member answers for its second class: a score of its form, divided by a total."""
    if first_method(member, ("decision_function", "predict_proba")) == "predict_proba":
        form, total = averages(member, domain)
        return form, 1, total
    response = response_of(member, domain, "decision_function", 1)
    if response.answer(np.array([0.75, -3.0])).tolist() != [0.75, -3.0]:
        raise UnsupportedModelError(
            f"{type(member).__name__} answers with a function of its score, of which several cannot be compared "
            "exactly; use linear models, trees or gradient boosting."
        )
    return response.form, response.score, Fraction(1)


def _beside(domain: Domain, scores: Sequence[tuple[TreeSum | LinearModel, int, Fraction]], rule: Argmax) -> Model:
    """Return the classifier with one score from each form."""
    if all(isinstance(form, LinearModel) for form, _, _ in scores):
        terms: Any = [[(form, score, 1 / total)] for form, score, total in scores]
        return joined_linear(domain, terms, rule=rule, base=[0] * len(scores))
    common, joined, base = math.lcm(*(total.numerator for *_, total in scores)), [], []
    for k, (form, score, total) in enumerate(scores):
        tree = _trees(form)
        joined.append((tree, spread(_times(common / total, tree.values[:, score]), k, len(scores))))
        base.append(common / total * tree.base[score])
    return joined_trees(joined, rule=rule, base=base)


@reads(OneVsOneClassifier)
@_or_by_points
def _one_versus_one(model: Any, domain: Domain) -> Model:
    """Read the votes of the pairs; equal numbers of votes are told apart by the sums of the members' answers."""
    check_fitted(model, "estimators_")
    check_width(model, domain)
    labels, members = plain_labels(model.classes_), model.estimators_
    if model.pairwise_indices_ is not None:
        raise UnsupportedModelError("OneVsOneClassifier of a precomputed kernel is not read; fit it to the features.")
    if len(labels) == 2:
        # With one pair the vote decides, and the vote is what the member predicts.
        form: Any = read_model(members[0], domain)
        form = form if isinstance(form, LinearModel) else _trees(form)
        return replace(form, rule=replace(form.rule, labels=tuple(labels[k] for k in form.labels)))
    joined = []
    for member, (i, j) in zip(members, itertools.combinations(range(len(labels)), 2), strict=True):
        tree = _tree(read_model(member, domain), model)
        total_of(member)  # or raises: leaves hold no probabilities
        votes, share = _votes(tree, (0, 1)), tree.values[:, 1]
        # A vote outweighs every sum of answers, which are at most 1 each. Two trees, as one leaf could not hold the
        # sum of both without rounding.
        weight = float(1 << (2 * len(labels)).bit_length())
        n = len(labels)
        joined.append((tree, weight * (spread(votes[:, 0], i, n) + spread(votes[:, 1], j, n))))
        joined.append((tree, spread(share, j, n) - spread(share, i, n)))
    return joined_trees(joined, rule=Argmax(labels))
