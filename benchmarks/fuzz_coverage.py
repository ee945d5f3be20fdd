"""Coverage-guided fuzzing of one reader by atheris, from the valid files of tests/support/fuzz_readers.py.

    python benchmarks/fuzz_coverage.py nnf -max_total_time=60

Needs ``pip install atheris``, which is no dependency of the project. Arguments after the reader go to libFuzzer.
It ends at the first exception that is no AxfiError.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import contextlib

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(
    include=[
        "axfi_kc.circuits.files",
        "axfi_kc.compilers",
        "axfi_kc.explanations.files",
        "axfi_kc.explanations.batch",
        "axfi_kc.explanations.files.streaming",
    ]
):
    from axfi_kc.errors import AxfiError
    from tests.support.fuzz_all import READERS
    from tests.support.fuzz_readers import FOLDER


def main() -> None:
    reader = READERS[sys.argv[1]]
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        file, seeds = Path(folder, f"input{reader.suffix}"), Path(folder, "seeds")
        seeds.mkdir()
        for k, data in enumerate(reader.pool):
            Path(seeds, str(k)).write_bytes(data)

        def one(data: bytes) -> None:
            file.write_bytes(data)
            with contextlib.suppress(AxfiError):
                reader.read(file)

        atheris.Setup([sys.argv[0], *sys.argv[2:], str(seeds)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
