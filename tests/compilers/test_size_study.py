"""Studies of sizes."""

from __future__ import annotations

import json

import matplotlib as mpl
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.compilers.size_study import size_study
from axfi_kc.domain.constraints import at_most_one, feature
from axfi_kc.errors import AxfiError
from axfi_kc.plots import plot_sizes

DOMAIN = ax.Domain([ax.Integer(name, 0, 2) for name in "abcd"])
MODELS = {"most": lambda p: int(sum(p) >= 4), "far": lambda p: int(p[0] == p[2] and p[1] == p[3])}


@pytest.fixture(scope="module")
def study():
    return size_study(
        {**MODELS, "constrained": (MODELS["most"], DOMAIN.where(at_most_one(feature("a") == 1, feature("b") == 1)))},
        DOMAIN,
        codes=("order", "binary"),
        orders=["given"],
        vtrees=["balanced"],
        seeds=[0, 1],
        searches=["sift", "window", "vtree"],
    )


def test_all_ways_are_rows_and_agree(study):
    frame = study.frame
    assert set(frame["model"]) == {*MODELS, "constrained"}
    assert frame["agrees"].all()
    of_mdd = frame[(frame["model"] == "far") & (frame["target"] == "mdd")]
    assert list(of_mdd["order"])[:3] == ["given", "given, sifted", "given, window"]
    assert of_mdd.iloc[0]["nodes"] > of_mdd.iloc[1]["nodes"]  # a next to c is better
    assert of_mdd.iloc[0]["nodes"] > of_mdd.iloc[2]["nodes"]
    assert set(frame["seed"].dropna()) == {0, 1}
    assert "random" in set(frame[frame["target"] == "sdd"]["vtree"])
    assert set(frame[frame["model"] == "constrained"]["constraints"]) == {"with", "without"}


def test_sizes_of_the_libraries_stand_beside_ours(study):
    sdd = study.frame[study.frame["target"] == "sdd"]
    assert (sdd["library_nodes"] == sdd["nodes"]).all()
    assert (sdd["library_edges"] == sdd["edges"]).all()
    obdd = study.frame[study.frame["target"] == "obdd"]
    assert (obdd["library_nodes"] <= obdd["nodes"] + 1).all()  # the constant; complements are one node
    assert study.frame["circuit_nodes"].notna().all()


def test_the_best_rows_are_drawn_and_saved(study, tmp_path):
    best = study.best("edges")
    assert len(best) == 4 * 4
    for _, row in best.iterrows():
        same = study.frame[(study.frame["model"] == row["model"]) & (study.frame["target"] == row["target"])]
        same = same if pd.isna(row["constraints"]) else same[same["constraints"] == row["constraints"]]
        assert row["edges"] == same["edges"].min()
    mpl.use("Agg")
    assert plot_sizes(best).get_yticklabels()[0].get_text().startswith("most, mdd")
    for suffix in (".csv", ".json", ".html"):
        study.save(tmp_path / f"sizes{suffix}")
    assert len(pd.read_csv(tmp_path / "sizes.csv")) == len(study.frame)
    rows = json.loads((tmp_path / "sizes.json").read_text())
    assert rows[0]["probability"] == str(study.frame["probability"].iloc[0])


def test_rows_come_one_by_one():
    seen = []
    size_study(
        MODELS, DOMAIN, targets=["mdd"], orders=["given"], on_row=lambda name, row: seen.append((name, row.target))
    )
    assert seen == [("most", "mdd"), ("far", "mdd")]


def test_bad_input_is_one_sentence(study, tmp_path):
    for call in (
        lambda: size_study({}, DOMAIN),
        lambda: size_study(MODELS),
        lambda: size_study(MODELS, DOMAIN, searches=["anneal"]),
        lambda: size_study(MODELS, DOMAIN, targets=["bdd"]),
        lambda: study.best("levels"),
        lambda: study.save(tmp_path / "sizes.txt"),
    ):
        with pytest.raises(AxfiError) as raised:
            call()
        assert str(raised.value).count(". ") == 0
