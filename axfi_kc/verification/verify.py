"""Checks an explanation against the model it is about, with none of the code that made it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from math import comb, isclose
from random import Random
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, has, whole
from axfi_kc.budget import Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Real
from axfi_kc.domain.from_tables import listing
from axfi_kc.errors import AxfiError, DomainError
from axfi_kc.models.own_predict import Codes, own_probabilities
from axfi_kc.verification.boxes import further_checks
from axfi_kc.verification.changes import changes_report, is_about_space
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.cover_listing import ListedCovers, list_covers, random_prime
from axfi_kc.verification.definitions import (
    KINDS,
    contained,
    forest_value,
    interaction_by_definition,
    missed,
    score_by_definition,
    uncovered,
)
from axfi_kc.verification.possible import violated
from axfi_kc.verification.questions import Answer, Searches, agree
from axfi_kc.verification.regions import region_checks
from axfi_kc.verification.report import Allowance, Check, Report, Spent, Status
from axfi_kc.verification.rows import Rows
from axfi_kc.verification.spaces import apart, float_ends

__all__ = ["verify"]


_BEYOND = 1e-5  # of a feature's width
_SETS_TRIED = 300  # where completeness is sampled
_AMONG_ROWS = "Samples"  # the neutral form of a data set
_SAME = 1e-9  # relative, of a probability: how many rows are asked for at once may change its last digits
_PRIMES = 2
# What a member of a CXp of so many features gets is divided by this.
_PARTS: dict[str, Callable[[int], int]] = {"shapley": lambda size: size, "banzhaf": lambda size: 2 ** (size - 1)}
_COUNTERFACTUALS, _CHANGES = 4, 6  # as many are asked for, and of CXps that are no larger


@checked("budget", "seed")
def verify(explanation: Any, model: Any, *, budget: Budget | None = None, seed: int = 0) -> Report:
    """Check an explanation against the model itself.

    Nothing that made the explanation is used: points go through the model's own ``predict``; trees and coefficients
    are read anew from the library's dump; sets, weights and scores are checked by methods of their own.

    Parameters
    ----------
    explanation
        What :meth:`Explainer.explain` returned, or what was read from its JSON; or what :func:`sensitivity`,
        :func:`robustness` or :func:`fairness` returned.
    model
        The model that was explained: of scikit-learn, XGBoost, LightGBM, CatBoost or interpret, in ONNX, a Python
        function, a table or a circuit. Of an explanation among rows, these: the pair ``(rows, outputs)``.
    budget
        ``nodes``: how many points of the model and how many steps of a proof one check may use (20,000 and 100,000
        unless given); ``seconds``: for all checks together. What they do not suffice for is sampled, and the report
        says so.
    seed
        Where samples start.

    Raises
    ------
    DomainError, UnsupportedModelError
        If the first argument is no explanation, or the second no model.

    Notes
    -----
    If every CXp has a witness, every AXp keeps the output, and the two families are each other's minimal hitting
    sets, then both are minimal and complete.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
    >>> model = lambda p: p[0] == 1 and p[1] > 0
    >>> verify(ax.Explainer(model, domain).explain((1, 2)), model)
    <Report: proved; 51 proved, 0 sampled, 0 failed; function read through predict alone>
    """
    whole(seed, "seed", least=0)
    allowance = Allowance.of(budget)
    if is_about_space(explanation):
        return changes_report(explanation, model, allowance, seed=seed)
    claim = Claim.of(explanation, allowance)
    if getattr(explanation, "model_kind", None) == _AMONG_ROWS:
        return _among_rows(Rows(claim, model, allowance))
    _check_features(model, claim.domain)
    searches = Searches(claim, model, allowance, seed=seed)
    checks = [
        *_instance(claim),
        *region_checks(claim),
        _prediction(searches),
        *_probability(claim, model),
        *_cxps(searches),
        *_completeness(searches),
        *_weights(searches),
        *_scores(searches),
        *_interactions(claim, allowance),
        *_values(claim),
        *_sizes(claim),
        *_counterfactuals(searches),
        *_circuits(searches),
        *further_checks(searches, model),
    ]
    return Report(tuple(checks), type(model).__name__, searches.reading, claim.unchecked)


def _among_rows(rows: Rows) -> Report:
    """Return the checks of an explanation that is about rows alone."""
    claim = rows.claim
    examples = (rows.counterfactual(names) for names in _small_cxps(claim))
    checks = [
        rows.prediction(),
        *rows.checks(),
        *([_duality(rows)] if claim.axps is not None and not claim.is_bounded and not claim.partial else []),
        *_scores(rows),
        *_interactions(claim, rows.allowance),
        *_values(claim),
        *_sizes(claim),
        *(check for check in examples if check is not None),
    ]
    return Report(tuple(checks), "rows", "the rows themselves", claim.unchecked)


def _check_features(model: Any, domain: Domain) -> None:
    """Raise if a neutral model, which knows its features, has others than an explanation."""
    own = model.domain.names if has(model, "domain") and has(model.domain, "names") else domain.names
    if own != domain.names:
        raise DomainError(
            f"The explanation is about {listing(domain.names)}, but the model about {listing(own)}; give the model of "
            "the explanation."
        )


def _instance(claim: Claim) -> Iterator[Check]:
    """Check that the instance is a point that can exist, if not all can."""
    if claim.domain.constraints:
        broken = violated(claim.domain, claim.codes.tolist())
        detail = "" if broken is None else f"it violates: {broken}"
        status: Status = "proved" if broken is None else "failed"
        yield Check("instance", (), status, "the constraints at the instance", 1, detail)


def _prediction(searches: Searches) -> Check:
    claim, exact = searches.claim, searches.exact_output
    own = searches.predict(claim.codes[None])[0]
    # A class is predict's own or it is wrong; a regression's sum may be off by what the library rounds.
    if claim.delta is None:
        right, method = own == claim.prediction and exact in (None, claim.prediction), "predict at the instance"
    elif exact is not None:
        right = exact == claim.prediction and _is_close(own, exact)
        method = "predict at the instance, and its exact sum"
    else:
        right, method = _is_close(own, claim.prediction), "predict at the instance"
    said = f"predict gives {own!r}, the explanation says {claim.prediction!r}"
    if right and claim.toward is not None and claim.toward == own:
        right, said = False, f"predict gives {own!r}, the very class that is asked about"
    return Check("prediction", (), "proved" if right else "failed", method, 1, "" if right else said)


def _probability(claim: Claim, model: Any) -> Iterator[Check]:
    """Check the probability that the explanation says the model gives its prediction."""
    if claim.probability is None:
        return
    asked = own_probabilities(model, claim.domain)
    found = None if asked is None else asked(claim.codes[None])
    if found is None:
        method = "not looked at: this model gives no probabilities"
        yield Check("probability", (), "sampled", method, detail="ask the model that was explained")
        return
    own = found[0].get(claim.prediction)
    right = own is not None and isclose(own, claim.probability, rel_tol=_SAME)
    said = f"predict_proba gives {own!r}, the explanation says {claim.probability!r}"
    status: Status = "proved" if right else "failed"
    yield Check("probability", (), status, "predict_proba at the instance", 1, "" if right else said)


def _is_close(own: Any, exact: Any) -> bool:
    return agree(own, Fraction(exact))


def _sorted(names: Iterable[str], claim: Claim) -> tuple[str, ...]:
    return claim.domain.names_of(claim.mask(names))


def _indices(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _cxps(searches: Searches) -> Iterator[Check]:
    """Check that every CXp has a witness."""
    claim = searches.claim
    for cxp in claim.cxps:
        names = _sorted(cxp, claim)
        answer = searches.look(_indices(claim.mask(cxp)))
        # Also where a proof says that there is none: predict has the last word.
        if not answer.found and not searches.allowance.is_late:
            answer = _from_hint(searches, names) or answer
        if answer.found:
            yield Check("cxp", names, "proved", answer.method, answer.points, answer.detail)
        elif answer.status == "proved":
            yield Check("cxp", names, "failed", answer.method, answer.points, "no point of its box is dissimilar")
        else:
            yield Check("cxp", names, "sampled", answer.method, answer.points, "no witness was found")


def _from_hint(searches: Searches, names: tuple[str, ...]) -> Answer | None:
    """Try the point that the explanation itself suggests; ``predict`` decides."""
    claim = searches.claim
    if claim.hint is None:
        return None
    try:
        codes = claim.domain.encode_point(claim.hint(names).point)
    except AxfiError:
        return None
    outside = [i for i, name in enumerate(claim.domain.names) if name not in names]
    if not apart(codes[outside], claim.codes[outside]).any() and searches.is_dissimilar(codes):
        return Answer(True, "proved", "predict at the explanation's counterfactual", 1)
    return None


def _completeness(searches: Searches) -> Iterator[Check]:
    """Check that the CXps are minimal, and all there are."""
    claim = searches.claim
    # Where all AXps are known duality says it all. Otherwise minimality is checked set by set, and completeness on
    # sets that contain no CXp.
    if claim.axps is not None and not claim.is_bounded and not claim.partial:
        everything = (1 << len(claim.domain)) - 1
        for axp in claim.axps:
            yield _kept("axp", _sorted(axp, claim), everything & ~claim.mask(axp), searches)
        yield _duality(searches)
        return
    for cxp in claim.cxps:
        mask = claim.mask(cxp)
        for i in _indices(mask):
            yield _kept("minimality", _sorted(cxp, claim), mask & ~(1 << i), searches)
    if claim.partial:
        yield Check("completeness", (), "sampled", "not looked at: there are too many CXps to list")
    else:
        yield from _free_sets(searches)


def _kept(kind: str, names: tuple[str, ...], free: int, searches: Searches) -> Check:
    """Check that no point with the given features free is dissimilar."""
    answer = searches.look(_indices(free))
    if answer.found:
        detail = f"dissimilar: {answer.detail}" if answer.detail else "a point is dissimilar"
        return Check(kind, names, "failed", answer.method, answer.points, detail)
    return Check(kind, names, answer.status, answer.method, answer.points, answer.detail)


def _duality(searches: Searches | Rows) -> Check:
    claim = searches.claim
    cxps = [claim.mask(s) for s in claim.cxps]
    axps = [claim.mask(s) for s in claim.axps or ()]
    searches.allowance.begin()
    method = "decomposition of the two families"
    try:
        problem = _clash(cxps, axps, claim, searches.allowance)
        if problem:
            return Check("duality", (), "failed", "comparison of all pairs of sets", detail=problem)
        found = uncovered(cxps, axps, (1 << len(claim.domain)) - 1, searches.allowance)
    except Spent:
        return Check("duality", (), "sampled", method, searches.allowance.used, "more steps or seconds were needed")
    if found is None:
        return Check("duality", (), "proved", method, searches.allowance.used)
    names = ", ".join(claim.domain.names_of(found))
    detail = f"{{{names}}} contains no CXp, and what is outside it contains no AXp"
    return Check("duality", (), "failed", method, searches.allowance.used, detail)


def _clash(cxps: list[int], axps: list[int], claim: Claim, allowance: Allowance) -> str:
    """Return what is wrong with two families at first sight."""
    for what, family in (("CXp", cxps), ("AXp", axps)):
        pair = contained(family, allowance)
        if pair is not None:
            small, large = (", ".join(claim.domain.names_of(m)) for m in pair)
            return f"{what} {{{large}}} contains {what} {{{small}}}"
    apart = missed(cxps, axps, allowance)
    if apart is None:
        return ""
    cxp, axp = (", ".join(claim.domain.names_of(m)) for m in apart)
    return f"AXp {{{axp}}} does not meet CXp {{{cxp}}}"


def _free_sets(searches: Searches) -> Iterator[Check]:
    """Check that sets without a CXp are no weak CXps: all of the largest size, or some."""
    claim = searches.claim
    m, cxps = len(claim.domain), [claim.mask(s) for s in claim.cxps]
    # Freeing more features never makes a point similar, so the largest sets speak for all smaller ones.
    size = m if claim.max_size is None else min(claim.max_size, m)
    every = comb(m, size) <= _SETS_TRIED and claim.is_bounded
    sets = _all_sets(m, size, cxps) if every else _some_sets(m, size, cxps, searches.allowance)
    for mask in sorted(set(sets)):
        yield _kept("completeness", claim.domain.names_of(mask), mask, searches)
    if not every:
        detail = "only some sets of features without a CXp were tried"
        yield Check("completeness", (), "sampled", "random sets of features", _SETS_TRIED, detail)


def _all_sets(m: int, size: int, cxps: list[int]) -> Iterator[int]:
    """Iterate over sets that cover every set of at most `size` features without a CXp."""
    pending = [sum(1 << i for i in chosen) for chosen in combinations(range(m), size)]
    seen: set[int] = set()
    while pending:
        mask = pending.pop()
        if mask in seen:
            continue
        seen.add(mask)
        inside = next((cxp for cxp in cxps if cxp & mask == cxp), None)
        if inside is None:
            yield mask
        else:
            # A part of the set that does not contain this CXp lacks one of its features.
            pending += [mask & ~(1 << i) for i in _indices(inside)]


def _some_sets(m: int, size: int, cxps: list[int], allowance: Allowance) -> Iterator[int]:
    rng = Random(0)  # noqa: S311 - no secret depends on it
    for _ in range(_SETS_TRIED):
        if allowance.is_late:
            return
        mask = 0
        # Grown in random order for as long as no CXp fits in, so nothing larger would do.
        for i in rng.sample(range(m), m):
            grown = mask | 1 << i
            if grown.bit_count() <= size and not any(cxp & grown == cxp for cxp in cxps):
                mask = grown
        yield mask


def _weights(searches: Searches) -> Iterator[Check]:
    claim = searches.claim
    for cxp, claimed in claim.cxps.items():
        names = _sorted(cxp, claim)
        if claim.weights == "unit":
            yield _compared("weight", names, claimed, Fraction(1), "definition")
            continue
        found = searches.weigh(_indices(claim.mask(cxp)), claimed)
        if found.low <= claimed <= found.high:
            yield Check("weight", names, found.status, found.method, found.points, found.detail)
            continue
        detail = f"the explanation says {claimed}; {found.detail or f'found {found.low}'}"
        yield Check("weight", names, "failed", found.method, found.points, detail)


def _compared(kind: str, names: tuple[str, ...], claimed: Any, right: Any, method: str) -> Check:
    if claimed == right:
        return Check(kind, names, "proved", method)
    return Check(kind, names, "failed", method, detail=f"the explanation says {claimed}, but it is {right}")


def _scores(searches: Searches | Rows) -> Iterator[Check]:
    """Check scores, their floats and relevance against the claimed CXps, AXps and weights."""
    claim, late = searches.claim, searches.allowance.is_late
    axps = None if claim.is_bounded else claim.axps
    if claim.partial:
        yield from _unlisted(searches)
        return
    for kind, claimed in claim.scores.items():
        found = score_by_definition(kind, claim.cxps, claim.domain.names, axps, hurry=late)
        if found is None:
            why = "its AXps or coalitions are too many" if kind in KINDS else "no score of that name is known"
            yield Check("score", (kind,), "sampled", f"not looked at: {why}")
            continue
        for name in claim.domain.names:
            yield _compared("score", (kind, name), claimed.get(name), found[0][name], found[1])
        for name in sorted(claimed.keys() - set(claim.domain.names)):
            yield Check("score", (kind, name), "failed", "comparison of names", detail="there is no such feature")
    yield from _floats(claim)
    members: frozenset[str] = frozenset().union(*claim.cxps)
    yield _compared("relevance", _sorted(members, claim), claim.relevant, members, "union of the CXps")


def _unlisted(searches: Searches | Rows) -> Iterator[Check]:
    """Check number and scores of CXps that are too many to list: those of linear models are listed in bulk."""
    claim, form, rng = searches.claim, searches.linear_form, Random(searches.seed)  # noqa: S311
    tries = [] if form is None or claim.is_bounded else [random_prime(rng) for _ in range(_PRIMES)]
    found = [list_covers(form, claim, prime, searches.allowance) for prime in tries if form is not None]
    known = [listed for listed in found if listed is not None]
    if not known:
        yield Check("score", (), "sampled", "not looked at: there are too many CXps to list")
        return
    method = f"all CXps listed, their weights modulo {_PRIMES} random primes"
    if "cxp" in claim.sizes:
        yield _compared("size", ("cxp",), claim.sizes["cxp"], known[0].sizes, "all CXps listed")
    members = frozenset(claim.domain.names_of(known[0].members))
    yield _compared("relevance", _sorted(members, claim), claim.relevant, members, "all CXps listed")
    for kind in (kind for kind in claim.scores if kind in _PARTS):
        for i, name in enumerate(claim.domain.names):
            claimed = claim.scores[kind].get(name)
            right = claimed is not None and all(_agrees(claimed, kind, i, listed) for listed in known)
            said = "" if right else "what the explanation says is not the sum over the CXps"
            # To be right by chance modulo primes drawn at random is most unlikely, but it is no proof.
            status: Status = "sampled" if right else "failed"
            yield Check("score", (kind, name), status, method, sum(known[0].sizes.values()), said)


def _agrees(claimed: Fraction, kind: str, i: int, listed: ListedCovers) -> bool:
    """Tell whether a score is the sum of its parts modulo the prime of a list."""
    p, n = listed.prime, sum(listed.sizes.values())
    if not claimed.denominator % p or not n % p:
        return True  # nothing can be said modulo this prime
    parts = (row[i] * pow(_PARTS[kind](size), -1, p) for size, row in listed.sums.items())
    return (claimed.numerator * n - sum(parts) * claimed.denominator) % p == 0


def _interactions(claim: Claim, allowance: Allowance) -> Iterator[Check]:
    """Check the interactions of two features against the claimed CXps and weights."""
    for kind, claimed in claim.interactions.items():
        right = None if allowance.is_late else interaction_by_definition(kind, claim.cxps)
        if right is None:
            why = "the seconds are over" if allowance.is_late else "no interaction of that name is known"
            yield Check("interaction", (kind,), "sampled", f"not looked at: {why}")
            continue
        wrong = next((pair for pair in right.keys() | claimed.keys() if claimed.get(pair) != right.get(pair)), None)
        if wrong is None:
            yield Check("interaction", (kind,), "proved", "definition")
            continue
        said = f"the explanation says {claimed.get(wrong, 0)}, but it is {right.get(wrong, 0)}"
        yield Check("interaction", (kind, *_sorted(wrong, claim)), "failed", "definition", detail=said)


def _floats(claim: Claim) -> Iterator[Check]:
    """Check that the floats a file states are the nearest to its exact scores."""
    for kind, near in claim.floats.items():
        exact = claim.scores.get(kind, {})
        for name in dict.fromkeys((*claim.domain.names, *near)):
            right = _nearest(exact[name]) if name in exact else None
            yield _compared("float", (kind, name), near.get(name), right, "rounding of the exact score")


def _nearest(number: Fraction) -> float | None:
    """Return the float64 next to a number; None beyond them all."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return None


def _sizes(claim: Claim) -> Iterator[Check]:
    """Check how many sets of each size there are said to be, and so the least size."""
    families = {"cxp": claim.cxps.keys(), "axp": claim.axps}
    for kind, claimed in claim.sizes.items() if not claim.partial else ():
        family = families[kind]
        if family is not None:
            right = dict(sorted(Counter(map(len, family)).items()))
            yield _compared("size", (kind,), dict(sorted(claimed.items())), right, "count of the listed sets")


def _small_cxps(claim: Claim) -> Iterator[tuple[str, ...]]:
    """Iterate over the names of a few small CXps."""
    small = sorted((cxp for cxp in claim.cxps if len(cxp) <= _CHANGES), key=lambda c: (len(c), sorted(c)))
    return (_sorted(cxp, claim) for cxp in small[:_COUNTERFACTUALS])


def _circuits(searches: Searches) -> Iterator[Check]:
    """Check the circuits of the adversarial examples of some CXps, where every combination of cells can be asked."""
    claim = searches.claim
    for names in _small_cxps(claim):
        if searches.allowance.is_late or claim.circuit is None:
            return
        try:
            circuit = claim.circuit(names).circuit
        except AxfiError:  # some models have none, and a budget may not suffice
            continue
        found = searches.differs(_indices(claim.mask(names)), circuit)
        if found is not None:
            said = f"the circuit is wrong at {found[0]}" if found[0] else ""
            status: Status = "failed" if said else "proved"
            yield Check("circuit", names, status, "predict at every combination of cells", found[1], said)


def _counterfactuals(searches: Searches) -> Iterator[Check]:
    """Check the counterfactuals of some CXps: where they are, what the model says there, and how far that is."""
    claim = searches.claim
    for names in _small_cxps(claim):
        if searches.allowance.is_late or claim.hint is None:
            return
        try:
            found = claim.hint(names)
        except AxfiError as error:
            yield Check("counterfactual", names, "sampled", "not looked at: there is none", detail=str(error))
            continue
        try:
            codes = claim.domain.encode_point(found.point)
        except AxfiError as error:
            yield Check("counterfactual", names, "failed", "the domain at the point", detail=str(error))
            continue
        wrong = _wrong(found, codes, searches.outputs(codes), claim, names)
        # A nearest point may lie on a boundary that only exact arithmetic sees. Where nothing exact was read, predict
        # is asked a little further on.
        if wrong and searches.is_inexact:
            both = [*searches.outputs(codes), *searches.outputs(_further(codes, claim))]
            if not _wrong(found, codes, both, claim, names):
                yield Check("counterfactual", names, "sampled", "predict at the point, and a little beyond", 2, wrong)
                continue
        yield Check("counterfactual", names, "failed" if wrong else "proved", "predict at the point", 1, wrong)


def _further(codes: Codes, claim: Claim) -> Codes:
    """Return a point a little further from the instance, by more than a library rounds, where real features moved."""
    found = codes.copy()
    for i, feature in enumerate(claim.domain.features):
        start, end = float(claim.codes[i]), float(codes[i])
        if isinstance(feature, Real) and start != end and not np.isnan(start) and not np.isnan(end):
            step = _BEYOND * float(feature.high - feature.low)
            found[i] = np.clip(end + math.copysign(step, end - start), *float_ends(feature))
    return found


def _wrong(found: Any, codes: Codes, own: list[Any], claim: Claim, names: tuple[str, ...]) -> str:
    """Return what is wrong with a counterfactual, where the model says `own`."""
    domain = claim.domain
    moved = np.flatnonzero(apart(codes, claim.codes)).tolist()
    values = domain.decode(codes)
    changes = {n: (claim.instance[n], values[i]) for i, n in enumerate(domain.names) if n in names}
    widths = (claim.whole or domain).features  # a region leaves less of the domain, but measures with all of it
    distance = sum((_moved(widths[i], claim.codes[i], codes[i]) for i in moved), Fraction(0))
    broken = violated(domain, codes.tolist())
    if broken is not None:
        return f"it cannot exist, because it violates: {broken}"
    if not {domain.names[i] for i in moved} <= set(names):
        return "it changes features outside the CXp"
    if all(map(claim.is_similar, own)) or claim.is_similar(found.output):
        return f"it is no counterfactual: predict gives {own[0]!r}"
    if not any(y == found.output if claim.delta is None else _is_close(y, found.output) for y in own):
        return f"predict gives {own[0]!r}, the counterfactual says {found.output!r}"
    if dict(found.changes) != changes:
        return f"the changes are {changes}, the counterfactual says {found.changes}"
    return "" if found.distance == distance else f"the distance is {distance}, the counterfactual says {found.distance}"


def _moved(feature: Feature, start: float, end: float) -> Fraction:
    """Return how far a feature moved: as a share of its width, or 1 for another category, to or from missing."""
    if isinstance(feature, Categorical) or np.isnan(start) or np.isnan(end):
        return Fraction(1)
    return abs(Fraction(float(end)) - Fraction(float(start))) / Fraction(feature.high - feature.low)


def _values(claim: Claim) -> Iterator[Check]:
    """Check the characteristic function at some sets."""
    if claim.value is None or claim.partial:
        return
    value: Callable[[Iterable[str]], Fraction] = claim.value
    for S in (claim.domain.names, *((name,) for name in claim.domain.names)):
        yield _compared("value", S, value(S), forest_value(claim.cxps, S), "definition")
