"""What a model answers at an instance beside a label: the class's name, exact scores and its own probability."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.from_tables import listing
from axfi_kc.domain.measures import amount, counted, shown
from axfi_kc.errors import AxfiError, AxfiWarning, BudgetError, DomainError
from axfi_kc.models import Argmax, Model, Positive, Similarity

__all__ = [
    "UpToRadius",
    "answer_words",
    "check_other_class",
    "extent_words",
    "label_of",
    "limit_words",
    "margins_at",
    "name_of",
    "named_classes",
    "naming_rows",
    "no_cxp_words",
    "one_class",
    "other_class_errors",
    "others_named",
    "radius_words",
    "stopped_words",
    "surety_words",
    "toward_words",
    "warn_of_radii",
]


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


def label_of(given: Any, class_names: Mapping[Any, str], model: Model) -> Any:
    """Return the label of a class that is given by its label or by its name; what is neither is returned as it is.

    Raises
    ------
    DomainError
        If it is the label of one class and the name of another.
    """
    if given is None or given in model.labels:
        return one_class(given, given, class_names)
    return next((label for label, name in class_names.items() if name == given), given)


def one_class(given: Any, label: Any, class_names: Mapping[Any, str]) -> Any:
    """Return the label that was given, if no other class is called so."""
    for other in others_named(given, class_names):
        if other != label:
            raise DomainError(
                f"A class was expected, but {given!r} means two: that with the label {label!r} and that with the label "
                f"{other!r}, whose name it is; give class_names that are no label of another class."
            )
    return label


def others_named(given: Any, class_names: Mapping[Any, str]) -> list[Any]:
    """Return the labels of classes that have a label as their name, without being it."""
    return [label for label, name in class_names.items() if name == given and label != given]


def other_class_errors(outputs: Sequence[Any], similarity: Similarity) -> dict[int, AxfiError]:
    """Return, by their places, why instances cannot be asked "why not this class?": they have it."""
    toward = similarity.toward
    found = [n for n, output in enumerate(outputs) if toward is not None and output == toward]
    return {
        n: DomainError(
            f'The model gives {toward!r} at this instance, so that there is no "why not {toward}?"; ask toward '
            "another class."
        )
        for n in found
    }


def check_other_class(outputs: Sequence[Any], similarity: Similarity) -> None:
    """Raise if an instance has the very class that it is asked why it has not."""
    for error in other_class_errors(outputs, similarity).values():
        raise error


def toward_words(explained: Any) -> str:
    """Return which class an explanation is about, beside the prediction, if it is about one; else nothing.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> domain = Domain([Integer("a", 0, 3)])
    >>> toward_words(Explainer(lambda p: "xyz"[min(p[0], 2)], domain, toward="z").explain([0]))
    'why not z?'
    """
    toward = getattr(explained, "toward", None)
    return "" if toward is None else f"why not {name_of(toward, explained.class_names)}?"


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


class UpToRadius:
    """Says how far an explanation goes, which has `max_size` and `stopped_at`."""

    __slots__ = ()

    max_size: int | None
    stopped_at: int | None = None

    @property
    def radius(self) -> int | None:
        """All CXps of at most so many features are here: `max_size`, or less if the budget ended; None: all CXps."""
        return self.max_size if self.stopped_at is None else self.stopped_at

    @property
    def is_complete(self) -> bool:
        """Whether all CXps that were asked for are here: the budget did not end before."""
        return self.stopped_at is None


def radius_words(stopped_at: int | None) -> str:
    """Return up to how many features an explanation is complete whose budget ended; nothing if it did not.

    Examples
    --------
    >>> radius_words(3), radius_words(1), radius_words(None)
    ('complete up to 3 features', 'complete up to 1 feature', '')
    """
    return "" if stopped_at is None else f"complete up to {counted(stopped_at, 'feature')}"


def stopped_words(radii: Sequence[int | None]) -> str:
    """Return how many rows of a batch are complete up to some number of features only; nothing if all are complete.

    Examples
    --------
    >>> stopped_words([None, 2, 4]), stopped_words([3]), stopped_words([None])
    ('2 rows complete up to 2 to 4 features', '1 row complete up to 3 features', '')
    """
    stopped = sorted(radius for radius in radii if radius is not None)
    if not stopped:
        return ""
    if stopped[0] == stopped[-1]:
        return f"{counted(len(stopped), 'row')} {radius_words(stopped[0])}"
    return f"{counted(len(stopped), 'row')} complete up to {stopped[0]} to {stopped[-1]} features"


def extent_words(batch: Sequence[Any] | Any) -> str:
    """Return how many rows a batch has, and of how many, if the run that wrote its file was not finished.

    Examples
    --------
    >>> extent_words(["one", "two"])
    '2 rows'
    """
    n, of = len(batch), getattr(batch, "n_rows", len(batch))
    return counted(n, "row") if n == of else f"{amount(n)} of {counted(of, 'row')}"


def warn_of_radii(stopped: Mapping[Any, int], n_rows: int, *, stacklevel: int) -> None:
    """Warn of the rows, by their labels, whose budget ended, and say at which radius."""
    if not stopped:
        return
    reached, first = stopped_words(list(stopped.values())), next(iter(stopped))
    warnings.warn(
        f"The budget was spent on some of {counted(n_rows, 'row')}, which are exact all the same: {reached} (the first "
        f"is {first!r}); allow more for larger CXps, or set max_size.",
        AxfiWarning,
        stacklevel=stacklevel,
    )


@contextmanager
def naming_rows(labels: Sequence[Any]) -> Iterator[None]:
    """Let a BudgetError about one of several instances name it by its label."""
    try:
        yield
    except BudgetError as spent:
        if spent.row is not None:
            words = str(spent)
            spent.args = (f"Row {labels[spent.row]!r}: {words[:1].lower()}{words[1:]}",)
        raise


def limit_words(explained: Any) -> str:
    """Return which CXps of an explanation are counted, if not all are, to stand behind "CXps"."""
    if explained.stopped_at is not None:
        return f" ({radius_words(explained.stopped_at)})"
    return "" if explained.max_size is None else f" of at most {counted(explained.max_size, 'feature')}"


def no_cxp_words(explained: Any) -> str:
    """Return what it means that an explanation has no CXp: there may be larger ones than were asked for."""
    most, toward = explained.radius, getattr(explained, "toward", None)
    does = "changes the output" if toward is None else f"leads to {name_of(toward, explained.class_names)}"
    if most is None or most >= len(explained.domain):
        return f"Nothing within reach {does}: there is no CXp."
    return (
        f"No change of at most {counted(most, 'feature')} {does}: there is no CXp of that size; "
        f"a larger {'max_size' if explained.is_complete else 'budget'} may find some."
    )


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
