"""Budgets of seconds, search nodes and bytes, and how resumable kernels are metered.

A budget is an argument of a question. What answers it opens an :class:`Account` (steps in Python), a
:class:`Meter` (kernels), or a :class:`Watch` (only hands on what is left to its own steps).

A kernel that searches keeps its whole state in arrays. It returns when it is done, when it has
used the nodes it was granted, or when an array is full; Python then looks at the clock (and lets
Ctrl-C through), grants more or gives up, and calls it again.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import check_fields, quoted, whole
from axfi_kc.errors import ArgumentError, BudgetError, DomainError
from axfi_kc.free_memory import free_memory, resident_memory

__all__ = [
    "ALLOWANCE",
    "DONE",
    "FOUND",
    "LIMIT",
    "NODES",
    "STACK_FULL",
    "STORE_FULL",
    "Account",
    "Budget",
    "BudgetSpent",
    "Meter",
    "Progress",
    "Watch",
    "bounding_memory",
    "clocks_stopped",
    "holding_interrupts",
    "interruptible",
    "listening",
    "paced",
    "preparation",
    "preparing",
    "stopping_at_interrupt",
    "was_interrupted",
]


# what a kernel answers; all but DONE and FOUND ask to be called again with more
DONE, FOUND, ALLOWANCE, STORE_FULL, STACK_FULL = 0, 1, 2, 3, 4

# the first two registers of every kernel: nodes spent, nodes allowed
NODES, LIMIT = 0, 1

# search nodes between two looks at the clock: at first, at most, and how many seconds they should take
_FIRST_CHUNK, _CHUNK = 1 << 7, 1 << 13
_SHORT, _LONG = 0.002, 0.01

_SPENT_AT_ONCE = 256  # nodes of an account between two looks: some milliseconds
_FIRST_PACE = 4  # items of a pass until the second look
_PASSED_AT_ONCE = 16  # items of a pass between two looks; one may be a product of long integers
_T = TypeVar("_T")

_LEAST_SECONDS = 1e-9
_BETWEEN_LOOKS = 0.002  # seconds between two questions about memory
_BETWEEN_GLANCES = 0.02  # likewise, where no budget limits it
_LITTLE = 1 << 26  # bytes that may always be taken


@dataclass(frozen=True, slots=True)
class Budget:
    """What one explanation may cost at most; None means no limit.

    Attributes
    ----------
    seconds
        Wall-clock seconds.
    nodes
        Search nodes, which do not depend on the machine.
    bytes
        By how much the resident memory of the process may grow meanwhile, with all its libraries and threads. Known on
        Linux, and without effect elsewhere. Where neither `nodes` nor `bytes` is limited, a question about the whole
        space may take half of the free memory.
    threads
        How many threads may work on one explanation; sums of trees use them.
    """

    seconds: float | None = None
    nodes: int | None = None
    bytes: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse limits that are not positive numbers."""
        check_fields(self)
        whole(self.threads, "A budget of threads", least=1)
        for name, limit in (("seconds", self.seconds), ("nodes", self.nodes), ("bytes", self.bytes)):
            if limit is not None and not limit > 0:
                raise DomainError(
                    f"A budget of {name} must be above 0, but {quoted(limit)} was given; leave it out for no limit."
                )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is.

    Attributes
    ----------
    nodes
        The nodes spent so far.
    radius
        All CXps of at most so many features are known; None: that is not known.
    cxps
        The CXps found so far, some of which may be larger; None: not known.
    waiting
        The boxes or sets that are open; None: not known.
    """

    nodes: int = 0
    radius: int | None = None
    cxps: int | None = None
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class _Rest(Budget):
    """What is left of a budget for a part of a question, and what the question took before.

    Attributes
    ----------
    began
        When the question began.
    spent
        Its nodes before the part.
    """

    began: float = 0.0
    spent: int = 0


_NO_LIMIT = Budget()
Listener = Callable[[Progress], None]

# Of the thread that asks, and of nobody else: what it starts under them, its watches know.
_stop: ContextVar[threading.Event | None] = ContextVar("stop", default=None)
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_preparing: ContextVar[tuple[Watch, bool] | None] = ContextVar("preparing", default=None)


@contextmanager
def stopping_at_interrupt() -> Iterator[None]:
    """Let the first Ctrl-C spend every budget of the block, instead of raising KeyboardInterrupt; the second raises it.

    See :func:`was_interrupted`. Only the main thread gets signals: in others this does nothing.

    Examples
    --------
    >>> with stopping_at_interrupt():
    ...     before = Watch().is_spent()
    ...     signal.raise_signal(signal.SIGINT)
    ...     before, Watch().is_spent(), was_interrupted()
    (False, True, True)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop, before = threading.Event(), signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def note(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    token = _stop.set(stop)
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _stop.reset(token)


@contextmanager
def holding_interrupts() -> Iterator[Callable[[], bool]]:
    """Let a Ctrl-C wait for the end of the block, which is told by the function that it gets, and should hurry then.

    What waits for threads of a pool holds locks that a KeyboardInterrupt would leave closed, for all threads and for
    good. Only the main thread gets signals: in others this does nothing.

    Examples
    --------
    >>> own = signal.signal(signal.SIGINT, lambda *_: print("then the handler"))
    >>> with holding_interrupts() as is_waiting:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("to the end", is_waiting())
    to the end True
    then the handler
    >>> _ = signal.signal(signal.SIGINT, own)
    """
    before = signal.getsignal(signal.SIGINT)
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def was_interrupted() -> bool:
    """Tell whether Ctrl-C has ended what is done under :func:`stopping_at_interrupt`."""
    stop = _stop.get()
    return stop is not None and stop.is_set()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` every few milliseconds how far the searches of the block are.

    Examples
    --------
    >>> heard = []
    >>> with listening(heard.append):
    ...     Meter().report(radius=2, cxps=5)
    >>> heard
    [Progress(nodes=0, radius=2, cxps=5, waiting=None)]
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def preparing(budget: Budget | None, *, each: bool = False) -> Iterator[None]:
    """Let what is made ready in the block, where no argument reaches, be paid for by `budget`.

    See :func:`preparation`. What is made ready once may serve many questions: the first one pays for it. With `each`,
    the block answers several questions that have the budget each, so whatever is made ready may take all of it.
    """
    token = _preparing.set((Watch(budget), each))
    try:
        yield
    finally:
        _preparing.reset(token)


def preparation() -> Budget | None:
    """Return what is left for making something ready; its nodes are no search nodes, so these are not limited.

    Examples
    --------
    >>> preparation() is None
    True
    >>> with preparing(Budget(seconds=60, nodes=1)):
    ...     preparation().seconds <= 60, preparation().nodes
    (True, None)
    """
    found = _preparing.get()
    if found is None:
        return None
    watch, each = found
    return replace(watch.budget if each else watch.rest(), nodes=None)


class BudgetSpent(Exception):
    """A metered search ran out of budget; whoever knows the names of features makes a BudgetError of it.

    Attributes
    ----------
    found
        The sets certified so far, as ints whose bit i is feature i.
    """

    def __init__(self, found: list[int]) -> None:
        super().__init__("budget spent")
        self.found = found


class _Bound:
    """Half of the memory that was free when this was made, for what the process takes from then on."""

    def __init__(self) -> None:
        self._before, self._growth, self._looked = resident_memory(), 0, time.perf_counter()

    @cached_property
    def bytes(self) -> float:
        # Found only when something is taken, since that takes longer than small questions.
        free = free_memory()
        return math.inf if free is None else (free + resident_memory() - self._before) // 2

    def is_passed(self, more: int = 0) -> bool:
        """Tell whether more is taken, or would be with `more` bytes."""
        now = time.perf_counter()
        if now - self._looked > _BETWEEN_GLANCES:
            self._looked, self._growth = now, resident_memory() - self._before
        grown = self._growth + more
        return grown > _LITTLE and grown > self.bytes


_bound: ContextVar[_Bound | None] = ContextVar("bound", default=None)


@contextmanager
def bounding_memory(budget: Budget | None) -> Iterator[None]:
    """Let the block take half of the free memory at most, where `budget` limits neither nodes nor bytes.

    For questions about the whole space, whose diagrams may be larger than any memory.

    Examples
    --------
    >>> with bounding_memory(None):
    ...     watch = Watch()
    >>> watch.is_spent(), watch.fits(1 << 60)
    (False, False)
    """
    is_limited = budget is not None and (budget.nodes is not None or budget.bytes is not None)
    if is_limited or _bound.get() is not None:  # within one block another may begin
        yield
        return
    token = _bound.set(_Bound())
    try:
        yield
    finally:
        _bound.reset(token)


_stood_still = [0.0]  # seconds, together
_standing = threading.RLock()  # what several threads compile at a time must not count twice


@contextmanager
def clocks_stopped() -> Iterator[None]:
    """Let the clocks of all budgets stand still, while something is compiled that only one question has to wait for.

    Examples
    --------
    >>> meter = Meter(Budget(seconds=60))
    >>> with clocks_stopped():
    ...     time.sleep(0.1)
    >>> meter.seconds < 0.1
    True
    """
    begin = _now()
    try:
        yield
    finally:
        with _standing:
            _stood_still[0] += max(0.0, _now() - begin)


def _now() -> float:
    """Return the time by the clocks of budgets."""
    return time.perf_counter() - _stood_still[0]


class Watch:
    """Tells time and memory, for work that counts no nodes itself and shares a budget out to its steps.

    Parameters
    ----------
    budget
        What the work may cost; None: no limit.
    ago
        How many seconds ago it began.

    Examples
    --------
    >>> watch = Watch(Budget(seconds=60, nodes=100))
    >>> watch.is_spent(99), watch.is_spent(101), watch.rest(40).nodes
    (False, True, 60)
    """

    def __init__(self, budget: Budget | None = None, *, ago: float = 0.0) -> None:
        if budget is not None and not isinstance(budget, Budget):
            raise ArgumentError(
                f"A budget is an ax.Budget or None, but {quoted(budget)} was given; make one, as ax.Budget(seconds=5)."
            )
        self.budget = budget or _NO_LIMIT
        self._begin = _now() - ago
        if self.budget.bytes is not None:
            import_module("numba")  # whose own size no question should pay for
        self._before = 0 if self.budget.bytes is None else resident_memory()
        self._looked, self._growth = 0.0, 0
        self._bound, self._is_short = _bound.get() if self.budget.bytes is None else None, False
        self._stop, self.listener = _stop.get(), _listener.get()

    @property
    def seconds(self) -> float:
        """The seconds since the watch was started."""
        return _now() - self._begin

    def spent(self, nodes: int) -> tuple[int, float]:
        """Return the nodes and seconds of the whole question, whose present part took `nodes`."""
        budget = self.budget
        return (budget.spent + nodes, _now() - budget.began) if isinstance(budget, _Rest) else (nodes, self.seconds)

    @property
    def passed_bound(self) -> float | None:
        """How many bytes may be taken without a budget, if these did not suffice; else None."""
        is_short = not self.fits(0) or self._is_short
        return self._bound.bytes if self._bound is not None and is_short else None

    @property
    def memory(self) -> int | None:
        """By how many bytes the memory has grown, if the budget limits that; else None."""
        return None if self.budget.bytes is None else max(self._grown(), 0)

    def is_spent(self, nodes: int = 0) -> bool:
        """Tell whether the time, the memory, or more than the nodes are used up.

        Notes
        -----
        A microsecond, and more every few milliseconds if bytes are limited.
        """
        budget = self.budget
        if budget.nodes is not None and nodes > budget.nodes:
            return True
        if self._stop is not None and self._stop.is_set():
            return True
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return True
        return not self.fits(0)

    @property
    def can_end(self) -> bool:
        """Whether something is limited, or a Ctrl-C would end it."""
        budget = self.budget
        is_limited = budget.seconds is not None or budget.nodes is not None or budget.bytes is not None
        return is_limited or self._stop is not None

    @property
    def is_free(self) -> bool:
        """Whether nothing is limited, and nobody wants to know how far it is."""
        return not self.can_end and self.listener is None and self._bound is None

    def fits(self, more: int) -> bool:
        """Tell whether the memory may grow by so many bytes more."""
        if self._bound is not None and self._bound.is_passed(more):
            self._is_short = True
            return False
        return self.budget.bytes is None or self._grown() + more <= self.budget.bytes

    def _grown(self) -> int:
        """Return by how much memory has grown, as of some milliseconds ago: asking the system takes a while."""
        now = time.perf_counter()
        if now - self._looked > _BETWEEN_LOOKS:
            self._looked, self._growth = now, resident_memory() - self._before
        return self._growth

    def rest(self, nodes: int = 0) -> Budget:
        """Return what is left of the budget after `nodes`; a step that gets nothing stops at its first look."""
        budget = self.budget
        if budget.seconds is None and budget.nodes is None and budget.bytes is None:
            return budget
        spent, seconds = self.spent(nodes)
        return _Rest(
            seconds=None if budget.seconds is None else max(budget.seconds - self.seconds, _LEAST_SECONDS),
            nodes=None if budget.nodes is None else max(budget.nodes - nodes, 1),
            bytes=None if budget.bytes is None else max(budget.bytes - self._grown(), 1),
            threads=budget.threads,
            began=_now() - seconds,
            spent=spent,
        )


def _next_pace(steps: int, seconds: float, most: int) -> int:
    """Return how many steps to take until the next look at the clock, if so many took so long."""
    if seconds > _LONG:  # a step may take a microsecond or, with long integers, much more
        return max(steps // 8, 1)
    return min(8 * steps, most) if seconds < _SHORT else steps


class Account:
    """Counts the steps of work in Python against a budget, and raises the BudgetError when there is no more.

    Parameters
    ----------
    budget
        What all that is done under this account may cost; None: no limit.
    goal
        What is made, for the message.
    advice
        What to do when the budget is spent, for the message.
    unit
        What its nodes are, for the message.
    at_once
        Nodes between two looks at the clock at most: as many as usually take some milliseconds.

    Examples
    --------
    >>> account = Account(Budget(nodes=2), goal="diagram")
    >>> account.spend(2)
    >>> account.spend(1)
    Traceback (most recent call last):
        ...
    axfi_kc.errors.BudgetError: The budget was spent after 3 nodes and 0.00 s, and the diagram is not finished; ...
    """

    def __init__(
        self,
        budget: Budget | None,
        *,
        goal: str,
        advice: str = "allow more, or try another order",
        unit: str = "nodes",
        at_once: int = _SPENT_AT_ONCE,
    ) -> None:
        self.nodes = 0
        self._watch = Watch(budget)
        self._goal, self._advice, self._unit = goal, advice, unit
        self._most, self._at_once = self.budget.nodes, at_once
        self._next_look, self._pace, self._looked = 0, 1, 0.0

    @property
    def seconds(self) -> float:
        """The seconds since the account was opened."""
        return self._watch.seconds

    @property
    def spent(self) -> tuple[int, float]:
        """The nodes and seconds of the whole question, of which this is a part."""
        return self._watch.spent(self.nodes)

    @property
    def budget(self) -> Budget:
        """The whole budget."""
        return self._watch.budget

    @property
    def is_free(self) -> bool:
        """Whether nothing is limited."""
        return self._watch.is_free

    @property
    def can_end(self) -> bool:
        """Whether something is limited, or a Ctrl-C would end it."""
        return self._watch.can_end

    def spend(self, nodes: int) -> None:
        """Count `nodes` more.

        Raises
        ------
        BudgetError
            If the budget does not allow them.
        """
        self.nodes += nodes
        if self.nodes > self._next_look:
            self.look()
            now = time.perf_counter()
            self._pace = _next_pace(self._pace, now - self._looked, self._at_once)
            later, self._looked = self.nodes + self._pace, now
            self._next_look = later if self._most is None else min(later, self._most)

    def grant(self, nodes: int) -> None:
        """Let what follows have `nodes` of its own and no more, unless the budget itself limits nodes.

        Examples
        --------
        >>> account = Account(Budget(seconds=60), goal="walk")
        >>> for _ in range(3):
        ...     account.grant(2)
        ...     account.spend(2)
        >>> account.nodes
        6
        """
        if self.budget.nodes is None:
            self._most = self.nodes + nodes
            self._next_look = min(self._next_look, self._most)

    def look(self) -> None:
        """Raise a BudgetError if the budget is spent."""
        if self._watch.listener is not None:
            self._watch.listener(Progress(self.nodes))
        if (self._most is not None and self.nodes > self._most) or self._watch.is_spent():
            raise self.error()

    def require(self, more: int) -> None:
        """Raise a BudgetError if the memory may not grow by so many bytes more."""
        if not self._watch.fits(more):
            raise self.error()

    def paced(self, items: Iterable[_T], *, at_once: int = _PASSED_AT_ONCE) -> Iterable[_T]:
        """Return the items, with a look at the clock and at the memory every few of them.

        A pass is no search: its items are not counted as nodes.

        Examples
        --------
        >>> sum(Account(None, goal="sum").paced(range(5))), sum(Account(Budget(nodes=1), goal="sum").paced(range(5)))
        (10, 10)
        """
        return items if self._watch.is_free else self._looked_at(items, at_once)

    def _looked_at(self, items: Iterable[_T], at_once: int) -> Iterator[_T]:
        iterator, pace = iter(items), min(_FIRST_PACE, at_once)
        while some := list(islice(iterator, pace)):
            self.look()
            begin = time.perf_counter()
            yield from some
            if len(some) < pace:
                return
            pace = _next_pace(pace, time.perf_counter() - begin, at_once)

    def rest(self) -> Budget:
        """Return what is left for a step that keeps its own account."""
        return self._watch.rest(self.nodes)

    def error(self) -> BudgetError:
        """Return the error that says what was spent since the question began."""
        nodes, seconds = self.spent
        spent = f"{nodes} {self._unit if nodes != 1 else _one_of(self._unit)} and {seconds:.2f} s"
        bound, memory = self._watch.passed_bound, self._watch.memory
        if bound is not None:
            words = (
                f"Half of the free memory, {_shown(bound)}, did not suffice after {spent}, and the {self._goal} is not "
                "finished; set a limit yourself, ax.Budget(bytes=...) or ax.Budget(nodes=...), or give a smaller model."
            )
        else:
            taken = "" if memory is None else f" and {_shown(memory)}"
            words = f"The budget was spent after {spent}{taken}, and the {self._goal} is not finished; {self._advice}."
        return BudgetError(words, nodes=nodes, seconds=seconds)


def _one_of(unit: str) -> str:
    """Return a noun in the singular: "nodes", "boxes", or "pairs of nodes"."""
    noun, *rest = unit.split(" ")
    return " ".join([noun.removesuffix("es" if noun.endswith("xes") else "s"), *rest])


def _shown(size: float) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def paced(items: Iterable[_T], account: Account | None, *, at_once: int = _PASSED_AT_ONCE) -> Iterable[_T]:
    """Return the items as :meth:`Account.paced` does, or as they are if there is no account."""
    return items if account is None else account.paced(items, at_once=at_once)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C through a kernel that returns arrays.

    A signal waits until a kernel ends. If numba is then in the middle of making Python objects of what the
    kernel returns, it turns the KeyboardInterrupt into a SystemError.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise KeyboardInterrupt from None


class Meter:
    """Counts the nodes of one search, in kernels and between them, and tells the search when to give up.

    A search then raises :class:`BudgetSpent` with what it has found.

    Examples
    --------
    >>> meter = Meter(Budget(nodes=3))
    >>> meter.spend(2), meter.spend(1), meter.spend(1), meter.nodes
    (True, True, False, 4)
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self._watch = Watch(budget)
        self._budget = self._watch.budget
        self._before = 0
        self._chunk, self._looked = _FIRST_CHUNK, 0.0
        self._registers = np.zeros(2, np.int64)
        self._progress = Progress()
        self.extend()

    @property
    def nodes(self) -> int:
        """The nodes spent so far."""
        return self._before + int(self._registers[NODES])

    @property
    def seconds(self) -> float:
        """The seconds since the meter was started."""
        return self._watch.seconds

    @property
    def spent(self) -> tuple[int, float]:
        """The nodes and seconds of the whole question, of which this is a part."""
        return self._watch.spent(self.nodes)

    @property
    def is_spent(self) -> bool:
        """Whether the budget is spent."""
        return self._watch.is_spent(self.nodes)

    @property
    def threads(self) -> int:
        """How many threads may share the work."""
        return self._budget.threads

    def allowance(self) -> int:
        """Return how many nodes may be spent until the next look at the clock; 0 when the budget is spent."""
        left = int(self._registers[LIMIT] - self._registers[NODES])
        if left <= 0 and self.extend():
            left = int(self._registers[LIMIT] - self._registers[NODES])
        return max(left, 0)

    def fits(self, more: int) -> bool:
        """Tell whether the memory may grow by so many bytes more."""
        return self._watch.fits(more)

    @property
    def can_end(self) -> bool:
        """Whether something is limited, or a Ctrl-C would end it."""
        return self._watch.can_end

    def report(self, *, radius: int | None = None, cxps: int | None = None, waiting: int | None = None) -> None:
        """Tell whoever listens how far the search is; what is left out is as it was (cost: nothing if nobody does)."""
        if self._watch.listener is None:
            return
        now, told = self._progress, (radius, cxps, waiting)
        kept = (now.radius, now.cxps, now.waiting)
        self._progress = Progress(self.nodes, *(a if b is None else b for a, b in zip(kept, told, strict=True)))
        self._watch.listener(self._progress)

    def rest(self) -> Budget:
        """Return what is left for a step that keeps its own meter or account."""
        return self._watch.rest(self.nodes)

    def spend(self, nodes: int) -> bool:
        """Count nodes of a search in Python; False when the budget does not allow them."""
        self._registers[NODES] += nodes
        return bool(self._registers[NODES] <= self._registers[LIMIT]) or self.extend()

    def attach(self, registers: npt.NDArray[np.int64]) -> None:
        """Meter another kernel from now on."""
        self._before = self.nodes
        self._registers = registers
        self.extend()

    def extend(self) -> bool:
        """Grant the kernel another chunk of nodes, of some milliseconds; False when the budget is spent."""
        now = self._watch.seconds
        if now - self._looked > _LONG:  # a node may take a microsecond or, of large families, much more
            self._chunk = max(int(self._chunk * _LONG / (now - self._looked)), 1)
        elif now - self._looked < _SHORT:
            self._chunk = min(2 * self._chunk, _CHUNK)
        self._looked = now
        more = self._chunk
        if self._budget.nodes is not None:
            more = min(more, self._budget.nodes - self.nodes)
        self._registers[LIMIT] = self._registers[NODES] + max(more, 0)
        return more > 0 and not self._watch.is_spent()
