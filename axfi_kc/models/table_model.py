"""Truth tables over finite domains."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import called, checked, number_array
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models.base import ListedModel, reading

__all__ = ["TableModel"]


_LARGEST = 20_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableModel(ListedModel):
    """A model given by its output at every point of a finite domain.

    Attributes
    ----------
    grid
        One cell per value of each feature.
    outputs
        The distinct outputs, in order of first appearance.
    table
        For each point, the position of its output in `outputs`; one axis per feature.
    """

    grid: Grid
    outputs: tuple[Hashable, ...]
    table: npt.NDArray[np.int32]

    @classmethod
    @checked("domain", "outputs")
    def from_outputs(cls, domain: Domain, outputs: Iterable[Hashable]) -> TableModel:
        """Make a model of the outputs at all points, listed with the last feature fastest.

        Examples
        --------
        >>> from axfi_kc.domain.features import Integer
        >>> xor = TableModel.from_outputs(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]), [0, 1, 1, 0])
        >>> xor.predict([[1, 0], [1, 1]])
        [1, 0]
        """
        grid = Grid.of_values(domain)
        if grid.n_points > _LARGEST:
            raise DomainError(
                f"A truth table may have {_LARGEST} points, but this domain has {grid.n_points}; "
                "narrow the domain or give the model itself."
            )
        position: dict[Hashable, int] = {}
        numbers = [position.setdefault(_label(y), len(position)) for y in outputs]
        if len(numbers) != grid.n_points:
            raise DomainError(
                f"The domain has {grid.n_points} points, but {len(numbers)} outputs were given; give one each."
            )
        return cls(grid, tuple(position), np.array(numbers, dtype=np.int32).reshape(grid.n_cells))

    @classmethod
    @checked("domain", "function")
    def from_function(cls, domain: Domain, function: Callable[[tuple[Any, ...]], Hashable]) -> TableModel:
        """Tabulate `function`, which is called once with each point (a tuple of values, None for a missing one).

        Raises
        ------
        DomainError
            If the domain is too large or not finite, or an output can be no label.
        UnsupportedModelError
            If it is a method of a model, which takes tables.
        """
        owner = getattr(function, "__self__", None)
        if hasattr(owner, "predict"):
            raise UnsupportedModelError(
                f"A function takes one point, a tuple of values, but {type(owner).__name__}.{function.__name__} takes "
                "a table; give the model itself."
            )
        size = domain.size
        if size is not None and size > _LARGEST:
            raise DomainError(
                f"A function is tabulated on at most {_LARGEST} points, but this domain has {size}; narrow it."
            )
        points = reading().paced(domain.points())
        return cls.from_outputs(domain, (called(function, "A model", point) for point in points))

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return f"truth table of {counted(self.table.size, 'point')}"

    @checked("cells")
    def decide(self, cells: npt.NDArray[np.int64]) -> list[Hashable]:
        """Return the outputs at points given by their cells, a row each."""
        found = number_array(cells, "The cells of points", (None, self.table.ndim)).astype(np.int64, copy=False)
        return [self.outputs[k] for k in self.table[tuple(found.T)].tolist()]


def _label(output: Any) -> Hashable:
    """Return an output as a plain value, if it can be told from others: NaN is not even equal to itself."""
    plain = output.item() if isinstance(output, np.generic) else output
    try:
        hash(plain)
    except TypeError as error:
        raise DomainError(
            f"A function takes one point and returns one label or number, but {type(plain).__name__} was returned, "
            "which has no hash; return a plain value, and give a trained model itself instead of its predict."
        ) from error
    if plain != plain:
        raise DomainError("The outputs of a model must be labels or numbers, but NaN was found; give it a name.")
    return plain
