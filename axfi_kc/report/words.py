"""What a CXp says, in words and in the user's own units."""

from __future__ import annotations

from typing import Any

from axfi_kc.explanations import CXp
from axfi_kc.report.markup import Markup, joined, name, shown

__all__ = ["change_words"]


def change_words(explanation: Any, cxp: CXp) -> Markup:
    """Return what can be changed, from which values, with all else as it is."""
    instance = explanation.instance
    parts = [joined([name(n), " (now ", name(shown(instance[n])), ")"]) for n in cxp.features]
    return joined(["Change ", joined(parts, " and "), "; keep all else."])
