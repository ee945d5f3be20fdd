"""Checks what an explanation says of precisions and of boxes of values, with none of the code that made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product
from math import prod
from random import Random
from typing import Any

import numpy as np

from axfi_kc.domain.features import Categorical
from axfi_kc.verification.questions import Searches
from axfi_kc.verification.report import Check, Spent, Status
from axfi_kc.verification.spaces import Bound, Piece

__all__ = ["further_checks"]


_MOST_SETS = 300  # precisions that are computed for one threshold
_SAMPLE = 10_000
_AT_ONCE = 4096
Where = dict[int, int]  # pieces per feature, as bits


def further_checks(searches: Searches, model: Any) -> Iterator[Check]:
    """Check the probabilistic AXps and the boxes of values that an explanation states."""
    further = searches.claim.further
    if further is None:
        return
    if further.local_paxps or further.paxps:
        claim = searches.claim
        own = searches
        if claim.weights != "ratio":
            own = Searches(replace(claim, weights="ratio"), model, searches.allowance, seed=searches.seed)
        yield from _precisions(own, further)
    general = [] if further.most_general is None else [further.most_general]
    for box in (*general, *further.inflated_axps.values()):
        yield from _Box(searches, box, is_kept=True).checks()
    for box in further.inflated_cxps.values():
        yield from _Box(searches, box, is_kept=False).checks()


def _precisions(searches: Searches, further: Any) -> Iterator[Check]:
    """Check sets of features of some precision: how precise they are, and that none could be left out."""
    for least, found in further.local_paxps.items():
        mask = searches.claim.mask(found.features)
        yield _precision(searches, mask, found.precision, least)
        for i in (i for i in range(mask.bit_length()) if mask >> i & 1):
            yield _imprecise(searches, mask & ~(1 << i), least)
    for least, listed in further.paxps.items():
        sets = [searches.claim.mask(p.features) for p in listed]
        for mask, found in zip(sets, listed, strict=True):
            yield _precision(searches, mask, found.precision, least)
        everything = len(searches.claim.domain)
        radius = everything if listed.radius is None else listed.radius
        masks = (
            sum(1 << i for i in chosen)
            for size in range(radius + 1)
            for chosen in combinations(range(everything), size)
        )
        # Whatever contains none of the sets found is less precise: proper parts of these, and all the others.
        others = list(islice((m for m in masks if not any(s & m == s for s in sets)), _MOST_SETS + 1))
        for mask in others[:_MOST_SETS]:
            yield _imprecise(searches, mask, least)
        if len(others) > _MOST_SETS:
            yield Check("precision", (), "sampled", "only some sets of features were tried", _MOST_SETS)


def _precision(searches: Searches, mask: int, claimed: Fraction, least: Fraction) -> Check:
    names = searches.claim.domain.names_of(mask)
    if claimed < least:
        return Check("precision", names, "failed", "definition", detail=f"{claimed} is below {least}")
    found = searches.weigh(_free(searches, mask), 1 - claimed)
    right = found.low <= 1 - claimed <= found.high
    said = found.detail if right else f"the explanation says {claimed}; found {1 - found.low}"
    return Check("precision", names, found.status if right else "failed", found.method, found.points, said)


def _imprecise(searches: Searches, mask: int, least: Fraction) -> Check:
    """Check that a set of features is less precise than the threshold."""
    names = searches.claim.domain.names_of(mask)
    found = searches.weigh(_free(searches, mask), 1 - least)
    status: Status = found.status
    if found.high <= 1 - least:
        status = "failed"
    said = f"its precision is {1 - found.low}, not below {least}" if status == "failed" else found.detail
    return Check("precision", names, status, found.method, found.points, said)


def _free(searches: Searches, mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(len(searches.claim.domain)) if not mask >> i & 1)


class _Box:
    """A box of values: of points that are all similar, if it keeps the output, or that are all dissimilar."""

    def __init__(self, searches: Searches, stated: Any, *, is_kept: bool) -> None:
        self._searches, self._stated, self._is_kept = searches, stated, is_kept
        claim = searches.claim
        self._claim, self._rng = claim, Random(searches.seed)  # noqa: S311 - no secret depends on it
        ends: list[set[Bound]] = [set() for _ in claim.domain.features]
        for values in stated.values:
            ends[claim.domain.index(values.feature)] |= _ends(values)
        self._space, self._possible, self._proofs = searches.cut(ends)
        self._names = tuple(values.feature for values in stated.values)

    def checks(self) -> Iterator[Check]:
        """Check that the box holds only what it should, that it cannot be extended, and what it covers."""
        if self._space is None:
            yield Check(
                "box", self._names, "sampled", "not looked at: there are too many values to cut the domain into"
            )
            return
        try:
            box = self._pieces()
        except ValueError as error:
            yield Check("box", self._names, "failed", "its values", detail=str(error))
            return
        self._searches.allowance.begin()
        found, status, method = self._look(box)
        detail = f"it holds a point that is {'not ' if self._is_kept else ''}similar" if found else ""
        yield Check("box", self._names, "failed" if found else status, method, detail=detail)
        for i, k in self._beyond(box):
            self._searches.allowance.begin()
            found, status, method = self._look({**box, i: 1 << k})
            said = "" if found else f"{self._claim.domain.names[i]} could take more values"
            # Where points were only sampled, not to find one says little.
            yield Check("extension", self._names, "proved" if found else _verdict(status), method, detail=said)
        yield self._coverage(box)

    def _pieces(self) -> Where:
        """Return the pieces of each feature; ValueError if the box leaves out the instance, or a feature's values."""
        domain, space = self._claim.domain, self._space
        if space is None:
            return {}
        box = {i: (1 << len(p)) - 1 for i, p in enumerate(space.pieces)} if self._is_kept else {}
        for values in self._stated.values:
            i = domain.index(values.feature)
            flags = [_holds(values, domain.features[i], piece) for piece in space.pieces[i]]
            box[i] = sum(flag << k for k, flag in enumerate(flags))
            if not box[i]:
                raise ValueError(f"{values.feature} has no value in it")
            if self._is_kept and not box[i] >> space.home[i] & 1:
                raise ValueError(f"the instance's {values.feature} is not in it")
        return box

    def _beyond(self, box: Where) -> Iterator[tuple[int, int]]:
        """Iterate over the pieces by which a feature could be widened."""
        domain = self._claim.domain
        for name in self._names:
            i = domain.index(name)
            pieces = self._space.pieces[i] if self._space is not None else ()
            outside = [k for k in range(len(pieces)) if not box[i] >> k & 1]
            numbers = [k for k in range(len(pieces)) if box[i] >> k & 1 and pieces[k].number is not None]
            if not isinstance(domain.features[i], Categorical) and numbers:
                near = (numbers[0] - 1, numbers[-1] + 1)
                outside = [k for k in outside if k in near or pieces[k].number is None]
            yield from ((i, k) for k in outside)

    def _look(self, box: Where) -> tuple[bool, Status, str]:
        """Look for a point that should not be there: whether one was found, how sure that is, and how it was done."""
        allowance = self._searches.allowance
        if self._proofs is not None and not allowance.is_late:
            try:
                found = self._proofs.find_within(box, allowance, similar=not self._is_kept)
                return found is not None, "proved", self._proofs.method
            except Spent:
                allowance.begin()
        size = prod(mask.bit_count() for mask in box.values())
        if allowance.is_late:
            return False, "sampled", "not looked at: the seconds are over"
        if size <= allowance.points:
            # A piece in which no float lies cannot be put to predict, so that nothing is proved about it.
            status: Status = "proved" if self._space is None or self._space.has_floats(tuple(box)) else "sampled"
            return self._asked(box, list(product(*map(_bits, box.values())))), status, "predict at every combination"
        rows = [tuple(self._rng.choice(_bits(mask)) for mask in box.values()) for _ in range(_SAMPLE)]
        return self._asked(box, rows), "sampled", "predict at random points"

    def _asked(self, box: Where, rows: list[tuple[int, ...]]) -> bool:
        """Tell whether predict finds a point that should not be there among combinations of pieces."""
        if self._space is None:
            return False
        free = tuple(box)
        for first in range(0, len(rows), _AT_ONCE):
            places = np.array(rows[first : first + _AT_ONCE], dtype=np.int64).reshape(-1, len(free))
            codes = np.tile(self._claim.codes, (len(places), 1))
            for column, i in zip(places.T, free, strict=True):
                own = self._space.pieces[i]
                codes[:, i] = [np.inf if own[k].code is None else own[k].code for k in column.tolist()]
            kept = ~np.isinf(codes).any(axis=1)  # there is no float in some pieces
            if self._possible is not None:
                shares = self._possible.shares(free, list(places.T), len(places))
                kept &= np.array([bool(s) for s in shares])
            outputs = self._searches.predict(codes[kept]) if kept.any() else []
            if any(self._claim.is_similar(y) != self._is_kept for y in outputs):
                return True
        return False

    def _coverage(self, box: Where) -> Check:
        space, limits, allowance = self._space, self._possible, self._searches.allowance
        method, free = "sum over the pieces of the box", tuple(box)
        if space is None:
            return Check("coverage", self._names, "sampled", method)
        allowance.begin()
        try:
            parts: Iterable[tuple[Where, int | Fraction]] = [(box, 1)]
            parts = parts if limits is None or not self._claim.domain.constraints else limits.boxes(box, allowance)
            inside = space.weight_of(parts, free)
            whole = Fraction(1) if limits is None else limits.weight(free, allowance)
        except Spent:
            return Check("coverage", self._names, "sampled", method, detail="more steps or seconds were needed")
        claimed = self._stated.coverage
        if inside == claimed * whole:
            return Check("coverage", self._names, "proved", method)
        return Check(
            "coverage", self._names, "failed", method, detail=f"the explanation says {claimed}, not {inside / whole}"
        )


def _verdict(status: Status) -> Status:
    return "failed" if status == "proved" else "sampled"


def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def _ends(values: Any) -> set[Bound]:
    """Return where a range cuts the reals."""
    if values.listed is not None or values.low is None or values.high is None:
        return set()
    # Left of the lower end is what is not in the range, left of the upper end what is.
    return {(values.low, values.low_open), (values.high, not values.high_open)}


def _holds(values: Any, feature: Any, piece: Piece) -> bool:
    """Tell whether a piece, which no end cuts, is in a set of values."""
    if piece.number is None:
        return bool(values.missing)
    if values.listed is not None:
        return isinstance(feature, Categorical) and feature.values[int(piece.number)] in values.listed
    if values.low is None or values.high is None:
        return False
    above = piece.number > values.low or (piece.number == values.low and not values.low_open)
    return above and (piece.number < values.high or (piece.number == values.high and not values.high_open))
