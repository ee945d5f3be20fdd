"""Weights under Bayesian networks and PSDDs against the definition: P(not similar | x = v outside Y)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.circuits.files import Variables, write_vtree
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.distribution import Mixture
from axfi_kc.domain.grid import Grid
from axfi_kc.explanations.page import write_report
from tests.support.random_networks import SHAPES, domain_of, random_network
from tests.support.random_psdds import psdd_text

TARGETS = ("auto", "mdd", "obdd", "sdd", "ddnnf")
Point = tuple[Any, ...]


def _chances(domain: ax.Domain) -> dict[Point, Fraction]:
    joint = domain.distribution
    assert joint is not None
    rows = list(domain.points())
    return {p: joint.probability(dict(enumerate(map(int, domain.encode_point(p))))) for p in rows}


def _check(domain: ax.Domain, outputs: dict[Point, int], chances: dict[Point, Fraction], v: Point) -> None:
    for target in TARGETS:
        e = ax.Explainer(lambda p: outputs[p], domain, target=target).explain(list(v))
        for cxp in e.cxps:
            free = {domain.index(n) for n in cxp.features}
            box = [p for p in outputs if all(i in free or a == b for i, (a, b) in enumerate(zip(p, v, strict=True)))]
            whole = sum((chances[p] for p in box), Fraction(0))
            assert cxp.weight == sum((chances[p] for p in box if outputs[p] != outputs[v]), Fraction(0)) / whole


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_conditional_probabilities_of_the_network(seed: int, shape: str) -> None:
    rng = Random(f"{seed} {shape}")
    network = random_network(rng, n=5, shape=shape, zeros=0, floats=seed == 1)
    domain = domain_of(network, network.names[rng.randint(0, 1) :]).with_distribution(network)
    if seed == 2:
        assert domain.distribution is not None
        other = random_network(rng, n=5, shape=shape, zeros=0)
        same = [len(v.states) for v in other.variables] == [len(v.states) for v in network.variables]
        parts = (domain.distribution, other.over(domain) if same else domain.distribution)
        domain = domain.with_distribution(Mixture(parts, (Fraction(1, 3), Fraction(2, 3))))
    chances = _chances(domain)
    assert sum(chances.values()) == 1
    outputs = {p: rng.randrange(2) for p in chances}
    _check(domain, outputs, chances, rng.choice(list(outputs)))
    model = ax.TableModel.from_outputs(ax.Domain(domain.features), list(outputs.values()))
    for target in ("mdd", "ddnnf"):
        compiled = ax.compile_model(model, domain, output=1, target=target)
        assert compiled.probability() == sum((c for p, c in chances.items() if outputs[p] == 1), Fraction(0))


def test_weights_under_a_psdd(tmp_path: Path) -> None:
    rng = Random(2)
    plain = ax.Domain([ax.Integer("a", 0, 1), ax.Categorical("b", "xyz"), ax.Integer("c", 0, 1)])
    bits = Variables.of_code(Grid.of_values(plain), code="binary").bits
    tree = Vtree.balanced(range(len(bits)))
    write_vtree(tree, tmp_path / "p.vtree")
    checked = 0
    while checked < 3:
        (tmp_path / "p.psdd").write_text(psdd_text(rng, tree, zeros=0))
        try:
            domain = plain.with_distribution(ax.read_psdd(tmp_path / "p.psdd", plain, code="binary"))
        except ax.errors.DomainError:
            continue
        chances = _chances(domain)
        if all(chances.values()):
            outputs = {p: rng.randrange(2) for p in chances}
            _check(domain, outputs, chances, rng.choice(list(outputs)))
            checked += 1


def test_an_edgeless_uniform_network_gives_the_same_fractions() -> None:
    domain = ax.Domain([ax.Categorical("a", "xyz"), ax.Integer("b", 0, 3), ax.Categorical("c", "xy")])
    sizes = {f.name: f.size for f in domain.features}
    states = {
        f.name: [str(v) for v in (f.values if isinstance(f, ax.Categorical) else range(4))] for f in domain.features
    }
    network = ax.BayesianNetwork(states, {name: [Fraction(1, n)] * n for name, n in sizes.items()})
    rng = Random(1)
    outputs = {p: rng.randrange(3) for p in domain.points()}
    for row in list(outputs)[:6]:
        plain = ax.Explainer(lambda p: outputs[p], domain).explain(list(row))
        joint = ax.Explainer(lambda p: outputs[p], domain.with_distribution(network)).explain(list(row))
        assert joint.cxps == plain.cxps
        assert joint.scores("shapley") == plain.scores("shapley")


def test_a_distribution_that_excludes_v_is_one_sentence() -> None:
    network = ax.BayesianNetwork({"a": "xy", "b": "xy"}, {"a": [1, 0], "b": [[1, 0], [0, 1]]}, parents={"b": ["a"]})
    domain = domain_of(network).with_distribution(network)
    explainer = ax.Explainer(lambda p: p[0] == p[1], domain)
    with pytest.raises(ax.errors.DomainError, match="probability 0") as caught:
        explainer.explain(["y", "y"])
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("seed", range(3))
def test_every_door_takes_a_network(seed: int, tmp_path: Path) -> None:
    """A network is the model and another one the distribution: batches, streams, documents, pages and the checker."""
    rng = Random(seed)
    network = random_network(rng, n=4, shape="tree", zeros=0)
    domain = domain_of(network, network.names[1:]).with_distribution(network)
    model = network.with_output("x0")
    rows = [list(p) for p in domain.points()][:4]
    explainer = ax.Explainer(model, domain)
    batch = explainer.explain_batch(rows)
    for e in batch:
        assert ax.verify(e, model).ok
        saved = ax.Explanation.from_json(e.to_json())
        assert saved.cxps == e.cxps
        assert saved.domain == domain
        assert ax.verify(saved, model).ok
    explainer.explain_to(tmp_path / "rows.jsonl", rows)
    assert [e.cxps for e in ax.read_results(tmp_path / "rows.jsonl")] == [e.cxps for e in batch]
    write_report(batch, tmp_path / "page.html")
    assert "a Bayesian network of 4 variables" in (tmp_path / "page.html").read_text()
