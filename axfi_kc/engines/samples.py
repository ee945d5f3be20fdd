"""Explains instances among the rows of a data set.

A set of features is a weak CXp iff some row differs from the instance in these features only and is not similar. So the
CXps are the minimal sets of features in which a dissimilar row differs, and the weight of one is the share of
dissimilar rows among all that differ from the instance in its features only.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.engines.found import Found, Located, words_of_masks
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import DomainError
from axfi_kc.families.masks import sorted_sets
from axfi_kc.models.base import Similarity
from axfi_kc.models.samples import Samples

__all__ = ["SampleEngine"]


_TABLED = 22  # features whose sets are all tabulated: 4 million
Masks = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]


class SampleEngine:
    """Explains instances among samples.

    Notes
    -----
    Rows times features for the differences. Then, for at most 22 features, features times all their sets; for more, the
    different sets of differing features times the CXps.
    """

    constant: Hashable | None = None

    def __init__(self, model: Samples, similarity: Similarity) -> None:
        self._model, self._similarity = model, similarity
        if len(model.outputs) == 1:
            self.constant = model.outputs[0]

    def locate(self, codes: npt.NDArray[np.float64]) -> Located:
        """Return the cell of instances, which is of no use among samples, and their outputs."""
        return self._model.grid.locate(codes), self._model.outputs_at(codes)

    def explain(
        self,
        codes: npt.NDArray[np.float64],
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance; all differences are looked at, so nothing is `partial`."""
        outputs = self._model.outputs_at(codes) if located is None else located[1]
        masks: list[int] = []
        totals: list[int] = []
        divisors: list[int] = []
        counts = [0]
        for n, (row, output) in enumerate(zip(codes, outputs, strict=True)):
            account = Account(budget, goal="explanation", advice="allow more, or set max_size")
            with naming_row(n):
                found = self._weighed(row, output, max_size or codes.shape[1], account)
            own = sorted_sets(found)
            masks += own
            totals += [1 if weights == "unit" else found[Y][0] for Y in own]
            divisors += [found[Y][1] if weights == "ratio" else 1 for Y in own]
            counts.append(len(own))
        numbers = np.empty(len(totals), dtype=object)
        numbers[:] = totals
        n_features = codes.shape[1]
        return Found(
            outputs=outputs,
            starts=np.cumsum(counts),
            words=words_of_masks(masks, n_features),
            totals=numbers,
            wholes=(1,) * n_features,
            kind=weights,
            divisors=divisors,
        )

    def _weighed(
        self, row: npt.NDArray[np.float64], output: Any, max_size: int, account: Account
    ) -> dict[int, tuple[int, int]]:
        """Return the CXps, each with its dissimilar rows and all rows in its box."""
        differences = self._model.differences(row)
        account.look()
        strange = ~self._model.similar(output, self._similarity)
        n = len(row)
        sets, every, bad = _tallied(differences, strange, n)
        account.look()
        if len(sets) and sets[0] == 0 and bad[0]:
            raise DomainError(
                "A row equal to the instance has another output, so that nothing need change for another output; "
                "leave that row out, or give the model's own outputs."
            )
        minimal = _minimal_tabled(sets[bad > 0], n) if n <= _TABLED else _minimal(sets[bad > 0], account)
        kept = [Y for Y in minimal if Y.bit_count() <= max_size]
        inside = _counts_tabled(sets, every, n, kept) if n <= _TABLED else _counts(sets, every, kept, account)
        numbers = bad[np.searchsorted(sets, np.array(kept, dtype=np.uint64))].tolist()
        return dict(zip(kept, zip(numbers, inside, strict=True), strict=True))

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether a dissimilar row differs from the instance in features of `mask` only."""
        strange = ~self._model.similar(self._model.outputs_at(code[np.newaxis])[0], self._similarity)
        outside = self._model.differences(code) & ~np.uint64(mask)
        return bool((strange & (outside == 0)).any())


def _tallied(differences: Masks, strange: npt.NDArray[np.bool_], n: int) -> tuple[Masks, Counts, Counts]:
    """Return the different sets, how many rows have each, and how many dissimilar ones."""
    if n <= _TABLED:  # a table of all sets: nothing need be sorted
        places = differences.astype(np.int64)
        every = np.bincount(places, minlength=1 << n)
        bad = np.bincount(places[strange], minlength=1 << n)
        met = np.flatnonzero(every)
        return met.astype(np.uint64), every[met].astype(np.int64), bad[met].astype(np.int64)
    sets, places = np.unique(differences, return_inverse=True)
    every, bad = (np.bincount(own, minlength=len(sets)).astype(np.int64) for own in (places, places[strange]))
    return sets, every, bad


def _minimal_tabled(sets: Masks, n: int) -> list[int]:
    """Return the minimal ones of sets, by a table of which sets of features contain one."""
    holds = np.zeros(1 << n, dtype=np.bool_)
    holds[sets] = True
    above = np.zeros(1 << n, dtype=np.bool_)  # contains one of the sets as a proper part
    for i in range(n):
        split = holds.reshape(-1, 2, 1 << i)
        over = above.reshape(-1, 2, 1 << i)
        # With feature i: what holds, or contains one, without it.
        over[:, 1] |= split[:, 0] | over[:, 0]
    return sets[~above[sets]].tolist()


def _minimal(sets: Masks, account: Account) -> list[int]:
    """Return the minimal ones of sets, smallest first."""
    left = sets[np.argsort(np.bitwise_count(sets), kind="stable")]
    found = []
    while len(left):
        account.look()
        found.append(int(left[0]))
        left = left[(left & left[0]) != left[0]]
    return found


def _counts_tabled(sets: Masks, numbers: Counts, n: int, wanted: list[int]) -> list[int]:
    """Return for each wanted set how many rows differ in features of it only, by a table of all sets."""
    table = np.zeros(1 << n, dtype=np.int64)
    table[sets] = numbers
    for i in range(n):
        split = table.reshape(-1, 2, 1 << i)
        split[:, 1] += split[:, 0]
    return table[wanted].tolist() if wanted else []


def _counts(sets: Masks, numbers: Counts, wanted: list[int], account: Account) -> list[int]:
    found = []
    for Y in wanted:
        account.look()
        found.append(int(numbers[(sets & ~np.uint64(Y)) == 0].sum()))
    return found
