"""Domains in JSON: every feature with its values, measure and columns."""

from __future__ import annotations

from typing import Any

from axfi_kc.domain.constraints import constraint_of
from axfi_kc.domain.distribution import distribution_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram, Uniform, Weights
from axfi_kc.errors import DomainError, ResultFileError
from axfi_kc.json_text import number_of, number_text, value_of, value_text

__all__ = ["domain_document", "domain_of"]


_MOST_FEATURES = 100_000
_MOST_VALUES = 1_000_000


def domain_document(domain: Domain) -> list[dict[str, Any]]:
    """Return a domain as JSON can hold it, a dict per feature, one per constraint and one for a distribution.

    Examples
    --------
    >>> domain_document(Domain([Integer("age", 18, 90)]))
    [{'name': 'age', 'kind': 'integer', 'low': 18, 'high': 90}]
    """
    rules = [{"kind": "constraint", "constraint": constraint.document()} for constraint in domain.constraints]
    joint = domain.distribution
    ways = [] if joint is None else [{"kind": "distribution", "distribution": joint.document()}]
    return [*(_feature_document(feature) for feature in domain.features), *rules, *ways]


def _feature_document(feature: Feature) -> dict[str, Any]:
    found: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    if isinstance(feature, Categorical):
        found["values"] = [value_text(v) for v in feature.values]
        if feature != Categorical(feature.name, feature.values, weights=_shares(feature), missing=feature.missing):
            found["columns"] = list(feature.columns)
            found["codes"] = [[value_text(c) for c in code] for code in feature.codes]
    else:
        found["low"], found["high"] = number_text(feature.low), number_text(feature.high)
    if isinstance(feature.measure, Histogram):
        found["edges"] = [number_text(e) for e in feature.measure.edges]
    if not isinstance(feature.measure, Uniform):
        found["weights"] = [number_text(w) for w in feature.measure.shares]
    if feature.missing:
        found["missing"] = number_text(feature.missing)
    return found


def _shares(feature: Categorical) -> Weights | None:
    return feature.measure if isinstance(feature.measure, Weights) else None


def domain_of(document: Any) -> Domain:
    """Return the domain that :func:`domain_document` wrote; ResultFileError if `document` describes none.

    Examples
    --------
    >>> domain_of([{"name": "age", "kind": "integer", "low": 18, "high": 90}])
    Domain(age: an integer from 18 to 90)
    """
    entries = listed(document, "domain", most=_MOST_FEATURES)
    kinds = [e.get("kind") if isinstance(e, dict) else None for e in entries]
    rules = [e for e, kind in zip(entries, kinds, strict=True) if kind == "constraint"]
    ways = [e for e, kind in zip(entries, kinds, strict=True) if kind == "distribution"]
    if len(ways) > 1:
        raise ResultFileError(f"A domain has one distribution, but {len(ways)} were found; leave all but one out.")
    try:
        pairs = zip(entries, kinds, strict=True)
        features = [_feature(entry) for entry, kind in pairs if kind not in ("constraint", "distribution")]
        made = Domain(features, [constraint_of(entry.get("constraint")) for entry in rules])
        return made.with_distribution(distribution_of(ways[0].get("distribution"))) if ways else made
    except (DomainError, TypeError) as error:
        raise ResultFileError(f"The file describes no valid domain ({error}).") from error


def listed(document: Any, what: str, *, most: int) -> list[Any]:
    """Return `document` after checking that it is a list of at most `most` entries."""
    if isinstance(document, list) and len(document) <= most:
        return document
    found = f"one of {len(document)}" if isinstance(document, list) else type(document).__name__
    raise ResultFileError(f"The {what} must be a list of at most {most} entries, but {found} was found.")


def text_of(document: Any, what: str) -> str:
    """Return `document` after checking that it is text."""
    if isinstance(document, str):
        return document
    raise ResultFileError(f"The {what} must be text, but {type(document).__name__} was found.")


def _feature(entry: Any) -> Feature:
    if not isinstance(entry, dict) or entry.get("kind") not in ("categorical", "integer", "real"):
        raise ResultFileError("A feature must be an object whose kind is categorical, integer or real.")
    name = text_of(entry.get("name"), "name of a feature")
    weights, missing = _numbers(entry, "weights"), number_of(entry.get("missing", 0), f"missing share of {name!r}")
    if entry["kind"] == "categorical":
        return _categorical(name, entry, weights, missing)
    low, high = (number_of(entry.get(key), f"bound of {name!r}") for key in ("low", "high"))
    if entry["kind"] == "integer":
        return Integer(name, low, high, weights=weights, missing=missing)
    histogram = None if weights is None else Histogram(_numbers(entry, "edges") or [], weights)
    return Real(name, low, high, histogram=histogram, missing=missing)


def _numbers(entry: dict[str, Any], key: str) -> list[Any] | None:
    if key not in entry:
        return None
    return [number_of(n, key) for n in listed(entry[key], key, most=_MOST_VALUES)]


def _categorical(name: str, entry: dict[str, Any], weights: list[Any] | None, missing: Any) -> Categorical:
    values = [value_of(v) for v in listed(entry.get("values"), f"list of values of {name!r}", most=_MOST_VALUES)]
    if "columns" not in entry:
        return Categorical(name, values, weights=weights, missing=missing)
    columns = [text_of(c, "name of a column") for c in listed(entry["columns"], "columns", most=_MOST_VALUES)]
    rows = listed(entry.get("codes"), "codes", most=_MOST_VALUES)
    codes: list[Any] = [tuple(value_of(c) for c in listed(row, "code", most=_MOST_VALUES)) for row in rows]
    return Categorical(name, values, weights=weights, columns=columns, codes=codes, missing=missing)
