"""The dissimilar points of one output as a circuit, and questions about an instance's boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Meter
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, FlatCircuit, flat_of
from axfi_kc.circuits.modular import combined, n_primes_beyond, primes_not_dividing, shares_modulo
from axfi_kc.circuits.queries.boxes import CircuitBoxes, outside_boxes
from axfi_kc.circuits.queries.counting import shares_of
from axfi_kc.circuits.queries.decisions import has_disjunctions
from axfi_kc.engines.circuit import kernels
from axfi_kc.families.masks import features_of
from axfi_kc.models.joint import Box

__all__ = ["InstanceBoxes", "Region", "Worths"]


_ARCS_AT_ONCE = 1 << 20  # gone over between two looks at the clock
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
    flat
        The circuit's arrays.
    scope
        The features that the circuit mentions; no other is ever relevant.
    task
        What the kernels look for.
    """

    circuit: Circuit
    holds: bool
    flat: FlatCircuit
    scope: npt.NDArray[np.int64]
    task: int
    _cells: _Table
    _tables: dict[str, _Table] = field(default_factory=dict)

    @classmethod
    def of(cls, circuit: Circuit, holds: bool) -> Region:
        """Lay out a region (cost: linear)."""
        task = kernels.WHERE_TRUE if holds else kernels.BY_COUNT
        if not holds and not has_disjunctions(circuit):
            task = kernels.BY_DECISIONS
        scope = np.unique(circuit.features[circuit.features >= 0]).astype(np.int64)
        n_cells = circuit.grid.n_cells
        # At most so many cell vectors of a box fail; a number of them that primes with a larger product divide is 0.
        count = n_primes_beyond(prod(n_cells[i] for i in scope.tolist())) if task == kernels.BY_COUNT else 0
        # Every cell counts 1, whatever its measure: CXps are logic, and a cell of measure zero holds points.
        cells = _Table.of(circuit, [[1] * n for n in n_cells], scope.tolist(), count)
        return cls(circuit, holds, flat_of(circuit), scope, task, cells)

    @property
    def kernel_arguments(self) -> tuple[Any, ...]:
        """What the oracle's kernels want after the box."""
        n, cells = len(self.flat.kinds), self._cells
        return self.task, cells.share_of_arc, cells.shares, cells.primes, np.empty(n, np.uint8), np.empty(n, np.int64)

    def table(self, kind: str, worths: Worths, count: int) -> _Table:
        """Return what the cells of each arc are worth, modulo `count` primes or more."""
        found = self._tables.get(kind)
        if found is None or len(found.primes) < count:
            found = _Table.of(self.circuit, worths, self.scope.tolist(), max(count, _PRIMES_AT_LEAST))
            self._tables[kind] = found
        return found

    def boxes(self, v: Sequence[int], mask: int) -> list[Box]:
        """Return disjoint boxes of the region's points that agree with v, given by its cells, outside `mask`."""
        members, n_cells = features_of(mask), self.circuit.grid.n_cells
        inside = self._parts.around(v, mask)
        found = inside if self.holds else list(outside_boxes(inside, members, n_cells))
        return [[part.get(i, range(n_cells[i])) for i in members] for part in found]

    @cached_property
    def _parts(self) -> CircuitBoxes:
        return CircuitBoxes(self.circuit)

    @cached_property
    def cell_sets(self) -> list[frozenset[int]]:
        """The circuit's sets of cells, to be asked for members."""
        return [frozenset(cells) for cells in self.circuit.cell_sets]


@dataclass(frozen=True, slots=True)
class _Table:
    """What the cells of arcs are worth modulo primes, a row each, and the whole worth of each feature."""

    primes: npt.NDArray[np.int64]
    share_of_arc: npt.NDArray[np.int32]
    shares: npt.NDArray[np.int64]
    wholes: dict[int, int]

    @classmethod
    def of(cls, circuit: Circuit, worths: Worths, scope: Sequence[int], count: int) -> _Table:
        """Return the table modulo `count` primes, for worths of the cells of each feature."""
        wholes = {i: sum(worths[i]) for i in scope}
        primes = primes_not_dividing(wholes.values(), count=count)
        shares = shares_of(circuit, worths, [wholes.get(i, 1) for i in range(len(worths))])
        rows = np.ascontiguousarray(shares_modulo(shares.worths, shares.wholes, primes).T).astype(np.int64)
        return cls(np.array(primes, np.int64), shares.of_arc, rows, wholes)


class InstanceBoxes:
    """The boxes around one instance: sets of features are free, the others keep its cells.

    Sets are ints whose bit k is feature ``region.scope[k]``.
    """

    def __init__(self, region: Region, v: npt.NDArray[np.int64]) -> None:
        self.region = region
        self.cells = v.tolist()
        self.follows = kernels.followed(region.flat, v)
        self._free = np.zeros(len(v), np.uint8)
        self._arguments = region.kernel_arguments

    @property
    def all(self) -> int:
        """The set of all features of the circuit."""
        return (1 << len(self.region.scope)) - 1

    def is_weak(self, mask: int) -> bool:
        """Tell whether the box in which `mask` is free meets the region (cost: linear, or linear per prime)."""
        self._release(mask)
        return bool(kernels.is_weak(self.region.flat, self.follows, self._free, *self._arguments))

    def shrink(self, mask: int, *, order: npt.NDArray[np.int64] | None = None) -> int:
        """Return a minimal part of `mask` whose box meets the region, as that of `mask` must.

        Parameters
        ----------
        mask
            The set to begin with.
        order
            All positions of the scope; those that come last are kept if possible. By default as they are.

        Notes
        -----
        One question per feature of `mask`.
        """
        self._release(mask)
        features = self.region.scope if order is None else self.region.scope[order]
        kernels.shrink(self.region.flat, self.follows, self._free, features, *self._arguments)
        return sum(1 << k for k in np.flatnonzero(self._free[self.region.scope]).tolist())

    def is_large(self, mask: int) -> bool:
        """Tell whether shrinking `mask` takes so long that the clock should be looked at meanwhile."""
        return len(self.region.flat.children) * mask.bit_count() >= _ARCS_AT_ONCE

    def shrunk(self, mask: int, meter: Meter) -> int | None:
        """Return what :meth:`shrink` does, on large circuits with a look at the clock at each feature; None if late."""
        if not self.is_large(mask):
            return self.shrink(mask)
        for k in features_of(mask):
            if meter.is_spent:
                return None
            if self.is_weak(mask & ~(1 << k)):
                mask &= ~(1 << k)
        return mask

    def least_change(self, mask: int, wanted: int) -> int | None:
        """Return a smallest set of changes within `mask`, one of them of use and of position `wanted`, into the region.

        None if there is none: then `wanted` is in no CXp within `mask`. The region must be where the circuit holds.

        Notes
        -----
        Linear. If a point of a CXp satisfied the circuit without leaving a decision on `wanted` by another arc than the
        instance's, it would do so with the instance's value as well, and the CXp would not be minimal.
        """
        self._release(mask)
        flat, n = self.region.flat, len(self.region.flat.kinds)
        without, using = np.empty(n, np.int64), np.empty(n, np.int64)
        feature = int(self.region.scope[wanted])
        kernels.cheapest(flat, self.follows, self._free, feature, without, using)
        if using[-1] >= kernels.NEVER:
            return None
        changed = self._changes(feature, without, using)
        place = {i: k for k, i in enumerate(self.region.scope.tolist())}
        return sum(1 << place[i] for i in changed)

    def _changes(self, wanted: int, without: npt.NDArray[np.int64], using: npt.NDArray[np.int64]) -> set[int]:
        """Return the features that a cheapest way changes, from the root down."""
        circuit, found = self.region.circuit, set[int]()
        stack = [(circuit.root, True)]
        while stack:
            node, with_wanted = stack.pop()
            span = range(int(circuit.offsets[node]), int(circuit.offsets[node + 1]))
            children = [int(circuit.children[arc]) for arc in span]
            if circuit.kinds[node] == AND:
                owner = min(children, key=lambda c: int(using[c] - without[c])) if with_wanted else -1
                stack += [(c, c == owner) for c in children]
            elif circuit.kinds[node] in (OR, DECISION):
                arc, uses = self._way(node, span, with_wanted, wanted, without, using)
                if circuit.kinds[node] == DECISION and not self.follows[arc]:
                    found.add(int(circuit.features[node]))
                stack.append((int(circuit.children[arc]), uses))
        return found

    def _way(
        self, node: int, span: range, with_wanted: bool, wanted: int, without: Any, using: Any
    ) -> tuple[int, bool]:
        """Return the cheapest arc, and whether `wanted` has still to change below."""
        circuit, feature = self.region.circuit, int(self.region.circuit.features[node])
        ways: list[tuple[int, int, bool]] = []
        for arc in span:
            child, stays = int(circuit.children[arc]), feature < 0 or bool(self.follows[arc])
            if not stays and not self._free[feature]:
                continue
            uses = with_wanted and not (not stays and feature == wanted)
            ways.append((int((using if uses else without)[child]) + (not stays), arc, uses))
        _, arc, uses = min(ways)
        return arc, uses

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
        # The box of a CXp also has points that differ from v in a part of it only, but by minimality none of them is
        # dissimilar: what the region has in the box are the AExs.
        sets = [self.features(mask) for mask in masks]
        wholes = self.region.table(kind, worths, 1).wholes
        largest = [prod([wholes[i] for i in Y]) for Y in sets]
        n_primes = np.array([n_primes_beyond(total) for total in largest], np.int64)
        table = self.region.table(kind, worths, int(n_primes.max(initial=1)))
        found = np.zeros((len(sets), int(n_primes.max(initial=0))), np.int64)
        self._free[:] = 0
        kernels.residues(
            self.region.flat,
            self.follows,
            np.array([i for Y in sets for i in Y], np.int64),
            np.cumsum([0, *map(len, sets)], dtype=np.int64),
            self._free,
            table.share_of_arc,
            table.shares,
            table.primes,
            n_primes,
            np.empty(len(self.region.flat.kinds), np.int64),
            found,
        )
        primes = table.primes.tolist()
        return [
            self._worth(row[:n], primes[:n], total)
            for row, n, total in zip(found.tolist(), n_primes.tolist(), largest, strict=True)
        ]

    def _worth(self, remainders: Sequence[int], primes: Sequence[int], whole: int) -> int:
        # A share is a fraction; times the whole it is an integer from 0 to `whole`, which the primes' product exceeds.
        inside = combined([r * whole % p for r, p in zip(remainders, primes, strict=True)], primes)
        return inside if self.region.holds else whole - inside
