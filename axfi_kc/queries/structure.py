"""Questions to a circuit, with what each one needs and costs.

Each function makes one pass over the circuit, children first, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import prod

from axfi_kc.circuit import AND, DECISION, OR, TRUE, Circuit, CircuitBuilder
from axfi_kc.errors import CircuitError
from axfi_kc.sets import features_of

__all__ = ["condition", "count", "evaluate", "is_consistent", "is_decomposable", "probability", "scopes"]


def scopes(circuit: Circuit) -> list[int]:
    """Return for each node the set of features below it, as an int whose bit i is feature i."""
    found: list[int] = []
    for node, feature in enumerate(circuit.features.tolist()):
        scope = 1 << feature if feature >= 0 else 0
        for _, child in circuit.arcs(node):
            scope |= found[child]
        found.append(scope)
    return found


def is_decomposable(circuit: Circuit) -> bool:
    """Tell whether no conjunction, and no decision, meets a feature twice.

    Notes
    -----
    Linear. What count, probability, consistency and conditioning on sets rely on.
    """
    scope = scopes(circuit)
    for node, kind in enumerate(circuit.kinds.tolist()):
        below = [scope[child] for _, child in circuit.arcs(node)]
        if kind == AND and sum(s.bit_count() for s in below) != scope[node].bit_count():
            return False
        if kind == DECISION and any(s >> int(circuit.features[node]) & 1 for s in below):
            return False
    return True


def _fold(circuit: Circuit, at: Callable[[int, int], bool]) -> list[bool]:
    """Return each node's truth when cell c of feature i is allowed iff ``at(i, c)``."""
    found: list[bool] = []
    features = circuit.features.tolist()
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        if kind == DECISION:
            i = features[node]
            truth = any(found[child] and any(at(i, c) for c in cells) for cells, child in arcs)
        elif kind == AND:
            truth = all(found[child] for _, child in arcs)
        else:
            truth = kind == TRUE or any(found[child] for _, child in arcs)
        found.append(truth)
    return found


def evaluate(circuit: Circuit, cells: Sequence[int]) -> bool:
    """Tell whether the circuit holds at the point with these cells (cost: linear)."""
    return _fold(circuit, lambda i, c: cells[i] == c)[-1]


def is_consistent(circuit: Circuit, fixed: Mapping[int, int] | None = None) -> bool:
    """Tell whether some point satisfies the circuit.

    Parameters
    ----------
    circuit
        Must be decomposable.
    fixed
        ``{feature: cell}``: only points in these cells are asked for.

    Notes
    -----
    Linear; exact because independent choices in disjoint scopes always combine.
    """
    known = fixed or {}
    return _fold(circuit, lambda i, c: known.get(i, c) == c)[-1]


def condition(circuit: Circuit, fixed: Mapping[int, int]) -> Circuit:
    """Return the circuit of the remaining features, those in `fixed` (feature: cell) set.

    Notes
    -----
    Linear. Keeps decomposability, determinism and order.
    """
    build = CircuitBuilder(circuit.grid)
    found: list[int] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = [(cells, found[child]) for cells, child in circuit.arcs(node)]
        feature = int(circuit.features[node])
        if kind == DECISION and feature in fixed:
            made = next((child for cells, child in arcs if fixed[feature] in cells), build.false)
        elif kind == DECISION:
            made = build.decision(feature, arcs)
        elif kind == AND:
            made = build.conjunction(child for _, child in arcs)
        elif kind == OR:
            made = build.disjunction(child for _, child in arcs)
        else:
            made = kind
        found.append(made)
    return build.circuit(found[-1])


def _total(circuit: Circuit, worth: Sequence[Sequence[int]], over: int) -> int:
    """Return the sum, over the points on the features `over`, of the product of cell worths.

    A node's value covers its own scope; a parent that knows more features multiplies in the
    whole worth of the ones a child does not mention.
    """
    whole = [sum(w) for w in worth]
    scope, found = scopes(circuit), list[int]()

    def lifted(child: int, wanted: int) -> int:
        return found[child] * prod(whole[i] for i in features_of(wanted & ~scope[child]))

    features = circuit.features.tolist()
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        if kind == DECISION:
            i = features[node]
            rest = scope[node] & ~(1 << i)
            value = sum(sum(worth[i][c] for c in cells) * lifted(child, rest) for cells, child in arcs)
        elif kind == AND:
            value = prod(found[child] for _, child in arcs)
        elif kind == OR:
            value = sum(lifted(child, scope[node]) for _, child in arcs)
        else:
            value = int(kind == TRUE)
        found.append(value)
    return lifted(circuit.root, over)


def _all(circuit: Circuit) -> int:
    return (1 << len(circuit.grid.axes)) - 1


def count(circuit: Circuit, *, fixed: Collection[int] = ()) -> int:
    """Return the number of points that satisfy a deterministic, decomposable circuit.

    Parameters
    ----------
    circuit
        Whose points are counted.
    fixed
        Features that the circuit was conditioned on: they take one value.

    Raises
    ------
    CircuitError
        If a feature is real: then points are uncountable; ask for the probability.

    Notes
    -----
    Linear in the circuit, in arithmetic operations on exact integers.
    """
    worth: list[tuple[int, ...]] = []
    for i, axis in enumerate(circuit.grid.axes):
        if i in fixed:
            worth.append((1,))
        elif axis.counts is not None:
            worth.append(axis.counts)
        else:
            raise CircuitError(
                f"Points are counted over integer and categorical features, but {axis.feature.name!r} is real; "
                "ask for the probability instead."
            )
    return _total(circuit, worth, _all(circuit))


def probability(circuit: Circuit) -> Fraction:
    """Return the probability of a deterministic, decomposable circuit under the domain's measure.

    Notes
    -----
    Linear in the circuit, in arithmetic operations on exact integers.
    """
    axes = circuit.grid.axes
    numerator = _total(circuit, [axis.numerators for axis in axes], _all(circuit))
    return Fraction(numerator, prod(axis.denominator for axis in axes))
