"""A data set as the space: rows with their outputs, of any model that predicts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import is_hashable, quoted
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import is_missing
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError
from axfi_kc.models.base import Model, Similarity

__all__ = ["Samples"]


_MOST_FEATURES = 64  # bits of a mask
_AT_ONCE = 1 << 13


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
    told
        An instance that need not be one of the rows, by its codes, and its output.

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
    told: tuple[npt.NDArray[np.float64], Any] | None = None

    @classmethod
    def of(cls, domain: Domain, rows: Any, outputs: Any) -> Samples:
        """Take rows as their users have them, and an output for each."""
        if domain.constraints:
            raise DomainError(
                "Rows are themselves the points that exist, but the domain has constraints; leave out the rows that "
                "violate them, and give domain.unconstrained."
            )
        if domain.distribution is not None:
            raise DomainError(
                "Rows are themselves the points that exist, each as likely as the others, but the domain has a "
                "distribution; give domain.with_distribution(None)."
            )
        if len(domain) > _MOST_FEATURES:
            raise DomainError(f"Rows may have {_MOST_FEATURES} features, but these have {len(domain)}; leave some out.")
        codes = domain.encode(rows)
        try:
            given = _as_given(outputs)
        except Exception as error:  # outputs of different lengths, or foreign code
            raise DomainError(
                f"Expected an output for each of {len(codes)} rows, but {quoted(outputs)} was given; give a list."
            ) from error
        if given.ndim != 1 or len(given) != len(codes):
            raise DomainError(
                f"Expected an output for each of {len(codes)} rows, but {given.size} of shape {given.shape} were "
                "given; predict the rows, and give what comes out."
            )
        # Whole numbers, truths and texts are never missing; None is an output like others, NaN does not equal itself.
        may_lack = given.tolist() if given.dtype.kind not in "iubUS" else []
        lacking = next((n for n, y in enumerate(may_lack) if y is not None and is_missing(y)), None)
        if lacking is not None:
            raise DomainError(
                f"Expected an output for each of {len(codes)} rows, but that of row {lacking} is missing "
                f"({given[lacking]}); predict it, or leave the row out."
            )
        return cls(domain, codes, *_numbered(given))

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
        if self.told is not None and np.array_equal(row, self.told[0], equal_nan=True):
            return self.told[1]
        found = self.output[self.differences(row) == 0]
        if not len(found):
            raise DomainError(
                "The instance is none of the rows, so that its output is not known; give the output, or add the row."
            )
        if (found != found[0]).any():
            raise DomainError("The rows equal to the instance have different outputs; leave all but one out.")
        return self.outputs[int(found[0])]

    def differences(self, row: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
        """Return for each of the samples the features in which it differs from a row, as a mask."""
        found = np.zeros((len(self.codes), 8), dtype=np.uint8)
        missing = np.flatnonzero(np.isnan(row))
        for first in range(0, len(self.codes), _AT_ONCE):  # blocks that stay in the cache
            block = self.codes[first : first + _AT_ONCE]
            differs = block != row
            differs[:, missing] = ~np.isnan(block[:, missing])  # missing equals missing
            packed = np.packbits(differs, axis=1, bitorder="little")
            found[first : first + _AT_ONCE, : packed.shape[1]] = packed
        return found.view("<u8")[:, 0]

    def similar(self, output: Any, similarity: Similarity) -> npt.NDArray[np.bool_]:
        """Tell for each of the samples whether its output is similar to `output`."""
        return np.array([similarity.holds(y, output) for y in self.outputs])[self.output]


def _as_given(outputs: Any) -> npt.NDArray[Any]:
    """Return outputs as an array: as objects where numpy would make text of numbers that stand beside it."""
    found = np.asarray(outputs)
    if found.ndim == 1 and found.dtype.kind in "US" and not hasattr(outputs, "dtype"):
        plain = list(outputs)
        if not all(isinstance(y, str) for y in plain):
            return np.fromiter(plain, object, len(plain))
    return found


def _numbered(outputs: npt.NDArray[Any]) -> tuple[tuple[Hashable, ...], npt.NDArray[np.int64]]:
    """Return the distinct outputs, and which of them each one is."""
    if outputs.dtype.kind != "O":
        distinct, numbers = np.unique(outputs, return_inverse=True)
        return tuple(distinct.tolist()), numbers.astype(np.int64)
    # Objects need not compare by size; they are numbered as they come.
    given = outputs.tolist()
    odd = next((y for y in given if not is_hashable(y)), None)
    if odd is not None:
        raise DomainError(f"An output is a number or a label, but {quoted(odd)} was given; give one for each row.")
    number = {y: k for k, y in enumerate(dict.fromkeys(given))}
    return tuple(number), np.fromiter(map(number.__getitem__, given), np.int64, len(given))
