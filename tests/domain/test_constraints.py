"""The language of constraints: what each means, how it reads, and what it refuses."""

from __future__ import annotations

import json
import operator
import pickle
from fractions import Fraction
from functools import reduce
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.domain.constraints import (
    Constraint,
    allowed,
    at_least_one,
    at_most_one,
    check,
    check_possible,
    constraint_of,
    exactly_one,
    feature,
    impossible_points,
    observed,
)
from axfi_kc.errors import ConstantModelError, DomainError, UnknownFeatureError
from axfi_kc.explanations.files.domain_document import domain_document, domain_of
from tests.support.random_constraints import random_rule
from tests.support.random_problems import KINDS, random_truth

AGE, JOB, PAY, FLAG, OTHER = map(feature, ("age", "job", "pay", "flag", "other"))
DOMAIN = ax.Domain(
    [
        ax.Integer("age", 16, 20, missing=Fraction(1, 4)),
        ax.Categorical("job", ["none", "clerk", "cook"]),
        ax.Real("pay", 0, 10),
        ax.Integer("flag", 0, 1),
        ax.Categorical("other", [0, 1, 2.5]),
    ]
)
VALUES = ([None, 16, 17, 18, 19, 20], ["none", "clerk", "cook"], [0.0, 2.5, 2.75, 10.0], [0, 1], [0, 1, 2.5])
POINTS = list(product(*VALUES))


def meaning(constraint: Constraint) -> set[tuple[Any, ...]]:
    """Return the points, of those above, that meet a constraint."""
    settled = DOMAIN.where(constraint).constraints[0]
    codes = DOMAIN.encode([dict(zip(DOMAIN.names, p, strict=True)) for p in POINTS]).tolist()
    return {p for p, row in zip(POINTS, codes, strict=True) if settled.holds(row, DOMAIN)}


def older(age: int | None, job: str) -> bool:
    return age is not None and age > 17 and job != "none"


@pytest.mark.parametrize(
    ("constraint", "holds", "words"),
    [
        (AGE >= 18, lambda a, j, p, f, o: a is not None and a >= 18, "age >= 18"),
        (AGE < 17.5, lambda a, j, p, f, o: a is not None and a < 17.5, "age < 17.5"),
        (AGE > 18, lambda a, j, p, f, o: a is not None and a > 18, "age > 18"),
        (AGE <= 16, lambda a, j, p, f, o: a == 16, "age <= 16"),
        (PAY > 2.5, lambda a, j, p, f, o: p > 2.5, "pay > 2.5"),
        (PAY == 2.5, lambda a, j, p, f, o: p == 2.5, "pay = 2.5"),
        (OTHER >= 1, lambda a, j, p, f, o: o >= 1, "other >= 1"),
        (AGE == 17, lambda a, j, p, f, o: a == 17, "age = 17"),
        (AGE != 17, lambda a, j, p, f, o: a not in (None, 17), "age != 17"),
        (AGE == None, lambda a, j, p, f, o: a is None, "age = missing"),  # noqa: E711
        (float("nan") != AGE, lambda a, j, p, f, o: a is not None, "not (age = missing)"),
        (AGE.isin([16, None]), lambda a, j, p, f, o: a in (16, None), "age in {16, missing}"),
        (JOB == "cook", lambda a, j, p, f, o: j == "cook", "job = 'cook'"),
        (JOB.isin(["cook", "none"]), lambda a, j, p, f, o: j != "clerk", "job in {'cook', 'none'}"),
        (FLAG == True, lambda a, j, p, f, o: f == 1, "flag = True"),  # noqa: E712
        (np.int64(1) == FLAG, lambda a, j, p, f, o: f == 1, "flag = 1"),
        (FLAG < OTHER, lambda a, j, p, f, o: f < o, "flag < other"),
        (FLAG == OTHER, lambda a, j, p, f, o: f == o, "flag = other"),
        (JOB != AGE, lambda a, j, p, f, o: a is not None, "job != age"),
        (JOB <= JOB, lambda a, j, p, f, o: True, "job <= job"),
        ((AGE > 17) & (PAY < 5), lambda a, j, p, f, o: (a or 0) > 17 and p < 5, "age > 17 and pay < 5"),
        ((AGE > 17) | (PAY < 5), lambda a, j, p, f, o: (a or 0) > 17 or p < 5, "age > 17 or pay < 5"),
        (~(AGE > 17), lambda a, j, p, f, o: not (a or 0) > 17, "not (age > 17)"),
        (
            (JOB == "cook") >> (AGE > 17),
            lambda a, j, p, f, o: j != "cook" or (a or 0) > 17,
            "if job = 'cook' then age > 17",
        ),
        (
            ~(AGE > 17) & ((FLAG == 1) | (PAY > 5)),
            lambda a, j, p, f, o: not (a or 0) > 17 and (f == 1 or p > 5),
            "(not (age > 17)) and (flag = 1 or pay > 5)",
        ),
        (
            at_most_one("flag", OTHER == 1),
            lambda a, j, p, f, o: (f == 1) + (o == 1) <= 1,
            "at most 1 of: flag = 1, other = 1",
        ),
        (
            at_least_one("flag", AGE > 18, JOB == "cook"),
            lambda a, j, p, f, o: f == 1 or (a or 0) > 18 or j == "cook",
            "at least 1 of: flag = 1, age > 18, job = 'cook'",
        ),
        (
            exactly_one(["flag", OTHER == 1]),
            lambda a, j, p, f, o: (f == 1) + (o == 1) == 1,
            "exactly 1 of: flag = 1, other = 1",
        ),
        (
            allowed(["age", "job"], [(17, "cook"), (None, "none")]),
            lambda a, j, p, f, o: (a, j) in ((17, "cook"), (None, "none")),
            "(age, job) is one of 2 allowed combinations",
        ),
        (
            allowed(["job", "age"], pd.DataFrame({"age": [17, 18], "pay": [1, 2], "job": ["cook", "none"]})),
            lambda a, j, p, f, o: (a, j) in ((17, "cook"), (18, "none")),
            "(job, age) is one of 2 allowed combinations",
        ),
        (
            observed(pd.DataFrame({"job": ["cook", "none", "cook"], "age": [17.0, np.nan, 17.0]}), ["age", "job"]),
            lambda a, j, p, f, o: (a, j) in ((17, "cook"), (None, "none")),
            "(age, job) as in one of the 2 combinations observed",
        ),
        (
            allowed(["age", "job"], [(17, "cook")]),
            lambda a, j, p, f, o: (a, j) == (17, "cook"),
            "(age, job) is the only allowed combination",
        ),
        (check(older, ["age", "job"]), lambda a, j, p, f, o: older(a, j), "older(age, job)"),
        (
            check(older, ["age", "job"], words="workers are older than 17"),
            lambda a, j, p, f, o: older(a, j),
            "workers are older than 17",
        ),
        (check(lambda f: np.bool_(f == 1), ["flag"], words="set"), lambda a, j, p, f, o: f == 1, "set"),
    ],
    ids=lambda given: "" if callable(given) else str(given),  # functions are printed with their address
)
def test_what_it_means_and_how_it_reads(constraint: Constraint, holds: Any, words: str) -> None:
    assert str(constraint) == words
    assert meaning(constraint) == {p for p in POINTS if holds(*p)}


@pytest.mark.parametrize("kind", KINDS)
def test_random_constraints_mean_what_they_say_and_survive_json(kind: str) -> None:
    rng = Random(f"language {kind}")
    for _ in range(60):
        truth = random_truth(rng, kind, n_instances=1)
        rule = random_rule(rng, truth.domain, truth.values)
        domain = truth.domain.where(rule.constraint)
        settled = domain.constraints[0]
        read = constraint_of(json.loads(json.dumps(settled.document())))
        assert read == settled
        assert str(read) == str(settled)
        assert set(settled.names) <= set(domain.names)
        assert domain_of(json.loads(json.dumps(domain_document(domain)))) == domain
        rows = [dict(zip(domain.names, truth.point(p), strict=True)) for p in truth.places]
        for row, codes in zip(rows, domain.encode(rows).tolist(), strict=True):
            expected = rule.meaning(tuple(row.values()))
            assert settled.holds(codes, domain) == read.holds(codes, domain) == expected


def test_where_adds_to_what_there_is_and_can_be_taken_away() -> None:
    once = DOMAIN.where(AGE > 17)
    twice = once.where(JOB == "cook", FLAG == 1)
    assert [str(c) for c in twice.constraints] == ["age > 17", "job = 'cook'", "flag = 1"]
    assert twice.unconstrained == DOMAIN != once
    assert DOMAIN.unconstrained is DOMAIN
    assert repr(once).endswith("... 5 features; where age > 17)")
    assert twice == DOMAIN.where(AGE > 17, JOB == "cook", FLAG == 1)


@pytest.mark.parametrize("some", [at_most_one, at_least_one, exactly_one])
def test_no_parts_at_all(some: Any) -> None:
    with pytest.raises(
        DomainError, match=f"{some.__name__} takes features or constraints.*name at least one"
    ) as caught:
        some()
    sentence(caught.value)


@pytest.mark.parametrize("sign", ["&", "|"])
@pytest.mark.parametrize("turned", [False, True])
def test_constraints_combined_in_a_loop_are_one_list(sign: str, turned: bool) -> None:
    join = operator.and_ if sign == "&" else operator.or_
    parts = [~((AGE == 17) & (k % 2 == FLAG)) if sign == "&" else (18 + k % 2 == AGE) for k in range(2_000)]
    made = reduce((lambda a, b: join(b, a)) if turned else join, parts)
    assert made.parts == tuple(reversed(parts) if turned else parts)
    assert str(made) == f" {'and' if sign == '&' else 'or'} ".join(f"({p})" if p.parts else str(p) for p in made.parts)
    assert repr(made).count("parts=(") == (4_001 if sign == "&" else 1)
    assert constraint_of(json.loads(json.dumps(made.document()))) == made
    assert meaning(made) == {p for p in POINTS if (p[0] != 17 if sign == "&" else p[0] in (18, 19))}


def test_documents_in_which_chains_are_ladders_are_read_as_one_list() -> None:
    document = (AGE == 17).document()
    for k in range(150):
        document = {"kind": "some", "parts": [document, (k % 2 == FLAG).document()]}
    assert len(constraint_of(document).parts) == 151


def _nested(depth: int, *, implied: bool) -> Constraint:
    made: Constraint = AGE != 17
    for _ in range(depth):
        made = (FLAG == 0) >> made if implied else ~made
    return made


@pytest.mark.parametrize("implied", [False, True])
def test_what_is_nested_too_deep_is_told_when_it_is_made(implied: bool) -> None:
    with pytest.raises(DomainError, match="nested up to 100 deep, but one is deeper") as caught:
        _nested(101, implied=implied)
    sentence(caught.value)
    deep = _nested(100, implied=implied)
    domain = ax.Domain([ax.Integer("age", 16, 20), ax.Integer("flag", 0, 1)]).where(deep)

    def old(point: tuple[Any, ...]) -> int:
        return int(point[0] > 18)

    e = ax.Explainer(old, domain).explain((16, 0))
    assert [c.weight for c in e.cxps] == [Fraction(1, 2)]
    assert ax.verify(e, old).complete
    assert constraint_of(json.loads(json.dumps(deep.document()))) == pickle.loads(pickle.dumps(deep)) == deep


@pytest.mark.parametrize(
    ("misuse", "match"),
    [
        (lambda: ~FLAG, r"write feature\('flag'\) == 1"),
        (lambda: FLAG & OTHER, r"write feature\('flag'\) == 1"),
        (lambda: True | FLAG, r"write feature\('flag'\) == 1"),
        (lambda: FLAG >> (AGE == 17), r"write feature\('flag'\) == 1"),
        (lambda: not FLAG, r"write feature\('flag'\) == 1"),
        (lambda: (AGE == 17) & FLAG, "Expected a constraint"),
        (lambda: True & (AGE == 17), "Expected a constraint.*True was given"),
        (lambda: 0 | (AGE == 17), "Expected a constraint.*0 was given"),
        (lambda: 0 >> (AGE == 17), "Expected a constraint.*0 was given"),
        (lambda: (AGE == 17) ^ (FLAG == 1), r"write exactly_one\(a, b\)"),
        (lambda: True ^ (FLAG == 1), r"write exactly_one\(a, b\)"),
        (lambda: AGE + 1, r"not calculated with.*feature\('age'\) <= 3"),
        (lambda: 2 * AGE <= 30, "not calculated with"),
        (lambda: -AGE, "not calculated with"),
    ],
)
def test_slips_are_told_what_to_write_instead(misuse: Any, match: str) -> None:
    with pytest.raises(DomainError, match=match) as caught:
        misuse()
    sentence(caught.value)


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: observed(pd.DataFrame({"f": [[0]]}), ["f"]), r"\[0\] can be no value"),
        (lambda: observed(pd.DataFrame([[0, 1]], columns=["f", "f"]), ["f"]), "one column 'f', but 2 were found"),
        (lambda: allowed(["f"], pd.DataFrame({"g": [1]})), "one column 'f', but none were found"),
        (lambda: allowed(["f"], [([0],)]), r"\[0\] can be no value"),
        (lambda: allowed(["f", "g"], ["ab"]), "rows of a value for each of .*'ab' is one"),
        (lambda: allowed(["f"], [{"f": 1}]), "rows of a value for each of .*{'f': 1} is one"),
        (lambda: allowed(["f"], 3), "but 3 was given; give a list of tuples"),
    ],
)
def test_tables_that_are_none(made: Any, match: str) -> None:
    with pytest.raises(DomainError, match=match) as caught:
        made()
    sentence(caught.value)


def test_rows_that_a_domain_lacks_are_read_from_documents_that_have_them() -> None:
    """They were let through once, and mean what they meant."""
    document = allowed(["age", "job"], [(17, "cook"), (99, "baker")]).document()
    assert meaning(constraint_of(document)) == {p for p in POINTS if p[:2] == (17, "cook")}
    settled = DOMAIN.where(allowed(["age"], [(17,)])).constraints[0]
    assert ax.Domain([ax.Integer("age", 18, 20)]).where(settled).constraints == (settled,)


def sentence(error: BaseException) -> str:
    """Return the message after checking that it is one sentence."""
    text = str(error)
    assert text.endswith((".", ".'", '."'))
    assert ". " not in text
    return text


@pytest.mark.parametrize(
    ("constraint", "match"),
    [
        (feature("wage") > 3, "no feature 'wage'"),
        (at_most_one("flag", "wage"), "no feature 'wage'"),
        (JOB == "baker", "'job' has no category 'baker'"),
        (JOB.isin(["cook", "baker"]), "'job' has no category 'baker'"),
        (
            at_least_one("job"),
            r"A name stands for a flag, .* 'job' is one of .*; write feature\('job'\) == 'cook', if that is meant",
        ),
        (at_most_one("flag", "age"), r"'age' is an integer from 16 to 20, or missing; write feature\('age'\) == 1"),
        (exactly_one("flag", "other"), r"'other' is one of 0, 1, 2.5; write feature\('other'\) == 1"),
        (at_most_one("flag", "pay"), r"write feature\('pay'\) == 1, if that is meant, or declare it an integer"),
        (FLAG == 7, "'flag' is an integer from 0 to 1 and never 7; correct flag = 7, or widen the domain"),
        (FLAG != 7, "never 7"),
        (FLAG.isin([0, 7]), "never 7"),
        (AGE == 17.5, "never 17.5"),
        (PAY == 10.5, "'pay' is a number from 0 to 10 and never 10.5"),
        (~((AGE > 16) >> (FLAG == 2)), "never 2"),
        (check(lambda f: None, ["flag"]), r"should return True or False, but for \(0,\) it returns None"),
        (check(lambda f: "x", ["flag"]), "it returns 'x'"),
        (check(lambda f: f, ["flag"]), "it returns 0"),
        (check(lambda f: f == 0 or f, ["flag"], words="odd"), r"^odd should return .* for \(1,\) it returns 1"),
        (FLAG == None, "'flag' is never missing"),  # noqa: E711
        (AGE == "old", "'old'"),
        (JOB > 3, "compares by size, but feature 'job' has the category 'none'"),
        (JOB < AGE, "compares words with numbers"),
        (PAY < AGE, "'pay' is real and no cells can hold that"),
        (PAY == AGE, "'pay' is real and no cells can hold that"),
        (allowed(["pay"], [(1.0,)]), "'pay' is real and no cells can hold that"),
        (check(older, ["age", "pay"]), "'pay' is real and no cells can hold that"),
        (Fraction(1, 3) >= PAY, "no float64"),
        (Fraction(1, 3) == PAY, "no float64"),
        (allowed(["age", "job"], [(17,)]), "rows of as many values"),
        (allowed(["job"], [("cook",), ("baker",)]), r"'job' must be one of .* a row of values for \(job\) has 'baker'"),
        (allowed(["age"], [(99,)]), "must be an integer from 16 to 20, or missing, but .* has 99"),
        (allowed(["age"], [(17.5,)]), "has 17.5"),
        (allowed(["flag"], [("0",)]), "has '0'"),
        (allowed(["flag"], [(None,)]), "has a missing one"),
        (allowed(["flag"], [(float("inf"),)]), "has inf"),
        (observed(pd.DataFrame({"age": [17, 99]}), ["age"]), "has 99"),
        ("age > 17 older", "Expected a constraint"),
        ([AGE > 17, 3], "Expected a constraint.* but 3 was given"),
        ([AGE > 17, [AGE > 18]], r"Expected a constraint.* but \[Compared.* was given"),
        (True, "Expected a constraint"),
    ],
    ids=lambda given: "" if callable(given) else str(given),  # functions are printed with their address
)
def test_what_means_nothing_over_a_domain_is_refused_in_a_sentence(constraint: Any, match: str) -> None:
    with pytest.raises((DomainError, UnknownFeatureError), match=match) as caught:
        DOMAIN.where(constraint)
    sentence(caught.value)


def test_flags_that_never_change_are_told_from_other_features() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 0), ax.Categorical("b", [True, False]), ax.Categorical("c", [0, 1])])
    assert str(domain.where(exactly_one("b", "c")).constraints[0]) == "exactly 1 of: b = 1, c = 1"
    with pytest.raises(DomainError, match=r"'a' is an integer .*; leave it out, or give it the bounds 0 and 1\.$"):
        domain.where(at_most_one("a", "b"))


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: at_most_one("flag"), "excludes nothing, but only flag = 1 was given; name at least two"),
        (lambda: at_most_one([AGE > 17]), "excludes nothing, but only age > 17 was given"),
        (lambda: at_most_one("flag", "flag"), "flag = 1 was given twice; name each once"),
        (lambda: exactly_one("flag", FLAG == 1), "flag = 1 was given twice"),
        (lambda: at_least_one(["flag", AGE > 17, AGE > 17]), "age > 17 was given twice"),
        (lambda: at_least_one([]), "none were given; name at least one"),
        (lambda: AGE.isin([]), "for 'age' it is empty; name at least one"),
        (lambda: allowed(["age"], []), "there are none, so that nothing could exist; give at least one"),
        (lambda: observed(pd.DataFrame({"age": []}), ["age"]), "there are none"),
    ],
)
def test_what_can_only_be_a_slip_is_refused_when_it_is_made(made: Any, match: str) -> None:
    with pytest.raises(DomainError, match=match) as caught:
        made()
    sentence(caught.value)


def test_documents_of_before_mean_what_they_meant() -> None:
    """Equality with a value that a feature never has was let through once, and so were single and repeated parts."""
    parts = [{"kind": "member", "name": "flag", "values": [1]}] * 2
    for document, holds in (
        ({"kind": "member", "name": "flag", "values": [0, 7]}, lambda p: p[3] == 0),
        ({"kind": "member", "name": "age", "values": [17.5], "negated": True}, lambda p: p[0] is not None),
        ({"kind": "between", "parts": parts, "least": 0, "most": 1}, lambda p: p[3] == 0),
        ({"kind": "between", "parts": parts[:1], "least": 0, "most": 1}, lambda p: True),
    ):
        constraint = constraint_of(document)
        assert meaning(constraint) == {p for p in POINTS if holds(p)}
        assert constraint_of(json.loads(json.dumps(constraint.document()))) == constraint
    assert str(constraint) == "any number of: flag = 1"
    settled = DOMAIN.where(AGE == 17, at_most_one("flag", OTHER == 1)).constraints
    assert ax.Domain([*DOMAIN.features[1:], ax.Integer("age", 18, 20)]).where(*settled).constraints == settled


def test_where_takes_texts_rules_and_lists() -> None:
    rules = [ax.Rule(AGE > 17, 3), ax.Rule(FLAG == 1)]
    domain = DOMAIN.where(*rules, rules, ("pay <= 5", JOB == "cook"))
    assert domain.constraints == (AGE > 17, FLAG == 1, AGE > 17, FLAG == 1, feature("pay") <= 5, JOB == "cook")
    assert ax.Domain(DOMAIN.features, ["age > 17"]) == DOMAIN.where("age > 17")


def test_words_of_a_function_survive_json() -> None:
    domain = DOMAIN.where(check(older, ["age", "job"], words="old enough"))
    assert str(constraint_of(json.loads(json.dumps(domain.constraints[0].document())))) == "old enough"


def test_an_unknown_name_is_compared_with_those_that_there_are() -> None:
    with pytest.raises(UnknownFeatureError, match=r"'flog'; use 'flag', if that is meant, or .* its 5 features") as one:
        DOMAIN.where(feature("flog") == 1)
    with pytest.raises(UnknownFeatureError, match=r"'xyz'; its features are 'age', 'job', .*: use one of these") as two:
        DOMAIN.where(feature("xyz") == 1)
    assert sentence(one.value) != sentence(two.value)


def test_every_violated_constraint_is_named() -> None:
    domain = ax.Domain([ax.Integer(n, 0, 1) for n in "abcde"]).where(*(feature(n) == 0 for n in "abcde"))
    codes = np.array([[0, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=float)
    wrong = impossible_points(domain, codes)
    assert [str(wrong[n]) for n in range(3)] == [
        "The instance cannot exist, because it violates a constraint of its domain: b = 0; correct it, or the "
        "constraint.",
        "The instance cannot exist, because it violates 2 constraints of its domain: a = 0; b = 0; correct it, or the "
        "constraints.",
        "The instance cannot exist, because it violates 5 constraints of its domain: a = 0; b = 0; c = 0; and 2 more; "
        "correct it, or the constraints.",
    ]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: (AGE > 17) and (PAY < 5),
        lambda: (AGE > 17) or (PAY < 5),
        lambda: not (AGE > 17),
        lambda: 16 < AGE < 18,
        lambda: [JOB == "cook"] if AGE == 17 else [],
    ],
)
def test_truth_values_and_chains_are_refused(misuse: Any) -> None:
    with pytest.raises(DomainError, match="combine constraints with &") as caught:
        misuse()
    sentence(caught.value)


@pytest.mark.parametrize("misuse", [lambda: (AGE > 17) & 3, lambda: (AGE > 17) | "x", lambda: (AGE > 17) >> None])
def test_only_constraints_are_combined(misuse: Any) -> None:
    with pytest.raises(DomainError, match="Expected a constraint"):
        misuse()


@pytest.mark.parametrize("number", ["old", float("inf"), float("nan"), None])
def test_sizes_are_compared_with_numbers(number: Any) -> None:
    with pytest.raises(DomainError, match="compared with"):
        _ = number > AGE


def test_a_function_of_too_many_values_is_refused() -> None:
    wide = ax.Domain([ax.Integer(name, 0, 9999) for name in "ab"])
    with pytest.raises(DomainError, match="100000000 combinations of values, more than 1000000") as caught:
        wide.where(check(lambda a, b: a < b, ["a", "b"]))
    sentence(caught.value)


def test_contradictory_constraints_are_told_when_they_meet() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    for constraints, match in (
        ((feature("a") > 2, feature("a") < 1), "a < 1 cannot hold together with a > 2"),
        ((feature("a") > feature("a"),), "a > a never holds"),
        ((feature("b") > 3,), "never holds"),
    ):
        with pytest.raises(DomainError, match=match) as caught:
            ax.Explainer(lambda p: p[0], domain.where(*constraints))
        sentence(caught.value)


def test_an_instance_outside_names_the_violated_constraint() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)]).where(
        feature("a") <= feature("b"), feature("b") < 3
    )
    explainer = ax.Explainer(lambda p: p[0] > 0, domain)
    with pytest.raises(DomainError, match=r"^The instance cannot exist.*a <= b") as caught:
        explainer.explain((2, 1))
    sentence(caught.value)
    with pytest.raises(DomainError, match=r"^Row 1: The instance cannot exist.*b < 3"):
        explainer.explain_batch([(0, 1), (1, 3)], progress=False)
    check_possible(domain, np.array([[0.0, 1.0], [1.0, 1.0]]))
    check_possible(domain, np.empty((0, 2)))
    codes = np.array([[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [3.0, 3.0], [2.0, 1.0], [3.0, 1.0]])
    assert [(n, str(e).partition(": ")[2][:6]) for n, e in sorted(impossible_points(domain, codes).items())] == [
        (1, "a <= b"),
        (2, "b < 3;"),
        (3, "b < 3;"),
        (4, "a <= b"),
        (5, "a <= b"),
    ]
    with pytest.raises(DomainError, match=r"^Row 1: The instance cannot exist.*a <= b"):
        check_possible(domain, codes)


def test_a_function_has_no_document_until_it_is_tabulated() -> None:
    with pytest.raises(DomainError, match="no file can hold"):
        check(older, ["age", "job"]).document()
    assert DOMAIN.where(check(older, ["age", "job"])).constraints[0].document()["kind"] == "listed"


@pytest.mark.parametrize(
    "document", [None, 3, {}, {"kind": "odd"}, {"kind": "all"}, {"kind": "compared", "name": "a"}, []]
)
def test_documents_that_describe_nothing(document: Any) -> None:
    with pytest.raises(DomainError, match="this describes none"):
        constraint_of(document)


def test_another_value_is_no_missing_one() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2, missing=0.25), ax.Integer("b", 0, 2, missing=0.25)])
    a, b = ax.feature("a"), ax.feature("b")
    for constraint, n in ((a != 1, 8), (a != b, 6), ((a < 1) | (a > 1), 8), (~(a == 1), 12), (a != None, 12)):  # noqa: E711
        assert ax.queries.count(ax.possible_points(domain.where(constraint))) == n, str(constraint)
        assert domain.where(constraint_of(constraint.document())) == domain.where(constraint)
    assert str(a != 1) == "a != 1"


def test_words_are_verified_under_constraints() -> None:
    domain = ax.Domain([ax.Integer("age", 0, 9), ax.Categorical("married", ["no", "yes"])])
    possible = domain.where((ax.feature("age") >= 2) | (ax.feature("married") == "no"))

    def old(point: tuple[Any, ...]) -> int:
        return int(point[0] > 5)

    assert ax.verify(ax.Explainer(old, possible).explain([3, "no"]), old).complete
    assert ax.verify(ax.Explainer(old, domain).explain([3, "no"], within=ax.Region(radius=3)), old).ok


@pytest.mark.parametrize(
    "made",
    [
        lambda d: d.where(ax.feature("a") < 10**400),
        lambda d: d.where(ax.feature("a") == 10**400),
        lambda d: d.where(ax.check(lambda a: a > 0, ["m"])),
        lambda d: d.where(ax.check(3, ["a"])),
        lambda d: ax.observed(pd.DataFrame({"b": [1]}), ["a"]),
        lambda d: ax.observed([[1]], ["a"]),
        lambda d: ax.allowed(["a"], [1, 2]),
        lambda d: ax.allowed(["a", "a"], [(1, 2)]),
        lambda d: ax.feature("a").isin(3),
        lambda d: ax.Region(frozen=3),
        lambda d: ax.Region(ranges={"a": 3}),
        lambda d: ax.Region(weights=[1]),
        lambda d: ax.mine_rules(np.zeros((4, 2)), names=["a"]),
        lambda d: ax.mine_rules(np.zeros(4)),
        lambda d: ax.possible_points(3),
    ],
    ids=range(15),
)
def test_what_means_nothing_is_one_sentence(made: Any) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("m", 0, 1, missing=0.5)])
    with pytest.raises(DomainError) as error:
        made(domain)
    assert "\n" not in str(error.value)


def test_a_model_that_is_constant_where_points_can_exist() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 2)]).where(ax.feature("a") <= 0)
    with pytest.raises(ConstantModelError, match=r"at every point that can exist.*loosen the constraints"):
        ax.Explainer(lambda p: int(p[0] > 0), domain).explain([0, 1])


def test_sizes_of_categories_without_an_order_are_refused() -> None:
    domain = ax.Domain(
        [ax.Integer("age", 0, 9), ax.Categorical("t", [(1, 2), (3,)]), ax.Categorical("u", [(1,), ("a", 2)])]
    )
    t, u = feature("t"), feature("u")
    for constraint in (t < feature("age"), feature("age") >= t, t < u):
        with pytest.raises(DomainError, match=r"compares by size, but .* and .* have no order; use == or !=\.$"):
            domain.where(constraint)
    assert [domain.where(t <= t).constraints[0].holds([0.0, k, 0.0], domain) for k in (0.0, 1.0)] == [True, True]
    assert domain.where(t == u, t != feature("age")).constraints
