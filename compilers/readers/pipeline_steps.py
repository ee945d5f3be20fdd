"""What pipelines do to a number, and where thresholds on the result lie on the number itself.

A step is a floating-point function, computed as the library computes it, that is monotone between
finitely many *breaks*. A threshold on its result is met at one place between two breaks, found by
bisection over the floats. Additions, products and comparisons round correctly, and so are monotone
in floats too. Logarithms, powers and the like are only accurate to a few units in the last place:
around the threshold, as far as that error reaches, every float is tried, and each change counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.measures import exact
from axfi_kc.errors import UnsupportedModelError

__all__ = [
    "Floats",
    "Step",
    "arithmetic",
    "clipped",
    "constant",
    "equal_to",
    "met",
    "relative",
    "replaced",
    "spread_of",
]


Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.int64]
_SIGN = np.int64(2**63 - 1)
_UNIT = 2.0**-49  # 8 units in the last place: twice what the worst of the functions that are followed is off by
_NEAR = 1024  # floats at the end of a piece that are tried for the largest result
_MOST_TRIED = 1 << 21  # floats around one threshold
_LEAST = 2.0**-1070


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A function of one number in floating point, monotone between breaks.

    Attributes
    ----------
    at
        The result in float64, as the library computes it.
    where
        The pipeline step this belongs to, for messages.
    affine
        The factor and the constant of the exact map that the step rounds; None where it is not affine.
    breaks
        The last float of each piece but the last one on which the step is monotone, in either direction.
    error
        For a function that rounds as it likes, twice what a result may be off; None: it is monotone in floats.
    takes_missing
        Whether the library lets NaN pass here.
    gives_missing
        Whether a number may become NaN.
    why
        What keeps a step from being affine, in words.
    """

    at: Callable[[Floats], Floats]
    where: str
    affine: tuple[Fraction, Fraction] | None = None
    breaks: tuple[float, ...] = ()
    error: Callable[[Floats], Floats] | None = None
    takes_missing: bool = True
    gives_missing: bool = False
    why: str = "is not linear"


def arithmetic(name: str, number: Any, where: str) -> Step:
    """Return ``x + number`` and the like; `name` is that of a NumPy function: add, subtract, multiply, divide.

    Examples
    --------
    >>> arithmetic("divide", 4.0, "scaler").affine
    (Fraction(1, 4), Fraction(0, 1))
    """
    operand = np.float64(number)
    value = exact(operand, f"number in {where}")
    if name in ("add", "subtract"):
        affine = Fraction(1), value if name == "add" else -value
    else:
        affine = (value if name == "multiply" else 1 / value), Fraction(0)
    return Step(lambda x: getattr(np, name)(x, operand), where, affine)


def clipped(low: float, high: float, where: str) -> Step:
    """Return the step to the nearest number from `low` to `high`."""
    return Step(lambda x: np.clip(x, low, high), where, why="clips its values")


def constant(number: float, where: str) -> Step:
    """Return the step to one number, whatever comes."""
    return Step(lambda x: np.full(len(x), number), where, (Fraction(0), exact(number)))


def equal_to(number: float, where: str) -> Step:
    """Return the step to 1 at `number` and 0 elsewhere."""
    return Step(lambda x: (x == number).astype(np.float64), where, None, _only(number))


def replaced(number: float, other: float, where: str) -> Step:
    """Return the step that puts `other`, which may be NaN, in the place of `number`."""
    return Step(lambda x: np.where(x == number, other, x), where, None, _only(number), gives_missing=math.isnan(other))


def _only(number: float) -> tuple[float, float]:
    """Return the breaks around one number; those of zero have both zeros between them."""
    return math.nextafter(number, -math.inf), number + 0.0


def relative(results: Floats) -> Floats:
    """Return twice what results may be off, of a function that is accurate to a few units in the last place."""
    return np.abs(results) * _UNIT + _LEAST


def spread_of(step: Step, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest result of a step on ``[low, high]``; infinite or NaN where it has none."""
    tried = [_floats_near(a, b) if step.error else _float(np.array([a, b])) for a, b in _pieces(step, low, high)]
    found = step.at(np.concatenate(tried))
    if step.gives_missing:
        found = found[~np.isnan(found)]
    return (float(found.min()), float(found.max())) if len(found) else (math.nan, math.nan)  # NaN if one of them is


def met(steps: Sequence[Step], thresholds: Iterable[float], low: float, high: float) -> Floats:
    """Return the floats in ``[low, high)`` behind which some ``result <= threshold`` may change.

    Notes
    -----
    At most 64 evaluations per step on all thresholds at once, and for functions that round as they like every float
    near each threshold.
    """
    ranges = [(low, high)]
    for step in steps[:-1]:
        ranges.append(spread_of(step, *ranges[-1]))
    found = np.array(sorted(set(thresholds)), dtype=np.float64)
    for step, (least, most) in zip(reversed(steps), reversed(ranges), strict=True):
        found = _changes(step, found, least, most)
    return found


def _changes(step: Step, thresholds: Floats, low: float, high: float) -> Floats:
    pieces = _pieces(step, low, high)
    look = _met_roughly if step.error else _met_exactly
    keys = [look(step, thresholds, a, b) for a, b in pieces]
    return np.unique(_float(np.concatenate([*keys, np.array([b for _, b in pieces[:-1]], dtype=np.int64)])))


def _pieces(step: Step, low: float, high: float) -> list[tuple[int, int]]:
    """Return the first and last float, as keys, of each piece within ``[low, high]``."""
    first, last = int(_key(low)), int(_key(high))
    ends = [*(k for k in (int(_key(b)) for b in step.breaks) if first <= k < last), last]
    return list(zip([first, *(k + 1 for k in ends[:-1])], ends, strict=True))


def _met_exactly(step: Step, thresholds: Floats, first: int, last: int) -> Keys:
    """Return the last float before each threshold is met, where it is."""
    start, end = (step.at(_float(np.array([k])))[0] <= thresholds for k in (first, last))
    wanted, start = thresholds[start != end], start[start != end]
    return _bisected(lambda x: (step.at(x) <= wanted) == start, np.full(len(wanted), first), np.full(len(wanted), last))


def _bisected(holds: Callable[[Floats], npt.NDArray[np.bool_]], low: Keys, high: Keys) -> Keys:
    """Return the last float at which a property holds that holds at `low` and not at `high`."""
    while (high > low + 1).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # their difference does not fit once it spans [-2, 2]
        still = holds(_float(middle))
        low, high = np.where(still, middle, low), np.where(still, high, middle)
    return low


def _met_roughly(step: Step, thresholds: Floats, first: int, last: int) -> Keys:
    """Return every float behind which ``result <= threshold`` changes."""
    ends = step.at(_float(np.array([first, last])))
    sign = 1.0 if ends[0] <= ends[1] else -1.0
    slack = relative(thresholds) if step.error is None else step.error(thresholds)
    # Results are off by half of the slack at most: before the first float nothing has changed yet, and behind the
    # second one nothing will.
    starts = np.maximum(_last_up_to(step, sign, sign * thresholds - slack, first, last), first)
    stops = np.minimum(_last_up_to(step, sign, sign * thresholds + slack, first, last) + 1, last)
    sizes = stops - starts + 1
    _check_few(step, starts, sizes)
    found, first_of_block = [np.zeros(0, np.int64)], 0
    for end in range(1, len(thresholds) + 1):
        block = slice(first_of_block, end)
        # Many small windows at once, or a large one by itself.
        if end == len(thresholds) or int(sizes[first_of_block : end + 1].sum()) > _MOST_TRIED:
            found.append(_changes_within(step, thresholds[block], starts[block], sizes[block]))
            first_of_block = end
    return np.concatenate(found)


def _changes_within(step: Step, thresholds: Floats, starts: Keys, sizes: Keys) -> Keys:
    """Return the floats of each threshold's window behind which ``result <= threshold`` changes."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    keys = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[owner]
    left = step.at(_float(keys)) <= thresholds[owner]
    return keys[:-1][(left[1:] != left[:-1]) & (owner[1:] == owner[:-1])]


def _last_up_to(step: Step, sign: float, limits: Floats, first: int, last: int) -> Keys:
    """Return the last float whose result is, as it looks, at most each limit; one before the first if none is."""
    ends = sign * step.at(_float(np.array([first, last])))
    found = np.where(ends[1] <= limits, last, first - 1)
    between = (ends[0] <= limits) & (ends[1] > limits)
    wanted = limits[between]
    low, high = np.full(len(wanted), first), np.full(len(wanted), last)
    found[between] = _bisected(lambda x: sign * step.at(x) <= wanted, low, high)
    return found


def _check_few(step: Step, starts: Keys, sizes: Keys) -> None:
    """Raise where more floats would have to be tried than can be."""
    widest = int(np.argmax(sizes)) if len(sizes) else 0
    if len(sizes) and sizes[widest] > _MOST_TRIED:
        raise UnsupportedModelError(
            f"{step.where} is too flat near {float(_float(starts[[widest]])[0]):.6g} for its rounding to be followed, "
            f"with {int(sizes[widest]):,} floats to try; scale the column (StandardScaler) instead, or bin it "
            "(KBinsDiscretizer)."
        )


def _floats_near(first: int, last: int) -> Floats:
    """Return the floats at both ends of a piece."""
    if last - first <= 2 * _NEAR:
        return _float(np.arange(first, last + 1, dtype=np.int64))
    steps = np.arange(_NEAR, dtype=np.int64)
    return _float(np.concatenate([first + steps, last - steps]))


def _key(x: Any) -> Any:
    """Return an integer for each float64, in the same order."""
    # Floats are sign and magnitude. Flipping the magnitude of negative ones makes the bits ascend with the
    # numbers, and flipping twice is the identity.
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & _SIGN)


def _float(key: npt.NDArray[np.int64]) -> Floats:
    return (key ^ ((key >> np.int64(63)) & _SIGN)).view(np.float64)
