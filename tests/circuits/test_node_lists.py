from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import AxfiError
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import read_node_list
from axfi_kc.errors import ModelFileError
from tests.support.format_cases import points_of
from tests.support.shared_data import shared_file

ONE_HOT = ("adult", "compas", "german", "mofn_3_7_10", "parity5+5", "recidivism", "spect", "xd6")
BOOLEAN = ("Mammographic-mass", "chess", "lending", "monk1", "promoters", "tic_tac_toe", "xd6")
DOCUMENT: dict[str, Any] = {
    "features": [
        {"name": "a", "values": ["x", "y", "z"], "literals": [1, 2, 3]},
        {"name": "b", "values": ["1", "0"], "literals": [4, -4]},
    ],
    "root": 9,
    "nodes": {"9": ["OR", [7, 8]], "7": ["AND", [1, 2]], "8": ["L", "3"], "1": ["L", -1], "2": ["AND", [8, 3]],
              "3": ["L", -4]},
}  # fmt: skip


def _holds(document: dict[str, Any], cells: tuple[int, ...]) -> bool:
    """Evaluate by recursion, literal by literal: exactly the literals of the point's values are true."""
    truth: dict[int, bool] = {}
    for feature, cell in zip(document["features"], cells, strict=True):
        for k, literal in enumerate(feature["literals"]):
            truth[literal] = k == cell
            truth.setdefault(-literal, k != cell)

    def at(node: int) -> bool:
        kind, content = document["nodes"][str(node)]
        if kind == "L":
            return truth[int(content)]
        return (all if kind == "AND" else any)(at(part) for part in content)

    return at(document["root"])


def test_a_small_list() -> None:
    circuit, domain = read_node_list(DOCUMENT)
    assert [f.values for f in domain.features] == [("x", "y", "z"), ("1", "0")]
    expected = {(a, b) for a in range(3) for b in range(2) if _holds(DOCUMENT, (a, b))}
    assert points_of(circuit) == expected == {(2, 0), (2, 1)}


@pytest.mark.parametrize("name", ONE_HOT)
def test_lists_over_one_hot_bits(name: str) -> None:
    path = shared_file("refs", "ddnnf", f"{name}.json")
    document = json.loads(path.read_text())
    circuit, domain = read_node_list(path)
    rng = random.Random(1)
    points = [tuple(instance["values"]) for instance in document["instances"]]
    points += [tuple(rng.randrange(n) for n in circuit.grid.n_cells) for _ in range(20)]
    for cells in points:
        assert queries.evaluate(circuit, cells) == _holds(document, cells)
    assert domain.names == tuple(f["name"] for f in document["features"])


@pytest.mark.parametrize("name", BOOLEAN)
def test_lists_over_boolean_features(name: str) -> None:
    document = json.loads(shared_file("refs", "ddnnf_frp", f"{name}.json").read_text())
    circuit, domain = read_node_list(document)
    assert queries.is_decomposable(circuit)
    for instance in document["instances"][:40]:
        cells = [f.values.index(str(v)) for f, v in zip(domain.features, instance["values"], strict=True)]
        assert queries.evaluate(circuit, cells) == instance["prediction"]
    if (domain.size or 0) <= 2**13:
        assert queries.count(circuit) == len(points_of(circuit))


MALFORMED: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "no nodes": (("nodes",), None, "expected an entry 'nodes', but found none"),
    "nodes in a list": (("nodes",), [], "expected an entry 'nodes'"),
    "no features": (("features",), [], "at least one"),
    "no root": (("root",), None, "expected an entry 'root'"),
    "an unknown root": (("root",), 10, "expected the root among the nodes, but found 10"),
    "a root that is no number": (("root",), "x", "expected the root among the nodes"),
    "a cycle": (("nodes", "2"), ["AND", [9]], "expected an acyclic circuit, but found a way from node 9"),
    "a loop": (("nodes", "2"), ["AND", [2]], "acyclic"),
    "an unknown part": (("nodes", "2"), ["AND", [55]], "the parts of node 2 among the nodes, but found 55"),
    "an unknown kind": (("nodes", "2"), ["XOR", [8]], "expected node 2 as"),
    "a kind that is no text": (("nodes", "2"), [["OR"], [8]], "expected node 2 as"),
    "parts that are none": (("nodes", "2"), ["OR", 8], "expected node 2 as"),
    "a part that is no number": (("nodes", "2"), ["OR", [True]], "expected node 2 as"),
    "three entries": (("nodes", "2"), ["OR", 1, 2], r"expected node 2 as \[kind, content\]"),
    "a literal of no feature": (("nodes", "1"), ["L", "5"], "expected node 1 to be a literal of the variables 1 to 4"),
    "the literal 0": (("nodes", "1"), ["L", 0], "literal"),
    "a huge literal": (("nodes", "1"), ["L", "9" * 10_000], "literal"),
    "a node number that is none": (("nodes", "one"), ["L", 1], "expected a node number that is new, but found one"),
    "a node number twice": (("nodes", "09"), ["L", 1], "expected a node number that is new, but found 09"),
    "too few literals": (("features", 0, "literals"), [1, 2], "needs as many different literals"),
    "a literal twice": (("features", 0, "literals"), [1, 2, 2], "different literals"),
    "a literal of two features": (("features", 0, "literals"), [1, 2, 4], "variable 4 belongs to features 0 and 1"),
    "both signs among three": (("features", 0, "literals"), [1, -1, 2], "can only tell two values apart"),
    "a gap": (("features", 0, "literals"), [1, 2, 10**12], "variable 3 belongs to no feature"),
    "a literal that is no number": (("features", 0, "literals"), [1, 2, "x"], "expected literals that are integers"),
    "a value twice": (("features", 0, "values"), ["x", "x", "y"], "different values"),
    "a value that is a list": (("features", 0, "values"), [["x"], 1, 2], "different values"),
    "a name twice": (("features", 0, "name"), "b", "occurs twice"),
    "a feature that is none": (("features", 0), 5, "expected an entry 'values'"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_damaged_list_is_refused(tmp_path: Path, what: str) -> None:
    keys, value, message = MALFORMED[what]
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path = tmp_path / "list.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=message) as caught:
        read_node_list(path)
    assert str(caught.value).startswith("list.json: ")


@pytest.mark.parametrize("text", [b"", b"[", b"[]", b"7", b"\xff\xfe\x00", b"[" * 100_000, b"{" + b'"a":{' * 50_000])
def test_text_that_is_no_list(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(text)
    with pytest.raises(ModelFileError):
        read_node_list(path)


def test_a_deep_chain_needs_no_recursion() -> None:
    nodes: dict[str, Any] = {str(k): ["AND" if k % 2 else "OR", [k + 1, 0]] for k in range(1, 30_000)}
    nodes |= {"0": ["L", 1], "30000": ["L", 4]}
    circuit, _ = read_node_list({**DOCUMENT, "nodes": nodes, "root": 1})
    assert points_of(circuit) == {(0, 0), (0, 1)}


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_mutated_lists_only_raise_our_errors(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = bytearray(json.dumps(DOCUMENT).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b"0", b"-1", b"null", b"9", b"[]", b'"L"', b"\xff"]) | st.binary(max_size=2)
        )
    path = tmp_path_factory.getbasetemp() / "mutated.json"
    path.write_bytes(text)
    try:
        circuit, _ = read_node_list(path)
    except AxfiError:
        return
    assert isinstance(circuit, Circuit)
