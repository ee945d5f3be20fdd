"""scikit-learn pipelines: which feature decides which column, and what their own ``transform`` makes of it.

Imputers, scalers and encoders work column by column. So one call of ``transform`` at all values of a discrete feature
says what the model behind sees of it, one at a missing value what is put in its place, and thresholds on a scaled
column go back to the user's units by bisection over floats.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real, is_missing
from axfi_kc.models.own_predict import Codes, blocks_of, frame_of, library_of, numbers_of
from axfi_kc.verification.reading.columns import Excepted, Seen, Split, columns_of, cuts_of, goes_left
from axfi_kc.verification.reading.forms import Form, OwnTree, TreeForm, class_name
from axfi_kc.verification.reading.sklearn import Affine, is_linear, linear_form, takes_maps
from axfi_kc.verification.reading.wrappers import handed_over
from axfi_kc.verification.spaces import Bound, first_of, float_ends, present

__all__ = ["pipeline_form"]


_MOST_VALUES = 20_000
_TOP, _STEP = np.uint64(1 << 63), np.uint64(1)
_NEAR = np.uint64(1 << 16)  # floats around a place to begin
Keys = npt.NDArray[np.uint64]
_SAME: Affine = (Fraction(1), Fraction(0))
_ZERO: Affine = (Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class _Made:
    """A column on its way: what is known of it as a function of the domain's column that it comes from."""

    source: int
    affine: Affine | None = _SAME  # the exact map of what is not missing; None where it has none
    encoded: bool = False  # whether it may be anything; if not, it never decreases
    sparse: bool = False  # whether it is in a table that keeps no zeros
    touched: bool = False  # whether numbers that are not missing went through some operation


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of categories that an encoder does not know
            return self._steps.transform(table)


def pipeline_form(
    model: Any, domain: Domain, read: Callable[[Any, Domain, tuple[Seen, ...]], Form | None]
) -> Form | None:
    """Return the trees or coefficients behind scalers and encoders; None for other steps. `read` reads the last one."""
    made = _through_all(model.steps[:-1], [_Made(k) for k in _places(model, domain)])
    final = handed_over(model.steps[-1][1])
    if made is None or len(model.steps) < 2:
        return None
    linear = is_linear(final)
    # What bends a column leaves nothing to multiply: its values are listed, if that can be.
    if linear:
        made = [replace(m, encoded=m.encoded or m.affine is None or not takes_maps(final)) for m in made]
    try:
        through = _Transforms(model, domain)
        columns = _columns(made, domain, through)
    except (ImportError, TypeError, ValueError):
        return None  # a value that an encoder does not know, or words that stay words
    if columns is None:
        return None
    if linear:
        return linear_form(final, domain, columns, [m.affine or _SAME for m in made])
    bare = _knows_xgboost(final) and through.is_sparse()
    if bare and library_of(final) != "xgboost":
        return None
    seen = tuple(map(_without_zeros, columns)) if bare else columns
    form = read(final, domain, seen)
    if not isinstance(form, TreeForm) or form.columns != seen:
        return None
    holed = _with_zeros_missing(form) if bare else form
    return None if holed is None else _pulled_back(holed, made, domain, through)


def _places(model: Any, domain: Domain) -> list[int]:
    """Return where each column of a pipeline is in the domain; -1 for one that it drops and the domain lacks."""
    names = [str(name) for name in getattr(model, "feature_names_in_", domain.columns)]
    if len(names) == len(domain.columns):
        return list(range(len(names)))
    place = {name: k for k, name in enumerate(domain.columns)}
    return [place.get(name, -1) for name in names]


def _without_zeros(seen: Seen) -> Seen:
    """Return a column of a sparse table as XGBoost sees it: what the table leaves out is missing."""
    entries = None if seen.entries is None else tuple(e or math.nan for e in seen.entries)
    return replace(seen, entries=entries, absent=seen.absent or math.nan)


def _with_zeros_missing(form: TreeForm) -> TreeForm | None:
    """Return trees over numbers among which zero counts as missing; None if another one does too."""
    splits = [split for _, split in form.tests()]
    if any(isinstance(split, Excepted) for split in splits):
        return None
    zero = (Fraction(0), False), (Fraction(0), True)

    def holed(split: Split | None) -> Split | None:
        return Excepted(split, *zero) if isinstance(split, tuple) else split

    return replace(form, trees=tuple(replace(t, split=tuple(map(holed, t.split))) for t in form.trees))


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
    if name == "FunctionTransformer":
        return made if step.func is None else _function(step, made)
    if name == "Pipeline":
        return _through_all(step.steps, made)
    if name in ("ColumnTransformer", "FeatureUnion"):
        return _side_by_side(step, made)
    if name == "Binarizer" or (name == "KBinsDiscretizer" and step.encode == "ordinal"):
        return [replace(m, affine=None, touched=True) for m in made]
    if name in _WIDTHS:
        sparse = getattr(step, "sparse_output", getattr(step, "encode", "") == "onehot")
        wide = zip(made, _WIDTHS[name](step), strict=True)
        return [replace(m, encoded=True, sparse=bool(sparse)) for m, n in wide for _ in range(n)]
    if name in ("SimpleImputer", "MissingIndicator"):
        return _imputed(step, made)
    if name in ("PowerTransformer", "QuantileTransformer"):
        return [replace(m, affine=None, encoded=True) for m in made]
    if hasattr(step, "get_support") and name is not None:
        return [m for m, kept in zip(made, step.get_support(), strict=True) if kept]
    return _scaled(step, made)


_ROUNDING = (np.sqrt, np.floor, np.ceil, np.rint, np.trunc, np.sign)  # exactly rounded, so they never decrease


def _function(step: Any, made: list[_Made]) -> list[_Made] | None:
    """Return columns after a function of NumPy, which looks at each number by itself."""
    if not isinstance(step.func, np.ufunc) or step.kw_args:
        return None
    rough = step.func not in _ROUNDING
    return [replace(m, affine=None, encoded=m.encoded or rough, touched=True) for m in made]


def _imputed(step: Any, made: list[_Made]) -> list[_Made]:
    """Return columns after an imputer, and after them those that say what was missing."""
    # Where something else than NaN counts as missing, a number is taken out of the order.
    plain = [m if is_missing(step.missing_values) else replace(m, affine=None, encoded=True) for m in made]
    found, marks = [], step
    if class_name(step) == "SimpleImputer":
        stay = zip(plain, step.statistics_.tolist(), strict=True)
        found = [m for m, number in stay if step.keep_empty_features or not is_missing(number)]
        marks = step.indicator_ if step.add_indicator else None
    # What is not missing has 0 in all of them.
    chosen = [] if marks is None else marks.features_.tolist()
    return found + [replace(plain[k], affine=None if plain[k].encoded else _ZERO, touched=True) for k in chosen]


def _scaled(step: Any, made: list[_Made]) -> list[_Made] | None:
    """Return columns after a scaler, with the exact maps; one that clips has none."""
    name, n = class_name(step), len(made)
    if name in ("StandardScaler", "RobustScaler"):
        centre, shifts, divides = ("mean_", "with_mean", "with_std")
        if name == "RobustScaler":
            centre, shifts, divides = ("center_", "with_centering", "with_scaling")
        if not getattr(step, shifts) and not getattr(step, divides):
            return made
        means = getattr(step, centre).tolist() if getattr(step, shifts) else [0.0] * n
        scales = step.scale_.tolist() if getattr(step, divides) else [1.0] * n
        affine = [(1 / Fraction(s), -Fraction(m) / Fraction(s)) for m, s in zip(means, scales, strict=True)]
    elif name == "MaxAbsScaler":
        affine = [(1 / Fraction(s), Fraction(0)) for s in step.scale_.tolist()]
    elif name == "MinMaxScaler":
        affine = [(Fraction(s), Fraction(m)) for s, m in zip(step.scale_.tolist(), step.min_.tolist(), strict=True)]
    else:
        return None
    clips = bool(getattr(step, "clip", False))
    # A sparse table is multiplied by rounded inverses, so these are not its maps.
    maps = [None if clips or m.sparse else _after(m.affine, a) for m, a in zip(made, affine, strict=True)]
    return [replace(m, affine=a, touched=True) for m, a in zip(made, maps, strict=True)]


def _after(first: Affine | None, second: Affine) -> Affine | None:
    return None if first is None else (second[0] * first[0], second[0] * first[1] + second[1])


def _widths(encoder: Any) -> list[int]:
    """Return how many columns an encoder makes of each of its own."""
    rare = getattr(encoder, "infrequent_categories_", None) or [None] * len(encoder.categories_)
    shared = [0 if r is None else len(r) - 1 for r in rare]
    dropped = [0] * len(shared) if encoder.drop_idx_ is None else [int(d is not None) for d in encoder.drop_idx_]
    return [len(c) - s - d for c, s, d in zip(encoder.categories_, shared, dropped, strict=True)]


_WIDTHS: dict[str, Callable[[Any], list[int]]] = {
    "OrdinalEncoder": lambda step: [1] * len(step.categories_),
    "OneHotEncoder": _widths,
    "TargetEncoder": lambda step: [max(len(step.encodings_) // len(step.categories_), 1)] * len(step.categories_),
    "KBinsDiscretizer": lambda step: [int(n) for n in step.n_bins_],
}


def _side_by_side(step: Any, made: list[_Made]) -> list[_Made] | None:
    """Return what transformers make of some columns each, or of all."""
    names = [str(n) for n in getattr(step, "feature_names_in_", ())]
    union = class_name(step) == "FeatureUnion"
    parts = [(n, t, slice(None)) for n, t in step.transformer_list] if union else step.transformers_
    found: list[_Made] = []
    for name, inner, selection in parts:
        chosen = [made[k] for k in _chosen(selection, names, len(made))]
        part = _through(inner, chosen) if chosen else []
        weight = (step.transformer_weights or {}).get(name)
        if part is None or (weight is not None and weight <= 0):
            return None
        if weight is not None:
            by = Fraction(weight), Fraction(0)
            part = [replace(m, affine=_after(m.affine, by), touched=True) for m in part]
        found += part
    sparse = any(m.sparse for m in found) if union else bool(step.sparse_output_)
    return [replace(m, sparse=sparse) for m in found]


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
    """Return what the model behind sees; None where an encoder meets a real number or too many values."""
    sources, tables = columns_of(domain), {}
    listed = {sources[m.source].feature for m in made if m.encoded}
    listed |= {i for i, feature in enumerate(domain.features) if isinstance(feature, Categorical)}
    for i in sorted(listed):
        feature = domain.features[i]
        if isinstance(feature, Real) or present(feature) > _MOST_VALUES:
            return None
        tables[i] = _at_values(domain, i, through)
    absent = {i: _at_missing(domain, i, through) for i, feature in enumerate(domain.features) if feature.missing}
    found = []
    for k, column in enumerate(made):
        i = sources[column.source].feature
        entries = tuple(tables[i][:, k].tolist()) if i in tables else None
        found.append(Seen(i, entries, absent[i][k] if i in absent else math.nan))
    return tuple(found)


def _at_missing(domain: Domain, i: int, through: _Transforms) -> list[float]:
    """Return the columns that the model sees where a feature is missing."""
    codes = _corner(domain)
    codes[i] = np.nan
    return through.at(codes[np.newaxis])[0].tolist()


def _corner(domain: Domain) -> Codes:
    return np.array([0.0 if isinstance(f, Categorical) else float_ends(f)[0] for f in domain.features])


def _pulled_back(form: TreeForm, made: Sequence[_Made], domain: Domain, through: _Transforms) -> TreeForm | None:
    """Return trees whose thresholds on scaled columns are in the user's units.

    A threshold may lie between two neighbouring floats. Only where a feature has one column, which is the feature
    itself, is it kept as it is; elsewhere it is moved to the float before it, which is what can be found out.
    """
    owners = [seen.feature for seen in form.columns]
    moves = [made[k].touched or owners.count(i) > 1 for k, i in enumerate(owners)]
    scaled = {k for k, seen in enumerate(form.columns) if seen.entries is None and moves[k]}
    nodes = (pair for tree in form.trees for pair in zip(tree.column, tree.split, strict=True))
    tests = {(k, split) for k, split in nodes if k in scaled and split is not None}
    # Lists of categories are not moved through a scaler.
    if any(isinstance(split, frozenset) for _, split in tests):
        return None
    pairs = sorted({(k, bound) for k, split in tests for bound in cuts_of(split)})
    moved: dict[tuple[int, Bound], Bound] = {}
    # Short integer features are listed with one call of transform; all others are bisected together.
    for i in sorted({form.columns[k].feature for k, _ in pairs if _is_short(domain, form.columns[k])}):
        table = _at_values(domain, i, through)
        moved |= {(k, b): _last(table[:, k], b, domain.features[i]) for k, b in pairs if form.columns[k].feature == i}
    rest = [pair for pair in pairs if pair not in moved]
    near = [_inverse(made[k].affine, bound) for k, bound in rest]
    moved |= dict(zip(rest, _back(rest, near, form.columns, domain, through), strict=True))
    # Splits of numbers are no longer about the columns, so what they say of a missing value is said before.
    trees = tuple(_moved(_settled(tree, form.columns), moved) for tree in form.trees)
    columns = tuple(replace(seen, absent=math.nan) if seen.entries is None else seen for seen in form.columns)
    return replace(form, trees=trees, columns=columns)


def _settled(tree: OwnTree, columns: tuple[Seen, ...]) -> OwnTree:
    """Return a tree that says at each test of a number where what stands for a missing one goes."""
    tested = [seen for k, seen in enumerate(columns) if k in tree.column]
    if tree.missing is None and any(is_missing(e) for seen in tested for e in (seen.absent, *(seen.entries or ()))):
        return tree
    sides = list(tree.missing or [False] * len(tree.column))
    for node, k in enumerate(tree.column):
        if k >= 0 and columns[k].entries is None:
            sides[node] = tree.sends_left(node, columns[k].absent)
    return replace(tree, missing=tuple(sides))


def _is_short(domain: Domain, seen: Seen) -> bool:
    feature = domain.features[seen.feature]
    return isinstance(feature, Integer) and present(feature) <= _MOST_VALUES


def _at_values(domain: Domain, i: int, through: _Transforms) -> npt.NDArray[np.float64]:
    """Return the columns that the model sees at each value of a discrete feature."""
    feature = domain.features[i]
    size = 0 if isinstance(feature, Real) else present(feature)
    codes = np.tile(_corner(domain), (size, 1))
    codes[:, i] = first_of(feature) + np.arange(size)
    return through.at(codes)


def _last(column: npt.NDArray[np.float64], bound: Bound, feature: Feature) -> Bound:
    """Return the bound on an integer feature whose scaled values are given."""
    number = sum(goes_left(bound, x) for x in column.tolist())
    return Fraction(first_of(feature) + number - 1), True


def _moved(tree: OwnTree, moved: dict[tuple[int, Bound], Bound]) -> OwnTree:
    def split(column: int, given: Split | None) -> Split | None:
        if isinstance(given, Excepted):
            return Excepted(*(moved.get((column, b), b) for b in (given.bound, given.first, given.last)))
        return moved.get((column, given), given) if isinstance(given, tuple) else given

    return replace(tree, split=tuple(map(split, tree.column, tree.split)))


def _inverse(affine: Affine | None, bound: Bound) -> float:
    """Return about where a bound is in the user's units: a place to begin."""
    try:
        return float((bound[0] - affine[1]) / affine[0]) if affine is not None and affine[0] else 0.0
    except OverflowError:
        return 0.0


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
