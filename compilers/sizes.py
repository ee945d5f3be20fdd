"""Sizes of one model in several target languages, side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import called, checked, quoted
from axfi_kc.budget import Budget, Watch, bounding_memory, preparing
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.queries.recounting import recount
from axfi_kc.circuits.targets import TARGETS, Mdd, Obdd, Sdd, Target, language_of, reordered, target_of
from axfi_kc.compilers.compiled_model import base_circuit, question_about
from axfi_kc.compilers.feature_orders import ORDERS, Order, feature_order
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number
from axfi_kc.errors import BudgetError, CircuitError, MissingExtraError
from axfi_kc.models import Model, Similarity
from axfi_kc.models.support import possible_share

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "DEFAULT_BUDGET", "SizeRow", "Way", "compare_sizes", "plan_of", "size_rows", "typed"]


DEFAULT_BUDGET = Budget(seconds=60)
_BOTH = ("with", "without")  # constraints


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One model in one language, code, order and vtree.

    Attributes
    ----------
    target, code, order, vtree
        How it was compiled; code and vtree are None where the language has none.
    constraints
        ``"with"``: the circuit of the possible points that have the output; ``"without"``: of all points that do;
        None if the domain has no constraints.
    nodes, edges, bytes, seconds
        What that took, the compilation of the model included; None where it did not succeed.
    count
        How many points have the output; None where a feature is real.
    probability
        The probability of the output.
    agrees
        Whether count and probability are those of the first row that succeeded (with constraints, or without), whose
        probability was also computed by a second, independent route; None where that route did not finish.
    note
        Why there are no figures; or which library held the diagram.
    library_nodes, library_edges
        What the library that holds the diagram says itself. dd: nodes, a function and its complement being one, with
        the constant (``len(root)``), and no edges. PySDD: decisions and elements (``root.count()``, ``root.size()``).
    circuit_nodes, circuit_edges
        The common circuit of the same points, in which all languages are measured alike.
    """

    target: str
    code: str | None
    order: str
    vtree: str | None
    nodes: int | None = None
    edges: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    count: int | None = None
    probability: Fraction | None = None
    agrees: bool | None = None
    note: str = ""
    constraints: str | None = None
    library_nodes: int | None = None
    library_edges: int | None = None
    circuit_nodes: int | None = None
    circuit_edges: int | None = None


COLUMNS = tuple(SizeRow.__dataclass_fields__)


@checked("domain", "output", "targets", "codes", "orders", "vtrees", "reorder", "budget", "progress", "on_row")
def compare_sizes(
    model: Any,
    domain: Domain,
    *,
    output: Any = None,
    delta: Number | None = None,
    targets: Sequence[str] | None = None,
    codes: Sequence[str] = ("order",),
    orders: Sequence[Order] = ORDERS,
    vtrees: Sequence[Any] = ("right", "balanced"),
    reorder: bool = False,
    budget: Budget = DEFAULT_BUDGET,
    progress: bool = False,
    on_row: Callable[[SizeRow], None] | None = None,
) -> pd.DataFrame:
    """Compile "the model's output is `output`" into each target and return their sizes.

    Parameters
    ----------
    model, domain, output, delta
        As in :func:`axfi_kc.compile_model`.
    targets
        The languages; all of ``axfi_kc.circuits.targets.TARGETS`` by default.
    codes
        How features of several cells are written in bits, for the languages that need it: ``"order"``,
        ``"binary"``, ``"direct"``.
    orders
        The orders of the features: ``"influence"``, ``"force"``, ``"given"``, or lists of names.
    vtrees
        For SDDs: ``"right"``, ``"balanced"``, or nested pairs of names.
    reorder
        Whether to add a row for each after a search for a better order: sifting of MDDs and OBDDs,
        PySDD's search for a vtree.
    budget
        What each row may cost, reading and compiling the model included; a row that does not fit says so in its note.
        The check of the first row by a second route has as much once more.
    progress
        Whether to show a progress bar.
    on_row
        Called with each row as soon as it is known.

    Returns
    -------
    pandas.DataFrame
        A row per combination: target, code, order, vtree, nodes, edges, bytes, seconds, count,
        probability, agrees, note, constraints, library_nodes, library_edges, circuit_nodes, circuit_edges (see
        :class:`~axfi_kc.compilers.sizes.SizeRow`). If the domain has constraints, two rows: with them and without.

    Examples
    --------
    >>> from axfi_kc.domain import Integer
    >>> bits = Domain([Integer(f"x{i}", 0, 1) for i in range(4)])
    >>> frame = compare_sizes(lambda p: sum(p) >= 2, bits, orders=["given"], vtrees=["balanced"])
    >>> frame[["target", "nodes", "count", "agrees"]].to_string(index=False).split()[4:12]
    ['mdd', '6', '11', 'True', 'obdd', '6', '11', 'True']
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "A table of sizes") from error
    names = tuple(TARGETS) if targets is None else targets
    plan = plan_of(domain, names, codes, orders, vtrees, [None, "search"] if reorder else [None])
    rows: Any = size_rows(model, domain, plan, output=output, delta=delta, budget=budget)
    if progress and sys.stderr is not None:
        from tqdm.auto import tqdm

        rows = tqdm(rows, total=len(plan), unit="circuit", desc="compiling")
    found = []
    for row in rows:
        found.append([getattr(row, c) for c in COLUMNS])
        if on_row is not None:
            called(on_row, "on_row", row)
    return typed(pd.DataFrame(found, columns=list(COLUMNS)))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of rows with types that know a missing value: one row without figures would make floats."""
    numbers = ("nodes", "edges", "bytes", "library_nodes", "library_edges", "circuit_nodes", "circuit_edges")
    return frame.astype({**dict.fromkeys(numbers, "Int64"), "agrees": "boolean"})


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compile.

    Attributes
    ----------
    target, order, code, vtree, constraints
        As in :class:`SizeRow`.
    search
        ``"search"`` for the language's own, or ``"window"``; None: the order is taken as it is.
    order_name, vtree_name
        How to call an order or a vtree that has no name of its own.
    """

    target: str
    order: Order
    code: str | None
    vtree: Any
    search: str | None = None
    constraints: str | None = None
    order_name: str | None = None
    vtree_name: str | None = None

    @property
    def row(self) -> SizeRow:
        """The row without figures."""
        order = self.order_name or (self.order if isinstance(self.order, str) else " ".join(self.order))
        if self.search is not None:
            order += f", {'window' if self.search == 'window' else language_of(self.target).searched}"
        text = self.vtree if isinstance(self.vtree, str) else quoted(self.vtree)
        vtree = None if self.vtree is None else self.vtree_name or text
        return SizeRow(self.target, self.code, order, vtree, constraints=self.constraints)


def plan_of(
    domain: Domain,
    targets: Sequence[str],
    codes: Sequence[str],
    orders: Sequence[Order],
    vtrees: Sequence[Any],
    searches: Sequence[str | None],
) -> list[Way]:
    """Return all combinations; a choice that a target does not have is left out."""
    found = []
    for target in targets:
        language = language_of(target)
        known = language.options
        of_codes = codes if "code" in known else [None]
        of_vtrees = vtrees if "vtree" in known else [None]
        able = {None, *(["search"] if language.search is not None else []), *(["window"] if target == "mdd" else [])}
        of_searches = [search for search in searches if search in able]
        found += [Way(target, o, c, v, s) for o, c, v, s in product(orders, of_codes, of_vtrees, of_searches)]
    return [replace(way, constraints=c) for way in found for c in (_BOTH if domain.constraints else (None,))]


def size_rows(
    model: Any,
    domain: Domain,
    plan: Sequence[Way],
    *,
    output: Any = None,
    delta: Number | None = None,
    budget: Budget = DEFAULT_BUDGET,
) -> Iterator[SizeRow]:
    """Compile in each way of `plan` and yield its row as soon as it is known."""
    # Sizes do not depend on a joint distribution; the probabilities that confirm them are of independent features.
    domain = domain.with_distribution(None)
    watch = Watch(budget)
    try:
        with preparing(budget):
            forms, wanted, similarity = _questions(model, domain, output, delta)
    except BudgetError as error:
        yield from (replace(way.row, note=str(error)) for way in plan)
        return
    budget = watch.rest()
    made: dict[tuple[bool, str, str | None], tuple[Circuit | str, float]] = {}
    first: dict[str | None, SizeRow] = {}

    def circuit_of(way: Way) -> tuple[Circuit | str, float]:
        # Targets share the circuit they start from, but each row has its seconds, so rows compare whole compilations.
        # Failures are kept too: each would cost the whole budget once more.
        key = language_of(way.target).direct, str(way.order), way.constraints
        if key not in made:
            begin = time.perf_counter()
            options: dict[str, Any] = {"target": way.target, "order": way.order, "budget": budget}
            try:
                found: Circuit | str = base_circuit(forms[way.constraints], wanted, similarity, similar=True, **options)
            except BudgetError as error:
                found = str(error)
            made[key] = found, time.perf_counter() - begin
        return made[key]

    for way in plan:
        circuit, seconds = circuit_of(way)
        if isinstance(circuit, str):
            yield replace(way.row, note=circuit)
            continue
        features = feature_order(way.order, domain, forms["with"].uses())
        row = _measured(way, circuit, seconds, features, budget)
        if row.nodes is not None:
            if way.constraints not in first:
                first[way.constraints] = replace(row, agrees=_confirmed(circuit, row, budget))
            judge = first[way.constraints]
            same = (row.count, row.probability) == (judge.count, judge.probability)
            row = replace(row, agrees=judge.agrees if same else False)
        yield row


def _questions(
    model: Any, domain: Domain, output: Any, delta: Number | None
) -> tuple[dict[str | None, Model], Hashable, Similarity]:
    """Return the model's form for each way to take constraints, the output that is meant, and what counts as that."""
    form, wanted, similarity = question_about(model, domain, output=output, delta=delta)
    forms: dict[str | None, Model] = {None: form, "with": form}
    if domain.constraints:
        forms["without"] = question_about(model, domain.unconstrained, output=output, delta=delta)[0]
    return forms, wanted, similarity


def _measured(way: Way, circuit: Circuit, before: float, order: list[int], budget: Budget) -> SizeRow:
    with bounding_memory(budget):
        return _made(way, circuit, before, order, Watch(budget, ago=before))


def _made(way: Way, circuit: Circuit, before: float, order: list[int], watch: Watch) -> SizeRow:
    language = language_of(way.target)
    options = {"code": way.code, "order": order, "vtree": way.vtree, "budget": watch.rest()}
    options |= {language.search: True} if way.search == "search" and language.search is not None else {}
    begin = time.perf_counter()
    try:
        made = target_of(way.target, circuit, **{k: v for k, v in options.items() if k in language.options})
        if way.search == "window" and isinstance(made, Mdd):
            made = reordered(made, budget=watch.rest())
        # Taken before counting, which is a check and no part of the compilation.
        seconds = before + time.perf_counter() - begin
        countable = all(axis.counts is not None for axis in circuit.grid.axes)
        count = made.count(budget=watch.rest()) if countable else None
        probability = made.probability(budget=watch.rest()) / possible_share(circuit.grid)
    except (BudgetError, CircuitError, MissingExtraError) as error:
        return replace(way.row, note=str(error))
    return replace(
        way.row,
        nodes=made.size.nodes,
        edges=made.size.edges,
        bytes=made.bytes,
        seconds=seconds,
        count=count,
        probability=probability,
        note=getattr(made, "backend", ""),
        **_other_sizes(made),
    )


def _other_sizes(made: Target) -> dict[str, Any]:
    """Return the size in the terms of the library that holds a diagram, and that of the common circuit."""
    common = made.to_circuit().size
    found: dict[str, Any] = {"circuit_nodes": common.nodes, "circuit_edges": common.edges}
    if isinstance(made, Obdd):
        found["library_nodes"] = len(made.root)
    elif isinstance(made, Sdd):
        found |= {"library_nodes": int(made.root.count()), "library_edges": int(made.root.size())}
    return found


def _confirmed(circuit: Circuit, row: SizeRow, budget: Budget) -> bool | None:
    """Tell whether a second, independent route gives the same probability; None where it does not finish."""
    axes = circuit.grid.axes
    try:
        # On the circuit the target was made of, so that the target's library has no part in the second route.
        again = recount(circuit, [axis.numerators for axis in axes], budget=budget)
    except BudgetError:
        return None
    return Fraction(again, prod(axis.denominator for axis in axes)) / possible_share(circuit.grid) == row.probability
