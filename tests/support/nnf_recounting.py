"""Counting an ``.nnf`` file by other means than the library's: plain enumeration, dd, PySDD.

Nothing here is the library's code; a file is text in c2d's format, with weights of literals as in the model counting
competition (``c p weight LITERAL WEIGHT 0``; a literal without one weighs 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class NnfText:
    """The lines of a file: literals, conjunctions and disjunctions, the root last."""

    n_variables: int
    nodes: list[tuple[str, list[int]]]
    weights: dict[int, Fraction]

    @classmethod
    def read(cls, path: Path) -> NnfText:
        nodes: list[tuple[str, list[int]]] = []
        weights: dict[int, Fraction] = {}
        n_variables = 0
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:3] == ["c", "p", "weight"]:
                weights[int(words[3])] = Fraction(words[4])
            elif words[0] == "nnf":
                n_variables = int(words[3])
            elif words[0] != "c":
                parts = list(map(int, words[1:]))
                nodes.append((words[0], parts if words[0] == "L" else parts[{"A": 1, "O": 2}[words[0]] :]))
        return cls(n_variables, nodes, weights)

    def weight(self, literal: int) -> Fraction:
        return self.weights.get(literal, Fraction(1))

    def folded(self, literal: Any, both: Any, either: Any, true: Any, false: Any) -> Any:
        found: list[Any] = []
        for kind, parts in self.nodes:
            if kind == "L":
                found.append(literal(parts[0]))
            else:
                below = [found[k] for k in parts]
                found.append(reduce(both, below, true) if kind == "A" else reduce(either, below, false))
        return found[-1]


def enumerated(nnf: NnfText) -> tuple[int, Fraction]:
    """Return the number of models and their weight, from all assignments."""
    n = nnf.n_variables
    rows = np.array(list(product([False, True], repeat=n)), dtype=bool).reshape(-1, n)
    ones, none = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    held = nnf.folded(lambda k: rows[:, abs(k) - 1] == (k > 0), np.logical_and, np.logical_or, ones, none)
    total = Fraction(0)
    for row in rows[held].tolist():
        total += reduce(Fraction.__mul__, (nnf.weight(i if x else -i) for i, x in enumerate(row, 1)), Fraction(1))
    return int(held.sum()), total


def counted_by_dd(nnf: NnfText) -> tuple[int, Fraction]:
    """Return the same from a binary decision diagram that dd makes of the file, variable by variable."""
    from dd.autoref import BDD

    bdd = BDD()
    names = [f"v{k}" for k in range(1, nnf.n_variables + 1)]
    bdd.declare(*names)

    def literal(k: int) -> Any:
        return bdd.var(names[k - 1]) if k > 0 else ~bdd.var(names[-k - 1])

    root = nnf.folded(literal, lambda a, b: a & b, lambda a, b: a | b, bdd.true, bdd.false)
    known: dict[tuple[int, int], tuple[int, Fraction]] = {}

    def total(u: Any, k: int) -> tuple[int, Fraction]:
        if u == bdd.false:
            return 0, Fraction(0)
        if k > nnf.n_variables:
            return 1, Fraction(1)
        if (int(u), k) not in known:
            (n1, w1), (n0, w0) = (total(bdd.let({names[k - 1]: x}, u), k + 1) for x in (True, False))
            known[int(u), k] = n1 + n0, nnf.weight(k) * w1 + nnf.weight(-k) * w0
        return known[int(u), k]

    return total(root, 1)


def counted_by_pysdd(nnf: NnfText) -> int:
    """Return the number of models that PySDD counts, of at most 2**53."""
    from pysdd.sdd import SddManager

    manager = SddManager(var_count=max(nnf.n_variables, 1), auto_gc_and_minimize=False)
    root = nnf.folded(manager.literal, manager.conjoin, manager.disjoin, manager.true(), manager.false())
    counter = root.wmc(log_mode=False)
    return round(counter.propagate() / (1 if nnf.n_variables else 2))
