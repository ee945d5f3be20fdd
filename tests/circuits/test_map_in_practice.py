"""Every cell of the table in docs/map_in_practice.md is run."""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc import operations, queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, circuit_in
from axfi_kc.circuits.queries.determinism import note_doubtful
from axfi_kc.circuits.queries.languages import LANGUAGES
from axfi_kc.circuits.targets import TARGETS, obdd_of, sdd_of
from axfi_kc.errors import CircuitError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "map_in_practice.md"
SPACE = list(product((0, 1), repeat=3))
Points = set[tuple[int, ...]]


def rows() -> list[list[str]]:
    """Return the rows of the page's table; the first one names the languages."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[cell.strip().strip("`").replace("\\|", "|") for cell in row] for row in split if "---" not in row[0]]


HEAD, *ROWS = rows()
COLUMNS = HEAD[2:]
CELLS = [(row[1], language, cell) for row in ROWS for language, cell in zip(COLUMNS, row[2:], strict=True)]


def overlapping(held: Points) -> Circuit:
    """Return a decomposable circuit that is not deterministic, noted as what comes of forgetting."""
    build = CircuitBuilder(ax.from_expression("x", names="xyz").grid)
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(p)]) for p in sorted(held)]
    ends = product((0, 1), repeat=2)
    wide = [(a, b) for a, b in ends if {(a, b, 0), (a, b, 1)} <= held]
    terms += [build.conjunction([build.literal(0, [a]), build.literal(1, [b])]) for a, b in wide]
    note_doubtful(found := build.circuit(build.disjunction(terms)))
    return found


def repeating(held: Points) -> Circuit:
    """Return clauses, whose conjunction meets features twice."""
    build = CircuitBuilder(ax.from_expression("x", names="xyz").grid)
    others = sorted(set(SPACE) - held)
    clauses = [build.disjunction([build.literal(i, [1 - c]) for i, c in enumerate(p)]) for p in others]
    return build.circuit(build.conjunction(clauses))


def pair(language: str, p: Points, q: Points) -> tuple[Any, Any]:
    """Return two functions in a language, in one manager where there is one."""
    f, g = (ax.from_truth_table([x in held for x in SPACE], names="xyz") for held in (p, q))
    if language == "obdd":
        return (first := obdd_of(f)), obdd_of(g, beside=first)
    if language == "sdd":
        return (first := sdd_of(f, vtree="balanced")), sdd_of(g, beside=first)
    if language == "ddnnf":
        return tuple(_as_gates(held).compile("ddnnf") for held in (p, q))  # type: ignore[return-value]
    if language in ("dnnf", "nnf"):
        make: Callable[[Points], Circuit] = overlapping if language == "dnnf" else repeating
        return make(p), make(q)
    return f.compile(language), g.compile(language)


def _as_gates(held: Points) -> Circuit:
    build = CircuitBuilder(ax.from_expression("x", names="xyz").grid)
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(p)]) for p in sorted(held)]
    return build.circuit(build.disjunction(terms))


def meaning(code: str, p: Points, q: Points) -> Any:
    """Return what the code must answer: a value, or a set of points."""
    everything = set(SPACE)

    def at(x: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (value, *x[1:])

    def both(how: Callable[[Any], bool]) -> Points:
        return {x for x in everything if how(at(x, value) in p for value in (0, 1))}

    worth = ((1, 2), (3, 4), (5, 6))
    answers: dict[str, Callable[[], Any]] = {
        "queries.is_consistent(f)": lambda: bool(p),
        "queries.is_valid(f)": lambda: p == everything,
        "queries.entails_clause(f, {0: [1], 2: [1]})": lambda: all(x[0] or x[2] for x in p),
        "queries.is_implicant(f, {1: [1], 2: [1]})": lambda: {(0, 1, 1), (1, 1, 1)} <= p,
        "queries.is_equivalent(f, g)": lambda: p == q,
        "queries.entails(f, g)": lambda: p <= q,
        "queries.count(f)": lambda: len(p),
        "queries.probability(f)": lambda: Fraction(len(p), 8),
        "queries.weighted_count(f, [[1, 2], [3, 4], [5, 6]])": lambda: sum(
            worth[0][x[0]] * worth[1][x[1]] * worth[2][x[2]] for x in p
        ),
        "list(queries.models(f))": lambda: sorted(p),
        "queries.minimum_changes(f, (0, 0, 0))": lambda: min(map(sum, p), default=None),
        "queries.evaluate(f, (1, 1, 0))": lambda: (1, 1, 0) in p,
        'operations.restrict(f, {"x": 1})': lambda: {x for x in everything if at(x, 1) in p},
        "f & g": lambda: p & q,
        "f | g": lambda: p | q,
        "~f": lambda: everything - p,
        "f ^ g": lambda: p ^ q,
        "f >> g": lambda: (everything - p) | q,
        'operations.exists(f, ["x"])': lambda: both(any),
        'operations.forall(f, ["x"])': lambda: both(all),
        'operations.compose(f, {"x": g})': lambda: {x for x in everything if at(x, int(x in q)) in p},
        "f == g": lambda: p == q,
        "f <= g": lambda: operator.le(p, q),
    }
    return answers[code]()


def test_the_table_is_there_and_speaks_of_every_language() -> None:
    assert list(LANGUAGES) == COLUMNS
    assert len(ROWS) > 20
    assert {cell for *_, cell in CELLS} == {"yes", "refused", "gates", "any cost"}


@pytest.mark.parametrize(("code", "language", "cell"), CELLS, ids=lambda text: text.replace(" ", ""))
def test_the_cell_says_what_happens(code: str, language: str, cell: str) -> None:
    rng = random.Random(code)
    for _ in range(4):
        p, q = ({x for x in SPACE if rng.random() < 0.6} for _ in range(2))
        p |= {(0, 1, 0), (0, 1, 1)}  # so that every form is what it is meant to be
        p -= {(1, 0, 0), (1, 0, 1)}
        q = q | p if rng.random() < 0.5 else q
        f, g = pair(language, p, q)
        names = {"ax": ax, "queries": queries, "operations": operations, "f": f, "g": g}
        if cell == "refused":
            with pytest.raises(CircuitError, match=r"compile (both )?into"):
                eval(code, names)
            continue
        found = eval(code, names)
        if "simplify" in code:
            assert points_of(found) & q == p & q
        elif "prime_implicants" in code:
            assert found == len(list(ax.prime_implicants(ax.from_truth_table([x in p for x in SPACE], names="xyz"))))
        else:
            assert (points_of(found) if _is_form(found) else found) == meaning(code, p, q), (p, q)
        if _is_form(found):
            kept = "circuit" if isinstance(found, Circuit) else found.language
            assert kept == (language if language in TARGETS and cell == "yes" else "circuit")


def _is_form(found: Any) -> bool:
    return isinstance(found, Circuit) or hasattr(found, "language")


def points_of(found: Any) -> Points:
    circuit = circuit_in(found)
    return {x for x in SPACE if queries.evaluate(circuit, x)}
