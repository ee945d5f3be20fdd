"""Explanations of every kind of model, altered a little at random: how many alterations does the checker miss?

Each explanation is altered in every way of ``tests/support/alterations.py``, one of each kind of score included,
and every altered claim goes through the whole of ``ax.verify``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.verification import Claim
from benchmarks.provenance import save, stamp
from tests.support.alterations import OF_THE_MODEL, OF_THE_REST, scored
from tests.support.more_kinds import NAMES, kind


def altered(claim: Claim, rng: Random) -> list[tuple[str, Claim]]:
    found = [(way.__name__, way(claim, rng)) for way in (*OF_THE_MODEL, *OF_THE_REST)]
    return found + [(f"scored {which}", scored(claim, rng, which)) for which in claim.scores]


def tried(name: str, rounds: int, seed: int) -> tuple[int, int, Counter[str]]:
    """Return the number of alterations, of explanations not proved entirely, and what was missed."""
    made, number, unproved = kind(name), 0, 0
    missed: Counter[str] = Counter()
    for k in range(rounds):
        claim = Claim.of(made.explain(k % len(made.rows)))
        unproved += not ax.verify(claim, made.model).complete
        if not claim.cxps:
            continue
        for way, other in altered(claim, Random(f"{seed} {name} {k}")):
            number += 1
            missed[way] += ax.verify(other, made.model).ok
    return number, unproved, +missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="explanations per kind of model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one explanation per kind of model")
    options = parser.parse_args()
    begin, number, unproved = perf_counter(), 0, 0
    missed: dict[str, Any] = {}
    for name in NAMES:
        more, open_ones, lost = tried(name, 1 if options.quick else options.rounds, options.seed)
        number, unproved = number + more, unproved + open_ones
        missed |= {name: dict(lost)} if lost else {}
        print(f"{name}: {more} alterations, {lost.total()} missed", flush=True)
    seconds = perf_counter() - begin
    print(f"{number} alterations of {len(NAMES)} kinds of model, missed: {missed or 'none'}; {seconds:.0f} s")
    print(f"{unproved} explanations were not proved entirely")
    result = {"kinds": len(NAMES), "alterations": number, "missed": missed, "unproved": unproved, "seconds": seconds}
    packages = ("numpy", "scikit-learn", "xgboost-cpu", "lightgbm")
    print("written:", save("alterations", stamp(packages, seed=options.seed) | result))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
