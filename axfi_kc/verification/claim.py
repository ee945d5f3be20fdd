"""What an explanation claims, as plain values.

The checker takes nothing else from an explanation: whatever has these attributes can be checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import has
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import AxfiError, DomainError, IncompleteError
from axfi_kc.verification.definitions import INTERACTIONS, KINDS
from axfi_kc.verification.report import Allowance

__all__ = ["Claim"]


_MOST_SETS = 20_000
_UNCHECKED = {
    "model_kind": "the name of the model's neutral form",
    "rounding": "the bound on rounding",
    "counterfactual": "that no counterfactual is nearer, and the words of one",
    "circuit": "circuits of adversarial examples, but for those of a few small CXps",
    "nodes": "the number of search nodes",
    "margin": "the exact scores of the classes",
    "class_names": "the names of the classes",
}
_OF_MODEL = ("counterfactual", "circuit")
_MAY_BE_EMPTY = ("margin", "class_names")
_NEEDED = ("domain", "instance", "prediction", "delta", "weights", "max_size", "cxps", "scores")


@dataclass(frozen=True)
class Claim:
    """What is claimed about one instance."""

    # The question: as an explanation has them.
    domain: Domain
    instance: dict[str, Any]
    prediction: Any
    delta: Fraction | None
    weights: str
    max_size: int | None  # or less, if a budget ended: all CXps of at most so many features
    cxps: dict[frozenset[str], Fraction]  # the weight of each CXp, by its features
    # The AXps; None where they are not known (there is a largest size, or there are too many).
    axps: tuple[frozenset[str], ...] | None
    # For each kind of score that the explanation gives or its file states, that of each feature.
    scores: dict[str, dict[str, Fraction]]
    relevant: frozenset[str]  # the features said to be relevant
    partial: bool = False  # whether there are more CXps than were taken over
    # The characteristic function, if the explanation has a forest.
    value: Callable[[Iterable[str]], Fraction] | None = None
    hint: Callable[[tuple[str, ...]], Any] | None = None  # gives the counterfactual of a CXp; it is not trusted
    # Scores that a file states a second time, as the nearest floats.
    floats: dict[str, dict[str, float]] = field(default_factory=dict)
    # For ``"cxp"`` and ``"axp"``, how many sets of each size there are said to be.
    sizes: dict[str, dict[int, int]] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()  # what the explanation also says, but nobody checks
    probability: float | None = None  # what the model itself is said to give its prediction
    # For each kind of interaction, that of each two features where it is not 0.
    interactions: dict[str, dict[frozenset[str], Fraction]] = field(default_factory=dict)
    circuit: Callable[[tuple[str, ...]], Any] | None = None  # gives the circuit of a CXp's adversarial examples
    further: Any = None  # probabilistic AXps and boxes of values, if the explanation holds any
    toward: Any = None  # the one class that counts as dissimilar; None: all but the prediction
    region: Any = None  # how far one may go from the instance, if not anywhere
    whole: Domain | None = None  # with a region: the domain of which it leaves what is in `domain`

    @classmethod
    def of(cls, explanation: Any, allowance: Allowance | None = None) -> Claim:
        """Take over what an explanation says; what it would have to compute after the seconds are over is left."""
        if isinstance(explanation, cls):
            return explanation
        missing = next((name for name in _NEEDED if not has(explanation, name)), None)
        if missing is not None:
            raise DomainError(
                f"Expected an explanation, but {type(explanation).__name__} without {missing!r} was given; give what "
                "Explainer.explain returned, or what was read from its JSON."
            )
        cxps, partial = _cxps(explanation)
        # A file that does not list the CXps has no forest either.
        forest = None if partial and not cxps else getattr(explanation, "forest", None)
        stated = getattr(explanation, "stated", None)
        # Read from a file without its model, an explanation has no counterfactuals.
        has_model = getattr(explanation, "problem", explanation) is not None
        has_sizes = partial and hasattr(explanation, "cxp_sizes")
        return cls(
            explanation.domain,
            dict(explanation.instance),
            explanation.prediction,
            explanation.delta,
            explanation.weights,
            _radius(explanation),
            {frozenset(c.features): Fraction(c.weight) for c in cxps},
            None if partial and not cxps else _axps(explanation),
            {**_scores(explanation, allowance, KINDS[:2] if partial else KINDS), **getattr(stated, "scores", {})},
            frozenset(explanation.relevant),
            partial=partial,
            value=getattr(forest, "value", None),
            hint=getattr(explanation, "counterfactual", None) if has_model else None,
            floats=dict(getattr(stated, "floats", {})),
            sizes={"cxp": dict(explanation.cxp_sizes)} if has_sizes else {} if partial else _sizes(explanation),
            unchecked=_unchecked(explanation, stated, has_model=has_model),
            probability=getattr(explanation, "probability", None),
            interactions={} if partial else _interactions(explanation, allowance),
            circuit=getattr(explanation, "circuit", None) if has_model else None,
            toward=getattr(explanation, "toward", None),
            further=getattr(explanation, "further", None),
            region=_region(explanation)[0],
            whole=_region(explanation)[1],
        )

    @cached_property
    def codes(self) -> npt.NDArray[np.float64]:
        """The instance as codes."""
        return self.domain.encode_point(self.instance)

    @property
    def is_bounded(self) -> bool:
        """Whether only CXps up to a size are claimed."""
        return self.max_size is not None and self.max_size < len(self.domain)

    def mask(self, names: Iterable[str]) -> int:
        """Return features as an int whose bit i is feature i."""
        return self.domain.mask(names)

    def is_similar(self, output: Any) -> bool:
        """Tell whether an output is similar to the instance's."""
        if self.toward is not None:
            return bool(output != self.toward)
        if self.delta is None:
            return bool(output == self.prediction)
        if isinstance(output, float) and not math.isfinite(output):  # the library's own sum overflowed
            return False
        return abs(Fraction(output) - Fraction(self.prediction)) <= self.delta


def _region(explanation: Any) -> tuple[Any, Domain | None]:
    """Return the region around the instance, and the domain without it, of an explanation or what was read of one."""
    problem = getattr(explanation, "problem", None)
    if problem is None:
        return getattr(explanation, "within", None), getattr(explanation, "whole", None)
    whole = getattr(problem, "whole", None)
    return getattr(problem, "region", None), None if whole is None else whole.domain


def _radius(explanation: Any) -> int | None:
    """Return up to how many features all CXps are claimed to be known: a budget may have ended before `max_size`."""
    bounds = (explanation.max_size, getattr(explanation, "stopped_at", None))
    return min((bound for bound in bounds if bound is not None), default=None)


def _cxps(explanation: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the CXps, or as many as are looked at, and whether there are more."""
    try:
        found = tuple(islice(explanation.cxps, _MOST_SETS + 1))
    except IncompleteError:
        return (), True
    return found[:_MOST_SETS], len(found) > _MOST_SETS


def _interactions(explanation: Any, allowance: Allowance | None) -> dict[str, dict[frozenset[str], Fraction]]:
    """Return the interactions of two features that the explanation gives, or else its file states."""
    stated = getattr(getattr(explanation, "stated", None), "interactions", {})
    found = {}
    for kind in INTERACTIONS if hasattr(explanation, "interactions") else ():
        if allowance is not None and allowance.is_late:
            break
        found[kind] = {frozenset(names): value for names, value in explanation.interactions(kind).items()}
    others = {k: {frozenset(names): value for names, value in row.items()} for k, row in stated.items()}
    return found | others


def _scores(explanation: Any, allowance: Allowance | None, kinds: tuple[str, ...]) -> dict[str, dict[str, Fraction]]:
    """Return every score that the explanation gives; some need all CXps, or more than a file holds."""
    found = {}
    for kind in kinds:
        if allowance is not None and allowance.is_late:
            break
        try:
            found[kind] = dict(explanation.scores(kind))
        except AxfiError:
            continue
    return found


def _unchecked(explanation: Any, stated: Any, *, has_model: bool) -> tuple[str, ...]:
    """Return what is said, but not looked at."""
    names = [name for name in _UNCHECKED if name in dir(explanation) and (has_model or name not in _OF_MODEL)]
    known = tuple(_UNCHECKED[n] for n in names if n not in _MAY_BE_EMPTY or getattr(explanation, n))
    others = tuple(f"entry {name!r}" for name in getattr(stated, "others", ()) if name != "model")
    further = getattr(explanation, "further", None)
    boxes = (f for f in (further.most_general, *further.inflated_cxps.values()) if f) if further else ()
    largest = ("that no box of values covers more",) if any(box.most is not None for box in boxes) else ()
    return (*known, *largest, *others)


def _sizes(explanation: Any) -> dict[str, dict[int, int]]:
    """Return how many sets of each size the explanation's families are said to have."""
    found = {}
    for kind in ("cxp", "axp"):
        try:
            family = getattr(explanation, f"{kind}_family", None)
        except AxfiError:
            continue
        if family is not None:
            found[kind] = dict(family.sizes)
    return found


def _axps(explanation: Any) -> tuple[frozenset[str], ...] | None:
    """Return the AXps, if there is a list of them and it is not too long."""
    try:
        found = tuple(islice(explanation.axps, _MOST_SETS + 1))
    except AxfiError:
        return None
    return None if len(found) > _MOST_SETS else tuple(frozenset(a.features) for a in found)
