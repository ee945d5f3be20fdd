"""How every public door is called rightly: on what, and with which values for the parameters that it requires.

A door that is new needs a line here only if a parameter is not called as elsewhere:

- `_OWNERS`: for each class an instance, on which methods and properties are asked;
- `_USUAL`: what a parameter of that name takes, wherever it stands;
- `_OWN`: what it takes at one door only.

What is in a folder is made by `_written`, once a process.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

import axfi_kc as ax
from axfi_kc.circuits import exchange, files
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.targets import Vtree
from axfi_kc.domain.distribution import States
from axfi_kc.domain.grid import Grid
from tests.support.public_doors import Door
from tests.support.random_networks import bif_text
from tests.support.random_psdds import deterministic_psdd, psdd_text

__all__ = ["given_to", "owner_of"]

DOMAIN = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
ROWS = pd.DataFrame([(1, 1, 0), (0, 1, 1), (0, 0, 0), (1, 0, 1)], columns=list("abc"))
POINT = {"a": 1, "b": 1, "c": 0}


def majority(point: Any) -> int:
    return int(sum(point) >= 2)


@cache
def _explainer() -> ax.Explainer:
    return ax.Explainer(majority, DOMAIN)


@cache
def _explanation() -> ax.Explanation:
    return _explainer().explain(POINT)


@cache
def _batch() -> ax.Batch:
    return _explainer().explain_batch(ROWS)


@cache
def _compiled(target: str = "mdd", **options: Any) -> ax.CompiledModel:
    return ax.compile_model(majority, DOMAIN, output=1, target=target, **options)


@cache
def _network() -> ax.BayesianNetwork:
    states = {name: [0, 1] for name in "abc"}
    even = [Fraction(1, 2)] * 2
    rows = {"a": [even], "b": [even, [Fraction(1, 4), Fraction(3, 4)]], "c": [even, even]}
    return ax.BayesianNetwork.of_rows(states, rows, parents={"b": ["a"], "c": ["b"]}, output="c")


@cache
def _psdd() -> Psdd:
    return deterministic_psdd(Random(0), _sdd().vtree, 3)


@cache
def _sdd() -> Any:
    return _compiled("sdd").target


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="doors-"))


@cache
def _written(name: str) -> Path:
    """Return a file of that name, with what its suffix says."""
    path = _folder() / name
    circuit = _compiled().circuit
    if name.endswith((".bdd.json", ".dddmp")):
        (files.write_dddmp if name.endswith("dddmp") else files.write_dd_json)(_compiled("obdd").target, path)
    elif name.endswith(".sdd"):
        files.write_sdd(_sdd(), path, vtree=path.with_suffix(".vtree"))
    elif name == "vtree":
        files.write_vtree(_sdd().vtree, path)
    elif name == "clauses.cnf":
        path.write_text("p cnf 2 1\n1 2 0\n")
    elif name == "one.cnf":
        files.write_cnf(ax.from_expression("a", DOMAIN), path)
    elif name == "network.bif":
        path.write_text(bif_text(_network()))
    elif name == "rows.jsonl":
        _explainer().explain_to(path, ROWS)
    elif name == "chances.json":
        ax.ChowLiu.fit(ROWS, DOMAIN).save(path)
    elif name == "rules.json":
        ax.save_rules([_terms()], path)
    elif name == "chances.psdd":
        tree = Vtree.balanced(range(3))
        files.write_vtree(tree, path.with_suffix(".vtree"))
        path.write_text(psdd_text(Random(0), tree, zeros=0))
    elif name == "nodes.json":
        literals = [{"name": name, "values": [0, 1], "literals": [-i, i]} for i, name in enumerate("abc", 1)]
        path.write_text(json.dumps({"features": literals, "root": 0, "nodes": {"0": ["L", 1]}}))
    else:
        files.save_circuit(circuit, path)
    return path


def _terms() -> ax.Constraint:
    return ax.feature("a") == 1


_OWNERS: dict[str, Callable[[], Any]] = {
    "Batch": _batch,
    "BayesianNetwork": _network,
    "CXpForest": lambda: _explanation().forest,
    "Categorical": lambda: ax.Categorical("a", ["u", "v"], columns=["is u", "is v"], codes=[[1, 0], [0, 1]]),
    "ChowLiu": cache(lambda: ax.ChowLiu.fit(ROWS, DOMAIN)),
    "Circuit": lambda: _compiled().circuit,
    "CircuitModel": cache(lambda: ax.CircuitModel.of(_compiled().circuit)),
    "Cnf": lambda: exchange.to_cnf(_compiled().circuit),
    "Comparison": lambda: ax.compare(_batch()[0], _batch()[1]),
    "CompiledModel": _compiled,
    "Constraint": _terms,
    "CountAnswer": lambda: ax.count_models(_problem_of_clauses()),
    "Counterfactual": lambda: _explanation().counterfactual(),
    "CountingProblem": lambda: _problem_of_clauses(),
    "Ddnnf": lambda: _compiled("ddnnf").target,
    "Distribution": lambda: ax.Product.of(DOMAIN),
    "Domain": lambda: DOMAIN,
    "ExampleCircuit": lambda: _explanation().circuit(_explanation().cxps[0]),
    "Explainer": _explainer,
    "Explanation": _explanation,
    "Fairness": cache(lambda: ax.fairness(majority, DOMAIN, ["a"])),
    "Histogram": lambda: ax.Histogram([0, 1, 3], [1, 2]),
    "Implicants": lambda: ax.prime_implicants(_compiled().circuit),
    "Inflated": lambda: _explanation().inflated_axp(),
    "Inspection": lambda: _batch().inspection(),
    "Integer": lambda: ax.Integer("a", 0, 1),
    "Mdd": lambda: _compiled("mdd").target,
    "Mixture": lambda: ax.Mixture((ax.Product.of(DOMAIN),), (Fraction(1),)),
    "Obdd": lambda: _compiled("obdd").target,
    "PAXps": lambda: _explanation().paxps(1),
    "Problem": lambda: _explanation().problem,
    "Product": lambda: ax.Product.of(DOMAIN),
    "Psdd": _psdd,
    "RadiusPath": cache(lambda: ax.radius_path(_explainer(), POINT)),
    "Real": lambda: ax.Real("a", 0, 1),
    "Region": lambda: ax.Region(radius=1),
    "Relevance": lambda: ax.relevance(_compiled().circuit, POINT),
    "Report": cache(lambda: ax.verify(_explanation(), majority)),
    "Robustness": cache(lambda: ax.robustness(majority, DOMAIN, radius=1)),
    "Rule": lambda: ax.mine_rules(pd.concat([ROWS] * 9))[0],
    "SavedBatch": cache(lambda: ax.read_results(_written("rows.jsonl"))),
    "SavedExplanation": cache(lambda: ax.Explanation.from_json(_explanation().to_json(), model=majority)),
    "Sdd": _sdd,
    "Sensitivity": cache(lambda: ax.sensitivity(majority, DOMAIN, ["a"])),
    "SizeStudy": cache(lambda: ax.size_study({"m": (majority, DOMAIN)}, targets=["mdd"], orders=["given"])),
    "States": lambda: States.of(DOMAIN.features[0]),
    "TableModel": cache(lambda: ax.TableModel.from_function(DOMAIN, majority)),
    "Values": lambda: _explanation().inflated_axp().values[0],
    "Variables": lambda: files.Variables.of_code(Grid.of_values(DOMAIN)),
}


@cache
def _problem_of_clauses() -> ax.CountingProblem:
    return ax.CountingProblem.of([(1, 2), (-1, 3)])


def _manager() -> Any:
    from dd.autoref import BDD

    return BDD()


def _codes() -> Any:
    return np.array([[1.0, 1.0, 0.0]])


def _circuit() -> Circuit:
    return _compiled().circuit


_USUAL: dict[str, Callable[[], Any]] = {
    "S": lambda: {"a"},
    "X": lambda: ROWS,
    "a": _circuit,
    "allowed": lambda: ax.queries.allowed_cells(_circuit(), {}),
    "b": _circuit,
    "batch": _batch,
    "box": lambda: {0: [1]},
    "care": _circuit,
    "cells": lambda: [1, 1, 0],
    "circuit": _circuit,
    "circuits": lambda: {True: _circuit(), False: ~_circuit()},
    "clause": lambda: {0: [1]},
    "clauses": lambda: ((1, 2), (-1, 2)),
    "cnf": lambda: [(1, 2)],
    "code": lambda: 1.0,
    "codes": _codes,
    "column": lambda: np.array([1, 0]),
    "cxp": lambda: _explanation().cxps[0].features,
    "delta": lambda: None,
    "diagram": _circuit,
    "distribution": lambda: ax.Product.of(DOMAIN),
    "domain": lambda: DOMAIN,
    "edges": lambda: [0, 1, 2],
    "evidence": lambda: [None, None, None],
    "explained": _explanation,
    "explainer": _explainer,
    "explanation": _explanation,
    "feature": lambda: DOMAIN.features[0],
    "features": lambda: ["a"],
    "first": _explanation,
    "fixed": lambda: {0: 1},
    "forest": lambda: _explanation().forest,
    "form": _circuit,
    "frame": lambda: _compared(),
    "function": lambda: majority,
    "functions": lambda: {"a": _circuit()},
    "gamma": lambda: Fraction(1),
    "graph": lambda: exchange.to_networkx(_circuit()),
    "grid": lambda: _circuit().grid,
    "high": lambda: 1,
    "k": lambda: 2,
    "language": lambda: "mdd",
    "low": lambda: 0,
    "manager": _manager,
    "mask": lambda: 1,
    "min_precision": lambda: 1,
    "model": lambda: majority,
    "models": lambda: {"m": (majority, DOMAIN)},
    "n": lambda: 2,
    "name": lambda: "a",
    "names": lambda: ["a", "b"],
    "node": lambda: 0,
    "obdd": lambda: _compiled("obdd").target,
    "operation": lambda: "counting",
    "operator": lambda: "and",
    "other": lambda: _explanation().forest,
    "others": lambda: [1],
    "output": lambda: 1,
    "outputs": lambda: [0, 1, 0, 1],
    "p": _circuit,
    "parts": lambda: (ax.Product.of(DOMAIN),),
    "path": lambda: _folder() / "made",
    "penalties": lambda: {("a",): 1},
    "point": lambda: POINT,
    "points": lambda: [POINT],
    "problem": lambda: _explanation().problem,
    "protected": lambda: ["a"],
    "psdd": _psdd,
    "q": _circuit,
    "radius": lambda: 1,
    "region": lambda: ax.Region(radius=1),
    "relabel": lambda: {0: "no", 1: "yes"},
    "rows": lambda: [(1, 1), (0, 0)],
    "score": lambda: ax.shapley_like,
    "sdd": _sdd,
    "second": lambda: _batch()[1],
    "seconds": lambda: 1.0,
    "seed": lambda: 0,
    "semiring": lambda: ax.queries.Semiring(max, min, 0, 1),
    "shift": lambda: Fraction(0),
    "state": lambda: 1,
    "states": lambda: {0: 1, 1: 0, 2: 1},
    "table": lambda: "0110",
    "target": _circuit,
    "term": lambda: {0: [1]},
    "text": lambda: "a & b",
    "value": lambda: 1,
    "values": lambda: {"a": 1},
    "vtree": lambda: _sdd().vtree,
    "weights": lambda: [1, 1],
    "which": lambda: 0,
    "worths": lambda: [[1, 2]] * 3,
    "x": lambda: POINT,
}


@cache
def _compared() -> Any:
    return ax.compare_sizes(majority, DOMAIN, targets=["mdd"], orders=["given"])


def _two_outputs() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=1).fit([[0], [1]], [[0, 1], [1, 0]])


def _tree() -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=1).fit(ROWS.to_numpy(), [0, 1, 0, 1])


def _xgboost_file() -> bytes:
    import xgboost

    data = xgboost.DMatrix(ROWS.to_numpy(), label=[0, 1, 0, 1])
    options = {"objective": "binary:logistic", "max_depth": 1, "nthread": 1}
    return bytes(xgboost.train(options, data, num_boost_round=2).save_raw("json"))


def _onnx_file() -> bytes:
    from skl2onnx import to_onnx
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=1).fit(ROWS.to_numpy(np.float32), [0, 1, 0, 1])
    return bytes(to_onnx(model, ROWS.to_numpy(np.float32)[:1], options={"zipmap": False}).SerializeToString())


def _of_dd() -> Any:
    manager = _manager()
    manager.declare("a", "b")
    return manager.add_expr("a & b")


def _pysdd_manager() -> Any:
    from pysdd.sdd import SddManager

    return SddManager(var_count=3)


def _dd_manager() -> Any:
    manager = _manager()
    manager.declare("a", "b", "c")
    return manager


def _of_psdd(name: str) -> Any:
    return lambda: getattr(_psdd(), name)


def _chow_liu(name: str) -> Any:
    return lambda: getattr(_OWNERS["ChowLiu"](), name)


_OWN: dict[str, dict[str, Callable[[], Any]]] = {
    "Batch.at": {"label": lambda: 0},
    "BayesianNetwork": {
        "states": lambda: {"a": [0, 1]},
        "tables": lambda: {"a": [Fraction(1, 2), Fraction(1, 2)]},
    },
    "BayesianNetwork.drawn": {"source": lambda: Random(0)},
    "BayesianNetwork.of": {"model": _network},
    "BayesianNetwork.of_document": {"document": lambda: _network().document()},
    "BayesianNetwork.of_rows": {
        "states": lambda: {"a": [0, 1]},
        "rows": lambda: {"a": [[Fraction(1, 2), Fraction(1, 2)]]},
        "parents": dict,
    },
    "BayesianNetwork.probability": {"evidence": lambda: {"a": 1}},
    "BayesianNetwork.total_of": {"rows": dict},
    "CXpForest": {"features": lambda: ["a", "b"], "sets": lambda: [1, 2]},
    "CXpForest.of": {"weights": lambda: {("a",): 1}},
    "Categorical": {"values": lambda: ["u", "v"]},
    "Categorical.encode": {"column": lambda: np.array(["u", "v"])},
    "Categorical.encode_columns": {"block": lambda: np.array([[0.0, 1.0], [1.0, 0.0]])},
    "ChowLiu": {name: _chow_liu(name) for name in ("states", "parents", "tables")},
    "CompiledModel.save": {"path": lambda: _folder() / "made.nnf"},
    "CircuitModel.decide": {"cells": lambda: np.array([[1, 1, 0]])},
    "CircuitModel.region": {"wanted": lambda: [False, True]},
    "Constraint.holds": {"codes": lambda: [1.0, 1.0, 0.0]},
    "CountingProblem": {"n_variables": lambda: 2},
    "Domain": {"features": lambda: [ax.Integer("a", 0, 1)]},
    "Domain.decode": {"codes": lambda: [1.0, 1.0, 0.0]},
    "Domain.with_features": {"features": lambda: DOMAIN.features},
    "ExampleCircuit.save": {"path": lambda: _folder() / "made.nnf"},
    "Explainer.explain_to": {"path": lambda: _written("rows.jsonl")},
    "Explanation.from_dict": {"document": lambda: _explanation().to_dict()},
    "Explanation.from_json": {"text": lambda: _explanation().to_json()},
    "Inspection.of": {"values": lambda: np.zeros((2, 1)), "names": lambda: ["a"]},
    "Mdd.conjoin": {"other": lambda: _compiled("mdd").target},
    "Mdd.disjoin": {"other": lambda: _compiled("mdd").target},
    "Mixture": {"weights": lambda: (Fraction(1),)},
    "Obdd.compose": {"functions": lambda: {0: _compiled("obdd").target}},
    "Obdd.conjoin": {"other": lambda: _compiled("obdd").target},
    "Obdd.disjoin": {"other": lambda: _compiled("obdd").target},
    "Obdd.operate": {"other": lambda: _compiled("obdd").target},
    "Obdd.quantify": {"features": lambda: [0]},
    "Obdd.restrict": {"cells": lambda: {0: 1}},
    "Obdd.shares_manager": {"other": lambda: _compiled("obdd").target},
    "Obdd.simplify": {"care": lambda: _compiled("obdd").target},
    "Product": {"states": lambda: ax.Product.of(DOMAIN).states, "tables": lambda: ax.Product.of(DOMAIN).tables},
    "Psdd": {name: _of_psdd(name) for name in ("states", "bits", "vtree", "places", "leaves", "elements")},
    "Psdd.bits_of": {"bits": lambda: _sdd().bits},
    "Psdd.is_shaped_like": {"bits": lambda: _psdd().bits},
    "Region.around": {"codes": lambda: [1.0, 1.0, 0.0]},
    "Region.of_document": {"document": lambda: ax.Region(radius=1).document()},
    "Rule": {"constraint": lambda: ax.feature("a") == 1, "support": lambda: 3},
    "SavedBatch.at": {"label": lambda: 0},
    "SavedExplanation.from_dict": {"document": lambda: _explanation().to_dict()},
    "SavedExplanation.from_json": {"text": lambda: _explanation().to_json()},
    "Sdd.conjoin": {"other": _sdd},
    "Sdd.disjoin": {"other": _sdd},
    "Sdd.operate": {"other": _sdd},
    "Sdd.quantify": {"features": lambda: [0]},
    "Sdd.restrict": {"cells": lambda: {0: 1}},
    "Sdd.shares_manager": {"other": _sdd},
    "SizeStudy.save": {"path": lambda: _folder() / "made.csv"},
    "States.drawn": {"source": lambda: Random(0)},
    "States.locate": {"codes": lambda: np.array([1.0])},
    "States.of_document": {"document": lambda: States.of(DOMAIN.features[0]).document()},
    "States.shares": {"axis": lambda: Grid.of_values(DOMAIN).axes[0]},
    "TableModel.decide": {"cells": lambda: np.array([[1, 1, 0]])},
    "TableModel.from_outputs": {"outputs": lambda: [0, 1] * 4},
    "check": {"function": lambda: lambda a, b: a == b},
    "circuits.exchange.to_dd": {"manager": _dd_manager},
    "circuits.exchange.to_pysdd": {"manager": _pysdd_manager},
    "circuits.files.compile_with_dsharp": {"problem": _circuit},
    "circuits.files.format_of": {"path": lambda: _written("circuit.nnf")},
    "circuits.files.parse_count_answer": {"text": lambda: "s SATISFIABLE\nc s exact arb int 3\n"},
    "circuits.files.Variables.given": {"variables": lambda: None, "code": lambda: "direct", "kind": lambda: "file"},
    "circuits.files.Variables.of_literals": {"literals": lambda: [[1, 2], [3, 4], [5, 6]]},
    "circuits.files.Variables.with_auxiliary": {"n_variables": lambda: 9},
    "circuits.files.read_cnf": {"path": lambda: _written("one.cnf")},
    "circuits.files.read_dd_json": {"path": lambda: _written("circuit.bdd.json")},
    "circuits.files.read_dddmp": {"path": lambda: _written("circuit.dddmp")},
    "circuits.files.read_node_list": {"path": lambda: _written("nodes.json")},
    "circuits.files.read_sdd": {"path": lambda: _written("circuit.sdd")},
    "circuits.files.read_vtree": {"path": lambda: _written("vtree")},
    "circuits.files.register": {"known": lambda: files.Format((".odd",), read=lambda *_: None)},
    "circuits.files.unregister": {"known": lambda: files.Format((".odd",), read=lambda *_: None)},
    "compile_cnf": {"problem": _problem_of_clauses},
    "count_models": {"problem": _problem_of_clauses},
    "entropy": {"source": _circuit},
    "explain_among": {"rows": lambda: ROWS},
    "expectation": {"model": cache(_tree)},
    "from_dd": {"node": _of_dd},
    "from_pysdd": {"node": lambda: _pysdd_manager().literal(1)},
    "load_circuit": {"path": lambda: _written("circuit.nnf")},
    "mutual_information": {"source": _circuit, "features": lambda: [0]},
    "operations.cofactors": {"feature": lambda: "a"},
    "possible_points": {"domain": lambda: DOMAIN.where(_terms())},
    "output_of": {"model": _two_outputs},
    "plots.plot_radius_path": {"path": lambda: _OWNERS["RadiusPath"]()},
    "plots.plot_rbo": {"values_by_pair": lambda: {("a", "b"): [0.5, 0.6]}},
    "psdd_product": {"p": _psdd, "q": _psdd},
    "queries.feature_order": {"forms": _circuit},
    "queries.forget": {"features": lambda: ["a"]},
    "queries.forget_one": {"feature": lambda: "a"},
    "read_counting_problem": {"path": lambda: _written("clauses.cnf")},
    "read_distribution": {"path": lambda: _written("chances.json")},
    "read_network": {"path": lambda: _written("network.bif")},
    "read_nnf": {"path": lambda: _written("circuit.nnf")},
    "read_onnx": {"source": cache(_onnx_file)},
    "read_psdd": {"path": lambda: _written("chances.psdd")},
    "read_results": {"path": lambda: _written("rows.jsonl")},
    "read_xgboost": {"source": cache(_xgboost_file)},
    "load_rules": {"path": lambda: _written("rules.json")},
    "save_rules": {"rules": lambda: [_terms()]},
    "save_circuit": {"path": lambda: _folder() / "made.nnf"},
    "Circuit.fold": {
        "decision": lambda: lambda *_: 0,
        "conjunction": lambda: lambda *_: 0,
        "disjunction": lambda: lambda *_: 0,
        "false": lambda: 0,
        "true": lambda: 1,
    },
}
for _some in ("at_least_one", "at_most_one", "exactly_one"):
    _OWN[_some] = {"parts": lambda: ["a", "b"]}
for _form in ("Circuit", "Ddnnf", "Mdd", "Obdd", "Sdd"):
    _OWN.setdefault(f"{_form}.to_dd", {})["manager"] = _dd_manager
    _OWN.setdefault(f"{_form}.to_pysdd", {})["manager"] = _pysdd_manager


def owner_of(door: Door) -> Any:
    """Return an instance on which a method or property is asked; None of the others."""
    if door.owner is None:
        return None
    if door.owner not in _OWNERS:
        raise LookupError(f"{door.name} is a new door: say in _OWNERS of {__name__} how a {door.owner} is made.")
    return _OWNERS[door.owner]()


def given_to(door: Door) -> dict[str, Any]:
    """Return valid values of what a door requires, and of what is registered for it besides."""
    own = _OWN.get(door.name, {})
    known = _USUAL | own
    for name in door.required:
        if name not in known:
            raise LookupError(f"{door.name} is a new door: say in _OWN of {__name__} what its {name!r} takes.")
    return {name: known[name]() for name in {**dict.fromkeys(door.required), **own}}
