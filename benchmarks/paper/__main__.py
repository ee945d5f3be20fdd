"""The paper's experiments with exact weights: tables, figures and a report, stamped with the commit.

    python -m benchmarks.paper --quick

Data sets are looked for in the folder ``data`` of the one named by AXFI_SHARED (default ../shared).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.paper.data_sets import NAMES
from benchmarks.paper.study import FULL, QUICK, run_study
from benchmarks.provenance import RESULTS, ROOT, stamp


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    data = Path(os.environ.get("AXFI_SHARED", ROOT.parent / "shared")) / "data"
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = found.add_argument
    add("--out", type=Path, default=RESULTS / "paper", help="folder for the results [%(default)s]")
    add("--data", type=Path, default=data if data.is_dir() else None, help="where data sets lie, as NAME/FILE.csv")
    add("--online", action="store_true", help="ask OpenML for data sets that are not at hand")
    add("--quick", action="store_true", help="few instances; under two minutes")
    add("--seed", type=int, default=0, help="of splits, training and sampling [%(default)s]")
    add("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME", help="data sets")
    return found


def main() -> None:
    """Run the study as the options say."""
    options, made_with = parser().parse_args(), stamp(())
    run_study(
        options.out,
        data=options.data,
        online=options.online,
        scale=QUICK if options.quick else FULL,
        seed=options.seed,
        only=options.only,
        provenance={"commit": made_with["commit"], "changed": made_with["changed"]},
    )


if __name__ == "__main__":
    main()
