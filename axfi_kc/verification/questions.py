"""Questions about a box of points, answered by whatever is strongest: enumeration, a proof, a sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.models.own_predict import Codes, Predict, library_of, predictor
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.example_circuits import circuit_holds, cut_elsewhere
from axfi_kc.verification.linear_proofs import ClassProofs, LinearProofs
from axfi_kc.verification.piece_proofs import ClassPieceProofs, PieceProofs
from axfi_kc.verification.possible import Possible, possible_rows, violated
from axfi_kc.verification.reading import form_of
from axfi_kc.verification.reading.forms import CellForm, Form, LinearForm, TreeForm
from axfi_kc.verification.report import Allowance, Spent, Status
from axfi_kc.verification.spaces import Bound, Space, apart, draw, values_of
from axfi_kc.verification.tree_proofs import TreeProofs

__all__ = ["Answer", "Searches", "Weighed", "agree"]


_DOUBT = 1e-9  # the probability with which a sample may mislead
_SAMPLE = 10_000
_FEW = 1000  # combinations of cells that are put to predict before any proof is tried
_READ_AT = 60  # points where what was read from a dump is compared with predict
_BLANK = 0.4  # of the values that may be missing, at half of these points, are
_CLOSE = Fraction(1, 10**5)  # of a regression's float output
Features = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a box holds a dissimilar point."""

    found: bool  # whether one was found; with `status` ``"proved"``, False means that there is none
    status: Status
    method: str
    points: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the dissimilar points of a box weigh: from `low` to `high`, equal where it is known exactly."""

    low: Fraction
    high: Fraction
    status: Status
    method: str
    points: int
    detail: str = ""


class Searches:
    """Looks for dissimilar points, and weighs them; samples start from a seed."""

    def __init__(self, claim: Claim, model: Any, allowance: Allowance, *, seed: int) -> None:
        self.claim = claim
        self.seed = seed
        self.allowance = allowance
        self.predict: Predict = predictor(model, claim.domain)
        self._rng = np.random.default_rng(seed)
        self._of_library = library_of(model) is not None
        form = None if allowance.is_late else form_of(model, claim.domain)
        # A dump that contradicts the model's own predict proves nothing about the model.
        if form is not None and not self._agrees(form):
            form = None
        self._read, self._form = form, _decided(form)
        self.reading = "its cells" if form is not self._form else _READINGS[type(form)]
        self._space = _space(form, claim, allowance)
        # Ratios among some points, or under a joint distribution, are divided by what all of these weigh.
        limited = bool(claim.domain.constraints) or claim.domain.distribution is not None
        self._possible = Possible(self._space) if limited and self._space is not None else None
        self._proofs = _proofs(self._form, self._space, self._possible, claim, allowance)

    def _agrees(self, form: Form) -> bool:
        """Compare what was read from the dump with ``predict`` at the instance and at random points."""
        if not isinstance(form, TreeForm | LinearForm) or form.rule is None:
            return True
        domain = self.claim.domain
        codes = draw(domain, self.claim.codes, tuple(range(len(domain))), _READ_AT, self._rng)
        # Half of the points have missing values, however rare these are: where they go is read from the dump too.
        may_miss = np.array([bool(f.missing) for f in domain.features])
        codes[::2][(self._rng.random(codes[::2].shape) < _BLANK) & may_miss] = np.nan
        for own, row in zip(self.predict(codes), codes.tolist(), strict=True):
            if self.allowance.is_late:
                return True
            scores = form.scores(row, domain)
            # A tie is forgiven: exact arithmetic and the library's rounding may break it differently.
            if not agree(own, form.rule.output(scores)) and not form.rule.is_close(scores):
                return False
        return True

    def cut(self, ends: list[set[Bound]]) -> tuple[Space | None, Possible | None, TreeProofs | None]:
        """Return the space of ratios, cut at more bounds as well, what is possible in it, and proofs about it."""
        claim, form, limits, proofs = replace(self.claim, weights="ratio"), self._form, None, None
        space = Space.of_values(claim, self.allowance.points)
        if isinstance(self._read, TreeForm | CellForm):
            cuts = self._read.bounds(claim.domain)
            space = Space.of(claim, [own | more for own, more in zip(cuts, ends, strict=True)])
        if space is not None and (claim.domain.constraints or claim.domain.distribution is not None):
            limits = Possible(space)
        asked = claim.prediction, claim.delta, claim.toward
        is_known = isinstance(form, TreeForm | LinearForm) and form.rule is not None and form.rule.knows(*asked)
        if space is not None and isinstance(form, TreeForm | LinearForm) and is_known:
            with suppress(Spent):
                proofs = TreeProofs(form, space, limits, self.allowance)
        return space, limits, proofs

    @property
    def linear_form(self) -> LinearForm | None:
        """What was read of a linear model whose points are not constrained; None of others."""
        plain = isinstance(self._proofs, LinearProofs) and self.claim.toward is None
        is_free = plain and not self.claim.domain.constraints
        return self._form if isinstance(self._form, LinearForm) and is_free else None

    @property
    def is_inexact(self) -> bool:
        """Whether a library's ``predict``, and the rounding in it, is all that is known of the model."""
        return self.reading == _READINGS[type(None)] and self._of_library

    @property
    def exact_output(self) -> Any:
        """The output at the instance in exact arithmetic; None where only ``predict`` is to be had."""
        return None if self._proofs is None else self.outputs(self.claim.codes)[1]

    def is_dissimilar(self, codes: Codes | None) -> bool:
        """Tell whether a point can exist and the model's own ``predict`` says so."""
        if codes is None or violated(self.claim.domain, codes.tolist()) is not None:
            return False
        return not self.claim.is_similar(self.predict(codes[np.newaxis])[0])

    def outputs(self, codes: Codes) -> list[Any]:
        """Return what ``predict`` says at a point, and what exact arithmetic says, where that is to be had."""
        found = [self.predict(codes[np.newaxis])[0]]
        if isinstance(self._form, TreeForm | LinearForm):
            found.append(self._form.output(codes.tolist(), self.claim.domain))
        return found

    def _flags(self, codes: Codes, possible: Iterable[Any] | None = None) -> list[bool]:
        """Tell which points are possible and dissimilar, each output being compared once."""
        kept = np.flatnonzero(np.ones(len(codes)) if possible is None else [bool(p) for p in possible])
        found = [False] * len(codes)
        outputs = self.predict(codes[kept]) if len(kept) else []
        known = {y: not self.claim.is_similar(y) for y in set(outputs)}
        for n, y in zip(kept.tolist(), outputs, strict=True):
            found[n] = known[y]
        return found

    def _listed(self, free: Features) -> Iterator[tuple[Codes, list[int | Fraction]]]:
        """Iterate over blocks of points, one for each combination of pieces, with the share that is possible."""
        if self._space is None:
            raise Spent
        for codes, places in self._space.blocks(free):
            one: list[int | Fraction] = [1] * len(codes)
            yield codes, one if self._possible is None else self._possible.shares(free, places, len(codes))

    def look(self, free: Features) -> Answer:
        """Look for a dissimilar point that agrees with the instance outside `free`."""
        self.allowance.begin()
        if self.allowance.is_late:
            return Answer(False, "sampled", _LATE, 0)
        if self._proofs is None:
            return self._enumerate(free) or self._sample(free)
        try:
            found = self._prove(free)
        except Spent:
            # The proof's steps are not charged to what is tried instead.
            self.allowance.begin()
            return self._enumerate(free) or self._sample(free)
        if found.found and found.detail == _ROUNDED:
            # Exact arithmetic and predict differ at this point; another one may convince predict as well.
            listed = self._enumerate(free)
            return listed if listed is not None and listed.found else found
        return found

    def _enumerate(self, free: Features) -> Answer | None:
        if self._space is None or self._space.n_boxes(free) > self.allowance.points:
            return None
        seen = 0
        for codes, shares in self._listed(free):
            if self.allowance.is_late:
                return None
            flags = self._flags(codes, shares)
            seen += len(codes)
            if True in flags:
                shown = self._shown(codes[flags.index(True)])
                return Answer(True, "proved", "predict at a point found by enumeration", seen, shown)
        # A cell in which no float lies cannot be put to predict, so enumeration proves nothing about it.
        if not self._space.has_floats(free):
            return None
        return Answer(False, "proved", "predict at every combination of cells", seen)

    def _prove(self, free: Features) -> Answer:
        proofs = self._proofs
        if proofs is None:
            raise Spent
        found = proofs.find(free, self.allowance)
        if found is None:
            return Answer(False, "proved", proofs.method, self.allowance.used)
        codes = proofs.codes(found)  # type: ignore[arg-type]
        if codes is not None and self.is_dissimilar(codes):
            return Answer(
                True, "proved", "predict at a point found by a proof", self.allowance.used, self._shown(codes)
            )
        return Answer(True, "proved", proofs.method, self.allowance.used, _ROUNDED)

    def differs(self, free: Features, circuit: Any) -> tuple[str, int] | None:
        """Return a point of a box at which a circuit of its dissimilar points is wrong, and how many were asked.

        The text is empty if there is none; the result None if not every combination of cells can be asked.
        """
        space = self._space
        if space is None or self.is_inexact or not space.has_floats(free) or space.n_boxes(free) > _FEW:
            return None
        axes = circuit.grid.axes
        if any(cut_elsewhere(axes[i], space.pieces[i], float(self.claim.codes[i])) for i in free):
            return None
        drawn = self._drawn(free, _READ_AT)  # what is beside the instance in its own cell, too
        blocks: list[tuple[Codes, Any]] = [*self._listed(free), (drawn, possible_rows(self.claim.domain, drawn))]
        for codes, possible in blocks:
            flags = self._flags(codes, possible)
            rows = zip(codes, possible, flags, circuit_holds(circuit, codes), strict=True)
            wrong = next((r for r, may, own, said in rows if own != said and not (may and self._may_be(r, said))), None)
            if wrong is not None:
                return self._shown(wrong) or "the instance", len(codes)
        return "", sum(len(codes) for codes, _ in blocks)

    def _may_be(self, codes: Codes, dissimilar: bool) -> bool:
        """Tell whether predict or exact arithmetic says that of a point: where they differ, either may be meant."""
        return any(self.claim.is_similar(y) != dissimilar for y in self.outputs(codes))

    def _sample(self, free: Features) -> Answer:
        number = 0 if self.allowance.is_late else min(_SAMPLE, self.allowance.points)
        codes = self._drawn(free, number)
        flags = self._flags(codes, possible_rows(self.claim.domain, codes)) if number else []
        if True in flags:
            return Answer(True, "proved", "predict at a random point", number, self._shown(codes[flags.index(True)]))
        # A point that is found proves; not finding one only suggests.
        return Answer(False, "sampled", "predict at random points", number)

    def _drawn(self, free: Features, number: int) -> Codes:
        """Return random points; counted weights take every value alike."""
        even = self.claim.weights == "count"
        return draw(self.claim.domain, self.claim.codes, free, number, self._rng, even=even)

    def weigh(self, free: Features, claimed: Fraction) -> Weighed:
        """Weigh the dissimilar points that agree with the instance outside `free`."""
        self.allowance.begin()
        # With a proof at hand only small boxes are listed first.
        few = min(_FEW, self.allowance.points) if self._proofs is not None else self.allowance.points
        listed = self._listed_weight(free, few)
        # Listing is independent of the proofs, so where it agrees with the claim nothing else is needed.
        if listed is not None and (listed.low == claimed or self._proofs is None):
            return listed
        if self._proofs is None:
            return self._sampled_weight(free)
        try:
            weight = self._proofs.weigh(free, self.allowance)
        except Spent:
            return listed or self._listed_weight(free, self.allowance.points) or self._sampled_weight(free)
        detail = "" if listed is None or listed.low == weight else _ROUNDED
        return Weighed(weight, weight, "proved", self._proofs.weighing, self.allowance.used, detail)

    def _listed_weight(self, free: Features, most: int) -> Weighed | None:
        space = None if self.allowance.is_late else self._space
        if space is None or space.n_boxes(free) > most or not space.has_floats(free):
            return None
        found: list[int | Fraction] = []
        whole: list[int | Fraction] = []
        for codes, shares in self._listed(free):
            if self.allowance.is_late:
                return None
            found += [share * flag for share, flag in zip(shares, self._flags(codes, shares), strict=True)]
            whole += shares
        total = space.total(free, found)
        if self._possible is not None and self.claim.weights == "ratio":
            possible = space.total(free, whole)
            if not possible:
                return None
            total /= possible
        return Weighed(total, total, "proved", "sum over all combinations of cells, by predict", len(found))

    def _sampled_weight(self, free: Features) -> Weighed:
        number = 0 if self.allowance.is_late else min(_SAMPLE, self.allowance.points)
        whole = self._whole(free)
        if self.claim.domain.distribution is not None and self.claim.weights == "ratio":
            return Weighed(
                Fraction(0), whole, "sampled", "not looked at: too many pieces under a joint distribution", 0
            )
        if not number:
            return Weighed(Fraction(0), whole, "sampled", _LATE, 0)
        codes = self._drawn(free, number)
        possible = possible_rows(self.claim.domain, codes)
        # A ratio is one among the possible points, a count one among all.
        number = int(possible.sum()) if self.claim.weights == "ratio" else number
        if not number:
            return Weighed(Fraction(0), whole, "sampled", "predict at random points", 0, "none of them can exist")
        share = Fraction(sum(self._flags(codes, possible)), number)
        # Hoeffding: the mean of n numbers in 0..1 is off by more than this with probability `_DOUBT` at most.
        reach = Fraction(math.sqrt(math.log(2 / _DOUBT) / (2 * number)))
        detail = f"{float(share):.4g} +- {float(reach):.2g} of the box, with probability {1 - _DOUBT:.9f} (Hoeffding)"
        low, high = whole * (share - reach), whole * (share + reach)
        return Weighed(low, high, "sampled", "predict at random points", number, detail)

    def _whole(self, free: Features) -> Fraction:
        if self.claim.weights != "count":
            return Fraction(1)
        sizes = (values_of(self.claim.domain.features[i]) or 1 for i in free)
        return Fraction(math.prod(sizes))

    def _shown(self, codes: Codes) -> str:
        domain = self.claim.domain
        changed = np.flatnonzero(apart(codes, self.claim.codes)).tolist()
        values = ["missing" if value is None else f"= {value!r}" for value in domain.decode(codes)]
        return ", ".join(f"{domain.names[i]} {values[i]}" for i in changed)


def agree(own: Any, exact: Any) -> bool:
    """Tell whether an output of ``predict`` is the exact one; of a regression, but for its rounding."""
    if not isinstance(exact, Fraction):
        return bool(own == exact)
    if isinstance(own, float) and not math.isfinite(own):  # the library's own sum overflowed
        return False
    return abs(Fraction(own) - exact) <= _CLOSE * (1 + abs(exact))


_LATE = "not looked at: the seconds are over"
_ROUNDED = "predict says otherwise, by its own rounding"
_READINGS: dict[type, str] = {
    TreeForm: "its trees",
    LinearForm: "its coefficients",
    CellForm: "its cells",
    type(None): "predict alone",
}


def _decided(form: Form | None) -> Form | None:
    """Return a form, unless it has trees that say nothing of outputs."""
    return None if isinstance(form, TreeForm) and form.rule is None else form


def _space(form: Form | None, claim: Claim, allowance: Allowance) -> Space | None:
    if isinstance(form, TreeForm | CellForm):
        return Space.of(claim, form.bounds(claim.domain))
    return Space.of_values(claim, allowance.points)


def _proofs(
    form: Form | None, space: Space | None, possible: Possible | None, claim: Claim, allowance: Allowance
) -> TreeProofs | LinearProofs | None:
    asked = claim.prediction, claim.delta, claim.toward
    if isinstance(form, TreeForm | LinearForm) and not (form.rule and form.rule.knows(*asked)):
        return None  # the check of the prediction says so
    if isinstance(form, LinearForm) and LinearProofs.covers(claim):
        return LinearProofs(form, claim) if claim.toward is None else ClassProofs(form, claim)
    # Constraints that tie features to each other spoil extreme corners. Over values that can be listed a linear form is
    # a sum of trees; over others, constraints leave boxes that have corners again.
    if isinstance(form, LinearForm) and space is None and PieceProofs.covers(claim):
        return PieceProofs(form, claim) if claim.toward is None else ClassPieceProofs(form, claim)
    if isinstance(form, TreeForm | LinearForm) and space is not None:
        try:
            return TreeProofs(form, space, possible, allowance)
        except Spent:
            return None
    return None
