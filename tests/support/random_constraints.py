"""Random constraints, each with its meaning in plain Python, and random models among the points that meet some.

A meaning takes a point as a tuple of values, None where one is missing, and shares nothing with the library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pandas as pd

from axfi_kc import Domain, Integer, Real
from axfi_kc.domain.constraints import (
    Between,
    Constraint,
    allowed,
    as_constraint,
    at_least_one,
    at_most_one,
    check,
    exactly_one,
    feature,
    observed,
)
from axfi_kc.domain.grid import Cut, Grid
from tests.support.circuit_forms import any_form, cell_of, circuit_of, holds
from tests.support.random_problems import KINDS, Point, Truth, random_truth

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}


@dataclass(frozen=True)
class Rule:
    """A constraint, and what it means."""

    constraint: Constraint
    meaning: Callable[[Point], bool]


def _numbers(rng: Random, f: Any, values: Sequence[Any]) -> Any:
    """Return a number to compare a feature with; of a real one where its space has a breakpoint."""
    present = [x for x in values if x is not None]
    if isinstance(f, Real):
        return rng.choice(present[::2])
    return rng.choice(present) + rng.choice((0, 0, Fraction(1, 2)))


def _compared(rng: Random, domain: Domain, values: Sequence[Sequence[Any]]) -> Rule:
    i = rng.randrange(len(domain))
    number, sign = _numbers(rng, domain.features[i], values[i]), rng.choice(("<", "<=", ">", ">="))
    return Rule(SIGNS[sign](feature(domain.names[i]), number), lambda x: x[i] is not None and SIGNS[sign](x[i], number))


def _member(rng: Random, domain: Domain, values: Sequence[Sequence[Any]]) -> Rule:
    i = rng.randrange(len(domain))
    term, known = feature(domain.names[i]), list(values[i])
    if isinstance(domain.features[i], Real):
        known = [x for x in known if x is not None][::2] + [None] * (None in known)
    if rng.random() < 0.5:
        value = rng.choice(known)
        if rng.random() < 0.5:
            return Rule(term == value, lambda x: x[i] == value)
        return Rule(term != value, lambda x: x[i] is not None and x[i] != value)
    chosen = rng.sample(known, rng.randint(1, len(known)))
    return Rule(term.isin(chosen), lambda x: x[i] in chosen)


def _discrete(domain: Domain) -> list[int]:
    return [i for i, f in enumerate(domain.features) if not isinstance(f, Real)]


def _ordered(rng: Random, domain: Domain, values: Sequence[Sequence[Any]]) -> Rule:
    places = _discrete(domain)
    if not places:
        return _compared(rng, domain, values)
    (i, j), sign = rng.choices(places, k=2), rng.choice(list(SIGNS))
    made = SIGNS[sign](feature(domain.names[i]), feature(domain.names[j]))
    return Rule(made, lambda x: None not in (x[i], x[j]) and SIGNS[sign](x[i], x[j]))


def _listed(rng: Random, domain: Domain, values: Sequence[Sequence[Any]]) -> Rule:
    places = _discrete(domain)
    if not places:
        return _member(rng, domain, values)
    chosen = rng.sample(places, rng.randint(1, min(3, len(places))))
    names = [domain.names[i] for i in chosen]
    rows = [tuple(rng.choice(values[i]) for i in chosen) for _ in range(rng.randint(1, 12))]

    def meaning(x: Point) -> bool:
        return tuple(x[i] for i in chosen) in rows

    how = rng.choice(("allowed", "observed", "check"))
    if how == "allowed":
        return Rule(allowed(names, rows), meaning)
    if how == "observed":
        return Rule(observed(pd.DataFrame(rows, columns=names, dtype=object), names), meaning)
    return Rule(check(lambda *row: row in rows, names), meaning)


def _circuit(rng: Random, domain: Domain, values: Sequence[Sequence[Any]]) -> Rule:
    cuts = []
    for f, row in zip(domain.features, values, strict=True):
        if isinstance(f, Integer):
            cuts.append([Cut(float(k), closed=True) for k in range(f.low, f.high)])
        elif isinstance(f, Real):
            cuts.append([Cut(float(x), closed=rng.random() < 0.5) for x in [y for y in row if y is not None][::2]])
        else:
            cuts.append([])
    grid = Grid.of(domain, cuts)
    form = any_form(rng, list(range(len(domain))), grid.n_cells)
    return Rule(
        as_constraint(circuit_of(form, grid)),
        lambda x: holds(form, [cell_of(grid, i, value) for i, value in enumerate(x)]),
    )


def _joined(rng: Random, domain: Domain, values: Sequence[Sequence[Any]], depth: int) -> Rule:
    parts = [random_rule(rng, domain, values, depth - 1) for _ in range(rng.randint(2, 3))]
    (a, b), constraints = parts[:2], [part.constraint for part in parts]

    def number(x: Point) -> int:
        return sum(part.meaning(x) for part in parts)

    def counted(made: Callable[..., Constraint], least: int, most: int) -> Constraint:
        # Parts that came out the same by chance are refused when a person gives them, but have a meaning.
        is_new = len(set(constraints)) == len(constraints)
        return made(*constraints) if is_new else Between(tuple(constraints), least, most)

    return rng.choice(
        (
            Rule(a.constraint & b.constraint, lambda x: a.meaning(x) and b.meaning(x)),
            Rule(a.constraint | b.constraint, lambda x: a.meaning(x) or b.meaning(x)),
            Rule(~a.constraint, lambda x: not a.meaning(x)),
            Rule(a.constraint >> b.constraint, lambda x: b.meaning(x) or not a.meaning(x)),
            Rule(counted(at_most_one, 0, 1), lambda x: number(x) <= 1),
            Rule(counted(at_least_one, 1, len(parts)), lambda x: number(x) >= 1),
            Rule(counted(exactly_one, 1, 1), lambda x: number(x) == 1),
        )
    )


_SIMPLE = (_compared, _member, _ordered, _listed)


def random_rule(rng: Random, domain: Domain, values: Sequence[Sequence[Any]], depth: int = 2) -> Rule:
    """Return a constraint on a domain whose features have these representative values."""
    if depth and rng.random() < 0.5:
        return _joined(rng, domain, values, depth)
    if depth == 2 and rng.random() < 0.1:
        return _circuit(rng, domain, values)
    return rng.choice(_SIMPLE)(rng, domain, values)


def constrained(rng: Random, truth: Truth, *, n_instances: int = 8) -> Truth | None:
    """Return the same model among the points that meet random constraints; None if that leaves no instance."""
    rules = [random_rule(rng, truth.domain, truth.values) for _ in range(rng.randint(1, 3))]
    possible = frozenset(p for p in truth.places if all(rule.meaning(truth.point(p)) for rule in rules))
    domain = truth.domain.where(*(rule.constraint for rule in rules))
    made = replace(truth, domain=domain, possible=possible, instances=[])
    candidates = [v for v in truth.instances if v in possible] or sorted(possible)
    instances = [v for v in rng.sample(candidates, min(n_instances, len(candidates))) if made.has_ratios(v)]
    return replace(made, instances=instances) if instances and made.has_probability else None


def random_constrained(rng: Random, kind: str | None = None, *, n_instances: int = 8) -> Truth:
    """Return a model of the given kind, or any, under random constraints."""
    while True:
        truth = random_truth(rng, kind or rng.choice(KINDS), n_instances=n_instances)
        found = constrained(rng, truth, n_instances=n_instances)
        if found is not None:
            return found
