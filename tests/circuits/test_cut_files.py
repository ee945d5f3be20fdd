"""Files that end too early: refused with a sentence, or the same function as the whole file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from axfi_kc import AxfiError, Domain, Integer
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import (
    diagram_arrays,
    load_circuit,
    nnf_arrays,
    read_nnf,
    read_vtree,
    save_circuit,
    write_nnf,
    write_vtree,
)
from axfi_kc.circuits.files.psdd import read_psdd
from axfi_kc.circuits.targets import obdd_of, sdd_of
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.errors import ModelFileError
from tests.support.format_cases import points_of, random_circuit
from tests.support.random_psdds import psdd_text

BITS = Domain([Integer(f"x{k}", 0, 1) for k in range(12)])
# as d4 writes it: a node, then for each child all below it, and the arc to it
D4 = """o 1 0
a 2 0
o 3 0
t 4 0
3 4 1 -12 0
o 5 0
5 4 -2 11 0
5 4 2 0
3 5 -1 12 0
2 3 0
o 6 0
6 4 10 0
6 4 -10 3 0
2 6 0
1 2 -4 0
"""
# by hand, with last numbers that go on: node 1 for 12, variable 1 for 12
C2D = """nnf 14 14 12
L 1
L 2
L -1
L 3
L 4
L 5
L 6
L 7
A 2 0 1
A 2 2 3
A 2 4 5
A 2 6 7
O 1 2 8 9
A 3 10 11 12
"""
SDD = "c by hand\nsdd 5\nL 1 0 1\nT 12\nL 3 0 -1\nL 13 2 12\nD 0 1 2 1 13 3 12\n"
LITERALS = {
    "L.nnf": "nnf 1 0 12\nL 12\n",
    "L.sdd": "sdd 1\nL 0 0 -12\n",
    "T.sdd": "sdd 1\nT 12\n",
    "A.nnf": "nnf 1 0 12\nA 0\n",
}


def cut_differently(text: bytes, read: Callable[[bytes], Any], key: Callable[[Any], Any]) -> list[bytes]:
    """Return the ends of beginnings of a text that are read as something else than the whole."""
    whole, found = key(read(text)), []
    for n in range(len(text)):
        try:
            if key(read(text[:n])) != whole:
                found.append(text[:n][-40:])
        except AxfiError:
            continue
    return found


def reading(file: Path, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def read_bytes(data: bytes) -> Any:
        file.write_bytes(data)
        return read(file)

    return read_bytes


def same(whole: Any) -> Any:
    return frozenset(points_of(whole)) if isinstance(whole, Circuit) else whole


@pytest.mark.parametrize("suffix", ["c2d.nnf", "d4.nnf", ".sdd", ".dddmp", ".json"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_written_here(seed: int, suffix: str, tmp_path: Path) -> None:
    circuit = random_circuit(Random(seed), Domain([Integer("a", 0, 2), Integer("b", 0, 1), Integer("c", 0, 3)]))
    file = tmp_path / f"a{suffix}"
    if suffix.endswith(".nnf"):
        write_nnf(circuit, file, dialect=suffix[:-4])
    else:
        save_circuit((sdd_of if suffix == ".sdd" else obdd_of)(circuit), file)
    text = file.read_bytes()
    assert text.endswith(b"\n")
    for beside in tmp_path.glob("*.vtree"):
        beside.unlink()
    domain = None if suffix in ("c2d.nnf", ".sdd") else circuit.grid.domain
    assert cut_differently(text, reading(file, lambda f: load_circuit(f, domain)), same) == []


@pytest.mark.parametrize(
    ("name", "text"), [("d4.nnf", D4), ("c2d.nnf", C2D), ("a.sdd", SDD), *((k, v) for k, v in LITERALS.items())]
)
def test_what_others_write(name: str, text: str, tmp_path: Path) -> None:
    for data in (text, text.replace("\n", "\r\n")):
        read = reading(tmp_path / name, lambda f: load_circuit(f, BITS))
        assert cut_differently(data.encode(), read, same) == []


def test_node_lists(tmp_path: Path) -> None:
    nodes = {"1": ["L", "1"], "12": ["L", -1], "3": ["OR", [1, 12]]}
    document = {"features": [{"name": "a", "values": ["x", "y"], "literals": [1, -1]}], "nodes": nodes, "root": 12}
    read = reading(tmp_path / "a.json", load_circuit)
    assert cut_differently(json.dumps(document, indent=1).encode() + b"\n", read, same) == []


@pytest.mark.parametrize(
    "vtree", [Vtree.right_linear([*range(12)]), Vtree.balanced([3, *range(3)]), Vtree.balanced([11])]
)
def test_vtrees(vtree: Vtree, tmp_path: Path) -> None:
    write_vtree(vtree, file := tmp_path / "a.vtree")
    assert cut_differently(file.read_bytes(), reading(file, read_vtree), lambda made: made) == []


@pytest.mark.parametrize("seed", range(4))
def test_psdds(seed: int, tmp_path: Path) -> None:
    n = 1 + seed
    write_vtree(vtree := Vtree.balanced(range(n)), tmp_path / "a.vtree")
    text = psdd_text(Random(seed), vtree).encode()
    domain = Domain([Integer(f"x{k}", 0, 1) for k in range(n)])
    read = reading(tmp_path / "a.psdd", lambda f: read_psdd(f, domain))
    assert cut_differently(text, read, lambda made: made.document()) == []


def test_large_files_are_read_by_kernels_to_the_same_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (nnf_arrays, diagram_arrays):
        monkeypatch.setattr(module, "LARGE", 1)
    for name, text in (("c2d.nnf", C2D), ("a.sdd", SDD), ("L.nnf", LITERALS["L.nnf"])):
        read = reading(tmp_path / name, lambda f: load_circuit(f, BITS))
        assert cut_differently(text.encode(), read, same) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nnf", "nnf 3 2 12\nL 1\nL -2\nA 2 0 1"),  # no node could have two digits
        ("b.nnf", "nnf 1 0 12\nL 2"),  # no variable has the number 20
        ("c.nnf", "nnf 1 0 12\nA 0"),
        ("d4.nnf", D4.strip()),  # lines of d4 have an end of their own
        ("a.sdd", "sdd 3\nL 1 0 1\nT 2\nL 13 2 12\nD 0 1 2 1 2 13 2".replace("sdd 3", "sdd 4")),
    ],
)
def test_a_last_line_without_its_end_is_read_where_no_digit_can_be_missing(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    bare = load_circuit(tmp_path / name, BITS)
    (tmp_path / name).write_text(f"{text}\n")
    assert same(bare) == same(load_circuit(tmp_path / name, BITS))


def test_a_last_line_that_could_go_on_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.nnf").write_text("nnf 1 0 12\nL 1")
    with pytest.raises(ModelFileError, match="add the end of the line if the file is whole"):
        read_nnf(tmp_path / "a.nnf", BITS)
    (tmp_path / "a.nnf").write_text("nnf 1 0 12\nL 1\n")
    assert len(points_of(read_nnf(tmp_path / "a.nnf", BITS))) == 2**11


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 1 0\n", "line 1: expected arcs from node 1, an 'o' or 'a', but found none"),
        ("o 1 0\nt 2 0\no 3 0\n1 2 3 0\n", "line 3: expected arcs from node 3"),
        (
            "o 1 0\nt 2 0\n1 2 1 0\no 3 0\n3 2 4 0\n",
            "line 4: expected an arc to node 3, or one of the root as the last",
        ),
        ("t 1 0\nf 2 0\n", "line 2: expected an arc to node 2"),
    ],
)
def test_nodes_of_d4_that_lack_arcs(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.nnf").write_text(text)
    with pytest.raises(ModelFileError, match=words):
        read_nnf(tmp_path / "a.nnf", BITS)


def test_dead_nodes_of_d4_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.nnf").write_text("o 1 0\nt 2 0\no 7 0\n7 2 4 0\n1 2 1 0\n")
    assert len(points_of(read_nnf(tmp_path / "a.nnf", BITS))) == 2**11


def test_edges_that_a_header_counts(tmp_path: Path) -> None:
    text = "nnf 3 {} 12\nL 1\nL -2\nA 2 0 1\n"
    for n in (2, 3, 0):  # as they are; one too many, of dsharp; not counted, by ddnnife
        (tmp_path / "a.nnf").write_text(text.format(n))
        assert len(points_of(read_nnf(tmp_path / "a.nnf", BITS))) == 2**10
    for n in (1, 4):
        (tmp_path / "a.nnf").write_text(text.format(n))
        with pytest.raises(ModelFileError, match=f"expected the {n} edges that the header claims, but found 2"):
            read_nnf(tmp_path / "a.nnf", BITS)
