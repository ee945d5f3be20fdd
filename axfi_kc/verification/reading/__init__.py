"""Models read once more, by code of the checker's own: what is double here is so on purpose.

To add a library, write a function from a model, the domain and what the model sees of it to a form, and enter it here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.models.own_predict import library_of
from axfi_kc.verification.reading.columns import Seen, columns_of
from axfi_kc.verification.reading.forms import CellForm, Form, LinearForm, Rule, TreeForm, class_name
from axfi_kc.verification.reading.lightgbm import lightgbm_form
from axfi_kc.verification.reading.pipelines import pipeline_form
from axfi_kc.verification.reading.sklearn import sklearn_form
from axfi_kc.verification.reading.xgboost import xgboost_form

__all__ = ["form_of"]


_READERS = {"sklearn": sklearn_form, "xgboost": xgboost_form, "lightgbm": lightgbm_form}


def form_of(model: Any, domain: Domain) -> Form | None:
    """Return the model as its library's dump has it; None where only ``predict`` is to be had."""
    if library_of(model) is not None:
        found = _read(model, domain, columns_of(domain))
        return found if isinstance(found, TreeForm | LinearForm) and found.fits(domain) else None
    if hasattr(model, "parts") and hasattr(model, "denominator"):
        parts = _read_parts(model)
        return parts if parts.fits(domain) else None
    grid = getattr(model, "grid", None)
    if grid is not None:
        cuts = (frozenset((Fraction(c.value), bool(c.closed)) for c in axis.cuts) for axis in grid.axes)
        return CellForm(tuple(cuts))
    return None


def _read_parts(model: Any) -> LinearForm:
    """Return a neutral linear model, which holds integers over one denominator."""
    slopes: list[Any] = []
    entries: list[Any] = []
    for part in model.parts:
        if hasattr(part, "factors"):
            slopes.append(tuple(Fraction(f, model.denominator) for f in part.factors))
            entries.append(None)
        else:
            slopes.append(None)
            rows = zip(*part.rows, strict=True)
            entries.append(tuple(tuple(Fraction(e, model.denominator) for e in row) for row in rows))
    kinds: dict[str, Any] = {"Positive": "above", "Argmax": "largest", "Score": "itself"}
    scale = getattr(model.rule, "scale", Fraction(1))
    rule = Rule(kinds[type(model.rule).__name__], getattr(model.rule, "labels", ()), scale)
    base = tuple(Fraction(b, model.denominator) for b in model.base)
    return LinearForm(tuple(slopes), tuple(entries), base, rule, (None,) * len(slopes))


def _read(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> Form | None:
    """Return a model of a library, or the last step of a pipeline, which sees `columns`; None: nothing can be read."""
    name, reader = class_name(model), _READERS.get(library_of(model) or "")
    if name is None or reader is None:
        return None
    return pipeline_form(model, domain, _read) if name == "Pipeline" else reader(model, domain, columns)
