"""Files with one thing wrong that a careless reader would crash, hang or allocate on: one error, at once."""

from __future__ import annotations

import copy
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from axfi_kc.domain.constraint_text import constraint_from_text
from axfi_kc.domain.constraints import constraint_of
from axfi_kc.errors import AxfiError, DomainError
from tests.support.fuzz_all import READERS as ALL_READERS
from tests.support.fuzz_readers import READERS, ubjson

HUGE = str(2**70)
DDDMP = """.ver DDDMP-2.0
.mode A
.varinfo 3
.nnodes 3
.nvars 6
.orderedvarnames x0_0 x1_0 x1_1 x2_0 x2_1 x2_2
.nroots 1
.rootids 3
.nodes
1 T 1 0 0
2 x2_2 5 1 -1
3 x2_1 4 1 -2
.end
"""
DD_JSON = """{"level_of_var": {"x0_0": 0, "x1_0": 1, "x1_1": 2, "x2_0": 3, "x2_1": 4, "x2_2": 5}, "roots": [3],
"2": [5, "F", "T"], "3": [4, -2, "T"]}"""
LIST = """{"features": [{"name": "a", "values": ["0", "1"], "literals": [1, -1]}],
"nodes": {"1": ["L", "1"], "2": ["L", "-1"], "3": ["OR", [1, 2]]}, "root": 3}"""
NNF, D4 = "nnf 3 2 8\nL 1\nL -1\nO 1 2 0 1\n", "o 1 0\nt 2 0\n1 2 1 0\n1 2 -1 0\n"
SDD, VTREE = "sdd 4\nT 0\nL 1 0 1\nL 2 0 -1\nD 3 1 2 1 0 2 0\n", "vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n"
CNF = "p cnf 8 1\n1 -2 0\n"
BIF = "variable a { type discrete [ 2 ] { n, y }; }\nprobability ( a ) { table 0.25, 0.75; }\n"
HUGIN = 'node a { states = ("n" "y"); }\npotential (a) { data = (0.25 0.75); }\n'
NAMES = ("nnf", "d4", "sdd", "vtree", "dddmp", "dd-json", "node-list", "cnf", "bif", "net")
VALID = dict(zip(NAMES, (NNF, D4, SDD, VTREE, DDDMP, DD_JSON, LIST, CNF, BIF, HUGIN), strict=True))
CASES: list[tuple[str, str, str, str]] = [  # reader, what is wrong, what is replaced, by what
    ("nnf", "more nodes claimed than memory holds", "nnf 3", f"nnf {HUGE}"),
    ("nnf", "2**70 children", "O 1 2 0 1", f"O 1 {HUGE} 0 1"),
    ("nnf", "2**70 variables", "2 8", f"2 {HUGE}"),
    ("nnf", "a negative count", "O 1 2 0 1", "O 1 -2 0 1"),
    ("nnf", "a negative header", "nnf 3", "nnf -3"),
    ("nnf", "a forward reference", "O 1 2 0 1", "O 1 2 0 3"),
    ("nnf", "a node below itself", "O 1 2 0 1", "O 1 2 0 2"),
    ("nnf", "a child that is no number", "O 1 2 0 1", "O 1 2 0 nan"),
    ("nnf", "a literal in exponents", "L -1", "L 1e400"),
    ("nnf", "a literal of no variable", "L -1", f"L -{HUGE}"),
    ("d4", "a cycle", "1 2 1 0", "1 1 1 0"),
    ("d4", "a number twice", "t 2 0", "t 2 0\nt 2 0"),
    ("d4", "an arc to nowhere", "1 2 1 0", f"1 {HUGE} 1 0"),
    ("d4", "a negative number", "t 2 0", "t -2 0"),
    ("d4", "a literal of no variable", "1 2 1 0", f"1 2 {HUGE} 0"),
    ("d4", "a node that is no number", "t 2 0", "t NaN 0"),
    ("sdd", "a number twice", "L 2 0 -1", "L 1 0 -1"),
    ("sdd", "a forward reference", "1 0 2 0", "1 0 3 0"),
    ("sdd", "2**70 elements", "D 3 1 2", f"D 3 1 {HUGE}"),
    ("sdd", "a negative count", "D 3 1 2", "D 3 1 -2"),
    ("sdd", "more nodes claimed than memory holds", "sdd 4", f"sdd {HUGE}"),
    ("vtree", "a node as its own child", "I 1 0 2", "I 1 1 2"),
    ("vtree", "a child twice", "I 1 0 2", "I 1 0 0"),
    ("vtree", "a number twice", "L 2 2", "L 0 2"),
    ("vtree", "more nodes claimed than memory holds", "vtree 3", f"vtree {HUGE}"),
    ("vtree", "an infinite variable", "L 2 2", "L 2 1e400"),
    ("dddmp", "a cycle", "2 x2_2 5 1 -1", "2 x2_2 5 3 -1"),
    ("dddmp", "a number twice", "3 x2_1", "2 x2_1"),
    ("dddmp", "more nodes claimed than memory holds", ".nnodes 3", f".nnodes {HUGE}"),
    ("dddmp", "a root that is none", ".rootids 3", f".rootids {HUGE}"),
    ("dd-json", "a cycle", '"2": [5, "F"', '"2": [5, 3'),
    ("dd-json", "a key twice", '"3": [4', '"2": [5, "F", "T"], "3": [4'),
    ("dd-json", "a level that is no number", '"3": [4', '"3": [NaN'),
    ("dd-json", "an infinite level", '"3": [4', '"3": [1e400'),
    ("dd-json", "a level of no variable", '"3": [4', f'"3": [{HUGE}'),
    ("node-list", "a cycle", '["OR", [1, 2]]', '["OR", [1, 3]]'),
    ("node-list", "a key twice", '"2": ["L"', '"1": ["L"'),
    ("node-list", "a part that is none", '["OR", [1, 2]]', f'["OR", [1, {HUGE}]]'),
    ("node-list", "an infinite part", '["OR", [1, 2]]', '["OR", [1, 1e400]]'),
    ("node-list", "nested without end", '["OR", [1, 2]]', "[" * 100_000),
    ("bif", "2**70 states", "[ 2 ]", f"[ {HUGE} ]"),
    ("bif", "a number in exponents", "0.75", "75e-999999999"),
    ("bif", "an infinite number", "0.75", "1e400"),
    ("bif", "a sum that is not 1", "0.75", "0.5"),
    ("bif", "a table of nothing", "( a )", "( b )"),
    ("bif", "a variable as its own parent", "( a )", "( a | a )"),
    ("bif", "a comment without end", "probability", "/* probability"),
    ("bif", "nested without end", "table 0.25", "(" * 100_000),
    ("net", "a number in exponents", "0.75", "75e-999999999"),
    ("net", "no number", "0.75", "nan"),
    ("net", "a sum that is not 1", "0.75", "0.5"),
    ("net", "nested without end", "(0.25", "(" * 100_000 + "0.25"),
    ("net", "a quote without end", '"y"', '"y'),
    ("net", "a variable as its own parent", "(a)", "(a | a)"),
    ("cnf", "2**70 variables", "cnf 8", f"cnf {HUGE}"),
    ("cnf", "2**70 clauses", "8 1", f"8 {HUGE}"),
    ("cnf", "a negative count", "8 1", "8 -1"),
    ("cnf", "a literal of no variable", "-2 0", f"-{HUGE} 0"),
]


def _refused(reader: str, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(AxfiError) as caught:
        READERS[reader].read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).count("\n") == 0
    assert peak < 50_000_000


@pytest.mark.parametrize("reader", VALID)
def test_the_files_without_the_fault_are_read(reader: str, tmp_path: Path) -> None:
    file = tmp_path / f"valid{READERS[reader].suffix}"
    file.write_text(VALID[reader])
    READERS[reader].read(file)


@pytest.mark.parametrize(("reader", "fault", "old", "new"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_one_fault_is_one_error(reader: str, fault: str, old: str, new: str, tmp_path: Path) -> None:
    text = VALID[reader]
    assert old in text
    _refused(reader, tmp_path / f"hostile{READERS[reader].suffix}", text.replace(old, new, 1).encode())


def _edited(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    found = at = copy.deepcopy(document)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return found


RESULT_CASES: list[tuple[tuple[Any, ...], Any]] = [
    (("cxps", 0, "weight"), float("nan")),
    (("cxps", 0, "weight"), float("inf")),
    (("cxps", 0, "weight"), "1/0"),
    (("cxps", 0, "weight"), -1),
    (("cxps", 0, "weight"), "1e400"),
    (("cxps", 0, "weight"), 2**70),
    (("cxps", 0, "features"), ["nobody"]),
    (("cxps", 0, "features"), ["b", "b"]),
    (("cxps",), [{"features": ["b"], "weight": 1}] * 2),
    (("domain", 0, "high"), 2**70),
    (("domain", 0, "low"), float("-inf")),
    (("domain", 2, "weights"), ["1/7", "-2/7", 0, "8/7"]),
    (("instance", 0), 2**70),
    (("scores", "shapley", "b"), "1/3"),
    (("scores", "shapley", "b"), float("nan")),
    (("max_size",), -1),
    (("version",), 2**70),
]


@pytest.mark.parametrize(("path", "value"), RESULT_CASES, ids=str)
def test_results_that_cannot_be(path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    document = json.loads(READERS["result-json"].pool[0])
    _refused("result-json", tmp_path / "result.json", json.dumps(_edited(document, path, value)).encode())


def test_keys_that_occur_twice(tmp_path: Path) -> None:
    result, model = READERS["result-json"].pool[0], READERS["xgboost-json"].pool[0]
    _refused("result-json", tmp_path / "result.json", result.replace(b'"cxps"', b'"cxps": [], "cxps"', 1))
    twice = ubjson({"a": 1})[:-1] + ubjson({"a": 2})[1:]
    _refused("xgboost-ubj", tmp_path / "model.ubj", twice)
    _refused("xgboost-json", tmp_path / "model.json", model.replace(b'"trees"', b'"trees": [], "trees"', 1))


def test_categories_that_cannot_be(tmp_path: Path) -> None:
    data = next(d for d in READERS["xgboost-sets"].pool if b'"type": 3' in d)
    model = ("learner", "gradient_booster", "model")
    for path, value in (
        ((*model, "cats", "enc", 1, "values"), [[0], 1, 2, 3, 4, 5]),
        ((*model, "cats", "enc", 1, "values"), [None, 1, 2, 3, 4, 5]),
        ((*model, "trees", 0, "categories", 0), -1),
    ):
        _refused("xgboost-sets", tmp_path / "model.json", json.dumps(_edited(json.loads(data), path, value)).encode())


@pytest.mark.parametrize("value", ["1e400", "-1e400", "inf"])
def test_tables_with_infinite_numbers(value: str, tmp_path: Path) -> None:
    _refused("csv", tmp_path / "rows.csv", f"x,k\n1,2\n{value},3\n".encode())


def test_hostile_cases_name_every_reader_of_circuits() -> None:
    assert {case[0] for case in CASES} == set(NAMES)


_AT_LEAST_1 = {"kind": "compared", "name": "a", "sign": ">=", "value": 1}


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "between", "parts": [], "least": float("inf"), "most": 1},
        {"kind": "between", "parts": [], "least": 0.5, "most": 1},
        {"kind": "compared", "name": "a", "sign": float("inf"), "value": 1},
        {"kind": "compared", "name": "a", "sign": "=<", "value": 1},
        {"kind": "compared", "name": 7, "sign": "<", "value": 1},
        {"kind": "ordered", "left": "a", "sign": "likes", "right": "c"},
        {"kind": "listed", "names": ["a"], "rows": [[1]], "about": 7},
        {"kind": "listed", "names": ["a", ["c"]], "rows": [[1, 1]], "about": ""},
        {"kind": "implies", "parts": [_AT_LEAST_1]},
        {"kind": "not", "parts": []},
        {"kind": "not", "parts": [_AT_LEAST_1, _AT_LEAST_1]},
    ],
    ids=str,
)
def test_constraints_that_cannot_be(document: Any) -> None:
    with pytest.raises(DomainError):
        constraint_of(document)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, '{"rules": [], "rules": []}', "[]", "{"])
def test_files_that_hold_no_rules(text: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)
    with pytest.raises(DomainError, match="holds no rules"):
        ALL_READERS["rules"].read(file)


@pytest.mark.parametrize("text", ["a >= 1 \udc96", "a\0", "(" * 3_000, "a >= 1 or " * 2_000 + "a >= 1"])
def test_texts_that_are_no_constraints(text: str) -> None:
    with pytest.raises(DomainError):
        constraint_from_text(text)
