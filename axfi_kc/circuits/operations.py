"""Operations on circuits and targets: what the operators mean, and what has no operator.

Each function takes any form (a circuit, a target, a compiled model). A target gives a target of its own language,
beside
itself: the other operand is brought into its order or vtree first. A circuit gives a circuit: a product of diagrams
where both are diagrams of one order, else gates, which take linear time and cannot be counted before they are
compiled. A language in which an operation may take exponential time refuses it;
:data:`~axfi_kc.circuits.queries.LANGUAGES` says which do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from random import Random
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Notes, circuit_in
from axfi_kc.circuits.operand import Operand
from axfi_kc.circuits.queries.determinism import note_like
from axfi_kc.circuits.queries.equivalence import share_manager
from axfi_kc.circuits.queries.languages import require
from axfi_kc.circuits.queries.structure import checked_order, feature_order
from axfi_kc.circuits.queries.transformations import account_of, moved, rebuilt, restricted
from axfi_kc.circuits.signed_nodes import SignedNodes
from axfi_kc.circuits.targets import Mdd, Obdd, Sdd, mdd_of, obdd_of, options_of, target_of
from axfi_kc.circuits.targets.mdd_changes import by_changing, simplified
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import CircuitError

__all__ = [
    "OPERATORS",
    "apply",
    "cofactors",
    "compose",
    "conjoin",
    "disjoin",
    "exists",
    "fingerprint",
    "forall",
    "is_same",
    "is_within",
    "negate",
    "on_grid",
    "operated",
    "restrict",
    "simplify",
]


OPERATORS: dict[str, tuple[str, str]] = {
    "and": ("conjunction", "points in both"),
    "or": ("disjunction", "points in one of the two, or in both"),
    "xor": ("exclusive disjunction", "points in exactly one of the two"),
    "implies": ("implication", "points that are in the second if they are in the first"),
    "equiv": ("equivalence of two", "points in both or in neither"),
    "diff": ("difference", "points in the first and not in the second"),
}
"""The names of operations on two forms, each with the operation of the table of languages and its meaning."""


@checked("operator", "budget")
def apply(operator: str, a: Any, b: Any, *, budget: Budget | None = None) -> Any:
    """Return the result of an operation on two forms over one domain, in the language of the first.

    Parameters
    ----------
    operator
        ``"and"``, ``"or"``, ``"xor"``, ``"implies"``, ``"equiv"`` or ``"diff"``.
    a, b
        Circuits, targets or compiled models; cells may be cut differently.
    budget
        What it may cost, where axfi_kc does it itself.

    Raises
    ------
    CircuitError
        If there is no such operation, the domains differ, or the language of `a` is not closed under it.

    Notes
    -----
    For two diagrams of one order, or of one vtree, at worst the product of their sizes.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> x, y = ax.from_expression("x", names="xy"), ax.from_expression("y", names="xy")
    >>> ax.queries.count(apply("xor", x, y)), x & y <= x, (x >> y) == (~x | y)
    (2, True, True)
    """
    if operator not in OPERATORS:
        raise CircuitError(
            f"An operation is one of {', '.join(OPERATORS)}, but {quoted(operator)} was given; name one."
        )
    account = account_of(budget)
    first, second = _on_one_grid(_form(a), _form(b), account)
    if isinstance(first, Circuit):
        return _of_circuits(operator, first, circuit_in(second), account)
    require(first.language, _operation(operator))
    other = _beside(first, second, account)
    if isinstance(first, Mdd):
        return Mdd(_of_diagrams(operator, first.circuit, other.circuit, first.order, account), first.order)
    return _of_targets(operator, first, other)


@checked("operator")
def operated(operator: str, a: Any, b: object) -> Any:
    """Return what a Python operator returns: an operation, or that it knows nothing of what is given."""
    return apply(operator, a, b) if isinstance(b, Operand) or hasattr(type(b), "target") else NotImplemented


@checked("budget")
def conjoin(a: Any, b: Any, *, budget: Budget | None = None) -> Any:
    """Return the points in both; see :func:`apply`."""
    return apply("and", a, b, budget=budget)


@checked("budget")
def disjoin(a: Any, b: Any, *, budget: Budget | None = None) -> Any:
    """Return the points in one of the two; see :func:`apply`."""
    return apply("or", a, b, budget=budget)


@checked("budget")
def negate(form: Any, *, budget: Budget | None = None) -> Any:
    """Return all other points.

    Notes
    -----
    Linear, but for the d-DNNF, which refuses it.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> ax.queries.count(negate(ax.from_expression("x & y")))
    3
    """
    own, account = _form(form), account_of(budget)
    if not isinstance(own, Circuit):
        require(own.language, "negation")
        return own.negate()
    order = feature_order(own)
    if order is not None:
        nodes = MddNodes(own.grid, order, account=account)
        return nodes.circuit(nodes.load(own), negated=True)
    gates = SignedNodes(CircuitBuilder(own.grid))
    return note_like(gates.build.circuit(gates.load(own, account)[1]), own)


@checked("values", "budget")
def restrict(form: Any, values: Mapping[Any, Any], *, budget: Budget | None = None) -> Any:
    """Return the function that no longer depends on some features: they take these values in it.

    Parameters
    ----------
    form
        Of any language.
    values
        ``{name: value}``, or ``{feature number: cell}``.

    Notes
    -----
    Linear. It stays a function of all features, so each of its points counts with every value of these; where they are
    to be no variables any more, see :func:`axfi_kc.circuits.queries.condition`.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> f = ax.from_expression("x & (y | ~z)")
    >>> restrict(f, {"x": 1}) == ax.from_expression("y | ~z", names="xyz")
    True
    >>> ax.queries.count(restrict(f, {"x": 1})), ax.queries.count(ax.queries.condition(f, {"x": 1}))
    (6, 3)
    """
    own = _form(form)
    cells = own.grid.cells_at(values)
    if isinstance(own, Obdd | Sdd):
        return own.restrict(cells)
    account = account_of(budget)
    made = restricted(circuit_in(own), cells, account)
    return made if isinstance(own, Circuit) else _beside(own, made, account)


@checked("budget")
def cofactors(form: Any, feature: int | str, *, budget: Budget | None = None) -> tuple[Any, ...]:
    """Return the restriction to each cell of a feature, in order; of a Boolean feature those to 0 and to 1.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> low, high = cofactors(ax.from_expression("x & (y | ~z)"), "x")
    >>> ax.queries.count(low), high == ax.from_expression("y | ~z", names="xyz")
    (0, True)
    """
    own, watch = _form(form), Watch(budget)
    i = own.grid.number(feature)
    return tuple(restrict(own, {i: c}, budget=watch.rest()) for c in range(own.grid.n_cells[i]))


@checked("budget")
def exists(form: Any, features: Iterable[int | str], *, budget: Budget | None = None) -> Any:
    """Return the points from which a point of the form is reached by changing only these features.

    Notes
    -----
    For one feature the product of the sizes of its cofactors, for many exponential at worst.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> f = ax.from_expression("x & (y | ~z)")
    >>> exists(f, ["x"]) == ax.from_expression("y | ~z", names="xyz")
    True
    """
    return _quantified(_form(form), features, universal=False, budget=budget)


@checked("budget")
def forall(form: Any, features: Iterable[int | str], *, budget: Budget | None = None) -> Any:
    """Return the points that stay in the form however these features change; see :func:`exists`.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> forall(ax.from_expression("x & (y | ~z)"), ["z"]) == ax.from_expression("x & y", names="xyz")
    True
    """
    return _quantified(_form(form), features, universal=True, budget=budget)


@checked("budget")
def compose(form: Any, functions: Mapping[int | str, Any], *, budget: Budget | None = None) -> Any:
    """Return the form with features of two cells replaced by functions, all at once.

    Parameters
    ----------
    form
        Over some domain.
    functions
        For a feature, the form over the same domain whose points stand for its second cell.

    Raises
    ------
    CircuitError
        If a feature has other than two cells, the domains differ, or the language is not closed under composition.

    Notes
    -----
    One conjunction for each arc of such a feature; exponential at worst.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> f, g = (ax.from_expression(text, names="xyz") for text in ("x ^ y", "y & z"))
    >>> compose(f, {"x": g}) == ax.from_expression("(y & z) ^ y", names="xyz")
    True
    """
    own = _form(form)
    if not isinstance(own, Circuit):
        require(own.language, "composition")
    if not isinstance(functions, Mapping):
        raise CircuitError(f"Functions replace features, {{feature: function}}, but {quoted(functions)} was given.")
    given = own.grid.by_number({i: _form(g) for i, g in functions.items()})
    account = account_of(budget)
    own = _moved(own, reduce(Grid.refined, (g.grid for g in given.values()), own.grid), account)
    wide = next((i for i in given if own.grid.n_cells[i] != 2), None)
    if wide is not None:
        raise CircuitError(
            f"A function of two values takes the place of a feature of two cells, but "
            f"{own.grid.domain.names[wide]!r} has {own.grid.n_cells[wide]}; compose features of two cells."
        )
    if isinstance(own, Obdd):
        return own.compose({i: _beside(own, g, account) for i, g in given.items()})
    circuits = {i: on_grid(circuit_in(g), own.grid, budget=account.rest()) for i, g in given.items()}
    made = _composed(circuit_in(own), circuits, account)
    order = feature_order(circuit_in(own), *circuits.values())
    if isinstance(own, Circuit):
        return made if order is None else mdd_of(made, order=order, budget=account.rest()).circuit
    return _beside(own, made, account)


@checked("budget")
def simplify(form: Any, care: Any, *, budget: Budget | None = None) -> Any:
    """Return a form that agrees with this one wherever `care` holds, and is as small or smaller.

    Notes
    -----
    At worst the product of the two sizes. What lies outside `care` is chosen so that nodes merge (Coudert and Madre's
    restrict); where that does not make it smaller, the form stays as it is.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> f, care = (ax.from_expression(text, names="xyz").compile("mdd") for text in ("x & y | ~x & z", "x"))
    >>> small = simplify(f, care)
    >>> f.size.nodes, small.size.nodes, small & care == f & care
    (3, 1, True)
    """
    own, account = _form(form), account_of(budget)
    first, second = _on_one_grid(own, _form(care), account)
    if isinstance(first, Circuit) and feature_order(first, circuit_in(second)) is None:
        raise CircuitError(
            "Don't-care minimisation needs two diagrams of one order, but these circuits are none; compile both "
            "into mdd or obdd first."
        )
    if isinstance(first, Obdd) and first.backend == "cudd":
        made = first.simplify(_beside(first, second, account))
    else:
        made = _simplified(first, second, account)
    return made if made.size.nodes < own.size.nodes else own  # of bits there may be more where of cells there are fewer


def _simplified(first: Any, second: Any, account: Account) -> Any:
    """Return what Coudert and Madre's restrict makes of a form over cells, in its own language."""
    if not isinstance(first, Circuit):
        require(first.language, "don't-care minimisation")
    order = first.order if isinstance(first, Mdd | Obdd) else feature_order(first, circuit_in(second))
    nodes = MddNodes(first.grid, order or (), account=account)
    root, within = nodes.load(circuit_in(first)), nodes.load(circuit_in(second))
    circuit = nodes.circuit(simplified(nodes, root, within))
    return circuit if isinstance(first, Circuit) else _beside(first, circuit, account)


@checked("budget")
def is_same(a: Any, b: Any, *, budget: Budget | None = None) -> bool:
    """Tell whether two forms are the same points of the same domain; this is ``a == b``.

    Notes
    -----
    Linear where their fingerprints differ, or they are diagrams of one manager or of one order. Elsewhere both are made
    into diagrams, which is exact and exponential at worst.
    """
    first, second, account = _form(a), _form(b), account_of(budget)
    if first.grid.domain != second.grid.domain or _fingerprint(first, account) != _fingerprint(second, account):
        return False
    try:
        first, second = _on_one_grid(first, second, account)
    except CircuitError:  # one is conditioned, the other is not
        return False
    return _compared(first, second, queries.is_equivalent, account)


@checked("budget")
def is_within(a: Any, b: Any, *, budget: Budget | None = None) -> bool:
    """Tell whether every point of one form is one of the other; this is ``a <= b``.

    Notes
    -----
    For diagrams of one manager or of one order the product of their sizes at worst, elsewhere as :func:`is_same`.
    """
    account = account_of(budget)
    return _compared(*_on_one_grid(_form(a), _form(b), account), queries.entails, account)


def fingerprint(form: Any) -> int:
    """Return a number that forms with the same points of the same domain share: the truth at 64 fixed points.

    Notes
    -----
    Linear, in any language. Different sets of points may share a number, and sets of few points often do.
    """
    return _fingerprint(form, account_of(None))


def _fingerprint(form: Any, account: Account) -> int:
    circuit = circuit_in(form)
    found = _FINGERPRINTS.get(circuit)
    if found is None:
        truths = _truths(circuit, account)
        found = _FINGERPRINTS[circuit] = hash((circuit.grid.domain.names, circuit.grid.fixed != (), truths))
    return found


_FINGERPRINTS: Notes[int] = Notes()
_N_POINTS = 64


def _truths(circuit: Circuit, account: Account) -> int:
    """Return the values at points drawn from the domain, bit k for point k."""
    cells = [_drawn_cells(axis, seed) for seed, axis in enumerate(circuit.grid.axes)]
    known: dict[tuple[int, int], int] = {}

    def decision(feature: int, labels: list[int], below: list[int]) -> int:
        found = 0
        for k, value in zip(labels, below, strict=True):
            if (feature, k) not in known:
                own = set(circuit.cell_sets[k])
                known[feature, k] = sum(1 << at for at, c in enumerate(cells[feature]) if c in own)
            found |= known[feature, k] & value
        return found

    return circuit.fold(
        decision=decision,
        conjunction=lambda below: reduce(and_, below),
        disjunction=lambda below: reduce(or_, below),
        false=0,
        true=(1 << _N_POINTS) - 1,
        account=account,
        forget=True,
    )[-1]


def _drawn_cells(axis: Axis, seed: int) -> list[int]:
    """Return the cells of values that depend on the feature alone, not on how it is cut."""
    rng, feature = Random(seed), axis.feature  # noqa: S311  # the same points in every process
    if isinstance(feature, Categorical):
        codes = [float(rng.randrange(len(feature.values))) for _ in range(_N_POINTS)]
    else:
        codes = [
            float(feature.low + (feature.high - feature.low) * rng.randrange(1025) / 1024) for _ in range(_N_POINTS)
        ]
        codes = codes if feature.kind == "real" else [float(int(code)) for code in codes]
    return axis.locate(np.array(codes)).tolist()


@checked("circuit", "grid", "budget")
def on_grid(circuit: Circuit, grid: Grid, *, budget: Budget | None = None) -> Circuit:
    """Return the circuit over the cells of a finer grid of the same domain (cost: linear, and the cells)."""
    if circuit.grid.is_like(grid):
        return circuit
    cells = [coarse.cells_holding(fine) for coarse, fine in zip(circuit.grid.axes, grid.axes, strict=True)]
    return moved(circuit, grid, cells, account=account_of(budget))


def _form(given: Any) -> Any:
    """Return a circuit or a target: of a compiled model its target."""
    if isinstance(given, Operand):
        return given
    target = getattr(given, "target", None) if hasattr(type(given), "target") else None
    return target if isinstance(target, Operand) else circuit_in(given)


def _operation(operator: str) -> str:
    """Return what the table of languages calls an operation: all but the first two need a negation too."""
    return OPERATORS[operator][0] if operator in ("and", "or") else "negation"


def _on_one_grid(a: Any, b: Any, account: Account) -> tuple[Any, Any]:
    """Return both forms over common cells."""
    grid = a.grid.refined(b.grid)
    return _moved(a, grid, account), _moved(b, grid, account)


def _moved(form: Any, grid: Grid, account: Account) -> Any:
    if form.grid.is_like(grid):
        return form
    circuit = on_grid(circuit_in(form), grid, budget=account.rest())
    return circuit if isinstance(form, Circuit) else _in_language(form, circuit, _manner(form), account)


def _manner(form: Any) -> dict[str, Any]:
    """Return the options that make another target in the order or vtree of this one."""
    if isinstance(form, Sdd):
        return {"code": form.code, "vtree": form.feature_vtree}
    if isinstance(form, Obdd):
        return {"code": form.code, "order": form.order, "backend": form.backend}
    return {"order": form.order} if isinstance(form, Mdd) else {}


def _beside(form: Any, other: Any, account: Account) -> Any:
    """Return another form as a target that can be joined with the first."""
    if share_manager(form, other):
        return other
    if isinstance(form, Mdd) and isinstance(other, Mdd) and form.order == other.order:
        return other
    manner = {"beside": form} if "beside" in options_of(form.language) else _manner(form)
    return _in_language(form, on_grid(circuit_in(other), form.grid, budget=account.rest()), manner, account)


def _in_language(form: Any, circuit: Circuit, manner: Mapping[str, Any], account: Account) -> Any:
    """Return a circuit in the language of a form; languages of others may take no budget."""
    limit = {"budget": account.rest()} if "budget" in options_of(form.language) else {}
    return target_of(form.language, circuit, **manner, **limit)


def _of_targets(operator: str, a: Any, b: Any) -> Any:
    if isinstance(a, Obdd | Sdd):
        return a.operate(operator, b)
    if operator == "and":
        return a.conjoin(b)
    if operator == "or":
        return a.disjoin(b)
    if operator == "implies":
        return a.negate().disjoin(b)
    if operator == "diff":
        return a.conjoin(b.negate())
    either = a.conjoin(b.negate()).disjoin(a.negate().conjoin(b))
    return either if operator == "xor" else either.negate()


def _of_diagrams(operator: str, a: Circuit, b: Circuit, order: Sequence[int], account: Account) -> Circuit:
    """Return the reduced diagram of an operation on two diagrams of one order."""
    nodes = MddNodes(a.grid, order, account=account)
    one, two = nodes.load(a), nodes.load(b)
    if operator == "and":
        return nodes.circuit(nodes.conjoined(one, two))
    if operator == "or":
        return nodes.circuit(nodes.disjoined(one, two))
    if operator == "implies":
        return nodes.circuit(nodes.disjoined(nodes.complement(one), two))
    other = nodes.conjoined(one, nodes.complement(two))
    if operator == "diff":
        return nodes.circuit(other)
    either = nodes.disjoined(other, nodes.conjoined(nodes.complement(one), two))
    return nodes.circuit(either, negated=operator == "equiv")


def _of_circuits(operator: str, a: Circuit, b: Circuit, account: Account) -> Circuit:
    order = feature_order(a, b)
    if order is not None:
        return _of_diagrams(operator, a, b, order, account)
    nodes = SignedNodes(CircuitBuilder(a.grid))
    made = nodes.apply(operator, nodes.load(a, account), nodes.load(b, account))[0]
    return note_like(nodes.build.circuit(made), a, b)


def _composed(circuit: Circuit, functions: Mapping[int, Circuit], account: Account) -> Circuit:
    """Return gates in which a decision on a replaced feature asks its function instead."""
    build, sets = CircuitBuilder(circuit.grid), circuit.cell_sets
    tests = {i: SignedNodes(build).load(g, account) for i, g in functions.items()}

    def decision(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        if feature not in tests:
            return build.decision(feature, [(sets[k], c) for k, c in zip(labels, below, strict=True)])
        ends = [
            next((c for k, c in zip(labels, below, strict=True) if cell in sets[k]), build.false) for cell in (0, 1)
        ]
        holds, fails = tests[feature]
        return build.disjunction([build.conjunction([holds, ends[1]]), build.conjunction([fails, ends[0]])])

    return build.circuit(rebuilt(circuit, build, decision, account)[-1])


def _quantified(form: Any, features: Iterable[int | str], *, universal: bool, budget: Budget | None) -> Any:
    numbers = form.grid.numbers(features)
    if not isinstance(form, Circuit):
        require(form.language, "quantification")
    if isinstance(form, Obdd | Sdd):
        return form.quantify(numbers, universal=universal)
    account = account_of(budget)
    order = form.order if isinstance(form, Mdd) else feature_order(circuit_in(form))
    if order is None:
        return _quantified_gates(circuit_in(form), numbers, "and" if universal else "or", account)
    nodes = MddNodes(form.grid, order, account=account)
    circuit = circuit_in(form)
    loaded = nodes.load(circuit)
    root = nodes.complement(loaded) if universal else loaded
    made = nodes.circuit(by_changing(nodes, root, numbers), negated=universal)
    return made if isinstance(form, Circuit) else _beside(form, made, account)


def _quantified_gates(circuit: Circuit, features: Sequence[int], operator: str, account: Account) -> Circuit:
    for i in features:
        parts = [restricted(circuit, {i: c}, account) for c in range(circuit.grid.n_cells[i])]
        circuit = reduce(lambda made, part: apply(operator, made, part, budget=account.rest()), parts)
    return circuit


def _compared(a: Any, b: Any, question: Callable[..., bool], account: Account) -> bool:
    """Return the answer of a question about two forms over the same cells, in a language that can answer it."""
    if share_manager(a, b):
        return question(a, b)
    first, second = circuit_in(a), circuit_in(b)
    if feature_order(first, second) is not None:
        return question(first, replace(second, grid=first.grid), budget=account.rest())
    order = checked_order(first, None)
    if max(first.grid.n_cells, default=1) > 2:
        one, two = (mdd_of(c, order=order, budget=account.rest()) for c in (first, second))
        return question(one, two, budget=account.rest())
    near = obdd_of(first, order=order, budget=account.rest())
    return question(near, obdd_of(second, beside=near, budget=account.rest()), budget=account.rest())
