"""CXps and weights read off an ordered diagram, without listing what need not be listed.

Let a node test feature i, let c_v be its child in the instance's cell, and C(u) the minimal sets of
features below u whose change reaches true. Then C(u) is C(c_v), together with {i} + T for the minimal
T among the C of the other children that contain no member of C(c_v). The families live in one
zero-suppressed diagram whose elements are in the order of the diagram's features.

Weights: by minimality an adversarial example of a CXp Y changes every feature of Y, and no way to
true passes a feature of Y without testing it. So pairs of a node of the diagram and a node of
the family suffice, and the sums over all CXps need one pass over these pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from math import lcm
from typing import Any

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import TRUE, Circuit, CircuitBuilder
from axfi_kc.circuits.queries.boxes import CircuitBoxes
from axfi_kc.circuits.queries.structure import feature_order, is_decision
from axfi_kc.errors import CircuitError
from axfi_kc.families import FamilyStore, SetFamily, WeightedDag
from axfi_kc.families.masks import features_of
from axfi_kc.families.weighted_dag import NO_ELEMENT, Arc
from axfi_kc.families.zdd_store import BASE, EMPTY

__all__ = ["OrderedDiagram"]


_BELOW = 2**31 - 1  # the level of constants, as in families
Worths = Sequence[Sequence[int]]
_Pair = tuple[int, int]  # a node of the diagram, a row of the family
_Move = tuple[_Pair, int, int]  # to where, by which feature, what it is worth


class OrderedDiagram:
    """A circuit of ordered decisions as Python lists; a cell without an arc leads to false.

    Parameters
    ----------
    circuit
        Decisions only, in one order along every path.

    Attributes
    ----------
    circuit
        The circuit.
    order
        Every feature of the domain, from the top of the diagram down.

    Raises
    ------
    CircuitError
        If the circuit has conjunctions or disjunctions, or its paths differ in order.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> either = build.decision(0, [([0], build.literal(1, [1])), ([1, 2], build.true)])
    >>> diagram = OrderedDiagram(build.circuit(either))
    >>> cxps = diagram.cxps([0, 0])
    >>> list(cxps), diagram.totals([0, 0], cxps, [(1, 1, 1), (1, 1)])
    ([1, 2], {1: 2, 2: 1})
    """

    def __init__(self, circuit: Circuit) -> None:
        order = feature_order(circuit)
        if order is None:
            found = "paths differ" if is_decision(circuit) else "nodes include conjunctions or disjunctions"
            raise CircuitError(
                f"An ordered diagram has decisions only, in one order on every path, but this circuit's {found}; "
                "convert it with targets.mdd_of or targets.obdd_of(circuit).to_circuit()."
            )
        kinds = circuit.kinds.tolist()
        self.true = kinds.index(TRUE) if TRUE in kinds else -1
        self.root = circuit.root
        self.circuit = circuit
        self._features: list[int] = circuit.features.tolist()
        self._arcs = [circuit.arcs(node) for node in range(len(kinds))]
        self.order = tuple(order)
        place = {i: k for k, i in enumerate(self.order)}
        self._levels = [_BELOW if i < 0 else place[i] for i in self._features]

    @cached_property
    def boxes(self) -> CircuitBoxes:
        """The points that lead to true, in boxes."""
        return CircuitBoxes(self.circuit)

    def cxps(self, v: Sequence[int], *, max_size: int | None = None, budget: Budget | None = None) -> SetFamily:
        """Return the CXps of the instance with cells `v`.

        Parameters
        ----------
        v
            A cell of each feature.
        max_size
            Only CXps of at most so many features.
        budget
            What the families may cost, in steps and seconds.

        Notes
        -----
        A union, a minimisation and a removal of supersets for each node, polynomial in the
        diagram only where the families on the way are.
        """
        store = FamilyStore(budget)
        known: dict[tuple[int, int, frozenset[int]], int] = {}
        found: list[int] = []
        for node, feature in enumerate(self._features):
            if feature < 0:
                found.append(BASE if node == self.true else EMPTY)
                continue
            stays, changes = EMPTY, set()
            for cells, child in self._arcs[node]:
                if v[feature] in cells:
                    stays = found[child]
                else:
                    changes.add(found[child])
            # What is in C(c_v) as well would be removed as a superset of itself: leaving it out of the key
            # lets more nodes share one computation.
            key = self._levels[node], stays, frozenset(changes - {stays, EMPTY})
            if key not in known:
                known[key] = _joined(store, *key, max_size)
                # A lookup costs nothing; only what is computed counts.
                store.spend(1)
            found.append(known[key])
        return SetFamily(self.order, store.rows(found[self.root]))

    def reaches_true(self, v: Sequence[int], mask: int) -> bool:
        """Tell whether a point that agrees with v outside `mask` leads to true (cost: linear)."""
        seen, stack = {self.root}, [self.root]
        while stack:
            node = stack.pop()
            feature = self._features[node]
            for cells, child in self._arcs[node]:
                # A free feature can take any arc, since no set of cells is empty.
                if child not in seen and (mask >> feature & 1 or v[feature] in cells):
                    seen.add(child)
                    stack.append(child)
        return self.true in seen

    def _kept(self, node: int, v: Sequence[int], level: int) -> int:
        """Return where the instance itself gets from `node` before or at `level`; -1 for false."""
        # Features between a node and the level keep the instance's cells: they are not in the CXp.
        while self._levels[node] < level:
            cell = v[self._features[node]]
            node = next((child for cells, child in self._arcs[node] if cell in cells), -1)
            if node < 0:
                return -1
        return node

    def _changed(self, node: int, v: Sequence[int], worths: Worths) -> Iterator[tuple[int, int]]:
        """Yield the children that changing the feature leads to, with what the cells are worth."""
        feature = self._features[node]
        worth, own = worths[feature], v[feature]
        for cells, child in self._arcs[node]:
            # An arc that only the instance's own cell takes changes nothing, and is no way to change the feature.
            if cells != (own,):
                yield child, sum([worth[c] for c in cells if c != own])

    def totals(
        self, v: Sequence[int], cxps: SetFamily, worths: Worths, account: Account | None = None
    ) -> dict[int, int]:
        """Return what the adversarial examples of each CXp are worth.

        Parameters
        ----------
        v
            The instance's cells.
        cxps
            Its CXps.
        worths
            Per feature, what each cell is worth.

        Notes
        -----
        Lists the CXps, depth first; CXps that begin alike share the way through the diagram.
        """
        rows = cxps.rows[:, :3].tolist()
        found: dict[int, int] = {}
        stack = [(cxps.root, 0, {self.root: 1})] if cxps else []
        while stack:
            row, mask, nodes = stack.pop()
            if account is not None:
                account.look()
            level, low, high = rows[row]
            # Also at the end: a constant's level is below all others, so the last features are passed here.
            kept = self._advanced(nodes, v, level)
            if row == BASE:
                found[mask] = kept.get(self.true, 0)
                continue
            if low != EMPTY:
                stack.append((low, mask, kept))
            changed: dict[int, int] = {}
            for node, worth in kept.items():
                # A node that does not test the feature is left behind: an example that need not change it
                # would contradict minimality.
                if self._levels[node] == level:
                    for child, part in self._changed(node, v, worths):
                        changed[child] = changed.get(child, 0) + worth * part
            stack.append((high, mask | 1 << cxps.order[level], changed))
        return found

    def _advanced(self, nodes: dict[int, int], v: Sequence[int], level: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for node, worth in nodes.items():
            end = self._kept(node, v, level)
            if end >= 0:
                found[end] = found.get(end, 0) + worth
        return found

    def dag(
        self,
        v: Sequence[int],
        cxps: SetFamily,
        worths: Worths,
        wholes: Sequence[int],
        *,
        budget: Budget | None = None,
    ) -> WeightedDag:
        """Return the weighted family of the CXps: a path is a CXp and a way of changing its features.

        Parameters
        ----------
        v
            The instance's cells.
        cxps
            Its CXps.
        worths, wholes
            Per feature, what each cell is worth, and what all of this is divided by.
        budget
            What it may cost; its nodes are pairs.

        Notes
        -----
        At most a node for each pair of a node of the diagram and a node of the family.
        """
        account = Account(budget, goal="weights of the CXps", advice="allow more, or limit max_size")
        # One denominator for all features, so that a set's denominator depends on its size alone.
        whole = lcm(*(wholes[i] for i in features_of(cxps.support)))
        scaled = {i: [w * (whole // wholes[i]) for w in worths[i]] for i in features_of(cxps.support)}
        pairs = self._pairs(v, cxps, scaled, FamilyStore(budget))
        rows = cxps.rows[:, 0].tolist()
        depth = {pair: min(self._levels[pair[0]], rows[pair[1]]) for pair in pairs}
        build = _DagBuilder()
        number = {(self.true, BASE): build.end}
        # The deeper of two levels first, so that whatever a pair leads to is numbered before it.
        for pair in account.paced(sorted(pairs, key=depth.__getitem__, reverse=True)):
            if pairs[pair]:
                number[pair] = build.node([(number.get(to, -1), i, f) for to, i, f in pairs[pair]])
        return build.dag(number.get((self.root, cxps.root), -1), whole)

    def examples(
        self,
        v: Sequence[int],
        cxps: SetFamily,
        build: CircuitBuilder,
        cells_of: Callable[[int, Iterable[int] | None], list[int]],
        *,
        budget: Budget | None = None,
    ) -> int:
        """Return the node of the adversarial examples of CXps, which change a CXp's features and keep all others.

        Parameters
        ----------
        v
            The instance's cells.
        cxps
            Its CXps, or some of them, in the order of the diagram.
        build
            Where the node is made.
        cells_of
            Gives the builder's cells of a feature: those that some of the diagram's cells are there, and that of the
            instance's own value for None.
        budget
            What it may cost; its nodes are pairs.

        Notes
        -----
        At most a decision for each pair of a node of the diagram and a node of the family, in one order.
        """
        account = Account(budget, goal="circuit of the adversarial examples", advice="allow more, or name one CXp")
        bits = [[1 << c for c in range(n)] for n in self.circuit.grid.n_cells]  # a sum of different ones is a set
        pairs, rows, end = self._pairs(v, cxps, bits, FamilyStore(budget)), cxps.rows[:, 0].tolist(), len(self.order)
        depth = {pair: min(self._levels[pair[0]], rows[pair[1]], end) for pair in pairs}
        kept = [build.literal(i, cells_of(i, None)) for i in self.order]
        chains: dict[tuple[int, int], int] = {}
        node_of = {(self.true, BASE): build.true}

        def reached(pair: _Pair, level: int) -> int:
            """Return a pair's node with the features from `level` to its own kept."""
            if pair not in node_of:
                return build.false
            span = level, depth[pair]
            if span not in chains:
                chains[span] = build.conjunction(kept[slice(*span)])
            return build.conjunction([chains[span], node_of[pair]])

        for pair in account.paced(sorted(pairs, key=depth.__getitem__, reverse=True)):
            if pairs[pair]:
                level = depth[pair]
                feature = self.order[level]
                moves = ((to, None if i == NO_ELEMENT else features_of(mask)) for to, i, mask in pairs[pair])
                arcs = [(cells_of(feature, cells), reached(to, level + 1)) for to, cells in moves]
                node_of[pair] = build.decision(feature, arcs)
        return reached((self.root, cxps.root), 0)

    def _pairs(self, v: Sequence[int], cxps: SetFamily, worths: Any, meter: FamilyStore) -> dict[_Pair, list[_Move]]:
        """Return the pairs that are met from the roots on, with the moves to others."""
        rows = cxps.rows[:, :3].tolist()
        first = (self.root, cxps.root)
        found: dict[_Pair, list[_Move]] = {}
        stack = [first] if cxps else []
        while stack:
            pair = stack.pop()
            if pair not in found:
                found[pair] = moves = list(self._moves(pair, rows, v, cxps.order, worths))
                stack += [to for to, _, _ in moves]
                meter.spend(1)
        return found

    def _moves(self, pair: _Pair, rows: Any, v: Sequence[int], order: Sequence[int], worths: Any) -> Iterator[_Move]:
        node, row = pair
        level, low, high = rows[row]
        own = self._levels[node]
        if own < level:
            end = self._kept(node, v, level)
            if self._is_open(end):
                yield (end, row), NO_ELEMENT, 1
        elif row != BASE:
            # One level further than the row's own: this feature stays as it is.
            kept = self._kept(node, v, level + 1)
            if low != EMPTY and self._is_open(kept):
                yield (kept, low), NO_ELEMENT, 1
            # A row whose feature the node does not test has no way through its high part; see the module's
            # second paragraph.
            if own == level:
                for child, worth in self._changed(node, v, worths):
                    if self._is_open(child):
                        yield (child, high), order[level], worth

    def _is_open(self, node: int) -> bool:
        """Tell whether a node is there and not the constant false."""
        return node >= 0 and (self._features[node] >= 0 or node == self.true)


def _joined(store: FamilyStore, level: int, stays: int, others: frozenset[int], max_size: int | None) -> int:
    """Return the family of a node, from those of its children."""
    # C(c_v) = {{}} means that the instance itself reaches true: nothing else is minimal.
    if stays == BASE or not others:
        return stays
    changed = store.minimal(store.union_all(others))
    if max_size is not None:
        # The element of this level is added afterwards. Cutting early is exact: a set within the limit has
        # only subsets within it.
        changed = store.at_most(changed, max_size - 1)
    return store.node(level, stays, store.non_supersets(changed, stays))


class _DagBuilder:
    """Makes a reduced weighted DAG; -1 stands for what leads nowhere."""

    end = 0

    def __init__(self) -> None:
        self._arcs: list[tuple[Arc, ...]] = [()]
        self._number: dict[tuple[Arc, ...], int] = {}

    def node(self, arcs: list[Arc]) -> int:
        merged: dict[tuple[int, int], int] = {}
        for child, element, factor in arcs:
            if child >= 0:
                merged[child, element] = merged.get((child, element), 0) + factor
        kept = tuple((child, element, factor) for (child, element), factor in merged.items())
        if not kept:
            return -1
        # A node that only passes on is its child.
        if len(kept) == 1 and kept[0][1:] == (NO_ELEMENT, 1):
            return kept[0][0]
        if kept not in self._number:
            self._number[kept] = len(self._arcs)
            self._arcs.append(kept)
        return self._number[kept]

    def dag(self, root: int, whole: int) -> WeightedDag:
        """Return what `root` reaches."""
        if root < 0:
            return WeightedDag(((), ()), whole)
        seen, stack = {self.end, root}, [root]
        while stack:
            for child, _, _ in self._arcs[stack.pop()]:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        # Numbers were given children first, and sorting keeps that.
        number = {node: k for k, node in enumerate(sorted(seen))}
        arcs = [tuple((number[c], e, f) for c, e, f in self._arcs[node]) for node in sorted(seen)]
        return WeightedDag(tuple(arcs), whole)
