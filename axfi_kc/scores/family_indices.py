"""Scores that depend on which explanations there are, and not on what they weigh.

Each is a count over a family, of AXps or of CXps, and none lists it. A feature in no explanation has score 0.
Each is registered twice: of the AXps, and as ``..._cxp`` of the CXps.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

from axfi_kc.budget import Account, Budget
from axfi_kc.families import SetFamily
from axfi_kc.scores import register_score

__all__ = ["deegan_packel", "ffa", "holler_packel", "responsibility", "wffa"]


def ffa(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the formal feature attribution: the share of the sets that contain j.

    Notes
    -----
    Linear in the family's diagram.

    Examples
    --------
    >>> ffa(SetFamily.of([0b001, 0b110]))
    {0: Fraction(1, 2), 1: Fraction(1, 2), 2: Fraction(1, 2)}
    """
    return _over(family.counts(account=_account(budget)), family.count)


def wffa(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the weighted formal feature attribution: the sum of ``1 / |S|`` over the sets S with j, over their number.

    Notes
    -----
    Nodes of the family's diagram times different sizes of sets.

    Examples
    --------
    >>> wffa(SetFamily.of([0b001, 0b110]))
    {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    """
    account = _account(budget)
    sizes = [size for size in family.dag.numerators_within(account) if size]
    common = lcm(*sizes)
    spread = family.dag.spread({size: common // size for size in sizes}, account=account)
    return _over(spread, common * family.count)


def responsibility(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the responsibility index: the largest ``1 / |S|`` over the sets S with j.

    Notes
    -----
    Linear in the family's diagram.

    Examples
    --------
    >>> responsibility(SetFamily.of([0b001, 0b110]))
    {0: Fraction(1, 1), 1: Fraction(1, 2), 2: Fraction(1, 2)}
    """
    return {j: Fraction(1, size) for j, size in sorted(family.fewest_with(account=_account(budget)).items())}


def deegan_packel(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the Deegan-Packel index of the game whose minimal winning coalitions are the sets.

    Every minimal winning coalition is equally likely and its members share alike: the sum of ``1 / |S|``
    over the sets S with j, over their number. On AXps this is :func:`wffa`; on CXps it is the
    Shapley-like AxFi score with unit weights.

    Examples
    --------
    >>> deegan_packel(SetFamily.of([0b001, 0b110]))
    {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    """
    return wffa(family, budget=budget)


def holler_packel(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the Holler-Packel (public good) index: the number of sets with j, over the sum of these numbers.

    Notes
    -----
    Linear in the family's diagram.

    Examples
    --------
    >>> holler_packel(SetFamily.of([0b001, 0b110]))
    {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}
    """
    counts = family.counts(account=_account(budget))
    return _over(counts, sum(counts.values()))


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="score", advice="allow more, or limit max_size")


def _over(totals: Mapping[int, int], whole: int) -> dict[int, Fraction]:
    return {j: Fraction(total, whole) for j, total in sorted(totals.items())}


_INDICES = {
    "ffa": ("formal feature attribution (FFA)", ffa),
    "wffa": ("weighted formal feature attribution (WFFA)", wffa),
    "responsibility": ("responsibility index", responsibility),
    "deegan_packel": ("Deegan-Packel index", deegan_packel),
    "holler_packel": ("Holler-Packel index", holler_packel),
}
for _name, (_about, _index) in _INDICES.items():
    register_score(_name, f"{_about} of the AXps", needs="axps")(_index)
for _name, (_about, _index) in _INDICES.items():
    register_score(f"{_name}_cxp", f"{_about} of the CXps", needs="cxps")(_index)
