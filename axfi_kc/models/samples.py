"""A data set as the space: rows with their outputs, of any model that predicts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted, exact
from axfi_kc.errors import DomainError
from axfi_kc.models.base import Model

__all__ = ["Samples"]


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Model):
    """Rows that exist, and nothing else.

    Attributes
    ----------
    domain
        The features.
    codes
        The rows, as codes of their values.
    outputs
        The distinct outputs.
    output
        The position in `outputs` of each row's output.

    Examples
    --------
    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> Samples.of(domain, [[0, 0], [0, 1], [1, 1]], ["no", "yes", "yes"]).predict([[1, 1]])
    ['yes']
    """

    domain: Domain
    codes: npt.NDArray[np.float64]
    outputs: tuple[Hashable, ...]
    output: npt.NDArray[np.int64]

    @classmethod
    def of(cls, domain: Domain, rows: Any, outputs: Any) -> Samples:
        """Take rows as their users have them, and an output for each."""
        codes = domain.encode(rows)
        given = np.asarray(outputs)
        if len(given) != len(codes) or given.ndim != 1:
            raise DomainError(f"Expected an output for each of {len(codes)} rows, but {given.shape} were given.")
        distinct, output = np.unique(given, return_inverse=True)
        return cls(domain, codes, tuple(distinct.tolist()), output.astype(np.int64))

    @cached_property
    def grid(self) -> Grid:
        """One cell per feature, and one for missing values: rows are told apart by their codes."""
        return Grid.of(self.domain, [()] * len(self.domain))

    @property
    def is_regression(self) -> bool | None:
        """None: outputs are what their user says, a regression exactly when ``delta`` is given."""
        return None

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The distinct outputs."""
        return self.outputs

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return counted(len(self.codes), "row")

    def outputs_at(self, codes: npt.NDArray[np.float64]) -> list[Any]:
        """Return the outputs of rows that are among the samples."""
        return [self._output_at(row) for row in codes]

    def _output_at(self, row: npt.NDArray[np.float64]) -> Any:
        found = self.output[self.differences(row) == 0]
        if not len(found):
            raise DomainError(
                "The instance is none of the rows, so that its output is not known; give the output, or add the row."
            )
        if (found != found[0]).any():
            raise DomainError("The rows equal to the instance have different outputs; leave all but one out.")
        return self.outputs[int(found[0])]

    def differences(self, row: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """Return for each of the samples the features in which it differs from a row, as a mask of at most 64."""
        if self.codes.shape[1] > 64:
            raise DomainError(f"Samples may have 64 features, but these have {self.codes.shape[1]}; leave some out.")
        found = np.zeros(len(self.codes), dtype=np.uint64)
        for i, code in enumerate(row.tolist()):
            column = self.codes[:, i]
            differs = ~np.isnan(column) if code != code else column != code  # missing equals missing
            found |= differs.astype(np.uint64) << np.uint64(i)
        return found

    def similar(self, output: Any, delta: Fraction | None) -> npt.NDArray[np.bool_]:
        """Tell for each of the samples whether its output is similar to `output`."""
        if delta is None:
            near: Sequence[bool] = [y == output for y in self.outputs]
        else:
            near = [abs(exact(y, "output") - exact(output, "output")) <= delta for y in self.outputs]
        return np.array(near)[self.output]
