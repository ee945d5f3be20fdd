"""``axfi-kc warm-up``: compile what first explanations would compile, and keep it on disk."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from axfi_kc.cli.inputs import add_command, add_json
from axfi_kc.cli.text import print_json, text_table

__all__ = ["add_warm_up", "warm_up"]


_EXAMPLES = """\
  axfi-kc warm-up
  NUMBA_CACHE_DIR=/some/folder axfi-kc warm-up
"""
_FEATURES = 4
_Made = tuple[Any, Any]  # a model and its domain


def add_warm_up(commands: Any) -> None:
    """Add the command."""
    about = "compile the kernels of every kind of model, which first explanations would do otherwise"
    add_json(add_command(commands, "warm-up", _run, about=about, examples=_EXAMPLES))


def _run(options: argparse.Namespace) -> None:
    seconds = warm_up()
    if options.json:
        print_json({"seconds": seconds}, "warm-up")
        return
    print(*text_table(("kind of model", "seconds"), [(kind, f"{s:.1f}") for kind, s in seconds.items()]), sep="\n")


def warm_up() -> dict[str, float]:
    """Explain a tiny model of each kind, alone, in a batch and within a budget; return the seconds that each took."""
    import axfi_kc as ax

    found = {}
    for kind, made in _KINDS.items():
        start = perf_counter()
        model, domain = made()
        point = (1,) * _FEATURES
        explained = ax.Explainer(model, domain).explain(point)
        explained.scores("shapley")
        _ = explained.axps, explained.scores("ffa")
        batch = ax.Explainer(model, domain, budget=ax.Budget(seconds=600)).explain_batch([point])
        batch.score_fractions("shapley")
        batch.score_floats("banzhaf")
        found[kind] = perf_counter() - start
    return found


def _domain() -> Any:
    import axfi_kc as ax

    # Shares that no machine word holds, so that kernels for wide integers are compiled as well.
    return ax.Domain([ax.Integer(f"x{i}", 0, 2, weights=[1, 3 ** (40 + i), 1]) for i in range(_FEATURES)])


def _table() -> _Made:
    import axfi_kc as ax

    domain = _domain()
    return ax.TableModel.from_outputs(domain, [int(sum(p) > 3) for p in domain.points()]), domain


def _small_table() -> _Made:
    import axfi_kc as ax

    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(_FEATURES)])
    return ax.TableModel.from_outputs(domain, [int(sum(p) > 2) for p in domain.points()]), domain


def _trees(number: int) -> _Made:
    import numpy as np

    from axfi_kc.domain.grid import Cut
    from axfi_kc.models import Positive
    from axfi_kc.models.tree_sum import TreeNodes, TreeSum

    child, values = (np.array([1, -1, -1]), np.array([2, -1, -1])), np.array([[0.0], [-1.0], [0.75]])
    splits = [Cut(0.5, closed=True), None, None]
    trees = [TreeNodes(np.array([i, -1, -1]), splits, *child, values) for i in range(number)]
    return TreeSum.of(_domain(), trees, rule=Positive((0, 1))), _domain()


def _linear() -> _Made:
    import axfi_kc as ax
    from axfi_kc.models import LinearModel, Positive

    domain = ax.Domain([ax.Real(f"x{i}", 0, 2) for i in range(_FEATURES)])
    return LinearModel.of_columns(domain, [[1.0, 0.75, 0.5, 0.25]], intercepts=[-2.0], rule=Positive((0, 1))), domain


def _circuit() -> _Made:
    from axfi_kc.circuits.circuit import CircuitBuilder
    from axfi_kc.domain.grid import Grid
    from axfi_kc.models import CircuitModel

    domain = _domain()
    build = CircuitBuilder(Grid.of_values(domain))
    one = build.conjunction([build.literal(0, [1, 2]), build.literal(1, [0, 2])])
    two = build.conjunction([build.literal(0, [0]), build.literal(2, [0]), build.literal(3, [1])])
    return CircuitModel.of(build.circuit(build.disjunction([one, two]))), domain


_KINDS: dict[str, Callable[[], _Made]] = {
    "tree": partial(_trees, 1),
    "table": _small_table,
    "table, wide integers": _table,
    "ensemble of trees": partial(_trees, _FEATURES),
    "linear": _linear,
    "circuit": _circuit,
}
