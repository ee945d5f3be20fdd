"""Scores as a file states them, whatever their names, for whoever wants to check them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from axfi_kc.domain import Domain
from axfi_kc.errors import ResultFileError
from axfi_kc.results.values import number_of

__all__ = ["Stated", "stated_of"]

_READ = ("format", "version", "domain", "instance", "prediction", "delta", "weights", "max_size", "cxps", "axps")
_SCORES = ("scores", "floats", "kinds")


@dataclass(frozen=True)
class Stated:
    """What a file says beside what an explanation keeps of it.

    Attributes
    ----------
    scores
        For each kind of score, that of each feature, exactly.
    floats
        The same once more as floats, where the file has them.
    others
        The names of all other entries.
    """

    scores: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    floats: dict[str, dict[str, float]] = field(default_factory=dict)
    others: tuple[str, ...] = ()


def stated_of(domain: Domain, document: Mapping[str, Any]) -> Stated:
    """Return the scores that a document, or a row of a file of results, states.

    Raises
    ------
    ResultFileError
        If they are no numbers.

    Examples
    --------
    >>> from axfi_kc.features import Integer
    >>> stated_of(Domain([Integer("a", 0, 1)]), {"scores": {"ffa": {"a": "1/2"}}}).scores
    {'ffa': {'a': Fraction(1, 2)}}
    """
    scores = {
        kind: {name: number_of(text, f"{kind} score") for name, text in row.items()}
        for kind, row in _rows(domain, document.get("scores")).items()
    }
    floats = {
        kind: {name: _float(number, kind) for name, number in row.items()}
        for kind, row in _rows(domain, document.get("floats")).items()
    }
    others = tuple(sorted(str(key) for key in document if key not in (*_READ, *_SCORES)))
    return Stated(scores, floats, others)


def _rows(domain: Domain, document: Any) -> dict[str, dict[str, Any]]:
    """Return a table of scores: each row has names, or the domain's features in their order."""
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(row, dict | list) for row in document.values()):
        raise ResultFileError("The scores must be an object, a kind of score per key.")
    found = {}
    for kind, row in document.items():
        if isinstance(row, list) and len(row) != len(domain):
            raise ResultFileError(f"There must be {len(domain)} {kind} scores, but {len(row)} were found.")
        found[str(kind)] = row if isinstance(row, dict) else dict(zip(domain.names, row, strict=True))
    return found


def _float(number: Any, kind: str) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ResultFileError(f"The float of a {kind} score must be a number, but {type(number).__name__} was found.")
    try:
        return float(number)
    except OverflowError as error:
        raise ResultFileError(f"The float of a {kind} score must be a float64, but it is far too large.") from error
