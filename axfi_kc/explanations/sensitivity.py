"""Questions about the whole space: how much of it changes its output when some features, or a few, change.

A point is *sensitive* to features if some possible point that differs from it in these features only has another
output, and *within radius k* of another output if some possible point that differs in at most k features has. Both are
regions of the space, found on ordered diagrams of the outputs; their numbers of points and probabilities are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import checked, has, quoted
from axfi_kc.budget import Account, Budget, bounding_memory, preparing
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.operations import on_grid
from axfi_kc.circuits.targets import Mdd
from axfi_kc.circuits.targets.mdd_changes import by_changing, by_changing_at_most
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.compilers import compile_mdd, read_model
from axfi_kc.compilers.compiled_model import CompiledModel
from axfi_kc.domain.distribution import Distribution, States, check_describes
from axfi_kc.domain.domain import Domain, Unbound
from axfi_kc.domain.features import Integer, Real
from axfi_kc.domain.grid import Axis, Grid, edge_cuts
from axfi_kc.domain.measures import amount, counted, shown
from axfi_kc.errors import DomainError, MissingExtraError, SimilarityError
from axfi_kc.models import Similarity
from axfi_kc.models.joint import circuit_share
from axfi_kc.models.support import possible_share, support_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fairness", "Part", "Robustness", "Sensitivity", "fairness", "robustness", "sensitivity"]


_FALSE, _TRUE = 0, 1


@dataclass(frozen=True, slots=True)
class Part:
    """What a region has of one output, or of one group.

    Attributes
    ----------
    name
        The output, or the group in words.
    probability, count
        The probability and the number of the region's points in it; no number where a feature is real.
    whole, points
        The probability and the number of all its possible points.
    """

    name: Hashable
    probability: Fraction
    count: int | None
    whole: Fraction
    points: int | None

    @property
    def share(self) -> Fraction | None:
        """The probability of the region, given the output or the group; None if that has probability 0."""
        return self.probability / self.whole if self.whole else None


@dataclass(frozen=True, slots=True, repr=False)
class _Region:
    """The answer to a question about the whole space.

    Attributes
    ----------
    probability
        The probability of the region among the possible points.
    count, points
        The number of its points, and of all possible points; None where a feature is real.
    outputs
        What the region has of the points with each output.
    groups
        What it has of each group, if groups were asked for.
    by
        The feature whose values, or intervals, are the groups; None if none were asked for.
    distribution
        Under which the probabilities are, in words.
    region
        The region itself, an ordered diagram: draw it, count it, save it.
    """

    probability: Fraction
    count: int | None
    points: int | None
    outputs: tuple[Part, ...]
    groups: tuple[Part, ...]
    by: str | None
    distribution: str
    region: CompiledModel = field(repr=False, compare=False)

    @property
    def _question(self) -> str:
        return "region"

    def __repr__(self) -> str:
        """Return the answer in a sentence, with its kind."""
        return f"<{type(self).__name__}: {self}>"

    def __str__(self) -> str:
        """Return the answer in a sentence."""
        number = "" if self.count is None else f", {amount(self.count)} of {counted(self.points or 0, 'point')}"
        return f"{self._question}: {shown(100 * self.probability, digits=4)} %{number} ({self.distribution})"

    def to_frame(self) -> pd.DataFrame:
        """Return a table: a row for everything, for each output, and for each group."""
        return _frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        whole = Part("all", self.probability, self.count, Fraction(1), self.points)
        parts = [("all", whole), *(("output", p) for p in self.outputs), *(("group", p) for p in self.groups)]
        return [
            {
                "question": self._question,
                "under": self.distribution,
                "of": kind,
                "name": part.name,
                "probability": part.probability,
                "share": part.share,
                "count": part.count,
                "points": part.points,
            }
            for kind, part in parts
        ]


@dataclass(frozen=True, slots=True, repr=False)
class Sensitivity(_Region):
    """Which points change their output when only some features change; see :func:`sensitivity`."""

    features: tuple[str, ...]

    @property
    def _question(self) -> str:
        return f"output changes if only {' and '.join(self.features)} change{'s' * (len(self.features) == 1)}"


@dataclass(frozen=True, slots=True, repr=False)
class Robustness(_Region):
    """Which points have another output within a radius; see :func:`robustness`."""

    radius: int

    @property
    def _question(self) -> str:
        return f"output changes if at most {counted(self.radius, 'feature')} change"


@dataclass(frozen=True, slots=True, repr=False)
class Fairness:
    """How many would be treated differently if only protected features changed; see :func:`fairness`.

    Attributes
    ----------
    answers
        A :class:`Sensitivity` for each set of protected features and each distribution.
    """

    answers: tuple[Sensitivity, ...]

    def __repr__(self) -> str:
        """Return how many answers there are, and the first of them."""
        return f"<Fairness: {counted(len(self.answers), 'answer')}: {self.answers[0]}, ...>"

    def __str__(self) -> str:
        """Return a line for each answer."""
        return "\n".join(map(str, self.answers))

    def to_frame(self) -> pd.DataFrame:
        """Return the tables of all answers, one below the other."""
        return _frame([row for answer in self.answers for row in answer._rows()])


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "A table of this answer") from error
    return pd.DataFrame(list(rows))


@checked("domain", "budget")
def sensitivity(
    model: Any,
    domain: Domain,
    features: Iterable[str],
    *,
    by: str | None = None,
    under: Distribution | Unbound | None = None,
    budget: Budget | None = None,
) -> Sensitivity:
    """Return which points have another output when only these features change, and how many and how probable they are.

    Parameters
    ----------
    model
        A trained classifier, a neutral form, or a function over a finite domain.
    domain
        The space; under constraints only possible points count, and change to possible points only.
    features
        The features that may change, together.
    by
        A feature whose values are the groups that the answer is also given for. Groups of a real feature are
        intervals, which end at the thresholds of the model and the constraints, and at the ends of the distribution's
        bins.
    under
        A distribution in place of the domain's own.
    budget
        What it may cost; its nodes are those of diagrams. Where neither nodes nor bytes are limited, it may take half
        of the free memory.

    Raises
    ------
    SimilarityError
        If the model is a regression.
    DomainError, UnknownFeatureError, BudgetError
        If there is no feature, one is unknown, or the budget was spent.

    Notes
    -----
    The diagrams of the outputs, from which the features are forgotten: exponential at worst. Each group is counted
    separately.

    Examples
    --------
    >>> from axfi_kc.domain import Categorical, Integer
    >>> domain = Domain([Integer("age", 0, 9), Categorical("race", ["a", "b"])])
    >>> found = sensitivity(lambda p: p[0] > (6 if p[1] == "a" else 4), domain, ["race"])
    >>> print(found)
    output changes if only race changes: 20 %, 4 of 20 points (independent features)
    >>> [(part.name, part.share) for part in found.outputs]
    [(False, Fraction(1, 6)), (True, Fraction(1, 4))]
    >>> found.region.count()
    4
    """
    with preparing(budget), bounding_memory(budget):
        space = _Space(model, domain, budget)
        names = _chosen(domain, features)
        region = space.sensitive([domain.index(name) for name in names])
        return space.answer(region, by=by, under=under, make=_making(names))


@checked("domain", "budget")
def robustness(
    model: Any,
    domain: Domain,
    *,
    radius: int,
    by: str | None = None,
    under: Distribution | Unbound | None = None,
    budget: Budget | None = None,
) -> Robustness:
    """Return which points have an adversarial example that changes at most `radius` features.

    Parameters
    ----------
    model, domain, by, under, budget
        As in :func:`sensitivity`.
    radius
        How many features may change.

    Examples
    --------
    >>> from axfi_kc.domain import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1), Integer("c", 0, 1)])
    >>> print(robustness(lambda p: sum(p) == 3, domain, radius=1))
    output changes if at most 1 feature change: 50 %, 4 of 8 points (independent features)
    >>> robustness(lambda p: sum(p) == 3, domain, radius=2).probability
    Fraction(7, 8)
    """
    if not isinstance(radius, int) or radius < 0:
        raise DomainError(f"radius must be a number of features, 0 or more, but {quoted(radius)} was given.")
    with preparing(budget), bounding_memory(budget):
        space = _Space(model, domain, budget)
        region = space.within(min(radius, len(domain)))
        return space.answer(region, by=by, under=under, make=lambda **parts: Robustness(radius=radius, **parts))


@checked("domain", "under", "budget")
def fairness(
    model: Any,
    domain: Domain,
    protected: Iterable[str],
    *,
    by: str | None = None,
    under: Sequence[Distribution | Unbound | None] | None = None,
    budget: Budget | None = None,
) -> Fairness:
    """Return how many points would be treated differently if only protected features changed.

    Parameters
    ----------
    model, domain, by, budget
        As in :func:`sensitivity`.
    protected
        Features such as race and sex: each by itself, and, if there are several, all of them together.
    under
        The distributions; None is independence. By default independence, and the domain's own if it has one.

    Examples
    --------
    >>> from axfi_kc.domain import Categorical, Integer
    >>> domain = Domain([Integer("age", 0, 9), Categorical("race", ["a", "b"])])
    >>> print(fairness(lambda p: p[0] > (6 if p[1] == "a" else 4), domain, ["race"]))
    output changes if only race changes: 20 %, 4 of 20 points (independent features)
    """
    names = _chosen(domain, protected)
    own = [None] if domain.distribution is None else [None, domain.distribution]
    chosen = own if under is None else list(under)
    answers = []
    with preparing(budget), bounding_memory(budget):
        space = _Space(model, domain, budget)
        for group in [*((name,) for name in names), *([names] if len(names) > 1 else [])]:
            region = space.sensitive([domain.index(name) for name in group])
            for distribution in chosen:
                make = _making(group)
                answers.append(space.answer(region, by=by, under=distribution, make=make, own=False))
    return Fairness(tuple(answers))


def _making(group: tuple[str, ...]) -> Callable[..., Sensitivity]:
    return lambda **parts: Sensitivity(features=group, **parts)


def _chosen(domain: Domain, features: Iterable[str]) -> tuple[str, ...]:
    names = domain.names_of(domain.mask(features))
    if not names:
        raise DomainError("Name at least one feature that may change.")
    return names


class _Space:
    """The outputs of a model as diagrams over one order, among the possible points."""

    def __init__(self, model: Any, domain: Domain, budget: Budget | None) -> None:
        self._form = form = read_model(model, domain)
        if form.is_regression:
            raise SimilarityError(
                "Sensitivity is about classes, but the model is a regression; give a classifier, or a function that "
                "compares its output with a threshold."
            )
        self.account = Account(budget, goal="region", advice="allow more, or ask about a smaller model")
        *compiled, last = form.labels
        account = self.account
        circuits = {y: compile_mdd(form, y, Similarity(), similar=True, budget=account.rest()) for y in compiled}
        # A function of one output has no circuit.
        order = (queries.feature_order(*circuits.values()) if circuits else None) or []
        full = [*order, *(i for i in range(len(domain)) if i not in set(order))]
        self.nodes = MddNodes(form.grid, full, account=account)
        support = support_of(form.grid, budget=account.rest())
        self.possible = _TRUE if support is None else self.nodes.load(support.circuit)
        loaded = {y: self.nodes.load(circuit) for y, circuit in circuits.items()}
        # The last output has the points that no other has.
        union = self.nodes.union(list(loaded.values()))
        loaded[last] = self.nodes.load(self.nodes.circuit(union, negated=True))
        self.outputs = {y: self.nodes.conjoined(self.possible, root) for y, root in loaded.items()}
        self._domain = domain

    def others(self, output: Hashable) -> int:
        """Return the possible points with another output."""
        return self.nodes.union([root for y, root in self.outputs.items() if y != output])

    def sensitive(self, features: Sequence[int]) -> dict[Hashable, int]:
        """Return, for each output, its points that reach another by changing only these features."""
        return {
            y: self.nodes.conjoined(root, by_changing(self.nodes, self.others(y), features))
            for y, root in self.outputs.items()
        }

    def within(self, radius: int) -> dict[Hashable, int]:
        """Return, for each output, its points that reach another by changing at most so many features."""
        return {
            y: self.nodes.conjoined(root, by_changing_at_most(self.nodes, self.others(y), radius))
            for y, root in self.outputs.items()
        }

    def answer(
        self,
        region: Mapping[Hashable, int],
        *,
        by: str | None,
        under: Distribution | Unbound | None,
        make: Callable[..., Any],
        own: bool = True,
    ) -> Any:
        """Return the numbers and probabilities of a region."""
        given: Any = under.over(self._domain) if has(under, "over") and isinstance(under, Unbound) else under
        distribution = self._domain.distribution if given is None and own else given
        if distribution is not None:
            check_describes(distribution, self._domain.features)
        measured = _Measured(self.nodes, distribution)
        together = self.nodes.union(list(region.values()))
        return make(
            probability=measured.probability(together),
            count=measured.count(together),
            points=measured.count(self.possible),
            outputs=tuple(measured.part(y, region[y], root) for y, root in self.outputs.items()),
            groups=tuple(self._groups(together, by, distribution)) if by is not None else (),
            by=by,
            distribution=str(distribution) if distribution is not None else "independent features",
            region=CompiledModel(Mdd(measured.circuit(together), tuple(self.nodes.order)), True, {}),
        )

    def _groups(self, region: int, by: str, distribution: Distribution | None) -> Iterable[Part]:
        """Yield what a region has of each group, on cells of their own: the model's may hold several groups."""
        i, grid = self._domain.index(by), self._form.grid
        axis = _axis_of_groups(grid.axes[i], None if distribution is None else distribution.states[i])
        grid = Grid(grid.domain, (*grid.axes[:i], axis, *grid.axes[i + 1 :]))
        nodes, place = MddNodes(grid, self.nodes.order, account=self.account), self.nodes.order.index(i)
        moved = (on_grid(self.nodes.circuit(root), grid) for root in (region, self.possible))
        inside, possible = (nodes.load(circuit) for circuit in moved)
        measured = _Measured(nodes, distribution)
        for cell in range(axis.n_cells):
            after = cell + 1
            arcs = [(cell, _FALSE)] * (cell > 0) + [(after, _TRUE)] + [(axis.n_cells, _FALSE)] * (after < axis.n_cells)
            group = nodes.node(place, *zip(*arcs, strict=True))
            held = nodes.conjoined(possible, group)
            yield measured.part(_group_name(axis, cell), nodes.conjoined(inside, group), held)


def _axis_of_groups(axis: Axis, states: States | None) -> Axis:
    """Return the groups of a feature as cells: its values, or the intervals of a real one."""
    if not isinstance(axis.feature, Real):
        return Axis.of_values(axis.feature)
    return axis if states is None else Axis.of(axis.feature, {*axis.cuts, *edge_cuts(states)})


def _group_name(axis: Axis, cell: int) -> str:
    feature = axis.feature
    if isinstance(feature, Integer) and cell != axis.missing_cell:
        return f"{feature.name} = {feature.low + cell}"
    return axis.describe([cell])


class _Measured:
    """Counts and probabilities of nodes, among the possible points."""

    def __init__(self, nodes: MddNodes, distribution: Distribution | None) -> None:
        grid = nodes.grid
        self._nodes, self._account = nodes, nodes.account
        self._countable = not any(isinstance(f, Real) for f in grid.domain.features)
        # The same cells, of a domain with this distribution.
        self._grid = Grid(grid.domain.with_distribution(distribution), grid.axes)

    def circuit(self, root: int) -> Circuit:
        return replace(self._nodes.circuit(root), grid=self._grid)

    @cached_property
    def _possible(self) -> Fraction:
        return possible_share(self._grid)

    def probability(self, root: int) -> Fraction:
        circuit = self.circuit(root)
        if self._grid.domain.distribution is None:
            return queries.probability(circuit, budget=self._account.rest()) / self._possible
        return circuit_share(circuit)

    def count(self, root: int) -> int | None:
        return queries.count(self._nodes.circuit(root), budget=self._account.rest()) if self._countable else None

    def part(self, name: Hashable, region: int, whole: int) -> Part:
        return Part(name, self.probability(region), self.count(region), self.probability(whole), self.count(whole))
