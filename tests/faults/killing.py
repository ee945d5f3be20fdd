"""Streams that are killed at random, and several that write at once; each in a process that is forked when it is warm.

    python -m tests.faults.killing kills 500
    python -m tests.faults.killing writers 20

print what happened, and fail if anything is lost, unreadable or different.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import axfi_kc as ax
from axfi_kc.errors import ResultFileError
from axfi_kc.explanations.files.stores import store_at
from tests.faults.scenes import equal_blocks, explainer, rows, snapshot

N = 60  # rows
SUFFIXES = ("jsonl", "parquet")


def write(path: Path, *, weights: str = "ratio", pause: float = 0.0) -> None:
    """Stream some rows, a little slower than they could be."""
    own = explainer(weights=weights)
    find = own._find

    def slowly(codes, *located):
        time.sleep(pause)
        return find(codes, *located)

    own._find = slowly  # type: ignore[method-assign]
    with equal_blocks():
        own.explain_to(path, rows(N), progress=False)


def forked(work: Callable[[], None]) -> int:
    """Run something in a process of its own and return its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except ResultFileError as error:
            code = 2 if "Another run is writing" in str(error) else 3 if "another model" in str(error) else 1
            sys.stderr.write(f"{error}\n" if code == 1 else "")
        except BaseException:  # what it was, for whoever reads the output
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def rows_in(path: Path) -> int:
    """Return how many rows can be read."""
    try:
        return sum(1 for _ in store_at(path).records())
    except ResultFileError:
        # Without a header nothing was begun; anything else would be lost.
        file = path if path.suffix == ".jsonl" else path / "_axfi.json"
        if file.exists() and file.read_bytes().count(b"\n") > 0:
            raise
        return 0


def right(folder: Path, suffix: str, weights: str = "ratio") -> dict[str, bytes]:
    folder.mkdir()
    write(folder / f"out.{suffix}", weights=weights)
    return snapshot(folder)


def killed(folder: Path, kills: int, seed: int = 0) -> Counter[str]:
    """Kill streams at random until there were so many kills; each is gone on with until it is whole."""
    draw, seen = random.Random(seed), Counter[str]()
    wanted = {suffix: right(folder / f"right-{suffix}", suffix) for suffix in SUFFIXES}
    run = 0
    while seen["kills"] < kills:
        suffix, run = SUFFIXES[run % 2], run + 1
        (home := folder / f"run-{run}").mkdir()
        path, before = home / f"out.{suffix}", 0
        while seen["kills"] < kills:
            child = forked(lambda path=path: write(path, pause=0.0005))
            time.sleep(draw.uniform(0.0, 0.1))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            left = rows_in(path)
            assert left >= before, f"{path}: {before} rows, then {left}"
            before = left
            seen["kills" if os.WIFSIGNALED(status) else "finished before"] += 1
            if not os.WIFSIGNALED(status):
                break
            seen["kills within the rows"] += 0 < left < N
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what a killed process leaves is torn at most, and no damage
            write(path)
        assert snapshot(home) == wanted[suffix], path
        seen["runs"] += 1
        shutil.rmtree(home)
    return seen


def at_once(folder: Path, writers: int, rounds: int) -> Counter[str]:
    """Let several processes write one stream, of two kinds of weights, and count how they end."""
    seen = Counter[str]()
    ways = ("ratio", "count")
    wanted = {(s, w): right(folder / f"right-{s}-{w}", s, w) for s in SUFFIXES for w in ways}
    for n in range(rounds):
        suffix = SUFFIXES[n % 2]
        (home := folder / f"writers-{n}").mkdir()
        path = home / f"out.{suffix}"
        start = time.monotonic() + 0.02

        def work(k: int, path: Path = path, start: float = start) -> None:
            time.sleep(max(0.0, start - time.monotonic()))
            write(path, weights=ways[k % 2], pause=0.001)

        children = [forked(lambda k=k: work(k)) for k in range(writers)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert set(codes) <= {0, 2, 3}, codes
        assert 0 in codes
        weights = ax.read_results(path)._header["weights"]
        assert snapshot(home) == wanted[suffix, weights], path
        names = {0: "wrote", 2: "kept out", 3: "found another run"}
        seen.update(names[code] for code in codes)
        seen["rounds"] += 1
        shutil.rmtree(home)
    return seen


def main(what: str, n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if what == "kills":
            found = {"one writer": killed(Path(folder), n)}
        else:
            found = {}
            for writers in (2, 4):
                (home := Path(folder, str(writers))).mkdir()
                found[f"{writers} writers"] = at_once(home, writers, n)
    for name, counts in found.items():
        sys.stdout.write(f"{name}: " + ", ".join(f"{count} {word}" for word, count in counts.items()) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
