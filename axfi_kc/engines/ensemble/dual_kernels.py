"""Largest sets first: all CXps by what can be changed without effect, compiled by numba.

A set of features that contains no known CXp is made as large as possible, and searched for a dissimilar point. Either
there is one, and the features in which it differs from v are a weak CXp that was not known; or there is none, and what
is left out of the set is an AXp. When every set contains a known CXp or leaves out all of a known AXp, all are known.
That takes one refutation for each AXp, whereas a sweep refutes every part of the space: it is the shorter way where
refuting takes long, and the longer one where there are far more AXps than CXps.

Refuting is worth choosing cuts with care: before a box is split, the bounds of both halves are looked at, for one cut
of each feature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.engines.ensemble.bound_kernels import Around, Ensemble, cut_point, lost
from axfi_kc.engines.ensemble.family_kernels import Family, store
from axfi_kc.engines.ensemble.search_kernels import (
    N_SETS,
    SCORE,
    TOP,
    Scratch,
    Stack,
    is_hit,
    open_box,
    shrink,
    split,
    vote,
)

__all__ = ["N_AXPS", "PARTS", "REGISTERS", "Active", "Parts", "dualize"]


# registers besides those of the search: pending parts, AXps found, whether a question is under way, and when it began
PARTS, N_AXPS, ASKING, BEGUN = range(7, 11)
REGISTERS = 11
_EASY = 32  # boxes of a question until cuts are chosen with care: most points are found before
_LEAST = 0.3  # share of the bound that each half is taken to lose, so that a half that loses nothing still counts


class Parts(NamedTuple):
    """Pending parts of the space of sets, one row each: all sets with these features and without those."""

    inside: np.ndarray  # uint64[depth, words]
    outside: np.ndarray  # uint64[depth, words]


class Active(NamedTuple):
    """For each pending part the known sets of a family that may still say something about it.

    These are some by their numbers, and all that became known since.
    """

    number: np.ndarray  # int32[room], part after part
    first: np.ndarray  # int64[depth], where those of a part begin
    end: np.ndarray  # int64[depth]
    known: np.ndarray  # int64[depth], sets of the family when these were listed


@part
def _look_ahead(F, S, j, p, v, T):
    """Return the node to split box `p` at, of those that the voters have named: where both halves lose most.

    Of equal ones the one with more votes. Floats only steer the search.
    """
    total = max(float(S.total[p]), 1.0)
    best = np.int64(-1)
    most = 0.0
    for f in range(F.n_cells.size):
        if T.weight[f] < 0.0:
            continue
        lo = np.int64(S.lo[p, f])
        hi = np.int64(S.hi[p, f])
        cut = cut_point(F.node, F.counts, np.int64(T.node[f]), v[f], lo, hi)
        # What is lost beyond the bound makes a half no emptier.
        votes = 1.0 + 1e-6 * T.gain[f] / total
        worth = (min(float(lost(F, S.mask, j, p, f, lo, cut, lo, hi, T.trail, T.kept)) / total, 1.0) + _LEAST) * votes
        if best >= 0 and worth * (1.0 + _LEAST) <= most:
            continue
        worth *= min(float(lost(F, S.mask, j, p, f, cut, hi, lo, hi, T.trail, T.kept)) / total, 1.0) + _LEAST
        if best < 0 or worth > most:
            most = worth
            best = np.int64(T.node[f])
    return best


@part
def _search(F, S, j, v, T, reg):
    """Look for a dissimilar point of score j in the boxes on the stack: FOUND in the top one, DONE if there is none."""
    while reg[TOP] > 0:
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        if reg[TOP] + 1 > S.total.size:
            return STACK_FULL
        reg[NODES] += 1
        p = reg[TOP] - 1
        if is_hit(F, S, j, p):
            return FOUND
        reg[TOP] = p
        n = vote(F, S, j, p, T.gain, T.weight, T.node)
        if n >= 0:
            if reg[NODES] - reg[BEGUN] > _EASY:
                n = _look_ahead(F, S, j, p, v, T)
            reg[TOP] = split(F, S, j, p, v, n)
    return DONE


@part
def _lacks(sets, k, chosen, against, p, fixed):
    """Tell how many of the features of set `k` are not chosen in part `p`, -1 if one is chosen against.

    If it is one, this is added to `fixed`.
    """
    missing = 0
    word = 0
    for w in range(sets.shape[1]):
        if sets[k, w] & against[p, w]:
            return np.int64(-1)
        rest = sets[k, w] & ~chosen[p, w]
        while rest:
            rest &= rest - np.uint64(1)
            missing += 1
            word = w
    if missing == 1:
        fixed[word] |= sets[k, word] & ~chosen[p, word]
    return np.int64(missing)


@part
def _sift(sets, n, L, p, chosen, against, fixed):
    """List the sets that have no feature chosen against in part `p`; return one that lacks fewest, by its number.

    -1 if there is none, -2 if one lacks nothing. `fixed` gets the features that alone are missing from one.
    """
    for w in range(fixed.size):
        fixed[w] = 0
    top = L.first[p]
    last = L.end[p]
    least = np.int64(1 << 30)
    best = np.int64(-1)
    for i in range(top, last + n - L.known[p]):
        k = np.int64(L.number[i]) if i < last else L.known[p] + i - last
        missing = _lacks(sets, k, chosen, against, p, fixed)
        if missing == 0:
            return np.int64(-2)
        if missing > 0:
            # Never ahead of what is read: with the new ones, too, there are no more than were looked at.
            L.number[top] = k
            top += 1
            if missing < least:
                least = missing
                best = k
    L.end[p] = top
    L.known[p] = n
    return best


@part
def _put(chosen, p, fixed):
    """Add the features of `fixed` to the chosen ones of part `p`; tell whether that is any."""
    some = False
    for w in range(fixed.size):
        some = some or fixed[w] & ~chosen[p, w] != np.uint64(0)
        chosen[p, w] |= fixed[w]
    return some


@part
def _narrow(P, p, C, n_cxps, U, X, n_axps, Y, fixed):
    """Use the known CXps and AXps on part `p`; return a CXp that has no feature outside, or -1, or -2 to drop the part.

    A set that would contain a known CXp needs one feature of it outside, and one that leaves out a known AXp needs one
    inside; what is the last of them has no choice.
    """
    while True:
        found = _sift(C.member, n_cxps, U, p, P.inside, P.outside, fixed)
        if found == -2:
            return found
        more = _put(P.outside, p, fixed)
        if _sift(X, n_axps, Y, p, P.outside, P.inside, fixed) == -2:
            return np.int64(-2)
        if not _put(P.inside, p, fixed) and not more:
            return found


@part
def _is_roomy(L, p, n):
    """Tell whether there is room to list the sets of part `p` twice, for both parts that it is divided into."""
    return L.first[p] + 2 * (L.end[p] - L.first[p] + n - L.known[p]) <= L.number.size


@part
def _inherit(L, p):
    """List the same sets for the part after `p`."""
    size = L.end[p] - L.first[p]
    for i in range(L.first[p], L.end[p]):
        L.number[i + size] = L.number[i]
    L.first[p + 1] = L.end[p]
    L.end[p + 1] = L.end[p] + size
    L.known[p + 1] = L.known[p]


@part
def _divide(P, p, sets, k):
    """Replace part `p` by the sets without a feature of set `k`, and on top of it those with it."""
    for w in range(P.inside.shape[1]):
        P.inside[p + 1, w] = P.inside[p, w]
        P.outside[p + 1, w] = P.outside[p, w]
    for w in range(P.inside.shape[1]):
        rest = sets[k, w] & ~P.inside[p, w]
        if rest:
            bit = rest & (~rest + np.uint64(1))
            P.inside[p + 1, w] |= bit
            P.outside[p, w] |= bit
            return


@part
def _begin(F, A, P, p, S, free, reg):
    """Ask about all features that are not outside of part `p`."""
    for w in range(free.size):
        free[w] = ~P.outside[p, w]
    reg[TOP] = 1 if open_box(F, A, S, reg[SCORE], np.int64(0), free) else 0
    reg[BEGUN] = reg[NODES]
    reg[ASKING] = 1


@flat_kernel(F=Ensemble, A=Around, C=Family, P=Parts, U=Active, Y=Active, S=Stack, T=Scratch)
def dualize(F, A, C, X, P, U, Y, S, free, T, reg):
    """Look at every set of features that contains none of `C` and leaves out none of `X`, and add what is found.

    When it is DONE, the minimal sets of `C` are all CXps, and those of `X` all AXps. Any other status leaves a state
    that can be continued. `U` and `Y` list sets of `C` and `X`; `free` and `T` are scratch space.
    """
    while reg[PARTS] > 0:
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        p = reg[PARTS] - 1
        full = reg[N_SETS] >= C.member.shape[0] or reg[N_AXPS] >= X.shape[0]
        if full or not _is_roomy(U, p, reg[N_SETS]) or not _is_roomy(Y, p, reg[N_AXPS]):
            return STORE_FULL
        if not reg[ASKING]:
            reg[NODES] += 1
            k = _narrow(P, p, C, reg[N_SETS], U, X, reg[N_AXPS], Y, T.fixed)
            if k == -2:
                reg[PARTS] = p
                continue
            if k >= 0:
                _divide(P, p, C.member, k)
                _inherit(U, p)
                _inherit(Y, p)
                reg[PARTS] = p + 2
                continue
            reg[SCORE] = 0
            _begin(F, A, P, p, S, free, reg)
        status = _search(F, S, reg[SCORE], A.v, T, reg)
        if status in (ALLOWANCE, STACK_FULL):
            return status
        reg[ASKING] = 0
        if status == FOUND:
            # The part stays: its sets have one more CXp to hit.
            shrink(F, S, reg[SCORE], reg[TOP] - 1, A.v, T.W, T.x, T.at)
            store(C, T.W, np.int64(0), reg[N_SETS])
            reg[N_SETS] += 1
        elif reg[SCORE] + 1 < F.base.shape[0]:
            reg[SCORE] += 1
            _begin(F, A, P, p, S, free, reg)
        else:
            for w in range(X.shape[1]):
                X[reg[N_AXPS], w] = P.outside[p, w]
            reg[N_AXPS] += 1
            reg[PARTS] = p
    return DONE
