"""Large decision diagrams in flat arrays, from text to negation normal forms: what bdd and sdd do line by line.

Everything here may answer None, which means that a text is small, or not quite regular, or wrong: then it is read line
by line, and what is wrong with it is said there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.circuits.files.nnf_arrays import LARGE, FlatNnf

__all__ = ["FlatBdd", "SddLines", "scanned_dd_json", "scanned_dddmp", "scanned_sdd"]


Ints = npt.NDArray[np.int64]
_SPARSE = 8  # numbers of nodes may be so many times larger than there are nodes


@dataclass(frozen=True, slots=True)
class FlatBdd:
    """An ordered diagram as files hold it, see :class:`~axfi_kc.circuits.files.bdd.Bdd`, in arrays.

    Attributes
    ----------
    levels, lows, highs
        Of each node, children first; the first two entries stand for none and for true.
    root
        A node, below zero its complement.
    """

    levels: Ints
    lows: Ints
    highs: Ints
    root: int

    def nnf(self, variables: Sequence[int], n_variables: int) -> FlatNnf:
        """Return the diagram without complements, given the variable of each level (cost: linear)."""
        from axfi_kc.circuits.files.diagram_kernels import bdd_nnf

        n, n_literals = len(self.levels), 2 * len(variables)
        room = 6 * n + n_literals + 3
        kinds, offsets = np.zeros(room, np.uint8), np.zeros(room + 1, np.int64)
        parts = np.zeros(12 * n + n_literals + 1, np.int64)
        marks, made, literals = np.zeros(2 * n, np.uint8), np.zeros(2 * n, np.int64), np.full(n_literals, -1, np.int64)
        given = self.levels, self.lows, self.highs, self.root, np.array(variables, np.int64)
        n_nodes, n_parts = bdd_nnf(*given, marks, made, literals, kinds, offsets, parts)
        return FlatNnf(n_variables, kinds[:n_nodes], offsets[: n_nodes + 1], parts[:n_parts])


def scanned_dddmp(
    text: bytes, first: int, names: Sequence[bytes], positions: Sequence[int], n_nodes: int, root: int
) -> FlatBdd | None:
    """Return the diagram whose nodes begin at the byte `first` of a file of DDDMP, or None."""
    if not LARGE <= n_nodes <= text.count(b"\n", first):
        return None
    from axfi_kc.circuits.files.diagram_kernels import enter_names, scan_dddmp

    starts = np.cumsum([0, *map(len, names)], dtype=np.int64)
    joined, table = np.frombuffer(b"".join(names) + b" ", np.uint8), _slots(len(names))
    enter_names(joined, starts, table)
    rows, place = _empty(n_nodes)
    given = joined, starts, table, np.array(positions, np.int64)
    found, at = scan_dddmp(np.frombuffer(text, np.uint8), first, *given, rows, place)
    if found != n_nodes or text[at:].strip() != b".end":
        return None
    return _ordered(rows, place, root)


def scanned_dd_json(text: bytes, first: int, n_levels: int, root: int) -> FlatBdd | None:
    """Return the diagram whose nodes begin at the byte `first` of a file of dd, or None."""
    n_lines = text.count(b"\n", first)
    if n_lines < LARGE:
        return None
    from axfi_kc.circuits.files.diagram_kernels import scan_dd_json

    rows, place = _empty(n_lines)
    found, at = scan_dd_json(np.frombuffer(text, np.uint8), first, n_levels, rows[1:], place)
    if found < 0 or text[at:].strip() != b"}":
        return None
    rows[0] = 1, -1, 0, 0  # true has this number here, and no line
    place[place > 0] += 1
    place[1] = 1
    return _ordered(rows[: found + 1], place, root)


def _slots(n: int) -> Ints:
    return np.zeros(1 << (2 * n + 1).bit_length(), np.int64)


def _empty(n_nodes: int) -> tuple[Ints, Ints]:
    """Return room for rows of nodes, one more than there are, and for the row of each number."""
    return np.zeros((n_nodes + 1, 4), np.int64), np.zeros(_SPARSE * n_nodes + LARGE, np.int64)


def _ordered(rows: Ints, place: Ints, root: int) -> FlatBdd | None:
    """Return the diagram of rows in any order; None if an end is no node, or an arc does not go down."""
    rows = rows[rows[:, 0] > 0]
    inner = np.flatnonzero(rows[:, 1] >= 0)
    order = inner[np.argsort(-rows[inner, 1], kind="stable")]
    number = np.zeros(len(rows) + 1, np.int64)  # of a row plus 1; 0 for none
    number[np.flatnonzero(rows[:, 1] < 0) + 1] = 1
    number[order + 1] = np.arange(2, len(order) + 2)
    levels = np.full(len(order) + 2, np.iinfo(np.int64).max)
    levels[2:] = rows[order, 1]
    given = np.concatenate([rows[order, 2], rows[order, 3], [root]])
    inside = np.abs(given) < len(place)
    ends = number[place[np.where(inside, np.abs(given), 0)]]
    if not ends.all() or not inside.all():
        return None
    signed = np.where(given < 0, -ends, ends)
    lows, highs = np.zeros((2, len(levels)), np.int64)
    lows[2:], highs[2:] = signed[: len(order)], signed[len(order) : -1]
    if not ((levels[np.abs(lows[2:])] > levels[2:]) & (levels[np.abs(highs[2:])] > levels[2:])).all():
        return None
    return FlatBdd(levels, lows, highs, int(signed[-1]))


@dataclass(frozen=True, slots=True)
class SddLines:
    """The nodes of a sentential decision diagram, line by line.

    Attributes
    ----------
    places
        Their nodes of the vtree, as the file numbers these; FALSE and TRUE of sdd_primes for constants.
    literals
        Their literals; 0 for others.
    offsets, ends
        The lines of primes and subs of line k, in turn, are ``ends[offsets[k]:offsets[k + 1]]``.
    """

    places: Ints
    literals: Ints
    offsets: Ints
    ends: Ints

    @property
    def have_opposite_primes(self) -> bool:
        """Whether the primes of every decision are a literal and its negation, as right-linear vtrees have it."""
        widths = np.diff(self.offsets)
        primes = self.literals[self.ends[::2]]
        if not np.isin(widths, (0, 4)).all():
            return False
        return bool((primes != 0).all() and (primes[::2] == -primes[1::2]).all())

    def nnf(self, n_variables: int) -> FlatNnf:
        """Return the diagram as conjunctions of prime and sub, and their disjunctions (cost: linear)."""
        from axfi_kc.circuits.files.diagram_kernels import sdd_nnf

        room, width = len(self.places) + len(self.ends) // 2, len(self.places) + 2 * len(self.ends)
        kinds, offsets = np.zeros(room, np.uint8), np.zeros(room + 1, np.int64)
        parts, made = np.zeros(width, np.int64), np.zeros(len(self.places), np.int64)
        given: Any = self.places, self.literals, self.offsets, self.ends
        n_nodes, n_parts = sdd_nnf(*given, made, kinds, offsets, parts)
        return FlatNnf(n_variables, kinds[:n_nodes], offsets[: n_nodes + 1], parts[:n_parts])


def scanned_sdd(text: bytes, first: int, n_nodes: int, n_variables: int) -> SddLines | None:
    """Return the nodes of an SDD from the byte `first` of its file on, or None."""
    if not LARGE <= n_nodes <= text.count(b"\n", first) + 1:
        return None
    from axfi_kc.circuits.files.diagram_kernels import scan_sdd

    line_of, (places, literals) = np.zeros(_SPARSE * n_nodes, np.int64), np.zeros((2, n_nodes), np.int64)
    offsets, ends = np.zeros(n_nodes + 1, np.int64), np.zeros(text.count(b" ", first), np.int64)
    read = np.frombuffer(text, np.uint8)
    if scan_sdd(read, first, n_variables, line_of, places, literals, offsets, ends) != n_nodes:
        return None
    return SddLines(places, literals, offsets, ends[: int(offsets[-1])])
