"""Random distributions, and what they say about an instance by summing over all combinations of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from random import Random
from typing import Any

from axfi_kc import Categorical, Domain, Real
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.distribution import Distribution, Mixture, Product, States
from tests.support.random_problems import Truth

DISTRIBUTION_KINDS = ("product", "tree", "mixture", "fitted")


def random_states(rng: Random, domain: Domain) -> tuple[States, ...]:
    """Return states of every feature, numbers one by one or in bins that need not fit a model."""
    found = []
    for f in domain.features:
        if isinstance(f, Categorical) or (not isinstance(f, Real) and rng.random() < 0.5):
            found.append(States.of(f))
        else:
            cuts = [f.low + Fraction(rng.randint(1, 11), 12) * (f.high - f.low) for _ in range(rng.randint(0, 2))]
            found.append(States.of(f, cuts))
    return tuple(found)


def random_row(rng: Random, size: int, *, zeros: float = 0.15) -> tuple[Fraction, ...]:
    """Return probabilities, some of them 0."""
    while True:
        weights = [0 if rng.random() < zeros else rng.randint(1, 5) for _ in range(size)]
        if any(weights):
            return tuple(Fraction(w, sum(weights)) for w in weights)


def random_tree(rng: Random, states: tuple[States, ...], *, zeros: float = 0.15) -> ChowLiu:
    """Return a random forest in which children need not come after their parents."""
    order = rng.sample(range(len(states)), len(states))
    parents = [-1] * len(states)
    for k, i in enumerate(order):
        if k and rng.random() < 0.8:
            parents[i] = rng.choice(order[:k])
    rows = [1 if p < 0 else states[p].size for p in parents]
    tables = [tuple(random_row(rng, s.size, zeros=zeros) for _ in range(n)) for s, n in zip(states, rows, strict=True)]
    return ChowLiu(states, tuple(parents), tuple(tables))


def random_distribution(rng: Random, domain: Domain, kind: str, *, zeros: float = 0.15) -> Distribution:
    """Return a distribution of one of the DISTRIBUTION_KINDS."""
    states = random_states(rng, domain)
    if kind == "tree":
        return random_tree(rng, states, zeros=zeros)
    if kind == "fitted":
        rows = random_tree(rng, states).sample(rng.randint(1, 12), seed=rng.randrange(1000))
        bins = {f.name: list(s.edges[1:-1]) for f, s in zip(domain.features, states, strict=True) if s.edges}
        return ChowLiu.fit([dict(zip(domain.names, row, strict=True)) for row in rows], domain, bins=bins)
    if kind == "product":
        return Product(states, tuple(random_row(rng, s.size, zeros=zeros) for s in states))
    parts = tuple(random_distribution(rng, domain, rng.choice(("product", "tree")), zeros=zeros) for _ in range(2))
    alike = tuple(_over(part, states, rng, zeros) for part in parts)
    return Mixture(alike, random_row(rng, len(alike), zeros=0))


def _over(part: Distribution, states: tuple[States, ...], rng: Random, zeros: float) -> Distribution:
    """Return a distribution of the same kind over other states."""
    if isinstance(part, Product):
        return Product(states, tuple(random_row(rng, s.size, zeros=zeros) for s in states))
    return random_tree(rng, states, zeros=zeros)


def joint_table(distribution: Distribution) -> dict[tuple[int, ...], Fraction]:
    """Return the probability of every combination of states, from what the kinds mean."""
    if isinstance(distribution, Mixture):
        tables = [joint_table(part) for part in distribution.parts]
        weights = distribution.weights
        return {s: sum((w * t[s] for w, t in zip(weights, tables, strict=True)), Fraction(0)) for s in tables[0]}
    found = {}
    for s in product(*(range(states.size) for states in distribution.states)):
        if isinstance(distribution, ChowLiu):
            rows = zip(distribution.tables, distribution.parents, strict=True)
            chances = [table[0 if p < 0 else s[p]][s[i]] for i, (table, p) in enumerate(rows)]
        else:
            chances = [table[k] for table, k in zip(distribution.tables, s, strict=True)]
        found[s] = prod(chances, start=Fraction(1))
    return found


def blocks_within(distribution: Distribution) -> list[set[int]]:
    """Return the features in sets that do not depend on each other, from what the kinds mean."""
    n = len(distribution.states)
    if isinstance(distribution, Product):
        return [{i} for i in range(n)]
    if isinstance(distribution, ChowLiu):
        return connected(n, [{i, p} for i, p in enumerate(distribution.parents) if p >= 0])
    if isinstance(distribution, Mixture):
        parts = [part for part, w in zip(distribution.parts, distribution.weights, strict=True) if w]
        if len(parts) == 1:
            return blocks_within(parts[0])
        alone = [i for i in range(n) if all({i} in blocks_within(p) for p in parts) and _is_alike(i, parts)]
        return connected(n, [set(range(n)) - set(alone)])
    return [set(range(n))]


def connected(n: int, links: Sequence[set[int]]) -> list[set[int]]:
    """Return the sets into which links put n things."""
    found = [{i} for i in range(n)]
    for link in links:
        near = [own for own in found if own & link]
        found = [own for own in found if not own & link] + [set().union(*near)] * bool(near)
    return found


def _is_alike(i: int, parts: Sequence[Distribution]) -> bool:
    rows = []
    for part in parts:
        row: dict[int, Fraction] = {}
        for states, p in joint_table(part).items():
            row[states[i]] = row.get(states[i], Fraction(0)) + p
        rows.append(row)
    return all(row == rows[0] for row in rows)


def share_within(states: States, feature: Any, values: Sequence[Any], k: int, state: int) -> Fraction:
    """Return the probability that a value of a state is the k-th of the representative ones of its feature."""
    value = values[k]
    if value is None or state >= states.n_present:
        return Fraction(value is None and state >= states.n_present)
    if isinstance(feature, Categorical):
        return Fraction(states.values[state] == value)
    low, high = states.edges[state], states.edges[state + 1]
    if not isinstance(feature, Real):
        return Fraction(low <= value < high) / (high - low)
    present = [Fraction(x) for x in values if x is not None]
    if len(present) == 1:
        return Fraction(1) if low <= value < high or (value == high and state == states.n_present - 1) else Fraction(0)
    if k % 2 == 0:  # a breakpoint
        return Fraction(0)
    a, b = max(low, present[k - 1]), min(high, present[k + 1])
    return max(b - a, Fraction(0)) / (high - low)


def state_at(states: States, value: Any) -> int:
    """Return the state of a value."""
    if value is None:
        return states.n_present
    if states.values:
        return states.values.index(value)
    inside = [k for k in range(states.n_present) if states.edges[k] <= value < states.edges[k + 1]]
    return inside[0] if inside else states.n_present - 1


@dataclass(frozen=True)
class JointTruth(Truth):
    """A truth whose domain has a joint distribution."""

    @cached_property
    def table(self) -> dict[tuple[int, ...], Fraction]:
        return joint_table(self.domain.distribution)

    @cached_property
    def shares(self) -> list[list[list[Fraction]]]:
        """For each feature, representative value and state, the share of the state."""
        found = []
        for s, f, row in zip(self.domain.distribution.states, self.domain.features, self.values, strict=True):
            found.append([[share_within(s, f, row, k, n) for n in range(s.size)] for k in range(len(row))])
        return found

    @cached_property
    def blocks(self) -> list[set[int]]:
        return blocks_within(self.domain.distribution)

    def density(self, place: Sequence[int], v: Sequence[int], members: Sequence[int]) -> Fraction:
        """Return the probability of a point's pieces in some features and of the instance's states in their blocks."""
        states = self.domain.distribution.states
        own = [state_at(s, row[k]) for s, row, k in zip(states, self.values, v, strict=True)]
        staying = set().union(*(block for block in self.blocks if block & set(members))) - set(members)
        total = Fraction(0)
        for s, p in self.table.items():
            if p and all(s[i] == own[i] for i in staying):
                total += p * prod((self.shares[i][place[i]][s[i]] for i in members), start=Fraction(1))
        return total

    def around(self, Y: int, v: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the possible points that agree with v outside Y."""
        return [p for p, _ in self.existing if all(Y >> i & 1 or p[i] == k for i, k in enumerate(v))]

    def _ratio(self, Y: int, v: Sequence[int], places: list[tuple[int, ...]]) -> Fraction:
        if isinstance(self.domain.distribution, Product):  # each feature is a block: nothing else matters
            return self._product_ratio(Y, v, places)
        members = [i for i in range(len(v)) if Y >> i & 1]
        around = self.around(Y, v)
        return sum((self.density(p, v, members) for p in places), Fraction(0)) / sum(
            (self.density(p, v, members) for p in around), Fraction(0)
        )

    def _product_ratio(self, Y: int, v: Sequence[int], places: list[tuple[int, ...]]) -> Fraction:
        """Return the ratio of independent features."""
        tables = self.domain.distribution.tables
        members = [i for i in range(len(v)) if Y >> i & 1]

        def worth(place: Sequence[int]) -> Fraction:
            rows = ((self.shares[i][place[i]], tables[i]) for i in members)
            return prod((sum(a * b for a, b in zip(*pair, strict=True)) for pair in rows), start=Fraction(1))

        around = self.around(Y, v)
        return sum(map(worth, places), Fraction(0)) / sum(map(worth, around), Fraction(0))

    @property
    def has_probability(self) -> bool:
        return True


def with_distribution(truth: Truth, distribution: Distribution) -> JointTruth:
    """Return the same model under a distribution."""
    given = {f.name: getattr(truth, f.name) for f in fields(Truth)}
    return JointTruth(**{**given, "domain": truth.domain.with_distribution(distribution)})
