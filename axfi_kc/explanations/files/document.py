"""Explanations as documents: exact JSON, read back without the model, and blocks of JSON Lines or Parquet.

A JSON line and a row of Parquet hold the same: row number and label, instance and output, the CXps with
exact weights, and the scores, exact and as the nearest floats. Workers make the bytes, so the process
that writes has nothing to do but write. Scores that a file states are kept for whoever checks them.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.region import Region
from axfi_kc.engines import Found, Numerators, check_weights
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import AxfiError, IncompleteError, MissingExtraError, ResultFileError
from axfi_kc.explanations.answers import UpToRadius, radius_words
from axfi_kc.explanations.cxps import AXp, CXp, ManyCXps, UnlistedCXps, cxps_in, named_axps
from axfi_kc.explanations.files.domain_document import domain_document, domain_of, listed, text_of
from axfi_kc.explanations.files.labels import label_text, row_label
from axfi_kc.explanations.files.seals import plain_line, sealed
from axfi_kc.explanations.further import Further
from axfi_kc.families.masks import features_of
from axfi_kc.json_text import distinct_keys, number_of, number_text, ratio_text, value_of, value_text
from axfi_kc.scores import DEFAULT_SCORES, SCORES, check_complete, find_score, find_scores, scores_of
from axfi_kc.scores.forest import CXpForest
from axfi_kc.scores.interactions import INTERACTIONS, find_interaction, find_interactions, interactions_of

if TYPE_CHECKING:
    from axfi_kc.explanations.explanation import Explanation
    from axfi_kc.explanations.tables import SavedExplanation

__all__ = [
    "FORMAT",
    "VERSION",
    "SavedData",
    "Stated",
    "answer_entries",
    "class_names_of",
    "cxp_entries",
    "document_of",
    "explanation_of",
    "interaction_entries",
    "json_block",
    "label_type",
    "names_entry",
    "parquet_block",
    "parsed",
    "pyarrow_for",
    "radius_entries",
    "region_of",
    "score_entries",
    "sets_of",
    "stated_of",
    "toward_entry",
]


_READ = (
    "format",
    "version",
    "domain",
    "instance",
    "prediction",
    "delta",
    "toward",
    "weights",
    "max_size",
    "radius",
    "completeness",
    "over_budget",
    "cxps",
    "axps",
    "within",
    "unlisted",
    "local_paxps",
    "paxps",
    "inflated",
)
_FURTHER = ("local_paxps", "paxps", "inflated")
_SCORES = ("scores", "floats", "kinds", "interactions")
_ANSWER = ("class_names", "prediction_name", "probability", "margin")


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
    interactions
        For each kind of interaction, that of each two features where it is not 0.
    """

    scores: dict[str, dict[str, Fraction]] = field(default_factory=dict)
    floats: dict[str, dict[str, float]] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    interactions: dict[str, dict[tuple[str, ...], Fraction]] = field(default_factory=dict)


def stated_of(domain: Domain, document: Mapping[str, Any]) -> Stated:
    """Return the scores that a document, or a row of a file of results, states.

    Raises
    ------
    ResultFileError
        If they are no numbers.

    Examples
    --------
    >>> from axfi_kc.domain.features import Integer
    >>> stated_of(Domain([Integer("a", 0, 1)]), {"scores": {"ffa": {"a": "1/2"}}}).scores
    {'ffa': {'a': Fraction(1, 2)}}
    """
    scores = {
        kind: {name: number_of(text, f"{kind} score") for name, text in row.items()}
        for kind, row in _rows(domain, document.get("scores")).items()
    }
    floats = {
        kind: {name: _float(number, f"float of a {kind} score") for name, number in row.items()}
        for kind, row in _rows(domain, document.get("floats")).items()
    }
    others = tuple(sorted(str(key) for key in document if key not in (*_READ, *_SCORES, *_ANSWER)))
    return Stated(scores, floats, others, _interactions(domain, document.get("interactions")))


def interaction_entries(found: Mapping[tuple[str, ...], Fraction]) -> list[list[Any]]:
    """Return interactions as every kind of file holds them: the features, and the number.

    Examples
    --------
    >>> interaction_entries({("a", "b"): Fraction(-1, 3)})
    [[['a', 'b'], '-1/3']]
    """
    return [[list(names), number_text(value)] for names, value in found.items()]


def _interactions(domain: Domain, document: Any) -> dict[str, dict[tuple[str, ...], Fraction]]:
    # A header has the names of the kinds alone.
    if document is None or isinstance(document, list):
        return {}
    if not isinstance(document, dict):
        raise ResultFileError("The interactions must be an object, a kind of interaction per key.")
    found: dict[str, dict[tuple[str, ...], Fraction]] = {}
    for kind, rows in document.items():
        pairs = [listed(row, "interaction", most=2) for row in listed(rows, "list of interactions", most=_MOST_SETS)]
        if any(len(pair) != 2 for pair in pairs):
            raise ResultFileError("An interaction must have its features and a number.")
        names = sets_of(domain, [pair[0] for pair in pairs])
        values = [number_of(pair[1], f"{kind} interaction") for pair in pairs]
        found[str(kind)] = dict(zip(names, values, strict=True))
    return found


def _rows(domain: Domain, document: Any) -> dict[str, dict[str, Any]]:
    """Return a table of scores: each row has names, or the domain's features in their order."""
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(row, dict | list | None) for row in document.values()):
        raise ResultFileError("The scores must be an object, a kind of score per key.")
    found = {}
    for kind, row in ((kind, row) for kind, row in document.items() if row is not None):
        if isinstance(row, list) and len(row) != len(domain):
            raise ResultFileError(f"There must be {len(domain)} {kind} scores, but {len(row)} were found.")
        found[str(kind)] = row if isinstance(row, dict) else dict(zip(domain.names, row, strict=True))
    return found


def _float(number: Any, what: str) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ResultFileError(f"The {what} must be a number, but {type(number).__name__} was found.")
    try:
        return float(number)
    except OverflowError as error:
        raise ResultFileError(f"The {what} must be a float64, but it is far too large.") from error


FORMAT = "axfi-kc explanation"
VERSION = 1
_MOST_SETS = 1_000_000
_LONGEST = 1 << 30  # characters of a document
_CHECKING = Budget(seconds=60.0)  # of one score: a stranger's file may have CXps that give far too many AXps


@dataclass(frozen=True, eq=False)
class SavedData(UpToRadius):
    """What a file says about one explanation; see :class:`axfi_kc.explanations.tables.SavedExplanation`."""

    domain: Domain
    instance: dict[str, Any]
    prediction: Any
    model_kind: str
    delta: Fraction | None
    weights: str
    max_size: int | None
    cxps: tuple[CXp, ...] | UnlistedCXps
    stated: Stated = Stated()
    class_names: Mapping[Any, str] = field(default_factory=dict)
    margin: dict[Hashable, Fraction] | None = None
    probability: float | None = None
    within: Region | None = None
    whole: Domain | None = None  # with a region: the domain before it was clipped
    stopped_at: int | None = None
    toward: Hashable | None = None
    further: Further = field(default_factory=Further)
    row: Any = None  # its label, of what is a row of a file of results

    @cached_property
    def forest(self) -> CXpForest:
        """The CXp-Forest: characteristic function and networkx graph.

        Raises
        ------
        IncompleteError
            If the file does not list the CXps.
        """
        if isinstance(self.cxps, UnlistedCXps):
            raise self.cxps.unknown("a forest")
        return CXpForest.of({c.features: c.weight for c in self.cxps}, features=self.domain.names)

    @cached_property
    def axps(self) -> tuple[AXp, ...]:
        """All abductive explanations: those in the file, else the minimal hitting sets of the CXps.

        Raises
        ------
        IncompleteError
            If only CXps up to `radius` are known: AXps need all of them.
        """
        check_complete(self.radius, len(self.domain))
        if isinstance(self.cxps, UnlistedCXps):
            raise self.cxps.unknown("AXps")
        return named_axps([self.domain.mask(c.features) for c in self.cxps], self.domain.names)

    @property
    def cxp_count(self) -> int:
        """The number of CXps."""
        return self.cxps.count if isinstance(self.cxps, UnlistedCXps) else len(self.cxps)

    @property
    def cxp_sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""
        if isinstance(self.cxps, UnlistedCXps):
            return self.cxps.sizes
        return dict(sorted(Counter(len(c.features) for c in self.cxps).items()))

    @property
    def relevant(self) -> tuple[str, ...]:
        """The features that occur in some CXp."""
        if isinstance(self.cxps, UnlistedCXps):
            return self.cxps.features
        members = {name for c in self.cxps for name in c.features}
        return tuple(name for name in self.domain.names if name in members)

    def scores(self, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the score of each feature, computed from the CXps; see :meth:`axfi_kc.Explanation.scores`.

        Where the file does not list these, the score as it is stated.
        """
        if isinstance(self.cxps, UnlistedCXps):
            find_score(kind)
            if kind not in self.stated.scores:
                raise self.cxps.unknown(f"{kind} scores, which were not written")
            return dict(self.stated.scores[kind])
        return scores_of(self.forest.sets, self.domain.names, find_score(kind), max_size=self.radius)

    def interactions(
        self, kind: str = "shapley", *, order: int = 2, up_to: int | None = None
    ) -> dict[tuple[str, ...], Fraction]:
        """Return what features contribute together; see :meth:`axfi_kc.Explanation.interactions`."""
        if isinstance(self.cxps, UnlistedCXps):
            find_interaction(kind)
            if order == 1 and kind in DEFAULT_SCORES:  # single features have their scores
                return {(name,): score for name, score in self.scores(kind).items() if score}
            if (order, up_to or 2) != (2, 2) or kind not in self.stated.interactions:
                raise self.cxps.unknown(f"{kind} interactions of {order} features, which were not written")
            return dict(self.stated.interactions[kind])
        return interactions_of(self.forest.sets, self.domain.names, kind, order=order, up_to=up_to)


_S = TypeVar("_S", bound=SavedData)


def document_of(
    explained: Explanation | SavedExplanation, *, axps: bool, kinds: Iterable[str], interactions: Iterable[str] = ()
) -> dict[str, Any]:
    """Return an explanation as plain dicts, lists, text and numbers, ready for JSON.

    Raises
    ------
    WeightError
        If a name in `kinds` is no score's.
    IncompleteError
        If there are too many CXps to write down, or too few are known for one of the scores.
    """
    scores = find_scores(kinds)
    region, whole = _region_of(explained)
    delta = explained.delta
    indices = find_interactions(interactions)
    pairs = {index.name: interaction_entries(explained.interactions(index.name)) for index in indices}
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": explained.model_kind,
        "domain": domain_document(explained.domain if whole is None else whole),
        "instance": [value_text(v) for v in explained.instance.values()],
        "prediction": value_text(explained.prediction),
        **names_entry(explained.class_names),
        **answer_entries(explained.prediction, explained.class_names, explained.probability, explained.margin),
        "delta": None if delta is None else number_text(delta),
        **toward_entry(explained.toward),
        "weights": explained.weights,
        "max_size": explained.max_size,
        **radius_entries(explained.stopped_at),
        **({} if region is None else {"within": region.document()}),
        **_cxps_document(explained),
        "axps": [list(a.features) for a in explained.axps] if axps else None,
        "scores": {score.name: _score_document(explained, score.name) for score in scores},
        **({"interactions": pairs} if pairs else {}),
        **explained.further.entries(),
    }


def _cxps_document(explained: Explanation | SavedExplanation) -> dict[str, Any]:
    """Return the CXps, or how many there are of each size and of which features, where they cannot be listed."""
    cxps = explained.cxps
    is_counted = isinstance(cxps, ManyCXps) and not cxps.can_be_listed
    if isinstance(cxps, UnlistedCXps) or is_counted or explained.cxp_count > _MOST_SETS:
        return unlisted_entries(explained.cxp_sizes, explained.relevant)
    return {"cxps": _named_cxp_entries(cxps)}


def unlisted_entries(sizes: Mapping[int, int], features: Sequence[str]) -> dict[str, Any]:
    """Return what every kind of file holds of CXps that it does not list.

    Examples
    --------
    >>> unlisted_entries({2: 10**6}, ["a", "b"])
    {'cxps': None, 'unlisted': {'sizes': [[2, 1000000]], 'features': ['a', 'b']}}
    """
    numbers = [[size, number_text(count)] for size, count in sizes.items()]
    return {"cxps": None, "unlisted": {"sizes": numbers, "features": list(features)}}


def _region_of(explained: Any) -> tuple[Region | None, Domain | None]:
    """Return the region around the instance, and the domain before it is clipped, which is what a document holds."""
    if isinstance(explained, SavedData):
        return explained.within, explained.whole
    problem = explained.problem
    return problem.region, None if problem.whole is None else problem.whole.domain


def names_entry(class_names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the names of classes as every kind of file holds them, if there are any."""
    return {"class_names": [[value_text(label), name] for label, name in class_names.items()]} if class_names else {}


def toward_entry(toward: Hashable | None) -> dict[str, Any]:
    """Return the class that is asked about, "why not this one?", as every kind of file says it, if there is one."""
    return {} if toward is None else {"toward": value_text(toward)}


def answer_entries(
    prediction: Any, class_names: Mapping[Any, str], probability: float | None, margin: Mapping[Any, Fraction] | None
) -> dict[str, Any]:
    """Return what a file says of a prediction beside its label, as far as it is known.

    Examples
    --------
    >>> answer_entries(1, {1: "yes"}, 0.75, {0: Fraction(-1, 3), 1: Fraction(1, 3)})
    {'prediction_name': 'yes', 'probability': 0.75, 'margin': [[0, '-1/3'], [1, '1/3']]}
    """
    found: dict[str, Any] = {}
    if prediction in class_names:
        found["prediction_name"] = class_names[prediction]
    if probability is not None:
        found["probability"] = probability
    if margin is not None:
        found["margin"] = [[value_text(label), number_text(score)] for label, score in margin.items()]
    return found


def radius_entries(stopped_at: int | None) -> dict[str, Any]:
    """Return up to how many features CXps are complete, as every kind of file says it, where a budget ended.

    Examples
    --------
    >>> radius_entries(3), radius_entries(None)
    ({'radius': 3, 'completeness': 'complete up to 3 features'}, {})
    """
    return {} if stopped_at is None else {"radius": stopped_at, "completeness": radius_words(stopped_at)}


def cxp_entries(cxps: Iterable[tuple[list[str], int, int]]) -> list[dict[str, Any]]:
    """Return CXps as every kind of file holds them, from their features and both parts of their weights.

    Examples
    --------
    >>> cxp_entries([(["a", "b"], 2, 6)])
    [{'features': ['a', 'b'], 'weight': '1/3'}]
    """
    return [{"features": features, "weight": ratio_text(above, below)} for features, above, below in cxps]


def _named_cxp_entries(cxps: Iterable[CXp]) -> list[dict[str, Any]]:
    """Return the entries of CXps that have names already, listed or not; see :func:`cxp_entries`."""
    return cxp_entries((list(c.features), *c.weight.as_integer_ratio()) for c in cxps)


def score_entries(numerators: Iterable[int], denominators: Iterable[int]) -> list[int | str]:
    """Return scores as every kind of file holds them, in the order of the features.

    Examples
    --------
    >>> score_entries([2, 0], [6, 6])
    ['1/3', 0]
    """
    return list(map(ratio_text, numerators, denominators))


def _score_document(explained: Explanation | SavedExplanation, kind: str) -> dict[str, int | str]:
    scores = explained.scores(kind)
    entries = score_entries((s.numerator for s in scores.values()), (s.denominator for s in scores.values()))
    return dict(zip(scores, entries, strict=True))


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


def explanation_of(document: Any, kind: type[_S], *, budget: Budget | None = None) -> _S:
    """Return what a document says, as `kind` of data, after a check within `budget` of each score that it states.

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
    data, axps = data_of(domain, document, kind, stated=stated_of(domain, document)), document.get("axps")
    if axps is not None:
        vars(data)["axps"] = tuple(AXp(names) for names in sets_of(domain, axps))  # the cached property's own place
    if not isinstance(document.get("scores"), dict):
        raise ResultFileError("The scores must be an object, a kind of score per key.")
    _check_scores(data, budget or _CHECKING)
    return data


def data_of(domain: Domain, document: Mapping[str, Any], kind: type[_S], *, stated: Stated | None = None) -> _S:
    """Return what the rows of a document say about one instance of `domain`, as `kind` of data."""
    values = [value_of(v) for v in listed(document.get("instance"), "instance", most=len(domain))]
    weights, delta = text_of(document.get("weights"), "kind of weights"), document.get("delta")
    # An instance that is too short lacks a name, which encode refuses below; one that is too long was refused above.
    instance = dict(zip(domain.names, values, strict=False))
    max_size = document.get("max_size")
    if max_size is not None and (type(max_size) is not int or max_size < 1):
        raise ResultFileError("max_size must be null or a positive integer.")
    stopped_at = _stopped_at(document, max_size)
    unlisted = document.get("unlisted")
    if unlisted is not None and document.get("cxps") is not None:
        raise ResultFileError("CXps are either listed or not, but the document says both.")
    try:
        check_weights(weights)
        codes = domain.encode([instance])
        region = region_of(document)
        clipped = domain if region is None else region.around(domain, codes[0])
    except (AxfiError, TypeError, KeyError) as error:
        raise ResultFileError(f"The document does not fit its own domain ({error}).") from error
    return kind(
        domain=clipped,
        within=region,
        whole=None if region is None else domain,
        instance=instance,
        prediction=value_of(document.get("prediction")),
        model_kind=text_of(document.get("model"), "kind of model"),
        delta=None if delta is None else number_of(delta, "delta"),
        toward=_toward(document),
        further=Further.of_document(domain, document),
        weights=weights,
        max_size=max_size,
        stopped_at=stopped_at,
        cxps=_unlisted(domain, unlisted)
        if unlisted is not None
        else _cxps(domain, document.get("cxps"), weights, most=stopped_at),
        stated=stated or Stated(),
        row=row_label(document["index"]) if "index" in document else None,
        **_answer(document),
    )


def _toward(document: Mapping[str, Any]) -> Hashable | None:
    """Return the class that a document is about beside its prediction, which must be another one."""
    toward = document.get("toward")
    if toward is None:
        return None
    found = value_of(toward)
    if document.get("delta") is not None or found == value_of(document.get("prediction")):
        raise ResultFileError("toward must be another class than the prediction, and there is none of a regression.")
    return found


def region_of(document: Mapping[str, Any]) -> Region | None:
    """Return the region around an instance that a document, or the header of a file of results, gives, if any.

    Raises
    ------
    DomainError
        If it describes none.
    """
    within = document.get("within")
    return None if within is None else Region.of_document(within)


def class_names_of(document: Mapping[str, Any]) -> dict[Any, str]:
    """Return the names of classes that a document, or the header of a file of results, gives."""
    pairs = _pairs(document.get("class_names") or [], "list of class names")
    return {label: text_of(name, "name of a class") for label, name in pairs}


def _pairs(document: Any, what: str) -> list[tuple[Hashable, Any]]:
    """Return a list of labels, each with something, after checking that no label occurs twice."""
    entries = [listed(entry, f"entry of the {what}", most=2) for entry in listed(document, what, most=_MOST_SETS)]
    if any(len(entry) != 2 for entry in entries):
        raise ResultFileError(f"Each entry of the {what} must have a label and one thing more.")
    pairs = [(value_of(label), other) for label, other in entries]
    if len({label for label, _ in pairs}) != len(pairs):
        raise ResultFileError(f"A label occurs twice in the {what}; each may occur once.")
    return pairs


def _answer(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document says of its prediction beside the label: names, margin, probability."""
    names, probability, margin = class_names_of(document), document.get("probability"), document.get("margin")
    stated, known = document.get("prediction_name"), names.get(value_of(document.get("prediction")))
    if stated is not None and stated != known:
        raise ResultFileError(f"The prediction should be called {known!r}, as the class names say, but not {stated!r}.")
    if probability is not None and not 0 <= _float(probability, "probability") <= 1:
        raise ResultFileError("The probability must be a number from 0 to 1, but another was found.")
    scores = None if margin is None else _pairs(margin, "list of margins")
    return {
        "class_names": names,
        "margin": None if scores is None else {label: number_of(text, "margin") for label, text in scores},
        "probability": None if probability is None else float(probability),
    }


def _stopped_at(document: Mapping[str, Any], max_size: int | None) -> int | None:
    """Return up to how many features a document says that its CXps are complete, where a budget ended."""
    radius, words = document.get("radius"), document.get("completeness")
    if radius is None and words is None:
        return None
    if type(radius) is not int or radius < 0 or (max_size is not None and radius >= max_size):
        raise ResultFileError("The radius must be a number of features, below max_size if there is one; leave it out.")
    if words is not None and words != radius_words(radius):
        raise ResultFileError(
            f"With radius {radius} it must say {radius_words(radius)!r}, but {quoted(words)} was found."
        )
    return radius


def _unlisted(domain: Domain, document: Any) -> UnlistedCXps:
    if not isinstance(document, dict):
        raise ResultFileError("CXps that are not listed must be an object with sizes and features.")
    entries = listed(document.get("sizes"), "list of sizes", most=len(domain))
    pairs = [listed(entry, "size", most=2) for entry in entries]
    if any(len(pair) != 2 or type(pair[0]) is not int or not 0 < pair[0] <= len(domain) for pair in pairs):
        raise ResultFileError("Each size must be a number of features, with the number of CXps of that size.")
    numbers = [number_of(pair[1], "number of CXps") for pair in pairs]
    if any(n <= 0 or n.denominator != 1 for n in numbers) or len({pair[0] for pair in pairs}) != len(pairs):
        raise ResultFileError("Each size may occur once, with a positive number of CXps.")
    (features,) = sets_of(domain, [document.get("features")])
    if any(size > len(features) for size, _ in pairs):
        raise ResultFileError("A CXp has no more features than there are in all CXps, but a larger size was found.")
    return UnlistedCXps(dict(sorted(zip((p[0] for p in pairs), map(int, numbers), strict=True))), features)


def _cxps(domain: Domain, document: Any, kind: str, *, most: int | None = None) -> tuple[CXp, ...]:
    entries = listed(document, "list of CXps", most=_MOST_SETS)
    if not all(isinstance(entry, dict) for entry in entries):
        raise ResultFileError("A CXp must be an object with features and weight.")
    names = sets_of(domain, [entry.get("features") for entry in entries])
    if () in names:
        raise ResultFileError("A CXp must have at least one feature, but an empty set was found.")
    if most is not None and any(len(own) > most for own in names):
        raise ResultFileError(f"No CXp may have more features than the radius, {most}, but one has.")
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


def _check_scores(data: SavedData, budget: Budget) -> None:
    """Refuse scores that do not follow from the CXps: somebody has changed the file."""
    if isinstance(data.cxps, UnlistedCXps):
        _check_unlisted(data, data.cxps)
        return
    for kind in (kind for kind in data.stated.interactions if kind in INTERACTIONS):
        if data.stated.interactions[kind] != interactions_of(data.forest.sets, data.domain.names, kind, budget=budget):
            raise ResultFileError(
                f"The {kind} interactions in the document do not follow from its CXps; the document was changed."
            )
    sets, names = data.forest.sets, data.domain.names
    # Scores that are not registered here cannot be checked: another program may have registered its own.
    for kind in (kind for kind in data.stated.scores if kind in SCORES):
        try:
            known = scores_of(sets, names, SCORES[kind], max_size=data.radius, budget=budget)
            follows = data.stated.scores[kind] == known
        # What needs all CXps cannot have been computed from those up to max_size.
        except IncompleteError:
            follows = False
        if not follows:
            raise ResultFileError(
                f"The {kind} scores in the document do not follow from its CXps; the document was changed."
            )


def _check_unlisted(data: SavedData, cxps: UnlistedCXps) -> None:
    """Refuse scores that cannot be: without the CXps no more can be said of them."""
    for kind, scores in data.stated.scores.items():
        if set(scores) != set(data.domain.names) or min(scores.values()) < 0:
            raise ResultFileError(f"Each feature must have one {kind} score of at least 0, but another was found.")
        if any(scores[name] for name in scores if name not in cxps.features):
            raise ResultFileError(f"A feature in no CXp must have {kind} score 0, but another was found.")


_INT64 = 2**63


def pyarrow_for(purpose: str) -> Any:
    """Return pyarrow with its Parquet module, or say how to install it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", purpose) from error
    return pa


def _scores(scored: Numerators) -> tuple[list[list[int | str] | None], list[list[float] | None]]:
    """Return each instance's scores, exact and as floats; None where they are not known."""
    numerators, denominators = scored
    rows = list(zip(numerators.tolist(), denominators, strict=True))
    exact = [score_entries(row, repeat(d)) if d else None for row, d in rows]
    # Python rounds int / int once, correctly, at any size; float(t) / float(d) rounds three times and may overflow.
    return exact, [[t / d for t in row] if d else None for row, d in rows]


def _cxp_entries(found: Found, names: tuple[str, ...], budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield each instance's CXps, smallest first, or what is said of those that are not listed."""
    # Instances have most of their CXps in common, so each set is looked at once.
    place = cache(lambda mask: (mask.bit_count(), features_of(mask)))
    named = cache(lambda mask: [names[i] for i in features_of(mask)])
    for n, sets in enumerate(found):
        listed = sets.listed(0)
        if sets.count > _MOST_SETS or (listed is None and sets.dag is None):
            yield unlisted_entries(sets.sizes, [names[i] for i in features_of(sets.support)])
            continue
        if listed is None:
            account = Account(budget, goal="list of CXps", advice="allow more, or limit max_size")
            with naming_row(n):
                entries = _named_cxp_entries(cxps_in(sets, names, account=account))
            yield {"cxps": entries}
            continue
        whole = listed.denominator
        ordered = sorted(zip(map(place, listed.masks), listed.masks, listed.numerators, strict=True))
        yield {"cxps": cxp_entries((named(mask), numerator, whole) for _, mask, numerator in ordered)}


def _instances(domain: Domain, codes: npt.NDArray[np.float64]) -> list[list[Any]]:
    columns = []
    for feature, column in zip(domain.features, codes.T.tolist(), strict=True):
        text = {code: value_text(feature.decode(code)) for code in set(column)}
        columns.append([text[code] for code in column])
    return [list(row) for row in zip(*columns, strict=True)]


def json_block(
    found: Found,
    domain: Domain,
    codes: npt.NDArray[np.float64],
    *,
    start: int,
    labels: Sequence[Any],
    scores: Mapping[str, Numerators],
    answers: Sequence[Mapping[str, Any]],
    budget: Budget,
    interactions: Sequence[Mapping[str, Any]] = (),
    further: Sequence[Further] = (),
    over_budget: str | None = None,
    key: bytes | None = None,
) -> bytes:
    """Return a block of explanations as JSON Lines, a line each.

    Parameters
    ----------
    found, domain, codes
        What was found for these instances of the domain.
    start, labels
        The number of the first row, and the name of each.
    scores
        What :func:`axfi_kc.scores.score_numerators` gives, by the scores' names; a denominator of 0: not known.
    answers
        What :func:`answer_entries` gives of each instance.
    budget
        What listing the CXps of an instance with many may cost.
    interactions
        What :func:`interaction_entries` gives of each instance, by kind; empty: none.
    further
        What else was asked of each instance; empty: nothing.
    over_budget
        Why nothing is known of these instances: the budget was spent; None: it was not.
    key
        What the checksums of the run depend on; None: lines have none.

    Notes
    -----
    Linear in the CXps and the features.
    """
    names = domain.names
    texts = {kind: _scores(scored) for kind, scored in scores.items()}
    lines = []
    for n, (instance, cxps) in enumerate(
        zip(_instances(domain, codes), _cxp_entries(found, names, budget), strict=True)
    ):
        line = {
            "row": start + n,
            "index": label_text(labels[n]),
            "instance": instance,
            "prediction": value_text(found.outputs[n]),
            **answers[n],
            **radius_entries(found.radius(n)),
            **({} if over_budget is None else {"over_budget": over_budget}),
            **cxps,
            "scores": {kind: _by_name(names, exact[n]) for kind, (exact, _) in texts.items()},
            "floats": {kind: _by_name(names, near[n]) for kind, (_, near) in texts.items()},
            **({"interactions": interactions[n]} if interactions else {}),
            **(further[n].entries() if further else {}),
        }
        lines.append(plain_line(line) if key is None else sealed(line, key))
    return b"".join(lines)


def _by_name(names: Sequence[str], numbers: Sequence[Any] | None) -> dict[str, Any] | None:
    return None if numbers is None else dict(zip(names, numbers, strict=True))


def label_type(outputs: Sequence[Any] | None) -> str:
    """Return the Parquet type for these outputs, all that a model has; None: a number.

    Examples
    --------
    >>> label_type([0, 1]), label_type(["a"]), label_type(None), label_type([0, "a"])
    ('int64', 'string', 'double', 'json')
    """
    # By exact type, as a bool is an instance of int and would come back as one.
    kinds = {type(y) for y in outputs} if outputs is not None else {Fraction}
    if kinds <= {str}:
        return "string"
    if kinds <= {bool}:
        return "bool"
    if kinds <= {int} and all(abs(y) < _INT64 for y in outputs or ()):
        return "int64"
    return "double" if kinds <= {int, float, Fraction} else "json"


def _schema(pa: Any, names: Sequence[str], kinds: Sequence[str], prediction: str, version: int) -> Any:
    text = pa.string()
    cxp = pa.struct([("features", pa.list_(text)), ("weight", text)])
    types = {"string": text, "bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "json": text}
    columns = [("row", pa.int64()), ("index", text), ("instance", text), ("prediction", types[prediction])]
    columns += [] if version == 1 else [("index_exact", text), ("over_budget", text)]
    columns += [("prediction_exact", text), ("prediction_name", text), ("probability", pa.float64()), ("margin", text)]
    columns += [("radius", pa.int64()), ("completeness", text), ("cxps", pa.list_(cxp))]
    columns += [("unlisted", text), ("interactions", text), *((name, text) for name in _FURTHER)]
    for kind in kinds:
        columns += [(f"{kind}_exact", pa.list_(text)), *((f"{kind}:{name}", pa.float64()) for name in names)]
    return pa.schema(columns)


def parquet_block(
    found: Found,
    domain: Domain,
    codes: npt.NDArray[np.float64],
    *,
    start: int,
    labels: Sequence[Any],
    scores: Mapping[str, Numerators],
    answers: Sequence[Mapping[str, Any]],
    budget: Budget,
    prediction: str,
    interactions: Sequence[Mapping[str, Any]] = (),
    further: Sequence[Further] = (),
    over_budget: str | None = None,
    key: bytes | None = None,
) -> bytes:
    """Return a block of explanations as one Parquet file, whose name is to have the checksum.

    Parameters are those of :func:`json_block`, and `prediction`, a :func:`label_type`.

    Notes
    -----
    Linear in the CXps and the features.
    """
    pa = pyarrow_for("Writing Parquet")
    exact = [json.dumps(value_text(y)) for y in found.outputs]
    entries = list(_cxp_entries(found, domain.names, budget))
    cxps = [
        None if own["cxps"] is None else [{**c, "weight": str(c["weight"])} for c in own["cxps"]] for own in entries
    ]
    names = [answer.get("prediction_name") for answer in answers]
    columns: dict[str, Any] = {
        "row": range(start, start + len(found)),
        "index": [_text(label_text(label)) for label in labels],
        "index_exact": [json.dumps(label_text(label)) for label in labels],
        "over_budget": [over_budget] * len(found),
        "instance": [json.dumps(row) for row in _instances(domain, codes)],
        "prediction": [_prediction(y, text, prediction) for y, text in zip(found.outputs, exact, strict=True)],
        "prediction_exact": exact,
        # The header says what classes are called; here a name stands for people, if it can.
        "prediction_name": [own if own is None or own == _utf8(own) else None for own in names],
        "probability": [answer.get("probability") for answer in answers],
        "margin": [json.dumps(answer["margin"]) if "margin" in answer else None for answer in answers],
        "radius": [found.radius(n) for n in range(len(found))],
        "completeness": [radius_words(found.radius(n)) or None for n in range(len(found))],
        "cxps": cxps,
        "unlisted": [json.dumps(own["unlisted"]) if "unlisted" in own else None for own in entries],
        "interactions": [json.dumps(own) for own in interactions] or [None] * len(found),
    }
    asked = [own.entries() for own in further] or [{}] * len(found)
    for name in _FURTHER:
        columns[name] = [json.dumps(own[name]) if name in own else None for own in asked]
    for kind, scored in scores.items():
        texts, floats = _scores(scored)
        columns[f"{kind}_exact"] = [None if row is None else list(map(str, row)) for row in texts]
        columns |= {
            f"{kind}:{name}": [None if row is None else row[i] for row in floats] for i, name in enumerate(domain.names)
        }
    schema = _schema(pa, domain.names, tuple(scores), prediction, 1 if key is None else 2)
    table = pa.table({name: columns[name] for name in schema.names}, schema=schema)
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    return sink.getvalue()


def _text(label: Any) -> str:
    return _utf8(label) if isinstance(label, str) else json.dumps(label)


def _utf8(text: str) -> str:
    """Return text for people as UTF-8 has it; halves of characters are escaped, and whole where it stands exactly."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _prediction(output: Any, exact: str, kind: str) -> Any:
    if kind == "json":
        return exact
    if isinstance(output, str):
        return _utf8(output)
    return float(output) if kind == "double" else output
