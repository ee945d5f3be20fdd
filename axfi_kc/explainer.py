"""The front door: explain the instances of one model over one domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, BudgetSpent
from axfi_kc.compilers import read_model
from axfi_kc.domain import Domain
from axfi_kc.engines import Engine, Found, WeightedSets, check_countable, check_weights, engine_through
from axfi_kc.errors import BudgetError, ConstantModelError, DomainError, IncompleteError, MissingExtraError
from axfi_kc.explanations import AXp, CXp, named_axps, named_cxps
from axfi_kc.forest import CXpForest
from axfi_kc.measures import Number
from axfi_kc.models import Model
from axfi_kc.problem import Problem
from axfi_kc.scores import score, score_numerators
from axfi_kc.similarity import Similarity
from axfi_kc.tabular import one_row

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Batch", "Explainer", "Explanation"]

_ROWS_AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why the model gives its output at one instance; everything in exact numbers.

    Attributes
    ----------
    problem
        The model, the instance and the similarity this explains.
    max_size
        The largest number of features a CXp was allowed to have; None: any.
    nodes
        The search nodes spent on CXps and weights; None where there was no search.
    """

    problem: Problem
    max_size: int | None
    _found: WeightedSets = field(repr=False)
    _budget: Budget = field(default=Budget(), repr=False)
    nodes: int | None = None

    @property
    def domain(self) -> Domain:
        """The space in which the instance was explained."""
        return self.problem.domain

    @property
    def instance(self) -> dict[str, Any]:
        """The instance, as ``{feature name: value}``."""
        return self.problem.instance

    @property
    def prediction(self) -> Any:
        """The model's output at the instance."""
        return self.problem.output

    @property
    def weights(self) -> str:
        """The kind of weights: ``"ratio"``, ``"count"`` or ``"unit"``."""
        return self._found.kind

    @cached_property
    def cxps(self) -> tuple[CXp, ...]:
        """All contrastive explanations with their weights, smallest first."""
        return named_cxps(self._found, self.domain.names)

    @cached_property
    def axps(self) -> tuple[AXp, ...]:
        """All abductive explanations, smallest first.

        Raises
        ------
        IncompleteError
            If only CXps up to `max_size` are known: AXps need all of them.
        BudgetError
            If the explainer's budget was spent; it carries the AXps found so far.
        """
        if self.max_size is not None and self.max_size < len(self.domain):
            raise IncompleteError(
                f"AXps need all CXps, but only those of at most {self.max_size} features were computed; "
                "explain again without max_size."
            )
        try:
            return named_axps(self._found.masks, self.domain.names, budget=self._budget)
        except BudgetSpent as spent:
            axps = tuple(self.domain.names_of(mask) for mask in spent.found)
            raise BudgetError(
                f"The budget was spent with {len(axps)} AXps found (the error's axps, each certified); "
                "allow more, or use the CXps alone.",
                cxps=tuple(c.features for c in self.cxps),
                axps=axps,
            ) from None

    @property
    def relevant(self) -> tuple[str, ...]:
        """The features that occur in some CXp."""
        union = 0
        for mask in self._found.masks:
            union |= mask
        return self.domain.names_of(union)

    @cached_property
    def forest(self) -> CXpForest:
        """The CXp-Forest: characteristic function and networkx graph."""
        return CXpForest.of_sets(self._found, self.domain.names)

    def scores(self, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the score of each feature: ``"shapley"`` or ``"banzhaf"``.

        Without any CXp (no dissimilar point within reach) every score is 0.
        """
        return score(self.forest, kind)

    def __repr__(self) -> str:
        """Return a summary: prediction, families and the top features."""
        ranked = sorted(self.scores("shapley").items(), key=lambda item: -item[1])
        top = ", ".join(f"{name} {float(value):.4g}" for name, value in ranked[:3] if value)
        limit = "" if self.max_size is None else f" of at most {self.max_size} features"
        families = f"{len(self._found.masks)} CXps{limit}"
        return f"<Explanation: prediction {_shown(self.prediction)}, {families}; shapley: {top or 'all 0'}>"


def _shown(output: Any) -> str:
    return f"{float(output):.6g}" if isinstance(output, Fraction) else repr(output)


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Sequence[Explanation]):
    """The explanations of several instances, in their order.

    An :class:`Explanation` is made when it is asked for; the batch itself holds integers.
    """

    _model: Model = field(repr=False)
    _similarity: Similarity = field(repr=False)
    _codes: npt.NDArray[np.float64] = field(repr=False)
    _found: Found = field(repr=False)
    max_size: int | None
    budget: Budget
    rows: tuple[Any, ...] = field(repr=False)

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self._found)

    @overload
    def __getitem__(self, position: int) -> Explanation: ...
    @overload
    def __getitem__(self, position: slice) -> list[Explanation]: ...
    def __getitem__(self, position: int | slice) -> Explanation | list[Explanation]:
        """Return one explanation, or a list of them."""
        if isinstance(position, slice):
            return [self[k] for k in range(*position.indices(len(self)))]
        n = range(len(self))[position]
        problem = Problem(self._model, self._codes[n], self._found.outputs[n], self._similarity)
        nodes = None if self._found.nodes is None else self._found.nodes[n]
        return Explanation(problem, self.max_size, self._found.sets(n), self.budget, nodes)

    def __repr__(self) -> str:
        """Return the number of instances and of CXps."""
        return f"<Batch: {len(self)} explanations, {len(self._found.totals)} CXps>"

    @property
    def predictions(self) -> list[Any]:
        """The model's output at each instance."""
        return list(self._found.outputs)

    def score_numerators(self, kind: str = "shapley") -> tuple[npt.NDArray[Any], list[int]]:
        """Return the scores as integers: ``numerators[n, i] / denominators[n]``, exactly."""
        return score_numerators(self._found, kind)

    def scores(self, kind: str = "shapley") -> pd.DataFrame:
        """Return the scores as a DataFrame of Fractions, a row per instance.

        ``.astype(float)`` turns them into floats, for plotting.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError.of("pandas", "frames", "A table of scores") from error
        numerators, denominators = self.score_numerators(kind)
        rows = [[Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True)]
        names = list(self._model.domain.names)
        return pd.DataFrame(rows, columns=names, index=list(self.rows), dtype=object)


class Explainer:
    """Explains instances of a model exactly.

    Parameters
    ----------
    model
        A trained model, a neutral form, or a Python function over a finite domain.
    domain
        The space in which instances are explained.
    delta
        For regression: outputs at most this far apart count as similar.
    weights
        What a CXp weighs: ``"ratio"``, the probability of its adversarial examples within its
        box; ``"count"``, their number; ``"unit"``, 1.
    max_size
        Only CXps of at most so many features (the paper's l0 radius).
    budget
        What the explanation of one instance may cost, in seconds and search nodes. When it is
        spent, a BudgetError carries what is certain so far. Single trees need no search and no
        budget.
    target
        ``"auto"``: the search that suits the model. ``"mdd"``: compile the complete diagram of
        each output met, once, and read the explanations off it; the results are the same, the
        diagram of a large ensemble does not fit, and the budget is that of one compilation.

    Raises
    ------
    UnsupportedModelError, UnfittedModelError, UnsupportedTargetError, SimilarityError, ConstantModelError

    Examples
    --------
    The paper's running example, weighted by counts:

    >>> from axfi_kc.features import Integer
    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    >>> e = Explainer(lambda p: int(p in ones), domain, weights="count").explain((2, 1, 2))
    >>> [(c.features, c.weight) for c in e.cxps]
    [(('x1', 'x2'), 1), (('x1', 'x3'), 4), (('x2', 'x3'), 2)]
    >>> e.scores("shapley")
    {'x1': Fraction(5, 6), 'x2': Fraction(1, 2), 'x3': Fraction(1, 1)}
    """

    def __init__(
        self,
        model: Any,
        domain: Domain,
        *,
        delta: Number | None = None,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        target: str = "auto",
    ) -> None:
        check_weights(weights)
        if max_size is not None and max_size < 1:
            raise DomainError(f"max_size must be a positive number of features, but {max_size} was given.")
        self.domain = domain
        self.weights = weights
        self.max_size = max_size
        self.budget = budget or Budget()
        self.target = target
        self._model: Model = read_model(model, domain)
        self._similarity = Similarity.of(self._model, delta)
        self._engine: Engine = engine_through(target, self._model, self._similarity, self.budget)
        if self._engine.constant is not None:
            raise _constant(self._engine.constant)

    def __repr__(self) -> str:
        """Return the explainer's parameters."""
        delta = self._similarity.delta
        parts = [type(self._model).__name__, f"{len(self.domain)} features", f"weights={self.weights!r}"]
        parts += [] if delta is None else [f"delta={float(delta):g}"]
        parts += [] if self.max_size is None else [f"max_size={self.max_size}"]
        parts += [] if self.target == "auto" else [f"target={self.target!r}"]
        return f"Explainer({', '.join(parts)})"

    def explain(self, x: Any) -> Explanation:
        """Explain one instance: an array, a Series or a dict.

        Raises
        ------
        DomainError
            If a value is missing or outside its domain.
        """
        codes = self.domain.encode(one_row(x, self.domain.features))
        return self._batch(codes, [self._find(codes)], (0,))[0]

    def explain_batch(self, X: Any, *, n_jobs: int = 1, progress: bool = False) -> Batch:
        """Explain the rows of a table.

        Parameters
        ----------
        X
            A DataFrame, an array, or a sequence of dicts.
        n_jobs
            How many workers share the rows, through joblib.
        progress
            Whether to show a progress bar.

        Notes
        -----
        Rows are processed together, so this is far faster than a loop over :meth:`explain`.
        """
        codes = self.domain.encode(X)
        index = tuple(X.index) if hasattr(X, "iloc") else tuple(range(len(codes)))
        parts = [codes[k : k + _ROWS_AT_ONCE] for k in range(0, len(codes), _ROWS_AT_ONCE)] or [codes]
        return self._batch(codes, list(self._parts(parts, n_jobs, progress)), index)

    def _batch(self, codes: npt.NDArray[np.float64], parts: list[Found], index: tuple[Any, ...]) -> Batch:
        return Batch(self._model, self._similarity, codes, Found.joined(parts), self.max_size, self.budget, index)

    def _parts(self, parts: list[npt.NDArray[np.float64]], n_jobs: int, progress: bool) -> Iterator[Found]:
        if n_jobs == 1:
            found: Any = map(self._find, parts)
        else:
            from joblib import Parallel, delayed

            found = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(self._find)(part) for part in parts)
        if not progress:
            return iter(found)
        from tqdm.auto import tqdm

        return iter(tqdm(found, total=len(parts), unit="block", desc="explaining"))

    def _find(self, codes: npt.NDArray[np.float64]) -> Found:
        found = self._engine.explain(codes, weights=self.weights, max_size=self.max_size)
        check_countable(found, self.domain.features)
        unchanging = np.flatnonzero(np.diff(found.starts) == 0)
        if len(unchanging) and self.max_size is None and self._similarity.delta is None:
            raise _constant(found.outputs[unchanging[0]])  # a class that nothing can change
        return found


def _constant(output: Any) -> ConstantModelError:
    return ConstantModelError(
        f"The model gives {_shown(output)} everywhere in the domain, so no change matters and there is nothing to "
        "explain; check the model, or widen the domain."
    )
