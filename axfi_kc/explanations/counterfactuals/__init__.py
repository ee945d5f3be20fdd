"""Counterfactuals: adversarial examples of a CXp, in the user's own units and in words.

The nearest one has the least total change over the CXp's features: for a numeric feature its
change divided by the width of its domain (the whole one, whatever a region leaves), for a categorical
one 1. A random one is drawn from the domain's measure, given that it is an adversarial example of
the CXp. Every point returned has been put to the model, and can exist. What is printed is short,
and has been put to the model's own ``predict``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import singledispatch
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.distribution import measured_domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.from_tables import FeatureNames, feature_names
from axfi_kc.domain.measures import Number, exact, shown
from axfi_kc.errors import AxfiError, DomainError, UnsupportedModelError
from axfi_kc.explanations.answers import name_of
from axfi_kc.explanations.chances import has_cells, plausibility_at
from axfi_kc.explanations.counterfactuals.constrained_linear import ConstrainedSearch, draw_in_boxes
from axfi_kc.explanations.counterfactuals.drawing import draw_region
from axfi_kc.explanations.counterfactuals.joint_drawing import PlausibleRegion, draw_jointly
from axfi_kc.explanations.counterfactuals.linear import (
    draw_linear,
    goes_by_values,
    has_reals,
    linear_conditions,
    nearest_linear,
    renumbered_problem,
)
from axfi_kc.explanations.counterfactuals.nearest import Example, improving_examples
from axfi_kc.explanations.counterfactuals.printed import (
    Condition,
    Printed,
    is_possible,
    printed_at,
    printed_row,
    range_condition,
)
from axfi_kc.explanations.counterfactuals.regions import (
    MOST_BOXES,
    Choices,
    change,
    grown,
    nearest_corner,
    region_of,
    search_account,
)
from axfi_kc.explanations.cxps import CXp, ManyCXps, is_wcxp
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import features_of
from axfi_kc.models import LinearModel, Samples, TreeSum
from axfi_kc.models.renumbering import renumbered
from axfi_kc.models.restriction import restricted

__all__ = [
    "Counterfactual",
    "adversarial_example",
    "counterfactual_of",
    "find_counterfactual",
    "improving_counterfactuals",
    "nearest_change",
    "nearest_counterfactual",
    "search_account",
]


_ZERO = Fraction(0)
_NO_LIMIT = Budget()
_ON_A_PAGE = Budget(seconds=1.0)
_MARGINS = (1, 1 << 10, 1 << 20)  # times the rounding that is known of; what scalers do before a model is not


@dataclass(frozen=True)
class Counterfactual:
    """A point that differs from the instance in one CXp's features and is not similar to it.

    Attributes
    ----------
    changes
        ``{feature name: (value of the instance, value here)}``, for the CXp's features.
    point
        The whole point, as ``{feature name: value}``.
    output
        The model's output there.
    distance
        The total normalised change.
    printed
        The same for people: a point close to it, in the shortest decimals that are dissimilar; None if the model's
        own ``predict`` finds nothing dissimilar because of its rounding.
    class_names
        The name of each class that has one.
    plausibility
        How likely it is: the probability of its cells of the CXp's features, given all others as in the instance, under
        the domain's distribution. None where the model has no cells, or the surroundings no probability.
    """

    changes: dict[str, tuple[Any, Any]]
    point: dict[str, Any]
    output: Any
    distance: Fraction
    printed: Printed | None = field(repr=False)
    class_names: Mapping[Any, str] = field(default_factory=dict, repr=False, compare=False)
    plausibility: Fraction | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the change in words."""
        if self.printed is None:
            return self.words
        moves = ", ".join(f"{name} from {old} to {new}" for name, old, new in self.moves)
        return f"{self.words}: {shown(name_of(self.printed.output, self.class_names))} (for instance {moves})"

    @property
    def words(self) -> str:
        """A condition on the CXp's features; wherever it is met, all else being as it is, the output is dissimilar.

        Its thresholds are short decimals, rounded inwards, so that it is true as printed.
        """
        if self.printed is None:
            return (
                f"No change of {', '.join(self.changes)} can be printed: the model's exact output changes, but by less "
                "than its own predict rounds."
            )
        return self.printed.words

    @property
    def moves(self) -> list[tuple[str, str, str]]:
        """Each change as (feature, old value, new value); with the new values the model's own ``predict`` changes."""
        return [] if self.printed is None else list(self.printed.moves)


@checked("problem", "seed", "budget")
def find_counterfactual(
    problem: Problem, cxp: FeatureNames, *, seed: int | None = None, budget: Budget = _NO_LIMIT
) -> Counterfactual:
    """Return the nearest adversarial example of a CXp, or a random one.

    Parameters
    ----------
    problem
        The model and the instance.
    cxp
        A CXp of the problem, or the names of its features.
    seed
        If given, draw a point from the measure, given that it is an adversarial example of the
        CXp; equal seeds give equal points. Otherwise the nearest point; among equally near ones
        always the same.
    budget
        What it may cost; its nodes are boxes of cells, 500,000 unless given.

    Raises
    ------
    DomainError
        If the features are no CXp.
    WeightError
        If a point is to be drawn and the CXp's weight is 0.
    BudgetError
        If the search was too long.

    Notes
    -----
    A best-first search over the cells of the CXp's features, with the trees' bounds; for linear
    models a closed form in real features. Real values are float64; a linear model's nearest point
    is exact up to the rounding of one of them.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("age", 18, 90), Categorical("race", ["a", "b", "c"])])
    >>> problem = Problem.of(lambda p: p[0] > 60 and p[1] == "b", domain, (70, "b"))
    >>> find_counterfactual(problem, {"age"}).words
    'age <= 60'
    >>> find_counterfactual(problem, {"age"}).changes
    {'age': (70, 60)}
    """
    account = Account(budget, goal="counterfactual", advice="allow more, or take another CXp")
    names = feature_names(cxp)
    members = features_of(problem.domain.mask(names))

    def is_weak(free: Iterable[str]) -> bool:
        return is_wcxp(problem, free, budget=account.rest())

    # A CXp is a weak CXp that is none without any one of its features.
    if not names or not is_weak(names) or any(is_weak(set(names) - {name}) for name in names):
        raise DomainError(f"Expected the features of a CXp, but {sorted(names)} are none; take one of the cxps.")
    return adversarial_example(problem, members, seed=seed, account=search_account(account.rest()))


def counterfactual_of(
    problem: Problem,
    cxps: Iterable[CXp],
    cxp: FeatureNames | None = None,
    *,
    seed: int | None = None,
    first: bool = False,
    min_plausibility: Number = 0,
    budget: Budget = _NO_LIMIT,
) -> Counterfactual:
    """Return the nearest adversarial example of all `cxps`, or the one asked for of `cxp`.

    See :func:`find_counterfactual`; here the CXps of the problem are known. With `first`, the first good example of
    all of them is enough. With `min_plausibility` it is the nearest one whose cells are at least so likely, given all
    other features.

    Notes
    -----
    Best bound first, see :mod:`axfi_kc.explanations.counterfactuals.nearest`. For ensembles as costly as the weights of
    the CXps at most. Unless the budget limits nodes, 500,000 boxes of one CXp, and 20,000,000 of all.
    """
    least = _plausible(min_plausibility)
    if least and seed is not None:
        raise DomainError("A random counterfactual is as plausible as it comes; give a seed or min_plausibility.")
    account = search_account(budget)
    if next(iter(cxps), None) is None:
        raise _no_cxp()
    if cxp is not None:
        mask = problem.domain.mask(cxp)
        names = problem.domain.names_of(mask)
        if not _is_among(names, mask, cxps, account):
            raise DomainError(f"{list(names)} are none of the CXps of this explanation; take one of its cxps.")
        return _made(problem, _checked(_found(problem, features_of(mask), seed, account, least), names), account)
    if seed is not None:  # an example of the first CXp, while the nearest may be of any
        members = features_of(problem.domain.mask(next(iter(cxps)).features))
        return adversarial_example(problem, members, seed=seed, account=account)
    sets = [problem.domain.mask(one.features) for one in account.paced(cxps)]
    options: dict[str, Any] = {"first": first, "min_plausibility": least, "budget": account.rest()}
    return nearest_counterfactual(problem, sets, **options)


def nearest_counterfactual(
    problem: Problem,
    cxps: Sequence[int],
    *,
    first: bool = False,
    min_plausibility: Number = 0,
    budget: Budget = _NO_LIMIT,
) -> Counterfactual:
    """Return the nearest adversarial example of all CXps of a problem (masks), or the first good one.

    Raises
    ------
    DomainError
        If none is at least so plausible.
    BudgetError
        If the budget was spent.
    """
    account = search_account(budget)
    least = _plausible(min_plausibility)
    found = list(islice(_improving(problem, cxps, account, least), 1 if first else None))
    if not found and not least:
        raise _no_floats(problem, features_of(cxps[0]))
    return _made(problem, _checked(found[-1] if found else None, ()), account)


def improving_counterfactuals(
    problem: Problem, cxps: Sequence[int], *, budget: Budget = _NO_LIMIT
) -> Iterator[Counterfactual]:
    """Yield adversarial examples of the CXps of a problem (masks), each strictly nearer than the one before.

    None is nearer than the last one. Where several are as near, it may be another one of these than the one that
    :func:`nearest_counterfactual` returns.

    Raises
    ------
    DomainError
        If there is no CXp, or no float64 point is an adversarial example.
    BudgetError
        If the budget was spent before the last one was certain; what was yielded before stands.
    """
    if not cxps:
        raise _no_cxp()
    account, least = search_account(budget), None
    for example in _improving(problem, cxps, account):
        if least is None or example.distance < least:
            least = example.distance
            yield _made(problem, example, account)
    if least is None:
        raise _no_floats(problem, features_of(cxps[0]))


def _no_cxp() -> DomainError:
    return DomainError("There is no CXp within reach, so nothing changes the output and there is no counterfactual.")


def _improving(problem: Problem, cxps: Sequence[int], account: Account, least: Fraction = _ZERO) -> Iterator[Example]:
    def find(members: tuple[int, ...], most: Fraction | None) -> Example | None:
        account.grant(MOST_BOXES)
        if least:
            codes = _plausible_codes(problem, members, least, account, most)
        else:
            codes = _codes(problem.model, problem, members, None, account, most)
        return None if codes is None else _example(problem, members, codes)

    every = [features_of(mask) for mask in account.paced(cxps)]
    on_cells = not isinstance(problem.model, LinearModel | Samples)  # a hyperplane cuts through them, rows have none
    # The nearest point of a box need not be plausible.
    yield from improving_examples(problem, every, find, has_cells=on_cells, in_boxes=not least, account=account)


def _plausible(least: Number) -> Fraction:
    """Return how plausible a counterfactual has to be: a probability."""
    found = exact(least, "least plausibility")
    if not 0 <= found <= 1:
        raise DomainError(f"A plausibility is a probability, from 0 to 1, but {quoted(least)} was given; choose one.")
    return found


def _checked(example: Example | None, names: Sequence[str]) -> Example:
    """Return an example; DomainError if none is plausible enough."""
    if example is None:
        raise DomainError(
            f"No adversarial example{f' of {list(names)}' if names else ''} is that plausible; lower min_plausibility."
        )
    return example


def _is_among(names: tuple[str, ...], mask: int, cxps: Iterable[CXp], account: Account) -> bool:
    """Tell whether a set of features is one of the CXps, however many there are."""
    if isinstance(cxps, ManyCXps):
        return mask in cxps.family
    account.look()
    return any(c.features == names for c in cxps)


def adversarial_example(
    problem: Problem, members: tuple[int, ...], *, account: Account, seed: int | None = None
) -> Counterfactual:
    """Return what :func:`find_counterfactual` does, for features known to be a CXp."""
    return _made(problem, _checked(_found(problem, members, seed, account), ()), account)


def nearest_change(explanation: Any, cxp: CXp) -> Counterfactual | None:
    """Return the nearest adversarial example of a CXp, for a page that shows many.

    None without the model (a saved explanation), and where a second of search does not find one.
    """
    problem = getattr(explanation, "problem", None)
    if problem is None:
        return None
    members = features_of(problem.domain.mask(cxp.features))
    try:
        return adversarial_example(problem, members, account=search_account(_ON_A_PAGE))
    except AxfiError:  # too long a search, or only an end of the domain that is no float64
        return None


def _found(
    problem: Problem, members: tuple[int, ...], seed: int | None, account: Account, least: Fraction = _ZERO
) -> Example | None:
    """Return the nearest or a random example of a CXp; None if none is at least so plausible."""
    account.grant(MOST_BOXES)
    if least:
        codes = _plausible_codes(problem, members, least, account)
        if codes is None:
            return None
    elif seed is not None and problem.domain.distribution is not None:
        codes = _codes_drawn_jointly(problem, members, seed, account)
    else:
        codes = _codes(problem.model, problem, members, seed, account)
    if codes is None:
        raise _no_floats(problem, members)
    return _example(problem, members, codes)


def _no_floats(problem: Problem, members: tuple[int, ...]) -> DomainError:
    names = problem.domain.names_of(sum(1 << i for i in members))
    return DomainError(
        f"No float64 point is an adversarial example of {list(names)}: those that are lie between two neighbouring "
        "floats, at an end of the domain or of the region; round its bounds, or widen it."
    )


def _example(problem: Problem, members: tuple[int, ...], codes: list[float]) -> Example:
    scale, own = problem.scale, problem.codes.tolist()
    moves = (change(scale[i], own[i], code) for i, code in zip(members, codes, strict=True))
    return Example(members, codes, sum(moves, Fraction(0)))


def _plausible_codes(
    problem: Problem, members: tuple[int, ...], least: Fraction, account: Account, most: Fraction | None = None
) -> list[float] | None:
    """Return the codes of the nearest adversarial example whose cells are likely enough; None if there is none.

    It may also be None if the nearest is further than `most`.
    """
    model = problem.model
    if not has_cells(model):
        raise UnsupportedModelError(
            f"Only points of models on cells have a plausibility, but this is a {model.words}; leave min_plausibility "
            "out."
        )
    ordered = [choice.by_cost() for choice in _choices(problem, members)]
    if not _are_any(ordered):
        return None
    region = PlausibleRegion(region_of(model, problem, ordered), problem, ordered, least)
    found = nearest_corner(region, ordered, account=account, most=most)
    return None if found is None else [choice.codes[k] for choice, k in zip(ordered, found, strict=True)]


def _codes_drawn_jointly(problem: Problem, members: tuple[int, ...], seed: int, account: Account) -> list[float] | None:
    """Return the codes of a random adversarial example under the distribution of the domain."""
    plain = measured_domain(problem.domain)
    if plain is not None:
        alone = replace(problem, model=restricted(problem.model, plain))
        return _codes(alone.model, alone, members, seed, account)
    model, choices = problem.model, _choices(problem, members)
    if not _are_any(choices):
        return None
    chosen = Random(seed)  # noqa: S311 - no secret

    def accepts(codes: Sequence[float]) -> bool:
        return is_possible(problem.domain, _moved(problem, members, codes).tolist())

    return draw_jointly(region_of(model, problem, choices), choices, problem, chosen, account, accepts)


@singledispatch
def _codes(
    model: Any,
    problem: Problem,
    members: tuple[int, ...],
    seed: int | None,
    account: Account,
    most: Fraction | None = None,
) -> list[float] | None:
    """Return the codes of an adversarial example, the nearest or a random one; forms may know a shorter way.

    None if there is none; it may also be None if the nearest is further than `most`.
    """
    return _codes_on_cells(model, problem, members, seed, account, most)


def _codes_on_cells(
    model: Any,
    problem: Problem,
    members: tuple[int, ...],
    seed: int | None,
    account: Account,
    most: Fraction | None = None,
) -> list[float] | None:
    """Return the codes of an adversarial example for any model on cells."""
    choices = _choices(problem, members)
    if not _are_any(choices):
        return None
    if seed is not None:
        axes, region = [model.grid.axes[i] for i in members], region_of(model, problem, choices)
        chosen = Random(seed)  # noqa: S311 - no secret

        def accepts(codes: Sequence[float]) -> bool:
            return is_possible(problem.domain, _moved(problem, members, codes).tolist())

        return draw_region(region, choices, axes, random=chosen, account=account, accepts=accepts)
    ordered = [choice.by_cost() for choice in choices]
    found = nearest_corner(region_of(model, problem, ordered), ordered, account=account, most=most)
    return None if found is None else [choice.codes[k] for choice, k in zip(ordered, found, strict=True)]


@_codes.register
def _codes_of_linear(
    model: LinearModel,
    problem: Problem,
    members: tuple[int, ...],
    seed: int | None,
    account: Account,
    most: Fraction | None = None,
) -> list[float] | None:
    if goes_by_values(model, problem):
        return _codes_on_cells(model, problem, members, seed, account)
    if model.domain.constraints:
        small = renumbered(model)
        if small is None and has_reals(model):  # boxes that half-spaces cut
            return _codes_in_boxes(problem, members, seed, account, most)
        if small is None:  # they cut the half-space: a value of each feature is a cell
            return _codes_on_cells(model, problem, members, seed, account)
        found = _codes_of_linear(small.model, renumbered_problem(problem, small), members, seed, account)
        return None if found is None else small.outward(members, found)
    if seed is None:
        return nearest_linear(model, problem, members, account=account)
    return draw_linear(model, problem, members, random=Random(seed), account=account)  # noqa: S311 - no secret


def _codes_in_boxes(
    problem: Problem, members: tuple[int, ...], seed: int | None, account: Account, most: Fraction | None
) -> list[float] | None:
    """Return the codes of an adversarial example of a linear model over real features under constraints."""
    if seed is None:
        return ConstrainedSearch(problem, account).nearest(members, most=most)
    return draw_in_boxes(problem, members, random=Random(seed), account=account)  # noqa: S311 - no secret


@_codes.register
def _codes_of_samples(
    model: Samples,
    problem: Problem,
    members: tuple[int, ...],
    seed: int | None,
    account: Account,
    most: Fraction | None = None,
) -> list[float] | None:
    """Return the nearest row, or one of the rows, that a CXp stands for: nothing else exists."""
    strange = ~model.similar(problem.output, problem.similarity)
    mask = np.uint64(sum(1 << i for i in members))
    rows = model.codes[strange & (model.differences(problem.codes) == mask)][:, members]
    account.look()
    if seed is not None:
        return Random(seed).choice(rows.tolist())  # noqa: S311 - no secret
    scale, own = [problem.scale[i] for i in members], problem.codes[list(members)].tolist()
    return min(np.unique(rows, axis=0).tolist(), key=lambda row: sum(map(change, scale, own, row)))


def _choices(problem: Problem, members: Sequence[int]) -> list[Choices]:
    axes, own = problem.model.grid.axes, problem.cells
    scale = problem.scale
    return [Choices.of(i, axes[i], float(problem.codes[i]), int(own[i]), scale=scale[i]) for i in members]


def _are_any(choices: Sequence[Choices]) -> bool:
    """Tell whether each feature can change: what is between two neighbouring floats has no choices."""
    return all(choice.cells for choice in choices)


def _made(problem: Problem, example: Example, account: Account) -> Counterfactual:
    """Return the counterfactual that an example is, after putting it to the model."""
    domain = problem.domain
    point = _moved(problem, example.members, example.codes)
    values = domain.decode(point)
    output = problem.model.predict([values])[0]
    if not (problem.is_dissimilar(output) and is_possible(domain, point.tolist())):
        raise AxfiError(f"The point {values} found as an adversarial example is none; please report this as a bug.")
    was = domain.decode(problem.codes)
    return Counterfactual(
        changes={domain.names[i]: (was[i], values[i]) for i in example.members},
        point=dict(zip(domain.names, values, strict=True)),
        output=output,
        distance=example.distance,
        printed=_printed(problem, example.members, example.codes, account),
        class_names=problem.class_names,
        plausibility=_plausibility(problem, point, example.members),
    )


def _plausibility(problem: Problem, point: npt.NDArray[np.float64], members: Sequence[int]) -> Fraction | None:
    try:
        return plausibility_at(problem, point, members)
    except DomainError:  # the surroundings have no probability: a point is there all the same
        return None


def _moved(problem: Problem, members: Sequence[int], codes: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the codes of the instance, with others for some features."""
    point = problem.codes.copy()
    point[list(members)] = codes
    return point


def _printed(problem: Problem, members: tuple[int, ...], codes: list[float], account: Account) -> Printed | None:
    """Return what to print of a point; None if the library's rounding hides every change tried."""
    if isinstance(problem.model, Samples):  # a row is printed as it is: near it there is nothing
        return printed_row(problem, members, codes)
    # Of trees that were read from a file there is no predict to ask, but how far their library rounds is known.
    is_asked = problem.own.ask is not None or not isinstance(problem.model, TreeSum)
    judge = problem if is_asked else _with_margin(problem, 1)
    for conditions in _attempts(problem, members, codes, account):
        found = printed_at(problem, members, conditions, judge=judge)
        if found is not None:
            return found
    if judge is problem:
        return None
    # Nothing speaks against the exact model, which is all there is.
    return printed_at(problem, members, _conditions(problem.model, problem, members, codes, account), judge=problem)


def _attempts(
    problem: Problem, members: tuple[int, ...], codes: list[float], account: Account
) -> Iterator[list[Condition]]:
    """Yield what might be printed of a point: close to it, further inside, and last the very point."""
    yield _conditions(problem.model, problem, members, codes, account)
    for factor in _MARGINS if problem.model.rounding_error else ():
        sure = _with_margin(problem, factor)
        inside = _codes(sure.model, sure, members, None, account)
        if inside is None:  # with such a margin there is none
            break
        yield _conditions(sure.model, sure, members, inside, account)
    features = problem.domain.features
    yield [Condition.exactly(features[i], code) for i, code in zip(members, codes, strict=True)]


def _with_margin(problem: Problem, factor: int) -> Problem:
    """Return the problem with so many times the library's rounding between similar points and dissimilar ones."""
    return problem.with_ties_moved(-factor * problem.model.rounding_error)


@singledispatch
def _conditions(
    model: Any, problem: Problem, members: tuple[int, ...], codes: list[float], account: Account
) -> list[Condition]:
    """Return a condition on each feature that a dissimilar point meets, and with it only dissimilar ones."""
    return _conditions_on_cells(model, problem, members, codes, account)


def _conditions_on_cells(
    model: Any, problem: Problem, members: tuple[int, ...], codes: list[float], account: Account
) -> list[Condition]:
    axes, choices = [model.grid.axes[i] for i in members], _choices(problem, members)
    # Words are about cells: a box of dissimilar ones, grown around the point's own.
    cells = [int(axis.locate(np.array([code]))[0]) for axis, code in zip(axes, codes, strict=True)]
    point = [choice.cells.index(cell) for choice, cell in zip(choices, cells, strict=True)]
    grows = [not isinstance(a.feature, Categorical) for a in axes]
    low, high = grown(region_of(model, problem, choices), choices, point, grows=grows, account=account)
    return [
        range_condition(axis, choice.cells[a:b], own=float(problem.codes[choice.feature]), code=code)
        for axis, choice, code, a, b in zip(axes, choices, codes, low, high, strict=True)
    ]


@_conditions.register
def _conditions_of_linear(
    model: LinearModel, problem: Problem, members: tuple[int, ...], codes: list[float], account: Account
) -> list[Condition]:
    if goes_by_values(model, problem):
        return _conditions_on_cells(model, problem, members, codes, account)
    if model.domain.constraints:
        small = renumbered(model)
        if small is None and has_reals(model):
            return ConstrainedSearch(problem, account).conditions(members, codes)
        if small is None:
            return _conditions_on_cells(model, problem, members, codes, account)
        inner = [small.inward(_moved(problem, members, codes))[i] for i in members]
        found = linear_conditions(small.model, renumbered_problem(problem, small), members, inner)
        outer = small.outward(members, [c.code for c in found])
        features = problem.domain.features
        return [
            Condition.exactly(features[i], code) if small.old[i] is not None else c
            for i, code, c in zip(members, outer, found, strict=True)
        ]
    return linear_conditions(model, problem, members, codes)
