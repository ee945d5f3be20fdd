"""Minimal covers: the smallest sets of features whose losses reach what is needed.

The slow form, in integers of any size, of :mod:`axfi_kc.engines.linear.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

__all__ = ["minimal_covers", "union_covers"]


def minimal_covers(losses: Sequence[int], need: int, *, max_size: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the minimal sets whose losses add up to `need` or more.

    Parameters
    ----------
    losses
        A non-negative integer per feature.
    need
        A positive integer.
    max_size
        Only sets of at most so many features.

    Notes
    -----
    Depth first over the features, largest loss first. Then a set is a minimal cover exactly when
    its last feature makes it one, and a branch is cut when the largest losses left cannot reach
    `need`, so every branch entered yields a set: features times sets in all.

    Examples
    --------
    >>> list(minimal_covers([3, 2, 2, 1], 4))
    [(0, 1), (0, 2), (0, 3), (1, 2)]
    """
    # Without the zeros: no minimal cover has one.
    order = sorted((i for i, loss in enumerate(losses) if loss), key=lambda i: -losses[i])
    below = [0, *accumulate(losses[i] for i in order)]
    limit = len(order) if max_size is None else max_size
    stack: list[tuple[tuple[int, ...], int, int]] = [((), 0, 0)]
    while stack:
        chosen, total, k = stack.pop()
        room = min(limit - len(chosen), len(order) - k)
        # The next ones are the largest left: if even they do not suffice, nothing below does.
        if room <= 0 or total + below[k + room] - below[k] < need:
            continue
        i = order[k]
        # Without i first, since the stack is popped from the other end: sets with i are then yielded first.
        stack.append((chosen, total, k + 1))
        if total + losses[i] >= need:
            # Nothing later is added: a superset is no minimal cover. None earlier is superfluous: it loses at
            # least as much as i, and without i there was not enough.
            yield (*chosen, i)
        else:
            stack.append(((*chosen, i), total + losses[i], k + 1))


def union_covers(
    losses: Sequence[Sequence[int]], needs: Sequence[int], *, max_size: int | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield the minimal sets that cover the need of at least one side.

    Parameters
    ----------
    losses
        Per side, a non-negative integer per feature.
    needs
        Per side, a positive integer.
    max_size
        Only sets of at most so many features.

    Examples
    --------
    >>> list(union_covers([[3, 2, 2], [0, 0, 9]], [4, 5]))
    [(0, 1), (2,)]
    """
    for side, (own, need) in enumerate(zip(losses, needs, strict=True)):
        for chosen in minimal_covers(own, need, max_size=max_size):
            if _is_minimal_and_new(chosen, side, losses, needs):
                yield chosen


def _is_minimal_and_new(
    chosen: tuple[int, ...], side: int, losses: Sequence[Sequence[int]], needs: Sequence[int]
) -> bool:
    for other, (row, need) in enumerate(zip(losses, needs, strict=True)):
        if other != side:
            found = [row[i] for i in chosen]
            # The best proper part leaves out the smallest. A set that covers several sides is left to the first.
            if sum(found) - min(found) >= need or (other < side and sum(found) >= need):
                return False
    return True
