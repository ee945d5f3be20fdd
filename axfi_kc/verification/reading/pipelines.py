"""scikit-learn pipelines: which feature decides which column, and what their own ``transform`` makes of it.

Scalers and encoders work column by column. So one call of ``transform`` at all values of a discrete feature says what
the model behind sees of it, and thresholds on a scaled column go back to the user's units by bisection over floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.models.own_predict import Codes, blocks_of, frame_of, library_of, numbers_of
from axfi_kc.verification.reading.columns import Seen, columns_of, goes_left
from axfi_kc.verification.reading.forms import Form, OwnTree, TreeForm, class_name
from axfi_kc.verification.reading.sklearn import Affine, linear_form
from axfi_kc.verification.spaces import Bound, first_of, float_ends

__all__ = ["pipeline_form"]


_MOST_VALUES = 20_000
_TOP, _STEP = np.uint64(1 << 63), np.uint64(1)
_NEAR = np.uint64(1 << 16)  # floats around a place to begin
Keys = npt.NDArray[np.uint64]
_SAME: Affine = (Fraction(1), Fraction(0))


@dataclass(frozen=True, slots=True)
class _Made:
    """A column on its way: the domain's column it comes from, the exact map, and whether an encoder made it."""

    source: int
    affine: Affine | None = _SAME
    encoded: bool = False


class _Transforms:
    """The pipeline without its last step."""

    def __init__(self, pipeline: Any, domain: Domain) -> None:
        self._steps = pipeline[:-1]
        self._domain = domain
        self._names = getattr(pipeline, "feature_names_in_", None)
        if self._names is not None and len(self._names) != len(domain.columns):
            self._names = domain.columns  # without what the pipeline drops

    def at(self, codes: Codes) -> npt.NDArray[np.float64]:
        """Return the columns that the model sees at points of the domain."""
        made = self._made(codes)
        return np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=np.float64)

    def is_sparse(self) -> bool:
        """Tell whether the model sees sparse tables."""
        return hasattr(self._made(np.array([[float(first_of(f)) for f in self._domain.features]])), "toarray")

    def _made(self, codes: Codes) -> Any:
        # The table that the whole pipeline is asked to predict at: a frame if it knows names.
        if self._names is None:
            table = numbers_of(self._domain, codes)
        else:
            table = frame_of(dict(zip(self._names, blocks_of(self._domain, codes), strict=True)), categories=None)
        return self._steps.transform(table)


def pipeline_form(
    model: Any, domain: Domain, read: Callable[[Any, Domain, tuple[Seen, ...]], Form | None]
) -> Form | None:
    """Return the trees or coefficients behind scalers and encoders; None for other steps. `read` reads the last one."""
    made = _through_all(model.steps[:-1], [_Made(k) for k in _places(model, domain)])
    final = model.steps[-1][1]
    if made is None or len(model.steps) < 2:
        return None
    try:
        through = _Transforms(model, domain)
        columns = _columns(made, domain, through)
    except (ImportError, ValueError):
        return None  # a value that an encoder does not know, or words that stay words
    if columns is None or (_knows_xgboost(final) and through.is_sparse()):
        return None  # XGBoost takes the zeros that a sparse table leaves out for missing: left to predict
    maps = [m.affine or _SAME for m in made]
    linear = linear_form(final, domain, columns, maps) if all(m.affine or m.encoded for m in made) else None
    form = linear or read(final, domain, columns)
    return _pulled_back(form, made, domain, through) if isinstance(form, TreeForm) else linear


def _places(model: Any, domain: Domain) -> list[int]:
    """Return where each column of a pipeline is in the domain; -1 for one that it drops and the domain lacks."""
    names = [str(name) for name in getattr(model, "feature_names_in_", domain.columns)]
    if len(names) == len(domain.columns):
        return list(range(len(names)))
    place = {name: k for k, name in enumerate(domain.columns)}
    return [place.get(name, -1) for name in names]


def _knows_xgboost(model: Any) -> bool:
    """Tell whether a model is of XGBoost, or is made of such models."""
    inner = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    return any(library_of(part) == "xgboost" for part in (model, *inner))


def _through_all(steps: Iterable[tuple[str, Any]], made: list[_Made]) -> list[_Made] | None:
    found: list[_Made] | None = made
    for _, step in steps:
        found = None if found is None else _through(step, found)
    return found


def _through(step: Any, made: list[_Made]) -> list[_Made] | None:
    """Return what a transformer makes of columns; None for transformers that are not known."""
    name = class_name(step)
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return made
    if isinstance(step, str):
        return [] if step == "drop" else None
    if name == "FunctionTransformer" and step.func is None:
        return made
    if name == "Pipeline":
        return _through_all(step.steps, made)
    if name == "ColumnTransformer":
        return _by_column(step, made)
    if name == "OrdinalEncoder":
        return [replace(m, encoded=True) for m in made]
    if name == "OneHotEncoder":
        return [replace(m, encoded=True) for m, n in zip(made, _widths(step), strict=True) for _ in range(n)]
    return _scaled(step, made)


def _scaled(step: Any, made: list[_Made]) -> list[_Made] | None:
    """Return columns after a scaler, with the exact maps; one that clips has none."""
    name, n = class_name(step), len(made)
    if name == "StandardScaler":
        means = step.mean_.tolist() if step.with_mean else [0.0] * n
        scales = step.scale_.tolist() if step.with_std else [1.0] * n
        affine = [(1 / Fraction(s), -Fraction(m) / Fraction(s)) for m, s in zip(means, scales, strict=True)]
    elif name == "MinMaxScaler":
        affine = [(Fraction(s), Fraction(m)) for s, m in zip(step.scale_.tolist(), step.min_.tolist(), strict=True)]
    else:
        return None
    clips = bool(getattr(step, "clip", False))
    return [replace(m, affine=None if clips else _after(m.affine, a)) for m, a in zip(made, affine, strict=True)]


def _after(first: Affine | None, second: Affine) -> Affine | None:
    return None if first is None else (second[0] * first[0], second[0] * first[1] + second[1])


def _widths(encoder: Any) -> list[int]:
    """Return how many columns an encoder makes of each of its own."""
    rare = getattr(encoder, "infrequent_categories_", None) or [None] * len(encoder.categories_)
    shared = [0 if r is None else len(r) - 1 for r in rare]
    dropped = [0] * len(shared) if encoder.drop_idx_ is None else [int(d is not None) for d in encoder.drop_idx_]
    return [len(c) - s - d for c, s, d in zip(encoder.categories_, shared, dropped, strict=True)]


def _by_column(step: Any, made: list[_Made]) -> list[_Made] | None:
    names = [str(n) for n in getattr(step, "feature_names_in_", ())]
    found: list[_Made] = []
    for _, inner, selection in step.transformers_:
        chosen = [made[k] for k in _chosen(selection, names, len(made))]
        part = _through(inner, chosen) if chosen else []
        if part is None:
            return None
        found += part
    return found


def _chosen(selection: Any, names: list[str], width: int) -> list[int]:
    """Return the columns that a selection means."""
    if isinstance(selection, slice):
        ends = [names.index(e) if isinstance(e, str) else e for e in (selection.start, selection.stop)]
        last = ends[1] + 1 if isinstance(selection.stop, str) else ends[1]
        return list(range(width))[slice(ends[0], last, selection.step)]
    given = [selection] if isinstance(selection, str | int) else list(selection)
    if given and all(isinstance(g, bool | np.bool_) for g in given):
        return [k for k, flag in enumerate(given) if flag]
    return [names.index(g) if isinstance(g, str) else range(width)[int(g)] for g in given]


def _columns(made: list[_Made], domain: Domain, through: _Transforms) -> tuple[Seen, ...] | None:
    """Return what the model behind sees; None where an encoder meets a real number or too many integers."""
    sources, tables = columns_of(domain), {}
    listed = {sources[m.source].feature for m in made if m.encoded}
    listed |= {i for i, feature in enumerate(domain.features) if isinstance(feature, Categorical)}
    for i in sorted(listed):
        feature = domain.features[i]
        if isinstance(feature, Real) or feature.size > _MOST_VALUES:
            return None
        tables[i] = _at_values(domain, i, through)
    found = []
    for k, column in enumerate(made):
        i = sources[column.source].feature
        found.append(Seen(i, tuple(tables[i][:, k].tolist()) if i in tables else None))
    return tuple(found)


def _corner(domain: Domain) -> Codes:
    return np.array([0.0 if isinstance(f, Categorical) else float_ends(f)[0] for f in domain.features])


def _pulled_back(form: TreeForm, made: Sequence[_Made], domain: Domain, through: _Transforms) -> TreeForm | None:
    """Return trees whose thresholds on scaled columns are in the user's units."""
    scaled = {k for k, seen in enumerate(form.columns) if seen.entries is None and made[k].affine != _SAME}
    nodes = (pair for tree in form.trees for pair in zip(tree.column, tree.split, strict=True))
    tests = {(k, split) for k, split in nodes if k in scaled and split is not None}
    pairs = sorted((k, split) for k, split in tests if isinstance(split, tuple))
    # Lists of categories, and bounds that zeros do not obey, are not moved through a scaler.
    if len(pairs) < len(tests):
        return None
    moved: dict[tuple[int, Bound], Bound] = {}
    # Short integer features are listed with one call of transform; all others are bisected together.
    for i in sorted({form.columns[k].feature for k, _ in pairs if _is_short(domain, form.columns[k])}):
        table = _at_values(domain, i, through)
        moved |= {(k, b): _last(table[:, k], b, domain.features[i]) for k, b in pairs if form.columns[k].feature == i}
    rest = [pair for pair in pairs if pair not in moved]
    near = [_inverse(made[k].affine, bound) for k, bound in rest]
    moved |= dict(zip(rest, _back(rest, near, form.columns, domain, through), strict=True))
    return replace(form, trees=tuple(_moved(tree, moved) for tree in form.trees))


def _is_short(domain: Domain, seen: Seen) -> bool:
    feature = domain.features[seen.feature]
    return isinstance(feature, Integer) and feature.size <= _MOST_VALUES


def _at_values(domain: Domain, i: int, through: _Transforms) -> npt.NDArray[np.float64]:
    """Return the columns that the model sees at each value of a discrete feature."""
    feature = domain.features[i]
    size = feature.size or 0
    codes = np.tile(_corner(domain), (size, 1))
    codes[:, i] = first_of(feature) + np.arange(size)
    return through.at(codes)


def _last(column: npt.NDArray[np.float64], bound: Bound, feature: Feature) -> Bound:
    """Return the bound on an integer feature whose scaled values are given."""
    number = sum(goes_left(bound, x) for x in column.tolist())
    return Fraction(first_of(feature) + number - 1), True


def _moved(tree: OwnTree, moved: dict[tuple[int, Bound], Bound]) -> OwnTree:
    pairs = zip(tree.column, tree.split, strict=True)
    return replace(tree, split=tuple(moved.get((c, s), s) if isinstance(s, tuple) else s for c, s in pairs))


def _inverse(affine: Affine | None, bound: Bound) -> float:
    """Return about where a bound is in the user's units: a place to begin."""
    return float((bound[0] - affine[1]) / affine[0]) if affine is not None else 0.0


def _back(
    pairs: list[tuple[int, Bound]], near: list[float], columns: tuple[Seen, ...], domain: Domain, through: _Transforms
) -> list[Bound]:
    """Return for each bound on a column the last float of its feature that ``transform`` leaves on its left."""
    if not pairs:
        return []
    rows, own = np.arange(len(pairs)), [k for k, _ in pairs]
    features = [columns[k].feature for k in own]
    # On floats an open bound is a closed one a float before.
    last = np.array([float(b) if closed else float(np.nextafter(float(b), -np.inf)) for _, (b, closed) in pairs])
    widths = [float_ends(domain.features[i]) for i in features]  # type: ignore[arg-type]
    ends = [_key(np.array(end)) for end in zip(*widths, strict=True)]
    points = np.tile(_corner(domain), (len(pairs), 1))

    def left_of(keys: Keys) -> npt.NDArray[np.bool_]:
        points[rows, features] = _float(keys)
        return through.at(points)[rows, own] <= last

    # Scalers never decrease, in floats too: what goes left is a beginning of the feature's floats.
    never, always = ~left_of(ends[0]), left_of(ends[1])
    start = np.clip(_key(np.array(near)), ends[0], ends[1])
    # The exact inverse is off by a few floats only, so a narrow window saves most of the 64 calls of transform;
    # where it misses, its end is the domain's.
    low, high = np.maximum(ends[0], start - _NEAR), np.minimum(ends[1], start + _NEAR)
    low, high = np.where(left_of(low), low, ends[0]), np.where(left_of(high), ends[1], high)
    while (high > low + _STEP).any():
        middle = low + (high - low) // np.uint64(2)
        left = left_of(middle)
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    found = _float(np.where(always, ends[1], low)).tolist()
    return [(Fraction(x), not none) for x, none in zip(found, never.tolist(), strict=True)]


def _key(x: npt.NDArray[np.float64]) -> Keys:
    """Return a whole number for each float64, in the same order; unsigned, so that differences do not overflow."""
    # Negative floats ascend against their bits and come first, so theirs are flipped and the others get the top bit.
    bits = x.view(np.uint64)
    return np.where(bits >= _TOP, ~bits, bits | _TOP)


def _float(key: Keys) -> npt.NDArray[np.float64]:
    return np.where(key >= _TOP, key ^ _TOP, ~key).view(np.float64)
