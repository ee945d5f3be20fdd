"""Clauses into any target language, through the library that is good at it, and their models counted by two routes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from math import lcm, log10, prod
from os import PathLike
from typing import Any

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, Watch, preparation, preparing
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.cnf import compile_clauses_with_dsharp
from axfi_kc.circuits.files.counting_problems import CountingProblem, read_counting_problem
from axfi_kc.circuits.files.text_lines import FilePath
from axfi_kc.circuits.files.variables import MOST_NAMES, Variables
from axfi_kc.circuits.queries.structure import complete_order
from axfi_kc.circuits.targets import Target, language_of, target_of
from axfi_kc.circuits.targets.ddnnf import Ddnnf, ddnnf_of
from axfi_kc.circuits.targets.mdd import mdd_of
from axfi_kc.circuits.targets.obdd import Obdd, obdd_of_clauses
from axfi_kc.circuits.targets.sdd import Sdd, sdd_of_clauses
from axfi_kc.errors import CircuitError, UnsupportedTargetError, VerificationError
from axfi_kc.families.force import force_order

__all__ = ["ROUTES", "CountAnswer", "compile_cnf", "count_models"]


ROUTES = ("dsharp", "dd", "pysdd")
Problem = CountingProblem | FilePath | Iterable[Sequence[int]]
_USUAL = {"mdd": "dd", "obdd": "dd", "sdd": "pysdd"}


def _problem_of(problem: Problem, budget: Budget | None) -> CountingProblem:
    if isinstance(problem, CountingProblem):
        found = problem
    elif isinstance(problem, str | PathLike):
        found = read_counting_problem(problem, budget=budget)
    else:
        found = CountingProblem.of(problem)
    if found.n_variables > MOST_NAMES:
        raise CircuitError(
            f"Clauses are compiled with at most {MOST_NAMES} variables, but there are {found.n_variables}; number "
            "those that occur."
        )
    return found


@checked("target", "via", "budget")
def compile_cnf(
    problem: Problem,
    *,
    target: str = "ddnnf",
    via: str | None = None,
    order: str | Sequence[int] = "force",
    vtree: Any = "balanced",
    budget: Budget | None = None,
) -> Target:
    """Compile clauses into a target language.

    Parameters
    ----------
    problem
        A file in the format of the Model Counting Competition, clauses as sequences of literals, or a
        :class:`~axfi_kc.circuits.files.counting_problems.CountingProblem`. Variables that are projected out are
        projected out of the circuit.
    target
        The language, one of ``axfi_kc.circuits.targets.TARGETS``.
    via
        What does the work: ``"dd"`` (for any target), ``"pysdd"`` (any but ``"obdd"``), ``"dsharp"`` (for ``"ddnnf"``,
        without projection). By default the library of the language's own; for ``"ddnnf"`` dsharp if it is installed.
    order
        Of the variables, for ordered diagrams and the vtree: ``"force"`` (those of a clause close together),
        ``"given"``, or every variable's number from 0 once.
    vtree
        For ``"pysdd"``, as in :func:`~axfi_kc.circuits.targets.sdd.sdd_of`; features are called ``x1``, ``x2``, ...
    budget
        What it may cost.

    Returns
    -------
    Target
        Over the features ``x1``, ``x2``, ... with the values 0 and 1.

    Raises
    ------
    UnsupportedTargetError, CircuitError
        If there is no such language, or what is named does not make it.
    ModelFileError, BudgetError, MissingExtraError

    Notes
    -----
    Exponential at worst. Clauses go to dd from the bottom of the order up, and to PySDD where their variables meet in
    the vtree, and so are projected out as soon as possible. A top-down compiler of our own was not made: dsharp is one.

    Examples
    --------
    >>> clauses = [(1, 2), (-2, 3), (-1, -3)]
    >>> [compile_cnf(clauses, target=t, via="dd").count() for t in ("mdd", "obdd", "ddnnf")]
    [2, 2, 2]
    >>> compile_cnf(clauses, target="sdd").count()
    2
    """
    with preparing(budget):
        return _compiled(problem, target, via, order, vtree, budget)


def _compiled(
    problem: Problem, target: str, via: str | None, order: str | Sequence[int], vtree: Any, budget: Budget | None
) -> Target:
    watch = Watch(budget)
    language_of(target)
    given = _problem_of(problem, budget)
    via = via or _USUAL.get(target) or ("dsharp" if find_spec("problog") and given.shown is None else "dd")
    if via not in ROUTES:
        raise UnsupportedTargetError(
            f"via must be one of {', '.join(ROUTES)}, but {quoted(via)} was given; name one of these."
        )
    if (via == "dsharp" and (target in _USUAL or given.shown is not None)) or (via == "pysdd" and target == "obdd"):
        projected = ", projected" if given.shown is not None else ""
        raise CircuitError(f"{via} does not make the target {target!r}{projected}; take another one, such as via='dd'.")
    if via == "dsharp":
        return Ddnnf(_by_dsharp(given, watch.rest() if budget else None), converted=False, smooth=False)
    made = _by_library(given, via, order, vtree, watch.rest())
    if made.language == target:
        return made
    if target == "mdd" and via == "dd":
        features = [bit.feature for bit in made.bits] if isinstance(made, Obdd) else None
        return mdd_of(made.to_circuit(), order=features, budget=watch.rest())
    if target == "ddnnf":
        return ddnnf_of(made.to_circuit(), deterministic=True, budget=watch.rest())
    return target_of(target, made.to_circuit(), budget=watch.rest())


def _by_dsharp(problem: CountingProblem, budget: Budget | None) -> Circuit:
    return compile_clauses_with_dsharp(problem, Variables.of_code(problem.grid), budget=budget)


def _by_library(
    problem: CountingProblem, via: str, order: str | Sequence[int], vtree: Any, budget: Budget
) -> Obdd | Sdd:
    grid, clauses = problem.grid, problem.proper_clauses
    features = _order(problem.n_variables, clauses, order)
    hidden = [v - 1 for v in problem.hidden]
    if via == "dd":
        return obdd_of_clauses(grid, clauses, order=features, hidden=hidden, budget=budget)
    return sdd_of_clauses(grid, clauses, vtree=vtree, order=features, hidden=hidden, budget=budget)


def _order(n: int, clauses: Sequence[Sequence[int]], order: str | Sequence[int]) -> list[int]:
    if not isinstance(order, str):
        return complete_order(order, n)
    if order not in ("force", "given"):
        raise CircuitError(f"An order is 'force', 'given' or a list of all variables, but {quoted(order)} was given.")
    start = list(range(n))
    if order == "given":
        return start
    account = Account(preparation(), goal="order of the variables", advice="allow more, or take order='given'")
    return force_order(start, [{abs(x) - 1 for x in clause} for clause in account.paced(clauses)], account=account)


@dataclass(frozen=True, slots=True)
class CountAnswer:
    """The answer to a counting problem.

    Attributes
    ----------
    track
        ``"mc"``, ``"wmc"``, ``"pmc"`` or ``"pwmc"``.
    count
        The exact number of models, or the exact sum of their weights.
    satisfiable
        Whether there is a model.
    routes
        By which libraries it was found; the second one confirmed the first.
    seconds
        What each of them took.
    """

    track: str
    count: int | Fraction
    satisfiable: bool
    routes: tuple[str, ...]
    seconds: tuple[float, ...]

    def __str__(self) -> str:
        """Return the answer in the format of the Model Counting Competition."""
        value = Fraction(self.count)
        lines = [f"s {'' if self.satisfiable else 'UN'}SATISFIABLE", f"c s type {self.track}"]
        if value >= 0:
            lines.append(f"c s log10-estimate {_log10(value)}")
        is_whole = isinstance(self.count, int)
        found = f"int {self.count}" if is_whole else f"frac {value.numerator}/{value.denominator}"
        return "\n".join([*lines, f"c s exact arb {found}"])


def _log10(value: Fraction) -> str:
    return f"{log10(value.numerator) - log10(value.denominator):.15g}" if value else "-inf"


@checked("via", "check", "order", "budget")
def count_models(
    problem: Problem,
    *,
    via: str | None = None,
    check: bool = True,
    order: str | Sequence[int] = "force",
    budget: Budget | None = None,
) -> CountAnswer:
    """Count the models of clauses, or add up their weights, exactly.

    Parameters
    ----------
    problem
        As in :func:`compile_cnf`.
    via
        ``"dsharp"``, ``"dd"`` or ``"pysdd"``; by default dsharp if it is installed and nothing is projected, else dd.
    check
        Whether to count a second time: another library compiles, and the models are added up by another pass.
    order
        As in :func:`compile_cnf`.
    budget
        What both routes may cost together.

    Raises
    ------
    VerificationError
        If the two routes disagree.
    ModelFileError, CircuitError, BudgetError, MissingExtraError

    Notes
    -----
    Weights may be any rational numbers, negative ones too. Python writes an integer of more than 4,300 digits only if
    it is allowed to (``sys.set_int_max_str_digits``).

    Examples
    --------
    >>> print(count_models([(1, 2), (-2, 3)], via="dd"))
    s SATISFIABLE
    c s type mc
    c s log10-estimate 0.602059991327962
    c s exact arb int 4
    """
    with preparing(budget):
        return _counted(_problem_of(problem, budget), via, check, order, budget)


def _counted(
    given: CountingProblem, via: str | None, check: bool, order: str | Sequence[int], budget: Budget | None
) -> CountAnswer:
    watch = Watch(preparation())
    if not given.n_variables:  # one point, and no circuit
        return CountAnswer(given.track, 1 - bool(given.clauses), not given.clauses, (), ())
    first = via or ("dsharp" if find_spec("problog") and given.shown is None else "dd")
    routes: tuple[str, ...] = (first, "pysdd" if first == "dd" else "dd") if check else (first,)
    found, seconds = [], list[float]()
    for k, route in enumerate(routes):
        begin = watch.seconds
        circuit = _circuit(given, route, order, _rest(watch, budget))
        found.append(
            (_weight(circuit, given, again=k > 0, budget=_rest(watch, budget)), queries.is_consistent(circuit))
        )
        seconds.append(watch.seconds - begin)
    if len(set(found)) > 1:
        raise VerificationError(
            f"Two routes must give one count, but {routes[0]} says {found[0][0]} and {routes[1]} says {found[1][0]}; "
            "count by a third, via=..., and report this."
        )
    count, satisfiable = found[0]
    return CountAnswer(given.track, count if "w" in given.track else int(count), satisfiable, routes, tuple(seconds))


def _rest(watch: Watch, budget: Budget | None) -> Budget | None:
    """Return what is left of a budget, whose nodes each route has for itself; None if there is none."""
    return None if budget is None else replace(watch.rest(), nodes=budget.nodes)


def _circuit(problem: CountingProblem, route: str, order: str | Sequence[int], budget: Budget | None) -> Circuit:
    if route not in ROUTES or (route == "dsharp" and problem.shown is not None):
        reason = "no projection" if route in ROUTES else "none of " + ", ".join(ROUTES)
        raise CircuitError(f"Models are counted via dsharp, dd or pysdd, but {route!r} has {reason}; take another one.")
    if route == "dsharp":
        return _by_dsharp(problem, budget)
    return _by_library(problem, route, order, "balanced", budget or Budget()).to_circuit()


def _weight(circuit: Circuit, problem: CountingProblem, *, again: bool, budget: Budget | None) -> Fraction:
    """Return the sum of the models' weights; `again` by a pass that shares no code with the first."""
    worths, account = problem.worths, Account(budget, goal="count", advice="allow more")
    if again or any(w < 0 for row in worths for w in row):
        scales = [lcm(*(w.denominator for w in row)) for row in account.paced(worths)]
        pairs = zip(worths, scales, strict=True)
        rows = [[int(w * scale) for w in row] for row, scale in account.paced(pairs)]
        return Fraction(queries.semiring_value(circuit, queries.NUMBERS, rows, budget=account.rest()), prod(scales))
    return queries.weighted_count(circuit, worths, budget=budget)
