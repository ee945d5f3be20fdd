"""Operators and operations on every form, judged by sets of points."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, circuit_in
from axfi_kc.circuits.operations import (
    OPERATORS,
    apply,
    cofactors,
    compose,
    exists,
    fingerprint,
    forall,
    negate,
    restrict,
    simplify,
)
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import AxfiError, CircuitError
from tests.support.circuits import points

Points = set[tuple[int, ...]]

DOMAIN = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Categorical("c", "pqr"), ax.Integer("d", 0, 1)])
SPACE = set(product(range(3), range(2), range(3), range(2)))
CLOSED = ("circuit", "gates", "mdd", "obdd", "sdd")
MEANINGS: dict[str, Callable[[Points, Points], Points]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "implies": lambda p, q: (SPACE - p) | q,
    "equiv": lambda p, q: SPACE - (p ^ q),
    "diff": operator.sub,
}


def drawn(rng: random.Random) -> Points:
    return {p for p in sorted(SPACE) if rng.random() < rng.choice([0.1, 0.5, 0.9])}


def diagram(held: Points) -> Circuit:
    return ax.from_truth_table([p in held for p in product(range(3), range(2), range(3), range(2))], DOMAIN)


def gates(held: Points) -> Circuit:
    """Return a disjunction of conjunctions, which is no diagram."""
    build = CircuitBuilder(Grid.of_values(DOMAIN))
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(p)]) for p in sorted(held)]
    return build.circuit(build.disjunction(terms))


def form(kind: str, held: Points) -> Any:
    if kind == "gates":
        return gates(held)
    return diagram(held) if kind == "circuit" else diagram(held).compile(kind)


def held_by(given: Any) -> Points:
    return points(circuit_in(given))


@pytest.mark.parametrize("kind", CLOSED)
def test_operations_on_two_are_those_on_sets(kind: str) -> None:
    rng = random.Random(1)
    for k in range(12):
        p, q = drawn(rng), drawn(rng)
        a, b = form(kind, p), form(CLOSED[k % len(CLOSED)], q)  # the second of any form
        for name in OPERATORS:
            made = apply(name, a, b)
            assert held_by(made) == MEANINGS[name](p, q), (kind, name)
            assert type(made) is type(a)
        assert held_by(~a) == SPACE - p
        assert held_by(negate(a)) == SPACE - p
        assert held_by(a & b) == p & q
        assert held_by(a | b) == p | q
        assert held_by(a ^ b) == p ^ q
        assert held_by(a >> b) == (SPACE - p) | q
        assert (a <= b) == (p <= q)
        assert (a >= b) == (p >= q)
        assert (a & b) <= a <= (a | b)
        assert (a == b) == (p == q)


def test_equality_is_that_of_points_in_every_form() -> None:
    rng = random.Random(2)
    for _ in range(12):
        p = drawn(rng)
        forms = [form(kind, p) for kind in (*CLOSED, "ddnnf")]
        assert all(a == b for a in forms for b in forms)
        assert len({hash(a) for a in forms}) == 1
        assert len(set(forms)) == 1
        other = form("sdd", p ^ {min(SPACE)})
        assert all(a != other for a in forms)
        assert forms[0] != p
        assert forms[0] in forms[1:]


@pytest.mark.parametrize("kind", CLOSED)
def test_what_is_joined_with_itself_is_equal_to_itself(kind: str) -> None:
    a = form(kind, drawn(random.Random(3)))
    assert apply("and", a, a) == a
    assert (a & a) == a == (a | a)
    assert (a ^ a) == (a & ~a)
    if kind in TARGETS:
        assert a.conjoin(a) == a


def test_notes_are_kept_for_each_circuit_although_equal_ones_have_other_nodes() -> None:
    held = drawn(random.Random(4))
    one, other = diagram(held), gates(held)
    assert one == other
    assert queries.is_ordered(one)
    assert not queries.is_ordered(other)
    assert len(queries.scopes(one)) == len(one.kinds)
    assert queries.is_decomposable(other)
    assert queries.count(one) == queries.count(other) == len(held)


def test_circuits_of_one_domain_are_joined_however_they_are_cut(tmp_path: Path) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Real("r", 0, 1)])
    grids = [Grid.of(domain, [[Cut(float(k), closed=True)], [Cut(r, closed=True)]]) for k, r in ((2, 0.5), (6, 0.25))]
    low, high = (CircuitBuilder(grid) for grid in grids)
    a = low.circuit(low.conjunction([low.literal(0, [0]), low.literal(1, [0])]))
    b = high.circuit(high.conjunction([high.literal(0, [0]), high.literal(1, [0])]))
    both = a & b
    assert both.compile("mdd").probability() == ax.queries.probability(a) / 2
    assert (a & b) <= a
    assert (a == b) is False
    assert hash(both) == hash(both.compile("mdd"))
    assert both == (b & a) == (b.compile("obdd") & a)
    with pytest.raises(CircuitError, match="over one domain with the same features set, but they have two domains"):
        a & ax.from_expression("x")
    assert a != ax.from_expression("x")


def test_circuits_loaded_with_one_domain_are_joined(tmp_path: Path) -> None:
    domain = ax.Domain([ax.Integer("x", 0, 1), ax.Integer("y", 0, 1)])
    for name, text in (("f", "x"), ("g", "x & y")):
        ax.save_circuit(ax.from_expression(text, domain), tmp_path / f"{name}.nnf")
    f, g = (ax.load_circuit(tmp_path / f"{name}.nnf", domain) for name in "fg")
    assert (f & g) == g <= f
    for target in ("mdd", "obdd", "sdd"):
        assert f.compile(target) & g.compile(target) == g
    assert f.compile("mdd").conjoin(g.compile("mdd")) == g


@pytest.mark.parametrize("kind", [*CLOSED, "ddnnf"])
def test_restrictions_are_functions_of_all_features(kind: str) -> None:
    rng = random.Random(5)
    for _ in range(6):
        p = drawn(rng)
        a = form(kind, p)
        assert held_by(restrict(a, {"a": 2, "d": 1})) == {x for x in SPACE if (2, x[1], x[2], 1) in p}
        parts = cofactors(a, "c")
        for cell, part in enumerate(parts):
            assert held_by(part) == {x for x in SPACE if (x[0], x[1], cell, x[3]) in p}
            assert type(part) is type(a)


@pytest.mark.parametrize("kind", CLOSED)
def test_quantified_features_may_take_some_or_all_values(kind: str) -> None:
    rng = random.Random(6)
    for _ in range(6):
        p = drawn(rng)
        a = form(kind, p)
        some = {x for x in SPACE if any((i, x[1], k, x[3]) in p for i in range(3) for k in range(3))}
        every = {x for x in SPACE if all((x[0], x[1], x[2], m) in p for m in range(2))}
        assert held_by(exists(a, ["a", "c"])) == some
        assert held_by(forall(a, [3])) == every
        assert forall(a, ["a"]) <= a <= exists(a, ["a"])


@pytest.mark.parametrize("kind", CLOSED)
def test_features_are_replaced_by_functions_at_once(kind: str) -> None:
    rng = random.Random(7)
    for k in range(6):
        p, q, r = drawn(rng), drawn(rng), drawn(rng)
        made = compose(form(kind, p), {"b": form(CLOSED[k % 5], q), "d": form("mdd", r)})
        assert held_by(made) == {x for x in SPACE if (x[0], int(x in q), x[2], int(x in r)) in p}
    with pytest.raises(CircuitError, match="a feature of two cells, but 'a' has 3"):
        compose(form(kind, p), {"a": form(kind, q)})


@pytest.mark.parametrize(
    ("kind", "options"), [("circuit", {}), ("mdd", {}), ("obdd", {}), ("obdd", {"backend": "python"})]
)
def test_outside_what_matters_anything_goes(kind: str, options: dict[str, Any]) -> None:
    rng, smaller = random.Random(8), 0
    for _ in range(20):
        p, care = drawn(rng), drawn(rng)
        a = form(kind, p) if not options else diagram(p).compile(kind, **options)
        made = simplify(a, form("mdd", care))
        assert held_by(made) & care == p & care
        assert made.size.nodes <= a.size.nodes
        smaller += made.size.nodes < a.size.nodes
        assert type(made) is type(a)
    assert smaller > 5
    assert simplify(a, form("mdd", SPACE)) == a


def test_a_language_that_is_not_closed_refuses() -> None:
    a = form("ddnnf", drawn(random.Random(9)))
    for wrong, word in (
        (lambda: a & a, "Conjunction"),
        (lambda: a | a, "Disjunction"),
        (lambda: ~a, "Negation"),
        (lambda: a ^ a, "Negation"),
        (lambda: exists(a, ["a"]), "Quantification"),
        (lambda: compose(a, {"b": a}), "Composition"),
        (lambda: simplify(a, a), "Don't-care minimisation"),
    ):
        with pytest.raises(CircuitError, match=f"{word} needs another language than ddnnf; compile into mdd") as e:
            wrong()
        assert "nnf first" not in str(e.value).replace("ddnnf", "")
    with pytest.raises(CircuitError, match="two diagrams of one order"):
        simplify(gates({(0, 0, 0, 0), (1, 1, 1, 1)}), a)
    with pytest.raises(CircuitError, match="An operation is one of and, or"):
        apply("nand", a, a)
    with pytest.raises(TypeError):
        a & 7
    with pytest.raises(CircuitError, match="Expected a circuit, a compiled model or a target, but int was given"):
        queries.count(7)  # type: ignore[arg-type]


def test_gates_of_circuits_count_rightly_or_not_at_all() -> None:
    build = CircuitBuilder(Grid.of_values(DOMAIN))
    first = build.circuit(build.disjunction([build.conjunction([build.literal(0, [1]), build.literal(1, [0])])]))
    second = build.circuit(
        build.disjunction([build.literal(2, [0]), build.conjunction([build.literal(2, [1]), build.literal(3, [1])])])
    )
    assert queries.count(first | second) == len(held_by(first) | held_by(second))
    overlapping = second | build.circuit(build.conjunction([build.literal(2, [0]), build.literal(3, [0])]))
    with pytest.raises(CircuitError, match="Counting needs a decomposable circuit"):
        queries.count(overlapping)
    assert overlapping.compile("ddnnf").count() == len(held_by(overlapping))


def test_one_meaning_of_conditioning() -> None:
    """The count of a conditioned circuit was that of all features where queries made it, of the others elsewhere."""
    domain = ax.Domain([ax.Integer("x", 0, 1), ax.Integer("y", 0, 1), ax.Integer("z", 0, 1)])
    compiled = ax.compile_model(lambda p: int(p[0] and (p[1] or p[2])), domain)
    for values in ({"x": 1}, {"y": 0}, {"x": 1, "z": 0}):
        other = queries.condition(compiled.circuit, values)
        numbers = queries.condition(compiled.circuit, {domain.index(n): v for n, v in values.items()})
        wanted = sum(all(p[domain.index(n)] == v for n, v in values.items()) for p in queries.models(compiled))
        assert compiled.condition(values).count() == queries.count(other) == queries.count(numbers) == wanted
        assert compiled.condition(values).probability() == queries.probability(other)
        assert [p for p in queries.models(compiled) if all(p[domain.index(n)] == v for n, v in values.items())] == list(
            queries.models(other)
        )
        for target in TARGETS:
            assert other.compile(target).count() == wanted
            assert ax.compile_model(lambda p: int(p[0] and (p[1] or p[2])), domain, target=target).condition(values) \
                .count(check=True) == wanted  # fmt: skip
        assert queries.weighted_count(other, [[1, 1]] * 3) == wanted
    assert queries.condition(compiled, {"x": 1}) != compiled.target
    with pytest.raises(CircuitError, match="two features set"):
        queries.condition(compiled, {"x": 1}) & compiled.circuit


def test_overlapping_circuits_are_noticed_by_shap() -> None:
    x, y = (ax.from_expression(name, names="xy") for name in "xy")
    with pytest.raises(CircuitError, match="exclude each other, but two hold where x"):
        ax.shap_scores({1: x, 2: y}, (1, 1))
    with pytest.raises(CircuitError, match="exclude each other"):
        ax.shap_scores({1: x, 2: x}, (1, 1))
    build = CircuitBuilder(x.grid)
    twice = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [1])]))
    with pytest.raises(CircuitError, match="exclude each other"):
        ax.shap_scores(twice, (1, 1))
    scores = ax.shap_scores({1: x & ~y, 2: y}, (1, 1))
    assert scores == ax.shap_scores({1: (x & ~y).compile("obdd"), 2: y.compile("sdd")}, (1, 1))


def test_a_circuit_is_shown_in_a_line() -> None:
    assert repr(ax.from_expression("x & y")) == "<Circuit: 3 nodes, 4 edges over 2 features (x, y)>"
    assert len(repr(ax.from_truth_table("01" * 512))) < 120


def test_every_query_takes_every_form() -> None:
    p = drawn(random.Random(10))
    compiled = ax.compile_model(ax.TableModel.from_outputs(DOMAIN, [int(x in p) for x in sorted(SPACE)]), DOMAIN)
    for given in (*(form(kind, p) for kind in (*CLOSED, "ddnnf")), compiled):
        assert queries.count(given) == len(p)
        assert queries.is_consistent(given) == bool(p)
        assert queries.evaluate(given, (0, 0, 0, 0)) == ((0, 0, 0, 0) in p)
        assert queries.probability(given) == queries.probability(diagram(p))
        assert set(queries.cell_models(given)) == p
        assert queries.count(queries.condition(given, {"a": 1})) == sum(x[0] == 1 for x in p)
        assert queries.minimum_changes(given, min(p)) == 0
        assert set(queries.cell_models(queries.forget(given, ["a"]))) == held_by(exists(diagram(p), ["a"]))
        assert fingerprint(given) == fingerprint(diagram(p))
    for kind in ("mdd", "obdd", "circuit"):
        assert queries.is_equivalent(form(kind, p), diagram(p))
        assert queries.entails(form(kind, p), compiled)
    sdd = form("sdd", p)
    assert queries.is_equivalent(sdd, sdd & sdd)
    assert queries.entails(sdd & ~sdd, sdd)
    with pytest.raises(CircuitError, match="or SDDs of one manager, but these two are neither; compile into mdd"):
        queries.is_equivalent(sdd, diagram(p).compile("sdd", vtree="balanced"))


@pytest.mark.parametrize("code", ["order", "binary", "direct"])
def test_what_is_simplified_is_never_larger(code: str) -> None:
    # six cells in bits, where fewer nodes over cells are now and then more nodes over bits
    domain = ax.Domain([ax.Integer(name, 0, 5) for name in "ab"])
    for seed in range(60):
        rng = random.Random(seed)
        dense, much = rng.choice((0.1, 0.3, 0.5)), rng.choice((0.5, 0.7, 0.9, 0.95))
        f, care = (ax.from_truth_table([rng.random() < p for _ in range(36)], domain) for p in (dense, much))
        own = f.compile("obdd", backend="python", code=code)
        small = simplify(own, care)
        assert small.size.nodes <= own.size.nodes
        assert small.to_circuit() & care == f & care


def test_functions_that_replace_features_are_of_the_same_domain() -> None:
    f = ax.from_expression("x & y", names="xy")
    for other in (ax.from_expression("y & x", names="yx"), ax.from_expression("x | z", names="xyz")):
        for own in (f, f.compile("mdd"), f.compile("obdd")):
            with pytest.raises(CircuitError, match="two domains"):
                compose(own, {"x": other})
    with pytest.raises(AxfiError, match="named twice"):
        compose(f, {"x": f, 0: f})


@pytest.mark.parametrize("feature", [-1, 3, 0.5, True, None])
def test_features_have_numbers(feature: Any) -> None:
    f = ax.from_expression("x & (y | ~z)")
    for own in (f, f.compile("mdd"), f.compile("obdd"), f.compile("sdd")):
        asks: tuple[Callable[..., Any], ...] = (exists, forall, restrict, cofactors, queries.condition)
        for ask, given in zip(asks, ([feature], [feature], {feature: 1}, feature, {feature: 1}), strict=True):
            with pytest.raises(AxfiError, match="numbered from 0 to 2"):
                ask(own, given)


def test_features_are_named_once_and_cells_are_theirs() -> None:
    f = ax.from_expression("x & (y | ~z)").compile("mdd")
    for ask in (
        lambda: exists(f, ["x", 0]),
        lambda: forall(f, ["y", "y"]),
        lambda: restrict(f, {"x": 1, 0: 0}),
        lambda: queries.condition(f, {"x": 1, 0: 0}),
    ):
        with pytest.raises(AxfiError, match=r"'[xy]' is named twice"):
            ask()
    for cell in (-1, 2, 0.5, None, "1"):
        for do in (restrict, queries.condition):
            with pytest.raises(AxfiError, match="cells of feature 'x' are 0 to 1"):
                do(f, {0: cell})
    assert restrict(f, {np.int64(0): np.int64(1)}) == restrict(f, {"x": 1})


@pytest.mark.parametrize(
    "point", [(0, 1), (0, 1, 1, 1), (), (0, 0, 2), (0, -1, 0), (0, 0.5, 1), 1, None, ("a", "b", "c")]
)
def test_points_have_a_cell_for_each_feature(point: Any) -> None:
    f = ax.from_expression("x & (y | ~z)")
    for ask in (
        lambda: queries.evaluate(f, point),
        lambda: queries.minimum_changes(f, point),
        lambda: queries.minimised(f, point),
        lambda: queries.counts_by_size(f, home=() if point is None else point),
    ):
        with pytest.raises(AxfiError, match=r"[Aa] point"):
            ask()
