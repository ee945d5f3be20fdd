"""Bayesian networks against their joint tables, the libraries that they come from, and what is wrong with some."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.queries.joint import joint_probability
from axfi_kc.compilers import compile_mdd
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.domain.distribution import distribution_of
from axfi_kc.domain.network_files import read_network
from axfi_kc.domain.network_objects import network_of
from axfi_kc.errors import AxfiError, DomainError, ModelFileError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Similarity
from tests.support.random_networks import SHAPES, domain_of, joint, random_network


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(8))
def test_totals_are_those_of_the_joint_table(seed: int, shape: str) -> None:
    rng = Random(f"{shape} {seed}")
    network = random_network(rng, n=rng.randint(1, 6), shape=shape, zeros=0.2, floats=seed % 2 == 0)
    names = list(network.names)
    rng.shuffle(names)
    chosen = names[: rng.randint(1, len(names))]
    distribution = network.over(domain_of(network, chosen))
    evidence = [
        None if rng.random() < 0.3 else [rng.choice((0, 1, 3, Fraction(2, 7))) for _ in range(s.size)]
        for s in distribution.states
    ]
    places = [network.index(name) for name in chosen]
    found = Fraction(0)
    for states, chance in joint(network):
        rows = zip(places, evidence, strict=True)
        found += chance * math.prod((Fraction(row[states[p]]) for p, row in rows if row is not None), start=Fraction(1))
    assert distribution.total(evidence) == found
    assert distribution.total([None] * len(chosen)) == 1
    again = distribution_of(json.loads(json.dumps(distribution.document())))
    assert again == distribution
    assert again.total(evidence) == found
    scale, factors = distribution.tables()
    point = {i: rng.randrange(s.size) for i, s in enumerate(distribution.states)}
    product = math.prod(int(f.values[tuple(point[i] for i in f.scope)]) for f in factors)
    assert scale * product == distribution.probability(point)


@pytest.mark.parametrize("seed", range(10))
def test_the_probability_of_a_diagram_is_that_of_its_points(seed: int) -> None:
    rng = Random(seed)
    network = random_network(rng, n=5, shape=rng.choice(SHAPES))
    names = list(network.names[: rng.randint(2, 5)])
    rng.shuffle(names)
    domain = domain_of(network, names)
    outputs = [rng.randrange(2) for _ in domain.points()]
    model = ax.TableModel.from_outputs(domain, outputs)
    circuit = compile_mdd(model, 1, Similarity(), similar=True)
    distribution = network.over(domain)
    points = [p for p, y in zip(domain.points(), outputs, strict=True) if y == 1]
    chances = [distribution.probability(dict(enumerate(map(int, domain.encode_point(p))))) for p in points]
    assert joint_probability(circuit, distribution) == sum(chances, Fraction(0))


def test_samples_are_of_the_domain_and_repeat() -> None:
    network = random_network(Random(2), n=4)
    domain = domain_of(network)
    rows = network.over(domain).sample(20, seed=3)
    assert rows == network.over(domain).sample(20, seed=3)
    domain.encode(rows)
    many = network.over(domain_of(network, ["x3", "x1"])).sample(4000, seed=1)
    for value in network.variables[3].states:
        share = sum(p[0] == value for p in many) / len(many)
        assert share == pytest.approx(float(network.probability({"x3": value})), abs=0.03)


def _pair() -> dict[str, Any]:
    return {"states": {"a": ["n", "y"], "b": ["n", "y"]}, "tables": {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}}


_SAME = [[1, 0], [0, 1]]


def _sentence(error: AxfiError) -> None:
    assert str(error).count("\n") == 0
    assert str(error).endswith(".")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parents": {"b": ["a"], "a": ["b"]}, "tables": {"a": _SAME, "b": _SAME}}, "no cycle, but . -> . -> . is one"),
        ({"tables": {"a": [0.5, 0.4], "b": [[1, 0], [0, 1]]}}, "add up to 0.9"),
        ({"tables": {"a": [1.5, -0.5], "b": [[1, 0], [0, 1]]}}, "not be negative"),
        ({"tables": {"a": [0.5, 0.5], "b": [1, 0]}}, "nested"),
        ({"tables": {"a": [0.5, 0.5]}}, "'b' has no table"),
        ({"tables": {"a": [0.5, 0.25, 0.25], "b": [[1, 0], [0, 1]]}}, "1 list of 2 probabilities"),
        ({"tables": {"a": [float("nan"), 0.5], "b": [[1, 0], [0, 1]]}}, "finite"),
        ({"states": {"a": ["n", "n"], "b": ["n", "y"]}}, "distinct states"),
        ({"parents": {"b": ["zz"]}}, "zz"),
        ({"output": "zz"}, "zz"),
    ],
)  # fmt: skip
def test_networks_that_are_none_are_one_sentence(change: dict[str, Any], words: str) -> None:
    given = {"parents": {"b": ["a"]}, **_pair(), **change}
    with pytest.raises(AxfiError, match=words) as caught:
        BayesianNetwork(given.pop("states"), given.pop("tables"), **given)
    _sentence(caught.value)


def test_tables_of_floats_are_divided_by_their_sums() -> None:
    network = BayesianNetwork({"a": "xyz"}, {"a": [0.1, 0.2, 0.7]})
    assert sum(network.variables[0].rows[0]) == 1
    assert network.probability({"a": {"x", "y"}}) == (Fraction(0.1) + Fraction(0.2)) / sum(
        map(Fraction, (0.1, 0.2, 0.7))
    )


def test_states_that_are_no_categories_are_one_sentence() -> None:
    network = BayesianNetwork(_pair()["states"], _pair()["tables"], parents={"b": ["a"]})
    cases = [
        ([ax.Categorical("a", ["n", "maybe"]), ax.Categorical("b", ["n", "y"])], "state 'y', which is no value"),
        ([ax.Categorical("a", ["n", "y", "z"])], "value 'z' of feature 'a' is no state"),
        ([ax.Categorical("c", ["n", "y"])], "'c' is no variable"),
        ([ax.Real("a", 0, 1)], "bins"),
        ([ax.Categorical("a", ["n", "y"], missing=0.5)], "missing"),
    ]
    for features, words in cases:
        with pytest.raises(DomainError, match=words) as caught:
            ax.Domain(features).with_distribution(network)
        _sentence(caught.value)


def test_integers_texts_bins_and_missing_values_are_matched() -> None:
    network = BayesianNetwork(
        {"n": ["2", "0", "1", "missing"], "age": ["low", "mid", "high"]},
        {"n": [0.25, 0.25, 0.25, 0.25], "age": [0.25, 0.25, 0.5]},
        bins={"age": [10, 20]},
    )
    domain = ax.Domain([ax.Integer("n", 0, 2, missing=0.5), ax.Real("age", 0, 30)]).with_distribution(network)
    assert domain.distribution is not None
    assert [s.size for s in domain.distribution.states] == [4, 3]
    # a domain that leaves bins out: given that a value is in it
    narrow = ax.Domain([ax.Integer("n", 0, 2, missing=0.5), ax.Real("age", 12, 30)]).with_distribution(network)
    assert narrow.distribution is not None
    assert narrow.distribution.total([None, [1, 0]]) == Fraction(1, 3)
    assert narrow.distribution.total([None, None]) == 1
    # inside a bin values are uniform: eight of ten years of the bin are in the domain, and all of the next
    old = ax.compile_model(lambda p: int(p[0] >= 20), _ages(12), output=1)
    assert old.probability() == Fraction(5, 7)  # 1/2 to 1/4 * 8/10
    assert ax.compile_model(lambda p: int(p[0] >= 20), _ages(0), output=1).probability() == Fraction(1, 2)
    assert ax.sensitivity(lambda p: int(p[0] >= 20), _ages(12), ["age"], by="age").groups[0].whole == Fraction(1, 28)


def test_bins_may_have_a_state_of_missing_values_among_them() -> None:
    network = BayesianNetwork(
        {"age": ["young", "missing", "old"], "ill": ["no", "yes"]},
        {"age": [0.25, 0.25, 0.5], "ill": [[1, 0], [0.25, 0.75], [0.5, 0.5]]},
        parents={"ill": ["age"]},
        bins={"age": [10]},
    )
    features = [ax.Integer("age", 0, 29, missing=0.5), ax.Categorical("ill", ["no", "yes"])]
    domain = ax.Domain(features).with_distribution(network)
    assert domain.distribution is not None
    assert [domain.distribution.total([row, None]) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1])] == [
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    e = ax.Explainer(lambda p: int(p[0] is None), domain).explain([3, "yes"])
    assert [c.weight for c in e.cxps] == [Fraction(3, 16) / (Fraction(3, 16) + Fraction(1, 4))]
    assert network.with_output("ill").predict([{"age": 3}, {"age": None}]) == ["no", "yes"]
    # where no age is missing, the state is none of the bins
    present = ax.Domain([ax.Integer("age", 0, 29), features[1]]).with_distribution(network)
    assert present.distribution is not None
    assert present.distribution.total([[1, 0], None]) == Fraction(1, 3)


def test_features_that_a_diagram_does_not_test_keep_to_the_domain() -> None:
    network = BayesianNetwork(
        {"a": ["n", "y"], "age": ["l", "m", "h"]},
        {"a": [0.5, 0.5], "age": [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]},
        parents={"age": ["a"]},
        bins={"age": [10, 20]},
    )
    domain = ax.Domain([ax.Categorical("a", ["n", "y"]), ax.Integer("age", 15, 29)]).with_distribution(network)
    compiled = ax.compile_model(lambda p: int(p[0] == "y"), domain, output=1)
    # half of the middle bin, and all of the last
    yes, no = Fraction(1, 8) + Fraction(1, 2), Fraction(1, 8) + Fraction(1, 4)
    assert compiled.probability() == yes / (yes + no)
    e = ax.Explainer(lambda p: int(p[0] == "y" and p[1] > 20), domain).explain(["y", 25])
    assert [c.weight for c in e.cxps] == [Fraction(1, 3), (Fraction(1, 8) + Fraction(1, 20)) / yes]


def _ages(low: int) -> ax.Domain:
    network = BayesianNetwork({"age": ["l", "m", "h"]}, {"age": [0.25, 0.25, 0.5]}, bins={"age": [10, 20]})
    return ax.Domain([ax.Integer("age", low, 29)]).with_distribution(network)


BIF = """network "n" { property x y; }
variable A { type discrete [ 2 ] { n, y }; property p; }
variable "B" { type discrete[3]{a,b,c}; } // a comment
probability ( A ) { table 0.25, 0.75; }
/* another */
probability ( B | A ) { (n) 0.5, 0.25, 0.25; (y) 0.125 0.375 0.5; }
"""
NET = """net { name = "n"; }
node A { label = "%"; states = ("n" "y"); position = (1 2); }
discrete node B { states = ("a" "b" "c"); }
potential (A) { data = (0.25 0.75); % a comment
}
potential (B | A) { data = ((0.5 0.25 0.25)(0.125 0.375 0.5)); }
"""


@pytest.mark.parametrize(("suffix", "text"), [(".bif", BIF), (".net", NET)])
def test_files_are_read_exactly(suffix: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / f"n{suffix}"
    file.write_text(text)
    network = read_network(file)
    assert network.probability({"B": "b"}) == Fraction(1, 16) + Fraction(9, 32)
    assert network == read_network(file)
    assert hash(network) == hash(read_network(file))


PUBLISHED = """network unknown { }
variable Report { type discrete [ 2 ] { <7.5, >=7.5 }; }
variable Oxygen { type discrete [ 3 ] { <5, 5-12, 12+ }; }
variable Level { type discrete [ 4 ] { LOW/NORMAL, x3.2, 5.0E-4, "0-5" }; property position = (73, 165) ; }
variable Sign { type discrete [ 3 ] { <, =, > }; }
variable Cut { type discrete [ 3 ] { (0,5], [5,10), High(>10, or none) }; } // intervals as R calls them
probability ( Report ) { table 5.0E-1, .5; }
probability ( Oxygen ) { table 0.25, 0.25, 5e-01; }
probability ( Level | Report ) { (<7.5) 1.0, 0, 0, 0; (>=7.5) 0.25, 0.25, 0.25, 0.25; }
probability ( Sign | Level, Report ) { (x3.2, >=7.5) 0, 1, 0; default 1, 0, 0; }
probability ( Cut | Oxygen, Sign ) { (5-12, =) 0, 1, 0; (<5, >) 0, 0, 1; default 1, 0, 0; }
probability ( Last | Cut ) { ((0,5]) 1, 0; ([5,10)) 0, 1; (High(>10, or none)) 0.5, 0.5; }
"""


def test_states_are_called_as_in_published_files(tmp_path: Path) -> None:
    file = tmp_path / "n.bif"
    file.write_text(PUBLISHED.replace("probability", "variable Last { type discrete[2]{a//b,c=d}; }\nprobability", 1))
    network = read_network(file)
    assert [v.states for v in network.variables] == [
        ("<7.5", ">=7.5"),
        ("<5", "5-12", "12+"),
        ("LOW/NORMAL", "x3.2", "5.0E-4", "0-5"),
        ("<", "=", ">"),
        ("(0,5]", "[5,10)", "High(>10, or none)"),
        ("a//b", "c=d"),
    ]
    assert network.probability({"Level": "LOW/NORMAL"}) == Fraction(5, 8)
    assert network.probability({"Sign": "="}) == Fraction(1, 8)
    assert network.probability({"Last": "c=d"}) == Fraction(1, 32)


def test_whole_tables_of_bif_run_through_the_variable_slowest(tmp_path: Path) -> None:
    file = tmp_path / "n.bif"
    file.write_text(BIF.split("/*")[0] + "probability (B | A) { table 0.5 0.125 0.25 0.375 0.25 0.5; }")
    assert read_network(file).probability({"B": "b"}) == Fraction(1, 16) + Fraction(9, 32)
    file.write_text(BIF.split("/*")[0] + "probability (B | A) { (n) 0.5, 0.25, 0.25; default 0.125 0.375 0.5; }")
    assert read_network(file).probability({"B": "b"}) == Fraction(1, 16) + Fraction(9, 32)


@pytest.mark.parametrize(
    ("suffix", "old", "new", "words"),
    [
        (".bif", "0.25, 0.75", "0.25, 0.7", "add up to 0.95"),
        (".bif", "(y)", "(z)", "each row|combinations"),
        (".bif", "(y)", "(n)", "a second time"),
        (".bif", "B | A", "B | C", "declared above"),
        (".bif", "discrete [ 2 ]", "discrete [ 3 ]", "3 states"),
        (".bif", "/* another */", "/* another", "comment"),
        (".bif", "0.375", "1e999999999", "decimal number"),
        (".bif", "0.375", "nan", "decimal number"),
        (".bif", "variable A", "variable B", "a second time"),
        (".bif", "( A )", "( A | B )", "cycle|numbers|row"),
        (".bif", "{ n, y }", "{ (n, y }", "a state, but found '\\('"),
        (".bif", "{ n, y }", "{ n, y) }", "a state, but found '\\)'"),
        (".bif", "{ n, y }", "{ (n, y) }", "2 states"),
        (".bif", "{ n, y }", '{ n, "y }', "a state"),
        (".bif", "{ n, y }", "{ n; y }", "a state, but found ';'"),
        (".bif", "(y) 0", "(y 0", "a parent's state, but found ';'"),
        (".bif", "(y) 0", "((y) 0", "a parent's state, but found ';'"),
        (".bif", "(y) 0", "(y)) 0", "decimal number"),
        (".net", "(0.25 0.75)", "(0.25 0.7)", "add up to 0.95"),
        (".net", "0.375 0.5", "0.375", "6 numbers"),
        (".net", "discrete node", "continuous node", "discrete chance"),
        (".net", "discrete node", "utility", "discrete chance"),
        (".net", "data = ((0.5", "data = normal((0.5", "'\\('"),
        (".net", "B | A", "B | A A", "numbers"),
    ],
)
def test_files_with_a_fault_are_one_sentence(suffix: str, old: str, new: str, words: str, tmp_path: Path) -> None:
    text = BIF if suffix == ".bif" else NET
    assert old in text
    file = tmp_path / f"n{suffix}"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises((ModelFileError, DomainError), match=words) as caught:
        read_network(file)
    _sentence(caught.value)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"\.bif or \.net"):
        read_network(tmp_path / "n.xdsl")
    (tmp_path / "n.bif").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelFileError, match="UTF-8"):
        read_network(tmp_path / "n.bif")


def test_objects_of_pyagrum_are_the_same_network(tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    theirs = gum.fastBN("A{x|y|z}->C<-B[3];C->D[0,1,2.5,7];A->D")
    ours = network_of(theirs)
    assert ours.variables[ours.index("D")].cuts == (1, Fraction(5, 2))
    asked = gum.LazyPropagation(theirs)
    asked.makeInference()
    for name in ours.names:
        found = [float(ours.probability({name: s})) for s in ours.variables[ours.index(name)].states]
        assert found == pytest.approx(asked.posterior(name).toarray().tolist(), abs=1e-12)
    plain = gum.fastBN("A{x|y|z}->C<-B[3];C->E")
    for suffix in (".bif", ".net"):
        file = tmp_path / f"n{suffix}"
        gum.saveBN(plain, str(file))
        read, whole = read_network(file), network_of(plain)
        for name in whole.names:
            for state in whole.variables[whole.index(name)].states:
                assert float(read.probability({name: state})) == pytest.approx(float(whole.probability({name: state})))


def test_objects_of_pgmpy_are_the_same_network(tmp_path: Path) -> None:
    models = pytest.importorskip("pgmpy.models")
    from pgmpy.factors.discrete import TabularCPD

    theirs = models.DiscreteBayesianNetwork([("A", "C"), ("B", "C")])
    with pytest.raises(UnfittedModelError, match="no table"):
        network_of(theirs)
    theirs.add_cpds(
        TabularCPD("A", 2, [[0.2], [0.8]], state_names={"A": ["n", "y"]}),
        TabularCPD("B", 2, [[0.3], [0.7]]),
        TabularCPD(
            "C", 2, [[0.2, 0.3, 0.4, 0.5], [0.8, 0.7, 0.6, 0.5]], evidence=["A", "B"], evidence_card=[2, 2],
            state_names={"C": ["n", "y"], "A": ["n", "y"], "B": [0, 1]},
        ),
    )  # fmt: skip
    ours = network_of(theirs)
    expected = 0.2 * (0.3 * 0.8 + 0.7 * 0.7) + 0.8 * (0.3 * 0.6 + 0.7 * 0.5)
    assert float(ours.probability({"C": "y"})) == pytest.approx(expected)
    with pytest.raises(UnsupportedModelError, match="Expected a Bayesian network"):
        network_of(np.zeros(3))


@pytest.mark.parametrize("name", ["none.bif", "none.net"])
def test_a_missing_file_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelFileError, match=r"cannot be read \(No such file.*\); give the path of a network"):
        ax.read_network(tmp_path / name)
