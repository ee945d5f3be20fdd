"""Sets first, cells last: all CXps of one size, compiled by numba.

For an instance v every leaf of a tree has a *deviation set*, the features whose test on its path v fails, and a gain,
by which it is above v's own leaf. Changing the features of S can add no more to a score than U(S), the sum over the
trees of the largest gain among leaves whose deviation set lies in S. That needs no thresholds: only sets for which
U(S) makes up for what v lacks are searched for a dissimilar point, cell by cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble
from axfi_kc.engines.ensemble.family_kernels import Family, completing_under, store
from axfi_kc.engines.ensemble.search_kernels import N_SETS, SCORE, TOP, Scratch, Stack, ask, open_box

__all__ = ["ASKED", "DEPTH", "REGISTERS", "SHARE", "SHARES", "SIZE", "Deviations", "Walk", "climb", "deviations"]


# registers besides those of the search: size of the sets, depth of the walk (-1: not begun), sets asked about, whether
# a question is under way, which share of the sets is asked about, and of how many
SIZE, DEPTH, ASKED, ASKING, SHARE, SHARES = range(7, 13)
REGISTERS = 13
_DEALT = 3  # the depth at which sets are dealt out: their first four features say whose they are


class Deviations(NamedTuple):
    """Per tree the leaves that may raise a score, none of which another one makes useless."""

    start: np.ndarray  # int32[T + 1], leaves of a tree
    needs: np.ndarray  # uint64[leaves, words], deviation sets
    gain: np.ndarray  # int64[leaves], never too small


class Walk(NamedTuple):
    """The way down to a set: at each depth the features chosen so far, those that may come next and those after."""

    chosen: np.ndarray  # uint64[depth, words]
    barred: np.ndarray  # uint64[depth, words], these complete a known set
    place: np.ndarray  # int64[depth], place in the order of the feature to try next
    worth: np.ndarray  # int64[depth, m], by place: what a feature may add at most
    value: np.ndarray  # int64[depth], U of the chosen
    free: np.ndarray  # uint64[1, words], the set asked about


@part
def _is_needless(A, value, a, first, last):
    """Tell whether leaf `a`, of those from `first` to `last`, is never the best: another one gains as much for less."""
    for b in range(first, last):
        if b == a or value[b] < value[a]:
            continue
        inside = True
        same = True
        for w in range(A.needs.shape[1]):
            inside = inside and A.needs[b, w] & ~A.needs[a, w] == np.uint64(0)
            same = same and A.needs[b, w] == A.needs[a, w]
        # Of two equal ones the first stays.
        if inside and (not same or value[b] > value[a] or b < a):
            return True
    return False


@flat_kernel(F=Ensemble, A=Around)
def deviations(F, A, j, start, needs, gain, value, slack):
    """Fill in the useful leaves of the trees of score j; return U of the empty set, which is not too small either.

    `slack` is 1 where values have finer limbs than the one that is added up here, else 0; `value` is scratch space.
    """
    base = F.base[j, 0] + slack
    top = 0
    for t in range(F.start[j], F.start[j + 1]):
        start[t - F.start[j]] = top
        own = F.value[A.leaf[t], 0]
        base += own + slack
        first = F.leaf_start[F.block_start[t]]
        last = F.leaf_start[F.block_start[t + 1]]
        for a in range(first, last):
            value[a] = F.value[F.leaf[a], 0]
        for a in range(first, last):
            # The leaf of v gains nothing either.
            if value[a] <= own or _is_needless(A, value, a, first, last):
                continue
            for w in range(needs.shape[1]):
                needs[top, w] = A.needs[a, w]
            gain[top] = value[a] - own
            top += 1
    start[F.start[j + 1] - F.start[j]] = top
    return base


@part
def _count(needs, i, chosen, d, place_of, first, m):
    """How many features leaf `i` needs beyond the chosen; m + 1 if one of them comes before place `first`."""
    n = 0
    for w in range(chosen.shape[1]):
        rest = needs[i, w] & ~chosen[d, w]
        f = 64 * w
        while rest:
            while not rest & np.uint64(0xFF):
                rest >>= np.uint64(8)
                f += 8
            if rest & np.uint64(1):
                if place_of[f] < first:
                    return m + 1
                n += 1
            rest >>= np.uint64(1)
            f += 1
    return n


@part
def _appraise(D, X, d, base, left, place_of, m, stamp, best):
    """Set U of the chosen, and for each later feature what it, as one of `left` more, may add at most.

    A leaf that needs k more features shares its gain among them: whatever is chosen then adds no more than the sum
    of the shares of its members. With one more feature to choose the share is what it adds, exactly.
    """
    first = X.place[d]
    for k in range(m):
        X.worth[d, k] = 0
        stamp[k] = -1
    value = base
    for t in range(D.start.size - 1):
        own = np.int64(0)
        for i in range(D.start[t], D.start[t + 1]):
            inside = True
            for w in range(X.chosen.shape[1]):
                inside = inside and D.needs[i, w] & ~X.chosen[d, w] == np.uint64(0)
            if inside and D.gain[i] > own:
                own = D.gain[i]
        value += own
        for i in range(D.start[t], D.start[t + 1]):
            more = D.gain[i] - own
            if more <= 0:
                continue
            n = _count(D.needs, i, X.chosen, d, place_of, first, m)
            if n > left:
                continue
            share = (more + n - 1) // n
            for w in range(X.chosen.shape[1]):
                rest = D.needs[i, w] & ~X.chosen[d, w]
                f = 64 * w
                while rest:
                    if rest & np.uint64(1):
                        k = place_of[f]
                        # Of the leaves of one tree only one is reached: the largest share counts.
                        if stamp[k] != t:
                            stamp[k] = t
                            best[k] = share
                            X.worth[d, k] += share
                        elif share > best[k]:
                            X.worth[d, k] += share - best[k]
                            best[k] = share
                    rest >>= np.uint64(1)
                    f += 1
    X.value[d] = value


@part
def _reaches(X, d, k, left, order):
    """Tell whether the feature at place `k` and the best `left` - 1 later ones may lift the chosen above 0."""
    # Counted down from what is missing, so that nothing overflows: sums of worths might.
    missing = 1 - X.value[d] - X.worth[d, k]
    limit = np.int64(9223372036854775807)
    at = np.int64(-1)
    # The largest worths one after the other; `left` is small.
    for _ in range(left - 1):
        if missing <= 0:
            return True
        best = np.int64(-1)
        where = np.int64(-1)
        for i in range(k + 1, order.size):
            f = order[i]
            x = X.worth[d, i]
            # Those taken before are the ones above the limit, and at the limit those up to place `at`.
            is_left = x > best and (x < limit or (x == limit and i > at))
            if is_left and not X.barred[d, f >> 6] >> np.uint64(f & 63) & np.uint64(1):
                best = x
                where = i
        if where < 0:
            return False
        missing -= best
        limit = best
        at = where
    return missing <= 0


@part
def _is_mine(X, d, size, reg):
    """Tell whether the feature to try next at depth `d` leads to sets of this share, as far as that is known here."""
    if d != min(_DEALT, size - 1):
        return True
    places = 0
    for i in range(d + 1):
        places += X.place[i]
    return places % reg[SHARES] == reg[SHARE]


@part
def _next(D, X, base, size, order, place_of, C, reg, stamp, best):
    """Walk on to the next set of `size` features that passes; False when there is none."""
    m = order.size
    d = reg[DEPTH]
    if d < 0:
        d = 0
        for w in range(X.free.shape[1]):
            X.chosen[0, w] = 0
            X.barred[0, w] = 0
        X.place[0] = 0
        _appraise(D, X, np.int64(0), base, size, place_of, m, stamp, best)
    while d >= 0:
        if reg[NODES] >= reg[LIMIT]:
            break
        k = X.place[d]
        left = size - d
        if k + left > m:
            d -= 1
            continue
        is_mine = reg[SHARES] == 1 or _is_mine(X, d, size, reg)
        X.place[d] = k + 1
        if not is_mine:
            continue
        f = order[k]
        bit = np.uint64(1) << np.uint64(f & 63)
        if X.barred[d, f >> 6] & bit:
            continue
        if not _reaches(X, d, k, left, order):
            continue
        if left == 1:
            for w in range(X.free.shape[1]):
                X.free[0, w] = X.chosen[d, w]
            X.free[0, f >> 6] |= bit
            reg[DEPTH] = d
            return True
        reg[NODES] += 1
        for w in range(X.free.shape[1]):
            X.chosen[d + 1, w] = X.chosen[d, w]
            X.barred[d + 1, w] = X.barred[d, w]
        X.chosen[d + 1, f >> 6] |= bit
        if completing_under(C, f, X.chosen, d + 1, X.barred[d + 1]):
            continue
        d += 1
        X.place[d] = k + 1
        _appraise(D, X, d, base, left - 1, place_of, m, stamp, best)
    reg[DEPTH] = d
    return False


@flat_kernel(F=Ensemble, A=Around, D=Deviations, X=Walk, C=Family, S=Stack, T=Scratch)
def climb(F, A, D, base, X, order, place_of, C, S, T, reg):
    """Ask about every set of reg[SIZE] features that may raise score reg[SCORE] above 0 and contains no known set.

    Those with a dissimilar point are added to `C`. `T` is scratch space. Any status but DONE leaves a state that can
    be continued.
    """
    j = reg[SCORE]
    while True:
        if reg[N_SETS] >= C.member.shape[0]:
            return STORE_FULL
        if not reg[ASKING]:
            if not _next(D, X, base, reg[SIZE], order, place_of, C, reg, T.stamp, T.best):
                return ALLOWANCE if reg[DEPTH] >= 0 else DONE
            reg[ASKED] += 1
            reg[TOP] = 1 if open_box(F, A, S, j, np.int64(0), X.free[0]) else 0
            reg[ASKING] = 1
        status = ask(F, S, j, A.v, T, reg)
        if status in (ALLOWANCE, STACK_FULL):
            return status
        reg[ASKING] = 0
        if status == FOUND:
            store(C, X.free, np.int64(0), reg[N_SETS])
            reg[N_SETS] += 1
