"""Discrete Bayesian networks: a table for every variable, given its parents, in exact fractions.

A network is made of tables (:class:`BayesianNetwork`), of a file (:func:`axfi_kc.domain.network_files.read_network`) or
of an object of a library (:func:`axfi_kc.domain.network_objects.network_of`). Over a domain it is a distribution: each
feature is the variable of its name, and variables that are no features are summed out. With an output it is a model.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, quoted
from axfi_kc.domain.distribution import (
    DISTRIBUTIONS,
    Distribution,
    Evidence,
    Row,
    States,
    check_evidence,
    chosen,
    joined,
    read_states,
)
from axfi_kc.domain.elimination import Factor, elimination_order, summed_out
from axfi_kc.domain.features import Feature
from axfi_kc.domain.from_tables import unknown
from axfi_kc.domain.measures import Number, counted
from axfi_kc.domain.network_variables import (
    FlatRows,
    Variable,
    bins_of,
    labels_of,
    listed,
    rows_of,
    state_of,
    states_for,
)
from axfi_kc.errors import ArgumentError, DomainError
from axfi_kc.json_text import number_of, number_text, value_of, value_text

if TYPE_CHECKING:
    from axfi_kc.domain.domain import Domain

__all__ = ["BayesianNetwork", "NetworkDistribution"]


_MOST_PLANS = 4096  # orders of elimination that a network remembers
_MOSTLY = Fraction(1, 8)  # the least probability of the domain for which points are drawn until one is in it
_Plan = tuple[int, ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class BayesianNetwork:
    """A discrete Bayesian network.

    Parameters
    ----------
    states
        The states of each variable, ``{name: [state, ...]}``.
    tables
        The table of each variable: the probabilities of its states, one list for each combination of its parents'
        states: nested as deep as there are parents, the states innermost. Numbers are taken exactly, floats for the
        rationals they denote; each list must add up to 1 within a millionth, and is then divided by its sum.
    parents
        The parents of the variables that have some, ``{name: [name, ...]}``, in the order of the nesting.
    output
        The variable that the network predicts, where it is a model.
    bins
        For variables whose states are bins of a number, from left to right: where one ends and the next begins. A state
        ``"missing"``, or None, is no bin, and stands for missing values.

    Raises
    ------
    DomainError
        If there is no table, a wrong number of probabilities, a list that does not add up to 1, or a cycle.
    UnknownFeatureError
        If a parent, or the output, is no variable.

    Examples
    --------
    >>> network = BayesianNetwork(
    ...     {"rain": ["no", "yes"], "wet": ["no", "yes"]},
    ...     {"rain": [Fraction(4, 5), Fraction(1, 5)], "wet": [[0.75, 0.25], [0, 1]]},
    ...     parents={"wet": ["rain"]},
    ... )
    >>> network
    BayesianNetwork(rain, rain -> wet)
    >>> network.probability({"wet": "yes"})
    Fraction(2, 5)
    """

    variables: tuple[Variable, ...]
    output: str | None
    _place: dict[str, int] = field(compare=False)
    _tables: tuple[tuple[npt.NDArray[Any], int], ...] = field(compare=False)  # integers, and what they are divided by
    _order: tuple[int, ...] = field(compare=False)  # each after its parents
    _plans: dict[tuple[frozenset[int], frozenset[int]], _Plan] = field(compare=False)

    @checked("states", "tables", "parents", "output", "bins")
    def __init__(
        self,
        states: Mapping[str, Sequence[Hashable]],
        tables: Mapping[str, Any],
        *,
        parents: Mapping[str, Sequence[str]] | None = None,
        output: str | None = None,
        bins: Mapping[str, Sequence[Number]] | None = None,
    ) -> None:
        names = [str(name) for name in states]
        if not names or len(set(names)) < len(names):
            raise DomainError("A network needs variables, each with a name of its own; give {name: [state, ...]}.")
        place = {name: k for k, name in enumerate(names)}
        given, cuts = dict(parents or {}), dict(bins or {})
        for name in (
            *tables,
            *given,
            *cuts,
            *(p for row in given.values() for p in row),
            *([output] if output else []),
        ):
            if name not in place:
                raise unknown(name, tuple(names))
        labels = [labels_of(name, states[name]) for name in names]
        sizes = [len(row) for row in labels]
        variables = []
        for name, row in zip(names, labels, strict=True):
            above = _above(name, given.get(name, ()), place)
            if name not in tables:
                raise DomainError(f"Variable {name!r} has no table; give its probabilities in tables.")
            rows = rows_of(name, tables[name], [*(sizes[p] for p in above), len(row)])
            variables.append(Variable(name, row, above, rows, bins_of(name, cuts.get(name), row)))
        order = _parents_first(variables)
        object.__setattr__(self, "variables", tuple(variables))
        object.__setattr__(self, "output", output)
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_tables", tuple(_integers(v, sizes) for v in variables))
        object.__setattr__(self, "_order", order)
        object.__setattr__(self, "_plans", {})

    @classmethod
    def of(cls, model: Any) -> BayesianNetwork:
        """Return the network that an object of pgmpy or pyAgrum is; see :mod:`axfi_kc.domain.network_objects`."""
        from axfi_kc.domain.network_objects import network_of

        return network_of(model)

    def with_output(self, name: str) -> BayesianNetwork:
        """Return the network as a model that predicts the variable called `name`, from any others.

        Examples
        --------
        >>> BayesianNetwork({"rain": "ny"}, {"rain": [0.5, 0.5]}).with_output("rain").output
        'rain'
        """
        self.index(name)
        made = object.__new__(BayesianNetwork)
        for slot in ("variables", "_place", "_tables", "_order", "_plans"):
            object.__setattr__(made, slot, getattr(self, slot))
        object.__setattr__(made, "output", name)
        return made

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.variables)

    def __repr__(self) -> str:
        """Return the variables with their parents."""
        shown_ones = [self._arrow(v) for v in self.variables[:8]]
        more = [f"... {counted(len(self), 'variable')}"] if len(self) > 8 else []
        goal = [f"output={self.output!r}"] if self.output else []
        return f"BayesianNetwork({', '.join([*shown_ones, *more, *goal])})"

    def _arrow(self, variable: Variable) -> str:
        above = " ".join(self.variables[p].name for p in variable.parents)
        return f"{above} -> {variable.name}" if above else variable.name

    def __hash__(self) -> int:
        """Return a number that equal networks share."""
        return hash((self.variables, self.output))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names."""
        return tuple(self._place)

    def index(self, name: object) -> int:
        """Return the number of the variable called `name`, or raise an UnknownFeatureError."""
        if not isinstance(name, str) or name not in self._place:
            raise unknown(name, self.names)
        return self._place[name]

    @property
    def denominator(self) -> int:
        """What the product of all factors is divided by to be a probability."""
        return math.prod(below for _, below in self._tables)

    def factors(self) -> list[Factor]:
        """Return the tables as factors in integers: what each is divided by does not depend on anything."""
        pairs = zip(self.variables, self._tables, strict=True)
        return [Factor((*v.parents, i), table) for i, (v, (table, _)) in enumerate(pairs)]

    @checked("evidence")
    def probability(self, evidence: Mapping[str, Hashable | set[Hashable]]) -> Fraction:
        """Return the probability that variables have given states, each one state or a set of them.

        Raises
        ------
        UnknownFeatureError, DomainError
            For a variable or a state that is none.
        """
        rows: dict[int, Row] = {}
        for name, wanted in evidence.items():
            i = self.index(name)
            chosen = wanted if isinstance(wanted, set | frozenset) else {wanted}
            odd = next((s for s in chosen if s not in self.variables[i].states), None)
            if odd is not None:
                raise DomainError(
                    f"Variable {name!r} has the states {listed(self.variables[i].states)}, but {quoted(odd)} was given."
                )
            rows[i] = [int(state in chosen) for state in self.variables[i].states]
        return self.total_of(rows)

    @checked("rows")
    def total_of(self, rows: Mapping[int, Row]) -> Fraction:
        """Return the sum, over all states of all variables, of their probability times the evidence, by variable.

        Notes
        -----
        Variable elimination among the ancestors of the variables with evidence; states without evidence are left out.
        """
        inside = _ancestors(self.variables, rows)
        if not inside:
            return Fraction(1)
        kept: dict[int, list[int]] = {}
        scaled: dict[int, tuple[list[int], int]] = {}
        for i in inside:
            row = rows.get(i)
            kept[i] = (
                [k for k, e in enumerate(row) if e] if row is not None else [*range(len(self.variables[i].states))]
            )
            if not kept[i]:
                return Fraction(0)
            if row is not None:
                scaled[i] = _over_one_denominator([row[k] for k in kept[i]])
        below = math.prod(self._tables[i][1] for i in inside) * math.prod(d for _, d in scaled.values())
        factors = [self._factor(i, kept, scaled.get(i)) for i in inside]
        free = frozenset(i for i in inside if len(kept[i]) > 1)
        above = math.prod(
            int(f.values.item()) for f in summed_out(factors, self._plan(frozenset(inside), free, factors))
        )
        return Fraction(above, below)

    def _factor(self, i: int, kept: Mapping[int, list[int]], scaled: tuple[list[int], int] | None) -> Factor:
        """Return the table of a variable on the states that are left; variables of one state have no axis."""
        scope = (*self.variables[i].parents, i)
        table = self._tables[i][0][np.ix_(*(kept[k] for k in scope))]
        if scaled is not None:
            table = table * np.array(scaled[0], dtype=object)
        wide = tuple(k for k in scope if len(kept[k]) > 1)
        return Factor(wide, table.reshape([len(kept[k]) for k in wide]))

    def _plan(self, inside: frozenset[int], free: frozenset[int], factors: Sequence[Factor]) -> _Plan:
        key = inside, free
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = tuple(elimination_order([f.scope for f in factors], sorted(free)))
        return self._plans[key]

    @checked("source")
    def drawn(self, source: Random) -> list[int]:
        """Return a state of each variable, by its number, at random: each given its parents, with exact chances."""
        found = [0] * len(self)
        for i in self._order:
            variable, row = self.variables[i], 0
            for p in variable.parents:
                row = row * len(self.variables[p].states) + found[p]
            found[i] = chosen(variable.rows[row], source)
        return found

    @checked("domain")
    def over(self, domain: Domain) -> NetworkDistribution:
        """Return the distribution of a domain's features, each the variable of its name; others are summed out.

        Raises
        ------
        DomainError
            If a feature is no variable, or its values and the variable's states are not the same.

        Examples
        --------
        >>> from axfi_kc.domain import Categorical, Domain
        >>> network = BayesianNetwork({"a": ["x", "y"]}, {"a": [0.25, 0.75]})
        >>> network.over(Domain([Categorical("a", ["y", "x"])])).total([[1, 0]])
        Fraction(3, 4)
        """
        places = tuple(self.over_feature(feature) for feature in domain.features)
        pairs = [states_for(self.variables[p], f) for p, f in zip(places, domain.features, strict=True)]
        return NetworkDistribution(self, tuple(s for s, _ in pairs), places, tuple(turned for _, turned in pairs))

    @checked("feature")
    def over_feature(self, feature: Feature) -> int:
        """Return the variable that a feature is, or raise a DomainError."""
        place = self._place.get(feature.name)
        if place is None:
            raise DomainError(
                f"Feature {feature.name!r} is no variable of the network, which has {listed(self.names)}; rename it, "
                "or add a variable for it."
            )
        return place

    @checked("points")
    def predict(self, points: Sequence[Mapping[str, Any]]) -> list[Hashable]:
        """Return the most probable state of the output at each point, ``{name: state}``; of equal ones the first.

        Where the network has no output, it is the one variable that the points leave out.

        Raises
        ------
        DomainError
            If it is not clear what is predicted, or a value is no state.

        Notes
        -----
        A total for each state of the output; as a model (:func:`axfi_kc.read_model`) a network is faster.

        Examples
        --------
        >>> tables = {"a": [0.25, 0.75], "b": [[1, 0], [0, 1]]}
        >>> network = BayesianNetwork({"a": "xy", "b": "xy"}, tables, parents={"b": ["a"]})
        >>> network.with_output("a").predict([{"b": "x"}, {}])
        ['x', 'y']
        """
        strange = next((point for point in points if not isinstance(point, Mapping)), None)
        if strange is not None:
            raise ArgumentError(
                f"A point is a mapping from names to states, but {quoted(strange)} was given; give one."
            )
        return [self._most_probable(self._goal(point), point) for point in points]

    def _goal(self, point: Mapping[str, Any]) -> int:
        left = [name for name in self.names if name not in point] if self.output is None else [self.output]
        if len(left) != 1:
            raise DomainError(
                f"Which variable is predicted is clear only where one is left out, but {len(left)} are left out; "
                "say which one by network.with_output(name)."
            )
        return self.index(left[0])

    def _most_probable(self, goal: int, point: Mapping[str, Any]) -> Hashable:
        own = self.variables[goal].states
        rows: dict[int, Row] = {}
        for name, value in point.items():
            variable = self.variables[self.index(name)]
            rows[self.index(name)] = _indicator(state_of(variable, value), len(variable.states))
        totals = [self.total_of({**rows, goal: _indicator(k, len(own))}) for k in range(len(own))]
        return own[totals.index(max(totals))]

    def document(self) -> dict[str, Any]:
        """Return the network as JSON can hold it."""
        nodes = [self._node(v) for v in self.variables]
        return {"variables": nodes} | ({"output": self.output} if self.output else {})

    def _node(self, v: Variable) -> dict[str, Any]:
        found: dict[str, Any] = {"name": v.name, "states": [value_text(s) for s in v.states]}
        if v.parents:
            found["parents"] = [self.variables[p].name for p in v.parents]
        if v.cuts is not None:
            found["cuts"] = [number_text(c) for c in v.cuts]
        return found | {"rows": [[number_text(p) for p in row] for row in v.rows]}

    @classmethod
    @checked("document")
    def of_document(cls, document: Mapping[str, Any]) -> BayesianNetwork:
        """Return the network that :meth:`document` wrote."""
        if "variables" not in document:
            raise DomainError(f"A network has variables, but {quoted(document)} was given; write it with document().")
        nodes = document["variables"]
        states = {node["name"]: tuple(value_of(s) for s in node["states"]) for node in nodes}
        parents = {node["name"]: tuple(node.get("parents", ())) for node in nodes}
        if len(states) != len(nodes):
            raise DomainError("A network needs a name of its own for each variable, but one occurs twice; rename it.")
        rows = {node["name"]: [[number_of(p, "probability") for p in row] for row in node["rows"]] for node in nodes}
        cuts = {n["name"]: [number_of(c, "cut") for c in n["cuts"]] for n in nodes if n.get("cuts") is not None}
        return cls.of_rows(states, rows, parents=parents, output=document.get("output"), bins=cuts)

    @classmethod
    @checked("states", "rows", "parents", "output", "bins")
    def of_rows(
        cls,
        states: Mapping[str, Sequence[Hashable]],
        rows: Mapping[str, Sequence[Sequence[Any]]],
        *,
        parents: Mapping[str, Sequence[str]],
        output: str | None = None,
        bins: Mapping[str, Sequence[Number]] | None = None,
    ) -> BayesianNetwork:
        """Return the network whose tables are lists of rows, one for each combination of the parents' states."""
        nested = {name: FlatRows(table) for name, table in rows.items()}
        return cls(states, nested, parents=parents, output=output, bins=bins)


def _ancestors(variables: Sequence[Variable], chosen: Iterable[int]) -> list[int]:
    """Return some variables, by number, and all above them: tables of the others add up to 1."""
    found, stack = set[int](), list(chosen)
    while stack:
        i = stack.pop()
        if i not in found:
            found.add(i)
            stack += variables[i].parents
    return sorted(found)


def _above(name: str, parents: Sequence[str], place: Mapping[str, int]) -> tuple[int, ...]:
    above = tuple(place[p] for p in parents)
    if len(set(above)) < len(above):
        raise DomainError(f"Variable {name!r} has a parent twice; name each once.")
    return above


def _parents_first(variables: Sequence[Variable]) -> tuple[int, ...]:
    """Return the variables, each after its parents, or raise if some are among their own ancestors."""
    order = list[int]()
    left = {i: set(v.parents) for i, v in enumerate(variables)}
    below: dict[int, list[int]] = {i: [] for i in left}
    for i, above in left.items():
        for p in above:
            below[p].append(i)
    ready = [i for i, above in left.items() if not above]
    while ready:
        i = ready.pop()
        order.append(i)
        del left[i]
        for child in below[i]:
            left[child].discard(i)
            if not left[child]:
                ready.append(child)
    if left:
        raise DomainError(
            f"A network must have no cycle, but {' -> '.join(_cycle(variables, left))} is one; turn an arrow."
        )
    return tuple(order)


def _cycle(variables: Sequence[Variable], left: Mapping[int, set[int]]) -> list[str]:
    """Return the names on a cycle, along the arrows: every variable that is left has a parent that is left."""
    walk = [next(iter(left))]
    while walk[-1] not in walk[:-1]:
        walk.append(min(left[walk[-1]]))
    names = [variables[i].name for i in reversed(walk[walk.index(walk[-1]) :])]
    return names if len(names) <= 8 else [*names[:7], "...", names[-1]]


def _integers(variable: Variable, sizes: Sequence[int]) -> tuple[npt.NDArray[Any], int]:
    """Return a table in integers, with an axis for each parent and the variable itself, and their denominator."""
    below = math.lcm(*(p.denominator for row in variable.rows for p in row))
    flat = np.empty(len(variable.rows) * len(variable.states), dtype=object)
    flat[:] = [p.numerator * (below // p.denominator) for row in variable.rows for p in row]
    return flat.reshape([*(sizes[p] for p in variable.parents), len(variable.states)]), below


def _over_one_denominator(row: Sequence[int | Fraction]) -> tuple[list[int], int]:
    fractions = [Fraction(e) for e in row]
    below = math.lcm(*(e.denominator for e in fractions))
    return [e.numerator * (below // e.denominator) for e in fractions], below


def _indicator(state: int, size: int) -> Row:
    return [int(k == state) for k in range(size)]


@dataclass(frozen=True, slots=True)
class NetworkDistribution(Distribution):
    """A Bayesian network over the features of a domain.

    Attributes
    ----------
    network
        The network; variables that are no features are summed out.
    states
        The states of each feature.
    places
        The variable of each feature.
    turned
        For each state of each feature, the variable's state.
    """

    network: BayesianNetwork
    states: tuple[States, ...]
    places: tuple[int, ...]
    turned: tuple[tuple[int, ...], ...]
    _inside: Fraction = field(init=False, repr=False, compare=False)  # the probability of all values of the features
    kind: ClassVar[str] = "bayesian-network"

    def __post_init__(self) -> None:
        """Check that every feature has a variable of its own, and every state one of its states."""
        sizes = [len(v.states) for v in self.network.variables]
        right = len(self.places) == len(self.turned) == len(self.states) == len(set(self.places))
        for own, place, turned in zip(self.states, self.places, self.turned, strict=False):
            right = right and 0 <= place < len(sizes) and len(turned) == own.size == len(set(turned))
            right = right and all(0 <= k < sizes[place] for k in turned)
        if not right:
            raise DomainError("Each feature needs a variable of its own, and each of its states one of the variable's.")
        inside = self.network.total_of(self._rows([None] * len(self.states)))
        if not inside:
            raise DomainError(
                "The network gives probability 0 to all values of the features together; widen the domain."
            )
        object.__setattr__(self, "_inside", inside)

    def total(self, evidence: Evidence) -> Fraction:
        """Return the sum, over all states, of their probability times the evidence; see :meth:`Distribution.total`."""
        check_evidence(evidence, self.states)
        return self.network.total_of(self._rows(evidence)) / self._inside

    @property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """The features that are connected by arrows, also through variables above them that are no features."""
        network, feature_of = self.network, {place: i for i, place in enumerate(self.places)}
        arrows = [(i, *network.variables[i].parents) for i in _ancestors(network.variables, self.places)]
        parts = joined(len(network), arrows)
        found = (frozenset(feature_of[i] for i in part if i in feature_of) for part in parts)
        return tuple(block for block in found if block)

    def tables(self) -> tuple[Fraction, list[Factor]]:
        """Return the distribution as a product of tables over the features' states, and what it is multiplied by."""
        network = self.network
        hidden = sorted(set(range(len(network))) - set(self.places))
        whole = network.factors()
        feature_of = {place: i for i, place in enumerate(self.places)}
        factors = []
        for factor in summed_out(whole, elimination_order([f.scope for f in whole], hidden)):
            values = factor.values
            for axis, place in enumerate(factor.scope):
                values = np.take(values, self.turned[feature_of[place]], axis=axis)
            factors.append(Factor(tuple(feature_of[place] for place in factor.scope), np.asarray(values, dtype=object)))
        return 1 / (self._inside * network.denominator), factors

    def _rows(self, evidence: Evidence) -> dict[int, Row]:
        """Return the evidence by variable; states that are no values of the feature are excluded."""
        rows: dict[int, Row] = {}
        for place, turned, row in zip(self.places, self.turned, evidence, strict=True):
            size = len(self.network.variables[place].states)
            if row is None and len(turned) == size:
                continue
            full: list[int | Fraction] = [0] * size
            for k, e in zip(turned, row if row is not None else [1] * len(turned), strict=True):
                full[k] = e
            rows[place] = full
        return rows

    def _drawn(self, source: Random) -> tuple[Any, ...]:
        """Return a point at random, all variables at once; again, if one is in a state that the domain leaves out."""
        if self._inside < _MOSTLY:
            return Distribution._drawn(self, source)
        while True:
            drawn = self.network.drawn(source)
            pairs = [
                (own, turned, drawn[p]) for own, turned, p in zip(self.states, self.turned, self.places, strict=True)
            ]
            if all(state in turned for _, turned, state in pairs):
                return tuple(own.drawn(turned.index(state), source) for own, turned, state in pairs)

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "kind": self.kind,
            "network": self.network.document(),
            "states": [s.document() for s in self.states],
            "places": list(self.places),
            "turned": [list(row) for row in self.turned],
        }

    def __str__(self) -> str:
        """Return it in words."""
        return f"a Bayesian network of {counted(len(self.network), 'variable')}"


def _read(document: Mapping[str, Any]) -> NetworkDistribution:
    network = BayesianNetwork.of_document(document["network"])
    turned = tuple(tuple(_whole(k) for k in row) for row in document["turned"])
    return NetworkDistribution(network, read_states(document), tuple(map(_whole, document["places"])), turned)


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise DomainError(f"Expected the number of a state, but {quoted(number)} was found.")
    return number


DISTRIBUTIONS[NetworkDistribution.kind] = _read
