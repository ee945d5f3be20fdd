"""Kernels read diagrams as the code does that goes line by line, and leave what is odd to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axfi_kc import Budget, Domain, Integer
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import diagram_arrays, read_dd_json, read_dddmp, read_sdd, sdd
from axfi_kc.circuits.files.bdd import write_dd_json, write_dddmp
from axfi_kc.circuits.files.sdd import write_sdd
from axfi_kc.circuits.queries import determinism
from axfi_kc.circuits.targets import obdd_of, sdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import AxfiError, BudgetError

Write = Callable[[Circuit, Path], None]
Read = Callable[[Path, Any], Circuit]


def _read_sdd(path: Path, domain: Domain) -> Circuit:
    return read_sdd(path, domain, code="order")


def _read_with_vtree(path: Path, domain: Domain) -> Circuit:
    return read_sdd(path, domain, vtree=path.with_suffix(".vtree"), code="order")


def _write_sdd(circuit: Circuit, path: Path) -> None:
    write_sdd(sdd_of(circuit, code="order"), path)
    # Without the comments that describe the features, so that the code must be named.
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if line[:1] != "c"))


FORMATS: dict[str, tuple[Write, Read]] = {
    "dddmp": (lambda circuit, path: write_dddmp(obdd_of(circuit), path), read_dddmp),
    "json": (lambda circuit, path: write_dd_json(obdd_of(circuit), path), read_dd_json),
    "sdd": (_write_sdd, _read_sdd),
    "sdd with vtree": (_write_sdd, _read_with_vtree),
}


def random_circuit(rng: random.Random) -> Circuit:
    grid = Grid.of_values(Domain([Integer(f"x{i}", 0, rng.choice((1, 1, 2, 3))) for i in range(rng.randint(2, 6))]))
    build, parts = CircuitBuilder(grid), []
    for _ in range(rng.randint(2, 6)):
        chosen = rng.sample(range(len(grid.axes)), rng.randint(1, len(grid.axes)))
        cells = [rng.sample(range(grid.n_cells[i]), rng.randint(1, grid.n_cells[i] - 1)) for i in chosen]
        parts.append(build.conjunction([build.literal(i, c) for i, c in zip(chosen, cells, strict=True)]))
    return build.circuit(build.disjunction(parts))


def listed(circuit: Circuit) -> Any:
    nodes = zip(circuit.kinds.tolist(), circuit.features.tolist(), strict=True)
    arcs = [(kind, feature, sorted(circuit.arcs(node))) for node, (kind, feature) in enumerate(nodes)]
    return arcs, determinism(circuit)


def outcome(read: Read, path: Path, domain: Domain | None) -> Any:
    """Return the circuit in a file, or the error."""
    try:
        return listed(read(path, domain))
    except AxfiError as error:
        return type(error), str(error)


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> tuple[Write, Read]:
    return FORMATS[request.param]


def both_ways(monkeypatch: pytest.MonkeyPatch, read: Read, path: Path, domain: Domain | None) -> tuple[Any, Any]:
    found = []
    for large in (10**9, 1):
        monkeypatch.setattr(diagram_arrays, "LARGE", large)
        found.append(outcome(read, path, domain))
    return found[0], found[1]


def test_kernels_read_the_same_circuits(
    form: tuple[Write, Read], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, read = form
    scanned = _counted(monkeypatch)
    for seed in range(60):
        circuit = random_circuit(random.Random(seed))
        write(circuit, file := tmp_path / "a.sdd")
        slow, fast = both_ways(monkeypatch, read, file, circuit.grid.domain)
        assert slow == fast, seed
        if read in (read_dddmp, read_dd_json):  # which know features of their own
            slow, fast = both_ways(monkeypatch, read, file, None)
            assert slow == fast, seed
        # Parts of the random disjunction overlap, so it is not the one to be counted.
        assert queries.count(read(file, circuit.grid.domain)) == queries.count(obdd_of(circuit).to_circuit())
    assert len(scanned) > 60


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows whenever kernels have built a circuit."""
    from axfi_kc.circuits.files import bdd

    counted, build = [], bdd.built_circuit

    def noted(*given: Any) -> Any:
        found = build(*given)
        if found is not None:
            counted.append(1)
        return found

    monkeypatch.setattr(bdd, "built_circuit", noted)
    monkeypatch.setattr(sdd, "built_circuit", noted)
    return counted


def damaged(rng: random.Random, text: bytes) -> bytes:
    at, letters = rng.randrange(len(text)), b'0123456789- \n",[]{}TFLDx._\t\r'
    piece = bytes([rng.choice(letters)])
    lines = text.split(b"\n")
    k = rng.randrange(len(lines))
    ways = [
        text[:at] + piece + text[at:],
        text[:at] + piece + text[at + 1 :],
        text[:at] + text[at + 1 :],
        text[:at],
        b"\n".join([*lines[:k], *lines[k + 1 :]]),
        b"\n".join([*lines[:k], lines[k], *lines[k:]]),
        b"\n".join([*lines[:k], *reversed(lines[k : k + 2]), *lines[k + 2 :]]),
    ]
    return rng.choice(ways)


def test_kernels_leave_what_is_odd(form: tuple[Write, Read], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is damaged ends in the same circuit or the same words."""
    write, read = form
    outcomes = set()
    for seed in range(400):
        rng = random.Random(seed)
        circuit = random_circuit(random.Random(seed % 7))
        write(circuit, file := tmp_path / "a.sdd")
        text = file.read_bytes()
        for _ in range(rng.choice((1, 1, 2))):
            text = damaged(rng, text) or b" "
        file.write_bytes(text)
        slow, fast = both_ways(monkeypatch, read, file, circuit.grid.domain)
        assert slow == fast, (seed, text)
        outcomes.add(isinstance(slow[0], list))
    assert outcomes == {True, False}


def test_a_budget_holds_for_kernels(form: tuple[Write, Read], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, read = form
    circuit = random_circuit(random.Random(3))
    write(circuit, file := tmp_path / "a.sdd")
    monkeypatch.setattr(diagram_arrays, "LARGE", 1)
    options = {} if read in (read_dddmp, read_dd_json) else {"code": "order"}
    reader = read if not options else read_sdd
    with pytest.raises(BudgetError):
        reader(file, circuit.grid.domain, budget=Budget(nodes=3), **options)  # type: ignore[call-arg]
