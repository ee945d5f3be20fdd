"""The whole study: data, models, steps, and one folder with everything in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from axfi_kc._version import __version__
from axfi_kc.errors import AxfiError, MissingExtraError
from benchmarks.paper.circuit_sizes import SizePlan, compiled_sizes, similarity_shap
from benchmarks.paper.data_sets import NAMES, DataSet, MissingDataError, load
from benchmarks.paper.peers import shap_seconds, veritas_seconds
from benchmarks.paper.report import write_report
from benchmarks.paper.sampling import SAMPLES, sampling_errors
from benchmarks.paper.scoring import exact_shap, scores_at, scores_of_instances
from benchmarks.paper.steps import Steps, stamp
from benchmarks.paper.training import Trained, train

__all__ = ["FULL", "POINT", "QUICK", "Scale", "run_study"]


POINT = (0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 2, 0, 0)  # the paper's instance of recidivism


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done.

    Attributes
    ----------
    instances
        Test instances of each data set.
    samples
        Random points per CXp, where sampling is judged.
    peer_seconds
        What one peer may take on one data set; it does fewer instances then.
    similarity_instances
        Instances whose similarity predicate gets SHAP scores, on circuits compiled in `compile_seconds`.
    sizes
        The ways of compilation that are compared.
    """

    instances: int
    samples: int
    peer_seconds: float
    similarity_instances: int
    compile_seconds: float
    sizes: SizePlan


FULL = Scale(50, SAMPLES, 60.0, 10, 20.0, SizePlan(("order", "binary"), ("influence", "force", "given"),
                                                  ("right", "balanced"), 8.0))  # fmt: skip
QUICK = Scale(4, SAMPLES, 1.0, 1, 2.0, SizePlan(("binary",), ("influence",), ("right",), 1.5))


def run_study(
    out: Path,
    *,
    data: Path | None = None,
    online: bool = False,
    scale: Scale = FULL,
    seed: int = 0,
    only: Sequence[str] = NAMES,
    provenance: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> Path:
    """Run what is not yet done of the study, write its folder, and return the report's path.

    Parameters
    ----------
    out
        The folder; finished steps in it are kept, as far as the settings are the same.
    data, online
        Where data sets may come from; see :func:`benchmarks.paper.data_sets.load`.
    scale
        How much to do.
    seed
        Of splits, instances, training and sampling.
    only
        The data sets.
    provenance
        More to write into every result, such as a commit.
    progress
        Whether to show progress and which data sets are skipped, on standard error.

    Raises
    ------
    MissingExtraError
        If pandas, scikit-learn, XGBoost or matplotlib is not installed.
    """
    _check_extras()
    settings = {"version": __version__, "seed": seed, "scale": repr(scale)}
    steps = Steps(out / "steps", settings, stamp(seed=seed, **(provenance or {})))
    sources, missing = _sources(only, data, online)
    plan = [(name, kind) for name in sources for kind in _kinds(sources[name])]
    found: dict[str, dict[str, Any]] = {name: {} for name in sources}
    tell = _Teller(len(plan), shown=progress)
    for line in missing.values():
        tell.line(f"skipped: {line}")
    models = cache(lambda name: train(sources[name], seed=seed, instances=scale.instances))
    for name, kind in plan:
        tell.step(f"{name} {kind}")
        work = _WORK[kind]
        found[name][kind] = steps.result(
            f"{name}-{kind}",
            lambda: work(models(name), found[name], scale, seed),  # noqa: B023
        )
    tell.close()
    report = write_report(out, found, missing=missing, stamp=steps.stamp, scale=scale)
    tell.line(f"wrote {report}")
    return report


def _check_extras() -> None:
    from importlib.util import find_spec

    extras = {"pandas": "frames", "sklearn": "sklearn", "xgboost": "xgboost", "matplotlib": "plots"}
    for package in extras:
        if find_spec(package) is None:
            raise MissingExtraError.of(package, "all", "The study of the paper")


def _sources(only: Sequence[str], data: Path | None, online: bool) -> tuple[dict[str, DataSet], dict[str, str]]:
    """Return the data sets that can be had, and for the others the line that says how to get them."""
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise AxfiError(f"Data sets are {', '.join(NAMES)}, but {unknown[0]!r} was asked for; name one of these.")
    found, missing = dict[str, DataSet](), dict[str, str]()
    for name in only:
        try:
            found[name] = load(name, folder=data, online=online)
        except MissingDataError as error:
            missing[name] = str(error)
    return found, missing


def _kinds(data: DataSet) -> list[str]:
    """Return the steps of a data set."""
    kinds = ["scores", "shap", "similarity", "sizes"]
    if data.family == "boosted":
        kinds.append("veritas")
    if data.family != "tree":
        kinds.append("sampling")
    if data.name == "recidivism":
        kinds.append("point")
    return kinds


def _similarity(trained: Trained, found: Mapping[str, Any], scale: Scale, seed: int) -> Any:
    expected = [i["scores"]["shap"] for i in found["scores"]["instances"]]
    return similarity_shap(trained, expected, limit=scale.similarity_instances, seconds=scale.compile_seconds)


def _point(trained: Trained, found: Mapping[str, Any], scale: Scale, seed: int) -> Any:
    """Explain the instance that the paper draws."""
    row = trained.row(POINT)
    explanation = trained.explainer().explain(row)
    shap = exact_shap(trained, row, [explanation.prediction])[0]
    scores = scores_at(explanation, shap)
    return {
        "prediction": str(explanation.prediction),
        "names": list(trained.domain.names),
        "cxps": len(explanation.cxps),
        "axps": len(explanation.axps),
        "scores": {kind: [float(s) for s in values.values()] for kind, values in scores.items()},
    }


_WORK: Mapping[str, Callable[[Trained, Mapping[str, Any], Scale, int], Any]] = {
    "scores": lambda trained, found, scale, seed: scores_of_instances(trained),
    "shap": lambda trained, found, scale, seed: shap_seconds(trained, seconds=scale.peer_seconds),
    "similarity": _similarity,
    "sizes": lambda trained, found, scale, seed: compiled_sizes(trained, scale.sizes),
    "veritas": lambda trained, found, scale, seed: veritas_seconds(trained, seconds=scale.peer_seconds),
    "sampling": lambda trained, found, scale, seed: sampling_errors(trained, seed=seed, samples=scale.samples),
    "point": _point,
}


class _Teller:
    """Shows progress on standard error."""

    def __init__(self, total: int, *, shown: bool) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(total=total, unit="step", desc="paper", disable=not shown, file=sys.stderr)
        self._begun = False

    def line(self, text: str) -> None:
        """Write a line above the bar."""
        if not self._bar.disable:
            self._bar.write(text, file=sys.stderr)

    def step(self, name: str) -> None:
        """Say which step begins; the one before is done."""
        self._bar.update(int(self._begun))
        self._begun = True
        self._bar.set_postfix_str(name)

    def close(self) -> None:
        """Say that all is done."""
        self._bar.update(int(self._begun))
        self._bar.close()
