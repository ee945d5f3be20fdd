"""Variables of a Bayesian network: their states, their tables, and which values of a feature the states are."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.arguments import quoted
from axfi_kc.domain.distribution import States
from axfi_kc.domain.elimination import LARGEST_TABLE
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Number, counted, exact, shown
from axfi_kc.errors import DomainError

__all__ = ["FlatRows", "Variable", "bins_of", "labels_of", "listed", "rows_of", "state_of", "states_for"]


_TOLERANCE = Fraction(1, 10**6)  # how far from 1 a row of a table may add up, as decimals and floats do
_MISSING = (None, "missing")  # what a network calls the state of a missing value


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a network.

    Attributes
    ----------
    name
        Its name.
    states
        Its states, distinct.
    parents
        The variables, by number, that its table is given.
    rows
        For each combination of the parents' states, the last parent's fastest, the probability of each state.
    cuts
        Where states are bins of a number: the ends of the bins between the first and the last; None elsewhere. A state
        of missing values is no bin, and may stand anywhere among them.
    """

    name: str
    states: tuple[Hashable, ...]
    parents: tuple[int, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    cuts: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, slots=True)
class FlatRows:
    """A table given as rows, not nested."""

    rows: Sequence[Sequence[Any]]


def labels_of(name: str, states: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Return the states of a variable, which must be distinct."""
    row = tuple(s.item() if isinstance(s, np.generic) else s for s in states)
    if not row or len(set(row)) < len(row):
        raise DomainError(f"Variable {name!r} needs distinct states, at least one, but {listed(row)} were given.")
    return row


def bins_of(name: str, cuts: Sequence[Number] | None, states: Sequence[Hashable]) -> tuple[Fraction, ...] | None:
    """Return where bins meet, exactly; None where states are no bins. The state of missing values is none of them."""
    if cuts is None:
        return None
    size = len(_present(states))
    found = tuple(exact(c, f"cut of {name!r}") for c in cuts)
    if len(found) != size - 1 or any(a >= b for a, b in itertools.pairwise(found)):
        raise DomainError(
            f"The {size} bins of variable {name!r} need {size - 1} increasing cuts between them, but {len(found)} were "
            "given, or in another order."
        )
    return found


def _present(states: Sequence[Hashable]) -> list[int]:
    """Return the states that are not that of missing values."""
    return [k for k, state in enumerate(states) if state not in _MISSING]


def rows_of(name: str, table: Any, shape: list[int]) -> tuple[tuple[Fraction, ...], ...]:
    """Return a table as exact rows that add up to 1."""
    n_rows = math.prod(shape[:-1])
    if n_rows * shape[-1] > LARGEST_TABLE:
        raise DomainError(
            f"The table of {name!r} would have {n_rows * shape[-1]} entries, and {LARGEST_TABLE} are allowed; give it "
            "fewer parents."
        )
    rows = table.rows if isinstance(table, FlatRows) else _unnested(name, table, shape)
    if len(rows) != n_rows or any(len(row) != shape[-1] for row in rows):
        raise DomainError(
            f"The table of {name!r} needs {counted(n_rows, 'list')} of {shape[-1]} probabilities, but it has others; "
            "give one list for each combination of its parents' states."
        )
    return tuple(_normalised(name, row) for row in rows)


def _unnested(name: str, table: Any, shape: list[int]) -> list[Sequence[Any]]:
    """Return the innermost lists of a nested table."""
    found: list[Any] = [table]
    for size in shape[:-1]:
        if any(not _is_list(part) or len(part) != size for part in found):
            raise DomainError(
                f"The table of {name!r} must be nested as its parents' states are, {' x '.join(map(str, shape))}, but "
                "a list in it has another length; correct it."
            )
        found = [inner for part in found for inner in part]
    if any(not _is_list(part) for part in found):
        raise DomainError(
            f"The table of {name!r} must be nested {len(shape)} deep; give a list for each state of a parent."
        )
    return found


def _is_list(part: Any) -> bool:
    return isinstance(part, Sequence | np.ndarray) and not isinstance(part, str | bytes)


def _normalised(name: str, row: Sequence[Any]) -> tuple[Fraction, ...]:
    given = [exact(p, f"probability of {name!r}") for p in row]
    total = sum(given, Fraction(0))
    if any(p < 0 for p in given) or abs(total - 1) > _TOLERANCE:
        raise DomainError(
            f"The probabilities of {name!r} must not be negative and add up to 1 for each combination of its parents' "
            f"states, but {listed([shown(p) for p in given])} add up to {shown(total)}; correct the table."
        )
    return tuple(given) if total == 1 else tuple(p / total for p in given)


def states_for(variable: Variable, feature: Feature, *, partly: bool = False) -> tuple[States, tuple[int, ...]]:
    """Return the states of a feature that is a variable of a network, and the variable's state for each of them.

    Values and states are the same where they are equal, or where their texts are, as states in files are texts. The
    state of a missing value is called ``missing``, or is None. States that are bins of a number are taken as they
    stand.

    Parameters
    ----------
    variable, feature
        The two.
    partly
        Whether the feature may have some of the states only, as for a model, which is the same wherever it is asked.

    Raises
    ------
    DomainError
        If a state is no value of the feature, or a value is no state.
    """
    gone = _missing_state(variable, feature)
    present = [k for k in range(len(variable.states)) if k != gone]
    if variable.cuts is not None and not isinstance(feature, Categorical):
        first, edges = _edges(feature, variable.cuts)
        whole = isinstance(feature, Integer)
        states = States(feature.name, edges=edges, integer=whole, missing=bool(feature.missing))
        turned = _present(variable.states)[first : first + states.n_present]
        return states, (*turned, *([] if gone is None else [gone]))
    if not isinstance(feature, Categorical | Integer):
        raise DomainError(
            f"Feature {feature.name!r} is real, but the states of its variable are {listed(variable.states)}; give "
            "the network bins={...}, where one state ends and the next begins, or declare the feature categorical."
        )
    states = States.of(feature)
    values: Sequence[Hashable] = states.values or range(int(states.edges[0]), int(states.edges[-1]))
    place = _matched(feature.name, values, [variable.states[k] for k in present], partly=partly)
    return states, (*(present[k] for k in place), *([] if gone is None else [gone]))


def _edges(feature: Integer | Real, cuts: Sequence[Fraction]) -> tuple[int, tuple[Fraction, ...]]:
    """Return the first bin that a feature has values of, and the ends of all of these.

    A bin that the feature reaches into stays whole: its values are uniform in all of it. Only the first and the last
    bin of all have no end of their own, and end where the feature does.
    """
    whole = isinstance(feature, Integer)
    inner = [Fraction(math.ceil(c)) for c in cuts] if whole else list(cuts)
    low, end = Fraction(feature.low), Fraction(feature.high + whole)
    first, stop = sum(c <= low for c in inner), sum(c < end for c in inner)
    if first > stop:  # a single point, on a cut
        stop = first
    left = inner[first - 1] if first else low
    right = inner[stop] if stop < len(inner) else max(end, left)
    return first, (left, *inner[first:stop], right)


def _missing_state(variable: Variable, feature: Feature) -> int | None:
    """Return the state of missing values, where the feature may miss one."""
    if not feature.missing:
        return None
    values = feature.values if isinstance(feature, Categorical) else ()
    found = [k for k, s in enumerate(variable.states) if s in _MISSING and s not in values]
    if len(found) != 1:
        raise DomainError(
            f"Feature {feature.name!r} may be missing, so its variable needs one state 'missing', but it has "
            f"{listed(variable.states)}; add the state, or give the feature missing=0."
        )
    return found[0]


def _matched(name: str, values: Sequence[Hashable], states: Sequence[Hashable], *, partly: bool) -> list[int]:
    """Return the state of each value."""
    for key in (_itself, str):
        place = {key(s): k for k, s in enumerate(states)}
        keys = [key(v) for v in values]
        distinct = len(place) == len(states) and len(set(keys)) == len(keys)
        if distinct and (set(keys) == set(place) or (partly and set(keys) < set(place))):
            return [place[k] for k in keys]
    texts = {str(v) for v in values}
    odd = next((s for s in states if str(s) not in texts), None)
    if odd is not None and not partly:
        raise DomainError(
            f"The network's variable {name!r} has the state {odd!r}, which is no value of the feature, whose values "
            f"are {listed(list(values))}; use the same names."
        )
    known = {str(s) for s in states}
    lost = next((v for v in values if str(v) not in known), values[0])
    raise DomainError(
        f"The value {lost!r} of feature {name!r} is no state of the network's variable, whose states are "
        f"{listed(list(states))}; use the same names."
    )


def _itself(value: Hashable) -> Hashable:
    # True is not 1 here: one of a network's states, and the other a value of another kind.
    return type(value) is bool, value


def state_of(variable: Variable, value: Any) -> int:
    """Return the state of one value."""
    gone = value is None or value != value  # NaN is not equal to itself
    if gone:
        found = next((k for k, s in enumerate(variable.states) if s in _MISSING), None)
    elif variable.cuts is not None and isinstance(value, int | float | Fraction):
        found = _present(variable.states)[bisect_right(variable.cuts, Fraction(value))]
    else:
        same = (
            k for k, s in enumerate(variable.states) if s == value and isinstance(s, bool) == isinstance(value, bool)
        )
        found = next(same, next((k for k, s in enumerate(variable.states) if str(s) == str(value)), None))
    if found is None:
        raise DomainError(
            f"Variable {variable.name!r} has the states {listed(variable.states)}, but "
            f"{quoted(value)} was given; give one."
        )
    return found


def listed(items: Sequence[Any]) -> str:
    """Return the first few of some names or states, for a message."""
    texts = [item if isinstance(item, str) else repr(item) for item in items[:6]]
    return ", ".join(text[:40] for text in texts) + (", ..." if len(items) > 6 else "")
