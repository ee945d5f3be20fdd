"""A linear model over fewer categories: the constraints of a region on single categorical features, taken literally.

Constraints cut through a half-space, so that linear models under them are explained value by value. Those that only
leave out categories do not: what is left is a linear model again, whose categories have other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature
from axfi_kc.domain.measures import Weights
from axfi_kc.models.linear_model import LinearModel
from axfi_kc.models.restriction import restricted

__all__ = ["Renumbered", "renumbered"]


@dataclass(frozen=True, eq=False)
class Renumbered:
    """A linear model without constraints, and the old numbers of its categories.

    Attributes
    ----------
    model
        The model over the categories that are left.
    old
        For each feature the old code of each category; None where codes are what they were.
    """

    model: LinearModel
    old: tuple[tuple[int, ...] | None, ...]

    def inward(self, codes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the codes of possible points here."""
        found = codes.copy()
        for i, old in enumerate(self.old):
            if old is not None:
                found[..., i] = np.searchsorted(old, codes[..., i])
        return found

    def outward(self, features: Sequence[int], codes: Sequence[float]) -> list[float]:
        """Return what the codes of some features are in the model that was given."""
        pairs = ((self.old[i], code) for i, code in zip(features, codes, strict=True))
        return [code if old is None else float(old[int(code)]) for old, code in pairs]


def renumbered(model: LinearModel) -> Renumbered | None:
    """Return a linear model over the categories that its constraints leave; None if they do more than that."""
    domain = model.domain
    single = {c.names[0] for c in domain.constraints if len(c.names) == 1}
    features = [domain.features[domain.index(name)] for name in single]
    plain = all(isinstance(f, Categorical) and not f.missing for f in features)
    if not plain or any(len(c.names) != 1 for c in domain.constraints):
        return None
    old = [_kept(f, domain) if f.name in single else None for f in domain.features]
    if any(kept and not _has_mass(f, kept) for f, kept in zip(domain.features, old, strict=True)):
        return None  # as weights these categories would be none, but what they are worth may never be asked
    fewer = [f if kept is None else _with_categories(f, kept) for f, kept in zip(domain.features, old, strict=True)]
    return Renumbered(restricted(model, Domain(fewer)), tuple(old))  # type: ignore[arg-type]


def _kept(feature: Feature, domain: Domain) -> tuple[int, ...]:
    """Return the codes of a categorical feature that meet all constraints on it."""
    i, point, kept = domain.index(feature.name), [0.0] * len(domain), []
    rules = [c for c in domain.constraints if c.names == (feature.name,)]
    for code in range(feature.size or 0):
        point[i] = float(code)
        if all(rule.holds(point, domain) for rule in rules):
            kept.append(code)
    return tuple(kept)


def _has_mass(feature: Feature, kept: Sequence[int]) -> bool:
    return not isinstance(feature.measure, Weights) or len(kept) == 1 or any(feature.measure.shares[k] for k in kept)


def _with_categories(feature: Feature, kept: Sequence[int]) -> Feature:
    if not isinstance(feature, Categorical):
        raise TypeError("expected a categorical feature")
    is_weighted = isinstance(feature.measure, Weights) and len(kept) > 1  # one category has all of the probability
    shares = [feature.measure.shares[k] for k in kept] if is_weighted else None  # type: ignore[union-attr]
    values, codes = [feature.values[k] for k in kept], [feature.codes[k] for k in kept]
    return Categorical(feature.name, values, weights=shares, columns=feature.columns, codes=codes)
