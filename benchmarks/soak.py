"""Random problems of every kind against brute force, through every engine and target language.

A problem is one instance of one model in one space. Models are tables, single trees, ensembles, linear models,
circuits, circuits of several classes and networks, classifiers and regressions. Spaces have constraints or none, the
features' own measures or a joint distribution (products, Bayesian networks, mixtures, Chow-Liu trees), missing values,
and regions around the instance (frozen features, ranges, one-way features, balls of two norms). All of these are drawn
independently, so that every two of them meet. Two or three models share each space: they are explained one after the
other, in both orders, and then in turns, a row of each. Each problem is explained as the library itself would and in
one other way (mdd, obdd, sdd, ddnnf, or among a listing of points). Outputs, CXps, weights (ratio, count or unit),
AxFi scores and, for some, AXps, another score, weak CXps, circuits and the precision of a rule must equal what a
listing of the whole space says (tests/support/crossed_problems.py, which shares no code with the engines).

    python benchmarks/soak.py --problems 200000
    python benchmarks/soak.py --problems 100000 --seed 1000000 --save soak-2   # a second core
    python benchmarks/soak.py --seconds 60 --seed 7
    python benchmarks/soak.py --only 12345        # the model of one seed, as a disagreement names it

Stops at the first disagreement, shows the problem, and exits with 1; otherwise says which seed comes next.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from time import perf_counter, process_time
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError, DomainError, SimilarityError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.constrained_judge import random_judge
from tests.support.crossed_problems import Scene, differences, random_scenes
from tests.support.linear_judge import LinearJudge
from tests.support.oracle import Judge, Space
from tests.support.random_problems import KINDS, Answer, Truth, random_plane

TARGETS = ("auto", "mdd", "obdd", "sdd", "ddnnf")
LISTING = "listing"
NAMES = ("ffa", "wffa", "responsibility", "deegan_packel", "holler_packel")
SCORES = (*NAMES, *(f"{name}_cxp" for name in NAMES), "shapley_shubik", "banzhaf_waxp")
INSTANCES = 6
FEW = 3  # instances where each has a model of its own, restricted to a region
PLANE = "plane"
PLANE_EVERY = 20
Counts = Counter[tuple[str, ...]]


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


def smaller(answer: Answer, size: int | None) -> Answer:
    """Return what is left of an answer where only CXps of at most so many features are asked for."""
    if size is None:
        return answer
    kept = [{Y: w for Y, w in some.items() if Y.bit_count() <= size} for some in (answer.ratios, answer.counts)]
    return Answer(answer.output, answer.n_features, *kept)


def check_scene(scene: Scene, rng: Random, ways: tuple[str, ...] = ()) -> tuple[list[str], int]:
    """Explain the instances of a model in its space in some ways, by default in two.

    Returns the ingredients of the problems, and how many there are.
    """
    truth = scene.truth
    instances = truth.instances[: INSTANCES if scene.region is None else FEW]
    answers = [scene.answer(v) for v in instances]
    kinds = ["ratio"] * scene.has_ratios * 3 + ["unit"] + ["count"] * truth.is_finite
    weights, size = rng.choice(kinds), rng.choice((None, None, None, None, 1, 2))
    ways = ways or (TARGETS[0], rng.choice((*TARGETS[1:], LISTING)))
    # Where something around an instance has no probability, the library must say so and not divide by it.
    pairs = [(v, a) for v, (a, empty) in zip(instances, answers, strict=True) if weights != "ratio" or not empty]
    empty = [(v, a) for v, (a, empty) in zip(instances, answers, strict=True) if weights == "ratio" and empty]
    options: dict[str, Any] = {"delta": truth.delta, "weights": weights, "max_size": size, "toward": truth.toward}
    for target in ways:
        if target == LISTING:
            check_listed(scene, instances[0], rng, options)
            continue
        try:
            explainer = ax.Explainer(truth.model, scene.domain, target=target, within=scene.region, **options)
            check_empty(explainer, scene, empty)
            check_explained(explainer, scene, pairs, rng)
        except ConstantModelError:
            check("the model is constant", len(scene.outputs), 1)
    if scene.is_plain and rng.random() < 0.15:
        check_circuit(truth, rng)
        if rng.random() < 0.1:
            check_judge(truth, truth.answer(truth.instances[0]))
    told = [*scene.ingredients, f"weights: {weights}", *(f"target: {way}" for way in ways)]
    return told + ["max_size"] * (size is not None), len(instances)


def check_explained(explainer: Any, scene: Scene, answers: list[tuple[Any, Answer]], rng: Random) -> None:
    """Compare a batch with what is expected; where a region has no probability at all, that may be said instead."""
    pairs = [(v, smaller(a, explainer.max_size)) for v, a in answers if not _is_refused(explainer, scene, v)]
    if not pairs:
        return
    batch = explainer.explain_batch([scene.row(v) for v, _ in pairs], progress=False)
    for k, (e, (_, answer)) in enumerate(zip(batch, pairs, strict=True)):
        others = [rng.choice(SCORES)] if k == 0 and explainer.max_size is None else []
        check_instance(e, answer, weights=explainer.weights, others=others)
    check_batch(batch, [a for _, a in pairs], explainer.weights)
    if rng.random() < 0.25 and explainer.max_size is None:
        check_weak(batch[0], pairs[0][1], rng)


def _is_refused(explainer: Any, scene: Scene, v: Any) -> bool:
    """Tell whether a region without any probability is refused, which it may be; one that has some must not be."""
    if not scene.is_barren(v):
        return False
    try:
        explainer.explain(scene.row(v))
    except DomainError as error:
        if "probability 0" not in str(error):
            raise
        return True
    return False


def check_empty(explainer: Any, scene: Scene, answers: list[tuple[Any, Answer]]) -> None:
    """Check that surroundings without probability are refused, if there is a CXp to be weighed in them."""
    for v, answer in answers:
        sizes = [Y.bit_count() for Y, w in answer.ratios.items() if w < 0]
        if explainer.max_size is not None and min(sizes) > explainer.max_size:
            continue
        try:
            e = explainer.explain(scene.row(v))
        except DomainError as error:
            check("refused for having probability 0", "probability 0" in str(error), True)
        else:
            raise Disagreement(f"{scene.row(v)} has surroundings of probability 0, but these CXps were found: {e.cxps}")


def check_listed(scene: Scene, v: Any, rng: Random, options: dict[str, Any]) -> None:
    """Explain an instance among some of the points around it, given as rows with their outputs."""
    scene, v = scene.seen_from(v)
    truth, there = scene.truth, np.argwhere(scene.inside(v)).tolist()
    places = [*(tuple(p) for p in rng.choices(there, k=rng.randint(1, len(there)))), v]
    rows, outputs = [list(map(_plain, truth.point(p))) for p in places], [truth.output(p) for p in places]
    try:
        e = ax.explain_among(rows, outputs, rows[-1], domain=truth.domain, **options)
    except SimilarityError:
        check("a row has the class that is asked about", truth.toward in outputs, False)
        return
    changed, wrong = differences(scene.shape, v), scene.dissimilar(v)
    moved = [int(changed[p]) for p in places if wrong[p]]
    size = options["max_size"]
    cxps = {Y for Y in moved if not any(T & Y == T != Y for T in moved)}
    ratios, counts = {}, {}
    for Y in cxps:
        if size is None or Y.bit_count() <= size:
            counts[Y] = moved.count(Y)
            ratios[Y] = Fraction(counts[Y], sum(not int(changed[p]) & ~Y for p in places))
    check_instance(e, Answer(truth.output(v), len(v), ratios, counts), weights=options["weights"], others=[])


def _plain(x: Any) -> Any:
    return float(x) if isinstance(x, Fraction) else x


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


def check_cut_plane(rng: Random) -> int:
    """Explain a linear model with real features under constraints: half-spaces over the boxes that these leave."""
    judge = random_judge(rng)
    names, row = judge.domain.names, dict(zip(judge.domain.names, judge.v, strict=True))
    ratios = {Y: judge.ratio(Y) for Y in judge.cxps}
    kind = "unit" if None in ratios.values() else "ratio"  # what surrounds the instance may have no probability
    try:
        e = ax.Explainer(judge.model, judge.domain, delta=judge.delta, weights=kind).explain(row)
    except ConstantModelError:
        check("CXps of a constant model", judge.cxps, [])
        return 1
    known = {Y: ratio or Fraction(0) for Y, ratio in ratios.items()}
    answer = Answer(judge.output, len(names), known, dict.fromkeys(known, 1))
    check_instance(e, answer, weights=kind, others=[rng.choice(SCORES)])
    return 1


def check_in_turns(scenes: list[Scene], rng: Random) -> None:
    """Explain rows of models that share a space in turns, by explainers that all stay, in both orders."""
    posed = [(_explainer(s), s) for s in scenes if len(s.outputs) > 1 and s.has_ratios]
    for k, some in enumerate((posed, posed[::-1])):
        for explainer, scene in some:
            v = scene.truth.instances[k % len(scene.truth.instances)]
            answer, empty = scene.answer(v)
            if not empty and not _is_refused(explainer, scene, v):
                e = explainer.explain(scene.row(v))
                check_instance(e, answer, weights="ratio", others=[])
                check_precision(e, scene, v, rng)


def _explainer(scene: Scene) -> Any:
    truth = scene.truth
    return ax.Explainer(truth.model, scene.domain, delta=truth.delta, toward=truth.toward, within=scene.region)


def check_precision(e: Any, scene: Scene, v: Any, rng: Random) -> None:
    """Ask how probable a similar output is where some features stay, but not all."""
    given = sorted(rng.sample(range(len(v)), rng.randrange(len(v))))
    names, expected = [e.domain.names[i] for i in given], scene.precision(v, given)
    try:
        found = e.precision(names)
    except DomainError as error:
        if "probability 0" not in str(error):
            raise
        check(f"precision of {names}", None, expected)
    else:
        # A value of a real feature has no probability of its own: where the region holds one, it may count as given.
        expected = scene.precision(v, [*given, *scene.pinned(v)]) if expected is None else expected
        check(f"precision of {names}", found, expected)


def kind_of(seed: int) -> str:
    return PLANE if seed % PLANE_EVERY == PLANE_EVERY - 1 else KINDS[seed % len(KINDS)]


def check_seed(seed: int) -> tuple[list[str], int]:
    """Check the model of one seed; return what its problems are made of, and how many there are."""
    rng = Random(seed)
    if kind_of(seed) == PLANE:
        if rng.random() < 0.5:
            return [PLANE, "reals", "constraints", "weights: ratio"], sum(check_cut_plane(rng) for _ in range(4))
        return [PLANE, "reals", "weights: ratio"], sum(check_plane(rng) for _ in range(4))
    scenes = random_scenes(rng, kind_of(seed), n_models=rng.randint(2, 3), n_instances=INSTANCES)
    try:
        told = [check_scene(scene, rng) for scene in (*scenes, *reversed(scenes))][: len(scenes)]
        check_in_turns(scenes, rng)
    except Exception as error:
        error.add_note("\n".join(map(str, scenes)))
        raise
    return list(dict.fromkeys(word for words, _ in told for word in words)), sum(number for _, number in told)


def tell(counts: Counts) -> None:
    """Print how many problems had each ingredient, and each pair of them."""
    names = sorted((key[0] for key in counts if len(key) == 1), key=lambda n: (-counts[(n,)], n))
    for name in names:
        pairs = {other: counts[tuple(sorted((name, other)))] for other in names if other != name}
        met = ", ".join(f"{other} {pairs[other]}" for other in names if pairs.get(other))
        print(f"  {counts[(name,)]:7} {name}: {met}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2_000, help="stop after so many problems [%(default)s]")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--seed", type=int, default=0, help="the first model's seed [%(default)s]")
    parser.add_argument("--only", type=int, metavar="SEED", help="check the model of one seed, and show the error")
    parser.add_argument("--quick", action="store_true", help="500 problems")
    parser.add_argument("--save", default="soak", metavar="NAME", help="the results' name, for runs at a time [soak]")
    options = parser.parse_args(arguments)
    if options.only is not None:
        ingredients, number = check_seed(options.only)
        print(f"seed {options.only}: {number} problems of {', '.join(ingredients)} agree")
        return 0
    wanted = 500 if options.quick else options.problems
    begin, worked, told, seed = perf_counter(), process_time(), perf_counter(), options.seed
    counts: Counts = Counter()
    total, wrong = 0, list[dict[str, Any]]()
    while not wrong and total < wanted and (options.seconds is None or perf_counter() - begin < options.seconds):
        try:
            ingredients, number = check_seed(seed)
            total += number
            for size in (1, 2):
                for some in combinations(sorted(ingredients), size):
                    counts[some] += number
        except Exception:
            wrong.append({"seed": seed, "error": traceback.format_exc(limit=-4)})
            print(f"seed {seed}: {wrong[0]['error']}", flush=True)
        seed += 1
        if perf_counter() - told > 60:
            told = perf_counter()
            print(f"{total} problems, {told - begin:.0f} s, the next seed is {seed}", flush=True)
    seconds, processor = perf_counter() - begin, process_time() - worked
    print(
        f"{total} problems of {seed - options.seed} models in {seconds:.0f} s ({processor:.0f} s of the processor): "
        f"{len(wrong)} disagreements; go on with --seed {seed}"
    )
    tell(counts)
    result = {
        "problems": total,
        "models": seed - options.seed,
        "first": options.seed,
        "next": seed,
        "ingredients": {
            " + ".join(key): n for key, n in sorted(counts.items(), key=lambda item: (len(item[0]), item[0]))
        },
        "seconds": round(seconds, 1),
        "processor": round(processor, 1),
        "disagreements": wrong,
    }
    print("written:", save(options.save, stamp(("numpy", "numba", "dd", "PySDD"), seed=options.seed) | result))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
