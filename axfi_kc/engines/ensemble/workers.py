"""What the searches for CXps work with: room on a stack, sets they know, and how they are stopped and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import local
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, LIMIT, NODES, STACK_FULL, STORE_FULL, holding_interrupts
from axfi_kc.engines.ensemble import bound_kernels, family_kernels
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.family_kernels import Family
from axfi_kc.engines.ensemble.search_kernels import N_SETS, TOP, Scratch, Stack

__all__ = [
    "WORD",
    "Room",
    "Worker",
    "around",
    "doubled",
    "grown",
    "in_threads",
    "minimal",
    "new_family",
    "new_scratch",
    "new_stack",
    "spares",
]


Cells = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")
Ending = Callable[[], bool]
Room = tuple[Around, Scratch]  # an instance among the trees, and what kernels need in passing
WORD = 64  # features in a word of a set, leaves in a block
_DEPTH = 48  # rows of a new stack
_FIRST_SETS = 64  # rows of a new family
_FEW_SETS = 4096  # not worth thinning out
_SMALL = 1 << 13  # entries of tests in trees whose arrays are kept
_SHAPES = 8  # of trees for which they are


def doubled(arrays: Any) -> Any:
    """Return the same named tuple with twice the rows."""
    # Rows keep their numbers, so an interrupted search goes on as if the arrays had always been larger.
    return type(arrays)(*map(grown, arrays))


def grown(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array with twice the rows."""
    return np.concatenate([array, np.empty_like(array)])


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


def new_stack(ensemble: Ensemble) -> Stack:
    """Return an empty stack of boxes."""
    m, words = len(ensemble.n_cells), -(-len(ensemble.n_cells) // WORD)
    lo, hi = np.empty((2, _DEPTH, m), np.int32)
    mask = np.empty((_DEPTH, int(ensemble.block_start[-1])), np.uint64)
    leaf, near, fork = np.empty((3, _DEPTH, len(ensemble.root)), np.int32)
    total, value, known = np.empty((3, _DEPTH), np.int64)
    changed, latest = np.empty((_DEPTH, words), np.uint64), np.empty(_DEPTH, np.int32)
    return Stack(lo, hi, mask, leaf, near, fork, total, value, changed, latest, known)


def new_family(m: int, rows: int | None = None) -> Family:
    """Return a family without sets, and room for some."""
    rows = rows or _FIRST_SETS
    columns = -(-rows // WORD)
    member, held = np.empty((rows, -(-m // WORD)), np.uint64), np.zeros(m, np.int64)
    return Family(member, np.zeros((m, m, columns), np.uint64), held, *np.empty((2, columns), np.uint64))


def in_threads(
    pool: ThreadPoolExecutor | None, work: Callable[[T, Ending], R], parts: Sequence[T], is_spent: Ending
) -> list[R]:
    """Return what `work` returns for each part, done by the threads of a pool, if there is one.

    It is also told by what function it should ask whether to stop: for a spent budget, or a Ctrl-C that has to wait.
    """
    if pool is None:
        return [work(part, is_spent) for part in parts]
    with holding_interrupts() as is_waiting:
        return list(pool.map(lambda part: work(part, lambda: is_spent() or is_waiting()), parts))


def minimal(sets: Words, m: int) -> Words:
    """Return the sets that have no other one inside, as they come."""
    size, order, rarest = np.empty((3, len(sets)), np.int64)
    often, place, start, end = np.zeros(m + 1, np.int64), np.zeros(m + 2, np.int64), *np.empty((2, m + 1), np.int64)
    kept = np.empty(len(sets), np.bool_)
    family_kernels.minimal(sets, size, order, rarest, often, place, start, end, np.empty_like(sets), kept)
    return sets[kept]


@dataclass(eq=False)
class Worker:
    """A search that can be stopped after so many nodes: its stack, its registers, and the family that it knows."""

    # Nodes until a thread tells the others what it has found, or looks at the clock: some thousandths of a second.
    ROUND: ClassVar[int] = 1 << 12

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
        self.stack, self.scratch = spare or (new_stack(self.ensemble), new_scratch(self.ensemble))

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
        self.family = new_family(m, rows)
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

    @contextmanager
    def lending_sets(self, sweeper: Worker) -> Iterator[None]:
        """Use, and add to, the family of another search of the same thread while that one waits."""
        self.family, self.registers[N_SETS], self.told = sweeper.family, sweeper.registers[N_SETS], sweeper.told
        try:
            yield
        finally:
            if self.family is not sweeper.family:  # thinned out or grown, with other numbers
                sweeper.stack.known[: sweeper.registers[TOP]] = 0
            sweeper.family, sweeper.registers[N_SETS], sweeper.told = self.family, self.registers[N_SETS], self.told
            sweeper.untold, self.untold = sweeper.untold + self.untold, []
