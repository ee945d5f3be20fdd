"""Questions about a box of points, answered by whatever is strongest: enumeration, a proof, a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.features import Categorical, Feature, Integer
from axfi_kc.predictions import Codes, Predict, predictor
from axfi_kc.verification.allowances import Allowance, Spent
from axfi_kc.verification.checks import Status
from axfi_kc.verification.claims import Claim
from axfi_kc.verification.forms import CellForm, Form, LinearForm, TreeForm, form_of
from axfi_kc.verification.linear_proofs import LinearProofs
from axfi_kc.verification.pieces import values_of
from axfi_kc.verification.spaces import Space, draw
from axfi_kc.verification.tree_proofs import TreeProofs

__all__ = ["Answer", "Searches", "Weighed"]

_DOUBT = 1e-9  # the probability with which a sample may mislead
_SAMPLE = 10_000
Features = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a box holds a dissimilar point.

    Attributes
    ----------
    found
        Whether one was found; with `status` ``"proved"``, False means that there is none.
    status, method, points, detail
        As in :class:`~axfi_kc.verification.Check`.
    """

    found: bool
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
    """Looks for dissimilar points, and weighs them.

    Parameters
    ----------
    claim
        The instance and what is similar to it.
    model
        The model itself.
    allowance
        What each question may cost.
    seed
        Where samples start.
    """

    def __init__(self, claim: Claim, model: Any, allowance: Allowance, *, seed: int) -> None:
        self.claim = claim
        self.allowance = allowance
        self.predict: Predict = predictor(model, claim.domain)
        self._rng = np.random.default_rng(seed)
        form = form_of(model, claim.domain)
        self.reading = _READINGS[type(form)]
        self._space = _space(form, claim, allowance)
        self._proofs = _proofs(form, self._space, claim)

    @property
    def exact_output(self) -> Any:
        """The output at the instance in exact arithmetic; None where only ``predict`` is to be had."""
        return None if self._proofs is None else self._proofs.output()

    def is_dissimilar(self, codes: Codes | None) -> bool:
        """Tell whether the model's own ``predict`` says so."""
        return codes is not None and not self.claim.is_similar(self.predict(codes[np.newaxis])[0])

    def look(self, free: Features) -> Answer:
        """Look for a dissimilar point that agrees with the instance outside `free`."""
        self.allowance.begin()
        listed = self._enumerate(free)
        if listed is not None and (listed.found or self._proofs is None):
            return self._second_look(free, listed)
        try:
            return self._prove(free) or self._sample(free)
        except Spent:
            return listed or self._sample(free)

    def _second_look(self, free: Features, listed: Answer) -> Answer:
        """Ask exact arithmetic whether a point that ``predict`` found is one of rounding only."""
        if self._proofs is None:
            return listed
        try:
            if self._proofs.find(free, self.allowance) is None:
                return Answer(False, "proved", self._proofs.method, self.allowance.used, _ROUNDED)
        except Spent:
            pass
        return listed

    def _enumerate(self, free: Features) -> Answer | None:
        if self._space is None or self._space.n_boxes(free) > self.allowance.points:
            return None
        seen, method = 0, "predict at every combination of cells"
        for codes, _ in self._space.blocks(free):
            if np.isnan(codes).any():
                return None
            outputs = self.predict(codes)
            seen += len(codes)
            at = next((k for k, y in enumerate(outputs) if not self.claim.is_similar(y)), None)
            if at is not None:
                return Answer(True, "proved", "predict at a point found by enumeration", seen, self._shown(codes[at]))
        return Answer(False, "proved", method, seen)

    def _prove(self, free: Features) -> Answer | None:
        if self._proofs is None:
            return None
        found = self._proofs.find(free, self.allowance)
        if found is None:
            return Answer(False, "proved", self._proofs.method, self.allowance.used)
        codes = self._proofs.codes(found)  # type: ignore[arg-type]
        if codes is not None and self.is_dissimilar(codes):
            return Answer(
                True, "proved", "predict at a point found by a proof", self.allowance.used, self._shown(codes)
            )
        return Answer(True, "proved", self._proofs.method, self.allowance.used, _ROUNDED)

    def _sample(self, free: Features) -> Answer:
        number = 0 if self.allowance.is_late else min(_SAMPLE, self.allowance.points)
        codes = self._drawn(free, number)
        outputs = self.predict(codes) if number else []
        at = next((k for k, y in enumerate(outputs) if not self.claim.is_similar(y)), None)
        if at is not None:
            return Answer(True, "proved", "predict at a random point", number, self._shown(codes[at]))
        return Answer(False, "sampled", "predict at random points", number)

    def _drawn(self, free: Features, number: int) -> Codes:
        """Return random points; counted weights take every value alike."""
        domain = self.claim.domain
        if self.claim.weights == "count":
            domain = _uniform(domain)
        return draw(domain, self.claim.codes, free, number, self._rng)

    def weigh(self, free: Features, claimed: Fraction) -> Weighed:
        """Weigh the dissimilar points that agree with the instance outside `free`."""
        self.allowance.begin()
        listed = self._listed_weight(free)
        if listed is not None and (listed.low == claimed or self._proofs is None):
            return listed
        if self._proofs is not None:
            try:
                weight = self._proofs.weigh(free, self.allowance)
            except Spent:
                return listed or self._sampled_weight(free)
            detail = "" if listed is None or listed.low == weight else _ROUNDED
            return Weighed(weight, weight, "proved", self._proofs.weighing, self.allowance.used, detail)
        return self._sampled_weight(free)

    def _listed_weight(self, free: Features) -> Weighed | None:
        if self._space is None or self._space.n_boxes(free) > self.allowance.points:
            return None
        total, seen = Fraction(0), 0
        for codes, worths in self._space.blocks(free):
            if np.isnan(codes).any():
                return None
            outputs = self.predict(codes)
            total += sum((w for y, w in zip(outputs, worths, strict=True) if not self.claim.is_similar(y)), Fraction(0))
            seen += len(codes)
        return Weighed(total, total, "proved", "sum over all combinations of cells, by predict", seen)

    def _sampled_weight(self, free: Features) -> Weighed:
        number = 0 if self.allowance.is_late else min(_SAMPLE, self.allowance.points)
        whole = self._whole(free)
        if not number:
            return Weighed(Fraction(0), whole, "sampled", "not looked at: the seconds are over", 0)
        outputs = self.predict(self._drawn(free, number))
        share = Fraction(sum(not self.claim.is_similar(y) for y in outputs), number)
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
        changed = np.flatnonzero(codes != self.claim.codes).tolist()
        values = domain.decode(codes)
        return ", ".join(f"{domain.names[i]} = {values[i]!r}" for i in changed)


_ROUNDED = "predict says otherwise, by its own rounding"
_READINGS: dict[type, str] = {
    TreeForm: "its trees",
    LinearForm: "its coefficients",
    CellForm: "its cells",
    type(None): "predict alone",
}


def _space(form: Form | None, claim: Claim, allowance: Allowance) -> Space | None:
    if isinstance(form, TreeForm | CellForm):
        return Space.of(claim, form.bounds(claim.domain))
    return Space.of_values(claim, allowance.points)


def _proofs(form: Form | None, space: Space | None, claim: Claim) -> TreeProofs | LinearProofs | None:
    if isinstance(form, TreeForm | LinearForm) and not form.rule.knows(claim.prediction, claim.delta):
        return None  # the check of the prediction says so
    if isinstance(form, TreeForm) and space is not None:
        return TreeProofs(form, space)
    return LinearProofs(form, claim) if isinstance(form, LinearForm) else None


def _uniform(domain: Domain) -> Domain:
    made: list[Feature] = []
    for feature in domain.features:
        if isinstance(feature, Integer):
            made.append(Integer(feature.name, feature.low, feature.high))
        elif isinstance(feature, Categorical):
            made.append(Categorical(feature.name, feature.values, columns=feature.columns, codes=feature.codes))
        else:
            made.append(feature)
    return Domain(made)
