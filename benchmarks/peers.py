"""The other ways to explain boosted trees, as fast as they go here.

`VeritasPeer`: dtai-veritas as the oracle and python-sat's Hitman as the enumerator of hitting sets;
all CXps and AXps by duality, no weights. `sampled_weights`: the paper's way, 5,000 random points of
the box of each given CXp, predicted by the model's own library, all CXps of an instance in one call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
import veritas
from pysat.examples.hitman import Hitman

import axfi_kc as ax
from axfi_kc.models import TreeSum
from axfi_kc.models.margins import Margins


class TimeIsUp(Exception):
    """The peer did not finish in the time it was given."""


def add_trees(model: TreeSum, output: Any) -> list[veritas.AddTree]:
    """Return one ensemble of veritas per score whose sign says "dissimilar", over cell numbers."""
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


def _add_tree(tree: Any, model: TreeSum, root: int, values: np.ndarray) -> None:
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
        self._trees: dict[Any, list[veritas.AddTree]] = {}

    def prepare(self, output: Any) -> None:
        """Build the ensembles for instances with this output."""
        if output not in self._trees:
            self._trees[output] = add_trees(self._model, output)

    def explain(self, cells: Sequence[int], output: Any, *, seconds: float) -> tuple[set[Any], set[Any]]:
        """Return all CXps and AXps, as frozensets of feature numbers."""
        deadline = perf_counter() + seconds
        everything = set(range(len(cells)))
        cxps, axps = set(), set()
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


def sampled_weights(
    model: Any, domain: ax.Domain, x: np.ndarray, output: Any, cxps: Sequence[Sequence[int]], *, samples: int, rng: Any
) -> list[float]:
    """Return the share of dissimilar points among `samples` random points of the box of each CXp."""
    low = np.array([float(f.low) for f in domain.features])
    high = np.array([float(f.high) for f in domain.features])
    points = np.tile(x, (len(cxps), samples, 1))
    for k, cxp in enumerate(cxps):
        columns = list(cxp)
        points[k, :, columns] = rng.uniform(low[columns], high[columns], (samples, len(columns))).T
    wrong = model.predict(points.reshape(-1, len(x))) != output
    return wrong.reshape(len(cxps), samples).mean(axis=1).tolist()


def largest_error(exact: Sequence[Fraction | int], sampled: Sequence[float]) -> float:
    """Return the largest absolute error of sampled weights."""
    return max((abs(float(a) - b) for a, b in zip(exact, sampled, strict=True)), default=math.nan)
