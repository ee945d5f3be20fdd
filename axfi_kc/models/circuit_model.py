"""Models given by circuits: one output where a circuit holds, another where it does not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_hashable, number_array, quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, CircuitBuilder, flat_of
from axfi_kc.circuits.queries.decisions import with_decisions
from axfi_kc.circuits.queries.determinism import claim_deterministic, note_deterministic, note_like
from axfi_kc.circuits.queries.transformations import copied
from axfi_kc.circuits.targets import Mdd, mdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted
from axfi_kc.errors import ArgumentValueError, CircuitError
from axfi_kc.models.base import ListedModel

__all__ = ["CircuitModel", "ordered_diagram"]


_STEPS = 20_000  # steps to show that parts exclude each other before a diagram is made


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CircuitModel(ListedModel):
    """A model whose outputs are given by circuits that exclude each other.

    Attributes
    ----------
    grid
        The cells that the circuits decide on.
    outputs
        The distinct outputs.
    circuits
        For each output the circuit of its points, deterministic and decomposable; None for the
        output of all other points, which at most one output may have.
    converted
        Whether some circuit was not decomposable in the features, or could not be seen to be
        deterministic, and was turned into an ordered diagram.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> from axfi_kc.domain.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> both = build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])])
    >>> model = CircuitModel.of(build.circuit(both), outputs=("no", "yes"))
    >>> model.predict([[2, 1], [2, 0]]), model.converted
    (['yes', 'no'], False)
    """

    grid: Grid
    outputs: tuple[Hashable, ...]
    circuits: tuple[Circuit | None, ...]
    converted: bool

    @classmethod
    @checked("circuit", "outputs", "deterministic", "budget")
    def of(
        cls,
        circuit: Circuit,
        *,
        outputs: tuple[Hashable, Hashable] = (False, True),
        deterministic: bool = False,
        budget: Budget | None = None,
    ) -> CircuitModel:
        """Make a model with output ``outputs[1]`` where `circuit` holds and ``outputs[0]`` elsewhere.

        Parameters
        ----------
        circuit
            Any circuit. One that is not decomposable in the features (several bits of one feature
            under one conjunction), or not seen to be deterministic, becomes an ordered diagram.
        outputs
            Two different outputs.
        deterministic
            Whether the circuit is known to be deterministic, as that of a sentential decision diagram is. It is then
            refused only if a short check refutes it.
        budget
            What the ordered diagram may cost, where one must be made.

        Raises
        ------
        CircuitError
            If the outputs are not two different ones.
        BudgetError
            If the budget was spent.

        Notes
        -----
        Linear for circuits of compilers, whose disjunctions hold opposite literals; see
        :func:`axfi_kc.circuits.queries.determinism`. A conversion is exponential at worst.
        """
        pair = tuple(outputs)
        if len(pair) != 2 or not all(map(is_hashable, pair)) or pair[0] == pair[1]:
            raise CircuitError(
                f"A circuit tells two different outputs apart, but "
                f"{quoted(outputs)} was given; give one for where it does "
                "not hold and one for where it does."
            )
        found, converted = _countable(circuit, deterministic=deterministic, account=_account(budget))
        return cls(circuit.grid, pair, (None, found), converted)

    @classmethod
    @checked("circuits", "deterministic", "budget")
    def of_classes(
        cls, circuits: Mapping[Hashable, Circuit], *, deterministic: bool = False, budget: Budget | None = None
    ) -> CircuitModel:
        """Make a model of one circuit per output; together they must hold at each point exactly once.

        With a circuit for every output no explanation needs to count, whichever output it is about.

        Parameters
        ----------
        circuits
            The circuit of each output's points, all over the same grid.
        deterministic
            As in :meth:`of`, for each circuit.
        budget
            What the diagrams may cost together, where some must be made.

        Raises
        ------
        CircuitError
            If there are no circuits, their grids differ, or some point belongs to no output or to two.
        BudgetError
            If the budget was spent.

        Notes
        -----
        That the circuits exclude each other is seen as in :meth:`of`, or else shown by a diagram of
        their disjunction, which is exponential at worst.

        Examples
        --------
        >>> from axfi_kc.domain.domain import Domain
        >>> from axfi_kc.domain.features import Integer
        >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
        >>> model = CircuitModel.of_classes({y: build.circuit(build.literal(0, [k])) for k, y in enumerate("xyz")})
        >>> model.predict([[2], [0]])
        ['z', 'x']
        """
        parts = list(circuits.values())
        if not parts or any(not c.grid.is_like(parts[0].grid) for c in parts):
            raise CircuitError(
                "A model needs one or more circuits over one grid, but none was given or their grids differ; build "
                "them over the same Grid."
            )
        account = _account(budget)
        found = [_countable(circuit, deterministic=deterministic, account=account) for circuit in parts]
        _check_partition([circuit for circuit, _ in found], account)
        return cls(
            parts[0].grid,
            tuple(circuits),
            tuple(circuit for circuit, _ in found),
            any(converted for _, converted in found),
        )

    @property
    def words(self) -> str:
        """What the model is, for people."""
        nodes = sum(circuit.size.nodes for circuit in self.circuits if circuit is not None)
        return f"circuits of {counted(len(self.outputs), 'output')} and {counted(nodes, 'node')}"

    @property
    def is_diagram(self) -> bool:
        """Whether there are two outputs and each circuit is an ordered diagram: then so are all regions."""
        given = [circuit for circuit in self.circuits if circuit is not None]
        return len(self.outputs) == 2 and all(map(queries.is_ordered, given))

    @checked("cells")
    def decide(self, cells: npt.NDArray[np.int64]) -> list[Any]:
        """Return the outputs at points given by their cells, a row each.

        Notes
        -----
        Linear in the circuits, for 64 points at a time.
        """
        from axfi_kc.circuits.queries.truth_kernels import truths_at

        cells = number_array(cells, "The cells of points", (None, len(self.grid.axes))).astype(np.int64, copy=False)
        other = next((k for k, circuit in enumerate(self.circuits) if circuit is None), 0)
        found = np.full(len(cells), other)
        for k, circuit in enumerate(self.circuits):
            if circuit is not None:
                found[truths_at(flat_of(circuit), cells).astype(np.bool_)] = k
        return [self.outputs[k] for k in found.tolist()]

    @checked("wanted")
    def region(self, wanted: Sequence[bool]) -> tuple[Circuit, bool]:
        """Return the points whose output is wanted: a circuit, and whether they are where it holds.

        Parameters
        ----------
        wanted
            A flag for each output.

        Returns
        -------
        tuple
            A deterministic, decomposable circuit, and False if the points are those where it fails.
        """
        wanted = list(wanted)
        if len(wanted) != len(self.circuits) or not all(isinstance(flag, bool | np.bool_) for flag in wanted):
            raise ArgumentValueError(
                f"wanted= takes True or False for each of {len(self.circuits)} outputs, but "
                f"{quoted(wanted)} was given; "
                "give as many."
            )
        # The output without a circuit has the points that no circuit has: if it is wanted, the unwanted are joined.
        # Outputs exclude each other, so joining them is deterministic either way.
        holds = all(circuit is not None for circuit, chosen in zip(self.circuits, wanted, strict=True) if chosen)
        named = zip(self.circuits, wanted, strict=True)
        parts = [circuit for circuit, chosen in named if circuit is not None and chosen == holds]
        if len(parts) == 1:
            return parts[0], holds
        joined = _disjunction(self.grid, parts)
        note_deterministic(joined)
        return joined, holds


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="model", advice="allow more, or say that the circuit is deterministic if it is")


def _countable(circuit: Circuit, *, deterministic: bool, account: Account) -> tuple[Circuit, bool]:
    """Return an equivalent circuit that is decomposable and deterministic, and whether it is a diagram made for it."""
    found = with_decisions(circuit)
    # Counting needs both: decomposable, so that a conjunction multiplies, deterministic, so that a disjunction adds.
    if deterministic:
        claim_deterministic(circuit)
    note_like(found, circuit)  # decisions in the place of disjunctions change nothing about it
    if queries.is_decomposable(found) and _is_deterministic(found, account):
        return found, False
    account.look()
    return ordered_diagram(found, budget=account.rest()).to_circuit(), True


def _is_deterministic(circuit: Circuit, account: Account) -> bool:
    rest = account.rest()
    budget = Budget(seconds=rest.seconds, nodes=_STEPS, bytes=rest.bytes)
    # An open verdict is a no: on a circuit that is not deterministic counts could be too large, in silence.
    return queries.determinism(circuit, budget=budget).verdict == "proved"


def ordered_diagram(circuit: Circuit, *, order: Sequence[int] | None = None, budget: Budget | None = None) -> Mdd:
    """Return the ordered diagram of a circuit.

    Parameters
    ----------
    circuit
        Any circuit.
    order
        Every feature once, from the top down. By default the order of a circuit of decisions that has
        one; otherwise features first that are tested near the root.
    budget
        What the diagram may cost.

    Notes
    -----
    Exponential at worst. On circuits over one-hot bits, features near the root first give diagrams of
    40 (adult), 110 (compas), 432 (german) and 1,138 nodes (recidivism) in 0.05 s or less; the domain's
    order gives 60, 121, 444 and 2,991.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> from axfi_kc.domain.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> either = build.disjunction([build.literal(0, [1]), build.literal(1, [1])])
    >>> ordered_diagram(build.circuit(either)).size
    Size(nodes=2, edges=3)
    """
    if order is None and np.isin(circuit.kinds, (AND, OR)).any():
        order = _root_first(circuit)
    return mdd_of(circuit, order=order, budget=budget)


def _root_first(circuit: Circuit) -> list[int]:
    nearest = np.full(len(circuit.grid.axes), -1)
    tested = np.flatnonzero(circuit.kinds == DECISION)
    nearest[circuit.features[tested]] = tested  # of several nodes on a feature the last one counts
    return np.argsort(-nearest, kind="stable").tolist()


def _disjunction(grid: Grid, circuits: Sequence[Circuit], account: Account | None = None) -> Circuit:
    """Return one circuit of the points where one of several holds."""
    build = CircuitBuilder(grid)
    return build.circuit(build.disjunction([copied(circuit, build, account) for circuit in circuits]))


def _check_partition(circuits: Sequence[Circuit], account: Account) -> None:
    """Raise unless each point satisfies exactly one of the circuits.

    As many cell vectors in all as the space has, and none left out, means none twice.
    """
    grid = circuits[0].grid
    held = [_cell_vectors(circuit, account) for circuit in circuits]
    # Not assumed to be deterministic, since that is the question: points that two circuits share must count once here.
    union, _ = _countable(_disjunction(grid, circuits, account), deterministic=False, account=account)
    together = _cell_vectors(union, account)
    if sum(held) != together:
        raise CircuitError(
            f"Circuits of different outputs must exclude each other, but {sum(held) - together} cell vectors too many "
            "satisfy several; make them disjoint."
        )
    if together != grid.n_points:
        raise CircuitError(
            f"Circuits of all outputs must cover the space, but {grid.n_points - together} cell vectors satisfy none; "
            "add a circuit, or use CircuitModel.of."
        )


def _cell_vectors(circuit: Circuit, account: Account) -> int:
    """Return how many vectors of cells satisfy a deterministic, decomposable circuit."""
    n_cells, sizes = circuit.grid.n_cells, [len(cells) for cells in circuit.cell_sets]
    # Shares, not numbers: a share does not depend on the features that a node leaves out, so nothing is smoothed.
    share = circuit.fold(
        decision=lambda i, labels, below: (
            sum((sizes[k] * part for k, part in zip(labels, below, strict=True)), Fraction(0)) / n_cells[i]
        ),
        conjunction=lambda below: prod(below, start=Fraction(1)),
        disjunction=lambda below: sum(below, Fraction(0)),
        false=Fraction(0),
        true=Fraction(1),
        account=account,
        forget=True,
    )[-1]
    return int(share * circuit.grid.n_points)
