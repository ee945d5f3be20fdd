"""A run that cannot go on with a file says in which parts it is another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.domain.distribution import Product
from axfi_kc.errors import ResultFileError
from axfi_kc.explanations.files.header_differences import difference_words

DOMAIN = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
FIRST, SECOND = ax.feature("a") <= ax.feature("b"), ax.feature("a") < 3
ROWS = [[0, 1], [1, 1], [2, 3]]


def model(point: Any) -> bool:
    return point[0] > 1


def refusal(path: Path, explainer: ax.Explainer, rows: Any = ROWS, **options: Any) -> str:
    with pytest.raises(ResultFileError, match="another model, domain, options or data") as caught:
        explainer.explain_to(path, rows, **options)
    return str(caught.value).partition("(")[2].rpartition(")")[0]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_what_differs_is_said(tmp_path: Path, suffix: str) -> None:
    path, domain = tmp_path / f"out.{suffix}", DOMAIN.where(FIRST)
    within = ax.Region(frozen=["b"])
    ax.Explainer(model, domain, within=within).explain_to(path, ROWS)
    others = ax.Region(only_up=["a"])
    assert refusal(path, ax.Explainer(model, domain, within=others)) == (
        f"the region is another one: it was {within}, and is {others}"
    )
    assert refusal(path, ax.Explainer(model, domain)) == f"the region is another one: it was {within}, and is none"
    assert refusal(path, ax.Explainer(model, DOMAIN.where(SECOND), within=within)) == (
        f"the set of constraints is another one: it was {FIRST}, and is {SECOND}"
    )
    joint = domain.with_distribution(Product.of(domain))
    assert refusal(path, ax.Explainer(model, joint, within=within)) == (
        "the distribution is another one: it was none, and is independent features"
    )
    assert refusal(path, ax.Explainer(model, domain, within=within, weights="count", max_size=1)) == (
        "the kind of weights is another one: it was ratio, and is count; max_size is another one: it was none, and is 1"
    )
    longer = ax.Domain([ax.Integer("a", 0, 4), ax.Integer("b", 0, 3)]).where(FIRST)
    assert refusal(path, ax.Explainer(model, longer, within=within)) == "the features are others"
    same = "the domain and the options are the same, so the model or the data are others"
    assert refusal(path, ax.Explainer(model, domain, within=within), [[0, 1], [1, 1], [2, 2]]) == same
    assert refusal(path, ax.Explainer(model, domain, within=within), ROWS[:2]) == (
        "the number of rows is another one: it was 3, and is 2"
    )
    asked = refusal(path, ax.Explainer(model, domain, within=within), kinds=["banzhaf"], inflate=True)
    assert asked.startswith(
        "the list of scores is another one: it was shapley, banzhaf, and is banzhaf; inflate is another"
    )


def test_constraints_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    ax.Explainer(model, DOMAIN.where(FIRST, SECOND)).explain_to(path, ROWS)
    found = refusal(path, ax.Explainer(model, DOMAIN.where(SECOND, FIRST)))
    assert found == "the constraints are the same, in another order"


def test_headers_that_others_wrote() -> None:
    odd = {"domain": 3, "within": {"frozen": 7}, "kinds": None, "max_size": {"a": []}}
    assert difference_words(odd, {"domain": []}) == (
        "the domain is another one; the region is another one; max_size is another one: it was {'a': []}, and is none"
    )
