"""What explanations and batches can be turned into: DataFrames, dicts, JSON, HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import lcm, sqrt
from typing import TYPE_CHECKING, Any

from axfi_kc.budget import Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import amount, shown
from axfi_kc.errors import BudgetError, DomainError, IncompleteError, MissingExtraError, ResultFileError
from axfi_kc.explanations.answers import name_of, no_cxp_words, surety_words
from axfi_kc.explanations.counterfactuals import Counterfactual, counterfactual_of
from axfi_kc.explanations.cxps import AXp, CXp
from axfi_kc.explanations.files.document import SavedData, document_of, explanation_of, parsed
from axfi_kc.explanations.notebook_html import batch_html, explanation_html
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import some_hitting_sets
from axfi_kc.scores import DEFAULT_SCORES

if TYPE_CHECKING:
    import pandas as pd

    from axfi_kc.explanations.explanation import Explanation

__all__ = ["BatchViews", "SavedExplanation", "Views", "explanation_frame", "importance_frame", "pandas_for"]


_MOST = 1_000
_QUARTILES = {
    "min": Fraction(0),
    "25%": Fraction(1, 4),
    "50%": Fraction(1, 2),
    "75%": Fraction(3, 4),
    "max": Fraction(1),
}


def pandas_for(purpose: str) -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", purpose) from error
    return pd


def explanation_frame(explained: Explanation | SavedExplanation, kinds: Sequence[str], *, exact: bool) -> pd.DataFrame:
    """Return a row per feature: its value, its scores, and in how many CXps it occurs."""
    pd = pandas_for("A table of one explanation")
    names = explained.domain.names
    counts = dict.fromkeys(names, 0)
    for cxp in explained.cxps:
        for name in cxp.features:
            counts[name] += 1
    columns: dict[str, Any] = {"value": pd.Series(list(explained.instance.values()), dtype=object)}
    for kind in kinds:
        scores = explained.scores(kind)
        found = [scores[n] if exact else float(scores[n]) for n in names]
        columns[kind] = pd.Series(found, dtype=object if exact else float)
    columns["cxps"] = pd.Series(list(counts.values()), dtype="int64")
    return pd.DataFrame(columns).set_axis(pd.Index(list(names), name="feature"))


def importance_frame(
    names: Sequence[str], numerators: Sequence[Sequence[int]], denominators: Sequence[int], *, exact: bool
) -> pd.DataFrame:
    """Return the mean and the distribution of each feature's score over a batch.

    The score of feature i at instance n is ``numerators[n][i] / denominators[n]``.

    Notes
    -----
    Instances times features, in integers over one denominator, and a sort per feature.
    """
    pd = pandas_for("A table of importance")
    if not denominators:
        raise DomainError("An importance is a mean over a batch, but this batch is empty; explain at least one row.")
    whole = lcm(*set(denominators))
    factors = [whole // d for d in denominators]
    columns = ([t * f for t, f in zip(column, factors, strict=True)] for column in zip(*numerators, strict=True))
    rows = [_distribution(sorted(column), whole, exact=exact) for column in columns]
    return pd.DataFrame(rows, index=pd.Index(list(names), name="feature"), dtype=object if exact else float)


def _distribution(ordered: Sequence[int], whole: int, *, exact: bool) -> dict[str, Any]:
    """Return mean, spread and quartiles of ``ordered[k] / whole``."""
    n = len(ordered)
    mean = Fraction(sum(ordered), n * whole)
    found: dict[str, Any] = {"mean": mean}
    if not exact:  # a root is irrational as a rule, so it has no exact form
        squares = Fraction(sum(t * t for t in ordered), n * whole**2)
        found["std"] = sqrt(squares - mean**2)
    found |= {name: _quantile(ordered, at) / whole for name, at in _QUARTILES.items()}
    found["relevant"] = Fraction(sum(t != 0 for t in ordered), n)
    return found if exact else {name: float(value) for name, value in found.items()}


def _quantile(ordered: Sequence[int], at: Fraction) -> Fraction:
    """Return the quantile, linear between neighbours as in NumPy and pandas."""
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


class Views:
    """Gives an explanation its tables, files and notebook display, and as many sets as a page can show."""

    __slots__ = ()

    def __repr__(self: Any) -> str:
        """Return a summary: prediction, families and the top features."""
        try:
            ranked = sorted(self.scores("shapley").items(), key=lambda item: -item[1])
            top = ", ".join(f"{name} {amount(value)}" for name, value in ranked[:3] if value) or "all 0"
        except BudgetError:
            top = "not within the budget"
        limit = "" if self.max_size is None else f" of at most {self.max_size} features"
        surety = surety_words(self)
        return (
            f"<{type(self).__name__}: prediction {shown(self.prediction_name, quoted=True)}"
            f"{f' ({surety})' if surety else ''}, {self.cxp_count} CXps{limit}; shapley: {top}>"
        )

    @property
    def prediction_name(self: Any) -> Any:
        """The prediction as people call it: the name of its class, or itself if it has none."""
        return name_of(self.prediction, self.class_names)

    def heaviest_cxps(self: Any, *, most: int = _MOST) -> list[CXp]:
        """Return the CXps, heaviest first; of a family too large to list, the heaviest of the `most` smallest sets.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
        >>> [c.features for c in explainer.explain((1, 2)).heaviest_cxps()]
        [('a',), ('b',)]
        """
        cxps = self.cxps
        return sorted(cxps if isinstance(cxps, tuple) else islice(cxps, most), key=lambda c: -c.weight)

    def some_axps(self: Any, *, seconds: float, most: int = _MOST) -> tuple[list[AXp], bool]:
        """Return AXps, smallest first, and whether these are all: there may be exponentially many.

        Parameters
        ----------
        seconds
            How long to search.
        most
            How many to take of a family that is too large to list.
        """
        cxps, budget = self.cxps, Budget(seconds=seconds)
        if isinstance(cxps, tuple):
            masks, complete = some_hitting_sets([self.domain.mask(c.features) for c in cxps], budget=budget)
        else:
            try:
                family = cxps.family.hitting_sets(budget=budget)
            except BudgetError:
                return [], False
            masks, complete = list(islice(family, most)), family.count <= most
        return [AXp(self.domain.names_of(mask)) for mask in masks], complete

    def to_dict(self, *, axps: bool = False, kinds: Sequence[str] = DEFAULT_SCORES) -> dict[str, Any]:
        """Return everything about the explanation as plain dicts, lists, text and numbers.

        Weights and scores are exact: integers, or text such as ``"43/146"``.

        Parameters
        ----------
        axps
            Whether to compute the AXps for it; without, they are in it if they were asked for
            before.
        kinds
            The scores to write; names in :data:`axfi_kc.scores.SCORES`.

        Raises
        ------
        WeightError
            If there is no such score.
        IncompleteError
            If there are too many CXps to write down, or too few are known for one of the scores.
        DomainError
            If a value or label is of a type that JSON cannot give back.

        Notes
        -----
        Linear in the CXps and the domain's listed values.
        """
        return document_of(self, axps=axps, kinds=kinds)  # type: ignore[arg-type]

    def to_json(self, *, axps: bool = False, kinds: Sequence[str] = DEFAULT_SCORES, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as JSON text; :meth:`from_json` reads it, without the model."""
        return json.dumps(self.to_dict(axps=axps, kinds=kinds), indent=indent, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_dict(document: Any, *, model: Any = None, budget: Budget | None = None) -> SavedExplanation:
        """Return the explanation that :meth:`to_dict` described; see :meth:`from_json`."""
        found = explanation_of(document, SavedExplanation, budget=budget)
        if model is not None:
            vars(found)["problem"] = _problem_of(found, model)
        return found

    @staticmethod
    def from_json(text: str | bytes, *, model: Any = None, budget: Budget | None = None) -> SavedExplanation:
        """Return the explanation that :meth:`to_json` wrote.

        It answers as the original does (prediction, cxps, axps, relevant, scores, forest); given the model, it also
        finds counterfactuals. Every score in it is computed once more from its CXps.

        Parameters
        ----------
        text
            The document.
        model
            The model that was explained, for counterfactuals; None: it is not needed.
        budget
            What checking each score may cost; None: a minute. Those of AXps may take long.

        Raises
        ------
        BudgetError
            If the budget was spent before a score was checked.
        ResultFileError
            If `text` is damaged, of another format or version, does not fit together, or is about another model.

        Examples
        --------
        >>> import axfi_kc as ax
        >>> domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
        >>> e = ax.Explainer(lambda p: p[0] and p[1] > 0, domain).explain((1, 2))
        >>> ax.Explanation.from_json(e.to_json()).scores() == e.scores()
        True
        """
        return Views.from_dict(parsed(text), model=model, budget=budget)

    def to_frame(self, *, kinds: Sequence[str] = DEFAULT_SCORES, exact: bool = False) -> pd.DataFrame:
        """Return a row per feature: its value, its scores, and the number of its CXps.

        Parameters
        ----------
        kinds
            The scores to show.
        exact
            Whether scores are Fractions or floats.
        """
        return explanation_frame(self, kinds, exact=exact)  # type: ignore[arg-type]

    def to_html(self, kind: str = "shapley") -> str:
        """Return the explanation as HTML for a notebook: the features by a score, and the heaviest CXps."""
        return explanation_html(self, kind)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        """Return the explanation as notebooks show it."""
        return self.to_html()


class SavedExplanation(Views, SavedData):
    """An explanation read from a file: everything but the model, unless that was given as well.

    Made by ``Explanation.from_json``. Attributes and methods are those of
    :class:`axfi_kc.Explanation`, except the problem itself; `stated` has the scores as the file states them.
    """

    problem: Problem | None = None

    def counterfactual(self, cxp: CXp | Iterable[str] | None = None, *, seed: int | None = None) -> Counterfactual:
        """Return an adversarial example of a CXp, as :meth:`axfi_kc.Explanation.counterfactual` does.

        Raises
        ------
        IncompleteError
            If the explanation was read without its model.
        """
        if self.problem is None:
            raise IncompleteError(
                "A counterfactual has to be put to the model, but this explanation was read without one; read it with "
                "Explanation.from_json(text, model=model)."
            )
        if not self.cxps:
            raise DomainError(no_cxp_words(self))
        return counterfactual_of(self.problem, self.cxps, cxp, seed=seed)


def _problem_of(explained: SavedExplanation, model: Any) -> Problem:
    """Return the question that a saved explanation answers, of the model it is about."""
    delta = explained.delta
    problem = Problem.of(model, explained.whole or explained.domain, explained.instance, delta=delta)
    if problem.output != explained.prediction:
        raise ResultFileError(
            f"The document says that the model gives {shown(explained.prediction, quoted=True)} at the instance, but "
            f"this model gives {shown(problem.output, quoted=True)}; give the model that was explained."
        )
    named = replace(problem, class_names=explained.class_names)
    return named if explained.within is None else named.within(explained.within)


class BatchViews:
    """Gives a batch its tables and notebook display.

    A batch has ``domain``, ``rows``, ``predictions``, ``cxp_counts`` and ``score_numerators``.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        rows: tuple[Any, ...]

        @property
        def domain(self) -> Domain:
            """The space in which the instances were explained."""

        @property
        def predictions(self) -> list[Any]:
            """The model's output at each instance."""

        @property
        def probabilities(self) -> list[float | None] | None:
            """The probability that the model itself gives each prediction."""

        @property
        def class_names(self) -> Mapping[Any, str]:
            """The name of each class that has one."""

        @property
        def cxp_counts(self) -> list[int]:
            """The number of CXps of each instance."""

        def score_numerators(self, kind: str = "shapley") -> tuple[Any, list[int]]:
            """Return the scores as integers: ``numerators[n, i] / denominators[n]``, exactly."""

        def __len__(self) -> int: ...

    def scores(self, kind: str = "shapley") -> pd.DataFrame:
        """Return a score as a DataFrame of Fractions, a row per instance.

        ``.astype(float)`` turns them into floats, for plotting.
        """
        pd = pandas_for("A table of scores")
        numerators, denominators = self.score_numerators(kind)
        rows = [[Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True)]
        return pd.DataFrame(rows, columns=list(self.domain.names), index=list(self.rows), dtype=object)

    def to_frame(self, kind: str = "shapley", *, exact: bool = False) -> pd.DataFrame:
        """Return a row per instance: the prediction, the number of CXps, and a score per feature.

        The prediction's name and probability have columns of their own where there are class names and where the
        model gives probabilities.

        Parameters
        ----------
        kind
            The score.
        exact
            Whether scores, and the predictions of a regression, are Fractions or floats.

        Raises
        ------
        DomainError
            If a feature is called as one of these columns; ``scores()`` has no such columns.
        """
        pd = pandas_for("A table of a batch")
        names, columns = self.domain.names, self._answers(exact=exact)
        taken = next((n for n in names if n in columns), None)
        if taken is not None:
            raise DomainError(f"The table has a column {taken!r} of its own, and so has the domain; use scores().")
        numerators, denominators = self.score_numerators(kind)
        for name, column in zip(names, numerators.T.tolist(), strict=True):
            pairs = zip(column, denominators, strict=True)
            columns[name] = [Fraction(t, d) for t, d in pairs] if exact else [t / d for t, d in pairs]
        return pd.DataFrame(columns, index=list(self.rows))

    def _answers(self, *, exact: bool) -> dict[str, Any]:
        """Return the columns that say what the model gives, and how many CXps there are."""
        predictions, probabilities = self.predictions, self.probabilities
        view = [y if exact or not isinstance(y, Fraction) else float(y) for y in predictions]
        columns: dict[str, Any] = {"prediction": view}
        if self.class_names:
            columns["prediction_name"] = [name_of(y, self.class_names) for y in predictions]
        if probabilities is not None:
            columns["probability"] = probabilities
        return {**columns, "cxps": self.cxp_counts}

    def importance(self, kind: str = "shapley", *, exact: bool = False) -> pd.DataFrame:
        """Return how each feature's score is distributed over the batch, a row per feature.

        Columns are the mean, the standard deviation (population; left out of exact tables, being
        irrational), quartiles (linear between neighbours) and ``relevant``, the share of instances in
        which the feature's score is not 0.

        Parameters
        ----------
        kind
            The score.
        exact
            Whether the entries are Fractions or the floats nearest to them.

        Notes
        -----
        Instances times features, and a sort per feature.
        """
        numerators, denominators = self.score_numerators(kind)
        return importance_frame(self.domain.names, numerators.tolist(), denominators, exact=exact)

    def to_html(self, kind: str = "shapley") -> str:
        """Return the batch as HTML for a notebook: the features by the mean of a score."""
        numerators, denominators = self.score_numerators(kind)
        n = len(denominators)
        rows = []
        for name, column in zip(self.domain.names, numerators.T.tolist(), strict=True):
            total = sum((Fraction(t, d) for t, d in zip(column, denominators, strict=True) if t), Fraction(0))
            rows.append((name, total / (n or 1), Fraction(sum(t != 0 for t in column), n or 1)))
        return batch_html(f"{n} explanations, {sum(self.cxp_counts)} CXps", rows, kind)

    def _repr_html_(self) -> str:
        """Return the batch as notebooks show it."""
        return self.to_html()
