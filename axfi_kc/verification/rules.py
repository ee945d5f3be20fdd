"""From scores to "not similar": a few sums, one of which is above zero."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

__all__ = ["Margin", "Rule"]


@dataclass(frozen=True, slots=True)
class Margin:
    """``sum of factors times scores + constant``; dissimilar where it is above 0, or also at 0 if `tie`."""

    factors: tuple[Fraction, ...]
    constant: Fraction
    tie: bool

    def at(self, scores: Sequence[Fraction]) -> Fraction:
        """Return the sum for given scores."""
        return sum((f * s for f, s in zip(self.factors, scores, strict=True)), self.constant)

    def holds(self, total: Fraction) -> bool:
        """Tell whether such a sum means dissimilar."""
        return total > 0 or (self.tie and total == 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a library turns scores into outputs.

    Attributes
    ----------
    kind
        ``"above"``: the second label iff the score is above 0; ``"from"``: iff it is at least 0; ``"largest"``:
        the label of the largest score, the first of several; ``"itself"``: the score times `scale`.
    labels
        The labels of a classifier.
    scale
        What a regression multiplies its score by.
    """

    kind: Literal["above", "from", "largest", "itself"]
    labels: tuple[Hashable, ...] = ()
    scale: Fraction = Fraction(1)

    def output(self, scores: Sequence[Fraction]) -> Any:
        """Return the output for given scores."""
        if self.kind == "largest":
            return self.labels[max(range(len(scores)), key=lambda k: (scores[k], -k))]
        if self.kind == "itself":
            return scores[0] * self.scale
        return self.labels[int(scores[0] > 0 or (self.kind == "from" and scores[0] == 0))]

    def knows(self, prediction: Any, delta: Fraction | None) -> bool:
        """Tell whether such an output exists, so that others can be compared with it."""
        if self.kind == "itself":
            return delta is not None
        return delta is None and prediction in self.labels

    def margins(self, prediction: Any, delta: Fraction | None, n_scores: int) -> tuple[Margin, ...]:
        """Return the sums that are above 0 where the output is not similar to `prediction`.

        Examples
        --------
        >>> Rule("above", (0, 1)).margins(1, None, 1)
        (Margin(factors=(Fraction(-1, 1),), constant=Fraction(0, 1), tie=True),)
        """
        one, zero = Fraction(1), Fraction(0)
        if self.kind == "itself":
            centre, reach = Fraction(prediction), delta or zero
            return (
                Margin((self.scale,), -centre - reach, tie=False),
                Margin((-self.scale,), centre - reach, tie=False),
            )
        own = self.labels.index(prediction)
        if self.kind == "largest":
            others = [k for k in range(n_scores) if k != own]
            return tuple(
                Margin(tuple(Fraction((j == k) - (j == own)) for j in range(n_scores)), zero, tie=k < own)
                for k in others
            )
        if own == 1:
            return (Margin((-one,), zero, tie=self.kind == "above"),)
        return (Margin((one,), zero, tie=self.kind == "from"),)
