"""Every reader of files, with valid files of its format and a grammar for others."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.files import (
    Variables,
    read_cnf,
    read_dd_json,
    read_dddmp,
    read_nnf,
    read_node_list,
    read_sdd,
    read_vtree,
    write_dd_json,
    write_dddmp,
    write_nnf,
    write_sdd,
    write_vtree,
)
from axfi_kc.circuits.files.counting_problems import read_counting_problem
from axfi_kc.circuits.files.psdd import read_psdd
from axfi_kc.circuits.targets import obdd_of, sdd_of
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.cli.inputs import read_table
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.network_files import read_network
from axfi_kc.errors import ConstantModelError, DomainError
from tests.support.format_cases import random_circuit
from tests.support.fuzz_inputs import Grammar, Tokens, mutated, mutated_bytes, tokens_of
from tests.support.random_networks import SHAPES, bif_text, domain_of, hugin_text, random_network
from tests.support.random_psdds import psdd_text

DOMAIN = ax.Domain([ax.Integer("a", 0, 1), ax.Categorical("b", "xyz"), ax.Integer("c", -1, 2, weights=[1, 2, 0, 4])])
DIRECT, ORDER = (Variables.of_code(Grid.of_values(DOMAIN), code=code) for code in ("direct", "order"))
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_POOL = 60


class Reader:
    """How one format is fuzzed.

    Parameters
    ----------
    valid
        Makes the contents of valid files from a seed.
    read
        Reads a file, and asks something of the result.
    suffix
        The suffix of its files.
    grammar
        Makes further contents; None for none.
    binary
        Whether contents are mutated as bytes.
    """

    def __init__(
        self,
        valid: Callable[[], list[bytes]],
        read: Callable[[Path], Any],
        suffix: str,
        *,
        grammar: Grammar | None = None,
        binary: bool = False,
    ) -> None:
        self.read, self.suffix, self._grammar, self._binary = read, suffix, grammar, binary
        self._valid = valid

    @property
    def pool(self) -> list[bytes]:
        return _pool(self._valid)

    def input(self, rng: Random) -> bytes:
        """Return the contents of a file: valid, of the grammar, or (most of them) mutated."""
        chance = rng.random()
        if chance < 0.05:
            return rng.choice(self.pool)
        if self._grammar is not None and chance < 0.25:
            return self._grammar.text(rng)
        if self._binary:
            return mutated_bytes(rng, rng.choice(self.pool))
        return mutated(rng, rng.choice(_tokens(self._valid)))


@cache
def _pool(valid: Callable[[], list[bytes]]) -> list[bytes]:
    return valid()


@cache
def _tokens(valid: Callable[[], list[bytes]]) -> list[Tokens]:
    return [tokens_of(data) for data in _pool(valid)]


def _written(write: Callable[[Any, Path], object], suffix: str, *, target: Any = None) -> list[bytes]:
    """Return files of random circuits over DOMAIN."""
    rng, found = Random(1), []
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        file = Path(folder, f"file{suffix}")
        for k in range(_POOL):
            circuit = random_circuit(rng, DOMAIN, decomposable=k % 3 > 0)
            write(circuit if target is None else target(circuit), file)
            found.append(file.read_bytes())
    return found


def _described() -> list[bytes]:
    return _written(write_nnf, ".nnf")


def _c2d() -> list[bytes]:
    return [b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"c ")) for data in _described()]


def _d4() -> list[bytes]:
    return _written(lambda circuit, file: write_nnf(circuit, file, dialect="d4"), ".nnf")


def _sdd() -> list[bytes]:
    return _written(write_sdd, ".sdd", target=sdd_of)


def _vtree() -> list[bytes]:
    rng, found = Random(2), []
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for kind in ("right", "balanced", "left"):
            for _ in range(4):
                try:
                    write_sdd(sdd_of(random_circuit(rng, DOMAIN), vtree=kind), Path(folder, "a.sdd"))
                except ax.AxfiError:
                    continue
                found.append(Path(folder, "a.vtree").read_bytes())
    return found


def _dddmp() -> list[bytes]:
    return _written(write_dddmp, ".dddmp", target=obdd_of)


def _dd_json() -> list[bytes]:
    return _written(write_dd_json, ".json", target=obdd_of)


def _counting_problems() -> list[bytes]:
    weights = b"c p weight 1 0.3 0\nc p weight -1 7e-1 0\n"
    return [
        *(b"c t mc\n" + text for text in _cnf() if b"weight" not in text),
        b"c t wmc\np cnf 2 1\n" + weights + b"1 2 0\n",
        b"c t pwmc\np cnf 3 2\nc p show 1 3 0\n" + weights + b"1 2 0\n-2 3 0\n",
        b"p pcnf 3 1 2\nvp 1 3 0\n1 -3 0\n",
    ]


def _cnf() -> list[bytes]:
    rng, found = Random(9), [b"p cnf 8 0\n", b"c t wmc\np cnf 8 1\nc p weight 1 1/3 0\n1 0\n"]
    for _ in range(_POOL):
        clauses = [
            [rng.choice((1, -1)) * k for k in rng.sample(range(1, 9), rng.randint(1, 4))]
            for _ in range(rng.randint(1, 5))
        ]
        lines = [f"p cnf 8 {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses), ""]
        found.append("\n".join(lines).encode())
    return found


def _node_lists() -> list[bytes]:
    rng, found = Random(3), []
    features = [
        {"name": "a", "values": ["0", "1"], "literals": [1, -1]},
        {"name": "b", "values": ["x", "y", "z"], "literals": [2, 3, 4]},
    ]
    for _ in range(_POOL):
        nodes: dict[str, Any] = {str(k): ["L", str(rng.choice((1, -1)) * rng.randint(1, 4))] for k in range(1, 5)}
        for k in range(5, rng.randint(6, 12)):
            nodes[str(k)] = [rng.choice(("AND", "OR")), [rng.randrange(1, k) for _ in range(rng.randint(1, 3))]]
        found.append(json.dumps({"features": features, "nodes": nodes, "root": len(nodes)}).encode())
    return found


def _document(rng: Random) -> dict[str, Any]:
    """Return a small XGBoost model as a document."""
    trees = []
    for _ in range(rng.randint(1, 2)):
        left, right, column, value = [-1], [-1], [0], [rng.choice((0.5, -0.25, 1e-3))]
        for _ in range(rng.randint(0, 3)):
            node = rng.choice([k for k, child in enumerate(left) if child < 0])
            left[node], right[node] = len(left), len(left) + 1
            column[node], value[node] = rng.randrange(2), float(rng.randint(0, 9)) / 2
            for _ in range(2):
                left.append(-1)
                right.append(-1)
                column.append(0)
                value.append(rng.choice((0.5, -0.25, 1e-3)))
        trees.append(
            {
                "tree_param": {"num_nodes": str(len(left)), "size_leaf_vector": "1"},
                "left_children": left,
                "right_children": right,
                "split_indices": column,
                "split_conditions": value,
                "split_type": [0] * len(left),
                "categories": [],
                "categories_nodes": [],
                "categories_segments": [],
                "categories_sizes": [],
            }
        )
    n = len(trees)
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(n)},
        "tree_info": [0] * n,
        "iteration_indptr": list(range(n + 1)),
        "trees": trees,
    }
    booster: dict[str, Any] = {"name": "gbtree", "model": model}
    if rng.random() < 0.2:
        booster = {"name": "dart", "gbtree": {"model": model}, "weight_drop": [0.5] * n}
    parameters = {
        "base_score": rng.choice(("5E-1", "[2.5E-1]")),
        "num_class": "0",
        "num_feature": "2",
        "num_target": "1",
    }
    return {
        "version": [3, 1, 0],
        "learner": {
            "attributes": {"best_iteration": "0"} if rng.random() < 0.3 else {},
            "feature_names": ["x", "k"],
            "learner_model_param": parameters,
            "objective": {"name": rng.choice(("binary:logistic", "reg:squarederror"))},
            "gradient_booster": booster,
        },
    }


def _xgboost_json() -> list[bytes]:
    rng = Random(4)
    return [json.dumps(_document(rng)).encode() for _ in range(_POOL)]


def _with_sets(rng: Random) -> dict[str, Any]:
    """Return a document whose first split is on a set of categories, which it may name."""
    document = _document(rng)
    learner = document["learner"]
    learner["gradient_booster"] = booster = {"name": "gbtree", "model": learner["gradient_booster"].get("model")}
    booster["model"] = booster["model"] or _document(Random(0))["learner"]["gradient_booster"]["model"]
    listed = sorted(rng.sample(range(6), rng.randint(1, 3)))
    booster["model"]["trees"][0] |= {
        "tree_param": {"num_nodes": "5", "size_leaf_vector": "1"},
        "left_children": [1, 3, -1, -1, -1],
        "right_children": [2, 4, -1, -1, -1],
        "split_indices": [1, 0, 0, 0, 0],
        "split_conditions": [0.0, 3.5, 0.75, -0.25, 0.125],
        "split_type": [1, 0, 0, 0, 0],
        "categories": listed,
        "categories_nodes": [0],
        "categories_segments": [0],
        "categories_sizes": [len(listed)],
    }
    names = {"offsets": list(range(7)), "values": list(b"uvwxyz")}
    numbers = {"values": list(range(6)), "type": 3}
    if rng.random() < 0.6:
        booster["model"]["cats"] = {"enc": [{"values": []}, rng.choice((names, numbers))]}
    return document


def _xgboost_sets() -> list[bytes]:
    rng = Random(10)
    return [json.dumps(_with_sets(rng)).encode() for _ in range(_POOL)]


def ubjson(value: Any) -> bytes:
    """Return a value in UBJSON, with typed arrays as XGBoost writes them."""
    if isinstance(value, dict):
        return b"{" + b"".join(ubjson(k)[1:] + ubjson(v) for k, v in value.items()) + b"}"
    if isinstance(value, str):
        text = value.encode()
        return b"SL" + struct.pack(">q", len(text)) + text
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    if value and all(isinstance(x, int) for x in value):
        return b"[$l#L" + struct.pack(f">q{len(value)}i", len(value), *value)
    if value and all(isinstance(x, float) for x in value):
        return b"[$d#L" + struct.pack(f">q{len(value)}f", len(value), *value)
    return b"[" + b"".join(map(ubjson, value)) + b"]"


def _xgboost_ubj() -> list[bytes]:
    rng = Random(4)
    return [ubjson(_document(rng)) for _ in range(_POOL)]


MODEL_DOMAIN = ax.Domain([ax.Real("x", 0, 9), ax.Integer("k", 0, 5)])

_LIGHTGBM = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective={objective}
feature_names=x k
feature_infos=[0:9] {info}

Tree=0
num_leaves=3
num_cat={n_cat}
split_feature=0 1
split_gain=1 1
threshold={threshold}
decision_type=2 {kind}
left_child={left}
right_child={right}
leaf_value=0.5 -0.25 {leaf}
{categories}shrinkage=1


end of trees

feature_importances:
x=1

parameters:
end of parameters

pandas_categorical:{named}
"""


def _lightgbm() -> list[bytes]:
    rng, found = Random(5), []
    for _ in range(_POOL):
        is_set = rng.random() < 0.3
        found.append(
            _LIGHTGBM.format(
                objective=rng.choice(("binary sigmoid:1", "regression")),
                info="0:1:2:3" if is_set else "[0:5]",
                n_cat=int(is_set),
                threshold=f"{rng.randint(0, 9)}.5 {0 if is_set else 2.5}",
                kind=1 if is_set else rng.choice((2, 0, 6, 10)),
                left=rng.choice(("1 -2", "-1 -2")),
                right="-3 -1",
                leaf=rng.choice(("1", "0.125", "1e-3")),
                categories="cat_boundaries=0 1\ncat_threshold=5\n" if is_set else "",
                named="null",
            ).encode()
        )
    chain = [data.replace(b"right_child=-3 -1", b"right_child=1 -3") for data in found]
    trees = [a if b"left_child=1 -2" in a else b for a, b in zip(found, chain, strict=True)]
    return [_sized(data) if k % 2 else data for k, data in enumerate(trees)]


def _sized(data: bytes) -> bytes:
    """Return a text of LightGBM with a line that says how long its tree is, as the library writes it."""
    head, tree = data.split(b"\nTree=")
    size = len(b"Tree=" + tree.partition(b"end of trees")[0])
    return head + b"tree_sizes=%d\n\nTree=" % size + tree


def _explanations() -> list[Any]:
    rng, found = Random(6), []
    while len(found) < _POOL // 2:
        table = {p: rng.randint(0, 1) for p in DOMAIN.points()}
        if len(set(table.values())) > 1:
            weights = rng.choice(("ratio", "count", "unit"))
            found.append(ax.Explainer(table.__getitem__, DOMAIN, weights=weights).explain(rng.choice(list(table))))
    return found


def _result_json() -> list[bytes]:
    return [e.to_json(axps=k % 2 == 0).encode() for k, e in enumerate(_explanations())]


def _other_results() -> list[bytes]:
    """Return explanations over real features with a histogram, over one-hot columns, and of regressions."""
    rng, found = Random(11), list[bytes]()
    real = ax.Domain([ax.Real("x", 0, 9, histogram=ax.Histogram([0, 0.75, 9], [1, 2])), ax.Integer("k", 0, 5)])
    colours = ax.Domain(
        [ax.Categorical("c", ["u", "v"], columns=["c_u", "c_v"]), ax.Integer("k", 0, 2, weights=[1, 0, 3])]
    )
    for _ in range(_POOL):
        document, delta = _document(rng), None
        if document["learner"]["objective"]["name"] == "reg:squarederror":
            delta = 0.125
        data = json.dumps(document).encode()
        table = {p: rng.random() < 0.5 for p in colours.points()}
        explainers = (
            lambda data=data, delta=delta: ax.Explainer(ax.read_xgboost(data, real), real, delta=delta),
            lambda t=table: ax.Explainer(t.__getitem__, colours),
        )
        for explainer, row in zip(explainers, ((rng.randint(0, 18) / 2, rng.randint(0, 5)), ("u", 2)), strict=True):
            with suppress(ConstantModelError):
                found.append(explainer().explain(row).to_json(axps=rng.random() < 0.5).encode())
    return found


def _joint_results() -> list[bytes]:
    """Return explanations under Bayesian networks and PSDDs, whose documents hold the distribution."""
    rng, found = Random(12), list[bytes]()
    tree = Vtree.balanced(range(len(DIRECT.bits)))
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        file = Path(folder, "joint.psdd")
        while len(found) < _POOL:
            network = random_network(rng, n=3, zeros=0)
            domain = domain_of(network).with_distribution(network)
            if len(found) % 3 == 0:
                file.write_text(psdd_text(rng, tree, zeros=0))
            with suppress(ax.AxfiError):  # a constant model, or a diagram that excludes all codes, or the point
                if len(found) % 3 == 0:
                    domain = DOMAIN.with_distribution(read_psdd(file, DOMAIN, vtree=_psdd_vtree()))
                outputs = {p: rng.randrange(2) for p in domain.points()}
                e = ax.Explainer(outputs.__getitem__, domain).explain(rng.choice(list(outputs)))
                found.append(e.to_json().encode())
    return found


def _json_lines() -> list[bytes]:
    rng, found = Random(7), []
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for k in range(12):
            ones = {p for p in DOMAIN.points() if rng.random() < 0.5}
            file = Path(folder, f"{k}.jsonl")
            rows = rng.sample(list(DOMAIN.points()), 2)
            ax.Explainer(lambda p, ones=ones: int(p in ones), DOMAIN).explain_to(file, rows, progress=False)
            found.append(file.read_bytes() if k % 3 == 0 else _without_checks(file.read_bytes()))
    return found


def _without_checks(lines: bytes) -> bytes:
    """Return a stream as version 1 has it: damage of what is behind the checksums reaches its readers."""
    return re.sub(rb', "check": "[0-9a-f]{16}"}', b"}", lines).replace(b'"version": 2', b'"version": 1', 1)


def _tables() -> list[bytes]:
    rng, found = Random(8), []
    for _ in range(_POOL):
        rows = [f"{rng.randint(0, 36) / 4},{rng.randint(0, 5)},{rng.choice('uvw')}" for _ in range(rng.randint(1, 5))]
        found.append("\n".join(["x,k,s", "0,5,u", *rows, "9,0,u", ""]).encode())
    return found


def _counted(circuit: Any) -> int:
    return queries.count(circuit)


def _read_xgboost(file: Path) -> Any:
    model = ax.read_xgboost(file, MODEL_DOMAIN)
    return model.predict([[3.5, 2]])


def _read_sets(file: Path) -> Any:
    """Read a model whose second column is letters or, where it does not know them, numbers."""
    letters = ax.Domain([ax.Real("x", 0, 9), ax.Categorical("k", "uvwxyz")])
    try:
        return ax.read_xgboost(file, letters).predict([[3.5, "w"]])
    except DomainError:
        return _read_xgboost(file)


def _read_lightgbm(file: Path) -> Any:
    from axfi_kc.cli.inputs import load_model

    return ax.read_model(load_model(file, MODEL_DOMAIN, allow_pickle=False), MODEL_DOMAIN).predict([[3.5, 2]])


def _onnx() -> list[bytes]:
    from tests.support.onnx_graphs import made, random_trees

    found = []
    for seed in range(_POOL):
        rng = np.random.default_rng(seed)
        trees = random_trees(rng, n_trees=2, n_scores=3, width=2)
        linear = {"coefficients": rng.normal(size=6).tolist(), "intercepts": [0.0, 1.0, 0.5]}
        model = (
            made("TreeEnsembleClassifier", width=2, classlabels_strings=["u", "v", "w"], **trees)
            if seed % 3
            else made("LinearClassifier", width=2, classlabels_ints=[0, 1, 2], **linear)
        )
        found.append(model.SerializeToString())
    return found


def _read_onnx(file: Path) -> Any:
    return ax.read_onnx(file, MODEL_DOMAIN).predict([[3.5, 2]])


def _networks(write: Callable[[BayesianNetwork], str]) -> list[bytes]:
    rng, found = Random(4), []
    for k in range(_POOL):
        network = random_network(rng, n=rng.randint(1, 4), shape=rng.choice(SHAPES), floats=k % 2 == 0)
        found.append(write(network).encode())
    return found


def _bif() -> list[bytes]:
    return _networks(bif_text)


def _hugin() -> list[bytes]:
    return _networks(hugin_text)


def _read_net(file: Path) -> Any:
    """Read a network, and ask for the probability of its last variable's first state."""
    network = read_network(file)
    last = network.variables[-1]
    return network.probability({last.name: last.states[0]})


@cache
def _psdd_vtree() -> Path:
    path = Path(tempfile.mkdtemp(dir=FOLDER), "tree.vtree")
    write_vtree(Vtree.balanced(range(len(DIRECT.bits))), path)
    return path


def _psdd() -> list[bytes]:
    rng, tree, found = Random(6), Vtree.balanced(range(len(DIRECT.bits))), list[bytes]()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        file = Path(folder, "valid.psdd")
        while len(found) < _POOL:
            file.write_text(psdd_text(rng, tree))
            with suppress(ax.AxfiError):  # no code of a point has a probability
                _read_psdd(file)
                found.append(file.read_bytes())
    return found


def _read_psdd(file: Path) -> Any:
    psdd = read_psdd(file, DOMAIN, vtree=_psdd_vtree())
    return psdd.total([[0, 1], None, None])


def _read_result(file: Path) -> Any:
    saved = ax.Explanation.from_json(file.read_bytes())
    return saved.scores("shapley"), saved.relevant, saved.axps


def _read_json_lines(file: Path) -> Any:
    batch = ax.read_results(file)
    return [e.scores("banzhaf") for e in batch], batch.score_numerators()


def _read_csv(file: Path) -> Any:
    table = read_table(file)
    domain = ax.Domain.from_data(table)
    return domain.encode(table.iloc[[0]])


@cache
def _model_file() -> Path:
    folder = tempfile.mkdtemp(dir=FOLDER)
    path = Path(folder, "model.json")
    document = _document(Random(0))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree |= {"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0]}
    tree |= {"split_conditions": [4.5, -5.0, 5.0], "split_type": [0, 0, 0]}
    document["learner"]["objective"]["name"] = "binary:logistic"
    path.write_text(json.dumps(document))
    return path


def _run_command(file: Path) -> int:
    """Explain the first row of a table."""
    return run_command(["explain", str(_model_file()), str(file), "--target", "s", "--json"])


def run_command(arguments: list[str]) -> int:
    """Run the command line, which must end with a status."""
    from axfi_kc.cli import main

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        status = main(arguments)
    if status not in (0, 1):
        raise RuntimeError(f"the command ended with {status}")
    if status:
        raise ax.AxfiError("the command said what is wrong")
    return status


_NNF = Grammar((b"nnf # # 8",), (b"L @", b"A # $", b"O @ # $", b"A 0", b"O 0 0", b"c @", b"A 2 # #", b"O 0 2 # #"))
_D4 = Grammar((b"o 1 0", b"t 2 0"), (b"o # 0", b"a # 0", b"t # 0", b"f # 0", b"# # @ 0", b"1 # @ @ 0", b"# 2 @ 0"))
_SDD = Grammar((b"sdd #",), (b"F #", b"T #", b"L # # @", b"D # # 1 # #", b"D # # 2 # # # #", b"D # # @ $"))
_VTREE = Grammar((b"vtree #",), (b"L # #", b"L # @", b"I # # #", b"I # 0 2"))
_COUNTING_PROBLEM = Grammar(
    (b"p cnf 8 #", b"c t pwmc", b"p pcnf 8 # 2"),
    (
        b"@ 0",
        b"@ @ @ 0",
        b"c p weight @ 0.5 0",
        b"c p weight -@ 1/@ 0",
        b"c p show @ 0",
        b"w @ 1e3 0",
        b"vp @ @ 0",
        b"$ 0",
    ),
)
_CNF = Grammar((b"p cnf 8 #",), (b"@ 0", b"@ @ 0", b"@ @ @ 0", b"c p weight @ @ 0", b"0", b"$ 0"))

_BIF = Grammar(
    (
        b"network x { }",
        b"variable a { type discrete [ 2 ] { n, y }; }",
        b"variable b { type discrete [ 2 ] { n, y }; }",
    ),
    (
        b"probability ( a ) { table 0.25, 0.75; }",
        b"probability ( b | a ) { (n) 0.5 0.5; (y) @ @; }",
        b"probability ( b | a ) { default @, @; }",
        b"probability ( a | b ) { table @ @ @ @; }",
        b"variable # { type discrete [ # ] { $ }; }",
        b"probability ( b | a, # ) { table $; }",
        b"// @",
        b"/* $ */",
    ),
)
_HUGIN = Grammar(
    (b"net { }", b'node a { states = ("n" "y"); }', b'node b { states = ("n" "y"); }'),
    (
        b"potential (a) { data = (0.25 0.75); }",
        b"potential (b | a) { data = ((0.5 0.5) (@ @)); }",
        b"potential (a | b) { data = (@ @ @ @); }",
        b"node # { states = ($); }",
        b"potential (b | a #) { data = ($); }",
        b"% @",
    ),
)
_PSDD = Grammar(
    (b"psdd #",), (b"L # # @", b"T # # # -@", b"D # # 1 # # 0", b"D # # 2 # # -0.693 # # -0.693", b"D # # @ $")
)

READERS: dict[str, Reader] = {
    "bif": Reader(_bif, _read_net, ".bif", grammar=_BIF),
    "net": Reader(_hugin, _read_net, ".net", grammar=_HUGIN),
    "psdd": Reader(_psdd, _read_psdd, ".psdd", grammar=_PSDD),
    "nnf": Reader(_c2d, lambda f: _counted(read_nnf(f, variables=DIRECT)), ".nnf", grammar=_NNF),
    "nnf-described": Reader(_described, lambda f: _counted(read_nnf(f)), ".nnf"),
    "d4": Reader(_d4, lambda f: _counted(read_nnf(f, variables=DIRECT, dialect="d4")), ".nnf", grammar=_D4),
    "sdd": Reader(_sdd, lambda f: _counted(read_sdd(f, variables=DIRECT)), ".sdd", grammar=_SDD),
    "vtree": Reader(_vtree, read_vtree, ".vtree", grammar=_VTREE),
    "dddmp": Reader(_dddmp, lambda f: _counted(read_dddmp(f, variables=ORDER)), ".dddmp"),
    "dd-json": Reader(_dd_json, lambda f: _counted(read_dd_json(f, variables=ORDER)), ".json"),
    "cnf": Reader(_cnf, lambda f: read_cnf(f, variables=DIRECT), ".cnf", grammar=_CNF),
    "counting-problem": Reader(_counting_problems, read_counting_problem, ".cnf", grammar=_COUNTING_PROBLEM),
    "node-list": Reader(_node_lists, lambda f: _counted(read_node_list(f)[0]), ".json"),
    "xgboost-json": Reader(_xgboost_json, _read_xgboost, ".json"),
    "xgboost-sets": Reader(_xgboost_sets, _read_sets, ".json"),
    "xgboost-ubj": Reader(_xgboost_ubj, _read_xgboost, ".ubj", binary=True),
    "lightgbm": Reader(_lightgbm, _read_lightgbm, ".txt"),
    "result-json": Reader(_result_json, _read_result, ".json"),
    "result-others": Reader(_other_results, _read_result, ".json"),
    "result-networks": Reader(_joint_results, _read_result, ".json"),
    "result-lines": Reader(_json_lines, _read_json_lines, ".jsonl"),
    "csv": Reader(_tables, _read_csv, ".csv"),
    "csv-command": Reader(_tables, _run_command, ".csv"),
}
if find_spec("onnx"):
    READERS["onnx"] = Reader(_onnx, _read_onnx, ".onnx", binary=True)
