"""Boxes of values: implicants, not extendable, with the coverage of a listing, and the largest of all."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.errors import BudgetError, DomainError, UnsupportedModelError
from axfi_kc.explanations.inflated import inflated_axp, inflated_cxp, most_general
from axfi_kc.models import LinearModel, Positive
from tests.support.boxes import BoxJudge, random_question


def check_box(judge: BoxJudge, box: ax.Inflated, *, similar: bool) -> None:
    cells = judge.cells(box)
    assert judge.is_pure(cells, similar=similar)
    assert box.coverage == judge.measure(cells)
    for wider in judge.wider(box):
        assert not judge.is_pure(wider, similar=similar)


@pytest.mark.parametrize("part", range(2))
def test_boxes_that_keep_the_output(part: int) -> None:
    rng, compared = Random(f"inflated {part}"), 0
    for _ in range(8):
        truth, v, problem = random_question(rng)
        names, m = truth.domain.names, len(v)
        judge = BoxJudge(truth, v, range(m))
        kept = set(range(m))
        for i in rng.sample(range(m), m):  # an AXp, by leaving out what can be
            free = [set(range(len(truth.values[k]))) if k not in kept - {i} else {v[k]} for k in range(m)]
            kept -= {i} if judge.is_pure(free, similar=True) else set()
        axp = [names[i] for i in sorted(kept)]
        box = inflated_axp(problem, axp, order=rng.sample(axp, len(axp)))
        assert set(box.features) == set(axp)
        assert problem.instance in box
        check_box(judge, box, similar=True)
        general = most_general(problem)
        check_box(judge, general, similar=True)
        assert problem.instance in general
        assert general.is_largest
        assert general.coverage >= box.coverage
        largest = judge.largest(similar=True, around=True)
        assert largest in (None, general.coverage)
        compared += largest is not None
    assert compared >= 2


@pytest.mark.parametrize("part", range(2))
def test_boxes_of_changes(part: int) -> None:
    rng, compared = Random(f"inflated changes {part}"), 0
    while compared < 5:
        truth, v, problem = random_question(rng)
        try:
            cxps = truth.answer(v).ratios
        except ZeroDivisionError:
            continue
        for Y, weight in list(cxps.items())[:2]:
            members = [i for i in range(len(v)) if Y >> i & 1]
            judge = BoxJudge(truth, v, members)
            box = inflated_cxp(problem, [truth.domain.names[i] for i in members])
            check_box(judge, box, similar=False)
            assert box.is_largest
            assert box.coverage <= weight
            largest = judge.largest(similar=False, around=False)
            assert largest in (None, box.coverage)
            compared += largest is not None


GRID = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9), ax.Categorical("c", "xyz")])


def decide(p: tuple[int, int, str]) -> int:
    return int(p[0] + p[1] > 6 and p[2] != "z")


def test_words_and_membership() -> None:
    e = ax.Explainer(decide, GRID).explain((5, 4, "x"))
    box = e.inflated_axp(order=["b"])
    assert str(box) == "a from 5 to 9; b from 2 to 9; c in {x, y}"
    assert box.coverage == Fraction(5, 10) * Fraction(8, 10) * Fraction(2, 3)
    assert {"a": 5, "b": 2, "c": "y"} in box
    assert {"a": 4, "b": 2, "c": "y"} not in box
    assert not box.is_largest
    general = e.most_general()
    assert general.is_largest
    assert general.coverage == Fraction(7 * 6, 100) * Fraction(2, 3)
    assert str(e.inflated_cxp(["c"])) == "c in {z}"
    assert e.inflated_cxp().coverage == max(e.inflated_cxp(c).coverage for c in e.cxps if len(c.features) == 1)


def test_spent_budgets_leave_a_box_and_a_bound() -> None:
    domain = ax.Domain([ax.Integer(n, 0, 9) for n in "abcdef"])
    problem = ax.Problem.of(lambda p: sum(p) > 25, domain, (5, 5, 5, 5, 5, 5))
    box = most_general(problem, budget=Budget(nodes=60))
    assert not box.is_largest
    assert box.coverage < box.most
    with pytest.raises(BudgetError):
        most_general(problem, budget=Budget(nodes=2))


def test_bad_questions() -> None:
    e = ax.Explainer(decide, GRID).explain((5, 4, "x"))
    with pytest.raises(DomainError, match="does not keep the output"):
        e.inflated_axp(["a"])
    frozen = ax.Explainer(decide, GRID).explain((9, 9, "x"))
    with pytest.raises(DomainError, match="nothing to inflate"):
        frozen.inflated_cxp(["a"])
    domain = ax.Domain([ax.Real("r", 0, 1)])
    model = LinearModel.of_columns(domain, [[1]], intercepts=[-0.5], rule=Positive((0, 1)))
    with pytest.raises(UnsupportedModelError, match="declare the feature integer"):
        ax.Explainer(model, domain).explain([0.75]).most_general()
    rows, outputs = [[0, 0], [0, 1]], ["a", "b"]
    with pytest.raises(UnsupportedModelError, match="over a whole domain"):
        ax.explain_among(rows, outputs, [0, 0]).most_general()
