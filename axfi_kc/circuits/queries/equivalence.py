"""Two circuits compared: equivalence and entailment of diagrams of one order."""

from __future__ import annotations

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.circuits.queries.structure import feature_order
from axfi_kc.circuits.queries.transformations import account_of, copied
from axfi_kc.errors import CircuitError

__all__ = ["entails", "is_equivalent"]


def is_equivalent(a: Circuit, b: Circuit, *, budget: Budget | None = None) -> bool:
    """Tell whether two ordered diagrams have the same models.

    Raises
    ------
    CircuitError
        If there is no order of the features that both respect.

    Notes
    -----
    Linear: reduced diagrams of one order are equal exactly if their functions are.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> small, large = build.circuit(build.literal(0, [1])), build.circuit(build.literal(0, [1, 2]))
    >>> is_equivalent(small, large), entails(small, large), entails(large, small)
    (False, True, False)
    """
    _common_order(a, b, "equivalence")
    _, root_a, root_b = _together(a, b, account_of(budget))
    return root_a == root_b


def entails(a: Circuit, b: Circuit, *, budget: Budget | None = None) -> bool:
    """Tell whether every model of the ordered diagram `a` is one of the ordered diagram `b`.

    Raises
    ------
    CircuitError
        If there is no order of the features that both respect.

    Notes
    -----
    The product of the two sizes at worst; a node of the budget is a pair of nodes.
    """
    order = _common_order(a, b, "sentential entailment")
    place = {i: k for k, i in enumerate(order)}
    account = account_of(budget)
    build, root_a, root_b = _together(a, b, account)
    tops = [len(order) if (i := build.node(n)[1]) < 0 else place[i] for n in range(len(build))]
    n_cells = a.grid.n_cells
    seen = {(root_a, root_b)}
    stack = [(root_a, root_b)]
    while stack:
        u, v = stack.pop()
        account.spend(1)
        if u == build.false or v == build.true or u == v:
            continue
        if v == build.false or u == build.true:  # reduced: u has a model, v lacks one
            return False
        top = min(tops[u], tops[v])
        n = n_cells[order[top]]
        halves = [_by_cell(build, w, n) if tops[w] == top else [w] * n for w in (u, v)]
        fresh = set(zip(*halves, strict=True)) - seen
        seen |= fresh
        stack += fresh
    return True


def _by_cell(build: CircuitBuilder, node: int, n: int) -> list[int]:
    """Return the child of a decision for each of its n cells."""
    found = [build.false] * n
    _, _, labels, children = build.node(node)
    for k, child in zip(labels, children, strict=True):
        for c in build.cells(k):
            found[c] = child
    return found


def _common_order(a: Circuit, b: Circuit, query: str) -> list[int]:
    if a.grid.n_cells != b.grid.n_cells:
        raise CircuitError(
            f"Circuits are compared over the same cells, but one has {str(a.grid.n_cells)[:40]} of them and the other "
            f"{str(b.grid.n_cells)[:40]}; compile both on one grid."
        )
    order = feature_order(a, b)
    if order is None:
        raise refusal(query, "decision diagrams of one order, but these two have none in common")
    return order


def _together(a: Circuit, b: Circuit, account: Account) -> tuple[CircuitBuilder, int, int]:
    """Return both diagrams reduced in one builder, and their roots."""
    build = CircuitBuilder(a.grid)
    return build, copied(a, build, account), copied(b, build, account)
