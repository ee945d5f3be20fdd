"""Sums of trees compiled in kernels: canonical diagrams, wide numbers, long lists of intervals."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.ensemble import GradientBoostingClassifier

import axfi_kc as ax
from axfi_kc.circuits.queries import count, probability
from axfi_kc.circuits.targets import mdd_of, mdd_table
from axfi_kc.compilers import compile_linear, compile_mdd, sum_diagrams
from axfi_kc.compilers.sum_kernels import LONGEST
from axfi_kc.models import LinearModel, Positive, Similarity, TableModel
from tests.support.strategies import Case, ensemble_cases


@settings(max_examples=150, deadline=None)
@given(ensemble_cases())
def test_diagrams_are_those_of_the_table_of_outputs(case: Case) -> None:
    model, output = case.problem.model, case.problem.output
    made = compile_mdd(model, output, case.problem.similarity, order="given")
    n_cells = model.grid.n_cells
    outputs = model.decide(np.indices(n_cells).reshape(len(n_cells), -1).T)
    flags = np.array([case.problem.is_dissimilar(y) for y in outputs], dtype=np.int32).reshape(n_cells)
    other = compile_mdd(TableModel(model.grid, (False, True), flags), False, Similarity(), order="given")
    assert made.size == other.size


def bits(n: int) -> ax.Domain:
    return ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])


@pytest.mark.parametrize("scale", [1, 2**70, 2**130 + 1])
def test_numbers_of_any_width(scale: int) -> None:
    n = 24
    before = [Fraction(1 - scale * (n // 2))]
    model = LinearModel.of_columns(bits(n), [[scale] * n], intercepts=before, rule=Positive((0, 1)))
    circuit = compile_linear(model, lambda y: y == 1)
    assert circuit.size.nodes == mdd_of(circuit).size.nodes
    assert ax.compile_model(model, bits(n), output=1).count() == sum(comb(n, k) for k in range(n // 2, n + 1))


def test_arrays_grow_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 16
    weights = np.random.default_rng(1).integers(1, 10**6, n).tolist()
    model = LinearModel.of_columns(bits(n), [weights], intercepts=[-sum(weights) // 2], rule=Positive((0, 1)))
    roomy = compile_linear(model, lambda y: y == 1)
    monkeypatch.setattr(sum_diagrams, "_SMALLEST", 4)
    monkeypatch.setattr(sum_diagrams, "_ENTRIES", 8)
    monkeypatch.setattr(mdd_table, "_SMALLEST", 4)
    grown = compile_linear(model, lambda y: y == 1)
    assert grown.size == roomy.size
    assert grown.size.nodes > 100
    assert count(grown) == count(roomy)


def sums(weights: list[int]) -> np.ndarray:
    found = np.zeros(1, np.int64)
    for weight in weights:
        found = np.concatenate([found, found + weight])
    return np.sort(found)


def test_lists_longer_than_a_block() -> None:
    n = 24
    weights = np.random.default_rng(0).integers(10**6, 2 * 10**6, n).tolist()
    half = sum(weights) // 2
    model = LinearModel.of_columns(bits(n), [weights], intercepts=[-half], rule=Positive((0, 1)))
    compiled = ax.compile_model(model, bits(n), output=1)
    assert np.bincount(compiled.circuit.features[compiled.circuit.features >= 0]).max() > 2 * LONGEST
    one, other = sums(weights[: n // 2]), sums(weights[n // 2 :])
    assert compiled.count() == int((len(other) - np.searchsorted(other, half - one, side="right")).sum())


def test_arrays_of_ensembles_grow_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (300, 7)).astype(float)
    model = GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=0).fit(X, X.sum(axis=1) % 11 > 5)
    form = ax.read_model(model, ax.Domain.from_data(X))
    roomy = compile_mdd(form, form.labels[0], Similarity())
    monkeypatch.setattr(sum_diagrams, "_SMALLEST", 4)
    monkeypatch.setattr(sum_diagrams, "_ENTRIES", 8)
    monkeypatch.setattr(mdd_table, "_SMALLEST", 4)
    # Arrays grow by what is needed and no more: a step that wrote more than one of anything would be seen.
    monkeypatch.setattr(sum_diagrams, "enlarged", lambda size, needed: needed)
    grown = compile_mdd(form, form.labels[0], Similarity())
    assert grown.size == roomy.size
    assert grown.size.nodes > 100
    assert probability(grown) == probability(roomy)
