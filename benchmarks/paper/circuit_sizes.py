"""What needs compiled circuits: their sizes in every language, and SHAP scores of the similarity predicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.compilers.model_circuits import compile_circuit
from axfi_kc.compilers.sizes import compare_sizes
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.explanations.comparison import rank_overlap
from axfi_kc.models import LinearModel
from axfi_kc.scores.shap.circuits import shap_scores
from benchmarks.paper.rankings import ranked
from benchmarks.paper.training import Trained

__all__ = ["SizePlan", "compiled_sizes", "similarity_shap"]


_COLUMNS = ("target", "code", "order", "vtree", "nodes", "edges", "bytes", "seconds", "agrees", "note")


@dataclass(frozen=True, slots=True)
class SizePlan:
    """In which ways models are compiled, and the seconds each way may take."""

    codes: Sequence[str]
    orders: Sequence[str]
    vtrees: Sequence[str]
    seconds: float


def compiled_sizes(trained: Trained, plan: SizePlan) -> list[dict[str, Any]]:
    """Return nodes, edges, bytes and seconds of the circuit of "the output is that of the first test instance"."""
    if isinstance(trained.form, LinearModel):
        return [{"note": "a hyperplane over real features has no finite circuit"}]
    output = trained.explainer(max_size=1).explain(trained.instances.iloc[[0]]).prediction
    frame = compare_sizes(
        trained.form,
        trained.domain,
        output=output,
        delta=trained.data.delta,
        codes=plan.codes,
        orders=plan.orders,
        vtrees=plan.vtrees,
        budget=Budget(seconds=plan.seconds),
    )
    rows = frame[list(_COLUMNS)].astype(object).where(frame[list(_COLUMNS)].notna(), None)
    return [{str(column): _plain(value) for column, value in row.items()} for row in rows.to_dict("records")]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def similarity_shap(trained: Trained, expected: Sequence[Sequence[float]], *, limit: int, seconds: float) -> Any:
    """Return seconds and overlaps of SHAP scores whose game is the probability of a similar output.

    Parameters
    ----------
    trained
        The model; its instances are taken from the first on.
    expected
        The SHAP scores of the mean output at the same instances, to compare rankings with.
    limit
        How many instances at most.
    seconds
        What one compilation may take.
    """
    if isinstance(trained.form, LinearModel):
        return {"note": "a hyperplane over real features has no finite circuit"}
    explainer, circuits, rows = trained.explainer(max_size=1), dict[Any, Circuit](), list[Any]()
    for k in range(min(limit, len(expected))):
        problem = explainer.explain(trained.instances.iloc[[k]]).problem
        try:
            if problem.output not in circuits:
                circuits[problem.output] = compile_circuit(
                    problem.model, problem.output, problem.similarity, similar=True, budget=Budget(seconds=seconds)
                )
                shap_scores(circuits[problem.output], trained.instances.iloc[[k]])  # loads kernels before the clock
        except (BudgetError, DomainError) as error:
            return {"note": f"not compiled within {seconds:g} s ({type(error).__name__})"}
        circuit = circuits[problem.output]
        start = perf_counter()
        scores = {name: abs(score) for name, score in shap_scores(circuit, trained.instances.iloc[[k]]).items()}
        taken = perf_counter() - start
        sizes = dict(zip(scores, map(abs, expected[k]), strict=True))
        overlap = rank_overlap(ranked(scores), ranked(sizes))
        rows.append({"seconds": taken, "nodes": circuit.size.nodes, "overlap": float(overlap)})
    n = len(rows)
    return {"instances": n, **{key: sum(row[key] for row in rows) / n for key in ("seconds", "nodes", "overlap")}}
