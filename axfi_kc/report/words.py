"""What a CXp says, in words and in the user's own units."""

from __future__ import annotations

from typing import Any

from axfi_kc.adversaries import search_account
from axfi_kc.budget import Budget
from axfi_kc.counterfactuals import Counterfactual, adversarial_example
from axfi_kc.errors import AxfiError
from axfi_kc.explanations import CXp
from axfi_kc.measures import shown
from axfi_kc.report.markup import Markup, joined, name
from axfi_kc.sets import features_of

__all__ = ["change_words"]

_BUDGET = Budget(seconds=1.0)


def change_words(explanation: Any, cxp: CXp) -> Markup:
    """Return the nearest change of a CXp's features that changes the output.

    Without the model (a saved explanation), or when the search takes too long, only what can be changed.
    """
    found = _nearest(explanation, cxp)
    if found is None:
        instance = explanation.instance
        parts = [joined([name(n), " (now ", name(shown(instance[n])), ")"]) for n in cxp.features]
        return joined(["Change ", joined(parts, " and "), "; keep all else."])
    moves = [joined([name(n), " from ", name(old), " to ", name(new)]) for n, old, new in found.moves]
    nearest = joined([joined(moves, ", "), " gives ", name(shown(found.output))])
    return joined([name(found.words), ". Nearest: ", nearest, "."])


def _nearest(explanation: Any, cxp: CXp) -> Counterfactual | None:
    problem = getattr(explanation, "problem", None)
    if problem is None:
        return None
    try:
        return adversarial_example(
            problem, features_of(problem.domain.mask(cxp.features)), account=search_account(_BUDGET)
        )
    except AxfiError:  # too long a search, or only an end of the domain that is no float64
        return None
