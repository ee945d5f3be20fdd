"""What every form answers for itself, and that a new one is a class and an engine."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.compilers import compile_circuit, compile_mdd
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.engines import ENGINES, engine_for
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import (
    Argmax,
    CircuitModel,
    GriddedModel,
    LinearModel,
    Model,
    Positive,
    Score,
    Similarity,
    TableModel,
    TreeNodes,
    TreeSum,
    boxes_of,
    relabelled,
)

DOMAIN = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])
XOR = TableModel.from_function(DOMAIN, lambda p: (p[0] > 0) != (p[1] > 0))


def stump(values: tuple[float, float]) -> TreeNodes:
    return TreeNodes(
        column=np.array([0, -1, -1]),
        splits=[Cut(0.5, closed=True), None, None],
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        values=np.array([[0.0], [values[0]], [values[1]]]),
    )


def circuit_model() -> CircuitModel:
    build = CircuitBuilder(Grid.of_values(DOMAIN))
    return CircuitModel.of(build.circuit(build.literal(0, [1, 2])), outputs=("no", "yes"))


TREES = TreeSum.of(DOMAIN, [stump((-1.0, 1.0)), stump((0.5, 0.25))], rule=Positive(("no", "yes")))
LINEAR = LinearModel.of_columns(DOMAIN, [[1, 1], [0, 3]], intercepts=[0, 0], rule=Argmax(("x", "y")))


@pytest.mark.parametrize(
    ("form", "labels", "text"),
    [
        (XOR, (False, True), "<TableModel: truth table of 6 points over 2 features>"),
        (boxes_of(XOR), (False, True), "<Boxes: partition into 6 boxes over 2 features>"),
        (TREES, ("no", "yes"), "<TreeSum: sum of 2 trees with 6 nodes over 2 features>"),
        (LINEAR, ("x", "y"), "<LinearModel: linear model with 2 scores over 2 features>"),
        (circuit_model(), ("no", "yes"), "<CircuitModel: circuits of 2 outputs and 1 node over 2 features>"),
    ],
)
def test_forms_answer_for_themselves(form: Model, labels: tuple[Hashable, ...], text: str) -> None:
    assert isinstance(form, Model)
    assert form.labels == labels
    assert set(form.predict(list(DOMAIN.points()))) <= set(labels)
    assert repr(form) == text
    assert len(form.uses().influence) == len(DOMAIN)
    assert form.rounding_error >= 0
    names = {label: k for k, label in enumerate(labels)}
    if form is not TREES:
        assert relabelled(form, names).labels == tuple(names.values())


def test_a_regression_has_no_labels() -> None:
    for form in (
        TreeSum.of(DOMAIN, [stump((0.0, 2.0))], rule=Score()),
        LinearModel.of_columns(DOMAIN, [[1, 1]], intercepts=[0], rule=Score()),
    ):
        assert form.is_regression
        assert form.labels == ()


@pytest.mark.parametrize("form", [TREES, LINEAR])
@pytest.mark.parametrize("shift", [Fraction(1, 3), Fraction(-1, 3)])
def test_moved_ties_change_which_points_are_similar_one_way_only(form: Any, shift: Fraction) -> None:
    points = list(DOMAIN.points())
    for output in form.labels:
        moved, delta = form.with_ties_moved(output, None, shift)
        assert delta is None
        before, after = ([y == output for y in m.predict(points)] for m in (form, moved))
        assert all(b >= a if shift > 0 else a >= b for b, a in zip(before, after, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parity(GriddedModel):
    """A form that the library has never heard of."""

    grid: Grid

    @property
    def is_regression(self) -> bool:
        return False

    @property
    def labels(self) -> tuple[Hashable, ...]:
        return (0, 1)

    @property
    def words(self) -> str:
        return "parity"

    def decide(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        return (cells.sum(axis=1) % 2).tolist()


def _tabulated(model: Parity, similarity: Similarity) -> Any:
    return engine_for(TableModel.from_outputs(model.domain, model.predict(list(model.domain.points()))), similarity)


def test_a_new_form_is_one_class_and_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, Parity, _tabulated)
    form = Parity(Grid.of_values(DOMAIN))
    explained = ax.Explainer(form, DOMAIN).explain((0, 0))
    assert {c.features for c in explained.cxps} == {("a",), ("b",)}
    assert explained.counterfactual(("a",)).changes == {"a": (0, 1)}
    assert explained.rounding.is_zero
    assert repr(form) == "<Parity: parity over 2 features>"
    assert "Explainer(<Parity: parity" in repr(ax.Explainer(form, DOMAIN))
    for compiler in (compile_circuit, compile_mdd):
        with pytest.raises(UnsupportedModelError, match="No diagram for Parity"):
            compiler(form, 0, Similarity())


def test_a_form_must_say_what_it_decides() -> None:
    class Half(GriddedModel):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
