from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import AxfiError, Categorical, Domain, Integer
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import Variables, read_sdd, read_vtree, write_sdd, write_vtree
from axfi_kc.circuits.targets import Vtree
from axfi_kc.circuits.targets.bit_codes import CODES
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, ModelFileError
from tests.support.format_cases import code_of, points_of

AB = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
XYZ = Domain([Categorical("a", "xyz"), Integer("b", 0, 1), Integer("c", 0, 3)])


def _random_vtree(rng: random.Random, n: int) -> Vtree:
    left, right, leaves = [-1] * n, [-1] * n, rng.sample(range(n), n)
    roots = list(range(n))
    while len(roots) > 1:
        a, b = (roots.pop(rng.randrange(len(roots))) for _ in range(2))
        roots.append(len(left))
        left, right, leaves = [*left, a], [*right, b], [*leaves, -1]
    return Vtree(tuple(left), tuple(right), tuple(leaves))


def _manager(path: Path) -> tuple[Any, Any]:
    sdd = pytest.importorskip("pysdd.sdd")
    return sdd, sdd.SddManager.from_vtree(sdd.Vtree.from_file(str(path).encode()))


def _random_diagram(rng: random.Random, manager: Any, n: int) -> tuple[Any, list[tuple[bool, ...]]]:
    rows = [bits for bits in product([False, True], repeat=n) if rng.random() < 0.5]
    root = manager.false()
    for bits in rows:
        term = manager.true()
        for k, bit in enumerate(bits, 1):
            term &= manager.literal(k if bit else -k)
        root |= term
    return root, rows


@pytest.mark.parametrize("seed", range(12))
def test_we_read_what_pysdd_writes(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    code = CODES[seed % 3]
    variables = Variables.of_code(Grid.of_values(XYZ), code=code)
    n = len(variables.bits)
    if n > 6:  # a table of 2**8 rows is slow to join
        variables, n = Variables.of_code(Grid.of_values(Domain(XYZ.features[:2])), code=code), n - 4
    write_vtree(_random_vtree(rng, n), tmp_path / "a.vtree")
    _, manager = _manager(tmp_path / "a.vtree")
    root, rows = _random_diagram(rng, manager, n)
    root.save(str(tmp_path / "a.sdd").encode())
    found = read_sdd(tmp_path / "a.sdd", variables=variables, vtree=tmp_path / "a.vtree")
    cells = product(*map(range, variables.grid.n_cells))
    expected = {p for p in cells if code_of(variables, p) in rows}
    assert points_of(found) == expected
    if queries.is_decomposable(found):
        assert queries.count(found) == len(expected)


def _arrays(root: Any) -> SimpleNamespace:
    """Return PySDD's nodes below `root` in arrays."""
    number = {False: 0, True: 1}
    rows: list[tuple[int, int, list[tuple[int, int]]]] = [(-1, 0, []), (-1, 0, [])]

    def of(node: Any) -> int:
        if node.is_true() or node.is_false():
            return int(node.is_true())
        if node.id not in number:
            elements = [(of(p), of(s)) for p, s in node.elements()] if node.is_decision() else []
            rows.append((node.vtree().position(), 0 if node.is_decision() else node.literal, elements))
            number[node.id] = len(rows) - 1
        return number[node.id]

    number = {}
    top = of(root)
    flat = [pair for _, _, elements in rows for pair in elements]
    return SimpleNamespace(
        vtree_nodes=np.array([place for place, _, _ in rows]),
        literals=np.array([literal for _, literal, _ in rows]),
        offsets=np.cumsum([0, *(len(elements) for _, _, elements in rows)]),
        primes=np.array([p for p, _ in flat], dtype=np.int32),
        subs=np.array([s for _, s in flat], dtype=np.int32),
        root=top,
    )


@pytest.mark.parametrize("seed", range(12))
def test_pysdd_loads_what_we_write(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    n = 1 + seed % 5
    vtree = _random_vtree(rng, n)
    write_vtree(vtree, tmp_path / "a.vtree")
    _, manager = _manager(tmp_path / "a.vtree")
    root, _ = _random_diagram(rng, manager, n)
    write_sdd(SimpleNamespace(vtree=vtree, nodes=_arrays(root)), tmp_path / "b.sdd")
    assert (tmp_path / "b.vtree").read_text() == (tmp_path / "a.vtree").read_text()
    assert manager.read_sdd_file(str(tmp_path / "b.sdd").encode()) == root
    variables = Variables.of_code(Grid.of_values(Domain([Integer(f"f{i}", 0, 1) for i in range(n)])))
    found = read_sdd(tmp_path / "b.sdd", variables=variables, vtree=tmp_path / "b.vtree")
    assert queries.count(found) == len(points_of(found))


@pytest.mark.parametrize("seed", range(10))
def test_vtrees_are_read_back_and_understood_by_pysdd(tmp_path: Path, seed: int) -> None:
    vtree = _random_vtree(random.Random(seed), seed + 1)
    write_vtree(vtree, tmp_path / "a.vtree")
    assert read_vtree(tmp_path / "a.vtree") == vtree
    _, manager = _manager(tmp_path / "a.vtree")
    manager.vtree().save(str(tmp_path / "b.vtree").encode())
    again = read_vtree(tmp_path / "b.vtree")
    assert _nested(again) == _nested(vtree)


def _nested(vtree: Vtree) -> Any:
    found: list[Any] = []
    for left, right, leaf in zip(vtree.left, vtree.right, vtree.leaves, strict=True):
        found.append(leaf if left < 0 else (found[left], found[right]))
    return found[-1]


VALID = "c by hand\nsdd 5\nL 1 0 1\nT 2\nL 3 0 -1\nL 4 2 2\nD 0 1 2 1 2 3 4\n"
VTREE = "c by hand\nvtree 3\nL 0 1\nL 2 2\nI 1 0 2\n"
MALFORMED = [
    (VALID, "", "expected the header 'sdd nodes', but found none"),
    ("sdd 5", "vtree 5", "line 2: expected the header"),
    ("sdd 5", "sdd 0", "line 2: expected the header"),
    ("sdd 5", "sdd 1000000000000", "expected the 1000000000000 nodes that the header claims, but found 5"),
    ("sdd 5", "sdd 4", "expected the 4 nodes that the header claims, but found 5"),
    ("L 1 0 1", "L 1 0 3", "line 3: expected 'F id'"),
    ("L 1 0 1", "L 1 0 0", "line 3: expected 'F id'"),
    ("L 1 0 1", "L 1 0", "line 3: expected 'F id'"),
    ("L 1 0 1", "L 1 0 x", "line 3: expected a letter and integers"),
    ("L 1 0 1", "L 1 0 " + "1" * 9999, "line 3: expected a letter and integers"),
    ("L 1 0 1", "X 1 0 1", "line 3: expected 'F id'"),
    ("L 1 0 1", "L -1 0 1", "line 3: expected 'F id'"),
    ("T 2", "T 1", "line 4: expected 'F id'"),
    ("T 2", "T", "line 4: expected 'F id'"),
    ("D 0 1 2 1 2 3 4", "D 0 1 2 1 2 3", "line 7: expected 'F id'"),
    ("D 0 1 2 1 2 3 4", "D 0 1 2 1 2 3 0", "line 7: expected 'F id'"),
    ("D 0 1 2 1 2 3 4", "D 0 1 0", "line 7: expected 'F id'"),
    ("D 0 1 2 1 2 3 4", "D 0 1", "line 7: expected 'F id'"),
    ("L 4 2 2", "L 4 2 1", "line 6: expected a node that respects the vtree"),
    ("L 4 2 2", "L 4 9 2", "line 6: expected a node that respects the vtree"),
    ("D 0 1 2 1 2 3 4", "D 0 1 2 2 1 3 4", "line 7: expected a node that respects the vtree"),
    ("D 0 1 2 1 2 3 4", "D 0 0 2 1 2 3 4", "line 7: expected a node that respects the vtree"),
]


def test_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.sdd").write_text(VALID)
    (tmp_path / "a.vtree").write_text(VTREE)
    assert points_of(read_sdd(tmp_path / "a.sdd", AB, vtree=tmp_path / "a.vtree")) == {(0, 1), (1, 0), (1, 1)}
    with pytest.raises(CircuitError, match="domain="):
        read_sdd(tmp_path / "a.sdd")


@pytest.mark.parametrize(("old", "new", "message"), MALFORMED)
def test_a_damaged_diagram_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.sdd").write_text(VALID.replace(old, new))
    (tmp_path / "a.vtree").write_text(VTREE)
    with pytest.raises(ModelFileError, match=message) as caught:
        read_sdd(tmp_path / "a.sdd", AB, vtree=tmp_path / "a.vtree")
    assert str(caught.value).startswith("a.sdd")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (VTREE, "", "expected the header 'vtree nodes', but found none"),
        ("vtree 3", "vtree 10000000000000", "expected the 10000000000000 nodes"),
        ("L 2 2", "L 2 1", "line 4: expected 'L id variable' with a new variable"),
        ("L 2 2", "L 0 2", "line 4: expected a new id"),
        ("L 2 2", "L 2 0", "line 4: expected 'L id"),
        ("I 1 0 2", "I 1 0 0", "line 5: expected"),
        ("I 1 0 2", "I 1 0 1", "line 5: expected"),
        ("I 1 0 2", "L 1 3", "expected one root, but found 3 nodes"),
    ],
)
def test_a_damaged_vtree_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "a.vtree").write_text(VTREE.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        read_vtree(tmp_path / "a.vtree")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_mutated_files_only_raise_our_errors(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    texts = [bytearray(VALID.encode()), bytearray(VTREE.encode())]
    for _ in range(data.draw(st.integers(1, 3))):
        text = data.draw(st.sampled_from([0, 0, 1]))
        at = data.draw(st.integers(0, len(texts[text])))
        texts[text][at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b"0", b"-", b"9", b"2", b"\n", b"\xff", b"L 5 0 1\n"]) | st.binary(max_size=2)
        )
    folder = tmp_path_factory.getbasetemp()
    for name, text in zip(["mutated.sdd", "mutated.vtree"], texts, strict=True):
        (folder / name).write_bytes(text)
    try:
        found = read_sdd(folder / "mutated.sdd", AB, vtree=folder / "mutated.vtree")
    except AxfiError:
        return
    assert isinstance(found, Circuit)
