"""Which outputs of a model count as similar."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axfi_kc.domain.measures import Number, exact
from axfi_kc.errors import SimilarityError
from axfi_kc.models.base import Model

__all__ = ["Similarity"]


@dataclass(frozen=True, slots=True)
class Similarity:
    """Which outputs count as similar to which.

    Classification (`delta` is None): equal outputs. Regression: outputs at most `delta` apart.

    Examples
    --------
    >>> Similarity().holds("a", "b"), Similarity(Fraction(3, 2)).holds(1, 2.5)
    (False, True)
    """

    delta: Fraction | None = None

    @classmethod
    def of(cls, model: Model, delta: Number | None) -> Similarity:
        """Return the similarity that fits `model`.

        Raises
        ------
        SimilarityError
            For a regression without `delta`, a classifier with one, or a negative one.
        """
        if delta is None:
            if model.is_regression:
                raise SimilarityError(
                    "A regression needs delta, the largest difference in output that counts as similar, "
                    "but none was given; pass delta=... ."
                )
            return cls()
        if model.is_regression is False:
            raise SimilarityError(f"delta={delta} was given, but the model is a classifier; leave delta out.")
        bound = exact(delta, "delta")
        if bound < 0:
            raise SimilarityError(f"delta must not be negative, but {delta} was given.")
        return cls(bound)

    def holds(self, output: Any, other: Any) -> bool:
        """Tell whether two outputs are similar."""
        if self.delta is None:
            return bool(output == other)
        return abs(exact(output, "regression output") - exact(other, "regression output")) <= self.delta
