"""Reduced ordered binary decision diagrams, held by the library dd.

Cells are written in bits (:mod:`axfi_kc.circuits.targets.bit_codes`). The bits of one feature are neighbours
in the order of variables and bit vectors that are no cell's code are excluded, so the models of the
diagram are the points of the circuit, and following the bits of a feature leads back to its cells.
Counts are made on that way back, in Python integers: dd's own are floats, wrong beyond 2**53.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from itertools import groupby
from typing import Any, ClassVar

from axfi_kc.arguments import checked, quoted, wholes
from axfi_kc.budget import Account, Budget, preparation
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, Size, circuit_in
from axfi_kc.circuits.queries.counting import Counted
from axfi_kc.circuits.queries.structure import checked_order
from axfi_kc.circuits.targets.bit_codes import Bit, Encoder, bits_of, cells_of, mask_of
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import AxfiError, BudgetError, CircuitError, MissingExtraError

__all__ = ["DdAlgebra", "Fork", "Obdd", "obdd_of", "obdd_of_clauses", "read_diagram", "read_rows"]


_MOST_BITS = 10_000  # CUDD recurses level by level; some way beyond 20,000 its stack overflows and the process ends
_CUDD_NODE = 32  # bytes, on a machine of 64 bits
_MODULES = {"cudd": "dd.cudd", "python": "dd.autoref"}
_CACHE_SLOTS = 2**15  # CUDD enlarges it by itself; dd's 2**18 make the smallest diagram take 20 ms instead of 2
_FALSE, _TRUE = 0, 1


@dataclass(frozen=True, eq=False)
class Obdd(Counted):
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
    The diagram is read once: when it is made of a circuit, or when the result of an operation is first asked for more
    than another operation. Reordering dd's manager afterwards changes `root`, but neither size nor counts.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
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
    _held: list[Any] = field(repr=False)  # dd's functions of the diagram, and of "is a code"
    language: ClassVar[str] = "obdd"

    def __post_init__(self) -> None:
        # dd's managers complain when they go before their nodes, which the garbage collector can
        # bring about; the finalizer keeps the node out of its reach and lets it go first.
        weakref.finalize(self, self._held.clear)

    def __reduce__(self) -> tuple[Callable[..., Obdd], tuple[Circuit]]:
        """Return how copies and other processes make the diagram again, since managers of dd cannot be copied.

        Code and order give the same diagram, node by node, in a manager of its own.
        """
        again = partial(obdd_of, code=self.code, order=self.order, backend=self.backend)
        return again, (self.to_circuit(),)

    @property
    def root(self) -> Any:
        """The diagram as a ``Function`` of dd; ``root.bdd`` is its manager."""
        return self._held[0]

    @cached_property
    def _diagram(self) -> tuple[dict[int, Fork], int]:
        self._check_order()
        return read_diagram(self.root)

    @property
    def forks(self) -> Mapping[int, Fork]:
        """The nodes by number, children before parents; 0 is false and 1 is true."""
        return self._diagram[0]

    @property
    def top(self) -> int:
        """The number of the root."""
        return self._diagram[1]

    @property
    def size(self) -> Size:
        """Nodes and edges, as in every circuit: constants and edges to false are not counted.

        A function and its complement are two nodes here, where dd stores one (``root.dag_size``).
        """
        ends = [end for fork in self.forks.values() for end in (fork.low, fork.high)]
        return Size(nodes=len(self.forks), edges=len(ends) - ends.count(_FALSE))

    @property
    def bytes(self) -> int:
        """What CUDD takes for the nodes: 32 bytes for each one, a function and its complement being one."""
        return _CUDD_NODE * int(self.root.dag_size)

    @checked("other")
    def conjoin(self, other: Obdd) -> Obdd:
        """Return the diagram of the points in both (cost: at worst the product of the sizes)."""
        self._check(other)
        return self._made(lambda: self.root & other.root)

    @checked("other")
    def disjoin(self, other: Obdd) -> Obdd:
        """Return the diagram of the points in one of the two (cost: at worst the product of the sizes)."""
        self._check(other)
        return self._made(lambda: self.root | other.root)

    def negate(self) -> Obdd:
        """Return the diagram of all other points (cost: joining the constraint on codes)."""
        return self._made(lambda: self._held[1] & ~self.root)

    @checked("operator", "other")
    def operate(self, operator: str, other: Obdd) -> Obdd:
        """Return an operation of :data:`axfi_kc.circuits.operations.OPERATORS` (cost: as :meth:`conjoin`)."""
        self._check(other)
        made: dict[str, Callable[[Any, Any], Any]] = {
            "and": lambda u, v: u & v,
            "or": lambda u, v: u | v,
            "diff": lambda u, v: u & ~v,
            "xor": lambda u, v: self.root.bdd.apply("xor", u, v),
            "implies": lambda u, v: self._held[1] & (~u | v),
            "equiv": lambda u, v: self._held[1] & ~self.root.bdd.apply("xor", u, v),
        }
        if operator not in made:
            raise CircuitError(f"An operation is one of {', '.join(made)}, but {quoted(operator)} was given; name one.")
        return self._made(lambda: made[operator](self.root, other.root))

    @checked("cells")
    def restrict(self, cells: Mapping[int, int]) -> Obdd:
        """Return the diagram that no longer depends on features: they take these cells (cost: linear)."""
        values = {bit.name: cells[bit.feature] in bit.cells for bit in self.bits if bit.feature in cells}
        return self._made(lambda: self._held[1] & self.root.bdd.let(values, self.root))

    @checked("features", "universal")
    def quantify(self, features: Sequence[int], *, universal: bool = False) -> Obdd:
        """Return "for some cells of these features", or "for all" (cost: exponential at worst)."""
        gone = set(wholes(features, "features", below=len(self.grid.axes)))
        manager, names = self.root.bdd, [bit.name for bit in self.bits if bit.feature in gone]
        if universal:
            return self._made(lambda: self._held[1] & ~manager.exist(names, self._held[1] & ~self.root))
        return self._made(lambda: self._held[1] & manager.exist(names, self.root))

    @checked("functions")
    def compose(self, functions: Mapping[int, Obdd]) -> Obdd:
        """Return the diagram with features of two cells replaced by diagrams (cost: exponential at worst)."""
        for other in functions.values():
            self._check(other)
        parts = {bit.name: functions[bit.feature].root for bit in self.bits if bit.feature in functions}
        return self._made(lambda: self._held[1] & self.root.bdd.let(parts, self.root))

    @checked("care")
    def simplify(self, care: Obdd) -> Obdd:
        """Return what CUDD makes of the diagram where only `care` matters (cost: at worst the product of the sizes)."""
        self._check(care)
        from dd.cudd import restrict

        if care.root == self.root.bdd.false:
            return care
        return self._made(lambda: self._held[1] & restrict(self.root, care.root))

    @checked("other")
    def shares_manager(self, other: Obdd) -> bool:
        """Tell whether two diagrams can be joined as they are."""
        return other.root.bdd is self.root.bdd and other.code == self.code

    @property
    def order(self) -> list[int]:
        """The features from the top down; those without a bit last."""
        tested = dict.fromkeys(bit.feature for bit in self.bits)
        return [*tested, *(i for i in range(len(self.grid.axes)) if i not in tested)]

    def _check(self, other: Obdd) -> None:
        if other.root.bdd is not self.root.bdd:
            raise CircuitError(
                "Two OBDDs are joined in one manager, but two managers were given; make the second one with "
                "obdd_of(..., beside=first)."
            )

    def _made(self, operation: Callable[[], Any]) -> Obdd:
        """Return the result of an operation in the same manager."""
        self._check_order()
        held = _attempt(lambda: [operation(), self._held[1]], len(self.bits))
        if isinstance(held, AxfiError):
            raise held
        return Obdd(self.grid, self.code, self.backend, self.bits, held)

    def _check_order(self) -> None:
        manager = self.root.bdd
        if any(manager.level_of_var(bit.name) != level for level, bit in enumerate(self.bits)):
            raise CircuitError(
                "Operations need the order in which the diagram was made, but dd's manager was reordered since; make "
                "the diagram again."
            )

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
        account = Account(preparation(), goal="circuit", advice="allow more")
        for node, fork in account.paced(self.forks.items()):
            if node in entries:
                feature = self.bits[fork.level].feature
                made[node] = build.decision(feature, [(cells, made[end]) for cells, end in self._exits(node, feature)])
        return build.circuit(made[self.top])

    def _is_in(self, node: int, feature: int) -> bool:
        return node in self.forks and self.bits[self.forks[node].level].feature == feature

    def _entries(self) -> set[int]:
        """Return the nodes that are reached from outside their feature."""
        found = {self.top}
        for fork in self.forks.values():
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
                fork = self.forks[node]
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
        for node, fork in self.forks.items():
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
    circuit: Form,
    *,
    code: str = "order",
    order: Sequence[int] | None = None,
    backend: str | None = None,
    sift: bool = False,
    beside: Obdd | None = None,
    budget: Budget | None = None,
    max_memory: int | None = None,
) -> Obdd:
    """Return the reduced ordered binary decision diagram of `circuit`.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions; neither decomposability nor determinism is needed.
    code
        How a feature of more than two cells is written; see :func:`~axfi_kc.circuits.targets.bits_of`.
    order
        Every feature once, from the top down; the bits of a feature stay together. By default the
        circuit's own order, or the domain's where the circuit has none.
    backend
        "cudd" or "python"; by default CUDD where dd has it. The result says which.
    sift
        Whether to let dd sift, and make the diagram again in the order of features that it finds;
        the smaller one is kept.
    beside
        An OBDD whose manager, code and order are used, so that the two can be joined.
    budget
        What it may cost; a node is an operation of dd, which cannot be interrupted.
    max_memory
        The bytes that CUDD may take.

    Raises
    ------
    CircuitError
        If the code, the order or the backend is none, or there are too many bits.
    MissingExtraError
        If CUDD is asked for and dd was installed without it.
    BudgetError
        If the budget, or the memory, was spent.

    Notes
    -----
    In its own order a circuit of decisions costs one small ``ite`` per arc; otherwise the diagram,
    and what is met on the way, may be exponentially larger than the circuit.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.circuits.targets import CODES
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 4), Integer("b", 0, 1)])))
    >>> middle = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> {code: (len(d.bits), d.size.nodes, d.count()) for code in CODES for d in [obdd_of(middle, code=code)]}
    {'order': (5, 4, 2), 'binary': (4, 5, 2), 'direct': (6, 7, 2)}
    """
    circuit, account = circuit_in(circuit), Account(budget, goal="OBDD")
    if beside is not None:
        return _beside(circuit, beside, account)
    plan = _Plan(circuit, code, backend, max_memory, account)
    features = checked_order(circuit, order)
    found = plan.obdd(features)
    if not sift:
        return found
    other = plan.obdd(_sifted(found))
    # sifting has changed the manager of the first one, so it is made again where it was better
    return other if other.size.nodes < found.size.nodes else plan.obdd(features)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is fixed while orders are tried."""

    circuit: Circuit
    code: str
    backend: str | None
    max_memory: int | None
    account: Account

    def obdd(self, features: Sequence[int]) -> Obdd:
        """Return the diagram in a new manager."""
        grid, code = self.circuit.grid, self.code
        code_bits = {i: bits_of(grid, i, code=code) for i in features}
        bits = tuple(bit for own in code_bits.values() for bit in own)
        if len(bits) > _MOST_BITS:
            raise CircuitError(
                f"A diagram may have {_MOST_BITS} bits, but the code {code!r} needs {len(bits)}; take the code "
                "'binary', or fewer cells."
            )
        backend, manager = _manager_of(self.backend, max_memory=self.max_memory)
        manager.declare(*(bit.name for bit in bits))
        held = _attempt(lambda: _encoded(self.circuit, code, code_bits, manager, self.account), len(bits))
        if isinstance(held, AxfiError):
            raise held
        found = Obdd(grid, code, backend, bits, held)
        found._diagram  # noqa: B018  # read now, before anybody reorders the manager
        return found


def _sifted(obdd: Obdd) -> list[int]:
    """Sift dd's manager; return the features in the order of their bits' mean levels, those without a bit last.

    CUDD moves the bits of a feature as one group, and may turn the group around; dd's Python manager
    moves each bit for itself.
    """
    manager = obdd.root.bdd
    groups = {feature: list(own) for feature, own in groupby(obdd.bits, key=lambda bit: bit.feature)}
    if len(groups) > 1:
        for own in groups.values() if obdd.backend == "cudd" else ():
            if len(own) > 1:
                manager.group({own[0].name: len(own)})
        import_module(_MODULES[obdd.backend]).reorder(manager)
    levels = {i: sum(manager.level_of_var(bit.name) for bit in own) / len(own) for i, own in groups.items()}
    return [*sorted(levels, key=levels.__getitem__), *(i for i in range(len(obdd.grid.axes)) if i not in levels)]


def _beside(circuit: Circuit, near: Obdd, account: Account) -> Obdd:
    if not circuit.grid.is_like(near.grid):
        raise CircuitError(
            "An OBDD is made beside one over the same cells, but the circuit has others; leave beside out."
        )
    features = dict.fromkeys(bit.feature for bit in near.bits)
    code_bits = {i: bits_of(near.grid, i, code=near.code) for i in features}
    code_bits |= {i: () for i in range(len(near.grid.axes)) if i not in features}
    return near._made(lambda: _encoded(circuit, near.code, code_bits, near.root.bdd, account)[0])


def _encoded(
    circuit: Circuit, code: str, bits: Mapping[int, Sequence[Bit]], manager: Any, account: Account
) -> list[Any]:
    """Return dd's functions of a circuit, and of "is a code"."""
    encoder = Encoder(circuit, code=code, bits=bits, algebra=DdAlgebra(manager, account))
    return [encoder.function(), encoder.valid()]


def _attempt(build: Callable[[], list[Any]], n_bits: int) -> list[Any] | AxfiError:
    """Return what `build` makes, or what to raise.

    No error leaves this function with frames: they would keep nodes beyond their manager's end.
    """
    try:
        return build()
    except RecursionError:
        return CircuitError(
            f"dd's Python manager recurses once per bit and did not get through {n_bits} bits; use backend='cudd'."
        )
    except BudgetError as spent:
        return BudgetError(str(spent), nodes=spent.nodes, seconds=spent.seconds)
    except ValueError as refused:
        if "NULL" not in str(refused):  # how dd says that CUDD has reached its limit of memory
            raise
        return BudgetError("CUDD reached its limit of memory, and the OBDD is not finished; allow more max_memory.")


@dataclass(frozen=True, slots=True)
class Fork:
    """A node of the diagram: the level of its bit, where it goes on 0 and where on 1."""

    level: int
    low: int
    high: int


def _manager_of(backend: str | None, *, max_memory: int | None = None) -> tuple[str, Any]:
    """Return the name of the backend and an empty manager with a fixed order."""
    if backend is not None and backend not in _MODULES:
        raise CircuitError(
            f"A backend must be 'cudd', 'python' or None, but {quoted(backend)} was given; name one of these."
        )
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
    if max_memory is not None:
        if name == "python":
            raise CircuitError("A limit of memory is CUDD's, but dd's Python manager was given one; use a budget.")
        manager.configure(max_memory=max_memory)
    return name, manager


class DdAlgebra:
    """The operations of a manager of dd, each one against an account."""

    def __init__(self, manager: Any, account: Account) -> None:
        self.true = manager.true
        self.false = manager.false
        self._manager = manager
        self._account = account

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""
        self._account.spend(1)
        return a & b

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""
        self._account.spend(1)
        return a | b

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""
        self._account.spend(1)
        return self._manager.ite(self._manager.var(bit.name), high, low)

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return what comes with the test that holds."""
        made = self.false
        for test, child in parts:
            self._account.spend(1)
            made = self._manager.ite(test, child, made)
        return made


def read_diagram(root: Any) -> tuple[dict[int, Fork], int]:
    """Return the nodes below `root`, children first, and the number of `root` itself.

    An edge of dd may be complemented, which complements what lies below; edges that differ in this
    are different nodes here.
    """
    rows, top = read_rows(root)
    return {number: Fork(*row) for number, row in enumerate(rows, 2)}, top


def read_rows(root: Any) -> tuple[list[tuple[int, int, int]], int]:
    """Return the same as rows of level, low and high, the first one being node 2."""
    true, false = int(root.bdd.true), int(root.bdd.false)
    found = _signed_edges(root, true, false)
    order = sorted(found, key=lambda k: -found[k][0])
    number = {false: _FALSE, true: _TRUE, **{key: k for k, key in enumerate(order, 2)}}
    rows = [(level, number[low], number[high]) for level, low, high in map(found.__getitem__, order)]
    return rows, number[int(root)]


def _signed_edges(root: Any, true: int, false: int) -> dict[int, tuple[int, int, int]]:
    """Return level, low and high of each edge below `root`, a complemented edge being another one, by their numbers."""
    # The Python manager's complement is the negative number, CUDD's has another last bit.
    sign, last = (-1, 0) if false == -true else (1, 1)
    regular: dict[int, tuple[int, int, int]] = {}
    account = Account(preparation(), goal="circuit", advice="allow more")
    waiting = [root]
    while waiting:
        account.spend(1)
        edge = waiting.pop()
        key = sign * int(edge) ^ last if edge.negated else int(edge)
        if key not in regular and key not in (true, false):
            low, high = edge.low, edge.high
            regular[key] = edge.level, int(low), int(high)
            waiting += [low, high]
    found: dict[int, tuple[int, int, int]] = {}
    stack = [int(root)]
    while stack:
        key = stack.pop()
        if key in found or key in (true, false):
            continue
        row = regular.get(key)
        if row is None:
            level, lower, upper = regular[sign * key ^ last]
            row = level, sign * lower ^ last, sign * upper ^ last
        found[key] = row
        stack += row[1:]
    return found


def obdd_of_clauses(
    grid: Grid,
    clauses: Sequence[Sequence[int]],
    *,
    order: Sequence[int],
    hidden: Collection[int] = (),
    backend: str | None = None,
    budget: Budget | None = None,
) -> Obdd:
    """Return the diagram of the conjunction of clauses over features of two cells.

    Parameters
    ----------
    grid
        Features of two cells each; the literal k + 1 says that feature k lies in its second cell.
    clauses
        Literals, in each clause of different variables.
    order
        Every feature once, from the top down.
    hidden
        Features that are projected out: there is a cell of theirs with which all clauses hold.
    backend, budget
        As in :func:`obdd_of`.

    Notes
    -----
    Clauses are conjoined from the bottom of the order up, each into what lies below its first variable, and a hidden
    feature is projected out after its last clause.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"]))
    >>> obdd_of_clauses(grid, [(1, 2), (-2, 3)], order=[0, 1, 2]).count()
    4
    >>> obdd_of_clauses(grid, [(1, 2), (-2, 3)], order=[0, 1, 2], hidden=[1]).count(), 2 * 3
    (6, 6)
    """
    account = Account(budget, goal="OBDD")
    name, manager = _manager_of(backend)
    bits = tuple(bits_of(grid, i, code="order")[0] for i in account.paced(order))
    for bit in account.paced(bits):
        manager.declare(bit.name)
    held = _attempt(lambda: [_conjoined(manager, clauses, bits, set(hidden), account), manager.true], len(bits))
    if isinstance(held, AxfiError):
        raise held
    return Obdd(grid, "order", name, bits, held)


def _conjoined(
    manager: Any, clauses: Sequence[Sequence[int]], bits: Sequence[Bit], hidden: set[int], account: Account
) -> Any:
    """Return dd's function of the clauses, those with the lowest variables first."""
    level = {bit.feature: k for k, bit in enumerate(bits)}
    sorted_clauses = [sorted(clause, key=lambda x: -level[abs(x) - 1]) for clause in account.paced(clauses)]
    sorted_clauses.sort(key=lambda clause: ([-level[abs(x) - 1] for x in reversed(clause)], clause))
    last = {abs(x) - 1: k for k, clause in enumerate(account.paced(sorted_clauses)) for x in clause}
    ones = [manager.var(bit.name) for bit in account.paced(bits)]
    found = manager.true
    for k, clause in enumerate(sorted_clauses):
        account.spend(1)
        part = manager.false
        for x in clause:
            here = ones[level[abs(x) - 1]]
            part |= here if x > 0 else ~here
        found &= part
        dead = [bits[level[abs(x) - 1]].name for x in clause if abs(x) - 1 in hidden and last[abs(x) - 1] == k]
        if dead:
            found = manager.exist(dead, found)
    return found
