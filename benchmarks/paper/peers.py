"""Other people's tools on the same models and instances, in the same run, where they are installed.

shap: KernelExplainer for trees, as the paper did because its trees came from Orange, TreeExplainer for
boosted trees, LinearExplainer for logistic regression. For boosted trees also dtai-veritas as an oracle
with python-sat's Hitman: all CXps and AXps, without weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.models import TreeSum
from axfi_kc.models.tree_sum import Margins
from benchmarks.paper.training import Trained

__all__ = ["TimeIsUp", "VeritasPeer", "shap_seconds", "veritas_seconds"]


class TimeIsUp(Exception):
    """The peer did not finish in the time it was given."""


def shap_seconds(trained: Trained, *, seconds: float) -> dict[str, Any]:
    """Return mean seconds and scores of the package shap, for as many instances as fit in `seconds`."""
    if find_spec("shap") is None:
        return {"note": "shap is not installed: pip install shap"}
    name, explain = _shap_explainer(trained)
    explain(trained.codes[:1])
    times, scores = list[float](), list[list[float]]()
    for x, output in zip(trained.codes, trained.predict(trained.codes).tolist(), strict=True):
        start = perf_counter()
        found = np.asarray(explain(x[np.newaxis]))[0]
        times.append(perf_counter() - start)
        scores.append((found if found.ndim == 1 else found[:, int(output)]).tolist())  # several classes: the output's
        if sum(times) > seconds:
            break
    return {"method": name, "seconds": sum(times) / len(times), "instances": len(times), "scores": scores}


def _shap_explainer(trained: Trained) -> tuple[str, Callable[[npt.NDArray[np.float64]], Any]]:
    import shap

    if trained.data.family == "boosted":
        return "TreeExplainer", shap.TreeExplainer(trained.model).shap_values
    if trained.data.family == "linear":
        scaler, model = trained.model[0], trained.model[-1]
        explainer = shap.LinearExplainer(model, scaler.transform(trained.background))
        return "LinearExplainer", lambda rows: explainer.shap_values(scaler.transform(rows))
    kernel = shap.KernelExplainer(trained.predict, trained.background)
    return f"KernelExplainer, {len(trained.background)} rows", lambda rows: kernel.shap_values(rows, silent=True)


def veritas_seconds(trained: Trained, *, seconds: float) -> dict[str, Any]:
    """Return the mean seconds per instance of dtai-veritas with Hitman, and whether the families are the same."""
    if find_spec("veritas") is None or find_spec("pysat") is None:
        return {"note": "dtai-veritas or python-sat is not installed: pip install dtai-veritas python-sat"}
    if not isinstance(trained.form, TreeSum):
        return {"note": "only for sums of trees"}
    peer, explainer, times, same = VeritasPeer(trained.form), trained.explainer(), list[float](), 0
    end, unfinished, index = perf_counter() + seconds, 0, trained.domain.index
    for k in range(len(trained.instances)):
        e = explainer.explain(trained.instances.iloc[[k]])
        ours = [{frozenset(map(index, s.features)) for s in family} for family in (e.cxps, e.axps)]
        peer.prepare(e.prediction)
        start = perf_counter()
        try:
            theirs = peer.explain(e.problem.cells.tolist(), e.prediction, seconds=max(end - start, 0.1))
        except TimeIsUp:
            unfinished += 1
            break
        times.append(perf_counter() - start)
        same += list(theirs) == ours
    return {
        "seconds": sum(times) / len(times) if times else None,
        "instances": len(times),
        "identical": same,
        "unfinished": unfinished,
    }


def add_trees(model: TreeSum, output: Any) -> list[Any]:
    """Return one ensemble of veritas per score whose sign says "dissimilar", over cell numbers."""
    import veritas

    values, base = (limbs[..., 0].astype(float) for limbs in Margins.of(model, output, None).limbs())
    found = []
    for j in range(values.shape[1]):
        ensemble = veritas.AddTree(1, veritas.AddTreeType.REGR)
        constant = base[j]
        for t in range(model.n_trees):
            nodes = range(model.tree_offset[t], model.tree_offset[t + 1])
            leaves = {values[model.leaf[n], j] for n in nodes if model.leaf[n] >= 0}
            if len(leaves) == 1:
                constant += leaves.pop()
            else:
                _add_tree(ensemble.add_tree(), model, int(model.tree_offset[t]), values[:, j])
        ensemble.set_base_score(0, constant)
        found.append(ensemble)
    return found


def _add_tree(tree: Any, model: TreeSum, root: int, values: npt.NDArray[np.float64]) -> None:
    todo = [(tree.root(), root)]
    while todo:
        place, n = todo.pop()
        feature = int(model.feature[n])
        if feature < 0:
            tree.set_leaf_value(place, 0, float(values[model.leaf[n]]))
            continue
        start = model.mask_offset[n]
        tree.split(place, feature, float(model.left_mask[start : start + model.grid.n_cells[feature]].sum()))
        todo += [(tree.left(place), int(model.left[n])), (tree.right(place), int(model.right[n]))]


class VeritasPeer:
    """Enumerates CXps and AXps of a sum of trees over ordered features."""

    def __init__(self, model: TreeSum) -> None:
        self._model = model
        self._trees: dict[Any, list[Any]] = {}

    def prepare(self, output: Any) -> None:
        """Build the ensembles for instances with this output."""
        if output not in self._trees:
            self._trees[output] = add_trees(self._model, output)

    def explain(self, cells: Sequence[int], output: Any, *, seconds: float) -> tuple[set[Any], set[Any]]:
        """Return all CXps and AXps, as frozensets of feature numbers."""
        from pysat.examples.hitman import Hitman

        deadline = perf_counter() + seconds
        everything = set(range(len(cells)))
        cxps, axps = set[Any](), set[Any]()
        with Hitman(bootstrap_with=[], solver="g4", htype="sorted") as hitman:
            while (hitting := hitman.get()) is not None:
                changed = self._changed(cells, everything - set(hitting), output, deadline)
                if changed is None:
                    axps.add(frozenset(hitting))
                    if not hitting:
                        break
                    hitman.block(hitting)
                    continue
                for i in sorted(changed):
                    if i in changed:
                        changed = self._changed(cells, changed - {i}, output, deadline) or changed
                cxps.add(frozenset(changed))
                hitman.hit(sorted(changed))
        return cxps, axps

    def _changed(self, cells: Sequence[int], free: set[int], output: Any, deadline: float) -> set[int] | None:
        """Return what a dissimilar point changes that agrees with the instance outside `free`."""
        import veritas

        box = [
            veritas.Interval(0.0, float(n)) if i in free else veritas.Interval(float(c), float(c) + 1)
            for i, (c, n) in enumerate(zip(cells, self._model.grid.n_cells, strict=True))
        ]
        for ensemble in self._trees[output]:
            config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
            config.stop_when_optimal = False
            config.stop_when_num_solutions_exceeds = 1
            config.ignore_state_when_worse_than = 0.5
            search = config.get_search(ensemble, box)
            stopped = veritas.StopReason.NONE
            while search.num_solutions() == 0 and stopped == veritas.StopReason.NONE:
                stopped = search.steps(100)
                if perf_counter() > deadline:
                    raise TimeIsUp
            if search.num_solutions() and search.get_solution(0).output > 0.5:
                found = search.get_solution(0).box()
                return {i for i, side in found.items() if not side.lo <= cells[i] < side.hi}
        return None
