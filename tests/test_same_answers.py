"""The comparison with an older commit: what differs is found, what was renamed is not."""

from __future__ import annotations

import importlib
import sys
from fractions import Fraction

import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError
from benchmarks import same_answers
from benchmarks.same_answers import answered, differences, explained, plain, renamed

EXPLAINER = ax.Explainer(lambda p: p[0] and p[1] > 0, ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 3)]))


def test_an_explanation_is_the_same_as_itself() -> None:
    first, second = (explained(EXPLAINER, (1, 2), "seed") for _ in range(2))
    assert first == second
    assert list(differences(first, second)) == []
    assert {"cxps", "shapley", "distance", "document", "axps"} <= set(first)
    assert not any(str(answer).startswith("error") for answer in first.values())


@pytest.mark.parametrize(
    ("before", "now", "place"),
    [
        ({"w": "1/3"}, {"w": "1/2"}, "/w"),
        ({"rows": [{"cxps": [[["a"], "1/3"]]}]}, {"rows": [{"cxps": []}]}, "/rows/0/cxps"),
        ({"a": 1}, {"a": 1, "b": 2}, "/b"),
        ({"precision": "error: DomainError"}, {"precision": "error: CircuitError"}, "/precision"),
        ({"circuit": {"size": [9, 12]}}, {"circuit": {"size": [9, 13]}}, "/circuit/size/1"),
        ([1], [True, 2], ""),
    ],
)
def test_what_differs_is_found(before: object, now: object, place: str) -> None:
    found = list(differences(before, now))
    assert [line.partition(":")[0] for line in found] == [place]


def test_a_circuit_may_become_smaller() -> None:
    assert list(differences({"size": [9, 12]}, {"size": [8, 12]})) == []


def test_keys_of_documents_may_be_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(same_answers.RENAMED_KEYS, "old", "new")
    assert renamed({"rows": [{"old": 1, "kept": 2}]}) == {"rows": [{"new": 1, "kept": 2}]}


def test_names_of_today_reach_what_the_older_commit_has(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        "axfi_kc.a_new_place": "axfi_kc.domain.grid",
        "axfi_kc.a_new_place:Axes": "axfi_kc.domain.grid:Grid",
        "axfi_kc.domain.grid:Grid.cells_each": "axfi_kc.domain.grid:Grid.n_cells",
    }
    for new, old in names.items():
        monkeypatch.setitem(same_answers.RENAMED, new, old)
    older = same_answers._Older()
    monkeypatch.setattr(sys, "meta_path", [older, *sys.meta_path])
    grid = importlib.import_module("axfi_kc.domain.grid")
    for name in ("Axes", "cells_each"):
        monkeypatch.setattr(grid if name == "Axes" else grid.Grid, name, None, raising=False)
    older.name_all()
    moved = importlib.import_module("axfi_kc.a_new_place")
    assert moved.Axes is grid.Grid
    assert moved.Grid.of_values(EXPLAINER.domain).cells_each == grid.Grid.of_values(EXPLAINER.domain).n_cells
    monkeypatch.delitem(sys.modules, "axfi_kc.a_new_place")


def test_answers_are_exact_and_errors_are_told_by_class() -> None:
    def refused() -> None:
        raise DomainError("no")

    assert answered(refused) == "error: DomainError"
    assert plain({"x": (Fraction(1, 3), 0.1, {"b", "a"})}) == {"x": ["1/3", (0.1).hex(), ["a", "b"]]}


def test_the_problems_are_the_same_in_every_run() -> None:
    names = [name for name, _ in same_answers.scenes(0, 3)]
    assert names == ["scene:0", "scene:1", "scene:2"]
    task = dict(same_answers.scenes(0, 3))["scene:1"]
    assert answered(task) == answered(task)
