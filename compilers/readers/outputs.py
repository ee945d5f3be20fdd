"""One output of a model that predicts several."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from axfi_kc.arguments import quoted
from axfi_kc.compilers.readers import check_own_predict
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models.own_predict import import_readers

__all__ = ["check_position", "output_of", "outputs"]


def output_of(model: Any, which: int) -> Any:
    """Return the model that predicts one output of `model`, to be explained by itself.

    Parameters
    ----------
    model
        A fitted model with several outputs: scikit-learn's MultiOutputClassifier and MultiOutputRegressor, trees,
        forests, bagged trees and linear regressions fitted to several targets, and pipelines and searches that end in
        these.
    which
        The position of the output, from 0: its column in what ``model.predict`` returns.

    Returns
    -------
    a model of the library, whose ``predict`` is that column

    Raises
    ------
    UnsupportedModelError
        If the model has no such output, or its outputs cannot be told apart.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> both = DecisionTreeClassifier().fit([[0], [1], [2]], [[0, 5], [1, 5], [1, 7]])
    >>> output_of(both, 1).predict([[0], [2]])
    array([5, 7])
    """
    import_readers(model)
    check_own_predict(model)
    return _single.dispatch(type(model))(model, which)


@singledispatch
def _single(model: Any, which: int) -> Any:
    raise UnsupportedModelError(
        f"Expected a model with several outputs, but {type(model).__name__} was given, of which no output can be taken "
        "by itself; fit one model to each output."
    )


outputs = _single.register
"""Decorator: ``@outputs(SomeClass)`` registers a function from (model, position) to a model with one output."""


def check_position(model: Any, which: int, n_outputs: int) -> None:
    """Raise unless a model has an output of that position."""
    if isinstance(which, bool) or not isinstance(which, int) or not 0 <= which < n_outputs:
        raise UnsupportedModelError(
            f"Expected the position of an output of {type(model).__name__}, from 0 to {n_outputs - 1}, but "
            f"{quoted(which)} was given (scikit-learn keeps no names of outputs); give the position."
        )
