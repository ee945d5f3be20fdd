"""Exact counts, weighted counts and probabilities, in integers.

The value of a node is its total divided by the whole worth of the features below it. Conjunctions
then multiply and disjunctions add, whichever features a child mentions, and no scope is kept. Values
are written N / D**e for one D that all features' wholes divide, and forgotten after the last parent;
large circuits are done modulo enough primes, put together at the end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_listable, quoted, wholes
from axfi_kc.budget import Account, Budget, interruptible, paced
from axfi_kc.circuits.circuit import Circuit, Form, arc_owners, circuit_in
from axfi_kc.circuits.modular import combined, n_primes_beyond, primes_not_dividing, shares_modulo
from axfi_kc.circuits.operand import Operand
from axfi_kc.circuits.queries.determinism import note_recount, require_deterministic
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.circuits.queries.recounting import recount
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.domain.measures import Number, exact
from axfi_kc.errors import CircuitError

__all__ = [
    "N_BITS",
    "Counted",
    "Shares",
    "count",
    "is_implicant",
    "is_valid",
    "point_worths",
    "probability",
    "product",
    "residue_total",
    "scaled_worths",
    "shares_of",
    "weighted_count",
]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The distinct shares of a circuit's arcs.

    Attributes
    ----------
    of_arc
        For each arc of a decision the position of its share; 0 elsewhere.
    places
        The feature and the label of each share; (-1, -1) for that of gates.
    worths, wholes
        A share is ``worths[k] / wholes[k]``: the worth of the arc's cells in that of all cells.
    """

    of_arc: npt.NDArray[np.int32]
    places: list[tuple[int, int]]
    worths: list[int]
    wholes: list[int]


def shares_of(circuit: Circuit, worths: Sequence[Sequence[int]], wholes: Sequence[int]) -> Shares:
    """Return the shares under integer worths per cell of each feature, `wholes` being their sums.

    Notes
    -----
    Linear in the circuit; each pair of a feature and a set of cells is added up once.
    """
    n_sets = len(circuit.cell_sets) + 1
    feature = circuit.features[arc_owners(circuit)].astype(np.int64)
    keys = np.where(feature >= 0, feature * n_sets + circuit.labels, -1)
    distinct, of_arc = np.unique(keys, return_inverse=True)
    found = Shares(of_arc.astype(np.int32), [], [], [])
    for key in distinct.tolist():
        i, label = divmod(key, n_sets) if key >= 0 else (-1, -1)
        found.places.append((i, label))
        found.worths.append(sum([worths[i][c] for c in circuit.cell_sets[label]]) if key >= 0 else 0)
        found.wholes.append(wholes[i] if key >= 0 else 1)
    return found


def product(factors: Iterable[int]) -> int:
    """Return the product of many integers, equal ones by powers and the rest in pairs.

    Examples
    --------
    >>> product([2] * 10 + [3, 5])
    15360
    """
    parts = [f**k for f, k in Counter(factors).items()]
    while len(parts) > 1:
        parts = [a * b for a, b in zip(parts[::2], [*parts[1::2], 1], strict=False)]
    return parts[0] if parts else 1


N_BITS = 30  # what each prime adds at least
_AT_ONCE = 8  # primes per pass: their residues of one node fill half a cache line


def residue_total(circuit: Circuit, shares: Shares, whole: int, *, account: Account) -> int | None:
    """Return the total of the circuit, a non-negative integer; None if no useful bound for it is found.

    Parameters
    ----------
    circuit
        Decomposable; where it is not deterministic, points count as often as they occur.
    shares
        What the cells of each arc are worth.
    whole
        The product of the features' whole worths.

    Notes
    -----
    Linear in the circuit for each prime, and a prime per 30 bits of the result.
    """
    from axfi_kc.circuits.queries import counting_kernels as kernels

    arrays = (circuit.kinds, circuit.offsets, circuit.children, shares.of_arc)
    # The value may exceed 1 where points count repeatedly, and too few primes would fold it to a plausible number.
    # Integer division is rounded correctly, so one float up is above the true share.
    upper = [math.nextafter(w / d, math.inf) for w, d in zip(shares.worths, shares.wholes, strict=True)]
    bound = float(kernels.upper_bound(*arrays, np.array(upper, dtype=np.float64)))
    if not bound < 2.0**1000:
        return None
    # whole < 2**bit_length and bound < 2**exponent, so the total is below 2**bits and its residues determine it.
    bits = whole.bit_length() + max(0, math.frexp(bound)[1])
    needed = n_primes_beyond(1 << bits)
    primes = primes_not_dividing(shares.wholes, count=needed)
    found: list[int] = []
    for first in account.paced(range(0, needed, _AT_ONCE), at_once=1):
        some = primes[first : first + _AT_ONCE]
        mod = np.array(some, dtype=np.uint64)
        with interruptible():
            found += kernels.residues(*arrays, shares_modulo(shares.worths, shares.wholes, some), mod).tolist()
    # Recombination gives back integers only: the value is a fraction, times the whole it is the total.
    return combined([r * (whole % q) % q for r, q in zip(found, primes, strict=True)], primes)


_LONG = 1_000  # bits of a base from which each node takes a while
_FEW_ARCS = 20_000  # below this, loading the kernels costs more than they save


@checked("fixed", "check", "budget")
def count(circuit: Form, *, fixed: Collection[int] = (), check: bool = False, budget: Budget | None = None) -> int:
    """Return the number of points that satisfy a deterministic, decomposable circuit.

    Parameters
    ----------
    circuit
        Whose points are counted.
    fixed
        Further features that take one value; those that the circuit was conditioned on do anyway.
    check
        Count again another way, which does not rely on the circuit's properties.
    budget
        What it may cost; its nodes are steps of the second count, by default a million of them.

    Raises
    ------
    CircuitError
        If a feature is real: then points are uncountable; ask for the probability. If the circuit is
        not decomposable, or points are seen to be counted twice.

    Warns
    -----
    AxfiWarning
        If it is neither proved nor refuted that points are counted once; once for each circuit.

    Notes
    -----
    Linear in the circuit, in arithmetic operations on exact integers. Decomposability is always
    checked. Determinism is checked before the first count, by literals and a short search: a circuit that they refute
    is refused, and where they leave it open, a warning says so once. With `check` set the circuit is counted a second
    way instead, which may take exponential time.
    """
    circuit = circuit_in(circuit)
    worths = point_worths(circuit, fixed)
    tested = set(circuit.features.tolist()).intersection(fixed) if len(fixed) else ()
    if tested:
        raise CircuitError(
            f"Features that are fixed are tested no more, but "
            f"this circuit tests {quoted(sorted(tested))}; condition it."
        )
    account = _account(budget)
    found = _total(circuit, worths, account, trusted=check)
    if check:
        again = recount(circuit, worths, budget=None if budget is None else account.rest())
        note_recount(circuit, agrees=again == found)
        if again != found:
            require_deterministic(circuit, "counting")  # which refuses it now
    return found


class Counted(Operand, ABC):
    """A target that is counted on its circuit, which is deterministic and decomposable."""

    __slots__ = ()

    @abstractmethod
    def to_circuit(self) -> Circuit:
        """Return the points as a circuit over cells."""

    @checked("budget")
    def count(self, *, budget: Budget | None = None) -> int:
        """Return the number of points of the domain; see :func:`axfi_kc.circuits.queries.count`."""
        return count(self.to_circuit(), budget=budget)

    @checked("budget")
    def probability(self, *, budget: Budget | None = None) -> Fraction:
        """Return the probability under the domain's measure; see :func:`axfi_kc.circuits.queries.probability`."""
        return probability(self.to_circuit(), budget=budget)


@checked("budget")
def is_valid(circuit: Form, *, budget: Budget | None = None) -> bool:
    """Tell whether every point satisfies a deterministic, decomposable circuit.

    Notes
    -----
    Linear: all cell vectors are counted, those of measure zero included.
    """
    return is_implicant(circuit, {}, budget=budget)


@checked("term", "budget")
def is_implicant(circuit: Form, term: Mapping[int, Collection[int]], *, budget: Budget | None = None) -> bool:
    """Tell whether every point of a box, ``{feature: cells}``, satisfies a deterministic, decomposable circuit.

    Notes
    -----
    Linear: the cell vectors of the box that satisfy the circuit are counted.
    """
    circuit = circuit_in(circuit)
    rows = [[1] * n for n in circuit.grid.n_cells]
    for i, cells in circuit.grid.box(term).items():
        rows[i] = [int(c in cells) for c in range(len(rows[i]))]
    return _total(circuit, rows, _account(budget)) == product([sum(row) for row in rows])


def point_worths(circuit: Circuit, fixed: Collection[int] = ()) -> list[Sequence[int]]:
    """Return the number of values in each cell of each feature; one for features that are fixed."""
    worths: list[Sequence[int]] = []
    own = wholes(fixed, "the fixed features", below=len(circuit.grid.axes))
    known = {*own, *(i for i, _ in circuit.grid.fixed)}
    for i, axis in enumerate(circuit.grid.axes):
        if i in known:
            worths.append((1,))
        elif axis.counts is not None:
            worths.append(axis.counts)
        else:
            raise CircuitError(
                f"Points are counted over integer and categorical features, but {axis.feature.name!r} is real; "
                "ask for the probability instead."
            )
    return worths


@checked("budget")
def probability(circuit: Form, *, budget: Budget | None = None) -> Fraction:
    """Return the probability of a deterministic, decomposable circuit under the measures of its features.

    Features are independent here; under a joint distribution of the domain ask ``compile_model(...).probability()``.

    Notes
    -----
    Linear in the circuit, in arithmetic operations on exact integers.
    """
    circuit = circuit_in(circuit)
    numerators = [axis.numerators for axis in circuit.grid.axes]
    denominators = [axis.denominator for axis in circuit.grid.axes]
    return Fraction(*_ratio(circuit, numerators, denominators, _account(budget)))


@checked("worths", "budget")
def weighted_count(circuit: Form, worths: Sequence[Sequence[Number]], *, budget: Budget | None = None) -> Fraction:
    """Return the sum, over the satisfying cell vectors, of the product of the cells' worths.

    Parameters
    ----------
    circuit
        Deterministic and decomposable.
    worths
        For each feature a number per cell, not negative; floats are taken exactly. Features that the circuit was
        conditioned on are no part of the products.

    Raises
    ------
    CircuitError
        If the worths do not fit the cells, or one is negative.

    Notes
    -----
    Linear in the circuit, in arithmetic operations on exact integers.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> weighted_count(build.circuit(build.literal(0, [1, 2])), [[1, 2, Fraction(1, 2)], [3, 4]])
    Fraction(35, 2)
    """
    circuit = circuit_in(circuit)
    account = _account(budget)
    scaled, scales = scaled_worths(circuit, worths, account)
    return Fraction(_total(circuit, scaled, account), product(scales))


def scaled_worths(
    circuit: Circuit, worths: Sequence[Sequence[Number]], account: Account | None = None
) -> tuple[list[list[int]], list[int]]:
    """Return worths as integers, and what the numbers of each feature were multiplied by.

    Raises
    ------
    CircuitError
        If the worths do not fit the cells, or one is negative.
    """
    given = [[exact(w, "worth") for w in row] if is_listable(row) else [] for row in paced(worths, account)]
    if [len(row) for row in given] != list(circuit.grid.n_cells) or any(w < 0 for row in given for w in row):
        raise CircuitError(
            f"Worths are numbers >= 0, one per cell of each feature, but {quoted(worths)} was given; "
            f"give rows of {str(circuit.grid.n_cells)[:60]} numbers."
        )
    for i, _ in circuit.grid.fixed:
        given[i] = [Fraction(1)]
    scales = [math.lcm(*(w.denominator for w in row)) for row in given]
    return [[int(w * s) for w in row] for row, s in paced(zip(given, scales, strict=True), account)], scales


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="count", advice="allow more")


def _total(circuit: Circuit, worths: Sequence[Sequence[int]], account: Account, *, trusted: bool = False) -> int:
    """Return the sum, over all satisfying cell vectors, of the product of cell worths."""
    wholes = [sum(row) for row in worths]
    # A feature whose cells are all worth nothing makes every product 0, and its shares would divide by 0.
    if not all(wholes):
        return 0
    numerator, denominator = _ratio(circuit, worths, wholes, account, trusted=trusted)
    return numerator * product(wholes) // denominator


def _ratio(
    circuit: Circuit,
    worths: Sequence[Sequence[int]],
    wholes: Sequence[int],
    account: Account,
    *,
    trusted: bool = False,
) -> tuple[int, int]:
    """Return the total relative to the product of the wholes, as a fraction that may be reducible."""
    require_decomposable(circuit, "counting")
    if not trusted:
        require_deterministic(circuit, "counting")
    shares = shares_of(circuit, worths, wholes)
    base = math.lcm(*set(shares.wholes))
    found = None
    if _residues_pay(circuit, base.bit_length(), sum(w.bit_length() for w in wholes)):
        whole = product(wholes)
        total = residue_total(circuit, shares, whole, account=account)
        found = None if total is None else (total, whole)
    numerator, denominator = found or _Pass(circuit, shares, base).ratio(account)
    # More than the whole proves that a point is counted twice. No more proves nothing: `check` recounts for that.
    if numerator > denominator:
        raise refusal("counting", "a deterministic circuit, but this one has points that are counted more than once")
    return numerator, denominator


def _residues_pay(circuit: Circuit, base_bits: int, bits: int) -> bool:
    """Tell which way is faster, from times of arcs on one machine: 5 ns per prime against 0.6 us and its digits."""
    longest = min(base_bits * len(circuit.grid.axes), base_bits * len(circuit.kinds))
    return len(circuit.children) > _FEW_ARCS and 5 * bits / N_BITS < 600 + longest / 100


_Value = tuple[int, int]  # a numerator, and the exponent of the base that is its denominator


class _Pass:
    """One pass over a circuit in Python integers: the value of a node is ``numerator / base**exponent``."""

    def __init__(self, circuit: Circuit, shares: Shares, base: int) -> None:
        self._circuit = circuit
        self._base = base
        self._twos = base.bit_length() - 1 if base & (base - 1) == 0 else 0
        self._powers: dict[int, int] = {}
        scaled = [w * (base // d) for w, d in zip(shares.worths, shares.wholes, strict=True)]
        self._weights = dict(zip(shares.places, scaled, strict=True))

    def ratio(self, account: Account) -> tuple[int, int]:
        """Return the root's value as a fraction that may be reducible."""
        numerator, exponent = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda below: (math.prod([v for v, _ in below]), sum([e for _, e in below])),
            disjunction=self._sum,
            false=(0, 0),
            true=(1, 0),
            account=account,
            at_once=1 if self._base.bit_length() > _LONG else 16,
            # A value's digits grow with the features below it, so keeping all values would take nodes times features.
            forget=True,
        )[-1]
        return numerator, self._base**exponent

    def _decision(self, feature: int, labels: list[int], below: list[_Value]) -> _Value:
        weights = self._weights
        total, exponent = self._sum([(weights[feature, k] * v, e) for k, (v, e) in zip(labels, below, strict=True)])
        return total, exponent + 1

    def _sum(self, values: list[_Value]) -> _Value:
        """Return the sum over the largest of the values' powers."""
        highest = max([e for _, e in values])
        return sum([v if e == highest else self._lifted(v, highest - e) for v, e in values]), highest

    def _lifted(self, value: int, power: int) -> int:
        if self._twos or self._base == 1:
            return value << self._twos * power
        factor = self._powers.get(power)
        if factor is None:
            factor = self._powers[power] = self._base**power
        return value * factor
