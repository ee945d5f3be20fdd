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
        ("psdd 4", "psdd 3", "3 nodes, or nodes and elements"),
        ("psdd 4", "psdd 7", "7 nodes, or nodes and elements"),
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


AB = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
REMARKS = (
    "c ids of psdd nodes start at 0\nc\nc file syntax:\nc psdd count-of-sdd-nodes\nc File generated by Juice.jl\nc \n"
)


@pytest.mark.parametrize("header", ["psdd 4", "psdd 6", "psdd 5", "psdd 2 4"])
def test_headers_count_nodes_or_elements_too_or_variables_first(header: str, tmp_path: Path) -> None:
    (tmp_path / "d.vtree").write_text("c ids of vtree nodes start at 0\n" + VTREE)
    (tmp_path / "d.psdd").write_text(REMARKS + GOOD.replace("psdd 4", header))
    assert read_psdd(tmp_path / "d.psdd", AB).total([[0, 1], [0, 1]]) == Fraction(1, 8)


def test_a_leaf_may_name_the_probability_of_false_first(tmp_path: Path) -> None:
    (tmp_path / "d.vtree").write_text(VTREE)
    one = f"T 2 2 2 {math.log(0.25)}"
    for low, high, expected in ((0.75, 0.25, Fraction(1, 8)), (0.25, 0.75, Fraction(3, 8))):
        (tmp_path / "d.psdd").write_text(GOOD.replace(one, f"T 2 2 2 {math.log(low)} {math.log(high)}"))
        assert read_psdd(tmp_path / "d.psdd", AB).total([[0, 1], [0, 1]]) == expected
    for pair, words in (((0.5, 0.25), "add up to 1"), ((0.75, 0.25, 0.1), "logarithm")):
        (tmp_path / "d.psdd").write_text(GOOD.replace(one, f"T 2 2 2 {' '.join(str(math.log(p)) for p in pair)}"))
        with pytest.raises(ax.errors.ModelFileError, match=words):
            read_psdd(tmp_path / "d.psdd", AB)


def test_a_last_line_without_its_end_is_read_if_it_has_one_element(tmp_path: Path) -> None:
    """LearnPSDD ends no last line, and its root often has one element."""
    (tmp_path / "d.vtree").write_text(VTREE)
    text = f"psdd 3\nT 0 0 1 {math.log(0.5)}\nT 1 2 2 {math.log(0.25)}\nD 2 1 1 0 1 0.0"
    (tmp_path / "d.psdd").write_text(text)
    assert read_psdd(tmp_path / "d.psdd", AB).total([[0, 1], [0, 1]]) == Fraction(1, 8)
    (tmp_path / "d.psdd").write_text(GOOD.strip())
    with pytest.raises(ax.errors.ModelFileError, match="add the end of the line"):
        read_psdd(tmp_path / "d.psdd", AB)


def test_a_header_that_counts_other_variables_or_nodes(tmp_path: Path) -> None:
    (tmp_path / "d.vtree").write_text(VTREE)
    for header, words in (("psdd 3 4", "2 variables"), ("psdd", "the header"), ("psdd 1 2 4", "the header")):
        (tmp_path / "d.psdd").write_text(GOOD.replace("psdd 4", header))
        with pytest.raises(ax.errors.ModelFileError, match=words):
            read_psdd(tmp_path / "d.psdd", AB)
