"""Linear models over real features among the points that can exist: the proofs against brute force."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import axfi_kc as ax
from axfi_kc.domain.constraints import Constraint
from axfi_kc.domain.distribution import Product
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.region import Near
from axfi_kc.models import Argmax, LinearModel, Positive, Slope
from axfi_kc.verification import Claim
from axfi_kc.verification.piece_proofs import ClassPieceProofs, PieceProofs
from axfi_kc.verification.possible import violated
from axfi_kc.verification.questions import Searches
from axfi_kc.verification.reading import form_of
from axfi_kc.verification.report import Allowance, Spent
from tests.support.alterations import added, axp_dropped, axp_smaller, dropped, exchanged, heavier
from tests.support.linear_judge import ClassJudge, LinearJudge
from tests.support.possible_planes import PossibleJudge, cells_of, random_possible_plane

HALF = Fraction(1, 2)


def claim_of(domain: Domain, judge: PossibleJudge, *, weights: str = "ratio", toward: Any = None) -> Claim:
    """Return a claim about an instance that says nothing of its CXps."""
    point = {n: float(x) if isinstance(x, Fraction) else x for n, x in zip(domain.names, judge.v, strict=True)}
    output, delta = judge.judge.output(judge.v), judge.judge.delta
    return Claim(domain, point, output, delta, weights, None, {}, None, {}, frozenset(), toward=toward)


def sets_of(n: int) -> Iterable[tuple[int, ...]]:
    return (S for size in range(1, n + 1) for S in combinations(range(n), size))


def point_of(domain: Domain, judge: PossibleJudge, found: dict[int, Any]) -> tuple[Any, ...]:
    """Return a point that a proof found as values."""
    point = list(judge.v)
    for i, number in found.items():
        values = getattr(domain.features[i], "values", None)
        point[i] = number if values is None or number is None else values[int(number)]
    return tuple(point)


@pytest.mark.parametrize("toward", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_what_exists_and_what_it_weighs(seed: int, toward: bool) -> None:
    rng = Random(f"pieces {seed} {toward}")
    for _ in range(8):
        model, domain, judge, asked = random_possible_plane(rng, toward=toward)
        form, claim = form_of(model, domain), claim_of(domain, judge, toward=asked)
        proofs: Any = (ClassPieceProofs if toward else PieceProofs)(form, claim)
        for S in sets_of(len(domain)):
            found = proofs.find(S, Allowance.of(None))
            assert (found is not None) == judge.is_wcxp(frozenset(S))
            if found is not None:
                assert set(found) == set(S)
                point = point_of(domain, judge, found)
                assert judge.meaning(point)
                assert judge.judge.dissimilar(point)
                codes = proofs.codes(found)
                assert violated(domain, codes.tolist()) is None
                # A class may win on a line alone, on which there need not be a float.
                assert toward or judge.judge.dissimilar(domain.decode(codes))
            weight = judge.ratio(frozenset(S))
            if weight is None:
                with pytest.raises(Spent):
                    proofs.weigh(S, Allowance.of(None))
            else:
                assert proofs.weigh(S, Allowance.of(None)) == weight


@pytest.mark.parametrize("toward", [False, True])
def test_counts_of_possible_points(toward: bool) -> None:
    rng, counted = Random(f"counts {toward}"), 0
    while counted < 60:
        model, domain, judge, asked = random_possible_plane(rng, toward=toward)
        claim = claim_of(domain, judge, weights="count", toward=asked)
        proofs: Any = (ClassPieceProofs if toward else PieceProofs)(form_of(model, domain), claim)
        for S in sets_of(len(domain)):
            if any(isinstance(domain.features[i], ax.Real) for i in S):
                with pytest.raises(Spent):
                    proofs.weigh(S, Allowance.of(None))
                continue
            assert proofs.weigh(S, Allowance.of(None)) == judge.count(frozenset(S))
            counted += 1


def line(
    *rules: Constraint,
    at: float,
    base: Any = -HALF,
    slopes: tuple[Any, ...] = (1,),
    start: tuple[float, ...] = (),
    prediction: str | None = None,
) -> PieceProofs:
    """Return proofs about a score over real features from 0 to 1, of which the first is x, that is positive or not."""
    plain = ax.Domain([ax.Real(name, 0, 1) for name in "xyz"[: len(slopes)]])
    parts = [Slope((Fraction(slope),)) for slope in slopes]
    model = LinearModel.of(plain, parts, base=[Fraction(base)], rule=Positive(("no", "yes")))
    point, domain = dict(zip(plain.names, (at, *start), strict=True)), plain.where(*rules)
    output = prediction or model.predict([point])[0]
    claim = Claim(domain, point, output, None, "ratio", None, {}, None, {}, frozenset())
    return PieceProofs(form_of(model, domain), claim)  # type: ignore[arg-type]


x = ax.feature("x")


@pytest.mark.parametrize(
    ("rule", "at", "found"),
    [
        # Above one half is "yes", at one half "no".
        (x <= 0.5, 0.25, None),
        (x < 0.5, 0.25, None),
        ((x < 0.5) | (x == 1), 0.25, Fraction(0)),
        ((x < 0.5) | (x >= 0.75), 0.25, Fraction(1, 3)),
        (x >= 0.5, 0.75, Fraction(0)),
        (x > 0.5, 0.75, None),
        (x != 0.5, 0.75, HALF),
        ((x > 0.25) & (x < 0.75), 0.375, HALF),
        ((x > 0.25) & (x < 0.75), 0.625, HALF),
        (x.isin([0.25, 0.5]) | (x > 0.5), 0.75, Fraction(0)),
    ],
)
def test_ends_that_are_in_and_ends_that_are_left_out(rule: Constraint, at: float, found: Fraction | None) -> None:
    proofs, allowance = line(rule, at=at), Allowance.of(None)
    corner = proofs.find((0,), allowance)
    assert (corner is None) == (found is None)
    assert proofs.weigh((0,), allowance) == (found or 0)
    if corner is not None:
        codes = proofs.codes(corner)
        assert codes is not None
        assert (codes[0] > 0.5) == (at <= 0.5)
        assert corner[0] == Fraction(codes[0])


def test_a_feature_that_adds_nothing_reaches_its_extreme_anywhere() -> None:
    proofs = line((x > 0) & (x < 1), at=0.5, base=0, slopes=(0, 1), start=(0.5,))
    assert proofs.find((0, 1), Allowance.of(None)) == {0: HALF, 1: 0}
    assert proofs.find((0,), Allowance.of(None)) is None


def test_with_no_feature_free_there_is_the_instance() -> None:
    proofs = line(x < 1, at=0.75)
    assert proofs.find((), Allowance.of(None)) is None
    proofs = line(x < 1, at=0.75, prediction="no")
    assert proofs.find((), Allowance.of(None)) == {}
    assert proofs.weigh((), Allowance.of(None)) == 1


def test_points_between_two_floats() -> None:
    last = Fraction(math.nextafter(1, 0))
    allowance = Allowance.of(None)
    # The last float before the end is on the other side.
    near = line(x < 1, at=0.5, base=(1 - last) / 4 - last)
    assert near.find((0,), allowance) == {0: last}
    # It is not, but numbers beyond it are.
    beyond = line(x < 1, at=0.5, base=-(1 + last) / 2)
    found = beyond.find((0,), allowance)
    assert found is not None
    assert (1 + last) / 2 < (found[0] or 0) < 1
    codes = beyond.codes(found)
    assert codes is not None
    assert codes.tolist() == [float(last)]
    # There is no float at all where the other side is possible.
    none = line((x <= 0.5) | ((x > last) & (x < 1)), at=0.25)
    found = none.find((0,), allowance)
    assert found is not None
    assert last < (found[0] or 0) < 1
    assert none.codes(found) is None
    # A number that is no float is rounded to one in its piece.
    assert none.codes({0: Fraction(1, 3)}) is not None
    assert line(x > 0.2, at=0.25).codes({0: (Fraction(0.2) + Fraction(math.nextafter(0.2, 1))) / 2}) == np.array(
        [math.nextafter(0.2, 1)]
    )


def test_a_class_that_wins_only_where_nothing_can_be() -> None:
    """The first of three classes ties with the others at one half, and loses to one of them elsewhere."""
    plain = ax.Domain([ax.Real("x", 0, 1)])
    model = LinearModel.of(
        plain, [Slope((Fraction(0), Fraction(1), Fraction(-1)))], base=[0, -HALF, HALF], rule=Argmax(("a", "b", "c"))
    )
    for rule, found in (((x <= 1), {0: HALF}), (x != 0.5, None), ((x <= 0.5), {0: HALF}), (x < 0.5, None)):
        domain = plain.where(rule)
        claim = Claim(domain, {"x": 0.25}, "c", None, "ratio", None, {}, None, {}, frozenset(), toward="a")
        proofs = ClassPieceProofs(form_of(model, domain), claim)  # type: ignore[arg-type]
        assert proofs.find((0,), Allowance.of(None)) == found
        assert proofs.weigh((0,), Allowance.of(None)) == 0


def minimal_hitting(sets: Iterable[frozenset[int]], n: int) -> list[frozenset[int]]:
    kept: list[frozenset[int]] = []
    family = list(sets)
    for S in map(frozenset, [(), *sets_of(n)]):
        if all(S & Y for Y in family) and not any(T <= S for T in kept):
            kept.append(S)
    return kept


def full_claim(domain: Domain, judge: PossibleJudge, toward: Any = None) -> Claim | None:
    """Return what brute force says of an instance; None where nothing is dissimilar, or a weight divides by 0."""
    ratios = {Y: judge.ratio(Y) for Y in judge.cxps()}
    if not ratios or None in ratios.values():
        return None

    def named(S: frozenset[int]) -> frozenset[str]:
        return frozenset(domain.names[i] for i in S)

    cxps = {named(Y): w for Y, w in ratios.items() if w is not None}
    axps = tuple(map(named, minimal_hitting(ratios, len(domain))))
    bare = claim_of(domain, judge, toward=toward)
    return replace(bare, cxps=cxps, axps=axps, relevant=frozenset().union(*cxps))


@pytest.mark.parametrize("toward", [False, True])
def test_what_is_true_is_proved_and_what_was_altered_refuted(toward: bool) -> None:
    rng, tried = Random(f"verified pieces {toward}"), 0
    while tried < 25:
        model, domain, judge, asked = random_possible_plane(rng, toward=toward)
        claim = full_claim(domain, judge, asked)
        if claim is None or all(f.low == f.high for f in domain.features if isinstance(f, ax.Real)):
            continue
        tried += 1
        report = ax.verify(claim, model)
        assert report.complete, str(report)
        assert ax.verify(claim, model, budget=ax.Budget(nodes=20)).ok
        for k, alter in enumerate((dropped, added, exchanged, heavier, axp_dropped, axp_smaller)):
            assert not ax.verify(alter(claim, Random(k)), model).ok, alter.__name__


def flowers() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"x": rng.random(120) * 4, "y": rng.random(120) * 2, "n": rng.integers(0, 3, 120)})
    return X, (X.x + 2 * X.y + X.n).to_numpy()


@pytest.mark.parametrize("kind", ["binary", "classes", "toward", "regression"])
def test_models_of_a_library(kind: str) -> None:
    X, total = flowers()
    plain = ax.Domain.from_data(X)
    rules = ((x <= 2) | (ax.feature("y") < 1), (ax.feature("n") == 0) >> (x != 1), ax.feature("n") <= 2)
    domain = plain.where(*rules)
    if kind == "regression":
        model, delta = LinearRegression().fit(X, total + X.x**2), Fraction(1)
    else:
        edges = [3.0] if kind == "binary" else [2.5, 4.5]
        model, delta = LogisticRegression(C=10).fit(X, np.digitize(total, edges)), None
    own = ax.read_model(model, plain)

    def meaning(p: tuple[Any, ...]) -> bool:
        return (p[0] <= 2 or p[1] < 1) and (p[2] != 0 or p[0] != 1)

    cells, proved = cells_of(plain, [[1, 2], [1], []]), 0
    for row in X.to_dict("records")[:6]:
        v = (Fraction(row["x"]), Fraction(row["y"]), row["n"])
        if not meaning(v):
            continue
        judge, asked = LinearJudge(own, v, delta), None
        if kind == "toward":
            asked = next(k for k in (2, 0) if k != judge.output(v))
            judge = ClassJudge(own, v, toward=asked)
        claim = full_claim(domain, PossibleJudge(judge, meaning, cells), asked)
        assert claim is not None
        report = ax.verify(claim, model)
        assert report.complete, str(report)
        assert report.reading == "its coefficients"
        for k, alter in enumerate((dropped, heavier, axp_smaller)):
            assert not ax.verify(alter(claim, Random(k)), model).ok, alter.__name__
        # What holds where every combination is possible is no answer here.
        other = full_claim(plain, PossibleJudge(judge, lambda p: True, cells), asked)
        assert other is not None
        assert ax.verify(other, model).complete
        if other.cxps != claim.cxps:
            assert not ax.verify(replace(other, domain=domain), model).ok
            proved += 1
    assert proved


def proofs_of(domain: Domain, point: dict[str, Any]) -> Any:
    """Return the proofs that the checker has about a sum of all features."""
    model = LinearModel.of(
        domain.unconstrained, [Slope((Fraction(1),)) for _ in domain.features], base=[-1], rule=Positive((0, 1))
    )
    claim = Claim(domain, point, model.predict([point])[0], None, "ratio", None, {}, None, {}, frozenset())
    return Searches(claim, model, Allowance.of(None), seed=0)._proofs


def test_which_constraints_are_covered() -> None:
    plain, point = (
        ax.Domain([ax.Real("x", 0, 1), ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)]),
        {"x": 0.5, "a": 1, "b": 1},
    )
    ordered = plain.where(ax.feature("a") <= ax.feature("b"))
    near = Near(("a", "b"), (1, 1), (Fraction(1), Fraction(1)), Fraction(1))
    through = Near(("x", "b"), (0.5, 1), (Fraction(1), Fraction(1)), Fraction(1))
    assert type(proofs_of(ordered, point)) is PieceProofs
    assert type(proofs_of(plain.where(near), point)) is PieceProofs
    assert proofs_of(plain.where(through), point) is None
    assert proofs_of(plain.where((x < 0.25) | through), point) is None
    assert proofs_of(ordered.with_distribution(Product.of(ordered)), point) is None
    # A ball of integers is a constraint like any other: within it a and b are at least 1 together, so that the score
    # x + a + b - 1 is not above 0 at one point alone.
    proofs = proofs_of(plain.where(near), point)
    assert proofs.find((1, 2), Allowance.of(None)) is None
    assert proofs.find((0, 1), Allowance.of(None)) == {0: 0, 1: 0}
    assert proofs.weigh((0, 1), Allowance.of(None)) == 0


def test_integers_too_many_to_list_have_extremes_but_no_weight() -> None:
    domain = ax.Domain([ax.Real("x", 0, 1), ax.Integer("a", 0, 10**9)]).where((x < 0.5) | (ax.feature("a") <= 10**6))
    proofs, allowance = proofs_of(domain, {"x": 0.0, "a": 0}), Allowance.of(None)
    assert proofs.find((1,), allowance) == {1: 10**9}
    assert proofs.find((0,), allowance) is None
    with pytest.raises(Spent):
        proofs.weigh((1,), allowance)


def test_many_features_take_a_moment_and_an_allowance_ends_them() -> None:
    flags, reals = [f"f{k}" for k in range(12)], [f"r{k}" for k in range(10)]
    plain = ax.Domain([*(ax.Integer(n, 0, 1) for n in flags), *(ax.Real(n, 0, 1) for n in reals)])
    chain = [(ax.feature(a) >= 0.5) >> (ax.feature(b) < 0.5) for a, b in pairwise(reals)]
    domain, everything = plain.where(ax.at_most_one(*flags), *chain), tuple(range(22))
    # One flag adds 1. Of two neighbours one is below 1/2: five are 1, and five come close to 1/2.
    most = 1 + Fraction(15, 2)
    for base, is_there in ((Fraction(1, 9) - most, True), (-most, False), (-most - 1, False)):
        model = LinearModel.of(plain, [Slope((Fraction(1),))] * 22, base=[base], rule=Positive((0, 1)))
        claim = Claim(domain, dict.fromkeys(domain.names, 0), 0, None, "ratio", None, {}, None, {}, frozenset())
        proofs = PieceProofs(form_of(model, domain), claim)  # type: ignore[arg-type]
        allowance = Allowance.of(None)
        assert (proofs.find(everything, allowance) is not None) == is_there
        assert allowance.used < 10_000
        with pytest.raises(Spent):
            proofs.weigh(everything, Allowance.of(ax.Budget(nodes=50)))
