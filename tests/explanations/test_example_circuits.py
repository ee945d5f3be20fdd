"""Circuits of adversarial examples: what they hold, against all points; recounted from files by other programs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Real, Region
from axfi_kc.circuits import queries
from axfi_kc.circuits.queries.determinism import _NOTED
from axfi_kc.cli import main
from axfi_kc.engines.found import DiagramCxps
from axfi_kc.errors import (
    BudgetError,
    CircuitError,
    ConstantModelError,
    DomainError,
    IncompleteError,
    UnsupportedModelError,
    WeightError,
)
from axfi_kc.explanations import example_circuits
from axfi_kc.explanations.cxps import covered_points
from axfi_kc.models import LinearModel, Positive
from axfi_kc.plots import circuit_dot, plot_circuit
from tests.engines.test_possible import rows_of
from tests.explanations.test_chances import WAYS, random_joint
from tests.support.nnf_recounting import NnfText, counted_by_dd, counted_by_pysdd, enumerated
from tests.support.random_problems import KINDS, random_truth
from tests.support.random_spaces import random_region

MOST_BITS = 14


def explanations(rng: Random, kind: str) -> list[Any]:
    truth = random_truth(rng, kind, n_instances=3)
    try:
        explainer = ax.Explainer(truth.model, truth.domain, delta=truth.delta)
        return [e for e in map(explainer.explain, rows_of(truth)) if e.cxp_count]
    except ConstantModelError:
        return []


def is_discrete(e: Any, names: Any) -> bool:
    return not any(isinstance(f, Real) for f in e.domain.features if f.name in names)


def check_structure(made: Any) -> None:
    assert queries.is_decomposable(made.circuit)
    _NOTED._found.pop(id(made.circuit), None)  # that it is deterministic is known beforehand; here it is looked at
    assert queries.is_deterministic(made.circuit)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_counted_on_the_circuit_and_in_its_file(kind: str, tmp_path: Path) -> None:
    rng, checked = Random(f"circuits {kind}"), 0
    while checked < 45:
        for e in explanations(rng, kind):
            whole = e.circuit()
            check_structure(whole)
            for cxp in e.cxps[:4]:
                made = e.circuit(cxp)
                check_structure(made)
                assert made.weight() == cxp.weight == whole.weight(cxp)
                if is_discrete(e, cxp.features):
                    assert made.count(check=True) == made.weight(kind="count") == whole.weight(cxp, kind="count")
                check_file(made, tmp_path / "one.nnf", cxp.weight)
                checked += 1
            check_file(whole, tmp_path / "all.nnf", sum(c.weight for c in e.cxps))


def check_file(made: Any, path: Path, weight: Fraction) -> None:
    """Recount a saved circuit with dd and PySDD, and from all assignments where these are few."""
    made.save(path)
    nnf = NnfText.read(path)
    models, total = counted_by_dd(nnf)
    assert total == weight
    points = list(queries.cell_models(made.circuit))
    assert models == counted_by_pysdd(nnf) == len(points)
    if nnf.n_variables <= MOST_BITS:
        assert enumerated(nnf) == (models, total)
    again = ax.load_circuit(path)
    assert again.grid.n_cells == made.circuit.grid.n_cells
    assert list(queries.cell_models(again)) == points


@pytest.mark.parametrize("kind", ["table", "linear", "network", "circuit"])
def test_the_points_are_the_adversarial_examples(kind: str) -> None:
    rng, checked = Random(f"points {kind}"), 0
    while checked < 20:
        for e in explanations(rng, kind):
            names = e.domain.names
            if not is_discrete(e, names):
                continue
            examples = {c: {tuple(p) for p in covered_points(e.problem, c)} for c in e.cxps}
            for cxp, expected in examples.items():
                found = [tuple(p[n] for n in names) for p in e.circuit(cxp).points()]
                assert len(found) == len(expected)
                assert set(found) == expected
            every = {tuple(p[n] for n in names) for p in e.circuit().points()}
            assert every == set().union(*examples.values())
            assert e.circuit().count() == len(every)
            checked += 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", KINDS)
def test_weights_under_distributions_and_constraints(form: str, way: str) -> None:
    rng, checked = Random(f"joint circuits {form} {way}"), 0
    while checked < 6:
        truth = random_joint(rng, form, way)
        domain = truth.domain.with_distribution(None) if way == "measures" else truth.domain
        try:
            explainer = ax.Explainer(truth.model, domain, delta=truth.delta)
            found = [explainer.explain(row) for row in rows_of(truth)]
        except (ConstantModelError, DomainError):
            continue
        for e in found:
            whole = e.circuit() if e.cxp_count else None
            for cxp in e.cxps:
                assert e.circuit(cxp).weight() == cxp.weight
                assert whole is None or whole.weight(cxp) == cxp.weight
                checked += 1


def test_weights_within_regions() -> None:
    rng, checked = Random(3), 0
    while checked < 30:
        truth = random_truth(rng, rng.choice(KINDS), n_instances=2)
        region = random_region(rng, truth.domain)
        try:
            explainer = ax.Explainer(truth.model, truth.domain, delta=truth.delta, within=region)
            found = [explainer.explain(row) for row in rows_of(truth)]
        except (ConstantModelError, DomainError):
            continue
        for e in found:
            for cxp in e.cxps:
                assert e.circuit(cxp).weight() == cxp.weight
                checked += 1


@pytest.mark.parametrize("target", ["mdd", "obdd"])
def test_more_cxps_than_can_be_listed(target: str) -> None:
    domain = Domain([Integer(f"x{i}", 0, 1 + i % 2) for i in range(9)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("axfi_kc.engines.diagram.engine._AT_ONCE", 0)
        many = ax.Explainer(lambda p: sum(x > 0 for x in p) > 4, domain, target=target).explain([0] * 9)
    assert isinstance(many._found, DiagramCxps)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("axfi_kc.engines.found.LISTED", 0)
        whole = many.circuit()
    check_structure(whole)
    few = ax.Explainer(lambda p: sum(x > 0 for x in p) > 4, domain).explain([0] * 9)
    assert list(queries.cell_models(whole.circuit)) == list(queries.cell_models(few.circuit().circuit))
    assert whole.count() == sum(few.circuit(c).count() for c in few.cxps)


def test_circuits_of_a_hundred_features_are_small() -> None:
    n = 100
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[0.5 - n / 2], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, target="mdd").explain([0] * n)
    made = e.circuit()
    assert made.count() == e.cxp_count > 10**28
    assert made.size.nodes < 10_000
    first = next(iter(e.cxps))
    assert e.circuit(first).count() == 1
    assert made.weight(first) == first.weight


def test_missing_values_and_categories_are_kept() -> None:
    domain = Domain([Categorical("a", "xyz", missing=0.25), Real("b", 0, 1, missing=0.5)])
    e = ax.Explainer(_with_missing(domain), domain).explain({"a": None, "b": None})
    for cxp in e.cxps:
        assert e.circuit(cxp).weight() == cxp.weight
    assert e.cxp_count


def _with_missing(domain: Domain) -> Any:
    from axfi_kc.domain.grid import Axis, Cut, Grid
    from axfi_kc.models import TableModel

    grid = Grid(domain, (Axis.of(domain.features[0]), Axis.of(domain.features[1], [Cut(0.5, closed=True)])))
    table = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [0, 1, 0]])
    return TableModel(grid, (0, 1), table)


def test_what_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    domain = Domain([Real("r", 0, 1), Integer("i", 0, 1)])
    line = LinearModel.of_columns(domain, [[1, 1]], intercepts=[-0.75], rule=Positive((0, 1)))
    with pytest.raises(UnsupportedModelError, match="linear model over the real feature 'r'"):
        ax.Explainer(line, domain).explain([0, 0]).circuit()
    rows = [[0, 0], [0, 1], [1, 1]]
    with pytest.raises(UnsupportedModelError, match="samples they are rows"):
        ax.explain_among(rows, [0, 1, 1], [0, 0]).circuit()
    tree = ax.Explainer(_tree(), Domain([Real("a", 0, 1), Real("b", 0, 1)]))
    ball = tree.explain([0.1, 0.1], within=Region(radius=1, norm="l1"))
    with pytest.raises(UnsupportedModelError, match="'l1'"):
        ball.circuit()
    e = tree.explain([0.1, 0.1])
    with pytest.raises(DomainError, match="none of the CXps"):
        e.circuit(["a", "b"])
    with pytest.raises(DomainError, match="name the one"):
        e.circuit().weight()
    with pytest.raises(DomainError, match="no example"):
        e.circuit(["a"]).weight(["b"])
    with pytest.raises(WeightError, match="'ratio' or 'count'"):
        e.circuit(["a"]).weight(kind="unit")
    with pytest.raises(CircuitError, match="real"):
        e.circuit(["a"]).count()
    with pytest.raises(CircuitError, match="real"):
        list(e.circuit(["a"]).points())
    with pytest.raises(DomainError, match="no CXp"):
        ax.Explainer(lambda p: p[0] > 1 or p[0] * p[1] > 8, Domain([Integer("a", 0, 2), Integer("b", 0, 4)])).explain(
            [0, 0], within=Region(frozen=["a"])
        ).circuit()


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    points = np.array([[0.2, 0.2], [0.2, 0.9], [0.9, 0.2], [0.9, 0.9]])
    return DecisionTreeClassifier(random_state=0).fit(points, [0, 1, 1, 1])


def test_budgets_are_kept() -> None:
    n = 40
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[0.5 - n / 2], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, target="mdd", budget=ax.Budget(seconds=60)).explain([0] * n)
    object.__setattr__(e, "_budget", ax.Budget(nodes=3))
    with pytest.raises(BudgetError):
        e.circuit()


def test_circuits_are_drawn_and_said() -> None:
    e = ax.Explainer(_tree(), Domain([Real("a", 0, 1), Real("b", 0, 1)])).explain([0.1, 0.1])
    made = e.circuit()
    assert repr(made).startswith("<ExampleCircuit: all CXps, of 2 features;")
    assert repr(e.circuit(["a"])).startswith("<ExampleCircuit: CXp ['a']; ")
    assert plot_circuit(made).texts
    assert "digraph" in circuit_dot(made)


def test_a_saved_explanation_has_the_circuit_with_its_model(tmp_path: Path) -> None:
    domain = Domain([Integer("a", 0, 9), Integer("b", 0, 4)])
    e = ax.Explainer(_sum_is_large, domain).explain((2, 2))
    saved = ax.Explanation.from_json(e.to_json(), model=_sum_is_large)
    for cxp in e.cxps:
        assert saved.circuit(cxp).weight() == cxp.weight
        assert saved.circuit().weight(cxp) == cxp.weight
    with pytest.raises(DomainError, match="none of the CXps"):
        saved.circuit(["a", "b"])
    with pytest.raises(IncompleteError, match="An adversarial example has to be put to the model"):
        ax.Explanation.from_json(e.to_json()).circuit()


def _sum_is_large(point: tuple[Any, ...]) -> bool:
    return point[0] + point[1] > 5


def test_the_command_line_writes_circuits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = Domain([Integer("a", 0, 9), Integer("b", 0, 4), Integer("c", 0, 3)])
    ax.compile_model(lambda p: p[0] + p[1] > 5 or p[2] > 1, domain).save(tmp_path / "model.nnf")
    (tmp_path / "data.csv").write_text("a,b,c\n2,2,0\n")
    run = ["explain", str(tmp_path / "model.nnf"), str(tmp_path / "data.csv")]
    e = ax.Explainer(ax.CircuitModel.of(ax.load_circuit(tmp_path / "model.nnf")), domain).explain([2, 2, 0])
    for more, weight in (([], sum(c.weight for c in e.cxps)), (["--circuit-of", "a"], e.cxps[0].weight)):
        assert main([*run, "--circuit", str(tmp_path / "out.nnf"), *more]) == 0
        assert "out.nnf" in capsys.readouterr().out
        assert counted_by_dd(NnfText.read(tmp_path / "out.nnf"))[1] == weight
    assert main([*run, "--circuit", str(tmp_path / "out.nnf"), "--circuit-of", "a", "c"]) == 1
    assert "none of the CXps" in capsys.readouterr().err
    assert main([*run, "--circuit-of", "a"]) == 1
    assert "add that" in capsys.readouterr().err


def test_boxes_are_listed_where_testing_them_would_be_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(11)
    problems = [e for _ in range(6) for e in explanations(rng, rng.choice(["table", "tree", "ensemble"]))]
    small = [e.circuit(cxp).size.nodes for e in problems for cxp in e.cxps]
    monkeypatch.setattr(example_circuits, "_Tested", lambda *_: SimpleNamespace(node=None))
    listed = [(e.circuit(cxp), cxp) for e in problems for cxp in e.cxps]
    for made, cxp in listed:
        check_structure(made)
        assert made.weight() == cxp.weight
    assert sum(small) < sum(made.size.nodes for made, _ in listed)
