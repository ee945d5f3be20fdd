"""Circuits made from circuits: conditioning, forgetting, smoothing.

Each goes over the nodes once, children first, and makes them anew in a builder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from axfi_kc.budget import Account, Budget
from axfi_kc.circuit import AND, DECISION, OR, Circuit, CircuitBuilder
from axfi_kc.queries.structure import require_decomposable, scopes
from axfi_kc.sets import features_of

__all__ = ["condition", "forget", "forget_one", "rebuilt", "smooth"]

Decide = Callable[[int, Sequence[int], Sequence[int]], int]


def condition(circuit: Circuit, fixed: Mapping[int, int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the remaining features, those in `fixed` (feature: cell) set.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear. Keeps decomposability, determinism and order.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> condition(circuit, {0: 2}).size
    Size(nodes=1, edges=1)
    """
    build = CircuitBuilder.like(circuit)
    taken = {i: [c in cells for cells in circuit.cell_sets] for i, c in fixed.items()}

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        if feature not in taken:
            return build.decide(feature, labels, below)
        holds = taken[feature]
        return next((c for c, k in zip(below, labels, strict=True) if holds[k]), build.false)

    return build.circuit(rebuilt(circuit, build, decide, account_of(budget))[-1])


def account_of(budget: Budget | None) -> Account:
    """Return the account of a query or a transformation."""
    return Account(budget, goal="circuit", advice="allow more")


def rebuilt(circuit: Circuit, build: CircuitBuilder, decide: Decide, account: Account) -> list[int]:
    """Return the number that each node gets in `build` when `decide` makes the decisions."""
    features, offsets = circuit.features.tolist(), circuit.offsets.tolist()
    children, labels = circuit.children.tolist(), circuit.labels.tolist()
    found: list[int] = []
    for node, kind in enumerate(account.paced(circuit.kinds.tolist())):
        first, last = offsets[node], offsets[node + 1]
        below = [found[c] for c in children[first:last]]
        if kind == DECISION:
            made = decide(features[node], labels[first:last], below)
        elif kind == AND:
            made = build.conjunction(below)
        elif kind == OR:
            made = build.disjunction(below)
        else:
            made = kind
        found.append(made)
    return found


def forget(circuit: Circuit, features: Collection[int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there are cells of `features` with which the circuit holds".

    Parameters
    ----------
    circuit
        Must be decomposable.
    features
        What is projected out.
    budget
        What it may cost, in seconds and bytes.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear. The result is decomposable but as a rule **not deterministic**: it can be asked for
    consistency and for models, not for counts.
    """
    require_decomposable(circuit, "forgetting")
    build, gone = CircuitBuilder.like(circuit), set(features)

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        return build.disjunction(below) if feature in gone else build.decide(feature, labels, below)

    return build.circuit(rebuilt(circuit, build, decide, account_of(budget))[-1])


def forget_one(circuit: Circuit, feature: int, *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there is a cell of `feature` with which the circuit holds".

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear for each cell. Needs no property of the circuit: it is the disjunction of its
    conditionings, so decomposability is kept and determinism, as a rule, is not.
    """
    build, account = CircuitBuilder.like(circuit), account_of(budget)
    made = set()
    for cell in range(circuit.grid.n_cells[feature]):
        holds = [cell in cells for cells in circuit.cell_sets]

        def decide(i: int, labels: Sequence[int], below: Sequence[int], holds: Sequence[bool] = holds) -> int:
            if i != feature:
                return build.decide(i, labels, below)
            return next((c for c, k in zip(below, labels, strict=True) if holds[k]), build.false)

        made.add(rebuilt(circuit, build, decide, account)[-1])
    return build.circuit(build.disjunction(made))


def smooth(circuit: Circuit, *, budget: Budget | None = None) -> Circuit:
    """Return a circuit with the same models in which all children of a choice mention the same features.

    Parameters
    ----------
    circuit
        Must be decomposable. What it does not mention at all, the result does not mention either.
    budget
        What it may cost, in seconds and bytes.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Nodes times features. Keeps determinism; counting here needs no smoothing.
    """
    require_decomposable(circuit, "smoothing")
    build, account = CircuitBuilder.like(circuit), account_of(budget)
    scope = scopes(circuit, account=account)
    filled: dict[int, int] = {0: build.true}
    found: list[int] = []

    def lifted(child: int, wanted: int) -> int:
        missing = wanted & ~scope[child]
        if missing not in filled:
            filled[missing] = build.conjunction(build.unreduced_literal(i) for i in features_of(missing))
        return build.conjunction([found[child], filled[missing]])

    for node, kind in enumerate(account.paced(circuit.kinds.tolist())):
        arcs = circuit.arcs(node)
        if kind == DECISION:
            i = int(circuit.features[node])
            below = [lifted(c, scope[node] & ~(1 << i)) for _, c in arcs]
            named = sum(len(cells) for cells, _ in arcs)
            if len(set(below)) == 1 and named == circuit.grid.n_cells[i]:
                found.append(build.conjunction([build.unreduced_literal(i), below[0]]))
            else:
                found.append(build.decision(i, [(cells, c) for (cells, _), c in zip(arcs, below, strict=True)]))
        elif kind == AND:
            found.append(build.conjunction(found[c] for _, c in arcs))
        elif kind == OR:
            found.append(build.disjunction(lifted(c, scope[node]) for _, c in arcs))
        else:
            found.append(kind)
    return build.circuit(found[-1])
