"""Clauses compiled into every language, and counting problems by two routes, against all assignments."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.files import clause_compilers, cnf
from axfi_kc.circuits.files.clause_compilers import compile_cnf, count_models
from axfi_kc.circuits.files.cnf import parse_count_answer
from axfi_kc.circuits.files.counting_problems import CountingProblem, read_counting_problem
from axfi_kc.circuits.files.psdd import read_psdd
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.circuits.targets.sdd import sdd_of_clauses
from axfi_kc.cli import main
from axfi_kc.errors import AxfiError, BudgetError, CircuitError, ModelFileError, VerificationError
from tests.support.random_clauses import listed_count, models, random_clauses, random_problem

WAYS = [("mdd", "dd"), ("mdd", "pysdd"), ("obdd", "dd"), ("sdd", "pysdd"), ("sdd", "dd")]
WAYS += [("ddnnf", "dsharp"), ("ddnnf", "dd"), ("ddnnf", "pysdd")]


@pytest.mark.parametrize(("target", "via"), WAYS)
def test_every_language_has_the_models_of_the_clauses(target, via):
    for seed in range(25):
        rng = Random(seed)
        n = rng.randint(1, 7)
        clauses = random_clauses(rng, n, rng.randint(0, 2 * n))
        made = compile_cnf(CountingProblem.of(clauses, n), target=target, via=via)
        assert made.language == target
        expected = models(n, clauses)
        assert list(queries.cell_models(made.to_circuit())) == expected
        assert made.count() == len(expected)


def test_languages_have_a_usual_way_and_orders_are_taken():
    clauses = random_clauses(Random(3), 6, 9)
    expected = len(models(6, clauses))
    for target in TARGETS:
        for order in ("force", "given", [5, 3, 1, 0, 2, 4]):
            assert compile_cnf(CountingProblem.of(clauses, 6), target=target, order=order).count() == expected
    made = compile_cnf(CountingProblem.of(clauses, 6), target="sdd", vtree=(("x1", "x2"), (("x3", "x4"), ("x5", "x6"))))
    assert made.count() == expected


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("via", ["dd", "pysdd", None])
def test_all_tracks(via, negative):
    for seed in range(60):
        problem = random_problem(Random(seed), negative=negative)
        answer = count_models(problem, via=via)
        assert answer.count == listed_count(problem)
        assert answer.track == problem.track
        assert answer.satisfiable == bool(models(problem.n_variables, problem.clauses))
        assert len(answer.routes) == 2
        if answer.count >= 0:
            assert parse_count_answer(str(answer)) == answer.count


FILES = {
    "mc": ("c t mc\np cnf 3 2\n1 2 0\n-2 3 0\n", 4),
    "no track": ("p cnf 3 2\n1 2 0 -2\n3 0\n", 4),
    "wmc": ("c t wmc\np cnf 2 1\nc p weight 1 0.3 0\nc p weight -1 7e-1 0\n1 2 0\n", Fraction(13, 10)),
    "pmc": ("c t pmc\np cnf 3 2\nc p show 1 3 0\n1 2 0\n-2 3 0\n", 3),
    "pwmc": ("c t pwmc\np cnf 2 1\nc p show 1 0\nc p weight 1 2/3 0\nc p weight -1 1/3 0\n1 2 0\n", 1),
    "shown in two lines": ("p cnf 3 1\nc p show 1 0\nc p show 3 0\n1 3 0\n", 3),
    "weights of another track": ("c t mc\np cnf 1 1\nc p weight 1 5 0\nc p weight -1 5 0\n1 -1 0\n", 2),
    "2020": ("p wcnf 2 1\nw 1 0.5 0\nw -1 0.25 0\n1 2 0\n", Fraction(5, 4)),
    "2020 projected": ("p pcnf 3 2 2\nvp 1 3 0\n1 2 0\n-2 3 0\n", 3),
    "unsatisfiable": ("p cnf 1 2\n1 0\n-1 0\n", 0),
    "empty clause": ("p cnf 2 1\n0\n", 0),
    "no clause": ("p cnf 2 0\n", 4),
    "no variable": ("p cnf 0 0\n", 1),
    "no variable and an empty clause": ("p cnf 0 1\n0\n", 0),
    "negative": ("c t wmc\np cnf 1 0\nc p weight 1 -1/2 0\nc p weight -1 .5 0\n", 0),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, tmp_path):
    text, expected = FILES[name]
    path = tmp_path / "problem.cnf"
    path.write_text(text)
    answer = count_models(path)
    assert answer.count == expected
    assert parse_count_answer(str(answer)) == expected


WEIGHTS = "c p weight 1 0.25 0\nc p weight -1 3/4 0\nc p weight 20 1e-1 0\nc p weight -20 .9 0\n"
CLAUSES = "1 20 -3 0\n-2 3 0 -20\n 2 0\n"
CUT_FILES = {  # the lines before the last clause, the clauses, and the lines behind them
    "mc": ("c t mc\np cnf 20 3\n", CLAUSES, ""),
    "wmc": ("c t wmc\np cnf 20 3\n" + WEIGHTS, CLAUSES, ""),
    "pmc": ("c t pmc\np cnf 20 3\nc p show 1 2 20 0\n", CLAUSES, ""),
    "pwmc": ("c t pwmc\nc p show 1 3 20 0\np cnf 20 3\n" + WEIGHTS, CLAUSES, ""),
    "no end of the last line": ("p cnf 20 3\n", CLAUSES.rstrip(), ""),
    "all behind": ("p cnf 20 3\n", CLAUSES, "c p show 1 2 20 0\nc p show 3 0\n" + WEIGHTS + "c t pwmc\n"),
    "track said": ("c t pwmc\np cnf 20 3\n", CLAUSES, WEIGHTS + "c p show 1 20 0\n"),
    "another track": ("c t mc\np cnf 20 3\n" + WEIGHTS, CLAUSES, "c the end\n"),
    "2020 weighted": ("p wcnf 20 3\nw 1 0.25 0\nw -1 0.5 0\nw 20 10\nw -20 12\n", CLAUSES, ""),
    "2020 weights behind": ("p wcnf 20 3\n", CLAUSES, "w 1 0.25\nw -1 0.55\nw 20 10\nw -20 12\n"),
    "2020 projected": ("p pcnf 20 3 12\nvp 1 2 3 4 5 6 0\nvp 7 8 9 10 19 20 0\n", CLAUSES, ""),
    "2020 projection behind": ("p pcnf 20 3 4\n", CLAUSES, "vp 1 2 0\nvp 19 20 0\n"),
    "2020 without clauses": ("p pcnf 20 0 4\nvp 1 2 19 20 0\n", "", ""),
    "lines of Windows": ("c t pwmc\r\np cnf 20 1\r\n", "1 20 0\r\n", "c p show 1 20 0\r\nw 1 10\r\nw -1 1\r\n"),
}


def _read(path, text):
    path.write_text(text, encoding="ascii", newline="")
    return read_counting_problem(path)


@pytest.mark.parametrize("name", CUT_FILES)
def test_files_that_were_cut_off_are_refused(name, tmp_path):
    """At every byte, but where whole lines are missing behind the clauses, whose number no file says."""
    before, clauses, behind = CUT_FILES[name]
    text, path = before + clauses + behind, tmp_path / "cut.cnf"
    whole = _read(path, text)
    for end in range(len(text)):
        try:
            found = _read(path, text[:end])
        except ModelFileError:
            continue
        lines_are_whole = text[end - 1 : end] == "\n" or text[end] in "\r\n"
        unnoticed = "projection" not in name and lines_are_whole and end >= len((before + clauses).rstrip())
        assert found == whole or (behind and unnoticed), text[:end]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c t pmc\np cnf 3 1\n1 3 0\nc p show 1 3\n", "line 4: expected a line that ends with 0"),
        ("p cnf 3 1\n1 3 0\nvp 1 3\n", "line 3: expected a line that ends with 0"),
        ("p cnf 3 1\n1 3 0\nc p weight 1 0.5\nc p weight -1 0.5 0\n", "line 3: expected a line that ends with 0"),
        ("p cnf 3 1\n1 3 0\nc p weight 1 0\nc p weight -1 0.5 0\n", "line 3: expected a literal and its weight"),
        ("p cnf 3 1\n1 3 0\nw 1 3\nw -1 0.5", "line 4: expected a line that ends with 0"),
        ("p cnf 3 1\n1 3 0\nc p sho", "line 3: expected a whole line"),
        ("p pcnf 3 1 2\nvp 1 0\n1 3 0\n", "expected 2 variables that are shown, as the header says, but found 1"),
        ("p pwcnf 3 1 2\nvp 1 2 3 0\n1 3 0\n", "expected 2 variables that are shown, as the header says, but found 3"),
    ],
)
def test_what_is_missing_in_a_file_is_named(text, said, tmp_path):
    path = tmp_path / "bad.cnf"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=said):
        read_counting_problem(path)


BAD_FILES = [
    "1 2 0\n",
    "p cnf x 1\n1 0\n",
    "p cnf 2 1\np cnf 2 1\n1 0\n",
    "p cnf 2 2\n1 0\n",
    "p cnf 2 1\n1 2\n",
    "p cnf 2 1\n1 3 0\n",
    "c t counting\np cnf 1 1\n1 0\n",
    "c t pmc\np cnf 1 1\n1 0\n",
    "c t wmc\np cnf 1 1\nc p weight 1 0.5 0\n1 0\n",
    "c t wmc\np cnf 1 1\nc p weight 1 half 0\n1 0\n",
    "c t wmc\np cnf 1 1\nc p weight 1 1/0 0\n1 0\n",
    "c t wmc\np cnf 1 1\nc p weight 1 1 0\nc p weight 1 2 0\n1 0\n",
    "c t wmc\np cnf 1 1\nc p weight 2 1 0\nc p weight -2 2 0\n1 0\n",
    "c t pmc\np cnf 1 1\nc p show 2 0\n1 0\n",
    "c t pmc\np cnf 1 1\nc p show -1 0\n1 0\n",
    "\x00\xff",
]


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files(text, tmp_path):
    path = tmp_path / "bad.cnf"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(AxfiError) as raised:
        read_counting_problem(path)
    assert isinstance(raised.value, ModelFileError | ax.errors.CircuitError)
    assert "\n" not in str(raised.value)


def test_bad_requests_are_one_sentence():
    clauses, projected = [(1, 2)], CountingProblem(2, ((1, 2),), shown=(1,))
    for call in (
        lambda: compile_cnf(clauses, target="bdd"),
        lambda: compile_cnf([]),
        lambda: compile_cnf(clauses, via="cudd"),
        lambda: compile_cnf(clauses, target="obdd", via="pysdd"),
        lambda: compile_cnf(clauses, target="sdd", via="dsharp"),
        lambda: compile_cnf(projected, via="dsharp"),
        lambda: compile_cnf(clauses, target="obdd", order="best"),
        lambda: compile_cnf(clauses, target="obdd", order=[0]),
        lambda: count_models(projected, via="dsharp"),
        lambda: count_models(clauses, via="z3"),
        lambda: count_models([(1, 0)]),
        lambda: count_models([(1, "a")]),
        lambda: CountingProblem(1, ((2,),)),
    ):
        with pytest.raises(AxfiError) as raised:
            call()
        assert str(raised.value).count(". ") == 0


def test_routes_that_disagree_are_an_error(monkeypatch):
    whole = clause_compilers._circuit

    def wrong(problem, route, order, budget):
        return whole(problem if route == "dd" else CountingProblem.of([(1,)], 2), route, order, budget)

    monkeypatch.setattr(clause_compilers, "_circuit", wrong)
    with pytest.raises(VerificationError, match="dd says 3 and pysdd says 2"):
        count_models([(1, 2)], via="dd")


def test_budgets_are_spent():
    problem = CountingProblem.of(random_clauses(Random(0), 60, 240), 60)
    for via in ("dd", "pysdd", "dsharp"):
        with pytest.raises(BudgetError):
            count_models(problem, via=via, budget=ax.Budget(seconds=1e-3))


@pytest.mark.parametrize(
    "clauses", [[(1,), ()], [()], [(1, 1)], [(1, 1, 2), (2, 2)], [(1, -1), (2, 1, 2)], [(), (1, 2)]]
)
def test_empty_clauses_and_literals_that_come_twice(clauses):
    problem = CountingProblem(3, tuple(clauses))
    wanted = sum(
        all(any((x > 0) == bool(p[abs(x) - 1]) for x in c) for c in clauses) for p in product((0, 1), repeat=3)
    )
    for target, via in (("sdd", None), ("mdd", "pysdd"), ("ddnnf", "pysdd"), ("ddnnf", "dd"), ("obdd", None)):
        assert compile_cnf(problem, target=target, via=via).count() == wanted
    assert count_models(problem, via="pysdd", check=False).count == wanted
    assert count_models(problem, via="dd").count == wanted
    assert sdd_of_clauses(problem.grid, clauses, order=[0, 1, 2]).count() == wanted
    assert sdd_of_clauses(problem.grid, clauses, order=[0, 1, 2], hidden=[0]).count() >= wanted


def test_problems_are_of_their_track():
    half = {1: (Fraction(1, 2), Fraction(1, 2))}
    for given in (
        {"track": "maxsat"},
        {"track": "mc", "weights": half},
        {"track": "pmc", "weights": half, "shown": (1,)},
        {"track": "wmc", "shown": (1,)},
    ):
        with pytest.raises(CircuitError, match=r"track.*\.$"):
            CountingProblem(2, ((1, 2),), **given)
    for n in (-1, 1.5, None):
        with pytest.raises(CircuitError, match="0 or more variables"):
            CountingProblem(n, ())
    assert CountingProblem(2, ((1, 2),), track="wmc").track == "wmc"


@pytest.mark.parametrize("clauses", [[(1,), (-1, 2), (-2,)], [(1, 2), (-1, 2), (1, -2), (-1, -2)]])
@pytest.mark.parametrize("n", [1023, 1024, 1040])
def test_many_variables_without_a_model(clauses, n, tmp_path):
    """Of 1,024 variables and more dsharp writes no node where there is no model: 0 * 2**1024 is no float."""
    pytest.importorskip("problog")
    problem = CountingProblem(n, (*clauses, *((v, v + 1) for v in range(3, n))))
    made = compile_cnf(problem, via="dsharp")
    assert made.count() == 0
    assert not queries.is_consistent(made.to_circuit())
    answer = count_models(problem)
    assert (answer.count, answer.satisfiable, answer.routes) == (0, False, ("dsharp", "dd"))
    (file := tmp_path / "a.cnf").write_text(str(ax.from_cnf(problem.clauses).to_cnf()))
    assert count_models(file, via="dsharp", check=False).count == 0
    assert main(["count", str(file), "--via", "dsharp", "--to", "ddnnf"]) == 0


def test_many_variables_with_few_models():
    """Their share among all assignments is 0 in floats."""
    pytest.importorskip("problog")
    n = 1200
    chain = tuple(clause for v in range(1, n) for clause in ((v, -v - 1), (-v, v + 1)))
    assert compile_cnf(CountingProblem(n, chain), via="dsharp").count() == 2
    assert compile_cnf(CountingProblem(n, tuple((v,) for v in range(1, n + 1))), via="dsharp").count() == 1
    assert compile_cnf(CountingProblem(n, ((1, -1),)), via="dsharp").count() == 2**n


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by the system there")
def test_dsharp_without_memory_is_named():
    pytest.importorskip("problog")
    for do in (compile_cnf, count_models):
        with pytest.raises(BudgetError, match=r"dsharp ran out of memory within the budget of \d+ bytes.*via='dd'"):
            do([(1, 2), (-1, 3)], via="dsharp", budget=ax.Budget(bytes=200_000_000))


@pytest.mark.skipif(sys.platform == "win32", reason="programs are started by their first line")
@pytest.mark.parametrize(
    ("command", "error", "said"),
    [
        ("kill -KILL $$", BudgetError, "dsharp ran out of memory before the circuit was complete; allow more"),
        ("exit 3", CircuitError, "it ended with the code 3 and wrote none"),
    ],
)
def test_how_dsharp_ended_is_named(command, error, said, tmp_path, monkeypatch):
    (program := tmp_path / "dsharp").write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o700)
    monkeypatch.setattr(cnf, "_program", lambda: program)
    with pytest.raises(error, match=said):
        compile_cnf([(1, 2)], via="dsharp")


@pytest.mark.parametrize(("text", "wanted"), [("p cnf 0 0\n", 1), ("p cnf 0 1\n0\n", 0)])
def test_problems_without_variables(text, wanted, tmp_path):
    (file := tmp_path / "a.cnf").write_text(text)
    for via in (None, "dd", "pysdd"):
        assert count_models(file, via=via).count == wanted
    with pytest.raises(CircuitError, match="needs a variable"):
        compile_cnf(file)


def test_there_are_not_too_many_variables(tmp_path):
    (file := tmp_path / "a.cnf").write_text("p cnf 9000000 1\n1 0\n")
    for problem in (file, [(200_000,)], CountingProblem(100_001, ())):
        for do in (count_models, compile_cnf):
            with pytest.raises(CircuitError, match="at most 100000 variables"):
                do(problem)


@pytest.mark.parametrize("given", [None, 5, [1, 2], [None], ["12"], [(True,)], [(1.0,)]])
def test_clauses_that_are_none_are_one_sentence(given):
    for do in (count_models, compile_cnf, ax.from_cnf):
        with pytest.raises(CircuitError, match=r"^[^.]*(1\.0[^.]*)?\.$"):
            do(given)


def test_literals_of_numpy():
    clauses = np.array([[1, 2], [-1, 3]])
    assert count_models(clauses).count == compile_cnf(clauses).count() == 4
    assert ax.from_cnf(clauses) == ax.from_cnf([(np.int8(1), 2), (-1, np.int64(3))]) == ax.from_cnf(clauses.tolist())


@pytest.mark.parametrize("path", ["none.cnf", ".", "none/a.cnf"])
def test_files_that_do_not_exist(path, tmp_path):
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    for do in (count_models, compile_cnf, read_counting_problem, ax.from_cnf, lambda p: read_psdd(p, domain)):
        with pytest.raises(ModelFileError, match="There is no file"):
            do(tmp_path / path)
