"""Entropy, divergence and mutual information, and products of PSDDs, against sums over all points."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.information import divergence, entropy, mutual_information
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.psdd_pairs import account_of_pairs, psdd_given, psdd_product, require_deterministic
from axfi_kc.circuits.targets import sdd_of
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.logarithms import log_sum
from axfi_kc.errors import AxfiError, CircuitError, DomainError
from tests.support.circuit_strategies import MODEST, deterministic_circuits, grids, ordered_diagrams, satisfying
from tests.support.random_psdds import bit_domain, deterministic_psdd, exact_chance


def listed_entropy(chances):
    return -math.fsum(float(p) * math.log(p) for p in chances if p)


def listed_divergence(p, q):
    if any(w and not q.get(x) for x, w in p.items()):
        return math.inf
    return math.fsum(float(w) * math.log(w / q[x]) for x, w in p.items() if w)


def shares(circuit, worths=None):
    axes = circuit.grid.axes
    rows = worths or [[Fraction(k, a.denominator) for k in a.numerators] for a in axes]
    weights = {x: math.prod(r[c] for r, c in zip(rows, x, strict=True)) for x in satisfying(circuit)}
    whole = sum(weights.values())
    return {x: Fraction(w) / whole for x, w in weights.items()} if whole else {}


def table(psdd: Psdd) -> dict[tuple[int, ...], Fraction]:
    return {x: exact_chance(psdd, x) for x in product((0, 1), repeat=len(psdd.bits))}


def random_vtree(rng: Random, n: int) -> Vtree:
    parts: list[object] = rng.sample(range(n), n)
    while len(parts) > 1:
        k = rng.randrange(len(parts) - 1)
        parts[k : k + 2] = [(parts[k], parts[k + 1])]
    return Vtree.of_nested(parts[0])


@MODEST
@given(data=st.data())
def test_entropy_of_circuits(data):
    circuit = data.draw(deterministic_circuits())
    worths = [[data.draw(st.integers(0, 4)) for _ in range(n)] for n in circuit.grid.n_cells]
    chances = shares(circuit, worths)
    if chances:
        found = entropy(circuit, worths)
        assert float(found) == pytest.approx(listed_entropy(chances.values()), abs=1e-12)
        assert found.error < Fraction(1, 10**30)
        assert float(entropy(circuit, worths, base=2)) == pytest.approx(float(found) / math.log(2), abs=1e-12)
    else:
        with pytest.raises(CircuitError):
            entropy(circuit, worths)


@MODEST
@given(data=st.data())
def test_divergence_of_circuits(data):
    grid = data.draw(grids())
    order = data.draw(st.permutations(range(len(grid.axes))))
    p, q = (data.draw(ordered_diagrams(grid, order)) for _ in range(2))
    worths = [[data.draw(st.integers(0, 3)) for _ in range(n)] for n in grid.n_cells]
    one, two = shares(p, worths), shares(q)
    if one and two:
        found = divergence(p, q, worths)
        assert float(found) == pytest.approx(listed_divergence(one, two), abs=1e-12)
        assert float(divergence(p, p, worths, other_worths=worths)) == pytest.approx(0, abs=1e-30)


@MODEST
@given(data=st.data())
def test_mutual_information_of_circuits(data):
    circuit = data.draw(deterministic_circuits())
    chances, n = shares(circuit), len(circuit.grid.axes)
    if not chances or n < 2:
        return
    found = mutual_information(circuit, [0], list(range(1, n)))
    marginal = [{}, {}]
    for x, p in chances.items():
        for part, key in zip(marginal, (x[:1], x[1:]), strict=True):
            part[key] = part.get(key, 0) + p
    expected = math.fsum(
        float(p) * math.log(p / (marginal[0][x[:1]] * marginal[1][x[1:]])) for x, p in chances.items() if p
    )
    assert float(found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_psdds_equal_enumeration(seed):
    rng = Random(seed)
    n = rng.randint(2, 5)
    tree = random_vtree(rng, n)
    p = deterministic_psdd(rng, tree, n)
    inside = [x for x, w in table(p).items() if w]
    q = deterministic_psdd(rng, tree, n, inside if rng.random() < 0.5 else None)
    one, two = table(p), table(q)
    assert float(entropy(p)) == pytest.approx(listed_entropy(one.values()), abs=1e-12)
    assert float(divergence(p, q)) == pytest.approx(listed_divergence(one, two), abs=1e-12)
    pairs = [one[x] * two[x] for x in one]
    if any(pairs):
        made, whole = psdd_product(p, q)
        assert whole == sum(pairs)
        assert list(table(made).values()) == [w / whole for w in pairs]
        require_deterministic(made, account=account_of_pairs(None))
    else:
        with pytest.raises(CircuitError, match="needs a point"):
            psdd_product(p, q)
    joint = {(a, b): p.probability({0: a, 1: b}) for a in (0, 1) for b in (0, 1)}
    expected = math.fsum(
        float(w) * math.log(w / (p.probability({0: a}) * p.probability({1: b}))) for (a, b), w in joint.items() if w
    )
    assert float(mutual_information(p, [0], [1])) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_psdds_given_diagrams(seed):
    rng = Random(seed)
    n = rng.randint(2, 5)
    tree, grid = random_vtree(rng, n), Grid.of_values(bit_domain(n))
    p, wanted = deterministic_psdd(rng, tree, n), {x for x in product((0, 1), repeat=n) if rng.random() < 0.5}
    build = CircuitBuilder(grid)
    rows = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(x)]) for x in wanted]
    sdd = sdd_of(build.circuit(build.disjunction(rows)), vtree=tree)
    chances = {x: w if x in wanted else Fraction(0) for x, w in table(p).items()}
    whole = sum(chances.values())
    if whole:
        made, chance = psdd_given(p, sdd)
        assert chance == whole
        assert table(made) == {x: w / whole for x, w in chances.items()}
    else:
        with pytest.raises(CircuitError):
            psdd_given(p, sdd)


def test_logarithms_are_certified():
    for factor, number in ((1, 2), (Fraction(-1, 3), Fraction(5, 7)), (10**20, 1 + Fraction(1, 10**20))):
        found = log_sum([(factor, number)])
        assert found.low < found.high
        assert float(found) == pytest.approx(float(factor) * math.log1p(float(number - 1)), rel=1e-14)
        assert found.middle in found
    assert log_sum([(0, 0), (3, 1)]).error == 0
    assert float(log_sum([(1, 2**5000)], base=2)) == 5000
    for bad in (0, 1, 2.5, True):
        with pytest.raises(DomainError, match="base"):
            log_sum([(1, 2)], base=bad)


def test_bad_input_is_one_sentence():
    rng, build = Random(0), CircuitBuilder(Grid.of_values(bit_domain(3)))
    other = CircuitBuilder(Grid.of_values(bit_domain(4)))
    circuit = build.circuit(build.literal(0, [1]))
    p, q = (deterministic_psdd(rng, Vtree.right_linear(order), 3) for order in ([0, 1, 2], [2, 1, 0]))
    leaves, elements = (
        (Fraction(1, 2), Fraction(1, 3), None),
        ((), (), ((0, 1, Fraction(1, 2)), (0, 1, Fraction(1, 2)))),
    )
    states = deterministic_psdd(rng, Vtree.right_linear([0, 1]), 2).states
    overlapping = Psdd(states, ((0, 2), (1, 2)), Vtree.right_linear([0, 1]), (0, 1, 2), leaves, elements)
    three = ax.Domain([ax.Categorical("c", "xyz")])
    spread = Psdd(
        tuple(ax.States.of(f) for f in three.features),
        ((0, 4), (0, 2)),
        Vtree.right_linear([0, 1]),
        (0, 1, 2),
        (Fraction(1, 2), Fraction(1, 3), None),
        ((), (), ((0, 1, Fraction(1)),)),
    )
    for call in (
        lambda: divergence(p, q),
        lambda: psdd_product(p, q),
        lambda: divergence(circuit, p),
        lambda: divergence(circuit, other.circuit(other.true)),
        lambda: entropy(overlapping),
        lambda: entropy(spread),
        lambda: entropy(build.circuit(build.false)),
        lambda: mutual_information(circuit, [0], [0]),
        lambda: mutual_information(circuit, [0], [3]),
        lambda: mutual_information(circuit, [], [1]),
        lambda: mutual_information(build.circuit(build.false), [0], [1]),
    ):
        with pytest.raises(AxfiError) as raised:
            call()
        assert str(raised.value).count(". ") == 0


def test_divergence_is_of_any_two_forms_over_equal_cells() -> None:
    p, q = (ax.from_expression(text, names="xyz") for text in ("x & y", "x | z"))
    wanted = math.log2(6 / 2)
    for a, b in ((p, q), (p.compile("mdd"), q.compile("obdd")), (p.compile("ddnnf"), q.compile("mdd"))):
        assert float(divergence(a, b, base=2)) == pytest.approx(wanted)
    with pytest.raises(CircuitError, match="over one grid"):
        divergence(p, ax.from_expression("x & y"))
