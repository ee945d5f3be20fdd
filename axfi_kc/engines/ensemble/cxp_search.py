"""All CXps of an instance: a sweep over the whole space, and beside it a climb from small sets and one from large ones.

All add to one family of *weak* CXps, sets whose change can make the output dissimilar. The sweep ends with all CXps,
the minimal sets of the family, and is the shorter way where these are many and soon found; its pieces may be shared by
threads. The search from large sets, which finds AXps as well, ends with all CXps, too, and is the shorter way where the
sweep looks for long in vain. The climb ends with all CXps of one feature, then of two, and so on: it is the shorter way
where only small ones are wanted or a budget is spent before the others end. Each has its turn, counted in nodes, so
that what comes out does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, FOUND, STACK_FULL, BudgetSpent, Meter
from axfi_kc.engines.ensemble import search_kernels
from axfi_kc.engines.ensemble.bound_kernels import Ensemble
from axfi_kc.engines.ensemble.climbing import Climb
from axfi_kc.engines.ensemble.compiling import compile_kernels
from axfi_kc.engines.ensemble.dualizing import Dual
from axfi_kc.engines.ensemble.search_kernels import LAST, SCORE
from axfi_kc.engines.ensemble.sweeping import Sweep
from axfi_kc.engines.ensemble.workers import Room, Worker, around, doubled, minimal, new_scratch, new_stack
from axfi_kc.engines.found import masks_of_words, words_of_masks
from axfi_kc.families.masks import minimal_sets

__all__ = ["CxpSearch", "find_cxps", "find_witness"]


Cells = npt.NDArray[np.int32]
_FEW = 16  # not worth a kernel's arrays
_FIRST_TURN = 1 << 11  # nodes: most instances of small models need fewer for everything
_PATIENCE = 1 << 19  # nodes of the sweep before another way is tried
_POOR = 128  # nodes for each set it has found, if it looks in vain
_RATHER = 4  # times as many AXps as CXps for which nodes are given to the search from large sets, rather
_MANY = 1 << 14  # sets after which a node of the sweep takes twice as long, and so on
_STRETCH = 32  # rounds until all stop for a moment


def find_cxps(ensemble: Ensemble, v: Cells, *, max_size: int, meter: Meter) -> list[int]:
    """Return all CXps of v of at most `max_size` features, as masks.

    Raises
    ------
    BudgetSpent
        With the CXps certified so far.
    """
    search = CxpSearch(ensemble, v, max_size=max_size, meter=meter)
    for _ in search.radii(climbing=max_size < len(v)):
        pass
    found = search.cxps()
    search.give_back()
    return found


def find_witness(ensemble: Ensemble, v: Cells, mask: int, *, meter: Meter) -> Cells | None:
    """Return the cells of a dissimilar point that agrees with v outside `mask`, or None.

    Notes
    -----
    Branch and bound, exponential in the size of the set at worst.
    """
    registers = np.zeros(search_kernels.REGISTERS, np.int64)
    registers[SCORE], registers[LAST] = -1, len(ensemble.base) - 1
    meter.attach(registers)
    m = len(v)
    stack, free, point = new_stack(ensemble), words_of_masks([mask], m)[0], np.empty(m, np.int32)
    scratch, there = new_scratch(ensemble), around(ensemble, v)
    while True:
        status = search_kernels.witness(ensemble, there, stack, free, point, scratch, registers)
        if status == DONE:
            return None
        if status == FOUND:
            return point
        if status == STACK_FULL:
            stack = doubled(stack)
        elif not meter.extend():
            raise BudgetSpent([])


class CxpSearch:
    """The search for the CXps of one instance.

    Parameters
    ----------
    ensemble, v
        The trees, laid out for v's output, and its cells.
    max_size
        How many features a CXp may have at most.
    meter
        What it may cost, and how many threads may share it.

    Attributes
    ----------
    radius
        All CXps of at most so many features are known.
    """

    def __init__(self, ensemble: Ensemble, v: Cells, *, max_size: int, meter: Meter) -> None:
        self._ensemble, self._around = ensemble, around(ensemble, v)
        self._limit, self._meter = min(max_size, len(v)), meter
        self._sweep = Sweep(ensemble, self._around, max_size=self._limit, threads=meter.threads)
        self._climb: Climb | None = None
        self._dual: Dual | None = None
        self.radius = 0

    def _first_turn(self) -> int:
        """Return how many nodes the sweep begins with: few enough to leave some of a budget for the climb."""
        rest = self._meter.rest().nodes
        return _FIRST_TURN if rest is None else max(1, min(_FIRST_TURN, rest // 8))

    def _sweeping_turn(self, turn: int) -> int:
        """Return how many nodes the sweep gets: fewer beside another search when each has to look through many sets."""
        return turn if self._dual is None else max(1, turn // (1 + self._sweep.workers[0].n_sets // _MANY))

    def _climbing_turn(self, turn: int) -> int:
        """Return how many nodes the climb gets after so many of the sweep: more where only small sets are wanted."""
        return 3 * turn if self._limit < len(self._around.v) else -(-turn // 2)

    def cxps(self) -> list[int]:
        """Return the CXps of at most :attr:`radius` features, as masks."""
        sets = self._sweep.workers[0].sets
        if self.radius < len(self._around.v):
            sets = sets[np.bitwise_count(sets).sum(axis=1) <= self.radius]
        if len(sets) <= _FEW:
            return minimal_sets(masks_of_words(sets))
        return masks_of_words(minimal(sets, len(self._around.v)))

    def give_back(self) -> None:
        """Leave the arrays to the next search, and ask this one and its :attr:`room` no more."""
        self._sweep.workers[0].give_back()

    @property
    def room(self) -> Room:
        """What who weighs the CXps need not make again."""
        return self._around, self._sweep.workers[0].scratch

    def radii(self, *, climbing: bool) -> Iterator[int]:
        """Search, and yield each radius as it is finished; the last is `max_size`.

        Without `climbing`, only the last.

        Raises
        ------
        BudgetSpent
            With the CXps of the last radius.
        """
        turn, threads = self._first_turn() if climbing else _PATIENCE, self._meter.threads
        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            while not self._swept(self._sweeping_turn(turn), pool) and not self._dualized(turn, pool):
                if climbing:
                    yield from self.climb(self._climbing_turn(turn), pool)
                if self.radius == self._limit:
                    return
                turn += turn // 2
        self.radius = self._limit
        yield self.radius

    def _swept(self, nodes: int, pool: ThreadPoolExecutor | None) -> bool:
        """Sweep for so many nodes, or to the end; True at the end."""
        return self._turn(self._sweep, nodes, pool)

    def _dualized(self, nodes: int, pool: ThreadPoolExecutor | None) -> bool:
        """Search from large sets for so many nodes, once the sweep has looked for long in vain; True at the end."""
        if self._dual is None:
            in_vain = self._sweep.nodes >= max(_PATIENCE, _POOR * self._sweep.workers[0].n_sets)
            if self._limit < len(self._around.v) or not in_vain:
                return False
            compile_kernels("CXps from large sets")
        # It takes one refutation for each AXp: as long as these are not many more than CXps, it is the better way.
        is_better = self._dual is None or self._dual.n_axps <= _RATHER * self._sweep.workers[0].n_sets
        return self.dualize(_RATHER * nodes if is_better else nodes, pool)

    def dualize(self, nodes: int, pool: ThreadPoolExecutor | None = None) -> bool:
        """Search from large sets for so many nodes, or to the end; True at the end."""
        if self._dual is None:
            self._dual = Dual(self._ensemble, self._around, self._sweep.workers)
        return self._turn(self._dual, nodes, pool)

    def _turn(self, search: Sweep | Dual, nodes: int, pool: ThreadPoolExecutor | None) -> bool:
        """Go on with a search for so many nodes, or to its end; True at the end."""
        workers, ended, spent = self._sweep.workers, False, 0
        while not ended and spent < nodes:
            used, ended = search.run(self._allowed(nodes - spent), pool, self._is_spent)
            spent += used
            if len(workers) > 1 and search is not self._sweep:
                self._sweep.exchange()
            self._spend(used)
            self._meter.report(cxps=workers[0].n_sets, waiting=search.waiting)
            if not used:
                break  # its threads have to wait for each other
        return ended

    def climb(self, nodes: int, pool: ThreadPoolExecutor | None = None) -> Iterator[int]:
        """Climb for so many nodes, and yield each radius that is reached."""
        workers, spent = self._sweep.workers, 0
        if self._climb is None:
            self._climb = Climb(self._ensemble, self._around, workers)
        while spent < nodes and self.radius < self._limit:
            used, ended = self._climb.run(self._allowed(nodes - spent), pool, self._is_spent)
            spent += used
            if len(workers) > 1:
                self._sweep.exchange()
            self._spend(used)
            self._meter.report(radius=self.radius, cxps=workers[0].n_sets)
            if ended:
                self.radius += 1
                yield self.radius

    def _is_spent(self) -> bool:
        return self._meter.is_spent

    def _allowed(self, nodes: int) -> int:
        """Return how many nodes may be spent at once, of so many."""
        most, rest, threads = self._meter.allowance(), self._meter.rest().nodes, len(self._sweep.workers)
        if not most or self._is_spent():
            raise BudgetSpent(self.cxps())
        if threads > 1:
            # They look at the clock by themselves, and it decides nothing else.
            most = threads * _STRETCH * Worker.ROUND if rest is None else min(threads * _STRETCH * Worker.ROUND, rest)
        return min(most, nodes)

    def _spend(self, nodes: int) -> None:
        if not self._meter.spend(nodes):
            raise BudgetSpent(self.cxps())
