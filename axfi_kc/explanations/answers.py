"""What a model answers at an instance beside a label: the class's name, exact scores and its own probability."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.from_tables import listing
from axfi_kc.domain.measures import amount, counted, shown
from axfi_kc.errors import DomainError
from axfi_kc.models import Argmax, Model, Positive

__all__ = ["answer_words", "margins_at", "name_of", "named_classes", "no_cxp_words", "space_words", "surety_words"]


Margin = dict[Hashable, Fraction]


def named_classes(given: Mapping[Any, str] | Sequence[str] | None, model: Model) -> dict[Any, str]:
    """Return the name of each class that has one.

    Parameters
    ----------
    given
        ``{label: name}``, or a name for each label, in the labels' order (sorted, as in ``classes_``).
    model
        The classifier.

    Raises
    ------
    DomainError
        If a name is of no class, there are too few or too many, or two classes have the same.

    Examples
    --------
    >>> from axfi_kc import Domain, Integer, TableModel
    >>> model = TableModel.from_outputs(Domain([Integer("a", 0, 1)]), [1, 0])
    >>> named_classes(["no", "yes"], model), named_classes({1: "yes"}, model)
    ({0: 'no', 1: 'yes'}, {1: 'yes'})
    """
    if given is None:
        return {}
    labels = _in_order(model.labels)
    if not labels:
        raise DomainError("class_names are for classifiers, but the output of this model is a number; leave them out.")
    if not isinstance(given, Mapping):
        names = [given] if isinstance(given, str) else list(given)
        if len(names) != len(labels):
            raise DomainError(
                f"class_names should name {len(labels)} classes ({listing_of(labels)}), but {len(names)} names were "
                "given; give one each, or {label: name}."
            )
        given = dict(zip(labels, names, strict=True))
    strange = next((label for label in given if label not in labels), None)
    if strange is not None:
        raise DomainError(
            f"class_names should name the model's classes ({listing_of(labels)}), but {strange!r} is none of them; "
            "use the labels that predict gives."
        )
    named = {label: str(given[label]) for label in labels if label in given}
    if len(set(named.values())) != len(named):
        raise DomainError(f"Each class needs a name of its own, but {list(named.values())} were given; rename one.")
    return named


def listing_of(labels: Sequence[Any]) -> str:
    """Return at most a dozen labels, for an error message."""
    return listing(list(labels))


def _in_order(labels: Sequence[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # of several types, which do not compare
        return list(labels)


def name_of(output: Any, class_names: Mapping[Any, str]) -> Any:
    """Return the name of an output; the output itself where it has none."""
    return class_names.get(output, output) if class_names and isinstance(output, Hashable) else output


def margins_at(model: Model, codes: npt.NDArray[np.float64]) -> list[Margin | None]:
    """Return the exact scores that decide the class, by class, at points given by their codes; None where none do.

    The largest decides. A model with one score, which is compared with 0, has it for one class and its negative for
    the other.

    Notes
    -----
    As costly as a prediction, plus a Fraction per class.
    """
    rule = getattr(model, "rule", None)
    if not isinstance(rule, Argmax | Positive) or not hasattr(model, "scores_at"):
        return [None] * len(codes)
    rows = model.scores_at(codes)
    if isinstance(rule, Argmax):
        return [dict(zip(rule.labels, row, strict=True)) for row in rows]
    return [{rule.labels[0]: -row[0], rule.labels[1]: row[0]} for row in rows]


def no_cxp_words(explained: Any) -> str:
    """Return what it means that an explanation has no CXp: there may be larger ones than were asked for."""
    most = explained.max_size
    if most is None or most >= len(explained.domain):
        return "Nothing within reach changes the output: there is no CXp."
    return (
        f"No change of at most {counted(most, 'feature')} changes the output: there is no CXp of that size; "
        "a larger max_size may find some."
    )


def space_words(explained: Any) -> dict[str, str]:
    """Return which points counted, where not all of the domain did: those that can exist, those within a region.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer, Region, feature
    >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)]).where(feature("a") <= feature("b"))
    >>> space_words(Explainer(lambda p: p[0] > 4, domain, within=Region(frozen=["b"])).explain([1, 6]))
    {'only points where': 'a <= b', 'only points with': 'b frozen'}
    """
    posed = getattr(explained, "problem", None)
    region = getattr(posed, "region", None) or getattr(explained, "within", None)
    # A region is said in its own words, so the constraints are those of the domain before it is clipped.
    whole = getattr(getattr(posed, "whole", None), "domain", None) or getattr(explained, "whole", None)
    rules = (whole or explained.domain).constraints
    found = {"only points where": "; ".join(map(str, rules))} if rules else {}
    return found if region is None else found | {"only points with": str(region)}


def answer_words(explained: Any) -> str:
    """Return what the model says at the instance: the class by name, and its probability or its margin.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: p[0] > 0, Domain([Integer("a", 0, 1)]), class_names=["low", "high"])
    >>> answer_words(explainer.explain([1]))
    'high (True)'
    """
    name = explained.prediction_name
    words = shown(name) if name is explained.prediction else f"{name} ({shown(explained.prediction)})"
    surety = surety_words(explained)
    return f"{words}, {surety}" if surety else words


def surety_words(explained: Any) -> str:
    """Return the probability that the model gives its prediction, else the prediction's margin; nothing without."""
    if explained.probability is not None:
        return f"probability {amount(explained.probability)}"
    margin = (explained.margin or {}).get(explained.prediction)
    return "" if margin is None else f"margin {amount(margin)}"
