"""What an explanation holds beyond CXps and scores: probabilistic AXps and inflated explanations.

An explanation holds the answers that it was made with, and keeps no others. So its document, its page and its check do
not depend on what was asked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from axfi_kc.arguments import quoted
from axfi_kc.budget import Budget, Watch
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number
from axfi_kc.errors import ArgumentError, AxfiError, ResultFileError
from axfi_kc.explanations.inflated import Inflated, inflated_of_document, most_general
from axfi_kc.explanations.paxps import PAXp, PAXps, locally_minimal_paxp, threshold_of
from axfi_kc.explanations.problem import Problem
from axfi_kc.json_text import number_of, number_text

__all__ = ["Answer", "Asked", "Further", "answered", "search_budget"]


Answer = PAXp | PAXps | Inflated
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

    def beyond(self, known: Further) -> Asked:
        """Return what of this has no answer yet."""
        return Asked(
            None if self.min_precision in known.local_paxps else self.min_precision,
            self.inflate and known.most_general is None,
        )

    def entries(self) -> dict[str, Any]:
        """Return what the header of a file of results says about it."""
        precision = {} if self.min_precision is None else {"min_precision": number_text(self.min_precision)}
        return precision | ({"inflate": True} if self.inflate else {})


@dataclass(frozen=True, slots=True)
class Further:
    """Answers to further questions about one instance, which an explanation holds.

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

    local_paxps: Mapping[Fraction, PAXp] = field(default_factory=dict)
    paxps: Mapping[Fraction, PAXps] = field(default_factory=dict)
    most_general: Inflated | None = None
    inflated_axps: Mapping[tuple[str, ...], Inflated] = field(default_factory=dict)
    inflated_cxps: Mapping[tuple[str, ...], Inflated] = field(default_factory=dict)

    def with_answers(self, answers: Iterable[Answer], domain: Domain, instance: Mapping[str, Any]) -> Further:
        """Return these answers and others about the same instance; where two answer one question, the later one.

        Raises
        ------
        ArgumentError
            If something else was given.
        UnknownFeatureError
            If an answer names a feature that the domain does not have.
        """
        found = self
        for answer in answers:
            if not isinstance(answer, Answer):
                raise ArgumentError(
                    "An explanation holds what its paxp, paxps, inflated_axp, inflated_cxp and most_general give, but "
                    f"{quoted(answer)} was given; give one of these."
                )
            for names in [one.features for one in answer] if isinstance(answer, PAXps) else [answer.features]:
                domain.mask(names)
            found = found._with(answer, instance)
        return found

    def _with(self, answer: Answer, instance: Mapping[str, Any]) -> Further:
        if isinstance(answer, PAXps):
            return replace(self, paxps=_added(self.paxps, answer.min_precision, answer))
        if isinstance(answer, PAXp):
            return replace(self, local_paxps=_added(self.local_paxps, answer.min_precision, answer))
        if instance not in answer:  # a box of changes; one that keeps the output contains the instance
            return replace(self, inflated_cxps=_added(self.inflated_cxps, answer.features, answer))
        if answer.most is None:
            return replace(self, inflated_axps=_added(self.inflated_axps, answer.features, answer))
        return replace(self, most_general=answer)

    def entries(self) -> dict[str, Any]:
        """Return the answers as every kind of file holds them; nothing where there are none."""
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
            entries = document.get("local_paxps") or ()
            local = {_threshold(entry): _paxp(domain, entry, _threshold(entry)) for entry in entries}
            listed = {_threshold(entry): _paxps(domain, entry) for entry in document.get("paxps") or ()}
            boxes = document.get("inflated") or {}
            general = boxes.get("most_general")
            axps, cxps = ([inflated_of_document(domain, d) for d in boxes.get(key) or ()] for key in ("axps", "cxps"))
        except (TypeError, AttributeError, KeyError) as error:
            raise ResultFileError(f"The further answers are not what a document has ({error!r}).") from error
        found = None if general is None else inflated_of_document(domain, general)
        return cls(local, listed, found, {b.features: b for b in axps}, {b.features: b for b in cxps})


def _added(known: Mapping[Any, Any], key: Any, answer: Answer) -> dict[Any, Any]:
    """Return answers and one more by their keys, in the order of the keys."""
    return dict(sorted({**known, key: answer}.items()))


def _set(paxp: PAXp) -> dict[str, Any]:
    return {"features": list(paxp.features), "precision": number_text(paxp.precision)}


def _threshold(entry: Any) -> Fraction:
    return number_of(entry["min_precision"], "threshold of a precision")


def _paxp(domain: Domain, entry: Any, least: Fraction) -> PAXp:
    try:
        names = domain.names_of(domain.mask(entry["features"]))
    except AxfiError as error:
        raise ResultFileError(f"A set of features does not fit the domain ({error}).") from error
    precision = number_of(entry["precision"], "precision")
    if not 0 <= precision <= 1:
        raise ResultFileError("A precision must be a number from 0 to 1, but another was found.")
    return PAXp(names, precision, least)


def _paxps(domain: Domain, entry: Any) -> PAXps:
    radius = entry["radius"]
    if radius is not None and (type(radius) is not int or radius < 0):
        raise ResultFileError("The radius of probabilistic AXps must be null or a number of features.")
    least = _threshold(entry)
    return PAXps(least, tuple(_paxp(domain, found, least) for found in entry["sets"]), radius)


def answered(problem: Problem, asked: Asked, *, budget: Budget) -> list[Answer]:
    """Return the answers to what is asked about an instance."""
    found: list[Answer] = []
    if asked.min_precision is not None:
        found.append(locally_minimal_paxp(problem, asked.min_precision, budget=budget))
    if asked.inflate:
        found.append(most_general(problem, budget=search_budget(budget)))
    return found
