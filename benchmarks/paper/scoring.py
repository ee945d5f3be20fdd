"""All scores of the test instances of one model, the seconds each took, and how rankings overlap."""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.compilers import read_model
from axfi_kc.errors import BudgetError
from axfi_kc.explanations.comparison import rank_overlap
from axfi_kc.explanations.explainer import Explainer, Explanation
from axfi_kc.models import Argmax
from axfi_kc.scores.shap.margins import margin_shap_scores
from benchmarks.paper.rankings import has_tie, overlaps, ranked
from benchmarks.paper.training import Trained

__all__ = ["exact_shap", "scores_at", "scores_of_instances"]


_BUDGET = Budget(seconds=120)


def exact_shap(trained: Trained, rows: Any, outputs: list[Any]) -> list[dict[str, Fraction]]:
    """Return the exact SHAP scores of the model's function; of several classes, that of the output."""
    function, positions = trained.function, dict[Any, list[int]]()
    several = isinstance(getattr(read_model(function, trained.domain), "rule", None), Argmax)
    for k, output in enumerate(outputs):
        positions.setdefault(output if several else None, []).append(k)
    found: list[dict[str, Fraction]] = [{} for _ in outputs]
    for output, places in positions.items():
        scores = margin_shap_scores(function, trained.domain, rows.iloc[places], output=output)
        for k, row in zip(places, scores, strict=True):
            found[k] = row
    return found


def scores_at(explanation: Explanation, shap: dict[str, Fraction]) -> dict[str, dict[str, Fraction]]:
    """Return the four scores of one instance."""
    return {
        "shapley": explanation.scores("shapley"),
        "banzhaf": explanation.scores("banzhaf"),
        "wffa": explanation.scores("wffa"),
        "shap": shap,
    }


def scores_of_instances(trained: Trained) -> dict[str, Any]:
    """Return scores, seconds and overlaps of every test instance, ready for JSON."""
    explainer = trained.explainer(budget=_BUDGET)
    rows = trained.instances
    outputs = explainer.explain_batch(rows).predictions  # compiles kernels before the clock starts
    explainer.explain(rows.iloc[[0]]).scores("wffa")
    exact_shap(trained, rows.iloc[:1], outputs[:1])
    start = perf_counter()
    shap = exact_shap(trained, rows, outputs)
    shap_seconds = (perf_counter() - start) / len(rows)
    found, unfinished = [], 0
    for k in range(len(rows)):
        try:
            found.append({**_instance(explainer, rows.iloc[[k]], shap[k]), "row": str(rows.index[k])})
        except BudgetError:
            unfinished += 1
    return {
        "model": trained.description,
        "names": list(trained.domain.names),
        "shap_seconds": shap_seconds,
        "unfinished": unfinished,
        "instances": found,
    }


def _instance(explainer: Explainer, row: Any, shap: dict[str, Fraction]) -> dict[str, Any]:
    start = perf_counter()
    explanation = explainer.explain(row)
    explanation.scores("shapley"), explanation.scores("banzhaf")
    axfi_seconds = perf_counter() - start
    start = perf_counter()
    explanation = explainer.explain(row)
    explanation.scores("wffa")
    wffa_seconds = perf_counter() - start
    scores = scores_at(explanation, shap)
    return {
        "prediction": _plain(explanation.prediction),
        "cxps": len(explanation.cxps),
        "axps": len(explanation.axps),
        "axfi_seconds": axfi_seconds,
        "wffa_seconds": wffa_seconds,
        "scores": {kind: [float(s) for s in values.values()] for kind, values in scores.items()},
        "overlaps": {pair: str(value) for pair, value in overlaps(scores).items()},
        "ties": {kind: has_tie(values) for kind, values in scores.items()},
        "nonzero": {kind: sum(1 for s in values.values() if s) for kind, values in scores.items()},
        "by_last_feature": _reversed_ties(scores),
    }


def _reversed_ties(scores: dict[str, dict[str, Fraction]]) -> str:
    """Return the overlap of the two AxFi scores with ties broken the other way, in one of them."""
    backwards = dict(reversed(scores["banzhaf"].items()))
    return str(rank_overlap(ranked(scores["shapley"]), ranked(backwards)))


def _plain(output: Any) -> Any:
    return float(output) if isinstance(output, Fraction) else output.item() if hasattr(output, "item") else output
