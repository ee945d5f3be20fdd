"""Random Bayesian networks, and what follows from their definition alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import axfi_kc as ax
from axfi_kc.domain.bayesian_network import BayesianNetwork

SHAPES = ("naive", "tree", "general", "chain")


def random_network(
    rng: Random, *, n: int, shape: str = "general", most_states: int = 3, zeros: float = 0.1, floats: bool = False
) -> BayesianNetwork:
    """Return a network over x0, x1, ...; of the shapes with a class, x0 is it, and the parent of all others."""
    sizes = [rng.randint(2, most_states) for _ in range(n)]
    parents: list[list[int]] = [[]]
    for k in range(1, n):
        if shape == "naive":
            parents.append([0])
        elif shape == "tree":
            parents.append([0, *([rng.randrange(1, k)] if k > 1 else [])])
        elif shape == "chain":
            parents.append([k - 1])
        else:
            parents.append(sorted(rng.sample(range(k), min(k, rng.randint(0, 3)))))
    names = [f"x{k}" for k in range(n)]
    rows = {
        name: [_row(rng, size, zeros, floats=floats) for _ in itertools.product(*(range(sizes[p]) for p in above))]
        for name, size, above in zip(names, sizes, parents, strict=True)
    }
    states = {name: [f"s{k}" for k in range(size)] for name, size in zip(names, sizes, strict=True)}
    above = {name: [names[p] for p in row] for name, row in zip(names, parents, strict=True)}
    return BayesianNetwork.of_rows(states, rows, parents=above)


def _row(rng: Random, size: int, zeros: float, *, floats: bool) -> list[Any]:
    while True:
        weights = [0 if rng.random() < zeros else rng.randint(1, 9) for _ in range(size)]
        if any(weights):
            total = sum(weights)
            return [w / total if floats else Fraction(w, total) for w in weights]


def bif_text(network: BayesianNetwork) -> str:
    """Return a network as a BIF file."""
    declared = [(v.name, len(v.states), ", ".join(map(str, v.states))) for v in network.variables]
    lines = ["network random { }", *(f"variable {n} {{ type discrete [ {k} ] {{ {s} }}; }}" for n, k, s in declared)]
    for v in network.variables:
        above = [network.variables[p] for p in v.parents]
        keys = itertools.product(*(p.states for p in above))
        given = f" | {', '.join(p.name for p in above)}" if above else ""
        rows = [", ".join(repr(float(p)) for p in row) for row in v.rows]
        body = [f"  ({', '.join(map(str, key))}) {row};" for key, row in zip(keys, rows, strict=True)]
        lines += [f"probability ( {v.name}{given} ) {{", *(body if above else [f"  table {rows[0]};"]), "}"]
    return "\n".join([*lines, ""])


def hugin_text(network: BayesianNetwork) -> str:
    """Return a network as a Hugin file."""
    lines = ["net { }"]
    for v in network.variables:
        states = " ".join(f'"{s}"' for s in v.states)
        lines.append(f"node {v.name} {{ states = ({states}); }}")
    for v in network.variables:
        given = f" | {' '.join(network.variables[p].name for p in v.parents)}" if v.parents else ""
        data = " ".join(f"({' '.join(repr(float(p)) for p in row)})" for row in v.rows)
        lines.append(f"potential ({v.name}{given}) {{ data = ({data}); }}")
    return "\n".join([*lines, ""])


def domain_of(network: BayesianNetwork, names: Sequence[str] | None = None) -> ax.Domain:
    """Return the domain of some variables, by default all, each with its states as categories."""
    chosen = network.names if names is None else names
    return ax.Domain([ax.Categorical(n, network.variables[network.index(n)].states) for n in chosen])


def joint(network: BayesianNetwork) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Yield every combination of states with its probability, by the definition."""
    sizes = [len(v.states) for v in network.variables]
    for states in itertools.product(*map(range, sizes)):
        chance = Fraction(1)
        for k, v in enumerate(network.variables):
            row = 0
            for p in v.parents:
                row = row * sizes[p] + states[p]
            chance *= v.rows[row][states[k]]
        yield states, chance


def most_probable(network: BayesianNetwork, target: str, features: Sequence[str]) -> dict[tuple[int, ...], Any]:
    """Return the class at every point of the features, by the definition; of equally probable ones the first."""
    goal, places = network.index(target), [network.index(f) for f in features]
    totals: dict[tuple[int, ...], list[Fraction]] = {}
    for states, chance in joint(network):
        row = totals.setdefault(tuple(states[p] for p in places), [Fraction(0)] * len(network.variables[goal].states))
        row[states[goal]] += chance
    return {point: network.variables[goal].states[row.index(max(row))] for point, row in totals.items()}
