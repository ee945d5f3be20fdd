"""What pieces weigh under a joint distribution of the features.

Of the distribution its states and tables are taken as they are, as measures of features are. How probable states are
together (:mod:`axfi_kc.verification.chances`), which part of a state a piece holds, and all sums over pieces, boxes and
combinations of states are found anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.distribution import Distribution, States
from axfi_kc.domain.features import Categorical, Feature, Integer
from axfi_kc.verification.chances import Chances

__all__ = ["JointPieces"]


class JointPieces:
    """Weighs pieces around one instance.

    Parameters
    ----------
    joint
        The distribution.
    features, pieces
        The features, and the pieces of each.
    values
        The instance's own values; None where one is missing.
    """

    def __init__(
        self, joint: Distribution, features: Sequence[Feature], pieces: Sequence[Sequence[Any]], values: Sequence[Any]
    ) -> None:
        self._chances = Chances(joint)
        triples = list(zip(joint.states, features, pieces, strict=True))
        self._rows = [[_row(states, feature, piece) for piece in own] for states, feature, own in triples]
        own = [_state(s, v) for s, v in zip(joint.states, values, strict=True)]
        pairs = zip(joint.states, own, strict=True)
        self._fixed = [[int(k == state) for k in range(states.size)] for states, state in pairs]

    def boxes(self, boxes: Iterable[tuple[Mapping[int, int], int | Fraction]], free: Sequence[int]) -> Fraction:
        """Return what disjoint boxes, sets of pieces as bits per feature, weigh together, each times its share."""
        total = Fraction(0)
        for box, share in boxes:
            evidence = self._staying(free)
            for i in free:
                mask = box.get(i, (1 << len(self._rows[i])) - 1)
                inside = [row for k, row in enumerate(self._rows[i]) if mask >> k & 1]
                evidence[i] = [sum(column, Fraction(0)) for column in zip(*inside, strict=True)]
            total += share * self._chances.total(evidence)
        return total

    def combinations(self, free: Sequence[int], shares: Sequence[int | Fraction]) -> Fraction:
        """Return what a share of each combination of pieces weighs together, the last feature fastest."""
        table = np.array(list(shares), dtype=object).reshape([len(self._rows[i]) for i in free] or [1])
        for axis, i in enumerate(free):
            # From the pieces of a feature to its states, which take the place of their axis.
            rows = np.array(self._rows[i], dtype=object)
            table = np.moveaxis(np.tensordot(table, rows, axes=([axis], [0])), -1, axis)
        return self._chances.total_of(free, table, self._staying(free))

    def _staying(self, free: Sequence[int]) -> list[Any]:
        """Return the instance's states of the other features, where it matters how likely these are."""
        near = self._chances.near(free)
        return [row if i in near and i not in free else None for i, row in enumerate(self._fixed)]


def _state(states: States, value: Any) -> int:
    """Return the state of a value; the last bin of numbers also has its right end."""
    if value is None:
        return states.n_present
    if states.values:
        return states.values.index(value)
    number = Fraction(value)
    return min(sum(edge <= number for edge in states.edges[1:]), states.n_present - 1)


def _row(states: States, feature: Feature, piece: Any) -> list[Fraction]:
    """Return which part of each state a piece of a feature holds."""
    found = [Fraction(0)] * states.size
    if piece.number is None:
        found[-1] = Fraction(1)
    elif isinstance(feature, Categorical):
        found[_state(states, feature.values[int(piece.number)])] = Fraction(1)
    elif not isinstance(feature, Integer) and piece.ends is None:  # all that the feature can be
        found[_state(states, piece.number)] = Fraction(1)
    else:
        if isinstance(feature, Integer):
            low, high = piece.number, piece.number + piece.count
        else:
            low, high = piece.ends[0][0], piece.ends[1][0]
        for k in range(states.n_present):
            left, right = states.edges[k], states.edges[k + 1]
            found[k] = max(min(right, high) - max(left, low), Fraction(0)) / (right - left)
    return found
