"""Regions: what is left of a domain around an instance, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Real
from axfi_kc.domain.constraints import constraint_of
from axfi_kc.domain.grid import Axis, Cut
from axfi_kc.domain.region import Near, Region, cell_reaches, unit_of
from axfi_kc.errors import DomainError, UnknownFeatureError

DOMAIN = Domain([Integer("age", 0, 99), Real("income", 0, 10), Categorical("job", ["a", "b", "c"])])
CODES = [40.0, 2.0, 1.0]


def _left(region: Region, codes: list[float] = CODES) -> list[str]:
    """Return what is left of each feature; categories keep their codes, so these are left out by constraints."""
    domain = region.around(DOMAIN, codes)
    rules = {c.names[0]: str(c) for c in domain.constraints if len(c.names) == 1}
    return [rules.get(f.name, f.describe()) for f in domain.features]


def test_each_limit_clips_its_features() -> None:
    assert _left(Region(frozen=["age", "job"]))[0] == "an integer from 40 to 40"
    assert _left(Region(ranges={"income": (1, 3), "job": ["b", "c"]}))[1:] == [
        "a number from 1 to 3",
        "job in {'b', 'c'}",
    ]
    assert _left(Region(only_up=["age"], only_down=["income"]))[:2] == [
        "an integer from 40 to 99",
        "a number from 0 to 2",
    ]
    assert _left(Region(radius=Fraction(1, 2), unit="range", weights={"age": 5, "job": 0})) == [
        "an integer from 31 to 49",
        "a number from 0 to 7",
        "one of 'a', 'b', 'c'",
    ]


def test_a_category_is_at_distance_one() -> None:
    assert _left(Region(radius=0.5))[2] == "job = 'b'"
    assert _left(Region(radius=1))[2] == "job in {'a', 'b', 'c'}"


def test_a_sum_of_distances_is_a_constraint_on_what_can_move() -> None:
    left = Region(radius=2, norm="l1", frozen=["job"]).around(DOMAIN, CODES)
    frozen, near = left.constraints
    assert str(frozen) == "job = 'b'"
    assert near.names == ("age", "income")
    assert near.holds([41.0, 3.0, 0.0], left)
    assert not near.holds([42.0, 2.5, 0.0], left)
    assert constraint_of(near.document()) == near
    assert len(Region(radius=2, norm="l1", frozen=["job", "income"]).around(DOMAIN, CODES).constraints) == 1


def test_cells_are_as_far_as_their_nearest_end() -> None:
    axis = Axis.of(Real("x", 0, 10), [Cut(3.0, closed=True), Cut(6.0, closed=False)])
    found = cell_reaches(axis, 4.0, Fraction(1, 2))
    assert found == {0: (Fraction(1, 2), False), 2: (Fraction(1), False)}
    assert cell_reaches(axis, 1.0, Fraction(1)) == {1: (Fraction(2), True), 2: (Fraction(5), False)}


def test_missing_values_stay_missing_where_distances_are_asked_for() -> None:
    domain = Domain([Integer("a", 0, 9, missing=0.5), Integer("b", 0, 9)])
    assert str(Region(radius=1).around(domain, [float("nan"), 4.0]).constraints[0]) == "a = missing"
    assert Region(radius=1).around(domain, [4.0, 4.0]).features[0].missing == 0


@pytest.mark.parametrize(
    ("options", "codes", "said"),
    [
        ({"frozen": ["nobody"]}, CODES, "nobody"),
        ({"ranges": {"age": (50, 60)}}, CODES, "leaves out the instance itself, whose 'age' is 40"),
        (
            {"ranges": {"age": (60, 50)}},
            CODES,
            "must be (low, high), but (60, 50) goes from high to low; turn",
        ),
        ({"ranges": {"age": (1, 2, 3)}}, CODES, "must be (low, high)"),
        ({"ranges": {"job": ["d"]}}, CODES, "no category 'd'"),
        ({"only_up": ["job"]}, CODES, "has no up or down"),
    ],
)
def test_what_does_not_fit_the_domain_is_one_sentence(options: dict, codes: list[float], said: str) -> None:
    with pytest.raises((DomainError, UnknownFeatureError)) as caught:
        Region(**options).around(DOMAIN, codes)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "l2"}, "norm must be one of 'linf', 'l1'"),
        ({"unit": "metres"}, "unit must be one of"),
        ({"radius": -1}, "The radius must be a number from 0 up, but -1 was given"),
        ({"radius": True}, "The radius must be a number from 0 up, but True was given"),
        ({"weights": {"job": 1, "age": -1}}, "The weight of 'age' must be a number from 0 up, but -1 was given"),
        ({"weights": {"age": True}}, "The weight of 'age' must be a number from 0 up, but True was given"),
        ({"frozen": "age"}, "use ['age']"),
    ],
)
def test_what_means_nothing_is_one_sentence(options: dict, said: str) -> None:
    with pytest.raises(DomainError) as caught:
        Region(**options)
    assert said in str(caught.value)


def test_a_region_of_probability_0_is_refused() -> None:
    domain = Domain([Integer("a", 0, 3, weights=[0, 0, 0, 1])])
    with pytest.raises(DomainError, match="probability 0"):
        Region(radius=1).around(domain, [1.0])


def test_what_stays_needs_no_probability() -> None:
    """The value of a frozen feature is given, as that of any feature that does not change."""
    domain = Domain([Integer("a", 0, 3, weights=[0, 0, 0, 1]), Integer("b", 0, 1)])
    assert Region(frozen=["a"]).around(domain, [1.0, 0.0]).features[0] == Integer("a", 1, 1)
    for weights in ("ratio", "count"):
        e = ax.Explainer(lambda p: p[1], domain, within=Region(frozen=["a"]), weights=weights).explain((1, 0))
        assert [(c.features, c.weight) for c in e.cxps] == [(("b",), Fraction(1, 2) if weights == "ratio" else 1)]


def test_what_stays_needs_no_probability_in_a_ball_either() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    tables = (Fraction(1, 4), Fraction(3, 4)), (Fraction(1), Fraction(0))
    joint = domain.with_distribution(ax.Product(ax.states_of(domain), tables))
    e = ax.Explainer(lambda p: p[0], joint, within=ax.Region(frozen=["b"], radius=1, norm="l1")).explain((0, 1))
    assert [(c.features, c.weight) for c in e.cxps] == [(("a",), Fraction(3, 4))]


def test_a_ball_is_in_words() -> None:
    near = Near(("a", "b"), (1, "x"), (Fraction(1), Fraction(2)), Fraction(3))
    assert str(near) == "(a, b) no further than 3 from the instance"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"radius": Fraction(1, 3), "weights": {"age": Fraction(1, 3), "job": 2, "income": 0.1}},
        {"radius": 0.1, "norm": "l1"},
        {"norm": "l1", "unit": "std"},
        {"frozen": ["age"], "ranges": {"income": np.array([0.5, 2]), "job": ["a", "b"], "age": (Fraction(1, 3), 2)}},
        {"only_up": ["age"], "only_down": ["income"], "weights": {"age": Fraction(10**400 + 1, 2)}},
    ],
)
def test_a_region_is_shown_as_what_makes_it_again(options: dict) -> None:
    region = Region(**options)
    assert eval(repr(region), {"Region": Region, "Fraction": Fraction}) == region


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"radius": 3}, "every feature by at most 3 (linf)"),
        ({"radius": 2, "norm": "l1", "frozen": ["a"]}, "a frozen; all features together by at most 2 (l1)"),
        ({"radius": 0.1, "unit": "range"}, "every feature by at most 0.1 of its range (linf)"),
        (
            {"radius": Fraction(1, 3), "unit": "range", "norm": "l1"},
            "all features together by at most 1/3 of their ranges (l1)",
        ),
        ({"radius": 1, "unit": "std"}, "every feature by at most 1 standard deviation of its measure (linf)"),
        (
            {"radius": 1.5, "unit": "std", "norm": "l1"},
            "all features together by at most 1.5 standard deviations of their measures (l1)",
        ),
        ({"radius": Fraction(10**20 + 1, 3 * 10**20)}, "every feature by at most 0.333333 (linf)"),
        (
            {"radius": 3, "weights": {"priors": 0, "age": 2, "job": 1, "sex": Fraction(1, 3)}, "frozen": ["race"]},
            "race frozen; every feature by at most 3 (linf); priors at any distance; age counted 2 times; "
            "sex counted 1/3 times",
        ),
        ({"radius": 3, "weights": {"age": 2, "b": 0}, "frozen": ["age"]}, None),
        ({"weights": {"age": 2}}, "anywhere"),
        ({"only_up": ["a", "b"], "only_down": ["a", "c"]}, "a frozen; b only up; c only down"),
        ({"only_up": ["a"], "frozen": ["a", "b", "a"]}, "a, b frozen"),
    ],
)
def test_a_region_is_in_words(options: dict, words: str | None) -> None:
    text = words or "age frozen; every feature by at most 3 (linf); b at any distance"
    assert str(Region(**options)) == text


def test_a_range_that_is_turned_round_is_refused_before_there_is_an_instance() -> None:
    domain = Domain([Integer("age", 0, 99)])
    with pytest.raises(DomainError, match=r"^The range of 'age' must be \(low, high\), but \(60, 50\) goes from high"):
        ax.Explainer(lambda p: p[0] > 50, domain, within=Region(ranges={"age": (60, 50)}))
    by_size = Domain([Categorical("size", [5, 10]), Integer("b", 0, 1)])
    assert len(Region(ranges={"size": (10, 5)}).around(by_size, [0.0, 0.0])) == 2  # two categories, in any order


def test_standard_deviations_are_those_of_the_measure() -> None:
    """Of whole numbers, a measure from data has the data's own."""
    rows = np.array([[0], [0], [1], [9]] * 3)
    uniform, measured = (Domain.from_data(rows, measures=m).features[0] for m in ("uniform", "empirical"))
    assert float(unit_of(uniform, "std")) == pytest.approx(np.sqrt((10**2 - 1) / 12))
    assert float(unit_of(measured, "std")) == pytest.approx(rows.std())


@pytest.mark.parametrize("names", [[1], [None], [["a"]], ["a", 2.5]])
def test_names_of_features_are_text(names: list[Any]) -> None:
    for option in ("frozen", "only_up", "only_down"):
        with pytest.raises(DomainError, match="names of features, which are text"):
            ax.Region(**{option: names})


_ANYWHERE = "age anywhere; income anywhere"
OPEN = {
    "below": ((None, 50), (None, 3), "an integer from 0 to 50", "a number from 0 to 3", "age up to 50; income up to 3"),
    "above": ((7, None), (1, None), "an integer from 7 to 99", "a number from 1 to 10", "age from 7; income from 1"),
    "both": ([None, None], (None,) * 2, "an integer from 0 to 99", "a number from 0 to 10", _ANYWHERE),
}


@pytest.mark.parametrize(("age", "income", "ages", "incomes", "words"), OPEN.values(), ids=OPEN)
def test_an_end_that_is_left_out_is_the_domains(age: Any, income: Any, ages: str, incomes: str, words: str) -> None:
    """As on the command line, and as if it were said."""
    region = Region(ranges={"age": age, "income": income})
    assert _left(region)[:2] == [ages, incomes]
    assert str(region) == words
    assert Region.of_document(region.document()) == region == eval(repr(region))
    ends = {"age": (0, 99), "income": (0, 10)}
    told = {
        name: tuple(own if end is None else end for end, own in zip(given, ends[name], strict=True))
        for name, given in {"age": age, "income": income}.items()
    }
    model = lambda p: (p[0] > 45) + (p[1] > 2.5)  # noqa: E731
    domain = Domain([DOMAIN.features[0], Integer("income", 0, 10)])
    found, expected = (
        ax.Explainer(model, domain, within=Region(ranges=ranges)).explain((40, 2))
        for ranges in ({"age": age, "income": income}, told)
    )
    assert found.cxps == expected.cxps
    assert found.scores() == expected.scores()
    again = ax.Explanation.from_json(found.to_json())
    assert again.cxps == found.cxps
    assert ax.verify(again, model).ok


def test_open_ranges_that_are_refused() -> None:
    missing = Domain([Integer("age", 0, 99, missing=0.5), Integer("job", 0, 1)])
    for domain, ranges, words in (
        (DOMAIN, {"age": (None, -1)}, r"but \(0, -1\) goes from high to low; turn it round"),
        (DOMAIN, {"age": (None, 3)}, "The region leaves out the instance itself, whose 'age' is 40"),
        (DOMAIN, {"age": (None,)}, r"must be \(low, high\), but \(None,\) was given"),
        (DOMAIN, {"age": (None, None, None)}, r"must be \(low, high\), but"),
        (DOMAIN, {"job": (None, None)}, "'job' has no category None"),
        (missing, {"age": (None, None)}, "'age' is missing, outside its range"),
    ):
        with pytest.raises(DomainError, match=words):
            Region(ranges=ranges).around(domain, CODES if domain is DOMAIN else [float("nan"), 0.0])
