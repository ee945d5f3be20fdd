from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import AxfiError, Budget, Categorical, Domain, Integer, possible_points
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.exchange import from_cnf, to_cnf
from axfi_kc.circuits.files import Variables, read_nnf, write_nnf
from axfi_kc.circuits.files.cnf import compile_with_dsharp, parse_count_answer, read_cnf, write_cnf
from axfi_kc.circuits.files.variables import description
from axfi_kc.circuits.targets.bit_codes import CODES
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import BudgetError, CircuitError, ModelFileError, UnknownFeatureError
from tests.support.format_cases import code_of, points_of, random_circuit, random_domain

AB = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
ROOT = Path(__file__).resolve().parents[2]


def _models(text: str, n_bits: int) -> tuple[dict[tuple[bool, ...], int], Fraction]:
    """Return how many models each vector of the first bits has, and the weighted count; by unit propagation."""
    weights: dict[int, Fraction] = {}
    clauses: list[list[int]] = []
    for words in map(str.split, text.splitlines()):
        if words[:3] == ["c", "p", "weight"]:
            weights[int(words[3])] = Fraction(words[4])
        elif words[0] not in ("c", "p"):
            clauses.append([int(k) for k in words[:-1]])
        elif words[0] == "p":
            n = int(words[2])
    found: dict[tuple[bool, ...], int] = {}
    total = Fraction(0)
    for bits in product([False, True], repeat=n_bits):
        stack = [dict(enumerate(bits, 1))]
        while stack:
            model = _propagated(clauses, stack.pop())
            if model is None:
                continue
            free = next((k for k in range(1, n + 1) if k not in model), None)
            if free is not None:
                stack += [{**model, free: b} for b in (False, True)]
                continue
            found[bits] = found.get(bits, 0) + 1
            weight = Fraction(1)
            for k, b in model.items():
                weight *= weights.get(k if b else -k, Fraction(1))
            total += weight
    return found, total


def _propagated(clauses: list[list[int]], model: dict[int, bool]) -> dict[int, bool] | None:
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            if any(model.get(abs(k)) == (k > 0) for k in clause):
                continue
            free = [k for k in clause if abs(k) not in model]
            if not free:
                return None
            if len(free) == 1:
                model[abs(free[0])] = free[0] > 0
                changed = True
    return model


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("seed", range(12))
def test_every_point_has_one_model_and_its_weight(tmp_path: Path, seed: int, code: str) -> None:
    rng = random.Random(seed)
    circuit = random_circuit(rng, random_domain(rng, most_features=3), decomposable=bool(seed % 2))
    variables = write_cnf(circuit, tmp_path / "a.cnf", code=code, projected=bool(seed % 3))
    bits = Variables.of_code(circuit.grid, code=code).bits
    assert variables.bits[: len(bits)] == bits
    models, total = _models((tmp_path / "a.cnf").read_text(), len(bits))
    points = points_of(circuit)
    assert models == {code_of(variables, p): 1 for p in points}
    shares = [[Fraction(k, axis.denominator) for k in axis.numerators] for axis in circuit.grid.axes]
    expected = Fraction(0)
    for p in points:
        weight = Fraction(1)
        for i, c in enumerate(p):
            weight *= shares[i][c]
        expected += weight
    assert total == expected


def test_the_lines_for_counters(tmp_path: Path) -> None:
    build = CircuitBuilder(Grid.of_values(AB))
    circuit = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [1])]))
    write_cnf(circuit, tmp_path / "a.cnf", weights=False, projected=True)
    said = "".join(line + "\n" for line in description(circuit.grid, "direct"))
    assert (tmp_path / "a.cnf").read_text() == f"c t pmc\n{said}p cnf 2 1\nc p show 1 2 0\n1 2 0\n"
    write_cnf(build.circuit(build.false), tmp_path / "a.cnf", weights=False)
    assert (tmp_path / "a.cnf").read_text() == f"c t mc\n{said}p cnf 3 2\n3 0\n-3 0\n"
    grid = Grid.of(Domain([Integer("a", 0, 9)]), [[Cut(4.5, closed=True)]])
    with pytest.raises(CircuitError, match="cells of several"):
        write_cnf(CircuitBuilder(grid).circuit(1), tmp_path / "a.cnf", weights=False)


@pytest.mark.parametrize("seed", range(40))
def test_clauses_are_read(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    domain = random_domain(rng, most_features=3)
    variables = Variables.of_code(Grid.of_values(domain), code=CODES[seed % 3])
    n = len(variables.bits)
    clauses = [
        [rng.choice([-1, 1]) * rng.randint(1, n) for _ in range(rng.randint(1, 3))] for _ in range(seed % 5 if n else 0)
    ]
    text = "".join(" ".join(map(str, clause)) + " 0\n" for clause in clauses)
    (tmp_path / "a.cnf").write_text(f"c some\np cnf {n} {len(clauses)}\n{text}")
    circuit = read_cnf(tmp_path / "a.cnf", domain, code=CODES[seed % 3])
    expected = set()
    for p in product(*map(range, circuit.grid.n_cells)):
        bits = code_of(variables, p)
        if all(any(bits[abs(k) - 1] == (k > 0) for k in clause) for clause in clauses):
            expected.add(p)
    assert points_of(circuit) == expected
    if queries.is_decomposable(circuit):
        assert queries.count(circuit) == len(expected)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("seed", range(30))
def test_what_was_written_is_read(tmp_path: Path, seed: int, code: str) -> None:
    """The gates that auxiliary variables stand for come back: with them decomposability, and determinism."""
    rng = random.Random(seed)
    circuit = random_circuit(rng, random_domain(rng, most_features=3), decomposable=bool(seed % 3))
    variables = write_cnf(circuit, path := tmp_path / "a.cnf", code=code, projected=bool(seed % 2))
    wanted = points_of(circuit)
    for found in (read_cnf(path), read_cnf(path, circuit.grid.domain), read_cnf(path, variables=variables)):
        assert found.grid.is_like(circuit.grid)
        assert points_of(found) == wanted
    if queries.is_decomposable(circuit) and seed % 3:
        write_nnf(circuit, tmp_path / "a.nnf", code=code)
        assert found.size == read_nnf(tmp_path / "a.nnf").size
    assert points_of(from_cnf(path)) == points_of(from_cnf(to_cnf(circuit, code=code))) == wanted


def test_gates_of_others_are_read(tmp_path: Path) -> None:
    """Clauses that say just what gate a variable is, in whatever program's order; gates are met with both signs."""
    said = "".join(f"{line}\n" for line in description(Grid.of_values(AB), "direct"))
    path = tmp_path / "a.cnf"
    met = 0
    for seed in range(200):
        rng, gates, n = random.Random(seed), list[list[int]](), 2
        for n in range(3, rng.randint(3, 6)):
            sign = rng.choice([-1, 1])
            parts = [rng.choice([-1, 1]) * rng.randint(1, n - 1) for _ in range(rng.randint(0, 3))]
            gates += [[-sign * n, sign * part] for part in parts]
            gates += [[sign * n, *(-sign * part for part in parts)]]
        gates += [[rng.choice([-1, 1]) * rng.randint(1, n) for _ in range(rng.randint(0, 3))] for _ in range(2)]
        text = "".join(" ".join(map(str, [*clause, 0])) + "\n" for clause in gates)
        path.write_text(f"{said}p cnf {n} {len(gates)}\n{text}")
        models = {
            bits[:2]
            for bits in product((0, 1), repeat=n)
            if all(any(bits[abs(k) - 1] == (k > 0) for k in clause) for clause in gates)
        }
        assert points_of(from_cnf(path)) == models
        with contextlib.suppress(CircuitError):  # where a clause uses a variable before its gate
            assert points_of(read_cnf(path)) == models
            met += 1
    assert met > 100


def test_a_large_circuit_is_read_in_linear_time(tmp_path: Path) -> None:
    n = 300
    build = CircuitBuilder(Grid.of_values(Domain([Integer(f"f{i}", 0, 1) for i in range(n)])))
    even, odd = build.true, build.false
    for i in reversed(range(n)):
        even, odd = build.decision(i, [([0], even), ([1], odd)]), build.decision(i, [([0], odd), ([1], even)])
    write_cnf(build.circuit(even), tmp_path / "a.cnf")
    found = read_cnf(tmp_path / "a.cnf", budget=Budget(seconds=60))
    assert queries.count(found) == 2 ** (n - 1)
    assert queries.count(from_cnf(tmp_path / "a.cnf")) == 2 ** (n - 1)


def test_headers_of_billions_take_no_memory(tmp_path: Path) -> None:
    said = "".join(f"{line}\n" for line in description(Grid.of_values(AB), "direct"))
    (tmp_path / "a.cnf").write_text(f"{said}p cnf 2000000000 1\n1 2 0\n")
    assert len(points_of(read_cnf(tmp_path / "a.cnf"))) == 3
    (tmp_path / "a.cnf").write_text(f"{said}p cnf 2000000000 1\n1 9 0\n")
    for read in (read_cnf, from_cnf):
        with pytest.raises(CircuitError, match="variables"):
            read(tmp_path / "a.cnf")


def test_what_was_written_and_cut_off_is_refused(tmp_path: Path) -> None:
    circuit = random_circuit(random.Random(5), Domain([Categorical("a", "xyz"), Integer("b", 0, 3)]))
    write_cnf(circuit, path := tmp_path / "a.cnf", projected=True)
    text = path.read_bytes()
    for end in range(len(text) - 1):
        path.write_bytes(text[:end])
        for read in (read_cnf, from_cnf):
            with pytest.raises(AxfiError):
                read(path)


MALFORMED = {
    "": "expected a header 'p cnf variables clauses', but found none",
    "1 0\n": "line 1: expected the header",
    "p cnf 2\n": "line 1: expected the header",
    "p cnf 2 -1\n": "line 1: expected the header",
    "p cnf 1000000000000 1\n1 0\n": "line 1: expected 2 variables",
    "p cnf 2 1000000000000\n1 0\n": "expected 1000000000000 clauses, each ended by 0, but found 1",
    "p cnf 2 1\n3 0\n": "line 2: expected literals of the variables 1 to 2",
    "p cnf 2 1\nx 0\n": "line 2: expected literals",
    "p cnf 2 1\n1 2\n": "expected 1 clauses, each ended by 0, but found 0",
    "p cnf 2 1\n1 0\n%\n0\n": "line 3: expected literals",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_damaged_clauses_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.cnf").write_text(text)
    with pytest.raises(ModelFileError, match=MALFORMED[text]):
        read_cnf(tmp_path / "a.cnf", AB)


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet="pcnf 0123-\n\x00\u00e4", max_size=30))
def test_any_text_only_raises_our_errors(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.cnf"
    path.write_text("p cnf 2 1\n" + text, encoding="utf-8")
    with contextlib.suppress(AxfiError):
        assert isinstance(read_cnf(path, AB), Circuit)


def test_clauses_may_name_the_features_that_they_are_about(tmp_path: Path) -> None:
    domain = Domain([Integer("c", 0, 4), *AB.features])
    path = tmp_path / "few.cnf"
    path.write_text('c axfi names ["b", "a"]\np cnf 2 1\n1 -2 0\n')
    circuit = read_cnf(path, domain)
    assert circuit.grid.domain.names == ("b", "a")
    assert queries.count(possible_points(domain.where(circuit))) == 15
    assert domain.where(circuit) == domain.where(read_cnf(path, Domain([domain.features[2], domain.features[1]])))
    for line, said in (("3", "expected names of features"), ('["b"', "names of features"), ("[]", "names of features")):
        path.write_text(f"c axfi names {line}\np cnf 2 1\n1 -2 0\n")
        with pytest.raises(ModelFileError, match=said):
            read_cnf(path, domain)
    path.write_text('c axfi names ["b", "d"]\np cnf 2 1\n1 -2 0\n')
    with pytest.raises(UnknownFeatureError, match="'d'"):
        read_cnf(path, domain)
    path.write_text("p cnf 2 1\n1 -2 0\n")
    with pytest.raises(ModelFileError, match=r"expected 7 variables, .* or name these in a line before, as in 'c axfi"):
        read_cnf(path, domain)


def test_words_of_variables_say_when_they_are_true() -> None:
    grid = Grid.of_values(Domain([Integer("c", 3, 5, missing=0.5), Categorical("job", ["no", "yes"]), *AB.features]))
    variables = Variables.of_code(grid)
    assert variables.words == ("c = 3", "c = 4", "c = 5", "c is missing", "job = 'yes'", "a = 1", "b = 1")
    assert Variables.of_code(grid, code="order").words[:2] == ("c >= 4 or c is missing", "c >= 5 or c is missing")
    assert variables.with_auxiliary(8).words[-1] == "auxiliary"


def test_auxiliary_variables_and_missing_meanings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cnf").write_text("p cnf 3 1\n1 3 0\n")
    with pytest.raises(CircuitError, match="variables after the first 2 to be gates"):
        read_cnf(tmp_path / "a.cnf", variables=Variables.of_code(Grid.of_values(AB)).with_auxiliary(3))
    (tmp_path / "a.cnf").write_text("p cnf 2 1\n1 0\n")
    with pytest.raises(CircuitError, match="domain="):
        read_cnf(tmp_path / "a.cnf")


def test_answers_of_counters() -> None:
    assert parse_count_answer("c o hello\ns SATISFIABLE\nc s type mc\nc s exact arb int 42\n") == 42
    long = "1" + "0" * 20_000
    assert parse_count_answer(f"c s exact arb int {long}") == 10**20_000
    assert parse_count_answer(f"c s exact arb frac 3/{long}") == Fraction(3, 10**20_000)
    for text in ("", "s SATISFIABLE", "c s exact double float 0.5", "c s exact arb int -1", "c s exact arb frac 1/0",
                 "c s exact arb int 1\nc s exact arb int 2", "c s exact arb int " + "1" * 1_000_001):  # fmt: skip
        with pytest.raises(ModelFileError):
            parse_count_answer(text)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("seed", range(8))
def test_dsharp_gives_the_points_back(seed: int, code: str) -> None:
    pytest.importorskip("problog")
    rng = random.Random(seed)
    circuit = random_circuit(rng, random_domain(rng), decomposable=bool(seed % 2))
    found = compile_with_dsharp(circuit, code=code, budget=Budget(seconds=20))
    assert points_of(found) == points_of(circuit)
    if queries.is_decomposable(found):
        assert queries.count(found) == len(points_of(circuit))


def test_dsharp_on_a_file(tmp_path: Path) -> None:
    pytest.importorskip("problog")
    (tmp_path / "a.cnf").write_text("p cnf 2 1\n1 2 0\n")
    with pytest.raises(CircuitError, match="variables="):
        compile_with_dsharp(tmp_path / "a.cnf")
    found = compile_with_dsharp(tmp_path / "a.cnf", variables=Variables.of_code(Grid.of_values(AB)))
    assert points_of(found) == {(0, 1), (1, 0), (1, 1)}
    with pytest.raises(BudgetError, match="did not finish"):
        compile_with_dsharp(
            tmp_path / "a.cnf", variables=Variables.of_code(Grid.of_values(AB)), budget=Budget(seconds=0.0001)
        )


_LIMITED = """
import resource, sys
from axfi_kc.budget import Budget
from axfi_kc.circuits.files.counting_problems import read_counting_problem
from axfi_kc.circuits.files.clause_compilers import count_models
for kind, limit in ((resource.RLIMIT_AS, 4 << 30), (resource.RLIMIT_CPU, 600)):
    resource.setrlimit(kind, (limit, limit))
print(count_models(read_counting_problem(sys.argv[1]), via="dsharp", budget=Budget(seconds=1000, bytes=8 << 30)).count)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set where systems have them")
def test_dsharp_within_the_limits_of_the_system(tmp_path: Path) -> None:
    """They are narrower than the budget."""
    pytest.importorskip("problog")
    (tmp_path / "a.cnf").write_text("p cnf 3 2\n1 2 0\n-1 3 0\n")
    command = [sys.executable, "-c", _LIMITED, str(tmp_path / "a.cnf")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("4\n", "")


def test_what_a_compiler_made_is_read_without_the_auxiliary_variables(tmp_path: Path) -> None:
    build = CircuitBuilder(Grid.of_values(AB))
    both = build.conjunction([build.literal(0, [0]), build.literal(1, [0])])
    circuit = build.circuit(
        build.disjunction([build.conjunction([build.literal(0, [1]), build.literal(1, [1])]), both])
    )
    variables = write_cnf(circuit, tmp_path / "a.cnf")
    assert len(variables.bits) == 4
    (tmp_path / "a.nnf").write_text(
        "nnf 12 11 4\nL 1\nL 2\nL 3\nL -4\nA 4 0 1 2 3\nL -1\nL -2\nL -3\nL 4\nA 4 5 6 7 8\nO 1 2 4 9\nA 1 10\n"
    )
    found = read_nnf(tmp_path / "a.nnf", variables=variables)
    assert points_of(found) == {(0, 0), (1, 1)}
    assert queries.count(found) == 2
