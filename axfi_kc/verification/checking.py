"""Checks an explanation against the model it is about, with none of the code that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from math import comb
from random import Random
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.errors import AxfiError
from axfi_kc.verification.allowances import Allowance, Spent
from axfi_kc.verification.checks import Check, Report
from axfi_kc.verification.claims import Claim
from axfi_kc.verification.duality import contained, missed, uncovered
from axfi_kc.verification.games import forest_value, score_by_definition
from axfi_kc.verification.searches import Answer, Searches

__all__ = ["verify"]

_SETS_TRIED = 300  # where completeness is sampled
_CLOSE = Fraction(1, 10**5)  # of a regression's float output, where there is no exact one


def verify(explanation: Any, model: Any, *, budget: Budget | None = None, seed: int = 0) -> Report:
    """Check an explanation against the model itself.

    Nothing that made the explanation is used: points go through the model's own ``predict``; trees and coefficients
    are read anew from the library's dump; sets, weights and scores are checked by methods of their own.

    Parameters
    ----------
    explanation
        What :meth:`Explainer.explain` returned, or what was read from its JSON.
    model
        The model that was explained: of scikit-learn, XGBoost or LightGBM, a Python function, a table or a circuit.
    budget
        ``nodes``: how many points or steps one check may use (20,000 unless given); ``seconds``: for all checks
        together. What they do not suffice for is sampled, and the report says so.
    seed
        Where samples start.

    Returns
    -------
    Report

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
    <Report: proved; 15 proved, 0 sampled, 0 failed; function read through predict alone>
    """
    claim = Claim.of(explanation)
    searches = Searches(claim, model, Allowance.of(budget), seed=seed)
    checks = [
        _prediction(searches),
        *_cxps(searches),
        *_completeness(searches),
        *_weights(searches),
        *_scores(claim),
        *_values(claim),
    ]
    return Report(tuple(checks), type(model).__name__, searches.reading)


def _prediction(searches: Searches) -> Check:
    claim, exact = searches.claim, searches.exact_output
    own = searches.predict(claim.codes[None])[0]
    if claim.delta is None:
        right, method = own == claim.prediction and exact in (None, claim.prediction), "predict at the instance"
    elif exact is not None:
        right = exact == claim.prediction and _is_close(own, exact)
        method = "predict at the instance, and its exact sum"
    else:
        right, method = _is_close(own, claim.prediction), "predict at the instance"
    said = f"predict gives {own!r}, the explanation says {claim.prediction!r}"
    return Check("prediction", (), "proved" if right else "failed", method, 1, "" if right else said)


def _is_close(own: Any, exact: Any) -> bool:
    return abs(Fraction(own) - Fraction(exact)) <= _CLOSE * (1 + abs(Fraction(exact)))


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
        if not answer.found and answer.status == "sampled":
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
    if (codes[outside] == claim.codes[outside]).all() and searches.is_dissimilar(codes):
        return Answer(True, "proved", "predict at the explanation's counterfactual", 1)
    return None


def _completeness(searches: Searches) -> Iterator[Check]:
    """Check that the CXps are minimal, and all there are."""
    claim = searches.claim
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


def _duality(searches: Searches) -> Check:
    claim = searches.claim
    cxps = [claim.mask(s) for s in claim.cxps]
    axps = [claim.mask(s) for s in claim.axps or ()]
    problem = _clash(cxps, axps, claim)
    if problem:
        return Check("duality", (), "failed", "comparison of all pairs of sets", detail=problem)
    searches.allowance.begin()
    method = "decomposition of the two families"
    try:
        found = uncovered(cxps, axps, (1 << len(claim.domain)) - 1, searches.allowance)
    except Spent:
        return Check("duality", (), "sampled", method, searches.allowance.used, "more steps were needed")
    if found is None:
        return Check("duality", (), "proved", method, searches.allowance.used)
    names = ", ".join(claim.domain.names_of(found))
    detail = f"{{{names}}} contains no CXp, and what is outside it contains no AXp"
    return Check("duality", (), "failed", method, searches.allowance.used, detail)


def _clash(cxps: list[int], axps: list[int], claim: Claim) -> str:
    """Return what is wrong with two families at first sight."""
    for what, family in (("CXp", cxps), ("AXp", axps)):
        pair = contained(family)
        if pair is not None:
            small, large = (", ".join(claim.domain.names_of(m)) for m in pair)
            return f"{what} {{{large}}} contains {what} {{{small}}}"
    apart = missed(cxps, axps)
    if apart is None:
        return ""
    cxp, axp = (", ".join(claim.domain.names_of(m)) for m in apart)
    return f"AXp {{{axp}}} does not meet CXp {{{cxp}}}"


def _free_sets(searches: Searches) -> Iterator[Check]:
    """Check that sets without a CXp are no weak CXps: all of the largest size, or some."""
    claim = searches.claim
    m, cxps = len(claim.domain), [claim.mask(s) for s in claim.cxps]
    size = min(claim.max_size or m, m)
    every = comb(m, size) <= _SETS_TRIED and claim.is_bounded
    sets = _all_sets(m, size, cxps) if every else _some_sets(m, size, cxps)
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
            pending += [mask & ~(1 << i) for i in _indices(inside)]


def _some_sets(m: int, size: int, cxps: list[int]) -> Iterator[int]:
    rng = Random(0)  # noqa: S311 - no secret depends on it
    for _ in range(_SETS_TRIED):
        mask = 0
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


def _scores(claim: Claim) -> Iterator[Check]:
    """Check scores and relevance against the claimed CXps and weights."""
    if claim.partial:
        yield Check("score", (), "sampled", "not looked at: there are too many CXps to list")
        return
    for kind, claimed in claim.scores.items():
        right, method = score_by_definition(kind, claim.cxps, claim.domain.names)
        for name in claim.domain.names:
            yield _compared("score", (kind, name), claimed.get(name), right[name], method)
    members: frozenset[str] = frozenset().union(*claim.cxps)
    yield _compared("relevance", _sorted(members, claim), claim.relevant, members, "union of the CXps")


def _values(claim: Claim) -> Iterator[Check]:
    """Check the characteristic function at some sets."""
    if claim.value is None or claim.partial:
        return
    value: Callable[[Iterable[str]], Fraction] = claim.value
    for S in (claim.domain.names, *((name,) for name in claim.domain.names)):
        yield _compared("value", S, value(S), forest_value(claim.cxps, S), "definition")
