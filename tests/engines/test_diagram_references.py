"""Other people's numbers of explanations, and their scores, found again through families."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets.obdd import obdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.diagram.ordered_diagram import OrderedDiagram
from tests.support.reference_models import BOOSTED, boosted_reference
from tests.support.shared_data import shared_file

BOOLEAN = (
    "Mammographic-mass", "adult", "chess", "compas", "german", "lending", "monk1", "monk2", "parity5+5",
    "primary-tumor", "promoters", "recidivism", "spect", "threeOf9", "tic_tac_toe", "xd6",
)  # fmt: skip
TRUE_DOMAIN = ("compas", "mofn_3_7_10", "parity5+5", "recidivism", "xd6")
INSTANCES = 8  # of each circuit, in the fast tests


def circuit_of(record: dict[str, Any], *, negated: bool) -> Circuit:
    """Return a recorded circuit, whose literals are about cells of features, or its negation."""
    domain = ax.Domain([ax.Categorical(f["name"], f["values"]) for f in record["features"]])
    build = CircuitBuilder(Grid.of_values(domain))
    literal = dict(literals(record, domain))
    made: dict[int, int] = {}
    for node in children_first(record):
        kind, what = record["nodes"][str(node)][:2]
        if kind == "L":
            i, cells = literal[int(what)]
            rest = [c for c in range(len(record["features"][i]["values"])) if c not in cells]
            made[node] = build.literal(i, rest if negated else cells)
        else:
            gate = build.conjunction if (kind == "AND") != negated else build.disjunction
            made[node] = gate([made[int(c)] for c in what])
    return build.circuit(made[int(record["root"])])


def literals(record: dict[str, Any], domain: ax.Domain) -> Iterator[tuple[int, tuple[int, list[int]]]]:
    for i, feature in enumerate(record["features"]):
        n = len(feature["values"])
        for cell, literal in enumerate(feature["literals"]):
            yield literal, (i, [cell])
            if -literal not in feature["literals"]:
                yield -literal, (i, [c for c in range(n) if c != cell])


def children_first(record: dict[str, Any]) -> list[int]:
    found: dict[int, None] = {}
    stack = [(int(record["root"]), False)]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if ready:
            found[node] = None
            continue
        stack.append((node, True))
        kind, what = record["nodes"][str(node)][:2]
        stack += [] if kind == "L" else [(int(c), False) for c in what]
    return list(found)


def cells_of(record: dict[str, Any], instance: dict[str, Any]) -> list[int]:
    """Return an instance's cells."""
    return [f["values"].index(str(x)) for f, x in zip(record["features"], instance["values"], strict=True)]


@pytest.mark.parametrize("name", BOOLEAN)
def test_numbers_of_explanations_of_boolean_circuits(name: str) -> None:
    record = json.loads(shared_file("refs", "ddnnf_frp", f"{name}.json").read_text())
    diagrams = {}
    for instance in record["instances"][:INSTANCES]:
        v, output = cells_of(record, instance), instance["prediction"]
        if output not in diagrams:
            diagrams[output] = OrderedDiagram(obdd_of(circuit_of(record, negated=output)).to_circuit())
        assert not diagrams[output].reaches_true(v, 0)
        cxps = diagrams[output].cxps(v)
        axps = cxps.hitting_sets()
        assert (cxps.count, axps.count) == (instance["n_cxps"], instance["n_axps"])
        assert bool(axps.support >> instance["query_feature"] & 1) == instance["relevant"]


@pytest.mark.parametrize("name", TRUE_DOMAIN)
def test_cxps_and_counts_over_true_domains(name: str) -> None:
    record = json.loads(shared_file("refs", "ddnnf", f"{name}.json").read_text())
    diagrams = {}
    for instance in record["instances"][:INSTANCES]:
        v, output = cells_of(record, instance), bool(instance["prediction"])
        if output not in diagrams:
            diagrams[output] = OrderedDiagram(obdd_of(circuit_of(record, negated=output)).to_circuit())
        assert not diagrams[output].reaches_true(v, 0)
        cxps = diagrams[output].cxps(v)
        worths = [(1,) * len(f["values"]) for f in record["features"]]
        wanted = {
            sum(1 << i for i in Y): n for Y, n in zip(instance["true_domain_cxps"], instance["aex_counts"], strict=True)
        }
        assert diagrams[output].totals(v, cxps, worths) == wanted


@pytest.mark.parametrize("name", BOOSTED)
def test_ffa_and_wffa_of_boosted_trees(name: str) -> None:
    reference = boosted_reference(name)
    explainer = ax.Explainer(reference.model, reference.domain, weights="unit")
    names = reference.domain.names
    for instance in reference.instances[:INSTANCES]:
        e = explainer.explain(reference.point(instance))
        recorded = [{names[i] for i in axp} for axp in instance["axps"]]
        n = len(recorded)
        assert e.axp_family.count == len(e.axps) == n
        assert e.scores("ffa") == {j: Fraction(sum(j in S for S in recorded), n) for j in names}
        shares = {j: sum((Fraction(1, len(S)) for S in recorded if j in S), Fraction(0)) / n for j in names}
        assert e.scores("wffa") == e.scores("deegan_packel") == shares
        sizes = {j: [len(S) for S in recorded if j in S] for j in names}
        assert e.scores("responsibility") == {j: Fraction(1, min(s)) if s else 0 for j, s in sizes.items()}
