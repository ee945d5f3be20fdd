"""A target: a class that holds the points of a circuit, and how it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets import Language, mdd_of, register
from axfi_kc.circuits.targets.mdd import InArrays


@dataclass(frozen=True, slots=True, eq=False)
class Toy(InArrays):
    """An ordered diagram under another name, of some shade."""

    circuit: Circuit
    shade: str
    language: ClassVar[str] = "toy"


def toy_of(
    circuit: Circuit,
    *,
    order: Sequence[int] | Sequence[str] | None = None,
    shade: str = "red",
    budget: Budget | None = None,
) -> Toy:
    return Toy(mdd_of(circuit, order=order, budget=budget).circuit, shade)


LANGUAGE = Language("toy", toy_of, ordered=True)
register(LANGUAGE)
