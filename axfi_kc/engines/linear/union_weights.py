"""Weights of CXps that several sides reach: unions of half-spaces.

Within the box of a CXp the half-space of a side stays, by minimality, on that side of the instance
where its own worst corner lies. So half-spaces whose worst corners differ in a real feature are
disjoint, up to a set of measure zero, and only those with the same corner need a union: of corner
simplices ``{u >= 0 : a . u <= b}``, summed over the discrete features' values. Such a union is
star-shaped around its corner, and splits into one part per simplex: the points where that simplex
reaches furthest. A part is cut out by planes through the corner, and cutting is done on edges: the
zero z of a linear f on an edge between vertices p and q, f(p) < 0 < f(q), splits a simplex into one
with q replaced by z and one with p replaced by z, whose volumes are to the whole as ``-f(p)`` and
``f(q)`` to ``f(q) - f(p)``. Vertices on a plane belong to both sides, so no case is degenerate.

From a missing value all numbers are changes, so where a feature may be missing half-spaces with different
corners may overlap, and reach beyond the box. There each is cut by the box and by those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod

from axfi_kc.budget import Account, paced
from axfi_kc.domain.features import Real
from axfi_kc.engines.linear.half_spaces import Piece, Side, pieces
from axfi_kc.engines.linear.mixtures import Case, cases
from axfi_kc.engines.linear.weights import SideWeigher, check_budget
from axfi_kc.errors import BudgetError

__all__ = ["UnionWeigher", "box_share", "share_below", "union_volume"]


_LARGEST = 20_000  # splits of one simplex

Rows = Sequence[Sequence[Fraction]]


def union_volume(rows: Rows, *, account: Account | None = None) -> Fraction:
    """Return the volume of the union of the corner simplices ``{u >= 0 : a . u <= 1}``, a in `rows`.

    Notes
    -----
    Quadratic in the dimension for one or two simplices; for more, the number of splits can grow
    exponentially in their number.

    Examples
    --------
    Two right triangles with legs 1, 2 and 2, 1 overlap in an area of 2/3:

    >>> union_volume([(Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(1))])
    Fraction(4, 3)
    """
    kept = _undominated(rows)
    whole = Fraction(0)
    for a in kept:
        # Simplex a reaches furthest in direction u where (a - b) . u <= 0 for all b. Vertex i is at distance
        # 1 / a[i]; the common corner, where all functions are 0, is left out and changes no share.
        vertices = [[(a[i] - b[i]) / a[i] for b in kept if b is not a] for i in range(len(a))]
        whole += share_below(vertices, account=account) / prod(a)
    return whole / factorial(len(rows[0]))


def _undominated(rows: Rows) -> list[Sequence[Fraction]]:
    """Return the rows of the simplices that lie in no other; one of several equal ones."""
    kept: list[Sequence[Fraction]] = []
    # In lexicographic order a row that is at most another one comes before it, so one pass suffices.
    for row in sorted(set(map(tuple, rows))):
        if not any(all(x <= y for x, y in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return kept


def share_below(vertices: Rows, *, account: Account | None = None) -> Fraction:
    """Return the part of a simplex on which several linear functions are all at most zero.

    Parameters
    ----------
    vertices
        Per vertex, the functions' values there.

    Raises
    ------
    BudgetError
        If it takes more than 20,000 splits, or the budget was spent.

    Examples
    --------
    >>> share_below([(Fraction(-1),), (Fraction(3),)])
    Fraction(1, 4)
    """
    found, splits = Fraction(0), 0
    stack = [(Fraction(1), [tuple(v) for v in vertices])]
    while stack:
        share, simplex = stack.pop()
        if account is not None:
            account.look()
        open_functions = _undecided(simplex)
        # Nowhere negative but positive somewhere: zero only on the boundary, which has no volume.
        if open_functions is None:
            continue
        if len(open_functions) <= 1:
            # A single function that is left has a closed form and needs no further split.
            found += share * (_share_below_one([v[open_functions[0]] for v in simplex]) if open_functions else 1)
            continue
        splits += 1
        if splits > _LARGEST:
            raise BudgetError(
                f"The volume of a union of half-spaces needs more than {_LARGEST} splits of a simplex; "
                "restrict the CXps with max_size, or use weights='unit'.",
                nodes=splits,
            )
        stack += _split(share, simplex, open_functions)
    return found


Simplex = list[tuple[Fraction, ...]]


def _undecided(simplex: Simplex) -> list[int] | None:
    """Return the functions that change sign; None if one is nowhere negative, yet not zero."""
    found = []
    for f in range(len(simplex[0])):
        values = [v[f] for v in simplex]
        if max(values) > 0:
            if min(values) >= 0:
                return None
            found.append(f)
    return found


def _split(share: Fraction, simplex: Simplex, functions: Sequence[int]) -> list[tuple[Fraction, Simplex]]:
    """Split on an edge of the function that fewest edges cross."""

    def crossings(f: int) -> int:
        return sum(v[f] < 0 for v in simplex) * sum(v[f] > 0 for v in simplex)

    # Fewer crossings, fewer splits until the function has one sign on every part.
    f = min(functions, key=crossings)
    p = min(range(len(simplex)), key=lambda k: simplex[k][f])
    q = max(range(len(simplex)), key=lambda k: simplex[k][f])
    at_q = -simplex[p][f] / (simplex[q][f] - simplex[p][f])  # how far along the edge from p the zero lies
    zero = tuple(a + (b - a) * at_q for a, b in zip(simplex[p], simplex[q], strict=True))
    return [
        # Replacing q leaves p's piece of the edge, of length at_q; volumes are in the ratio of the pieces.
        (share * at_q, [zero if k == q else v for k, v in enumerate(simplex)]),
        (share * (1 - at_q), [zero if k == p else v for k, v in enumerate(simplex)]),
    ]


def _share_below_one(values: Sequence[Fraction]) -> Fraction:
    """Return the part of a simplex on which one function is at most zero.

    A zero at a vertex changes nothing, so after splits only the vertices left matter, and the
    splits form a grid: linear in negative times positive vertices.
    """
    negative = [v for v in values if v < 0]
    positive = [v for v in values if v > 0]
    # Shares for the first j positive vertices, one row per negative vertex: without negative ones nothing
    # lies below zero, without positive ones everything does.
    row = [Fraction(0)] * len(positive)
    for x in negative:
        left = Fraction(1)
        for k, y in enumerate(positive):
            above = row[k]
            # The same split as in `_split`, with both halves already known.
            left = (-x * left + y * above) / (y - x)
            row[k] = left
    return row[-1] if positive else Fraction(1)


Half = tuple[Fraction, Sequence[int]]  # b and a of ``a . x <= b``, in distances x from its own corner


def box_share(halves: Sequence[Half], widths: Sequence[Fraction], *, account: Account | None = None) -> Fraction:
    """Return the part of a box that half-spaces cover together.

    Parameters
    ----------
    halves
        Of each, a number b and a slope per side of the box: the half-space of the points whose distances from
        a corner of its own, times the absolute slopes, add up to b at most. The corner is at the low end of
        a side where the slope is positive, and at the high end elsewhere.
    widths
        Of the box; positive.

    Examples
    --------
    From the left end up to 1/2, or from the right one up to 3/4, of an interval of length 1:

    >>> box_share([(Fraction(1, 2), [1]), (Fraction(3, 2), [-2])], [Fraction(1)])
    Fraction(1, 1)
    >>> box_share([(Fraction(1, 2), [1, 1]), (Fraction(1, 2), [-1, 1])], [Fraction(1)] * 2)
    Fraction(1, 4)
    """
    kept: list[Half] = []
    covered = _ZERO
    for b, a in halves:
        if b >= sum(abs(x) * width for x, width in zip(a, widths, strict=True)):
            return Fraction(1)
        if b > 0:
            covered += _new_volume((b, a), kept, widths, account)
            kept.append((b, a))
    return covered / prod(widths)


def _new_volume(half: Half, before: Sequence[Half], widths: Sequence[Fraction], account: Account | None) -> Fraction:
    """Return the volume of the part of a box in one half-space and in none of those before."""
    b, a = half
    flat = sum(not x for x in a)
    # A simplex that holds all of the half-space within the box; exactly that, but for the box, if no slope is 0.
    legs = [(1 + flat) * (b / abs(x) if x else width) for x, width in zip(a, widths, strict=True)]
    # Linear functions, all of them at most zero in the part: values at the corner, and slopes from there.
    cuts = [(-width, [int(j == i) for j in range(len(a))]) for i, width in enumerate(widths) if legs[i] > width]
    cuts += [(-b, [abs(x) for x in a])] * bool(flat)
    cuts += [_beyond(other, a, widths) for other in before]
    corner = [value for value, _ in cuts]
    ends = [[value + row[i] * leg for value, row in cuts] for i, leg in enumerate(legs)]
    return share_below([corner, *ends], account=account) * prod(legs) / factorial(len(a))


def _beyond(other: Half, a: Sequence[int], widths: Sequence[Fraction]) -> tuple[Fraction, list[int]]:
    """Return the function that is negative outside of `other`, in distances from the corner that slopes `a` have."""
    b, slopes = other
    alike = [(x > 0) == (y > 0) for x, y in zip(a, slopes, strict=True)]
    at_corner = b - sum(abs(y) * w for y, w, same in zip(slopes, widths, alike, strict=True) if not same)
    return at_corner, [-abs(y) if same else abs(y) for y, same in zip(slopes, alike, strict=True)]


_Spent = tuple[int | None, ...]  # per side, what is spent; None for a side that is overspent
_Options = list[tuple[tuple[int, ...], Fraction]]  # what a feature can spend on each side, and its worth
_ZERO = Fraction(0)


class UnionWeigher:
    """Weighs the CXps of several sides, whose half-spaces may overlap.

    Parameters
    ----------
    sides
        The half-spaces of dissimilar points.
    kind
        ``"ratio"`` or ``"count"``.
    unit
        See :class:`~axfi_kc.engines.linear.weights.SideWeigher`.
    """

    def __init__(self, sides: Sequence[Side], kind: str, unit: int) -> None:
        self._sides = sides
        self._features = sides[0].features
        self._weighers = [SideWeigher(side, kind, unit) for side in sides]
        self._kind = kind
        self._mixed = sides[0].mixed
        self._flat = frozenset(i for i in self._mixed if all(side.is_flat(i) for side in sides))

    def weight(
        self, features: Sequence[int], slacks: Sequence[int], shift: int, *, account: Account | None = None
    ) -> tuple[int, int]:
        """Return the weight of a CXp as a numerator and a denominator.

        Parameters
        ----------
        features
            The CXp.
        slacks
            Per side, how far its h falls below what is needed, times ``2**shift``; negative where
            it does not.
        shift
            See :func:`axfi_kc.models.linear_model.dyadic`.

        Raises
        ------
        BudgetError
            If too many discrete values combine, or too many simplices overlap.
        """
        if self._mixed.isdisjoint(features):
            found = self._present_weight(features, slacks, shift, account)
            return found.numerator, found.denominator
        found = _ZERO
        for n, case in enumerate(paced(cases(self._sides, features, slacks, shift), account)):
            check_budget(n, self._features, features)
            found += self._worth(case) * self._present_weight(case.present, case.slacks, shift, account)
        return found.numerator, found.denominator

    def _worth(self, case: Case) -> Fraction:
        """Return the probability of a case; 1 where points are counted."""
        if self._kind == "count":
            return Fraction(1)
        absent = prod([self._features[i].missing for i in case.missing], start=Fraction(1))
        return absent * prod([1 - self._features[i].missing for i in case.present if i in self._mixed])

    def _present_weight(
        self, features: Sequence[int], slacks: Sequence[int], shift: int, account: Account | None
    ) -> Fraction:
        """Return the weight where no feature that has a slope is missing."""
        if not self._flat.isdisjoint(features):
            steep = [i for i in features if i not in self._flat]
            flat = [self._sides[0].n_gaps(i) for i in features if i in self._flat and self._kind == "count"]
            return prod(flat) * self._present_weight(steep, slacks, shift, account)
        real = [i for i in features if isinstance(self._features[i], Real)]
        groups: dict[tuple[bool, ...], list[int]] = {}
        for k, (side, slack) in enumerate(zip(self._sides, slacks, strict=True)):
            # Slacks are integers over 2**shift, so a strict side needs at least 1 and the others 0.
            if slack >= side.strict:
                # Sides with worst corners in different places are disjoint but for a set of measure 0.
                # Without real features all fall into one group, whose points are told apart one by one.
                groups.setdefault(tuple(side.slope(i) > 0 for i in real if i not in self._mixed), []).append(k)
        found = _ZERO
        for group in groups.values():
            if len(group) == 1:
                found += self._alone(features, group[0], slacks[group[0]], shift, account)
            else:
                found += self._union(features, real, {k: slacks[k] for k in group}, shift, account)
        return found

    def _alone(self, features: Sequence[int], k: int, slack: int, shift: int, account: Account | None) -> Fraction:
        total, divisor = self._weighers[k].present_weight(features, slack, shift, account=account)
        return Fraction(total, divisor * prod([self._weighers[k].present_wholes[i] for i in features]))

    def _union(
        self, features: Sequence[int], real: Sequence[int], slacks: dict[int, int], shift: int, account: Account | None
    ) -> Fraction:
        if not self._mixed.isdisjoint(real):
            return self._boxes(features, real, slacks, shift, account)
        spent = self._spent(features, slacks, shift, account)
        if not real:
            return sum(spent.values(), _ZERO)
        parts = paced(spent.items(), account, at_once=1)
        return sum((worth * self._volume(real, slacks, shift, used, account) for used, worth in parts), _ZERO)

    def _boxes(
        self, features: Sequence[int], real: Sequence[int], slacks: dict[int, int], shift: int, account: Account | None
    ) -> Fraction:
        """Return the weight of a union whose half-spaces need not have one corner."""
        spent = self._spent([i for i in features if i not in real], slacks, shift, account)
        boxes = list(product(*(pieces(self._features[i]) for i in real)))
        check_budget(len(spent) * len(boxes), self._features, features)
        found = _ZERO
        for used, worth in paced(spent.items(), account, at_once=1):
            left = {
                self._sides[k]: Fraction(slack, 1 << shift) - own
                for (k, slack), own in zip(slacks.items(), used, strict=True)
                if own is not None
            }
            found += worth * sum((self._box(real, box, left, account) for box in boxes), _ZERO)
        return found

    def _box(
        self, real: Sequence[int], box: Sequence[Piece], slacks: dict[Side, Fraction], account: Account | None
    ) -> Fraction:
        """Return the probability of the points of a box, one piece of each real feature, that some side reaches."""
        # A piece of width 0 is a value like any other.
        wide = [(i, piece) for i, piece in zip(real, box, strict=True) if piece.low < piece.high]
        halves = []
        for side, slack in slacks.items():
            near = sum((abs(side.slope(i)) * side.distance_to(i, piece) for i, piece in wide), _ZERO)
            halves.append((slack - near, [side.slope(i) for i, _ in wide]))
        share = box_share(halves, [piece.high - piece.low for _, piece in wide], account=account)
        return share * prod([piece.share for piece in box])

    def _volume(
        self, real: Sequence[int], slacks: dict[int, int], shift: int, used: _Spent, account: Account | None
    ) -> Fraction:
        """Return the volume of the union of the simplices that are left when `used` is spent."""
        rows = []
        for (k, slack), spent in zip(slacks.items(), used, strict=True):
            # Nothing left to spend is a simplex without volume.
            if spent is not None and slack > spent << shift:
                left = Fraction(slack - (spent << shift), 1 << shift)
                # In the form a . u <= 1 that unions are computed in.
                rows.append([abs(self._sides[k].slope(i)) / left for i in real])
        return union_volume(rows, account=account) if rows else _ZERO

    def _spent(
        self, features: Sequence[int], slacks: dict[int, int], shift: int, account: Account | None
    ) -> dict[_Spent, Fraction]:
        """Return the worth of what the features can spend on each side."""
        # The boundary matters only where all features are discrete, and this is exact there.
        limits = [(slack - self._sides[k].strict) >> shift for k, slack in slacks.items()]
        spent: dict[_Spent, Fraction] = {(0,) * len(slacks): Fraction(1)}
        for i in features:
            options = self._options([self._sides[k] for k in slacks], i)
            check_budget(len(spent) * len(options), self._features, features)
            following: dict[_Spent, Fraction] = {}
            for used, worth in paced(spent.items(), account):
                for gaps, share in paced(options, account, at_once=1024):
                    now = tuple(map(_spend, used, gaps, limits))
                    # A combination counts as soon as one side can still afford it.
                    if any(n is not None for n in now):
                        following[now] = following.get(now, _ZERO) + worth * share
            spent = following
        return spent

    def _options(self, sides: Sequence[Side], i: int) -> _Options:
        feature = self._features[i]
        if isinstance(feature, Real):
            return _options_of_bins(sides, i)
        size = sides[0].n_gaps(i)
        check_budget(size, self._features, [i])
        shares = sides[0].shares(i) or (Fraction(1, size),) * size
        if self._kind == "count":
            shares = (Fraction(1),) * size
        return list(zip(zip(*(side.gaps(i) for side in sides), strict=True), shares, strict=True))


def _spend(used: int | None, gap: int, limit: int) -> int | None:
    # Overspent once, overspent for ever: gaps are never negative.
    return None if used is None or used + gap > limit else used + gap


def _options_of_bins(sides: Sequence[Side], i: int) -> _Options:
    """Return where the density of a real feature changes, and by how much; all have one corner."""
    options, before = [], _ZERO
    for share, distance, width in sides[0].bins(i):
        gaps = tuple(int(abs(side.slope(i)) * distance) for side in sides)
        # Densities per unit of the feature here, not of h: the slopes differ from side to side.
        options.append((gaps, share / width - before))
        before = share / width
    return options
