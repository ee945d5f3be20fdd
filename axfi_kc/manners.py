"""The manners of a scikit-learn estimator, for an object whose parameters never change."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain

__all__ = ["Manners"]

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
        >>> list(given), given["weights"]
        (['model', 'domain', 'delta', 'weights', 'max_size', 'budget', 'target'], 'count')
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
        return f"<Domain of {len(value)} features>"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"<{type(value).__name__}>"
