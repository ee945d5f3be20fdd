"""Ways to alter what an explanation claims, each a little; ``benchmarks/alterations.py`` tries many of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from random import Random
from types import SimpleNamespace
from typing import Any

import axfi_kc as ax
from axfi_kc.verification import Claim

NO_TIME = ax.Budget(seconds=1e-9)  # what does not ask the model is checked all the same


def _some(family: Any, rng: Random) -> frozenset[str]:
    return rng.choice(sorted(family, key=sorted))


def dropped(claim: Claim, rng: Random) -> Claim:
    cxp = _some(claim.cxps, rng)
    return replace(claim, cxps={k: w for k, w in claim.cxps.items() if k != cxp})


def added(claim: Claim, rng: Random) -> Claim:
    names = claim.domain.names
    sets = [frozenset(c) for k in range(1, len(names) + 1) for c in combinations(names, k)]
    others = [s for s in sets if s not in claim.cxps]
    if not others:  # there is one feature, and it is a CXp
        return heavier(claim, rng)
    return replace(claim, cxps={**claim.cxps, rng.choice(others): Fraction(1, 3)})


def exchanged(claim: Claim, rng: Random) -> Claim:
    fewer = dropped(claim, rng)
    other = added(fewer, rng)
    return fewer if other.cxps.keys() == claim.cxps.keys() else other


def _by_one(number: Fraction, rng: Random) -> Fraction:
    """Change the exact numerator by one."""
    return number + Fraction(rng.choice([-1, 1]), number.denominator)


def heavier(claim: Claim, rng: Random) -> Claim:
    cxp = _some(claim.cxps, rng)
    weight = claim.cxps[cxp]
    other = rng.choice([_by_one(weight, rng), weight + Fraction(1, 10**12)])
    return replace(claim, cxps={**claim.cxps, cxp: other})


def axp_dropped(claim: Claim, rng: Random) -> Claim:
    axp = _some(claim.axps, rng)
    return replace(claim, axps=tuple(a for a in claim.axps or () if a != axp))


def axp_smaller(claim: Claim, rng: Random) -> Claim:
    axp = _some(claim.axps, rng)
    less = axp - {rng.choice(sorted(axp))}
    return replace(claim, axps=tuple(less if a == axp else a for a in claim.axps or ()))


def scored(claim: Claim, rng: Random, kind: str | None = None) -> Claim:
    which, name = kind or rng.choice(sorted(claim.scores)), rng.choice(claim.domain.names)
    row = claim.scores[which]
    return replace(claim, scores={**claim.scores, which: {**row, name: _by_one(Fraction(row[name]), rng)}})


def sized(claim: Claim, rng: Random) -> Claim:
    kind = rng.choice(sorted(claim.sizes))
    size = rng.choice(sorted(claim.sizes[kind]))
    return replace(claim, sizes={**claim.sizes, kind: {**claim.sizes[kind], size: claim.sizes[kind][size] + 1}})


def floated(claim: Claim, rng: Random) -> Claim:
    kind, name = rng.choice(sorted(claim.scores)), rng.choice(claim.domain.names)
    near = {n: float(s) for n, s in claim.scores[kind].items()}
    return replace(claim, floats={kind: {**near, name: math.nextafter(near[name], math.inf)}})


def valued(claim: Claim, rng: Random) -> Claim:
    value, name = claim.value, rng.choice(claim.domain.names)
    assert value is not None
    return replace(claim, value=lambda S: value(S) + Fraction(int(tuple(S) == (name,)), 10**9))


def countered(claim: Claim, rng: Random) -> Claim:
    """Alter the counterfactual of every CXp: its distance, its output, or the place it begins from."""
    kept, way = claim.hint, rng.choice(["distance", "output", "changes", "point"])
    assert kept is not None

    def altered(names: tuple[str, ...]) -> Any:
        found = vars(kept(names)).copy()
        if way == "distance":
            found[way] += Fraction(1, 10**12)
        elif way == "output":
            found[way] = claim.prediction
        else:
            found[way] = {} if way == "changes" else dict(claim.instance)
        return SimpleNamespace(**found)

    return replace(claim, hint=altered)


def irrelevant(claim: Claim, rng: Random) -> Claim:
    return replace(claim, relevant=claim.relevant ^ {rng.choice(claim.domain.names)})


Alteration = Callable[[Claim, Random], Claim]
OF_THE_MODEL: tuple[Alteration, ...] = (dropped, added, exchanged, heavier, axp_dropped, axp_smaller, countered)
OF_THE_REST: tuple[Alteration, ...] = (sized, floated, valued, irrelevant)
