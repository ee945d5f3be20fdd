"""Circuits of other people's tools are explained as these tools, or exhaustive tables, recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.circuit.regions import InstanceBoxes, Region
from axfi_kc.families.masks import minimal_hitting_sets, sorted_sets
from axfi_kc.models import CircuitModel
from tests.support.shared_data import shared_file

BOOLEAN = (
    *("Mammographic-mass", "adult", "chess", "compas", "german", "lending", "monk1", "monk2", "parity5+5"),
    *("primary-tumor", "promoters", "recidivism", "spect", "threeOf9", "tic_tac_toe", "xd6"),
)
SMALL = ("mofn_3_7_10", "parity5+5", "spect", "xd6")  # every feature is one bit
ONE_HOT = ("adult", "compas", "german", "recidivism")
TRUE_DOMAIN = ("compas", "mofn_3_7_10", "parity5+5", "recidivism", "xd6")


@dataclass(frozen=True)
class Reference:
    """A recorded circuit and what was recorded of its instances."""

    domain: ax.Domain
    circuit: Circuit
    instances: list[dict[str, Any]]

    @property
    def points(self) -> list[list[int]]:
        return [instance["values"] for instance in self.instances]


def reference(folder: str, name: str) -> Reference:
    data = recorded(folder, name)
    features = data["features"]
    domain = ax.Domain([ax.Categorical(f["name"], list(map(int, f["values"]))) for f in features])
    cells = {literal: (i, [c]) for i, f in enumerate(features) for c, literal in enumerate(f["literals"])}
    for literal, (i, own) in list(cells.items()):
        cells.setdefault(-literal, (i, [c for c in range(len(features[i]["values"])) if c not in own]))
    return Reference(domain, circuit_of(data, domain, cells), data["instances"])


def recorded(folder: str, name: str) -> dict[str, Any]:
    return json.loads(shared_file("refs", folder, f"{name}.json").read_text())


def circuit_of(data: dict[str, Any], domain: ax.Domain, cells: dict[int, tuple[int, list[int]]]) -> Circuit:
    """Return the recorded circuit; `cells` has the feature and the cells of each literal."""
    build = CircuitBuilder(Grid.of_values(domain))
    made: dict[int, int] = {}
    stack = [data["root"]]
    while stack:
        kind, below = data["nodes"][str(stack[-1])]
        missing = [] if kind == "L" else [child for child in below if child not in made]
        if missing:
            stack += missing
            continue
        if kind == "L":
            made[stack[-1]] = build.literal(*cells[int(below)])
        else:
            join = build.conjunction if kind == "AND" else build.disjunction
            made[stack[-1]] = join(made[child] for child in below)
        stack.pop()
    return build.circuit(made[data["root"]])


def sets(domain: ax.Domain, families: Any) -> set[frozenset[int]]:
    return {frozenset(map(domain.index, found.features)) for found in families}


@pytest.mark.parametrize("name", BOOLEAN)
def test_numbers_of_explanations(name: str) -> None:
    ref = reference("ddnnf_frp", name)
    model = CircuitModel.of(ref.circuit)
    assert not model.converted
    batch = ax.Explainer(model, ref.domain).explain_batch(ref.points)
    assert len(batch) == 100
    assert batch.predictions == [instance["prediction"] for instance in ref.instances]
    for e, instance in zip(batch, ref.instances, strict=True):
        assert (len(e.axps), len(e.cxps)) == (instance["n_axps"], instance["n_cxps"])
        assert (ref.domain.names[instance["query_feature"]] in e.relevant) == instance["relevant"]
        if instance["one_axp"] is not None:
            assert frozenset(instance["one_axp"]) in sets(ref.domain, e.axps)


@pytest.mark.parametrize("name", SMALL)
def test_families_over_bits(name: str) -> None:
    ref = reference("ddnnf", name)
    model = CircuitModel.of(ref.circuit)
    assert not model.converted
    for e, instance in zip(ax.Explainer(model, ref.domain).explain_batch(ref.points), ref.instances, strict=True):
        assert sets(ref.domain, e.cxps) == set(map(frozenset, instance["cxps"]))
        assert sets(ref.domain, e.axps) == set(map(frozenset, instance["axps"]))


@pytest.mark.parametrize("name", TRUE_DOMAIN)
def test_families_and_counts_over_the_true_domain(name: str) -> None:
    """Several bits of a feature under one conjunction: the model is converted, invalid codes are no points."""
    ref = reference("ddnnf", name)
    model = CircuitModel.of(ref.circuit, outputs=(0, 1))
    assert model.converted == (name not in SMALL)
    batch = ax.Explainer(model, ref.domain, weights="count").explain_batch(ref.points)
    assert batch.predictions == [instance["prediction"] for instance in ref.instances]
    for e, instance in zip(batch, ref.instances, strict=True):
        found = {frozenset(map(ref.domain.index, c.features)): c.weight for c in e.cxps}
        counts = zip(map(frozenset, instance["true_domain_cxps"]), instance["aex_counts"], strict=True)
        assert found == dict(counts)


@pytest.mark.parametrize("name", ONE_HOT)
def test_families_over_groups_of_bits(name: str) -> None:
    """The tool frees all bits of a feature, invalid codes too; its families are right and complete in that sense."""
    data = recorded("ddnnf", name)
    variables = sorted({abs(literal) for f in data["features"] for literal in f["literals"]})
    domain = ax.Domain([ax.Integer(f"b{k}", 0, 1) for k in variables])
    place = {k: i for i, k in enumerate(variables)}
    cells = {sign * k: (i, [(sign + 1) // 2]) for k, i in place.items() for sign in (1, -1)}
    model = CircuitModel.of(circuit_of(data, domain, cells))
    assert not model.converted
    regions = {y: Region.of(*model.region([y, not y])) for y in (False, True)}
    owned = [{place[abs(literal)] for literal in f["literals"]} for f in data["features"]]
    for instance in data["instances"]:
        codes = np.array([[x for _, x in sorted(bit_values(data, instance))]])
        boxes = InstanceBoxes(regions[model.decide(codes)[0]], codes[0])
        scope = boxes.region.scope.tolist()
        bits = [sum(1 << k for k, i in enumerate(scope) if i in owned[f]) for f in range(len(owned))]

        def changes(Y: Iterable[int], boxes: InstanceBoxes = boxes, bits: list[int] = bits) -> bool:
            return boxes.is_weak(sum(bits[i] for i in Y))

        everything = set(range(len(bits)))
        for Y in instance["cxps"]:
            assert changes(Y)
            assert not any(changes(set(Y) - {i}) for i in Y)
        for X in instance["axps"]:
            assert not changes(everything - set(X))
            assert all(changes(everything - set(X) | {i}) for i in X)
        masks = [sum(1 << i for i in Y) for Y in instance["cxps"]]
        assert minimal_hitting_sets(masks) == sorted_sets(sum(1 << i for i in X) for X in instance["axps"])


def bit_values(data: dict[str, Any], instance: dict[str, Any]) -> set[tuple[int, int]]:
    """Return the variables with their values at an instance."""
    found = set()
    for f, value in zip(data["features"], instance["values"], strict=True):
        own = f["literals"][list(map(int, f["values"])).index(value)]
        for k in {abs(literal) for literal in f["literals"]}:
            found.add((k, int(own == k)))
    return found
