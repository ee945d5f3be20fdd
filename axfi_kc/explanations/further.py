"""What an explanation was asked beyond CXps and scores: probabilistic AXps and inflated explanations.

Answers are kept with the explanation, so that its document, its page and whoever checks it have them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from axfi_kc.budget import Budget, Watch
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number
from axfi_kc.errors import AxfiError, ResultFileError
from axfi_kc.explanations.inflated import Inflated, inflated_of_document, most_general
from axfi_kc.explanations.paxps import PAXp, PAXps, locally_minimal_paxp, threshold_of
from axfi_kc.explanations.problem import Problem
from axfi_kc.json_text import number_of, number_text

__all__ = ["Asked", "Further", "answered", "search_budget"]


_NODES = 20_000  # boxes looked at for the most general one, where the budget limits nothing


def search_budget(budget: Budget) -> Budget:
    """Return what a search that may go on for ever may cost: the budget, or a number of boxes if that has no end."""
    return budget if Watch(budget).can_end else Budget(nodes=_NODES)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be asked of each explanation that goes into a document, a file of results or a page.

    Attributes
    ----------
    min_precision
        If given, for a locally minimal set of features of at least this precision.
    inflate
        Whether for the most general box of values that keeps the output.
    """

    min_precision: Fraction | None = None
    inflate: bool = False

    @classmethod
    def of(cls, min_precision: Number | None, inflate: bool) -> Asked:
        """Return what is asked; DomainError for a threshold that is no probability."""
        return cls(None if min_precision is None else threshold_of(min_precision), bool(inflate))

    def entries(self) -> dict[str, Any]:
        """Return what the header of a file of results says about it."""
        precision = {} if self.min_precision is None else {"min_precision": number_text(self.min_precision)}
        return precision | ({"inflate": True} if self.inflate else {})


@dataclass(slots=True)
class Further:
    """Answers to further questions about one instance.

    Attributes
    ----------
    local_paxps
        By threshold, a locally minimal set of that precision.
    paxps
        By threshold, the probabilistic AXps.
    most_general
        The most general box that keeps the output.
    inflated_axps, inflated_cxps
        Boxes by their features.
    """

    local_paxps: dict[Fraction, PAXp] = field(default_factory=dict)
    paxps: dict[Fraction, PAXps] = field(default_factory=dict)
    most_general: Inflated | None = None
    inflated_axps: dict[tuple[str, ...], Inflated] = field(default_factory=dict)
    inflated_cxps: dict[tuple[str, ...], Inflated] = field(default_factory=dict)

    def entries(self) -> dict[str, Any]:
        """Return the answers as every kind of file holds them; nothing where nothing was asked."""
        local = [{"min_precision": number_text(t), **_set(p)} for t, p in self.local_paxps.items()]
        listed = [
            {"min_precision": number_text(t), "radius": found.radius, "sets": [_set(p) for p in found]}
            for t, found in self.paxps.items()
        ]
        boxes = {
            "most_general": None if self.most_general is None else self.most_general.document(),
            "axps": [box.document() for box in self.inflated_axps.values()],
            "cxps": [box.document() for box in self.inflated_cxps.values()],
        }
        inflated = {key: found for key, found in boxes.items() if found}
        made = {"local_paxps": local, "paxps": listed, "inflated": inflated}
        return {key: found for key, found in made.items() if found}

    @classmethod
    def of_document(cls, domain: Domain, document: Mapping[str, Any]) -> Further:
        """Return the answers in a document, or a row of a file of results.

        Raises
        ------
        ResultFileError
            If they are none.
        """
        try:
            local = {_threshold(entry): _paxp(domain, entry) for entry in document.get("local_paxps") or ()}
            listed = {_threshold(entry): _paxps(domain, entry) for entry in document.get("paxps") or ()}
            boxes = document.get("inflated") or {}
            general = boxes.get("most_general")
            axps, cxps = ([inflated_of_document(domain, d) for d in boxes.get(key) or ()] for key in ("axps", "cxps"))
        except (TypeError, AttributeError, KeyError) as error:
            raise ResultFileError(f"The further answers are not what a document has ({error!r}).") from error
        found = None if general is None else inflated_of_document(domain, general)
        return cls(local, listed, found, {b.features: b for b in axps}, {b.features: b for b in cxps})


def _set(paxp: PAXp) -> dict[str, Any]:
    return {"features": list(paxp.features), "precision": number_text(paxp.precision)}


def _threshold(entry: Any) -> Fraction:
    return number_of(entry["min_precision"], "threshold of a precision")


def _paxp(domain: Domain, entry: Any) -> PAXp:
    try:
        names = domain.names_of(domain.mask(entry["features"]))
    except AxfiError as error:
        raise ResultFileError(f"A set of features does not fit the domain ({error}).") from error
    precision = number_of(entry["precision"], "precision")
    if not 0 <= precision <= 1:
        raise ResultFileError("A precision must be a number from 0 to 1, but another was found.")
    return PAXp(names, precision)


def _paxps(domain: Domain, entry: Any) -> PAXps:
    radius = entry["radius"]
    if radius is not None and (type(radius) is not int or radius < 0):
        raise ResultFileError("The radius of probabilistic AXps must be null or a number of features.")
    return PAXps(_threshold(entry), tuple(_paxp(domain, found) for found in entry["sets"]), radius)


def answered(problem: Problem, asked: Asked, *, budget: Budget, further: Further | None = None) -> Further:
    """Return the answers to what is asked about an instance, beside those known already."""
    found = Further() if further is None else further
    least = asked.min_precision
    if least is not None and least not in found.local_paxps:
        found.local_paxps[least] = locally_minimal_paxp(problem, least, budget=budget)
    if asked.inflate and found.most_general is None:
        found.most_general = most_general(problem, budget=search_budget(budget))
    return found
