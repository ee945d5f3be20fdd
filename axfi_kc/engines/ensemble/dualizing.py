"""The search from large sets: all CXps by what can be changed without effect, shared by one thread or more."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from axfi_kc.budget import NODES, STORE_FULL
from axfi_kc.engines.ensemble import dual_kernels
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.dual_kernels import N_AXPS, PARTS, Active, Parts
from axfi_kc.engines.ensemble.workers import WORD, Words, Worker, grown, in_threads

__all__ = ["Dual"]


_FIRST = 64  # sets and numbers for which there is room at first


class Dual:
    """The search from large sets, each of which has a CXp or leaves out an AXp.

    Parameters
    ----------
    ensemble, there
        The trees, and the instance among them.
    sweepers
        The searches whose families it adds to, one for each thread.
    """

    def __init__(self, ensemble: Ensemble, there: Around, sweepers: list[Worker]) -> None:
        self._ensemble, self._around, self._sweepers = ensemble, there, sweepers
        self._threads = [_Thread(ensemble, there, sweeper) for sweeper in sweepers]
        self._threads[0].worker.registers[PARTS] = 1  # all sets

    @property
    def nodes(self) -> int:
        """The nodes of all threads so far."""
        return sum(int(t.worker.registers[NODES]) for t in self._threads)

    @property
    def waiting(self) -> int:
        """The parts that are left."""
        return sum(t.waiting for t in self._threads)

    @property
    def n_axps(self) -> int:
        """The AXps found so far."""
        return self._threads[0].n_axps

    def run(self, nodes: int, pool: ThreadPoolExecutor | None, is_spent: Callable[[], bool]) -> tuple[int, bool]:
        """Go on for about so many nodes; return how many these were, and whether it has ended."""
        before, each = self.nodes, -(-nodes // len(self._threads))
        if any(t.waiting == 0 for t in self._threads):
            each = min(each, Worker.ROUND)  # somebody waits for parts
        ended = all(in_threads(pool, lambda t, ends: t.stretch(each, ends), self._threads, is_spent))
        self._exchange()
        self._balance()
        return self.nodes - before, ended

    def _exchange(self) -> None:
        """Tell each thread which AXps the others have found since the last time."""
        found = [t.news() for t in self._threads]
        for n, thread in enumerate(self._threads):
            for k, sets in enumerate(found):
                if k != n:
                    thread.learn(sets)

    def _balance(self) -> None:
        """Give a thread that has nothing left every other part of the one that has most."""
        for poor in self._threads:
            rich = max(self._threads, key=lambda t: t.waiting)
            if poor.waiting == 0 and rich.waiting > 2:
                rich.share(poor)


class _Thread:
    """What one thread searches: parts of the space of sets, and the AXps that it knows."""

    def __init__(self, ensemble: Ensemble, there: Around, sweeper: Worker) -> None:
        self._ensemble, self._around, self._sweeper = ensemble, there, sweeper
        m, registers = len(there.v), np.zeros(dual_kernels.REGISTERS, np.int64)
        self.worker = Worker(ensemble, sweeper.family, registers)
        words = -(-m // WORD)
        # A part divides at most once for each feature, and those that others have given away were as many at most.
        rows = 2 * m + 4
        self._parts = Parts(*np.zeros((2, rows, words), np.uint64))
        self._cxp_lists, self._axp_lists = (
            Active(np.empty(_FIRST, np.int32), *np.zeros((3, rows), np.int64)) for _ in range(2)
        )
        self._axps, self._told = np.empty((_FIRST, words), np.uint64), 0
        self._free = np.zeros(words, np.uint64)
        self._numbered = sweeper.family  # the family whose numbers are listed

    @property
    def waiting(self) -> int:
        """The parts that are left."""
        return int(self.worker.registers[PARTS])

    @property
    def n_axps(self) -> int:
        """The AXps that it knows."""
        return int(self.worker.registers[N_AXPS])

    @property
    def axps(self) -> Words:
        """These AXps; with several threads, or before the end, some may hold others."""
        return self._axps[: self.n_axps]

    def stretch(self, nodes: int, is_spent: Callable[[], bool]) -> bool:
        """Go on for so many nodes; True if nothing is left."""
        last, ended = int(self.worker.registers[NODES]) + nodes, not self.waiting
        with self.worker.lending_sets(self._sweeper):
            while not ended and self.worker.registers[NODES] < last and not is_spent():
                ended = self.worker.run(self._step, min(last - int(self.worker.registers[NODES]), Worker.ROUND))
        return ended

    def _step(self) -> int:
        worker = self.worker
        while True:
            if worker.family is not self._numbered:  # its sets have other numbers now
                self._numbered = worker.family
                _forget(self._cxp_lists)
            status = dual_kernels.dualize(
                self._ensemble, self._around, worker.family, self._axps, self._parts, self._cxp_lists, self._axp_lists,
                worker.stack, self._free, worker.scratch, worker.registers,
            )  # fmt: skip
            if status != STORE_FULL or worker.n_sets >= len(worker.family.member):
                return int(status)
            self._make_room()

    def _make_room(self) -> None:
        """Let what may be full grow."""
        if self.n_axps == len(self._axps):
            self._axps = grown(self._axps)
        self._cxp_lists, self._axp_lists = (
            lists._replace(number=grown(lists.number)) if self._is_short(lists, known) else lists
            for lists, known in ((self._cxp_lists, self.worker.n_sets), (self._axp_lists, self.n_axps))
        )

    def _is_short(self, lists: Active, known: int) -> bool:
        """Tell whether the lists of the part on top may be too long for their room."""
        p = self.waiting - 1
        first, end, seen = (int(a[p]) for a in lists[1:])
        return first + 2 * (end - first + known - seen) > len(lists.number)

    def news(self) -> Words:
        """Return the AXps that it has found since it was asked last."""
        sets, self._told = self.axps[self._told :].copy(), self.n_axps
        return sets

    def learn(self, sets: Words) -> None:
        """Add AXps that others have found, after it was asked for its own."""
        known = self.n_axps + len(sets)
        while len(self._axps) < known:
            self._axps = grown(self._axps)
        self._axps[self.n_axps : known] = sets
        self.worker.registers[N_AXPS] = self._told = known

    def share(self, poor: _Thread) -> None:
        """Give every other part to a thread that has none, but not the one that may be asked about."""
        top = self.waiting
        given = np.arange(0, top - 1, 2)
        left = np.setdiff1d(np.arange(top), given)
        for mine, theirs in zip(self._parts, poor._parts, strict=True):
            theirs[: len(given)] = mine[given]
        for rows in (*self._parts, *self._cxp_lists[1:], *self._axp_lists[1:]):
            rows[: len(left)] = rows[left]
        _forget(poor._cxp_lists)  # its own sets have other numbers
        _forget(poor._axp_lists)
        poor.worker.registers[PARTS], self.worker.registers[PARTS] = len(given), len(left)


def _forget(lists: Active) -> None:
    """Let each part look at all sets once more."""
    for rows in lists[1:]:
        rows[:] = 0
