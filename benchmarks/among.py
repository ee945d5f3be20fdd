"""Explanations among the rows of a data set: ``explain_among`` next to a plain NumPy way, in the same run.

The plain way is what one would write first: a mask of differing features per row, the distinct masks with their
numbers of rows, the minimal ones of those with a dissimilar row (smallest first, each strikes out its supersets), and a
count of the rows in the box of each. It knows nothing of domains, checks no value and encodes nothing; ours does all
that within its seconds. Both must give the same CXps with the same weights.

    python benchmarks/among.py [--quick]
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from axfi_kc.explanations.among import explain_among

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp

SEED = 0
FEATURES = 20


def plain(X: np.ndarray, y: np.ndarray, v: np.ndarray, here: Any) -> dict[int, Fraction]:
    """Return the CXps with their ratios, by NumPy alone."""
    masks = (v != X) @ (1 << np.arange(X.shape[1]))
    sets, place = np.unique(masks, return_inverse=True)
    every = np.bincount(place)
    bad = np.bincount(place[y != here], minlength=len(sets))
    left = sets[bad > 0]
    left = left[np.argsort(np.bitwise_count(left), kind="stable")]
    minimal = []
    while len(left):
        minimal.append(int(left[0]))
        left = left[left & left[0] != left[0]]
    numbers = dict(zip(sets.tolist(), bad.tolist(), strict=True))
    return {Y: Fraction(numbers[Y], int(every[sets & ~Y == 0].sum())) for Y in minimal}


def uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return independent features of four values: rows far from each other, many CXps."""
    return rng.integers(0, 4, (n, FEATURES))


def clustered(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return rows that each change a few features of one of a hundred prototypes: small CXps, many rows in a box."""
    prototypes = rng.integers(0, 6, (100, FEATURES))
    X = prototypes[rng.integers(0, 100, n)]
    changed = rng.random(X.shape) < 0.15
    return np.where(changed, rng.integers(0, 6, X.shape), X)


def real(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return floats of a few values each, as measurements rounded to a tenth are."""
    return clustered(rng, n) / 10


def compared(name: str, make: Any, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    X = make(rng, n)
    y = (X[:, :7].sum(axis=1) > np.median(X[:, :7].sum(axis=1))).astype(int)
    begin = perf_counter()
    e = explain_among(X, y, X[0])
    ours = perf_counter() - begin
    begin = perf_counter()
    expected = plain(X, y, X[0], y[0])
    theirs = perf_counter() - begin
    same = {e.domain.mask(c.features): c.weight for c in e.cxps} == expected
    begin = perf_counter()
    e.scores("shapley"), e.scores("banzhaf")
    scores = perf_counter() - begin
    print(
        f"{name}: {n:,} rows x {FEATURES} features, {len(expected):,} CXps: ours {ours:.2f} s (scores {scores:.2f} s), "
        f"plain NumPy {theirs:.2f} s, {theirs / ours:.2f} times as long; same: {same}",
        flush=True,
    )
    return {
        "data": name,
        "rows": n,
        "features": FEATURES,
        "cxps": len(expected),
        "ours_s": round(ours, 3),
        "scores_s": round(scores, 3),
        "plain_s": round(theirs, 3),
        "ratio": round(theirs / ours, 2),
        "same": same,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    options = parser.parse_args(arguments)
    n = 20_000 if options.quick else options.rows
    kinds = {"uniform": uniform, "clustered": clustered, "real": real}
    rows = [compared(name, make, n) for name, make in kinds.items()]
    result = "among_quick" if options.quick else "among"
    print("written:", save(result, stamp(("numpy",), seed=SEED) | {"results": rows}))
    return 0 if all(row["same"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
