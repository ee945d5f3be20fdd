"""Constraints in text: what they say, and one sentence for what says none."""

from __future__ import annotations

import pytest

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
        ("not " * 150 + "a > 1", "nested up to 100 deep"),
        ("not " * 2_000 + "a > 1", "nested some 100 deep"),
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
