"""Residual trees of ensembles: those that a kernel makes are those made in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.ensemble import GradientBoostingClassifier

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.compilers import compile_mdd, residual_trees
from axfi_kc.compilers.residual_trees import Ensemble
from axfi_kc.errors import BudgetError
from axfi_kc.models import Similarity
from tests.support.strategies import Case, ensemble_cases


@contextmanager
def in_python() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ensemble, "fits", lambda model: False)
        yield


def assert_same(one: Circuit, other: Circuit) -> None:
    for name in ("kinds", "features", "offsets", "children", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.cell_sets == other.cell_sets


@settings(max_examples=60, deadline=None)
@given(ensemble_cases())
def test_random_ensembles(case: Case) -> None:
    model, output, similarity = case.problem.model, case.problem.output, case.problem.similarity
    made = compile_mdd(model, output, similarity)
    with in_python():
        assert_same(made, compile_mdd(model, output, similarity))


@cache
def boosted(n_leaves: int, n_classes: int = 3) -> Any:
    rng = np.random.default_rng(n_leaves)
    X = rng.integers(0, 9, (400, 5)).astype(float)
    y = X.sum(axis=1) % 7 % n_classes
    options = {"max_leaf_nodes": n_leaves, "max_depth": None, "random_state": 0}
    model = GradientBoostingClassifier(n_estimators=2, **options).fit(X, y)
    return ax.read_model(model, ax.Domain.from_data(X))


@pytest.mark.parametrize("n_leaves", [2, 7, 62])
def test_trees_of_several_classes_up_to_a_word_of_leaves(n_leaves: int) -> None:
    form = boosted(n_leaves)
    assert Ensemble.fits(form)
    assert max(np.add.reduceat(form.feature < 0, form.tree_offset[:-1])) == n_leaves
    made = compile_mdd(form, form.labels[1], Similarity())
    with in_python():
        assert_same(made, compile_mdd(form, form.labels[1], Similarity()))


def test_larger_trees_are_left_to_python() -> None:
    assert not Ensemble.fits(boosted(63))


@pytest.mark.parametrize("power", [70, 120])
def test_values_of_several_limbs(power: int) -> None:
    form = boosted(7)
    scale = np.where(np.arange(len(form.values)) % 3, 1.0, 2.0**power)
    wide = replace(form, values=form.values * scale[:, np.newaxis])
    made = compile_mdd(wide, form.labels[0], Similarity())
    assert made.size.nodes > 10
    with in_python():
        assert_same(made, compile_mdd(wide, form.labels[0], Similarity()))


def test_room_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    form = boosted(7)
    roomy = compile_mdd(form, form.labels[0], Similarity())
    monkeypatch.setattr(residual_trees, "_SMALLEST", 4)
    assert_same(roomy, compile_mdd(form, form.labels[0], Similarity()))


def test_budgets_count_residual_trees() -> None:
    form = boosted(62)
    with pytest.raises(BudgetError, match="complete diagram"):
        compile_mdd(form, form.labels[0], Similarity(), budget=ax.Budget(nodes=5))
