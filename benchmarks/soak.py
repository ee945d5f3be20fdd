"""Random problems of every kind against brute force, through every engine and target language.

A problem is one instance of one model: tables, single trees, ensembles, linear models, circuits and
circuits of several classes; classes and regressions; uniform and weighted domains; values on thresholds;
ties. Each is explained through every target (auto, mdd, obdd, sdd, ddnnf), and outputs, CXps, weights
(ratio, count or unit), both AxFi scores and, for some, AXps and another score must equal what a listing of
the whole space says (tests/support/random_problems.py, itself compared with tests/support/oracle.py now and then).

    python benchmarks/soak.py --problems 200000
    python benchmarks/soak.py --seconds 60 --seed 7
    python benchmarks/soak.py --only 12345        # the model of one seed, as a disagreement names it

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.linear_judge import LinearJudge
from tests.support.oracle import Judge, Space
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import KINDS, Answer, Truth, random_plane, random_truth

TARGETS = ("auto", "mdd", "obdd", "sdd", "ddnnf")
NAMES = ("ffa", "wffa", "responsibility", "deegan_packel", "holler_packel")
SCORES = (*NAMES, *(f"{name}_cxp" for name in NAMES), "shapley_shubik", "banzhaf_waxp")
INSTANCES = 24
PLANE, CONSTRAINED = "plane", "constrained"


def kind_of(seed: int) -> str:
    return (*KINDS, PLANE, CONSTRAINED)[seed % (len(KINDS) + 2)]


class Disagreement(Exception):
    """The library and the judge say different things."""


def check(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise Disagreement(f"{what}: found {found!r}, expected {expected!r}")


def masks(explained: Any, names: tuple[str, ...]) -> list[int]:
    position = {name: i for i, name in enumerate(names)}
    return [sum(1 << position[name] for name in one.features) for one in explained]


def check_instance(e: Any, answer: Answer, *, weights: str, others: list[str]) -> None:
    names = e.domain.names
    check("prediction", e.prediction, answer.output)
    found = dict(zip(masks(e.cxps, names), (c.weight for c in e.cxps), strict=True))
    check(f"CXps by {weights}", found, answer.weights(weights))
    check("number of CXps", len(e.cxps), len(answer.ratios))
    for kind in ("shapley", "banzhaf", *others):
        check(kind, list(e.scores(kind).values()), answer.scores(kind, weights))
    if others:
        check("AXps", sorted(masks(e.axps, names)), sorted(answer.axps))


def check_model(truth: Truth, rng: Random) -> int:
    """Explain the instances of a model through every target; return how many there were."""
    answers = [truth.answer(v) for v in truth.instances]
    rows = [dict(zip(truth.domain.names, truth.point(v), strict=True)) for v in truth.instances]
    weights = rng.choice(("ratio", "ratio", "unit", "count") if truth.is_finite else ("ratio", "ratio", "unit"))
    for target in TARGETS:
        try:
            explainer = ax.Explainer(truth.model, truth.domain, delta=truth.delta, weights=weights, target=target)
            batch = explainer.explain_batch(rows, progress=False)
        except ConstantModelError:
            check("the model is constant", truth.is_constant, True)
            continue
        for k, (e, answer) in enumerate(zip(batch, answers, strict=True)):
            others = [rng.choice(SCORES)] if k == 0 or (target == "auto" and k % 5 == 0) else []
            check_instance(e, answer, weights=weights, others=others)
        check_batch(batch, answers, weights)
        check_weak(batch[0], answers[0], rng)
    check_circuit(truth, rng)
    if truth.possible is None and rng.random() < 0.02:
        check_judge(truth, answers[0])
    return len(answers)


def check_batch(batch: Any, answers: list[Answer], weights: str) -> None:
    """Compare the scores that are computed for all instances at once."""
    for kind in ("shapley", "banzhaf"):
        numerators, denominators = batch.score_numerators(kind)
        for row, below, answer in zip(numerators.tolist(), denominators, answers, strict=True):
            check(f"{kind} in a batch", [Fraction(t, below) for t in row], answer.scores(kind, weights))


def check_weak(e: Any, answer: Answer, rng: Random) -> None:
    """Ask about one set of features whether it is a weak CXp."""
    mask, names = rng.randrange(1 << answer.n_features), e.domain.names
    chosen = [name for i, name in enumerate(names) if mask >> i & 1]
    check(f"weak CXp {chosen}", ax.is_wcxp(e.problem, chosen), any(Y & mask == Y for Y in answer.ratios))
    small = ax.find_cxps(e.problem, weights="unit", max_size=2)
    check("small CXps", sorted(masks(small, names)), sorted(Y for Y in answer.ratios if Y.bit_count() <= 2))


def check_circuit(truth: Truth, rng: Random) -> None:
    """Compile one output into one target and measure it."""
    target, output = rng.choice(TARGETS[1:]), rng.choice(truth.existing)[1]
    made = ax.compile_model(truth.model, truth.domain, output=output, delta=truth.delta, target=target)
    check(f"probability in {target}", made.probability(), truth.probability(output))
    if truth.is_finite:
        check(f"count in {target}", made.count(), sum(truth.similar(y, output) for _, y in truth.existing))


def check_judge(truth: Truth, answer: Answer) -> None:
    """Compare the listing of the space with the slow judge, who knows no listing."""
    table = dict(zip(map(truth.point, truth.places), truth.outputs, strict=True))
    judge = Judge(Space(truth.values, truth.measures), table.__getitem__, truth.point(truth.instances[0]), truth.delta)
    slow = {sum(1 << i for i in Y): (judge.ratio(Y), len(judge.covered(Y))) for Y in judge.cxps()}
    check("the judges' CXps", {Y: (w, answer.counts[Y]) for Y, w in answer.ratios.items()}, slow)
    check("the judges' AXps", {sum(1 << i for i in S) for S in judge.axps()}, set(answer.axps))


def check_plane(rng: Random) -> int:
    """Explain a linear model with real features, whose weights are volumes: no target holds it."""
    model, v, delta = random_plane(rng)
    judge, domain = LinearJudge(model, v, delta), model.domain
    try:
        e = ax.Explainer(model, domain, delta=delta).explain(dict(zip(domain.names, v, strict=True)))
    except ConstantModelError:
        check("CXps of a constant model", judge.cxps(), set())
        return 1
    ratios = {sum(1 << i for i in Y): judge.ratio(Y) for Y in judge.cxps()}
    check_instance(e, Answer(judge.output(v), len(domain), ratios, {}), weights="ratio", others=[rng.choice(SCORES)])
    return 1


def check_seed(seed: int) -> tuple[str, int]:
    rng = Random(seed)
    kind = kind_of(seed)
    if kind == PLANE:
        return kind, sum(check_plane(rng) for _ in range(8))
    if kind == CONSTRAINED:
        return kind, check_model(random_constrained(rng, n_instances=INSTANCES), rng)
    return kind, check_model(random_truth(rng, kind, n_instances=INSTANCES), rng)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2_000, help="stop after so many problems [%(default)s]")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--seed", type=int, default=0, help="the first model's seed [%(default)s]")
    parser.add_argument("--only", type=int, metavar="SEED", help="check the model of one seed, and show the error")
    parser.add_argument("--quick", action="store_true", help="500 problems")
    options = parser.parse_args(arguments)
    if options.only is not None:
        kind, number = check_seed(options.only)
        print(f"seed {options.only}: {number} problems of kind {kind!r} agree")
        return 0
    wanted = 500 if options.quick else options.problems
    begin, told, seed = perf_counter(), perf_counter(), options.seed
    problems: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    while sum(problems.values()) < wanted and (options.seconds is None or perf_counter() - begin < options.seconds):
        try:
            kind, number = check_seed(seed)
            problems[kind] += number
        except Exception as error:
            message = str(error) if isinstance(error, Disagreement) else traceback.format_exc(limit=-3)
            wrong.append({"seed": seed, "error": message})
            print(f"seed {seed}: {message}", flush=True)
            problems[kind_of(seed)] += 1
        seed += 1
        if perf_counter() - told > 30:
            told = perf_counter()
            print(f"{sum(problems.values())} problems, {len(wrong)} disagreements, {told - begin:.0f} s", flush=True)
    seconds = perf_counter() - begin
    total, models = sum(problems.values()), seed - options.seed
    print(
        f"{total} problems of {models} models through {len(TARGETS)} targets in {seconds:.0f} s: "
        f"{len(wrong)} disagreements"
    )
    result = {
        "problems": total,
        "models": models,
        "explanations": total * len(TARGETS) - problems[PLANE] * (len(TARGETS) - 1),
        "kinds": dict(problems),
        "seconds": round(seconds, 1),
        "disagreements": wrong,
        "targets": TARGETS,
    }
    print("written:", save("soak", stamp(("numpy", "numba", "dd", "PySDD"), seed=options.seed) | result))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
