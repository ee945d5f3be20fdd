"""Entropy, Kullback-Leibler divergence and mutual information of circuits and of structured probabilistic circuits.

Logarithms are no fractions. But each of these quantities is a sum of logarithms of a circuit's parameters, and how
often each one is used is expected is a fraction that two passes give exactly; only in the end are logarithms taken, and
the result is an interval that certainly holds the exact value, some 10**-38 wide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from axfi_kc.arguments import checked, wholes
from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.psdd_pairs import (
    account_of_pairs,
    expected_uses,
    require_deterministic,
    require_same_vtree,
    shared_uses,
)
from axfi_kc.circuits.queries.counting import weighted_count
from axfi_kc.circuits.queries.marginals import Worths, integer_worths, marginals, totals_of
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.circuits.targets.mdd import mdd_of
from axfi_kc.domain.distribution import Distribution
from axfi_kc.domain.logarithms import INFINITE, Interval, log_sum
from axfi_kc.errors import CircuitError, DomainError

__all__ = ["divergence", "entropy", "mutual_information"]


_MOST_COMBINATIONS = 100_000
Term = tuple[Fraction | int, Fraction | int]


@checked("worths", "base", "budget")
def entropy(
    source: Form | Psdd, worths: Worths = None, *, base: float = math.e, budget: Budget | None = None
) -> Interval:
    """Return the entropy of a point of a circuit, or of a structured probabilistic circuit.

    Parameters
    ----------
    source
        A deterministic, decomposable circuit: its points, in proportion to the product of what their cells are worth.
        Or a PSDD whose elements exclude each other.
    worths
        For a circuit, as in :func:`~axfi_kc.circuits.queries.marginals`; cells, not the values in them, are told apart.
    base
        ``math.e`` for nats, 2 for bits.
    budget
        What it may cost.

    Returns
    -------
    Interval
        In which the entropy certainly lies; ``float()`` of it is right to the last place or so.

    Raises
    ------
    CircuitError
        If no point has a worth, a PSDD is not deterministic, or gives bit vectors a probability that are no codes.

    Notes
    -----
    Two passes. For a circuit: the logarithm of the total, less the expected logarithm of a point's worth, which only
    needs the marginals. For a PSDD: the expected number of times each parameter is used.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"])))
    >>> float(entropy(build.circuit(build.literal(0, [1])), base=2))
    2.0
    """
    if isinstance(source, Psdd):
        _require_codes(source)
        account = account_of_pairs(budget)
        require_deterministic(source, account=account)
        return log_sum(((-n, p) for p, n in expected_uses(source, account=account)), base=base, least=0)
    return log_sum(_own_terms(circuit_in(source), worths, Watch(budget)), base=base, least=0)


def _own_terms(circuit: Circuit, worths: Worths, watch: Watch) -> list[Term]:
    """Return the entropy of a circuit's points as factors of logarithms."""
    rows, _ = integer_worths(circuit, worths)
    total = totals_of(circuit, worths, account=account_of(watch.rest())).root
    found = marginals(circuit, worths, budget=watch.rest())
    return [(1, total), *((-p, w) for p, w in _paired(found, rows))]


def _paired(found: Iterable[Sequence[Fraction]], rows: Iterable[Sequence[int]]) -> Iterator[tuple[Fraction, int]]:
    for chances, row in zip(found, rows, strict=True):
        yield from zip(chances, row, strict=True)


@checked("worths", "other_worths", "base", "budget")
def divergence(
    p: Form | Psdd,
    q: Form | Psdd,
    worths: Worths = None,
    *,
    other_worths: Worths = None,
    base: float = math.e,
    budget: Budget | None = None,
) -> Interval:
    """Return the Kullback-Leibler divergence of q from p: how much longer codes made for q are for points of p.

    Parameters
    ----------
    p, q
        Two circuits or targets over the same cells, or two PSDDs over one vtree whose elements exclude each other.
    worths, other_worths
        For circuits, as in :func:`entropy`, of `p` and of `q`.
    base
        ``math.e`` for nats, 2 for bits.
    budget
        What it may cost.

    Returns
    -------
    Interval
        In which the divergence certainly lies; infinite if some point of `p` is none of `q`.

    Raises
    ------
    CircuitError
        If the two have no grid or vtree in common, or one is not as :func:`entropy` wants it.

    Notes
    -----
    PSDDs: all pairs of their nodes, at worst. Circuits: the marginals of `p`, and to see that its points are points of
    `q` the conjunction of the two as ordered diagrams, which is polynomial if they have one order.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"])))
    >>> a, everything = build.circuit(build.literal(0, [1])), build.circuit(build.true)
    >>> float(divergence(a, everything, base=2)), float(divergence(everything, a))
    (1.0, inf)
    """
    if isinstance(p, Psdd) and isinstance(q, Psdd):
        return _psdd_divergence(p, q, base, account_of_pairs(budget))
    mine, theirs = (s if isinstance(s, Psdd) else circuit_in(s) for s in (p, q))
    if isinstance(mine, Psdd) or isinstance(theirs, Psdd) or not mine.grid.is_like(theirs.grid):
        raise CircuitError(
            "A divergence is between two circuits over one grid or two PSDDs over one vtree, but others were given; "
            "build both over the same."
        )
    watch = Watch(budget)
    own, (rows, _) = _own_terms(mine, worths, watch), integer_worths(theirs, other_worths)
    if not _is_within(mine, theirs, worths, other_worths, watch):
        return INFINITE
    total = totals_of(theirs, other_worths, account=account_of(watch.rest())).root
    cross = [(-chance, w) for chance, w in _paired(marginals(mine, worths, budget=watch.rest()), rows)]
    return log_sum([(1, total), *cross, *((-factor, number) for factor, number in own)], base=base, least=0)


def _is_within(p: Circuit, q: Circuit, worths: Worths, other_worths: Worths, watch: Watch) -> bool:
    """Tell whether each point of p that is worth something is one of q that is."""
    mine, theirs = integer_worths(p, worths)[0], integer_worths(q, other_worths)[0]
    both = mdd_of(p, budget=watch.rest())
    joined = both.conjoin(mdd_of(q, order=both.order, budget=watch.rest()), budget=watch.rest()).circuit
    flags = [[int(w > 0) for w in row] for row in mine]
    kept = [[a * int(w > 0) for a, w in zip(row, other, strict=True)] for row, other in zip(flags, theirs, strict=True)]
    return weighted_count(p, flags, budget=watch.rest()) == weighted_count(joined, kept, budget=watch.rest())


def _psdd_divergence(p: Psdd, q: Psdd, base: float, account: Account) -> Interval:
    require_same_vtree(p, q)
    _require_codes(p)
    require_deterministic(p, account=account)
    require_deterministic(q, account=account)
    cross = shared_uses(p, q, account=account)
    if cross is None:
        return INFINITE
    # What q gives to codes of points is less than 1 where it gives the rest to bit vectors that are none.
    valid = q.code_probability
    terms: list[Term] = [
        *((n, chance) for chance, n in expected_uses(p, account=account)),
        *((-n, chance) for chance, n in cross),
        (1, valid),
    ]
    return log_sum(terms, base=base, least=0)


def _require_codes(psdd: Psdd) -> None:
    if psdd.code_probability != 1:
        raise CircuitError(
            "Entropies are of PSDDs whose bit vectors are all codes of points, but this one gives others a probability "
            f"of {float(1 - psdd.code_probability):.3g}; condition it on the codes, or describe binary features."
        )


@checked("features", "others", "worths", "base", "budget")
def mutual_information(
    source: Form | Distribution,
    features: Sequence[int],
    others: Sequence[int],
    worths: Worths = None,
    *,
    base: float = math.e,
    budget: Budget | None = None,
) -> Interval:
    """Return the mutual information of two sets of features: what knowing one tells about the other.

    Parameters
    ----------
    source
        A deterministic, decomposable circuit; or any joint distribution: a PSDD, a tree, a network, a mixture.
    features, others
        Features by their numbers; no feature may be in both.
    worths
        For a circuit, as in :func:`entropy`.
    base
        ``math.e`` for nats, 2 for bits.
    budget
        What it may cost.

    Returns
    -------
    Interval
        In which the mutual information certainly lies.

    Raises
    ------
    CircuitError
        If the sets are empty, overlap, or have too many combinations of values.

    Notes
    -----
    A pass for each combination of values of all these features.

    Examples
    --------
    Of two bits that are equal, one tells all about the other:

    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "ab"])))
    >>> same = build.circuit(build.decision(0, [([c], build.literal(1, [c])) for c in (0, 1)]))
    >>> float(mutual_information(same, [0], [1], base=2))
    1.0
    """
    if not isinstance(source, Distribution):
        source = circuit_in(source)
    sizes = [a.n_cells for a in source.grid.axes] if isinstance(source, Circuit) else [s.size for s in source.states]
    both = wholes([*features, *others], "the features", below=len(sizes))
    if not len(features) or not len(others) or len(set(both)) < len(both):
        raise CircuitError(
            f"Mutual information is between two sets of features from 0 to {len(sizes) - 1} that have none in common, "
            f"but {list(features)} and {list(others)} were given; correct them."
        )
    if math.prod(sizes[i] for i in both) > _MOST_COMBINATIONS:
        raise CircuitError(
            f"These features have more than {_MOST_COMBINATIONS} combinations of values; ask about fewer of them."
        )
    table = _table(source, both, sizes, worths, Watch(budget))
    return log_sum(_information_terms(table, len(features)), base=base, least=0)


def _table(source: Any, both: Sequence[int], sizes: Sequence[int], worths: Worths, watch: Watch) -> dict[Any, Fraction]:
    """Return the probability of each combination of values of some features."""
    combinations = itertools.product(*(range(sizes[i]) for i in both))
    if not isinstance(source, Circuit):
        account = account_of(watch.rest())
        passed = account.paced(combinations, at_once=1)
        return {key: source.probability(dict(zip(both, key, strict=True))) for key in passed}
    rows, _ = integer_worths(source, worths)
    found = {}
    for key in combinations:
        at = dict(zip(both, key, strict=True))
        one = [[w if at.get(i, c) == c else 0 for c, w in enumerate(row)] for i, row in enumerate(rows)]
        is_set = all(at.get(i, c) == c for i, c in source.grid.fixed)
        found[key] = weighted_count(source, one, budget=watch.rest()) if is_set else Fraction(0)
    total = sum(found.values())
    if not total:
        raise DomainError(
            "Information is about points with a worth, but none satisfies the circuit; take other worths."
        )
    return {key: weight / total for key, weight in found.items()}


def _information_terms(table: dict[Any, Fraction], split: int) -> Iterator[Term]:
    first: dict[Any, Fraction] = {}
    second: dict[Any, Fraction] = {}
    for key, chance in table.items():
        first[key[:split]] = first.get(key[:split], Fraction(0)) + chance
        second[key[split:]] = second.get(key[split:], Fraction(0)) + chance
    yield from ((chance, chance) for chance in table.values())
    for part in (first, second):
        yield from ((-chance, chance) for chance in part.values())
