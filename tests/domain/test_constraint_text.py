"""Constraints in text: what they say, and one sentence for what says none."""

from __future__ import annotations

import pytest

import axfi_kc as ax
from axfi_kc.domain.constraint_text import constraint_from_text
from axfi_kc.errors import DomainError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" age > +5 ", "age > 5"),
        ("-1 <= age < 5", "age >= -1 and age < 5"),
        ("a not in (1, 'x')", "not (a in {1, 'x'})"),
        ("a > 1 and (b > 1 and c > 1)", "a > 1 and b > 1 and c > 1"),
        ("at_most_one('x', a > 1, b)", "at most 1 of: x = 1, a > 1, b = 1"),
        ("a is not None", "not (a = missing)"),
        ("a = 1", "a = 1"),
        (" a = 'x = 1' and b != 2 ", "a = 'x = 1' and b != 2"),
        ("a = b", "a = b"),
        ("not (a = 1)", "not (a = 1)"),
        ("if a = 1 then b = 0", "if a = 1 then b = 0"),
        ("if a = ' then ' and c in {1, 2} then b = 0", "if a = ' then ' and c in {1, 2} then b = 0"),
        ("at most 1 of: a = 1, b in {1, 2}", "at most 1 of: a = 1, b in {1, 2}"),
        ("exactly 1 of: a = 1, b = 1", "exactly 1 of: a = 1, b = 1"),
        ("at least 1 of: a = 1, b > 1", "at least 1 of: a = 1, b > 1"),
        ("exactly_one(['a', 'b'])", "exactly 1 of: a = 1, b = 1"),
    ],
)
def test_what_it_says(text: str, words: str) -> None:
    assert str(constraint_from_text(text)) == words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the text is empty"),
        ("  ", "the text is empty"),
        ("age >= 18 and", "lacks something at its end"),
        ("age 18", "stops making sense at character 5"),
        ("a = 1 b", "stops making sense at character 7"),
        ("Age < 16 >> Parch >= 1", ">> takes comparisons in parentheses, as in (Age < 16) >> (Parch >= 1)"),
        ("a == 1 >> (b == 2)", "as in (a == 1) >> (b == 2)"),
        ("0 < a < 3 >> b < 1", "as in (0 < a < 3) >> (b < 1)"),
        ("c > 1 and (if a = 1 then b = 2)", "has the word if within it; write (a) >> (b) for if a then b"),
        ("not (at most 1 of: a = 1, b = 1)", "write at_most_one(a, b), at_least_one or exactly_one"),
        ("at most 1 of: a = 1", "at_most_one of one part excludes nothing"),
        ("a\0", "is no text"),
        ("a >= 1 \udc96", "is no text"),
        ("5 in age", "5 should be a feature, as in age in [18, 19]"),
        ("age in 5", "5 should be a list, as in age in [18, 19]"),
        ("age in job", "job should be a list"),
        ("age in [a, b]", "[a, b] should be numbers, or texts in quotes"),
        ("age >= '18'", "A number that 'age' is compared with must be a finite number, but '18' was given"),
        ("age == (job == 1)", "job == 1 should be a feature or a value"),
        ("5 < 'a'", "neither of 5 and 'a' is a feature"),
        ("-'a' < age", "-'a' should be numbers"),
        ("age", "age should be a comparison"),
        ("age & job", "age & job is no comparison"),
        ("feature()", "feature takes one name, as in feature('its name')"),
        ("at_most_one()", "name at least one"),
        ("allowed(['a'], [(1,)])", "allowed is not one of feature, at_most_one, at_least_one, exactly_one"),
        ("not " * 150 + "a > 1", "100 deep"),
        ("not " * 2_000 + "a > 1", "100 deep"),
    ],
)
def test_what_says_nothing_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(DomainError) as caught:
        constraint_from_text(text)
    message = str(caught.value)
    assert said in message
    assert message.endswith(".")
    assert ".." not in message
    assert ". " not in message
    assert not any(leak in message for leak in ("object", "NoneType", "Error", "positional", "recursion"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = missing", "missing is written None"),
        ("missing = 1", r"a feature of that name feature\('missing'\)"),
        ("a = 1  # and b = 2", "# is not read"),
        ("if a = 1 then b = 1 # c", "# is not read"),
        ("a = '''x'=y'''", "three quotes"),
        ("\u00b5 = 1", r"write feature\('\u00b5'\)"),
        ("\ufb01 = 1", "letters that stand for others"),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(text: str, why: str) -> None:
    with pytest.raises(DomainError, match=why):
        constraint_from_text(text)


def test_signs_within_quotes_are_no_language() -> None:
    domain = ax.Domain([ax.Categorical("c", ["#1", "\u00b5", "missing"]), ax.Integer("\u00b5", 0, 1)])
    texts = ["c = '#1'", "c != '\u00b5'", "c == 'missing'", "feature('\u00b5') == 1"]
    assert len(domain.where(*texts).constraints) == 4


def test_values_stay_in_the_order_in_which_they_are_written() -> None:
    assert str(constraint_from_text("c in {'cyd', 'ann', 'bob'}")) == "c in {'cyd', 'ann', 'bob'}"
    # A set of Python's has another order in each process, and a run would not know that it is the same.
    assert str(ax.feature("c").isin({"cyd", "ann", "bob"})) == "c in {'ann', 'bob', 'cyd'}"
