from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import AxfiError, Categorical, Domain, Integer, Real
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import Variables, read_nnf, write_nnf
from axfi_kc.circuits.targets.bit_codes import CODES
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import CircuitError, ModelFileError
from tests.support.format_cases import c2d_count, c2d_models, codes_of, points_of, random_circuit, random_domain

AB = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
XYZ = Domain([Categorical("a", "xyz"), Integer("b", 0, 1)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "circuit.nnf"


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("seed", range(40))
def test_the_models_of_a_file_are_the_codes_of_the_points(file: Path, seed: int, code: str) -> None:
    rng = random.Random(seed)
    circuit = random_circuit(rng, random_domain(rng, most_features=3))
    write_nnf(circuit, file, code=code)
    codes = codes_of(circuit, code)
    assert c2d_models(file.read_text()) == codes
    assert c2d_count(file.read_text()) == len(codes)  # so it is decomposable and deterministic in the bits


@pytest.mark.parametrize("dialect", ["c2d", "d4"])
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("seed", range(25))
def test_what_is_written_is_read_back(file: Path, seed: int, code: str, dialect: str) -> None:
    rng = random.Random(1000 + seed)
    domain = random_domain(rng)
    circuit = random_circuit(rng, domain, decomposable=True)
    write_nnf(circuit, file, code=code, dialect=dialect)
    found = read_nnf(file, domain, code=code)
    assert points_of(found) == points_of(circuit)
    assert queries.is_decomposable(found)
    assert queries.count(found) == len(points_of(circuit))
    assert queries.probability(found) == queries.probability(circuit)


@pytest.mark.parametrize("dialect", ["c2d", "d4"])
@pytest.mark.parametrize("seed", range(25))
def test_circuits_that_are_no_ddnnf_keep_their_points(file: Path, seed: int, dialect: str) -> None:
    rng = random.Random(2000 + seed)
    domain = random_domain(rng)
    circuit = random_circuit(rng, domain, decomposable=False)
    write_nnf(circuit, file, code=rng.choice(CODES), dialect=dialect)
    code = None if dialect == "c2d" else "direct"
    if dialect == "d4":
        write_nnf(circuit, file, dialect=dialect)
    assert points_of(read_nnf(file, domain, code=code)) == points_of(circuit)


@pytest.mark.parametrize("dialect", ["c2d", "d4"])
@pytest.mark.parametrize("truth", [False, True])
def test_constants(file: Path, truth: bool, dialect: str) -> None:
    build = CircuitBuilder(Grid.of_values(XYZ))
    write_nnf(build.circuit(int(truth)), file, dialect=dialect)
    assert len(points_of(read_nnf(file, XYZ))) == (6 if truth else 0)


def test_a_file_of_ours_says_what_its_variables_mean(file: Path) -> None:
    domain = Domain(
        [
            Categorical("colour", ["red", "gr\u00fcn", 3], weights=[1, 2, 4]),
            Integer("age", 18, 90, weights=range(1, 74)),
            Real("income", 0, 0.1),
            Categorical("race", ["a", "b"], columns=["race_a", "race_b"]),
        ]
    )
    grid = Grid.of(domain, [[], [Cut(41.5, closed=True)], [Cut(0.05, closed=False), Cut(0.07, closed=True)], []])
    build = CircuitBuilder(grid)
    parts = [build.literal(0, [0, 2]), build.literal(1, [1]), build.literal(2, [0, 2])]
    circuit = build.circuit(build.conjunction(parts))
    for code in CODES:
        write_nnf(circuit, file, code=code)
        found = read_nnf(file)
        assert found.grid.domain == domain
        assert [axis.cuts for axis in found.grid.axes] == [axis.cuts for axis in grid.axes]
        assert queries.probability(found) == queries.probability(circuit)
        assert points_of(read_nnf(file, domain)) == points_of(circuit)
    with pytest.raises(ModelFileError, match="the file has the features"):
        read_nnf(file, XYZ)


def test_files_without_description_need_a_domain(file: Path) -> None:
    file.write_text("nnf 1 0 2\nL 1\n")
    with pytest.raises(CircuitError, match="pass domain= or variables="):
        read_nnf(file)


def test_the_dialect_of_c2d(file: Path) -> None:
    file.write_text("c by hand\nnnf 7 6 2\nL 1\nL -2\nA 2 0 1\nL -1\r\nL 2\nA 2 3 4\nc in between\nO 1 2 2 5\n\n")
    assert points_of(read_nnf(file, AB)) == {(0, 1), (1, 0)}
    file.write_text("nnf 1 0 2\nA 0\n")
    assert len(points_of(read_nnf(file, AB))) == 4
    file.write_text("nnf 1 0 2\nO 0 0\n")
    assert not points_of(read_nnf(file, AB))


def test_the_dialect_of_d4(file: Path) -> None:
    file.write_text("o 1 0\na 20 0\nt 3 0\nf 4 0\no 99 0\n99 3 0\n1 20 1 0\n20 3 -2 0\n1 3 -1 2 0\n1 4 1 0\n")
    assert points_of(read_nnf(file, AB)) == {(0, 1), (1, 0)}
    file.write_text("t 1 0\n")
    assert len(points_of(read_nnf(file, AB))) == 4


def test_two_bits_of_a_feature_under_one_conjunction_are_refused_by_counting_only_where_they_are_apart(
    file: Path,
) -> None:
    file.write_text("nnf 4 3 4\nL -1\nL -2\nL 4\nA 3 0 1 2\n")  # the bits together: one set of cells
    found = read_nnf(file, XYZ)
    assert queries.is_decomposable(found)
    assert points_of(found) == {(2, 1)}
    file.write_text("nnf 7 7 4\nL -1\nL 4\nO 0 2 0 1\nL -2\nL -4\nO 0 2 3 4\nA 3 2 5 0\n")
    found = read_nnf(file, XYZ)
    assert not queries.is_decomposable(found)
    assert points_of(found) == {(1, 0), (2, 0), (2, 1)}


def test_auxiliary_variables_are_forgotten(file: Path) -> None:
    variables = Variables.of_code(Grid.of_values(AB)).with_auxiliary(3)  # 3 <-> a and b
    file.write_text("nnf 10 11 3\nL 1\nL 2\nL 3\nA 3 0 1 2\nL -1\nL -2\nL -3\nA 3 0 5 6\nA 2 4 6\nO 0 3 3 7 8\n")
    found = read_nnf(file, variables=variables)
    assert len(points_of(found)) == 4 == queries.count(found)
    file.write_text("nnf 5 4 3\nL 3\nL -3\nA 2 0 1\nL 1\nO 0 2 2 3\n")
    with pytest.raises(CircuitError, match="node 2"):
        read_nnf(file, variables=variables)


MALFORMED = {
    "": "no line of one",
    "\n\nc only\n": "no line of one",
    "\x00\x01\x02": "line 1: expected the header",
    "nnf 1 0\nL 1": "line 1: expected the header 'nnf nodes edges variables', but found 'nnf 1 0'",
    "nnf 1 0 -2\nL 1": "line 1: expected the header",
    "nnf x 0 2\nL 1": "line 1: expected the header",
    "nnf 0 0 2\n": "at least one node",
    "nnf 1000000000000 0 2\nL 1": "line 1: expected the 1000000000000 nodes that the header claims, but found 1",
    "nnf 1 0 1000000000000\nL 1\n": "expected 2 variables",
    "nnf 1 0 3\nL 1": "expected 2 variables, as many as the features have bits, but found 3; name the code",
    "nnf 2 0 2\nL 1": "line 1: expected the 2 nodes that the header claims, but found 1",
    "nnf 1 0 2\nL 0": "line 2: expected a node",
    "nnf 1 0 2\nL 3": "line 2: expected a node",
    "nnf 1 0 2\nL -3": "line 2: expected a node",
    "nnf 1 0 2\nL 1 2": "line 2: expected a node",
    "nnf 1 0 2\nL 1_0": "line 2: expected a node",
    "nnf 1 0 2\nL": "line 2: expected a node",
    "nnf 1 0 2\nL " + "9" * 100_000: "line 2: expected a node .* but found 'L 9999999999999999999999999999999999999",
    "nnf 2 1 2\nA 1 1\nL 1": "line 2: expected a node",
    "nnf 1 1 2\nA 1 0": "line 2: expected a node",
    "nnf 2 1 2\nL 1\nA 1 -1": "line 3: expected a node",
    "nnf 2 1 2\nL 1\nA 2 0": "line 3: expected a node",
    "nnf 2 1 2\nL 1\nA": "line 3: expected a node",
    "nnf 2 1 2\nL 1\nO 0": "line 3: expected a node",
    "nnf 2 1 2\nL 1\nO 3 1 0": "line 3: expected a node",
    "nnf 2 1 2\nL 1\nX 1 0": "line 3: expected a node",
    "nnf 1 0 2\nL 1\n%\n0\n": "line 3: expected a node .* but found '%'",
    "nnf 1 0 2\nL \xe4": "line 2: expected a node",
    "o 2 0\n": "expected a root, node 1, but found none",
    "o 1 0\no 1 0\n": "line 2: expected a node number above 0 that is new, but found 1",
    "o 1 0\nt 0 0\n": "line 2: expected a node number above 0",
    "o 1\n": "line 1: expected a node 'o|a|t|f number 0'",
    "o 1 0\n1 1 0": "line 2: expected an acyclic circuit, but found an arc back to node 1",
    "o 1 0\na 2 0\n1 2 0\n2 1 0": "expected an acyclic circuit",
    "o 1 0\n1 2 0": "line 2: expected an arc to a declared node, but found one to node 2",
    "o 1 0\nt 2 0\n3 2 0": "line 3: expected an arc from a node 'o' or 'a', but found one from node 3, which no line",
    "o 1 0\nt 2 0\n2 1 0": "from node 2, a constant",
    "o 1 0\nt 2 0\n1 2 3 0": "line 3: expected literals of the variables 1 to 2",
    "o 1 0\nt 2 0\n1 2 3": "line 3: expected a node",
    "o 1 0\nt 2 0\n1 0": "line 3: expected an arc",
    "o 1 0\nt 2 0\n1 2 1 0 2 0": "d4's certified variant",
    "o 1 4 5 0\nt 2 0\n1 2 0": "d4's certified variant",
    "o 1 0\nt 2 0\n1 2 1_1 0": "line 3: expected a node",
    "o " + "1" * 10_000 + " 0": "line 1: expected a node",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_damaged_file_is_named_with_its_line(file: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelFileError, match=MALFORMED[text]) as caught:
        read_nnf(file, AB)
    assert str(caught.value).startswith("circuit.nnf")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "line",
    [
        "feature {}",
        "feature []",
        "feature " + "[" * 100_000,
        'feature {"kind": "integer", "name": "a", "low": "0", "high": "1e999999999", "cuts": []}',
        'feature {"kind": "integer", "name": "a", "low": "0", "high": "1/0", "cuts": []}',
        'feature {"kind": "integer", "name": "a", "low": "0", "high": 1, "cuts": []}',
        'feature {"kind": "categorical", "name": "a", "values": [[1], 2]}',
        'feature {"kind": "categorical", "name": "a", "values": 7}',
        'feature {"kind": "categorical", "name": 5, "values": [1]}',
        'feature {"kind": "moody", "name": "a", "low": "0", "high": "1"}',
        'feature {"kind": "real", "name": "a", "low": "0", "high": "1", "cuts": [["0x1p99999", true]]}',
        "colour red",
        "feature",
    ],
)
def test_a_description_is_not_trusted(file: Path, line: str) -> None:
    file.write_text(f"c axfi code order\nc axfi {line}\nnnf 1 0 1\nL 1\n")
    with pytest.raises(ModelFileError):
        read_nnf(file)


def test_names_are_checked(file: Path) -> None:
    file.write_text("nnf 1 0 2\nL 1\n")
    with pytest.raises(CircuitError, match="dialect"):
        read_nnf(file, AB, dialect="d5")
    with pytest.raises(ModelFileError, match="line 1"):
        read_nnf(file, AB, dialect="d4")
    with pytest.raises(CircuitError, match="code"):
        read_nnf(file, AB, code="gray")
    circuit = read_nnf(file, AB)
    with pytest.raises(CircuitError, match="code"):
        write_nnf(circuit, file, code="gray")
    with pytest.raises(CircuitError, match="dialect"):
        write_nnf(circuit, file, dialect="d5")


def _valid_texts(folder: Path) -> list[bytes]:
    found = []
    for seed, dialect in enumerate(["c2d", "c2d", "d4", "d4"]):
        circuit = random_circuit(random.Random(seed + 5), XYZ)
        write_nnf(circuit, folder / "valid", dialect=dialect)
        found.append((folder / "valid").read_bytes())
    return found


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_mutated_files_only_raise_our_errors(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = bytearray(data.draw(st.sampled_from(_valid_texts(folder))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b"0", b"-", b"9", b" ", b"\n", b"\xff", b"L 1\n", b"1 2 0\n"]) | st.binary(max_size=3)
        )
    (folder / "mutated.nnf").write_bytes(text)
    for domain in (None, XYZ):
        try:
            found = read_nnf(folder / "mutated.nnf", domain)
        except AxfiError:
            continue
        assert isinstance(found, Circuit)
