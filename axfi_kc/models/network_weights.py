"""What the points of a diagram weigh under Bayesian networks and mixtures: all of them in one pass, not box by box."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from axfi_kc.budget import preparation
from axfi_kc.circuits.queries.boxes import CircuitBoxes
from axfi_kc.circuits.queries.joint import joint_probability, table_products
from axfi_kc.circuits.queries.structure import feature_order
from axfi_kc.domain.bayesian_network import NetworkDistribution
from axfi_kc.domain.distribution import Distribution, Mixture
from axfi_kc.domain.grid import Grid
from axfi_kc.models.joint import BoxWeigher, TotalWeigher, weigher_of

__all__ = ["NetworkWeigher"]


class NetworkWeigher(TotalWeigher):
    """Weighs boxes by totals, and whole diagrams by carrying the states that tables wait for."""

    def inside(
        self, boxes: CircuitBoxes, place: Sequence[int], cells: Sequence[int], members: Sequence[int]
    ) -> Fraction:
        """Return what the points of a circuit weigh; of an ordered diagram over all features by a pass over it."""
        if len(members) < len(self.full) or feature_order(boxes.circuit) is None:
            return super().inside(boxes, place, cells, members)
        # Weights have a scale, the same for all boxes of these members: that of the box of everything, whose
        # probability is below 1 where the features have fewer values than the distribution speaks of.
        pairs = zip(self._states, self.grid.axes, strict=True)
        whole = self._distribution.total([[sum(column) for column in zip(*s.shares(a), strict=True)] for s, a in pairs])
        scale = self.weight(place, members, [self.full]) / whole if whole else Fraction(0)
        return joint_probability(boxes.circuit, self._distribution, budget=preparation()) * scale


@weigher_of.register(NetworkDistribution)
@weigher_of.register(Mixture)
def _of_network(distribution: Distribution, grid: Grid) -> BoxWeigher:
    return (
        TotalWeigher(grid, distribution) if table_products(distribution) is None else NetworkWeigher(grid, distribution)
    )
