"""Explanations in JSON, exactly, and back without the model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from axfi_kc.budget import Budget
from axfi_kc.domain import Domain
from axfi_kc.engines import check_weights
from axfi_kc.errors import AxfiError, IncompleteError, ResultFileError
from axfi_kc.explanations import AXp, CXp, ManyCXps, named_axps
from axfi_kc.forest import CXpForest
from axfi_kc.json_objects import distinct_keys
from axfi_kc.results.domains import domain_document, domain_of, listed, text_of
from axfi_kc.results.stated import Stated, stated_of
from axfi_kc.results.values import number_of, number_text, ratio_text, value_of, value_text
from axfi_kc.scores import SCORES, KnownCXps, check_complete, find_scores

__all__ = [
    "FORMAT",
    "VERSION",
    "Explained",
    "SavedData",
    "cxp_entries",
    "document_of",
    "explanation_of",
    "named_cxp_entries",
    "parsed",
    "score_entries",
    "sets_of",
]

FORMAT = "axfi-kc explanation"
VERSION = 1
_MOST_SETS = 1_000_000
_LONGEST = 1 << 30  # characters of a document
_CHECKING = Budget(seconds=60.0)  # of one score: a stranger's file may have CXps that give far too many AXps


class Explained(Protocol):
    """What can be read off an explanation, computed or loaded."""

    @property
    def domain(self) -> Domain:
        """The space in which the instance was explained."""
        ...

    @property
    def instance(self) -> dict[str, Any]:
        """The instance, as ``{feature name: value}``."""
        ...

    @property
    def prediction(self) -> Any:
        """The model's output at the instance."""
        ...

    @property
    def model_kind(self) -> str:
        """What kind of model was explained."""
        ...

    @property
    def delta(self) -> Fraction | None:
        """For a regression, how far apart similar outputs are at most."""
        ...

    @property
    def weights(self) -> str:
        """The kind of weights."""
        ...

    @property
    def max_size(self) -> int | None:
        """The largest number of features a CXp was allowed to have."""
        ...

    @property
    def cxps(self) -> Any:
        """All contrastive explanations with their weights."""
        ...

    @property
    def axps(self) -> tuple[AXp, ...]:
        """All abductive explanations."""
        ...

    @property
    def relevant(self) -> tuple[str, ...]:
        """The features that occur in some CXp."""
        ...

    def scores(self, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the score of each feature."""
        ...


@dataclass(frozen=True, eq=False)
class SavedData:
    """What a file says about one explanation; see :class:`axfi_kc.results.SavedExplanation`."""

    domain: Domain
    instance: dict[str, Any]
    prediction: Any
    model_kind: str
    delta: Fraction | None
    weights: str
    max_size: int | None
    cxps: tuple[CXp, ...]

    @cached_property
    def forest(self) -> CXpForest:
        """The CXp-Forest: characteristic function and networkx graph."""
        return CXpForest.of({c.features: c.weight for c in self.cxps}, features=self.domain.names)

    @cached_property
    def axps(self) -> tuple[AXp, ...]:
        """All abductive explanations: those in the file, else the minimal hitting sets of the CXps.

        Raises
        ------
        IncompleteError
            If only CXps up to `max_size` are known: AXps need all of them.
        """
        check_complete(self.max_size, len(self.domain))
        return named_axps([self.domain.mask(c.features) for c in self.cxps], self.domain.names)

    @property
    def relevant(self) -> tuple[str, ...]:
        """The features that occur in some CXp."""
        members = {name for c in self.cxps for name in c.features}
        return tuple(name for name in self.domain.names if name in members)

    def scores(self, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the score of each feature, computed from the CXps; see :meth:`axfi_kc.Explanation.scores`."""
        return self._known.scores(kind)

    @cached_property
    def _known(self) -> KnownCXps:
        return KnownCXps(self.forest, self.max_size)


def document_of(explained: Explained, *, axps: bool, kinds: Iterable[str]) -> dict[str, Any]:
    """Return an explanation as plain dicts, lists, text and numbers, ready for JSON.

    Raises
    ------
    WeightError
        If a name in `kinds` is no score's.
    IncompleteError
        If there are too many CXps to write down, or too few are known for one of the scores.
    """
    scores = find_scores(kinds)
    known = explained.axps if axps else vars(explained).get("axps")
    delta = explained.delta
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": explained.model_kind,
        "domain": domain_document(explained.domain),
        "instance": [value_text(v) for v in explained.instance.values()],
        "prediction": value_text(explained.prediction),
        "delta": None if delta is None else number_text(delta),
        "weights": explained.weights,
        "max_size": explained.max_size,
        "cxps": named_cxp_entries(explained.cxps),
        "axps": None if known is None else [list(a.features) for a in known],
        "scores": {score.name: _score_document(explained, score.name) for score in scores},
    }


def cxp_entries(count: int, cxps: Iterable[tuple[list[str], int, int]]) -> list[dict[str, Any]]:
    """Return CXps as every kind of file holds them, from their features and both parts of their weights.

    Raises
    ------
    IncompleteError
        If `count`, their number, is more than a document holds; it is known before any of them is made.

    Examples
    --------
    >>> cxp_entries(1, [(["a", "b"], 2, 6)])
    [{'features': ['a', 'b'], 'weight': '1/3'}]
    """
    if count > _MOST_SETS:
        raise IncompleteError(
            f"A document holds at most {_MOST_SETS} CXps, but there are {count}; set max_size, or save only scores."
        )
    return [{"features": features, "weight": ratio_text(above, below)} for features, above, below in cxps]


def named_cxp_entries(cxps: tuple[CXp, ...] | ManyCXps) -> list[dict[str, Any]]:
    """Return the entries of CXps that have names already, listed or not; see :func:`cxp_entries`."""
    count = cxps.count if isinstance(cxps, ManyCXps) else len(cxps)  # len fails beyond sys.maxsize
    return cxp_entries(count, ((list(c.features), *c.weight.as_integer_ratio()) for c in cxps))


def score_entries(names: Iterable[str], scores: Iterable[tuple[int, int]]) -> dict[str, int | str]:
    """Return scores, each as two integers, as every kind of file holds them.

    Examples
    --------
    >>> score_entries("ab", [(2, 6), (0, 6)])
    {'a': '1/3', 'b': 0}
    """
    return {name: ratio_text(above, below) for name, (above, below) in zip(names, scores, strict=True)}


def _score_document(explained: Explained, kind: str) -> dict[str, int | str]:
    scores = explained.scores(kind)
    return score_entries(scores, (s.as_integer_ratio() for s in scores.values()))


def parsed(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object after bounding its size.

    Raises
    ------
    ResultFileError
        If `text` is no JSON object.
    """
    if len(text) > _LONGEST:
        raise ResultFileError(f"A document may have {_LONGEST} characters, but this one has {len(text)}.")
    try:
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=distinct_keys)
    except (ValueError, RecursionError) as error:
        raise ResultFileError(f"The document is no valid JSON ({error}); it may be damaged or cut short.") from error
    if not isinstance(found, dict):
        raise ResultFileError(f"Expected a JSON object, but {type(found).__name__} was found.")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def explanation_of(document: Any, *, budget: Budget | None = None) -> tuple[SavedData, tuple[AXp, ...] | None, Stated]:
    """Return what a document says, the AXps if it holds them, and the scores it states, each checked within `budget`.

    Raises
    ------
    ResultFileError
        If the document is of another format, or does not fit together.
    BudgetError
        If the budget was spent before a score was checked.
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ResultFileError(f"Expected a document of the format {FORMAT!r}, but found none; check the file.")
    if document.get("version") != VERSION:
        raise ResultFileError(f"This library reads version {VERSION} of the format, but {document.get('version')!r}.")
    domain = domain_of(document.get("domain"))
    data = data_of(domain, document)
    axps = document.get("axps")
    found = None if axps is None else tuple(AXp(names) for names in sets_of(domain, axps))
    if not isinstance(document.get("scores"), dict):
        raise ResultFileError("The scores must be an object, a kind of score per key.")
    stated = stated_of(domain, document)
    _check_scores(data, stated, budget or _CHECKING)
    return data, found, stated


def data_of(domain: Domain, document: Mapping[str, Any]) -> SavedData:
    """Return what the rows of a document say about one instance of `domain`."""
    values = [value_of(v) for v in listed(document.get("instance"), "instance", most=len(domain))]
    weights, delta = text_of(document.get("weights"), "kind of weights"), document.get("delta")
    instance = dict(zip(domain.names, values, strict=False))
    max_size = document.get("max_size")
    if max_size is not None and (type(max_size) is not int or max_size < 1):
        raise ResultFileError("max_size must be null or a positive integer.")
    try:
        check_weights(weights)
        domain.encode([instance])
    except (AxfiError, TypeError, KeyError) as error:
        raise ResultFileError(f"The document does not fit its own domain ({error}).") from error
    return SavedData(
        domain=domain,
        instance=instance,
        prediction=value_of(document.get("prediction")),
        model_kind=text_of(document.get("model"), "kind of model"),
        delta=None if delta is None else number_of(delta, "delta"),
        weights=weights,
        max_size=max_size,
        cxps=_cxps(domain, document.get("cxps"), weights),
    )


def _cxps(domain: Domain, document: Any, kind: str) -> tuple[CXp, ...]:
    entries = listed(document, "list of CXps", most=_MOST_SETS)
    if not all(isinstance(entry, dict) for entry in entries):
        raise ResultFileError("A CXp must be an object with features and weight.")
    names = sets_of(domain, [entry.get("features") for entry in entries])
    if () in names:
        raise ResultFileError("A CXp must have at least one feature, but an empty set was found.")
    weights = [number_of(entry.get("weight"), "weight of a CXp") for entry in entries]
    if any(w < 0 or (kind != "ratio" and w.denominator != 1) for w in weights):
        raise ResultFileError(f"The weights of CXps must be non-negative {kind}s, but another was found.")
    return tuple(CXp(n, w if kind == "ratio" else int(w)) for n, w in zip(names, weights, strict=True))


def sets_of(domain: Domain, document: Any) -> list[tuple[str, ...]]:
    """Return a list of distinct, non-empty sets of features, in the domain's order.

    An empty list of sets, and one set that is empty, are both families; anything else is refused.
    """
    found = []
    for entry in listed(document, "list of sets", most=_MOST_SETS):
        names = [text_of(name, "name of a feature") for name in listed(entry, "set of features", most=len(domain))]
        if len(set(names)) != len(names):
            raise ResultFileError(f"A set of features names one twice ({', '.join(names)[:80]}); each may occur once.")
        try:
            found.append(domain.mask(names))
        except AxfiError as error:
            raise ResultFileError(f"A set of features does not fit the domain ({error}).") from error
    if len(set(found)) != len(found):
        raise ResultFileError("The same set of features occurs twice; each may occur once.")
    return [domain.names_of(mask) for mask in found]


def _check_scores(data: SavedData, stated: Stated, budget: Budget) -> None:
    """Refuse scores that do not follow from the CXps: somebody has changed the file."""
    known = KnownCXps(data.forest, data.max_size, budget)
    for kind in (kind for kind in stated.scores if kind in SCORES):
        try:
            follows = stated.scores[kind] == known.scores(kind)
        except IncompleteError:
            follows = False
        if not follows:
            raise ResultFileError(
                f"The {kind} scores in the document do not follow from its CXps; the document was changed."
            )
