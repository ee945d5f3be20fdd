"""Results in JSON, tables and HTML say exactly what the explanations say."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from itertools import combinations
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc import Batch, Explanation, SavedExplanation, compare
from axfi_kc.errors import DomainError, IncompleteError, ResultFileError
from axfi_kc.explanations.comparison import concordance, rank_overlap
from axfi_kc.explanations.cxps import weighted_cxps
from axfi_kc.explanations.files import domain_document, domain_of
from axfi_kc.json_text import number_of, number_text, value_of, value_text
from tests import strategies

ONES = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
DOMAIN = ax.Domain([ax.Integer("x1", 0, 2), ax.Integer("x2", 0, 1), ax.Integer("x3", 0, 2)])


def paper(weights: str = "ratio", **options) -> Explanation:
    return ax.Explainer(lambda p: int(p in ONES), DOMAIN, weights=weights, **options).explain((2, 1, 2))


def batch(weights: str = "ratio") -> Batch:
    points = [p for p in DOMAIN.points() if p in ONES]
    frame = pd.DataFrame(points, columns=DOMAIN.names, index=[f"r{k}" for k in range(len(points))])
    return ax.Explainer(lambda p: int(p in ONES), DOMAIN, weights=weights).explain_batch(frame)


@given(
    st.integers() | st.fractions() | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 3**20_000, Fraction(1, 7**9_000)])
)
@settings(deadline=None, max_examples=60)
def test_numbers_come_back(number) -> None:
    text = json.loads(json.dumps(number_text(number)))
    assert number_of(text) == number
    assert isinstance(text, str) or abs(text) <= 2**53


plain = st.none() | st.booleans() | st.text(max_size=5) | st.integers() | st.floats(allow_nan=False) | st.fractions()


@given(plain | st.tuples(plain, plain))
@settings(max_examples=80)
def test_values_come_back_with_their_type(value) -> None:
    back = value_of(json.loads(json.dumps(value_text(value), allow_nan=False)))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("value", [object(), pd.Timestamp("2026-01-01"), ((1,),), b"x"])
def test_values_that_no_file_gives_back_are_refused(value) -> None:
    with pytest.raises(DomainError, match="use its text"):
        value_text(value)


@given(strategies.domains())
@settings(max_examples=60, deadline=None)
def test_domains_come_back(domain: ax.Domain) -> None:
    back = domain_of(json.loads(json.dumps(domain_document(domain))))
    assert back == domain
    assert [f.columns for f in back.features] == [f.columns for f in domain.features]


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
    assert saved.to_dict()["axps"] is not None  # asked for above, so known


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


def test_frame_of_an_explanation() -> None:
    frame = paper("count").to_frame()
    assert list(frame.index) == ["x1", "x2", "x3"]
    assert frame["shapley"].to_dict() == paper("count").scores("shapley")
    assert frame["cxps"].tolist() == [2, 2, 2]
    assert frame["value"].tolist() == [2, 1, 2]
    assert paper("count").to_frame(kinds=["banzhaf"], exact=False)["banzhaf"].dtype == float


def test_frame_and_importance_of_a_batch() -> None:
    found = batch()
    frame = found.to_frame("banzhaf", exact=True)
    assert list(frame.index) == [f"r{k}" for k in range(7)]
    assert frame["cxps"].tolist() == [len(e.cxps) for e in found]
    assert frame[list(DOMAIN.names)].to_dict("records") == [e.scores("banzhaf") for e in found]
    table = found.importance("shapley", exact=True)
    floats = found.importance("shapley")
    for name in DOMAIN.names:
        values = [e.scores("shapley")[name] for e in found]
        assert table.loc[name, "mean"] == mean(values)
        assert (table.loc[name, "min"], table.loc[name, "max"]) == (min(values), max(values))
        assert table.loc[name, "relevant"] == Fraction(sum(map(bool, values)), 7)
        column = np.array([float(v) for v in values])
        assert floats.loc[name, "std"] == pytest.approx(column.std())
        for quantile in (25, 50, 75):
            assert float(table.loc[name, f"{quantile}%"]) == pytest.approx(np.percentile(column, quantile))
    with pytest.raises(DomainError, match="empty"):
        ax.Explainer(lambda p: int(p in ONES), DOMAIN).explain_batch(np.empty((0, 3))).importance()


def test_a_feature_called_like_a_column_is_refused() -> None:
    domain = ax.Domain([ax.Integer("cxps", 0, 1)])
    found = ax.Explainer(lambda p: p[0], domain).explain_batch([[0], [1]])
    with pytest.raises(DomainError, match="'cxps' of its own"):
        found.to_frame()


class Structure(HTMLParser):
    """Collects texts, and insists that tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.texts.append(data)


def test_html_is_escaped_and_self_contained() -> None:
    name = "<script>alert('x')</script>&"
    domain = ax.Domain([ax.Categorical(name, ["<b>", "c"]), *(ax.Integer(f"f{k}", 0, 1) for k in range(3))])
    found = ax.Explainer(lambda p: "<i>yes</i>" if p[0] == "<b>" and p[1] else "no", domain)
    html = found.explain(("<b>", 1, 0, 0))._repr_html_()
    read = Structure(html)
    assert read.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert {name, "<b>", "Why <i>yes</i>?", "2 features with score 0"} <= set(read.texts)
    assert not re.search(r"https?:|src=|url\(", html)
    together = Structure(found.explain_batch(list(domain.points()))._repr_html_())
    assert "16 explanations, 20 CXps" in together.texts
    assert (
        Structure(ax.Explanation.from_json(paper().to_json())._repr_html_()).texts
        == Structure(paper()._repr_html_()).texts
    )


def test_comparison() -> None:
    one = paper("count")
    two = ax.Explainer(lambda p: int(p in ONES - {(2, 1, 0)}), DOMAIN, weights="count").explain((2, 1, 2))
    found = compare(one, two)
    mine, theirs = ({c.features: c.weight for c in e.cxps} for e in (one, two))
    assert set(found.only_first) == set(mine) - set(theirs)
    assert set(found.only_second) == set(theirs) - set(mine)
    assert found.common == tuple(c for c in mine if c in theirs)
    assert found.reweighted == {c: (mine[c], theirs[c]) for c in found.common if mine[c] != theirs[c]}
    assert found.differences == {n: two.scores()[n] - one.scores()[n] for n in DOMAIN.names}
    assert compare(one, one).concordance == 1
    with pytest.raises(DomainError, match="same features"):
        compare(one, ax.Explainer(lambda p: p[0], ax.Domain([ax.Integer("a", 0, 1)])).explain([1]))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.data())
def test_rank_agreement(first: list[int], data) -> None:
    second = data.draw(st.lists(st.integers(0, 4), min_size=len(first), max_size=len(first)))
    a, b = ({str(k): Fraction(v) for k, v in enumerate(s)} for s in (first, second))
    signs = [(x > y) - (x < y) for s in (first, second) for x, y in combinations(s, 2)]
    half = len(signs) // 2
    products = [x * y for x, y in zip(signs[:half], signs[half:], strict=True) if x * y]
    assert concordance(a, b) == (Fraction(sum(products), len(products)) if products else None)
    order = data.draw(st.permutations(range(len(first))))
    depth = min(5, len(first))
    shares = [Fraction(len(set(range(d)) & set(order[:d])), d) / 2**d for d in range(1, depth + 1)]
    assert rank_overlap(range(len(first)), order) == sum(shares)


def test_everything_but_frames_works_without_pandas() -> None:
    code = """
import sys
sys.modules["pandas"] = None
import axfi_kc as ax
domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
explainer = ax.Explainer(lambda p: p[0] and p[1] > 0, domain)
e = explainer.explain({"a": 1, "b": 2})
assert ax.Explanation.from_json(e.to_json()).cxps == e.cxps
batch = explainer.explain_batch([[1, 1], [1, 2]], n_jobs=2)
assert batch.score_numerators()[1] and batch._repr_html_() and e._repr_html_()
for ask in (batch.to_frame, batch.importance, batch.scores, e.to_frame):
    try:
        ask()
    except ax.errors.MissingExtraError as error:
        assert "pip install 'axfi-kc[frames]'" in str(error)
    else:
        raise SystemExit("a table without pandas")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
