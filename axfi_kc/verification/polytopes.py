"""Exact volumes of polytopes, face by face."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from axfi_kc.verification.allowances import Allowance

__all__ = ["volume"]

Row = tuple[tuple[Fraction, ...], Fraction]  # a half-space: factors times u is at most the number


def volume(halves: Sequence[Row], dimension: int, allowance: Allowance) -> Fraction:
    """Return the volume of the part of the unit cube that lies in all half-spaces.

    Raises
    ------
    Spent
        If there are more faces than were allowed.

    Notes
    -----
    Lasserre's formula: a polytope is the signed sum of the cones over its facets from the origin, so its volume is
    the sum of ``b / (d * |a_j|)`` times the volume of the facet ``a * u = b`` with u_j eliminated. At most one step
    per chain of faces.

    Examples
    --------
    >>> corner = ((Fraction(1), Fraction(1)), Fraction(1))
    >>> volume([corner], 2, Allowance.of(None))
    Fraction(1, 2)
    """
    # The origin is a corner of the cube: the cones over the facets through it are flat, which spares half of
    # the cube's facets.
    start = _tightest([*halves, *_cube(dimension)])
    total, stack = Fraction(0), [] if start is None else [(Fraction(1), start, dimension)]
    while stack:
        factor, rows, left = stack.pop()
        allowance.spend()
        if left == 1:
            total += factor * _length(rows)
            continue
        for row, limit in rows:
            if limit == 0:
                continue  # its cone is flat
            # Any variable that occurs will do: projecting scales the facet's volume by |a_j| over its length,
            # and the factor below takes that back.
            j = next(k for k, a in enumerate(row) if a)
            # A facet must be counted once, so equal half-spaces are merged before.
            face = _tightest(_without(other, (row, limit), j) for other in rows if other != (row, limit))
            if face is not None:
                stack.append((factor * limit / (left * abs(row[j])), face, left - 1))
    return total


def _cube(dimension: int) -> list[Row]:
    units = [tuple(Fraction(i == j) for j in range(dimension)) for i in range(dimension)]
    return [(unit, Fraction(1)) for unit in units] + [(tuple(-x for x in unit), Fraction(0)) for unit in units]


def _without(row: Row, face: Row, j: int) -> Row:
    """Return a half-space on a face, where variable j follows from the others."""
    (a, limit), (b, at) = row, face
    ratio = a[j] / b[j]
    return tuple(x - ratio * y for k, (x, y) in enumerate(zip(a, b, strict=True)) if k != j), limit - ratio * at


def _tightest(rows: Iterable[Row]) -> list[Row] | None:
    """Return one half-space per direction; None if they have no point in common at first sight."""
    kept: dict[tuple[Fraction, ...], Fraction] = {}
    for row, limit in rows:
        # Scaled to largest entry 1: parallel half-spaces then have one direction, and only the tightest stays.
        size = max(map(abs, row), default=Fraction(0))
        if size == 0:
            # Says "0 <= limit": always true, or the face is empty.
            if limit < 0:
                return None
            continue
        direction = tuple(x / size for x in row)
        kept[direction] = min(kept.get(direction, limit / size), limit / size)
    return list(kept.items())


def _length(rows: list[Row]) -> Fraction:
    # Both exist: the cube bounds every face of it in every direction.
    high = min(limit / a for (a,), limit in rows if a > 0)
    low = max(limit / a for (a,), limit in rows if a < 0)
    return max(high - low, Fraction(0))
