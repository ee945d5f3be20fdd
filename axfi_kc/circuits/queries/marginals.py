"""How much of a circuit's total worth passes through each node, in exact integers.

The total of a node is the worth of all points of the whole space that satisfy it, so alternatives that mention
different features simply add up, and nothing has to be smoothed. From the root down the worth is shared out: a
disjunction's among its parts, a conjunction's to each of its parts as a whole. All divisions are exact, because what
is divided is the worth of a set of points.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, paced
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, Form, circuit_in
from axfi_kc.circuits.queries.counting import point_worths, product, scaled_worths
from axfi_kc.circuits.queries.determinism import require_deterministic
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.domain.measures import Number
from axfi_kc.errors import CircuitError

__all__ = ["Totals", "Worths", "integer_worths", "marginals", "totals_of"]


Worths = Sequence[Sequence[Number]] | str | None
"""What cells are worth: a number each, ``"count"`` for their values, None for their probabilities."""
Box = Mapping[int, Collection[int]] | None


def integer_worths(circuit: Circuit, worths: Worths, given: Box = None) -> tuple[list[list[int]], int]:
    """Return what each cell is worth as integers, and what their products are multiplied by.

    Parameters
    ----------
    circuit
        Whose cells they are.
    worths
        For each feature a number per cell, not negative; ``"count"``: the number of the cell's values; None: its
        probability, features being independent.
    given
        A box, ``{feature: cells}``: all other cells of these features are worth nothing.

    Raises
    ------
    CircuitError
        If the worths, or the box, do not fit the cells.
    """
    axes = circuit.grid.axes
    home = dict(circuit.grid.fixed)
    if worths is None:
        rows, scale = [list(axis.numerators) for axis in axes], product([axis.denominator for axis in axes])
    elif isinstance(worths, str):
        if worths != "count":
            raise CircuitError(
                f"Worths are numbers, 'count' or None, but {quoted(worths)} was given; give one of these."
            )
        rows, scale = [list(row) for row in point_worths(circuit)], 1
    else:
        rows, scales = scaled_worths(circuit, worths)
        scale = product(scales)
    # A feature that was set has its one cell, which is no part of the products.
    for i, c in home.items():
        scale //= axes[i].denominator if worths is None else 1
        rows[i] = [int(k == c) for k in range(axes[i].n_cells)]
    for i, cells in circuit.grid.box(given or {}).items():
        rows[i] = [w if c in cells else 0 for c, w in enumerate(rows[i])]
    return rows, scale


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """The total of each node of a circuit.

    Attributes
    ----------
    circuit
        Deterministic and decomposable.
    worths
        Integers for the cells of each feature.
    wholes
        Their sums.
    of_label
        What the cells of a feature and a label are worth.
    at
        For each node the worth of all points of the space that satisfy it.
    scale
        What all totals are multiplied by.
    """

    circuit: Circuit
    worths: list[list[int]]
    wholes: list[int]
    of_label: dict[tuple[int, int], int]
    at: list[int]
    scale: int

    @property
    def root(self) -> int:
        """The total of the circuit."""
        return self.at[-1]

    def through_arcs(self, account: Account | None = None) -> dict[tuple[int, int], int]:
        """Return, by feature and label, how much of the root's total passes through decisions' arcs (cost: linear)."""
        circuit, at, wholes = self.circuit, self.at, self.wholes
        kinds, features = circuit.kinds.tolist(), circuit.features.tolist()
        offsets, children, labels = circuit.offsets.tolist(), circuit.children.tolist(), circuit.labels.tolist()
        flow = [0] * len(at)
        flow[-1] = at[-1]
        found: dict[tuple[int, int], int] = {}
        for node in paced(range(len(at) - 1, -1, -1), account):
            here, kind = flow[node], kinds[node]
            if not here or kind not in (AND, OR, DECISION):
                continue
            total, i = at[node], features[node]
            for arc in range(offsets[node], offsets[node + 1]):
                child = children[arc]
                if kind == AND:
                    flow[child] += here
                    continue
                # What passes through a child is its part of the node's own total.
                part = at[child] if kind == OR else self.of_label[i, labels[arc]] * at[child] // wholes[i]
                passed = here * part // total
                flow[child] += passed
                if kind == DECISION:
                    key = i, labels[arc]
                    found[key] = found.get(key, 0) + passed
        return found


def totals_of(circuit: Form, worths: Worths = None, *, given: Box = None, account: Account | None = None) -> Totals:
    """Return the total of each node; see :func:`integer_worths`.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable, or is seen to count points twice.
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "counting")
    require_deterministic(circuit, "counting")
    rows, scale = integer_worths(circuit, worths, given)
    wholes = [sum(row) for row in rows]
    whole = product(wholes) if all(wholes) else 0
    sets = circuit.cell_sets
    of_label: dict[tuple[int, int], int] = {}

    def decision(i: int, labels: list[int], below: list[int]) -> int:
        found = 0
        for k, total in zip(labels, below, strict=True):
            if (i, k) not in of_label:
                of_label[i, k] = sum([rows[i][c] for c in sets[k]])
            found += of_label[i, k] * total
        return found // wholes[i] if whole else 0

    def conjunction(below: list[int]) -> int:
        if not whole:
            return 0
        found = below[0]
        for total in below[1:]:
            found = found * total // whole
        return found

    at = circuit.fold(decision=decision, conjunction=conjunction, disjunction=sum, false=0, true=whole, account=account)
    if at[-1] > whole:
        raise refusal("counting", "a deterministic circuit, but this one has points that are counted more than once")
    return Totals(circuit, rows, wholes, of_label, at, scale)


@checked("worths", "given", "budget")
def marginals(
    circuit: Form, worths: Worths = None, *, given: Box = None, budget: Budget | None = None
) -> list[list[Fraction]]:
    """Return the probability of each cell of each feature among the points of a deterministic, decomposable circuit.

    Parameters
    ----------
    circuit
        Whose points are weighed.
    worths
        For each feature a number per cell, not negative; ``"count"`` to weigh all points alike; None for the features'
        own measures, features being independent.
    given
        A box, ``{feature: cells}``, in which the points lie.
    budget
        What the passes may cost.

    Returns
    -------
    list of list of Fraction
        A row per feature, which adds up to 1.

    Raises
    ------
    CircuitError
        If nothing in the box satisfies the circuit, or has a worth; if the worths do not fit.

    Notes
    -----
    Two passes over the circuit for all features together, in exact integers.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"])))
    >>> either = build.circuit(build.decision(0, [([0], build.literal(1, [1])), ([1], build.true)]))
    >>> [row[1] for row in marginals(either)]
    [Fraction(2, 3), Fraction(2, 3), Fraction(1, 2)]
    >>> [row[1] for row in marginals(either, given={1: [0]})]
    [Fraction(1, 1), Fraction(0, 1), Fraction(1, 2)]
    """
    account = account_of(budget)
    totals = totals_of(circuit, worths, given=given, account=account)
    if not totals.root:
        raise CircuitError(
            "Marginals are those of points with a positive worth, but no such point satisfies the circuit; take other "
            "evidence or worths."
        )
    by_feature: dict[int, list[tuple[int, int]]] = {}
    for (i, label), passed in totals.through_arcs(account).items():
        by_feature.setdefault(i, []).append((label, passed))
    return [_row(totals, i, by_feature.get(i, [])) for i in range(len(totals.worths))]


def _row(totals: Totals, i: int, passed: list[tuple[int, int]]) -> list[Fraction]:
    """Return the marginals of a feature: of the points that are told by its cells, and of those that are not."""
    row, whole = totals.worths[i], totals.wholes[i]
    rest = totals.root - sum(flow for _, flow in passed)
    found = [Fraction(rest * w, whole) for w in row]
    for label, flow in passed:
        share = totals.of_label[i, label]
        for c in totals.circuit.cell_sets[label] if flow else ():
            found[c] += Fraction(flow * row[c], share)
    return [f / totals.root for f in found]
