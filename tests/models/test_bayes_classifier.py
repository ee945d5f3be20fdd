"""Bayesian-network classifiers against the joint table of their networks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.compilers import compile_mdd
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.models import BayesClassifier, Similarity
from tests.support.random_networks import SHAPES, domain_of, most_probable, random_network


def _problem(seed: int, shape: str) -> tuple[BayesianNetwork, ax.Domain, dict[tuple[int, ...], object]]:
    rng = Random(f"{shape} {seed}")
    network = random_network(
        rng, n=rng.randint(2, 6), shape=shape, zeros=rng.choice((0, 0.1, 0.5)), floats=seed % 2 == 0
    )
    target = "x0" if shape in ("naive", "tree") else rng.choice(network.names)
    others = [name for name in network.names if name != target]
    rng.shuffle(others)
    hidden = rng.randint(0, 1) if len(others) > 2 and shape == "general" else 0
    features = others[hidden:]
    domain = domain_of(network, features)
    return network.with_output(target), domain, most_probable(network, target, features)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(12))
def test_outputs_and_diagrams_are_those_of_the_joint_table(seed: int, shape: str) -> None:
    network, domain, outputs = _problem(seed, shape)
    model = ax.read_model(network, domain)
    assert isinstance(model, BayesClassifier)
    points = list(itertools.product(*(range(f.size) for f in domain.features)))
    assert model.decide(np.array(points)) == [outputs[p] for p in points]
    for order in ("influence", "given", "force"):
        for output in model.outputs:
            circuit = compile_mdd(model, output, Similarity(), order=order)
            assert queries.is_ordered(circuit)
            held = set(map(tuple, queries.cell_models(circuit)))
            assert held == {p for p in points if outputs[p] != output}


@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_those_of_the_table(seed: int) -> None:
    network, domain, outputs = _problem(seed, "general")
    rows = list(domain.points())
    table = ax.TableModel.from_outputs(domain, [outputs[tuple(map(int, domain.encode_point(r)))] for r in rows])
    if len(table.outputs) < 2:
        return
    for target in ("auto", "mdd", "obdd", "sdd", "ddnnf"):
        ours = ax.Explainer(network, domain, target=target).explain_batch(rows[:4])
        theirs = ax.Explainer(table, domain).explain_batch(rows[:4])
        assert [e.cxps for e in ours] == [e.cxps for e in theirs]
        assert [e.axps for e in ours] == [e.axps for e in theirs]
    assert network.predict([dict(zip(domain.names, r, strict=True)) for r in rows[:5]]) == table.predict(rows[:5])


def test_constraints_cut_a_classifier_too() -> None:
    network, domain, _ = _problem(4, "tree")
    possible = domain.where(ax.feature(domain.names[0]) == "s0")
    model = ax.read_model(network, possible)
    whole = ax.read_model(network, domain)
    rows = [r for r in domain.points() if r[0] == "s0"]
    assert model.predict(rows) == whole.predict(rows)


def test_bins_of_numbers_are_cells() -> None:
    network = BayesianNetwork(
        {"c": ["n", "y"], "age": ["young", "old"]},
        {"c": [0.5, 0.5], "age": [[0.75, 0.25], [0.25, 0.75]]},
        parents={"age": ["c"]},
        bins={"age": [30]},
        output="c",
    )
    for feature in (ax.Real("age", 0, 90), ax.Integer("age", 0, 90)):
        domain = ax.Domain([feature])
        model = ax.read_model(network, domain)
        assert model.predict([[29], [30], [31]]) == ["n", "y", "y"]
        assert network.predict([{"age": 29}, {"age": 30}]) == ["n", "y"]
        explanation = ax.Explainer(network, domain).explain([40])
        assert explanation.cxps[0].weight == Fraction(30, 90 if isinstance(feature, ax.Real) else 91)


def test_which_variable_is_the_class() -> None:
    network = random_network(Random(1), n=4)
    with pytest.raises(ax.errors.UnsupportedModelError, match="with_output"):
        ax.read_model(network, domain_of(network, ["x0", "x1"]))
    with pytest.raises(ax.errors.UnsupportedModelError, match="feature of the domain"):
        ax.read_model(network.with_output("x1"), domain_of(network, ["x0", "x1"]))
    assert ax.read_model(network, domain_of(network, ["x0", "x1", "x2"])).labels == network.variables[3].states


def _scattered(rng: Random) -> tuple[BayesianNetwork, list[str]]:
    """Return a network of few arrows, some variables of one state, with an output, and some features of it."""
    names = [f"x{k}" for k in range(rng.randint(2, 5))]
    states = {name: [f"s{k}" for k in range(rng.choice((1, 2, 2, 3)))] for name in names}
    parents = {name: [p for p in names[:k] if rng.random() < 0.3] for k, name in enumerate(names)}
    rows = {}
    for name in names:
        n_rows = math.prod(len(states[p]) for p in parents[name])
        weights = [[rng.randint(0, 4) for _ in states[name]] for _ in range(n_rows)]
        rows[name] = [[Fraction(w, sum(row)) if any(row) else Fraction(1, len(row)) for w in row] for row in weights]
    output, *others = rng.sample(names, len(names))
    features = others[: rng.randint(1, len(others))]
    return BayesianNetwork.of_rows(states, rows, parents=parents, output=output), features


@pytest.mark.parametrize("first", range(6))
def test_isolated_variables_and_variables_of_one_state(first: int) -> None:
    """Alone may be a feature, a hidden variable, or the class; all of them occur among these."""
    for seed in range(first, 120, 6):
        network, features = _scattered(Random(seed))
        domain = domain_of(network, features)
        outputs = most_probable(network, network.output, features)
        points = [tuple(f"s{k}" for k in point) for point in outputs]
        model = ax.read_model(network, domain)
        assert model.predict(points) == list(outputs.values())
        assert network.predict([dict(zip(features, p, strict=True)) for p in points]) == list(outputs.values())
        for label in model.labels:
            compiled = ax.compile_model(network, domain, output=label, target="mdd")
            assert compiled.count() == list(outputs.values()).count(label)
