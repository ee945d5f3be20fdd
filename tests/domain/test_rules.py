"""Rules that no row violates: each is listed once."""

from __future__ import annotations

import numpy as np
import pytest

import axfi_kc as ax


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
