"""Random PSDDs over a vtree, as text, and their probabilities by the definition."""

from __future__ import annotations

import math
from collections.abc import Collection
from fractions import Fraction
from itertools import product
from random import Random

from axfi_kc.circuits.psdd import Elements, Psdd
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.distribution import States
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer


def psdd_text(rng: Random, vtree: Vtree, *, zeros: float = 0.1) -> str:
    """Return a file whose nodes are normalised for a vtree."""
    at, lines, nodes = vtree.in_order, list[str](), list[list[int]]()
    for node, (a, b, leaf) in enumerate(zip(vtree.left, vtree.right, vtree.leaves, strict=True)):
        own = list[int]()
        for _ in range(1 if node == vtree.root else rng.randint(1, 3)):
            name = len(lines)
            own.append(name)
            if a < 0:
                kind = rng.randrange(3)
                rest = f"{leaf + 1} {math.log(rng.random())!r}" if kind == 2 else f"{'-' * kind}{leaf + 1}"
                lines.append(f"{'T' if kind == 2 else 'L'} {name} {at[node]} {rest}")
            else:
                weights = [rng.random() * (rng.random() >= zeros) for _ in range(rng.randint(1, 3))]
                weights = weights if any(weights) else [1.0] * len(weights)
                shares = [math.log(w / sum(weights)) if w else -math.inf for w in weights]
                ends = [f"{rng.choice(nodes[a])} {rng.choice(nodes[b])} {share!r}" for share in shares]
                lines.append(f"D {name} {at[node]} {len(ends)} {' '.join(ends)}")
        nodes.append(own)
    return "\n".join([f"psdd {len(lines)}", *lines, ""])


def chance_of(psdd: Psdd, bits: tuple[int, ...]) -> float:
    """Return the probability of a bit vector, given nothing, by the definition (floats)."""

    def below(node: int) -> float:
        chance = psdd.leaves[node]
        if chance is not None:
            p = float(chance)
            return p if bits[psdd.vtree.leaves[psdd.places[node]]] else 1 - p
        return sum(float(p) * below(a) * below(b) for a, b, p in psdd.elements[node])

    return below(len(psdd.places) - 1)


def exact_chance(psdd: Psdd, bits: tuple[int, ...]) -> Fraction:
    """Return the probability of a bit vector, given nothing, by the definition."""

    def below(node: int) -> Fraction:
        chance = psdd.leaves[node]
        if chance is not None:
            return chance if bits[psdd.vtree.leaves[psdd.places[node]]] else 1 - chance
        return sum((p * below(a) * below(b) for a, b, p in psdd.elements[node]), Fraction(0))

    return below(len(psdd.places) - 1)


def bit_domain(n: int) -> Domain:
    return Domain([Integer(f"x{i}", 0, 1) for i in range(n)])


def deterministic_psdd(rng: Random, vtree: Vtree, n: int, support: Collection[tuple[int, ...]] | None = None) -> Psdd:
    """Return a PSDD over n bits whose primes exclude each other, positive on `support` (by default a random one)."""
    if support is None:
        everything = list(product((0, 1), repeat=n))
        support = [x for x in everything if rng.random() < 0.6] or everything
    return _Grown(rng, vtree, n).psdd(support)


class _Grown:
    """Splits a set of bit vectors by what its members leave open on the right."""

    def __init__(self, rng: Random, vtree: Vtree, n: int) -> None:
        self.rng, self.vtree, self.n = rng, vtree, n
        self.rows: list[tuple[int, Fraction | None, tuple[tuple[int, int, Fraction], ...]]] = []
        self.below: list[tuple[int, ...]] = []
        for a, b, leaf in zip(vtree.left, vtree.right, vtree.leaves, strict=True):
            self.below.append((leaf,) if a < 0 else self.below[a] + self.below[b])

    def psdd(self, support: Collection[tuple[int, ...]]) -> Psdd:
        root = self.vtree.root
        self.node(root, frozenset(tuple(x[k] for k in self.below[root]) for x in support))
        order = sorted(range(len(self.rows)), key=lambda k: (self.rows[k][0], k))
        number = {k: i for i, k in enumerate(order)}
        rows = [self.rows[k] for k in order]
        elements = tuple(tuple((number[a], number[b], p) for a, b, p in row[2]) for row in rows)
        states = tuple(States.of(f) for f in bit_domain(self.n).features)
        bits = tuple((i, 2) for i in range(self.n))
        return Psdd(states, bits, self.vtree, tuple(r[0] for r in rows), tuple(r[1] for r in rows), elements)

    def node(self, place: int, support: frozenset[tuple[int, ...]]) -> int:
        left, right = self.vtree.left[place], self.vtree.right[place]
        if left < 0:
            both = len(support) == 2
            chance = Fraction(self.rng.randint(1, 9), 10) if both else Fraction(next(iter(support))[0])
            self.rows.append((place, chance, ()))
            return len(self.rows) - 1
        cut = len(self.below[left])
        subs: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for x in support:
            subs.setdefault(x[:cut], set()).add(x[cut:])
        primes: dict[tuple[int, frozenset[tuple[int, ...]]], set[tuple[int, ...]]] = {}
        for x, sub in sorted(subs.items()):  # equal subs need not stay together
            primes.setdefault((self.rng.randrange(2), frozenset(sub)), set()).add(x)
        weights = [self.rng.randint(1, 9) for _ in primes]
        elements = [
            (self.node(left, frozenset(prime)), self.node(right, sub), Fraction(w, sum(weights)))
            for w, ((_, sub), prime) in zip(weights, primes.items(), strict=True)
        ]
        self.rows.append((place, None, tuple(elements)))
        return len(self.rows) - 1


def layered_psdd(n: int, width: int, seed: int) -> Psdd:
    """Return a deterministic PSDD over n bits, `width` nodes at each vtree node: a product of two has their squares."""
    rng, tree = Random(seed), Vtree.right_linear(list(range(n)))
    places, leaves, rows, at = list[int](), list[Fraction | None](), list[Elements](), list[list[int]]()

    def added(chance: Fraction | None, elements: Elements) -> int:
        places.append(len(at))
        leaves.append(chance)
        rows.append(elements)
        return len(places) - 1

    for node, (a, b) in enumerate(zip(tree.left, tree.right, strict=True)):
        if a < 0:
            at.append([added(Fraction(k), ()) for k in (0, 1)])
            continue
        own = []
        for _ in range(1 if node == tree.root else width):
            p = Fraction(rng.randint(1, 99), 100)
            own.append(added(None, ((at[a][0], rng.choice(at[b]), p), (at[a][1], rng.choice(at[b]), 1 - p))))
        at.append(own)
    states = tuple(States.of(f) for f in bit_domain(n).features)
    return Psdd(states, tuple((i, 2) for i in range(n)), tree, tuple(places), tuple(leaves), tuple(rows))
