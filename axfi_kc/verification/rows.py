"""Explanations among the rows of a data set, against the rows themselves: every row is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from axfi_kc.errors import AxfiError, UnsupportedModelError
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.report import Allowance, Check, Status
from axfi_kc.verification.spaces import apart

__all__ = ["Rows"]


_METHOD = "every row"


class Rows:
    """Rows with their outputs, and what is claimed about one instance among them.

    Parameters
    ----------
    claim
        What is claimed.
    given
        The pair ``(rows, outputs)`` that :func:`axfi_kc.explain_among` was given.
    allowance
        What the checks may cost.
    """

    linear_form = None  # there is no model

    def __init__(self, claim: Claim, given: Any, allowance: Allowance) -> None:
        if not isinstance(given, tuple) or len(given) != 2:
            raise UnsupportedModelError(
                "An explanation among the rows of a data set is about these rows alone, so it is checked against them; "
                "give (rows, outputs), as explain_among got them, in the place of a model."
            )
        self.claim, self.allowance, self.seed = claim, allowance, 0
        self._codes = claim.domain.encode(given[0])
        self._outputs = np.asarray(given[1]).tolist()
        if len(self._outputs) != len(self._codes):
            raise UnsupportedModelError(
                f"Expected an output for each of {len(self._codes)} rows, but {len(self._outputs)} were given."
            )

    @cached_property
    def _changed(self) -> list[int]:
        """The features in which each row differs from the instance, as bits."""
        own = self.claim.codes
        return [sum(1 << i for i in np.flatnonzero(apart(row, own)).tolist()) for row in self._codes]

    @cached_property
    def _dissimilar(self) -> list[int]:
        """The same of the rows that are not similar."""
        known = {y: not self.claim.is_similar(y) for y in set(self._outputs)}
        return [mask for mask, y in zip(self._changed, self._outputs, strict=True) if known[y]]

    @cached_property
    def _cxps(self) -> dict[int, int]:
        """The minimal sets of features in which a dissimilar row differs, and how many rows do."""
        counts, found = Counter(self._dissimilar), dict[int, int]()
        for mask in sorted(counts, key=int.bit_count):
            if not any(small & mask == small for small in found):
                found[mask] = counts[mask]
        most = self.claim.max_size
        return {mask: n for mask, n in found.items() if most is None or mask.bit_count() <= most}

    def _weight(self, mask: int) -> Fraction:
        if self.claim.weights == "unit":
            return Fraction(1)
        number = Fraction(self._cxps[mask])
        return number if self.claim.weights == "count" else number / sum(not m & ~mask for m in self._changed)

    def _check(self, kind: str, names: tuple[str, ...], wrong: str) -> Check:
        status: Status = "failed" if wrong else "proved"
        return Check(kind, names, status, _METHOD, len(self._codes), wrong)

    def prediction(self) -> Check:
        """Check the output at the instance, if a row is the instance."""
        own = {y for mask, y in zip(self._changed, self._outputs, strict=True) if not mask}
        if not own:
            detail = "no row is the instance, whose output is taken as it is told"
            return Check("prediction", (), "sampled", _METHOD, len(self._codes), detail)
        wrong = any(y != self.claim.prediction for y in own)
        said = f"rows say {sorted(map(repr, own))}, the explanation says {self.claim.prediction!r}"
        return self._check("prediction", (), said if wrong else "")

    def checks(self) -> Iterator[Check]:
        """Check that the CXps are those of the rows, all of them, and their weights."""
        claim = self.claim
        told = {claim.mask(cxp): weight for cxp, weight in claim.cxps.items()}
        for mask, weight in told.items():
            names = claim.domain.names_of(mask)
            if mask not in self._cxps:
                yield self._check("cxp", names, "no row that is not similar differs in these features and no fewer")
                continue
            yield self._check("cxp", names, "")
            right = self._weight(mask)
            yield self._check(
                "weight", names, "" if weight == right else f"the explanation says {weight}, but it is {right}"
            )
        if not claim.partial:
            lost = next((m for m in self._cxps if m not in told), None)
            said = "" if lost is None else f"{{{', '.join(claim.domain.names_of(lost))}}} is a CXp, but not listed"
            yield self._check("completeness", (), said)

    def counterfactual(self, names: tuple[str, ...]) -> Check | None:
        """Check that the counterfactual of a CXp is one of the rows, and not similar; None if there is none."""
        if self.claim.hint is None:
            return None
        try:
            codes = self.claim.domain.encode_point(self.claim.hint(names).point)
        except AxfiError:
            return None
        mask = self.claim.mask(names)
        rows = zip(self._codes, self._changed, self._outputs, strict=True)
        found = any(
            not m & ~mask and not apart(row, codes).any() and not self.claim.is_similar(y) for row, m, y in rows
        )
        return self._check("counterfactual", names, "" if found else "it is no row that is not similar")
