"""Readers of circuits stop when their budget is spent, and read the same with one that suffices."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from axfi_kc import Budget, Domain, Integer, load_circuit
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import read_vtree, save_circuit, write_nnf
from axfi_kc.circuits.targets import obdd_of, sdd_of
from axfi_kc.errors import BudgetError, ModelFileError
from tests.support.format_cases import points_of, random_circuit, random_domain

NODE_LIST = """{"features": [{"name": "a", "values": ["x", "y"], "literals": [1, -1]}],
 "nodes": {"1": ["L", 1], "2": ["L", -1], "3": ["OR", [1, 2]], "4": ["AND", [3, 1]]}, "root": 4}"""


def _circuit() -> Circuit:
    rng = random.Random(7)
    made = (random_circuit(rng, random_domain(rng)) for _ in range(1000))
    return next(circuit for circuit in made if circuit.size.nodes > 8)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, circuit = tmp_path_factory.mktemp("files"), _circuit()
    save_circuit(circuit, folder / "a.nnf")
    write_nnf(circuit, folder / "d4.nnf", dialect="d4")
    for suffix in ("dddmp", "json"):
        save_circuit(obdd_of(circuit), folder / f"a.{suffix}")
    save_circuit(sdd_of(circuit), folder / "a.sdd")
    (folder / "list.json").write_text(NODE_LIST)
    (folder / "ab.cnf").write_text("p cnf 2 3\n1 2 0\n-1 2 0\n1 -2 0\n")
    return folder


NAMES = ("a.nnf", "d4.nnf", "a.dddmp", "a.json", "a.sdd", "list.json", "ab.cnf")
AB = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])


@pytest.mark.parametrize("name", NAMES)
def test_a_spent_budget_ends_reading(files: Path, name: str) -> None:
    domain = {"list.json": None, "ab.cnf": AB}.get(name, _circuit().grid.domain)
    for budget in (Budget(nodes=2), Budget(seconds=1e-9), Budget(bytes=10)):
        with pytest.raises(BudgetError, match="allow"):
            load_circuit(files / name, domain, budget=budget)
    enough = load_circuit(files / name, domain, budget=Budget(nodes=10**6, seconds=600, bytes=1 << 40))
    assert points_of(enough) == points_of(load_circuit(files / name, domain))


def test_a_vtree_and_its_diagram_share_one_budget(files: Path) -> None:
    vtree, both = (files / "a.vtree").read_text().count("\n"), (files / "a.sdd").read_text().count("\n")
    assert read_vtree(files / "a.vtree", budget=Budget(nodes=vtree + 1))
    with pytest.raises(BudgetError, match=r"circuit of a\.sdd"):
        load_circuit(files / "a.sdd", budget=Budget(nodes=vtree + both - 1))
    with pytest.raises(BudgetError, match=r"a\.vtree"):
        read_vtree(files / "a.vtree", budget=Budget(nodes=2))


def test_a_number_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text(NODE_LIST.replace('"2": ["L", -1]', '"1": ["L", -1]'))
    with pytest.raises(ModelFileError, match="different keys"):
        load_circuit(tmp_path / "twice.json")
