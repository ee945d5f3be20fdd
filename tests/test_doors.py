"""What comes out of one door comes out of every other: the same CXps, the same scores, the same refusals."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from sklearn.linear_model import LogisticRegression

import axfi_kc as ax
from axfi_kc.errors import AxfiError, BudgetError, IncompleteError, ResultFileError, WeightError
from axfi_kc.explanations.files import document as documents
from axfi_kc.explanations.files import domain_document
from axfi_kc.explanations.page import report_html
from axfi_kc.scores import SCORES, register_score
from axfi_kc.verification import definitions as games
from tests.support.doors import DOMAIN, DOORS, TABLE, check_commands, check_doors, check_means_and_pictures, explainer

mpl.use("agg")


SUFFIXES = ("jsonl", "parquet")
N = 13


def crowded(**options: Any) -> ax.Explainer:
    """Return an explainer of "at least five of 13 features are 1": without any of them, C(13, 5) = 1287 CXps."""
    X = list(product(range(2), repeat=N))
    model = LogisticRegression(C=1e6).fit(X, [sum(x) >= 5 for x in X])
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(N)])
    return ax.Explainer(model, domain, **options)


ROWS = [[0] * N, [1] * N, [0] * N]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", ["mdd", "obdd"])
@pytest.mark.parametrize("weights", ["ratio", "count", "unit"])
def test_a_file_holds_every_one_of_many_cxps(tmp_path: Path, suffix: str, target: str, weights: str) -> None:
    made = crowded(target=target, weights=weights)
    alone = made.explain(ROWS[0])
    saved = made.explain_to(tmp_path / f"out.{suffix}", ROWS)
    assert len(alone.cxps) == len(alone.to_dict()["cxps"]) == comb(N, 5)
    assert saved.cxp_counts == [comb(N, 5), comb(N, 9), comb(N, 5)] == made.explain_batch(ROWS).cxp_counts
    first, second, third = saved
    assert first.cxps == third.cxps == alone.cxps
    assert second.cxps == made.explain(ROWS[1]).cxps
    assert first.to_json() == alone.to_json()
    assert first.scores() == alone.scores() == {n: Fraction(t) for n, t in first.stated.scores["shapley"].items()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_through_two_targets_do_not_mix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    crowded(target="mdd").explain_to(path, ROWS)
    for target in ("auto", "obdd"):
        with pytest.raises(ResultFileError, match="another model, domain, options or data"):
            crowded(target=target).explain_to(path, ROWS)
    assert len(crowded(target="mdd").explain_to(path, ROWS)) == 3


@pytest.mark.parametrize("target", ["auto", "mdd"])
def test_more_cxps_than_a_document_holds(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5) - 1)
    made = crowded(target=target)
    alone = made.explain(ROWS[0])
    for suffix in SUFFIXES:
        path = tmp_path / f"few.{suffix}"
        saved = made.explain_to(path, ROWS, interactions=["moebius"])
        assert saved.cxp_counts == [comb(N, 5), comb(N, 9), comb(N, 5)]
        assert saved.scores().iloc[0].to_dict() == alone.scores()
        check_unlisted(next(iter(saved)), alone)
    check_unlisted(ax.Explanation.from_json(alone.to_json(interactions=["moebius"])), alone)
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5))
    assert len(json.loads(made.explain(ROWS[0]).to_json())["cxps"]) == comb(N, 5)
    assert [len(e.cxps) for e in made.explain_to(tmp_path / "out.jsonl", ROWS)] == [comb(N, 5), comb(N, 9), comb(N, 5)]


def check_unlisted(saved: Any, alone: Any) -> None:
    """Check what a file says of CXps that it does not list, and what it refuses."""
    assert (saved.cxp_count, saved.cxp_sizes) == (alone.cxp_count, alone.cxp_sizes)
    assert saved.relevant == alone.relevant
    for kind in ("shapley", "banzhaf"):
        assert saved.scores(kind) == alone.scores(kind)
        assert saved.shares(kind) == alone.shares(kind)
    assert saved.interactions("moebius") == alone.interactions("moebius")
    assert saved.to_frame(exact=True)["shapley"].to_dict() == alone.scores()
    assert ax.Explanation.from_json(saved.to_json(interactions=["moebius"])).scores() == alone.scores()
    assert "1,287" in repr(saved)
    assert "no list of them" in report_html(saved, interactions=["moebius"])
    assert saved.cxps
    for ask in (
        lambda: saved.axps,
        lambda: saved.forest,
        lambda: list(saved.cxps),
        lambda: saved.scores("ffa"),
        lambda: saved.interactions("shapley"),
        lambda: saved.interactions("moebius", order=3),
    ):
        with pytest.raises(IncompleteError, match="explain the instance again with the model"):
            ask()


NEED_ALL = [score.name for score in SCORES.values() if score.needs_all]


@pytest.mark.parametrize("kind", SCORES)
def test_every_score_passes_every_door(kind: str, tmp_path: Path) -> None:
    for target in ("auto", "mdd"):
        (tmp_path / target).mkdir()
        check_doors(kind, tmp_path / target, target=target)


@pytest.mark.parametrize("kind", SCORES)
def test_means_pictures_comparisons_and_notebooks(kind: str, tmp_path: Path) -> None:
    check_means_and_pictures(kind, tmp_path)


@pytest.mark.parametrize("kind", SCORES)
def test_the_command_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_commands(kind, tmp_path, capsys)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_alike(door: str, tmp_path: Path) -> None:
    names = ".*".join(map(re.escape, SCORES))
    with pytest.raises(WeightError, match=rf"^The score must be one of '{names}', but 'magic' was given; name one\.$"):
        DOORS[door](explainer(), TABLE, "magic", tmp_path)
    for kind in NEED_ALL:
        own = tmp_path / kind
        own.mkdir()
        with pytest.raises(IncompleteError, match=r"^AXps need all CXps, but only those of at most 1 feature were"):
            DOORS[door](explainer(max_size=1), TABLE, kind, own)


@pytest.mark.parametrize("kind", [name for name in SCORES if name not in NEED_ALL])
def test_scores_of_small_cxps_pass_every_door(kind: str, tmp_path: Path) -> None:
    check_doors(kind, tmp_path, max_size=1)


def test_a_refused_run_leaves_no_file(tmp_path: Path) -> None:
    for made, kinds in ((explainer(), ["magic"]), (explainer(max_size=1), ["shapley", "ffa"])):
        with pytest.raises(AxfiError):
            made.explain_to(tmp_path / "out.jsonl", TABLE, kinds=kinds)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", SCORES)
def test_changed_scores_are_refused(kind: str) -> None:
    document = explainer().explain(TABLE.iloc[0]).to_dict(kinds=[kind])
    name = next(n for n, s in document["scores"][kind].items() if s)
    document["scores"][kind][name] = "1/977"
    with pytest.raises(ResultFileError, match=f"The {kind} scores in the document do not follow from its CXps"):
        ax.Explanation.from_dict(document)


def test_scores_that_no_cxps_give_are_refused() -> None:
    document = explainer(max_size=1).explain(TABLE.iloc[0]).to_dict()
    document["scores"]["ffa"] = dict.fromkeys(DOMAIN.names, 0)
    with pytest.raises(ResultFileError, match="The ffa scores in the document do not follow from its CXps"):
        ax.Explanation.from_dict(document)


def test_checking_a_score_has_a_budget() -> None:
    """A file's CXps may give 2**30 AXps; "ffa" is then checked on a diagram, within what is allowed."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(60)])
    pairs = [(f"x{2 * i}", f"x{2 * i + 1}") for i in range(30)]
    document = ax.Explainer(lambda p: p[0], ax.Domain([ax.Integer("x0", 0, 1)])).explain([1]).to_dict(kinds=())
    document |= {"domain": domain_document(domain), "instance": [0] * 60}
    document |= {"cxps": [{"features": list(pair), "weight": "1/4"} for pair in pairs]}
    document["scores"] = {"ffa": dict.fromkeys(domain.names, "1/2")}
    assert set(ax.Explanation.from_dict(document).scores("ffa").values()) == {Fraction(1, 2)}
    with pytest.raises(BudgetError):
        ax.Explanation.from_dict(document, budget=ax.Budget(nodes=10))


def test_only_new_scores_can_be_registered() -> None:
    for name in ("shapley", "prediction", "two words"):
        with pytest.raises(WeightError, match=f"but '{name}' was given"):
            register_score(name, "about", needs="cxps")
    with pytest.raises(WeightError, match="one of 'weights', 'cxps', 'axps', 'game', but 'luck' was given"):
        register_score("lucky", "about", needs="luck")


def test_the_checker_knows_every_score() -> None:
    assert tuple(SCORES) == games.KINDS  # it shares no code with what it checks, so it has a list of its own
