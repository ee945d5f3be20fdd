"""Two circuits compared: equivalence and entailment of diagrams of one order."""

from __future__ import annotations

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.circuits.queries.structure import feature_order
from axfi_kc.circuits.queries.transformations import account_of, copied
from axfi_kc.errors import CircuitError

__all__ = ["entails", "is_equivalent", "share_manager"]


@checked("budget")
def is_equivalent(a: Form, b: Form, *, budget: Budget | None = None) -> bool:
    """Tell whether two ordered diagrams, or two SDDs of one manager, have the same models.

    Raises
    ------
    CircuitError
        If there is no order of the features that both respect, and no manager that holds both.

    Notes
    -----
    Linear: reduced diagrams of one order are equal exactly if their functions are, and in one manager there is one node
    for each function. ``a == b`` asks the same of any two forms, at any cost.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> small, large = build.circuit(build.literal(0, [1])), build.circuit(build.literal(0, [1, 2]))
    >>> is_equivalent(small, large), entails(small, large), entails(large, small)
    (False, True, False)
    """
    if share_manager(a, b):
        return bool(a.root == b.root)  # type: ignore[union-attr]  # managers hold roots
    first, second = circuit_in(a), circuit_in(b)
    _common_order(first, second, "equivalence")
    _, root_a, root_b = _together(first, second, account_of(budget))
    return root_a == root_b


def share_manager(a: Form, b: Form) -> bool:
    """Tell whether one manager holds both diagrams: then functions are the same exactly if their nodes are."""
    return type(a) is type(b) and hasattr(a, "shares_manager") and a.shares_manager(b)


@checked("budget")
def entails(a: Form, b: Form, *, budget: Budget | None = None) -> bool:
    """Tell whether every model of a diagram `a` is one of `b`: both of one order, or SDDs of one manager.

    Raises
    ------
    CircuitError
        If there is no order of the features that both respect, and no manager that holds both.

    Notes
    -----
    The product of the two sizes at worst; a node of the budget is a pair of nodes.
    """
    if share_manager(a, b):
        return bool(a.conjoin(b).root == a.root)  # type: ignore[union-attr]
    return _entails(circuit_in(a), circuit_in(b), budget)


def _entails(a: Circuit, b: Circuit, budget: Budget | None) -> bool:
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
        raise refusal(query, "decision diagrams of one order, or SDDs of one manager, but these two are neither")
    return order


def _together(a: Circuit, b: Circuit, account: Account) -> tuple[CircuitBuilder, int, int]:
    """Return both diagrams reduced in one builder, and their roots."""
    build = CircuitBuilder(a.grid)
    return build, copied(a, build, account), copied(b, build, account)
