"""Which reader reads which model.

A reader module is imported only when a model of its library turns up, so nobody needs a library
they do not use. To add a library, add its top-level package to ``_READERS`` and register
functions for its classes with ``@reads(Class)`` in the modules named there.
"""

from __future__ import annotations

import importlib
import itertools
from functools import singledispatch
from typing import Any

from axfi_kc.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Model, TableModel

__all__ = ["read_model", "reads"]

_READERS = {
    "Orange": ("orange",),
    "lightgbm": ("lightgbm_models",),
    "sklearn": ("sklearn_trees", "sklearn_ensembles", "sklearn_histograms", "sklearn_linear", "sklearn_pipelines"),
    "xgboost": ("xgboost_models",),
}


@singledispatch
def _read(model: Any, domain: Domain) -> Model:
    """Read what no registered class matches: a function, or nothing we know."""
    if callable(model) and not hasattr(model, "predict"):
        return TableModel.from_function(domain, model)
    kind = type(model)
    raise UnsupportedModelError(
        f"Expected a model that can be read exactly, but {kind.__module__}.{kind.__qualname__} was given; "
        f"supported are {', '.join(supported())}, truth tables (TableModel), "
        "circuits (CircuitModel) and Python functions over finite domains."
    )


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
        If no reader knows the model.
    UnfittedModelError
        If it has not been trained.

    Examples
    --------
    >>> from axfi_kc.features import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> read_model(lambda p: p[0] and p[1], domain).predict([[1, 1], [1, 0]])
    [1, 0]
    """
    for base in type(model).__mro__:
        for module in _READERS.get(base.__module__.partition(".")[0], ()):
            importlib.import_module(f"axfi_kc.compilers.{module}")
    return _read(model, domain)


reads = _read.register
"""Decorator: ``@reads(SomeModelClass)`` registers a function from (model, domain) to a form."""


def supported() -> list[str]:
    """Return the classes that can be read, of all libraries whose readers import here."""
    for module in itertools.chain(*_READERS.values()):
        try:
            importlib.import_module(f"axfi_kc.compilers.{module}")
        except ImportError:
            continue
    kinds = [k for k in _read.registry if k is not object and k.__module__.partition(".")[0] != "axfi_kc"]
    return sorted(f"{k.__module__.partition('.')[0]}.{k.__name__}" for k in kinds)


@_read.register
def _already_neutral(model: Model, domain: Domain) -> Model:
    if model.domain != domain:
        raise UnsupportedModelError("This neutral model was read over another domain; read it again over this one.")
    return model
