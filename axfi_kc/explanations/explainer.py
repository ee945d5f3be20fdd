"""The front door: explain the instances of one model over one domain, in the shape of a scikit-learn estimator."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_frame, quoted
from axfi_kc.budget import Account, Budget, preparing, stopping_at_interrupt, was_interrupted
from axfi_kc.compilers import read_model
from axfi_kc.compilers.compiled_model import compile_model
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.from_tables import columns_named
from axfi_kc.domain.measures import Number, counted, shown
from axfi_kc.domain.region import Region, check_region
from axfi_kc.engines import (
    Engine,
    Found,
    Located,
    RegionEngine,
    check_countable,
    check_weights,
    engine_through,
)
from axfi_kc.errors import AxfiWarning, BudgetError, ConstantModelError, DomainError, SimilarityError
from axfi_kc.explanations.answers import (
    check_other_class,
    label_of,
    named_classes,
    naming_rows,
    other_class_errors,
    others_named,
    radius_words,
    warn_of_radii,
)
from axfi_kc.explanations.batch import Batch, SavedBatch
from axfi_kc.explanations.cxps import size_limit
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.files.streaming import Run, write_results
from axfi_kc.explanations.further import Asked
from axfi_kc.explanations.labelled_rows import LabelledRows
from axfi_kc.explanations.problem import OwnPredict, Problem
from axfi_kc.explanations.progress import showing_progress, with_progress
from axfi_kc.explanations.rows import Rows, rows_of
from axfi_kc.explanations.space import Space
from axfi_kc.explanations.workers import check_workers, in_workers, is_parallel
from axfi_kc.models import Model, Similarity
from axfi_kc.models.own_predict import (
    check_predictions,
    column_names,
    import_readers,
    model_name,
    own_predictor,
    own_probabilities,
)
from axfi_kc.scores import DEFAULT_SCORES, check_complete, find_scores
from axfi_kc.scores.interactions import find_interactions

__all__ = ["Explainer", "Manners"]


_LONGEST = 72


class Manners:
    """Parameters, a repr that shows them, and feature names.

    A class says in its constructor which parameters it has and keeps each under its own name; there
    is no ``set_params``, because what was compiled for other parameters would be wrong.
    """

    domain: Domain

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters, by name.

        Parameters
        ----------
        deep
            Accepted for scikit-learn's sake; parameters of the model itself are not listed.

        Examples
        --------
        >>> import axfi_kc as ax
        >>> domain = ax.Domain([ax.Integer("a", 0, 1)])
        >>> explainer = ax.Explainer(lambda p: p[0], domain, weights="count")
        >>> given = explainer.get_params()
        >>> list(given)[:4], given["weights"], given["on_budget"]
        (['model', 'domain', 'delta', 'weights'], 'count', 'radius')
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __sklearn_clone__(self) -> Self:
        """Return an explainer with the same parameters; its model stays fitted."""
        return type(self)(**self.get_params())

    def __repr__(self) -> str:
        """Return all parameters, as an estimator shows them."""
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            text = _shown(getattr(self, name))
            shown.append(f"{name}={text}" if parameter.kind is parameter.KEYWORD_ONLY else text)
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The names of the model's columns."""
        return np.array(self.domain.columns, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of the model's columns."""
        return len(self.domain.columns)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features that have a score: one per original feature.

        Parameters
        ----------
        input_features
            Accepted for scikit-learn's sake, and not looked at.
        """
        return np.array(self.domain.names, dtype=object)


def _shown(value: Any) -> str:
    """Return a parameter in one short line."""
    if isinstance(value, Domain):
        return f"<{Space.over(value).after('Domain of ' + counted(len(value), 'feature'))}>"
    text = " ".join(repr(value).split())
    if len(text) <= _LONGEST:
        return text
    return f"<Region: {Space(region=value).line}>" if isinstance(value, Region) else f"<{type(value).__name__}>"


_ROWS_AT_ONCE = 256
_ENGINES = 8  # kept, for the classes that were asked about last
_SHORT = 0.1  # seconds of a block that may become longer
_NODES_FOR_ONE = 1 << 14  # of the search for one point with another output
_LEFT_OUT = "Ctrl-C came before it was explained"
Codes = npt.NDArray[np.float64]


class Explainer(Manners):
    """Explains instances of a model exactly.

    Parameters
    ----------
    model
        A trained model, a neutral form, or a Python function of one point (a tuple of values) over a finite domain.
    domain
        The space in which instances are explained; or a table, of which :meth:`Domain.from_data` makes it from the
        columns that the model was trained on.
    delta
        For regression: outputs at most this far apart count as similar.
    weights
        What a CXp weighs: ``"ratio"``, the probability of its adversarial examples within its
        box; ``"count"``, their number; ``"unit"``, 1.
    max_size
        Only CXps of at most so many features (the paper's l0 radius).
    budget
        What the explanation of one instance may cost, in seconds, search nodes and bytes, and what each
        question to it may (AXps, a score, a counterfactual): the steps of a question share one budget. None: no
        limit, for then the answer is the same on every machine; what takes longer than a second shows how far it is.
        Single trees need no search and no nodes. The diagram of the domain's constraints is made with the explainer,
        which raises a BudgetError if its seconds or bytes do not suffice for that.
    target
        ``"auto"``: the search that suits the model. ``"mdd"``, ``"obdd"``, ``"sdd"``, ``"ddnnf"`` or another name in
        ``axfi_kc.circuits.targets.TARGETS``: compile the circuit of each output met, once, and read the explanations
        off it; the results are the same, and the circuit of a large ensemble does not fit. Ordered ones, as the
        first two are, also hold more CXps than can be listed.
    class_names
        ``{label: name}``, or names in the labels' order: how classes are called wherever they are shown.
    within
        How far one may go from an instance: a :class:`~axfi_kc.domain.region.Region`. Only points there count.
    on_budget
        What to do when the budget of an instance is spent. ``"radius"``: give all CXps of at most k features, exactly,
        for the largest k that was finished, with a warning; the explanation says "complete up to k features" wherever
        it is shown, and has `radius` and `is_complete`. Only if not even single features were finished there is a
        BudgetError. ``"raise"``: always raise it; it carries the CXps that are certain so far.
    on_interrupt
        What to do at Ctrl-C. ``"raise"`` KeyboardInterrupt, or ``"radius"``: end as if the budget were spent, a batch
        with the rows that are done; a second Ctrl-C raises.
    toward
        "Why not this class?": a class, by its label or its name, which must not mean two. CXps are then the sets of
        features whose change can lead to *that* class, and weigh the points of it; AXps are what keeps it out,
        whichever other class comes.

    Raises
    ------
    UnsupportedModelError, UnfittedModelError, UnsupportedTargetError, SimilarityError, ConstantModelError

    Examples
    --------
    The paper's running example, weighted by counts:

    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    >>> e = Explainer(lambda p: int(p in ones), domain, weights="count").explain((2, 1, 2))
    >>> [(c.features, c.weight) for c in e.cxps]
    [(('x1', 'x2'), 1), (('x1', 'x3'), 4), (('x2', 'x3'), 2)]
    >>> e.scores("shapley")
    {'x1': Fraction(5, 6), 'x2': Fraction(1, 2), 'x3': Fraction(1, 1)}
    """

    @checked("weights", "target", "class_names", "on_budget", "on_interrupt", "toward")
    def __init__(
        self,
        model: Any,
        domain: Domain | Any,
        *,
        delta: Number | None = None,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        target: str = "auto",
        class_names: Mapping[Any, str] | Sequence[str] | str | None = None,
        within: Region | None = None,
        on_budget: str = "radius",
        on_interrupt: str = "raise",
        toward: Hashable | None = None,
    ) -> None:
        check_weights(weights)
        _check_ending("on_budget", on_budget)
        _check_ending("on_interrupt", on_interrupt)
        self.model = model
        self.domain = domain = domain if isinstance(domain, Domain) else _domain_of(domain, model)
        self.delta = delta
        self.weights = weights
        self.max_size = size_limit(max_size)
        self.budget = _checked_budget(budget)
        self.target = target
        self.on_budget, self.on_interrupt = on_budget, on_interrupt
        self._model: Model = read_model(model, domain)
        self._predict = own_predictor(model, domain)
        self._model_name = model_name(model)
        self._probabilities = own_probabilities(model, domain)
        self.class_names = named_classes(class_names, self._model) or None
        self._engines: tuple[tuple[Similarity, Engine], ...] = ()
        self._pose(toward, within)

    def _pose(self, toward: Hashable | None, region: Region | None) -> None:
        """Set the class that is asked about and the region, and make the engine for them."""
        label = label_of(toward, self.class_names or {}, self._model)
        # A label that is another class's name as well would be refused by a copy of this; what was given is not.
        self.toward = toward if others_named(label, self.class_names or {}) else label
        self._similarity = Similarity.of(self._model, self.delta, toward=label)
        self.within = region
        self._varies = False  # whether the model is known to have several outputs, or that was asked in vain
        with preparing(self.budget):
            self._engine: Engine = self._whole_engine() if region is None else self._engine_within(region)
        if self._engine.constant is not None:
            raise _constant(self._engine.constant, self.domain)

    def _whole_engine(self) -> Engine:
        """Return the engine over the whole domain, from those that are kept, or a new one, which is then kept."""
        known = next((engine for asked, engine in self._engines if asked == self._similarity), None)
        if known is not None:
            return known
        made = engine_through(self.target, self._model, self._similarity)
        self._engines = ((self._similarity, made), *self._engines[: _ENGINES - 1])
        return made

    def _engine_within(self, region: Region) -> Engine:
        make = partial(_engine_of, target=self.target, similarity=self._similarity)
        return RegionEngine(self._model, check_region(region), make, similarity=self._similarity)

    def _asking_about(self, toward: Hashable | None, region: Region | None) -> Self:
        """Return an explainer of the same model, already read, with another class or region."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._pose(self.toward if toward is None else toward, self.within if region is None else region)
        # A new tuple takes the place of the old one at once, so that threads can be here together.
        self._engines = made._engines
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what workers need: the neutral form, not the model given, whose predictions are checked before."""
        without: dict[str, Any] = {"_predict": None, "_probabilities": None, "_engines": ()}
        return {**vars(self), "model": self._model, **without}

    @checked("toward", "progress")
    def explain(
        self,
        x: Any,
        *,
        within: Region | None = None,
        toward: Hashable | None = None,
        progress: bool | None = None,
    ) -> Explanation:
        """Explain one instance: an array, a Series or a dict.

        Parameters
        ----------
        x
            The instance.
        within
            How far one may go from it; the explainer's own region by default.
        toward
            "Why not this class?"; the explainer's own by default.
        progress
            Whether to show how far the search is. None: after a second, if there is a terminal or a notebook.

        Raises
        ------
        DomainError
            If a value is missing or outside its domain, or if the instance cannot exist or the region leaves it out.
        RoundingError
            If the model's own ``predict`` gives another output than exact arithmetic.
        BudgetError
            If the budget was spent before all CXps of one feature were known, or at all with ``on_budget="raise"``; it
            carries the CXps that are certain so far.

        Warns
        -----
        AxfiWarning
            If the budget was spent, and the explanation is complete up to `radius` features only.
        """
        if toward is not None or within is not None:
            return self._asking_about(toward, within).explain(x, progress=progress)
        problem, located = self._posed(x)
        # Opened before the search, so that its clock covers the search as well as the scaling of weights.
        account = Account(self.budget, goal="explanation", advice="allow more, or set max_size")
        with self._stopping(), showing_progress(progress):
            try:
                found = self._find(problem.codes[np.newaxis], located)
            except BudgetError:
                if was_interrupted():  # before anything was complete
                    raise KeyboardInterrupt from None
                raise
        # After a spent budget it is only made an answer of.
        found.scale(account if self.on_budget == "raise" else Account(None, goal="explanation"))
        problem = problem if self.within is None else problem.within(self.within)
        nodes, radius = None if found.nodes is None else found.nodes[0], found.radius(0)
        if radius is not None:
            warnings.warn(
                f"The budget was spent after {account.seconds:.2f} s, so this explanation is exact and "
                f"{radius_words(radius)}; allow more for larger CXps, or set max_size.",
                AxfiWarning,
                stacklevel=3,  # whoever called explain, past the check of its arguments
            )
        return Explanation(problem, self.max_size, found[0], self.budget, nodes, self._probabilities, radius)

    @checked("progress", "on_error")
    def explain_batch(
        self, X: Any, *, n_jobs: int | None = None, progress: bool | None = None, on_error: str = "raise"
    ) -> Batch:
        """Explain the rows of a table.

        Parameters
        ----------
        X
            A DataFrame, an array, or a sequence of dicts.
        n_jobs
            How many workers share the rows, through joblib; None: one, or what
            ``joblib.parallel_config`` says.
        progress
            True: a progress bar. None: one after a second, if there is a terminal or a notebook. False: none.
        on_error
            What to do about a row with a value outside the domain or of a wrong type, that cannot exist or that the
            region leaves out, or within the library's rounding of a tie: ``"raise"`` an error that names the row's
            label, or ``"skip"`` the row; the batch's ``skipped`` then says why.

        Notes
        -----
        Rows are processed together, so this is far faster than a loop over :meth:`explain`. The
        model goes to each worker once. Everything stays in memory; see :meth:`explain_to`. Rows whose budget ended are
        named in a warning and in `stopped_rows`; with ``on_interrupt="radius"``, rows that Ctrl-C left out are skipped.
        """
        check_workers(n_jobs)
        rows = self._rows(X, on_error)
        parts = self._parts(rows, n_jobs, progress)
        # At least one part, of no rows if need be, from which the empty batch has its shape.
        found = Found.joined(parts or [self._find(rows.codes[:0])])
        n = len(found)
        batch = Batch(
            self._model,
            self._similarity,
            rows.codes[:n],
            found,
            self.max_size,
            self.budget,
            rows.labels[:n],
            OwnPredict(self._predict, self._model_name),
            class_names=self.class_names or {},
            skipped=LabelledRows([*rows.skipped.items(), *((label, _LEFT_OUT) for label in rows.labels[n:])]),
            _probabilities=self._probabilities,
            within=self.within,
        )
        warn_of_radii(batch.stopped_rows, n, stacklevel=4)
        return batch

    def _parts(self, rows: Rows, n_jobs: int | None, progress: bool | None) -> list[Found]:
        """Return what is found for the rows, in blocks; with ``on_interrupt="radius"`` perhaps not for all of them."""
        codes, located, alone = rows.codes, rows.located, not is_parallel(n_jobs)
        is_slow = self.on_interrupt == "radius" or getattr(self._engine, "searches", False)
        # Row by row at first, so that the bar moves and little is lost; trees, for example, are fastest all at once.
        spans = _spans(len(codes), 1 if alone and is_slow else _ROWS_AT_ONCE)
        blocks = (
            (codes[s], None if located is None else (located[0][s], located[1][s]), rows.labels[s]) for s in spans
        )
        parts: list[Found] = []
        # Workers have signals of their own; who waits for them gets KeyboardInterrupt.
        with self._stopping() if alone else nullcontext():
            sized = ((len(part), part) for part in in_workers(self._find_rows, blocks, n_jobs=n_jobs))
            try:
                for part in with_progress(sized, total=len(codes), progress=progress):
                    parts.append(part)
                    if was_interrupted():
                        break
            except (KeyboardInterrupt, BudgetError) as error:
                if not (was_interrupted() or (self.on_interrupt == "radius" and isinstance(error, KeyboardInterrupt))):
                    raise
        return parts

    def _stopping(self) -> AbstractContextManager[None]:
        return stopping_at_interrupt() if self.on_interrupt == "radius" else nullcontext()

    @checked("path", "inflate", "progress", "on_error")
    def explain_to(
        self,
        path: str | os.PathLike[str],
        X: Any,
        *,
        kinds: Sequence[str] = DEFAULT_SCORES,
        interactions: Sequence[str] = (),
        min_precision: Number | None = None,
        inflate: bool = False,
        n_jobs: int | None = None,
        progress: bool | None = None,
        on_error: str = "raise",
        durable: bool = True,
    ) -> SavedBatch:
        """Explain the rows of a table into a file, going on where a stopped run was.

        Parameters
        ----------
        path
            A file ending in ``.jsonl``, or a folder ending in ``.parquet``. If it holds results of
            the same model, domain, options and data, they are kept and the rest is added.
        X
            A DataFrame, an array, or a sequence of dicts.
        kinds
            The scores to write; names in :data:`axfi_kc.scores.SCORES`.
        interactions
            The interactions of two features to write as well, such as ``"shapley"`` or ``"moebius"``.
        min_precision
            If given, a locally minimal set of features of that precision is written as well, see
            :meth:`axfi_kc.Explanation.paxp`.
        inflate
            Whether the most general box of values is written as well, see :meth:`axfi_kc.Explanation.most_general`.
        n_jobs, progress, on_error
            As for :meth:`explain_batch`; the file, too, says which rows were skipped.
        durable
            Whether each block of rows is waited for until it is on the disk, so that not even a power cut takes it.

        Returns
        -------
        SavedBatch
            The file's contents, read when they are asked for; ``ax.read_results(path)`` gives the
            same.

        Raises
        ------
        ResultFileError
            If the file belongs to another run, or is being written by another process.
        FileWriteError
            If the file cannot be written, such as on a full disk; rows that are in it stay.
        BudgetError
            If the budget of a row was spent and `on_budget` is ``"raise"``; the rows before it are in the file.
        WeightError
            If there is no such score.
        IncompleteError
            If a score needs all CXps and there is a `max_size`.

        Warns
        -----
        AxfiWarning
            If rows of the file were damaged (each has a checksum), and are computed again; if the budget of rows was
            spent. With ``on_budget="radius"`` such a row is written up to the radius that was reached, and if that is
            none, as over budget with radius 0.

        Notes
        -----
        Memory does not grow with the rows done: only blocks under way are held. New worker processes
        need about a second each before they are of use; on Linux,
        ``joblib.parallel_config(backend="multiprocessing")`` forks them at once, which pays for runs
        of a few seconds.
        """
        check_workers(n_jobs)
        scores = find_scores(kinds)
        if any(score.needs_all for score in scores):  # before there is a file
            check_complete(self.max_size, len(self.domain))
        # Checked, and asked for probabilities, here: workers have no model but the neutral one (see __getstate__).
        rows = self._rows(X, on_error)
        run = Run(
            self._find,
            self._outputs,
            self._model,
            self._similarity,
            target=self.target,
            weights=self.weights,
            max_size=self.max_size,
            scores=scores,
            budget=self.budget,
            class_names=self.class_names or {},
            skipped=rows.skipped,
            within=self.within,
            on_budget=self.on_budget,
            interactions=find_interactions(interactions),
            asked=Asked.of(min_precision, inflate),
        )
        found = None if self._probabilities is None else self._probabilities(rows.codes)
        options: dict[str, Any] = {"probabilities": found, "n_jobs": n_jobs, "progress": progress}
        stops = self.on_interrupt == "radius"
        options |= {"stops_at_interrupt": stops, "durable": durable}
        return write_results(run, path, rows.codes, rows.labels, **options)

    def _outputs(self, codes: Codes) -> Sequence[Any]:
        return self._engine.locate(codes)[1]

    def output_probabilities(self) -> dict[Hashable, Fraction]:
        """Return the probability of each output over the whole domain, under its distribution.

        Raises
        ------
        SimilarityError
            For a regression, whose outputs are no classes.
        BudgetError
            If the explainer's budget was spent on compiling the model.

        Notes
        -----
        The model is compiled into a diagram for each output.

        Examples
        --------
        >>> from axfi_kc.domain.features import Integer
        >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3)])
        >>> Explainer(lambda p: int(p[0] and p[1] > 0), domain).output_probabilities()
        {0: Fraction(5, 8), 1: Fraction(3, 8)}
        """
        if self._similarity.delta is not None or not self._model.labels:
            raise SimilarityError("Outputs have probabilities where they are classes, but this is a regression.")
        made = (compile_model(self._model, self.domain, output=y, budget=self.budget) for y in self._model.labels)
        return {one.output: one.probability(budget=self.budget) for one in made}

    def _posed(self, x: Any) -> tuple[Problem, Located]:
        """Return the problem of one instance, over the whole domain, and where it lies; or say why there is none."""
        codes = self.domain.encode_point(x)[np.newaxis]
        located = self._engine.locate(codes)
        if self._predict is not None:
            check_predictions(self._predict, codes, located[1])  # before any search, which may be long
        check_other_class(located[1], self._similarity)
        own, names = OwnPredict(self._predict, self._model_name), self.class_names or {}
        return Problem(self._model, codes[0], located[1][0], self._similarity, own, names), located

    def _rows(self, X: Any, on_error: str) -> Rows:
        wrong = partial(other_class_errors, similarity=self._similarity)
        is_toward = self._similarity.toward is not None
        asked: dict[str, Any] = {"within": self.within, "wrong": wrong if is_toward else None}
        return rows_of(X, self.domain, self._engine, self._predict, on_error=on_error, **asked)

    def _find_rows(self, codes: Codes, located: Located | None, labels: Sequence[Any]) -> Found:
        with naming_rows(labels):
            return self._find(codes, located)

    def _find(self, codes: Codes, located: Located | None = None) -> Found:
        options: dict[str, Any] = {"weights": self.weights, "max_size": self.max_size, "budget": self.budget}
        ends = "radius" in (self.on_budget, self.on_interrupt)
        # Each row has the budget; and after one that was spent, an answer is still made of what was found.
        with preparing(self.budget, each=True):
            found = self._engine.explain(codes, located=located, partial=ends, **options)
        self._check_radii(found)
        check_countable(found, self.domain.features)
        # Outputs of a regression may all be within delta, all of a region alike, and a class never chosen: answers,
        # and no fault of the model.
        if self._similarity == Similarity() and self.within is None and not self._varies:
            self._check_varies(codes, found)
        return found

    def _check_varies(self, codes: Codes, found: Found) -> None:
        """Raise if no change of an instance changes its output, as far as that can be told without a long search."""
        # Of what was stopped, nothing is known beyond its radius.
        counts = [c if found.radius(n) is None else None for n, c in enumerate(found.counts)]
        if any(found.counts) or len(set(found.outputs)) > 1:
            self._varies = True
        elif 0 in counts and self._is_alone(codes[counts.index(0)]):
            raise _constant(found.outputs[0], self.domain)  # a class that nothing can change

    def _is_alone(self, code: Codes) -> bool:
        """Tell whether no change at all changes the output of an instance that has no CXp of at most `max_size`."""
        if self.max_size is None or self.max_size >= len(self.domain):
            return True
        # One question for the model, which only sums of trees search for: these are constant only rarely, and then
        # it may be long. So it ends after so many nodes, which are the same on every machine.
        nodes = min(self.budget.nodes or _NODES_FOR_ONE, _NODES_FOR_ONE)
        self._varies = True  # or not known, and not asked again
        try:
            varies = self._engine.is_weak_cxp(
                code, (1 << len(self.domain)) - 1, budget=replace(self.budget, nodes=nodes)
            )
        except BudgetError:
            return False
        self._varies = varies
        return not varies

    def _check_radii(self, found: Found) -> None:
        """Raise if a budget ended and that is an error; a Ctrl-C is none where it comes here."""
        if self.on_budget == "radius" or found.is_complete or was_interrupted():
            return
        n = next(n for n in range(len(found)) if found.radius(n) is not None)
        listed = found[n].listed(0)
        error = BudgetError(
            f"The budget was spent, and the CXps (the error's cxps) are {radius_words(found.radius(n))}; allow more, "
            "or set max_size.",
            cxps=() if listed is None else tuple(map(self.domain.names_of, listed.masks)),
        )
        error.row = n
        raise error


def _spans(n_rows: int, first: int) -> Iterator[slice]:
    """Yield blocks of rows, each twice as long as the last for as long as that took no time worth speaking of."""
    start, size, begin = 0, first, perf_counter()
    while start < n_rows:
        yield slice(start, start + size)
        start, before, begin = start + size, begin, perf_counter()
        if begin - before < _SHORT:
            size = min(2 * size, _ROWS_AT_ONCE)


def _check_ending(name: str, given: Any) -> None:
    if given not in ("radius", "raise"):
        raise DomainError(f"{name} must be 'radius' or 'raise', but {quoted(given)} was given.")


def _engine_of(model: Model, *, target: str, similarity: Similarity) -> Engine:
    return engine_through(target, model, similarity)


def _checked_budget(budget: Any) -> Budget:
    if budget is None or isinstance(budget, Budget):
        return budget or Budget()
    raise DomainError(f"budget must be a Budget, such as Budget(seconds=10), but {quoted(budget)} was given.")


def _domain_of(table: Any, model: Any) -> Domain:
    """Return the domain of the columns of a table that a model was trained on; of all, if it does not know them."""
    import_readers(model)  # which know what columns their models ask for
    names = column_names(model)
    if names is None:
        return Domain.from_data(table)
    if is_frame(table):
        return Domain.from_data(columns_named(table, names))
    return Domain.from_data(table, names=names if np.shape(table)[1:] == (len(names),) else None)


def _constant(output: Any, domain: Domain) -> ConstantModelError:
    where, advice = ("everywhere in the domain", "widen the domain")
    if domain.constraints:
        where, advice = ("at every point that can exist", "loosen the constraints")
    return ConstantModelError(
        f"The model gives {shown(output, quoted=True)} {where}, so no change matters and there is nothing to explain; "
        f"check the model, or {advice}."
    )
