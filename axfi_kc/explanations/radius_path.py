"""What happens as the radius around an instance grows: when CXps appear, when smaller ones take their place.

The sets that suffice within a radius only become more as it grows. They change next at the least reach of a set that
does not suffice yet; the largest of those sets are the complements of the AXps. So each step asks for the reach of the
complement of each AXp, and explains the instance within the least of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, BudgetSpent
from axfi_kc.domain.measures import Number, amount, counted, exact
from axfi_kc.domain.region import Reach, Region
from axfi_kc.engines import Engine, Found, engine_through
from axfi_kc.engines.found import masks_of_words
from axfi_kc.engines.regional import RegionEngine
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.explanations.cxps import CXp
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.notebook_html import path_html
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.radius import Radius, Reaches, measured, reaches_of, replace_radius
from axfi_kc.explanations.space import Space
from axfi_kc.explanations.tables import pandas_for
from axfi_kc.families.masks import minimal_hitting_sets, sorted_sets
from axfi_kc.models import Model
from axfi_kc.models.own_predict import OwnProbabilities

if TYPE_CHECKING:
    import pandas as pd

    from axfi_kc.explanations.explainer import Explainer

__all__ = ["RadiusPath", "RadiusStep", "radius_path"]


_MOST_NAMED = 3  # CXps in a line
_UNITS = {"value": "in values", "range": "in ranges", "std": "in standard deviations of measures"}
_FAR = {"linf": "how far each feature may go", "l1": "how far all features together may go"}


@dataclass(frozen=True, slots=True, repr=False)
class RadiusStep:
    """Radii within which the CXps are the same.

    Attributes
    ----------
    start
        The least of them.
    is_open
        Whether `start` itself is not one of them: the nearest point lies on an open end.
    end
        Where the CXps change next; None: nowhere, or not as far as was looked.
    at
        The radius of `explanation`: `start`; half-way to the end if the start is open.
    explanation
        The instance explained within that radius.
    appeared, vanished
        The CXps that are new, and those that a smaller one has replaced.
    """

    start: Radius
    is_open: bool
    end: Radius | None
    at: Radius
    explanation: Explanation
    appeared: tuple[tuple[str, ...], ...]
    vanished: tuple[tuple[str, ...], ...]

    @property
    def cxps(self) -> tuple[CXp, ...]:
        """The CXps, with their weights at the radius `at`."""
        return tuple(self.explanation.cxps)

    def __repr__(self) -> str:
        """Return from where to where it goes, and which CXps are new and which are replaced, a few of each."""
        count = counted(self.explanation.cxp_count, "CXp")
        changes = [f"{_listed(sets)} {what}" for sets, what in ((self.appeared, "new"), (self.vanished, "replaced"))]
        told = ", ".join(change for change, sets in zip(changes, (self.appeared, self.vanished), strict=True) if sets)
        return f"<RadiusStep: {self.words}, {count}{f': {told}' if told else ''}>"

    @property
    def words(self) -> str:
        """From where to where it goes, in words, rounded."""
        return f"{'beyond' if self.is_open else 'from'} {amount(self.start)} {_until(self.end)}"


def _until(end: Fraction | None) -> str:
    return "on" if end is None else f"to {amount(end)}"


def _listed(sets: Sequence[tuple[str, ...]]) -> str:
    listed = ", ".join("{" + ", ".join(features) + "}" for features in sets[:_MOST_NAMED])
    return listed if len(sets) <= _MOST_NAMED else f"{listed} and {len(sets) - _MOST_NAMED} more"


@dataclass(frozen=True, eq=False)
class RadiusPath(Sequence[RadiusStep]):
    """All radii at which the CXps of an instance change; a sequence of steps.

    Attributes
    ----------
    steps
        The radii between two changes, from 0 on.
    region
        How distances are measured.
    up_to
        The largest radius looked at; None: any.
    is_complete
        False if the budget was spent: what lies beyond the last step's start is then not known.
    """

    steps: tuple[RadiusStep, ...]
    region: Region
    up_to: Fraction | None
    is_complete: bool
    _search: _Search = field(repr=False)

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.steps)

    def __getitem__(self, k: Any) -> Any:
        """Return a step, or several."""
        return self.steps[k]

    def __iter__(self) -> Iterator[RadiusStep]:
        """Iterate over the steps."""
        return iter(self.steps)

    def __repr__(self) -> str:
        """Return the number of changes, where the first one is, and the space in a few words."""
        known = "" if self.is_complete else ", not complete"
        first = next((step for step in self.steps if step.cxps), None)
        least = "" if first is None else f", first CXp at {amount(first.start)}"
        measured = f"{self.region.norm}, {_UNITS[self.region.unit]}"
        said = f"{counted(len(self.steps), 'step')} ({measured}){least}{known}"
        return f"<RadiusPath: {self.space.after(said)}>"

    def _repr_html_(self) -> str:
        """Return a table of the steps, for notebooks."""
        return path_html(self)

    @property
    def space(self) -> Space:
        """What there is to say of the points that count, but for the radius, which is that of each step."""
        return replace(Space.of(self.steps[0].explanation), region=None if self.region.is_everywhere else self.region)

    @property
    def measure(self) -> str:
        """What a radius of the path is, in words."""
        return f"{_FAR[self.region.norm]} ({self.region.norm}), {_UNITS[self.region.unit]}"

    @property
    def radii(self) -> list[Radius]:
        """The radii at which the CXps change."""
        return [step.start for step in self.steps[1:]]

    @property
    def least(self) -> Radius | None:
        """The least radius at which there is a CXp; None if there is none as far as was looked."""
        return next((step.start for step in self.steps if step.explanation.cxp_count), None)

    def at(self, radius: Number) -> Explanation:
        """Return the instance explained within any radius, exactly."""
        return self._search.explained(exact(radius, "radius"), self._search.budget)

    @checked("exact")
    def to_frame(self, kind: str = "shapley", *, exact: bool = False) -> pd.DataFrame:
        """Return a row per step: where it starts and ends, how many CXps there are, and each feature's score."""
        pd = pandas_for("A table of radii")
        rows = []
        for step in self.steps:
            plain = {"start": step.start, "end": step.end, "at": step.at}
            numbers = plain if exact else {k: None if r is None else float(r) for k, r in plain.items()}
            scores = step.explanation.scores(kind)
            shown = scores if exact else {name: float(score) for name, score in scores.items()}
            rows.append({**numbers, "is_open": step.is_open, "cxps": step.explanation.cxp_count, **shown})
        return pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="step"))


@checked("norm", "unit", "weights", "budget")
def radius_path(
    explainer: Explainer,
    x: Any,
    *,
    norm: str | None = None,
    unit: str | None = None,
    weights: Mapping[str, Number] | None = None,
    up_to: Number | None = None,
    budget: Budget | None = None,
) -> RadiusPath:
    """Return all radii at which the CXps of an instance change, with the CXps and the scores between them.

    Parameters
    ----------
    explainer
        What explains the model.
    x
        The instance.
    norm, unit, weights
        How distances are measured, see :class:`~axfi_kc.domain.region.Region`; by default as the explainer's region
        does, else the largest change of a feature in its own unit, as in :func:`~axfi_kc.Explanation.critical_radius`.
    up_to
        The largest radius to look at; None: any.
    budget
        What the whole path may cost; by default the explainer's. When it is spent, the path ends with what is certain.

    Raises
    ------
    DomainError
        If the explainer limits the size of CXps, since a path follows all of them, or has a radius of its own; if
        `up_to` is negative; and as for :meth:`axfi_kc.Explainer.explain`.
    BudgetError
        If the budget was spent before anything was known.

    Notes
    -----
    Per step one explanation, and a search for each AXp. As the radius grows a CXp vanishes when one of its subsets
    appears. Between two changes the ratios of real features still change with the radius, continuously: scores of a
    step are those at its radius `at`; ask :meth:`RadiusPath.at` for those at any other.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9)])
    >>> explainer = ax.Explainer(lambda p: p[0] + p[1] > 6, domain)
    >>> path = radius_path(explainer, (2, 2))
    >>> [(str(step.start), [c.features for c in step.cxps]) for step in path]
    [('0', []), ('2', [('a', 'b')]), ('3', [('a',), ('b',)])]
    >>> path, path[1]
    (<RadiusPath: 3 steps (linf, in values), first CXp at 2>, <RadiusStep: from 2 to 3, 1 CXp: {a, b} new>)
    """
    if not hasattr(type(explainer), "explain") or not hasattr(explainer, "max_size"):
        raise DomainError(f"A path of radii needs an Explainer, but {type(explainer).__name__} was given.")
    if explainer.max_size is not None:
        raise DomainError(
            f"A path of radii follows all CXps, but the explainer has max_size={explainer.max_size}; make one without, "
            "and limit up_to instead."
        )
    limits = explainer.within or Region()
    if limits.radius is not None:
        raise DomainError(
            f"A path goes through all radii, but the explainer has one, {limits}; make one without, and set up_to."
        )
    last = None if up_to is None else exact(up_to, "radius")
    if last is not None and last < 0:
        raise DomainError(f"up_to must not be negative, but {quoted(up_to)} was given; leave it out for any radius.")
    region = measured(limits, norm=norm, unit=unit, weights=weights)
    account = Account(
        budget or explainer.budget, goal="path of radii", advice="allow more, or look at smaller radii with up_to"
    )
    problem, _ = explainer._posed(x)
    asked = (explainer.weights, explainer.target, explainer.budget, explainer._probabilities)
    search = _Search(problem, region, *asked, account)
    return search.path(last)


@dataclass(frozen=True, eq=False)
class _Search:
    """Follows the CXps of an instance from radius to radius."""

    problem: Problem
    region: Region
    weights: str
    target: str
    budget: Budget
    probabilities: OwnProbabilities | None
    account: Account

    def _found(self, region: Region, weights: str, budget: Budget) -> Found:
        engine = RegionEngine(self.problem.model, region, self._made, similarity=self.problem.similarity)
        return engine.explain(self.problem.codes[np.newaxis], weights=weights, budget=budget)

    def _made(self, model: Model) -> Engine:
        return engine_through(self.target, model, self.problem.similarity)

    def explained(self, radius: Fraction, budget: Budget) -> Explanation:
        """Return the instance explained within a radius."""
        region = replace_radius(self.region, radius)
        found = self._found(region, self.weights, budget)
        return Explanation(self.problem.within(region), None, found[0], budget, _probabilities=self.probabilities)

    def path(self, up_to: Fraction | None) -> RadiusPath:
        """Return the whole path, or as much of it as the budget allows."""
        reaches, steps = reaches_of(self.problem, self.region, self.account), list[RadiusStep]()
        at: Reach | None = Reach(Fraction(0), is_open=False)
        before: list[int] = []
        try:
            while at is not None and (up_to is None or at.radius <= up_to):
                self.account.look()
                masks = self._masks_from(at, reaches)
                following = self._next(masks, reaches)
                steps.append(self._step(at, following, before, masks, up_to))
                at, before = following, masks
        except (BudgetError, BudgetSpent):
            if not steps:
                raise self.account.error() from None
            return RadiusPath(tuple(steps), self.region, up_to, False, self)
        return RadiusPath(tuple(steps), self.region, up_to, True, self)

    def _masks_from(self, at: Reach, reaches: Reaches) -> list[int]:
        """Return the CXps from a radius on, until the next change."""
        if not at.is_open:
            return self._masks(at.radius)
        radius = at.radius * Fraction(1025, 1024) or Fraction(1, 1024)
        while True:
            masks = self._masks(radius)
            later = [reach for mask in masks if (reach := reaches[mask]) is not None and reach > at]
            if not later:
                return masks
            # Too far: something has changed on the way. There are finitely many such radii, so this ends.
            radius = (at.radius + min(later).radius) / 2

    def _masks(self, radius: Fraction) -> list[int]:
        found = self._found(replace_radius(self.region, radius), "unit", self.account.rest())
        return sorted_sets(masks_of_words(found.words))

    def _next(self, masks: list[int], reaches: Reaches) -> Reach | None:
        """Return where the CXps change next."""
        everything = (1 << len(self.problem.domain)) - 1
        axps = minimal_hitting_sets(masks, budget=self.account.rest())
        found = (reaches[everything & ~axp] for axp in axps)
        return min((reach for reach in found if reach is not None), default=None)

    def _step(
        self, at: Reach, following: Reach | None, before: list[int], masks: list[int], up_to: Fraction | None
    ) -> RadiusStep:
        start, end = Radius(at.radius), None if following is None else Radius(following.radius)
        radius = start
        if at.is_open:
            last = min((r for r in (end, up_to) if r is not None and r > start), default=start + 1)
            radius = Radius((start + last) / 2)
        names = self.problem.domain.names_of
        appeared = tuple(names(mask) for mask in masks if mask not in before)
        vanished = tuple(names(mask) for mask in before if mask not in masks)
        explanation = self.explained(radius, self.account.rest())
        return RadiusStep(start, at.is_open, end, radius, explanation, appeared, vanished)
