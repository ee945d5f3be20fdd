"""Families of feature sets as ints, bit i for feature i: minimal sets and hitting sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import ALLOWANCE, DONE, Account, Budget, BudgetSpent, Meter, Watch, paced
from axfi_kc.errors import BudgetError

__all__ = [
    "features_of",
    "minimal_hitting_sets",
    "minimal_sets",
    "smallest_hitting_set",
    "some_hitting_sets",
    "sorted_sets",
]


_ROWS_AT_ONCE = 1 << 10
_FEW_SETS = 16  # these are gone through one by one, in Python
_FEW_STEPS = 128  # for each of them


@lru_cache(maxsize=1 << 12)  # the CXps of an instance are asked for theirs again and again
def features_of(mask: int) -> tuple[int, ...]:
    """Return the features in `mask`, in order.

    Examples
    --------
    >>> features_of(0b1101)
    (0, 2, 3)
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def sorted_sets(family: Iterable[int], *, account: Account | None = None) -> list[int]:
    """Return the sets smallest first, then in the order of their features.

    Examples
    --------
    >>> sorted_sets([0b110, 0b1001, 0b011, 0b100])
    [4, 3, 9, 6]
    """
    sets = list(family)
    if len(sets) <= _FEW_SETS:
        return sorted(sets, key=_by_features)
    width = max(map(int.bit_length, sets), default=0)
    # of two sets of one size, that with the greater mirror image has the first feature that only one of them has
    return sorted(paced(sets, account), key=lambda s: (s.bit_count() << width) - int(f"{s:0{width}b}"[::-1], 2))


def _by_features(mask: int) -> tuple[int, tuple[int, ...]]:
    return mask.bit_count(), features_of(mask)


def minimal_sets(family: Iterable[int], *, account: Account | None = None) -> list[int]:
    """Return the sets that contain no other, sorted.

    Parameters
    ----------
    family
        Sets.

    Raises
    ------
    BudgetError
        If that budget was spent.

    Notes
    -----
    Quadratic in the number of minimal sets in the worst case.

    Examples
    --------
    >>> minimal_sets([0b011, 0b001, 0b110])
    [1, 6]
    """
    # Smallest first: a set can only contain sets that come before it, so nothing kept is ever taken back.
    kept: list[int] = []
    for candidate in paced(sorted_sets(set(family), account=account), account, at_once=1):
        if not any(s & candidate == s for s in kept):
            kept.append(candidate)
    return kept


def minimal_hitting_sets(
    family: Iterable[int], *, budget: Budget | None = None, are_minimal: bool = False
) -> list[int]:
    """Return the minimal sets that meet every set of `family`, sorted.

    The AXps of a problem are the minimal hitting sets of its CXps, and the other way round. Sets of which none holds
    another, as CXps are, may be said to be `are_minimal`: then nobody looks.

    Raises
    ------
    BudgetSpent
        If there is a budget and it was spent, with the sets found so far.

    Notes
    -----
    Depth first with critical sets (the MMCS search of Murakami and Uno): an element is added only
    while each element so far is the only one to hit some set. Exponential output is possible and
    no fault of the search. Of a handful of sets, set by set (Berge), in less time than the search takes to begin.

    Examples
    --------
    >>> minimal_hitting_sets([0b011, 0b101])
    [1, 6]
    """
    sets = list(family)
    few = _few_hitting_sets(sets) if len(sets) <= _FEW_SETS and _allows(budget, _FEW_SETS * _FEW_STEPS) else None
    return _searched_hitting_sets(sets, budget, are_minimal) if few is None else sorted_sets(few)


def _allows(budget: Budget | None, nodes: int) -> bool:
    """Tell whether a budget has so many nodes, and is not spent before anything has begun."""
    return budget is None or ((budget.nodes is None or budget.nodes >= nodes) and not Watch(budget).is_spent())


def _few_hitting_sets(sets: list[int]) -> list[int] | None:
    """Return the minimal sets that meet all of a few; None if there are too many on the way."""
    found = [0]
    for s in sets:
        missing = [h for h in found if not h & s]
        if len(missing) * s.bit_count() > _FEW_STEPS:
            return None
        hitting = [h for h in found if h & s]
        # Those that miss s share no element with it, so what they become with one of its elements holds none of the
        # others that do; it may only hold one that met s before.
        grown = [h | 1 << e for e in features_of(s) for h in missing]
        found = hitting + [g for g in grown if not _holds_one(g, hitting)]
    return found


def _holds_one(mask: int, sets: list[int]) -> bool:
    for s in sets:  # noqa: SIM110  # a generator takes longer to begin than a few sets to end
        if s & mask == s:
            return True
    return False


def _searched_hitting_sets(family: list[int], budget: Budget | None, are_minimal: bool) -> list[int]:
    from axfi_kc.families import hitting_kernels as kernels

    if budget is not None:
        _compile_kernel()
    meter, account = Meter(budget or Budget()), Account(budget, goal="list of hitting sets")
    try:
        sets = family if are_minimal else minimal_sets(family, account=account)
        elements = sorted({i for s in account.paced(sets) for i in features_of(s)})
        state = _hitting_state(sets, elements, account)
    except BudgetError:
        raise BudgetSpent([]) from None
    found: list[int] = []
    rows = np.zeros((_ROWS_AT_ONCE, len(elements)), np.uint8)
    registers = np.zeros(kernels.REGISTERS, np.int64)
    registers[kernels.FRESH] = 1
    meter.attach(registers)
    # The whole search is in state and registers: the kernel stops where rows are full or its allowance ends, so that
    # the clock is looked at, and goes on from there.
    while True:
        status = kernels.minimal_hitting_sets(*state, rows, registers)
        spent = status == ALLOWANCE and not meter.extend()
        if status != ALLOWANCE or spent:  # the rows are full, or these are the last
            found += _masks(rows[: registers[kernels.N_OUT]], elements)
            registers[kernels.N_OUT] = 0
        if status == DONE:
            return sorted_sets(found)
        if spent:
            raise BudgetSpent(found)


def some_hitting_sets(family: Iterable[int], *, budget: Budget, are_minimal: bool = False) -> tuple[list[int], bool]:
    """Return minimal sets that meet every set of `family`, and whether these are all; see :func:`minimal_hitting_sets`.

    Examples
    --------
    >>> some_hitting_sets([0b011, 0b101], budget=Budget(nodes=100))
    ([1, 6], True)
    """
    try:
        return minimal_hitting_sets(family, budget=budget, are_minimal=are_minimal), True
    except BudgetSpent as spent:
        return spent.found, False


@cache
def _compile_kernel() -> None:
    """Compile the kernel on a single set, or load it from disk, before a budget's clock starts."""
    # Without a budget, with which it would call this function again.
    _searched_hitting_sets([1], None, are_minimal=True)


def _masks(rows: npt.NDArray[np.uint8], elements: list[int]) -> list[int]:
    """Return rows of flags, a column per element, as ints."""
    width = 8 * -(-(elements[-1] + 1) // 64) if elements else 8
    flags = np.zeros((len(rows), 8 * width), np.uint8)
    flags[:, elements] = rows
    packed = np.packbits(flags, axis=1, bitorder="little")
    if width == 8:
        return packed.view("<u8")[:, 0].tolist()
    data = packed.tobytes()
    return [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]


def _hitting_state(sets: list[int], elements: list[int], account: Account) -> tuple[npt.NDArray[np.generic], ...]:
    """Return the arguments of the kernel before its first step."""
    n, words = len(elements), max(1, -(-len(sets) // 64))
    members = np.zeros((64 * words, n), np.uint8)
    width = elements[-1] // 8 + 1 if elements else 1
    data = b"".join(s.to_bytes(width, "little") for s in account.paced(sets))
    bits = np.unpackbits(np.frombuffer(data, np.uint8).reshape(-1, width), axis=1, bitorder="little")
    members[: len(sets)] = bits[:, elements]
    occurs = np.ascontiguousarray(np.packbits(members.T, axis=1, bitorder="little")).view(np.uint64)
    # Each chosen element is the only one to hit some set, another for each, so no more are chosen than there are sets.
    depth = min(n, len(sets)) + 2
    uncovered = np.zeros((depth, words), np.uint64)
    uncovered[0] = np.packbits(np.arange(64 * words) < len(sets), bitorder="little").view(np.uint64)
    return (
        members[: len(sets)],
        occurs,
        np.zeros(depth, np.int64),
        np.ones((depth, n), np.uint8),
        np.zeros((depth, n), np.uint8),
        uncovered,
        np.zeros((depth, depth, words), np.uint64),
    )


def smallest_hitting_set(sets: Sequence[int], *, account: Account) -> int:
    """Return a set of the fewest elements that meets every one of some sets, as a mask.

    Raises
    ------
    BudgetError
        If the account was spent.

    Notes
    -----
    Branch and bound: on the elements of a set that is not met yet, bounded by the number of such sets that have nothing
    in common. Exponential at worst.

    Examples
    --------
    >>> bin(smallest_hitting_set([0b011, 0b110, 0b1010], account=Account(None, goal="set")))
    '0b10'
    """
    best = 0
    for mask in sets:  # any that meets all will do at first
        best |= 0 if best & mask else mask & -mask
    stack = [(0, list(sets))]
    while stack:
        account.spend(1)
        chosen, left = stack.pop()
        if not left:
            best = min(best, chosen, key=int.bit_count)
            continue
        apart, covered = 0, 0
        for mask in sorted(left, key=int.bit_count):
            if not mask & covered:
                apart, covered = apart + 1, covered | mask
        if chosen.bit_count() + apart >= best.bit_count():
            continue
        smallest = min(left, key=int.bit_count)
        # The element that meets most comes last, and is tried first.
        ordered = sorted(features_of(smallest), key=lambda i: sum(mask >> i & 1 for mask in left))
        stack += [(chosen | 1 << i, [mask for mask in left if not mask >> i & 1]) for i in ordered]
    return best
