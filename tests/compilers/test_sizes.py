"""Sizes with and without constraints, side by side."""

from __future__ import annotations

from fractions import Fraction

import matplotlib as mpl
import pytest

import axfi_kc as ax
from axfi_kc.domain.constraints import at_most_one, feature
from axfi_kc.plots import plot_sizes

DOMAIN = ax.Domain([ax.Integer(name, 0, 1) for name in "abcd"])


def decide(point: tuple[int, ...]) -> int:
    return int(sum(point) >= 2)


def test_a_constrained_domain_has_rows_with_and_without() -> None:
    frame = ax.compare_sizes(decide, DOMAIN.where(at_most_one("a", "b", "c")), orders=["given"], vtrees=["right"])
    assert frame["agrees"].all()
    both = {how: frame[frame["constraints"] == how] for how in frame["constraints"]}
    assert set(both) == {"with", "without"}
    # At most one of a, b, c: eight possible points, of which d and one more are three.
    assert set(both["with"]["count"]) == {3}
    assert set(both["with"]["probability"]) == {Fraction(3, 8)}
    assert set(both["without"]["count"]) == {11}
    assert set(both["without"]["probability"]) == {Fraction(11, 16)}
    mpl.use("Agg")
    names = [text.get_text() for text in plot_sizes(frame).get_yticklabels()]
    assert names[:2] == ["mdd, given, with constraints", "mdd, given, without constraints"]


def test_what_was_read_under_constraints_is_measured_without_them_too() -> None:
    possible = DOMAIN.where(at_most_one("a", "b", "c"))
    options = {"targets": ["mdd"], "orders": ["given"]}
    frame = ax.compare_sizes(ax.read_model(decide, possible), possible, **options)
    assert frame["count"].tolist() == [3, 11]
    assert frame["agrees"].all()


def test_without_constraints_there_is_one_row_each() -> None:
    frame = ax.compare_sizes(decide, DOMAIN, targets=["mdd"], orders=["given"])
    assert len(frame) == 1
    assert frame["constraints"].isna().all()


def test_a_compiled_model_counts_and_measures_possible_points() -> None:
    domain = DOMAIN.where(feature("a") <= feature("b"))
    compiled = ax.compile_model(decide, domain)
    points = [p for p in domain.points() if p[0] <= p[1]]
    inside = [p for p in points if decide(p)]
    assert compiled.count() == len(inside)
    assert compiled.probability() == Fraction(len(inside), len(points))
    fixed = compiled.condition({"a": 1})
    assert fixed.probability() == Fraction(sum(p[0] for p in inside), sum(p[0] for p in points)) == 1


def test_probability_0_of_what_is_possible_is_an_error() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1, weights=[1, 0]), ax.Integer("b", 0, 1)]).where(feature("a") == 1)
    with pytest.raises(ax.errors.DomainError, match="probability 0"):
        ax.compile_model(lambda p: p[1], domain).probability()


def test_rows_come_one_by_one_each_with_its_budget() -> None:
    seen: list[str] = []
    frame = ax.compare_sizes(
        decide, DOMAIN, targets=["mdd", "ddnnf"], orders=["given"], on_row=lambda row: seen.append(row.target)
    )
    assert seen == frame["target"].tolist() == ["mdd", "ddnnf"]
    spent = ax.compare_sizes(decide, DOMAIN, orders=["given"], budget=ax.Budget(seconds=1e-9))
    assert spent["nodes"].isna().all()
    assert all("reading of the model is not finished" in note for note in spent["note"])
