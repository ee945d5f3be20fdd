"""Trees written by hand, and the scores of a batch at their lowest values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Positive, TreeNodes, TreeSum


def nodes_of(form: Any) -> TreeNodes:
    """Return a tree: ``(column, cut, left, right)``, up to the cut to the left, or the value of a leaf, 0 or 1."""
    nodes, column, split, left, right, value = [form], [], [], [], [], []
    for node in nodes:  # grows while it is gone through
        is_leaf = not isinstance(node, tuple)
        column.append(-1 if is_leaf else node[0])
        split.append(None if is_leaf else Cut(node[1], closed=True))
        value.append([float(node) - 0.5 if is_leaf else 0.0])
        left.append(-1 if is_leaf else len(nodes))
        right.append(-1 if is_leaf else len(nodes) + 1)
        nodes += [] if is_leaf else node[2:]
    first, second, third = (np.array(row) for row in (column, left, right))
    return TreeNodes(first, split, second, third, np.array(value))


def tree_of(domain: ax.Domain, form: Any) -> TreeSum:
    return TreeSum.of(domain, [nodes_of(form)], rule=Positive((0, 1)))


def batch_scores(model: Any, domain: ax.Domain, kind: str, **options: Any) -> list[Fraction]:
    """Return the scores at the lowest values, from the integers of a batch."""
    batch = ax.Explainer(model, domain, **options).explain_batch([[f.low for f in domain.features]] * 2)
    numerators, denominators = batch.score_numerators(kind)
    first, second = ([Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True))
    assert first == second
    return first


def any_of(columns: list[int]) -> Any:
    form: Any = 0
    for i in reversed(columns):
        form = (i, 0.5, form, 1)
    return form


def all_of(columns: list[int]) -> Any:
    form: Any = 1
    for i in reversed(columns):
        form = (i, 0.5, 0, form)
    return form
