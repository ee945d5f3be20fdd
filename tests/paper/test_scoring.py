"""The scores of the study: every kind, and how near sampling comes."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.data_sets import load
from benchmarks.paper.sampling import sampled_scores, sampling_errors
from benchmarks.paper.scoring import exact_shap, scores_of_instances
from benchmarks.paper.training import train
from tests.support.study_data import small_folder


@pytest.mark.parametrize("name", ["compas", "boston", "qt", "wine"])
def test_every_score_of_an_instance(tmp_path: Path, name: str) -> None:
    data = load(name, folder=small_folder(tmp_path))
    trained = train(data, seed=1, instances=4)
    found = json.loads(json.dumps(scores_of_instances(trained)))
    batch = trained.explainer().explain_batch(trained.instances)
    assert found["unfinished"] == 0
    assert [i["cxps"] for i in found["instances"]] == [len(e.cxps) for e in batch]
    for instance, e in zip(found["instances"], batch, strict=True):
        assert instance["scores"]["banzhaf"] == [float(s) for s in e.scores("banzhaf").values()]
        by_hand = [
            sum(Fraction(1, len(a.features) * len(e.axps)) for a in e.axps if name in a.features)
            for name in trained.domain.names
        ]
        assert instance["scores"]["wffa"] == [float(s) for s in by_hand]
        assert all(0 <= Fraction(v) <= Fraction(31, 32) for v in instance["overlaps"].values())


@pytest.mark.parametrize("name", ["compas", "boston", "qt"])
def test_shap_scores_add_up_to_the_distance_from_the_mean(tmp_path: Path, name: str) -> None:
    trained = train(load(name, folder=small_folder(tmp_path)), seed=1, instances=6)
    outputs = trained.explainer().explain_batch(trained.instances).predictions
    sums = [float(sum(s.values())) for s in exact_shap(trained, trained.instances, outputs)]
    values = trained.model.decision_function(trained.codes) if name == "qt" else trained.predict(trained.codes)
    assert np.ptp(values - np.array(sums)) < 1e-9


def test_one_row_by_its_numbers(tmp_path: Path) -> None:
    trained = train(load("compas", folder=small_folder(tmp_path)), seed=1, instances=4)
    e = trained.explainer().explain(trained.row((3, 1, 0, 2)))
    assert e.instance == {"CHAS": 3, "b": 1, "c": 0, "d": 2}


def test_sampled_scores_of_exact_weights_are_exact(tmp_path: Path) -> None:
    trained = train(load("qt", folder=small_folder(tmp_path)), seed=1, instances=3)
    e = trained.explainer().explain(trained.instances.iloc[[0]])
    cxps = [[trained.domain.index(n) for n in c.features] for c in e.cxps]
    found = sampled_scores(cxps, [float(c.weight) for c in e.cxps], trained.domain.names)
    for kind in ("shapley", "banzhaf"):
        assert list(found[kind].values()) == pytest.approx([float(s) for s in e.scores(kind).values()])


def test_sampling_converges(tmp_path: Path) -> None:
    trained = train(load("qt", folder=small_folder(tmp_path)), seed=1, instances=3)
    coarse, fine = (sampling_errors(trained, seed=0, samples=n) for n in (10, 20_000))
    assert 0 < fine["weight_largest"] < 0.02 < coarse["weight_largest"]
    assert fine["shapley"]["score_largest"] <= fine["weight_largest"]
    assert fine["instances"] == 3
