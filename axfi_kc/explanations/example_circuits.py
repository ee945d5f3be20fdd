"""Circuits of adversarial examples: what a weight counts, to be counted once more with other people's tools.

The adversarial examples of a CXp are the dissimilar points that agree with the instance elsewhere. Engines find them as
disjoint boxes of cells, or as ways through a diagram; either is a deterministic, decomposable circuit over the features
of the domain. So that it holds those points and no others, each feature is cut around the instance's own value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Size
from axfi_kc.circuits.files import Variables, save_circuit
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.targets.ddnnf import shrunk
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Real
from axfi_kc.domain.from_tables import FeatureNames
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.domain.measures import counted
from axfi_kc.durable_files import write_whole
from axfi_kc.engines import BoxedEngine, boxed_engine_for
from axfi_kc.engines.ball_weights import near_of
from axfi_kc.engines.diagram.engine import DiagramEngine
from axfi_kc.errors import DomainError, UnsupportedModelError, WeightError
from axfi_kc.explanations.problem import Problem
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import features_of
from axfi_kc.models import LinearModel, Model, Samples, Similarity
from axfi_kc.models.joint import Box, circuit_share
from axfi_kc.models.support import possible_share

__all__ = ["ExampleCircuit", "all_examples", "examples_of", "named_mask"]


_ADVICE = "allow more, or name one CXp"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExampleCircuit:
    """The adversarial examples of one CXp, or of several, as a circuit over the features of the domain.

    Attributes
    ----------
    circuit
        Deterministic and decomposable; its points differ from the instance in all features of a CXp and in no others.
    instance
        The instance, as ``{feature name: value}``; on each feature its value is a cell of its own.
    features
        The features that some of the examples change; of one CXp, its features.
    is_single
        Whether these are the examples of one CXp.

    Examples
    --------
    >>> from axfi_kc import Explainer, Integer
    >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 4), Integer("c", 0, 1)])
    >>> e = Explainer(lambda p: p[0] + p[1] > 6, domain).explain((2, 2, 0))
    >>> circuit = e.circuit(["a"])
    >>> circuit.count(), circuit.weight(), e.cxps[0]
    (5, Fraction(1, 2), CXp(features=('a',), weight=1/2))
    >>> e.circuit().weight(["a"])
    Fraction(1, 2)
    """

    circuit: Circuit
    instance: Mapping[str, Any]
    features: tuple[str, ...]
    is_single: bool
    _codes: tuple[float, ...]

    def __repr__(self) -> str:
        """Return which CXps it is about, and its size."""
        about = (
            f"CXp {list(self.features)}" if self.is_single else f"all CXps, of {counted(len(self.features), 'feature')}"
        )
        return f"<ExampleCircuit: {about}; {counted(self.size.nodes, 'node')}, {counted(self.size.edges, 'edge')}>"

    @property
    def domain(self) -> Domain:
        """The space of the examples."""
        return self.circuit.grid.domain

    @property
    def size(self) -> Size:
        """Nodes and edges."""
        return self.circuit.size

    def to_circuit(self) -> Circuit:
        """Return the circuit, as pictures and files want it."""
        return self.circuit

    @checked("check", "budget")
    def count(self, *, check: bool = False, budget: Budget | None = None) -> int:
        """Return the number of examples.

        Parameters
        ----------
        check
            Whether to count a second time, by an independent route; see :func:`axfi_kc.circuits.queries.count`.

        Raises
        ------
        CircuitError
            If they change a real feature: then points are uncountable; ask for a weight.
        """
        return self._count(self.features, check=check, budget=budget)

    def _count(self, features: Sequence[str], *, check: bool = False, budget: Budget | None = None) -> int:
        fixed, watch = self._own_cells(features), Watch(budget)
        inner = queries.condition(self.circuit, fixed, budget=budget)
        rest = None if budget is None else watch.rest()  # a check has a limit of its own without one
        return queries.count(inner, fixed=list(fixed), check=check, budget=rest)

    @checked("kind", "budget")
    def weight(
        self, cxp: FeatureNames | None = None, *, kind: str = "ratio", budget: Budget | None = None
    ) -> Fraction | int:
        """Return what the examples of one CXp weigh, counted on this circuit.

        Parameters
        ----------
        cxp
            The CXp, or the names of its features; not needed where there is one.
        kind
            ``"ratio"`` or ``"count"``.

        Raises
        ------
        WeightError
            If there is no such kind of weight.
        DomainError
            If none is named of several CXps, or one that has no example here.

        Notes
        -----
        Conditioning on the instance elsewhere and a pass over what is left.
        """
        watch = Watch(budget)
        names = self._named(cxp)
        if kind == "count":
            return self._count(names, budget=watch.rest())
        if kind != "ratio":
            raise WeightError(
                f"A weight is counted as 'ratio' or 'count', but {quoted(kind)} was given; name one of these."
            )
        fixed = self._own_cells(names)
        inner = queries.condition(self.circuit, fixed, budget=watch.rest())
        if self.domain.distribution is not None:
            return circuit_share(inner, {i: self._codes[i] for i in fixed})
        return queries.probability(inner, budget=watch.rest()) / possible_share(self.circuit.grid, fixed)

    def _named(self, cxp: FeatureNames | None) -> tuple[str, ...]:
        if cxp is None:
            if not self.is_single:
                raise DomainError("This circuit has the examples of several CXps; name the one that is to be weighed.")
            return self.features
        names = self.domain.names_of(self.domain.mask(cxp))
        inner = queries.condition(self.circuit, self._own_cells(names))
        if not queries.is_consistent(inner):
            raise DomainError(f"{list(names)} have no example in this circuit; name a CXp that it is about.")
        return names

    def _own_cells(self, features: Sequence[str]) -> dict[int, int]:
        """Return the instance's cells of all other features, by number."""
        own, names = _cells(self.circuit.grid, self._codes), self.domain.names
        return {i: own[i] for i, name in enumerate(names) if name not in features}

    def points(self) -> Iterator[dict[str, Any]]:
        """Iterate over the examples, as ``{feature name: value}``.

        Raises
        ------
        CircuitError
            If they change a real feature.
        """
        fixed = self._own_cells(self.features)
        for features, codes in _points(queries.condition(self.circuit, fixed), sorted(fixed)):
            yield {**self.instance, **dict(zip(features, codes, strict=True))}

    @checked("path")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the circuit to a file; the suffix says in which format, see :func:`axfi_kc.save_circuit`.

        An ``.nnf`` says in comments what its variables mean, and with ``c p weight`` (as in the model counting
        competition) what its literals weigh: a changed cell its probability, the instance's own nothing but 1. So its
        weighted model count is the weight of the CXp, or the sum of all weights; under constraints it is still to be
        divided by the probability that a point is possible. Under a joint distribution literals have no weights.
        """
        if Path(path).suffix != ".nnf":
            save_circuit(self.circuit, path)
            return
        lines = "".join(f"c p weight {literal} {weight} 0\n" for literal, weight in self.literal_weights().items())
        with TemporaryDirectory() as folder:  # in one piece: without the weights it would be another circuit
            save_circuit(self.circuit, plain := Path(folder, "circuit.nnf"))
            write_whole(path, lines.encode("ascii") + plain.read_bytes(), what="The circuit")

    def literal_weights(self) -> dict[int, Fraction]:
        """Return what the literals of an ``.nnf`` weigh, where that is not 1; none under a joint distribution."""
        grid, found = self.circuit.grid, dict[int, Fraction]()
        own = _cells(grid, self._codes)
        for variable, bit in enumerate(Variables.of_code(grid).bits, 1):
            if bit is None or grid.domain.distribution is not None or bit.feature not in self._numbers:
                continue
            axis = grid.axes[bit.feature]
            literals = {variable: bit.cells[0]} | ({-variable: 0} if axis.n_cells == 2 else {})
            shares = {k: Fraction(axis.numerators[c], axis.denominator) for k, c in literals.items()}
            found |= {k: share for k, share in shares.items() if literals[k] != own[bit.feature]}
        return found

    @property
    def _numbers(self) -> set[int]:
        return {self.domain.index(name) for name in self.features}


def _cells(grid: Grid, codes: Sequence[float]) -> list[int]:
    return grid.locate(np.array([codes]))[0].tolist()


def _points(circuit: Circuit, fixed: Sequence[int]) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
    """Iterate over the points of a circuit in the features that are not fixed, with the names of these."""
    domain, axes = circuit.grid.domain, circuit.grid.axes
    free = [i for i in range(len(axes)) if i not in set(fixed)]
    small = Grid(Domain([domain.features[i] for i in free]), tuple(axes[i] for i in free))
    place = {i: k for k, i in enumerate(free)}
    build = CircuitBuilder(small)
    root = circuit.fold(
        decision=lambda i, labels, below: build.decision(
            place[i], [(circuit.cell_sets[k], child) for k, child in zip(labels, below, strict=True)]
        ),
        conjunction=build.conjunction,
        disjunction=build.disjunction,
        false=build.false,
        true=build.true,
    )[-1]
    names = [domain.names[i] for i in free]
    return ((names, point) for point in queries.models(build.circuit(root)))


def named_mask(domain: Domain, cxp: FeatureNames, is_cxp: Callable[[int], bool]) -> int:
    """Return a CXp, or the names of its features, as a mask; DomainError if it is none."""
    mask = domain.mask(cxp)
    if not is_cxp(mask):
        names = list(domain.names_of(mask))
        raise DomainError(f"{names} are none of the CXps of this explanation; take one of its cxps.")
    return mask


def examples_of(problem: Problem, mask: int, *, budget: Budget | None = None) -> ExampleCircuit:
    """Return the circuit of the adversarial examples of one CXp, given as a mask.

    Raises
    ------
    UnsupportedModelError
        For a linear model over real features, for samples, and within a ball that cuts through cells.
    BudgetError
        If the budget was spent.

    Notes
    -----
    As costly as the weight of the CXp; for models with a diagram, a pass over it.
    """
    work = _Examples(problem, budget)
    root = work.of_family(lambda order: SetFamily.of([mask], order=order)) if work.by_diagram else work.of_masks([mask])
    return work.circuit(root, problem.domain.names_of(mask), is_single=True)


def all_examples(
    problem: Problem, masks: Sequence[int] | None, support: int, *, radius: int | None, budget: Budget | None = None
) -> ExampleCircuit:
    """Return the circuit of the adversarial examples of all CXps.

    Parameters
    ----------
    problem
        The model and the instance.
    masks
        The CXps; None if they are too many to list.
    support
        The features of all of them, as a mask.
    radius
        The largest number of features of a CXp; None: any.
    budget
        What it may cost.

    Raises
    ------
    UnsupportedModelError, BudgetError
        As :func:`examples_of`; and BudgetError if the model's diagram, which CXps that are too many to list need, does
        not fit.
    """
    work = _Examples(problem, budget, whole=masks is None)
    root = work.of_all(radius) if masks is None or work.by_diagram else work.of_masks(masks)
    return work.circuit(root, problem.domain.names_of(support), is_single=False)


@lru_cache(maxsize=8)
def _engine(model: Model, similarity: Similarity, whole: bool) -> BoxedEngine:
    """Return what finds the examples; the circuits of a batch share it."""
    return DiagramEngine(model, similarity) if whole else boxed_engine_for(model, similarity)


class _Examples:
    """Makes circuits of adversarial examples around one instance."""

    def __init__(self, problem: Problem, budget: Budget | None, *, whole: bool = False) -> None:
        _check_cells(problem.model)
        self._problem = problem
        self._account = Account(budget, goal="circuit of the adversarial examples", advice=_ADVICE)
        self._engine = _engine(problem.model, problem.similarity, whole)
        self._old = problem.cells
        self._grid = _around(problem)
        self._own = _cells(self._grid, problem.codes.tolist())
        self._build = CircuitBuilder(self._grid)

    @property
    def by_diagram(self) -> bool:
        """Whether there is a diagram of the whole model."""
        return isinstance(self._engine, DiagramEngine)

    def of_family(self, family_in: Callable[[Sequence[int]], SetFamily]) -> int:
        """Return the node of the examples of a family, which is made in the diagram's order."""
        return self._through(lambda diagram: family_in(diagram.order))

    def of_all(self, radius: int | None) -> int:
        """Return the node of the examples of all CXps, found on the diagram."""
        v = self._old.tolist()
        return self._through(lambda diagram: diagram.cxps(v, max_size=radius, budget=self._account.rest()))

    def _through(self, family_of: Callable[[Any], SetFamily]) -> int:
        engine: Any = self._engine
        diagram = engine.diagram(self._problem.output, budget=self._account.rest())
        found = family_of(diagram)
        rest = self._account.rest()
        return diagram.examples(self._old.tolist(), found, self._build, self._cells_of, budget=rest)

    def of_masks(self, masks: Sequence[int]) -> int:
        """Return the node of the examples of some CXps, box by box."""
        return self._build.disjunction([self._of_mask(mask) for mask in self._account.paced(masks, at_once=1)])

    def _of_mask(self, mask: int) -> int:
        build, members = self._build, features_of(mask)
        others = (i for i in range(len(self._own)) if not mask >> i & 1)
        kept = build.conjunction([build.literal(i, [self._own[i]]) for i in others])
        found = self._engine.dissimilar_boxes(self._old, self._problem.output, mask, budget=self._account.rest())
        boxes = list(self._account.paced(found))
        tested = _Tested(build, members, boxes, self._cells_of, self._account).node
        return build.conjunction([kept, self._listed(members, boxes) if tested is None else tested])

    def _listed(self, members: Sequence[int], boxes: Sequence[Box]) -> int:
        """Return the node of disjoint boxes, one by one."""
        build, parts = self._build, []
        for box in self._account.paced(boxes):
            pairs = zip(members, box, strict=True)
            parts.append(build.conjunction([build.literal(i, self._cells_of(i, cells)) for i, cells in pairs]))
        return build.disjunction(parts)

    def _cells_of(self, i: int, cells: Iterable[int] | None) -> list[int]:
        """Return the new cells that some old ones are, without the instance's; for None the instance's own value."""
        if cells is None:
            return [self._own[i]]
        home, more = int(self._old[i]), self._grid.n_cells[i] - self._problem.model.grid.n_cells[i]
        # Only the instance's cell was cut, into at most three, and no example of a CXp lies in it.
        return [c if c < home else c + more for c in cells if c != home]

    def circuit(self, root: int, features: tuple[str, ...], *, is_single: bool) -> ExampleCircuit:
        """Return what a node reaches, made small."""
        made = shrunk(self._build.circuit(root))
        note_deterministic(made)
        problem = self._problem
        return ExampleCircuit(made, problem.instance, features, is_single, tuple(problem.codes.tolist()))


class _Tested:
    """Disjoint boxes as a diagram that tests their features one after the other, which merges what can be merged.

    Attributes
    ----------
    node
        Its node; None if it would be larger than a list of the boxes.
    """

    def __init__(
        self,
        build: CircuitBuilder,
        members: Sequence[int],
        boxes: Sequence[Box],
        cells_of: Callable[[int, Iterable[int]], list[int]],
        account: Account,
    ) -> None:
        self._build, self._members, self._boxes, self._cells_of = build, members, boxes, cells_of
        self._account = account
        self._known: dict[tuple[int, tuple[int, ...]], int | None] = {}
        self._most = len(boxes) * len(members)
        self.node = self._at(0, tuple(range(len(boxes))))

    def _at(self, k: int, inside: tuple[int, ...]) -> int | None:
        """Return the node of what the boxes with these numbers say of the features from place k on."""
        if k == len(self._members):
            return self._build.true if inside else self._build.false
        key = k, inside
        if key not in self._known and len(self._known) < self._most:
            self._known[key] = None
            arcs = [(cells, self._at(k + 1, own)) for own, cells in self._alike(k, inside)]
            named = [(self._cells_of(self._members[k], cells), child) for cells, child in arcs if child is not None]
            if len(named) == len(arcs):
                self._known[key] = self._build.decision(self._members[k], named)
        return self._known.get(key)

    def _alike(self, k: int, inside: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
        """Iterate over cells of a feature that lie in the same boxes, with the numbers of these."""
        boxes_of: dict[int, list[int]] = {}
        for n in self._account.paced(inside):
            for cell in self._boxes[n][k]:
                boxes_of.setdefault(cell, []).append(n)
        found: dict[tuple[int, ...], list[int]] = {}
        for cell, own in boxes_of.items():
            found.setdefault(tuple(own), []).append(cell)
        yield from found.items()


def _around(problem: Problem) -> Grid:
    """Return the model's cells, with the instance's own value on each feature in a cell of its own."""
    pairs = zip(problem.model.grid.axes, problem.codes.tolist(), strict=True)
    return Grid(problem.domain, tuple(_cut_at(axis, code) for axis, code in pairs))


def _cut_at(axis: Axis, code: float) -> Axis:
    if isinstance(axis.feature, Categorical) or code != code:  # a missing value is in a cell of its own
        return axis
    return Axis.of(axis.feature, {*axis.cuts, Cut(code, closed=False), Cut(code, closed=True)})


def _check_cells(model: Model) -> None:
    """Raise for a model whose adversarial examples are no boxes of cells."""
    refused = partial(_refused, advice="declare the feature integer, or take the weight, which has a closed form")
    odd = next((f for f in model.domain.features if isinstance(f, Real)), None)
    if isinstance(model, LinearModel) and odd is not None:
        raise refused(f"a linear model over the real feature {odd.name!r} they are corners of a box cut off by a plane")
    if isinstance(model, Samples):
        raise refused("samples they are rows", advice="list them with covered_points")
    if near_of(model) is not None:
        raise refused("a ball of norm 'l1' over a real feature they are cut through", advice="use the norm 'linf'")


def _refused(why: str, *, advice: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"A circuit has adversarial examples in boxes of cells, but for {why}; {advice}.")
