"""scikit-learn models made of others: those that hand over to one, and those that ask several.

How a committee makes one output of many is left to its ``predict``; its members say where that may change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.verification.reading.columns import Seen, Split
from axfi_kc.verification.reading.forms import Form, LinearForm, OwnTree, Rule, TreeForm, class_name
from axfi_kc.verification.spaces import last_float

__all__ = ["handed_over", "wrapped_form"]


Read = Callable[[Any, Domain, tuple[Seen, ...]], Form | None]
_SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
_THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
_COMMITTEES = (
    *("BaggingClassifier", "BaggingRegressor", "AdaBoostClassifier", "AdaBoostRegressor", "IsolationForest"),
    *("VotingClassifier", "VotingRegressor", "OneVsRestClassifier", "OneVsOneClassifier"),
)


def wrapped_form(model: Any, domain: Domain, columns: tuple[Seen, ...], read: Read) -> Form | None:
    """Return a model that asks others; None where nothing is known of these. `read` reads them."""
    name, inner, members = class_name(model), handed_over(model), _members(model)
    if inner is not model:
        return read(inner, domain, columns)
    places = [_places(model, k, len(columns)) for k in range(len(members))]
    given = [tuple(columns[c] for c in places[k]) for k in range(len(members))]
    forms = [read(member, domain, seen) for member, seen in zip(members, given, strict=True)]
    trees = [_on_floats(form, seen) for form, seen in zip(forms, given, strict=True) if isinstance(form, TreeForm)]
    if forms and len(trees) == len(forms):
        return _side_by_side(columns, zip(trees, given, places, strict=True))
    lines = [form for form in forms if isinstance(form, LinearForm)]
    return _LINES[name](model, lines) if name in _LINES and lines and len(lines) == len(forms) else None


def handed_over(model: Any) -> Any:
    """Return the model that a search found, or that is frozen; any other as it is."""
    name = class_name(model)
    if name in _SEARCHES:
        return handed_over(model.best_estimator_)
    return handed_over(model.estimator) if name == "FrozenEstimator" else model


def _members(model: Any) -> list[Any]:
    """Return the models that one asks."""
    name = class_name(model)
    if name in _THRESHOLDS:
        return [getattr(model, "estimator_", model.estimator)]
    if name == "CalibratedClassifierCV":
        return [one.estimator for one in model.calibrated_classifiers_]
    return list(model.estimators_) if name in _COMMITTEES else []


def _places(model: Any, k: int, n_columns: int) -> list[int]:
    """Return which columns member k is given: some models give each a choice of them."""
    chosen = getattr(model, "estimators_features_", None)
    return list(range(n_columns)) if chosen is None else [int(c) for c in chosen[k]]


def _on_floats(form: TreeForm, given: tuple[Seen, ...]) -> TreeForm:
    """Return a form that tests columns which a member is given more than once at floats, as such are compared."""
    if form.columns != given:
        return form
    owners = [seen.feature for seen in given if seen.entries is None]
    twice = {k for k, seen in enumerate(given) if seen.entries is None and owners.count(seen.feature) > 1}

    def moved(column: int, split: Split | None) -> Split | None:
        return last_float(split) if column in twice and isinstance(split, tuple) else split

    trees = (replace(t, split=tuple(map(moved, t.column, t.split))) for t in form.trees)
    return replace(form, trees=tuple(trees)) if twice else form


def _side_by_side(
    columns: tuple[Seen, ...], members: Iterable[tuple[TreeForm, tuple[Seen, ...], list[int]]]
) -> TreeForm:
    """Return the trees of all members, whose scores mean nothing together, over the columns that are given."""
    trees: list[OwnTree] = []
    known = list(columns)
    for form, given, places in members:
        own = places
        if form.columns != given:  # it has made columns of its own
            own = list(range(len(known), len(known) + len(form.columns)))
            known += form.columns
        trees += [replace(t, column=tuple(c if c < 0 else own[c] for c in t.column)) for t in form.trees]
    return TreeForm(tuple(trees), (), None, tuple(known))


Scores = tuple[Fraction, ...]


def _joined(members: list[LinearForm], rule: Rule, join: Callable[[list[Scores]], Scores]) -> LinearForm:
    """Return linear members as one; `join` makes scores of those that they have."""

    def each(parts: Iterable[Scores | None]) -> Scores | None:
        there = [part for part in parts if part is not None]
        return join(there) if len(there) == len(members) else None

    def table(tables: list[Any]) -> Any:
        return None if None in tables else tuple(join(list(rows)) for rows in zip(*tables, strict=True))

    features = range(len(members[0].slopes))
    return LinearForm(
        tuple(each(form.slopes[i] for form in members) for i in features),
        tuple(table([form.entries[i] for form in members]) for i in features),
        join([form.base for form in members]),
        rule,
        tuple(each(form.absent[i] for form in members) for i in features),
    )


def _against_each_other(model: Any, members: list[LinearForm]) -> LinearForm | None:
    """Return the margins of linear members, a class each; None unless these are what is compared."""
    labels = tuple(model.classes_.tolist())
    if not all(hasattr(member, "decision_function") for member in model.estimators_):
        return None
    if len(members) == 1:
        return replace(members[0], rule=Rule("above", labels))
    if class_name(model) == "OneVsOneClassifier":
        return None  # they vote
    # Of equal margins the last wins here, and the first in a rule: so they are turned round.
    return _joined(members, Rule("largest", labels[::-1]), lambda parts: tuple(p[0] for p in reversed(parts)))


def _averaged(model: Any, members: list[LinearForm]) -> LinearForm:
    """Return the mean of linear regressions."""
    given = model._weights_not_none if class_name(model) == "VotingRegressor" else None
    weights = [Fraction(1)] * len(members) if given is None else [Fraction(w) for w in given]
    factors = [w / sum(weights) * form.rule.scale for w, form in zip(weights, members, strict=True)]

    def mean(parts: list[Scores]) -> Scores:
        return (sum((f * part[0] for f, part in zip(factors, parts, strict=True)), Fraction(0)),)

    return _joined(members, Rule("itself"), mean)


_LINES: dict[str | None, Callable[[Any, list[LinearForm]], LinearForm | None]] = {
    "OneVsRestClassifier": _against_each_other,
    "OneVsOneClassifier": _against_each_other,
    "BaggingRegressor": _averaged,
    "VotingRegressor": _averaged,
}
