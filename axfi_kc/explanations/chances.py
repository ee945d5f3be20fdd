"""Probabilities around an instance: how precise a rule is, and how plausible another point.

Both are conditional probabilities under the distribution of the domain, joint or independent, among the points that can
exist and lie in the region, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.domain.distribution import measured_domain
from axfi_kc.domain.features import Real
from axfi_kc.domain.from_tables import FeatureNames
from axfi_kc.engines import BoxedEngine, boxed_engine_for
from axfi_kc.engines.ball_weights import BallWeights, near_of
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import features_of
from axfi_kc.models import GriddedModel, LinearModel, Model, Samples, Similarity
from axfi_kc.models.joint import Box, BoxList, weigher_on
from axfi_kc.models.restriction import restricted

__all__ = ["has_cells", "measured_model", "plausibility_at", "precision_of"]


Codes = npt.NDArray[np.float64]
_BOXES = 256  # weighed between two looks at the clock


@lru_cache(maxsize=8)
def _engine(model: Model, similarity: Similarity) -> BoxedEngine:
    """Return the engine of a model, which the explanations of a batch share."""
    return boxed_engine_for(model, similarity)


@lru_cache(maxsize=8)
def measured_model(model: Model) -> Model:
    """Return a model whose features have the measures of an independent distribution themselves."""
    plain = measured_domain(model.domain)
    return model if plain is None else restricted(model, plain)


def precision_of(problem: Problem, features: FeatureNames, *, budget: Budget | None = None) -> Fraction:
    """Return the probability that a point is similar, given that these features are as in the instance.

    Parameters
    ----------
    problem
        The model and the instance.
    features
        Names of features; with none it is the probability of a similar output anywhere.
    budget
        What a search for boxes may cost.

    Raises
    ------
    UnknownFeatureError
        If a name is none of the domain's.
    DomainError
        If such points have probability 0.
    UnsupportedModelError
        For a linear model over real features, and for samples.
    BudgetError
        If the budget was spent.

    Notes
    -----
    It is 1 if the features are a weak AXp. Single trees: a pass over their leaves. Others are cut into boxes, whose
    number is exponential in the features that are not given, at worst.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3)])
    >>> problem = Problem.of(lambda p: p[0] and p[1] > 0, domain, (1, 2))
    >>> precision_of(problem, {"a"}), precision_of(problem, {"b"}), precision_of(problem, ())
    (Fraction(3, 4), Fraction(1, 2), Fraction(3, 8))
    """
    domain, model = problem.domain, measured_model(problem.model)
    free = (1 << len(domain)) - 1 & ~domain.mask(features)
    if isinstance(model, Samples):
        raise UnsupportedModelError("Among samples there is no precision of a rule; explain a model over its domain.")
    near = near_of(model)
    if near is not None:
        return 1 - BallWeights(model, near).ratio(problem.codes, problem.output, free, problem.similarity)
    engine = _engine(model, problem.similarity)
    v = model.grid.locate(problem.codes[np.newaxis])[0]
    account = Account(budget, goal="precision", advice="allow more")
    boxes = account.paced(engine.dissimilar_boxes(v, problem.output, free, budget=account.rest()))
    return 1 - _share(model, problem.codes, v, features_of(free), iter(boxes))


def _share(
    model: Model, codes: Codes, v: npt.NDArray[np.int64], members: Sequence[int], boxes: Iterator[Box]
) -> Fraction:
    """Return the probability of disjoint boxes, given the instance outside the members: some boxes at a time."""
    weigher, found = weigher_on(model.grid), Fraction(0)
    some = list(islice(boxes, _BOXES))
    while True:  # once where there is no box, too: what stays may have probability 0
        ((above, below),) = weigher.ratios(codes[np.newaxis], v[np.newaxis], [0], BoxList.of([members], [some]))
        found += Fraction(above, below)
        some = list(islice(boxes, _BOXES))
        if not some:
            return found


def has_cells(model: Model) -> bool:
    """Tell whether a model is a function of cells, and what is possible is, too."""
    discrete = isinstance(model, LinearModel) and not any(isinstance(f, Real) for f in model.domain.features)
    return (isinstance(model, GriddedModel) or discrete) and near_of(model) is None


def plausibility_at(problem: Problem, codes: Codes, changed: Sequence[int]) -> Fraction | None:
    """Return the probability of the cells of some features of a point, given all others as in the instance.

    Parameters
    ----------
    problem
        The model, whose cells are meant, and the instance.
    codes
        The point.
    changed
        The features in which it may differ from the instance.

    Returns
    -------
    Fraction or None
        None where the model has no cells (linear models over real features, samples), and where a ball of norm ``"l1"``
        cuts through them.

    Raises
    ------
    DomainError
        If the points that agree with the instance elsewhere have probability 0.
    """
    if not has_cells(problem.model):
        return None
    model = measured_model(problem.model)
    weigher, cells = weigher_on(model.grid), model.grid.locate(codes[np.newaxis])[0].tolist()
    (place,) = weigher.places(problem.codes[np.newaxis])
    return weigher.ratio(place, problem.cells.tolist(), changed, [[(cells[i],) for i in changed]])


class Precisions:
    """The precision of each set of features, as a mask, of one instance; each is computed once.

    Parameters
    ----------
    problem
        The model and the instance.
    budget
        The seconds and bytes that all of them may take together, and the nodes that each may.

    Attributes
    ----------
    unused
        The features, as a mask, that change no precision: the model does not tell their values apart, and they say
        nothing of the others.
    """

    def __init__(self, problem: Problem, *, budget: Budget | None = None) -> None:
        self._problem, self._watch = problem, Watch(budget)
        self._known: dict[int, Fraction] = {}
        model = measured_model(problem.model)
        is_apart = model.domain.distribution is None and not model.domain.constraints and has_cells(model)
        cells = model.grid.n_cells if is_apart else ()
        self.unused = sum(1 << i for i, n in enumerate(cells) if n == 1)

    def __getitem__(self, mask: int) -> Fraction:
        """Return the precision of a set."""
        if mask not in self._known:
            names = self._problem.domain.names_of(mask)
            self._known[mask] = precision_of(self._problem, names, budget=self._watch.rest())
        return self._known[mask]
