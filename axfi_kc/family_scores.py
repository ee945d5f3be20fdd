"""Scores that depend on which explanations there are, and not on what they weigh.

Each is a count over the family of AXps, or of CXps, or over the game whose winning coalitions are the
weak AXps; none lists the family. A feature in no explanation has score 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm

from axfi_kc.budget import Account, Budget
from axfi_kc.errors import WeightError
from axfi_kc.families import SetFamily, banzhaf_index, shapley_shubik_index

__all__ = [
    "FAMILY_KINDS",
    "GAME_KINDS",
    "deegan_packel",
    "family_score",
    "ffa",
    "holler_packel",
    "responsibility",
    "wffa",
]


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


FAMILY_KINDS: Mapping[str, Callable[..., dict[int, Fraction]]] = {
    "ffa": ffa,
    "wffa": wffa,
    "responsibility": responsibility,
    "deegan_packel": deegan_packel,
    "holler_packel": holler_packel,
}

# of the game in which a coalition wins if it is a weak AXp. Its dual, in which it wins if it is a weak
# CXp, has the same indices and needs only the CXps.
GAME_KINDS = {"shapley_shubik": shapley_shubik_index, "banzhaf_waxp": banzhaf_index}


def family_score(
    kind: str,
    *,
    cxps: Callable[[Budget], SetFamily],
    axps: Callable[[Budget], SetFamily],
    budget: Budget | None = None,
) -> dict[int, Fraction]:
    """Return the score called `kind` of each feature in an explanation.

    Parameters
    ----------
    kind
        A name from FAMILY_KINDS for AXps, the same followed by ``"_cxp"`` for CXps, or a name from GAME_KINDS.
    cxps, axps
        Give the families within a budget; only what is needed is asked for.
    budget
        What the family and its score together may cost.

    Raises
    ------
    WeightError
        If there is no such score.
    BudgetError
        If the budget was spent.

    Examples
    --------
    >>> cxps = SetFamily.of([0b011, 0b101])
    >>> family_score("ffa", cxps=lambda _: cxps, axps=lambda budget: cxps.hitting_sets(budget=budget))
    {0: Fraction(1, 2), 1: Fraction(1, 2), 2: Fraction(1, 2)}
    """
    account, name = _account(budget), kind.removesuffix("_cxp")
    if kind in GAME_KINDS:
        family = cxps(account.rest())
        return GAME_KINDS[kind](family, budget=account.rest())
    if kind in FAMILY_KINDS:
        family = axps(account.rest())
        return FAMILY_KINDS[kind](family, budget=account.rest())
    if name == kind or name not in FAMILY_KINDS:
        kinds = ["shapley", "banzhaf", *FAMILY_KINDS, *(f"{k}_cxp" for k in FAMILY_KINDS), *GAME_KINDS]
        raise WeightError(f"The score must be one of {', '.join(map(repr, kinds))}, but {kind!r} was given; name one.")
    family = cxps(account.rest())
    return FAMILY_KINDS[name](family, budget=account.rest())
