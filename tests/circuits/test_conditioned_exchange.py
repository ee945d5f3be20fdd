"""What leaves the library of a conditioned circuit has its points and no others."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files import compile_with_dsharp, load_circuit, save_circuit
from axfi_kc.circuits.files.cnf import write_cnf
from axfi_kc.errors import DomainError

DOMAIN = ax.Domain([ax.Integer("a", 0, 2, weights=[1, 2, 3]), ax.Integer("b", 0, 1), ax.Integer("c", 0, 3)])
POINTS = list(product(range(3), range(2), range(4)))


def conditioned(seed: int) -> Circuit:
    rng = random.Random(seed)
    held = set(rng.sample(POINTS, rng.randint(0, len(POINTS))))
    whole = ax.from_truth_table([p in held for p in POINTS], DOMAIN)
    fixed = rng.choice([{"a": 1}, {"b": 0}, {"c": 3}, {"a": 2, "c": 0}])
    return queries.condition(whole, fixed)


@pytest.mark.parametrize("suffix", [".nnf", ".cnf", ".dddmp", ".json", ".sdd"])
def test_files_have_the_points(suffix: str, tmp_path: Path) -> None:
    for seed in range(12):
        circuit = conditioned(seed)
        target = {".dddmp": "obdd", ".json": "obdd", ".sdd": "sdd"}.get(suffix)
        save_circuit(circuit if target is None else circuit.compile(target), file := tmp_path / f"{seed}{suffix}")
        read = ax.from_cnf(file) if suffix == ".cnf" else load_circuit(file, DOMAIN, **_code(suffix))
        assert list(queries.models(read.compile("mdd"))) == list(queries.models(circuit))


def _code(suffix: str) -> dict[str, str]:
    return {"code": "order"} if suffix in (".dddmp", ".json") else {}


def test_other_libraries_get_the_points() -> None:
    from dd.autoref import BDD
    from pysdd.sdd import SddManager

    for seed in range(12):
        circuit = conditioned(seed)
        points = list(queries.models(circuit))
        cnf = circuit.to_cnf()
        assert ax.count_models(cnf.clauses, via="dd", check=False).count * 2 ** _unused(cnf) == len(points)
        for read in (
            ax.from_cnf(cnf),
            ax.from_dd(circuit.to_dd(BDD()), DOMAIN),
            ax.from_pysdd(circuit.to_pysdd(SddManager(var_count=6)), DOMAIN),
        ):
            assert list(queries.models(read.compile("mdd"))) == points


def _unused(cnf: ax.Cnf) -> int:
    return cnf.n_variables - max(abs(x) for clause in cnf.clauses for x in clause)


def test_weights_of_clauses_are_the_conditional_probability(tmp_path: Path) -> None:
    for seed in range(12):
        circuit = conditioned(seed)
        for code in ("direct", "order", "binary"):
            write_cnf(circuit, file := tmp_path / "a.cnf", code=code)
            assert ax.count_models(file, via="dd", check=False).count == queries.probability(circuit)


def test_dsharp_keeps_what_is_set() -> None:
    pytest.importorskip("problog")
    for seed in range(4):
        circuit = conditioned(seed)
        made = compile_with_dsharp(circuit).compile("mdd")
        assert made.grid.is_like(circuit.grid)
        assert queries.count(made) == queries.count(circuit)
        assert queries.probability(made) == queries.probability(circuit)


def test_an_instance_must_agree_with_what_is_set() -> None:
    circuit = queries.condition(ax.from_expression("y", names="xy"), {"x": 1})
    assert ax.relevance(circuit, (1, 1)).necessary == ("y",)
    with pytest.raises(DomainError, match="conditioned on x >= 1, but the instance has x <= 0"):
        ax.relevance(circuit, (0, 1))
