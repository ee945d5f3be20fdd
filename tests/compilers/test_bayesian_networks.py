"""Classifiers of pgmpy and pyAgrum: their own predict at every point, and explanations through every target."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.models import BayesClassifier
from axfi_kc.models.own_predict import predictor
from tests.support.random_networks import bif_text, domain_of, hugin_text, random_network

TARGETS = ("auto", "mdd", "obdd", "sdd", "ddnnf")


def _codes(domain: ax.Domain) -> np.ndarray:
    return domain.encode(list(domain.points()))


def _agree(model: Any, domain: ax.Domain) -> BayesClassifier:
    form = ax.read_model(model, domain)
    assert isinstance(form, BayesClassifier)
    codes = _codes(domain)
    assert predictor(model, domain)(codes) == form.outputs_at(codes)
    return form


def _pgmpy(network: ax.BayesianNetwork, kind: str = "DiscreteBayesianNetwork") -> Any:
    models = pytest.importorskip("pgmpy.models")
    from pgmpy.factors.discrete import TabularCPD

    arrows = [(network.variables[p].name, v.name) for v in network.variables for p in v.parents]
    if kind == "NaiveBayes":
        made = models.NaiveBayes([b for _, b in arrows], arrows[0][0])
    else:
        made = models.DiscreteBayesianNetwork(arrows)
        made.add_nodes_from(network.names)
    for v in network.variables:
        above = [network.variables[p] for p in v.parents]
        columns = np.array([[float(p) for p in row] for row in v.rows]).T
        states = {w.name: list(w.states) for w in (v, *above)}
        given = {"evidence": [w.name for w in above], "evidence_card": [len(w.states) for w in above]} if above else {}
        made.add_cpds(TabularCPD(v.name, len(v.states), columns, state_names=states, **given))
    return made


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("NaiveBayes", "naive"), ("DiscreteBayesianNetwork", "tree"), ("DiscreteBayesianNetwork", "general")],
)
def test_pgmpy_predicts_the_same_everywhere(kind: str, shape: str) -> None:
    network = random_network(Random(f"{kind} {shape}"), n=4, shape=shape, zeros=0, floats=True)
    model = _pgmpy(network, kind)
    domain = domain_of(network, network.names[1:])
    form = _agree(model, domain)
    if len(set(form.outputs_at(_codes(domain)))) > 1:
        rows = list(domain.points())[:3]
        found = [[e.cxps for e in ax.Explainer(model, domain, target=t).explain_batch(rows)] for t in TARGETS]
        assert all(one == found[0] for one in found)


def test_pyagrum_networks_predict_the_same_everywhere() -> None:
    gum = pytest.importorskip("pyagrum")
    for text in ("c{n|p}->a{x|y|z};c->b[3]", "c{n|p|q}->a{x|y|z}->b[3];c->b;c->d", "a->c[3]<-b;c->d[2]<-a"):
        gum.initRandom(7)
        model = gum.fastBN(text)
        network = ax.BayesianNetwork.of(model)
        domain = domain_of(network, [n for n in network.names if n != "c"])
        _agree(model, domain)


def _classifier(X: Any, y: Any, method: str) -> Any:
    pytest.importorskip("pyagrum")
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    bins = DiscreteTypeProcessor(
        defaultDiscretizationMethod="quantile", defaultNumberOfBins=3, discretizationThreshold=10
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BNClassifier(learningMethod=method, type_processor=bins, prior="Smoothing", priorWeight=0.5).fit(X, y)


@pytest.mark.parametrize("method", ["NaiveBayes", "TAN"])
@pytest.mark.parametrize("labels", ["words", "numbers", "flags", "three"])
def test_pyagrum_classifiers_predict_the_same_everywhere(method: str, labels: str) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.choice(list("xyz"), 200), "b": rng.integers(0, 3, 200), "c": rng.integers(0, 2, 200)})
    odd = (X["a"] == "x") ^ (X["b"] > 1) ^ (rng.random(200) < 0.2)
    y = {
        "words": np.where(odd, "p", "n"),
        "numbers": odd.to_numpy().astype(int),
        "flags": odd.to_numpy(),
        "three": odd.to_numpy().astype(int) + X["c"].to_numpy(),
    }[labels]
    model = _classifier(X, y, method)
    domain = ax.Domain.from_data(X, categorical=["a", "b", "c"])
    form = _agree(model, domain)
    assert len(form.outputs) == (3 if labels == "three" else 2)
    explanation = ax.Explainer(model, domain).explain(X.iloc[0])
    assert explanation.cxps
    assert ax.verify(explanation, model).ok


def test_bins_of_pyagrum_are_cells() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.choice(list("xy"), 300), "r": rng.normal(size=300)})
    y = np.where((X["r"] > 0) ^ (X["a"] == "x"), "p", "n")
    model = _classifier(X, y, "TAN")
    domain = ax.Domain([ax.Categorical("a", ["x", "y"]), ax.Real("r", -2, 2)])
    form = ax.read_model(model, domain)
    cuts = [cut.value for cut in form.grid.axes[1].cuts]
    assert cuts
    near = [v for c in cuts for v in (np.nextafter(c, -9), c, np.nextafter(c, 9))]
    codes = np.array(list(product((0.0, 1.0), [*near, *rng.uniform(-2, 2, 20)])))
    assert predictor(model, domain)(codes) == form.outputs_at(codes)


def test_thresholds_of_pyagrum_are_moved_odds() -> None:
    gum = pytest.importorskip("pyagrum")
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    gum.initRandom(11)
    network = gum.fastBN("c{n|p}->a{x|y|z};c->b[3];a->b")
    domain = ax.Domain([ax.Categorical("a", list("xyz")), ax.Integer("b", 0, 2)])
    seen = set()
    for threshold, digits in product((0.1, 0.35, 0.5, 0.8), (10, 2, 1)):
        model = BNClassifier(type_processor=DiscreteTypeProcessor(), significant_digit=digits)
        model.fromTrainedModel(network, "c", "p", threshold=threshold)
        form = _agree(model, domain)
        seen.add(tuple(form.outputs_at(_codes(domain))))
    assert len(seen) > 1


def test_a_network_of_ours_is_verified_and_saved() -> None:
    network = random_network(Random(8), n=4, shape="tree", zeros=0)
    domain = domain_of(network, ["x1", "x2", "x3"])
    model = network.with_output("x0")
    rows = list(domain.points())
    e = ax.Explainer(model, domain).explain(rows[0])
    assert ax.verify(e, model).ok
    assert ax.Explanation.from_json(e.to_json()).cxps == e.cxps
    assert isinstance(e.cxps[0].weight, Fraction)
    assert e.counterfactual().output != e.prediction


def _with_an_isolated_variable() -> ax.BayesianNetwork:
    return ax.BayesianNetwork(
        {"c": ["n", "p"], "a": ["x", "y"], "alone": ["u", "v"]},
        {"c": [0.5, 0.5], "a": [[0.25, 0.75], [0.75, 0.25]], "alone": [0.25, 0.75]},
        parents={"a": ["c"]},
    )


def _of_pyagrum(network: ax.BayesianNetwork) -> Any:
    gum = pytest.importorskip("pyagrum")
    made = gum.BayesNet()
    for v in network.variables:
        made.add(gum.LabelizedVariable(v.name, v.name, list(v.states)))
    for v in network.variables:
        for p in v.parents:
            made.addArc(network.variables[p].name, v.name)
    for v in network.variables:
        made.cpt(v.name).fillWith([float(p) for row in v.rows for p in row])
    return made


@pytest.mark.parametrize("kind", ["ours", "pgmpy", "pyagrum", ".bif", ".net"])
def test_a_hidden_variable_without_arrows(kind: str, tmp_path: Path) -> None:
    network = _with_an_isolated_variable()
    if kind.startswith("."):
        file = tmp_path / f"network{kind}"
        file.write_text((bif_text if kind == ".bif" else hugin_text)(network))
        network = ax.read_network(file)
    elif kind != "ours":
        network = ax.BayesianNetwork.of((_pgmpy if kind == "pgmpy" else _of_pyagrum)(network))
    model = network.with_output("c")
    domain = ax.Domain([ax.Categorical("a", ["x", "y"])])
    assert ax.read_model(model, domain).predict([["x"], ["y"]]) == ["p", "n"]
    assert ax.Explainer(model, domain).explain(["x"]).cxps[0].features == ("a",)


@pytest.mark.parametrize("kind", ["pgmpy", "pyagrum"])
@pytest.mark.parametrize("goal", ["c", "alone"])
def test_a_library_predicts_from_and_of_a_variable_without_arrows(kind: str, goal: str) -> None:
    network = _with_an_isolated_variable()
    model = (_pgmpy if kind == "pgmpy" else _of_pyagrum)(network)
    _agree(model, domain_of(network, [name for name in network.names if name != goal]))
