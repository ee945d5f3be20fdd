"""Whether the children of each disjunction exclude each other.

Most circuits show it: the parts of a disjunction fix some feature to disjoint sets of cells, as in
the output of top-down compilers. Where they do not, the conjunction of two parts is searched for a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE, Circuit, CircuitBuilder, Form, Notes, circuit_in, flat_of
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.circuits.queries.recounting import DEFAULT_BUDGET, Residuals, cell_classes
from axfi_kc.errors import BudgetError, CircuitError, warn_caller

__all__ = [
    "Determinism",
    "claim_deterministic",
    "determinism",
    "is_deterministic",
    "is_noted",
    "note_deterministic",
    "note_doubtful",
    "note_like",
    "note_recount",
    "require_deterministic",
]


# beside the circuits: who made one in a way that shows it may know more than its nodes tell
_NOTED: Notes[bool] = Notes()
_DOUBTED: Notes[bool] = Notes()
_SETTLED: Notes[bool] = Notes()  # not proved: True after the warning, or if a second count agreed; False if one did not
_FEW_STEPS = Budget(nodes=20_000)
_FEW_PAIRS = 200_000  # of parts that literals must tell apart before the first count
_LITERALS = 256  # nodes of one part that are looked through for literals
_MOST_BELOW = 2_000  # nodes below two parts that a glance searches
_LARGE = 4_096  # nodes from which a kernel looks for the feature that tells parts apart


@dataclass(frozen=True, slots=True)
class Determinism:
    """What is known about a circuit's disjunctions.

    Attributes
    ----------
    verdict
        ``"proved"``, ``"refuted"`` or ``"unchecked"`` (the budget was spent).
    node
        The disjunction that is refuted or could not be decided; None if all are proved, or if the budget
        was spent before there was one.
    witness
        For a refutation, a point at which two children of the node hold.
    """

    verdict: str
    node: int | None = None
    witness: tuple[int, ...] | None = None


@checked("budget")
def determinism(circuit: Form, *, budget: Budget | None = None) -> Determinism:
    """Say whether the children of each disjunction exclude each other at every point.

    Parameters
    ----------
    circuit
        Any circuit.
    budget
        What the search may cost where literals do not decide; by default a million steps.

    Notes
    -----
    Linear where literals decide; the search behind it is exponential at worst.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> a, b = build.literal(0, [1, 2]), build.literal(1, [1])
    >>> determinism(build.circuit(build.disjunction([a, b])))
    Determinism(verdict='refuted', node=3, witness=(1, 1))
    """
    circuit = circuit_in(circuit)
    if is_noted(circuit):
        return Determinism("proved")
    account = Account(budget or DEFAULT_BUDGET, goal="check of disjunctions", advice="allow more")
    node = None
    try:
        doubtful = list(_undecided(circuit, account))
        if doubtful:
            node = doubtful[0][0]
            search = _Search(circuit, account.rest())
        for node, a, b in doubtful:
            witness = search.common_point(a, b)
            if witness is not None:
                return Determinism("refuted", node, witness)
    except BudgetError:
        return Determinism("unchecked", node)
    note_deterministic(circuit)
    return Determinism("proved")


def note_deterministic(circuit: Circuit) -> None:
    """Note that a circuit was shown to be deterministic in another way, so that nobody has to search."""
    _NOTED[circuit] = True


def note_like(circuit: Circuit, *sources: Circuit) -> Circuit:
    """Note that a circuit is deterministic if all those that it was made of are, and return it."""
    if all(is_noted(source) or not (source.kinds == OR).any() for source in sources):
        note_deterministic(circuit)
    return circuit


def claim_deterministic(circuit: Circuit, operation: str = "counting") -> None:
    """Note that a circuit is deterministic, on the word of the caller; raise CircuitError if a glance refutes it."""
    if not is_noted(circuit):
        found = _glance(circuit)
        if found.verdict == "refuted":
            raise _refuted(circuit, found, operation)
        note_deterministic(circuit)


def note_recount(circuit: Circuit, *, agrees: bool) -> None:
    """Note whether counting another way gave the same number as the linear count."""
    _SETTLED[circuit] = agrees


def is_noted(circuit: Circuit) -> bool:
    """Tell whether a circuit was noted to be deterministic."""
    return _NOTED.get(circuit) is not None


def note_doubtful(circuit: Circuit) -> None:
    """Note that parts of a circuit's disjunctions need not exclude each other, though they did where it came from."""
    _DOUBTED[circuit] = True


def require_deterministic(circuit: Circuit, operation: str) -> None:
    """Raise CircuitError, in the name of `operation`, if parts of some disjunction are seen to overlap.

    Where a glance leaves it open, a warning says so, once for each circuit: a proof may take exponential time. Circuits
    in which features were forgotten are then refused instead, as their parts mostly overlap.

    Notes
    -----
    Linear the first time, with a search of bounded length after it; the answer is kept with the circuit.
    """
    settled = _SETTLED.get(circuit)
    if settled is False:
        raise refusal(operation, "a deterministic circuit, but counting this one another way gives another number")
    if settled or is_noted(circuit):
        return
    found = _glance(circuit)
    if found.verdict == "refuted":
        raise _refuted(circuit, found, operation)
    if found.verdict == "proved":
        note_deterministic(circuit)
    elif _DOUBTED.get(circuit):
        raise refusal(operation, "a deterministic circuit, but features were forgotten in this one")
    else:
        _warn_unproved(circuit)


def _refuted(circuit: Circuit, found: Determinism, operation: str) -> CircuitError:
    """Return the error that names a point at which two parts of a disjunction hold."""
    cells, tested = found.witness or (), set(circuit.features.tolist())
    places = enumerate(zip(circuit.grid.axes, cells, strict=True))
    at = ", ".join(axis.describe([c]) for i, (axis, c) in places if i in tested)[:120]
    return refusal(
        operation, f"a deterministic circuit, but two parts of node {found.node} of this one hold where {at}"
    )


def _warn_unproved(circuit: Circuit) -> None:
    """Warn, once for each circuit, that its points may be counted more than once."""
    if _SETTLED.get(circuit) is None:
        _SETTLED[circuit] = True
        warn_caller(
            f"Whether the parts of disjunctions exclude each other is neither proved nor refuted for {circuit!r}; if "
            "some overlap, its counts are too large, so ask queries.determinism with a larger budget, count with "
            "check=True, or compile it into mdd."
        )


@checked("budget")
def is_deterministic(circuit: Form, *, budget: Budget | None = None) -> bool:
    """Tell whether the children of each disjunction exclude each other.

    Raises
    ------
    BudgetError
        If the search did not decide within the budget; see :func:`determinism`.
    """
    found = determinism(circuit, budget=budget)
    if found.verdict == "unchecked":
        raise BudgetError(
            f"Whether the children of {'all nodes' if found.node is None else f'node {found.node}'} exclude each other "
            "was not decided within the budget; give a larger one."
        )
    return found.verdict == "proved"


def _glance(circuit: Circuit) -> Determinism:
    """Return what literals show of a circuit's disjunctions, and short searches where literals do not suffice."""
    account = Account(_FEW_STEPS, goal="glance at disjunctions")
    unknown = None
    try:
        for node, a, b in _undecided(circuit, account, most_pairs=_FEW_PAIRS):
            both = _conjunction_of(circuit, a, b, account)
            if both is None:
                unknown = node if unknown is None else unknown
                continue
            witness = _Search(both, account.rest()).common_point(both.root, both.root)
            if witness is not None:
                return Determinism("refuted", node, witness)
    except BudgetError:
        return Determinism("unchecked", unknown)
    return Determinism("proved" if unknown is None else "unchecked", unknown)


def _conjunction_of(circuit: Circuit, a: int, b: int, account: Account) -> Circuit | None:
    """Return what two nodes have in common as a circuit of its own; None if there is too much below them."""
    reached, queue = {a, b}, [a, b]
    for u in queue:  # grows while it is gone through
        new = set(circuit.children[circuit.offsets[u] : circuit.offsets[u + 1]].tolist()) - reached
        if len(reached) + len(new) > _MOST_BELOW:
            return None
        reached |= new
        queue += new
    account.spend(len(reached))
    build, number = CircuitBuilder.like(circuit), dict[int, int]()
    for u in sorted(reached):
        arcs, kind = slice(int(circuit.offsets[u]), int(circuit.offsets[u + 1])), int(circuit.kinds[u])
        below = [number[c] for c in circuit.children[arcs].tolist()]
        if kind == DECISION:
            number[u] = build.decide(int(circuit.features[u]), circuit.labels[arcs].tolist(), below)
        elif kind in (AND, OR):
            number[u] = build.conjunction(below) if kind == AND else build.disjunction(below)
        else:
            number[u] = build.true if kind == TRUE else build.false
    return build.circuit(build.conjunction([number[a], number[b]]))


def _undecided(circuit: Circuit, account: Account, *, most_pairs: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield ``(node, child, child)`` for the pairs that literals do not tell apart.

    Raises
    ------
    BudgetError
        If the budget is spent, or there are more pairs than `most_pairs`.
    """
    nodes = _unseparated(circuit)
    if not nodes:
        return
    literals, looked = _Literals(circuit), 0
    for node in account.paced(nodes):
        below = circuit.children[circuit.offsets[node] : circuit.offsets[node + 1]].tolist()
        implied = [literals.of(c) for c in account.paced(below)]
        # The linear test first: n parts have n**2 / 2 pairs.
        if not _one_feature_separates(implied):
            looked += len(below) * (len(below) - 1) // 2
            if most_pairs is not None and looked > most_pairs:
                raise BudgetError("There are too many pairs of parts for a glance; ask queries.determinism.")
            pairs = account.paced(combinations(zip(below, implied, strict=True), 2), at_once=1024)
            yield from ((node, a, b) for (a, of_a), (b, of_b) in pairs if not _separate(of_a, of_b))


def _unseparated(circuit: Circuit) -> list[int]:
    """Return the disjunctions; of a large circuit, only those whose parts no one feature is seen to tell apart."""
    if len(circuit.kinds) < _LARGE or not (circuit.kinds == OR).any():
        return np.flatnonzero(circuit.kinds == OR).tolist()
    from axfi_kc.circuits.queries.determinism_kernels import mark_unseparated

    flat, n_features = flat_of(circuit), len(circuit.grid.axes)
    room = [np.zeros(n, np.int64) for n in (int(flat.cell_starts[-1]), n_features, n_features, _LITERALS)]
    marks = np.zeros(len(circuit.kinds), np.uint8)
    mark_unseparated(*flat[:-1], *room, marks)
    return np.flatnonzero(marks).tolist()


def _one_feature_separates(implied: list[dict[int, frozenset[int]]]) -> bool:
    """Tell whether one feature tells all parts apart, in time linear in their literals."""
    shared = set(implied[0]).intersection(*implied[1:])
    # Sets exclude each other pairwise exactly when their sizes add up to that of their union.
    return any(sum(len(x[i]) for x in implied) == len(frozenset().union(*(x[i] for x in implied))) for i in shared)


def _separate(a: dict[int, frozenset[int]], b: dict[int, frozenset[int]]) -> bool:
    return any(a[i].isdisjoint(b[i]) for i in a.keys() & b.keys())


class _Literals:
    """The cells to which a node confines features, as far as conjunctions and decisions show."""

    def __init__(self, circuit: Circuit) -> None:
        self._kinds, self._features = circuit.kinds.tolist(), circuit.features.tolist()
        self._offsets, self._children = circuit.offsets.tolist(), circuit.children.tolist()
        self._labels = circuit.labels.tolist()
        self._sets = [frozenset(cells) for cells in circuit.cell_sets]

    def of(self, node: int) -> dict[int, frozenset[int]]:
        """Return ``{feature: cells}`` that follow from `node`; not all of them in large conjunctions."""
        found: dict[int, frozenset[int]] = {}
        queue = [node]
        for u in queue:  # grows while it is gone through
            arcs = slice(self._offsets[u], self._offsets[u + 1])
            if self._kinds[u] == DECISION:
                i, labels = self._features[u], self._labels[arcs]
                cells = self._sets[labels[0]].union(*(self._sets[k] for k in labels[1:]))
                # Every node in the queue follows from the first, so what they say is intersected. A queue that stops
                # early leaves sets too large: more pairs for the search, but no wrong proof.
                found[i] = found[i] & cells if i in found else cells
            below = self._children[arcs]
            if (self._kinds[u] == AND or len(below) == 1) and len(queue) < _LITERALS:
                queue += below
        return found


class _Search:
    """Searches the conjunction of two nodes for a point, setting feature after feature."""

    def __init__(self, circuit: Circuit, budget: Budget | None) -> None:
        self._work = Residuals(circuit, budget)
        self._classes = cell_classes(circuit)
        # Kept from pair to pair: a residual without a model has none, whichever conjunction led to it.
        self._empty = {self._work.build.false}
        self._n_features = len(circuit.grid.axes)

    def common_point(self, a: int, b: int) -> tuple[int, ...] | None:
        """Return a point at which both nodes of the circuit hold; None if there is none."""
        work = self._work
        root = work.conjunction(work.numbers[a], work.numbers[b])
        # The path holds the step into each open node but the root, so leaving a node takes back one step.
        path, stack = list[tuple[int, int]](), [(root, 0)]
        while stack:
            node, tried = stack.pop()
            if node == work.build.true:
                return self._point(path)
            groups = [] if node in self._empty else self._classes[work.order[work.top(node)]]
            if tried == len(groups):
                self._empty.add(node)
                if path:
                    path.pop()
                continue
            work.account.spend(1)
            cell = groups[tried][0]
            stack += [(node, tried + 1), (work.at(node, cell), 0)]
            path.append((work.order[work.top(node)], cell))
        return None

    def _point(self, path: list[tuple[int, int]]) -> tuple[int, ...]:
        point = [0] * self._n_features
        for i, cell in path:
            point[i] = cell
        return tuple(point)
