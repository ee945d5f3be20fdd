"""The codes of a circuit's points as a circuit over bits, for writing to a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf
from axfi_kc.circuits.targets.bit_codes import CODES, bits_of
from axfi_kc.errors import CircuitError
from axfi_kc.families.masks import features_of

__all__ = ["nnf_of"]


_Scoped = tuple[int, int]  # a node, and the demanding features below it as an int
_Fork = Callable[[int, int, int], int]  # (position among the feature's bits, if 1, if 0) -> node


def nnf_of(circuit: Circuit, *, code: str = "direct") -> Nnf:
    """Return the circuit over bits whose models are the codes of the circuit's points.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions.
    code
        How a feature's cells are written; variables are numbered as by ``Variables.of_code``.

    Raises
    ------
    CircuitError
        If the code is unknown.

    Notes
    -----
    Every node is made true on codes only, over the bits of the features below it; so a disjunction,
    and a decision, adds to each part that what the part does not mention is a code. The result is
    decomposable and deterministic if the circuit is. Linear in the circuit and the cells of its
    labels, but for these additions: one conjunction for each set of features that some part lacks.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> nnf = nnf_of(build.circuit(build.literal(1, [1])))
    >>> nnf.n_variables, nnf.parts
    (2, [(2,)])
    """
    if code not in CODES:
        raise CircuitError(f"A code must be one of {', '.join(map(repr, CODES))}, but {code!r} was given; name one.")
    return _Writer(circuit, code).nnf()


class _Writer:
    """Makes nodes over bits, equal ones once."""

    def __init__(self, circuit: Circuit, code: str) -> None:
        self._circuit = circuit
        self._code = code
        self._first = [0]  # the number of variables before those of feature i
        for i in range(len(circuit.grid.axes)):
            self._first.append(self._first[-1] + len(bits_of(circuit.grid, i, code=code)))
        self._nnf = Nnf(self._first[-1])
        self._node_of: dict[tuple[int, tuple[int, ...]], int] = {}
        self.true = self._node(CONJUNCTION, ())
        self.false = self._node(DISJUNCTION, ())
        self._members_of: dict[tuple[int, tuple[int, ...]], int] = {}
        self._codes_of: dict[int, int] = {}
        # features some of whose bit vectors are no code: only these must be mentioned everywhere
        sizes = enumerate(circuit.grid.n_cells)
        self._demanding = [i for i, n in sizes if 1 << (self._first[i + 1] - self._first[i]) != n]
        self._bit_of = {i: 1 << k for k, i in enumerate(self._demanding)}

    def nnf(self) -> Nnf:
        """Return the nodes that the root reaches."""
        root = self._root()
        nnf, number = Nnf(self._nnf.n_variables), dict[int, int]()
        del self._nnf.kinds[root + 1 :], self._nnf.parts[root + 1 :]
        for node in self._nnf.reached():
            kind, parts = self._nnf.kinds[node], self._nnf.parts[node]
            if node in self._nnf.choices:
                nnf.choices[len(nnf.kinds)] = self._nnf.choices[node]
            number[node] = nnf.add(kind, parts if kind == LITERAL else [number[part] for part in parts])
        return nnf

    def _root(self) -> int:
        root, scope = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda parts: (self._conjunction([node for node, _ in parts]), self._below(parts)),
            disjunction=lambda parts: (self._disjunction(self._evened(parts)), self._below(parts)),
            false=(self.false, 0),
            true=(self.true, 0),
            forget=True,  # scopes are long ints
        )[-1]
        return self._lifted(root, (1 << len(self._demanding)) - 1 & ~scope)

    def _below(self, parts: Sequence[_Scoped]) -> int:
        """Return the demanding features that some part mentions."""
        scope = 0
        for _, own in parts:
            scope |= own
        return scope

    def _evened(self, parts: Sequence[_Scoped]) -> list[int]:
        """Return parts that all mention what one of them does."""
        scope = self._below(parts)
        return [self._lifted(node, scope & ~own) for node, own in parts]

    def _node(self, kind: int, parts: tuple[int, ...]) -> int:
        key = kind, parts
        node = self._node_of.get(key)
        if node is None:
            node = self._node_of[key] = self._nnf.add(kind, parts)
        return node

    def _conjunction(self, parts: Sequence[int]) -> int:
        if self.false in parts:
            return self.false
        kept = tuple(dict.fromkeys(part for part in parts if part != self.true))
        return kept[0] if len(kept) == 1 else self._node(CONJUNCTION, kept)

    def _disjunction(self, parts: Sequence[int]) -> int:
        if self.true in parts:
            return self.true
        kept = tuple(dict.fromkeys(part for part in parts if part != self.false))
        return kept[0] if len(kept) == 1 else self._node(DISJUNCTION, kept)

    def _fork(self, variable: int, high: int, low: int) -> int:
        if high == low:
            return high
        made = self._disjunction(
            [
                self._conjunction([self._node(LITERAL, (variable,)), high]),
                self._conjunction([self._node(LITERAL, (-variable,)), low]),
            ]
        )
        if high != self.false and low != self.false:
            self._nnf.choices[made] = variable
        return made

    def _decision(self, feature: int, labels: list[int], parts: list[_Scoped]) -> _Scoped:
        sets = self._circuit.cell_sets
        ways = [
            self._conjunction([self._members(feature, sets[k]), end])
            for k, end in zip(labels, self._evened(parts), strict=True)
        ]
        return self._disjunction(ways), self._below(parts) | self._bit_of.get(feature, 0)

    def _lifted(self, node: int, missing: int) -> int:
        """Return "`node`, and the bits of the demanding features `missing` are codes"."""
        if not missing or node == self.false:
            return node
        if missing not in self._codes_of:
            n_cells = self._circuit.grid.n_cells
            lacking = [self._demanding[k] for k in features_of(missing)]
            parts = [self._members(i, tuple(range(n_cells[i]))) for i in lacking]
            self._codes_of[missing] = self._conjunction(parts)
        return self._conjunction([node, self._codes_of[missing]])

    def _members(self, feature: int, cells: tuple[int, ...]) -> int:
        """Return the node of "the bits of `feature` are the code of one of `cells`"."""
        key = feature, cells
        if key not in self._members_of:
            n_cells, before = self._circuit.grid.n_cells[feature], self._first[feature] + 1
            n_bits = self._first[feature + 1] - self._first[feature]

            def fork(k: int, high: int, low: int) -> int:
                return self._fork(before + k, high, low)

            make = _binary if self._code == "binary" else _direct if n_bits == n_cells else _order
            self._members_of[key] = make(n_cells, set(cells), fork, self.true, self.false)
        return self._members_of[key]


def _direct(n_cells: int, cells: Collection[int], fork: _Fork, true: int, false: int) -> int:
    node, zeros = false, true
    for k in reversed(range(n_cells)):
        node = fork(k, zeros if k in cells else false, node)
        zeros = fork(k, false, zeros)
    return node


def _order(n_cells: int, cells: Collection[int], fork: _Fork, true: int, false: int) -> int:
    node, zeros = (true if n_cells - 1 in cells else false), true
    for k in reversed(range(n_cells - 1)):
        node = fork(k, node, zeros if k in cells else false)
        zeros = fork(k, false, zeros)
    return node


def _binary(n_cells: int, cells: Collection[int], fork: _Fork, true: int, false: int) -> int:
    width = (n_cells - 1).bit_length()
    layer = [true if c in cells else false for c in range(n_cells)]
    for k in reversed(range(width)):
        layer += [false] * (len(layer) % 2)
        layer = [fork(k, layer[c + 1], layer[c]) for c in range(0, len(layer), 2)]
    return layer[0]
