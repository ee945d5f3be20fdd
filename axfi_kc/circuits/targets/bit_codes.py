"""How the cells of a feature are written in bits, and circuits handed to libraries that know only bits.

Every code gives a feature of two cells one bit, and a feature of one cell none. Most bit vectors
are the code of no cell; whoever frees bits must add the constraint that leaves these out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from typing import Any, Protocol

from axfi_kc.arguments import quoted
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = [
    "CODES",
    "Algebra",
    "Bit",
    "Encoder",
    "Fork",
    "balanced",
    "bits_of",
    "cells_of",
    "mask_of",
    "members",
    "valid",
]


Fork = Callable[[int, Any, Any], Any]  # (position among the feature's bits, if 1, if 0) -> node


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit of a feature's code.

    Attributes
    ----------
    name
        The variable's name: ``x2_0`` is the first bit of feature 2.
    feature
        The feature it belongs to.
    cells
        The cells of that feature in whose code the bit is 1, increasing.
    """

    name: str
    feature: int
    cells: range | tuple[int, ...]  # a tuple for every bit would make the code "order" quadratic


def _order_cells(n: int) -> list[range]:
    return [range(k + 1, n) for k in range(n - 1)]


def _binary_cells(n: int) -> list[tuple[int, ...]]:
    width = (n - 1).bit_length()
    return [tuple(c for c in range(n) if c >> shift & 1) for shift in reversed(range(width))]


def _direct_cells(n: int) -> list[range]:
    return [range(k, k + 1) for k in range(n)] if n > 2 else _order_cells(n)


_CELLS: Mapping[str, Callable[[int], Sequence[range | tuple[int, ...]]]] = {
    "order": _order_cells,
    "binary": _binary_cells,
    "direct": _direct_cells,
}
CODES = tuple(_CELLS)


def bits_of(grid: Grid, feature: int, *, code: str) -> tuple[Bit, ...]:
    """Return the bits of `feature`, in the order in which diagrams test them.

    Parameters
    ----------
    grid
        The cells.
    feature
        Its number.
    code
        "order" (bit k says: cell > k), "binary" (most significant bit first) or "direct" (bit k says: cell = k).

    Raises
    ------
    CircuitError
        If the code is unknown.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer("a", 0, 2)]))
    >>> {code: [tuple(bit.cells) for bit in bits_of(grid, 0, code=code)] for code in CODES}
    {'order': [(1, 2), (2,)], 'binary': [(2,), (1,)], 'direct': [(0,), (1,), (2,)]}
    """
    if not isinstance(code, str) or code not in _CELLS:
        raise CircuitError(
            f"A code must be one of {', '.join(map(repr, CODES))}, but {quoted(code)} was given; name one."
        )
    cells = _CELLS[code](grid.n_cells[feature])
    return tuple(Bit(f"x{feature}_{k}", feature, c) for k, c in enumerate(cells))


def mask_of(cells: Iterable[int]) -> int:
    """Return a set of cells as an int."""
    if isinstance(cells, range) and cells.step == 1:
        return ((1 << len(cells)) - 1) << cells.start
    return sum(1 << c for c in cells)


def cells_of(mask: int) -> list[int]:
    """Return the cells of a set, increasing."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def members(bits: Sequence[Bit], n_cells: int, cells: Iterable[int], *, fork: Fork, true: Any, false: Any) -> Any:
    """Return the node that tells codes of `cells` from codes of other cells; on no cell's code it may say either.

    Notes
    -----
    Cells are split by one bit after the other until a group lies inside `cells` or outside, so
    the node is as small as that takes: a run of cells needs two bits of the code "order".
    """
    wanted, ones = mask_of(cells), [mask_of(bit.cells) for bit in bits]
    layers = [{(1 << n_cells) - 1}]
    for one in ones:
        halves = {half for group in layers[-1] for half in (group & one, group & ~one)}
        layers.append({half for half in halves if half & wanted and half & ~wanted})
    everything = (1 << n_cells) - 1
    made: dict[int, Any] = {}  # groups that lie neither inside nor outside; the others are constants
    for k in reversed(range(len(bits))):
        for group in layers[k]:
            if group & wanted and group & ~wanted:
                high, low = group & ones[k], group & ~ones[k]
                if high and low:
                    above = made[high] if high in made else true if high & wanted else false
                    below = made[low] if low in made else true if low & wanted else false
                    made[group] = fork(k, above, below)
                else:
                    made[group] = made[high or low]
    return made.get(everything, true if wanted else false)


def valid(code: str, n_cells: int, *, fork: Fork, rest: Any, false: Any) -> Any:
    """Return the node of "the bits are the code of a cell, and then `rest` holds" (cost: linear in the bits)."""
    n_bits = len(_CELLS[code](n_cells))
    if code == "binary":
        return _at_most(n_cells - 1, n_bits, fork, rest, false)
    if n_bits <= 1:
        return rest
    # `first` waits for the bit that names the cell, `zeros` has seen it and wants only zeros
    first, zeros = (rest if code == "order" else false), rest
    for k in reversed(range(n_bits)):
        first = fork(k, first, zeros) if code == "order" else fork(k, zeros, first)
        zeros = fork(k, false, zeros)
    return first


def _at_most(last: int, n_bits: int, fork: Fork, rest: Any, false: Any) -> Any:
    """Return the node of "the number in the bits is at most `last`, and then `rest`"."""
    node = rest
    for k in reversed(range(n_bits)):
        node = fork(k, node, rest) if last >> (n_bits - 1 - k) & 1 else fork(k, false, node)
    return node


class Algebra(Protocol):
    """The operations of a library on its own nodes."""

    true: Any
    false: Any

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return, of tests that exclude each other on codes of cells, what comes with the one that holds."""


class Encoder:
    """Translates a circuit, children first.

    Parameters
    ----------
    circuit
        Of any kind.
    code
        How cells are written in bits.
    bits
        The bits of each feature, the features from the top of the order down.
    algebra
        The library.
    """

    def __init__(self, circuit: Circuit, *, code: str, bits: Mapping[int, Sequence[Bit]], algebra: Algebra) -> None:
        self._circuit = circuit
        self._code = code
        self._bits = bits
        self._algebra = algebra
        self._valid: Any = None
        self._known: dict[tuple[int, int], Any] = {}  # by feature and label

    def function(self) -> Any:
        """Return the function of the codes of the circuit's points."""
        algebra = self._algebra
        found = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda below: balanced(below, algebra.conjoin, algebra.true),
            disjunction=lambda below: balanced(below, algebra.disjoin, algebra.false),
            false=algebra.false,
            true=algebra.true,
        )
        return algebra.conjoin(self.valid(), found[-1])

    def _decision(self, feature: int, labels: list[int], below: list[Any]) -> Any:
        if len(self._bits[feature]) == 1:  # two cells: one operation instead of one for each
            ends = [self._algebra.false] * 2
            for label, node in zip(labels, below, strict=True):
                for cell in self._circuit.cell_sets[label]:
                    ends[cell] = node
            return self._algebra.fork(self._bits[feature][0], ends[1], ends[0])
        tests = [self._members(feature, label) for label in labels]
        return self._algebra.choose(list(zip(tests, below, strict=True)))

    def _members(self, feature: int, label: int) -> Any:
        if (feature, label) not in self._known:
            true, false = self._algebra.true, self._algebra.false
            n_cells, cells = self._circuit.grid.n_cells[feature], self._circuit.cell_sets[label]
            self._known[feature, label] = members(
                self._bits[feature], n_cells, cells, fork=self._fork(feature), true=true, false=false
            )
        return self._known[feature, label]

    def valid(self) -> Any:
        """Return the function of the bit vectors that are codes (made once)."""
        if self._valid is None:
            true, false, n_cells = self._algebra.true, self._algebra.false, self._circuit.grid.n_cells
            # from the bottom of the order up, so that each join meets only what lies below
            upwards = reversed(list(self._bits))
            parts = [valid(self._code, n_cells[i], fork=self._fork(i), rest=true, false=false) for i in upwards]
            self._valid = reduce(lambda made, here: self._algebra.conjoin(here, made), parts, true)
        return self._valid

    def _fork(self, feature: int) -> Callable[[int, Any, Any], Any]:
        bits, algebra = self._bits[feature], self._algebra
        return lambda k, high, low: algebra.fork(bits[k], high, low)


def balanced(parts: Sequence[Any], join: Callable[[Any, Any], Any], neutral: Any) -> Any:
    """Join in a balanced way: of many parts, most joins are then between small ones."""
    while len(parts) > 1:
        parts = [join(a, b) for a, b in zip_longest(parts[::2], parts[1::2], fillvalue=neutral)]
    return parts[0] if parts else neutral
