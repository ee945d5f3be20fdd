"""Engines: how the CXps of a model form, and their weights, are found.

To add one:

1. write a class that is an :class:`Engine` in a folder of its own, made of a model and a similarity;
2. name it in :data:`ENGINES` below, under the form that it explains;
3. take the budget with each question, go by the number of changed features where that is asked for
   (:mod:`~axfi_kc.engines.radius`), and keep per output what is expensive
   (:class:`~axfi_kc.engines.per_output.PerOutput`);
4. let the brute force of ``tests/support``, which knows nothing but the definitions, judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.targets import TARGETS, language_of
from axfi_kc.domain.distribution import measured_domain
from axfi_kc.domain.features import Real
from axfi_kc.domain.region import Near
from axfi_kc.engines.boxes.engine import BoxEngine
from axfi_kc.engines.circuit.engine import CircuitEngine, TargetEngine
from axfi_kc.engines.diagram.engine import DiagramEngine
from axfi_kc.engines.ensemble import ClassEngine, EnsembleEngine
from axfi_kc.engines.found import (
    LISTED,
    CxpSets,
    Found,
    ListedCxps,
    Located,
    Numerators,
    Share,
    check_countable,
    check_weights,
    fractions_of,
    nearest_floats,
)
from axfi_kc.engines.joint import BoxedEngine, JointEngine
from axfi_kc.engines.linear.boxed import BoxedLinearEngine
from axfi_kc.engines.linear.engine import LinearEngine
from axfi_kc.engines.linear.renumbered import RenumberedEngine
from axfi_kc.engines.possible import PossibleEngine
from axfi_kc.engines.regional import RegionEngine
from axfi_kc.engines.samples import SampleEngine
from axfi_kc.errors import UnsupportedModelError, UnsupportedTargetError
from axfi_kc.models import Boxes, CircuitModel, LinearModel, Model, Samples, Similarity, TableModel, TreeSum
from axfi_kc.models.bayes_classifier import BayesClassifier
from axfi_kc.models.renumbering import renumbered
from axfi_kc.models.restriction import restricted

__all__ = [
    "ENGINES",
    "LISTED",
    "BoxedEngine",
    "CxpSets",
    "Engine",
    "Found",
    "ListedCxps",
    "Located",
    "Numerators",
    "RegionEngine",
    "Share",
    "boxed_engine_for",
    "check_countable",
    "check_weights",
    "engine_for",
    "engine_through",
    "fractions_of",
    "nearest_floats",
]


class Engine(Protocol):
    """Finds the CXps of a model's instances, with their weights."""

    @property
    def constant(self) -> Hashable | None:
        """The one output of a model known to be constant; None otherwise."""
        ...

    def locate(self, codes: npt.NDArray[np.float64]) -> Located:
        """Return where instances lie and the model's outputs there; nothing is searched for."""
        ...

    def explain(
        self,
        codes: npt.NDArray[np.float64],
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance, given by its codes; the budget is that of each instance.

        `located` is what :meth:`locate` gives, for who has asked that already. With `partial`, an instance whose budget
        is spent gets all CXps, with weights, of the largest number of features that was finished
        (:attr:`Found.radii`), and there is a BudgetError only if not even those of one feature were.
        """
        ...

    def is_weak_cxp(self, code: npt.NDArray[np.float64], mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        ...


def _of_trees(model: TreeSum, similarity: Similarity) -> Engine:
    """Return the engine of a sum of trees; a single tree is a list of boxes and needs no search."""
    if model.n_trees == 1:
        return BoxEngine(model, similarity)
    return (ClassEngine if similarity.is_one_of_several(model.labels) else EnsembleEngine)(model, similarity)


def _of_linear(model: LinearModel, similarity: Similarity) -> Engine:
    """Return the engine of a linear model; one class of several is no union of half-spaces but an intersection."""
    if not similarity.is_one_of_several(model.labels):
        return LinearEngine(model, similarity)
    if any(isinstance(f, Real) for f in model.domain.features):
        return BoxedLinearEngine(model, similarity)
    return DiagramEngine(model, similarity)


def _of_circuits(model: CircuitModel, similarity: Similarity) -> Engine:
    """Return the engine of circuits; an ordered diagram holds the CXps as a family, listed only when there are few."""
    engine = CircuitEngine(model, similarity)
    return DiagramEngine(model, similarity, constant=engine.constant) if model.is_diagram else engine


ENGINES: dict[type, Callable[[Any, Similarity], Engine]] = {
    Boxes: BoxEngine,
    TableModel: BoxEngine,
    TreeSum: _of_trees,
    LinearModel: _of_linear,
    BayesClassifier: partial(DiagramEngine, at_once=LISTED),
    CircuitModel: _of_circuits,
    Samples: SampleEngine,
}


_CONSTRAINED = (BoxEngine, _of_trees)  # engines that keep to possible points by themselves
_BOXED = (BoxEngine, _of_trees, _of_circuits)  # engines that cut adversarial examples into boxes


def engine_for(model: Any, similarity: Similarity) -> Engine:
    """Return the engine for a neutral form; building it is the work done once per model.

    Raises
    ------
    UnsupportedModelError
        If the model is none of the forms.
    """
    maker = next((ENGINES[form] for form in type(model).__mro__ if form in ENGINES), None)
    if maker is None:
        raise UnsupportedModelError(
            f"No engine explains {type(model).__name__}; expected a neutral form from read_model."
        )
    if model.domain.distribution is not None:
        return _joint_engine(model, similarity)
    if not model.domain.constraints:
        return maker(model, similarity)
    if maker in _CONSTRAINED:
        return PossibleEngine(maker(model, similarity), model)
    is_union = isinstance(model, LinearModel) and not similarity.is_one_of_several(model.labels)
    small = renumbered(model) if is_union else None
    if small is not None:
        return RenumberedEngine(model, similarity, small)
    if isinstance(model, LinearModel) and any(isinstance(f, Real) for f in model.domain.features):
        _check_no_ball(model)
        return BoxedLinearEngine(model, similarity)
    return PossibleEngine(DiagramEngine(model, similarity, at_once=LISTED), model)


def boxed_engine_for(model: Model, similarity: Similarity) -> BoxedEngine:
    """Return an engine that cuts what is dissimilar, possible and agrees with an instance elsewhere into boxes.

    Raises
    ------
    UnsupportedModelError
        For a linear model over real features, whose half-spaces are no boxes.
    """
    maker = next((ENGINES[form] for form in type(model).__mro__ if form in ENGINES), None)
    boxed: Any = maker
    if maker not in _BOXED or (model.domain.constraints and maker not in _CONSTRAINED):
        _check_discrete(model)
        boxed = partial(DiagramEngine, at_once=LISTED)
    return boxed(model, similarity)


def _joint_engine(model: Model, similarity: Similarity) -> Engine:
    """Return the engine of a model whose domain has a distribution."""
    plain = measured_domain(model.domain)
    if plain is not None:  # features are independent after all, and every closed form holds
        return engine_for(restricted(model, plain), similarity)
    return JointEngine(boxed_engine_for(model, similarity), model)


def _check_discrete(model: Model) -> None:
    """Raise for a linear model over real features, whose half-spaces are no boxes."""
    odd = next((f for f in model.domain.features if isinstance(f, Real)), None)
    if not isinstance(model, LinearModel) or odd is None:
        return
    if model.domain.distribution is not None:
        raise UnsupportedModelError(
            f"A linear model over the real feature {odd.name!r} is not explained under a joint distribution, whose "
            "bins cut its volumes into pieces without a closed form; declare the feature integer, or give the domain "
            "independent features (domain.with_distribution(None))."
        )
    raise UnsupportedModelError(
        f"What is similar is no union of boxes for a linear model over the real feature {odd.name!r}, so that it "
        "has no such probability here; declare the feature integer."
    )


def _check_no_ball(model: LinearModel) -> None:
    """Raise for a ball that cuts through the cells of real features: half-spaces cut what is left once more."""
    real = {f.name for f in model.domain.features if isinstance(f, Real)}
    balls = (c for c in model.domain.constraints if isinstance(c, Near))
    odd = next((name for ball in balls for name in ball.names if name in real), None)
    if odd is not None:
        raise UnsupportedModelError(
            f"A linear model over the real feature {odd!r} is not explained within a ball of norm 'l1', which cuts its "
            "volumes into pieces without a closed form; use norm='linf', freeze the feature, or declare it integer."
        )


def engine_through(target: str, model: Model, similarity: Similarity) -> Engine:
    """Return the engine that explains through `target`: ``"auto"`` is :func:`engine_for`'s.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.
    """
    if target != "auto" and target not in TARGETS:
        raise UnsupportedTargetError(
            f"target must be one of {', '.join(map(repr, ('auto', *TARGETS)))}, but {quoted(target)} was given."
        )
    plain = None if target == "auto" else measured_domain(model.domain)
    if plain is not None:
        return engine_through(target, restricted(model, plain), similarity)
    engine = engine_for(model, similarity)
    if target == "auto":
        return engine
    is_constrained, options = bool(model.domain.constraints), {"target": target, "constant": engine.constant}
    # The ordered ones hold the CXps of an instance as a family, listed only when there are few.
    through: Callable[..., Engine] = DiagramEngine if language_of(target).ordered else TargetEngine
    # Ratios among possible points are made CXp by CXp.
    more = {"at_once": LISTED} if is_constrained and through is DiagramEngine else {}
    made: Any = through(model, similarity, **options, **more)
    if model.domain.distribution is not None:
        return JointEngine(made, model)
    return PossibleEngine(made, model) if is_constrained else made
