"""Rules that no row violates: each is listed once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError


def test_a_table_of_measurements_has_no_rules() -> None:
    assert ax.mine_rules(np.arange(300.0).reshape(100, 3)) == []


def test_a_rule_and_its_contrapositive_are_one() -> None:
    rows = np.array([[0, 1]] * 3 + [[1, 0]] * 5 + [[0, 0]] * 92)
    assert [str(rule) for rule in ax.mine_rules(rows, names=["a", "b"], min_support=3)] == [
        "if a = 1 then b = 0  (5 rows)"
    ]


@pytest.mark.parametrize("max_size", [2, 3])
def test_no_two_rules_mean_the_same(max_size: int) -> None:
    rng = np.random.default_rng(max_size)
    X = rng.integers(0, [2, 2, 3, 2], (60, 4))
    X = X[(X[:, 0] + X[:, 1] + X[:, 2] != 1) & ~((X[:, 3] == 1) & (X[:, 2] == 2))]
    domain = ax.Domain.from_data(X)
    rules = ax.mine_rules(X, min_support=1, max_size=max_size)
    codes = [list(map(float, p)) for p in domain.points()]
    meanings = [tuple(rule.constraint.holds(p, domain) for p in codes) for rule in rules]
    assert len(set(meanings)) == len(rules) > 1


FLAGS = pd.DataFrame([[0, 1, 5], [1, 0, 5], [0, 0, 7], [1, 0, 7]] * 10, columns=["a", "b", "c"])


def test_rules_are_what_where_takes_and_read_as_words() -> None:
    rules = ax.mine_rules(FLAGS, min_support=5)
    assert repr(rules) == "[Rule(if c = 7 then b = 0, support=20), Rule(at most 1 of: a = 1, b = 1, support=5)]"
    domain = ax.Domain.from_data(FLAGS, integer=["a", "b", "c"])
    assert domain.where(rules) == domain.where(*rules) == domain.where(*(rule.constraint for rule in rules))
    # what was seen in one table may be more than another has
    assert ax.Domain([ax.Integer("a", 0, 0), ax.Integer("b", 0, 1), ax.Integer("c", 0, 6)]).where(*rules).constraints


def test_rules_that_were_saved_are_loaded(tmp_path: Path) -> None:
    rules = ax.mine_rules(FLAGS, min_support=5)
    ax.save_rules(rules, tmp_path / "rules.json")
    assert ax.load_rules(tmp_path / "rules.json") == rules
    ax.save_rules([*rules, "a == 1", ax.feature("c") > 5], str(tmp_path / "more.json"))
    more = ax.load_rules(tmp_path / "more.json")
    assert [str(rule) for rule in more[2:]] == ["a = 1", "c > 5"]
    assert [rule.support for rule in more] == [20, 5, 0, 0]
    ax.save_rules(more, tmp_path / "again.json")
    assert ax.load_rules(tmp_path / "again.json") == more


def test_what_a_person_left_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [{"constraint": (ax.feature("a") == 1).document()}]}))
    assert ax.load_rules(path) == [ax.Rule(ax.feature("a") == 1)]
    path.write_text(path.read_text().replace('{"constraint"', '{"support": "many", "constraint"'))
    with pytest.raises(DomainError, match="holds no rules, because the support of rule 0 is no number of rows"):
        ax.load_rules(path)
    with pytest.raises(DomainError, match="it cannot be read"):
        ax.load_rules(tmp_path)


def test_names_are_not_ignored_for_a_frame() -> None:
    with pytest.raises(DomainError, match=r"a frame and \['a'\] were given; leave names= out, or give the frame of"):
        ax.mine_rules(FLAGS, names=["a"])


def test_a_rule_is_one_constraint_about_some_rows(tmp_path: Path) -> None:
    rules = [ax.Rule("a = 1"), ax.Rule(ax.feature("a") == 1, np.int64(4))]
    ax.save_rules(rules, tmp_path / "rules.json")
    assert ax.load_rules(tmp_path / "rules.json") == rules
    assert [type(rule.support) for rule in rules] == [int, int]
    for wrong in (lambda: ax.Rule(3), lambda: ax.Rule("a = 1", -3), lambda: ax.Rule("a = 1", "x"), lambda: ax.Rule([])):
        with pytest.raises(DomainError):
            wrong()
