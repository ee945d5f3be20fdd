"""Reduced ordered binary decision diagrams, held by the library dd.

Cells are written in bits (:mod:`axfi_kc.targets.bit_codes`). The bits of one feature are neighbours
in the order of variables and bit vectors that are no cell's code are excluded, so the models of the
diagram are the points of the circuit, and following the bits of a feature leads back to its cells.
Counts are made on that way back, in Python integers: dd's own are floats, wrong beyond 2**53.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

from axfi_kc import queries
from axfi_kc.circuit import Circuit, CircuitBuilder, Size
from axfi_kc.errors import CircuitError, MissingExtraError
from axfi_kc.grid import Grid
from axfi_kc.targets.bit_codes import Bit, bits_of, cells_of, mask_of
from axfi_kc.targets.encoding import Encoder
from axfi_kc.targets.orders import checked_order

__all__ = ["Obdd", "obdd_of"]

_MODULES = {"cudd": "dd.cudd", "python": "dd.autoref"}
_MOST_BITS = 10_000  # CUDD recurses level by level; some way beyond 20,000 its stack overflows and the process ends
_CACHE_SLOTS = 2**15  # CUDD enlarges it by itself; dd's 2**18 make the smallest diagram take 20 ms instead of 2
_CUDD_NODE = 32  # bytes, on a machine of 64 bits
_FALSE, _TRUE = 0, 1


@dataclass(frozen=True, slots=True)
class _Fork:
    """A node of the diagram: the level of its bit, where it goes on 0 and where on 1."""

    level: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Obdd:
    """A reduced ordered binary decision diagram of a circuit.

    Attributes
    ----------
    grid
        The cells that the bits encode.
    code
        "order", "binary" or "direct".
    backend
        "cudd" or "python": which of dd's managers holds the diagram.
    bits
        The variables, from the top of the order down, with the cells each one stands for.

    Notes
    -----
    The diagram is read once, when it is made; reordering dd's manager afterwards changes `root`,
    but neither size nor counts.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> obdd = obdd_of(build.circuit(build.literal(0, [2])), code="direct")
    >>> [bit.name for bit in obdd.bits]
    ['x0_0', 'x0_1', 'x0_2', 'x1_0']
    >>> obdd.size, obdd.count(), obdd.probability()
    (Size(nodes=3, edges=3), 2, Fraction(1, 3))
    """

    grid: Grid
    code: str
    backend: str
    bits: tuple[Bit, ...]
    _forks: Mapping[int, _Fork] = field(repr=False)  # children before parents; 0 is false, 1 is true
    _top: int = field(repr=False)
    _held: list[Any] = field(repr=False)
    language: ClassVar[str] = "obdd"

    def __post_init__(self) -> None:
        # dd's managers complain when they go before their nodes, which the garbage collector can
        # bring about; the finalizer keeps the node out of its reach and lets it go first.
        weakref.finalize(self, self._held.clear)

    @property
    def root(self) -> Any:
        """The diagram as a ``Function`` of dd; ``root.bdd`` is its manager."""
        return self._held[0]

    @property
    def size(self) -> Size:
        """Nodes and edges, as in every circuit: constants and edges to false are not counted.

        A function and its complement are two nodes here, where dd stores one (``root.dag_size``).
        """
        ends = [end for fork in self._forks.values() for end in (fork.low, fork.high)]
        return Size(nodes=len(self._forks), edges=len(ends) - ends.count(_FALSE))

    @property
    def bytes(self) -> int:
        """What CUDD takes for the nodes: 32 bytes for each one, a function and its complement being one."""
        return _CUDD_NODE * int(self.root.dag_size)

    def count(self) -> int:
        """Return the number of points of the domain; see :func:`axfi_kc.queries.count`."""
        return queries.count(self.to_circuit())

    def probability(self) -> Fraction:
        """Return the probability under the domain's measure; see :func:`axfi_kc.queries.probability`."""
        return queries.probability(self.to_circuit())

    def to_circuit(self) -> Circuit:
        """Return the diagram as a circuit of ordered decisions on cells.

        Notes
        -----
        For each node where a feature begins, linear in the feature's cells. Computed once.
        """
        return self._circuit

    @cached_property
    def _circuit(self) -> Circuit:
        build = CircuitBuilder(self.grid)
        made = {_FALSE: build.false, _TRUE: build.true}
        entries = self._entries()
        for node, fork in self._forks.items():
            if node in entries:
                feature = self.bits[fork.level].feature
                made[node] = build.decision(feature, [(cells, made[end]) for cells, end in self._exits(node, feature)])
        return build.circuit(made[self._top])

    def _is_in(self, node: int, feature: int) -> bool:
        return node in self._forks and self.bits[self._forks[node].level].feature == feature

    def _entries(self) -> set[int]:
        """Return the nodes that are reached from outside their feature."""
        found = {self._top}
        for fork in self._forks.values():
            feature = self.bits[fork.level].feature
            found.update(end for end in (fork.low, fork.high) if not self._is_in(end, feature))
        return found

    def _exits(self, entry: int, feature: int) -> list[tuple[list[int], int]]:
        """Return the nodes below the bits of a feature, each with the cells that lead from `entry` to it."""
        found: dict[int, int] = {}
        stack = [(entry, mask_of(range(self.grid.n_cells[feature])))]
        while stack:
            node, group = stack.pop()
            if not self._is_in(node, feature):
                found[node] = found.get(node, 0) | group
            elif node in self._shortcuts:
                end, passed = self._shortcuts[node]
                stack.append((end, group & passed))
            else:
                fork = self._forks[node]
                ones = self._ones[fork.level]
                stack += [(fork.low, group & ~ones), (fork.high, group & ones)]
        return [(cells_of(group), node) for node, group in found.items()]

    @cached_property
    def _shortcuts(self) -> dict[int, tuple[int, int]]:
        """Return, for nodes with one way that is not false, where it first leads to no such node of the feature.

        The second entry is the set of cells that get there. Codes mostly end in bits that only
        exclude what is no code; following them for every cell would take quadratic time.
        """
        found: dict[int, tuple[int, int]] = {}
        for node, fork in self._forks.items():
            if _FALSE in (fork.low, fork.high):
                ones = self._ones[fork.level]
                end, passed = (fork.high, ones) if fork.low == _FALSE else (fork.low, ~ones)
                if end in found and self._is_in(end, self.bits[fork.level].feature):
                    end, below = found[end]
                    passed &= below
                found[node] = end, passed
        return found

    @cached_property
    def _ones(self) -> list[int]:
        return [mask_of(bit.cells) for bit in self.bits]


def obdd_of(
    circuit: Circuit, *, code: str = "order", order: Sequence[int] | None = None, backend: str | None = None
) -> Obdd:
    """Return the reduced ordered binary decision diagram of `circuit`.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions; neither decomposability nor determinism is needed.
    code
        How a feature of more than two cells is written: "order" (bit k says: cell > k), "binary"
        (as few bits as possible) or "direct" (bit k says: cell = k).
    order
        Every feature once, from the top down; the bits of a feature stay together. By default the
        circuit's own order, or the domain's where the circuit has none.
    backend
        "cudd" or "python"; by default CUDD where dd has it. The result says which.

    Raises
    ------
    CircuitError
        If the code, the order or the backend is none, or there are too many bits.
    MissingExtraError
        If CUDD is asked for and dd was installed without it.

    Notes
    -----
    In its own order a circuit of decisions costs one small ``ite`` per arc; otherwise the diagram,
    and what is met on the way, may be exponentially larger than the circuit. The order is fixed: dd
    does not sift.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.targets import CODES
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 4), Integer("b", 0, 1)])))
    >>> middle = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> {code: (len(d.bits), d.size.nodes, d.count()) for code in CODES for d in [obdd_of(middle, code=code)]}
    {'order': (5, 4, 2), 'binary': (4, 5, 2), 'direct': (6, 7, 2)}
    """
    features = checked_order(circuit, order)
    code_bits = {i: bits_of(circuit.grid, i, code=code) for i in features}
    bits = tuple(bit for i in features for bit in code_bits[i])
    if len(bits) > _MOST_BITS:
        raise CircuitError(
            f"A diagram may have {_MOST_BITS} bits, but the code {code!r} needs {len(bits)}; take the code 'binary', "
            "or fewer cells."
        )
    backend, manager = _manager(backend)
    manager.declare(*(bit.name for bit in bits))
    held = _held(Encoder(circuit, code=code, bits=code_bits, algebra=_DdAlgebra(manager)))
    if not held:
        raise CircuitError(
            f"dd's Python manager recurses once per bit and did not get through {len(bits)} bits; use backend='cudd'."
        )
    forks, top = _read(held[0])
    return Obdd(circuit.grid, code, backend, bits, forks, top, held)


def _manager(backend: str | None) -> tuple[str, Any]:
    """Return the name of the backend and an empty manager with a fixed order."""
    if backend is not None and backend not in _MODULES:
        raise CircuitError(f"A backend must be 'cudd', 'python' or None, but {backend!r} was given; name one of these.")
    try:
        name = backend or "cudd"
        module = import_module(_MODULES[name])
    except ImportError:
        if backend is not None:
            raise MissingExtraError(
                f"The backend {backend!r} needs {_MODULES[backend]}, which is not installed; dd's wheels hold CUDD on "
                "Linux for CPython 3.11 to 3.13 (pip install dd), elsewhere use backend='python'."
            ) from None
        name = "python"
        module = import_module(_MODULES[name])
    manager = module.BDD() if name == "python" else module.BDD(initial_cache_size=_CACHE_SLOTS)
    manager.configure(reordering=False)  # CUDD would tear the bits of a feature apart
    return name, manager


def _held(encoder: Encoder) -> list[Any]:
    """Return the diagram in a list; an empty one if Python's stack did not suffice.

    The error is not chained: its frames would keep nodes beyond their manager's end.
    """
    try:
        return [encoder.function()]
    except RecursionError:
        return []


class _DdAlgebra:
    """The operations of a manager of dd."""

    def __init__(self, manager: Any) -> None:
        self.true = manager.true
        self.false = manager.false
        self._manager = manager

    def conjoin(self, a: Any, b: Any) -> Any:
        return a & b

    def disjoin(self, a: Any, b: Any) -> Any:
        return a | b

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        return self._manager.ite(self._manager.var(bit.name), high, low)

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        made = self.false
        for test, child in parts:
            made = self._manager.ite(test, child, made)
        return made


def _read(root: Any) -> tuple[dict[int, _Fork], int]:
    """Return the nodes below `root`, children first, and the number of `root` itself.

    An edge of dd may be complemented, which complements what lies below; edges that differ in this
    are different nodes here.
    """
    number = {int(root.bdd.false): _FALSE, int(root.bdd.true): _TRUE}
    found: dict[int, tuple[int, int, int]] = {}
    stack = [root]
    while stack:
        edge = stack.pop()
        if int(edge) not in number and int(edge) not in found:
            low, high = (~edge.low, ~edge.high) if edge.negated else (edge.low, edge.high)
            found[int(edge)] = edge.level, int(low), int(high)
            stack += [low, high]
    forks: dict[int, _Fork] = {}
    for key in sorted(found, key=lambda k: -found[k][0]):
        level, lower, upper = found[key]
        number[key] = len(number)
        forks[number[key]] = _Fork(level, number[lower], number[upper])
    return forks, number[int(root)]
