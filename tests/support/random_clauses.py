"""Random clauses and counting problems, and their models by trying all of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

from axfi_kc.circuits.files.counting_problems import CountingProblem

Clauses = list[tuple[int, ...]]


def random_clauses(rng: Random, n: int, m: int, *, width: int = 3) -> Clauses:
    """Return m clauses of at most so many literals over n variables."""
    rows = [rng.sample(range(1, n + 1), rng.randint(1, min(width, n))) for _ in range(m)]
    return [tuple(v if rng.random() < 0.5 else -v for v in row) for row in rows]


def random_problem(rng: Random, *, negative: bool = False) -> CountingProblem:
    n = rng.randint(1, 7)
    clauses = random_clauses(rng, n, rng.randint(0, 2 * n)) + [(1, -1)] * rng.randrange(2)
    least = -3 if negative else 0
    chosen = rng.sample(range(1, n + 1), rng.randint(0, n)) if rng.random() < 0.6 else []
    weights = {v: (Fraction(rng.randint(least, 5), 3), Fraction(rng.randint(least, 5), 4)) for v in chosen}
    shown = tuple(rng.sample(range(1, n + 1), rng.randint(0, n))) if rng.random() < 0.5 else None
    return CountingProblem(n, tuple(clauses), weights, shown)


def models(n: int, clauses: Clauses) -> list[tuple[int, ...]]:
    """Return the assignments of variables 1 to n that satisfy all clauses."""
    every = product((0, 1), repeat=n)
    return [x for x in every if all(any(x[abs(k) - 1] == (k > 0) for k in clause) for clause in clauses)]


def listed_count(problem: CountingProblem) -> Fraction:
    """Return the sum of the weights of the projected models."""
    kept = range(1, problem.n_variables + 1) if problem.shown is None else problem.shown
    found = {tuple((v, x[v - 1]) for v in kept) for x in models(problem.n_variables, list(problem.clauses))}
    worth = {v: (zero, one) for v, (one, zero) in problem.weights.items()}
    return sum((Fraction(prod(worth[v][bit] for v, bit in x if v in worth)) for x in found), Fraction(0))
