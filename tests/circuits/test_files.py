from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from axfi_kc import Budget, Categorical, CompiledModel, Domain, Integer, compile_model
from axfi_kc.circuits import files as files_room
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import FORMATS, Variables, load_circuit, read_vtree, save_circuit, write_nnf
from axfi_kc.circuits.targets import TARGETS, obdd_of, sdd_of
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import BudgetError, CircuitError, ModelFileError
from tests.support.format_cases import points_of, random_circuit, random_domain

XYZ = Domain([Categorical("a", "xyz"), Integer("b", 0, 1)])


@pytest.mark.parametrize("suffix", [".nnf", ".dddmp", ".json"])
@pytest.mark.parametrize("seed", range(4))
def test_a_file_is_read_by_its_suffix(tmp_path: Path, seed: int, suffix: str) -> None:
    circuit = random_circuit(random.Random(seed), XYZ)
    target = circuit if suffix == ".nnf" else obdd_of(circuit, code="order")
    save_circuit(target, tmp_path / f"a{suffix}")
    assert points_of(load_circuit(tmp_path / f"a{suffix}", XYZ)) == points_of(circuit)
    save_circuit(obdd_of(circuit), tmp_path / "b.nnf", code="binary")
    assert points_of(load_circuit(tmp_path / "b.nnf")) == points_of(circuit)


def test_other_suffixes(tmp_path: Path) -> None:
    (tmp_path / "a.sdd").write_text("sdd 1\nL 0 0 4\n")
    assert len(points_of(load_circuit(tmp_path / "a.sdd", XYZ))) == 3
    (tmp_path / "a.vtree").write_text("vtree 1\nL 0 1\n")
    with pytest.raises(ModelFileError, match="expected 4 variables, as many as the features have bits, but found 1"):
        load_circuit(tmp_path / "a.sdd", XYZ)
    (tmp_path / "a.vtree").write_text("vtree 7\nL 0 1\nL 2 2\nL 4 3\nL 6 4\nI 1 0 2\nI 5 4 6\nI 3 1 5\n")
    with pytest.raises(ModelFileError, match="respects the vtree"):
        load_circuit(tmp_path / "a.sdd", XYZ)
    (tmp_path / "a.cnf").write_text("p cnf 4 1\n4 0\n")
    assert len(points_of(load_circuit(tmp_path / "a.cnf", XYZ, code="direct"))) == 3
    document = {"features": [{"name": "a", "values": ["x", "y"], "literals": [1, -1]}], "nodes": {"1": ["L", 1]}}
    (tmp_path / "a.json").write_text(json.dumps({**document, "root": 1}))
    assert load_circuit(tmp_path / "a.json").grid.domain.names == ("a",)
    with pytest.raises(ModelFileError, match="expected a circuit over"):
        load_circuit(tmp_path / "a.json", XYZ)
    circuit = random_circuit(random.Random(1), XYZ)
    for name in ("a.txt", "a"):
        (tmp_path / name).write_text("")
        with pytest.raises(ModelFileError, match="suffixes"):
            load_circuit(tmp_path / name, XYZ)
        with pytest.raises(ModelFileError, match="suffixes"):
            save_circuit(circuit, tmp_path / name)
    with pytest.raises(CircuitError, match="expected the target 'obdd', but found 'circuit'"):
        save_circuit(circuit, tmp_path / "a.dddmp")
    save_circuit(circuit, tmp_path / "b.cnf")
    assert (tmp_path / "b.cnf").read_text().startswith("c t wmc\n")


def test_a_file_over_merged_cells_is_described_or_refused(tmp_path: Path) -> None:
    """A model that tells three runs of eight values apart has other bits than the eight values."""
    domain = Domain([Integer("a", 0, 7), Integer("b", 0, 7)])
    grid = Grid.of(domain, [[Cut(1.5, closed=True), Cut(5.5, closed=True)], [Cut(3.5, closed=True)]])
    build = CircuitBuilder(grid)
    circuit = build.circuit(build.decision(1, [([0], build.literal(0, [1])), ([1], build.literal(0, [0, 2]))]))
    assert queries.count(circuit) == 32
    for suffix, made in ((".nnf", circuit), (".sdd", sdd_of(circuit)), (".sdd", sdd_of(circuit, order=[1, 0]))):
        save_circuit(made, tmp_path / f"a{suffix}")
        for given in (domain, None):
            assert queries.count(load_circuit(tmp_path / f"a{suffix}", given)) == 32
    for suffix in (".dddmp", ".json"):
        save_circuit(obdd_of(circuit), tmp_path / f"a{suffix}")
        with pytest.raises(CircuitError, match=r"Expected 14 variables.*declares 3; it was written over other cells"):
            load_circuit(tmp_path / f"a{suffix}", domain)
        known = Variables.of_code(grid, code="order")
        assert queries.count(load_circuit(tmp_path / f"a{suffix}", variables=known)) == 32


KINDS = {
    "binary": [Integer("a", 0, 1), Categorical("b", [False, True])],
    "categorical": [Categorical("a", "xyz"), Categorical("b", ["u", "v"], weights=[1, 2], missing=0.25)],
    "integer": [Integer("a", -2, 3, weights=[1, 2, 3, 1, 2, 3]), Integer("b", 0, 2)],
    "one-hot": [Categorical("a", "xyz", columns=["ax", "ay", "az"]), Integer("b", 0, 1)],
    "one value": [Categorical("a", "x"), Integer("b", 0, 1)],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_one_door_writes_the_other_reads(tmp_path: Path, suffix: str, kind: str) -> None:
    """Whatever format and target; with and without the domain where files say what their variables mean."""
    domain, written = Domain(KINDS[kind]), 0
    circuits = [random_circuit(random.Random(seed), domain) for seed in range(4)]
    for circuit in circuits + [CircuitBuilder(Grid.of_values(domain)).circuit(constant) for constant in (0, 1)]:
        for made in (circuit, *(circuit.compile(target) for target in TARGETS)):
            path = tmp_path / f"a{suffix}"
            try:
                save_circuit(made, path)
            except CircuitError:  # a format of one target only
                continue
            written += 1
            known = next(f for f in FORMATS[suffix] if f.write is not None)
            for given in (domain, None) if known.describes else (domain,):
                found = load_circuit(path, given)
                assert found.grid.domain == domain
                assert points_of(found) == points_of(circuit)
    assert written >= len(circuits)


def test_domains_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    """Domains do not print the columns of a feature, so the message once showed the same domain twice."""
    hot = Categorical("a", "xyz", columns=["ax", "ay", "az"])
    b = Integer("b", 0, 1)
    build = CircuitBuilder(Grid.of_values(Domain([hot, b])))
    plain = Domain([Categorical("a", "xyz"), b])
    cases = {
        plain: r"feature 'a' has the columns \('ax', 'ay', 'az'\) in the file and \('a',\) in the domain",
        Domain([hot, Integer("b", 0, 2)]): "feature 'b' has the upper bound 1 in the file and 2 in the domain",
        Domain([hot, Categorical("b", [0, 1])]): "feature 'b' is integer in the file and categorical in the domain",
        Domain([hot, Integer("c", 0, 1)]): r"the file has the features \('a', 'b'\) and the domain \('a', 'c'\)",
        Domain([hot, b]).where("b = 1"): "the domain has rules or a joint distribution",
    }
    for suffix in (".nnf", ".cnf"):
        save_circuit(build.circuit(build.literal(0, [1])), tmp_path / f"a{suffix}")
        for given, said in cases.items():
            with pytest.raises(ModelFileError, match=f"over the domain that was given, but {said}"):
                load_circuit(tmp_path / f"a{suffix}", given)
    listed = {"name": "a", "values": ["x", "y"], "literals": [1, -1]}
    (tmp_path / "a.json").write_text(json.dumps({"features": [listed], "nodes": {"1": ["L", 1]}, "root": 1}))
    with pytest.raises(ModelFileError, match=r"has the columns \('a',\) in the file and \('ax', 'ay'\) in the domain"):
        load_circuit(tmp_path / "a.json", Domain([Categorical("a", "xy", columns=["ax", "ay"])]))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["c2d", "d4"])
def test_a_million_nodes_are_read_and_written(tmp_path: Path, dialect: str) -> None:
    rng, n, width = random.Random(0), 60, 5_600
    domain = Domain([Integer(f"f{i}", 0, 1) for i in range(n)])
    lines = [line for v in range(1, n + 1) for line in (f"L {v}", f"L -{v}")] + ["A 0", "O 0 0"]
    layer = [2 * n, 2 * n + 1]
    for v in range(n, 0, -1):
        above = []
        for _ in range(width):
            k, low, high = len(lines), rng.choice(layer), rng.choice(layer)
            lines += [f"A 2 {2 * v - 2} {high}", f"A 2 {2 * v - 1} {low}", f"O {v} 2 {k} {k + 1}"]
            above.append(k + 2)
        layer = above
    (tmp_path / "a.nnf").write_text("\n".join([f"nnf {len(lines)} 0 {n}", *lines]) + "\n")
    circuit = load_circuit(tmp_path / "a.nnf", domain)
    write_nnf(circuit, tmp_path / "b.nnf", dialect=dialect)
    assert queries.count(load_circuit(tmp_path / "b.nnf", domain)) == queries.count(circuit)


def test_a_deep_chain_needs_no_recursion(tmp_path: Path) -> None:
    n = 800
    build = CircuitBuilder(Grid.of_values(Domain([Integer(f"f{i}", 0, 1) for i in range(n)])))
    node = build.true
    for i in range(n):
        node = build.decision(i, [([0], node), ([1], build.literal(i + 1, [0]) if i + 1 < n else build.true)])
    circuit = build.circuit(node)
    save_circuit(circuit, tmp_path / "a.nnf")
    assert load_circuit(tmp_path / "a.nnf").size.nodes >= n
    assert len(Variables.of_code(circuit.grid).bits) == n


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


def _first_value_of_a(path: Path, domain: Domain | None = None) -> Circuit:
    build = CircuitBuilder(Grid.of_values(domain or Domain([Integer("a", 0, 1)])))
    return build.circuit(build.literal(0, [0]))


def _majority() -> CompiledModel:
    return compile_model(lambda p: int(sum(p) > 1), Domain([Integer(name, 0, 1) for name in "abc"]), target="obdd")


def test_formats_of_one_suffix_are_told_apart_by_their_marks(tmp_path: Path) -> None:
    known = files_room.Format((".json",), _first_value_of_a, marks=(b"mine",))
    files_room.register(known)
    try:
        (tmp_path / "a.json").write_text('["mine"]')
        assert files_room.format_of(tmp_path / "a.json") is known
        compiled = _majority()
        compiled.save(tmp_path / "b.json")
        found = load_circuit(tmp_path / "b.json", compiled.domain, code="order")
        assert queries.count(found) == compiled.count()
    finally:
        files_room.unregister(known)
    assert len(files_room.FORMATS[".json"]) == 2


def test_a_format_without_a_writer_is_only_read(tmp_path: Path) -> None:
    known = files_room.Format((".mine",), _first_value_of_a)
    files_room.register(known)
    try:
        with pytest.raises(CircuitError, match="only read"):
            _majority().save(tmp_path / "a.mine")
    finally:
        files_room.unregister(known)
