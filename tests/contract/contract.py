"""What every target promises, as one class; a target's tests are a subclass with its name and its options."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb
from random import Random
from typing import Any, ClassVar

import pytest

from axfi_kc import Domain, Integer
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Size
from axfi_kc.circuits.targets import TARGETS, Closed, Target, target_of
from axfi_kc.compilers.linear_diagrams import compile_linear
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError
from axfi_kc.models import LinearModel, Positive
from tests.support.circuits import Points, cell_vectors, counted, points, table_circuit, weighed

Options = dict[str, Any]

BITS = Domain([Integer(f"x{i}", 0, 1, weights=[i + 1, 2]) for i in range(3)])
TWO_BITS = Domain([Integer(f"x{i}", 0, 1, weights=[i + 1, 2]) for i in range(2)])
THREE_BY_TWO = Domain([Integer("a", 0, 2, weights=[1, 2, 4]), Integer("b", 0, 1, weights=[3, 5])])
HUGE = ((220, 0, 1, 110), (90, 1, 6, 315))  # a majority of 220 bits; the sum of 90 dice


def tables(domain: Domain) -> Iterator[tuple[tuple[int, ...], Points]]:
    """Return every function into {0, 1}, as a table and as its points."""
    for table in product((0, 1), repeat=domain.size):
        yield table, {x for x, y in zip(domain.points(), table, strict=True) if y}


@cache
def gates(domain: Domain, table: tuple[int, ...]) -> Circuit:
    """Return the points of a table as a disjunction of conjunctions: neither small nor ordered."""
    build = CircuitBuilder(_grid(domain))
    minterms = [
        build.conjunction([build.literal(i, [c]) for i, c in enumerate(x)])
        for x, y in zip(cell_vectors(_grid(domain)), table, strict=True)
        if y
    ]
    return build.circuit(build.disjunction(minterms))


@cache
def _grid(domain: Domain) -> Grid:
    return Grid.of_values(domain)


def resolved(options: Options, domain: Domain) -> Options:
    """Return options with orders and vtrees made for a domain."""
    names, numbers = domain.names, range(len(domain.features))
    made: dict[str, Any] = {"reversed": list(reversed(numbers)), "left": names[0]}
    for name in names[1:]:
        made["left"] = (made["left"], name)
    return {k: made[v] if isinstance(v, str) and v in made else v for k, v in options.items()}


def linear(n: int, low: int, high: int, bound: int) -> Circuit:
    """Return "n values from `low` to `high` add up to more than `bound`"."""
    domain = Domain([Integer(f"x{i}", low, high) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[-bound], rule=Positive((0, 1)))
    return compile_linear(model, lambda y: y == 1)


def ways(n: int, low: int, high: int, bound: int) -> int:
    """Return the same number from the coefficients of (x^low + ... + x^high)^n."""
    found = [1]
    for _ in range(n):
        found = [sum(found[max(0, s - (high - low)) : s + 1]) for s in range(len(found) + high - low)]
    return sum(found[max(0, bound + 1 - n * low) :])


def pickled(target: Target) -> Target:
    return pickle.loads(pickle.dumps(target))  # type: ignore[no-any-return]


COPIES = (pickled, copy.deepcopy, copy.copy)


class TargetContract:
    """The contract of a target without operations."""

    name: ClassVar[str]
    variants: ClassVar[tuple[Options, ...]]

    def make(self, circuit: Circuit, options: Options) -> Target:
        return target_of(self.name, circuit, **resolved(options, circuit.grid.domain))

    def test_every_function_of_two_features(self, options: Options) -> None:
        self.check_all(THREE_BY_TWO, options)

    def test_every_function_of_three_bits(self, options: Options) -> None:
        if options.get("code") in (None, "order"):  # all codes write a feature of two values as one bit
            self.check_all(BITS, options)

    def check_all(self, domain: Domain, options: Options) -> None:
        for k, (table, wanted) in enumerate(tables(domain)):
            self.check(self.make((table_circuit, gates)[k % 2](domain, table), options), wanted)

    def check(self, target: Target, wanted: Points) -> None:
        assert points(target.to_circuit()) == wanted
        assert queries.is_decomposable(target.to_circuit())
        count, probability = target.count(), target.probability()
        assert (count, type(count)) == (counted(target.grid, wanted), int)
        assert (probability, type(probability)) == (weighed(target.grid, wanted), Fraction)
        assert wanted or target.size == Size(0, 0)
        assert 0 <= target.size.nodes <= 40
        assert target.size.edges <= 80
        assert target.bytes >= 0

    def test_it_is_a_target(self, options: Options) -> None:
        target = self.make(gates(THREE_BY_TWO, (0, 1, 1, 0, 0, 1)), options)
        assert isinstance(target, Target)
        assert target.language == self.name
        assert target.grid is _grid(THREE_BY_TWO)
        assert self.name in TARGETS

    @pytest.mark.parametrize("other", TARGETS)
    def test_there_and_back_again(self, options: Options, other: str) -> None:
        for table, wanted in [*tables(THREE_BY_TWO)][3::20]:
            target = self.make(target_of(other, gates(THREE_BY_TWO, table)).to_circuit(), options)
            assert points(target_of(other, target.to_circuit()).to_circuit()) == wanted

    @pytest.mark.parametrize("again", COPIES, ids=lambda f: f.__name__)
    def test_copies_are_the_same(self, options: Options, again: Callable[[Any], Any]) -> None:
        """Whatever library holds the target: its managers stay in their process, and a copy outlives the original."""
        for table, wanted in [*tables(THREE_BY_TWO)][3::20]:
            target = self.make(gates(THREE_BY_TWO, table), options)
            kind, size, made = type(target), target.size, again(target)
            del target
            gc.collect()
            assert (type(made), made.size) == (kind, size)
            self.check(made, wanted)
            assert made == self.make(gates(THREE_BY_TWO, table), options)

    def test_unknown_options_are_refused(self) -> None:
        with pytest.raises(CircuitError, match=f"The target '{self.name}' takes .*, but colour was given; leave it"):
            target_of(self.name, gates(TWO_BITS, (0, 1, 1, 0)), colour="red")

    def test_counts_beyond_every_machine_word(self) -> None:
        """In a process of its own, which must neither crash nor complain at its end."""
        program = f"""
from axfi_kc.circuits.targets import target_of
from tests.contract.contract import HUGE, linear
for case in HUGE:
    target = target_of({self.name!r}, linear(*case))
    print(target.count(), target.probability())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        exact = {ways(*case): (case[2] - case[1] + 1) ** case[0] for case in HUGE}
        assert min(exact) > 2**200
        assert next(iter(exact)) == sum(comb(220, k) for k in range(111, 221))
        assert done.stdout == "".join(f"{n} {Fraction(n, whole)}\n" for n, whole in exact.items())


class ClosedContract(TargetContract):
    """The contract of a target with operations."""

    def another(self, circuit: Circuit, first: Any) -> Any:
        """Return a circuit as something that can be joined with `first`."""
        return target_of(self.name, circuit, beside=first)

    def test_it_is_closed(self, options: Options) -> None:
        assert isinstance(self.make(gates(TWO_BITS, (0, 1, 1, 0)), options), Closed)

    @pytest.mark.parametrize("domain", [TWO_BITS, THREE_BY_TWO], ids=["all pairs of two bits", "three by two"])
    def test_operations(self, options: Options, domain: Domain) -> None:
        functions = list(tables(domain))
        first: Any = self.make(gates(domain, functions[5][0]), options)
        made = [(self.another(gates(domain, table), first), wanted) for table, wanted in functions]
        pairs = list(product(made, made))
        for (a, here), (b, there) in pairs if len(made) <= 16 else Random(0).sample(pairs, 60):
            for joined, wanted in [(a.conjoin(b), here & there), (a.disjoin(b), here | there)]:
                assert points(joined.to_circuit()) == wanted
                assert joined.count() == len(wanted)
        for a, here in made:
            complement = a.negate()
            assert points(complement.to_circuit()) == set(cell_vectors(a.grid)) - here
            assert complement.probability() == 1 - a.probability()
            assert complement.negate().size == a.size
            assert (copy.deepcopy(complement) & a).count() == 0

    def stranger(self, circuit: Circuit) -> Any:
        """Return a circuit as something that cannot be joined with what `make` makes."""
        return self.make(circuit, {})

    def test_operands_must_fit(self) -> None:
        first: Any = self.make(gates(TWO_BITS, (0, 1, 1, 0)), {})
        for operation in (first.conjoin, first.disjoin):
            with pytest.raises(CircuitError, match=r"Two \w+ are joined .*, but .* were given; make"):
                operation(self.stranger(gates(TWO_BITS, (0, 1, 1, 1))))

    def test_results_go_in_any_order(self) -> None:
        """Neither cycles nor the end of the process makes a library complain about living nodes."""
        program = f"""
import gc
from axfi_kc.circuits.targets import target_of
from tests.contract.contract import THREE_BY_TWO, gates
circuit = gates(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
for _ in range(30):
    first = target_of({self.name!r}, circuit)
    cycle = [first.negate(), first.conjoin(first.negate())]
    cycle.append(cycle)
del cycle, first
gc.collect()
kept = target_of({self.name!r}, circuit)
other = kept.negate()
del kept
gc.collect()
ring = [other.negate()]
ring.append(ring)
print(other.count(), ring[0].disjoin(other).count())
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "3 6\n", "")
