"""Parts of the engines on their own, against plain Python: what whole problems seldom reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, floor
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from axfi_kc import Budget, Categorical, Domain, Integer, Real
from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import AND, DECISION, FALSE, OR, TRUE
from axfi_kc.circuits.modular import _is_prime
from axfi_kc.circuits.queries.counting_kernels import upper_bound
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.engines import engine_for, engine_through
from axfi_kc.engines.boxes.engine import BoxEngine
from axfi_kc.engines.circuit import engine as circuits
from axfi_kc.engines.circuit.search import _extended
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.engines.ensemble.bound_kernels import exceeds
from axfi_kc.engines.ensemble.layout import LIMB, _plus
from axfi_kc.engines.found import Found
from axfi_kc.engines.linear.engine import LinearEngine
from axfi_kc.engines.linear.kernels import _verdict
from axfi_kc.engines.linear.union_weights import UnionWeigher, share_below, union_volume
from axfi_kc.engines.per_output import PerOutput
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.families import SetFamily
from axfi_kc.models import LinearModel, Lookup, Score, Slope, TableModel
from axfi_kc.models.similarity import Similarity

Point = tuple[Fraction, ...]
_exceeds = getattr(exceeds, "py_func", exceeds)  # compiled code can call it, and nobody else


def _clipped(corners: list[Point], f: int) -> list[Point]:
    """Return the part of a polygon where function f is at most zero; a point is x, y and the functions' values."""
    found: list[Point] = []
    for p, q in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        if p[f] <= 0:
            found.append(p)
        if min(p[f], q[f]) < 0 < max(p[f], q[f]):
            at = p[f] / (p[f] - q[f])
            found.append(tuple(a + (b - a) * at for a, b in zip(p, q, strict=True)))
    return found


def _area(corners: list[Point]) -> Fraction:
    turned = [*corners[1:], *corners[:1]]
    return abs(sum((p[0] * q[1] - p[1] * q[0] for p, q in zip(corners, turned, strict=True)), Fraction(0))) / 2


def test_shares_of_triangles() -> None:
    rng = Random(1)
    for n_functions in (1, 2, 2, 3, 4) * 60:
        values = [[Fraction(rng.randint(-4, 4)) for _ in range(n_functions)] for _ in range(3)]
        triangle = [(Fraction(x), Fraction(y), *v) for (x, y), v in zip(((0, 0), (3, 0), (0, 5)), values, strict=True)]
        left = triangle
        for f in range(n_functions):
            left = _clipped(left, 2 + f)
        assert share_below(values) == _area(left) / _area(triangle)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_shares_add_up(dimension: int) -> None:
    """Where one function is at most zero, another is at most or at least zero."""
    rng = Random(dimension)
    for _ in range(25):
        simplex = [[Fraction(rng.choice((-3, -2, -1, 1, 2, 5))) for _ in range(3)] for _ in range(dimension + 1)]
        one, two = [row[:1] for row in simplex], [row[:2] for row in simplex]
        other = [[row[0], -row[1]] for row in simplex]
        assert share_below(two) + share_below(other) == share_below(one)
        parts = [[[row[0], row[1], s * row[2]] for row in simplex] for s in (1, -1)]
        assert sum(map(share_below, parts)) == share_below(two)


def test_volumes_of_unions() -> None:
    """The union of corner simplices is one minus what all of them leave, by inclusion and exclusion of areas."""
    rng = Random(3)
    for _ in range(40):
        rows = [tuple(Fraction(rng.randint(1, 4), rng.randint(1, 3)) for _ in range(2)) for _ in range(3)]
        areas = Fraction(0)
        for size in (1, 2, 3):
            for some in combinations(rows, size):
                side = max(1 / min(row) for row in some)
                corner = [(Fraction(0), Fraction(0)), (side, Fraction(0)), (Fraction(0), side)]
                shape: list[Point] = [(*p, *(row[0] * p[0] + row[1] * p[1] - 1 for row in some)) for p in corner]
                for f in range(size):
                    shape = _clipped(shape, 2 + f)
                areas += (-1) ** (size + 1) * _area(shape)
        assert union_volume(rows) == areas


def _value(nodes: Sequence[tuple[int, list[int], list[Fraction]]]) -> Fraction:
    found: list[Fraction] = []
    for kind, children, shares in nodes:
        below = [found[c] for c in children]
        if kind == AND:
            value = Fraction(1)
            for part in below:
                value *= part
        elif kind == OR:
            value = sum(below, Fraction(0))
        elif kind == DECISION:
            value = sum((s * b for s, b in zip(shares, below, strict=True)), Fraction(0))
        else:
            value = Fraction(kind == TRUE)
        found.append(value)
    return found[-1]


def test_the_float_bound_is_above_and_near() -> None:
    rng = Random(4)
    for _ in range(300):
        nodes: list[tuple[int, list[int], list[Fraction]]] = [(FALSE, [], []), (TRUE, [], [])]
        for node in range(2, rng.randint(3, 14)):
            children = [rng.randrange(node) for _ in range(rng.randint(1, 3))]
            nodes.append(
                (rng.choice((AND, OR, DECISION)), children, [Fraction(rng.randint(0, 8), 8) for _ in children])
            )
        kinds = np.array([kind for kind, *_ in nodes], dtype=np.uint8)
        offsets = np.cumsum([0, *(len(children) for _, children, _ in nodes)])
        children = np.array([c for _, below, _ in nodes for c in below], dtype=np.int32)
        shares = np.array([float(s) for *_, some in nodes for s in some])
        bound = Fraction(float(upper_bound(kinds, offsets, children, np.arange(len(children), dtype=np.int32), shares)))
        exact = _value(nodes)
        assert exact <= bound <= exact * (1 + Fraction(1, 10**9))


def test_upper_bounds_of_products_that_vanish_in_floats() -> None:
    """TRUE; a decision of share 1e-300 on it, twice; their conjunction, which is 1e-600 and not 0."""
    kinds = np.array([TRUE, DECISION, DECISION, AND], dtype=np.int8)
    offsets, children = np.array([0, 0, 1, 2, 4]), np.array([0, 0, 1, 2], dtype=np.int32)
    shares = np.array([1e-300, 1e-300, 1.0, 1.0])
    assert upper_bound(kinds, offsets, children, np.arange(4, dtype=np.int32), shares) > 0


def test_verdicts_on_covers_of_several_sides() -> None:
    """With exact losses a cover is told apart at once; with rounded ones an answer is right, or there is none."""
    rng, seen = Random(5), set()
    for _ in range(4000):
        n_sides, size, parts = rng.randint(1, 3), rng.randint(1, 3), rng.choice((1, 4))
        true = [[Fraction(rng.randint(-2, 12), parts) for _ in range(size)] for _ in range(n_sides)]
        needs = [Fraction(rng.randint(1, 24), parts) for _ in range(n_sides)]
        losses = np.array([[floor(x) for x in row] for row in true])
        low, high = (np.array([way(need) for need in needs]) for way in (floor, ceil))
        rounded, side = np.full(n_sides, int(parts > 1)), rng.randrange(n_sides)
        found = _verdict(losses, low, high, rounded, side, np.arange(size), size)
        right = 1
        for other in range(n_sides):
            gains = [max(x, Fraction(0)) for x in true[other]]
            is_cover, is_larger = sum(gains) >= needs[other], sum(gains) - min(gains) >= needs[other]
            if other != side and (is_larger or (other < side and is_cover)):
                right = 0
        assert found in ((right, -1) if parts > 1 else (right,))
        seen.add((int(found), parts))
    assert seen == {(1, 1), (0, 1), (1, 4), (0, 4), (-1, 4)}


def _hitting(sets: Sequence[int], n: int) -> list[int]:
    every = [h for h in range(1 << n) if all(h & s for s in sets)]
    return [h for h in every if not any(g != h and g & h == g for g in every)]


def test_hitting_sets_are_extended_to_one_more_set() -> None:
    rng = Random(6)
    for _ in range(600):
        n = rng.randint(2, 6)
        known = [rng.randrange(1, 1 << n) for _ in range(rng.randint(0, 4))]
        found, before = rng.randrange(1, 1 << n), _hitting(known, n)
        axps = [h for h in before if h & found and rng.random() < 0.5]
        waiting = [h for h in before if h not in axps]
        rng.shuffle(waiting)
        assert sorted([*_extended(waiting, axps, found, lambda: False), *axps]) == sorted(_hitting([*known, found], n))


def _batch(sizes: list[int], first: int, divisors: list[int] | None, nodes: list[int] | None) -> Found:
    n = sum(sizes)
    return Found(
        [f"y{k + first}" for k in range(len(sizes))],
        np.cumsum([0, *sizes]),
        np.arange(first, first + n, dtype=np.uint64)[:, np.newaxis],
        np.arange(n) + 10 * first,
        (7,),
        "ratio",
        divisors=divisors,
        nodes=nodes,
    )


def test_batches_are_joined() -> None:
    parts = [_batch([2, 0, 1], 0, None, [5, 6, 7]), _batch([1, 2], 3, [4, 8, 9], [1, 2])]
    whole = Found.joined(parts)
    assert whole.outputs == ["y0", "y1", "y2", "y3", "y4"]
    assert whole.starts.tolist() == [0, 2, 2, 3, 4, 6]
    assert whole.words[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert whole.totals.tolist() == [0, 1, 2, 30, 31, 32]
    assert whole.divisors == [1, 1, 1, 4, 8, 9]
    assert whole.nodes == [5, 6, 7, 1, 2]
    assert Found.joined(parts[:1]) is parts[0]
    assert Found.joined([parts[0], replace(parts[1], _large={1: "family"})])[4] == "family"
    assert Found.joined([_batch([1], 0, None, None)] * 2).divisors is None


def test_numbers_that_pass_the_test_of_fermat_are_no_primes() -> None:
    assert not _is_prime(601 * 1201 * 1801)  # of Carmichael: a**(n - 1) is 1 for every a without a common factor


def test_a_constant_regression() -> None:
    domain = Domain([Categorical("c", "xy"), Real("r", 0, 1), Integer("n", 0, 3)])
    parts = [Lookup(((3, 3),)), Slope((0,)), Lookup(((Fraction(-1, 2),) * 4,))]
    model = LinearModel.of(domain, parts, base=[Fraction(1, 4)], rule=Score())
    assert LinearEngine(model, Similarity(Fraction(1))).constant == Fraction(11, 4)
    moving = LinearModel.of(domain, [Lookup(((3, 4),)), *parts[1:]], base=[0], rule=Score())
    assert LinearEngine(moving, Similarity(Fraction(1))).constant is None


def test_sums_of_limbs_are_compared_with_zero() -> None:
    rng, unit = Random(8), 1 << 52
    small: list[Any] = [0, 1, unit - 1, unit >> 1]
    for _ in range(2000):
        limbs, n = rng.choice((2, 3)), rng.randint(1, 4)
        value = [[rng.randint(-2, 2), *(rng.choice(small) for _ in range(limbs - 1))] for _ in range(n)]
        base = [rng.randint(-4, 2), *(rng.choice(small) for _ in range(limbs - 1))]
        first = rng.randrange(n)
        total = base[0] + sum(row[0] for row in value[first:])
        exact = sum(Fraction(x, unit**k) for row in (base, *value[first:]) for k, x in enumerate(row))
        leaf = np.arange(n, dtype=np.int32)[np.newaxis]
        arrays = np.array(value, dtype=np.int64), np.array([base], dtype=np.int64)
        assert _exceeds(*arrays, 0, np.int64(total), leaf, 0, first, n) == (exact > 0)


def test_every_case_of_two_limbs() -> None:
    for top, low, more in product((-2, -1, 0, 1), (0, 1, (1 << 52) - 1), (0, 1, (1 << 52) - 1)):
        value, base = np.array([[0, more]], dtype=np.int64), np.array([[top, low]], dtype=np.int64)
        leaf = np.zeros((1, 1), dtype=np.int32)
        assert _exceeds(value, base, 0, np.int64(top), leaf, 0, 0, 1) == (top * (1 << 52) + low + more > 0)


def test_limbs_are_added_with_their_carries() -> None:
    rng, unit = Random(9), 1 << LIMB
    for _ in range(300):
        limbs = rng.randint(1, 4)
        a, b = ([rng.randint(-9, 9), *(rng.choice((0, 1, unit - 1)) for _ in range(limbs - 1))] for _ in range(2))
        total = _plus(np.array(a), np.array(b)).tolist()
        assert all(0 <= limb < unit for limb in total[1:])
        assert sum(x * unit ** (limbs - k) for k, x in enumerate(total)) == sum(
            x * unit ** (limbs - k) for row in (a, b) for k, x in enumerate(row)
        )


def test_sizes_of_the_sets_with_an_element() -> None:
    rng = Random(10)
    for _ in range(100):
        sets = {rng.randrange(1, 1 << 6) for _ in range(rng.randint(1, 9))}
        family = SetFamily.of(sets)
        for element, sizes in family.with_elements().items():
            counts = Counter(s.bit_count() for s in family if s >> element & 1)
            assert sizes == dict(counts)
        assert "a set" not in family


def test_what_is_left_of_several_sides() -> None:
    """A side on which all is spent leaves nothing, and units may be halves, quarters or whole."""
    weigher = object.__new__(UnionWeigher)
    slopes = ((2, -3), (1, 4))
    weigher._sides = [SimpleNamespace(slope=slope.__getitem__) for slope in slopes]
    rows = [[Fraction(2, 5), Fraction(3, 5)], [Fraction(1, 6), Fraction(4, 6)]]
    for shift in (0, 1, 5):
        slacks = {0: 7 << shift, 1: 9 << shift}
        assert weigher._volume((0, 1), slacks, shift, (2, 3), None) == union_volume(rows)
        assert weigher._volume((0, 1), slacks, shift, (2, 9), None) == union_volume(rows[:1])
        assert weigher._volume((0, 1), slacks, shift, (None, 3), None) == union_volume(rows[1:])
        assert weigher._volume((0, 1), slacks, shift, (7, None), None) == 0


def _majority() -> TableModel:
    bits = list(product(range(2), repeat=5))
    return TableModel.from_outputs(Domain([Integer(f"x{i}", 0, 1) for i in range(5)]), [int(sum(b) > 2) for b in bits])


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_compiled_is_kept_unless_a_budget_was_spent_on_it(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions with different budgets share an engine, and one whose budget is spent leaves nothing behind."""
    started: list[Budget | None] = []
    module = diagrams if target in ("mdd", "obdd") else circuits
    compile_target = module.compile_target

    def compiled(*arguments: Any, **options: Any) -> Any:
        started.append(options["budget"])
        return compile_target(*arguments, **options)

    monkeypatch.setattr(module, "compile_target", compiled)
    model = _majority()
    engine, codes = engine_through(target, model, Similarity()), np.zeros((1, 5))
    small, large = Budget(nodes=1), Budget(nodes=10_000)
    for _ in range(2):
        with pytest.raises(BudgetError):
            engine.explain(codes, budget=small)
    found = [engine.explain(codes, budget=budget)[0] for budget in (large, None, large)]
    assert started == [small, small, large]
    assert engine.is_weak_cxp(codes[0], 0b00111)
    assert not engine.is_weak_cxp(codes[0], 0b00011)
    engine.explain(np.ones((1, 5)))  # the other output
    assert started == [small, small, large, None]
    expected = sorted(engine_for(model, Similarity()).explain(codes)[0].masks)
    assert [sorted(sets.masks) for sets in found] == [expected] * 3


def test_of_numbers_the_latest_few_are_kept() -> None:
    made: list[Any] = []
    at = PerOutput(lambda output, _: made.append(output) or output)
    for output in (*map(Fraction, range(16)), "a", Fraction(16), "a", Fraction(0)):
        assert at(output) == output
    assert made == [*map(Fraction, range(16)), "a", Fraction(16), "a", Fraction(0)]
    at("a")
    assert made[-1] == 0


def test_the_engine_of_a_form_is_that_of_its_kinds() -> None:
    class Special(TableModel):
        pass

    model = _majority()
    special = Special(**{name: getattr(model, name) for name in model.__dataclass_fields__})
    assert isinstance(engine_for(special, Similarity()), BoxEngine)
    with pytest.raises(UnsupportedModelError, match="No engine explains str; expected a neutral form"):
        engine_for("model", Similarity())


@pytest.mark.parametrize(("budget", "most"), [(Budget(seconds=60), 500), (Budget(nodes=250), 250)])
def test_parts_of_a_search_have_nodes_of_their_own_unless_the_budget_limits_them(budget: Budget, most: int) -> None:
    account = Account(budget, goal="search", unit="boxes", at_once=7)
    for spent in range(most):
        if spent % 100 == 0:
            account.grant(100)
        account.spend(1)
    with pytest.raises(BudgetError, match=rf"after {most + 1} boxes and \d.\d\d s, and the search is not finished"):
        account.spend(1)
