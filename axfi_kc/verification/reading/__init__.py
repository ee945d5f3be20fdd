"""Models read once more, by code of the checker's own: what is double here is so on purpose.

To add a library, write a function from a model, the domain and what the model sees of it to a form, and enter it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Real
from axfi_kc.models.own_predict import library_of
from axfi_kc.verification.reading.catboost import catboost_form
from axfi_kc.verification.reading.columns import Seen, columns_of
from axfi_kc.verification.reading.forms import CellForm, Form, LinearForm, Rule, class_name
from axfi_kc.verification.reading.interpret import interpret_form
from axfi_kc.verification.reading.lightgbm import lightgbm_form
from axfi_kc.verification.reading.onnx import onnx_form
from axfi_kc.verification.reading.pipelines import pipeline_form
from axfi_kc.verification.reading.sklearn import sklearn_form
from axfi_kc.verification.reading.wrappers import wrapped_form
from axfi_kc.verification.reading.xgboost import xgboost_form
from axfi_kc.verification.spaces import first_of, present

__all__ = ["form_of"]


_READERS: dict[str, Callable[[Any, Domain, tuple[Seen, ...]], Form | None]] = {
    "sklearn": sklearn_form,
    "xgboost": xgboost_form,
    "lightgbm": lightgbm_form,
    "catboost": catboost_form,
    "interpret": interpret_form,
    "onnx": onnx_form,
}


def form_of(model: Any, domain: Domain) -> Form | None:
    """Return the model as its library's dump has it; None where only ``predict`` is to be had."""
    if library_of(model) is not None:
        try:
            found = _read(model, domain, columns_of(domain))
        except (LookupError, OverflowError, TypeError, ValueError):  # of NaN, or of a damaged dump
            return None
        return None if found is None or not found.fits(domain) else found
    if hasattr(model, "parts") and hasattr(model, "denominator"):
        return _read_parts(model, domain)
    grid = getattr(model, "grid", None)
    if grid is not None:
        cuts = (frozenset((Fraction(c.value), bool(c.closed)) for c in axis.cuts) for axis in grid.axes)
        return CellForm(tuple(cuts))
    return None


def _read_parts(model: Any, domain: Domain) -> LinearForm | None:
    """Return a neutral linear model, which holds integers over one denominator; None if it is of another domain."""
    slopes: list[Any] = []
    entries: list[Any] = []
    absent: list[Any] = []

    def over(numbers: Iterable[int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(n, model.denominator) for n in numbers)

    # The domain may be what a region leaves of the model's own, in whose order the tables are.
    for part, feature, own in zip(model.parts, domain.features, model.domain.features, strict=True):
        if hasattr(part, "factors"):
            slopes.append(over(part.factors))
            entries.append(None)
            absent.append(None if part.missing is None else over(part.missing))
        else:
            rows = [over(row) for row in zip(*part.rows, strict=True)]
            slopes.append(None)
            # A table that has one entry more than there are values ends with that of the missing one.
            there = len(rows) - bool(own.missing)
            first = first_of(feature) - first_of(own)
            entries.append(tuple(rows[first:there][: 0 if isinstance(feature, Real) else present(feature)]))
            absent.append(rows[there] if own.missing else None)
    kinds: dict[str, Any] = {"Positive": "above", "Argmax": "largest", "Score": "itself"}
    scale = getattr(model.rule, "scale", Fraction(1))
    rule = Rule(kinds[type(model.rule).__name__], getattr(model.rule, "labels", ()), scale)
    form = LinearForm(tuple(slopes), tuple(entries), over(model.base), rule, tuple(absent))
    return form if form.fits(domain) else None


def _read(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> Form | None:
    """Return a model of a library, or the last step of a pipeline, which sees `columns`; None: nothing can be read."""
    name, reader = class_name(model), _READERS.get(library_of(model) or "")
    if name is None or reader is None:
        return None
    if name == "Pipeline":
        # A pipeline among members is followed from the domain on, so it must be given all of it.
        return pipeline_form(model, domain, _read) if columns == columns_of(domain) else None
    return reader(model, domain, columns) or wrapped_form(model, domain, columns, _read)
