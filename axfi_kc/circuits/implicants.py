"""Prime and minimal implicants, as families that need not be listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget, Watch
from axfi_kc.circuits.circuit import Form, circuit_in
from axfi_kc.circuits.queries.satisfiability import values_of
from axfi_kc.circuits.queries.structure import checked_order
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.domain.grid import Grid
from axfi_kc.families.masks import features_of
from axfi_kc.families.set_family import SetFamily
from axfi_kc.families.zdd_store import BASE, EMPTY, FamilyStore

__all__ = ["Implicants", "prime_implicants"]


_FALSE, _TRUE = 0, 1


@dataclass(frozen=True, slots=True, eq=False)
class Implicants:
    """Terms "these features have these values" that make a function true, as a family of sets.

    Attributes
    ----------
    family
        Element ``first + c`` of a set says that a feature lies in its cell c; `first` is the number of cells of the
        features before it.
    grid
        The features and their cells.
    """

    family: SetFamily
    grid: Grid = field(repr=False)

    @property
    def count(self) -> int:
        """The number of terms, exactly."""
        return self.family.count

    @property
    def sizes(self) -> dict[int, int]:
        """The number of terms of each number of features."""
        return self.family.sizes

    def __len__(self) -> int:
        """Return the number of terms."""
        return self.count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the terms as ``{name: value}``, the shortest first; a cell of several values is a text."""
        places = [(axis, c) for axis in self.grid.axes for c in range(axis.n_cells)]
        for mask in self.family:
            chosen = [places[e] for e in features_of(mask)]
            yield {axis.feature.name: _shown(axis, c) for axis, c in chosen}

    @checked("budget")
    def minimal(self, *, budget: Budget | None = None) -> Implicants:
        """Return the terms with the fewest features."""
        return Implicants(self.family.smallest(budget=budget), self.grid)


def _shown(axis: Any, cell: int) -> Any:
    single = axis.counts is not None and axis.counts[cell] == 1
    return values_of(axis, cell)[0] if single else axis.describe([cell])


@checked("budget")
def prime_implicants(form: Form, *, budget: Budget | None = None) -> Implicants:
    """Return all prime implicants: terms that force the function, and of which no feature can be left out.

    Parameters
    ----------
    form
        Any circuit, target or compiled model; what is no ordered diagram becomes one.
    budget
        What it may cost.

    Returns
    -------
    Implicants
        As a family on a zero-suppressed diagram; ``.minimal()`` are those with the fewest features.

    Notes
    -----
    Coudert and Madre's recursion on the nodes of an ordered diagram: those without the feature are the prime
    implicants of the conjunction of all children, those with a value of it the prime implicants of its child that
    are none of these. Exponential at worst, as are the prime implicants.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> found = prime_implicants(ax.from_expression("x & y | ~x & z"))
    >>> sorted(map(str, found))
    ["{'x': 0, 'z': 1}", "{'x': 1, 'y': 1}", "{'y': 1, 'z': 1}"]
    >>> len(prime_implicants(ax.from_expression("x | y & z")).minimal())
    1
    """
    circuit, watch = circuit_in(form), Watch(budget)
    order = checked_order(circuit, None)
    nodes = MddNodes(circuit.grid, order, account=account_of(budget))
    root = nodes.load(circuit)
    store = FamilyStore(None if budget is None else watch.rest())
    n_cells = circuit.grid.n_cells
    firsts = [0, *accumulate(n_cells[i] for i in order)]  # the first level of each place
    starts = [0, *accumulate(n_cells)]
    elements = tuple(starts[i] + c for i in order for c in range(n_cells[i]))
    found = _primes(nodes, store, root, firsts)
    return Implicants(SetFamily(elements, store.rows(found)), circuit.grid)


def _primes(nodes: MddNodes, store: FamilyStore, root: int, firsts: list[int]) -> int:
    """Return the family of the prime implicants of a node (no recursion)."""
    known = {_FALSE: EMPTY, _TRUE: BASE}
    common: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        ends, children = nodes.runs[node][::2], nodes.runs[node][1::2]
        if node not in common:
            every = _TRUE
            for child in set(children):
                every = nodes.conjoined(every, child)
            common[node] = every
        missing = [child for child in (common[node], *children) if child not in known]
        if missing:
            stack += missing
            continue
        without = made = known[common[node]]
        last = ends[-1]
        for end, child in zip(reversed([0, *ends[:-1]]), reversed(children), strict=True):
            own = store.non_supersets(known[child], without)
            for cell in reversed(range(end, last)):
                made = store.node(firsts[nodes.places[node]] + cell, made, own)
            last = end
        known[node] = made
    return known[root]
