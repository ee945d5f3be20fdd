"""The paper's experiments with exact weights: the same as ``axfi-kc paper``, stamped with the commit.

Data sets are looked for in the folder ``data`` of the one named by AXFI_SHARED (default ../shared).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from axfi_kc.paper import add_arguments, run

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import RESULTS, ROOT, stamp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    data = Path(os.environ.get("AXFI_SHARED", ROOT.parent / "shared")) / "data"
    parser.set_defaults(out=RESULTS / "paper", data=data if data.is_dir() else None)
    made_with = stamp(())
    run(parser.parse_args(), commit=made_with["commit"], changed=made_with["changed"])


if __name__ == "__main__":
    main()
