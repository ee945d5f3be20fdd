"""Bayesian-network classifiers: the class whose probability together with the point is largest, compared exactly.

The probability of a class and a point is a product of tables. Tables without the class multiply every class alike and
are left out, but for their zeros; hidden variables are summed out beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.elimination import Factor, elimination_order, summed_out
from axfi_kc.domain.grid import Grid, edge_cuts
from axfi_kc.domain.measures import counted
from axfi_kc.domain.network_variables import states_for
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models.base import ListedModel, Uses

__all__ = ["BayesClassifier"]


_AT_ONCE = 1 << 14  # rows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BayesClassifier(ListedModel):
    """A classifier that multiplies tables, and takes the class with the largest product.

    Attributes
    ----------
    grid
        The cells: the features' states.
    outputs
        The classes; of those with equal products the first one is taken.
    prior
        A whole number for each class.
    factors
        Tables of whole numbers: an axis for the cells of each feature in their scope, and a last one for the classes,
        of length 1 where all of them are multiplied alike.

    Examples
    --------
    >>> from axfi_kc.domain.features import Categorical
    >>> network = BayesianNetwork(
    ...     {"play": ["no", "yes"], "rain": ["no", "yes"]},
    ...     {"play": [0.5, 0.5], "rain": [[0.25, 0.75], [0.5, 0.5]]},
    ...     parents={"rain": ["play"]},
    ...     output="play",
    ... )
    >>> model = BayesClassifier.of_network(network, Domain([Categorical("rain", ["no", "yes"])]))
    >>> model, model.predict([["no"], ["yes"]])
    (<BayesClassifier: Bayesian-network classifier of 2 classes and 1 table over 1 feature>, ['yes', 'no'])
    """

    grid: Grid
    outputs: tuple[Hashable, ...]
    prior: tuple[int, ...]
    factors: tuple[Factor, ...]

    @classmethod
    def of_network(
        cls,
        network: BayesianNetwork,
        domain: Domain,
        *,
        labels: Sequence[Hashable] | None = None,
        threshold: tuple[int, Fraction] | None = None,
    ) -> BayesClassifier:
        """Return the classifier that a network is over a domain: its output, given all features.

        Parameters
        ----------
        network
            The network. Its output is the class; where it has none, the one variable that is no feature is.
        domain
            The features, each a variable; variables that are neither features nor the class are summed out.
        labels
            What the states of the class are called; by default what the network calls them.
        threshold
            Of two classes, by its number the one that is taken where its probability is not below the threshold, in
            place of the more probable one.

        Raises
        ------
        UnsupportedModelError
            If it is not clear which variable is the class, or the class is a feature.
        DomainError
            If a feature is no variable, or its values are not the variable's states.
        """
        target = _target(network, domain)
        places = [network.over_feature(feature) for feature in domain.features]
        pairs = [states_for(network.variables[p], f, partly=True) for p, f in zip(places, domain.features, strict=True)]
        names = tuple(labels) if labels is not None else network.variables[target].states
        grid = Grid.of(domain, [edge_cuts(states) for states, _ in pairs])
        hidden = set(range(len(network))) - set(places) - {target}
        whole = network.factors()
        left = summed_out(whole, elimination_order([f.scope for f in whole], sorted(hidden)))
        feature_of = {place: i for i, place in enumerate(places)}
        turned = {place: row for place, (_, row) in zip(places, pairs, strict=True)}
        tables = [_over_cells(factor, target, feature_of, turned) for factor in left]
        prior = [1] * len(names)
        for table in tables:
            if not table.scope:
                prior = [p * int(v) for p, v in zip(prior, np.broadcast_to(table.values, len(names)), strict=True)]
        order = list(range(len(names)))
        if threshold is not None:
            prior, order = _moved(prior, *threshold)
        kept = [Factor(t.scope, t.values[..., order] if t.values.shape[-1] > 1 else t.values) for t in tables]
        return cls(grid, tuple(names[k] for k in order), tuple(_lowest(prior)), tuple(t for t in kept if _matters(t)))

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return f"Bayesian-network classifier of {len(self.outputs)} classes and {counted(len(self.factors), 'table')}"

    def decide(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        """Return the outputs at points given by their cells, a row each.

        Notes
        -----
        A product of integers per point, class and table.
        """
        found: list[Any] = []
        for first in range(0, len(cells), _AT_ONCE):
            found += self._decided(cells[first : first + _AT_ONCE])
        return found

    def _decided(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        products = np.empty((len(cells), len(self.outputs)), dtype=object)
        products[:] = self.prior
        for factor in self.factors:
            products = products * factor.values[tuple(cells[:, i] for i in factor.scope)]
        # The first of equal ones, as index finds it.
        return [self.outputs[row.index(max(row))] for row in products.tolist()]

    def uses(self) -> Uses:
        """Return how the classifier uses its features.

        The influence is a rank: features of one table come close together, so that a diagram need not remember many of
        them at a time; among these, those first that can change the odds most.
        """
        groups = [frozenset(factor.scope) for factor in self.factors]
        swings = self._swings()
        order, left = list[int](), set(range(len(self.domain)))
        while left:
            best = min(left, key=lambda i: (_waiting({*order, i}, groups), -swings[i], i))
            order.append(best)
            left.remove(best)
        influence = np.zeros(len(order))
        influence[order] = np.arange(len(order), 0, -1)
        return Uses(influence, [group for group in groups if len(group) > 1])

    def _swings(self) -> list[float]:
        """Return about how much each feature can change the logarithm of some odds."""
        swings = [0.0] * len(self.domain)
        for factor in self.factors:
            logs = [math.log(v) if v else -1e3 for v in factor.values.ravel().tolist()]
            table: npt.NDArray[Any] = np.array(logs).reshape(factor.values.shape)
            for axis, i in enumerate(factor.scope):
                odds = table - table[..., :1] if table.shape[-1] > 1 else table
                swings[i] += float(np.ptp(odds, axis=axis).max())
        return swings


def _target(network: BayesianNetwork, domain: Domain) -> int:
    """Return which variable is the class."""
    if network.output is not None:
        if network.output in domain.names:
            raise UnsupportedModelError(
                f"The network predicts {network.output!r}, which is a feature of the domain too; leave it out "
                "of the domain."
            )
        return network.index(network.output)
    others = [name for name in network.names if name not in domain.names]
    if len(others) != 1:
        raise UnsupportedModelError(
            f"Which variable the network predicts is clear only where one is no feature, but {len(others)} are none; "
            "say which one by network.with_output(name)."
        )
    return network.index(others[0])


def _over_cells(factor: Factor, target: int, feature_of: dict[int, int], turned: dict[int, tuple[int, ...]]) -> Factor:
    """Return a table over states as one over the features' cells, the class last."""
    values, scope = factor.values, list(factor.scope)
    if target in scope:
        at = scope.index(target)
        scope.append(scope.pop(at))
        values = np.moveaxis(values, at, -1)
    else:
        # It multiplies all classes alike, and only its zeros can change which is the largest. np.array, because the
        # comparison of a table without features is a plain bool.
        values = np.array(values != 0, dtype=np.int64).astype(object)[..., np.newaxis]
    places = [place for place in scope if place != target]
    for axis, place in enumerate(places):
        values = np.take(values, turned[place], axis=axis)
    return Factor(tuple(feature_of[place] for place in places), values)


def _moved(prior: list[int], favoured: int, threshold: Fraction) -> tuple[list[int], list[int]]:
    """Return the prior, and the order of two classes, for which the favoured one needs no more than a threshold."""
    other = 1 - favoured
    # p >= t, that is p (1 - t) >= (1 - p) t: products that are equal go to the first of the two.
    scale = threshold.denominator
    return [prior[favoured] * int((1 - threshold) * scale), prior[other] * int(threshold * scale)], [favoured, other]


def _lowest(prior: Sequence[int]) -> list[int]:
    common = math.gcd(*prior) or 1
    return [p // common for p in prior]


def _matters(factor: Factor) -> bool:
    """Tell whether a table can change which product is the largest."""
    if not factor.scope:
        return False
    return factor.values.shape[-1] > 1 or not factor.values.all()


def _waiting(known: set[int], groups: Sequence[frozenset[int]]) -> int:
    """Return how many known features must be remembered for tables of which not all features are known."""
    return len({i for group in groups if not group <= known for i in group & known})
