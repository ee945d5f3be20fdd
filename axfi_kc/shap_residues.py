"""SHAP scores of large circuits by residues: the passes modulo enough primes, put together at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, interruptible
from axfi_kc.circuit import Circuit
from axfi_kc.queries.shares import Shares, product, shares_of
from axfi_kc.residues import combined, n_primes_beyond, primes_not_dividing, shares_modulo

__all__ = ["ResidueSweep"]

_AT_ONCE = 8  # primes per pass: their residues of one node fill a cache line
Residues = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ResidueSweep:
    """A deterministic circuit made ready for the passes of every instance.

    Attributes
    ----------
    circuit
        Decomposable and deterministic: a score lies between -1 and 1, which says how many primes are needed.
    mentioned
        The features it speaks about.
    weights
        Of the quadrature at q = 0, 1/steps, ..., 1.
    shares
        What the cells of each arc are worth.
    whole
        Every score times this is an integer.
    primes
        Whose product exceeds twice that.
    """

    circuit: Circuit
    mentioned: tuple[int, ...]
    weights: tuple[Fraction, ...]
    shares: Shares
    whole: int
    primes: list[int]

    @classmethod
    def of(cls, circuit: Circuit, mentioned: tuple[int, ...], weights: tuple[Fraction, ...]) -> ResidueSweep:
        """Prepare a circuit (cost: linear)."""
        axes = circuit.grid.axes
        shares = shares_of(circuit, [a.numerators for a in axes], [a.denominator for a in axes])
        steps = max(len(weights) - 1, 1)
        common = lcm(*(w.denominator for w in weights))
        # A change has degree at most one less than the number of features, so as many factors of `steps`.
        whole = common * steps ** (len(weights) - 1) * product(axes[i].denominator for i in mentioned)
        # Modulo a prime that divides a denominator there would be no share. Denominators of the weights and
        # the steps have no prime factor of 30 bits.
        avoided = (*shares.wholes, *(axes[i].denominator for i in mentioned))
        # Scores lie in -1..1, so times `whole` there are 2 * whole + 1 possible numbers.
        primes = primes_not_dividing(avoided, count=n_primes_beyond(2 * whole))
        return cls(circuit, mentioned, weights, shares, whole, primes)

    def scores(self, cells: Sequence[int], account: Account) -> dict[int, Fraction]:
        """Return the scores of the mentioned features at the point with these cells."""
        sets = self.circuit.cell_sets
        hits = np.array([i >= 0 and cells[i] in sets[label] for i, label in self.shares.places], dtype=np.uint64)
        firsts = range(0, len(self.primes), _AT_ONCE)
        parts = [self._modulo(self.primes[k : k + _AT_ONCE], hits, account) for k in firsts]
        residues = np.concatenate(parts, axis=1).tolist()
        found = {}
        for i in account.paced(self.mentioned, at_once=1):
            above = [(r + self.whole) % q for r, q in zip(residues[i], self.primes, strict=True)]  # never negative
            found[i] = Fraction(combined(above, self.primes) - self.whole, self.whole)
        return found

    def _modulo(self, primes: Sequence[int], hits: Residues, account: Account) -> Residues:
        """Return every feature's score times `whole`, modulo each prime."""
        from axfi_kc import shap_kernels

        circuit, mod = self.circuit, np.array(primes, dtype=np.uint64)
        shares, hit = shares_modulo(self.shares.worths, self.shares.wholes, primes), hits[:, np.newaxis]
        # Plus the prime before the subtraction: residues are unsigned.
        gains = (hit + mod - shares) % mod
        steps, n_features = max(len(self.weights) - 1, 1), len(circuit.grid.axes)
        found = np.zeros((n_features, len(primes)), dtype=np.uint64)
        for step, weight in enumerate(account.paced(self.weights, at_once=1)):
            kept = np.array([step * pow(steps, -1, q) % q for q in primes], dtype=np.uint64)
            # At most 2**31 + 2**62 before the reduction.
            mixed = (shares + kept * gains) % mod
            scale = [weight.numerator * pow(weight.denominator, -1, q) * self.whole % q for q in primes]
            arrays = (circuit.kinds, circuit.features, circuit.offsets, circuit.children, self.shares.of_arc)
            with interruptible():
                changed = shap_kernels.changes(*arrays, mixed, gains, mod, n_features)
            found = (found + changed * np.array(scale, dtype=np.uint64)) % mod
        return found
