"""Every public door, every parameter, 69 odd values: an AxfiError or an answer, never a crash, a hang or a megabyte.

Doors are found, not listed (`tests/support/public_doors.py`): a new one is tried as soon as it is public, and if nobody
has said how it is called (`tests/support/door_calls.py`), these tests fail and say where to do it.
"""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import ArgumentError, ArgumentValueError, AxfiError, DomainError
from tests.support.door_calls import given_to, owner_of
from tests.support.door_trials import Trial, trial, trials
from tests.support.odd_values import ODD
from tests.support.public_doors import Door, doors

mpl.use("agg")

DOORS = doors()
NAMES = [door.name for door in DOORS]
FEW = 2  # odd values of each parameter in the quick run


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(found: list[Trial]) -> str:
    return "\n".join(f"{t.door}({t.parameter}={t.value}): {t.complaint}" for t in found if t.complaint)


def test_doors_are_found() -> None:
    """Also those of classes, class methods, methods, properties and modules, and each once."""
    some = {
        "Explainer",
        "Domain.from_data",
        "Explanation.scores",
        "Batch.predictions",
        "queries.count",
        "plots.plot_scores",
    }
    assert some <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES) > 500
    assert len(ODD) == 69


def test_every_door_can_be_called() -> None:
    """With what is registered for it; a result that only this library makes has no constructor to call."""
    for door in DOORS:
        door.call(owner_of(door), given_to(door))


def test_a_new_door_says_where_to_register_it() -> None:
    def novel(luck: int) -> int:
        return luck

    parameters = tuple(inspect.signature(novel).parameters.values())
    with pytest.raises(LookupError, match=r"^novel is a new door: say in _OWN of .*door_calls what its 'luck'"):
        given_to(Door("novel", None, novel, parameters))
    with pytest.raises(LookupError, match=r"^Luck\.at is a new door: say in _OWNERS of .*door_calls how a Luck"):
        owner_of(Door("Luck.at", "Luck", novel, parameters))


def test_a_refusal_says_what_was_expected_and_what_was_found() -> None:
    """One sentence; a TypeError for another kind of thing, a ValueError for another value."""
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    with pytest.raises(TypeError, match=r"^budget= of compile_model takes a Budget or None, but 5 was given; "):
        ax.compile_model(lambda p: p[0], domain, budget=5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"^domain= of .* takes a Domain, but 'magic' was given"):
        ax.Product.of("magic")  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match=r"^n must be a whole number from 0 up, but -1 was given; give one\.$"):
        ax.Product.of(domain).sample(-1)
    with pytest.raises(ValueError, match=r"^The score must be one of .{,300}'xxx.*xxx' was given; name one\.$"):
        ax.Explainer(lambda p: p[0], domain).explain([1]).scores("x" * 1_000_000)


def test_a_refusal_is_one_line_that_says_what_to_give() -> None:
    """Also of a table, whose own words have lines and columns; and a Domain can be made of one."""
    table = pd.DataFrame({"age": [18, 20], "a name of some length": [1.5, 2.5]})
    for given in (table, table.to_numpy()):
        with pytest.raises(TypeError) as refused:
            ax.compile_model(lambda p: p[0], given)  # type: ignore[arg-type]
        assert "\n" not in str(refused.value)
        assert "  " not in str(refused.value)
        assert str(refused.value).endswith("; make one of the table with Domain.from_data(table).")
        with pytest.raises(DomainError, match=r"given; use Domain\.from_data\(table\)\.$"):
            ax.Domain(given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"but a DataFrame of 2 rows and 2 columns was given"):
        ax.compile_model(lambda p: p[0], table)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a Domain, but 5 was given; give one\.$"):
        ax.Product.of(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a Domain or None, but 5 was given; give one of these\.$"):
        ax.load_circuit("model.nnf", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: ax.Region(freeze=["sex"]),  # type: ignore[call-arg]
            "Region takes frozen=, ranges=, only_up=, only_down=, radius=, norm=, unit= and weights=, but freeze= was "
            "given; did you mean frozen=?",
        ),
        (
            lambda: ax.Region(["sex"]),  # type: ignore[misc]
            "Region takes frozen=, ranges=, only_up=, only_down=, radius=, norm=, unit= and weights=, but ['sex'] was "
            "given without a name; did you mean frozen=['sex']?",
        ),
        (
            lambda: ax.Region(zzz=1),  # type: ignore[call-arg]
            "Region takes frozen=, ranges=, only_up=, only_down=, radius=, norm=, unit= and weights=, but zzz= was "
            "given; give one of these.",
        ),
        (
            lambda: ax.Region().around(ax.Domain([ax.Integer("a", 0, 1)])),  # type: ignore[call-arg]
            "Region.around takes domain= and codes=, but codes= is missing; give it.",
        ),
        (
            lambda: ax.Region().weight("a", "b"),  # type: ignore[call-arg]
            "Region.weight takes name=, but 'b' was given without a name; leave it out.",
        ),
    ],
)
def test_what_fits_no_parameter_is_one_sentence(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        call()
    assert str(refused.value) == words
    assert isinstance(refused.value, TypeError)


def test_an_error_inside_a_door_stays_what_it_is() -> None:
    def broken(point: object) -> int:
        return len(5)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="object of type 'int' has no len") as raised:
        ax.Explainer(broken, ax.Domain([ax.Integer("a", 0, 1)]))
    assert not isinstance(raised.value, ArgumentError)


def test_blanks_of_a_text_are_its_own() -> None:
    with pytest.raises(AxfiError, match="no feature 'two  blanks'"):
        ax.Domain([ax.Integer("two blanks", 0, 1)]).where(ax.feature("two  blanks") == 1)


def test_a_quick_turn_through_all_doors() -> None:
    """Other values each day of a run's seed: set AXFI_DOORS_SEED to see a run again."""
    rng = random.Random(os.environ.get("AXFI_DOORS_SEED", "0"))
    found = [trial(d, p.name, v) for d in DOORS for p in d.parameters for v in rng.sample(sorted(ODD), FEW)]
    assert not told(found)


@pytest.mark.slow
@pytest.mark.parametrize("door", [door for door in DOORS if door.parameters], ids=lambda door: door.name)
def test_a_door_with_all_odd_values(door: Door) -> None:
    assert not told(list(trials(door)))
