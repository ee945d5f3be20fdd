"""PSDDs against the definition, and the errors of their files."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.circuits.files import Variables, write_vtree
from axfi_kc.circuits.files.psdd import read_psdd
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.queries.joint import joint_probability
from axfi_kc.circuits.targets import mdd_of, sdd_of
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.distribution import distribution_of
from axfi_kc.domain.grid import Grid
from tests.support.format_cases import random_circuit
from tests.support.random_psdds import chance_of, psdd_text

DOMAIN = ax.Domain([ax.Integer("a", 0, 1), ax.Categorical("b", "xyz"), ax.Integer("c", -1, 2)])


def _written(folder: Path, rng: Random, vtree: Vtree, code: str) -> Psdd:
    while True:
        write_vtree(vtree, folder / "d.vtree")
        (folder / "d.psdd").write_text(psdd_text(rng, vtree))
        with suppress(ax.errors.DomainError):  # no code has a probability
            return read_psdd(folder / "d.psdd", DOMAIN, code=code)


def _random_vtree(rng: Random, n: int) -> Vtree:
    parts: list[object] = list(range(n))
    rng.shuffle(parts)
    while len(parts) > 1:
        k = rng.randrange(len(parts) - 1)
        parts[k : k + 2] = [(parts[k], parts[k + 1])]
    return Vtree.of_nested(parts[0])


@pytest.mark.parametrize("code", ["direct", "order", "binary"])
@pytest.mark.parametrize("seed", range(8))
def test_totals_are_those_of_the_bit_vectors(seed: int, code: str, tmp_path: Path) -> None:
    rng = Random(f"{code} {seed}")
    bits = Variables.of_code(Grid.of_values(DOMAIN), code=code).bits
    psdd = _written(tmp_path, rng, _random_vtree(rng, len(bits)), code)
    evidence = [[rng.choice((0, 1, 2, Fraction(1, 3))) for _ in range(s.size)] for s in psdd.states]
    found = whole = 0.0
    for states in itertools.product(*(range(s.size) for s in psdd.states)):
        vector = tuple(int(states[bit.feature] in bit.cells) for bit in bits if bit is not None)
        chance = chance_of(psdd, vector)
        whole += chance
        found += chance * math.prod(float(evidence[i][s]) for i, s in enumerate(states))
    assert float(psdd.total(evidence)) == pytest.approx(found / whole, rel=1e-9)
    assert psdd.total([None] * 3) == 1
    assert distribution_of(psdd.document()) == psdd


@pytest.mark.parametrize("vtree", ["right", "balanced"])
@pytest.mark.parametrize("seed", range(6))
def test_diagrams_on_the_same_vtree_are_weighed_by_pairs(seed: int, vtree: str, tmp_path: Path) -> None:
    rng = Random(f"{vtree} {seed}")
    circuit = random_circuit(rng, DOMAIN)
    sdd = sdd_of(circuit, vtree=vtree, code="direct", order=range(3))
    psdd = _written(tmp_path, rng, sdd.vtree, "direct")
    # Any other distribution is asked for the boxes of a diagram.
    assert psdd.probability_of(sdd) == joint_probability(mdd_of(circuit).circuit, psdd)
    other = sdd_of(circuit, vtree="right" if vtree == "balanced" else "balanced", code="direct", order=range(3))
    with pytest.raises(ax.errors.CircuitError, match="vtree"):
        psdd.probability_of(other)


def test_explanations_under_a_psdd(tmp_path: Path) -> None:
    rng = Random(5)
    psdd = _written(tmp_path, rng, Vtree.right_linear(range(8)), "direct")
    domain = DOMAIN.with_distribution(psdd)
    assert domain.distribution == psdd
    assert "a PSDD of" in repr(domain)


VTREE = "vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n"
GOOD = f"psdd 4\nL 0 0 1\nL 1 0 -1\nT 2 2 2 {math.log(0.25)}\nD 3 1 2 0 2 {math.log(0.5)} 1 2 {math.log(0.5)}\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("psdd 4", "psdd 5", "5 nodes"),
        ("L 1 0 -1", "L 1 2 -1", "matches the vtree"),
        ("L 1 0 -1", "L 1 9 -1", "matches the vtree"),
        ("0 2 -", "2 0 -", "matches the vtree"),
        ("D 3 1 2", "D 3 1 3", "logarithm"),
        (f"1 2 {math.log(0.5)}", f"1 2 {math.log(0.4)}", "add up to 1"),
        (f"T 2 2 2 {math.log(0.25)}", "T 2 2 2 0.5", "logarithm"),
        (f"T 2 2 2 {math.log(0.25)}", "T 2 2 2 nan", "logarithm"),
    ],
)
def test_a_psdd_that_does_not_match_its_vtree_is_one_sentence(old: str, new: str, words: str, tmp_path: Path) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    (tmp_path / "d.vtree").write_text(VTREE)
    (tmp_path / "d.psdd").write_text(GOOD)
    assert read_psdd(tmp_path / "d.psdd", domain).total([[0, 1], [0, 1]]) == Fraction(1, 8)
    assert old in GOOD
    (tmp_path / "d.psdd").write_text(GOOD.replace(old, new))
    with pytest.raises(ax.errors.ModelFileError, match=words) as caught:
        read_psdd(tmp_path / "d.psdd", domain)
    assert "\n" not in str(caught.value)
    (tmp_path / "d.psdd").write_text(GOOD)
    with pytest.raises(ax.errors.ModelFileError, match="as many as the features have bits"):
        read_psdd(tmp_path / "d.psdd", DOMAIN)
