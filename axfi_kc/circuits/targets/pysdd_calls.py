"""How PySDD is called without being brought down by it.

It recurses along its vtree, so deep ones overflow the stack of an ordinary thread and the process
ends; it reads vtrees from files only, so it gets one that was written here; its managers free their
nodes, so nodes are read into arrays at once.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.circuits.targets.bit_codes import Bit, balanced
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.errors import CircuitError, MissingExtraError

__all__ = ["SddAlgebra", "SddNodes", "in_deep_thread", "manager_of", "nodes_of", "vtree_of"]


T = TypeVar("T")

_DEEPEST = 3000  # right-linear vtrees of 3,000 variables work in 256 MB of stack, and take half a minute for a chain
_SHALLOW = 50
_STACK, _STACK_PER_LEVEL = 64 << 20, 128 << 10


def in_deep_thread(function: Callable[[], T], *, depth: int) -> T:
    """Return what `function` returns, called where PySDD has enough stack for a vtree of this depth."""
    if depth <= _SHALLOW:
        return function()
    found: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)

    before = threading.stack_size(_STACK + _STACK_PER_LEVEL * depth)
    try:
        thread = threading.Thread(target=run, name="pysdd")
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors.pop()
    return found.pop()


def manager_of(vtree: Vtree) -> Any:
    """Return an empty manager of PySDD whose variable k + 1 is the leaf k of `vtree`.

    Raises
    ------
    MissingExtraError
        If PySDD is not installed.
    CircuitError
        If the vtree is deeper than PySDD can be trusted with.
    """
    try:
        from pysdd.sdd import SddManager
        from pysdd.sdd import Vtree as TheirVtree
    except ImportError:
        raise MissingExtraError(
            "The target 'sdd' needs PySDD, which is not installed: pip install 'PySDD>=1.0.6'."
        ) from None
    if vtree.depth > _DEEPEST:
        raise CircuitError(
            f"A vtree may be {_DEEPEST} levels deep, but this one has {vtree.depth}; take vtree='balanced'."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vtree"
        path.write_text(_text_of(vtree), encoding="ascii")
        theirs = in_deep_thread(lambda: TheirVtree.from_file(str(path)), depth=vtree.depth)
    manager = in_deep_thread(lambda: SddManager.from_vtree(theirs), depth=vtree.depth)
    manager.auto_gc_and_minimize_off()  # it would free nodes that are still needed, and move bits
    return manager


def _text_of(vtree: Vtree) -> str:
    lines = [f"vtree {len(vtree.leaves)}"]
    for k, (a, b, leaf) in enumerate(zip(vtree.left, vtree.right, vtree.leaves, strict=True)):
        lines.append(f"L {k} {leaf + 1}" if a < 0 else f"I {k} {a} {b}")
    return "\n".join([*lines, ""])


def vtree_of(manager: Any) -> Vtree:
    """Return the vtree that a manager has now, its leaves numbered from 0."""
    left, right, leaves = list[int](), list[int](), list[int]()
    stack, made = [(manager.vtree(), False)], list[int]()
    while stack:
        node, opened = stack.pop()
        if not opened and not node.is_leaf():
            stack += [(node, True), (node.right(), False), (node.left(), False)]
            continue
        second, first = (made.pop(), made.pop()) if opened else (-1, -1)
        made.append(len(leaves))
        left.append(first)
        right.append(second)
        leaves.append(-1 if opened else int(node.var()) - 1)
    return Vtree(tuple(left), tuple(right), tuple(leaves))


class SddAlgebra:
    """The operations of a manager of PySDD, each one against an account."""

    def __init__(self, manager: Any, variables: Mapping[str, int], account: Account) -> None:
        self.true = manager.true()
        self.false = manager.false()
        self._manager = manager
        self._variables = variables
        self._account = account

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""
        return self._paid(self._manager.conjoin(a, b))

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""
        return self._paid(self._manager.disjoin(a, b))

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""
        variable = self._variables[bit.name]
        one, zero = self._manager.literal(variable), self._manager.literal(-variable)
        return self.disjoin(self.conjoin(one, high), self.conjoin(zero, low))

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return the disjunction of each test with what comes with it."""
        return balanced([self.conjoin(test, child) for test, child in parts], self.disjoin, self.false)

    def _paid(self, made: Any) -> Any:
        # PySDD counts all nodes it holds, dead ones included; what matters is how much was made. Most operations
        # make nothing, as PySDD remembers their results, and cost nothing
        fresh = int(self._manager.count()) - self._account.nodes
        if fresh > 0:
            self._account.spend(fresh)
        return made


@dataclass(frozen=True, slots=True, eq=False)
class SddNodes:
    """The nodes of a sentential decision diagram in arrays, children first; 0 is false and 1 is true.

    Attributes
    ----------
    vtree_nodes
        The node's vtree node by its position from left to right (``Vtree.in_order``); -1 for a constant.
    literals
        k + 1 or -(k + 1) for bit k; 0 for constants and decisions.
    offsets, primes, subs
        The elements of node n are ``zip(primes[s], subs[s])`` with ``s = slice(offsets[n], offsets[n + 1])``.
    root
        The number of the root.
    """

    vtree_nodes: npt.NDArray[np.int32]
    literals: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    primes: npt.NDArray[np.int32]
    subs: npt.NDArray[np.int32]
    root: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the arrays."""
        arrays = (self.vtree_nodes, self.literals, self.offsets, self.primes, self.subs)
        return sum(a.nbytes for a in arrays)


def nodes_of(root: Any) -> SddNodes:
    """Return the nodes below `root` (cost: linear, without recursion)."""
    number: dict[int, int] = {}
    rows: list[tuple[int, int, list[tuple[int, int]]]] = [(-1, 0, []), (-1, 0, [])]
    opened: dict[int, list[tuple[Any, Any]]] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        key = int(node.id)
        if key in number:
            stack.pop()
        elif node.is_true() or node.is_false():
            number[key] = int(node.is_true())
        elif node.is_literal():
            number[key] = len(rows)
            rows.append((int(node.vtree().position()), int(node.literal), []))
        elif key not in opened:
            opened[key] = list(node.elements())
            stack += [part for pair in opened[key] for part in pair]
        else:
            pairs = [(number[int(p.id)], number[int(s.id)]) for p, s in opened.pop(key)]
            number[key] = len(rows)
            rows.append((int(node.vtree().position()), 0, pairs))
    flat = [pair for _, _, pairs in rows for pair in pairs]
    return SddNodes(
        vtree_nodes=np.array([v for v, _, _ in rows], dtype=np.int32),
        literals=np.array([literal for _, literal, _ in rows], dtype=np.int32),
        offsets=np.cumsum([0, *(len(pairs) for _, _, pairs in rows)]).astype(np.int64),
        primes=np.array([p for p, _ in flat], dtype=np.int32),
        subs=np.array([s for _, s in flat], dtype=np.int32),
        root=number[int(root.id)],
    )
