"""Results in JSON say exactly what the explanations say."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.errors import IncompleteError, ResultFileError
from axfi_kc.explanations.cxps import weighted_cxps
from axfi_kc.explanations.explainer import Explanation
from axfi_kc.explanations.tables import SavedExplanation
from tests.support import strategies
from tests.support.paper_example import paper


@given(strategies.cases, st.sampled_from(["ratio", "unit"]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_explanations_come_back(case: strategies.Case, weights: str) -> None:
    problem = case.problem
    e = Explanation(problem, None, weighted_cxps(problem, weights=weights))
    text = e.to_json()
    saved = ax.Explanation.from_json(text)
    assert isinstance(saved, SavedExplanation)
    for name in ("prediction", "instance", "cxps", "axps", "relevant", "weights", "max_size", "delta", "model_kind"):
        assert getattr(saved, name) == getattr(e, name)
    assert type(saved.prediction) is type(e.prediction)
    assert saved.domain == e.domain
    for kind in ("shapley", "banzhaf"):
        assert saved.scores(kind) == e.scores(kind)
    assert saved.forest.value(saved.relevant) == e.forest.value(e.relevant)
    assert saved.to_json(axps=True) == e.to_json(axps=True)
    assert "axps" in json.loads(text)
    assert saved.to_dict()["axps"] is None  # though they were asked for above


def test_a_document_says_what_it_is() -> None:
    document = paper("count").to_dict()
    assert (document["format"], document["version"], document["model"]) == ("axfi-kc explanation", 1, "TableModel")
    assert document["cxps"][1] == {"features": ["x1", "x3"], "weight": 4}
    assert document["scores"]["shapley"] == {"x1": "5/6", "x2": "1/2", "x3": 1}
    assert document["axps"] is None
    assert paper().to_dict(axps=True)["axps"] == [["x1", "x2"], ["x1", "x3"], ["x2", "x3"]]


def test_sets_of_bounded_size_have_no_axps() -> None:
    saved = ax.Explanation.from_json(paper(max_size=2).to_json())
    with pytest.raises(IncompleteError, match="at most 2 features"):
        saved.axps  # noqa: B018
    assert "3 CXps of at most 2 features" in repr(saved)
    assert repr(ax.Explanation.from_json(paper("count").to_json())) == repr(paper("count")).replace("<", "<Saved")


DOCUMENT = paper("count").to_dict(axps=True)


def damaged(document: dict, draw: st.DataObject) -> dict:
    """Replace one entry, anywhere, by something else."""
    found = copy.deepcopy(document)
    holder, key = found, draw.draw(st.sampled_from(sorted(found)))
    while draw.draw(st.booleans()) and isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        key = draw.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
    holder[key] = draw.draw(
        st.sampled_from([None, -1, 0, 2.5, "", "1/0", "a", "0x", True, [], {}, [[]], [{}], {"tuple": [{"tuple": []}]}])
    )
    return found


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_hostile_documents_raise_only_our_errors(data) -> None:
    text = json.dumps(damaged(DOCUMENT, data))
    try:
        saved = ax.Explanation.from_json(text)
    except ResultFileError:
        return
    saved.scores("banzhaf"), saved.axps, saved.forest.value(saved.relevant), repr(saved), saved._repr_html_()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}', "{}", '{"format": "axfi-kc explanation", "version": 2}',
     '{"a": ' + "9" * 5000 + "}", b"\xff\xfe\x00"],
)  # fmt: skip
def test_other_texts_are_refused(text) -> None:
    with pytest.raises(ResultFileError):
        ax.Explanation.from_json(text)


def test_changed_scores_are_noticed() -> None:
    document = paper().to_dict()
    document["scores"]["banzhaf"]["x1"] = "1/7"
    with pytest.raises(ResultFileError, match="was changed"):
        ax.Explanation.from_dict(document)
