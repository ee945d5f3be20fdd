"""Which features of an instance are relevant, necessary or unavoidable, on circuits of hundreds of features.

A feature is *relevant* if it is in some CXp (equally: in some AXp), *necessary* if it is in every AXp (changing it
alone can change the output), and *unavoidable* if it is in every CXp (fixing it alone keeps the output). The last two
take a pass over the circuit each. Relevance is a search: for a feature not met yet, a smallest change is found in which
it is of use, and shrunk to a CXp. If it is still in, all members of the CXp are settled. If not, deciding it is
NP-complete in general: with python-sat a solver is asked for a set that becomes a weak CXp with the feature and is none
without. Without python-sat some member of the CXp must not change, and each of these cases is looked at in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE, Form, circuit_in
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.circuits.targets import Closed
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.families.masks import features_of

if TYPE_CHECKING:
    from axfi_kc.engines.circuit.regions import InstanceBoxes

__all__ = ["Relevance", "relevance"]


_CLAUSES_AT_ONCE, _CONFLICTS_AT_ONCE = 1 << 10, 100  # of a solver, between two looks at the clock: some milliseconds
_MANY = 4  # features that a CXp made of all others must have, for another one to be made


@dataclass(frozen=True, slots=True)
class Relevance:
    """What features do for the output of an instance.

    Attributes
    ----------
    output
        Whether the circuit holds at the instance.
    relevant
        The features in some CXp, each with one it is in; in the domain's order.
    necessary
        Those that are in every AXp: each is a CXp by itself.
    unavoidable
        Those that are in every CXp: each is an AXp by itself.
    undecided
        Those of which the budget was spent before it was known whether they are relevant.
    """

    output: bool
    relevant: dict[str, tuple[str, ...]] = field(repr=False)
    necessary: tuple[str, ...]
    unavoidable: tuple[str, ...]
    undecided: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        """Tell whether a feature is known to be relevant."""
        return name in self.relevant


@checked("budget")
def relevance(diagram: Form, x: Any, *, budget: Budget | None = None) -> Relevance:
    """Return which features are relevant, necessary and unavoidable for a circuit's output at a point.

    Parameters
    ----------
    diagram
        A deterministic, decomposable circuit, or a target: an OBDD, an SDD, an MDD or a d-DNNF. It is asked as it is;
        one that can be negated is, in its own manager, where that makes questions shorter.
    x
        The instance, a value per feature.
    budget
        What the search may cost; a node is a question, a pass or a few over the circuit.

    Returns
    -------
    Relevance
        If the budget is spent, with what is certain so far, and what is undecided.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable, or no circuit.
    DomainError
        If the instance is none of the domain's, or has another value where the circuit is conditioned.

    Notes
    -----
    Necessary and unavoidable features: a pass each. Relevant ones: a pass for each feature and each CXp that is made,
    as a rule a few of them; exponential at worst.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abcd"])))
    >>> either = build.decision(1, [([0], build.literal(2, [1])), ([1], build.true)])
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1]), either]))
    >>> found = relevance(circuit, (1, 1, 1, 0))
    >>> found.relevant, found.necessary, found.unavoidable
    ({'a': ('a',), 'b': ('b', 'c'), 'c': ('b', 'c')}, ('a',), ())
    """
    boxes, output = _boxes(diagram, x)
    names = circuit_in(diagram).grid.domain.names
    account = Account(budget, goal="search for relevant features", advice="allow more", unit="questions", at_once=1)
    search = _Search(boxes, account)
    search.run()
    own = [names[i] for i in boxes.region.scope.tolist()]
    place = {name: k for k, name in enumerate(names)}

    def named(positions: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted((own[k] for k in positions), key=place.__getitem__))

    found = {own[k]: named(features_of(search.cxp_of[k])) for k in search.cxp_of}
    return Relevance(
        output,
        {name: found[name] for name in sorted(found, key=place.__getitem__)},
        named(search.necessary),
        named(search.unavoidable),
        named(search.undecided),
    )


def _boxes(diagram: Any, x: Any) -> tuple[InstanceBoxes, bool]:
    """Return the instance's boxes in the region of the other output, and its own output."""
    from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

    circuit = circuit_in(diagram)
    require_decomposable(circuit, "consistency")
    cells = circuit.grid.locate(circuit.grid.domain.encode([x]))[0]
    other = next((i for i, c in circuit.grid.fixed if cells[i] != c), None)
    if other is not None:
        axis, own = circuit.grid.axes[other], dict(circuit.grid.fixed)[other]
        raise DomainError(
            f"The circuit is conditioned on {axis.describe([own])}, but the instance has "
            f"{axis.describe([int(cells[other])])}; give an instance that agrees, or the circuit before it was "
            "conditioned."
        )
    output = queries.evaluate(circuit, cells.tolist())
    held = getattr(diagram, "target", diagram)
    if output and isinstance(held, Closed):
        # Linear in the diagram, and then where it holds is found by a pass of truth values instead of counts.
        return InstanceBoxes(Region.of(held.negate().to_circuit(), holds=True), cells), output
    return InstanceBoxes(Region.of(circuit, holds=not output), cells), output


class _Search:
    """Looks for CXps until every feature is in one or shown to be in none; features are positions in the scope."""

    def __init__(self, boxes: InstanceBoxes, account: Account) -> None:
        self._boxes, self._account = boxes, account
        self._n = len(boxes.region.scope)
        self.cxp_of: dict[int, int] = {}
        self.necessary: list[int] = []
        self.unavoidable: list[int] = []
        self.undecided: list[int] = []
        self._needless: set[int] = set()
        self._solver: _Solver | None = None

    def run(self) -> None:
        """Settle all features, as far as the budget goes."""
        boxes, everything = self._boxes, self._boxes.all
        if not self._n or not boxes.is_weak(everything):
            return
        try:
            self.necessary = [k for k in range(self._n) if self._asked(1 << k)]
            for k in self.necessary:
                self.cxp_of[k] = 1 << k
            self.unavoidable = [k for k in range(self._n) if not self._asked(everything & ~(1 << k))]
            self._cover()
            for k in range(self._n):
                if k not in self.cxp_of:
                    self._settle(k)
        except BudgetError:
            self.undecided = [j for j in range(self._n) if j not in self.cxp_of and j not in self._needless]

    def _asked(self, mask: int) -> bool:
        self._account.spend(1)
        return self._boxes.is_weak(mask)

    def _cover(self) -> None:
        """Make CXps of what is not met yet, as long as each has many such features: where CXps are large, few do."""
        met = -_MANY
        while len(self.cxp_of) - met >= _MANY and len(self.cxp_of) < self._n:
            met = len(self.cxp_of)
            fresh = next(j for j in range(self._n) if j not in self.cxp_of)
            self._note(self._shrunk(self._boxes.all, fresh))

    def _settle(self, k: int) -> None:
        """Find a CXp with feature k, or show that there is none."""
        if self._boxes.region.holds and find_spec("pysat") is not None:
            self._settle_by_solver(k)
        else:
            self._settle_by_cases(k)

    def _settle_by_solver(self, k: int) -> None:
        found = self._cxp(self._boxes.all, k)
        if found is not None and not found >> k & 1:
            self._account.spend(1)
            self._solver = self._solver or _Solver(self._boxes, self._account)
            start = self._solver.witness(k)
            found = None if start is None else self._shrunk(start | 1 << k, k)
        if found is None:
            self._needless.add(k)
        else:
            self._note(found)

    def _note(self, found: int) -> None:
        for j in features_of(found):
            self.cxp_of.setdefault(j, found)

    def _settle_by_cases(self, k: int) -> None:
        # In each open case features are out, and others are in: a set with all of these, without what is out, is
        # looked for that is no weak CXp but becomes one with k.
        cases = [(0, 0)]
        while cases:
            out, kept = cases.pop()
            found = None if kept and self._asked(kept) else self._cxp(self._boxes.all & ~out, k)
            if found is None:
                continue
            if found >> k & 1:
                self._note(found)
                return
            # A set with all of this CXp is a weak CXp without k: one of its members must be out.
            branches = []
            for j in features_of(found & ~kept):
                branches.append((out | 1 << j, kept))
                kept |= 1 << j
            cases += reversed(branches)
        self._needless.add(k)

    def _cxp(self, mask: int, k: int) -> int | None:
        """Return a CXp within a set, if possible one with k; None if there is none, or none with k."""
        start: int | None = mask
        if self._boxes.region.holds:
            self._account.spend(1)
            start = self._boxes.least_change(mask, k)
        elif not self._asked(mask):
            return None
        if start is None:
            return None
        return self._shrunk(start, k)

    def _shrunk(self, start: int, k: int) -> int:
        self._account.spend(start.bit_count())
        known = self.cxp_of
        order = sorted(range(self._n), key=lambda j: (j == k, j not in known))
        if not self._boxes.is_large(start):
            return self._boxes.shrink(start, order=np.array(order, dtype=np.int64))
        for j in order:
            self._account.look()
            if start >> j & 1 and self._boxes.is_weak(start & ~(1 << j)):
                start &= ~(1 << j)
        return start


class _Solver:
    """A SAT solver that knows the circuit twice: it holds with the feature in question free, and fails without.

    Variable k + 1 says that feature k of the scope is free in both copies, variable n + k + 1 that it is the one in
    question.

    The solver cannot be interrupted. It is asked for some conflicts at a time, with or without a limit, so that a
    budget changes no answer; and it eliminates no variables, which may take seconds between two conflicts.
    """

    def __init__(self, boxes: InstanceBoxes, account: Account) -> None:
        from pysat.solvers import Solver

        self._n, self._account = len(boxes.region.scope), account
        self._place = {i: k for k, i in enumerate(boxes.region.scope.tolist())}
        self._solver = Solver(name="cadical153")
        self._solver.configure({"elim": 0})
        for clause in account.paced(self._clauses(boxes), at_once=_CLAUSES_AT_ONCE):
            self._solver.add_clause(clause)
        # Few free features: what is found is shrunk, one question for each of them.
        self._solver.set_phases([-(k + 1) for k in range(self._n)])

    def _in_question(self, k: int) -> int:
        return self._n + k + 1

    def witness(self, k: int) -> int | None:
        """Return a set that is no weak CXp and becomes one with feature k; None if there is none."""
        chosen = [self._in_question(j) if j == k else -self._in_question(j) for j in range(self._n)]
        is_met: bool | None = None
        while is_met is None:
            self._account.look()
            self._solver.conf_budget(_CONFLICTS_AT_ONCE)
            is_met = self._solver.solve_limited(assumptions=chosen)
        if not is_met:
            return None
        return sum(1 << (x - 1) for x in self._solver.get_model()[: self._n] if x > 0)

    def _clauses(self, boxes: InstanceBoxes) -> Iterator[list[int]]:
        circuit, m = boxes.region.circuit, len(boxes.region.circuit.kinds)
        yield from ([-self._in_question(k), -(k + 1)] for k in range(self._n))
        upper, lower, helper = 2 * self._n + 1, 2 * self._n + m + 1, 2 * self._n + 2 * m + 1
        offsets, children = circuit.offsets.tolist(), circuit.children.tolist()
        for node, kind in enumerate(circuit.kinds.tolist()):
            arcs = range(offsets[node], offsets[node + 1])
            below = [children[arc] for arc in arcs]
            # What is true in the first copy needs a reason; what has a reason in the second one is true.
            if kind == AND:
                yield from ([-(upper + node), upper + c] for c in below)
                yield [lower + node, *(-(lower + c) for c in below)]
            elif kind == OR:
                yield [-(upper + node), *(upper + c for c in below)]
                yield from ([lower + node, -(lower + c)] for c in below)
            elif kind == DECISION:
                k = self._place[int(circuit.features[node])]
                taken = [children[arc] for arc in arcs if boxes.follows[arc]]
                others = [children[arc] for arc in arcs if not boxes.follows[arc]]
                yield [-(upper + node), *(upper + c for c in taken), helper + node]
                yield [-(helper + node), k + 1, self._in_question(k)]
                yield [-(helper + node), *(upper + c for c in others)]
                yield from ([lower + node, -(lower + c)] for c in taken)
                yield from ([lower + node, -(lower + c), -(k + 1)] for c in others)
            else:
                yield [lower + node] if kind == TRUE else [-(upper + node)]
        yield [upper + circuit.root]
        yield [-(lower + circuit.root)]
