"""Models in any target language."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from axfi_kc.budget import Budget, Watch
from axfi_kc.circuit import Circuit
from axfi_kc.compilers.circuits import compile_circuit
from axfi_kc.compilers.diagrams import compile_mdd
from axfi_kc.compilers.orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.models import Model
from axfi_kc.similarity import Similarity
from axfi_kc.targets import Target, language_of, options_of, target_of

__all__ = ["base_circuit", "compile_target"]


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
        One of ``axfi_kc.targets.TARGETS``.
    similar
        Whether to compile the similar points instead.
    order
        The order of the features; see :func:`~axfi_kc.compilers.orders.feature_order`.
    budget
        What the compilation and the change of language may cost; each may use all of the nodes, and
        both together the seconds and bytes.
    options
        Of the target: see :func:`~axfi_kc.targets.target_of`.

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
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.models import TableModel
    >>> from axfi_kc.targets import TARGETS
    >>> xor = TableModel.from_outputs(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]), [0, 1, 1, 0])
    >>> [compile_target(xor, 0, Similarity(), target=name).count() for name in TARGETS]
    [2, 2, 2, 2]
    """
    known = options_of(target)
    if "order" in known:
        options["order"] = feature_order(order, model.domain, model.uses())
    watch = Watch(budget)
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
    compiler = compile_circuit if language_of(target).direct else compile_mdd
    return compiler(model, output, similarity, similar=similar, order=order, budget=budget or Budget())
