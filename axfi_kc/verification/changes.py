"""Sensitivity, robustness and fairness: the whole space listed once more, and each point's neighbours looked at.

The space is cut into pieces that the model cannot tell apart, one point of each combination goes through ``predict``,
and which points have another output within reach is found from the definition, on the table of these outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import has
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.models.own_predict import Codes, Predict, predictor
from axfi_kc.verification.example_circuits import circuit_holds, located
from axfi_kc.verification.joint import JointPieces
from axfi_kc.verification.possible import possible_rows
from axfi_kc.verification.reading import form_of
from axfi_kc.verification.reading.forms import CellForm, Form, LinearForm, TreeForm
from axfi_kc.verification.report import Allowance, Check, Report, Status
from axfi_kc.verification.spaces import (
    BALL,
    Bound,
    Piece,
    constraint_cuts,
    draw,
    is_left,
    pieces_of,
    position_of,
    values_of,
)

__all__ = ["changes_report", "is_about_space"]


_ROWS = 4096  # predicted at once
_DRAWN = 60  # random points at which pieces, and the region, are compared with predict
_ENTRIES = 10_000_000  # truths of nodes at points that are held at once
_LATE = "not looked at: the seconds are over"
_NEEDED = ("probability", "count", "points", "outputs", "groups", "region", "distribution")
_METHOD = "the definition, at every combination of cells, by predict"
_EXACTLY = "the definition, at every combination of cells, in exact arithmetic"
_READINGS: dict[type, str] = {TreeForm: "its trees", LinearForm: "its values", CellForm: "its cells"}
Flags = npt.NDArray[np.bool_]


def is_about_space(answer: Any) -> bool:
    """Tell whether an answer is about the whole space: sensitivity, robustness or fairness."""
    several = answer.answers if has(answer, "answers") else None
    one = several[0] if isinstance(several, tuple) and several else answer
    return all(has(one, name) for name in _NEEDED) and (has(one, "features") or has(one, "radius"))


def changes_report(answer: Any, model: Any, allowance: Allowance, *, seed: int) -> Report:
    """Check what is said of the points that change their output."""
    answers = tuple(answer.answers) if has(answer, "answers") else (answer,)
    domain: Domain = answers[0].region.domain.with_distribution(None)
    form, predict = form_of(model, domain), predictor(model, domain)
    ends = _ends_of_groups(domain, answers, allowance.points)
    listing, checks = _Listing.of(domain, form, predict, allowance, ends), list[Check]()
    for one in answers:
        if one.region.domain.with_distribution(None) != domain:
            subject = ("another domain",)
            checks.append(Check("change", subject, "failed", "comparison of domains", detail="answers have one domain"))
        else:
            checks += _Checks(one, listing, predict, allowance, seed).checks()
    unchecked = ("the words of groups of real numbers",) if any(_words_unknown(one) for one in answers) else ()
    return Report(tuple(checks), type(model).__name__, _READINGS.get(type(form), "predict alone"), unchecked)


def _words_unknown(answer: Any) -> bool:
    by, domain = answer.by, answer.region.domain
    return by is not None and isinstance(domain.features[domain.index(by)], Real)


def _ends_of_groups(domain: Domain, answers: Sequence[Any], most: int) -> list[set[Bound]] | None:
    """Return where groups end on each feature: at each value, or where bins do; None for more than `most` values."""
    found: list[set[Bound]] = [set() for _ in domain.features]
    for i in {domain.index(answer.by) for answer in answers if answer.by is not None}:
        feature = domain.features[i]
        if isinstance(feature, Integer):
            if feature.high - feature.low >= most:
                return None
            found[i] = {(Fraction(k), True) for k in range(feature.low, feature.high)}
        elif isinstance(feature, Real):
            found[i] = {end for answer in answers for end in _ends_of_bins(answer.region.domain, i)}
    return found


def _ends_of_bins(domain: Domain, i: int) -> list[Bound]:
    """Return where the inner bins of a distribution end, at the float next to each edge."""
    edges = domain.distribution.states[i].edges[1:-1] if domain.distribution is not None else ()
    return [(Fraction(float(edge)), Fraction(float(edge)) < edge) for edge in edges]


def _bounds(domain: Domain, form: Form | None, most: int) -> list[set[Bound]] | None:
    """Return where a model cuts each feature: as its dump says, or at its values; None if neither will do."""
    if isinstance(form, TreeForm | CellForm):
        return form.bounds(domain)
    if any((values_of(feature) or most + 1) > most for feature in domain.features):
        return None
    rows = ((f.low, f.high) if isinstance(f, Integer) else (0, 0) for f in domain.features)
    return [{(Fraction(k), True) for k in range(low, high)} for low, high in rows]


@dataclass(frozen=True)
class _Listing:
    """The outputs of all combinations of pieces, as a table with an axis for each feature."""

    domain: Domain
    form: Form | None
    bounds: list[set[Bound]]
    pieces: tuple[tuple[Piece, ...], ...]
    codes: Codes  # a point of each combination, the last feature fastest
    labels: tuple[Hashable, ...]  # the outputs met
    table: npt.NDArray[np.int64]  # the position of each point's output among these; -1 where none is possible

    @classmethod
    def of(
        cls, domain: Domain, form: Form | None, predict: Predict, allowance: Allowance, ends: list[set[Bound]] | None
    ) -> _Listing | None:
        """List the space, cut further at `ends`; None if it has too many combinations, or some cannot be predicted."""
        has_ball = any(rule.kind == BALL for rule in domain.constraints)
        found = None if has_ball else _bounds(domain, form, allowance.points)
        if found is None or ends is None:
            return None
        bounds = [b | e | constraint_cuts(domain, f) for f, b, e in zip(domain.features, found, ends, strict=True)]
        pieces = tuple(pieces_of(f, b) for f, b in zip(domain.features, bounds, strict=True))
        if prod(map(len, pieces)) > allowance.points or any(p.code is None for row in pieces for p in row):
            return None
        grids: Any = np.meshgrid(*([p.code for p in row] for row in pieces), indexing="ij")
        codes: Codes = np.stack([grid.reshape(-1).astype(np.float64) for grid in grids], axis=1)
        listing = cls(domain, form, bounds, pieces, codes, (), np.empty(0, dtype=np.int64))
        return listing._with(_asked(predict, allowance))

    def _with(self, ask: Callable[[Codes], list[Any] | None]) -> _Listing | None:
        """Return the listing of what `ask` says at the possible points; None if it gives up."""
        possible = possible_rows(self.domain, self.codes)
        outputs = ask(self.codes[possible])
        if outputs is None:
            return None
        labels = tuple(dict.fromkeys(outputs))
        number = {y: k for k, y in enumerate(labels)}
        table = np.full(len(self.codes), -1, dtype=np.int64)
        table[possible] = [number[y] for y in outputs]
        return replace(self, labels=labels, table=table.reshape([len(row) for row in self.pieces]))

    def exactly(self, allowance: Allowance) -> _Listing | None:
        """Return the same in exact arithmetic, where a dump says how; None elsewhere."""
        form = self.form
        if not isinstance(form, TreeForm | LinearForm) or form.rule is None:
            return None

        def ask(codes: Codes) -> list[Any] | None:
            found = []
            for row in codes.tolist():
                if allowance.is_late:
                    return None
                found.append(form.output(row, self.domain))
            return found

        return self._with(ask)

    @property
    def possible(self) -> Flags:
        """Which combinations can exist."""
        return self.table >= 0

    def at(self, codes: Codes) -> list[tuple[int, ...]]:
        """Return the combination of pieces of each point."""
        columns = list(zip(self.pieces, self.bounds, self.domain.features, strict=True))
        rows = (zip(columns, row, strict=True) for row in codes.tolist())
        return [tuple(position_of(p, b, f, code) for (p, b, f), code in row) for row in rows]

    def reaching(self, answer: Any) -> Flags:
        """Return the possible points from which another output is reached by the changes that the answer is about."""
        found = np.zeros(self.table.shape, dtype=np.bool_)
        for k in range(len(self.labels)):
            found |= self._within_reach(self.possible & (self.table != k), answer) & (self.table == k)
        return found

    def _within_reach(self, points: Flags, answer: Any) -> Flags:
        """Return the points that differ from one of some points in what may change only."""
        if has(answer, "features"):
            axes = tuple(self.domain.index(name) for name in answer.features)
            return np.broadcast_to(points.any(axis=axes, keepdims=True), points.shape)
        for _ in range(min(answer.radius, points.ndim)):
            # One change more: of any one feature, to any value.
            points = reduce(np.logical_or, (points.any(axis=i, keepdims=True) for i in range(points.ndim)), points)
        return points


def _asked(predict: Predict, allowance: Allowance) -> Callable[[Codes], list[Any] | None]:
    """Return what asks ``predict`` block by block, until the seconds are over."""

    def ask(codes: Codes) -> list[Any] | None:
        found: list[Any] = []
        for first in range(0, len(codes), _ROWS):
            if allowance.is_late:
                return None
            found += predict(codes[first : first + _ROWS])
        return found

    return ask


class _Numbers:
    """Counts and probabilities of points of a listing, among the possible ones."""

    def __init__(self, listing: _Listing, domain: Domain) -> None:
        self._listing = listing
        features, pieces = domain.features, listing.pieces
        self._is_countable = not any(isinstance(f, Real) for f in features)
        self._joint = None
        if domain.distribution is not None:
            values = domain.decode(listing.codes[0])
            self._joint = JointPieces(domain.distribution, features, pieces, values)

    @cached_property
    def _whole(self) -> Fraction:
        return self._weight(self._listing.possible)

    def probability(self, points: Flags) -> Fraction | None:
        """Return the probability of points; None if that of all possible ones is 0."""
        return self._weight(points) / self._whole if self._whole else None

    def _weight(self, points: Flags) -> Fraction:
        if self._joint is not None:
            return self._joint.combinations(range(points.ndim), points.reshape(-1).astype(int).tolist())
        below, rows = 1, []
        for own in self._listing.pieces:
            whole = lcm(*(piece.share.denominator for piece in own))
            rows.append([int(piece.share * whole) for piece in own])
            below *= whole
        return Fraction(_summed(points, rows), below)

    def count(self, points: Flags) -> int | None:
        """Return the number of points; None where a feature is real."""
        if not self._is_countable:
            return None
        return _summed(points, [[piece.count or 0 for piece in own] for own in self._listing.pieces])


def _summed(points: Flags, rows: Sequence[Sequence[int]]) -> int:
    """Return the sum over points of the product of the numbers of their pieces."""
    table: Any = points.astype(object)
    for row in reversed(rows):
        table = table @ np.array(row, dtype=object)
    return int(table)


class _Checks:
    """The checks of one answer."""

    def __init__(
        self, answer: Any, listing: _Listing | None, predict: Predict, allowance: Allowance, seed: int
    ) -> None:
        self._answer, self._listing, self._predict, self._allowance = answer, listing, predict, allowance
        self._domain: Domain = answer.region.domain
        self._subject = tuple(answer.features) if has(answer, "features") else (f"at most {answer.radius}",)
        self._rng = np.random.default_rng(seed)

    def checks(self) -> Iterator[Check]:
        """Iterate over them."""
        yield self._words()
        if self._listing is None or self._allowance.is_late:
            yield from self._in_part()
            return
        wrong = self._misplaced(self._listing)
        if wrong:  # what was read from the dump is not how the model behaves
            yield Check("change", self._subject, "sampled", "predict at random points", _DRAWN, wrong)
            yield from self._in_part()
            return
        found = [*self._compared(self._listing, _METHOD)]
        if any(check.status == "failed" for check in found):
            # The library's own rounding may decide a tie otherwise: then the numbers are those of exact arithmetic.
            exact = self._listing.exactly(self._allowance)
            again = [] if exact is None else [*self._compared(exact, _EXACTLY)]
            found = again if again and all(check.status == "proved" for check in again) else found
        yield from found

    def _words(self) -> Check:
        joint, said = self._domain.distribution, self._answer.distribution
        own = "independent features" if joint is None else str(joint)
        return self._check("distribution", (), {"distribution": (said, own)}, "the distribution's own words")

    def _misplaced(self, listing: _Listing) -> str:
        """Return how the listing contradicts ``predict`` at random points; nothing if it does not."""
        codes = draw(self._domain, listing.codes[0], tuple(range(len(self._domain))), _DRAWN, self._rng, even=True)
        codes = codes[possible_rows(self._domain, codes)]
        outputs = self._predict(codes) if len(codes) else []
        for place, own in zip(listing.at(codes), outputs, strict=True):
            k = int(listing.table[place])
            if k < 0 or listing.labels[k] != own:
                return "points that the dump does not tell apart have different outputs"
        return ""

    def _compared(self, listing: _Listing, method: str) -> Iterator[Check]:
        """Iterate over the checks of all numbers, and of the region, against a listing."""
        answer, numbers = self._answer, _Numbers(listing, self._domain)
        region = listing.reaching(answer)
        yield self._check(
            "change",
            (),
            {
                "probability": (answer.probability, numbers.probability(region)),
                "count": (answer.count, numbers.count(region)),
                "points": (answer.points, numbers.count(listing.possible)),
            },
            method,
        )
        yield from self._outputs(listing, numbers, region, method)
        yield from self._groups(listing, numbers, region, method)
        held = self._held(listing.codes)
        if held is None:
            yield Check("region", self._subject, "sampled", _LATE)
            return
        status: Status = "proved" if (np.array(held) == region.reshape(-1)).all() else "failed"
        detail = "" if status == "proved" else "it holds other points than those that change"
        yield Check("region", self._subject, status, method, len(held), detail)

    def _held(self, codes: Codes) -> list[bool] | None:
        """Tell which points are in the region, some at a time; None if the seconds are over before all are known."""
        circuit = self._answer.region.circuit
        at_once, found = max(_ENTRIES // max(len(circuit.kinds), 1), 1), list[bool]()
        for first in range(0, len(codes), at_once):
            if self._allowance.is_late:
                return None
            found += circuit_holds(circuit, codes[first : first + at_once])
        return found

    def _outputs(self, listing: _Listing, numbers: _Numbers, region: Flags, method: str) -> Iterator[Check]:
        parts = self._answer.outputs
        names = [part.name for part in parts]
        missing = [y for y in listing.labels if y not in names]
        right = not missing and len(set(names)) == len(names)
        detail = "" if right else f"{missing or names} is not listed once"
        yield Check("output", self._subject, "proved" if right else "failed", method, len(names), detail)
        for part in parts:
            k = listing.labels.index(part.name) if part.name in listing.labels else -2
            yield self._part("output", str(part.name), part, numbers, region, listing.table == k, method)

    def _groups(self, listing: _Listing, numbers: _Numbers, region: Flags, method: str) -> Iterator[Check]:
        by, parts = self._answer.by, self._answer.groups
        if by is None:
            if parts:
                yield Check("group", self._subject, "failed", method, detail="groups of no feature are listed")
            return
        i = self._domain.index(by)
        groups = self._members(listing, i)
        if len(parts) != len(groups):
            detail = f"{len(parts)} groups are listed, but there are {len(groups)}"
            yield Check("group", (by,), "failed", method, detail=detail)
            return
        shape = [-1 if k == i else 1 for k in range(len(self._domain))]
        for part, members in zip(parts, groups, strict=True):
            inside = np.isin(np.arange(len(listing.pieces[i])), members).reshape(shape) & listing.possible
            words = self._described(by, listing.pieces[i][members[0]])
            yield self._part("group", str(part.name), part, numbers, region, inside, method, words)

    def _members(self, listing: _Listing, i: int) -> list[list[int]]:
        """Return the pieces of each group: a value, or a real interval between thresholds and ends of bins."""
        pieces = listing.pieces[i]
        if not isinstance(self._domain.features[i], Real):
            return [[k] for k in range(len(pieces))]
        cells = located(self._answer.region.circuit.grid.axes[i], np.array([piece.code for piece in pieces])).tolist()
        ends, groups = _ends_of_bins(self._domain, i), dict[tuple[int, int], list[int]]()
        for k, (piece, cell) in enumerate(zip(pieces, cells, strict=True)):
            state = -1 if piece.number is None else sum(not is_left(piece.number, end) for end in ends)
            groups.setdefault((cell, state), []).append(k)
        return list(groups.values())

    def _described(self, by: str, piece: Piece) -> str | None:
        """Return the words for a value; None for those of a real feature."""
        feature = self._domain.features[self._domain.index(by)]
        if piece.number is None:
            return f"{by} is missing"
        if isinstance(feature, Categorical):
            return f"{by} = {feature.values[int(piece.number)]!r}"
        return None if isinstance(feature, Real) else f"{by} = {piece.number}"

    def _part(
        self,
        kind: str,
        name: str,
        part: Any,
        numbers: _Numbers,
        region: Flags,
        inside: Flags,
        method: str,
        words: str | None = None,
    ) -> Check:
        if self._allowance.is_late:
            return Check(kind, (*self._subject, name), "sampled", _LATE)
        said: dict[str, tuple[Any, Any]] = {
            "probability": (part.probability, numbers.probability(region & inside)),
            "count": (part.count, numbers.count(region & inside)),
            "whole": (part.whole, numbers.probability(inside)),
            "points": (part.points, numbers.count(inside)),
        }
        if words is not None:
            said["name"] = (part.name, words)
        return self._check(kind, (name,), said, method)

    def _check(self, kind: str, about: tuple[str, ...], said: dict[str, tuple[Any, Any]], method: str) -> Check:
        """Return whether what is said is what was found."""
        wrong = [f"{name} is said to be {a}, not {b}" for name, (a, b) in said.items() if a != b]
        status: Status = "failed" if wrong else "proved"
        points = 0 if self._listing is None else len(self._listing.codes)
        return Check(kind, (*self._subject, *about), status, method, points, "; ".join(wrong))

    def _in_part(self) -> Iterator[Check]:
        """Look at what can be seen of an answer about a space that is too large to list."""
        yield from self._sums()
        yield self._sampled_region()
        detail = "more points or seconds were needed to list the space"
        yield Check("change", self._subject, "sampled", "not looked at in full", detail=detail)

    def _sums(self) -> Iterator[Check]:
        """Check that outputs, and groups, add up to everything."""
        answer = self._answer
        for kind, parts in (("output", answer.outputs), ("group", answer.groups)):
            if not parts:
                continue
            said: dict[str, tuple[Any, Any]] = {
                "the sum of probabilities": (sum(p.probability for p in parts), answer.probability),
                "the sum of wholes": (sum(p.whole for p in parts), 1),
            }
            if answer.count is not None:
                said["the sum of counts"] = (sum(p.count for p in parts), answer.count)
                said["the sum of points"] = (sum(p.points for p in parts), answer.points)
            check = self._check(kind, (), said, "sums of the parts")
            yield check if check.status == "failed" else replace(check, status="sampled")

    def _sampled_region(self) -> Check:
        """Check at random points that those of the region, and no others, have a neighbour with another output."""
        method = "predict at random points and their neighbours"
        number = 0 if self._allowance.is_late else _DRAWN
        everything = tuple(range(len(self._domain)))
        start = np.zeros(len(self._domain))
        codes = draw(self._domain, start, everything, number, self._rng, even=True)
        codes = codes[possible_rows(self._domain, codes)] if number else codes
        held = self._held(codes)
        for row, inside in zip(codes if held is not None else (), held or (), strict=True):
            # Of a point outside the region no neighbour may differ; where one does, it must be inside.
            if not inside and self._neighbour_differs(row):
                detail = f"{self._domain.decode(row)} reaches another output, but is not in the region"
                return Check("region", self._subject, "failed", method, len(codes), detail)
        return Check("region", self._subject, "sampled", method, len(codes))

    def _neighbour_differs(self, codes: Codes) -> bool:
        names = self._domain.names
        free = tuple(self._domain.index(n) for n in self._answer.features) if has(self._answer, "features") else None
        if free is None:
            most = min(self._answer.radius, len(names))
            free = tuple(self._rng.choice(len(names), most, replace=False).tolist())
        others = draw(self._domain, codes, free, _DRAWN, self._rng, even=True)
        others = others[possible_rows(self._domain, others)]
        outputs = self._predict(np.concatenate([codes[np.newaxis], others]))
        return any(y != outputs[0] for y in outputs[1:])
