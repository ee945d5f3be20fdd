"""Hostile files against every reader: nothing but success or an AxfiError, in bounded time and memory.

    python benchmarks/fuzz.py --reader nnf --inputs 1000000 --seed 0
    python benchmarks/fuzz.py --reader all --inputs 2000
    python benchmarks/fuzz.py --reader nnf --only 4711      # one input again, with its traceback

Input k of a reader depends on the seed and k only. Each reader runs in a child process that may take 6 GB; where an
input ends it, the next child goes on behind that input. An input fails if it raises anything but an AxfiError,
ends the process, takes more than 2 seconds of processor time (and is stopped after 20), or leaves a file other than the
one it was given; the run fails if resident memory has grown by more than 300 MB. Valid files, mutations and grammars:
tests/support/fuzz_all.py and fuzz_readers.py. Exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

from axfi_kc.errors import AxfiError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.fuzz_all import READERS
from tests.support.fuzz_readers import FOLDER, Reader

_MOST_MEMORY = 6 << 30
MOST_SECONDS, HANGING_SECONDS, MOST_GROWTH = 2.0, 20, 300 << 20
_SHOWN = 12  # failures printed with their traceback
_CHECK_EVERY = 20_000


class Hang(BaseException):
    """An input took too long."""


def _hang(*_: Any) -> None:
    raise Hang


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise Hang after so many seconds of processor time: a machine that pauses is no hang of ours."""
    before = signal.signal(signal.SIGPROF, _hang)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def input_of(name: str, reader: Reader, seed: int, k: int) -> bytes:
    return reader.input(Random(f"{name} {seed} {k}"))


def outcome(reader: Reader, file: Path, data: bytes) -> tuple[str, str | None]:
    """Return what reading `data` led to: a kind, and the traceback of a failure."""
    file.write_bytes(data)
    begin = process_time()
    try:
        with alarm(HANGING_SECONDS):
            reader.read(file)
        kind, fault = "read", None
    except AxfiError as error:
        kind, fault = type(error).__name__, None
    except Hang:
        kind, fault = "HANG", traceback.format_exc(limit=-4)
    except BaseException as error:
        kind, fault = f"CRASH {type(error).__name__}", traceback.format_exc(limit=-4)
    spent = process_time() - begin
    if fault is None and spent > MOST_SECONDS:
        return "SLOW", f"{spent:.1f} s of processor time for {len(data)} bytes"
    return kind, fault


def run(
    name: str, *, inputs: int, seed: int, quiet: bool = False, first: int = 0, beat: Path | None = None
) -> dict[str, Any]:
    """Feed `inputs` inputs to a reader, from input `first` on; return counts, failures and the slowest input.

    `beat` is a file that says which input is being read.
    """
    reader = READERS[name]
    kinds: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    slowest, size = (0.0, -1), 0
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder, f"input{reader.suffix}")
        for k in range(
            0 if first else min(200, inputs)
        ):  # imports and pools are no growth, and compiling a kernel is no hang
            file.write_bytes(input_of(name, reader, seed, k))
            with suppress(Exception):
                reader.read(file)
        begin, before = perf_counter(), resident()
        pulse = None if beat is None else os.open(beat, os.O_WRONLY | os.O_CREAT)
        for k in range(first, first + inputs):
            if pulse is not None:
                os.pwrite(pulse, k.to_bytes(8, "big"), 0)
            data = input_of(name, reader, seed, k)
            at = process_time()
            kind, fault = outcome(reader, file, data)
            slowest = max(slowest, (process_time() - at, k))
            size = max(size, len(data))
            kinds[kind] += 1
            if fault is not None:
                failures.append({"input": k, "kind": kind})
                if len(failures) <= _SHOWN and not quiet:
                    print(f"{name} input {k}: {kind}\n{fault}\n{data[:300]!r}\n", flush=True)
            if k % _CHECK_EVERY == 0 and os.listdir(folder) != [file.name]:
                failures.append({"input": k, "kind": f"STRANGE FILES {os.listdir(folder)}"})
        seconds, growth = perf_counter() - begin, resident() - before
    if growth > MOST_GROWTH:
        failures.append({"input": None, "kind": f"MEMORY grew by {growth >> 20} MB"})
    return {
        "reader": name,
        "inputs": inputs,
        "seed": seed,
        "seconds": round(seconds, 1),
        "kinds": dict(kinds.most_common()),
        "slowest_seconds": round(slowest[0], 3),
        "slowest_input": slowest[1],
        "largest_bytes": size,
        "growth_mb": round(growth / 2**20, 1),
        "failures": len(failures),
        "first_failures": failures[:100],
    }


def run_apart(name: str, *, inputs: int, seed: int) -> dict[str, Any]:
    """Do as :func:`run` does, in children with a limit of memory; what ends one of them is a failure."""
    parts: list[dict[str, Any]] = []
    dead: list[dict[str, Any]] = []
    first = 0
    while first < inputs:
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            beat, answer = Path(folder, "beat"), Path(folder, "answer")
            asked = ["--reader", name, "--inputs", str(inputs - first), "--seed", str(seed), "--first", str(first)]
            command = [sys.executable, __file__, *asked, "--answer", str(answer), "--beat", str(beat)]
            status = subprocess.run(command, preexec_fn=_limit, check=False).returncode
            if answer.exists():
                parts.append(json.loads(answer.read_text()))
                break
            at = int.from_bytes(beat.read_bytes(), "big") if beat.exists() else first
            kind = f"DEAD {signal.Signals(-status).name if status < 0 else status}"
            print(f"{name} input {at}: {kind}", flush=True)
            dead.append({"input": at, "kind": kind})
            first = at + 1
    return _added(name, inputs, seed, parts, dead)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


def _added(
    name: str, inputs: int, seed: int, parts: list[dict[str, Any]], dead: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what the last child found, with those that died: what these counted died with them."""
    last = parts[0] if parts else {"seconds": 0.0, "kinds": {}, "slowest_seconds": 0, "slowest_input": -1}
    last = {"growth_mb": 0.0, "failures": 0, "first_failures": [], **last}
    kinds = {**last["kinds"], **Counter(d["kind"] for d in dead)}
    lost = {"failures": last["failures"] + len(dead), "first_failures": dead + last["first_failures"], "kinds": kinds}
    return {**last, "reader": name, "inputs": inputs, "seed": seed, **lost}


def shown(found: dict[str, Any]) -> str:
    kinds = ", ".join(f"{kind} {n}" for kind, n in found["kinds"].items())
    return (
        f"{found['reader']}: {found['inputs']} inputs in {found['seconds']} s, {found['failures']} failures; {kinds}; "
        f"slowest {found['slowest_seconds']} s (input {found['slowest_input']}), memory {found['growth_mb']:+} MB"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reader", default="all", choices=["all", *READERS], help="[%(default)s]")
    parser.add_argument("--inputs", type=int, default=2_000, help="inputs per reader [%(default)s]")
    parser.add_argument("--seed", type=int, default=0, help="[%(default)s]")
    parser.add_argument("--only", type=int, metavar="K", help="read input K alone, and show what happens")
    parser.add_argument("--quick", action="store_true", help="500 inputs per reader")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="begin with input K")
    for hidden in ("--answer", "--beat"):  # of children
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.answer is not None:
        which = {"inputs": options.inputs, "seed": options.seed, "first": options.first, "beat": options.beat}
        options.answer.write_text(json.dumps(run(options.reader, **which)))
        return 0
    if options.only is not None:
        reader = READERS[options.reader]
        data = input_of(options.reader, reader, options.seed, options.only)
        print(data[:5_000])
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            file = Path(folder, f"input{reader.suffix}")
            file.write_bytes(data)
            print(reader.read(file))
        return 0
    results = []
    for name in READERS if options.reader == "all" else [options.reader]:
        found = run_apart(name, inputs=500 if options.quick else options.inputs, seed=options.seed)
        print(shown(found), flush=True)
        results.append(found)
        save(f"fuzz-{name}", stamp(("numpy", "pandas"), seed=options.seed) | found)
    return 1 if any(found["failures"] for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
