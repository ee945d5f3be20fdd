"""scikit-learn's trees, ensembles, linear models and naive Bayes, read from their fitted arrays."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer, is_missing
from axfi_kc.verification.reading.columns import Seen, Split, is_number
from axfi_kc.verification.reading.forms import Form, LinearForm, OwnTree, Rule, TreeForm, class_name, spread
from axfi_kc.verification.spaces import double_precision, present, single_precision

__all__ = ["Affine", "is_linear", "linear_form", "sklearn_form", "takes_maps"]


_WORD = 32
_MOST_ENTRIES = 100_000  # of a categorical column


def _histogram(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | None:
    """Return histogram boosting; None where a category is a real number, or the output an exponential."""
    labels = _labels(model)
    if not labels and type(model._loss.link).__name__ != "IdentityLink":  # of the fit: the parameter may be another
        return None
    flags = model.is_categorical_
    order = range(len(columns)) if flags is None else [*np.flatnonzero(flags), *np.flatnonzero(~flags)]
    codes = _entry_numbers(model, domain, [columns[k] for k in order])
    if codes is None:
        return None
    base = tuple(Fraction(float(b)) for b in np.ravel(model._baseline_prediction))
    grown = [(p, k) for stage in model._predictors for k, p in enumerate(stage)]
    trees = tuple(_tree(p, k, len(base), [int(c) for c in order], codes) for p, k in grown)
    return TreeForm(trees, base, Rule.of(labels, len(base)), columns)


_Numbers = list[dict[Any, int | None]]  # the library's number of each entry; None: it has not seen it


def _entry_numbers(model: Any, domain: Domain, columns: list[Seen]) -> _Numbers | None:
    """Return the numbers of each categorical column's entries; None if a column is no list of values."""
    if model.is_categorical_ is None:
        return []
    found: _Numbers = []
    encoder = model._preprocessor.named_transformers_["encoder"]
    for seen, categories in zip(columns, encoder.categories_, strict=False):
        entries = seen.listed(domain.features[seen.feature], _MOST_ENTRIES)
        if entries is None:
            return None
        known = {c: k for k, c in enumerate(categories.tolist())}
        found.append({entry: known.get(entry) for entry in entries})
    return found


def _tree(grown: Any, place: int, width: int, order: list[int], codes: _Numbers) -> OwnTree:
    nodes = grown.nodes
    leaf = nodes["is_leaf"].astype(bool).tolist()
    splits = [None if at_leaf else _split(n, grown, codes) for at_leaf, n in zip(leaf, nodes, strict=True)]
    columns = [order[c] for c in nodes["feature_idx"].tolist()]
    children = nodes["left"].tolist(), nodes["right"].tolist()
    values, missing = spread(nodes["value"].tolist(), place, width), nodes["missing_go_to_left"].tolist()
    return OwnTree.of(leaf, columns, splits, children, values, missing)


def _split(node: Any, grown: Any, codes: _Numbers) -> Split:
    if not node["is_categorical"]:
        return double_precision(float(node["num_threshold"]))
    words = grown.raw_left_cat_bitsets[int(node["bitset_idx"])].tolist()
    unseen = bool(node["missing_go_to_left"])
    own = codes[int(node["feature_idx"])].items()
    return frozenset(e for e, k in own if (unseen if k is None else words[k // _WORD] >> k % _WORD & 1))


_SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def sklearn_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> Form | None:
    """Return a scikit-learn model's trees or coefficients; None for other models."""
    name = class_name(model)
    if name in _SINGLE:
        return TreeForm((_plain_tree(model.tree_),), _zeros(model), _voting(model, 1), columns)
    if name in _FORESTS and all(map(class_name, model.estimators_)):
        trees = tuple(_plain_tree(e.tree_) for e in model.estimators_)
        return TreeForm(trees, _zeros(model), _voting(model, len(trees)), columns)
    if name in _BOOSTED and (model.init is None or model.init == "zero"):
        return _boosted(model, columns)
    if name in _HISTOGRAMS:
        return _histogram(model, domain, columns)
    return linear_form(model, domain, columns)


def _labels(model: Any) -> tuple[Any, ...]:
    return tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()


def _zeros(model: Any) -> tuple[Fraction, ...]:
    return (Fraction(0),) * max(len(_labels(model)), 1)


def _voting(model: Any, n_trees: int) -> Rule:
    labels = _labels(model)
    return Rule("largest", labels) if labels else Rule("itself", scale=Fraction(1, n_trees))


def _plain_tree(tree: Any, place: int = 0, width: int = 0, factor: float | None = None) -> OwnTree:
    """Return a ``tree_``; with a factor, its single value goes to one of `width` scores, as a rounded product."""
    leaf = (tree.children_left < 0).tolist()
    bounds = (single_precision(t, strict=False) for t in tree.threshold.tolist())
    rows = tree.value[:, 0, :]
    if factor is None:
        values = tuple(tuple(map(Fraction, row)) for row in rows.tolist())
    else:
        values = spread((factor * rows[:, 0]).tolist(), place, width)
    children = tree.children_left.tolist(), tree.children_right.tolist()
    # Older trees have no such array; boosting has it, but refuses missing values before it asks a tree.
    missing = getattr(tree, "missing_go_to_left", None) if factor is None else None
    return OwnTree.of(leaf, tree.feature.tolist(), bounds, children, values, missing)


def _boosted(model: Any, columns: tuple[Seen, ...]) -> TreeForm:
    """Return the stages, and as base what the raw score is before them."""
    width = model.estimators_.shape[1]
    trees = tuple(
        _plain_tree(e.tree_, k, width, float(model.learning_rate))
        for stage in model.estimators_
        for k, e in enumerate(stage)
    )
    # Before any tree the raw score does not depend on the row.
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    rule = Rule.of(_labels(model), width, two="from")
    return TreeForm(trees, tuple(Fraction(float(b)) for b in base), rule, columns)


_CLASSIFIERS = ("LogisticRegression", "LinearSVC", "SGDClassifier", "RidgeClassifier", "Perceptron")
_REGRESSORS = ("LinearRegression", "Ridge", "Lasso")
_BAYES = ("BernoulliNB", "CategoricalNB")
_MOST_VALUES = 20_000
Affine = tuple[Fraction, Fraction]  # a column is factor times value plus constant
Table = list[list[Fraction]]  # a row of coefficients per score


def is_linear(model: Any) -> bool:
    """Tell whether a model's scores are sums over columns."""
    return takes_maps(model) or class_name(model) in _BAYES


def takes_maps(model: Any) -> bool:
    """Tell whether a model multiplies columns, so that it may be read behind affine maps of them."""
    return class_name(model) in (*_CLASSIFIERS, *_REGRESSORS)


def linear_form(
    model: Any, domain: Domain, columns: tuple[Seen, ...], maps: Sequence[Affine] | None = None
) -> LinearForm | None:
    """Return a model's coefficients in the user's units; None for other models.

    For columns that went through scalers, `maps` has the exact affine map of each; its entries need none.
    """
    if class_name(model) in _BAYES:
        return _bayes(model, domain, columns)
    if not takes_maps(model) or not all(all(map(is_number, s.entries or ())) for s in columns):
        return None
    rows = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    table = [[Fraction(float(c)) for c in row] for row in np.atleast_2d(rows)]
    labels = _labels(model)
    if len(table) != (len(labels) if len(labels) > 2 else 1):
        return None
    given = [Fraction(float(b)) for b in np.ravel(model.intercept_).tolist()]
    base = given * len(table) if len(given) == 1 else given
    return _assembled(domain, columns, table, base, Rule.of(labels, len(table)), maps)


def _assembled(
    domain: Domain,
    columns: tuple[Seen, ...],
    table: Table,
    base: list[Fraction],
    rule: Rule,
    given: Sequence[Affine] | None = None,
) -> LinearForm:
    """Add up, feature by feature, what its columns contribute."""
    maps = given or [(Fraction(1), Fraction(0))] * len(columns)
    slopes: list[Any] = [None] * len(domain)
    entries: list[Any] = [None] * len(domain)
    absent = tuple(_absent(table, columns, maps, i) for i in range(len(domain)))
    for i, feature in enumerate(domain.features):
        own = [k for k, seen in enumerate(columns) if seen.feature == i]
        listed = [k for k in own if columns[k].entries is not None]
        if listed or (not own and isinstance(feature, Categorical)):
            n = present(feature) if isinstance(feature, Categorical | Integer) else 0
            entries[i] = tuple(tuple(_at(row, columns, listed, v) for row in table) for v in range(n))
            continue
        slopes[i] = tuple(sum((row[k] * maps[k][0] for k in own), Fraction(0)) for row in table)
        for k in own:
            base = [b + row[k] * maps[k][1] for b, row in zip(base, table, strict=True)]
    return LinearForm(tuple(slopes), tuple(entries), tuple(base), rule, absent)


def _absent(table: Table, columns: tuple[Seen, ...], maps: Sequence[Affine], i: int) -> tuple[Fraction, ...] | None:
    """Return what a feature adds where it is missing; None where a column is empty then, which has no product."""
    own = [(k, seen) for k, seen in enumerate(columns) if seen.feature == i]
    if any(is_missing(seen.absent) for _, seen in own):
        return None
    # The constants of the maps are in the base already, whatever the value.
    parts = [(k, Fraction(s.absent) - (maps[k][1] if s.entries is None else 0)) for k, s in own]
    return tuple(sum((row[k] * x for k, x in parts), Fraction(0)) for row in table)


def _at(row: list[Fraction], columns: tuple[Seen, ...], own: list[int], value: int) -> Fraction:
    return sum((row[k] * Fraction(float((columns[k].entries or ())[value])) for k in own), Fraction(0))


def _bayes(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> LinearForm | None:
    """Return naive Bayes: a logarithm per class and value, computed as ``predict`` does."""
    labels, rule = _labels(model), Rule("largest", _labels(model))
    base = np.array(model.class_log_prior_)
    logs: list[Any] = []
    if class_name(model) == "BernoulliNB":
        absent = np.log(1 - np.exp(model.feature_log_prob_))
        base = base + absent.sum(axis=1)
        gains = model.feature_log_prob_ - absent
        if model.binarize is None:
            table = [[Fraction(float(g)) for g in row] for row in gains]
            whole = [Fraction(float(b)) for b in base]
            return _assembled(domain, columns, table, whole, rule)
        logs = [lambda v, k=k: gains[:, k] * (v > model.binarize) for k in range(len(columns))]
    else:
        logs = [lambda v, k=k: model.feature_log_prob_[k][:, int(v)] for k in range(len(columns))]
    tables: list[list[list[Fraction]]] = [[] for _ in domain.features]
    for k, seen in enumerate(columns):
        values = seen.listed(domain.features[seen.feature], _MOST_VALUES)
        if values is None or not all(map(is_number, values)):
            return None
        rows = [[Fraction(float(x)) for x in logs[k](v)] for v in values]
        kept = tables[seen.feature] or [[Fraction(0)] * len(labels)] * len(rows)
        tables[seen.feature] = [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(kept, rows, strict=True)]
    entries = tuple(tuple(map(tuple, rows)) for rows in tables)
    none = (None,) * len(domain)
    return LinearForm(none, entries, tuple(Fraction(float(b)) for b in base), rule, none)
