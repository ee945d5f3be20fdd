from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import AxfiError, Categorical, Domain, Integer
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import Variables, diagram_arrays, read_dd_json, read_dddmp, write_dd_json, write_dddmp
from axfi_kc.circuits.files.variables import outer_names
from axfi_kc.circuits.targets import obdd_of
from axfi_kc.circuits.targets.bit_codes import CODES, Bit
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, ModelFileError
from tests.support.format_cases import codes_of, points_of, random_circuit, random_domain

XYZ = Domain([Categorical("a", "xyz"), Integer("b", 0, 1)])
FORMATS: dict[str, tuple[Callable[..., None], Callable[..., Circuit]]] = {
    "dddmp": (write_dddmp, read_dddmp),
    "json": (write_dd_json, read_dd_json),
}


def _cases(start: int, n: int) -> list[tuple[int, str, str]]:
    return [(start + k, CODES[k % 3], suffix) for k in range(n) for suffix in FORMATS]


@pytest.mark.parametrize(("seed", "code", "suffix"), _cases(0, 24))
def test_diagrams_are_written_and_read(tmp_path: Path, seed: int, code: str, suffix: str) -> None:
    rng = random.Random(seed)
    domain = random_domain(rng)
    circuit = random_circuit(rng, domain, decomposable=False)
    order = rng.sample(range(len(domain)), len(domain))
    write, read = FORMATS[suffix]
    write(obdd_of(circuit, code=code, order=order), tmp_path / "a")
    found = read(tmp_path / "a", domain, code=code)
    assert points_of(found) == points_of(circuit)
    assert queries.is_decomposable(found)
    assert queries.count(found) == len(points_of(circuit))


def _models(function: Any, names: list[str]) -> set[tuple[bool, ...]]:
    found = set()
    for bits in product([False, True], repeat=len(names)):
        if function.bdd.let(dict(zip(names, bits, strict=True)), function) == function.bdd.true:
            found.add(bits)
    return found


@pytest.mark.parametrize(("seed", "code", "suffix"), _cases(100, 9))
@pytest.mark.parametrize("backend", ["cudd", "autoref"])
def test_dd_loads_what_we_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, code: str, suffix: str,
                                backend: str) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)  # dd makes its temporary folder where it is run
    rng = random.Random(seed)
    circuit = random_circuit(rng, XYZ, decomposable=bool(seed % 2))
    write, _ = FORMATS[suffix]
    obdd = obdd_of(circuit, code=code)
    write(obdd, tmp_path / f"a.{suffix}")
    names = outer_names(obdd.grid, obdd.bits)
    module = pytest.importorskip(f"dd.{backend}")
    manager = module.BDD()
    manager.declare(*names)
    if suffix == "dddmp" and backend == "autoref":
        from dd import dddmp

        if not obdd.size.nodes:
            return  # dd's own parser cannot read constants
        loaded = dddmp.load(str(tmp_path / "a.dddmp"))
        assert loaded.vars.keys() == set(names)
        return
    (root,) = manager.load(str(tmp_path / f"a.{suffix}"))
    assert _models(root, names) == codes_of(circuit, code)
    del root


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("seed", range(12))
def test_we_read_what_dd_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, suffix: str) -> None:
    monkeypatch.chdir(tmp_path)
    cudd = pytest.importorskip("dd.cudd")
    rng = random.Random(seed)
    names = [bit.name for bit in Variables.of_code(Grid.of_values(XYZ), code="direct").bits if bit is not None]
    manager = cudd.BDD()
    manager.configure(reordering=False)
    manager.declare(*rng.sample(names, len(names)))  # not always neighbours
    rows = [bits for bits in product([False, True], repeat=len(names)) if rng.random() < 0.5]
    root = manager.false
    for bits in rows:
        root |= manager.cube(dict(zip(names, bits, strict=True)))
    if root in (manager.true, manager.false):
        return
    manager.dump(str(tmp_path / f"a.{suffix}"), [root])
    found = FORMATS[suffix][1](tmp_path / f"a.{suffix}", XYZ, code="direct")
    expected = {(a, b) for a in range(3) for b in range(2) if (a == 0, a == 1, a == 2, b == 1) in rows}
    assert points_of(found) == expected
    del root


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("truth", [0, 1])
def test_constants(tmp_path: Path, suffix: str, truth: int) -> None:
    domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    write, read = FORMATS[suffix]
    write(obdd_of(CircuitBuilder(Grid.of_values(domain)).circuit(truth)), tmp_path / "a")
    assert len(points_of(read(tmp_path / "a", domain))) == 4 * truth


HEAD = ".ver DDDMP-2.0\n.mode A\n.varinfo 3\n.nnodes 3\n.orderedvarnames p q\n.nroots 1\n.rootids 3\n.nodes\n"
NODES = "1 T 1 0 0\n2 q 1 1 -1\n3 p 0 2 1\n"
VALID = {
    "dddmp": HEAD + NODES + ".end\n",
    "json": '{\n"level_of_var": {"p": 0, "q": 1},\n"roots": [3],\n"2": [1, "F", "T"],\n"3": [0, "T", 2]\n}\n',
}


def _pq() -> Variables:
    grid = Grid.of_values(Domain([Categorical("p", [1, 0]), Categorical("q", [1, 0])]))
    return Variables(grid, (Bit("p", 0, (0,)), Bit("q", 1, (0,))))


def test_the_small_diagrams(tmp_path: Path) -> None:
    for suffix, text in VALID.items():
        (tmp_path / "a").write_text(text)
        found = FORMATS[suffix][1](tmp_path / "a", variables=_pq())
        assert points_of(found) == {(0, 0), (1, 0), (1, 1)}


MALFORMED = [
    ("dddmp", "", "", "the line '.nodes', but found none"),
    ("dddmp", ".ver DDDMP-2.0", ".ver DDDMP-1.0", "expected the line '.ver DDDMP-2.0', but found 'DDDMP-1.0'"),
    ("dddmp", ".mode A", ".mode B", "expected the line '.mode A'"),
    ("dddmp", ".varinfo 3", ".varinfo 4", "expected the line '.varinfo 3'"),
    ("dddmp", ".nroots 1", ".nroots 2", "expected the line '.nroots 1'"),
    ("dddmp", ".mode A", ".varinfo 3", "line 3: expected a line of the head"),
    ("dddmp", ".mode A", "mode A", "line 2: expected a line of the head"),
    ("dddmp", "p q", "p p", "lines '.orderedvarnames'"),
    ("dddmp", ".rootids 3", ".rootids", "lines '.orderedvarnames'"),
    ("dddmp", ".rootids 3", ".rootids 7", "expected a number of a node, but found 7"),
    ("dddmp", ".rootids 3", ".rootids 1_1", "lines '.orderedvarnames'"),
    ("dddmp", ".nnodes 3", ".nnodes 1000000000000", "expected the 1000000000000 nodes"),
    ("dddmp", ".end", "", "line 12: expected a node"),
    ("dddmp", "\n.end\n", "", "the line '.end', but found none"),
    ("dddmp", ".end\n", ".end\nx\n", "line 13: expected nothing after"),
    ("dddmp", "3 p 0 2 1", "3 r 0 2 1", "line 11: expected a variable of"),
    ("dddmp", "3 p 0 2 1", "3 q 1 2 1", "line 11: expected arcs to variables further down"),
    ("dddmp", "3 p 0 2 1", "3 p 0 3 1", "line 11: expected arcs to variables further down"),
    ("dddmp", "3 p 0 2 1", "3 p 0 9 1", "line 11: expected a number of a node, but found 9"),
    ("dddmp", "3 p 0 2 1", "2 p 0 2 1", "line 11: expected a node .* with a new number"),
    ("dddmp", "3 p 0 2 1", "3 p 0 2", "line 11: expected a node"),
    ("dddmp", "3 p 0 2 1", "3 T 0 0 0", "line 11: expected one terminal node"),
    ("dddmp", "3 p 0 2 1", "3 p 0 " + "2" * 5000 + " 1", "line 11: expected a node"),
    ("json", "", "", "does not parse"),
    ("json", "}\n", "", "does not parse"),
    ("json", '"2":', '"3":', "does not parse"),
    ("json", '"q": 1', '"q": 0', "expected 'level_of_var' with the levels"),
    ("json", '"q": 1', '"q": 1000000000000', "expected 'level_of_var' with the levels"),
    ("json", '"q": 1', '"q": true', "expected 'level_of_var' with the levels"),
    ("json", "level_of_var", "levels", "expected 'level_of_var' with the levels"),
    ("json", "[3]", "[3, 2]", "expected 'roots' with one root"),
    ("json", "[3]", '["x"]', "expected 'roots' with one root"),
    ("json", "[3]", "[4]", "expected a number of a node, but found 4"),
    ("json", '"2": [1', '"2": [2', "expected \"number\""),
    ("json", '"2": [1', '"1": [1', "expected \"number\""),
    ("json", '"2": [1', '"x": [1', "expected \"number\""),
    ("json", '[0, "T", 2]', '[0, "T"]', "expected \"number\""),
    ("json", '[0, "T", 2]', '[0, "X", 2]', "expected \"number\""),
    ("json", '[0, "T", 2]', '[0, "T", 2.5]', "expected \"number\""),
    ("json", '[0, "T", 2]', '[0, "T", 3]', "further down the order"),
    ("json", '[0, "T", 2]', '[0, "T", 0]', "expected a number of a node, but found 0"),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "old", "new", "message"), MALFORMED)
def test_a_damaged_file_is_refused(tmp_path: Path, suffix: str, old: str, new: str, message: str) -> None:
    (tmp_path / "a.bdd").write_text(VALID[suffix].replace(old, new) if old else "")
    with pytest.raises(ModelFileError, match=message) as caught:
        FORMATS[suffix][1](tmp_path / "a.bdd", variables=_pq())
    assert str(caught.value).startswith("a.bdd")


@pytest.mark.parametrize("large", [1, 10**9])
def test_positions_are_those_of_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(diagram_arrays, "LARGE", large)
    text = VALID["dddmp"].replace(".nodes", ".suppvarnames q p\n.nodes")  # of CUDD, in the order of its indices
    (tmp_path / "a.dddmp").write_text(text)
    assert points_of(read_dddmp(tmp_path / "a.dddmp", variables=_pq())) == {(0, 0), (1, 0), (1, 1)}
    for old, new in (("3 p 0", "3 p 1"), ("2 q 1", "2 p 1"), (".suppvarnames q p", ".suppvarnames q")):
        assert old in text
        (tmp_path / "a.dddmp").write_text(text.replace(old, new))
        with pytest.raises(ModelFileError, match=r"expected position -?[0-9]+, that of its variable"):
            read_dddmp(tmp_path / "a.dddmp", variables=_pq())


@pytest.mark.parametrize("suffix", FORMATS)
def test_names_must_be_known(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a").write_text(VALID[suffix])
    with pytest.raises(CircuitError, match="the file has 'p'"):
        FORMATS[suffix][1](tmp_path / "a", XYZ)
    assert "p" in FORMATS[suffix][1](tmp_path / "a").grid.domain.names  # without a domain, names are features


def test_deep_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[" * 100_000)
    with pytest.raises(ModelFileError):
        read_dd_json(tmp_path / "a", XYZ)
    (tmp_path / "a").write_text(json.dumps([1]))
    with pytest.raises(ModelFileError):
        read_dd_json(tmp_path / "a", XYZ)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_mutated_files_only_raise_our_errors(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    suffix = data.draw(st.sampled_from(list(FORMATS)))
    text = bytearray(VALID[suffix].encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b"0", b"-", b"9", b"2", b"\n", b"\xff", b'"T"', b"null"]) | st.binary(max_size=2)
        )
    path = tmp_path_factory.getbasetemp() / "mutated.bdd"
    path.write_bytes(text)
    try:
        found = FORMATS[suffix][1](path, variables=_pq())
    except AxfiError:
        return
    assert isinstance(found, Circuit)
