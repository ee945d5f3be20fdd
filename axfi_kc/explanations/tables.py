"""What explanations and batches can be turned into: DataFrames, dicts, JSON, HTML."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, takewhile
from math import fsum, lcm, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_hashable, quoted, whole
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.from_tables import FeatureNames, listing
from axfi_kc.domain.measures import Number, amount, counted, shown
from axfi_kc.engines import Numerators, fractions_of, nearest_floats
from axfi_kc.errors import ArgumentError, BudgetError, DomainError, IncompleteError, MissingExtraError, ResultFileError
from axfi_kc.explanations.answers import (
    UpToRadius,
    extent_words,
    limit_words,
    name_of,
    no_cxp_words,
    radius_words,
    stopped_words,
    surety_words,
)
from axfi_kc.explanations.counterfactuals import Counterfactual, counterfactual_of, improving_counterfactuals
from axfi_kc.explanations.cxps import AXp, CXp, ManyCXps, UnlistedCXps
from axfi_kc.explanations.files.document import SavedData, document_of, explanation_of, parsed
from axfi_kc.explanations.further import Answer, Asked, answered
from axfi_kc.explanations.inspection import Inspection, empty_batch, grouped_rows
from axfi_kc.explanations.labelled_rows import LabelledRows
from axfi_kc.explanations.notebook_html import batch_html, explanation_html
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.radius import Radius, critical_radius
from axfi_kc.explanations.space import Space
from axfi_kc.families.masks import smallest_hitting_set, some_hitting_sets
from axfi_kc.scores import DEFAULT_SCORES, check_complete, share_numerators, shares_of

if TYPE_CHECKING:
    import pandas as pd
    import shap
    import shapiq

    from axfi_kc.explanations.example_circuits import ExampleCircuit
    from axfi_kc.explanations.explanation import Explanation

__all__ = ["BatchViews", "SavedExplanation", "Views", "explanation_frame", "importance_frame", "pandas_for"]


_MOST = 1_000
_WIDEST = 100  # columns that a level of JSON is set in
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


@lru_cache(maxsize=16)
def _columns(names: tuple[str, ...]) -> Any:
    """Return names as pandas has them, which takes longer to make than a small table."""
    return pandas_for("A table of scores").Index(list(names))


def explanation_frame(explained: Explanation | SavedExplanation, kinds: Sequence[str], *, exact: bool) -> pd.DataFrame:
    """Return a row per feature: its value, its scores with their shares, and in how many CXps it occurs."""
    pd = pandas_for("A table of one explanation")
    names = explained.domain.names
    columns: dict[str, Any] = {"value": pd.Series(list(explained.instance.values()), dtype=object)}
    for kind in kinds:
        scores = explained.scores(kind)
        for title, row in ((kind, scores), (f"{kind}_share", shares_of(scores))):
            found = [row[n] if exact else float(row[n]) for n in names]
            columns[title] = pd.Series(found, dtype=object if exact else float)
    numbers = _occurrences(explained)
    if numbers is not None:
        columns["cxps"] = pd.Series([numbers[n] for n in names], dtype="int64" if _fit(numbers) else object)
    frame = pd.DataFrame(columns).set_axis(pd.Index(list(names), name="feature"))
    frame.attrs |= Space.of(explained).entries
    if not explained.is_complete:
        frame.attrs["completeness"] = radius_words(explained.stopped_at)
    return frame


def _fit(numbers: Mapping[str, int]) -> bool:
    return max(numbers.values(), default=0) < 2**63


def _occurrences(explained: Explanation | SavedExplanation) -> dict[str, int] | None:
    """Return in how many CXps each feature occurs; None if a file does not say which there are."""
    names, cxps = explained.domain.names, explained.cxps
    if isinstance(cxps, UnlistedCXps):
        return None
    if isinstance(cxps, ManyCXps):
        counts = cxps.family.counts()
        return {name: counts.get(i, 0) for i, name in enumerate(names)}
    found = Counter(name for cxp in cxps for name in cxp.features)
    return {name: found[name] for name in names}


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
        raise empty_batch()
    whole = lcm(*set(denominators))
    factors = [whole // d for d in denominators]
    columns = ([t * f for t, f in zip(column, factors, strict=True)] for column in zip(*numerators, strict=True))
    rows = [_distribution(sorted(column), whole, exact=exact) for column in columns]
    return pd.DataFrame(rows, index=pd.Index(list(names), name="feature"), dtype=object if exact else float)


def share_frame(names: Sequence[str], scored: Numerators) -> pd.DataFrame:
    """Return the mean and the distribution of each feature's share over a batch, as floats.

    Notes
    -----
    Instances times features, and a sort per feature. Each share is rounded once, and the mean once more: instances
    have sums of scores with nothing in common, so exact means take the square of that.
    """
    pd = pandas_for("A table of importance")
    if not scored[1]:
        raise empty_batch()
    rows = list(zip(scored[0].tolist(), scored[1], strict=True))
    found = []
    for i in range(len(names)):
        column = np.array([row[i] / whole for row, whole in rows])
        distribution = {"mean": fsum(column) / len(column), "std": column.std()}
        distribution |= {name: np.quantile(column, float(at)) for name, at in _QUARTILES.items()}
        found.append({**distribution, "relevant": np.count_nonzero(column) / len(column)})
    return pd.DataFrame(found, index=pd.Index(list(names), name="feature"), dtype=float)


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


def _few_features(order: int, domain: Domain) -> int:
    """Return how many features interact, which are no more than there are."""
    return whole(order, "order", least=1, most=max(len(domain), 2))


def _quantile(ordered: Sequence[int], at: Fraction) -> Fraction:
    """Return the quantile, linear between neighbours as in NumPy and pandas."""
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


class Views(UpToRadius):
    """Gives an explanation its tables, files and notebook display, and as many sets as a page can show."""

    __slots__ = ()

    def __repr__(self: Any) -> str:
        """Return a summary: prediction, families, the top features, and the space in a few words."""
        try:
            ranked = sorted(self.scores("shapley").items(), key=lambda item: -item[1])
            top = ", ".join(f"{name} {amount(value)}" for name, value in ranked[:3] if value) or "all 0"
        except BudgetError:
            top = "not within the budget"
        surety = surety_words(self)
        said = (
            f"prediction {shown(self.prediction_name, quoted=True)}{f' ({surety})' if surety else ''}, "
            f"{counted(self.cxp_count, 'CXp')}{limit_words(self)}; shapley: {top}"
        )
        return f"<{type(self).__name__}: {Space.of(self).after(said)}>"

    @property
    def prediction_name(self: Any) -> Any:
        """The prediction as people call it: the name of its class, or itself if it has none."""
        return name_of(self.prediction, self.class_names)

    def shares(self: Any, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the share of each feature: its score divided by the sum of all scores.

        The shares add up to 1, unless every score is 0. The number of CXps, by which every score is divided, is in
        none of them: shares of two instances, or of one at two radii, can be compared, and scores cannot.

        Parameters
        ----------
        kind
            The score; see :meth:`axfi_kc.Explanation.scores`.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
        >>> explainer.explain((1, 2)).shares()
        {'a': Fraction(3, 5), 'b': Fraction(2, 5)}
        """
        return shares_of(self.scores(kind))

    @property
    def necessary(self: Any) -> tuple[str, ...]:
        """The features that are in every AXp: those that alone can change the output.

        All CXps need not be known for it: a feature is in every AXp exactly if it is a CXp by itself.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3), Integer("c", 0, 3)])
        >>> e = Explainer(lambda p: p[0] and (p[1] > 0 or p[2] > 1), domain).explain((1, 2, 3))
        >>> e.necessary, e.relevant, e.in_smallest_cxps
        (('a',), ('a', 'b', 'c'), ('a',))
        """
        self._check_some_radius("The features of every AXp")
        alone = takewhile(lambda c: len(c.features) == 1, self._ordered_cxps() if self.cxp_sizes.get(1) else ())
        members = {c.features[0] for c in alone}
        return tuple(name for name in self.domain.names if name in members)

    @property
    def in_smallest_cxps(self: Any) -> tuple[str, ...]:
        """The features that are in every CXp of the least size; none if there is no CXp."""
        if not self.cxp_count:
            self._check_some_radius("The features of the smallest CXps")
            return ()
        least = min(self.cxp_sizes)
        kept: set[str] | None = None
        for cxp in takewhile(lambda c: len(c.features) == least, self._ordered_cxps()):
            kept = set(cxp.features) if kept is None else kept & set(cxp.features)
        return tuple(name for name in self.domain.names if name in (kept or ()))

    def _check_some_radius(self: Any, what: str) -> None:
        """Raise if a budget was spent before the CXps of one feature were known."""
        if self.stopped_at == 0:
            raise IncompleteError(f"{what} are not known, because a budget was spent before any CXp was; give more.")

    def smallest_cxp(self: Any) -> CXp:
        """Return a CXp of least size, the heaviest of these.

        Raises
        ------
        DomainError
            If there is no CXp.
        """
        if not self.cxp_count:
            raise DomainError(no_cxp_words(self))
        least = min(self.cxp_sizes)
        of_least = takewhile(lambda c: len(c.features) == least, self._ordered_cxps())
        return max(islice(of_least, _MOST), key=lambda c: c.weight)

    def smallest_axp(self: Any) -> AXp:
        """Return an AXp of least size.

        Raises
        ------
        IncompleteError
            If only CXps up to `radius` are known.
        BudgetError
            If the explainer's budget was spent.

        Notes
        -----
        Branch and bound for a smallest set that meets every CXp; not all AXps are needed.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer(name, 0, 1) for name in "abc"])
        >>> Explainer(lambda p: p[0] or (p[1] and p[2]), domain).explain((1, 1, 1)).smallest_axp()
        AXp(features=('a',))
        """
        check_complete(self.radius, len(self.domain))
        cxps, budget = self.cxps, getattr(self, "_budget", None)
        if isinstance(cxps, UnlistedCXps):
            raise cxps.unknown("a smallest AXp")
        if not isinstance(cxps, tuple):
            return AXp(self.domain.names_of(next(iter(cxps.axps(budget or Budget())))))
        account = Account(budget, goal="smallest AXp", advice="allow more")
        found = smallest_hitting_set([self.domain.mask(c.features) for c in cxps], account=account)
        return AXp(self.domain.names_of(found))

    def _ordered_cxps(self: Any) -> Iterable[CXp]:
        """Return the CXps, smallest first."""
        if isinstance(self.cxps, UnlistedCXps):
            raise self.cxps.unknown("which features are in which")
        return sorted(self.cxps, key=lambda c: len(c.features)) if isinstance(self.cxps, tuple) else self.cxps

    def interaction_frame(self: Any, kind: str = "shapley", *, order: int = 2, exact: bool = False) -> pd.DataFrame:
        """Return a row per set of features that interact, strongest first: the features and the number.

        Parameters
        ----------
        kind, order
            As for :meth:`axfi_kc.Explanation.interactions`.
        exact
            Whether numbers are Fractions or floats.
        """
        pd = pandas_for("A table of interactions")
        found = sorted(self.interactions(kind, order=order).items(), key=lambda item: -abs(item[1]))
        columns = [f"feature_{k + 1}" for k in range(_few_features(order, self.domain))]
        rows = [(*names, value if exact else float(value)) for names, value in found]
        return pd.DataFrame(rows, columns=[*columns, kind])

    @checked("shares")
    def to_shap(self: Any, kind: str = "shapley", *, shares: bool = False) -> shap.Explanation:
        """Return a score as a ``shap.Explanation``, which shap's plots draw; see :mod:`.shap_objects`.

        Parameters
        ----------
        kind
            The score.
        shares
            Whether to divide by the sum of scores; what a waterfall ends in is then 1.

        Raises
        ------
        MissingExtraError
            If shap is not installed.
        """
        from axfi_kc.explanations.shap_objects import shap_explanation

        found = shares_of(self.scores(kind)) if shares else self.scores(kind)
        row = np.array([[float(found[name]) for name in self.domain.names]])
        return shap_explanation(row, self.domain, [self.instance])

    def to_shapiq(self: Any, kind: str = "shapley", *, order: int = 2) -> shapiq.InteractionValues:
        """Return interactions of one to `order` features as shapiq's ``InteractionValues``, which its plots draw.

        Parameters
        ----------
        kind
            ``"shapley"`` (SII in shapiq), ``"banzhaf"`` (BII), ``"moebius"``, ``"k_shapley"`` (k-SII), ``"taylor"``
            (STII) or ``"faith"`` (FSII).
        order
            The largest number of features.

        Raises
        ------
        MissingExtraError
            If shapiq is not installed.
        WeightError, IncompleteError, BudgetError
            As :meth:`axfi_kc.Explanation.interactions` does.
        """
        from axfi_kc.explanations.shap_objects import shapiq_values

        largest = self.interactions(kind, order=order)  # first, as it looks at kind and order
        found = [
            self.interactions(kind, order=size, up_to=order) for size in range(1, _few_features(order, self.domain))
        ]
        return shapiq_values([*found, largest], self.domain.names, kind)

    def heaviest_cxps(self: Any, *, most: int = _MOST) -> list[CXp]:
        """Return the CXps, heaviest first; of a family too large to list, the heaviest of the `most` smallest sets.

        None, where a file does not list them.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
        >>> [c.features for c in explainer.explain((1, 2)).heaviest_cxps()]
        [('a',), ('b',)]
        """
        cxps = self.cxps
        if isinstance(cxps, UnlistedCXps):
            return []
        return sorted(cxps if isinstance(cxps, tuple) else islice(cxps, most), key=lambda c: -c.weight)

    @checked("seconds")
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
        if isinstance(cxps, UnlistedCXps):
            return [], False
        if isinstance(cxps, tuple):
            masks, complete = some_hitting_sets([self.domain.mask(c.features) for c in cxps], budget=budget)
        else:
            try:
                # Found once more, so that a page has as many whether or not all were asked for before.
                family = cxps.axps_within(budget)
            except BudgetError:
                return [], False
            masks, complete = list(islice(family, most)), family.count <= most
        return [AXp(self.domain.names_of(mask)) for mask in masks], complete

    @checked("axps", "inflate")
    def to_dict(
        self,
        *,
        axps: bool = False,
        kinds: Sequence[str] = DEFAULT_SCORES,
        interactions: Sequence[str] = (),
        min_precision: Number | None = None,
        inflate: bool = False,
    ) -> dict[str, Any]:
        """Return everything about the explanation as plain dicts, lists, text and numbers.

        Weights and scores are exact: integers, or text such as ``"43/146"``.

        Parameters
        ----------
        axps
            Whether it has the AXps, which may take long to find.
        kinds
            The scores to write; names in :data:`axfi_kc.scores.SCORES`.
        interactions
            The interactions of two features to write; see :meth:`axfi_kc.Explanation.interactions`.
        min_precision, inflate
            Whether it has a locally minimal set of that precision, and the most general box. Answers that the
            explanation holds are in it in any case; see :meth:`with_answers`.

        Raises
        ------
        WeightError
            If there is no such score, or no such interaction.
        IncompleteError
            If too few CXps are known for one of the scores.
        DomainError
            If a value or label is of a type that JSON cannot give back.

        Notes
        -----
        Linear in the CXps and the domain's listed values.
        """
        holding: Any = self.ask(min_precision=min_precision, inflate=inflate)
        return document_of(holding, axps=axps, kinds=kinds, interactions=interactions)

    def with_answers(self, *answers: Answer) -> Self:
        """Return this explanation with answers that its documents and pages then have, and that ``ax.verify`` checks.

        An explanation holds no other answers, so a document does not depend on what was asked before.

        Parameters
        ----------
        answers
            What ``paxp``, ``paxps``, ``inflated_axp``, ``inflated_cxp`` and ``most_general`` gave.

        Raises
        ------
        ArgumentError
            If something else was given.
        UnknownFeatureError
            If an answer names a feature that the domain does not have.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3)])
        >>> e = Explainer(lambda p: p[0] and p[1] > 0, domain).explain((1, 2))
        >>> e.with_answers(e.paxp(0.75)).to_dict()["local_paxps"]
        [{'min_precision': '3/4', 'features': ['a'], 'precision': '3/4'}]
        """
        own: Any = self
        held = copy(own)
        # The copy keeps all else that was found for this explanation, which stays true.
        vars(held)["further"] = own.further.with_answers(answers, own.domain, own.instance)
        return held

    @checked("inflate")
    def ask(self, *, min_precision: Number | None = None, inflate: bool = False) -> Self:
        """Return this explanation with a locally minimal set of a precision, and with the most general box.

        What it holds already is not looked for again; see :meth:`with_answers`.

        Raises
        ------
        DomainError
            If the threshold is no probability.
        IncompleteError
            If the explanation was read without its model, and does not have the answers.
        """
        own: Any = self
        left = Asked.of(min_precision, inflate).beyond(own.further)
        if left == Asked():
            return self
        if own.problem is None:
            raise IncompleteError(
                "Precisions and boxes have to be asked of the model, but this explanation was read without one; read "
                "it with Explanation.from_json(text, model=model)."
            )
        return self.with_answers(*answered(own.problem, left, budget=getattr(self, "_budget", Budget())))

    @checked("axps", "inflate", "indent")
    def to_json(
        self,
        *,
        axps: bool = False,
        kinds: Sequence[str] = DEFAULT_SCORES,
        interactions: Sequence[str] = (),
        min_precision: Number | None = None,
        inflate: bool = False,
        indent: int | None = None,
    ) -> str:
        """Return :meth:`to_dict` as JSON text; :meth:`from_json` reads it, without the model.

        Of CXps that are too many to write down it has the number, the features and the scores.
        """
        options: dict[str, Any] = {"min_precision": min_precision, "inflate": inflate}
        document = self.to_dict(axps=axps, kinds=kinds, interactions=interactions, **options)
        width = None if indent is None else whole(indent, "indent", least=0, most=_WIDEST)
        return json.dumps(document, indent=width, ensure_ascii=False, allow_nan=False)

    @staticmethod
    @checked("budget")
    def from_dict(document: Any, *, model: Any = None, budget: Budget | None = None) -> SavedExplanation:
        """Return the explanation that :meth:`to_dict` described; see :meth:`from_json`."""
        found = explanation_of(document, SavedExplanation, budget=budget)
        if model is not None:
            vars(found)["problem"] = _problem_of(found, model)
        return found

    @staticmethod
    @checked("text", "budget")
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

    @checked("kinds", "exact")
    def to_frame(self, *, kinds: Sequence[str] = DEFAULT_SCORES, exact: bool = False) -> pd.DataFrame:
        """Return a row per feature: its value, its scores, each with its share, and the number of its CXps.

        If the budget ended, the table's ``attrs["completeness"]`` says up to how many features CXps are known; its
        ``attrs["space"]`` says which constraints, region and distribution there were, if any.

        Parameters
        ----------
        kinds
            The scores to show; the shares of ``shapley`` are the column ``shapley_share``.
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

    @checked("seed", "first")
    def counterfactual(
        self, cxp: FeatureNames | None = None, *, seed: int | None = None, first: bool = False
    ) -> Counterfactual:
        """Return an adversarial example of a CXp, as :meth:`axfi_kc.Explanation.counterfactual` does.

        Raises
        ------
        IncompleteError
            If the explanation was read without its model.
        """
        return counterfactual_of(self._problem(), self.cxps, cxp, seed=seed, first=first)

    def counterfactuals(self) -> Iterator[Counterfactual]:
        """Iterate over strictly nearer adversarial examples, as :meth:`axfi_kc.Explanation.counterfactuals` does."""
        problem = self._problem()
        return improving_counterfactuals(problem, self._masks())

    @checked("norm", "unit")
    def critical_radius(
        self,
        cxp: FeatureNames,
        *,
        norm: str | None = None,
        unit: str | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> Radius:
        """Return the least radius at which a CXp appears; see :meth:`axfi_kc.Explanation.critical_radius`.

        Raises
        ------
        IncompleteError
            If the explanation was read without its model.
        """
        return critical_radius(self._posed("A critical radius"), cxp, norm=norm, unit=unit, weights=weights)

    def circuit(self, cxp: FeatureNames | None = None) -> ExampleCircuit:
        """Return the adversarial examples of a CXp, or of all, as a circuit; see :meth:`axfi_kc.Explanation.circuit`.

        Raises
        ------
        IncompleteError
            If the explanation was read without its model.
        """
        from axfi_kc.explanations.example_circuits import all_examples, examples_of, named_mask

        problem, masks = self._problem("An adversarial example"), self._masks()
        if cxp is not None:
            return examples_of(problem, named_mask(self.domain, cxp, masks.__contains__))
        return all_examples(problem, masks, self.domain.mask(self.relevant), radius=self.radius)

    def _masks(self) -> list[int]:
        return [self.domain.mask(cxp.features) for cxp in self.cxps]

    def _posed(self, what: str) -> Problem:
        if self.problem is None:
            raise IncompleteError(
                f"{what} has to be put to the model, but this explanation was read without one; read it with "
                "Explanation.from_json(text, model=model)."
            )
        return self.problem

    def _problem(self, what: str = "A counterfactual") -> Problem:
        problem = self._posed(what)
        if not self.cxps:
            raise DomainError(no_cxp_words(self))
        if isinstance(self.cxps, UnlistedCXps):
            raise self.cxps.unknown(f"{what[:1].lower()}{what[1:]}")
        return problem


def _problem_of(explained: SavedExplanation, model: Any) -> Problem:
    """Return the question that a saved explanation answers, of the model it is about."""
    delta = explained.delta
    whole = explained.whole or explained.domain
    problem = Problem.of(model, whole, explained.instance, delta=delta, toward=explained.toward)
    if problem.output != explained.prediction:
        raise ResultFileError(
            f"The document says that the model gives {shown(explained.prediction, quoted=True)} at the instance, but "
            f"this model gives {shown(problem.output, quoted=True)}; give the model that was explained."
        )
    named = replace(problem, class_names=explained.class_names)
    return named if explained.within is None else named.within(explained.within)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two labels are the same; pandas' NA, for one, does not say whether it equals anything."""
    try:
        return one is other or bool(one == other)
    except (TypeError, ValueError):
        return False


class BatchViews:
    """Gives a batch its tables and notebook display.

    A batch has ``domain``, ``rows``, ``instances``, ``predictions``, ``cxp_counts`` and ``score_numerators``.
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

        @property
        def radii(self) -> list[int | None]:
            """Up to how many features the CXps of each instance are complete; None: all that were asked for."""

        @property
        def instances(self) -> list[dict[str, Any]]:
            """The instances, as ``{feature name: value}``."""

        @property
        def skipped(self) -> Mapping[Any, str]:
            """The labels of the rows that were skipped, and why."""

        def score_numerators(self, kind: str = "shapley") -> tuple[Any, list[int]]:
            """Return the scores as integers: ``numerators[n, i] / denominators[n]``, exactly."""

        def __len__(self) -> int: ...

        def __getitem__(self, position: int) -> Any: ...

    def at(self, label: Hashable) -> Any:
        """Return the explanation of the row with this label, which need not be its position: rows may be skipped.

        Of several rows of one label, the first.

        Raises
        ------
        DomainError
            If the row was skipped, with the reason, or there is none of that label.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] > 1, Domain([Integer("a", 0, 3)]))
        >>> batch = explainer.explain_batch([[0], [7], [2]], on_error="skip")
        >>> batch.rows, batch.at(2).instance, batch[1].row
        ((0, 2), {'a': 2}, 2)
        """
        if not is_hashable(label):
            raise ArgumentError(f"A row's label was expected, but {quoted(label)} was given; give one of `rows`.")
        rows = list(self.rows)
        place = next((k for k, row in enumerate(rows) if _is_same(row, label)), None)
        if place is not None:
            return self[place]
        why = next((why for row, why in self.skipped.items() if _is_same(row, label)), None)
        if why is not None:
            raise DomainError(f"Row {shown(label, quoted=True)} was skipped: {why}")
        whole = getattr(self, "n_rows", len(rows))
        if not whole:
            raise empty_batch(f"Row {quoted(label)} was asked for")
        known = f"The rows are {listing(rows)}" if len(rows) == whole else f"{extent_words(self)} are there"
        raise DomainError(f"{known}, but row {quoted(label)} was asked for; choose one of them.")

    def score_fractions(self, kind: str = "shapley") -> npt.NDArray[np.object_]:
        """Return a score as Fractions, a row per instance and a column per feature."""
        return fractions_of(*self.score_numerators(kind))

    def score_floats(self, kind: str = "shapley") -> npt.NDArray[np.float64]:
        """Return a score as the floats nearest to it, a row per instance and a column per feature."""
        return nearest_floats(*self.score_numerators(kind))

    @checked("exact")
    def scores(self, kind: str = "shapley", *, exact: bool = True) -> pd.DataFrame:
        """Return a score as a DataFrame, a row per instance and a column per feature.

        Parameters
        ----------
        kind
            The score.
        exact
            Whether scores are Fractions, or the floats nearest to them: correctly rounded, so the same as
            ``.astype(float)`` makes of the Fractions, without making these.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
        >>> explainer.explain_batch([(1, 2)]).scores("banzhaf", exact=False).round(3).values.tolist()
        [[0.25, 0.167]]
        """
        pd = pandas_for("A table of scores")
        found = self.score_fractions(kind) if exact else self.score_floats(kind)
        # A view, since people give the columns of their tables a name.
        columns = _columns(self.domain.names).view()
        table = pd.DataFrame(found, columns=columns, index=self._row_index(), dtype=found.dtype)
        self._keep_row_index(table.index)
        return table

    def _row_index(self) -> Any:
        """Return the rows' labels for a table: as pandas made an index of them before, where that is kept."""
        return list(self.rows)

    def _keep_row_index(self, index: Any) -> None:
        """Keep what pandas has made of the labels, where there is a place; it takes longer than a small table."""

    def shares(self, kind: str = "shapley") -> pd.DataFrame:
        """Return the shares of a score, each row's divided by their sum, as a DataFrame of Fractions."""
        pd = pandas_for("A table of shares")
        numerators, denominators = self.share_numerators(kind)
        rows = [[Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True)]
        return pd.DataFrame(rows, columns=list(self.domain.names), index=list(self.rows), dtype=object)

    def share_numerators(self, kind: str = "shapley") -> Numerators:
        """Return shares as integers: ``numerators[n, i] / denominators[n]``, exactly."""
        return share_numerators(self.score_numerators(kind))

    @checked("exact", "shares")
    def to_frame(self, kind: str = "shapley", *, exact: bool = False, shares: bool = False) -> pd.DataFrame:
        """Return a row per instance: the prediction, the number of CXps, and a score per feature.

        The prediction's name and probability have columns of their own where there are class names and where the
        model gives probabilities. Where the budget of a row ended, ``completeness`` says up to how many features its
        CXps are known. The table's ``attrs["space"]`` says which constraints, region and distribution there were, if
        any.

        Parameters
        ----------
        kind
            The score.
        exact
            Whether scores, and the predictions of a regression, are Fractions or floats.
        shares
            Whether to divide the scores of each row by their sum, so that rows can be compared.

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
        if shares:
            numerators, denominators = self.share_numerators(kind)
            found = fractions_of(numerators, denominators) if exact else nearest_floats(numerators, denominators)
        else:
            found = self.score_fractions(kind) if exact else self.score_floats(kind)
        columns |= dict(zip(names, found.T, strict=True))
        frame = pd.DataFrame(columns, index=list(self.rows))
        frame.attrs |= Space.of(self).entries
        return frame

    def _answers(self, *, exact: bool) -> dict[str, Any]:
        """Return the columns that say what the model gives, and how many CXps there are."""
        predictions, probabilities = self.predictions, self.probabilities
        view = [y if exact or not isinstance(y, Fraction) else float(y) for y in predictions]
        columns: dict[str, Any] = {"prediction": view}
        if self.class_names:
            columns["prediction_name"] = [name_of(y, self.class_names) for y in predictions]
        if probabilities is not None:
            columns["probability"] = probabilities
        radii = self.radii
        if any(radius is not None for radius in radii):
            columns["completeness"] = [radius_words(radius) or "complete" for radius in radii]
        return {**columns, "cxps": self.cxp_counts}

    @property
    def stopped_rows(self) -> Mapping[Any, int]:
        """The rows whose budget ended, by their labels, and up to how many features their CXps are complete.

        Rows of one label are several entries; asked for the label, the first answers.
        """
        found = zip(self.rows, self.radii, strict=True)
        return LabelledRows((row, radius) for row, radius in found if radius is not None)

    @checked("exact", "shares")
    def importance(self, kind: str = "shapley", *, exact: bool = False, shares: bool = True) -> pd.DataFrame:
        """Return how each feature's share of the scores is distributed over the batch, a row per feature.

        Columns are the mean, the standard deviation (population; left out of exact tables, being
        irrational), quartiles (linear between neighbours) and ``relevant``, the share of instances in
        which the feature's score is not 0.

        Parameters
        ----------
        kind
            The score.
        exact
            Whether the entries are Fractions or floats.
        shares
            Whether each instance's scores are divided by their sum first. Without, instances with few CXps outweigh
            the others, because every score is divided by their number.

        Notes
        -----
        Instances times features, and a sort per feature.
        """
        numerators, denominators = scored = self.share_numerators(kind) if shares else self.score_numerators(kind)
        if shares and not exact:
            return share_frame(self.domain.names, scored)
        return importance_frame(self.domain.names, numerators.tolist(), denominators, exact=exact)

    @checked("by", "shares")
    def inspection(
        self, kind: str = "shapley", *, by: str | Sequence[Hashable] | None = None, shares: bool = True
    ) -> Inspection | dict[Hashable, Inspection]:
        """Return importances as ``sklearn.inspection.permutation_importance`` does: means, deviations and all values.

        Parameters
        ----------
        kind
            The score.
        by
            In which groups: ``"prediction"`` (by output, under its name), a feature (by its value), or a group for each
            row. None: all rows together.
        shares
            Whether each row's scores are divided by their sum; without, rows cannot be compared.

        Returns
        -------
        Inspection or dict
            With groups, one for each, by group.

        Raises
        ------
        DomainError
            If the batch is empty, or there is not one group per row.
        UnknownFeatureError
            If there is no such feature.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
        >>> batch = explainer.explain_batch([(1, 2), (0, 2), (1, 0)])
        >>> batch.inspection().importances_mean.round(3).tolist()
        [0.533, 0.467]
        >>> {group: found.importances_mean.tolist() for group, found in batch.inspection(by="a").items()}
        {0: [1.0, 0.0], 1: [0.3, 0.7]}
        """
        values = nearest_floats(*(self.share_numerators if shares else self.score_numerators)(kind))
        if by is None or not len(values):
            return Inspection.of(values, self.domain.names)
        rows = grouped_rows(self._groups(by), len(self))
        return {group: Inspection.of(values[own], self.domain.names) for group, own in rows.items()}

    def _groups(self, by: str | Sequence[Hashable]) -> Sequence[Hashable]:
        if not isinstance(by, str):
            return list(by)
        if by == "prediction":
            return [name_of(y, self.class_names) for y in self.predictions]
        self.domain.index(by)
        return [instance[by] for instance in self.instances]

    @checked("shares")
    def to_shap(self, kind: str = "shapley", *, shares: bool = True) -> shap.Explanation:
        """Return a score of all rows as a ``shap.Explanation``, which shap's plots draw; see :mod:`.shap_objects`.

        Parameters
        ----------
        kind
            The score.
        shares
            Whether to divide the scores of each row by their sum, so that rows can be compared, as beeswarms do.

        Raises
        ------
        MissingExtraError
            If shap is not installed.
        DomainError
            If the batch is empty.
        """
        from axfi_kc.explanations.shap_objects import shap_explanation

        if not len(self):
            raise empty_batch("shap's plots draw the rows of a batch")
        values = nearest_floats(*self.share_numerators(kind)) if shares else self.score_floats(kind)
        return shap_explanation(values, self.domain, self.instances, labels=self.rows)

    def to_html(self, kind: str = "shapley") -> str:
        """Return the batch as HTML for a notebook: the features by the mean of their shares of a score."""
        numerators, denominators = self.share_numerators(kind)
        n = len(denominators)
        rows = []
        for name, column in zip(self.domain.names, numerators.T.tolist(), strict=True):
            total = fsum(t / d for t, d in zip(column, denominators, strict=True) if t)
            rows.append((name, total / (n or 1), sum(t != 0 for t in column) / (n or 1)))
        return batch_html(self._extent(n), rows, kind, space=Space.of(self))

    def _extent(self, n: int) -> str:
        """Return how many explanations there are, with how many CXps, and which rows are cut short or missing."""
        parts = [counted(n, "explanation"), counted(sum(self.cxp_counts), "CXp"), stopped_words(self.radii)]
        parts += [f"{counted(len(self.skipped), 'row')} skipped"] * bool(self.skipped)
        return ", ".join(filter(None, parts))

    def _repr_html_(self) -> str:
        """Return the batch as notebooks show it."""
        return self.to_html()
