"""What every model form answers for itself, and which of its outputs count as similar.

To add one:

1. write a file here with a subclass of :class:`Model`; of :class:`GriddedModel` if its outputs are a function of
   cells, of :class:`ListedModel` if it also lists them;
2. name an engine for it in :data:`axfi_kc.engines.ENGINES`; explaining, files, pages and ``verify`` then work;
3. where it has a shorter way than any model on cells has, register that beside the others of its kind: ``diagram_of``
   in :mod:`axfi_kc.compilers.model_diagrams`, ``direct_circuit`` in :mod:`axfi_kc.compilers.model_circuits`,
   ``region_in`` in :mod:`axfi_kc.explanations.counterfactuals.regions`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, preparation
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import Number, counted, exact
from axfi_kc.errors import SimilarityError, UnsupportedModelError

__all__ = [
    "LINK_ERROR",
    "GriddedModel",
    "ListedModel",
    "Model",
    "Similarity",
    "Uses",
    "adding_error",
    "check_never_missing",
    "reading",
]


_LISTED = 12  # labels that a message names
LINK_ERROR = 8  # units in the last place that a sigmoid, a softmax or an average may lose


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """How a model uses its features.

    Attributes
    ----------
    influence
        Per feature, the sum over the nodes that test it of 2 to the power of minus their depth;
        for boxes, how many restrict it; for a linear model the rank of the most it can change a score.
    groups
        The features that occur together in a tree, or a box.
    """

    influence: npt.NDArray[np.float64]
    groups: list[frozenset[int]]


class Model(ABC):
    """A neutral form: a function on a domain, free of the library that trained it.

    Attributes
    ----------
    domain
        The space the model is defined on.
    grid
        The cells it can tell apart.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # read only; at run time a property here would keep forms from holding these as fields

        @property
        def domain(self) -> Domain:
            """The space the model is defined on."""

        @property
        def grid(self) -> Grid:
            """The cells it can tell apart."""

    @property
    @abstractmethod
    def is_regression(self) -> bool | None:
        """Whether the output is a number; None if that is for the user to say, who then gives ``delta``."""

    @property
    @abstractmethod
    def labels(self) -> tuple[Hashable, ...]:
        """The outputs that the model may have; none for the numbers of a regression."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What the model is, for people: ``"sum of 20 trees"``."""

    @abstractmethod
    def outputs_at(self, codes: npt.NDArray[np.float64]) -> list[Any]:
        """Return the outputs at points given by their codes, a row each."""

    def cells_and_outputs(self, codes: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """Return the cells of points given by their codes, and the outputs there."""
        # Not every form decides by cells: a hyperplane cuts through cells of real features.
        return self.grid.locate(codes), self.outputs_at(codes)

    def predict(self, X: Any) -> list[Any]:
        """Return the outputs at points given as the user has them."""
        return self.outputs_at(self.domain.encode(X))

    def uses(self) -> Uses:
        """Return how the model uses its features; all alike, unless the form knows better.

        Notes
        -----
        Linear in the size of the model.
        """
        return Uses(np.zeros(len(self.domain)), [])

    @property
    def rounding_error(self) -> Fraction:
        """How far a score that the library computes can be from the exact one; 0 where nothing is added.

        Adding n numbers in any order, each sum rounded to a relative error u, is off by at most n u / (1 - n u)
        times the sum of their absolute values. Leaves of at most 24 bits, or 48 for products, are taken to be
        added in float32, as XGBoost does; others in float64. What a library does to columns before a linear
        model (scaling) is not included.
        """
        return Fraction(0)

    def with_ties_moved(self, output: Any, delta: Fraction | None, shift: Fraction) -> tuple[Self, Fraction | None]:
        """Return the model and delta for which more points (fewer, if `shift` is negative) are dissimilar to `output`.

        Every tie between similar and dissimilar is moved by `shift`, in units of the scores.
        """
        return self, delta

    def __repr__(self) -> str:
        """Return the model in words; its arrays would fill pages."""
        return f"<{type(self).__name__}: {self.words} over {counted(len(self.domain), 'feature')}>"


class GriddedModel(Model):
    """A model that is a function of cells."""

    __slots__ = ()
    grid: Grid

    @abstractmethod
    def decide(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        """Return the outputs at points given by their cells, a row each."""

    @property
    def domain(self) -> Domain:
        """The space the model is defined on."""
        return self.grid.domain

    @checked("codes")
    def outputs_at(self, codes: npt.NDArray[np.float64]) -> list[Any]:
        """Return the outputs at points given by their codes, a row each."""
        return self.decide(self.grid.locate(codes))

    @checked("codes")
    def cells_and_outputs(self, codes: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], list[Any]]:
        """Return the cells of points given by their codes, and the outputs there; each is located once."""
        cells = self.grid.locate(codes)
        return cells, self.decide(cells)


class ListedModel(GriddedModel):
    """A model on cells that lists its distinct outputs.

    Attributes
    ----------
    outputs
        The distinct outputs.
    """

    __slots__ = ()
    outputs: tuple[Hashable, ...]

    @property
    def is_regression(self) -> bool | None:
        """None: outputs are what their user says, a regression exactly when ``delta`` is given."""
        return None

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The distinct outputs."""
        return self.outputs


def check_never_missing(domain: Domain) -> None:
    """Raise if a value may be missing: for models whose library predicts nothing then."""
    odd = next((f for f in domain.features if f.missing), None)
    if odd is not None:
        raise UnsupportedModelError(
            f"The model predicts nothing where a value is missing, but feature {odd.name!r} may be; impute it in a "
            "pipeline before the model, or give the domain missing=0."
        )


def reading() -> Account:
    """Return the account of a model that is being read, for which the question pays that needs it.

    Examples
    --------
    >>> sum(reading().paced([1, 2, 3]))
    6
    """
    return Account(preparation(), goal="reading of the model", advice="allow more", unit="trees", at_once=1)


def adding_error(n: int, unit: Fraction) -> Fraction:
    """Return by how much the rounded sum of n numbers may be off, relative to the sum of their absolute values."""
    return n * unit / (1 - n * unit)


@dataclass(frozen=True, slots=True)
class Similarity:
    """Which outputs count as similar to which.

    Classification (`delta` is None): equal outputs. Regression: outputs at most `delta` apart. With `toward`, the
    question is "why not this class?": all classes but that one count as similar to each other.

    Examples
    --------
    >>> Similarity().holds("a", "b"), Similarity(Fraction(3, 2)).holds(1, 2.5)
    (False, True)
    >>> why_not_c = Similarity(toward="c")
    >>> why_not_c.holds("a", "b"), why_not_c.holds("a", "c")
    (True, False)
    """

    delta: Fraction | None = None
    toward: Hashable | None = None

    @classmethod
    def of(cls, model: Model, delta: Number | None, *, toward: Hashable | None = None) -> Similarity:
        """Return the similarity that fits `model`.

        Raises
        ------
        SimilarityError
            For a regression without `delta`, a classifier with one, or a negative one; and for a class `toward` that
            the model does not have.
        """
        if toward is not None:
            return cls(toward=_class_of(model, delta, toward))
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

    def sought(self, output: Hashable, labels: Sequence[Hashable]) -> tuple[Hashable, bool]:
        """Return an output, and whether what is looked for are its own points, for all with this one.

        False: looked for are the points that are not like `output`. True: those *of* the output returned, which is the
        class `toward`. Of two classes, not to be the one is to be the other.
        """
        return (self.toward, True) if self.is_one_of_several(labels) else (output, False)

    def is_one_of_several(self, labels: Sequence[Hashable]) -> bool:
        """Tell whether the points of one class are looked for, and there are more than two."""
        return self.toward is not None and len(labels) > 2

    def holds(self, output: Any, other: Any) -> bool:
        """Tell whether two outputs are similar."""
        if self.toward is not None:
            return bool((output == self.toward) == (other == self.toward))
        if self.delta is None:
            return bool(output == other)
        return abs(exact(output, "regression output") - exact(other, "regression output")) <= self.delta


def _class_of(model: Model, delta: Number | None, toward: Hashable) -> Hashable:
    """Return the model's own label for a class that is asked about."""
    if delta is not None or model.is_regression:
        raise SimilarityError(
            f"toward={quoted(toward)} names a class, but the model is a regression; leave toward out."
        )
    found = next((label for label in model.labels if label == toward), None)
    if found is None:
        known = ", ".join(map(repr, model.labels[:_LISTED]))
        raise SimilarityError(f"toward must be one of the model's classes ({known}), but {quoted(toward)} was given.")
    return found
