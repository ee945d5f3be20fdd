"""Kernels read and write the same circuits as the code that explains itself, and leave what is odd to it."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from axfi_kc import Budget, Domain, Integer
from axfi_kc.budget import Account
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import nnf, nnf_arrays, nnf_nodes, read_nnf, write_nnf
from axfi_kc.circuits.files.nnf_nodes import Nnf
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.circuits.targets import CODES
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import AxfiError, BudgetError, ModelFileError
from tests.support.large_circuits import deterministic_dag, layered_diagram


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels do files of any size."""
    for module in (nnf, nnf_arrays, nnf_nodes):
        monkeypatch.setattr(module, "LARGE", 0)


def random_grid(rng: random.Random, sizes: list[int], most: int) -> Grid:
    return Grid.of_values(Domain([Integer(f"x{i}", 0, rng.choice(sizes) - 1) for i in range(rng.randint(1, most))]))


def random_nnf(rng: random.Random, n_variables: int) -> Nnf:
    found = Nnf(n_variables)
    for k in range(rng.randint(1, 60)):
        if k == 0 or rng.random() < 0.3:
            found.add(nnf_nodes.LITERAL, [rng.choice((1, -1)) * rng.randint(1, n_variables)])
        else:
            kind = rng.choice((nnf_nodes.CONJUNCTION, nnf_nodes.DISJUNCTION))
            wide = rng.choice((0, 1, 2, 2, 2, 2, 3, 4, 12))
            found.add(kind, [max(0, rng.choice((rng.randrange(k), k - 1, k - 2))) for _ in range(wide)])
    return found


def listed(circuit: Circuit) -> list[tuple[int, int, list[tuple[tuple[int, ...], int]]]]:
    nodes = zip(circuit.kinds.tolist(), circuit.features.tolist(), strict=True)
    return [(kind, feature, sorted(circuit.arcs(node))) for node, (kind, feature) in enumerate(nodes)]


@pytest.mark.parametrize("first", range(0, 1500, 300))
def test_kernels_build_the_same_circuits(first: int) -> None:
    for seed in range(first, first + 300):
        rng = random.Random(seed)
        variables = Variables.of_code(random_grid(rng, [1, 2, 2, 2, 3, 4, 6], 5), code=rng.choice(CODES))
        if not variables.bits:
            continue
        given, account = random_nnf(rng, len(variables.bits)), Account(None, goal="circuit")
        expected = nnf_nodes._circuit_of(given, variables, account.spend)
        flat = nnf_arrays.FlatNnf.of(given.n_variables, given.kinds, given.parts)
        made = nnf_arrays.built_circuit(flat, variables, account)
        assert made is not None
        assert listed(made) == listed(expected), seed


def random_bits(rng: random.Random) -> Circuit:
    grid = random_grid(rng, [1, 2, 2, 2], 6)
    build, made = CircuitBuilder(grid), [0, 1]
    for _ in range(rng.randint(1, 40)):
        i, parts = rng.randrange(len(grid.axes)), [rng.choice((rng.choice(made), made[-1])) for _ in range(4)]
        made.append(
            rng.choice(
                (
                    lambda i=i, parts=parts: build.decision(i, [([c], parts[c]) for c in range(grid.n_cells[i])]),
                    lambda i=i: build.unreduced_literal(i),
                    lambda parts=parts: build.conjunction(parts[: rng.randint(1, 4)]),
                    lambda parts=parts: build.disjunction(parts[: rng.randint(1, 4)]),
                )
            )()
        )
    return build.circuit(made[-1])


def test_kernels_write_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(300):
        rng = random.Random(seed)
        circuit, code = random_bits(rng), rng.choice(CODES)
        texts = []
        for large in (10**9, 0):
            monkeypatch.setattr(nnf_arrays, "LARGE", large)
            monkeypatch.setattr(nnf, "LARGE", large)
            write_nnf(circuit, file := tmp_path / "a.nnf", code=code)
            texts.append(file.read_bytes())
        assert texts[0] == texts[1], seed


@pytest.mark.parametrize("make", [deterministic_dag, layered_diagram])
def test_large_circuits_come_back(make: object, tmp_path: Path) -> None:
    circuit = make(20_000, n_features=60)  # type: ignore[operator]
    write_nnf(circuit, file := tmp_path / "large.nnf")
    again = read_nnf(file, circuit.grid.domain)
    assert queries.count(again) == queries.count(circuit)


BITS = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
EITHER = "nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n"


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("L 2", "L 3", 4),
        ("L 2", "L 0", 4),
        ("L 2", "L  2 2", 4),
        ("L 2", "L 99999999999999999999", 4),
        ("A 2 1 2", "A 2 1 7", 5),
        ("A 2 1 2", "A 3 1 2", 5),
        ("A 2 1 2", "A 2 1 -1", 5),
        ("A 2 1 2", "B 2 1 2", 5),
        ("A 2 1 2", "A 1_0 1 2", 5),
        ("O 1 2 0 3", "O 7 2 0 3", 6),
        ("O 1 2 0 3", "O", 6),
        ("nnf 5", "nnf 6", 1),
        ("nnf 5", "nnf 4", 1),
        ("nnf 5", f"nnf {10**30}", 1),
    ],
)
def test_what_is_odd_is_named_with_its_line(old: str, new: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "either.nnf"
    file.write_text(EITHER)
    assert queries.count(read_nnf(file, BITS)) == 3
    file.write_text(EITHER.replace(old, new))
    with pytest.raises(ModelFileError, match=rf"either\.nnf, line {line}: expected"):
        read_nnf(file, BITS)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "text", [EITHER.replace("\n", "\r\n"), EITHER.replace("L 2", "  L  2 "), "c x\n\n" + EITHER[:-1]]
)
def test_other_spaces_are_read_all_the_same(text: str, tmp_path: Path) -> None:
    file = tmp_path / "either.nnf"
    file.write_bytes(text.encode())
    assert queries.count(read_nnf(file, BITS)) == 3


def test_budgets_stop_kernels(tmp_path: Path) -> None:
    circuit = deterministic_dag(20_000, n_features=60)
    write_nnf(circuit, file := tmp_path / "large.nnf")
    for budget in (Budget(nodes=100), Budget(seconds=1e-9), Budget(bytes=1)):
        with pytest.raises(BudgetError):
            read_nnf(file, circuit.grid.domain, budget=budget)


def test_features_of_many_cells_are_left_to_python(tmp_path: Path) -> None:
    grid = Grid.of_values(Domain([Integer("a", 0, 99), Integer("b", 0, 1)]))
    assert not nnf_arrays.fits(Variables.of_code(grid))
    assert nnf_arrays.fits(Variables.of_code(Grid.of_values(Domain([Integer("a", 0, 61)]))))
    build = CircuitBuilder(grid)
    ways = [([k], build.literal(1, [k % 2])) for k in range(100)]
    write_nnf(build.circuit(build.decision(0, ways)), file := tmp_path / "wide.nnf")
    assert queries.count(read_nnf(file)) == 100


@pytest.mark.usefixtures("always")
def test_damaged_bytes_raise_nothing_else(tmp_path: Path) -> None:
    file, rng = tmp_path / "damaged.nnf", np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(EITHER.encode())
        for at in rng.integers(0, len(damaged), 2).tolist():
            damaged[at] = int(rng.integers(0, 256))
        file.write_bytes(damaged)
        with suppress(AxfiError):
            read_nnf(file, BITS)
