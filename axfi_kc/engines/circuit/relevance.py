"""Which features of an instance are relevant, necessary or unavoidable, on circuits of hundreds of features.

A feature is *relevant* if it is in some CXp (equally: in some AXp), *necessary* if it is in every AXp (changing it
alone can change the output), and *unavoidable* if it is in every CXp (fixing it alone keeps the output). The last two
take a pass over the circuit each. Relevance is a search: CXps are made that hold features not met yet, each of which settles
all its members; for a feature that stays out, sets of others that make it needless are excluded one after the other,
until a CXp holds it or nothing is left. Deciding that is NP-complete in general, and mostly easy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.circuits.targets import Target
from axfi_kc.circuits.targets.sdd import Sdd
from axfi_kc.errors import BudgetError, CircuitError
from axfi_kc.families.masks import features_of

if TYPE_CHECKING:
    from axfi_kc.engines.circuit.regions import InstanceBoxes

__all__ = ["Relevance", "relevance"]


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


def relevance(diagram: Circuit | Target, x: Any, *, budget: Budget | None = None) -> Relevance:
    """Return which features are relevant, necessary and unavoidable for a circuit's output at a point.

    Parameters
    ----------
    diagram
        A deterministic, decomposable circuit, or a target: an OBDD, an SDD, an MDD or a d-DNNF. It is asked as it is;
        an SDD is negated in its own manager where that makes questions shorter.
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
        If the instance is none of the domain's.

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
    names = _circuit(diagram).grid.domain.names
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


def _circuit(diagram: Any) -> Circuit:
    if isinstance(diagram, Circuit):
        return diagram
    if isinstance(diagram, Target):
        return diagram.to_circuit()
    if isinstance(getattr(diagram, "target", None), Target):
        found: Circuit = diagram.target.to_circuit()
        return found
    raise CircuitError(
        f"Relevance is asked of a circuit or a target, but a {type(diagram).__name__} was given; compile it first."
    )


def _boxes(diagram: Any, x: Any) -> tuple[InstanceBoxes, bool]:
    """Return the instance's boxes in the region of the other output, and its own output."""
    from axfi_kc.engines.circuit.regions import InstanceBoxes, Region

    circuit = _circuit(diagram)
    require_decomposable(circuit, "consistency")
    cells = circuit.grid.locate(circuit.grid.domain.encode([x]))[0]
    output = queries.evaluate(circuit, cells.tolist())
    held = getattr(diagram, "target", diagram)
    if output and isinstance(held, Sdd):
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

    def run(self) -> None:
        """Settle all features, as far as the budget goes."""
        boxes, everything = self._boxes, self._boxes.all
        if not self._n or not boxes.is_weak(everything):
            return
        waiting = list(range(self._n))
        try:
            self.necessary = [k for k in range(self._n) if self._asked(1 << k)]
            for k in self.necessary:
                self.cxp_of[k] = 1 << k
            self.unavoidable = [k for k in range(self._n) if not self._asked(everything & ~(1 << k))]
            while waiting:
                k = waiting.pop(0)
                if k not in self.cxp_of:
                    self._settle(k)
        except BudgetError:
            self.undecided = [j for j in range(self._n) if j not in self.cxp_of and j not in self._needless]

    def _asked(self, mask: int) -> bool:
        self._account.spend(1)
        return self._boxes.is_weak(mask)

    def _settle(self, k: int) -> None:
        """Find a CXp with feature k, or show that there is none."""
        # In each open case features are out, and others are in: a set with all of these, without what is out, is
        # looked for that is no weak CXp but becomes one with k.
        cases = [(0, 0)]
        while cases:
            out, kept = cases.pop()
            rest = self._boxes.all & ~out
            if not self._asked(rest) or (kept and self._asked(kept)):
                continue
            found = self._cxp(rest, k, kept)
            if found >> k & 1:
                for j in features_of(found):
                    self.cxp_of.setdefault(j, found)
                return
            # A set with all of this CXp is a weak CXp without k: one of its members must be out.
            branches = []
            for j in features_of(found & ~kept):
                branches.append((out | 1 << j, kept))
                kept |= 1 << j
            cases += reversed(branches)
        self._needless.add(k)

    def _cxp(self, mask: int, k: int, kept: int) -> int:
        """Return a CXp within a set; k is kept if possible, then what is not known to be relevant."""
        self._account.spend(mask.bit_count())
        known = self.cxp_of
        order = sorted(range(self._n), key=lambda j: (j == k, kept >> j & 1, j not in known))
        return self._boxes.shrink(mask, order=np.array(order, dtype=np.int64))
