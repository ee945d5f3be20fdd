"""What is set in a conditioned form, said in the form itself: other programs know nothing of features that are set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.queries.transformations import copied
from axfi_kc.circuits.targets import target_of
from axfi_kc.domain.grid import Grid

__all__ = ["asserted", "unset"]


def unset(grid: Grid) -> Grid:
    """Return the same cells with no feature set."""
    return replace(grid, fixed=()) if grid.fixed else grid


def asserted(form: Any) -> Any:
    """Return a form that says itself where the features lie that it was conditioned on.

    Parameters
    ----------
    form
        A circuit, an OBDD or an SDD; what has no grid is not conditioned.

    Returns
    -------
    Any
        The form itself if it is not conditioned. Otherwise a circuit over the cells with no feature set, or a diagram
        beside the given one.

    Notes
    -----
    Linear for a circuit, a conjunction for a diagram.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> held = ax.queries.condition(ax.from_expression("y", names="xy"), {"x": 1})
    >>> list(ax.queries.models(asserted(held)))
    [(1, 1)]
    """
    if not getattr(form, "grid", None) or not form.grid.fixed:
        return form
    if isinstance(form, Circuit):
        build = CircuitBuilder(unset(form.grid))
        return build.circuit(build.conjunction([copied(form, build, None), _literals(build, form.grid)]))
    build = CircuitBuilder(form.grid)
    return form.conjoin(target_of(form.language, build.circuit(_literals(build, form.grid)), beside=form))


def _literals(build: CircuitBuilder, grid: Grid) -> int:
    return build.conjunction(build.literal(i, [c]) for i, c in grid.fixed)
