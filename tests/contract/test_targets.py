"""Every target keeps the contract, under each of its codes, orders and vtrees."""

from __future__ import annotations

from typing import Any

import pytest

from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets import CODES, TARGETS, Mdd, mdd_of, target_of
from axfi_kc.errors import UnsupportedTargetError
from tests.contract.contract import TWO_BITS, ClosedContract, TargetContract, gates

ORDERS: tuple[Any, ...] = (None, "reversed")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "options" in metafunc.fixturenames:
        metafunc.parametrize(
            "options", metafunc.cls.variants, ids=lambda o: "-".join(map(str, o.values())) or "default"
        )


class TestMdd(ClosedContract):
    name = "mdd"
    variants = tuple({"order": order} for order in ORDERS)

    def another(self, circuit: Circuit, first: Mdd) -> Mdd:
        return mdd_of(circuit, order=first.order)

    def stranger(self, circuit: Circuit) -> Mdd:
        return mdd_of(circuit, order=[1, 0])


class TestObdd(ClosedContract):
    name = "obdd"
    variants = (
        *({"code": code, "order": order} for code in CODES for order in ORDERS),
        {"sift": True, "code": "direct"},
    )


class TestSdd(ClosedContract):
    name = "sdd"
    variants = tuple({"code": code, "vtree": vtree} for code in CODES for vtree in ("right", "balanced", "left"))


class TestDdnnf(TargetContract):
    name = "ddnnf"
    variants = ({"smooth": False}, {"smooth": True})


def test_every_target_is_under_contract() -> None:
    assert {c.name for c in (TestMdd, TestObdd, TestSdd, TestDdnnf)} == set(TARGETS)


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(UnsupportedTargetError, match="one of 'mdd', 'obdd', 'sdd', 'ddnnf', but 'zdd' was given"):
        target_of("zdd", gates(TWO_BITS, (0, 1, 1, 0)))
