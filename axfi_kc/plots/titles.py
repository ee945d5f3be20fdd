"""What stands above a picture of one explanation: the output, the nearest change of it, and the space in a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.domain.measures import amount
from axfi_kc.domain.region import Region
from axfi_kc.errors import AxfiError
from axfi_kc.explanations.answers import answer_words, name_of
from axfi_kc.explanations.counterfactuals import Counterfactual, nearest_counterfactual
from axfi_kc.explanations.space import Space
from axfi_kc.plots.style import label, value

__all__ = ["change_words", "moves_of", "nearest_of_all", "output_words", "space_line", "why"]


_MOST_CXPS = 2_000  # to look through for the nearest change
_LONGEST = 44  # letters of what is held together on a line
_LONGEST_CHANGE = 90
_HELD = "\N{NO-BREAK SPACE}"
_LIMIT = Budget(nodes=100_000, seconds=2.0)  # a picture should not take longer than its explanation did


def why(explanation: Any) -> str:
    """Return the question that scores answer: why this output, and not another, if one was asked about.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: "xyz"[min(p[0], 2)], Domain([Integer("a", 0, 3)]))
    >>> why(explainer.explain([0])), why(explainer.explain([0], toward="z"))
    ('Why x?', 'Why x and not z?')
    """
    toward = getattr(explanation, "toward", None)
    other = "" if toward is None else f" and not {value(name_of(toward, explanation.class_names))}"
    return f"Why {value(explanation.prediction_name)}{other}?"


def output_words(explanation: Any) -> str:
    """Return the output at the instance, with how sure the model is, or within which distance outputs are similar.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: 2.5 * p[0], Domain([Integer("a", 0, 3)]), delta=3)
    >>> output_words(explainer.explain([1]))
    'output 2.5; within 3 of it outputs are similar'
    """
    delta = getattr(explanation, "delta", None)
    similar = "" if delta is None else f"; within {amount(delta)} of it outputs are similar"
    return f"output {label(answer_words(explanation), 60)}{similar}"


def space_line(*explained: Any, region: Region | None = None) -> str:
    """Return the space of explanations in a short line; nothing where it is the whole domain, or not theirs in common.

    Parameters
    ----------
    explained
        The explanations in the picture.
    region
        What is said in place of the region of each of them, where the picture is about several.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer, Region
    >>> explainer = Explainer(lambda p: p[0] > 1, Domain([Integer("a", 0, 3)]), within=Region(radius=2))
    >>> space_line(explainer.explain([1])).split()
    ['radius', '2']
    """
    spaces = map(Space.of, explained)
    lines = {(space if region is None else replace(space, region=region)).line for space in spaces}
    found = label(lines.pop(), 120) if len(lines) == 1 and "" not in lines else ""
    # Where it has to be broken it is, if that can be, between its parts.
    return "; ".join(part if len(part) > _LONGEST else part.replace(" ", _HELD) for part in found.split("; "))


def nearest_of_all(explanation: Any) -> Counterfactual | None:
    """Return the nearest change of the output; None without the model, without a CXp, or where it takes long to find.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> e = Explainer(lambda p: p[0] > 3, Domain([Integer("a", 0, 9)])).explain([5])
    >>> change_words(nearest_of_all(e))
    'nearest change: a <= 3 → False'
    """
    problem, cxps = getattr(explanation, "problem", None), explanation.cxps
    if problem is None or not isinstance(cxps, tuple) or not 0 < len(cxps) <= _MOST_CXPS:
        return None
    masks = [explanation.domain.mask(cxp.features) for cxp in cxps]
    try:
        found = nearest_counterfactual(problem, masks, budget=_LIMIT)
    except AxfiError:  # it says why there is none, or none in time; the scores are drawn all the same
        return None
    return found if found.moves else None


def change_words(change: Counterfactual | None) -> str:
    """Return the nearest change in words; nothing without one."""
    if change is None:
        return ""
    return f"nearest change: {_conditions(change)} → {value(name_of(change.output, change.class_names))}"


def _conditions(change: Counterfactual) -> str:
    """Return the first conditions of a change, each of them whole, and how many more there are."""
    names = "|".join(map(re.escape, sorted(change.changes, key=len, reverse=True)))
    parts = re.split(rf" and (?=(?:leave|any) (?:{names})|(?:{names}) [<>]?= )", change.words)
    for k in range(len(parts), 1, -1):
        if len(text := _first(parts, k)) <= _LONGEST_CHANGE:
            return label(text, _LONGEST_CHANGE)
    return _first([label(parts[0], _LONGEST_CHANGE), *parts[1:]], 1)


def _first(parts: Sequence[str], number: int) -> str:
    more = len(parts) - number
    return " and ".join([*parts[:number], *([f"{more} more"] if more else [])])


def moves_of(change: Counterfactual | None) -> dict[str, str]:
    """Return for each feature of a change which way it goes, and where to."""
    moves = change.moves if change else []
    return {name: f"{_way(*change.changes[name])} to {value(new)}" for name, _, new in moves} if change else {}


def _way(old: Any, new: Any) -> str:
    """Return an arrow up or down, or a sign for what has no order: categories, and what is missing."""
    if isinstance(old, str) or isinstance(new, str):
        return "◆"
    try:
        return "▲" if new > old else "▼"
    except TypeError:
        return "◆"
