"""What an explanation claims, as plain values.

The checker takes nothing else from an explanation: whatever has these attributes can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.errors import AxfiError, DomainError

__all__ = ["Claim"]

_KINDS = ("shapley", "banzhaf")
_MOST_SETS = 20_000
_NEEDED = ("domain", "instance", "prediction", "delta", "weights", "max_size", "cxps", "scores")


@dataclass(frozen=True)
class Claim:
    """What is claimed about one instance.

    Attributes
    ----------
    domain, instance, prediction, delta, weights, max_size
        The question: as an explanation has them.
    cxps
        The weight of each CXp, by its features.
    axps
        The AXps; None where they are not known (there is a largest size, or there are too many).
    scores
        For each kind of score, that of each feature.
    relevant
        The features said to be relevant.
    partial
        Whether there are more CXps than were taken over.
    value
        The characteristic function, if the explanation has a forest.
    hint
        Suggests a point for a CXp; it is not trusted.
    """

    domain: Domain
    instance: dict[str, Any]
    prediction: Any
    delta: Fraction | None
    weights: str
    max_size: int | None
    cxps: dict[frozenset[str], Fraction]
    axps: tuple[frozenset[str], ...] | None
    scores: dict[str, dict[str, Fraction]]
    relevant: frozenset[str]
    partial: bool = False
    value: Callable[[Iterable[str]], Fraction] | None = None
    hint: Callable[[tuple[str, ...]], Any] | None = None

    @classmethod
    def of(cls, explanation: Any) -> Claim:
        """Take over what an explanation says.

        Raises
        ------
        DomainError
            If it is no explanation.
        """
        if isinstance(explanation, cls):
            return explanation
        missing = next((name for name in _NEEDED if not hasattr(explanation, name)), None)
        if missing is not None:
            raise DomainError(
                f"Expected an explanation, but {type(explanation).__name__} without {missing!r} was given; give what "
                "Explainer.explain returned, or what was read from its JSON."
            )
        cxps = tuple(islice(explanation.cxps, _MOST_SETS + 1))
        forest = getattr(explanation, "forest", None)
        return cls(
            explanation.domain,
            dict(explanation.instance),
            explanation.prediction,
            explanation.delta,
            explanation.weights,
            explanation.max_size,
            {frozenset(c.features): Fraction(c.weight) for c in cxps[:_MOST_SETS]},
            _axps(explanation),
            {kind: dict(explanation.scores(kind)) for kind in _KINDS},
            frozenset(explanation.relevant),
            partial=len(cxps) > _MOST_SETS,
            value=getattr(forest, "value", None),
            hint=getattr(explanation, "counterfactual", None),
        )

    @property
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
        if self.delta is None:
            return bool(output == self.prediction)
        return abs(Fraction(output) - Fraction(self.prediction)) <= self.delta


def _axps(explanation: Any) -> tuple[frozenset[str], ...] | None:
    """Return the AXps, if there is a list of them and it is not too long."""
    try:
        found = tuple(islice(explanation.axps, _MOST_SETS + 1))
    except AxfiError:
        return None
    return None if len(found) > _MOST_SETS else tuple(frozenset(a.features) for a in found)
