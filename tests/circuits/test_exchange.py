"""Circuits go to other libraries and back, in memory and in files, and stay the same function."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from itertools import product
from operator import or_
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, flat_of
from axfi_kc.circuits.files import Variables, compile_with_dsharp, load_circuit, read_cnf, save_circuit
from axfi_kc.circuits.files.cnf import write_cnf
from axfi_kc.circuits.queries.truth_kernels import truths_at
from axfi_kc.circuits.targets import TARGETS, obdd_of, sdd_of
from axfi_kc.errors import AxfiError, CircuitError, DomainError, FileWriteError, ModelFileError

NAMES = ("u first", "x", "between", "y", "z", "last")  # only x, y and z matter
USED = (1, 3, 4)
PLAIN = ("u0", "x", "u1", "y", "z", "u2")
MANY = tuple(f"v{k}" for k in range(8))

Points = list[tuple[int, ...]]


def spread(table: int, used: tuple[int, ...], n: int) -> Points:
    """Return the points of n variables at which a table of the used ones, a bit a row, is true."""
    rows = list(product((0, 1), repeat=len(used)))
    true = {row for k, row in enumerate(rows) if table >> k & 1}
    return [p for p in product((0, 1), repeat=n) if tuple(p[i] for i in used) in true]


def functions() -> Iterator[tuple[tuple[str, ...], Points]]:
    """Yield all functions of three variables, and 500 random ones, with unused variables anywhere."""
    for table in range(256):
        yield NAMES, spread(table, USED, 6)
    rng = random.Random(19)
    for _ in range(500):
        used = tuple(sorted(rng.sample(range(8), rng.randint(1, 5))))
        yield MANY, spread(rng.getrandbits(2 ** len(used)), used, 8)


ALL = list(functions())
SOME = [*ALL[:256], *ALL[256::5]]  # benchmarks/exchange.py has all of them in files


def truth(names: tuple[str, ...], points: Points) -> Circuit:
    true = set(points)
    return ax.from_truth_table([p in true for p in product((0, 1), repeat=len(names))], names=names)


def held_points(circuit: Circuit) -> Points:
    everything = np.array(list(product((0, 1), repeat=len(circuit.grid.axes))))
    return list(map(tuple, everything[truths_at(flat_of(circuit), everything).astype(bool)].tolist()))


def in_dd(manager: Any, names: tuple[str, ...], points: Points) -> Any:
    """Return the function as dd itself makes it of its points."""
    cubes = [manager.cube(dict(zip(names, map(bool, p), strict=True))) for p in points]
    return reduce(or_, cubes, manager.false)


def in_pysdd(manager: Any, points: Points) -> Any:
    found = manager.false()
    for p in points:
        term = manager.true()
        for k, value in enumerate(p, 1):
            term = term & manager.literal(k if value else -k)
        found = found | term
    return found


def test_truth_tables_are_what_they_say() -> None:
    for names, points in ALL:
        circuit = truth(names, points)
        assert held_points(circuit) == points
        assert circuit.grid.domain.names == names
        assert queries.count(circuit) == len(points)
    for names, points in ALL[::10]:
        assert list(queries.models(truth(names, points))) == points


@pytest.mark.parametrize("backend", ["cudd", "autoref"])
def test_every_function_goes_to_dd_and_back(backend: str) -> None:
    module = pytest.importorskip(f"dd.{backend}")
    managers = {}
    for names in (NAMES, MANY):
        managers[names] = module.BDD()
        managers[names].declare(*names)
    for names, points in ALL:
        circuit, manager = truth(names, points), managers[names]
        node = circuit.to_dd(manager)
        assert node == in_dd(manager, names, points)
        back = ax.from_dd(node)
        assert back.grid.domain.names == names
        assert held_points(back) == points
        assert back == circuit
        del node
    managers.clear()


def test_every_function_goes_to_pysdd_and_back() -> None:
    from pysdd.sdd import SddManager, Vtree

    managers = {NAMES: SddManager.from_vtree(Vtree(6, vtree_type="balanced")), MANY: SddManager(var_count=8)}
    for names, points in ALL:
        circuit, manager = truth(names, points), managers[names]
        node = circuit.to_pysdd(manager)
        assert node == in_pysdd(manager, points)
        back = ax.from_pysdd(node, names=names)
        assert back.grid.domain.names == names
        assert held_points(back) == points
        assert back == circuit


def test_every_function_goes_to_networkx_and_clauses_and_back() -> None:
    for names, points in ALL:
        circuit = truth(names, points)
        for graph in (circuit.to_networkx(), obdd_of(circuit).to_networkx()):
            assert nx.is_directed_acyclic_graph(graph)
            assert held_points(ax.from_networkx(graph)) == points
        cnf = circuit.to_cnf()
        assert cnf.names[: len(names)] == names
        back = ax.from_cnf(cnf)
        assert held_points(back) == points
        assert back.grid.domain.names == names


def test_every_graph_of_an_sdd_comes_back() -> None:
    for names, points in ALL[::5]:
        back = ax.from_networkx(sdd_of(truth(names, points), vtree="balanced").to_networkx())
        assert held_points(back) == points


def test_clauses_have_one_model_for_each_point() -> None:
    for names, points in ALL[::25]:
        cnf = truth(names, points).to_cnf()
        assert queries.count(ax.from_cnf(cnf.clauses, names=cnf.names).compile("obdd")) == len(points)


@pytest.mark.parametrize("suffix", [".dddmp", ".json"])
@pytest.mark.parametrize("backend", ["cudd", "autoref"])
def test_dd_reads_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, backend: str) -> None:
    if suffix == ".dddmp" and backend == "autoref":
        pytest.skip("dd's own parser of DDDMP does not make nodes that can be compared")
    monkeypatch.chdir(tmp_path)  # dd makes its temporary folder where it is run
    module = pytest.importorskip(f"dd.{backend}")
    managers: dict[tuple[str, ...], Any] = {}
    for names, points in SOME if suffix == ".dddmp" else SOME[::4]:  # dd takes long for its JSON
        plain = PLAIN if names is NAMES and suffix == ".dddmp" else names  # DDDMP holds words only
        circuit = truth(plain, points)
        save_circuit(obdd_of(circuit), file := tmp_path / f"a{suffix}")
        manager = managers.get(plain) or managers.setdefault(plain, module.BDD())
        manager.declare(*plain)
        (node,) = manager.load(str(file))
        assert node == in_dd(manager, plain, points), (names, points)
        del node
        back = load_circuit(file)
        assert back.grid.domain.names == plain
        assert held_points(back) == points


def test_pysdd_reads_every_file(tmp_path: Path) -> None:
    from pysdd.sdd import SddManager, Vtree

    for k, (names, points) in enumerate(SOME):
        save_circuit(sdd_of(truth(names, points), vtree=("right", "balanced")[k % 2]), file := tmp_path / "a.sdd")
        manager = SddManager.from_vtree(Vtree.from_file(str(file.with_suffix(".vtree"))))
        assert manager.read_sdd_file(str(file).encode()) == in_pysdd(manager, points)
        back = load_circuit(file)
        assert back.grid.domain.names == names
        assert held_points(back) == points


def test_dsharp_reads_files_of_clauses(tmp_path: Path) -> None:
    pytest.importorskip("problog")
    for names, points in ALL[::25]:
        circuit = truth(names, points)
        variables = write_cnf(circuit, file := tmp_path / "a.cnf")
        assert held_points(compile_with_dsharp(file, variables=variables)) == points
        save_circuit(circuit, tmp_path / "a.nnf")
        assert held_points(load_circuit(tmp_path / "a.nnf")) == points
        assert load_circuit(tmp_path / "a.nnf").grid.domain.names == names


def test_clauses_of_a_file_keep_their_names(tmp_path: Path) -> None:
    circuit = ax.from_expression("a | b", names=["a", "c c", "b"])
    save_circuit(circuit, file := tmp_path / "a.cnf")
    assert ax.from_cnf(file) == circuit
    save_circuit(ax.from_expression("a & ~b", names=["a", "c c", "b"]), file)  # without auxiliary variables
    assert (
        read_cnf(file) == ax.from_cnf(file) == load_circuit(file) == ax.from_expression("a & ~b", circuit.grid.domain)
    )
    file.write_text("c others\np cnf 3 1\n1 3 0\n")
    assert ax.from_cnf(file).grid.domain.names == ("x1", "x2", "x3")
    assert ax.from_cnf(str(file), names=["a", "c c", "b"]) == circuit


def test_cudd_reads_a_file_whose_first_variables_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels were written where CUDD wants positions among those that occur: this one was read as False."""
    cudd = pytest.importorskip("dd.cudd")
    monkeypatch.chdir(tmp_path)
    domain = ax.Domain([ax.Integer("a", 0, 3)])
    compiled = ax.compile_model(ax.TableModel.from_outputs(domain, [0, 1, 1, 0]), domain, target="obdd", code="order")
    compiled.save(tmp_path / "a.dddmp")
    manager = cudd.BDD()
    manager.declare("a_0", "a_1", "a_2")
    (node,) = manager.load(str(tmp_path / "a.dddmp"))
    assert node == manager.add_expr(r"a_0 /\ ~ a_2")
    assert queries.count(load_circuit(tmp_path / "a.dddmp", domain)) == 2
    del node


@pytest.mark.parametrize("code", ["order", "binary", "direct"])
def test_features_of_several_values_go_in_bits(code: str) -> None:
    dd = pytest.importorskip("dd.autoref")
    from pysdd.sdd import SddManager

    domain = ax.Domain([ax.Integer("u", 0, 2), ax.Integer("a", 0, 4), ax.Categorical("b", "pq"), ax.Integer("c", 3, 5)])
    rng = random.Random(5)
    for _ in range(20):
        circuit = ax.from_truth_table([rng.random() < 0.4 for _ in range(domain.size)], domain)
        manager = dd.BDD()
        node = circuit.to_dd(manager, code=code)
        assert ax.from_dd(node, domain, code=code) == circuit
        assert {name.partition("_")[0] for name in manager.vars} <= {"u", "a", "b", "c"}
        del node
        theirs = SddManager(var_count=len(Variables.of_code(circuit.grid, code=code).bits))
        assert ax.from_pysdd(circuit.to_pysdd(theirs, code=code), domain, code=code) == circuit
        assert ax.from_cnf(circuit.to_cnf(code=code)) == circuit
        assert ax.from_networkx(circuit.to_networkx()) == circuit


def test_targets_go_as_circuits_do() -> None:
    dd = pytest.importorskip("dd.autoref")
    circuit = truth(NAMES, spread(0b10010110, USED, 6))
    manager = dd.BDD()
    for name in TARGETS:
        target = circuit.compile(name)
        assert ax.from_dd(target.to_dd(manager)) == circuit == target
        assert ax.from_networkx(target.to_networkx()) == circuit
        assert ax.from_cnf(target.to_cnf()) == circuit


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("x & (y | ~z)", "x and (y or not z)"),
        ("x | y & z", "x or (y and z)"),
        ("x -> y -> z", "not x or (not y or z)"),
        ("x ^ y ^ z", "x != (y != z)"),
        ("x <-> y | z", "x == (y or z)"),
        ("!x && y || 0", "(not x) and y"),
        ("not (x and y) >> 1", "True"),
        (r"x /\ ~y \/ 'z'", "(x and not y) or z"),
        ("~~x == ~(y xor z)", "x == (y == z)"),
    ],
)
def test_expressions_mean_what_python_says(text: str, python: str) -> None:
    circuit = ax.from_expression(text, names="xyz").compile("mdd")
    wanted = [p for p in product((0, 1), repeat=3) if eval(python, dict(zip("xyz", map(bool, p), strict=True)))]
    assert held_points(circuit.to_circuit()) == wanted


def test_random_expressions_are_those_of_dd() -> None:
    dd = pytest.importorskip("dd.autoref")
    rng = random.Random(3)

    def drawn(depth: int) -> str:
        if not depth:
            return rng.choice("abcde")
        if rng.random() < 0.2:
            return f"~({drawn(depth - 1)})"
        return f"({drawn(depth - 1)} {rng.choice(['&', '|', '^', '->', '<->'])} {drawn(depth - 1)})"

    manager = dd.BDD()
    manager.declare(*"abcde")
    for _ in range(200):
        text = drawn(rng.randint(1, 4))
        node = ax.from_expression(text, names="abcde").to_dd(manager)
        assert node == manager.add_expr(text.replace("->", "=>")), text
        del node


def test_a_long_expression_takes_no_recursion() -> None:
    circuit = ax.from_expression("(" * 5000 + "x" + ")" * 5000 + " & ~y" * 3)
    assert circuit.compile("mdd").count() == 1
    many = ax.from_expression(" & ".join(f"v{k}" for k in range(3000)))
    assert queries.count(many) == 1


BAD = [
    ("x & | y", "Expected a name, a constant, '~' or '(' at position 4 of 'x & | y', but found '|'; correct it there."),
    ("x y", "Expected an operator at position 2 of 'x y', but found 'y'; correct it there."),
    (
        "(x | y",
        "Expected ')' for that '(' at position 6 of '(x | y', but found the end; correct it there.",
    ),
    ("x)", "Expected an operator or the end at position 1 of 'x)', but found ')' without its '('; correct it there."),
    ("x & 7", "Expected a name, or the constant 0 or 1 at position 4 of 'x & 7', but found '7'; correct it there."),
    ("x @ y", "Expected a name, a constant or an operator at position 2 of 'x @ y', but found '@'; correct it there."),
    ("", "Expected a name, a constant, '~' or '(' at position 0 of '', but found the end; correct it there."),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_typos_are_shown_where_they_are(text: str, message: str) -> None:
    with pytest.raises(CircuitError) as caught:
        ax.from_expression(text, names="xy")
    assert str(caught.value) == message


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(
        CircuitError, match=r"one of the names x, y of two values at position 4 of 'x & w', but found 'w'"
    ):
        ax.from_expression("x & w", names="xy")
    with pytest.raises(DomainError, match="'x' occurs twice; rename one"):
        ax.from_expression("x", names=["x", "x"])
    with pytest.raises(DomainError, match="'x' occurs twice; rename one"):
        ax.from_truth_table("0110", names=["x", "x"])
    with pytest.raises(CircuitError, match="no name was given"):
        ax.from_expression("1")


def test_nodes_that_their_manager_has_let_go_are_refused() -> None:
    dd = pytest.importorskip("dd.autoref")
    manager = dd.BDD()
    manager.declare("x", "y")
    node = manager.add_expr("x & y")
    node.__del__()  # as when its manager closes
    with pytest.raises(CircuitError, match="manager is closed, or has let go of the node; make it again"):
        ax.from_dd(node)


LET_GO = """
import os
import axfi_kc as ax
from pysdd.sdd import SddManager
manager = SddManager(var_count=3)
gone = manager.literal(1) & manager.literal(2)
gone.deref()
manager.garbage_collect()
try:
    ax.from_pysdd(gone)
except ax.errors.CircuitError as error:
    print(error, flush=True)
os._exit(0)  # PySDD ends the process when it is told of such a node once more
"""


def test_a_node_that_pysdd_has_let_go_is_refused() -> None:
    done = subprocess.run([sys.executable, "-c", LET_GO], capture_output=True, text=True, check=True)
    assert "manager is closed, or has let go of the node; make it again, and keep it by ref()." in done.stdout


def test_diagrams_of_two_managers_are_refused_by_conjoin_and_joined_by_operators() -> None:
    circuit, other = truth(PLAIN, spread(0b01101001, USED, 6)), truth(PLAIN, spread(0b10000001, USED, 6))
    for name in ("obdd", "sdd"):
        a, b = circuit.compile(name), other.compile(name)
        with pytest.raises(CircuitError, match=r"joined in one manager, but two managers were given; make the second"):
            a.conjoin(b)
        assert held_points((a & b).to_circuit()) == held_points((circuit & other).to_circuit())


def test_graphs_that_are_no_circuits_are_refused() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")])
    nx.set_node_attributes(graph, "and", "kind")
    with pytest.raises(CircuitError, match=r"A circuit has no cycle, but this graph has .*; remove an edge of it\."):
        ax.from_networkx(graph)
    with pytest.raises(CircuitError, match="has no cycle"):
        ax.from_networkx(nx.DiGraph([("b", "c"), ("c", "b")]))
    with pytest.raises(CircuitError, match="2 nodes without a predecessor"):
        ax.from_networkx(nx.DiGraph([("a", "c"), ("b", "c")]))
    graph = nx.DiGraph([("a", "b")])
    nx.set_node_attributes(graph, {"a": "nand", "b": "literal"}, "kind")
    nx.set_node_attributes(graph, {"b": "x"}, "feature")
    with pytest.raises(CircuitError, match="node 'a' has kind='nand' and 1 successors; set its attribute kind"):
        ax.from_networkx(graph)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ax.from_dd(7),
        lambda: ax.from_pysdd(7),
        lambda: ax.from_expression("x").to_dd(7),
        lambda: ax.from_expression("x").to_pysdd(7),
        lambda: ax.from_cnf([(1, 0)]),
        lambda: ax.from_cnf([(1, 3)], names="xy"),
        lambda: ax.from_truth_table("011"),
        lambda: ax.from_truth_table("01x0"),
        lambda: ax.from_truth_table({(2, 2): 1}, names="xy"),
        lambda: ax.from_expression("x").compile("obdd", code="grey"),
        lambda: ax.from_cnf("no such file.cnf"),
        lambda: ax.from_cnf([(10**9,)]),
    ],
)
def test_what_is_none_is_refused_in_a_sentence(wrong: Any) -> None:
    with pytest.raises(AxfiError) as caught:
        wrong()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_header_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cnf").write_text("p cnf 99999999999 0\n")
    with pytest.raises(ModelFileError, match="1 to 100000 variables without a domain"):
        ax.from_cnf(tmp_path / "a.cnf")
    for text in ("p cnf 0 0\n", "nothing\n", "p cnf 2 1\n1 3 0\n", "p cnf 2 2\n1 2 0\n", "p cnf x 1\n"):
        (tmp_path / "a.cnf").write_text(text)
        with pytest.raises(ModelFileError):
            ax.from_cnf(tmp_path / "a.cnf")


def test_circuits_are_pickled_and_copied() -> None:
    circuit = truth(NAMES, spread(0b10010110, USED, 6))
    conditioned = queries.condition(circuit, {"x": 1})
    for given in (circuit, conditioned, circuit.compile("mdd"), circuit.compile("ddnnf")):
        again = pickle.loads(pickle.dumps(given))
        assert again == given == copy.copy(given)
        assert hash(again) == hash(given)
        assert queries.count(again) == queries.count(given)


def test_managers_that_keep_no_nodes_are_refused() -> None:
    from dd.bdd import BDD

    with pytest.raises(CircuitError, match=r"a BDD of dd.cudd or dd.autoref, but dd.bdd.BDD"):
        ax.from_expression("x & y").to_dd(BDD())


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "1"])
def test_variables_of_pysdd_are_numbered_from_one(number: Any) -> None:
    from pysdd.sdd import SddManager

    with pytest.raises(CircuitError, match="numbered from 1, but"):
        ax.from_expression("x & y").to_pysdd(SddManager(var_count=2), variables={"x": number, "y": 2})


def test_zero_suppressed_nodes_are_refused() -> None:
    zdd = pytest.importorskip("dd.cudd_zdd").ZDD()
    zdd.declare("x", "y")
    with pytest.raises(CircuitError, match="but one of a ZDD"):
        ax.from_dd(zdd.add_expr("x & y"))


@pytest.mark.parametrize("graph", [nx.Graph([("a", "b")]), nx.MultiGraph(), 5, None])
def test_graphs_have_directions(graph: Any) -> None:
    with pytest.raises(CircuitError, match="is a directed graph, but"):
        ax.from_networkx(graph)


@pytest.mark.parametrize("text", [None, 5, [1, 2], b"x"])
def test_expressions_are_texts(text: Any) -> None:
    with pytest.raises(CircuitError, match="An expression is a text"):
        ax.from_expression(text)


def test_circuits_are_saved_in_folders_that_exist(tmp_path: Path) -> None:
    (tmp_path / "a.nnf").mkdir()
    for path in (tmp_path / "a.nnf", tmp_path / "none" / "b.nnf"):
        with pytest.raises(FileWriteError, match="cannot be written to"):
            save_circuit(ax.from_expression("x & y"), path)
    with pytest.raises(CircuitError, match="Expected a circuit"):
        save_circuit(5, tmp_path / "c.nnf")
