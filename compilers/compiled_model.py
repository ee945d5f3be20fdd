"""Models compiled into circuits of any target language, to be asked for sizes, counts and probabilities."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from axfi_kc.arguments import checked, is_hashable, quoted
from axfi_kc.budget import Budget, Watch, bounding_memory, preparing
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, Size
from axfi_kc.circuits.targets import Target, language_of, options_of, target_of
from axfi_kc.circuits.targets.mdd import mdd_of
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.compilers.model_circuits import compile_circuit
from axfi_kc.compilers.model_diagrams import compile_mdd, prepare
from axfi_kc.compilers.readers import read_model
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number, exact
from axfi_kc.errors import DomainError, SimilarityError
from axfi_kc.models import Model, Similarity
from axfi_kc.models.joint import circuit_share
from axfi_kc.models.support import possible_share, support_of

__all__ = ["CompiledModel", "base_circuit", "compile_model", "compile_target", "question_about"]


@dataclass(frozen=True, slots=True, eq=False)
class CompiledModel:
    """The circuit of "the model's output is this one", in a target language.

    Attributes
    ----------
    target
        What holds it: an ``Mdd``, ``Obdd``, ``Sdd``, ``Ddnnf``, or what else is registered in
        :mod:`axfi_kc.circuits.targets`.
    output
        The output it is about.
    fixed
        The values of the features it was conditioned on.
    """

    target: Target = field(repr=False)
    output: Hashable
    fixed: Mapping[str, Any]
    _options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def language(self) -> str:
        """The target language, one of ``axfi_kc.circuits.targets.TARGETS``."""
        return self.target.language

    @property
    def circuit(self) -> Circuit:
        """The same function as a deterministic, decomposable circuit over cells."""
        return self.target.to_circuit()

    @property
    def domain(self) -> Domain:
        """The space the model is defined on."""
        return self.target.grid.domain

    @property
    def size(self) -> Size:
        """Nodes and edges, in the language's own terms."""
        return self.target.size

    @property
    def bytes(self) -> int:
        """An estimate of the memory it takes."""
        return self.target.bytes

    @checked("check", "budget")
    def count(self, *, check: bool = False, budget: Budget | None = None) -> int:
        """Return the number of points with the output, over the features that are not fixed.

        Parameters
        ----------
        check
            Whether to count a second time, by an independent route; see :func:`axfi_kc.circuits.queries.count`.

        Raises
        ------
        CircuitError
            If one of them is real: then points are uncountable; ask for the probability.
        """
        # The circuit's grid knows what is fixed: such features count with one value.
        return queries.count(self.circuit, check=check, budget=budget)

    @checked("budget")
    def probability(self, *, budget: Budget | None = None) -> Fraction:
        """Return the probability of the output, given what is fixed; under constraints, among the possible points.

        Under a joint distribution of the domain it is that one's.

        Raises
        ------
        DomainError
            If what is fixed has probability 0.
        CircuitError
            If, under a joint distribution, the circuit is no ordered diagram and too large to be cut into boxes.
        """
        with preparing(budget):
            return self._probability(budget)

    def _probability(self, budget: Budget | None) -> Fraction:
        if self.domain.distribution is not None:
            codes = {self.domain.index(name): self.target.grid.code(name, value) for name, value in self.fixed.items()}
            return circuit_share(self.circuit, codes)
        cells = {self.domain.index(name): self.target.grid.cell(name, value) for name, value in self.fixed.items()}
        return self.target.probability(budget=budget) / possible_share(self.target.grid, cells)

    @checked("values", "budget")
    def condition(self, values: Mapping[str, Any], *, budget: Budget | None = None) -> CompiledModel:
        """Return the circuit with features set to values, as ``{feature name: value}``.

        It is then about the other features only: :meth:`count` counts their points, and :meth:`probability` is that
        of the output given the values. :func:`axfi_kc.circuits.queries.condition` means the same.

        Notes
        -----
        Linear in the circuit, and then in the same language once more.

        Raises
        ------
        UnknownFeatureError, DomainError
            For a name or a value that is not the domain's.
        """
        watch = Watch(budget)
        # For the same reason a second value would have no effect, and go unnoticed.
        both = [name for name in values if name in self.fixed]
        if both:
            raise DomainError(f"Feature {both[0]!r} is fixed already; condition the whole circuit instead.")
        cells = {self.domain.index(name): self.target.grid.cell(name, value) for name, value in values.items()}
        conditioned = queries.condition(self.circuit, cells, budget=budget)
        limits = {} if budget is None else {"budget": watch.rest()}
        made = target_of(self.language, conditioned, **self._options, **limits)
        return CompiledModel(made, self.output, {**self.fixed, **values}, self._options)

    @checked("path")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the circuit to a file; the suffix says in which format.

        See :func:`axfi_kc.circuits.files.save_circuit`: ``.nnf`` for every target, ``.sdd`` with its ``.vtree``,
        ``.dddmp`` and ``.json`` for binary diagrams, ``.cnf`` for model counters, or what else is in
        ``axfi_kc.circuits.files.FORMATS``.
        """
        from axfi_kc.circuits.files import save_circuit

        save_circuit(self.target, path)


@checked("domain", "output", "target", "order", "budget")
def compile_model(
    model: Any,
    domain: Domain,
    *,
    output: Any = None,
    delta: Number | None = None,
    target: str = "mdd",
    order: Order = DEFAULT_ORDER,
    budget: Budget | None = None,
    **options: Any,
) -> CompiledModel:
    """Compile "the model's output is `output`" into a circuit over the whole domain.

    Parameters
    ----------
    model
        A trained model, a neutral form, a circuit from a file (``CircuitModel``), or a Python
        function over a finite domain.
    domain
        The space on which it is compiled.
    output
        A class; by default the greater one of two classes. For a regression a number.
    delta
        For a regression: outputs at most this far from `output` count.
    target
        The language: ``"mdd"`` (multi-valued decision diagram, our own), ``"obdd"`` (binary
        decision diagram, held by dd), ``"sdd"`` (sentential decision diagram, held by PySDD) or
        ``"ddnnf"`` (our own); or any other name in ``axfi_kc.circuits.targets.TARGETS``.
    order
        The order of the features: ``"influence"``, ``"force"``, ``"given"``, or their names;
        see :func:`axfi_kc.compilers.feature_orders.feature_order`.
    budget
        What reading the model and the compilation may cost. Where neither nodes nor bytes are limited, they may take
        half of the free memory; the diagram of a large ensemble does not fit.
    options
        Further options of the target, such as ``code="binary"`` of an OBDD or ``vtree="balanced"``
        of an SDD; see :func:`axfi_kc.circuits.targets.target_of`.

    Raises
    ------
    UnsupportedTargetError, SimilarityError, DomainError, BudgetError, CircuitError

    Notes
    -----
    Exponential at worst in the number of trees.

    Examples
    --------
    The paper's running example:

    >>> from axfi_kc.domain import Integer
    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    >>> compiled = compile_model(lambda p: int(p in ones), domain)
    >>> compiled.size, compiled.count(), compiled.probability()
    (Size(nodes=4, edges=7), 7, Fraction(7, 18))
    >>> compiled.condition({"x1": 2, "x2": 1}).count()
    3
    >>> compile_model(lambda p: int(p in ones), domain, target="obdd", code="binary").count()
    7
    """
    watch = Watch(budget)
    with preparing(budget):
        form, wanted, similarity = question_about(model, domain, output=output, delta=delta)
    rest = watch.rest()
    made = compile_target(form, wanted, similarity, target=target, similar=True, order=order, budget=rest, **options)
    return CompiledModel(made, wanted, {}, options)


def question_about(
    model: Any, domain: Domain, *, output: Any = None, delta: Number | None = None
) -> tuple[Model, Hashable, Similarity]:
    """Return a model's neutral form, the output that is meant, and which outputs count as that one.

    Raises
    ------
    SimilarityError, DomainError
        If the output is needed and missing, or not the model's.
    """
    form = read_model(model, domain)
    similarity = Similarity.of(form, delta)
    return form, _number(output) if similarity.delta is not None else _label(form, output), similarity


def _number(output: Any) -> Fraction:
    if output is None:
        raise SimilarityError(
            "The circuit of a regression is about one output, but none was given; pass output=... (a number)."
        )
    return exact(output, "output")


def _label(model: Model, output: Any) -> Hashable:
    """Return the class that is meant."""
    labels = model.labels
    if output is None:
        return _greater(labels)
    # The model's own label, not the one given: 1, 1.0 and True are equal, but only one is what the model says.
    found = next((y for y in labels if is_hashable(output) and y == output), None)
    if found is None:
        raise DomainError(f"output must be one of {', '.join(map(repr, labels))}, but {quoted(output)} was given.")
    return found


def _greater(labels: tuple[Any, ...]) -> Hashable:
    """Return the greater of two labels: libraries sort their classes, so it is the second one."""
    if len(labels) == 2:
        try:
            return max(labels)
        except TypeError:
            pass
    raise SimilarityError(
        f"The circuit is about one output, and which one is clear only for two classes that can be sorted, but the "
        f"model has {', '.join(map(repr, labels[:8]))}; pass output=... ."
    )


def compile_target(
    model: Model,
    output: Hashable,
    similarity: Similarity,
    *,
    target: str = "mdd",
    similar: bool = False,
    order: Order = DEFAULT_ORDER,
    budget: Budget | None = None,
    **options: Any,
) -> Target:
    """Return the points whose output is not similar to `output`, in the language `target`.

    Parameters
    ----------
    model
        Any neutral form.
    output
        An output of the model; for a regression any exact number.
    similarity
        Which outputs count as similar.
    target
        One of ``axfi_kc.circuits.targets.TARGETS``.
    similar
        Whether to compile the similar points instead.
    order
        The order of the features; see :func:`~axfi_kc.compilers.feature_orders.feature_order`.
    budget
        What the compilation and the change of language may cost; each may use all of the nodes, and
        both together the seconds and bytes.
    options
        Of the target: see :func:`~axfi_kc.circuits.targets.target_of`.

    Raises
    ------
    UnsupportedTargetError, CircuitError, BudgetError

    Notes
    -----
    A model is compiled into an ordered diagram in `order` first, where sums of trees and partial sums
    can be merged, and from there into the target; a single tree goes into ``"ddnnf"`` path by path, which is
    linear. Compiling sums of trees without a fixed order (each sub-problem testing its own most influential
    feature) was measured and is larger: XGBoost 20 x depth 3 on Pima 13,044 nodes instead of 10,340, boosted
    20 x depth 3 on breast cancer 227,717 instead of 102,960, because sub-problems that tested different features
    no longer meet.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.models import TableModel
    >>> from axfi_kc.circuits.targets import TARGETS
    >>> xor = TableModel.from_outputs(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]), [0, 1, 1, 0])
    >>> [compile_target(xor, 0, Similarity(), target=name).count() for name in TARGETS]
    [2, 2, 2, 2]
    """
    known = options_of(target)
    if "order" in known:
        options["order"] = feature_order(order, model.domain, model.uses())
    prepare(model, budget)
    watch = Watch(budget)
    with bounding_memory(budget):
        circuit = base_circuit(model, output, similarity, target=target, similar=similar, order=order, budget=budget)
        if "budget" in known:
            options["budget"] = watch.rest()
        return target_of(target, circuit, **options)


def base_circuit(
    model: Model,
    output: Hashable,
    similarity: Similarity,
    *,
    target: str,
    similar: bool = False,
    order: Order = DEFAULT_ORDER,
    budget: Budget | None = None,
) -> Circuit:
    """Return the circuit that `target` is made of: an ordered diagram, or the most direct one if that is better."""
    watch = Watch(budget)
    support = support_of(model.grid, budget=budget)
    compiler = compile_circuit if language_of(target).direct and support is None else compile_mdd
    circuit = compiler(model, output, similarity, similar=similar, order=order, budget=watch.rest())
    if support is None:
        return circuit
    # Of the points in question only those that can exist: both as diagrams in one order.
    features = feature_order(order, model.domain, model.uses())
    parts = (mdd_of(c, order=features, budget=watch.rest()) for c in (circuit, support.circuit))
    return next(parts).conjoin(next(parts), budget=watch.rest()).circuit
