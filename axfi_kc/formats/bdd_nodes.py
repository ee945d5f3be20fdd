"""Binary decision diagrams with complemented arcs, between files and circuits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axfi_kc.errors import CircuitError
from axfi_kc.formats.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf
from axfi_kc.formats.variables import Variables
from axfi_kc.targets.obdd import Obdd

__all__ = ["TRUE", "Bdd", "bdd_of", "nnf_of_bdd", "variable_numbers"]

TRUE = 1  # and -1 is false


@dataclass(frozen=True, slots=True)
class Bdd:
    """An ordered diagram as files hold it.

    Attributes
    ----------
    names
        The variables, from the top of the order down.
    nodes
        Node k + 2 as (level, where it goes on 0, where on 1), children first. A number below zero
        stands for the complement; 1 is true.
    root
        Such a number.
    """

    names: tuple[str, ...]
    nodes: Sequence[tuple[int, int, int]]
    root: int


def bdd_of(obdd: Obdd) -> Bdd:
    """Return a diagram in the form of CUDD: arcs for 1 are never complemented (cost: linear)."""
    reference = {0: -TRUE, 1: TRUE}
    number: dict[tuple[int, int, int], int] = {}
    for node, fork in obdd._forks.items():
        low, high = reference[fork.low], reference[fork.high]
        sign = 1 if high > 0 else -1
        key = fork.level, sign * low, sign * high
        reference[node] = sign * number.setdefault(key, len(number) + 2)
    return Bdd(tuple(bit.name for bit in obdd.bits), list(number), reference[obdd._top])


def variable_numbers(names: Sequence[str], variables: Variables) -> list[int]:
    """Return the variable that each name is.

    Raises
    ------
    CircuitError
        If a name is none of the bits', or there are fewer names than bits: then the cells are others.
    """
    number = {bit.name: k for k, bit in enumerate(variables.bits, 1) if bit is not None}
    unknown = next((name for name in names if name not in number), None)
    if unknown is not None:
        raise CircuitError(
            f"Expected variables named as the features' bits ({', '.join(list(number)[:3])}, ...), but the file has "
            f"{unknown[:40]!r}; name the code it was written with, or pass variables= with these names."
        )
    if len(names) != len(number):
        raise CircuitError(
            f"Expected {len(number)} variables, as many as the features have bits, but the file declares {len(names)}; "
            "it was written over other cells or with another code, so name that code or pass variables=."
        )
    return [number[name] for name in names]


def nnf_of_bdd(bdd: Bdd, variables: Variables) -> Nnf:
    """Return the diagram without complements (cost: linear; a node met both ways is made twice)."""
    numbers = variable_numbers(bdd.names, variables)
    nnf = Nnf(len(variables.bits))
    made = {TRUE: nnf.add(CONJUNCTION, ()), -TRUE: nnf.add(DISJUNCTION, ())}
    literals: dict[int, int] = {}
    for node in _met(bdd):
        level, low, high = bdd.nodes[abs(node) - 2]
        sign = 1 if node > 0 else -1
        ends = []
        for literal, end in ((numbers[level], sign * high), (-numbers[level], sign * low)):
            if literal not in literals:
                literals[literal] = nnf.add(LITERAL, (literal,))
            ends.append(nnf.add(CONJUNCTION, (literals[literal], made[end])))
        made[node] = nnf.add(DISJUNCTION, ends)
    nnf.add(CONJUNCTION, (made[bdd.root],))
    return nnf


def _met(bdd: Bdd) -> list[int]:
    """Return the nodes that the root reaches, with their signs, children first."""
    seen, stack = {bdd.root}, [bdd.root]
    while stack:
        node = stack.pop()
        if abs(node) == TRUE:
            continue
        _, low, high = bdd.nodes[abs(node) - 2]
        for end in (low, high) if node > 0 else (-low, -high):
            if end not in seen:
                seen.add(end)
                stack.append(end)
    return sorted((node for node in seen if abs(node) != TRUE), key=abs)
