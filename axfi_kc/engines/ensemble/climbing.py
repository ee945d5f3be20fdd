"""The climb: all CXps of one feature, then of two, and so on, shared by one thread or more."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import NODES
from axfi_kc.engines.ensemble import set_kernels
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.search_kernels import SCORE, TOP
from axfi_kc.engines.ensemble.set_kernels import DEPTH, SHARE, SHARES, SIZE, Deviations, Walk
from axfi_kc.engines.ensemble.workers import WORD, Worker, in_threads

__all__ = ["Climb"]


Ints = npt.NDArray[np.int64]


class Climb:
    """The search by the number of features: sets first, cells last; the sets are dealt out to one thread or more."""

    def __init__(self, ensemble: Ensemble, there: Around, sweepers: list[Worker]) -> None:
        self._ensemble, self._around, self._sweepers = ensemble, there, sweepers
        self._scores = [_deviations(ensemble, there, j) for j in range(len(ensemble.base))]
        self._workers = []
        for k, sweeper in enumerate(sweepers):
            registers = np.zeros(set_kernels.REGISTERS, np.int64)
            registers[SHARE], registers[SHARES] = k, len(sweepers)
            self._workers.append(Worker(ensemble, sweeper.family, registers))
        self._begin(1, 0)

    def _begin(self, size: int, score: int) -> None:
        self.size, self._score = size, score
        self._ended = [False] * len(self._workers)
        for worker in self._workers:
            registers = worker.registers
            registers[SIZE], registers[SCORE], registers[DEPTH], registers[TOP] = size, score, -1, 0
        self._walks = [self._new_walk(size) for _ in self._workers]

    def _new_walk(self, size: int) -> Walk:
        m = len(self._around.v)
        words = -(-m // WORD)
        chosen, barred = (np.zeros((size + 1, words), np.uint64) for _ in range(2))
        place, value = np.zeros((2, size + 1), np.int64)
        worth, free = np.zeros((size + 1, m), np.int64), np.zeros((1, words), np.uint64)
        return Walk(chosen, barred, place, worth, value, free)

    @property
    def nodes(self) -> int:
        """The nodes of all threads so far."""
        return sum(int(w.registers[NODES]) for w in self._workers)

    def run(self, nodes: int, pool: ThreadPoolExecutor | None, is_spent: Callable[[], bool]) -> tuple[int, bool]:
        """Go on for about so many nodes, or to the end of a score; return how many, and whether the size has ended.

        Each thread uses, and adds to, the family of the one that sweeps.
        """
        before, ended, each = self.nodes, False, -(-nodes // len(self._workers))
        in_threads(pool, lambda k, ends: self._stretch(k, each, ends), range(len(self._workers)), is_spent)
        if all(self._ended):
            ended = self._score + 1 == len(self._scores)
            self._begin(self.size + ended, 0 if ended else self._score + 1)
        return self.nodes - before, ended

    def _stretch(self, k: int, nodes: int, is_spent: Callable[[], bool]) -> None:
        """Go on with one thread."""
        worker = self._workers[k]
        last = int(worker.registers[NODES]) + nodes
        with worker.lending_sets(self._sweepers[k]):
            while not self._ended[k] and worker.registers[NODES] < last and not is_spent():
                self._ended[k] = worker.run(
                    lambda: self._step(k), min(last - int(worker.registers[NODES]), Worker.ROUND)
                )

    def _step(self, k: int) -> int:
        deviations, base, order, places = self._scores[self._score]
        worker = self._workers[k]
        return set_kernels.climb(
            self._ensemble, self._around, deviations, base, self._walks[k], order, places, worker.family, worker.stack,
            worker.scratch, worker.registers,
        )  # fmt: skip


def _deviations(ensemble: Ensemble, there: Around, j: int) -> tuple[Deviations, int, Ints, Ints]:
    """Return the leaves that may raise a score, what it is at v, the features by promise, and their places."""
    m, n_trees = len(there.v), int(ensemble.start[j + 1] - ensemble.start[j])
    start, needs = np.zeros(n_trees + 1, np.int32), np.zeros_like(there.needs)
    gain, value = np.zeros((2, len(there.needs)), np.int64)
    slack = int(ensemble.value.shape[1] > 1)  # finer limbs add less than one unit each
    base = set_kernels.deviations(ensemble, there, j, start, needs, gain, value, slack)
    needs, gain = needs[: start[-1]].copy(), gain[: start[-1]].copy()
    bits = np.unpackbits(needs.view(np.uint8), axis=1, bitorder="little")[:, :m].astype(np.bool_)
    # The share of each feature of a leaf in its gain; of the leaves of a tree the best counts.
    shares = np.where(bits, (gain / np.maximum(bits.sum(axis=1), 1))[:, np.newaxis], 0.0)
    filled = np.flatnonzero(np.diff(start))
    best = np.maximum.reduceat(shares, start[filled], axis=0) if len(filled) else np.zeros((1, m))
    promise = best.sum(axis=0)
    order = np.argsort(-promise, kind="stable")
    # A feature without promise may still be needed: to undo what another one loses, or to keep to a constraint.
    tested = np.diff(ensemble.touch_start[j * m : (j + 1) * m + 1]) > 0
    order = order[tested[order]]
    places = np.full(m, -1, np.int64)
    places[order] = np.arange(len(order))
    return Deviations(start, needs, gain), int(base), order, places
