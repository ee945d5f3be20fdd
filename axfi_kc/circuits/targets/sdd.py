"""Sentential decision diagrams, held by the library PySDD.

Cells are written in bits (:mod:`axfi_kc.circuits.targets.bit_codes`), and the bits of one feature are one
subtree of the vtree. A node inside that subtree is a set of cells; a node above it joins whole
features, so the way back is linear and leads to a circuit that is decomposable and deterministic in
features. Counts are made on that circuit: PySDD's own wrap around at 2**64.

PySDD must not bring the process down. It recurses along its vtree, so deep ones overflow the stack of an
ordinary thread; it reads vtrees from files only, so it gets one that was written here; its managers
free their nodes, so nodes are read into arrays at once.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, quoted, wholes
from axfi_kc.budget import Account, Budget, preparation
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, Size, circuit_in
from axfi_kc.circuits.queries.counting import Counted
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.queries.structure import checked_order
from axfi_kc.circuits.targets.bit_codes import Bit, Encoder, balanced, bits_of, cells_of, mask_of
from axfi_kc.circuits.targets.vtrees import Vtree, feature_vtree
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, MissingExtraError

__all__ = [
    "Sdd",
    "SddAlgebra",
    "SddNodes",
    "in_deep_thread",
    "nodes_of",
    "sdd_circuit",
    "sdd_of",
    "sdd_of_clauses",
    "vtree_of",
]


T = TypeVar("T")

_ABOVE = -1  # the feature of a vtree node that joins several
_DEEPEST = 3000  # right-linear vtrees of 3,000 variables work in 256 MB of stack, and take half a minute for a chain
_SHALLOW = 50
_STACK, _STACK_PER_LEVEL = 64 << 20, 128 << 10


@dataclass(frozen=True, eq=False)
class Sdd(Counted):
    """A sentential decision diagram of a circuit.

    Attributes
    ----------
    grid
        The cells that the bits encode.
    code
        "order", "binary" or "direct".
    feature_vtree
        The vtree over features.
    vtree
        The vtree over bits: each feature's leaf with the tree of its bits in its place.
    bits
        The variables; PySDD's variable k + 1 is ``bits[k]``.

    Notes
    -----
    The diagram is read once, when it is made of a circuit, or when the result of an operation is first asked for more
    than another operation. Results of operations live in the same manager.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> sdd = sdd_of(build.circuit(build.disjunction([build.literal(0, [2]), build.literal(1, [1])])))
    >>> sdd.count(), sdd.negate().count(), sdd.conjoin(sdd.negate()).count(), sdd.probability()
    (4, 2, 0, Fraction(2, 3))
    """

    grid: Grid
    code: str
    feature_vtree: Vtree = field(repr=False)
    vtree: Vtree = field(repr=False)
    bits: tuple[Bit, ...] = field(repr=False)
    _held: list[Any] = field(repr=False)  # PySDD's root, the root of "is a code", and the manager
    language: ClassVar[str] = "sdd"

    def __post_init__(self) -> None:
        weakref.finalize(self, _released, self._held)

    def __reduce__(self) -> tuple[Callable[..., Sdd], tuple[Circuit]]:
        """Return how copies and other processes make the diagram again, since managers of PySDD cannot be copied.

        Code and vtree give the same diagram, node by node, in a manager of its own.
        """
        return partial(sdd_of, code=self.code, vtree=self.feature_vtree), (self.to_circuit(),)

    @property
    def root(self) -> Any:
        """The diagram as an ``SddNode`` of PySDD."""
        return self._held[0]

    @property
    def manager(self) -> Any:
        """The manager of PySDD that holds the diagram."""
        return self._held[-1]

    @cached_property
    def nodes(self) -> SddNodes:
        """The diagram in arrays."""
        return nodes_of(self.root)

    @property
    def size(self) -> Size:
        """Decisions, and their elements (pairs of a prime and a sub): what the literature calls an SDD's size."""
        decisions = int(((self.nodes.literals == 0) & (self.nodes.vtree_nodes >= 0)).sum())
        return Size(nodes=decisions, edges=len(self.nodes.primes))

    @property
    def bytes(self) -> int:
        """The bytes of the arrays in `nodes`; PySDD takes several times as much."""
        return self.nodes.n_bytes

    @checked("other")
    def conjoin(self, other: Sdd) -> Sdd:
        """Return the diagram of the points in both (cost: at worst the product of the sizes, times the vtree's)."""
        self._check(other)
        return self._made(lambda: self.manager.conjoin(self.root, other.root))

    @checked("other")
    def disjoin(self, other: Sdd) -> Sdd:
        """Return the diagram of the points in one of the two (cost: as :meth:`conjoin`)."""
        self._check(other)
        return self._made(lambda: self.manager.disjoin(self.root, other.root))

    def negate(self) -> Sdd:
        """Return the diagram of all other points (cost: linear, and joining the constraint on codes)."""
        return self._made(lambda: self.manager.conjoin(self._held[1], self.manager.negate(self.root)))

    @checked("operator", "other")
    def operate(self, operator: str, other: Sdd) -> Sdd:
        """Return an operation of :data:`axfi_kc.circuits.operations.OPERATORS` (cost: as :meth:`conjoin`)."""
        self._check(other)
        conjoin, disjoin, negate = self.manager.conjoin, self.manager.disjoin, self.manager.negate

        def xor(u: Any, v: Any) -> Any:
            return disjoin(conjoin(u, negate(v)), conjoin(negate(u), v))

        made: dict[str, Callable[[Any, Any], Any]] = {
            "and": conjoin,
            "or": disjoin,
            "diff": lambda u, v: conjoin(u, negate(v)),
            "xor": xor,
            "implies": lambda u, v: conjoin(self._held[1], disjoin(negate(u), v)),
            "equiv": lambda u, v: conjoin(self._held[1], negate(xor(u, v))),
        }
        if operator not in made:
            raise CircuitError(f"An operation is one of {', '.join(made)}, but {quoted(operator)} was given; name one.")
        return self._made(lambda: made[operator](self.root, other.root))

    @checked("cells")
    def restrict(self, cells: Mapping[int, int]) -> Sdd:
        """Return the diagram that no longer depends on features: they take these cells (cost: linear for each bit)."""

        def made() -> Any:
            root = self.root
            for variable, bit in enumerate(self.bits, 1):
                if bit.feature in cells:
                    root = self.manager.condition(variable if cells[bit.feature] in bit.cells else -variable, root)
            return self.manager.conjoin(self._held[1], root)

        return self._made(made)

    @checked("features", "universal")
    def quantify(self, features: Sequence[int], *, universal: bool = False) -> Sdd:
        """Return "for some cells of these features", or "for all" (cost: exponential at worst)."""
        gone, manager, valid = set(wholes(features, "features", below=len(self.grid.axes))), self.manager, self._held[1]

        def made() -> Any:
            root = manager.conjoin(valid, manager.negate(self.root)) if universal else self.root
            for variable, bit in enumerate(self.bits, 1):
                if bit.feature in gone:
                    root = manager.exists(variable, root)
            return manager.conjoin(valid, manager.negate(root) if universal else root)

        return self._made(made)

    @checked("other")
    def shares_manager(self, other: Sdd) -> bool:
        """Tell whether two diagrams can be joined as they are."""
        return other.manager is self.manager

    def _check(self, other: Sdd) -> None:
        if other.manager is not self.manager:
            raise CircuitError(
                "Two SDDs are joined in one manager, but two managers were given; make the second one with "
                "sdd_of(..., beside=first)."
            )

    def _made(self, operation: Any) -> Sdd:
        root = in_deep_thread(operation, depth=self.vtree.depth)
        held = _kept(root, self._held[1], self.manager)
        return Sdd(self.grid, self.code, self.feature_vtree, self.vtree, self.bits, held)

    def to_circuit(self) -> Circuit:
        """Return the diagram as a circuit over cells, decomposable and deterministic.

        Notes
        -----
        Linear, times the cells of a feature for nodes inside one. Computed once.
        """
        return self._circuit

    @cached_property
    def _circuit(self) -> Circuit:
        return sdd_circuit(self.grid, self.bits, self.vtree, self.nodes)


def sdd_circuit(grid: Grid, bits: Sequence[Bit], vtree: Vtree, nodes: SddNodes) -> Circuit:
    """Return the circuit over cells of a diagram in whose vtree the bits of each feature are a subtree."""
    build, feature_at = CircuitBuilder(grid), _features_by_position(vtree, bits)
    inside = [_ABOVE, _ABOVE, *(feature_at[at] for at in nodes.vtree_nodes.tolist()[2:])]
    pairs = nodes.pairs
    cells = [cells_of(mask) for mask in _masks(grid, bits, nodes, inside)]
    made = [build.false, build.true]
    for node, feature in enumerate(_account_of_reading().paced(inside[2:]), start=2):
        if feature != _ABOVE:
            made.append(build.literal(feature, cells[node]))
            continue
        owners = {inside[prime] for prime, _ in pairs[node]}
        if _ABOVE in owners:
            made.append(build.disjunction([build.conjunction([made[p], made[s]]) for p, s in pairs[node]]))
        else:  # primes that exclude each other, each one a set of cells: of one feature, so a decision
            made.append(build.decision(owners.pop(), [(cells[p], made[s]) for p, s in pairs[node]]))
    circuit = build.circuit(made[nodes.root])
    note_deterministic(circuit)  # primes exclude each other
    return circuit


def _masks(grid: Grid, bits: Sequence[Bit], nodes: SddNodes, inside: Sequence[int]) -> list[int]:
    """Return the cells of each node inside a feature, bit c for cell c; nothing for nodes above features."""
    n_cells, ones = grid.n_cells, [mask_of(bit.cells) for bit in bits]
    found = [0, -1]  # inside every feature, true is all its cells
    for feature, literal, pairs in list(zip(inside, nodes.literals.tolist(), nodes.pairs, strict=True))[2:]:
        everything = 0 if feature == _ABOVE else (1 << n_cells[feature]) - 1
        if literal:
            mask = ones[literal - 1] if literal > 0 else ~ones[-literal - 1]
        else:
            mask = 0
            for prime, sub in pairs if feature != _ABOVE else ():
                mask |= found[prime] & found[sub]
        found.append(mask & everything)
    return [0, 0, *found[2:]]


def _features_by_position(tree: Vtree, bits: Sequence[Bit]) -> list[int]:
    """Return the feature of each vtree node, by its position from left to right; -1 where several meet."""
    found = list[int]()
    for a, b, leaf in zip(tree.left, tree.right, tree.leaves, strict=True):
        own = bits[leaf].feature if 0 <= leaf < len(bits) else _ABOVE
        found.append(own if a < 0 or found[a] != found[b] else found[a])
    by_position = [_ABOVE] * len(found)
    for position, feature in zip(tree.in_order, found, strict=True):
        by_position[position] = feature
    return by_position


def _kept(root: Any, valid: Any, manager: Any) -> list[Any]:
    """Return what a result holds; PySDD's garbage collection spares what is referred to."""
    root.ref()
    valid.ref()
    return [root, valid, manager]


def _released(held: list[Any]) -> None:
    """Let go of nodes before their manager."""
    root, valid = held[:2]
    root.deref()
    valid.deref()
    held.clear()


def sdd_of(
    circuit: Form,
    *,
    code: str = "order",
    vtree: Any = "right",
    order: Sequence[int] | None = None,
    minimise: bool = False,
    beside: Sdd | None = None,
    budget: Budget | None = None,
) -> Sdd:
    """Return the sentential decision diagram of `circuit`.

    Parameters
    ----------
    circuit
        Of any kind; neither decomposability nor determinism is needed.
    code
        How a feature of more than two cells is written; see :func:`~axfi_kc.circuits.targets.bits_of`.
    vtree
        Over the features: "right" (right-linear: the elements of a node are then the arcs of an MDD),
        "balanced", nested pairs of feature names such as ``(("a", "b"), "c")``, or a
        :class:`~axfi_kc.circuits.targets.vtrees.Vtree` of feature numbers.
    order
        The features from left to right, for "right" and "balanced". By default the circuit's own
        order, or the domain's where the circuit has none.
    minimise
        Whether to let PySDD search for a better vtree. It moves bits of a feature apart, so its
        vtree is read as one of features, and the diagram is made again with that; the smaller one
        is kept.
    beside
        An SDD whose manager, code and vtree are used, so that the two can be joined.
    budget
        What it may cost; nodes are those PySDD has made. One operation of PySDD cannot be interrupted; its search for
        a vtree keeps to the seconds, and ends with the best one so far.

    Raises
    ------
    CircuitError
        If the code, the order or the vtree is none, or too deep.
    MissingExtraError
        If PySDD is not installed.

    Notes
    -----
    The diagram, and what is met on the way, may be exponentially larger than the circuit.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abcdef"])))
    >>> pairs = [build.conjunction([build.literal(i, [1]), build.literal(i + 3, [1])]) for i in range(3)]
    >>> circuit = build.circuit(build.disjunction(pairs))
    >>> together = (("a", "d"), (("b", "e"), ("c", "f")))
    >>> [sdd_of(circuit, vtree=v).size for v in ("right", "balanced", together)]
    [Size(nodes=11, edges=22), Size(nodes=13, edges=33), Size(nodes=7, edges=14)]
    """
    circuit, account = circuit_in(circuit), Account(budget, goal="SDD")
    if beside is not None:
        return _beside(circuit, beside, account)
    tree = feature_vtree(circuit.grid, vtree, order=checked_order(circuit, order))
    found = _sdd(circuit, code, tree, account)
    if not minimise:
        return found
    tries = [_sdd(circuit, code, t, account) for t in _searched(circuit, code, tree, account)]
    return min([found, *tries], key=lambda sdd: sdd.size.edges)


def _sdd(circuit: Circuit, code: str, tree: Vtree, account: Account) -> Sdd:
    code_bits = _bits_by_feature(circuit.grid, code, tree)
    bits = tuple(bit for i in sorted(code_bits) for bit in code_bits[i])
    whole = _bit_vtree(tree, code_bits, bits)
    manager = _manager_of(whole)
    encoder = Encoder(circuit, code=code, bits=code_bits, algebra=SddAlgebra(manager, _variables(bits), account))
    root, valid = in_deep_thread(lambda: (encoder.function(), encoder.valid()), depth=whole.depth)
    held = _kept(root, valid, manager)
    in_deep_thread(manager.garbage_collect, depth=whole.depth)
    found = Sdd(circuit.grid, code, tree, whole, bits, held)
    found.nodes  # noqa: B018  # read now, before anybody moves the vtree
    return found


def _beside(circuit: Circuit, near: Sdd, account: Account) -> Sdd:
    if not circuit.grid.is_like(near.grid):
        raise CircuitError(
            "An SDD is made beside one over the same cells, but the circuit has others; leave beside out."
        )
    algebra = SddAlgebra(near.manager, _variables(near.bits), account)
    code_bits = _bits_by_feature(circuit.grid, near.code, near.feature_vtree)
    return near._made(Encoder(circuit, code=near.code, bits=code_bits, algebra=algebra).function)


def _variables(bits: Sequence[Bit]) -> dict[str, int]:
    return {bit.name: k for k, bit in enumerate(bits, start=1)}


def _bits_by_feature(grid: Grid, code: str, tree: Vtree) -> dict[int, tuple[Bit, ...]]:
    """Return the bits of each feature, the features from left to right."""
    place = dict(zip(tree.leaves, tree.in_order, strict=True))
    return {i: bits_of(grid, i, code=code) for i in sorted(range(len(grid.axes)), key=place.__getitem__)}


def _bit_vtree(tree: Vtree, code_bits: Mapping[int, Sequence[Bit]], bits: Sequence[Bit]) -> Vtree:
    """Return the vtree over bits: those of a feature form a right-linear tree in the place of its leaf."""
    if not bits:
        return Vtree.right_linear([0])  # PySDD wants a variable, though nothing depends on it
    number = {bit.name: k for k, bit in enumerate(bits)}
    return tree.substituted(
        {i: Vtree.right_linear([number[b.name] for b in own]) for i, own in code_bits.items() if own}
    )


def _searched(circuit: Circuit, code: str, tree: Vtree, account: Account) -> list[Vtree]:
    """Return vtrees over features after PySDD's search: where the first bits of features ended up, and the last."""
    found = _sdd(circuit, code, tree, account)
    seconds = account.rest().seconds
    if seconds is not None:  # PySDD looks at its own clock, in whole seconds
        found.manager.set_vtree_search_time_limit(max(1, int(seconds)))
    search = found.manager.minimize if seconds is None else found.manager.minimize_limited
    in_deep_thread(search, depth=found.vtree.depth)
    if not found.bits:
        return []
    after = vtree_of(found.manager)
    first, last = dict[int, int](), dict[int, int]()
    for k, bit in enumerate(found.bits):
        first.setdefault(bit.feature, k)
        last[bit.feature] = k
    idle = [i for i in range(len(circuit.grid.axes)) if i not in first]
    tries = []
    for chosen in (first, last):
        kept = after.substituted({k: Vtree.right_linear([i]) for i, k in chosen.items()})
        tries.append(kept if not idle else _joined(Vtree.right_linear(idle), kept))
    return tries


def _joined(first: Vtree, second: Vtree) -> Vtree:
    return Vtree.right_linear([0, 1]).substituted({0: first, 1: second})


def in_deep_thread(function: Callable[[], T], *, depth: int) -> T:
    """Return what `function` returns, called where PySDD has enough stack for a vtree of this depth."""
    if depth <= _SHALLOW:
        return function()
    found: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)

    before = threading.stack_size(_STACK + _STACK_PER_LEVEL * depth)
    try:
        thread = threading.Thread(target=run, name="pysdd")
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors.pop()
    return found.pop()


def _manager_of(vtree: Vtree) -> Any:
    """Return an empty manager of PySDD whose variable k + 1 is the leaf k of `vtree`."""
    try:
        from pysdd.sdd import SddManager
        from pysdd.sdd import Vtree as TheirVtree
    except ImportError:
        raise MissingExtraError(
            "The target 'sdd' needs PySDD, which is not installed: pip install 'PySDD>=1.0.6'."
        ) from None
    if vtree.depth > _DEEPEST:
        raise CircuitError(
            f"A vtree may be {_DEEPEST} levels deep, but this one has {vtree.depth}; take vtree='balanced'."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vtree"
        path.write_text(vtree.text, encoding="ascii")
        theirs = in_deep_thread(lambda: TheirVtree.from_file(str(path)), depth=vtree.depth)
    manager = in_deep_thread(lambda: SddManager.from_vtree(theirs), depth=vtree.depth)
    manager.auto_gc_and_minimize_off()  # it would free nodes that are still needed, and move bits
    return manager


def vtree_of(manager: Any) -> Vtree:
    """Return the vtree that a manager has now, its leaves numbered from 0."""
    return Vtree.below(
        manager.vtree(),
        lambda node: None if node.is_leaf() else (node.left(), node.right()),
        lambda node: int(node.var()) - 1,
    )


class SddAlgebra:
    """The operations of a manager of PySDD, each one against an account."""

    def __init__(self, manager: Any, variables: Mapping[str, int], account: Account) -> None:
        self.true = manager.true()
        self.false = manager.false()
        self._manager = manager
        self._variables = variables
        self._account = account

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""
        return self.paid(self._manager.conjoin(a, b))

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""
        return self.paid(self._manager.disjoin(a, b))

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""
        variable = self._variables[bit.name]
        one, zero = self._manager.literal(variable), self._manager.literal(-variable)
        # One operation instead of three where an end is a constant, as in clauses and terms.
        if high.is_true() or low.is_false():
            return self.disjoin(one, low) if high.is_true() else self.conjoin(one, high)
        if low.is_true() or high.is_false():
            return self.disjoin(zero, high) if low.is_true() else self.conjoin(zero, low)
        return self.disjoin(self.conjoin(one, high), self.conjoin(zero, low))

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return the disjunction of each test with what comes with it."""
        return balanced([self.conjoin(test, child) for test, child in parts], self.disjoin, self.false)

    def paid(self, made: Any) -> Any:
        """Return what was made, after its cost was counted."""
        # PySDD counts all nodes it holds, dead ones included; what matters is how much was made. Most operations
        # make nothing, as PySDD remembers their results, and cost nothing
        fresh = int(self._manager.count()) - self._account.nodes
        if fresh > 0:
            self._account.spend(fresh)
        return made


@dataclass(frozen=True, slots=True, eq=False)
class SddNodes:
    """The nodes of a sentential decision diagram in arrays, children first; 0 is false and 1 is true.

    Attributes
    ----------
    vtree_nodes
        The node's vtree node by its position from left to right (``Vtree.in_order``); -1 for a constant.
    literals
        k + 1 or -(k + 1) for bit k; 0 for constants and decisions.
    offsets, primes, subs
        The elements of node n are ``zip(primes[s], subs[s])`` with ``s = slice(offsets[n], offsets[n + 1])``.
    root
        The number of the root.
    """

    vtree_nodes: npt.NDArray[np.int32]
    literals: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    primes: npt.NDArray[np.int32]
    subs: npt.NDArray[np.int32]
    root: int

    @property
    def pairs(self) -> list[list[tuple[int, int]]]:
        """The elements of each node, as pairs of a prime and a sub."""
        offsets = self.offsets.tolist()
        elements = list(zip(self.primes.tolist(), self.subs.tolist(), strict=True))
        return [elements[first:last] for first, last in pairwise(offsets)]

    @property
    def n_bytes(self) -> int:
        """The bytes of the arrays."""
        arrays = (self.vtree_nodes, self.literals, self.offsets, self.primes, self.subs)
        return sum(a.nbytes for a in arrays)


def _account_of_reading() -> Account:
    return Account(preparation(), goal="circuit", advice="allow more")


def nodes_of(root: Any) -> SddNodes:
    """Return the nodes below `root` (cost: linear, without recursion)."""
    number: dict[int, int] = {}
    rows: list[tuple[int, int, list[tuple[int, int]]]] = [(-1, 0, []), (-1, 0, [])]
    opened: dict[int, list[tuple[Any, Any]]] = {}
    account = _account_of_reading()
    stack = [root]
    while stack:
        account.spend(1)
        node = stack[-1]
        key = int(node.id)
        if key in number:
            stack.pop()
        elif node.is_true() or node.is_false():
            number[key] = int(node.is_true())
        elif node.is_literal():
            number[key] = len(rows)
            rows.append((int(node.vtree().position()), int(node.literal), []))
        elif key not in opened:
            opened[key] = list(node.elements())
            stack += [part for pair in opened[key] for part in pair]
        else:
            pairs = [(number[int(p.id)], number[int(s.id)]) for p, s in opened.pop(key)]
            number[key] = len(rows)
            rows.append((int(node.vtree().position()), 0, pairs))
    flat = [pair for _, _, pairs in rows for pair in pairs]
    return SddNodes(
        vtree_nodes=np.array([v for v, _, _ in rows], dtype=np.int32),
        literals=np.array([literal for _, literal, _ in rows], dtype=np.int32),
        offsets=np.cumsum([0, *(len(pairs) for _, _, pairs in rows)]).astype(np.int64),
        primes=np.array([p for p, _ in flat], dtype=np.int32),
        subs=np.array([s for _, s in flat], dtype=np.int32),
        root=number[int(root.id)],
    )


def sdd_of_clauses(
    grid: Grid,
    clauses: Sequence[Sequence[int]],
    *,
    vtree: Any = "balanced",
    order: Sequence[int],
    hidden: Collection[int] = (),
    budget: Budget | None = None,
) -> Sdd:
    """Return the diagram of the conjunction of clauses over features of two cells.

    Parameters
    ----------
    grid, clauses, hidden
        As in :func:`~axfi_kc.circuits.targets.obdd.obdd_of_clauses`.
    vtree, order, budget
        As in :func:`sdd_of`.

    Notes
    -----
    Each clause is conjoined at the lowest vtree node that has all its variables below, from the leaves up. A hidden
    feature is projected out at the end.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"]))
    >>> sdd_of_clauses(grid, [(1, 2), (-2, 3)], order=[0, 1, 2]).count()
    4
    """
    account = Account(budget, goal="SDD")
    tree = feature_vtree(grid, vtree, order=order)
    bits = tuple(bits_of(grid, i, code="order")[0] for i in account.paced(range(len(grid.axes))))
    manager = _manager_of(tree)
    account.look()
    algebra = SddAlgebra(manager, _variables(bits), account)

    def made() -> Any:
        found = _conjoined(algebra, manager, tree, clauses, account)
        for i in hidden:
            found = algebra.paid(manager.exists(i + 1, found))
        return found

    root = in_deep_thread(made, depth=tree.depth)
    held = _kept(root, manager.true(), manager)
    return Sdd(grid, "order", tree, tree, bits, held)


def _conjoined(
    algebra: SddAlgebra, manager: Any, tree: Vtree, clauses: Sequence[Sequence[int]], account: Account
) -> Any:
    """Return PySDD's node of the clauses, each one conjoined where its variables meet in the vtree."""
    if not all(clauses):  # an empty clause has no variables that could meet
        return algebra.false
    owners: dict[int, list[int]] = {}
    scopes = [{abs(x) - 1 for x in clause} for clause in account.paced(clauses)]  # a variable may come twice
    for k, scope in enumerate(account.paced(scopes)):
        for variable in scope:
            owners.setdefault(variable, []).append(k)
    seen: list[dict[int, int]] = []  # for each vtree node how many variables of which unfinished clauses lie below
    made: list[Any] = []
    for a, b, leaf in account.paced(zip(tree.left, tree.right, tree.leaves, strict=True)):
        here = dict.fromkeys(owners.get(leaf, ()), 1) if a < 0 else dict(seen[a])
        for k, n in seen[b].items() if a >= 0 else ():
            here[k] = here.get(k, 0) + n
        own = [clauses[k] for k, n in here.items() if n == len(scopes[k])]
        seen.append({k: n for k, n in here.items() if n < len(scopes[k])})
        found = algebra.true if a < 0 else algebra.conjoin(made[a], made[b])
        parts = [balanced([manager.literal(x) for x in clause], algebra.disjoin, algebra.false) for clause in own]
        for part in sorted(parts, key=lambda p: int(p.size())):
            found = algebra.conjoin(found, part)
        made.append(found)
    return made[-1]
