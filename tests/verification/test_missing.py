"""The checker where values may be missing: its pieces, its own reading of where they go, proofs, files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models.own_predict import predictor
from axfi_kc.verification import Claim
from axfi_kc.verification.linear_proofs import LinearProofs
from axfi_kc.verification.reading import form_of
from axfi_kc.verification.reading.forms import LinearForm, OwnTree, Rule, TreeForm
from axfi_kc.verification.report import Allowance
from axfi_kc.verification.spaces import Space, apart, draw, pieces_of, single_precision, values_of
from tests.support.alterations import OF_THE_MODEL, added, heavier, scored
from tests.support.more_kinds import NAMES, kind
from tests.support.oracle import Judge, space_of
from tests.support.random_problems import KINDS, random_truth

BOUNDS = [(Fraction(1), True), (Fraction(2), False)]
FEATURES = (
    ax.Real("r", 0, 3, missing=Fraction(1, 7)),
    ax.Real("r", 0, 3, histogram=ax.Histogram(edges=[0, 1, 3], weights=[3, 1]), missing=Fraction(1, 7)),
    ax.Real("r", 1, 1, missing=Fraction(1, 7)),
    ax.Integer("i", 0, 3, missing=Fraction(1, 7)),
    ax.Integer("i", 0, 3, weights=[1, 2, 3, 4], missing=Fraction(1, 7)),
    ax.Categorical("c", "xyz", weights=[1, 2, 3], missing=Fraction(1, 7)),
)


@pytest.mark.parametrize("feature", FEATURES)
def test_what_is_missing_is_a_piece_of_its_own(feature: Any) -> None:
    pieces = pieces_of(feature, BOUNDS)
    *others, last = pieces
    assert (last.number, last.share) == (None, Fraction(1, 7))
    assert math.isnan(last.code or 0.0)
    plain = pieces_of(_never(feature), BOUNDS)
    assert [p.share for p in others] == [p.share * Fraction(6, 7) for p in plain]
    assert [(p.number, p.code, p.count) for p in others] == [(p.number, p.code, p.count) for p in plain]
    if not isinstance(feature, ax.Real):
        assert sum(p.count or 0 for p in pieces) == values_of(feature) == feature.size


def _never(feature: Any) -> Any:
    """Return a feature that is never missing."""
    if isinstance(feature, ax.Categorical):
        return ax.Categorical(feature.name, feature.values, weights=feature.measure)
    if isinstance(feature, ax.Integer):
        given = feature.measure if isinstance(feature.measure, ax.Weights) else None
        return ax.Integer(feature.name, feature.low, feature.high, weights=given)
    given = feature.measure if isinstance(feature.measure, ax.Histogram) else None
    return ax.Real(feature.name, feature.low, feature.high, histogram=given)


def test_a_piece_without_a_float_is_not_a_missing_one() -> None:
    tiny = Fraction(1, 2**1080)
    domain = Domain([ax.Real("r", 0, 1, missing=Fraction(1, 2))])
    claim = Claim(domain, {"r": None}, 0, None, "ratio", None, {}, None, {}, frozenset())
    space = Space.of(claim, [{(tiny, True), (2 * tiny, True)}])
    assert [piece.code is None for piece in space.pieces[0]] == [False, True, False, False]
    assert space.home == (3,)
    assert not space.has_floats((0,))
    assert np.isnan(np.concatenate([codes for codes, _ in space.blocks((0,))])).sum() == 1
    assert Space.of(claim, [set()]).has_floats((0,))


def test_points_are_missing_as_often_as_the_domain_says() -> None:
    rng = np.random.default_rng(0)
    domain = Domain([replaced(feature, f"f{i}") for i, feature in enumerate(FEATURES)])
    codes = draw(domain, np.full(len(domain), np.nan), tuple(range(len(domain))), 4000, rng)
    assert (abs(np.isnan(codes).mean(axis=0) - 1 / 7) < 0.03).all()
    even = draw(domain, np.full(len(domain), np.nan), (3, 5), 4000, rng, even=True)
    assert abs(np.isnan(even[:, 3]).mean() - 1 / 5) < 0.03
    assert abs(np.isnan(even[:, 5]).mean() - 1 / 4) < 0.03
    assert not apart(codes, codes).any()
    assert apart(np.array([np.nan, 1.0]), np.array([1.0, np.nan])).all()


def replaced(feature: Any, name: str) -> Any:
    if isinstance(feature, ax.Categorical):
        return ax.Categorical(name, feature.values, missing=feature.missing)
    return type(feature)(name, feature.low, feature.high, missing=feature.missing)


def test_infinite_thresholds_set_missing_values_apart() -> None:
    largest = Fraction(float(np.finfo(np.float64).max))
    assert single_precision(math.inf, strict=False) == (largest, True)
    assert single_precision(-math.inf, strict=False) == (-largest, False)
    table = np.array([[0, 0], [1, 1], [2, 0], [3, 1], [np.nan, 0], [np.nan, 1]])
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(random_state=0).fit(table, [0, 1, 0, 1, 2, 2])
    assert np.isinf(tree.tree_.threshold).any()
    domain = Domain([ax.Integer("a", 0, 3, missing=0.25), ax.Integer("b", 0, 1)])
    for v in domain.points():
        report = ax.verify(ax.Explainer(tree, domain).explain(v), tree)
        assert report.complete, str(report)


ONLY_CELLS = (
    *("function", "neutral trees", "explainable boosting", "catboost categories", "bagging", "threshold"),
    *("calibrated", "isolation forest"),
)
READ = tuple(name for name in NAMES if ("gaps" in name or "imputed" in name) and not name.startswith(ONLY_CELLS))


@pytest.mark.parametrize("name", READ)
def test_where_missing_values_go_is_read_as_the_library_has_it(name: str) -> None:
    made = kind(name)
    form = form_of(made.model, made.domain)
    assert isinstance(form, TreeForm | LinearForm)
    rng = np.random.default_rng(1)
    codes = draw(made.domain, made.domain.encode_point(made.rows[0]), tuple(range(len(made.domain))), 400, rng)
    codes[(rng.random(codes.shape) < 0.3) & [bool(f.missing) for f in made.domain.features]] = np.nan
    own = predictor(made.model, made.domain)(codes)
    exact = [form.output(row, made.domain) for row in codes.tolist()]
    if made.delta is None:
        assert exact == own
    else:
        assert np.allclose([float(y) for y in exact], own, rtol=1e-5, atol=1e-6)


def test_a_dump_that_disagrees_about_missing_values_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kind("xgboost with gaps")
    domain = Domain([type(f)(f.name, f.low, f.high, missing=Fraction(1, 10**6)) for f in made.domain.features])
    claim = Claim.of(ax.Explainer(made.model, domain).explain(made.rows[0]))
    assert ax.verify(claim, made.model).complete
    straight = OwnTree.sends_left

    def turned(self: OwnTree, node: int, entry: Any) -> bool:
        return straight(self, node, entry) != (isinstance(entry, float) and math.isnan(entry))

    monkeypatch.setattr(OwnTree, "sends_left", turned)
    report = ax.verify(claim, made.model)
    assert report.reading == "predict alone"
    assert report.ok, str(report)


@pytest.mark.parametrize("made", KINDS)
def test_random_problems_with_missing_values_are_proved_and_no_alteration_passes(made: str) -> None:
    rng, tried = Random(f"gaps {made}"), 0
    while tried < 12:
        truth = random_truth(rng, made, n_instances=2)
        if not any(f.missing for f in truth.domain.features) or truth.is_constant:
            continue
        v = truth.instances[0]
        weights = rng.choice(("ratio", "count")) if truth.is_finite else "ratio"
        explainer = ax.Explainer(truth.model, truth.domain, delta=truth.delta, weights=weights)
        claim = Claim.of(explainer.explain(truth.point(v)))
        right = {frozenset(truth.domain.names_of(Y)): w for Y, w in truth.answer(v).weights(weights).items()}
        assert claim.cxps == right
        report = ax.verify(claim, truth.model)
        assert report.complete, str(report)
        for k, alter in enumerate((*OF_THE_MODEL, scored) if claim.cxps else (added, scored)):
            assert not ax.verify(alter(claim, Random(k)), truth.model).ok, alter.__name__
        tried += 1


@pytest.mark.parametrize("seed", range(30))
def test_linear_scores_with_missing_values_are_proved(seed: int) -> None:
    rng = Random(seed)
    domain = Domain(
        [
            ax.Real("r", -1, 2, missing=Fraction(1, 3)),
            ax.Integer("i", 0, 2, missing=Fraction(1, rng.randint(2, 5))),
            ax.Categorical("c", "xy", weights=[1, 2], missing=Fraction(1, 4)),
        ]
    )

    def number() -> Fraction:
        return Fraction(rng.randint(-6, 6), 2)

    table = ((number(),), (number(),))
    slopes: Any = ((rng.choice((Fraction(-2), Fraction(2))),), (number(),), None)
    absent = ((number(),), (number(),), (number(),))
    form = LinearForm(slopes, (None, None, table), (number(),), Rule("above", (0, 1)), absent)
    rows: list[dict[Any, Fraction]] = [
        {},
        {k: slopes[1][0] * k for k in range(3)},
        {"x": table[0][0], "y": table[1][0]},
    ]

    def score(point: tuple[Any, ...]) -> Fraction:
        r, *rest = point
        total = form.base[0] + (absent[0][0] if r is None else slopes[0][0] * Fraction(r))
        for i, value in enumerate(rest, start=1):
            total += absent[i][0] if value is None else rows[i][value]
        return total

    others = product([0, 1, 2, None], ["x", "y", None])
    cuts = [-score((0, *rest)) / slopes[0][0] for rest in others]  # where the plane meets the one real feature
    space = space_of(domain, [list(map(float, cuts)), (), ()])
    place = tuple(rng.choice(row) for row in space.values)
    judge = Judge(space, lambda x: int(score(x) > 0), place)
    claim = _claim(domain, place, judge)
    proofs, allowance = LinearProofs(form, claim), Allowance.of(None)
    for S in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        box = frozenset(S)
        found = proofs.find(S, allowance)
        assert (found is not None) == judge.is_wcxp(box)
        if found is not None:
            assert judge.dissimilar(domain.decode(proofs.codes(found)))
        assert proofs.weigh(S, allowance) == judge.ratio(box)


def _claim(domain: Domain, place: tuple[Any, ...], judge: Judge) -> Claim:
    instance = {n: float(x) if isinstance(x, Fraction) else x for n, x in zip(domain.names, place, strict=True)}
    return Claim(domain, instance, judge.model(place), None, "ratio", None, {}, None, {}, frozenset())


@pytest.mark.parametrize("name", ["xgboost with gaps", "histograms of words with gaps", "function with gaps"])
def test_saved_explanations_with_missing_values(name: str) -> None:
    made = kind(name)
    for number in range(2):
        saved = ax.SavedExplanation.from_json(made.explain(number).to_json())
        report = ax.verify(saved, made.model)
        assert report.complete, str(report)
        document = json.loads(made.explain(number).to_json())
        for entry in document["domain"]:
            entry |= {"missing": "1/1000"} if "missing" in entry else {}
        document["axps"], document["scores"] = None, {}
        altered = ax.verify(ax.SavedExplanation.from_dict(document), made.model)
        assert {check.kind for check in altered.failed} == {"weight"}


@pytest.mark.parametrize(("name", "file"), [("xgboost with gaps", "m.json"), ("lightgbm with gaps", "m.txt")])
def test_the_command_takes_results_with_missing_values(name: str, file: str, tmp_path: Path) -> None:
    made = kind(name)
    if name.startswith("xgboost"):
        model = made.model.get_booster()
        made.model.save_model(tmp_path / file)
    else:
        model = made.model.booster_
        model.save_model(tmp_path / file)
    ax.Explainer(model, made.domain).explain_to(tmp_path / "results.jsonl", made.rows)
    assert any("null" in line for line in (tmp_path / "results.jsonl").read_text().splitlines())
    assert main(["verify", str(tmp_path / "results.jsonl"), str(tmp_path / file)]) == 0
    text = ax.Explainer(model, made.domain).explain(made.rows[1]).to_json()
    document = json.loads(text)
    document["cxps"][0]["weight"], document["scores"] = "1/977", {}
    (tmp_path / "altered.json").write_text(json.dumps(document))
    assert main(["verify", str(tmp_path / "altered.json"), str(tmp_path / file)]) == 1


def test_a_share_left_out_of_a_weight_is_found() -> None:
    made = kind("lightgbm with gaps")
    claim = Claim.of(made.explain(0))
    for cxp in claim.cxps:
        there = math.prod(1 - f.missing for f in made.domain.features if f.name in cxp)
        wrong = {**claim.cxps, cxp: claim.cxps[cxp] / there}
        report = ax.verify(replace(claim, cxps=wrong), made.model)
        assert "weight" in {check.kind for check in report.failed}


def test_counterfactuals_to_and_from_missing_values_are_one_apart() -> None:
    domain = Domain([ax.Integer("a", 0, 4, missing=0.5), ax.Integer("b", 0, 1)])

    def absent(point: tuple[Any, ...]) -> bool:
        return point[0] is None

    for v in ((2, 0), (None, 1)):
        claim = Claim.of(ax.Explainer(absent, domain).explain(v))
        assert ax.verify(claim, absent).complete
        found = claim.hint(("a",))  # type: ignore[misc]
        assert found.distance == 1
        nearer = replace(claim, hint=lambda names, found=found: replace(found, distance=Fraction(1, 2)))
        assert "counterfactual" in {check.kind for check in ax.verify(nearer, absent).failed}
        assert not ax.verify(heavier(claim, Random(0)), absent).ok
    report = ax.verify(ax.Explainer(absent, domain).explain((2, 0)), absent)
    assert "a missing" in {check.detail for check in report.checks if check.kind == "cxp"}


def test_libraries_that_refuse_missing_values_are_left_to_their_predict() -> None:
    made = kind("boosted")
    domain = Domain([type(f)(f.name, f.low, f.high, missing=Fraction(1, 9)) for f in made.domain.features])
    assert [form_of(kind(name).model, domain) for name in ("boosted", "linear", "neutral linear")] == [None] * 3
    claim = replace(Claim.of(made.explain(0)), domain=domain)
    with pytest.raises(UnsupportedModelError, match="NaN"):
        ax.verify(claim, made.model)
