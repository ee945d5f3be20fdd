"""Random circuits as nested tuples, with an evaluator of their own.

A form is True, False, ("decision", feature, [(cells, form), ...]), ("and", forms) or ("or", forms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from random import Random
from typing import Any

from hypothesis import strategies as st

from axfi_kc import Categorical, Domain, Integer, Problem, Real
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.models import CircuitModel
from tests.support.oracle import Judge, space_of
from tests.support.strategies import Case, points

Form = Any


def holds(form: Form, cells: Sequence[int]) -> bool:
    """Evaluate a form, straight from its meaning."""
    if isinstance(form, bool):
        return form
    if form[0] == "decision":
        return any(cells[form[1]] in group and holds(child, cells) for group, child in form[2])
    return (all if form[0] == "and" else any)(holds(part, cells) for part in form[1])


def circuit_of(form: Form, grid: Grid) -> Circuit:
    build = CircuitBuilder(grid)

    def made(form: Form) -> int:
        if isinstance(form, bool):
            return build.true if form else build.false
        if form[0] == "decision":
            return build.decision(form[1], [(group, made(child)) for group, child in form[2]])
        return (build.conjunction if form[0] == "and" else build.disjunction)([made(part) for part in form[1]])

    return build.circuit(made(form))


def diagram_of(table: dict[tuple[int, ...], bool], features: list[int], n_cells: Sequence[int]) -> Form:
    """Return the ordered decisions of a truth table over some features."""

    def made(at: tuple[int, ...]) -> Form:
        if len(at) == len(features):
            return table[at]
        i = features[len(at)]
        return ("decision", i, [([c], made((*at, c))) for c in range(n_cells[i])])

    return made(())


def random_diagrams(rng: Random, features: list[int], n_cells: Sequence[int]) -> tuple[Form, Form]:
    """Return the diagrams of a random function and of its negation."""
    table = {at: rng.random() < 0.5 for at in product(*(range(n_cells[i]) for i in features))}
    return diagram_of(table, features, n_cells), diagram_of({k: not v for k, v in table.items()}, features, n_cells)


def random_form(rng: Random, features: list[int], n_cells: Sequence[int]) -> Form:
    """Return a deterministic, decomposable form over (some of) the features."""
    if not features or rng.random() < 0.02:
        return rng.random() < 0.6
    features = rng.sample(features, len(features))
    cut = rng.randint(1, len(features))
    kind = rng.choice(["decision", "opposites", "and", "sentential", "sentential", "diagram"])
    if kind == "decision":
        i, rest = features[0], features[1:]
        return ("decision", i, [(g, random_form(rng, rest, n_cells)) for g in random_groups(rng, n_cells[i])])
    if kind == "opposites":  # what compilers write for a decision
        i, rest = features[0], features[1:]
        groups = random_groups(rng, n_cells[i])
        parts = [[("decision", i, [(g, True)]), random_form(rng, rest, n_cells)] for g in groups]
        return ("or", [("and", part) for part in parts])
    if kind == "and":
        return ("and", [random_form(rng, part, n_cells) for part in (features[:cut], features[cut:])])
    if kind == "sentential":  # deterministic, but no literal shows it
        prime, other = random_diagrams(rng, features[:2], n_cells)
        subs = [random_form(rng, features[2:], n_cells) for _ in range(2)]
        return ("or", [("and", [prime, subs[0]]), ("and", [other, subs[1]])])
    return random_diagrams(rng, features[:3], n_cells)[0]


def random_groups(rng: Random, n: int) -> list[list[int]]:
    """Return up to three disjoint sets of cells, which need not name all."""
    places = [rng.randrange(min(3, n)) for _ in range(n)]
    named = [c for c in range(n) if rng.random() < 0.85] or [0]
    return [group for k in range(3) if (group := [c for c in named if places[c] == k])]


def any_form(rng: Random, features: list[int], n_cells: Sequence[int], depth: int = 3) -> Form:
    """Return a form that need be neither decomposable nor deterministic."""
    if depth == 3 and rng.random() < 0.5:  # decomposable, but parts overlap
        return ("or", [random_form(rng, features, n_cells) for _ in range(2)])
    i = rng.choice(features)
    if depth == 0 or rng.random() < 0.2:
        return ("decision", i, [(rng.choice(random_groups(rng, n_cells[i])), True)])
    if rng.random() < 0.3:
        return (
            "decision",
            i,
            [(g, any_form(rng, features, n_cells, depth - 1)) for g in random_groups(rng, n_cells[i])],
        )
    return (rng.choice(["and", "or"]), [any_form(rng, features, n_cells, depth - 1) for _ in range(rng.randint(1, 3))])


def cell_of(grid: Grid, i: int, value: Any) -> int:
    feature = grid.domain.features[i]
    if value is None and feature.missing:
        return grid.n_cells[i] - 1
    if isinstance(feature, Categorical):
        return feature.values.index(value)
    return sum(not (value <= cut.value if cut.closed else value < cut.value) for cut in grid.axes[i].cuts)


def random_feature(rng: Random, name: str, finite: bool) -> tuple[Categorical | Integer | Real, list[Cut]]:
    """Return a feature, of two to four cells in most cases, and where it is cut."""
    n = rng.choice([1, 2, 2, 2, 2, 3, 3, 3, 4])
    weights = rng.choice([None, [rng.randint(0, 5) for _ in range(n - 1)] + [1]])
    kind = rng.choice(["categorical", "integer"] if finite else ["categorical", "integer", "real"])
    if kind == "categorical":
        return Categorical(name, rng.sample(range(n), n), weights=weights), []
    low = rng.randint(-3, 3)
    if kind == "integer":
        ends = [k for k in range(low, low + n - 1) if rng.random() < 0.8]
        return Integer(name, low, low + n - 1, weights=weights), [Cut(float(k), closed=True) for k in ends]
    inner = [Cut(rng.randint(4 * low, 4 * low + 8) / 4, closed=rng.random() < 0.5) for _ in range(n - 1)]
    return Real(name, low, low + 2), inner


@st.composite
def grids(draw: st.DrawFn, *, finite: bool = False, max_features: int = 5) -> Grid:
    rng = Random(draw(st.integers(0, 2**64)))
    m = max_features - rng.choice([0, 0, 1, 1, 2])
    features = [random_feature(rng, f"f{i}", finite) for i in range(m)]
    return Grid.of(Domain([feature for feature, _ in features]), [cuts for _, cuts in features])


def varied(make: Callable[[], Form], grid: Grid) -> Form:
    """Return one of a few forms, one that is not constant if possible."""
    for _ in range(5):
        form = make()
        if len({holds(form, cells) for cells in product(*map(range, grid.n_cells))}) == 2:
            break
    return form


def case_of(grid: Grid, v: tuple[Any, ...], model: CircuitModel, output: Callable[[tuple[int, ...]], Any]) -> Case:
    """Return the problem of the model at v, and its judge, who knows the output of each cell vector."""
    space = space_of(grid.domain, [{v[i], *(cut.value for cut in axis.cuts)} for i, axis in enumerate(grid.axes)])

    def of_point(x: tuple[Any, ...]) -> Any:
        return output(tuple(cell_of(grid, i, value) for i, value in enumerate(x)))

    return Case(Problem.of(model, grid.domain, v), Judge(space, of_point, v))


@st.composite
def circuit_cases(
    draw: st.DrawFn, *, finite: bool = False, trusted: bool | None = None, any_shape: bool = False
) -> Case:
    grid = draw(grids(finite=finite))
    rng = Random(draw(st.integers(0, 2**64)))
    make = any_form if any_shape else random_form
    form = varied(lambda: make(rng, list(range(len(grid.axes))), grid.n_cells), grid)
    known = False if any_shape else (draw(st.booleans()) if trusted is None else trusted)
    model = CircuitModel.of(circuit_of(form, grid), outputs=("no", "yes"), deterministic=known)
    return case_of(grid, draw(points(grid.domain)), model, lambda cells: "yes" if holds(form, cells) else "no")


@st.composite
def class_cases(draw: st.DrawFn) -> Case:
    """Three outputs, a circuit each, by one function and two others where it fails."""
    grid = draw(grids(max_features=3))
    features = list(range(len(grid.axes)))
    rng = Random(draw(st.integers(0, 2**64)))
    first, rest = random_diagrams(rng, features, grid.n_cells)
    second, third = random_diagrams(rng, features, grid.n_cells)
    forms = {"a": first, "b": ("and", [rest, second]), "c": ("and", [rest, third])}
    model = CircuitModel.of_classes({y: circuit_of(form, grid) for y, form in forms.items()})
    v = draw(points(grid.domain))
    return case_of(grid, v, model, lambda cells: next(y for y, form in forms.items() if holds(form, cells)))
