"""What a classifier answers before it decides, as a function of the scores of its neutral form.

``predict`` compares probabilities or margins; wrappers ask for these and compare them otherwise. Two kinds can be
read exactly. *Averages*: each probability is a sum over trees, divided by a total. *One margin*: the answer is a
function of one score that never falls (or never rises), computed by the library's own floating-point operations.
Where such an answer passes a threshold is then a matter of the score alone, and bisection over the floats finds the
score at which it begins to. The library's score is rounded, so as everywhere the two can differ where the exact
score is within :attr:`~axfi_kc.models.base.Model.rounding_error` of that edge.

A library says here, class by class, what its models answer: :data:`answers` and :data:`totals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.readers import plain_labels, read_model
from axfi_kc.compilers.readers.joined_models import one_score
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Positive, TreeSum

__all__ = [
    "Answer",
    "Response",
    "answer_of",
    "answers",
    "averages",
    "decided",
    "responds",
    "response_of",
    "signed",
    "total_of",
    "totals",
]


Floats = npt.NDArray[np.float64]
Answer = Callable[[Floats], npt.NDArray[Any]]
"""From scores to what the library answers there, in its own floats."""
Passes = Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]]
_FAR = 2.0**1000  # beyond every score, and yet libraries may double it, or multiply it by a slope
_SIGN = 2**63 - 1


@singledispatch
def total_of(model: Any) -> Fraction:
    """Return what the scores of a read classifier are divided by to give its probabilities.

    Raises
    ------
    UnsupportedModelError
        If its probabilities are no averages over trees.
    """
    raise UnsupportedModelError(
        f"The probabilities of {type(model).__name__} are not averages over trees, so its wrapper cannot be read as an "
        "exact sum; wrap decision trees or forests, or explain the model inside."
    )


totals = total_of.register
"""Decorator: ``@totals(SomeClass)`` registers a function from a model to its total."""


@singledispatch
def answer_of(model: Any, method: str, column: int) -> Answer:
    """Return what a binary classifier answers at values of its score, in the library's own arithmetic.

    Parameters
    ----------
    model
        The classifier, none that delegates to another.
    method
        ``"predict_proba"`` or ``"decision_function"``.
    column
        The class that is asked for: the column of its probability, or the sign of the margin.
    """
    total = float(total_of(model))
    # Bisection also asks for sums that no point has; probabilities they are not.
    return lambda scores: np.clip(scores / total, 0.0, 1.0)


answers = answer_of.register
"""Decorator: ``@answers(SomeClass)`` registers a function from (model, method, column) to an :data:`Answer`."""


def signed(ask: Callable[[Floats], npt.NDArray[Any]], column: int) -> Answer:
    """Return one column of probabilities, or margins with the sign that scikit-learn gives the class."""

    def answer(scores: Floats) -> npt.NDArray[Any]:
        found = ask(scores)
        return found[:, column] if found.ndim == 2 else found if column else -1 * found

    return answer


def averages(model: Any, domain: Domain) -> tuple[TreeSum, Fraction]:
    """Return trees whose scores, divided by the total, are a classifier's probabilities."""
    form, total = read_model(model, domain), total_of(model)
    if not isinstance(form, TreeSum) or not isinstance(form.rule, Argmax):
        raise UnsupportedModelError(
            f"Expected {type(model).__name__} to average probabilities over trees, but a {form.words} was read; use "
            "decision trees or forests."
        )
    return form, total


@dataclass(frozen=True, slots=True)
class Response:
    """What a binary classifier answers for one class: a function of one score of a form."""

    form: TreeSum | LinearModel
    score: int
    answer: Answer


@singledispatch
def response_of(model: Any, domain: Domain, method: str, column: int) -> Response:
    """Return what a binary classifier answers; parameters as for :func:`answer_of`.

    The score is signed so that the second class has the higher ones.
    """
    form = read_model(model, domain)
    if not isinstance(form, TreeSum | LinearModel) or len(form.labels) != 2:
        raise UnsupportedModelError(
            f"Expected a classifier of two classes made of trees or of a linear score, but {type(model).__name__} was "
            f"read as a {form.words} with {len(form.labels)} classes; use one of those."
        )
    answer = answer_of(model, method, column)
    if isinstance(form.rule, Argmax):
        total_of(model)  # or raises: the form's scores are then no probabilities
        if column:
            return Response(form, column, answer)
        # Negated, so that what is explained later is as ever the score of the second class.
        negated = one_score(form, 0, sign=-1, constant=Fraction(0), rule=Positive((0, 1)))
        return Response(negated, 0, lambda scores: answer(-scores))
    sign = 1 if form.labels == plain_labels(model.classes_) else -1
    return Response(one_score(form, 0, sign=sign, constant=Fraction(0), rule=Positive((0, 1))), 0, answer)


responds = response_of.register
"""Decorator: ``@responds(SomeClass)``, for a class whose answers do not come from the scores it is read as."""


def decided(response: Response, passes: Passes, labels: tuple[Hashable, Hashable]) -> TreeSum | LinearModel:
    """Return the classifier that says ``labels[1]`` where `passes` holds of an answer, else ``labels[0]``.

    Parameters
    ----------
    response
        The answer, as a function of a score.
    passes
        A test of the answer that holds from some score on, or up to some score.
    labels
        The output where the test fails, and where it holds.

    Notes
    -----
    At most 64 calls of `passes`.
    """
    (failing, passing), form, score = labels, response.form, response.score

    def holds(scores: Floats) -> list[bool]:
        return np.asarray(passes(response.answer(scores))).tolist()

    with np.errstate(all="ignore"):
        if np.isnan(response.answer(np.array([-_FAR, _FAR]))).any():
            raise UnsupportedModelError(
                "A classifier answers with no number where its score is far from zero; explain it alone."
            )
        at_ends = holds(np.array([-_FAR, _FAR]))
        if at_ends[0] == at_ends[1]:
            constant = Fraction(1 if at_ends[0] else -1)
            return one_score(form, score, sign=0, constant=constant, rule=Positive((failing, passing)))
        rises = at_ends[1]
        low, high = _edge(holds, rises)
    above, below = (passing, failing) if rises else (failing, passing)
    if high == 0:
        # "Above zero" is strict, so "from zero on" is asked of the negated score.
        return one_score(form, score, sign=-1, constant=Fraction(0), rule=Positive((above, below)))
    # Half-way between the two neighbours, as the library's score is the float next to the exact one; but zero itself
    # rather than half of the least float, which is of a thousand bits.
    edge = (Fraction(low) + Fraction(high)) / 2 if low else Fraction(0)
    edge = _between(form, edge) if isinstance(form, TreeSum) else edge
    return one_score(form, score, sign=1, constant=-edge, rule=Positive((below, above)))


def _edge(holds: Callable[[Floats], list[bool]], rises: bool) -> tuple[float, float]:
    """Return the neighbouring floats between which a test changes."""
    low, high = _key(-_FAR), _key(_FAR)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(np.array([_float(middle)]))[0] == rises:
            high = middle
        else:
            low = middle
    return _float(low), _float(high)


def _between(form: TreeSum, edge: Fraction) -> Fraction:
    """Return a number between two sums of leaves: above all that are at most `edge`, below all others."""
    # All sums are whole over one denominator. Half-way between two of them nothing is so near that the library's
    # rounding would matter, unless the sums themselves are as close as its floats.
    unit = form.integers[2]
    return Fraction(2 * math.floor(edge * unit) + 1, 2 * unit)


def _key(x: float) -> int:
    """Return an integer for a float64, in the same order."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else bits ^ _SIGN


def _float(key: int) -> float:
    return float(np.int64(key if key >= 0 else key ^ _SIGN).view(np.float64))
