"""Scores and interactions as the objects of shap and shapiq, so that their plots draw them.

Both libraries are imported on sight. They calculate in floats, so every number is rounded once; what it is about stays
what it was: scores of the CXp-Forest, whose game is 0 where nothing is fixed, and no SHAP values of the model's output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.errors import MissingExtraError
from axfi_kc.scores.interactions import find_interaction

if TYPE_CHECKING:
    import shap
    import shapiq

__all__ = ["shap_explanation", "shapiq_values"]


def shap_explanation(
    values: npt.NDArray[np.float64],
    domain: Domain,
    instances: Sequence[Mapping[str, Any]],
    *,
    labels: Sequence[Any] | None = None,
) -> shap.Explanation:
    """Return scores as a ``shap.Explanation``.

    Parameters
    ----------
    values
        A row per instance and a column per feature; of one instance without labels, its row alone is given back.
    domain
        The features.
    instances
        The instances, as ``{feature name: value}``.
    labels
        The labels of the rows of a batch; None: there is one instance.

    Notes
    -----
    ``data`` has numbers, by which plots choose colours: of a category its place among the values of its feature, and
    NaN for a missing value. ``display_data`` has the values themselves. ``base_values`` are 0: fixing nothing excludes
    nothing.
    """
    try:
        import shap
    except ImportError as error:
        raise MissingExtraError.of("shap", "shap", "An explanation for shap's plots") from error
    rows = [[instance[name] for name in domain.names] for instance in instances]
    data, shown = domain.encode(rows), np.empty((len(rows), len(domain)), dtype=object)
    for n, row in enumerate(rows):
        shown[n] = row
    named: dict[str, Any] = {"feature_names": list(domain.names)}
    if labels is None:
        return shap.Explanation(values[0], base_values=0.0, data=data[0], display_data=shown[0], **named)
    given = [str(label) for label in labels]
    bases = np.zeros(len(rows))
    return shap.Explanation(values, base_values=bases, data=data, display_data=shown, instance_names=given, **named)


def shapiq_values(
    found: Sequence[Mapping[tuple[str, ...], Fraction]], names: Sequence[str], kind: str
) -> shapiq.InteractionValues:
    """Return interactions as shapiq's ``InteractionValues``.

    Parameters
    ----------
    found
        The interactions of one feature, of two, and so on, by names; those that are left out are 0.
    names
        The features' names; players are numbered in their order.
    kind
        A name in :data:`axfi_kc.scores.interactions.INTERACTIONS`.
    """
    try:
        import shapiq
    except ImportError as error:
        raise MissingExtraError.of("shapiq", "shapiq", "Interactions for shapiq's plots") from error
    place = {name: i for i, name in enumerate(names)}
    numbered = {tuple(place[n] for n in members): float(x) for row in found for members, x in row.items()}
    # All single players are there, 0 or not: some plots look each of them up.
    numbered = {(i,): 0.0 for i in range(len(names))} | numbered
    return shapiq.InteractionValues(
        np.array(list(numbered.values())),
        index=find_interaction(kind).code,
        min_order=1,
        max_order=len(found),
        n_players=len(names),
        interaction_lookup={members: k for k, members in enumerate(numbered)},
        estimated=False,
        baseline_value=0.0,
    )
