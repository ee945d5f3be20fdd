"""Points that try a sum of trees on every side of every threshold, and the error bound of its library's sum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer
from axfi_kc.models import TreeSum


def columns_of(domain: ax.Domain, codes: np.ndarray) -> np.ndarray:
    """Return points given by their codes as the model's columns."""
    blocks = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, ax.Categorical):
            blocks.append(np.array([feature.codes[int(c)] for c in codes[:, i]], dtype=np.float64))
        else:
            blocks.append(codes[:, i : i + 1])
    return np.concatenate(blocks, axis=1)


def random_codes(domain: ax.Domain, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return random points of the domain, as codes."""
    codes = np.empty((n, len(domain)))
    for i, feature in enumerate(domain.features):
        if isinstance(feature, ax.Real):
            codes[:, i] = rng.uniform(float(feature.low), float(feature.high), n)
        elif isinstance(feature, ax.Integer):
            codes[:, i] = rng.integers(feature.low, feature.high + 1, n)
        else:
            codes[:, i] = rng.integers(0, feature.size, n)
    return codes


def around(thresholds: np.ndarray) -> np.ndarray:
    """Return thresholds, their float32 and float64 neighbours, and the middles that rounding decides."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.asarray(thresholds, dtype=np.float64).astype(np.float32)
    up, down = np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))
    doubles = [np.asarray(thresholds, dtype=np.float64), *(s.astype(np.float64) for s in (single, up, down))]
    base = np.concatenate([*doubles, (doubles[1] + doubles[2]) / 2, (doubles[1] + doubles[3]) / 2])
    return np.unique(np.concatenate([base, np.nextafter(base, np.inf), np.nextafter(base, -np.inf)]))


def probes(domain: ax.Domain, thresholds: dict[int, Any], *, n: int = 600, seed: int = 0) -> np.ndarray:
    """Return codes of random points, and of points on each side of each feature's own thresholds."""
    rng = np.random.default_rng(seed)
    parts = [random_codes(domain, n, rng)]
    for i, found in thresholds.items():
        feature = domain.features[i]
        if isinstance(feature, ax.Real) and len(found):
            values = [x for x in around(np.array(found)).tolist() if feature.low <= Fraction(x) <= feature.high]
            rows = random_codes(domain, len(values), rng)
            rows[:, i] = values
            parts.append(rows)
    return np.concatenate(parts)


def sum_error(model: TreeSum, *, bits: int) -> float:
    """Bound the error of adding base and leaves one after the other with `bits` bits of precision."""
    largest = [
        np.abs(model.values[leaves[leaves >= 0]]).max()
        for leaves in (model.leaf[a:b] for a, b in zip(model.tree_offset, model.tree_offset[1:], strict=False))
    ]
    total = float(sum(largest)) + max(abs(float(b)) for b in model.base)
    return (model.n_trees + 2) * 2.0**-bits * total


def gaps(scores: list[list[Fraction]]) -> np.ndarray:
    """Return how far each point is from a tie: the margin itself, or the lead of the largest score."""
    ordered = [sorted(row) for row in scores]
    return np.array([float(abs(row[0]) if len(row) == 1 else row[-1] - row[-2]) for row in ordered])


def check_margins(model: TreeSum, codes: np.ndarray, margins: Any, *, bits: int) -> list[list[Fraction]]:
    """Require the library's margins to be the exact ones up to its own rounding; return the exact ones."""
    exact, bound = model.scores_at(codes), Fraction(sum_error(model, bits=bits))
    found = np.asarray(margins, dtype=np.float64).reshape(len(codes), -1).tolist()
    assert len(found[0]) == len(exact[0])
    worst = max(abs(Fraction(a) - b) for x, y in zip(found, exact, strict=True) for a, b in zip(x, y, strict=True))
    assert worst <= bound
    return exact


def check_classes(
    model: TreeSum, codes: np.ndarray, labels: Any, *, exact: list[list[Fraction]], bits: int, slack: float = 0.0
) -> None:
    """Require the library's classes, except where the exact margin lies within the rounding."""
    ours, theirs = np.array(model.outputs_at(codes)), np.asarray(labels)
    decided = gaps(exact) > 2 * sum_error(model, bits=bits) + slack
    assert decided.mean() > 0.9
    assert (ours == theirs)[decided].all()


def random_points(domain: Domain, n: int, seed: int) -> list[tuple[Any, ...]]:
    """Return random random_points of a domain, ends of intervals included now and then."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        row: list[Any] = []
        for f in domain.features:
            if isinstance(f, Categorical):
                row.append(f.values[rng.integers(f.size)])
            elif isinstance(f, Integer):
                row.append(int(rng.integers(f.low, f.high + 1)))
            else:
                low, high = float(f.low), float(f.high)
                row.append([low, high, rng.uniform(low, high)][rng.choice(3, p=[0.05, 0.05, 0.9])])
        rows.append(tuple(row))
    return rows
