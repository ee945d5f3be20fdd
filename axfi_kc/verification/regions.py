"""What is left of a domain within a region around the instance, from what the region says.

The region's fields are read as data. Which values each feature may have, how probable they are, and which sums of
distances count is found anew, and compared with the domain that the explanation is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from axfi_kc.domain.constraints import Constraint
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.report import Check
from axfi_kc.verification.spaces import BALL, shares_of

__all__ = ["region_checks"]


_METHOD = "the region's definition"


def region_checks(claim: Claim) -> Iterator[Check]:
    """Check what the region around the instance leaves of each feature, and of sums of distances."""
    if claim.region is None or claim.whole is None:
        return
    for i, feature in enumerate(claim.whole.features):
        wrong = _wrong(claim, i, feature)
        yield Check("region", (feature.name,), "failed" if wrong else "proved", _METHOD, detail=wrong)
    wrong = _wrong_rules(claim, claim.whole)
    yield Check("region", (), "failed" if wrong else "proved", _METHOD, detail=wrong)


def _own(claim: Claim, i: int) -> Any:
    """Return the instance's value of a feature; None where it is missing."""
    return claim.instance[claim.domain.names[i]]


def _wrong(claim: Claim, i: int, feature: Feature) -> str:
    """Return what is wrong with what is left of a feature."""
    left, own = claim.domain.features[i], _own(claim, i)
    if isinstance(feature, Categorical) or own is None or not _is_touched(claim.region, feature.name):
        if left != feature:
            return f"{left.name} is {left.describe()}, but its values are left out by constraints alone"
        return _wrong_values(claim, i, feature)
    low, high = _span(claim.region, feature, Fraction(own))
    if isinstance(feature, Integer):
        low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
    if isinstance(left, Categorical) or bool(left.missing) or left.low != low or left.high != high:
        return f"{left.name} is {left.describe()}, but it is from {low} to {high}"
    is_measured = claim.domain.distribution is None and low < high
    return _wrong_measure(feature, left) if is_measured else ""


def _is_touched(region: Any, name: str) -> bool:
    bound = (*region.frozen, *region.only_up, *region.only_down, *dict(region.ranges))
    return name in bound or (region.radius is not None and _weight(region, name) != 0)


def _weight(region: Any, name: str) -> Fraction:
    return next((w for known, w in region.weights if known == name), Fraction(1))


def _span(region: Any, feature: Integer | Real, own: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least and the largest number that a feature may have."""
    lows, highs = [Fraction(feature.low)], [Fraction(feature.high)]
    for name, ends in region.ranges:
        if name == feature.name:
            lows += [Fraction(low) for low in ends[:1] if low is not None]
            highs += [Fraction(high) for high in ends[1:] if high is not None]
    weight = _weight(region, feature.name)
    if region.radius is not None and weight:
        lows.append(own - region.radius * _unit(region, feature) / weight)
        highs.append(own + region.radius * _unit(region, feature) / weight)
    lows += [own] * (feature.name in (*region.only_up, *region.frozen))
    highs += [own] * (feature.name in (*region.only_down, *region.frozen))
    return max(lows), min(highs)


def _unit(region: Any, feature: Integer | Real) -> Fraction:
    """Return what distances are measured in: 1, the width, or the standard deviation as a float."""
    if region.unit == "value":
        return Fraction(1)
    if region.unit == "range":
        return Fraction(feature.high) - Fraction(feature.low)
    if isinstance(feature, Integer):
        present = 1 - feature.missing
        shares = [share / present for share in shares_of(feature)] if present else []
        moments = [sum((s * (feature.low + k) ** p for k, s in enumerate(shares)), Fraction(0)) for p in (1, 2)]
    else:
        bins = _bins(feature)
        # The mean of x to the p over an interval is (b^(p+1) - a^(p+1)) / ((p + 1) (b - a)).
        moments = [
            sum((s * (b ** (p + 1) - a ** (p + 1)) / ((p + 1) * (b - a)) for a, b, s in bins if a < b), Fraction(0))
            for p in (1, 2)
        ]
        if feature.low == feature.high:
            return Fraction(0)
    return Fraction(math.sqrt(moments[1] - moments[0] ** 2))


def _bins(feature: Real) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return intervals on which a real feature is uniform, with their probabilities among present values."""
    measure = feature.measure
    if isinstance(measure, Histogram):
        return list(zip(measure.edges, measure.edges[1:], measure.shares, strict=False))
    return [(Fraction(feature.low), Fraction(feature.high), Fraction(1))]


def _below(feature: Real, end: Fraction) -> Fraction:
    """Return the probability of the numbers up to an end."""
    parts = (share * max(min(end, b) - a, Fraction(0)) / (b - a) for a, b, share in _bins(feature))
    return sum(parts, Fraction(0))


def _wrong_measure(feature: Feature, left: Feature) -> str:
    """Return what is wrong with how probable the values that are left are: what they were, given that they are left."""
    if isinstance(feature, Integer) and isinstance(left, Integer):
        kept = shares_of(feature)[left.low - feature.low : left.high - feature.low + 1]
        total = sum(kept, Fraction(0))
        right = all(new * total == old for new, old in zip(shares_of(left), kept, strict=True))
    elif isinstance(feature, Real) and isinstance(left, Real):
        start, total = _below(feature, left.low), _below(feature, left.high) - _below(feature, left.low)
        ends = {e for f in (feature, left) for a, b, _ in _bins(f) for e in (a, b) if left.low <= e <= left.high}
        right = all(_below(left, e) * total == _below(feature, e) - start for e in ends)
    else:
        right = False
    return "" if right else f"the values of {feature.name} that are left have other probabilities than before"


def _wrong_values(claim: Claim, i: int, feature: Feature) -> str:
    """Return a value that constraints leave out or in against the region: of categories, and of what is missing."""
    before, after = _about(claim.whole, feature.name), _about(claim.domain, feature.name)
    if isinstance(feature, Categorical):
        codes = {value: float(k) for k, value in enumerate(feature.values)}
    else:  # where the instance's value is missing, numbers are like categories: none is near, and none is above another
        codes = {value: float(value) for value in ((feature.low, feature.high) if _own(claim, i) is None else ())}
    for value, code in [*codes.items(), *([(None, math.nan)] if feature.missing else [])]:
        point: list[Any] = claim.codes.tolist()
        point[i] = code
        allowed = all(c.holds(point, claim.domain) for c in before) and _is_allowed(claim, i, feature, value)
        if allowed != all(c.holds(point, claim.domain) for c in after):
            return f"the value {value!r} of {feature.name} is {'in' if allowed else 'outside'} the region"
    return ""


def _about(domain: Domain | None, name: str) -> list[Constraint]:
    return [c for c in (domain.constraints if domain else ()) if c.names == (name,)]


def _is_allowed(claim: Claim, i: int, feature: Feature, value: Any) -> bool:
    """Tell whether a feature may have a category, or be missing."""
    region, name, own = claim.region, feature.name, _own(claim, i)
    if value == own or not _is_touched(region, name):
        return True
    allowed = dict(region.ranges).get(name)
    if name in region.frozen or own is None or value is None or (allowed is not None and value not in allowed):
        return False
    return region.radius is None or _weight(region, name) <= region.radius


def _wrong_rules(claim: Claim, whole: Domain) -> str:
    """Return what is wrong with constraints about several features, and with the distribution."""
    if claim.domain.distribution != whole.distribution:
        return "the distribution is another within the region"
    if any(rule not in claim.domain.constraints for rule in whole.constraints):
        return "a constraint is gone within the region"
    balls = [c for c in claim.domain.constraints if c.kind == BALL and c not in whole.constraints]
    wanted = _ball(claim, whole.features)
    if len(balls) != bool(wanted):
        return f"{len(balls)} sums of distances count, but {int(bool(wanted))} should"
    for ball in balls:
        found: Any = ball
        terms = zip(found.names, zip(found.centres, found.factors, strict=True), strict=True)
        if dict(terms) != wanted or found.radius != claim.region.radius:
            return f"the sum of distances is another: {ball}"
    return ""


def _ball(claim: Claim, features: Sequence[Feature]) -> dict[str, tuple[Any, Fraction]]:
    """Return the features whose distances are added up, with their centres and factors; none where one alone moves."""
    region = claim.region
    if region.radius is None or region.norm != "l1":
        return {}
    found = {}
    for i, feature in enumerate(features):
        own, left, weight = _own(claim, i), claim.domain.features[i], _weight(region, feature.name)
        moves = left.size != 1 and not (isinstance(left, Real) and left.low == left.high)
        if own is not None and weight and moves and feature.name not in region.frozen:
            factor = weight if isinstance(feature, Categorical) else weight / (_unit(region, feature) or 1)
            found[feature.name] = (own, factor)
    return found if len(found) > 1 else {}
