"""The dissimilar points of one output as a circuit, and questions about an instance's boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit
from axfi_kc.engines import circuit_kernels as kernels
from axfi_kc.models.circuit_wires import Wires, wires_of
from axfi_kc.models.disguises import has_disjunctions
from axfi_kc.residues import combined, n_primes_beyond, primes_not_dividing, shares_of
from axfi_kc.sets import features_of

__all__ = ["InstanceBoxes", "Region", "Worths"]

_PRIMES_AT_LEAST = 4  # room for most sets without another look for primes
Worths = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Region:
    """Where a circuit holds, or where it fails, laid out for the kernels.

    Attributes
    ----------
    circuit
        Deterministic and decomposable.
    holds
        Whether the region is where the circuit holds.
    wires
        The circuit's arrays.
    groups
        The feature and the cells of each group of cells that arcs name.
    scope
        The features that the circuit mentions; no other is ever relevant.
    task
        What the kernels look for.
    """

    circuit: Circuit
    holds: bool
    wires: Wires
    groups: list[tuple[int, tuple[int, ...]]]
    scope: npt.NDArray[np.int64]
    task: int
    _primes: npt.NDArray[np.int64]
    _shares: npt.NDArray[np.int64]
    _tables: dict[str, _Table] = field(default_factory=dict)

    @classmethod
    def of(cls, circuit: Circuit, holds: bool) -> Region:
        """Lay out a region (cost: linear)."""
        wires, groups = wires_of(circuit)
        task = kernels.WHERE_TRUE if holds else kernels.BY_COUNT
        if not holds and not has_disjunctions(circuit):
            task = kernels.BY_DECISIONS
        scope = sorted({i for i, _ in groups})
        n_cells = circuit.grid.n_cells
        count = n_primes_beyond(prod(n_cells[i] for i in scope)) if task == kernels.BY_COUNT else 0
        primes = primes_not_dividing((n_cells[i] for i in scope), count=count)
        shares = shares_of([(len(cells), n_cells[i]) for i, cells in groups], primes)
        return cls(circuit, holds, wires, groups, np.array(scope, np.int64), task, np.array(primes, np.int64), shares)

    @property
    def kernel_arguments(self) -> tuple[Any, ...]:
        """What the oracle's kernels want after the box."""
        n = len(self.wires.kinds)
        return self.task, self._shares, self._primes, np.empty(n, np.uint8), np.empty(n, np.int64)

    def table(self, kind: str, worths: Worths, count: int) -> _Table:
        """Return what each group is worth, modulo `count` primes or more."""
        found = self._tables.get(kind)
        if found is None or len(found.primes) < count:
            wholes = {i: sum(worths[i]) for i in self.scope.tolist()}
            primes = primes_not_dividing(wholes.values(), count=max(count, _PRIMES_AT_LEAST))
            parts = [(sum(worths[i][c] for c in cells), wholes[i]) for i, cells in self.groups]
            found = self._tables[kind] = _Table(np.array(primes, np.int64), shares_of(parts, primes), wholes)
        return found


@dataclass(frozen=True, slots=True)
class _Table:
    """What the groups of cells are worth modulo primes, and the whole worth of each feature."""

    primes: npt.NDArray[np.int64]
    shares: npt.NDArray[np.int64]
    wholes: dict[int, int]


class InstanceBoxes:
    """The boxes around one instance: sets of features are free, the others keep its cells.

    Sets are ints whose bit k is feature ``region.scope[k]``.
    """

    def __init__(self, region: Region, v: npt.NDArray[np.int64]) -> None:
        self.region = region
        self.follows = kernels.followed(region.wires, v)
        self._free = np.zeros(len(v), np.uint8)
        self._arguments = region.kernel_arguments

    @property
    def all(self) -> int:
        """The set of all features of the circuit."""
        return (1 << len(self.region.scope)) - 1

    def is_weak(self, mask: int) -> bool:
        """Tell whether the box in which `mask` is free meets the region (cost: linear, or linear per prime)."""
        self._release(mask)
        return bool(kernels.is_weak(self.region.wires, self.follows, self._free, *self._arguments))

    def shrink(self, mask: int) -> int:
        """Return a minimal part of `mask` whose box meets the region, as that of `mask` must.

        Notes
        -----
        One question per feature of `mask`. Features that come last in the scope are kept if possible.
        """
        self._release(mask)
        kernels.shrink(self.region.wires, self.follows, self._free, self.region.scope, *self._arguments)
        return sum(1 << k for k in np.flatnonzero(self._free[self.region.scope]).tolist())

    def _release(self, mask: int) -> None:
        self._free[:] = 0
        self._free[self.region.scope[list(features_of(mask))]] = 1

    def features(self, mask: int) -> list[int]:
        """Return the features of a set by their numbers in the domain."""
        return self.region.scope[list(features_of(mask))].tolist()

    def global_masks(self, masks: Iterable[int]) -> list[int]:
        """Return sets with bit i for feature i of the domain."""
        bits = [1 << i for i in self.region.scope.tolist()]
        return [sum(bits[k] for k in features_of(mask)) for mask in masks]

    def weigh(self, masks: Sequence[int], kind: str, worths: Worths) -> list[int]:
        """Return for each set what the region's points in its box are worth.

        Notes
        -----
        A pass over the circuit for each prime of 31 bits that it takes to exceed what the box is worth.
        """
        sets = [self.features(mask) for mask in masks]
        wholes = self.region.table(kind, worths, 1).wholes
        largest = [prod([wholes[i] for i in Y]) for Y in sets]
        n_primes = np.array([n_primes_beyond(total) for total in largest], np.int64)
        table = self.region.table(kind, worths, int(n_primes.max(initial=1)))
        found = np.zeros((len(sets), int(n_primes.max(initial=0))), np.int64)
        self._free[:] = 0
        kernels.residues(
            self.region.wires,
            self.follows,
            np.array([i for Y in sets for i in Y], np.int64),
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
            self._free,
            table.shares,
            table.primes,
            n_primes,
            np.empty(len(self.region.wires.kinds), np.int64),
            found,
        )
        primes = table.primes.tolist()
        return [
            self._worth(row[:n], primes[:n], total)
            for row, n, total in zip(found.tolist(), n_primes.tolist(), largest, strict=True)
        ]

    def _worth(self, remainders: Sequence[int], primes: Sequence[int], whole: int) -> int:
        inside = combined([r * whole % p for r, p in zip(remainders, primes, strict=True)], primes)
        return inside if self.region.holds else whole - inside
