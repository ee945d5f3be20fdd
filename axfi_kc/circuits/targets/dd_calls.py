"""How dd is called: managers with a fixed order, its operations, its sifting, and diagrams read into tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Any

from axfi_kc.budget import Account
from axfi_kc.circuits.targets.bit_codes import Bit
from axfi_kc.errors import CircuitError, MissingExtraError

__all__ = ["FALSE", "TRUE", "DdAlgebra", "Fork", "features_after_sifting", "is_out_of_memory", "manager_of", "read"]


_MODULES = {"cudd": "dd.cudd", "python": "dd.autoref"}
_CACHE_SLOTS = 2**15  # CUDD enlarges it by itself; dd's 2**18 make the smallest diagram take 20 ms instead of 2
FALSE, TRUE = 0, 1


@dataclass(frozen=True, slots=True)
class Fork:
    """A node of the diagram: the level of its bit, where it goes on 0 and where on 1."""

    level: int
    low: int
    high: int


def manager_of(backend: str | None, *, max_memory: int | None = None) -> tuple[str, Any]:
    """Return the name of the backend and an empty manager with a fixed order.

    Raises
    ------
    CircuitError
        If there is no such backend, or it has no limit of memory.
    MissingExtraError
        If it is not installed.
    """
    if backend is not None and backend not in _MODULES:
        raise CircuitError(f"A backend must be 'cudd', 'python' or None, but {backend!r} was given; name one of these.")
    try:
        name = backend or "cudd"
        module = import_module(_MODULES[name])
    except ImportError:
        if backend is not None:
            raise MissingExtraError(
                f"The backend {backend!r} needs {_MODULES[backend]}, which is not installed; dd's wheels hold CUDD on "
                "Linux for CPython 3.11 to 3.13 (pip install dd), elsewhere use backend='python'."
            ) from None
        name = "python"
        module = import_module(_MODULES[name])
    manager = module.BDD() if name == "python" else module.BDD(initial_cache_size=_CACHE_SLOTS)
    manager.configure(reordering=False)  # CUDD would tear the bits of a feature apart
    if max_memory is not None:
        if name == "python":
            raise CircuitError("A limit of memory is CUDD's, but dd's Python manager was given one; use a budget.")
        manager.configure(max_memory=max_memory)
    return name, manager


def is_out_of_memory(error: ValueError) -> bool:
    """Tell whether this is how dd says that CUDD has reached its limit of memory."""
    return "NULL" in str(error)


class DdAlgebra:
    """The operations of a manager of dd, each one against an account."""

    def __init__(self, manager: Any, account: Account) -> None:
        self.true = manager.true
        self.false = manager.false
        self._manager = manager
        self._account = account

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""
        self._account.spend(1)
        return a & b

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""
        self._account.spend(1)
        return a | b

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""
        return self._manager.ite(self._manager.var(bit.name), high, low)

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return what comes with the test that holds."""
        made = self.false
        for test, child in parts:
            self._account.spend(1)
            made = self._manager.ite(test, child, made)
        return made


def features_after_sifting(manager: Any, bits: Sequence[Bit], *, backend: str) -> list[int]:
    """Sift a manager's variables; return the features in the order of their bits' mean levels.

    CUDD moves the bits of a feature as one group, and may turn the group around; dd's Python manager
    moves each bit for itself.
    """
    if len({bit.feature for bit in bits}) < 2:
        return list(dict.fromkeys(bit.feature for bit in bits))
    module = import_module(_MODULES[backend])
    groups = {feature: list(own) for feature, own in groupby(bits, key=lambda bit: bit.feature)}
    if backend == "cudd":
        for own in groups.values():
            if len(own) > 1:
                manager.group({own[0].name: len(own)})
    module.reorder(manager)
    levels = {i: sum(manager.level_of_var(bit.name) for bit in own) / len(own) for i, own in groups.items()}
    return sorted(levels, key=levels.__getitem__)


def read(root: Any) -> tuple[dict[int, Fork], int]:
    """Return the nodes below `root`, children first, and the number of `root` itself.

    An edge of dd may be complemented, which complements what lies below; edges that differ in this
    are different nodes here.
    """
    number = {int(root.bdd.false): FALSE, int(root.bdd.true): TRUE}
    found: dict[int, tuple[int, int, int]] = {}
    stack = [root]
    while stack:
        edge = stack.pop()
        if int(edge) not in number and int(edge) not in found:
            low, high = (~edge.low, ~edge.high) if edge.negated else (edge.low, edge.high)
            found[int(edge)] = edge.level, int(low), int(high)
            stack += [low, high]
    forks: dict[int, Fork] = {}
    for key in sorted(found, key=lambda k: -found[k][0]):
        level, lower, upper = found[key]
        number[key] = len(number)
        forks[number[key]] = Fork(level, number[lower], number[upper])
    return forks, number[int(root)]
