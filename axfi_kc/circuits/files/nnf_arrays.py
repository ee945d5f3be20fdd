"""Large negation normal forms in flat arrays: what nnf_nodes does with objects, done in kernels.

Files of a few thousand nodes are read without them: kernels take a second to load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import STORE_FULL, Account
from axfi_kc.circuits.circuit import DECISION, TRUE, Circuit
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.circuits.targets.bit_codes import cells_of, mask_of
from axfi_kc.circuits.targets.mdd_table import enlarged, extended, larger_table

__all__ = ["LARGE", "FlatNnf", "built_circuit", "c2d_text", "fits", "scanned", "written_nnf"]


LARGE = 4_096  # nodes from which kernels do it
_MOST_CELLS = 62  # of a feature whose sets of cells are int64 masks
_LITERAL = 0
_AT_ONCE = 1 << 14  # nodes between two looks at the budget


@dataclass(frozen=True, slots=True)
class FlatNnf:
    """A negation normal form in arrays: the parts of node k are ``parts[offsets[k]:offsets[k + 1]]``.

    Attributes
    ----------
    n_variables
        Variables are numbered from 1 to this.
    kinds, offsets, parts
        As in :class:`~axfi_kc.circuits.files.nnf_nodes.Nnf`, laid end to end.
    """

    n_variables: int
    kinds: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, n_variables: int, kinds: Any, parts: Any) -> FlatNnf:
        """Return the arrays of lists of kinds and parts."""
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        flat = np.fromiter(chain.from_iterable(parts), dtype=np.int64, count=int(offsets[-1]))
        return cls(n_variables, np.array(kinds, dtype=np.uint8), offsets, flat)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.kinds)


def fits(variables: Variables) -> bool:
    """Tell whether the sets of cells of every feature fit the kernels' masks."""
    return max(variables.grid.n_cells) <= _MOST_CELLS


def scanned(text: bytes, first: int, header: tuple[int, int, int]) -> FlatNnf | None:
    """Return the nodes of a file in c2d's dialect from the byte `first` on; None if a line is not quite regular."""
    from axfi_kc.circuits.files import nnf_kernels

    n_nodes, _, n_variables = header
    n_lines = text.count(b"\n", first) + 1
    if not max(LARGE, 1) <= n_nodes <= n_lines:
        return None
    kinds, offsets = np.zeros(n_nodes, np.uint8), np.zeros(n_nodes + 1, np.int64)
    parts = np.zeros(text.count(b" ", first), np.int64)
    read = np.frombuffer(text, np.uint8)
    found, n_parts = nnf_kernels.scan_c2d(read, first, n_variables, kinds, offsets, parts)
    return FlatNnf(n_variables, kinds, offsets, parts[:n_parts]) if found == n_nodes else None


def built_circuit(nnf: FlatNnf, variables: Variables, account: Account) -> Circuit | None:
    """Return the circuit that `nnf` is on the codes of points; None if the kernels refuse it.

    Raises
    ------
    BudgetError
        If the budget was spent.
    """
    return _Build(nnf, variables, account).circuit()


class _Build:
    """The arrays of one circuit in the making."""

    def __init__(self, nnf: FlatNnf, variables: Variables, account: Account) -> None:
        from axfi_kc.circuits.files import nnf_kernels

        self._kernels: Any = nnf_kernels
        self._nnf, self._variables, self._account = nnf, variables, account
        n, widest = len(nnf), int(np.diff(nnf.offsets).max(initial=0))
        account.require(128 * n)
        self._registers = np.zeros(nnf_kernels.REGISTERS, np.int64)
        self._registers[nnf_kernels.N_NODES] = 2
        size = n + 4096
        # made once and never longer: a row for each, tables with twice as many slots
        self._rows: dict[str, npt.NDArray[np.int64]] = {
            "nodes": np.zeros((size, 5), np.int64),
            "arcs": np.zeros((4 * size, 2), np.int64),
            "table": np.zeros(1 << (2 * size).bit_length(), np.int64),
            "waiting": np.zeros((size, 5), np.int64),
            "sets": np.zeros((size, 2), np.int64),
            "others": np.zeros(size, np.int64),
            "set_table": np.zeros(1 << (2 * size).bit_length(), np.int64),
            "remainders": np.zeros((4096, 3), np.int64),
            "remainder_table": np.zeros(1 << 14, np.int64),
        }
        self._rows["nodes"][1, 0] = TRUE
        self._found = np.zeros(n, np.int64)
        self._seen = [np.zeros(size, np.int64), np.zeros(size, np.int64)]
        room = 10 * widest + 4096
        self._scratch = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2 * room, np.int64)
        self._places = np.zeros(len(variables.grid.axes), np.int64)
        self._whole = np.array([(1 << k) - 1 for k in variables.grid.n_cells], dtype=np.int64)

    def circuit(self) -> Circuit | None:
        nnf, kernels, registers = self._nnf, self._kernels, self._registers
        marks = np.zeros(len(nnf), np.uint8)
        kernels.mark_parts(nnf.kinds, nnf.offsets, nnf.parts, marks)
        given = nnf.kinds, nnf.offsets, nnf.parts, marks, *self._literals()
        while registers[kernels.POSITION] < len(nnf):
            last = min(int(registers[kernels.POSITION]) + _AT_ONCE, len(nnf))
            self._account.spend(last - int(registers[kernels.POSITION]))
            while (status := self._run(given, last)) == STORE_FULL:
                self._make_room()
            if status == kernels.REFUSED:
                return None
        return self._result(int(registers[kernels.ROOT]))

    def _run(self, given: Any, last: int) -> int:
        rows, fixed = self._rows.values(), (self._places, self._whole, self._registers)
        return int(self._kernels.build(*given, *rows, self._found, *self._seen, *self._scratch, *fixed, last))

    def _literals(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return feature and cells of each literal, the negative one after the positive; auxiliary ones are true."""
        features, masks = [], []
        for bit in self._variables.bits:
            feature = 0 if bit is None else bit.feature
            whole = int(self._whole[feature])
            ones = whole if bit is None else mask_of(bit.cells)
            features += [feature, feature]
            masks += [ones, whole if bit is None else whole & ~ones]
        return np.array(features, dtype=np.int64), np.array(masks, dtype=np.int64)

    def _make_room(self) -> None:
        """Let what the next node may need fit."""
        kernels, rows = self._kernels, self._rows
        need, used = int(self._registers[kernels.NEED]), self._registers.tolist()
        wanted = {
            "nodes": used[kernels.N_NODES] + need,
            "arcs": used[kernels.N_ARCS] + 64 * need,
            "waiting": used[kernels.N_WAITING] + need,
            "sets": used[kernels.N_SETS] + need,
            "others": used[kernels.N_OTHERS] + need,
            "remainders": used[kernels.N_REMAINDERS] + need,
        }
        for name, n in wanted.items():
            if n > len(rows[name]):
                size = enlarged(len(rows[name]), n)
                self._account.require(size * rows[name].strides[0])
                rows[name] = extended(rows[name], size)
        for name, of in (("table", "nodes"), ("set_table", "waiting"), ("remainder_table", "remainders")):
            if 2 * wanted[of] > len(rows[name]):
                rows[name] = larger_table(rows[name], 2 * wanted[of], self._account)
        for k, of in enumerate(("nodes", "waiting")):
            if len(self._seen[k]) < len(rows[of]):
                self._seen[k] = extended(self._seen[k], len(rows[of]))

    def _result(self, root: int) -> Circuit:
        """Return what the root reaches; sets of cells get labels in the order in which they first occur."""
        nodes, arcs = self._rows["nodes"], self._rows["arcs"]
        marks = np.zeros(root + 1, np.bool_)
        self._kernels.mark_reached(nodes, arcs, root, marks)
        kept = nodes[: root + 1][marks]
        counts = kept[:, 3]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        # Nodes lie in the order of their arcs, but between the arcs of two kept nodes may be those of others.
        at = np.arange(int(offsets[-1])) + np.repeat(kept[:, 2] - offsets[:-1], counts)
        number = np.cumsum(marks, dtype=np.int32) - np.int32(1)
        masks, is_set = arcs[at, 0], arcs[at, 0] != 0
        distinct, first, inverse = np.unique(masks[is_set], return_index=True, return_inverse=True)
        by_first = np.argsort(first, kind="stable")
        labels = np.full(len(at), -1, np.int32)
        labels[is_set] = np.argsort(by_first, kind="stable")[inverse.reshape(-1)]
        kinds = kept[:, 0].astype(np.uint8)
        features = np.where(kinds == DECISION, kept[:, 1], -1).astype(np.int32)
        cell_sets = tuple(tuple(cells_of(mask)) for mask in distinct[by_first].tolist())
        children = number[arcs[at, 1]]
        return Circuit(self._variables.grid, kinds, features, offsets, children, labels, cell_sets)


def written_nnf(circuit: Circuit, first_bit: Sequence[int], *, code: str) -> FlatNnf | None:
    """Return the circuit over bits whose models are the codes of the circuit's points; None if a feature has more bits.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions.
    first_bit
        The number of variables before those of each feature, and behind it that of all.
    code
        How cells are written, which is the same for two cells in every code but for the order of nodes.
    """
    if max(circuit.grid.n_cells) > 2 or len(circuit.kinds) < LARGE:
        return None
    from axfi_kc.circuits.files import nnf_kernels

    n_arcs = len(circuit.children)
    room = 2 * len(circuit.kinds) + n_arcs + 2 * first_bit[-1] + 8
    kinds, offsets = np.zeros(room, np.uint8), np.zeros(room + 1, np.int64)
    parts = np.zeros(3 * n_arcs + 2 * len(circuit.kinds) + 2 * first_bit[-1] + 8, np.int64)
    found, seen = np.zeros(len(circuit.kinds), np.int64), np.zeros(room, np.int64)
    used, table = np.array([2, 0], np.int64), np.zeros(1 << (2 * room).bit_length(), np.int64)
    kinds[:2] = nnf_kernels.CONJUNCTION, nnf_kernels.DISJUNCTION  # of nothing: true and false
    masks = np.array([*map(mask_of, circuit.cell_sets), 0], dtype=np.int64)[circuit.labels]
    given = circuit.kinds, circuit.features, circuit.offsets, circuit.children, masks, np.array(first_bit, np.int64)
    nnf_kernels.write_nodes(*given, code == "binary", kinds, offsets, parts, table, found, seen, used)
    root = int(found[-1])
    return _reached(FlatNnf(first_bit[-1], kinds[: root + 1], offsets[: root + 2], parts))


def _reached(nnf: FlatNnf) -> FlatNnf:
    """Return the nodes below the last one, numbered anew."""
    from axfi_kc.circuits.files.nnf_kernels import mark_parts

    marks = np.zeros(len(nnf), np.uint8)
    mark_parts(nnf.kinds, nnf.offsets, nnf.parts, marks)
    is_kept, widths = marks.astype(np.bool_), np.diff(nnf.offsets)
    parts = nnf.parts[: int(nnf.offsets[-1])][np.repeat(is_kept, widths)]
    kinds, widths = nnf.kinds[is_kept], widths[is_kept]
    number = np.cumsum(is_kept) - 1
    is_part = np.repeat(kinds != _LITERAL, widths)
    parts[is_part] = number[parts[is_part]]
    return FlatNnf(nnf.n_variables, kinds, np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)]), parts)


def c2d_text(nnf: FlatNnf, choices: Mapping[int, int]) -> bytes:
    """Return the lines of a file in c2d's dialect, with the variables on which parts of some disjunctions disagree."""
    from axfi_kc.circuits.files.nnf_kernels import format_c2d

    n_edges = len(nnf.parts) - int((nnf.kinds == _LITERAL).sum())
    header = f"nnf {len(nnf)} {n_edges} {nnf.n_variables}\n".encode()
    chosen = np.zeros(len(nnf), np.int64)
    chosen[list(choices)] = list(choices.values())
    digits = len(str(max(len(nnf), nnf.n_variables))) + 2  # a sign, and the space before
    text = np.empty(digits * (len(nnf.parts) + 2 * len(nnf)) + 3 * len(nnf), np.uint8)
    return header + text[: format_c2d(nnf.kinds, nnf.offsets, nnf.parts, chosen, text)].tobytes()
