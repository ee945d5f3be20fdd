"""What a page is about: the model, the space its answers hold in, and when and with what it was made."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from axfi_kc._version import __version__
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Feature
from axfi_kc.domain.measures import Histogram, Weights, amount, counted, shown
from axfi_kc.explanations.answers import name_of
from axfi_kc.explanations.page.elements import Cell, Markup, element, joined, name, names, percent, table
from axfi_kc.explanations.space import Space

__all__ = ["about", "made_words", "named_list"]


_FEW = 8  # features whose table needs no unfolding
_FORMS = {
    "BayesClassifier": "Bayesian-network classifier",
    "Boxes": "partition into boxes",
    "CircuitModel": "circuits",
    "LinearModel": "linear model",
    "Samples": "rows of data",
    "TableModel": "truth table",
    "TreeSum": "sum of trees",
}
_WEIGHTS = {
    "ratio": "ratios: probabilities that the output changes",
    "count": "counts of points with another output",
    "unit": "1 for every CXp",
}


def named_list(pairs: Mapping[str, object], *, kind: str) -> Markup:
    """Return figures or words with their names; the `kind` is their class."""
    parts = [element("div", element("dt", key), element("dd", value)) for key, value in pairs.items()]
    return element("dl", *parts, class_=kind)


def about(explained: Any) -> Markup:
    """Return what is known of the model, the space and the making of the page; `explained` is one explanation."""
    domain, space = _whole_domain(explained), Space.of(explained)
    pairs = {
        "model": name(_model_words(explained)),
        **_classes(explained),
        **({} if explained.delta is None else {"similar outputs": f"at most {amount(explained.delta)} apart"}),
        "features": amount(len(domain)),
        **{what: name(words) for what, words in space.words.items()},
        **({} if space.distribution is not None or space.rows else {"distribution": "features are independent"}),
        "weights": _WEIGHTS.get(explained.weights, explained.weights),
        **(
            {} if explained.radius is None else {"radius": f"changes of at most {counted(explained.radius, 'feature')}"}
        ),
        "made": made_words(),
    }
    return joined([named_list(pairs, kind="list"), _features(domain)])


def made_words() -> str:
    """Return when a page is made, and with which versions; SOURCE_DATE_EPOCH sets the clock, as for all builds."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    versions = f"axfi_kc {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{now:%Y-%m-%d %H:%M} UTC with {versions}"


def _whole_domain(explained: Any) -> Domain:
    """Return the domain before a region clipped it."""
    posed = getattr(explained, "problem", None)
    whole: Domain | None = getattr(getattr(posed, "whole", None), "domain", None) or getattr(explained, "whole", None)
    return whole or explained.domain


def _model_words(explained: Any) -> str:
    """Return what the model is: its class and library, if it is at hand, and what was read of it."""
    posed = getattr(explained, "problem", None)
    if posed is None:
        return _FORMS.get(explained.model_kind, explained.model_kind)
    form = (posed.whole or posed).model.words
    return f"{posed.own.name}, read as a {form}" if posed.own.name else form


def _classes(explained: Any) -> dict[str, object]:
    posed = getattr(explained, "problem", None)
    labels = list(explained.class_names) if posed is None else list(posed.model.labels)
    return {"classes": names([shown(name_of(label, explained.class_names)) for label in labels])} if labels else {}


def _features(domain: Domain) -> Markup:
    """Return the values of each feature, and how they are distributed; folded where there are many."""
    lines = [(Cell(name(f.name)), Cell(name(f.describe())), Cell(_measure(f))) for f in domain.features]
    listed = table("Features", ("feature", "values", "distribution"), lines)
    if len(lines) <= _FEW:
        return listed
    return element("details", element("summary", f"All {counted(len(lines), 'feature')} and their values"), listed)


def _measure(feature: Feature) -> str:
    missing = f", missing {percent(feature.missing)}" if feature.missing else ""
    if isinstance(feature.measure, Histogram):
        return f"histogram of {counted(len(feature.measure.shares), 'bin')}{missing}"
    return f"{'given' if isinstance(feature.measure, Weights) else 'uniform'}{missing}"
