"""The model as the checker reads it: its own trees or coefficients, straight from the library's dump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axfi_kc.domain import Domain
from axfi_kc.features import Categorical
from axfi_kc.verification.pieces import Bound
from axfi_kc.verification.rules import Rule

__all__ = ["CellForm", "Form", "LinearForm", "OwnTree", "TreeForm", "form_of", "owners_of"]


@dataclass(frozen=True, slots=True)
class OwnTree:
    """One tree over the model's columns.

    Attributes
    ----------
    column
        The column tested at each node, -1 at a leaf.
    bound
        What goes left at each node.
    left, right
        The children.
    values
        The scores that a leaf adds.
    """

    column: tuple[int, ...]
    bound: tuple[Bound | None, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    values: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True)
class TreeForm:
    """Trees that are added up."""

    trees: tuple[OwnTree, ...]
    base: tuple[Fraction, ...]
    rule: Rule

    def bounds(self, domain: Domain) -> list[set[Bound]]:
        """Return where each feature is cut."""
        owners = owners_of(domain)
        found: list[set[Bound]] = [set() for _ in domain.features]
        for tree in self.trees:
            for column, bound in zip(tree.column, tree.bound, strict=True):
                if column >= 0 and bound is not None:
                    found[owners[column][0]].add(bound)
        return found


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Scores that are sums over features.

    Attributes
    ----------
    slopes
        Per feature, what multiplies its value in each score; None for a categorical feature.
    entries
        Per categorical feature, what each value adds to each score; None for a number.
    base
        The constant of each score.
    rule
        From scores to output.
    """

    slopes: tuple[tuple[Fraction, ...] | None, ...]
    entries: tuple[tuple[tuple[Fraction, ...], ...] | None, ...]
    base: tuple[Fraction, ...]
    rule: Rule


@dataclass(frozen=True, slots=True)
class CellForm:
    """A model of which only the cuts are known: it is a function of the cells between them."""

    cuts: tuple[frozenset[Bound], ...]

    def bounds(self, domain: Domain) -> list[set[Bound]]:
        """Return where each feature is cut."""
        return [set(cuts) for cuts in self.cuts]


Form = TreeForm | LinearForm | CellForm


def owners_of(domain: Domain) -> list[tuple[int, int]]:
    """Return for each column of the model the feature that owns it, and which of its columns it is."""
    return [(i, k) for i, feature in enumerate(domain.features) for k in range(len(feature.columns))]


def form_of(model: Any, domain: Domain) -> Form | None:
    """Return the model as its library's dump has it; None where only ``predict`` is to be had."""
    library = type(model).__module__.partition(".")[0]
    reader = _READERS.get(library)
    if reader is not None:
        return reader(model, domain)
    if hasattr(model, "parts") and hasattr(model, "denominator"):
        return _read_parts(model)
    grid = getattr(model, "grid", None)
    if grid is not None:
        cuts = (frozenset((Fraction(c.value), bool(c.closed)) for c in axis.cuts) for axis in grid.axes)
        return CellForm(tuple(cuts))
    return None


def _read_parts(model: Any) -> LinearForm | None:
    """Return a neutral linear model, which holds integers over one denominator."""
    slopes: list[Any] = []
    entries: list[Any] = []
    for part, feature in zip(model.parts, model.domain.features, strict=True):
        if hasattr(part, "factors"):
            slopes.append(tuple(Fraction(f, model.denominator) for f in part.factors))
            entries.append(None)
        elif isinstance(feature, Categorical):
            slopes.append(None)
            rows = zip(*part.rows, strict=True)
            entries.append(tuple(tuple(Fraction(e, model.denominator) for e in row) for row in rows))
        else:
            return None  # a table over integers is left to predict
    kinds: dict[str, Any] = {"Positive": "above", "Argmax": "largest", "Score": "itself"}
    scale = getattr(model.rule, "scale", Fraction(1))
    rule = Rule(kinds[type(model.rule).__name__], getattr(model.rule, "labels", ()), scale)
    return LinearForm(tuple(slopes), tuple(entries), tuple(Fraction(b, model.denominator) for b in model.base), rule)


def _read_sklearn(model: Any, domain: Domain) -> Form | None:
    from axfi_kc.verification.sklearn_forms import sklearn_form

    return sklearn_form(model, domain)


def _read_xgboost(model: Any, domain: Domain) -> Form | None:
    from axfi_kc.verification.xgboost_forms import xgboost_form

    return xgboost_form(model, domain) if _are_numbers(domain) else None


def _read_lightgbm(model: Any, domain: Domain) -> Form | None:
    from axfi_kc.verification.lightgbm_forms import lightgbm_form

    return lightgbm_form(model) if _are_numbers(domain) else None


def _are_numbers(domain: Domain) -> bool:
    """Tell whether every column holds numbers, so that thresholds mean what they say."""
    listed = (code for f in domain.features if isinstance(f, Categorical) for row in f.codes for code in row)
    return all(isinstance(code, int | float) for code in listed)


_READERS: dict[str, Callable[[Any, Domain], Form | None]] = {
    "sklearn": _read_sklearn,
    "xgboost": _read_xgboost,
    "lightgbm": _read_lightgbm,
}
