"""All CXps of an instance: a sweep over the whole space and, beside it, a climb from small sets to large ones.

Both add to one family of *weak* CXps, sets whose change can make the output dissimilar. The sweep ends with all CXps,
the minimal sets of the family, and is the shorter way where these are large; its pieces may be shared by threads. The
climb ends with all CXps of one feature, then of two, and so on: it is the shorter way where only small ones are wanted
or a budget is spent before the sweep ends. Who wants both gives each its turn, counted in nodes, so that what comes
out does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from threading import Condition, local
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL, BudgetSpent, Meter, holding_interrupts
from axfi_kc.engines.ensemble import bound_kernels, family_kernels, search_kernels, set_kernels
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.family_kernels import Family
from axfi_kc.engines.ensemble.search_kernels import LAST, MAX_SIZE, N_SETS, SCORE, TOP, Scratch, Stack
from axfi_kc.engines.ensemble.set_kernels import DEPTH, SHARE, SHARES, SIZE, Deviations, Walk
from axfi_kc.engines.found import masks_of_words, words_of_masks
from axfi_kc.families.masks import minimal_sets

__all__ = ["CxpSearch", "find_cxps", "find_witness", "minimal", "spares"]


Cells = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Room = tuple[Around, Scratch]  # an instance among the trees, and what kernels need in passing
WORD = 64  # features in a word of a set, leaves in a block
_DEPTH = 48  # rows of a new stack
_FIRST_SETS = 64  # rows of a new family
_FEW_SETS = 4096  # not worth thinning out
_FEW = 16  # not worth a kernel's arrays
_SMALL = 1 << 13  # entries of tests in trees whose arrays are kept
_SHAPES = 8  # of trees for which they are
_FIRST_TURN = 1 << 11  # nodes: most instances of small models need fewer for everything
_ROUND = 1 << 12  # nodes of each thread until it tells the others what it has found: some thousandths of a second
_BEHIND = 2  # rounds until a thread hears of that: those who are not in step do not wait for each other
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
    stack, free, point = _new_stack(ensemble), words_of_masks([mask], m)[0], np.empty(m, np.int32)
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


def doubled(arrays: Any) -> Any:
    """Return the same named tuple with twice the rows."""
    # Rows keep their numbers, so an interrupted search goes on as if the arrays had always been larger.
    return type(arrays)(*(np.concatenate([a, np.empty_like(a)]) for a in arrays))


class _Spares(local):
    """Arrays that a search needs no more, for the next one of this thread: to search a small model takes no longer.

    What they hold means nothing, and they are kept for the shape of the trees, not for the trees.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], Any] = {}

    def take(self, purpose: str, ensemble: Ensemble) -> Any:
        """Return arrays for trees of this shape, which then belong to who takes them; None if there are none."""
        return self._kept.pop(self._key(purpose, ensemble), None) if self._kept else None

    def keep(self, purpose: str, ensemble: Ensemble, arrays: Any) -> None:
        """Keep the arrays of small models, of a few shapes."""
        if ensemble.sides.size <= _SMALL:
            if len(self._kept) >= _SHAPES:
                self._kept.clear()
            self._kept[self._key(purpose, ensemble)] = arrays

    @staticmethod
    def _key(purpose: str, ensemble: Ensemble) -> tuple[Any, ...]:
        sizes = ensemble.n_cells, ensemble.base, ensemble.root, ensemble.test
        return (purpose, int(ensemble.block_start[-1]), *map(len, sizes))


spares = _Spares()


def around(ensemble: Ensemble, v: Cells) -> Around:
    """Return the instance among the trees: its leaves, and what it takes to reach the others."""
    leaves, words = len(ensemble.leaf), -(-len(v) // WORD)
    found = Around(v, np.empty(len(ensemble.root), np.int32), np.empty((leaves, words), np.uint64))
    rows = leaves + 2
    bound_kernels.look_around(ensemble, found, np.empty((rows, words), np.uint64), np.empty(rows, np.int32))
    return found


def new_scratch(ensemble: Ensemble) -> Scratch:
    """Return room for what kernels need in passing."""
    m, trees = len(ensemble.n_cells), len(ensemble.root)
    words = -(-m // WORD)
    x, node = np.empty((2, m), np.int32)
    gain, weight = np.empty((2, m))
    stamp, best = np.empty((2, m), np.int64)
    tests = len(ensemble.test)  # of any one score at most
    return Scratch(
        at=np.empty((2, trees), np.int32), x=x, node=node, gain=gain, weight=weight, stamp=stamp, best=best,
        fixed=np.zeros(words, np.uint64), W=np.zeros((1, words), np.uint64), trail=np.empty(tests, np.int32),
        kept=np.empty(tests, np.uint64),
    )  # fmt: skip


def _new_stack(ensemble: Ensemble) -> Stack:
    m, words = len(ensemble.n_cells), -(-len(ensemble.n_cells) // WORD)
    lo, hi = np.empty((2, _DEPTH, m), np.int32)
    mask = np.empty((_DEPTH, int(ensemble.block_start[-1])), np.uint64)
    leaf, near, fork = np.empty((3, _DEPTH, len(ensemble.root)), np.int32)
    total, value, known = np.empty((3, _DEPTH), np.int64)
    changed, latest = np.empty((_DEPTH, words), np.uint64), np.empty(_DEPTH, np.int32)
    return Stack(lo, hi, mask, leaf, near, fork, total, value, changed, latest, known)


@cache
def _everything(m: int) -> Words:
    """Return the set of all features."""
    return words_of_masks([(1 << m) - 1], m)[0]


def _new_family(m: int, rows: int = _FIRST_SETS) -> Family:
    columns = -(-rows // WORD)
    member, held = np.empty((rows, -(-m // WORD)), np.uint64), np.zeros(m, np.int64)
    return Family(member, np.zeros((m, m, columns), np.uint64), held, *np.empty((2, columns), np.uint64))


def minimal(sets: Words, m: int) -> Words:
    """Return the sets that have no other one inside, as they come."""
    size, order, rarest = np.empty((3, len(sets)), np.int64)
    often, place, start, end = np.zeros(m + 1, np.int64), np.zeros(m + 2, np.int64), *np.empty((2, m + 1), np.int64)
    kept = np.empty(len(sets), np.bool_)
    family_kernels.minimal(sets, size, order, rarest, often, place, start, end, np.empty_like(sets), kept)
    return sets[kept]


@dataclass(eq=False)
class _Worker:
    """A search that can be stopped after so many nodes: its stack, its registers, and the family that it knows."""

    ensemble: Ensemble
    family: Family
    registers: Ints
    stack: Stack = field(init=False)
    scratch: Scratch = field(init=False)
    told: int = 0  # of its sets, those that the others know, or are about to
    untold: list[Words] = field(default_factory=list)  # and those which they do not, of earlier families

    def __post_init__(self) -> None:
        """Begin with an empty stack."""
        spare = spares.take("search", self.ensemble)
        self.stack, self.scratch = spare or (_new_stack(self.ensemble), new_scratch(self.ensemble))

    def give_back(self) -> None:
        """Leave its arrays to the next search; it needs them no more."""
        if len(self.stack.total) == _DEPTH:
            spares.keep("search", self.ensemble, (self.stack, self.scratch))

    @property
    def n_sets(self) -> int:
        """The sets that it knows."""
        return int(self.registers[N_SETS])

    @property
    def sets(self) -> Words:
        """These sets."""
        return self.family.member[: self.n_sets]

    def news(self) -> Words:
        """Return the sets that it has found since it was asked last."""
        sets = np.concatenate([*self.untold, self.sets[self.told :]])
        self.told, self.untold = self.n_sets, []
        return sets

    def run(self, step: Callable[[], int], nodes: int) -> bool:
        """Go on for so many nodes; True when there is nothing left to do."""
        self.registers[LIMIT] = self.registers[NODES] + nodes
        while True:
            status = step()
            if status == STACK_FULL:
                self.stack = doubled(self.stack)
            elif status == STORE_FULL:
                self.make_room(1)
            else:
                return status == DONE

    def make_room(self, more: int) -> None:
        """Leave out sets that hold others, if there are many, and make the family larger if there still are."""
        m, old = len(self.family.held), self.sets
        self.untold.append(old[self.told :].copy())
        sets = minimal(old, m) if len(old) >= _FEW_SETS else old
        rows = len(self.family.member)
        while len(sets) + more > rows - rows // 4:
            rows *= 2
        self.family = _new_family(m, rows)
        self.registers[N_SETS] = family_kernels.absorb(self.family, sets, 0, len(sets), 0)
        # The sets have other numbers now: boxes that wait look at all of them once more.
        self.stack.known[: self.registers[TOP]] = 0
        self.told = self.n_sets

    def learn(self, sets: Words) -> None:
        """Add sets that others have found, after it was asked for its own."""
        if self.n_sets + len(sets) > len(self.family.member):
            self.make_room(len(sets))
        self.registers[N_SETS] = family_kernels.absorb(self.family, sets, 0, len(sets), self.n_sets)
        self.told = self.n_sets


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


class _Sweep:
    """The search through the whole space, shared by one thread or more."""

    def __init__(self, ensemble: Ensemble, there: Around, *, max_size: int, threads: int) -> None:
        self._ensemble, self._around, m = ensemble, there, len(there.v)
        self._free = _everything(m)
        self.workers = []
        for _ in range(threads):
            registers = np.zeros(search_kernels.REGISTERS, np.int64)
            registers[SCORE], registers[LAST], registers[MAX_SIZE] = -1, -1, max_size
            self.workers.append(_Worker(ensemble, _new_family(m), registers))
        self.workers[0].registers[LAST] = len(ensemble.base) - 1 if threads == 1 else 0

    @property
    def waiting(self) -> int:
        """The boxes on the stacks."""
        return sum(int(w.registers[TOP]) for w in self.workers)

    def run(self, nodes: int, pool: ThreadPoolExecutor | None, is_spent: Callable[[], bool]) -> tuple[int, bool]:
        """Go on for about so many nodes; return how many these were, and whether it has ended."""
        before = [int(w.registers[NODES]) for w in self.workers]
        if pool is None:
            ended = self._step(self.workers[0], nodes)
        else:
            ended = self._run_beside(-(-nodes // len(self.workers)), pool, is_spent) and not self._next_score()
            self._balance()
        return sum(int(w.registers[NODES]) for w in self.workers) - sum(before), ended

    def _run_beside(self, each: int, pool: ThreadPoolExecutor, is_spent: Callable[[], bool]) -> bool:
        """Let each thread go on for so many nodes, or until one has nothing left; True if all have nothing left."""
        if not all(w.registers[TOP] for w in self.workers):
            each = min(each, _ROUND)  # somebody waits for boxes
        rounds = _Rounds(len(self.workers))
        threads = range(len(self.workers))
        with holding_interrupts():
            found = list(pool.map(lambda k: self._stretch(k, each, rounds, is_spent), threads))
            list(pool.map(lambda k: self._catch_up(k, found[k][1], rounds), threads))
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
                ended = self._step(worker, min(nodes, _ROUND))
                rounds.tell(k, worker.news())
                nodes -= _ROUND
                n += 1
        finally:
            rounds.end(k)
        return ended, max(n - _BEHIND, 0)

    def _catch_up(self, k: int, n: int, rounds: _Rounds) -> None:
        worker = self.workers[k]
        for sets in rounds.rest(k, n):
            worker.learn(sets)

    def _step(self, worker: _Worker, nodes: int) -> bool:
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


class _Climb:
    """The search by the number of features: sets first, cells last; the sets are dealt out to one thread or more."""

    def __init__(self, ensemble: Ensemble, there: Around, sweepers: list[_Worker]) -> None:
        self._ensemble, self._around, self._sweepers = ensemble, there, sweepers
        self._scores = [_deviations(ensemble, there, j) for j in range(len(ensemble.base))]
        self._workers = []
        for k, sweeper in enumerate(sweepers):
            registers = np.zeros(set_kernels.REGISTERS, np.int64)
            registers[SHARE], registers[SHARES] = k, len(sweepers)
            self._workers.append(_Worker(ensemble, sweeper.family, registers))
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
        run, threads = (map, nullcontext()) if pool is None else (pool.map, holding_interrupts())
        with threads:
            list(run(lambda k: self._stretch(k, each, is_spent), range(len(self._workers))))
        if all(self._ended):
            ended = self._score + 1 == len(self._scores)
            self._begin(self.size + ended, 0 if ended else self._score + 1)
        return self.nodes - before, ended

    def _stretch(self, k: int, nodes: int, is_spent: Callable[[], bool]) -> None:
        """Go on with one thread."""
        mine, theirs = self._workers[k], self._sweepers[k]
        mine.family, mine.registers[N_SETS], mine.told = theirs.family, theirs.registers[N_SETS], theirs.told
        last = int(mine.registers[NODES]) + nodes
        while not self._ended[k] and mine.registers[NODES] < last and not is_spent():
            self._ended[k] = mine.run(lambda: self._step(k), min(last - int(mine.registers[NODES]), _ROUND))
        if mine.family is not theirs.family:  # thinned out or grown, with other numbers
            theirs.stack.known[: theirs.registers[TOP]] = 0
        theirs.family, theirs.registers[N_SETS], theirs.told = mine.family, mine.registers[N_SETS], mine.told
        theirs.untold, mine.untold = theirs.untold + mine.untold, []

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
        self._sweep = _Sweep(ensemble, self._around, max_size=self._limit, threads=meter.threads)
        self._climb: _Climb | None = None
        self.radius = 0

    def _first_turn(self) -> int:
        """Return how many nodes the sweep begins with: few enough to leave some of a budget for the climb."""
        rest = self._meter.rest().nodes
        return _FIRST_TURN if rest is None else max(1, min(_FIRST_TURN, rest // 8))

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
        turn, threads = self._first_turn() if climbing else None, self._meter.threads
        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            while not self._swept(turn, pool):
                turn = turn or _FIRST_TURN
                yield from self.climb(self._climbing_turn(turn), pool)
                if self.radius == self._limit:
                    return
                turn += turn // 2
        self.radius = self._limit
        yield self.radius

    def _swept(self, nodes: int | None, pool: ThreadPoolExecutor | None) -> bool:
        """Sweep for so many nodes, or to the end; True at the end."""
        ended, spent = False, 0
        while not ended and (nodes is None or spent < nodes):
            used, ended = self._sweep.run(self._allowed(nodes and nodes - spent), pool, self._is_spent)
            spent += used
            self._spend(used)
            self._meter.report(cxps=self._sweep.workers[0].n_sets, waiting=self._sweep.waiting)
        return ended

    def climb(self, nodes: int, pool: ThreadPoolExecutor | None = None) -> Iterator[int]:
        """Climb for so many nodes, and yield each radius that is reached."""
        workers, spent = self._sweep.workers, 0
        if self._climb is None:
            self._climb = _Climb(self._ensemble, self._around, workers)
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

    def _allowed(self, nodes: int | None) -> int:
        """Return how many nodes may be spent at once, of so many (None: of any number)."""
        most, rest, threads = self._meter.allowance(), self._meter.rest().nodes, len(self._sweep.workers)
        if not most or self._is_spent():
            raise BudgetSpent(self.cxps())
        if threads > 1:
            # They look at the clock by themselves, and it decides nothing else.
            most = threads * _STRETCH * _ROUND if rest is None else min(threads * _STRETCH * _ROUND, rest)
        return most if nodes is None else min(most, nodes)

    def _spend(self, nodes: int) -> None:
        if not self._meter.spend(nodes):
            raise BudgetSpent(self.cxps())
