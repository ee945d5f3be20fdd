"""A diagram with its vtree is known to be deterministic, and only if it is."""

from __future__ import annotations

import random
from pathlib import Path

from axfi_kc import Domain, Integer
from axfi_kc.circuits.files import read_sdd, write_sdd
from axfi_kc.circuits.queries import determinism as search
from axfi_kc.circuits.queries.determinism import _NOTED, is_noted
from axfi_kc.circuits.targets import sdd_of
from axfi_kc.models import CircuitModel
from tests.support.format_cases import random_circuit


def written(seed: int, folder: Path) -> Path:
    rng = random.Random(seed)
    domain = Domain([Integer(f"x{i}", 0, rng.choice((1, 1, 2))) for i in range(rng.randint(2, 6))])
    file = folder / "a.sdd"
    write_sdd(sdd_of(random_circuit(rng, domain), vtree=rng.choice(("balanced", "right"))), file)
    return file


def test_diagrams_of_the_library_are_known(tmp_path: Path) -> None:
    for seed in range(60):
        file = written(seed, tmp_path)
        assert is_noted(read_sdd(file, vtree=file.with_suffix(".vtree"))), seed
        assert not is_noted(read_sdd(file))
    assert not CircuitModel.of(read_sdd(file, vtree=file.with_suffix(".vtree"))).converted


def test_damaged_diagrams_are_known_only_if_they_still_are(tmp_path: Path) -> None:
    refuted = 0
    for seed in range(120):
        file, rng = written(seed, tmp_path), random.Random(seed)
        lines = file.read_text().split("\n")
        literals = [k for k, line in enumerate(lines) if line.startswith("L ")]
        if not literals:
            continue
        k = rng.choice(literals)
        *words, literal = lines[k].split()
        lines[k] = " ".join([*words, str(-int(literal))])
        file.write_text("\n".join(lines))
        circuit = read_sdd(file, vtree=file.with_suffix(".vtree"))
        noted = is_noted(circuit)
        _NOTED._found.clear()
        verdict = search(circuit).verdict
        refuted += verdict == "refuted"
        assert not (noted and verdict == "refuted"), seed
    assert refuted  # so some are found out
