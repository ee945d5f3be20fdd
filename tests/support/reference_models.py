"""Other people's results on boosted trees, as problems of this library (see tests/support/shared_data.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import axfi_kc as ax
from axfi_kc.models import TreeSum
from tests.support.shared_data import shared_file

BOOSTED = ("pima", "compas", "lending", "recidivism", "appendicitis", "adult")


@dataclass(frozen=True)
class Reference:
    """A model, its domain, and recorded instances."""

    model: TreeSum
    domain: ax.Domain
    instances: list[dict[str, Any]]

    def point(self, instance: dict[str, Any]) -> list[Any]:
        """Return an instance in the domain's own values."""
        return [
            int(x) if isinstance(f, ax.Categorical) else x
            for f, x in zip(self.domain.features, instance["values"], strict=True)
        ]


def boosted_reference(name: str) -> Reference:
    """Return one of the six reference models, or skip the test."""
    record = json.loads(shared_file("refs", f"ref_bt_{name}.json").read_text())
    path = shared_file("refs", *record["model_xgboost_json"].split("/"))
    domain = ax.Domain([_feature(f, k, record, path) for k, f in enumerate(record["features"])])
    return Reference(ax.read_xgboost(path, domain), domain, record["instances"])


def _feature(described: dict[str, Any], k: int, record: dict[str, Any], path: Path) -> ax.Categorical | ax.Real:
    """Return a feature; a numeric one is bounded outside every threshold and every instance."""
    name, columns = described["name"], described["columns"]
    if described["type"] == "categorical":
        return ax.Categorical(name, range(len(columns)), columns=[f"c{c}" for c in columns])
    values = [*_thresholds(path, columns[0]), *(i["values"][k] for i in record["instances"])]
    return ax.Real(name, min(values) - 1, max(values) + 1)


def _thresholds(path: Path, column: int) -> list[float]:
    trees = json.loads(path.read_text())["learner"]["gradient_booster"]["model"]["trees"]
    return [
        t["split_conditions"][n]
        for t in trees
        for n in range(len(t["left_children"]))
        if t["left_children"][n] >= 0 and t["split_indices"][n] == column
    ]


def check_instance(reference: Reference, explainer: ax.Explainer, instance: dict[str, Any]) -> ax.Explanation:
    """Explain one instance and raise AssertionError unless everything recorded is found again."""
    e = explainer.explain(reference.point(instance))
    names = reference.domain.names
    found = {frozenset(c.features): c.weight for c in e.cxps}
    recorded = [frozenset(names[i] for i in cxp) for cxp in instance["cxps"]]
    assert e.prediction == instance["prediction"]
    assert set(found) == set(recorded)
    assert {frozenset(a.features) for a in e.axps} == {frozenset(names[i] for i in a) for a in instance["axps"]}
    if "aex_counts" in instance:
        assert [found[cxp] for cxp in recorded] == instance["aex_counts"]
    return e
