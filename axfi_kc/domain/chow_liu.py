"""Tree-shaped distributions: each feature depends on one other at most, learnt from data by Chow and Liu's rule.

Of all trees the one is taken whose edges have the largest mutual information together. Probabilities are smoothed
frequencies, so every one of them is a rational number.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import check_fields, checked
from axfi_kc.domain.distribution import (
    DISTRIBUTIONS,
    Distribution,
    Evidence,
    Row,
    States,
    check_evidence,
    check_table,
    chosen,
    joined,
    read_states,
    read_table,
    states_of,
)
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number, counted, exact
from axfi_kc.errors import DomainError
from axfi_kc.json_text import number_text

__all__ = ["ChowLiu"]


Table = tuple[tuple[Fraction, ...], ...]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChowLiu(Distribution):
    """A distribution in which every feature depends on one other at most.

    Attributes
    ----------
    states
        The states of each feature.
    parents
        The feature that each one depends on; -1 for none.
    tables
        For each feature a row of probabilities per state of its parent; one row for a feature without one.

    Examples
    --------
    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("rain", 0, 1), Integer("wet", 0, 1)])
    >>> weather = ChowLiu.fit([[0, 0], [0, 0], [0, 1], [1, 1]], domain, smoothing=0)
    >>> weather
    <ChowLiu: a tree of 1 edge over 2 features: rain - wet>
    >>> weather.total([[0, 1], None]), weather.total([[0, 1], [0, 1]])
    (Fraction(1, 4), Fraction(1, 4))
    """

    states: tuple[States, ...]
    parents: tuple[int, ...]
    tables: tuple[Table, ...]
    order: tuple[int, ...] = field(init=False, repr=False, compare=False)  # features, each after its parent
    whole_tables: tuple[tuple[tuple[int, ...], ...], ...] = field(init=False, repr=False, compare=False)
    wholes: tuple[int, ...] = field(init=False, repr=False, compare=False)  # what whole tables are divided by
    kind: ClassVar[str] = "chow-liu"

    def __post_init__(self) -> None:
        """Check that it is a forest, with a table for every feature."""
        check_fields(self)
        m = len(self.states)
        if not m or len(self.parents) != m or len(self.tables) != m or any(not -1 <= p < m for p in self.parents):
            raise DomainError(
                f"A tree over {m} features needs at least one, and for each a parent, or -1, and a table; correct it."
            )
        object.__setattr__(self, "order", _parents_first(self.parents))
        for own, parent, table in zip(self.states, self.parents, self.tables, strict=True):
            rows = 1 if parent < 0 else self.states[parent].size
            if len(table) != rows:
                raise DomainError(f"The table of {own.name!r} needs {rows} rows, but has {len(table)}; give them all.")
            for row in table:
                check_table(own, row)
        wholes = tuple(math.lcm(*(p.denominator for row in table for p in row)) for table in self.tables)
        object.__setattr__(self, "wholes", wholes)
        pairs = zip(self.tables, wholes, strict=True)
        object.__setattr__(self, "whole_tables", tuple(_scaled(table, whole) for table, whole in pairs))

    @classmethod
    @checked("domain", "bins")
    def fit(
        cls,
        X: Any,
        domain: Domain,
        *,
        smoothing: Number = 1,
        bins: Mapping[str, int | Sequence[Number]] | int | None = None,
    ) -> ChowLiu:
        """Learn the distribution of the rows of a table.

        Parameters
        ----------
        X
            A table of points of the domain.
        domain
            The domain.
        smoothing
            What every count is increased by: a probability is (count + a) / (total + a k) among k states. With 0, what
            the data do not show has probability 0.
        bins
            How many bins of equal width the numbers get, or where they are cut, for all features or by name. By default
            reals get ten, and integers are taken one by one up to 64 values.

        Raises
        ------
        DomainError
            If there are no rows, or a value is outside its domain.

        Notes
        -----
        Rows times pairs of features. Mutual information is compared in float64, which only decides which tree it is;
        of equal edges the first features' come first, and features that do not depend on each other get no edge.

        Examples
        --------
        >>> from axfi_kc.domain.features import Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
        >>> ChowLiu.fit([[0, 0], [1, 1]], domain).tables[1]
        ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3)))
        """
        extra = exact(smoothing, "smoothing")
        codes = domain.encode(X)
        if extra < 0 or not len(codes):
            found = "there are no rows" if not len(codes) else f"smoothing={smoothing} was given"
            raise DomainError(f"A tree is learnt from rows, with smoothing of at least 0, but {found}.")
        states = states_of(domain, bins)
        located = [s.locate(codes[:, i], f) for i, (s, f) in enumerate(zip(states, domain.features, strict=True))]
        sizes = [s.size for s in states]
        parents = _rooted(_heaviest_forest(located, sizes), len(states))
        tables = []
        for i, parent in enumerate(parents):
            counts = (
                _pair_counts(located, sizes, parent, i) if parent >= 0 else np.bincount(located[i], minlength=sizes[i])
            )
            tables.append(tuple(_smoothed(row, extra) for row in counts.reshape(-1, sizes[i]).tolist()))
        return cls(states, parents, tuple(tables))

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The names of each parent and child."""
        return tuple((self.names[p], self.names[i]) for i, p in enumerate(self.parents) if p >= 0)

    @property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """The features that are connected by edges."""
        return joined(len(self.states), ((i, p) for i, p in enumerate(self.parents) if p >= 0))

    @property
    def independent(self) -> tuple[tuple[Fraction, ...], ...] | None:
        """The probabilities of each feature's states, if there is no edge."""
        return None if any(p >= 0 for p in self.parents) else tuple(table[0] for table in self.tables)

    @checked("evidence")
    def total(self, evidence: Evidence) -> Fraction:
        """Return the sum of probabilities times evidence (cost: the tables, in integers)."""
        check_evidence(evidence, self.states)
        rows, below = zip(*(_whole_row(row) for row in evidence), strict=True)
        # What reaches a feature from its children: for each of its states what they add up to below it.
        messages: list[list[int] | None] = [None if row is None else list(row) for row in rows]
        found = 1
        for i in reversed(self.order):
            own, table = messages[i], self.whole_tables[i]
            sums = [sum(row) if own is None else sum(map(int.__mul__, row, own)) for row in table]
            parent = self.parents[i]
            if parent < 0:
                found *= sums[0]
            else:
                before = messages[parent]
                messages[parent] = sums if before is None else list(map(int.__mul__, before, sums))
        return Fraction(found, math.prod(self.wholes) * math.prod(below))

    def _drawn(self, source: random.Random) -> tuple[Any, ...]:
        state = [0] * len(self.states)
        for i in self.order:
            parent = self.parents[i]
            state[i] = chosen(self.tables[i][0 if parent < 0 else state[parent]], source)
        return tuple(states.drawn(s, source) for states, s in zip(self.states, state, strict=True))

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        tables = [[[number_text(p) for p in row] for row in table] for table in self.tables]
        states = [s.document() for s in self.states]
        return {"kind": self.kind, "states": states, "parents": list(self.parents), "tables": tables}

    def __str__(self) -> str:
        """Return it in words."""
        edges = [f"{a} - {b}" for a, b in self.edges]
        listed = f": {', '.join(edges[:4])}{', ...' if len(edges) > 4 else ''}" if edges else ""
        return f"a tree of {counted(len(edges), 'edge')} over {counted(len(self.states), 'feature')}{listed}"

    def __repr__(self) -> str:
        """Return its shape; its tables would fill pages."""
        return f"<ChowLiu: {self}>"


def _parents_first(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the features, each after its parent."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(parents):
        children.setdefault(parent, []).append(i)
    found = list(children.get(-1, ()))
    for i in found:  # grows on the way
        found += children.get(i, ())
    if len(found) != len(parents):
        raise DomainError("The features of a tree must not depend on themselves, but their parents form a cycle.")
    return tuple(found)


def _scaled(table: Table, whole: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(p.numerator * (whole // p.denominator) for p in row) for row in table)


def _whole_row(row: Row | None) -> tuple[list[int] | None, int]:
    """Return a row as integers, and what they are divided by."""
    if row is None:
        return None, 1
    whole = math.lcm(*(e.denominator for e in row))
    return [int(e * whole) for e in row], whole


def _smoothed(row: Sequence[int], extra: Fraction) -> tuple[Fraction, ...]:
    total = sum(row) + extra * len(row)
    # A state of the parent that does not occur, and so has probability 0: what follows from it does not matter.
    return tuple((n + extra) / total for n in row) if total else (Fraction(1, len(row)),) * len(row)


def _pair_counts(located: Sequence[Counts], sizes: Sequence[int], a: int, b: int) -> Counts:
    """Return how often the states of two features occur together."""
    pairs = located[a] * sizes[b] + located[b]
    return np.bincount(pairs, minlength=sizes[a] * sizes[b]).reshape(sizes[a], sizes[b])


def _information(counts: Counts) -> float:
    """Return the mutual information of two features, exactly 0 if they are independent in the data."""
    n = int(counts.sum())
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    expected = np.multiply.outer(rows.astype(object), columns.astype(object))
    if (counts.astype(object) * n == expected).all():
        return 0.0
    seen = counts > 0
    ratio = counts[seen] * float(n) / expected[seen].astype(np.float64)
    return float((counts[seen] * np.log(ratio)).sum() / n)


def _heaviest_forest(located: Sequence[Counts], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the edges of the spanning forest of largest mutual information."""
    pairs = combinations(range(len(sizes)), 2)
    weighed = [(_information(_pair_counts(located, sizes, a, b)), a, b) for a, b in pairs]
    group = list(range(len(sizes)))
    kept = []
    for weight, a, b in sorted(weighed, key=lambda edge: (-edge[0], *edge[1:])):
        if weight > 0 and group[a] != group[b]:
            kept.append((a, b))
            old, new = group[b], group[a]
            group = [new if g == old else g for g in group]
    return kept


def _rooted(edges: Iterable[tuple[int, int]], m: int) -> tuple[int, ...]:
    """Return the parent of each feature when trees hang from their first feature."""
    near: list[list[int]] = [[] for _ in range(m)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    parents: list[int | None] = [None] * m
    for root in range(m):
        if parents[root] is None:
            parents[root], stack = -1, [root]
            while stack:
                i = stack.pop()
                for j in near[i]:
                    if parents[j] is None:
                        parents[j] = i
                        stack.append(j)
    return tuple(-1 if p is None else p for p in parents)


def _read(document: Mapping[str, Any]) -> ChowLiu:
    tables = tuple(tuple(read_table(row) for row in table) for table in document["tables"])
    parents = tuple(document["parents"])
    if any(type(p) is not int for p in parents):
        raise DomainError("Parents are numbers of features, or -1.")
    return ChowLiu(read_states(document), parents, tables)


DISTRIBUTIONS[ChowLiu.kind] = _read
