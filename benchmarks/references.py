"""All recorded results of other tools on boosted trees, found again: CXps, AXps, and counts.

Six XGBoost models of 25 trees of depth 3, 522 instances. The results were recorded with their
authors' tool (SAT-based, CXps and AXps, no counting) on their machine, so its seconds are given for
scale only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.reference_models import BOOSTED, boosted_reference, check_instance


def check(name: str, limit: int | None) -> dict[str, Any]:
    reference = boosted_reference(name)
    instances = reference.instances[:limit]
    counted = "aex_counts" in instances[0]
    explainer = ax.Explainer(reference.model, reference.domain, weights="count" if counted else "ratio")
    explainer.explain(reference.point(instances[0]))  # compiled and cached before the clock starts
    seconds, cxps, agree = [], 0, 0
    for instance in instances:
        start = perf_counter()
        try:
            cxps += len(check_instance(reference, explainer, instance).cxps)
            agree += 1
        except AssertionError:
            print(f"{name}: disagreement at {instance['values']}")
        seconds.append(perf_counter() - start)
    return {
        "model": name, "instances": len(instances), "identical": agree, "counts_checked": counted, "cxps": cxps,
        "seconds": mean(seconds), "recorded_seconds": mean(i["rtime_s"] for i in instances),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ten instances of each model")
    options = parser.parse_args()
    rows = [check(name, 10 if options.quick else None) for name in BOOSTED]
    print("model         instances  identical  counts   CXps  ms here  recorded ms")
    for r in rows:
        counts = "yes" if r["counts_checked"] else "-"
        print(
            f"{r['model']:13} {r['instances']:9} {r['identical']:10} {counts:>7} {r['cxps']:6}"
            f" {r['seconds'] * 1e3:8.2f} {r['recorded_seconds'] * 1e3:12.0f}"
        )
    total, identical = sum(r["instances"] for r in rows), sum(r["identical"] for r in rows)
    print(f"{identical} of {total} instances identical")
    print("wrote", save("references", {**stamp(("axfi-kc", "numpy", "numba")), "rows": rows}))
    if identical != total:
        sys.exit(1)


if __name__ == "__main__":
    main()
