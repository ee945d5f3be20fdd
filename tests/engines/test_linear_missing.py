"""Linear models over features that may be missing: a number with a slope, or an atom with a constant."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest

from axfi_kc import Categorical, Domain, Explainer, Integer, Real, is_wcxp
from axfi_kc.engines.linear.union_weights import box_share
from axfi_kc.errors import ConstantModelError, DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope
from tests.support.linear_judge import LinearJudge, volume
from tests.support.random_problems import Truth, random_plane, random_truth

HALF = Fraction(1, 2)


def answers(explainer: Explainer, v: Any) -> dict[tuple[str, ...], Any]:
    return {c.features: c.weight for c in explainer.explain(v).cxps}


def judged(model: LinearModel, v: Any, delta: Fraction | None = None) -> dict[tuple[str, ...], Fraction]:
    judge, names = LinearJudge(model, tuple(v), delta), model.domain.names
    return {tuple(names[i] for i in sorted(Y)): judge.ratio(Y) for Y in judge.cxps()}


def planes(rng: Random) -> Iterator[tuple[LinearModel, Any, Fraction | None]]:
    while True:
        model, v, delta = random_plane(rng)
        if any(f.missing and isinstance(f, Real) for f in model.domain.features):
            yield model, v, delta


def test_real_features_equal_exact_integration() -> None:
    kinds = set()
    for model, v, delta in islice(planes(Random(5)), 300):
        try:
            found = answers(Explainer(model, model.domain, delta=delta), v)
        except ConstantModelError:
            found = {}
        assert found == judged(model, v, delta)
        kinds.add((type(model.rule), None in v, bool(found)))
    assert len(kinds) == 12


def test_three_real_features_and_three_classes_from_a_missing_instance() -> None:
    rng, found, sizes = Random(8), 0, set()
    while found < 12:
        domain = Domain([Real(f"r{i}", 0, rng.randint(1, 3), missing=Fraction(1, 3)) for i in range(3)])
        parts = [Slope(*(tuple(rng.randint(-4, 4) for _ in range(3)) for _ in range(2))) for _ in range(3)]
        model = LinearModel.of(domain, parts, base=[rng.randint(2, 6), 0, 1], rule=Argmax("abc"))
        v = tuple(rng.choice((None, 0.5)) for _ in range(3))
        expected = judged(model, v)
        if any(len(Y) > 1 for Y in expected):
            assert answers(Explainer(model, domain), v) == expected
            sizes |= set(map(len, expected))
            found += 1
    assert sizes == {1, 2, 3}


def linear_truths(rng: Random) -> Iterator[Truth]:
    while True:
        truth = random_truth(rng, "linear", n_instances=6)
        if any(f.missing for f in truth.domain.features) and not truth.is_constant:
            yield truth


@pytest.mark.parametrize("target", ["auto", "mdd", "obdd", "sdd", "ddnnf"])
def test_discrete_features_equal_brute_force_through_every_target(target: str) -> None:
    rng = Random(31)
    for truth in islice(linear_truths(rng), 40):
        weights = rng.choice(("ratio", "count", "unit"))
        explainer = Explainer(truth.model, truth.domain, delta=truth.delta, weights=weights, target=target)
        for v in truth.instances:
            answer, e = truth.answer(v), explainer.explain(truth.point(v))
            expected = {truth.domain.names_of(Y): w for Y, w in answer.weights(weights).items()}
            assert (e.prediction, {c.features: c.weight for c in e.cxps}) == (answer.output, expected)
            mask = rng.randrange(1 << len(v))
            assert is_wcxp(e.problem, truth.domain.names_of(mask)) == any(Y & mask == Y for Y in answer.ratios)


def test_batches_with_gaps_equal_one_by_one() -> None:
    domain = Domain([Real("a", 0, 4, missing=0.25), Real("b", -1, 1), Real("c", 0, 1, missing=0.5)])
    parts = [Slope((1,), (0.7,)), Slope((-2.5,)), Slope((0.3,), (1.9,))]
    explainer = Explainer(LinearModel.of(domain, parts, base=[-0.9], rule=Positive((0, 1))), domain)
    rows = np.array([[np.nan, 0.5, 0.25], [3.5, -0.75, np.nan], [np.nan, 0.1, np.nan], [0.5, 0.0, 0.5]])
    batch = explainer.explain_batch(rows, progress=False)
    assert {e.prediction for e in batch} == {0, 1}
    for e, row in zip(batch, rows, strict=True):
        v = [None if np.isnan(x) else x for x in row]
        assert {c.features: c.weight for c in e.cxps} == answers(explainer, v) == judged(explainer.model, v)


def test_from_a_missing_value_every_number_may_be_dissimilar() -> None:
    # Missing adds 10, more than any number does: the whole interval is beyond the margin, up to its other end.
    domain = Domain([Real("a", 0, 1, missing=HALF)])
    model = LinearModel.of(domain, [Slope((1,), (10,))], base=[-5], rule=Positive((0, 1)))
    assert answers(Explainer(model, domain), [None]) == {("a",): HALF}
    assert answers(Explainer(model, domain), [0.25]) == {("a",): HALF}


def test_two_classes_win_from_both_ends_of_an_interval() -> None:
    # From missing, b wins below 3/4 and c above 1/4: everywhere, though neither does alone.
    domain = Domain([Real("a", 0, 1, missing=Fraction(1, 5))])
    parts = [Slope((0, -4, 4), (9, 0, 0))]
    model = LinearModel.of(domain, parts, base=[0, 3, -1], rule=Argmax("abc"))
    assert answers(Explainer(model, domain), [None]) == {("a",): Fraction(4, 5)}


def test_a_feature_without_slope_is_missing_or_not() -> None:
    domain = Domain([Real("a", 0, 3, missing=0.25), Real("b", 2, 2, missing=0.25), Integer("c", 0, 9**9, missing=0.25)])
    parts = [Slope((0,), (-1,)), Slope((1,), (0,)), Slope((0,), (5,))]
    model = LinearModel.of(domain, parts, base=[0], rule=Score())
    found = answers(Explainer(model, domain, delta=0), [1.0, None, None])
    assert found == {("a",): Fraction(1, 4), ("b",): Fraction(3, 4), ("c",): Fraction(3, 4)}


def test_a_wide_integer_feature_that_may_be_missing_costs_nothing_alone() -> None:
    domain = Domain([Integer("a", 0, 10**12, missing=0.5), Categorical("b", "xy", missing=0.5)])
    parts = [Slope((1,), (20,)), Lookup(((0, 1, 0),))]
    model = LinearModel.of(domain, parts, base=[-10], rule=Positive((0, 1)))
    assert answers(Explainer(model, domain, weights="count"), [0, "x"]) == {("a",): 10**12 - 10 + 1}
    assert answers(Explainer(model, domain), [None, "x"]) == {("a",): Fraction(11, 2 * (10**12 + 1))}
    flat = LinearModel.of(domain, [Slope((0,), (20,)), parts[1]], base=[-10], rule=Positive((0, 1)))
    assert answers(Explainer(flat, domain, weights="count"), [None, "x"]) == {("a",): 10**12 + 1}
    classes = LinearModel.of(
        domain, [Slope((0,) * 3, (9, 0, 0)), Lookup(((0, 1, 0),) * 3)], base=[0, 1, 2], rule=Argmax("abc")
    )
    assert answers(Explainer(classes, domain, weights="count"), [None, "x"]) == {("a",): 10**12 + 1}


def test_parts_of_boxes_that_half_spaces_cover() -> None:
    rng = Random(2)
    for _ in range(60):
        n = rng.randint(1, 3)
        widths = [Fraction(rng.randint(1, 6), 2) for _ in range(n)]
        rows = [[rng.randint(-3, 3) for _ in range(n)] for _ in range(rng.randint(1, 3))]
        halves = [(Fraction(rng.randint(-2, 8), 2), row) for row in rows if any(row)]
        box = [
            (tuple(s * int(j == i) for j in range(n)), b) for i, w in enumerate(widths) for s, b in ((1, w), (-1, 0))
        ]
        # Outside of a half-space: the sum of the distances from its corner is above b.
        outside = [
            (tuple(-a for a in row), -b - sum(a * w for a, w in zip(row, widths, strict=True) if a < 0))
            for b, row in halves
        ]
        whole = volume([(tuple(map(Fraction, a)), Fraction(b)) for a, b in [*box, *outside]], n)
        assert box_share(halves, widths) == 1 - whole / np.prod(widths)


def test_rounding_counts_what_missing_values_add() -> None:
    domain = Domain([Real("a", 0, 1, missing=0.5)])
    small, large = (LinearModel.of(domain, [Slope((1,), (n,))], base=[-0.5], rule=Positive((0, 1))) for n in (1, 10**9))
    assert large.rounding_error > 10**8 * small.rounding_error
    assert Explainer(large, domain).explain([0.25]).rounding.error == large.rounding_error


def test_what_missing_values_add_is_given_exactly_where_they_occur() -> None:
    gappy, whole = Domain([Real("a", 0, 1, missing=0.5)]), Domain([Real("a", 0, 1)])
    for domain, part in ((gappy, Slope((1,))), (gappy, Slope((1,), (1, 2))), (whole, Slope((1,), (1,)))):
        with pytest.raises(DomainError, match="Feature 'a'"):
            LinearModel.of(domain, [part], base=[0], rule=Positive((0, 1)))
    with pytest.raises(DomainError, match="a factor and a number for missing per score"):
        LinearModel.of(gappy, [Slope((1,))], base=[0], rule=Positive((0, 1)))
    with pytest.raises(UnsupportedModelError, match="predicts nothing where a value is missing, but feature 'a' may"):
        LinearModel.of_columns(gappy, [[1]], intercepts=[0], rule=Positive((0, 1)))
