"""Exact SHAP scores on circuits.

The SHAP scores of a function f at v are the Shapley values of the game ``e(S) = E[f(x) | x_S = v_S]``
under the domain's product measure. Let each feature, independently, keep the value of v with
probability q and else be drawn from its measure, and let F(q) be the mean of f. The Shapley value of
feature i is the integral over q, from 0 to 1, of what fixing feature i changes in that mean. On a
deterministic, decomposable circuit the mean is one pass up and all the changes are one pass down, as
polynomials in q of a degree below the number of features; an exact quadrature at as many rational
points integrates them. No polynomial is ever written out and no smoothing is needed; large circuits
are done modulo enough primes. Under constraints features depend on each other; see
:mod:`axfi_kc.scores.shap.conditioned`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import accumulate
from math import lcm, prod
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget, interruptible
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE, Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.modular import combined, n_primes_beyond, primes_not_dividing, shares_modulo
from axfi_kc.circuits.operations import on_grid
from axfi_kc.circuits.queries.counting import Shares, product, shares_of
from axfi_kc.circuits.queries.determinism import require_deterministic
from axfi_kc.circuits.queries.transformations import copied
from axfi_kc.compilers.compiled_model import CompiledModel
from axfi_kc.domain.constraints import check_possible
from axfi_kc.domain.from_tables import one_row
from axfi_kc.domain.measures import Number, exact
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.families.masks import features_of
from axfi_kc.scores.shap.conditioned import PossibleSweep

__all__ = [
    "ResidueSweep",
    "Target",
    "circuits_of",
    "integral_weights",
    "products_of_others",
    "shap_scores",
    "shap_scores_batch",
    "sweep_of",
]


_AT_ONCE = 8  # primes per pass: their residues of one node fill a cache line
Residues = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ResidueSweep:
    """A deterministic circuit made ready for the passes of every instance."""

    # Decomposable and deterministic: a score lies between -1 and 1, which says how many primes are needed.
    circuit: Circuit
    mentioned: tuple[int, ...]  # the features it speaks about
    weights: tuple[Fraction, ...]  # of the quadrature at q = 0, 1/steps, ..., 1
    shares: Shares  # what the cells of each arc are worth
    whole: int  # every score times this is an integer
    primes: list[int]  # whose product exceeds twice that

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
        from axfi_kc.scores.shap import kernels as shap_kernels

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


Target = Form | CompiledModel
_LARGE = 20_000  # edges times features from which compiled code is faster, its loading included


@checked("budget")
def shap_scores(
    target: Target | Mapping[Number, Target], x: Any, *, budget: Budget | None = None
) -> dict[str, Fraction]:
    """Return the SHAP score of each feature at `x`, exactly.

    Parameters
    ----------
    target
        A deterministic, decomposable circuit, or a compiled model: the function is its indicator.
        With the circuit of "the output is similar to that of x" these are the SHAP scores of the
        similarity predicate. Several circuits that exclude each other, as ``{value: circuit}``,
        stand for the function that has this value where the circuit holds and is 0 elsewhere.
    x
        The instance: an array, a Series or a dict.
    budget
        What it may cost, in seconds and bytes.

    Raises
    ------
    CircuitError
        If a circuit is not decomposable over the features, or a point is found that counts twice; under constraints, if
        more than 16 features matter.
    DomainError
        If `x` is not a point of the domain, or not possible.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Edges times features, in operations on exact integers; there is no recursion and no sampling.
    Features that the circuit was conditioned on score 0. Over a domain with constraints the game is
    ``e(S) = E[f(x) | x_S = v_S, x is possible]``, which takes all sets of the features that matter.

    Examples
    --------
    The paper's running example:

    >>> from axfi_kc.compilers.compiled_model import compile_model
    >>> from axfi_kc import Domain, Integer
    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    >>> scores = shap_scores(compile_model(lambda p: int(p in ones), domain), (2, 1, 2))
    >>> scores
    {'x1': Fraction(7, 36), 'x2': Fraction(5, 36), 'x3': Fraction(5, 18)}
    >>> sum(scores.values()) == 1 - Fraction(7, 18)
    True
    """
    parts = circuits_of(target)
    return _scores_of_rows(parts, one_row(x, parts[0][1].grid.domain.features), budget)[0]


def shap_scores_batch(
    target: Target | Mapping[Number, Target], X: Any, *, budget: Budget | None = None
) -> list[dict[str, Fraction]]:
    """Return the SHAP scores at each row of a table; see :func:`shap_scores`. The budget is that of all rows.

    Examples
    --------
    >>> from axfi_kc.compilers.compiled_model import compile_model
    >>> from axfi_kc import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> shap_scores_batch(compile_model(lambda p: p[0] and p[1], domain), [(1, 1), (1, 0)])[1]
    {'a': Fraction(1, 8), 'b': Fraction(-3, 8)}
    """
    return _scores_of_rows(circuits_of(target), X, budget)


_WEIGHTS: dict[int, tuple[Fraction, ...]] = {1: (Fraction(1),)}


def integral_weights(points: int, *, account: Account | None = None) -> tuple[Fraction, ...]:
    """Return the weights that integrate over [0, 1] from values at 0, 1/(points - 1), ..., 1.

    Notes
    -----
    Exact for polynomials of a degree below `points`; quadratic in `points`, and kept.

    Examples
    --------
    Simpson's rule:

    >>> integral_weights(3)
    (Fraction(1, 6), Fraction(2, 3), Fraction(1, 6))
    """
    if points not in _WEIGHTS:
        own = account or Account(None, goal="quadrature")
        # Nodes at 0..points-1 instead of fractions: integers until the very last division.
        whole = _from_roots(range(points))
        _WEIGHTS[points] = tuple(_weight_at(node, whole) for node in own.paced(range(points), at_once=1))
    return _WEIGHTS[points]


def _weight_at(node: int, whole: Sequence[int]) -> Fraction:
    """Return the integral of the polynomial of the nodes, those of `whole`, that is 1 at `node` and 0 at the others."""
    # `common` is a multiple of every k + 1 that the integration divides by.
    others, last, common = _without_root(whole, node), len(whole) - 2, lcm(*range(1, len(whole)))
    at_node = sum(c * node**k for k, c in enumerate(others))
    # The integral from 0 to 1 of p(last * q), term by term.
    total = sum(c * last**k * (common // (k + 1)) for k, c in enumerate(others))
    return Fraction(total, common * at_node)


def _from_roots(roots: Sequence[int]) -> list[int]:
    """Return the coefficients, lowest first, of the monic polynomial with these roots."""
    found = [1]
    for root in roots:
        # Multiplying by (x - root): one shift up, less root times the old coefficients.
        found = [low - root * high for low, high in zip([0, *found], [*found, 0], strict=True)]
    return found


def _without_root(polynomial: Sequence[int], root: int) -> list[int]:
    """Return `polynomial` divided by ``x - root``, which must divide it."""
    # Horner's scheme; its last value, the remainder, is 0 and is not computed.
    return list(accumulate(reversed(polynomial[1:]), lambda above, c: above * root + c))[::-1]


def circuits_of(target: Target | Mapping[Number, Target]) -> list[tuple[Fraction, Circuit]]:
    """Return the values of the function that is meant, each with the circuit of where the function has it."""
    if isinstance(target, Mapping) and not target:
        raise CircuitError("SHAP scores need the circuit of at least one value, but none was given; give one.")
    pairs: list[tuple[Any, Any]] = list(target.items()) if isinstance(target, Mapping) else [(1, target)]
    if any(isinstance(part, CompiledModel) and part.fixed and part.domain.constraints for _, part in pairs):
        raise CircuitError(
            "SHAP scores under constraints need the whole circuit, but this one is conditioned on some features; give "
            "the one it was made of."
        )
    found = [(exact(v, "value"), circuit_in(part)) for v, part in pairs]
    if len(found) > 1 or isinstance(pairs[0][1], Circuit):  # targets keep their promise to be deterministic
        _check_exclusive([circuit for _, circuit in found])
    return found


_CHECKED = Budget(nodes=100_000)  # steps to find a point that is counted twice


def _check_exclusive(circuits: Sequence[Circuit]) -> None:
    """Raise if a point is seen to satisfy two circuits, or two parts of a disjunction."""
    grid = reduce(lambda made, circuit: made.refined(circuit.grid), circuits, circuits[0].grid)
    build = CircuitBuilder(grid)
    roots = [root for c in circuits if (root := copied(on_grid(c, grid), build, None)) != build.false]
    whole = build.circuit(build.disjunction(roots))
    found = queries.determinism(circuits[0] if len(circuits) == 1 else whole, budget=_CHECKED)
    for circuit in circuits if found.verdict == "unchecked" else ():
        require_deterministic(circuit, "counting")  # which warns where one alone is not proved
    # Two circuits that are the same node leave nothing to search for.
    if found.verdict == "refuted" or len(set(roots)) < len(roots):
        cells = found.witness or next(queries.cell_models(whole))
        point = ", ".join(axis.describe([c]) for axis, c in zip(grid.axes, cells, strict=True))
        raise CircuitError(
            f"SHAP scores need circuits, and parts of disjunctions, that exclude each other, but two hold where "
            f"{point[:120]}; make them disjoint, or compile their disjunction into a target."
        )


def _scores_of_rows(
    parts: Sequence[tuple[Fraction, Circuit]], rows: Any, budget: Budget | None
) -> list[dict[str, Fraction]]:
    account = Account(budget, goal="SHAP scores", advice="allow more, or give a smaller circuit")
    domain = parts[0][1].grid.domain
    if domain.distribution is not None:
        raise DomainError(
            "SHAP scores of a circuit are those of independent features, but the domain has a joint distribution, "
            "under which they are hard to compute; give domain.with_distribution(None)."
        )
    codes = domain.encode(rows)
    check_possible(domain, codes)
    totals = [[Fraction(0)] * len(domain) for _ in codes]
    # Shapley values are linear in the function, so those of the parts add up.
    for factor, circuit in parts:
        sweep = sweep_of(circuit, account)
        for total, cells in zip(totals, circuit.grid.locate(codes).tolist(), strict=True):
            for i, score in sweep.scores(cells, account).items():
                total[i] += factor * score
    return [dict(zip(domain.names, total, strict=True)) for total in totals]


def sweep_of(circuit: Circuit, account: Account) -> _Sweep | ResidueSweep | PossibleSweep:
    """Return the passes that suit the circuit: large ones by residues, as compiled code."""
    if circuit.grid.domain.constraints:
        return PossibleSweep(circuit, account)
    if not queries.is_decomposable(circuit):
        raise CircuitError(
            "SHAP scores need a circuit in which no conjunction and no decision meets a feature twice, but this "
            "one has such a node; convert it to an ordered diagram first."
        )
    mentioned = tuple(sorted({i for i in circuit.features.tolist() if i >= 0}))
    # Below this, loading compiled code takes longer than Python's own integers do.
    if not mentioned or len(circuit.children) * len(mentioned) < _LARGE:
        return _Sweep.of(circuit, account)
    return ResidueSweep.of(circuit, mentioned, integral_weights(len(mentioned), account=account))


@dataclass(frozen=True, slots=True)
class _Arc:
    """An arc with what does not depend on the instance, in integers."""

    child: int  # where it leads
    cells: frozenset[int]  # of a decision: the cells that lead there
    share: int  # of a decision: their probability, over the denominator of the feature
    lift: int  # the whole worth of the features that the node mentions and the child does not


@dataclass(frozen=True, slots=True, eq=False)
class _Sweep:
    """A circuit made ready for the passes of every instance.

    The value of a node is an integer over the product of ``steps * denominator`` of the features
    it mentions, where q runs over 0, 1/steps, ..., 1.
    """

    kinds: list[int]
    features: list[int]
    arcs: list[tuple[_Arc, ...]]
    denominators: list[int]
    mentioned: tuple[int, ...]
    steps: int
    weights: tuple[Fraction, ...]

    @classmethod
    def of(cls, circuit: Circuit, account: Account) -> _Sweep:
        scope = queries.scopes(circuit, account=account)
        mentioned = features_of(scope[circuit.root])
        steps = max(len(mentioned) - 1, 1)
        denominators = [axis.denominator for axis in circuit.grid.axes]
        # A feature that a child does not mention contributes its whole, the steps of q included.
        lifts = cache(lambda missing: prod(steps * denominators[i] for i in features_of(missing)))
        features = circuit.features.tolist()
        sets = {cells: frozenset(cells) for cells in circuit.cell_sets}
        arcs = [_arcs(circuit, node, scope, lifts, sets) for node in account.paced(range(len(features)))]
        weights = integral_weights(max(len(mentioned), 1), account=account)
        return cls(circuit.kinds.tolist(), features, arcs, denominators, mentioned, steps, weights)

    def scores(self, cells: Sequence[int], account: Account) -> dict[int, Fraction]:
        """Return the scores of the mentioned features at the point with these cells."""
        hits = [
            [cells[i] in arc.cells for arc in arcs] if i >= 0 else []
            for i, arcs in zip(self.features, self.arcs, strict=True)
        ]
        common = lcm(*(w.denominator for w in self.weights))
        totals = dict.fromkeys(self.mentioned, 0)
        for step, weight in enumerate(account.paced(self.weights, at_once=1)):
            factors = self._factors(hits, step)
            values = self._up(factors)
            integer = weight.numerator * (common // weight.denominator)
            for i, change in self._down(factors, values, hits).items():
                totals[i] += integer * change
        whole = common * prod(self.steps * self.denominators[i] for i in self.mentioned)
        # The fixed feature's own factor has no q in it, so its steps were divided by once too often.
        return {i: Fraction(total * self.steps, whole) for i, total in totals.items()}

    def _factors(self, hits: Sequence[Sequence[bool]], step: int) -> list[list[int]]:
        """Return what each arc multiplies the child's value by: the mixed probability, lifted."""
        drawn = self.steps - step
        found = []
        for i, arcs, hit in zip(self.features, self.arcs, hits, strict=True):
            if i >= 0:
                kept = step * self.denominators[i]
                # Over steps * denominator: drawn with probability (steps - step) / steps, else kept as it is.
                found.append([(drawn * a.share + kept * h) * a.lift for a, h in zip(arcs, hit, strict=True)])
            else:
                found.append([a.lift for a in arcs])
        return found

    def _up(self, factors: Sequence[Sequence[int]]) -> list[int]:
        values: list[int] = []
        for kind, arcs, factor in zip(self.kinds, self.arcs, factors, strict=True):
            if kind in (DECISION, OR):
                values.append(sum(values[a.child] * f for a, f in zip(arcs, factor, strict=True)))
            elif kind == AND:
                values.append(prod(values[a.child] for a in arcs))
            else:
                values.append(int(kind == TRUE))
        return values

    def _down(
        self, factors: Sequence[Sequence[int]], values: Sequence[int], hits: Sequence[Sequence[bool]]
    ) -> dict[int, int]:
        """Return for each feature the change of the mean when it is fixed instead of drawn.

        The mean is linear in each node's value; `rates` are the derivatives.
        """
        rates = [0] * len(values)
        rates[-1] = 1
        changes = dict.fromkeys(self.mentioned, 0)
        for node in range(len(values) - 1, -1, -1):
            rate, arcs = rates[node], self.arcs[node]
            # A rate of 0 passes nothing on, and whole parts of the circuit are skipped.
            if not rate or not arcs:
                continue
            # The derivative of a product by one factor is the product of the others.
            outgoing = products_of_others([values[a.child] for a in arcs]) if self.kinds[node] == AND else factors[node]
            for arc, factor in zip(arcs, outgoing, strict=True):
                rates[arc.child] += rate * factor
            i = self.features[node]
            if i >= 0:
                whole = self.denominators[i]
                pairs = zip(arcs, hits[node], strict=True)
                # Kept less drawn, both over the feature's denominator.
                changes[i] += rate * sum((whole * h - a.share) * a.lift * values[a.child] for a, h in pairs)
        return changes


def _arcs(
    circuit: Circuit,
    node: int,
    scope: Sequence[int],
    lifts: Callable[[int], int],
    sets: Mapping[tuple[int, ...], frozenset[int]],
) -> tuple[_Arc, ...]:
    i, mentioned = int(circuit.features[node]), scope[node]
    if i < 0:
        wanted = 0 if circuit.kinds[node] == AND else mentioned  # a conjunction multiplies, and lifts nothing
        return tuple(_Arc(c, frozenset(), 0, lifts(wanted & ~scope[c])) for _, c in circuit.arcs(node))
    # The decision's own feature is accounted for by the share.
    numerators, rest = circuit.grid.axes[i].numerators, mentioned & ~(1 << i)
    return tuple(
        _Arc(child, sets[cells], sum(numerators[c] for c in cells), lifts(rest & ~scope[child]))
        for cells, child in circuit.arcs(node)
    )


def products_of_others(values: Sequence[int]) -> list[int]:
    """Return for each position the product of the values at all others.

    Examples
    --------
    >>> products_of_others([2, 3, 5]), products_of_others([])
    ([15, 10, 6], [])
    """
    if not values:
        return []
    # Prefixes times suffixes instead of a division: a value may be 0.
    before = list(accumulate(values[:-1], mul, initial=1))
    after = list(accumulate(reversed(values[1:]), mul, initial=1))[::-1]
    return [a * b for a, b in zip(before, after, strict=True)]
