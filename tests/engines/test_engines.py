"""Which engine a form gets, and what engines keep between questions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from axfi_kc import Budget, Domain, Integer
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.engines import engine_for, engine_through
from axfi_kc.engines.boxes.engine import BoxEngine
from axfi_kc.engines.circuit import engine as circuits
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Similarity, TableModel


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


def test_the_engine_of_a_form_is_that_of_its_kinds() -> None:
    class Special(TableModel):
        pass

    model = _majority()
    special = Special(**{name: getattr(model, name) for name in model.__dataclass_fields__})
    assert isinstance(engine_for(special, Similarity()), BoxEngine)
    with pytest.raises(UnsupportedModelError, match="No engine explains str; expected a neutral form"):
        engine_for("model", Similarity())
