"""How far each long operation runs past its budget of seconds, in percent.

Every operation gets a problem that it cannot finish and a budget of 1 second (--seconds); it must end with a
BudgetError. Overshoot is what it took beyond the budget; one that finishes in time says so. Calls into dd and
PySDD are bounded only between calls.

    python benchmarks/budgets.py --seconds 2
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import axfi_kc as ax
from axfi_kc import queries
from axfi_kc.budget import BudgetSpent
from axfi_kc.errors import BudgetError
from axfi_kc.families import SetFamily, shapley_shubik_index
from axfi_kc.models import CircuitModel
from axfi_kc.sets import minimal_hitting_sets
from axfi_kc.targets import TARGETS, mdd_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests import hard_problems as hard
from tests.large_circuits import deterministic_dag

Work = Callable[[ax.Budget], Any]


def explaining(model: Any, x: Any, **options: Any) -> Work:
    return lambda budget: ax.Explainer(model, model.domain, budget=budget, **options).explain(x)


def operations() -> dict[str, Work]:
    trees, middle = hard.boosted()
    weighted = hard.weighted_bits()
    zeros = [0] * len(weighted.domain)
    classes, origin = hard.classes()
    large = deterministic_dag(30_000, n_features=300)
    found: dict[str, Work] = {
        "explain, ensemble": explaining(trees, middle),
        "explain, linear": explaining(weighted, zeros),
        "explain, linear of three classes": explaining(classes, origin),
        "explain, linear through mdd": explaining(weighted, zeros, target="mdd"),
        "determinism": lambda budget: queries.determinism(hard.hidden_pair(), budget=budget),
        "count, checked": lambda budget: queries.count(large, check=True, budget=budget),
        "circuit model of clauses": lambda budget: CircuitModel.of(hard.hidden_pair(), budget=budget),
        "mdd of clauses": lambda budget: mdd_of(hard.hidden_pair(), budget=budget),
        "minimal hitting sets, listed": lambda b: minimal_hitting_sets(hard.crossing_sets(), budget=b),
        "minimal hitting sets, family": lambda b: SetFamily.of(hard.crossing_sets()).hitting_sets(budget=b),
        "Shapley-Shubik index": lambda b: shapley_shubik_index(SetFamily.of(hard.crossing_sets()), budget=b),
    }
    for target in TARGETS:
        found[f"compile_model, boosted trees, {target}"] = lambda budget, target=target: ax.compile_model(
            trees, trees.domain, target=target, budget=budget
        )
        found[f"compile_model, linear, {target}"] = lambda budget, target=target: ax.compile_model(
            weighted, weighted.domain, target=target, budget=budget
        )
    return found


def measured(work: Work, seconds: float) -> dict[str, Any]:
    gc.collect()
    begin = perf_counter()
    try:
        work(ax.Budget(seconds=seconds))
        end = "finished"
    except (BudgetError, BudgetSpent):
        end = "stopped"
    except ax.AxfiError as error:
        end = type(error).__name__
    took = perf_counter() - begin
    return {"end": end, "seconds": round(took, 3), "overshoot_percent": round(max(took / seconds - 1, 0) * 100, 1)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="[%(default)s]")
    parser.add_argument("--only", help="operations whose name contains this")
    parser.add_argument("--quick", action="store_true", help="the default; here for uniformity")
    options = parser.parse_args(arguments)
    rows = {}
    for name, work in operations().items():
        if options.only is None or options.only in name:
            with contextlib.suppress(BudgetError, BudgetSpent):
                work(ax.Budget(seconds=0.01))  # kernels are compiled outside the measurement
            rows[name] = measured(work, options.seconds)
            row = rows[name]
            print(f"{name:45} {row['end']:9} {row['seconds']:8.3f} s {row['overshoot_percent']:7.1f} %", flush=True)
    print(
        "written:", save("budgets", stamp(("numpy", "numba", "dd", "PySDD"), seconds=options.seconds) | {"rows": rows})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
