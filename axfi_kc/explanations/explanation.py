"""The explanation of one instance, as the front door gives it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.from_tables import FeatureNames
from axfi_kc.domain.measures import Number, counted
from axfi_kc.domain.region import Region
from axfi_kc.engines import LISTED, CxpSets
from axfi_kc.errors import BudgetError, DomainError, IncompleteError
from axfi_kc.explanations.answers import margins_at, no_cxp_words
from axfi_kc.explanations.chances import plausibility_at, precision_of
from axfi_kc.explanations.counterfactuals import (
    Counterfactual,
    counterfactual_of,
    improving_counterfactuals,
    nearest_counterfactual,
)
from axfi_kc.explanations.cxps import AXp, CXp, ManyAXps, ManyCXps, cxps_in
from axfi_kc.explanations.further import Further, search_budget
from axfi_kc.explanations.inflated import Inflated, inflated_axp, inflated_cxp, most_general
from axfi_kc.explanations.paxps import PAXp, PAXps, find_paxps, locally_minimal_paxp
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.progress import showing_progress
from axfi_kc.explanations.radius import Radius, critical_radius
from axfi_kc.explanations.rounding import Rounding, rounding_of
from axfi_kc.explanations.tables import Views
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import some_hitting_sets, sorted_sets
from axfi_kc.models.own_predict import OwnProbabilities
from axfi_kc.scores import check_complete, find_score, scores_of
from axfi_kc.scores.forest import CXpForest
from axfi_kc.scores.interactions import interactions_of

if TYPE_CHECKING:
    from axfi_kc.explanations.example_circuits import ExampleCircuit

__all__ = ["Explanation"]


_FEATURES_TO_SEARCH = 64  # of more, hitting sets are found as a family
_NODES_TO_SEARCH = 20_000
_CXPS_TO_COMPARE = 1_000_000
_SECONDS_TO_SEARCH = 10.0  # and no longer, where each node looks at many sets


@lru_cache(maxsize=16)
def _trial_of(given: Budget, seconds: float, nodes: int) -> Budget:
    """Return what a search for AXps may cost.

    Half of the time at most: the family of all AXps, which is next if the search does not finish, needs the rest.
    """
    return Budget(
        seconds=seconds if given.seconds is None else given.seconds / 2,
        nodes=min(nodes, given.nodes or nodes),
        bytes=given.bytes,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Views):
    """Why the model gives its output at one instance; everything in exact numbers.

    Attributes
    ----------
    problem
        The model, the instance and the similarity this explains.
    max_size
        The largest number of features a CXp was allowed to have; None: any.
    nodes
        The search nodes spent on CXps and weights; None where there was no search.
    stopped_at
        Where the budget ended before all that was asked for was found: the number of features up to which it was; see
        `radius`. None: all was found.
    row
        The label of the row in the table or batch that it is from; None where there is none.
    further
        The probabilistic AXps and boxes that it holds; see :meth:`with_answers`.
    """

    problem: Problem
    max_size: int | None
    _found: CxpSets = field(repr=False)
    _budget: Budget = field(default=Budget(), repr=False)
    nodes: int | None = None
    _probabilities: OwnProbabilities | None = field(default=None, repr=False)
    stopped_at: int | None = None
    row: Any = None
    further: Further = field(default_factory=Further, repr=False)

    @property
    def domain(self) -> Domain:
        """The space in which the instance was explained."""
        return self.problem.model.domain

    @property
    def within(self) -> Region | None:
        """How far one may go from the instance; None: anywhere."""
        return self.problem.region

    @property
    def instance(self) -> dict[str, Any]:
        """The instance, as ``{feature name: value}``."""
        return self.problem.instance

    @property
    def prediction(self) -> Any:
        """The model's output at the instance."""
        return self.problem.output

    @property
    def class_names(self) -> Mapping[Any, str]:
        """The name of each class that has one."""
        return self.problem.class_names

    @cached_property
    def margin(self) -> dict[Hashable, Fraction] | None:
        """The exact score of each class, of which the largest decides; None without such scores.

        For boosted ensembles and linear models these are their margins (log-odds), for trees probabilities, for
        forests the sums of their trees'. Where one score is compared with 0, the other class has its negative.
        """
        return margins_at(self.problem.model, self.problem.codes[np.newaxis])[0]

    @cached_property
    def probability(self) -> float | None:
        """The probability that the model's own ``predict_proba`` gives its prediction; None without such a method.

        A float, as the library computes it. The model is asked when this is first read.
        """
        found = None if self._probabilities is None else self._probabilities(self.problem.codes[np.newaxis])
        return None if found is None else found[0].get(self.prediction)

    @property
    def model_kind(self) -> str:
        """What kind of model was explained: the name of its neutral form."""
        return type(self.problem.model).__name__

    @property
    def delta(self) -> Fraction | None:
        """For a regression, how far apart similar outputs are at most."""
        return self.problem.similarity.delta

    @property
    def toward(self) -> Hashable | None:
        """The class that the explanation is about, "why not this one?"; None: any other than the prediction."""
        return self.problem.similarity.toward

    @property
    def weights(self) -> str:
        """The kind of weights: ``"ratio"``, ``"count"`` or ``"unit"``."""
        return self._found.kind

    @cached_property
    def cxps(self) -> tuple[CXp, ...] | ManyCXps:
        """All contrastive explanations with their weights, smallest first.

        A tuple; of more than 100,000 a view that counts them, draws some and iterates, smallest first.

        Raises
        ------
        BudgetError
            If the explainer's budget was spent on listing them.
        """
        return self._named_cxps(self._account())

    def _account(self) -> Account:
        """Return the account of one question, whose steps share one budget."""
        return Account(self._budget, goal="answer", advice="allow more, or limit max_size")

    def _named_cxps(self, account: Account) -> tuple[CXp, ...] | ManyCXps:
        return cxps_in(self._found, self.domain.names, account=account)

    @cached_property
    def axps(self) -> tuple[AXp, ...] | ManyAXps:
        """All abductive explanations, smallest first.

        A tuple; of more than 100,000 a view that counts them, draws some and iterates, smallest first. Under
        constraints an AXp forces the output among points that can exist, and may hold a feature in place of one that it
        implies.

        Raises
        ------
        IncompleteError
            If only CXps up to `radius` are known: AXps need all of them.
        BudgetError
            If the explainer's budget was spent; it carries the AXps found so far.
        """
        check_complete(self.radius, len(self.domain))
        account = self._account()
        with showing_progress():
            masks, is_whole = self._searched_axps(account)
        if not is_whole:
            try:
                with showing_progress():
                    family = self._found.axps(account.rest())
            except BudgetError:
                raise self._unfinished(masks, account) from None
            if family.count > LISTED:
                return ManyAXps(self.domain.names, family)
            masks = sorted_sets(account.paced(family))
        return tuple(AXp(self.domain.names_of(mask)) for mask in account.paced(masks))

    def _searched_axps(self, account: Account) -> tuple[list[int], bool]:
        """Return AXps by search, which is fastest for a few, and whether these are all."""
        found, given = self._found.listed(0), self._budget
        if found is None or len(self.domain) > _FEATURES_TO_SEARCH:
            return [], False
        trial = _trial_of(given, _SECONDS_TO_SEARCH, _NODES_TO_SEARCH)
        # Charged in full, used or not: search and family together never pass the budget.
        account.nodes = trial.nodes or 0
        return some_hitting_sets(found.masks, budget=trial, are_minimal=True)

    def _unfinished(self, axps: Sequence[int], account: Account) -> BudgetError:
        listed = self._found.listed(0)
        # Some are enough: after a spent budget, naming every CXp could itself take long.
        known = [] if listed is None else sorted_sets(listed.masks[:_NODES_TO_SEARCH])
        return BudgetError(
            f"The budget was spent with {counted(len(axps), 'AXp')} found (the error's axps, each certified); "
            "allow more, or use the CXps alone.",
            cxps=tuple(map(self.domain.names_of, known)),
            axps=tuple(map(self.domain.names_of, axps)),
            nodes=account.nodes,
            seconds=account.seconds,
        )

    @property
    def cxp_count(self) -> int:
        """The number of CXps, however many there are."""
        return self._found.count

    @property
    def cxp_sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""
        return self._found.sizes

    @property
    def cxp_family(self) -> SetFamily:
        """The CXps as a family of sets of feature numbers, made within the explainer's budget."""
        return self._found.family(self._budget)

    @property
    def axp_family(self) -> SetFamily:
        """The AXps as a family of sets of feature numbers: the minimal hitting sets of the CXps.

        Raises
        ------
        IncompleteError
            If only CXps up to `radius` are known.
        BudgetError
            If the explainer's budget was spent; its nodes are steps of the operation.
        """
        check_complete(self.radius, len(self.domain))
        return self._found.axps(self._budget)

    @property
    def relevant(self) -> tuple[str, ...]:
        """The features that occur in some CXp."""
        return self.domain.names_of(self._found.support)

    @cached_property
    def forest(self) -> CXpForest:
        """The CXp-Forest: characteristic function and networkx graph."""
        listed = self._found.listed(account=self._account())
        return CXpForest(self.domain.names, listed or self._found, budget=self._budget)

    @cached_property
    def rounding(self) -> Rounding:
        """What the model library's own floating point could change: a bound, zero in practice.

        Raises
        ------
        IncompleteError
            If there are too many CXps to bound one by one.
        BudgetError
            If the explainer's budget was spent.
        """
        listed = self._found.listed(0)
        if listed is None:
            raise IncompleteError(
                f"Rounding is bounded CXp by CXp, but there are {self.cxp_count}; explain with max_size."
            )
        return rounding_of(self.problem, listed, max_size=self.radius, budget=self._budget)

    def scores(self, kind: str = "shapley") -> dict[str, Fraction]:
        """Return the score of each feature.

        Parameters
        ----------
        kind
            A name in :data:`axfi_kc.scores.SCORES`: the AxFi scores ``"shapley"`` and ``"banzhaf"``; the indices
            of the AXps ``"ffa"``, ``"wffa"``, ``"responsibility"``, ``"deegan_packel"`` and ``"holler_packel"``, and of
            the CXps the same names followed by ``"_cxp"``; ``"shapley_shubik"`` and ``"banzhaf_waxp"``, those of the
            game whose winning coalitions are the weak AXps.

        Raises
        ------
        WeightError
            If there is no such score.
        IncompleteError
            For scores that need all CXps, if only those up to `radius` are known.
        BudgetError
            If the explainer's budget was spent.

        Notes
        -----
        Without any CXp (no dissimilar point within reach) every score is 0.
        """
        names, score = self.domain.names, find_score(kind)
        with showing_progress():
            return scores_of(self._found, names, score, max_size=self.radius, budget=self._budget)

    def interactions(
        self, kind: str = "shapley", *, order: int = 2, up_to: int | None = None
    ) -> dict[tuple[str, ...], Fraction]:
        """Return what features contribute together, beyond what each contributes alone, by their names.

        Interactions of the CXp-Forest's value: of two features never positive, as fixing the second of one CXp adds
        nothing; the further below 0, the more they stand in for each other. Sets that are left out have 0.

        Parameters
        ----------
        kind
            ``"shapley"`` (Grabisch and Roubens), ``"banzhaf"`` or ``"moebius"`` (the Harsanyi dividends); or one whose
            values of up to so many features add up to the game's: ``"k_shapley"`` (Bord and von Luxburg), ``"taylor"``
            (Sundararajan, Dhamdhere and Agarwal) or ``"faith"`` (Tsai, Yeh and Ravikumar).
        order
            How many features; 1 gives the scores themselves, or the dividends of single features.
        up_to
            The largest order of the last three; `order` by default.

        Raises
        ------
        WeightError
            If there is no such kind or order.
        BudgetError
            If the explainer's budget was spent.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 2), Integer("c", 0, 1)])
        >>> Explainer(lambda p: sum(p) > 1, domain).explain((1, 1, 1)).interactions("moebius")
        {('a', 'b'): Fraction(-1, 18), ('a', 'c'): Fraction(-1, 12), ('b', 'c'): Fraction(-1, 18)}
        """
        return interactions_of(self._found, self.domain.names, kind, order=order, up_to=up_to, budget=self._budget)

    @checked("seed", "first")
    def counterfactual(
        self,
        cxp: FeatureNames | None = None,
        *,
        seed: int | None = None,
        first: bool = False,
        min_plausibility: Number = 0,
    ) -> Counterfactual:
        """Return an adversarial example of a CXp: the nearest one, or a random one.

        Parameters
        ----------
        cxp
            One of the CXps, or the names of its features; by default the one with the nearest
            adversarial example of all.
        seed
            If given, draw from the domain's distribution instead; without a CXp, from the first of least size.
        first
            Whether the first good example of all CXps is enough, which need not be the nearest; see
            :meth:`counterfactuals`.
        min_plausibility
            If given, the nearest one whose cells are at least so likely, given all other features as they are; see
            :attr:`~axfi_kc.explanations.counterfactuals.Counterfactual.plausibility`.

        Raises
        ------
        DomainError
            If the features are none of the CXps, there is no CXp, or none that is so plausible.
        IncompleteError
            If there are more than 1,000,000 CXps to compare.
        BudgetError
            If the explainer's budget was spent. Without one, 500,000 boxes of one CXp are looked at, and 20,000,000 of
            all.
        """
        if cxp is None and seed is None:
            masks, rest = self._masks_to_change()
            with showing_progress():
                return nearest_counterfactual(
                    self.problem, masks, first=first, min_plausibility=min_plausibility, budget=rest
                )
        self._check_changeable()
        account = self._account()
        # CXps that have names already cost nothing; others get theirs on this question's account, not on a new one.
        cxps = vars(self)["cxps"] if "cxps" in vars(self) else self._named_cxps(account)
        options: dict[str, Any] = {"seed": seed, "min_plausibility": min_plausibility, "budget": account.rest()}
        return counterfactual_of(self.problem, cxps, cxp, **options)

    def precision(self, features: FeatureNames) -> Fraction:
        """Return the probability that the output is similar, given that these features are as in the instance.

        Exact, under the domain's distribution, whatever it is; 1 for a weak AXp. See
        :func:`axfi_kc.explanations.chances.precision_of`.

        Parameters
        ----------
        features
            Names of features, or an AXp or CXp, which has them.

        Raises
        ------
        UnknownFeatureError
            If a name is none of the domain's, or these are no names.
        DomainError
            If such points have probability 0.
        UnsupportedModelError
            For a linear model over real features, and for samples.
        BudgetError
            If the explainer's budget was spent.
        """
        return precision_of(self.problem, features, budget=self._budget)

    def circuit(self, cxp: FeatureNames | None = None) -> ExampleCircuit:
        """Return the adversarial examples of a CXp, or of all CXps, as a circuit: what the weights count.

        Deterministic and decomposable, over the features of the domain; it can be counted, drawn
        (:func:`axfi_kc.plots.plot_circuit`) and saved, so that others can count it again.

        Parameters
        ----------
        cxp
            One of the CXps, or the names of its features; None: all of them.

        Raises
        ------
        DomainError
            If the features are none of the CXps, or there is no CXp.
        UnsupportedModelError
            For a linear model over real features, for samples, and within an l1 ball over a real feature.
        BudgetError
            If the explainer's budget was spent.
        """
        from axfi_kc.explanations.example_circuits import all_examples, examples_of, named_mask

        self._check_changeable()
        if cxp is None:
            listed = self._found.listed(account=self._account())
            masks, known = None if listed is None else listed.masks, self._found.support
            return all_examples(self.problem, masks, known, radius=self.radius, budget=self._budget)
        return examples_of(self.problem, named_mask(self.domain, cxp, self._is_cxp), budget=self._budget)

    def _is_cxp(self, mask: int) -> bool:
        listed = self._found.listed(0)
        return mask in (self._found.family(self._budget) if listed is None else listed.masks)

    def paxp(self, min_precision: Number, *, start: FeatureNames | None = None) -> PAXp:
        """Return features that keep the output with a given probability, none of which alone can be left out.

        A locally minimal probabilistic AXp, fast; :meth:`paxps` gives all that are subset-minimal.

        Parameters
        ----------
        min_precision
            The least :meth:`precision`.
        start
            A set of at least that precision to begin with, such as an AXp; all features by default.

        Raises
        ------
        DomainError
            If the threshold is no probability, or `start` has too low a precision.
        UnsupportedModelError, BudgetError
            As for :meth:`precision`.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3)])
        >>> Explainer(lambda p: p[0] and p[1] > 0, domain).explain((1, 2)).paxp(0.75)
        PAXp(features=('a',), precision=Fraction(3, 4))
        """
        return locally_minimal_paxp(self.problem, min_precision, start=start, budget=self._budget)

    def paxps(self, min_precision: Number, *, max_size: int | None = None) -> PAXps:
        """Return all subset-minimal sets of features that keep the output with a given probability, smallest first.

        Raises
        ------
        DomainError
            If the threshold is no probability, or `max_size` no positive whole number.
        UnsupportedModelError
            As for :meth:`precision`.
        BudgetError
            If not even sets of one feature were finished; else what was is given, with its `radius`.

        Notes
        -----
        Exponential in the features that the model uses: give the explainer a budget, or a `max_size` here.
        """
        return find_paxps(self.problem, min_precision, max_size=max_size, budget=self._budget)

    def inflated_axp(self, axp: FeatureNames | None = None, *, order: FeatureNames | None = None) -> Inflated:
        """Return an AXp as ranges and sets of values that still keep the output, none of which can be made larger.

        Parameters
        ----------
        axp
            An AXp, or the names of its features; by default a smallest one.
        order
            Which feature is widened first; others give other boxes.

        Raises
        ------
        DomainError
            If these features do not keep the output.
        UnsupportedModelError
            For a linear model over real features, and among samples.
        BudgetError
            If the explainer's budget was spent.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)])
        >>> box = Explainer(lambda p: p[0] + p[1] > 6, domain).explain((5, 4)).inflated_axp()
        >>> str(box), box.coverage
        ('a from 3 to 9; b from 4 to 9', Fraction(21, 50))
        """
        chosen = self.smallest_axp() if axp is None else axp
        return inflated_axp(self.problem, chosen, order=order, budget=self._budget)

    def most_general(self) -> Inflated:
        """Return the box of values of largest coverage that keeps the output.

        Within the explainer's budget, or 20,000 boxes without one; then `is_largest` says whether that was proved, and
        `most` what no box covers more than.

        Raises
        ------
        UnsupportedModelError
            For a linear model over real features, and among samples.
        BudgetError
            If the budget was spent before there was any box.
        """
        return most_general(self.problem, budget=search_budget(self._budget))

    def inflated_cxp(self, cxp: FeatureNames | None = None) -> Inflated:
        """Return the largest box of changes of a CXp's features, all else as it is, that all change the output.

        Parameters
        ----------
        cxp
            A CXp, or names of features: any set that can change the output is taken, minimal or not. By default the
            first of least size.

        Raises
        ------
        DomainError
            If changing these features changes nothing.
        UnsupportedModelError, BudgetError
            As for :meth:`most_general`.
        """
        chosen = self.smallest_cxp() if cxp is None else cxp
        return inflated_cxp(self.problem, chosen, budget=search_budget(self._budget))

    def plausibility(self, point: Any) -> Fraction | None:
        """Return how likely a point is: the probability of its cells where it differs, given the rest as it is.

        Parameters
        ----------
        point
            A point of the domain: an array, a Series or a dict, such as a counterfactual's ``point``.

        Returns
        -------
        Fraction or None
            None where the model has no cells: a linear model over real features, samples.

        Raises
        ------
        DomainError
            If a value is outside its domain, or the surroundings of the instance have probability 0.
        """
        codes, own = self.domain.encode_point(point), self.problem.codes
        changed = np.flatnonzero((codes != own) & ~(np.isnan(codes) & np.isnan(own))).tolist()
        return plausibility_at(self.problem, codes, changed)

    def counterfactuals(self) -> Iterator[Counterfactual]:
        """Iterate over adversarial examples, the first found at once, each strictly nearer than the one before.

        The last is as near as :meth:`counterfactual`; it may be another one where several are as near.

        Raises
        ------
        DomainError, BudgetError
            As :meth:`counterfactual` does; examples that came before stand.

        Examples
        --------
        >>> from axfi_kc import Domain, Explainer, Integer
        >>> e = Explainer(lambda p: p[0] + p[1] > 6, Domain([Integer("a", 0, 9), Integer("b", 0, 9)])).explain((2, 2))
        >>> [c.distance for c in e.counterfactuals()][-1] == e.counterfactual().distance
        True
        """
        masks, rest = self._masks_to_change()
        return improving_counterfactuals(self.problem, masks, budget=rest)

    def _masks_to_change(self) -> tuple[list[int], Budget]:
        """Return the CXps as masks, smallest first, and what is left of the budget then."""
        self._check_changeable()
        account = self._account()
        listed = self._found.listed(_CXPS_TO_COMPARE, account=account)
        if listed is None:
            raise IncompleteError(
                f"The nearest change is one of all CXps, but there are {self.cxp_count}; name one of them, or explain "
                "with max_size."
            )
        return sorted_sets(account.paced(listed.masks)), account.rest()

    def _check_changeable(self) -> None:
        if not self.cxp_count:
            raise DomainError(no_cxp_words(self))

    @checked("norm", "unit")
    def critical_radius(
        self,
        cxp: FeatureNames,
        *,
        norm: str | None = None,
        unit: str | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> Radius:
        """Return the least radius at which a CXp appears; see :func:`axfi_kc.explanations.radius.critical_radius`.

        Raises
        ------
        DomainError
            If changing the features changes nothing at any radius.
        BudgetError
            If the explainer's budget was spent.
        """
        options: dict[str, Any] = {"norm": norm, "unit": unit, "weights": weights}
        return critical_radius(self.problem, cxp, budget=self._budget, **options)
