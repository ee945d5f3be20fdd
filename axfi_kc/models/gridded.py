"""What every model on a grid of cells shares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.grid import Grid

__all__ = ["GriddedModel"]


class GriddedModel:
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

    def outputs_at(self, codes: npt.NDArray[np.float64]) -> list[Any]:
        """Return the outputs at points given by their codes, a row each."""
        return self.decide(self.grid.locate(codes))

    def predict(self, X: Any) -> list[Any]:
        """Return the outputs at points given as the user has them."""
        return self.outputs_at(self.domain.encode(X))
