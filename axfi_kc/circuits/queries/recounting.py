"""What is left of a circuit when features are set one after the other, by plain rewriting.

Nothing here relies on decomposability or determinism, so a count made this way judges the linear
one. It is a search: exponential at worst, and under a budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import AND, DECISION, Circuit, CircuitBuilder

__all__ = ["DEFAULT_BUDGET", "Residuals", "cell_classes", "recount"]


DEFAULT_BUDGET = Budget(nodes=1_000_000)
_LOOK = 1 << 6  # steps between two looks at the clock


class Residuals:
    """The nodes of a circuit and what becomes of them, in one table of shared nodes.

    Features are set in the order in which they are met from the root down. What is done with them is
    counted on `account`.
    """

    def __init__(self, circuit: Circuit, budget: Budget | None) -> None:
        self.build = CircuitBuilder.like(circuit)
        self.account = Account(
            budget or DEFAULT_BUDGET,
            goal="setting of features one after the other",
            advice="give a larger budget",
            unit="steps",
            at_once=_LOOK,
        )
        met = dict.fromkeys(circuit.features[::-1].tolist())
        self.order = [i for i in met if i >= 0]
        self._place = {i: k for k, i in enumerate(self.order)}
        # The constants, the first two nodes of a builder, have no first feature: a place behind all others.
        self._tops = [len(self.order)] * 2
        self._memo: dict[tuple[int, int], dict[int, int]] = {}
        self.numbers = self._copied(circuit)

    def _copied(self, circuit: Circuit) -> list[int]:
        """Return the number that each node of the circuit has here."""
        build = self.build
        return circuit.fold(
            decision=lambda feature, labels, below: self._placed(build.decide(feature, labels, below)),
            conjunction=lambda below: self._placed(build.conjunction(below)),
            disjunction=lambda below: self._placed(build.disjunction(below)),
            false=build.false,
            true=build.true,
            account=self.account,
        )

    def _placed(self, node: int) -> int:
        """Note the first feature of a node that may be new; its children are known."""
        # A builder numbers new nodes one after the other, so any other number is a node that was met before.
        if node == len(self._tops):
            _, feature, _, children = self.build.node(node)
            places = [self._tops[c] for c in children]
            self._tops.append(min([*places, self._place[feature]] if feature >= 0 else places))
        return node

    def conjunction(self, a: int, b: int) -> int:
        """Return the conjunction of two nodes, whatever their scopes."""
        return self._placed(self.build.conjunction([a, b]))

    def top(self, node: int) -> int:
        """Return the place of the first feature below `node`; the number of features for a constant."""
        return self._tops[node]

    def at(self, node: int, cell: int) -> int:
        """Return what is left of `node` when its first feature takes `cell`."""
        place = self._tops[node]
        memo = self._memo.setdefault((place, cell), {})
        stack = [node]
        while stack:
            u = stack[-1]
            if u in memo:
                stack.pop()
                continue
            kind, feature, labels, children = self.build.node(u)
            # A child whose first feature comes later does not mention this one: it stays as it is, without a memo.
            open_ones = [c for c in children if self._tops[c] == place and c not in memo]
            if open_ones:
                stack += open_ones
                continue
            self.account.spend(1)
            below = [memo.get(c, c) for c in children]
            if feature == self.order[place]:
                named = (c for c, k in zip(below, labels, strict=True) if cell in self.build.cells(k))
                memo[u] = next(named, self.build.false)
            else:
                gate = self.build.conjunction if kind == AND else self.build.disjunction
                made = self.build.decide(feature, labels, below) if kind == DECISION else gate(below)
                memo[u] = self._placed(made)
            stack.pop()
        return memo[node]


def recount(circuit: Circuit, worths: Sequence[Sequence[int]], *, budget: Budget | None = None) -> int:
    """Return the sum over all satisfying cell vectors of the product of worths, by setting feature after feature.

    Raises
    ------
    BudgetError
        If it did not end within the budget.

    Notes
    -----
    Needs no property of the circuit. As large as the circuit's ordered diagram for the order in which
    features are met from the root down: linear for ordered diagrams, exponential at worst.
    """
    work = Residuals(circuit, budget)
    wholes = [sum(worths[i]) for i in work.order]
    classes = cell_classes(circuit)
    known = {work.build.false: 0, work.build.true: 1}
    root = work.numbers[-1]
    stack = [root]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        work.account.spend(1)
        place = work.top(node)
        feature = work.order[place]
        # Rewriting can only unite labels of the circuit, so no node tells cells of a class apart: one speaks for all.
        below = [(work.at(node, cells[0]), sum([worths[feature][c] for c in cells])) for cells in classes[feature]]
        waiting = [child for child, _ in below if child not in known]
        if waiting:
            stack += waiting
            continue
        # Features placed between a node and its child do not occur below it, so all their cells count.
        known[node] = sum([w * known[c] * prod(wholes[place + 1 : work.top(c)]) for c, w in below])
        stack.pop()
    unmet = set(range(len(worths))) - set(work.order)
    return known[root] * prod(wholes[: work.top(root)]) * prod(sum(worths[i]) for i in unmet)


def cell_classes(circuit: Circuit) -> list[list[list[int]]]:
    """Return for each feature its cells, in groups that no decision on the feature tells apart."""
    labels: list[set[int]] = [set() for _ in circuit.grid.axes]
    offsets, arc_labels = circuit.offsets.tolist(), circuit.labels.tolist()
    for node, feature in enumerate(circuit.features.tolist()):
        if feature >= 0:
            labels[feature].update(arc_labels[offsets[node] : offsets[node + 1]])
    found = []
    for n, used in zip(circuit.grid.n_cells, labels, strict=True):
        marks: list[list[int]] = [[] for _ in range(n)]
        for k in sorted(used):
            for c in circuit.cell_sets[k]:
                marks[c].append(k)
        groups: dict[tuple[int, ...], list[int]] = {}
        for c, mark in enumerate(marks):
            groups.setdefault(tuple(mark), []).append(c)
        found.append(list(groups.values()))
    return found
