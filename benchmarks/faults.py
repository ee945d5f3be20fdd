"""Faults of the disk: every call that changes a file fails, is torn, is lost with a power cut, or never returns.

For everything that writes files (streams in both formats, from the start, gone on with and mended, with and without
waiting for the disk; reports, graphs, circuits and diagrams, new and over others), each call of an undisturbed run is
disturbed in ten ways. After each: what is left is read and compared with what was promised, the run is gone on with,
and the outcome is compared with the undisturbed one byte for byte. Then streams are killed at random, and two and four
processes write one stream at once. A difference ends it with an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import ROOT, save, stamp
from tests.faults.scenes import SCENES, strike_all
from tests.support.faulty_disk import FAULTS


def disturb(quick: bool) -> dict[str, dict[str, int]]:
    """Return how disturbed runs ended, by what was written."""
    found = {}
    for n, (name, scene) in enumerate(SCENES.items()):
        begin = perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            ended = strike_all(scene, Path(folder, "here"), FAULTS, step=7 if quick else 1, shift=n)
        found[name] = dict(ended)
        words = ", ".join(f"{count} {word}" for word, count in sorted(ended.items()))
        print(f"{name:45} {ended.total():5} faults: {words} ({perf_counter() - begin:.1f} s)", flush=True)
    return found


def in_processes(what: str, n: int) -> list[str]:
    """Kill streams, or let several write at once, from a process without threads."""
    command = [sys.executable, "-m", "tests.faults.killing", what, str(n)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    print(done.stdout, end="", flush=True)
    return done.stdout.splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every seventh fault, and a few kills")
    quick = parser.parse_args().quick
    found = disturb(quick)
    total = sum((Counter(ended) for ended in found.values()), Counter[str]())
    print(f"{total.total()} faults in {len(FAULTS)} ways: nothing lost, nothing unreadable, nothing different")
    kills = in_processes("kills", 20 if quick else 500)
    writers = in_processes("writers", 4 if quick else 60)
    result = {**stamp(("axfi-kc", "pyarrow"), quick=quick), "faults": found, "kills": kills, "writers": writers}
    print(save("faults", result))


if __name__ == "__main__":
    main()
