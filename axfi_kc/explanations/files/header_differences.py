"""In which parts two runs differ that would write one file, as far as the headers of their files say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from axfi_kc.domain.constraints import constraint_of
from axfi_kc.domain.distribution import distribution_of
from axfi_kc.domain.measures import abridged, shown
from axfi_kc.domain.region import Region
from axfi_kc.errors import AxfiError

__all__ = ["difference_words"]


_LONGEST = 90  # letters of what a part was, or is
_MOST = 3  # parts in one sentence
_PARTS = {
    "model": "the kind of model",
    "delta": "delta",
    "toward": "the class asked toward",
    "target": "the target",
    "weights": "the kind of weights",
    "max_size": "max_size",
    "kinds": "the list of scores",
    "interactions": "the list of interactions",
    "min_precision": "min_precision",
    "inflate": "inflate",
    "class_names": "the list of class names",
    "skipped": "the list of skipped rows",
    "rows": "the number of rows",
}
"""Entries that say by themselves what they are; on_budget is none of them, which may be another."""


def difference_words(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return what a file says of its run, and what it is of the run that would go on with it, where these differ.

    Parameters
    ----------
    found
        The header in the file.
    wanted
        The header that the run would write.

    Examples
    --------
    >>> features = [{"name": "a", "kind": "integer", "low": 0, "high": 1}]
    >>> print(difference_words({"domain": features, "max_size": 2}, {"domain": features, "max_size": None}))
    max_size is another one: it was 2, and is none
    >>> print(difference_words({"domain": features}, {"domain": features}))
    the domain and the options are the same, so the model or the data are others
    """
    new = json.loads(json.dumps(wanted))  # as it would come back from the file
    parts = [*_of_domains(found.get("domain"), new.get("domain"))]
    parts += _changed("the region", found.get("within"), new.get("within"), _region)
    for name, words in _PARTS.items():
        parts += _changed(words, found.get(name), new.get(name), _plain)
    if not parts:
        return "the domain and the options are the same, so the model or the data are others"
    more = f"; and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    return "; ".join(parts[:_MOST]) + more


def _of_domains(old: Any, new: Any) -> list[str]:
    """Return how the features, the constraints and the distribution differ."""
    if old == new:
        return []
    if not isinstance(old, list) or not all(isinstance(entry, dict) for entry in old):
        return ["the domain is another one"]
    before, after = _sorted(old), _sorted(new)
    parts = ["the features are others"] if before[0] != after[0] else []
    if before[1] != after[1]:
        same = sorted(map(json.dumps, before[1])) == sorted(map(json.dumps, after[1]))
        order = ["the constraints are the same, in another order"]
        parts += order if same else _changed("the set of constraints", before[1], after[1], _constraints)
    return parts + _changed("the distribution", before[2], after[2], _distribution)


def _sorted(domain: list[dict[str, Any]]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the documents of the features, of the constraints and of the distribution, if there is one."""
    rules = [entry.get("constraint") for entry in domain if entry.get("kind") == "constraint"]
    ways = [entry.get("distribution") for entry in domain if entry.get("kind") == "distribution"]
    return [entry for entry in domain if entry.get("kind") not in ("constraint", "distribution")], rules, ways


def _changed(what: str, old: Any, new: Any, words: Callable[[Any], str]) -> list[str]:
    """Return in what a part differs, if it does; words that are the same, or cannot be said, are left out."""
    if old == new:
        return []
    try:
        before, after = (abridged(words(part) if part else "none", _LONGEST) for part in (old, new))
    except AxfiError:  # of a file that others wrote
        return [f"{what} is another one"]
    return [f"{what} is another one" + (f": it was {before}, and is {after}" if before != after else "")]


def _region(document: Any) -> str:
    return str(Region.of_document(document))


def _constraints(documents: list[Any]) -> str:
    return "; ".join(str(constraint_of(document)) for document in documents)


def _distribution(documents: list[Any]) -> str:
    return str(distribution_of(documents[0]))


def _plain(entry: Any) -> str:
    return ", ".join(map(_plain, entry)) if isinstance(entry, list) else shown(entry)
