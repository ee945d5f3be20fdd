"""The first explanation after installation: how long it takes while kernels are compiled, and whether it says so.

For a tree, an ensemble, a linear model and a circuit: one new process each, with an empty folder for numba's cache.
Seconds are those of the first ``explain`` with both scores, from the trained model on: on the clock, and of the
processor, which is what a quiet machine would take; then the same in a second process, which finds the kernels.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

KINDS = {"tree": 3.0, "ensemble": 6.0, "linear": 3.0, "circuit": 4.0}  # and the seconds that each may take


def trained(kind: str) -> tuple[Any, Any, Any]:
    """Return a model, its domain, and an instance."""
    import axfi_kc as ax

    if kind == "circuit":
        from axfi_kc.circuits.circuit import CircuitBuilder
        from axfi_kc.domain.grid import Grid
        from axfi_kc.models import CircuitModel

        domain = ax.Domain([ax.Integer(f"x{i}", 0, 3) for i in range(8)])
        build = CircuitBuilder(Grid.of_values(domain))
        parts = []
        for i in range(7):  # the first feature that is above its lowest value, and what the next one has to be
            before = [build.literal(k, [0]) for k in range(i)]
            parts.append(build.conjunction([*before, build.literal(i, [1, 2, 3]), build.literal(i + 1, [1, 3])]))
        return CircuitModel.of(build.circuit(build.disjunction(parts))), domain, (1,) * 8
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    if kind == "tree":
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y), X, X.iloc[0]
    if kind == "linear":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=10_000).fit(X, y), X, X.iloc[0]
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=20, max_depth=3, random_state=0).fit(X, y), X, X.iloc[0]


def first(kind: str) -> dict[str, Any]:
    """Explain once, in this process; return the seconds, and what was said meanwhile."""
    import axfi_kc as ax

    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("axfi_kc").addHandler(handler)
    logging.getLogger("axfi_kc").setLevel(logging.INFO)
    model, domain, x = trained(kind)
    start, used = perf_counter(), process_time()
    explained = ax.Explainer(model, domain).explain(x)
    explained.scores("shapley"), explained.scores("banzhaf")
    return {"seconds": perf_counter() - start, "processor_s": process_time() - used, "said": said}


def in_a_process(kind: str, cache: str) -> dict[str, Any]:
    settings = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, __file__, "--kind", kind], env=settings, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the tree alone")
    parser.add_argument("--kind", choices=KINDS, help="explain one model in this process, and print JSON")
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(first(options.kind)))
        return
    from benchmarks.provenance import save, stamp

    rows = []
    print("kind       first explanation  processor  limit  again  says so")
    for kind in list(KINDS)[: 1 if options.quick else None]:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = in_a_process(kind, cache), in_a_process(kind, cache)
        rows.append({"kind": kind, "limit_s": KINDS[kind], **cold, "again_s": warm["seconds"]})
        times = f"{cold['seconds']:15.2f} s {cold['processor_s']:8.2f} s {KINDS[kind]:6.1f} {warm['seconds']:6.2f}"
        print(f"{kind:10} {times}  {'yes' if cold['said'] else 'no'}")
    packages = ("axfi-kc", "numpy", "numba", "scikit-learn", "xgboost")
    print("wrote", save("cold_start", {**stamp(packages), "rows": rows}))


if __name__ == "__main__":
    main()
