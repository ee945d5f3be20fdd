"""An ordered circuit is explained as the diagram it is, with the results of any other circuit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

import axfi_kc as ax
from axfi_kc.compilers import compile_linear
from axfi_kc.engines import engine_for
from axfi_kc.engines.circuit.engine import CircuitEngine
from axfi_kc.engines.diagram.engine import DiagramEngine
from axfi_kc.models import CircuitModel, LinearModel, Positive, Similarity
from tests.support.circuit_forms import circuit_cases
from tests.support.strategies import Case


@settings(max_examples=60, deadline=None)
@given(circuit_cases())
def test_both_engines_find_the_same(case: Case) -> None:
    model = case.problem.model
    engine = engine_for(model, case.problem.similarity)
    assert isinstance(engine, DiagramEngine if model.is_diagram else CircuitEngine)
    other = CircuitEngine(model, case.problem.similarity)
    assert engine.constant == other.constant
    codes = case.problem.codes[np.newaxis]
    one, two = engine.explain(codes), other.explain(codes)
    assert one.outputs == two.outputs
    assert one.words.tolist() == two.words.tolist()
    assert one.totals.tolist() == two.totals.tolist()


def test_more_cxps_than_anybody_lists() -> None:
    n = 40
    bits = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    linear = LinearModel.of_columns(bits, [[1] * n], intercepts=[1 - n // 2], rule=Positive((0, 1)))
    model = CircuitModel.of(compile_linear(linear, lambda y: y == 1), outputs=(0, 1))
    assert isinstance(engine_for(model, Similarity()), DiagramEngine)
    scores = ax.Explainer(model, bits).explain([0] * n).scores("shapley")
    assert len(set(scores.values())) == 1
    assert np.isfinite(float(scores["x0"]))
