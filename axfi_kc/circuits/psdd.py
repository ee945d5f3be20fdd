"""Probabilistic sentential decision diagrams: distributions over the bits of the features' codes.

A node belongs to a node of a vtree and is a distribution of the bits below that: a leaf gives its bit a probability, a
decision mixes pairs of a prime (over the bits on the left) and a sub (on the right). Bit vectors that are the code of
no point are left out: probabilities are those given that the bits are a code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from axfi_kc.arguments import check_fields, checked
from axfi_kc.budget import Account, Budget, paced
from axfi_kc.circuits.targets.bit_codes import Bit, cells_of, mask_of
from axfi_kc.circuits.targets.sdd import Sdd
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.distribution import DISTRIBUTIONS, Distribution, Evidence, States, check_evidence, read_states
from axfi_kc.domain.measures import counted
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.json_text import number_of, number_text

__all__ = ["Psdd"]


_MOST_PATTERNS = 1 << 20  # combinations of bits of unfinished codes that one node is asked about
Elements = tuple[tuple[int, int, Fraction], ...]
_Sides = tuple[tuple[int, ...], tuple[int, ...]]
_NO_SIDES: _Sides = ((), ())


@dataclass(frozen=True, slots=True)
class Psdd(Distribution):
    """A distribution of the features' codes.

    Attributes
    ----------
    states
        The features' values, a state each.
    bits
        For each variable its feature, and the states in whose code it is 1, as an int.
    vtree
        The vtree; leaf k is variable k.
    places
        For each node, children before parents and the root last, its node of the vtree.
    leaves
        At a leaf the probability that its bit is 1; None elsewhere.
    elements
        Prime, sub and probability of each element of a decision; none elsewhere.
    budget
        What checking it may cost; not kept.
    """

    states: tuple[States, ...]
    bits: tuple[tuple[int, int], ...]
    vtree: Vtree
    places: tuple[int, ...]
    leaves: tuple[Fraction | None, ...]
    elements: tuple[Elements, ...]
    budget: InitVar[Budget | None] = None
    _joins: tuple[_Join, ...] = field(init=False, repr=False, compare=False)
    _valid: Fraction = field(init=False, repr=False, compare=False)  # the probability that the bits are a code
    kind: ClassVar[str] = "psdd"

    def __post_init__(self, budget: Budget | None) -> None:
        """Check that nodes respect the vtree and parameters are probabilities."""
        account = Account(budget, goal="PSDD", advice="allow more")
        check_fields(self)
        _check_bits(self)
        _check_nodes(self, account)
        object.__setattr__(self, "_joins", tuple(_joins(self)))
        object.__setattr__(self, "_valid", self._sum([None] * len(self.states), account))
        if not self._valid:
            raise DomainError(
                "The diagram gives probability 0 to all codes of points, so nothing has a probability; use the code "
                "it was made with."
            )

    @checked("evidence")
    def total(self, evidence: Evidence) -> Fraction:
        """Return the sum, over all combinations of values, of their probability times the evidence.

        Raises
        ------
        DomainError
            If too many codes are unfinished at one node: bits of a feature should be close together in the vtree.

        Notes
        -----
        A pass over the diagram; where the bits of a feature are one subtree of the vtree, linear in it times the
        feature's values.
        """
        check_evidence(evidence, self.states)
        return self._sum(evidence) / self._valid

    def _sum(self, evidence: Evidence, account: Account | None = None) -> Fraction:
        found: list[dict[tuple[int, ...], Fraction]] = []
        nodes = zip(self.places, self.leaves, self.elements, strict=True)
        for place, chance, elements in paced(nodes, account):
            join = self._joins[place]
            found.append(
                join.leaf(chance, evidence) if chance is not None else join.decision(elements, found, evidence)
            )
        return found[-1].get((), Fraction(0))

    @checked("sdd", "budget")
    def probability_of(self, sdd: Sdd, *, budget: Budget | None = None) -> Fraction:
        """Return the probability of a sentential decision diagram over the same vtree, by pairs of nodes.

        Raises
        ------
        CircuitError, BudgetError
            If its vtree, or what its bits mean, is another; or if the budget was spent.

        Notes
        -----
        The product of the two sizes at worst.
        """
        if not self.is_shaped_like(sdd.vtree, self.bits_of(sdd.bits)):
            raise CircuitError(
                "A diagram is weighed on the vtree it shares with the distribution, but this one has another; compile "
                "it with vtree= of the distribution's features and the same code."
            )
        account = Account(budget, goal="probability", advice="allow more", unit="pairs of nodes")
        return _Pairs(self, sdd, account).probability() / self._valid

    @checked("vtree", "bits")
    def is_shaped_like(self, vtree: Vtree, bits: Sequence[tuple[int, int]]) -> bool:
        """Tell whether a vtree has this one's shape, and its variables the same meanings."""
        return len(bits) == len(self.bits) and _shape(self.vtree, self.bits) == _shape(vtree, list(bits))

    @property
    def code_probability(self) -> Fraction:
        """The probability that the bits are the code of a point, before all others are left out."""
        return self._valid

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        nodes = [
            [place, number_text(chance)] if chance is not None else [place, [[a, b, number_text(p)] for a, b, p in row]]
            for place, chance, row in zip(self.places, self.leaves, self.elements, strict=True)
        ]
        tree = self.vtree
        return {
            "kind": self.kind,
            "states": [s.document() for s in self.states],
            "bits": [[feature, cells_of(mask)] for feature, mask in self.bits],
            "vtree": [[a, b, leaf] for a, b, leaf in zip(tree.left, tree.right, tree.leaves, strict=True)],
            "nodes": nodes,
        }

    def __str__(self) -> str:
        """Return it in words."""
        return f"a PSDD of {counted(len(self.places), 'node')}"

    @staticmethod
    @checked("bits")
    def bits_of(bits: Sequence[Bit]) -> tuple[tuple[int, int], ...]:
        """Return what variables mean, by the bits of a code."""
        return tuple((bit.feature, mask_of(bit.cells)) for bit in bits)


def _shape(vtree: Vtree, meanings: Sequence[tuple[int, int]]) -> list[tuple[int, int, tuple[int, int] | None]]:
    """Return a tree by the positions of its nodes from left to right, with what its leaves mean."""
    at = vtree.in_order
    rows = zip(at, vtree.left, vtree.right, vtree.leaves, strict=True)
    return [
        (a, b, meaning)
        for _, a, b, meaning in sorted(
            (k, at[a] if a >= 0 else -1, at[b] if b >= 0 else -1, meanings[leaf] if a < 0 else None)
            for k, a, b, leaf in rows
        )
    ]


def _check_bits(psdd: Psdd) -> None:
    """Raise unless the variables are the leaves of the vtree, and tell all values of every feature apart."""
    if not len(psdd.states) or not all(0 <= feature < len(psdd.states) for feature, _ in psdd.bits):
        raise DomainError(
            f"Bits are of one of {len(psdd.states)} features, at least one, but they are not; correct them."
        )
    given = sorted(leaf for a, leaf in zip(psdd.vtree.left, psdd.vtree.leaves, strict=True) if a < 0)
    if given != list(range(len(psdd.bits))):
        raise DomainError(
            f"The vtree must hold each of {counted(len(psdd.bits), 'variable')} once, as many as features have bits, "
            f"but it holds {len(given)}; name the code it was made with."
        )
    for i, states in enumerate(psdd.states):
        own = [mask for feature, mask in psdd.bits if feature == i]
        if len({tuple(mask >> k & 1 for mask in own) for k in range(states.size)}) != states.size:
            raise DomainError(
                f"The bits of feature {states.name!r} must tell its {states.size} values apart; correct them."
            )


def _check_nodes(psdd: Psdd, account: Account) -> None:
    tree = psdd.vtree
    if not len(psdd.places) == len(psdd.leaves) == len(psdd.elements):
        raise DomainError(
            f"A diagram needs a place, a leaf or None, and elements for every node, but {len(psdd.places)}, "
            f"{len(psdd.leaves)} and {len(psdd.elements)} were given; give as many of each."
        )
    strange = next((p for p in psdd.places if not 0 <= p < len(tree.left)), None)
    if strange is not None:
        raise DomainError(f"The vtree has {len(tree.left)} nodes, but a node is placed at {strange}; renumber them.")
    nodes = zip(psdd.places, psdd.leaves, psdd.elements, strict=True)
    for node, (place, chance, elements) in enumerate(account.paced(nodes)):
        left, right = tree.left[place], tree.right[place]
        if chance is not None:
            right_kind = left < 0 and not elements and 0 <= chance <= 1
        else:
            right_kind = left >= 0 and bool(elements) and sum(p for _, _, p in elements) == 1
            for prime, sub, p in elements:
                below = 0 <= prime < node and 0 <= sub < node and p >= 0
                right_kind = right_kind and below and psdd.places[prime] == left and psdd.places[sub] == right
        if not right_kind:
            raise DomainError(
                f"Node {node} of the diagram does not match the vtree, or its parameters do not add up to 1."
            )
    if not psdd.places or psdd.places[-1] != tree.root:
        raise DomainError("The last node of the diagram must belong to the root of the vtree, but it does not.")


@dataclass(frozen=True, slots=True)
class _Join:
    """What happens at a node of the vtree to the codes of features, of which it may hold some bits only.

    Attributes
    ----------
    sides
        Which features' codes are unfinished on the left, and on the right.
    open
        Which are unfinished here, each with the patterns of bits that some code has.
    closed
        Which are finished here, each with the state of each code.
    """

    sides: _Sides
    open: tuple[tuple[int, frozenset[int]], ...]
    closed: tuple[tuple[int, Mapping[int, int]], ...]
    own: int = 0  # at a leaf, its bit in the code of its feature

    def leaf(self, chance: Fraction, evidence: Evidence) -> dict[tuple[int, ...], Fraction]:
        """Return the probability of each pattern of the one bit."""
        found: dict[tuple[int, ...], Fraction] = {}
        for value, p in ((self.own, chance), (0, 1 - chance)):
            feature = self.closed[0][0] if self.closed else self.open[0][0]
            self._add(found, {feature: value}, p, evidence)
        return found

    def decision(
        self, elements: Elements, known: Sequence[Mapping[tuple[int, ...], Fraction]], evidence: Evidence
    ) -> dict[tuple[int, ...], Fraction]:
        """Return the probability of each pattern of unfinished codes at a decision."""
        found: dict[tuple[int, ...], Fraction] = {}
        for prime, sub, p in elements:
            if not p:
                continue
            for (left, a), (right, b) in itertools.product(known[prime].items(), known[sub].items()):
                codes = dict(zip(self.sides[0], left, strict=True))
                for feature, bits in zip(self.sides[1], right, strict=True):
                    codes[feature] = codes.get(feature, 0) | bits
                self._add(found, codes, p * a * b, evidence)
                if len(found) > _MOST_PATTERNS:
                    raise DomainError(
                        f"More than {_MOST_PATTERNS} codes are unfinished at one node of the vtree; keep the bits of "
                        "each feature close together in it."
                    )
        return found

    def _add(
        self, found: dict[tuple[int, ...], Fraction], codes: Mapping[int, int], p: Fraction, evidence: Evidence
    ) -> None:
        for feature, state_of in self.closed:
            state = state_of.get(codes[feature])
            row = evidence[feature]
            p = Fraction(0) if state is None else p if row is None else p * row[state]
        if not p or any(codes[feature] not in patterns for feature, patterns in self.open):
            return
        key = tuple(codes[feature] for feature, _ in self.open)
        found[key] = found.get(key, Fraction(0)) + p


def _joins(psdd: Psdd) -> Iterator[_Join]:
    """Yield what happens at each node of the vtree."""
    place: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for variable, (feature, _) in enumerate(psdd.bits):
        place[variable] = sizes.get(feature, 0)
        sizes[feature] = place[variable] + 1
    codes = [
        [
            sum((mask >> k & 1) << place[variable] for variable, (f, mask) in enumerate(psdd.bits) if f == i)
            for k in range(states.size)
        ]
        for i, states in enumerate(psdd.states)
    ]
    tree = psdd.vtree
    inside: list[dict[int, int]] = []  # the bits of each feature below a node
    unfinished: list[tuple[int, ...]] = []
    for a, b, leaf in zip(tree.left, tree.right, tree.leaves, strict=True):
        if a < 0:
            here, own = {psdd.bits[leaf][0]: 1 << place[leaf]}, 1 << place[leaf]
            sides, met = _NO_SIDES, list(here)
        else:
            here = dict(inside[a])
            for feature, bits in inside[b].items():
                here[feature] = here.get(feature, 0) | bits
            own, sides = 0, (unfinished[a], unfinished[b])
            met = list(dict.fromkeys((*unfinished[a], *unfinished[b])))
        inside.append(here)
        done = [i for i in met if here[i] == (1 << sizes[i]) - 1]
        left = [i for i in met if i not in done]
        unfinished.append(tuple(left))
        yield _Join(
            sides,
            tuple((i, frozenset(code & here[i] for code in codes[i])) for i in left),
            tuple((i, {code: k for k, code in enumerate(codes[i])}) for i in done),
            own,
        )


class _Pairs:
    """The probability of a diagram, from those of pairs of a node of the distribution and one of the diagram."""

    def __init__(self, psdd: Psdd, sdd: Sdd, account: Account) -> None:
        self._psdd, self._nodes, self._account = psdd, sdd.nodes, account
        tree = psdd.vtree
        by_position = {position: node for node, position in enumerate(tree.in_order)}
        self._positions = tree.in_order
        # A subtree is an interval from left to right.
        self._low = [0] * len(tree.leaves)
        self._high = [0] * len(tree.leaves)
        for node, (a, b) in enumerate(zip(tree.left, tree.right, strict=True)):
            self._low[node] = self._low[a] if a >= 0 else tree.in_order[node]
            self._high[node] = self._high[b] if b >= 0 else tree.in_order[node]
        self._offsets = sdd.nodes.offsets.tolist()
        self._primes, self._subs = sdd.nodes.primes.tolist(), sdd.nodes.subs.tolist()
        self._literals, self._at = sdd.nodes.literals.tolist(), sdd.nodes.vtree_nodes.tolist()
        self._by_position = by_position

    def probability(self) -> Fraction:
        """Return that of the two roots (no recursion)."""
        top = (len(self._psdd.places) - 1, int(self._nodes.root))
        known: dict[tuple[int, int], Fraction] = {}
        stack = [top]
        while stack:
            pair = stack[-1]
            terms = self._terms(*pair)
            self._account.spend(len(terms))
            ahead = [p for _, pairs in terms for p in pairs if p not in known]
            if ahead:
                stack += ahead
                continue
            stack.pop()
            known[pair] = sum((scale * math.prod(known[p] for p in pairs) for scale, pairs in terms), Fraction(0))
        return known[top]

    def _terms(self, node: int, other: int) -> list[tuple[Fraction, list[tuple[int, int]]]]:
        """Return a pair's probability as a sum of products of other pairs' probabilities."""
        if other < 2:
            return [(Fraction(other), [])]
        place, chance, elements = self._psdd.places[node], self._psdd.leaves[node], self._psdd.elements[node]
        if chance is not None:
            return [(chance if self._literals[other] > 0 else 1 - chance, [])]
        position = self._at[other]
        here = self._positions[place]
        if position == here:
            ends = range(self._offsets[other], self._offsets[other + 1])
            return [(p, [(a, self._primes[k]), (b, self._subs[k])]) for a, b, p in elements for k in ends]
        # What the diagram does not decide on this side adds up to 1.
        return [(p, [(a if position < here else b, other)]) for a, b, p in elements]


def _read(document: Mapping[str, Any]) -> Psdd:
    left, right, leaves = zip(*((_index(a), _index(b), _index(c)) for a, b, c in document["vtree"]), strict=True)
    n, m = len(leaves), len(document["states"])
    pairs = list(zip(left, right, strict=True))
    before = all(-1 <= a < k and -1 <= b < k and (a < 0) == (b < 0) for k, (a, b) in enumerate(pairs))
    if not before or sorted(child for pair in pairs for child in pair if child >= 0) != list(range(n - 1)):
        raise DomainError("A vtree lists children before parents, each of one parent, and the root last.")
    places, chances, elements = [], list[Fraction | None](), list[Elements]()
    for place, what in document["nodes"]:
        places.append(_index(place))
        listed = isinstance(what, list)
        chances.append(None if listed else number_of(what, "probability"))
        rows = [(_index(a), _index(b), number_of(p, "probability")) for a, b, p in what] if listed else []
        elements.append(tuple(rows))
    bits = tuple((_index(feature), mask_of(sorted({_index(c) for c in cells}))) for feature, cells in document["bits"])
    if any(not 0 <= p < n for p in places) or any(not 0 <= feature < m for feature, _ in bits):
        raise DomainError("A node or a bit belongs to nothing.")
    return Psdd(read_states(document), bits, Vtree(left, right, leaves), tuple(places), tuple(chances), tuple(elements))


def _index(number: Any) -> int:
    if type(number) is not int or not -1 <= number < 1 << 24:
        raise DomainError(f"Expected a small whole number, but {str(number)[:40]!r} was found.")
    return number


DISTRIBUTIONS[Psdd.kind] = _read
