"""Which reader reads which model; a reader is imported only when a model of its library turns up.

To add one:

1. write a file here that registers a function for each class of the library: ``@reads(Class)``, from (model, domain)
   to a form of :mod:`axfi_kc.models`;
2. enter the library's top-level package and your module in ``READERS`` below;
3. if ``model.predict(table)`` is not how the library is asked, say how: ``@predicts(Class)`` of
   :mod:`axfi_kc.models.own_predict`;
4. compare with that ``predict`` on random points, on every threshold and one ulp either side of it;
5. if wrappers may ask it for probabilities, say how it computes them: ``@answers(Class)`` or ``@totals(Class)`` of
   :mod:`axfi_kc.compilers.readers.responses`.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import singledispatch
from typing import Any

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.compilers.readers.nearest import unread
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import BayesClassifier, Model, TableModel
from axfi_kc.models.base import reading
from axfi_kc.models.own_predict import READERS, check_inherited, import_readers, package_of
from axfi_kc.models.restriction import restricted

__all__ = ["check_own_predict", "gets_sparse_tables", "giving_tables", "plain_labels", "read_model", "reads"]


READERS["Orange"] = ("axfi_kc.compilers.readers.orange",)
READERS["catboost"] = ("axfi_kc.compilers.readers.catboost",)
READERS["interpret"] = ("axfi_kc.compilers.readers.interpret",)
READERS["lightgbm"] = ("axfi_kc.compilers.readers.lightgbm",)
READERS["onnx"] = ("axfi_kc.compilers.readers.onnx",)
READERS["pgmpy"] = ("axfi_kc.compilers.readers.pgmpy",)
READERS["pyagrum"] = ("axfi_kc.compilers.readers.pyagrum",)
READERS["sklearn"] = (
    "axfi_kc.compilers.readers.sklearn_isolation",
    "axfi_kc.compilers.readers.sklearn_trees",
    "axfi_kc.compilers.readers.sklearn_linear",
    "axfi_kc.compilers.readers.sklearn_pipelines",
    "axfi_kc.compilers.readers.sklearn_wrappers",
    "axfi_kc.compilers.readers.sklearn_committees",
    "axfi_kc.compilers.readers.sklearn_outputs",
)
READERS["xgboost"] = ("axfi_kc.compilers.readers.xgboost",)


@singledispatch
def _read(model: Any, domain: Domain) -> Model:
    """Read what no registered class matches: a function, or nothing we know."""
    if callable(model) and not hasattr(model, "predict"):
        return TableModel.from_function(domain, model)
    raise UnsupportedModelError(unread(model, _is_read))


def _is_read(model: Any) -> bool:
    """Tell whether a reader knows a model, other than as a function."""
    import_readers(model)
    return _read.dispatch(type(model)) is not _read.dispatch(object)


@checked("domain")
def read_model(model: Any, domain: Domain) -> Model:
    """Return the neutral form of `model` over `domain`.

    Parameters
    ----------
    model
        A trained model of a supported library, a neutral form, or a Python function of one
        point (a tuple of values) over a finite domain.
    domain
        The space on which the model is explained.

    Raises
    ------
    UnsupportedModelError
        If no reader knows the model, or the model's class changes the ``predict`` of the class that is read.
    UnfittedModelError
        If it has not been trained.
    BudgetError
        If the budget of the question that needs it was spent.

    Examples
    --------
    >>> from axfi_kc.domain.features import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> read_model(lambda p: p[0] and p[1], domain).predict([[1, 1], [1, 0]])
    [1, 0]
    """
    import_readers(model)
    check_own_predict(model)
    account = reading()
    try:
        return _read_over(model, domain)
    except BudgetError as error:  # by its traceback it would hold what was read
        account.nodes += error.nodes
    raise account.error()


def _read_over(model: Any, domain: Domain) -> Model:
    # A model is the same function wherever points can exist: it is read on all of them, and restricted afterwards.
    # Nor does it depend on how likely points are.
    is_plain = not domain.constraints and domain.distribution is None
    if not is_plain and not _is_over(model, domain):
        return restricted(_read.dispatch(type(model))(model, Domain(domain.features)), domain)
    return _read.dispatch(type(model))(model, domain)


def check_own_predict(model: Any) -> None:
    """Raise unless a model predicts as the class does that is read: a subclass may not change that."""
    check_inherited(model, _read.registry.keys())


@_read.register
def _network(model: BayesianNetwork, domain: Domain) -> Model:
    return BayesClassifier.of_network(model, domain)


reads = _read.register
"""Decorator: ``@reads(SomeModelClass)`` registers a function from (model, domain) to a form."""


_SPARSE: ContextVar[Callable[[], bool]] = ContextVar("sparse", default=lambda: False)


def gets_sparse_tables() -> bool:
    """Tell whether the model that is being read gets sparse tables from what surrounds it.

    For libraries that take what such a table leaves out, zeros, for missing; a pipeline says so by `giving_tables`.
    """
    return _SPARSE.get()()


@contextmanager
def giving_tables(are_sparse: Callable[[], bool]) -> Iterator[None]:
    """Read models that are given tables; `are_sparse`, which is asked only where it matters, says of what kind."""
    token = _SPARSE.set(are_sparse)
    try:
        yield
    finally:
        _SPARSE.reset(token)


def plain_labels(labels: Any) -> tuple[Any, ...]:
    """Return class labels as Python values."""
    return tuple(np.asarray(labels).tolist())


def supported() -> list[str]:
    """Return the classes that can be read, of all libraries whose readers import here."""
    for module in itertools.chain(*READERS.values()):
        try:
            importlib.import_module(module)
        except ImportError:
            continue
    kinds = [kind for kind in _read.registry if package_of(kind) in READERS]
    return sorted(f"{package_of(kind)}.{kind.__name__}" for kind in kinds)


@_read.register
def _already_neutral(model: Model, domain: Domain) -> Model:
    own = model.domain
    if own.features != domain.features:
        raise UnsupportedModelError(
            "The model was read over a domain with other features, or other values; read it again over this one."
        )
    return model if _is_over(model, domain) and own.distribution == domain.distribution else restricted(model, domain)


def _is_over(model: Any, domain: Domain) -> bool:
    """Tell whether a model is a neutral form over the points of a domain, however likely they are."""
    own = model.domain if isinstance(model, Model) else None
    return own is not None and (own.features, own.constraints) == (domain.features, domain.constraints)
