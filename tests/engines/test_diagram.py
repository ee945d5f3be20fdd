"""The engine for diagrams explains as the other engines do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.engines.diagram.engine import DiagramEngine
from axfi_kc.errors import ConstantModelError, WeightError
from tests.support.oracle import subsets
from tests.support.real_models import boosted
from tests.support.small_trees import all_of, tree_of
from tests.support.strategies import Case, cases, ensemble_cases


def test_counts_of_families_need_discrete_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagrams, "_AT_ONCE", 0)
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Real("b", 0, 1)])
    with pytest.raises(WeightError, match="'b', which is real"):
        ax.Explainer(tree_of(domain, all_of([0, 1])), domain, weights="count", target="mdd").explain([0, 0])


MANY = settings(max_examples=120, deadline=None)


def explained(case: Case, target: str, **options: Any) -> Any:
    problem = case.problem
    try:
        explainer = ax.Explainer(
            problem.model, problem.domain, delta=problem.similarity.delta, target=target, **options
        )
        e = explainer.explain(problem.domain.decode(problem.codes))
    except ConstantModelError as error:
        return str(error)
    return e.prediction, e.cxps, e.axps if "max_size" not in options else (), e.scores("shapley"), e.scores("banzhaf")


@settings(max_examples=500, deadline=None)
@given(ensemble_cases())
def test_ensembles_are_explained_alike(case: Case) -> None:
    assert explained(case, "mdd") == explained(case, "auto")


@MANY
@given(cases, st.sampled_from(["ratio", "unit", "count"]), st.integers(1, 3))
def test_everything_is_explained_alike(case: Case, weights: str, max_size: int) -> None:
    if case.problem.domain.size is None and weights == "count":
        weights = "ratio"
    options = {"weights": weights, "max_size": max_size}
    assert explained(case, "mdd", **options) == explained(case, "auto", **options)


@MANY
@given(cases)
def test_weak_explanations_by_diagram(case: Case) -> None:
    problem = case.problem
    engine = DiagramEngine(problem.model, problem.similarity)
    for S in subsets(len(problem.domain)):
        mask = sum(1 << i for i in S)
        assert engine.is_weak_cxp(problem.codes, mask) == case.judge.is_wcxp(S)


@pytest.mark.parametrize(("data", "rows"), [("wine", [0, 60, 150]), ("breast_cancer", [0, 100])])
def test_real_ensembles_are_explained_alike(data: str, rows: list[int]) -> None:
    model, X = boosted(data)
    domain = ax.Domain.from_data(X)
    one, other = (ax.Explainer(model, domain, target=t).explain_batch(X.iloc[rows]) for t in ("auto", "mdd"))
    for e, f in zip(one, other, strict=True):
        assert (e.prediction, e.cxps) == (f.prediction, f.cxps)
        assert e.scores("shapley") == f.scores("shapley")
        assert e.scores("banzhaf") == f.scores("banzhaf")
