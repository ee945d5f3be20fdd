"""The sweep: all CXps by looking at the whole space, shared by one thread or more."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Condition

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import NODES
from axfi_kc.engines.ensemble import search_kernels
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.search_kernels import LAST, MAX_SIZE, SCORE, TOP
from axfi_kc.engines.ensemble.workers import Worker, doubled, in_threads, new_family
from axfi_kc.engines.found import words_of_masks

__all__ = ["Sweep"]


Words = npt.NDArray[np.uint64]
_BEHIND = 2  # rounds until a thread hears of what others found: those who are not in step do not wait for each other


@cache
def _everything(m: int) -> Words:
    """Return the set of all features."""
    return words_of_masks([(1 << m) - 1], m)[0]


class _Rounds:
    """What each of some threads has found, round by round, and when the others hear of it.

    That depends on the number of rounds alone, so that the clock decides nothing.
    """

    def __init__(self, threads: int) -> None:
        self._told: list[list[Words]] = [[] for _ in range(threads)]
        self._ended = [False] * threads
        self._changed = Condition()

    def tell(self, k: int, sets: Words) -> None:
        """Tell what thread `k` has found in its next round."""
        with self._changed:
            self._told[k].append(sets)
            self._changed.notify_all()

    def end(self, k: int) -> None:
        """Tell that thread `k` has no more rounds."""
        with self._changed:
            self._ended[k] = True
            self._changed.notify_all()

    def hear(self, k: int, n: int) -> list[Words] | None:
        """Return what the others have found in round n, as soon as they are through; None if one has ended before."""
        others = [j for j in range(len(self._told)) if j != k]
        with self._changed:
            self._changed.wait_for(lambda: all(self._ended[j] or len(self._told[j]) > n for j in others))
            return [self._told[j][n] for j in others] if all(len(self._told[j]) > n for j in others) else None

    def rest(self, k: int, n: int) -> list[Words]:
        """Return what the others have found from round n on; all have ended."""
        return [sets for j, told in enumerate(self._told) if j != k for sets in told[n:]]


class Sweep:
    """The search through the whole space, shared by one thread or more."""

    def __init__(self, ensemble: Ensemble, there: Around, *, max_size: int, threads: int) -> None:
        self._ensemble, self._around, m = ensemble, there, len(there.v)
        self._free = _everything(m)
        self.workers = []
        for _ in range(threads):
            registers = np.zeros(search_kernels.REGISTERS, np.int64)
            registers[SCORE], registers[LAST], registers[MAX_SIZE] = -1, -1, max_size
            self.workers.append(Worker(ensemble, new_family(m), registers))
        self.workers[0].registers[LAST] = len(ensemble.base) - 1 if threads == 1 else 0

    @property
    def waiting(self) -> int:
        """The boxes on the stacks."""
        return sum(int(w.registers[TOP]) for w in self.workers)

    @property
    def nodes(self) -> int:
        """The nodes of all threads so far."""
        return sum(int(w.registers[NODES]) for w in self.workers)

    def run(self, nodes: int, pool: ThreadPoolExecutor | None, is_spent: Callable[[], bool]) -> tuple[int, bool]:
        """Go on for about so many nodes; return how many these were, and whether it has ended."""
        before = self.nodes
        if pool is None:
            ended = self._step(self.workers[0], nodes)
        else:
            ended = self._run_beside(-(-nodes // len(self.workers)), pool, is_spent) and not self._next_score()
            self._balance()
        return self.nodes - before, ended

    def _run_beside(self, each: int, pool: ThreadPoolExecutor, is_spent: Callable[[], bool]) -> bool:
        """Let each thread go on for so many nodes, or until one has nothing left; True if all have nothing left."""
        if not all(w.registers[TOP] for w in self.workers):
            each = min(each, Worker.ROUND)  # somebody waits for boxes
        rounds = _Rounds(len(self.workers))
        threads = range(len(self.workers))
        found = in_threads(pool, lambda k, ends: self._stretch(k, each, rounds, ends), threads, is_spent)
        in_threads(pool, lambda k, _: self._catch_up(k, found[k][1], rounds), threads, is_spent)
        return all(ended for ended, _ in found)

    def _stretch(self, k: int, nodes: int, rounds: _Rounds, is_spent: Callable[[], bool]) -> tuple[bool, int]:
        """Go on with one thread; return whether it has nothing left, and the rounds of the others that it knows."""
        worker, ended, n = self.workers[k], False, 0
        try:
            while nodes > 0 and not ended and not is_spent():
                if n >= _BEHIND:
                    news = rounds.hear(k, n - _BEHIND)
                    if news is None:
                        break
                    worker.learn(np.concatenate(news))
                ended = self._step(worker, min(nodes, Worker.ROUND))
                rounds.tell(k, worker.news())
                nodes -= Worker.ROUND
                n += 1
        finally:
            rounds.end(k)
        return ended, max(n - _BEHIND, 0)

    def _catch_up(self, k: int, n: int, rounds: _Rounds) -> None:
        worker = self.workers[k]
        for sets in rounds.rest(k, n):
            worker.learn(sets)

    def _step(self, worker: Worker, nodes: int) -> bool:
        return worker.run(
            lambda: search_kernels.sweep(
                self._ensemble, self._around, worker.family, worker.stack, self._free, worker.scratch, worker.registers
            ),
            nodes,
        )

    def exchange(self) -> None:
        """Tell each thread what the others have found since the last time."""
        found = [w.news() for w in self.workers]
        for n, worker in enumerate(self.workers):
            for k, sets in enumerate(found):
                if k != n:
                    worker.learn(sets)

    def _next_score(self) -> bool:
        """Let the first thread open the next score, for which all have to be through with the one before."""
        registers = self.workers[0].registers
        if registers[LAST] + 1 == len(self._ensemble.base):
            return False
        registers[LAST] += 1
        return True

    def _balance(self) -> None:
        """Give a thread that has nothing left every other box of the one that has most."""
        rich = max(self.workers, key=lambda w: int(w.registers[TOP]))
        for poor in self.workers:
            top = int(rich.registers[TOP])
            if poor.registers[TOP] > 0 or top < 2:
                continue
            given, left = np.arange(0, top, 2), np.arange(1, top, 2)
            while len(poor.stack.total) < len(given) + 2:
                poor.stack = doubled(poor.stack)
            for mine, theirs in zip(rich.stack, poor.stack, strict=True):
                theirs[: len(given)] = mine[given]
                mine[: len(left)] = mine[left]
            poor.stack.known[: len(given)] = 0  # its own sets have other numbers
            poor.registers[SCORE] = poor.registers[LAST] = rich.registers[SCORE]
            poor.registers[TOP], rich.registers[TOP] = len(given), len(left)
