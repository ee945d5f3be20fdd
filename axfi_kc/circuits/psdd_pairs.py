"""PSDDs node by node: how often parameters are used, which elements overlap, and products of two over one vtree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.targets.sdd import Sdd
from axfi_kc.errors import CircuitError

__all__ = [
    "account_of_pairs",
    "expected_uses",
    "psdd_given",
    "psdd_product",
    "require_deterministic",
    "require_same_vtree",
    "shared_uses",
]


T = TypeVar("T")
Pair = tuple[int, int]
Use = tuple[Fraction, Fraction]  # a parameter, and how often it is used


_AT_ONCE = 16  # pairs between two looks at the clock: fractions of large diagrams are long


def account_of_pairs(budget: Budget | None) -> Account:
    """Return the account of work on pairs of nodes."""
    return Account(budget, goal="PSDD", advice="allow more", unit="pairs of nodes", at_once=_AT_ONCE)


def expected_uses(psdd: Psdd, *, account: Account) -> Iterator[Use]:
    """Yield each parameter that is not 0 with the expected number of times that it is used (cost: linear)."""
    flow = [Fraction(0)] * len(psdd.places)
    flow[-1] = Fraction(1)
    for node in account.paced(range(len(flow) - 1, -1, -1)):
        here, chance = flow[node], psdd.leaves[node]
        if not here:
            continue
        if chance is not None:
            yield from ((p, here * p) for p in (chance, 1 - chance) if p)
        for prime, sub, p in psdd.elements[node]:
            flow[prime] += here * p
            flow[sub] += here * p
            if p:
                yield p, here * p


def require_same_vtree(p: Psdd, q: Psdd) -> None:
    """Raise CircuitError unless two PSDDs are over the same features, bits and vtree."""
    if not p.is_shaped_like(q.vtree, q.bits) or p.states != q.states:
        raise CircuitError(
            "Two PSDDs are joined over one vtree of the same features and code, but these have others; make both with "
            "one vtree."
        )


def require_deterministic(psdd: Psdd, *, account: Account) -> None:
    """Raise CircuitError if some point satisfies two elements of one decision.

    Notes
    -----
    Pairs of the nodes that are met together: few, for what learners write.
    """
    overlaps = _in_pairs(psdd, psdd, _overlap, account)
    for node, elements in enumerate(psdd.elements):
        used = [(prime, sub) for prime, sub, p in elements if p]
        for k, (prime, sub) in enumerate(used):
            if any(overlaps((prime, a)) and overlaps((sub, b)) for a, b in used[:k]):
                raise CircuitError(
                    f"Entropies need a PSDD whose elements exclude each other, but two elements of node {node} have a "
                    "point in common; learn or compile it with disjoint primes."
                )


def _overlap(p: Psdd, q: Psdd, pair: Pair, known: Callable[[Pair], bool]) -> bool:
    """Tell whether two nodes give some bit vector a probability."""
    a, b = p.leaves[pair[0]], q.leaves[pair[1]]
    if a is not None and b is not None:
        return bool(a * b) or bool((1 - a) * (1 - b))
    elements = ((x, y) for x in p.elements[pair[0]] for y in q.elements[pair[1]] if x[2] and y[2])
    return any(known((x[0], y[0])) and known((x[1], y[1])) for x, y in elements)


def _inside(p: Psdd, q: Psdd, pair: Pair, known: Callable[[Pair], Fraction]) -> Fraction:
    """Return how much of the first node's probability lies where the second one has some."""
    a, b = p.leaves[pair[0]], q.leaves[pair[1]]
    if a is not None and b is not None:
        return a * (b > 0) + (1 - a) * (b < 1)
    return sum(
        (
            x[2] * known((x[0], y[0])) * known((x[1], y[1]))
            for x in p.elements[pair[0]]
            for y in q.elements[pair[1]]
            if x[2] and y[2]
        ),
        Fraction(0),
    )


def _product(p: Psdd, q: Psdd, pair: Pair, known: Callable[[Pair], Fraction]) -> Fraction:
    """Return the sum, over all bit vectors, of the product of two nodes' probabilities."""
    a, b = p.leaves[pair[0]], q.leaves[pair[1]]
    if a is not None and b is not None:
        return a * b + (1 - a) * (1 - b)
    return sum(
        (
            x[2] * y[2] * known((x[0], y[0])) * known((x[1], y[1]))
            for x in p.elements[pair[0]]
            for y in q.elements[pair[1]]
            if x[2] and y[2]
        ),
        Fraction(0),
    )


def _in_pairs(
    p: Psdd, q: Psdd, rule: Callable[[Psdd, Psdd, Pair, Callable[[Pair], T]], T], account: Account
) -> Callable[[Pair], T]:
    """Return what looks up the value of a pair of nodes, each worked out once and without recursion."""
    found: dict[Pair, T] = {}

    class _Missing(Exception):
        """A pair whose value is not known yet."""

    def known(pair: Pair) -> T:
        account.spend(1)
        if pair not in found:
            raise _Missing(pair)
        return found[pair]

    def value(pair: Pair) -> T:
        stack = [pair]
        while stack:
            try:
                found[stack[-1]] = rule(p, q, stack[-1], known)
                stack.pop()
            except _Missing as missing:
                stack.append(missing.args[0])
        return found[pair]

    def asked(pair: Pair) -> T:
        account.spend(1)
        return found[pair] if pair in found else value(pair)

    return asked


def shared_uses(p: Psdd, q: Psdd, *, account: Account) -> list[Use] | None:
    """Return how often each parameter of q is expected to be used by a point of p; None if q has not all of p's points.

    Notes
    -----
    Both over one vtree, and the elements of q exclude each other. All pairs of nodes that share a point.
    """
    inside = _in_pairs(p, q, _inside, account)
    root = len(p.places) - 1, len(q.places) - 1
    if inside(root) != 1:
        return None
    flow: dict[Pair, Fraction] = {root: Fraction(1)}
    uses: list[Use] = []
    # From the root of the vtree down; a pair's parents are pairs of the node above in it.
    for pair in _downwards(p, flow):
        here = flow[pair] / inside(pair)
        a, b = p.leaves[pair[0]], q.leaves[pair[1]]
        if a is not None and b is not None:
            uses += [(y, here * x) for x, y in ((a, b), (1 - a, 1 - b)) if x and y]
            continue
        for prime, sub, x in p.elements[pair[0]]:
            for other_prime, other_sub, y in q.elements[pair[1]]:
                ends = (prime, other_prime), (sub, other_sub)
                share = here * x * inside(ends[0]) * inside(ends[1]) if x and y else Fraction(0)
                if share:
                    uses.append((y, share))
                    for end in ends:
                        flow[end] = flow.get(end, Fraction(0)) + share
    return uses


def _downwards(p: Psdd, flow: dict[Pair, Fraction]) -> Iterator[Pair]:
    """Yield the pairs in `flow`, which grows meanwhile, those of upper vtree nodes first."""
    tree = p.vtree
    for place in range(tree.root, -1, -1):
        yield from [pair for pair in flow if p.places[pair[0]] == place]


@checked("p", "q", "budget")
def psdd_product(p: Psdd, q: Psdd, *, budget: Budget | None = None) -> tuple[Psdd, Fraction]:
    """Return the distribution in proportion to the product of two, and the sum that was divided by.

    Parameters
    ----------
    p, q
        Over one vtree and the same features.
    budget
        What it may cost; its nodes are pairs of nodes that are looked at.

    Returns
    -------
    tuple
        The product, a PSDD over the same vtree, and the sum of ``p(x) * q(x)`` over all bit vectors x.

    Raises
    ------
    CircuitError
        If the vtrees differ, or no point has a probability in both.
    BudgetError
        If the budget was spent.

    Notes
    -----
    All pairs of nodes at worst. Where elements exclude each other in both, they do in the product.

    Examples
    --------
    >>> from axfi_kc.circuits.targets.vtrees import Vtree
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.domain.distribution import States
    >>> states = tuple(States.of(f) for f in Domain([Integer("a", 0, 1), Integer("b", 0, 1)]).features)
    >>> def independent(*chances):
    ...     leaves = (*chances, None)
    ...     tree = Vtree.right_linear([0, 1])
    ...     return Psdd(states, ((0, 2), (1, 2)), tree, (0, 1, 2), leaves, ((), (), ((0, 1, Fraction(1)),)))
    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> made, whole = psdd_product(independent(half, half), independent(third, Fraction(1)))
    >>> made.leaves, whole
    ((Fraction(1, 3), Fraction(1, 1), None), Fraction(1, 4))
    """
    return _multiplied(p, q, account_of_pairs(budget))


def _multiplied(p: Psdd, q: Psdd, account: Account) -> tuple[Psdd, Fraction]:
    require_same_vtree(p, q)
    whole = _in_pairs(p, q, _product, account)
    root = len(p.places) - 1, len(q.places) - 1
    if not whole(root):
        raise CircuitError("The product of two PSDDs needs a point that both give a probability, but there is none.")
    pairs = _kept_pairs(p, q, root, whole)
    number = {pair: k for k, pair in enumerate(pairs)}
    leaves, elements = list[Fraction | None](), list[tuple[tuple[int, int, Fraction], ...]]()
    for pair in pairs:
        a, b = p.leaves[pair[0]], q.leaves[pair[1]]
        leaves.append(None if a is None or b is None else a * b / whole(pair))
        rows = []
        for one, two, share in _joint_elements(p, q, pair, whole):
            rows.append((number[one], number[two], share / whole(pair)))
        elements.append(tuple(rows))
    places = tuple(p.places[a] for a, _ in pairs)
    made = Psdd(p.states, p.bits, p.vtree, places, tuple(leaves), tuple(elements), account.rest())
    return made, whole(root)


def _joint_elements(
    p: Psdd, q: Psdd, pair: Pair, whole: Callable[[Pair], Fraction]
) -> Iterator[tuple[Pair, Pair, Fraction]]:
    for prime, sub, x in p.elements[pair[0]]:
        for other_prime, other_sub, y in q.elements[pair[1]]:
            ends = (prime, other_prime), (sub, other_sub)
            share = x * y * whole(ends[0]) * whole(ends[1]) if x and y else Fraction(0)
            if share:
                yield (*ends, share)


def _kept_pairs(p: Psdd, q: Psdd, root: Pair, whole: Callable[[Pair], Fraction]) -> list[Pair]:
    """Return the pairs that the product consists of, those of lower vtree nodes first."""
    found, stack = {root}, [root]
    while stack:
        for one, two, _ in _joint_elements(p, q, stack.pop(), whole):
            fresh = {one, two} - found
            found |= fresh
            stack += fresh
    return sorted(found, key=lambda pair: (p.places[pair[0]], pair))


@checked("psdd", "sdd", "budget")
def psdd_given(psdd: Psdd, sdd: Sdd, *, budget: Budget | None = None) -> tuple[Psdd, Fraction]:
    """Return the distribution given that a sentential decision diagram over the same vtree holds, and its probability.

    Raises
    ------
    CircuitError, BudgetError
        If the vtree is another, or what is given has probability 0; or if the budget was spent.

    Notes
    -----
    The diagram is taken as the uniform distribution of its points, and the product made: all pairs of nodes at worst.
    """
    account = account_of_pairs(budget)
    made, _ = _multiplied(psdd, _uniform(psdd, sdd, account), account)
    return made, psdd.probability_of(sdd, budget=account.rest())


def _uniform(psdd: Psdd, sdd: Sdd, account: Account) -> Psdd:
    """Return some positive distribution of the bit vectors that satisfy a diagram, constant on them."""
    if not psdd.is_shaped_like(sdd.vtree, Psdd.bits_of(sdd.bits)):
        raise CircuitError(
            "A PSDD is conditioned on a diagram over its own vtree and code, but this one has another; compile it with "
            "vtree= of the distribution's features."
        )
    return _Normalised(psdd, sdd, account).psdd()


class _Normalised:
    """A diagram with a node at each vtree node on the way, and its numbers of models as parameters."""

    def __init__(self, psdd: Psdd, sdd: Sdd, account: Account) -> None:
        self._psdd, self._tree, self._account = psdd, psdd.vtree, account
        nodes = sdd.nodes
        self._literals, self._at, self._root = nodes.literals.tolist(), nodes.vtree_nodes.tolist(), nodes.root
        ends = nodes.offsets.tolist()
        pairs = list(zip(nodes.primes.tolist(), nodes.subs.tolist(), strict=True))
        self._pairs = [pairs[a:b] for a, b in pairwise(ends)]
        self._position = self._tree.in_order
        self._bits = [0] * len(self._tree.leaves)
        for k, (a, b) in enumerate(zip(self._tree.left, self._tree.right, strict=True)):
            self._bits[k] = 1 if a < 0 else self._bits[a] + self._bits[b]

    def psdd(self) -> Psdd:
        """Return the distribution."""
        top = self._tree.root, self._root
        counts = self._counts(top)
        if not counts[top]:
            raise CircuitError(
                "What is given has no point, so nothing has a probability given it; take another diagram."
            )
        order = sorted((key for key in self._used(top, counts)), key=lambda key: key[0])
        number = {key: k for k, key in enumerate(order)}
        leaves, elements = list[Fraction | None](), list[tuple[tuple[int, int, Fraction], ...]]()
        for place, node in self._account.paced(order):
            is_leaf = self._tree.left[place] < 0
            leaves.append(self._chance(node) if is_leaf else None)
            own = [] if is_leaf else self._elements(place, node)
            whole = counts[place, node]
            elements.append(
                tuple(
                    (number[a], number[b], Fraction(counts[a] * counts[b], whole))
                    for a, b in own
                    if counts[a] and counts[b]
                )
            )
        places = tuple(place for place, _ in order)
        rows, rest = (places, tuple(leaves), tuple(elements)), self._account.rest()
        return Psdd(self._psdd.states, self._psdd.bits, self._tree, *rows, rest)

    def _chance(self, node: int) -> Fraction:
        return Fraction(1, 2) if node == 1 else Fraction(int(self._literals[node] > 0))

    def _elements(self, place: int, node: int) -> list[tuple[Pair, Pair]]:
        """Return the elements of a diagram's node seen from a vtree node at it or above."""
        left, right = self._tree.left[place], self._tree.right[place]
        if node == 1:
            return [((left, 1), (right, 1))]
        here, position = self._position[place], self._at[node]
        if position == here:
            return [((left, a), (right, b)) for a, b in self._pairs[node]]
        return [((left, node), (right, 1))] if position < here else [((left, 1), (right, node))]

    def _counts(self, top: Pair) -> dict[Pair, int]:
        found: dict[Pair, int] = {}
        stack = [top]
        while stack:
            self._account.spend(1)
            place, node = stack[-1]
            if node < 2:
                found[place, node] = node << self._bits[place] if node else 0
            elif self._tree.left[place] < 0:
                found[place, node] = 1
            else:
                below = self._elements(place, node)
                ahead = [key for ends in below for key in ends if key not in found]
                if ahead:
                    stack += ahead
                    continue
                found[place, node] = sum(found[a] * found[b] for a, b in below)
            stack.pop()
        return found

    def _used(self, top: Pair, counts: dict[Pair, int]) -> set[Pair]:
        found, stack = {top}, [top]
        while stack:
            self._account.spend(1)
            place, node = stack.pop()
            if self._tree.left[place] < 0:
                continue
            for ends in self._elements(place, node):
                for key in ends:
                    if key not in counts:  # below true
                        counts[key] = key[1] << self._bits[key[0]] if key[1] < 2 else 1
                if all(counts[key] for key in ends):
                    fresh = set(ends) - found
                    found |= fresh
                    stack += fresh
        return found
