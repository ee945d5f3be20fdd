"""How far each long operation runs past its budget of seconds, or of bytes, in percent.

Every operation gets a problem that it cannot finish and a budget of 1 second (--seconds); it must end with a
BudgetError. Overshoot is what it took beyond the budget; one that finishes in time says so. Calls into dd and
PySDD are bounded only between calls. --load keeps the other cores busy meanwhile. --megabytes gives budgets of memory
instead, and compares them with the largest resident memory that the system saw (Linux); each operation then has a
process of its own, because memory that another one gave back would be used again.

    python benchmarks/budgets.py --seconds 2
    python benchmarks/budgets.py --load
    python benchmarks/budgets.py --megabytes 64
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import axfi_kc as ax
from axfi_kc.budget import BudgetSpent
from axfi_kc.errors import BudgetError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.long_operations import OPERATIONS, REPORTS, Work

MOST_SECONDS = 5.0  # of a budget of memory: what does not take so much ends then


@contextlib.contextmanager
def loaded(n: int) -> Iterator[None]:
    """Keep n processes spinning meanwhile."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def ended(work: Work, budget: ax.Budget) -> str:
    try:
        work(budget)
    except (BudgetError, BudgetSpent):
        return "stopped"
    except ax.AxfiError as error:
        return type(error).__name__
    return "finished"


def timed(work: Work, seconds: float) -> dict[str, Any]:
    gc.collect()
    begin = perf_counter()
    end = ended(work, ax.Budget(seconds=seconds))
    took = perf_counter() - begin
    return {"end": end, "seconds": round(took, 3), "overshoot_percent": round(max(took / seconds - 1, 0) * 100, 1)}


def prepared(name: str) -> Work:
    """Return an operation whose problem is made and whose kernels are compiled."""
    work = (OPERATIONS | REPORTS)[name]
    with contextlib.suppress(BudgetError, BudgetSpent):
        work(ax.Budget(seconds=0.01))
    return work


def weighed(name: str, megabytes: int) -> dict[str, Any]:
    work = prepared(name)
    import_module("numba")  # which no budget counts
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again
    before, begin = memory("VmRSS"), perf_counter()
    end = ended(work, ax.Budget(bytes=megabytes << 20, seconds=MOST_SECONDS))
    grown = (memory("VmHWM") - before) / 1024
    return {
        "end": end,
        "seconds": round(perf_counter() - begin, 3),
        "grown_mb": round(grown, 1),
        "overshoot_percent": round(max(grown / megabytes - 1, 0) * 100, 1),
    }


def memory(name: str) -> int:
    """Return a line of the process's status, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="[%(default)s]")
    parser.add_argument("--megabytes", type=int, help="budgets of memory instead of seconds")
    parser.add_argument("--load", action="store_true", help="with the other cores busy")
    parser.add_argument("--only", help="operations whose name contains this")
    parser.add_argument("--quick", action="store_true", help="the default; here for uniformity")
    options = parser.parse_args(arguments)
    rows = {}
    with loaded(max(1, (os.cpu_count() or 2) - 1) if options.load else 0):
        for name in OPERATIONS | REPORTS:
            if options.only is None or options.only in name:
                if options.megabytes is None:
                    row = timed(prepared(name), options.seconds)
                else:
                    with get_context("spawn").Pool(1) as pool:
                        row = pool.apply(weighed, (name, options.megabytes))
                rows[name] = row
                shown = "" if options.megabytes is None else f"{row['grown_mb']:9.1f} MB"
                print(
                    f"{name:45} {row['end']:9} {row['seconds']:8.3f} s {shown} {row['overshoot_percent']:7.1f} %",
                    flush=True,
                )
    kind = "budgets" if options.megabytes is None else "budgets_bytes"
    settings = {"seconds": options.seconds, "megabytes": options.megabytes, "load": options.load}
    made_with = stamp(("numpy", "numba", "dd", "PySDD"), **settings)
    print("written:", save(kind + ("_load" if options.load else ""), made_with | {"rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
