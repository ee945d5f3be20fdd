"""Which library a model is from, and its own ``predict`` on points of the domain.

Readers stand above this module and hand down what they know: ``READERS`` says which modules to import when a model
of a library turns up, and those modules register how ``predict`` is asked, where a table of columns will not do
(:data:`predicts`), and how it is compared with the exact output, where the default will not do (:data:`compares`).
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import called, has
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.domain.measures import shown
from axfi_kc.errors import MissingExtraError, RoundingError, UnsupportedModelError
from axfi_kc.models.one_thread import one_thread

__all__ = [
    "READERS",
    "Codes",
    "OwnProbabilities",
    "Predict",
    "blocks_of",
    "check_inherited",
    "check_predictions",
    "column_names",
    "compares",
    "frame_of",
    "import_readers",
    "library_class",
    "library_of",
    "model_name",
    "named_columns",
    "numbers_of",
    "override_of",
    "own_predictor",
    "own_probabilities",
    "package_of",
    "plain_predictor",
    "predictor",
    "predicts",
    "rounding_errors",
    "table_of",
    "table_predictor",
]


Codes = npt.NDArray[np.float64]
Predict = Callable[[Codes], list[Any]]
READERS: dict[str, tuple[str, ...]] = {}
"""The top-level package of each library, and the modules that know its models."""
_CLOSE = Fraction(1, 10**5)  # relative, of a regression: far more than any library loses
# How the names of methods that act in some library's predict or transform begin, after underscores. What only reports
# (staged_predict, apply, set_predict_request, fit_transform) begins otherwise. A method that is missing here is still
# found out where it changes an output that is asked for, since outputs are compared.
_ACTING = (
    "predict",
    "decision_function",
    "transform",
    "raw_predict",
    "validate_X_predict",
    "preprocess_X",
    "check_X",
    "joint_log_likelihood",
    "get_booster",
    "inplace_predict",
    "best_iteration",
    "get_iteration_range",
    "get_value",
    "call__",
    "getattribute__",
    "iter",
    "hstack",
    "call_func_on_transformers",
    "map_infrequent_categories",
    "process_params",
    "collect_probas",
    "weights_not_none",
    "get_median_predict",
    "get_response_method",
    "compute_proba_from_decision",
)


def package_of(kind: type) -> str:
    """Return the top-level package that a class is from."""
    return kind.__module__.partition(".")[0]


def library_class(model: Any) -> type | None:
    """Return the class of a library that a model is, or inherits from; None for what no library made.

    Mixins of one library go with models of another (scikit-learn's with XGBoost's), so the first class that can
    predict counts, or else the first that can transform, or fit: some predict through the model they hold only.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> class Mine(DecisionTreeClassifier): pass
    >>> library_class(Mine()).__name__, library_of(Mine()), library_of(print)
    ('DecisionTreeClassifier', 'sklearn', None)
    """
    known = [kind for kind in type(model).__mro__ if package_of(kind) in READERS]
    own = type(model) if type(model) in known else None  # a model that is data, such as a graph, has no method
    methods = ("predict", "transform", "fit")
    return next((kind for method in methods for kind in known if hasattr(kind, method)), own)


def library_of(model: Any) -> str | None:
    """Return the top-level package of the library that a model is from, by the order in which methods are looked up."""
    kind = library_class(model)
    return None if kind is None else package_of(kind)


def model_name(model: Any) -> str:
    """Return a model's class, and its library with the version, for people; nothing for what no library made.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model_name(DecisionTreeClassifier()).split(" ")[:3], model_name(print)
    (['DecisionTreeClassifier', 'of', 'sklearn'], '')
    """
    library = library_of(model)
    if library is None:
        return ""
    version = str(getattr(sys.modules.get(library), "__version__", ""))
    return f"{type(model).__name__} of {library} {version}".rstrip()


def import_readers(model: Any) -> None:
    """Import the modules that know the models of a model's library."""
    for module in READERS.get(library_of(model) or "", ()):
        importlib.import_module(module)


def override_of(model: Any, kind: type) -> str | None:
    """Return a method that acts in ``predict`` or ``transform`` and is not that of `kind`, a base of the model's class.

    Subclasses, mixins that come before `kind`, and attributes of the instance itself may replace a method; what
    `kind` does not have, its ``predict`` does not call.
    """
    own = set(getattr(model, "__dict__", ()))
    changed = own if type(model) is kind else own.union(*map(vars, type(model).__mro__[:-1]))
    for name in sorted(changed):
        home = _home(kind, name) if name.lstrip("_").startswith(_ACTING) else None
        if home is not None and (name in own or _home(type(model), name) is not home):
            return name
    return None


def _home(kind: type, name: str) -> type | None:
    """Return the class that has a method: functions themselves may not be compared, as some are made on demand."""
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def check_inherited(model: Any, kinds: Collection[type], *, where: str = "Expected a model") -> None:
    """Raise if a model does not predict as the first of its bases that is among `kinds`: that is what is read."""
    kind = next((base for base in type(model).__mro__[:-1] if base in kinds), None)
    name = None if kind is None else override_of(model, kind)
    if kind is not None and name is not None:
        raise UnsupportedModelError(
            f"{where} that works as {package_of(kind)}.{kind.__name__} does, but this {type(model).__name__} has a "
            f"{name} of its own, which cannot be read; use a plain {kind.__name__}, or give a Python function over a "
            "finite domain."
        )


def predictor(model: Any, domain: Domain) -> Predict:
    """Return a function from codes, a row per point, to the outputs of the model's own ``predict``.

    Raises
    ------
    UnsupportedModelError
        If the model can neither be called nor asked to predict.

    Examples
    --------
    >>> predict = predictor(lambda point: point[0] > 3, Domain([Integer("age", 0, 9)]))
    >>> predict(np.array([[2.0], [7.0]]))
    [False, True]
    """
    import_readers(model)
    # by type: a proxy may give itself out, by __class__, for what it does not predict as
    return _predictor.dispatch(type(model))(model, domain)


@singledispatch
def _predictor(model: Any, domain: Domain) -> Predict:
    ours = any(package_of(kind) == "axfi_kc" for kind in type(model).__mro__)
    if ours and not isinstance(model, _AskedForProbabilities):
        return lambda codes: model.predict(_values(domain, codes))
    if has(model, "predict"):
        return table_predictor(model, domain)
    if callable(model):
        return lambda codes: [_item(called(model, "A model", domain.decode(row))) for row in codes]
    raise UnsupportedModelError(
        f"Expected a model with predict, or a function, but {type(model).__name__} was given; give the model that "
        "was explained."
    )


def own_predictor(model: Any, domain: Domain) -> Predict | None:
    """Return the predictor that exact outputs are compared with; None where there is none to compare.

    Neutral forms and functions have no output but the exact one, and frames with words or with categories of a
    library's own are left to it.
    """
    if library_of(model) is None:
        return None
    import_readers(model)
    return _compared.dispatch(type(model))(model, domain)


def plain_predictor(model: Any, domain: Domain) -> Predict | None:
    """Return the predictor of a model, if its columns are plain numbers; None elsewhere."""
    listed = (code for f in domain.features if isinstance(f, Categorical) for row in f.codes for code in row)
    return predictor(model, domain) if all(isinstance(code, int | float) for code in listed) else None


_compared = singledispatch(plain_predictor)
predicts = _predictor.register
"""Decorator: ``@predicts(SomeModelClass)`` registers a function from (model, domain) to a :data:`Predict`."""
compares = _compared.register
"""Decorator: ``@compares(SomeModelClass)`` registers one that may also return None: nothing to compare with."""


class _AskedForProbabilities:
    """A model whose ``predict`` gives what its ``predict_proba`` does, to be asked the same way."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.predict = model.predict_proba

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


@dataclass(frozen=True, eq=False)
class OwnProbabilities:
    """The probabilities that a model's own ``predict_proba`` gives, asked for when somebody wants to see them."""

    model: Any
    domain: Domain

    def __call__(self, codes: Codes) -> list[dict[Any, float]] | None:
        """Return the probability of each class at points given by their codes; None where the model cannot be asked."""
        labels = np.asarray(self.model.classes_).tolist()
        predict = _predictor.dispatch(type(self.model))(_AskedForProbabilities(self.model), self.domain)
        try:
            found = np.array(predict(codes), dtype=np.float64).reshape(len(codes), len(labels))
        except (UnsupportedModelError, ValueError):
            return None
        return [dict(zip(labels, row, strict=True)) for row in found.tolist()]


def own_probabilities(model: Any, domain: Domain) -> OwnProbabilities | None:
    """Return what asks a model of a library for its probabilities; None if it has none."""
    if library_of(model) is None or not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        return None
    return OwnProbabilities(model, domain)


@singledispatch
def column_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that a model asks for; None where it does not know them.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> column_names(DecisionTreeClassifier()) is None
    True
    """
    inner = getattr(model, "best_estimator_", getattr(model, "estimator_", None))  # of a search, or behind a threshold
    if hasattr(inner, "feature_names_in_"):
        return column_names(inner)
    names = getattr(model, "feature_names_in_", None)  # scikit-learn's, also in XGBoost and LightGBM
    if names is None and not hasattr(model, "fit"):  # a booster
        names = getattr(model, "feature_names", None)
        names = model.feature_name() if names is None and hasattr(model, "feature_name") else names
    return None if names is None or isinstance(names, str) or callable(names) else named_columns(names)


def named_columns(names: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of columns, unless they are those that LightGBM gives the columns of an array."""
    found = tuple(map(str, names))
    return None if found == tuple(f"Column_{k}" for k in range(len(found))) else found


def check_predictions(predict: Predict, codes: Codes, outputs: Sequence[Any]) -> None:
    """Compare exact outputs with those of the model's own ``predict``.

    Raises
    ------
    RoundingError
        If they disagree.

    Notes
    -----
    One call of ``predict`` for all rows.
    """
    for _, error in rounding_errors(predict, codes, outputs):
        raise error


def rounding_errors(predict: Predict, codes: Codes, outputs: Sequence[Any]) -> Iterator[tuple[int, RoundingError]]:
    """Yield the rows at which exact outputs and those of the model's own ``predict`` disagree, with an error each."""
    if not len(codes):
        return
    for n, (own, exact) in enumerate(zip(predict(codes), outputs, strict=True)):
        if not _agree(own, exact):
            yield (
                n,
                RoundingError(
                    f"The model's own predict should give the exact output {_seen(exact)}, but it gives {_seen(own)}: "
                    "the row lies within the library's rounding of a tie; explain the exact model (ax.read_model), or "
                    "move it."
                ),
            )


def _seen(output: Any) -> str:
    """Return an output with all digits of a float: the two that disagree may do so in the last."""
    try:
        return shown(float(output) if isinstance(output, Fraction) else output, digits=None, quoted=True)
    except OverflowError:  # larger than any float
        return shown(output, quoted=True)


def _agree(own: Any, exact: Any) -> bool:
    if not isinstance(exact, Fraction):
        return bool(own == exact)
    if isinstance(own, float) and not math.isfinite(own):  # the library's own sum overflowed
        return False
    return _is_nearest(own, exact) or _is_close(own, exact)


def _is_nearest(own: Any, exact: Fraction) -> bool:
    """Tell whether a float is the one nearest to an exact output, which takes a tenth of what a Fraction of it does."""
    try:
        return bool(own == exact.numerator / exact.denominator)
    except OverflowError:  # larger than any float
        return False


def _is_close(own: Any, exact: Fraction) -> bool:
    return abs(Fraction(own) - exact) <= _CLOSE * (1 + abs(exact))


def _item(output: Any) -> Any:
    return output.item() if isinstance(output, np.generic) else output


def _plain(outputs: Any) -> list[Any]:
    return np.asarray(outputs).reshape(-1).tolist()


def _values(domain: Domain, codes: Codes) -> list[dict[str, Any]]:
    return [dict(zip(domain.names, domain.decode(row), strict=True)) for row in codes]


def table_predictor(
    model: Any, domain: Domain, *, categories: Sequence[int] | None = None, options: Mapping[str, Any] | None = None
) -> Predict:
    """Return a predictor that gives the model a table, as most libraries take it: a frame if the model knows names.

    Parameters
    ----------
    model, domain
        The model, and the space of its points.
    categories
        The columns that the library knows as categories; None: it has no such thing.
    options
        What ``predict`` is given besides, about threads and the like; nothing that changes its answers.
    """

    def predict(codes: Codes) -> list[Any]:
        try:
            table = table_of(model, domain, codes, categories=categories)
            with one_thread(len(codes)):
                return _plain(model.predict(table, **(options or {})))
        except (AttributeError, TypeError, ValueError) as error:
            raise UnsupportedModelError(
                f"{type(model).__name__} should predict at points of the domain, but says: {error}; give the domain "
                "the numbers that the model was trained on."
            ) from error

    return predict


def table_of(model: Any, domain: Domain, codes: Codes, *, categories: Sequence[int] | None = None) -> Any:
    """Return points as a table: a frame if the model knows names, or if there are words; parameters as above."""
    blocks = blocks_of(domain, codes)
    names = getattr(model, "feature_names_in_", None)
    if names is None and all(block.dtype.kind in "biuf" for block in blocks):
        return numbers_of(domain, codes)
    # A pipeline may have been fitted on columns that it drops, and the domain need not have these.
    labels = domain.columns if names is None or len(names) != len(blocks) else names
    columns = dict(zip(labels, blocks, strict=True))
    return frame_of(columns, categories=categories, domain=domain)


def blocks_of(domain: Domain, codes: Codes) -> list[npt.NDArray[Any]]:
    """Return points as the model's columns; NaN where a value is missing."""
    found: list[npt.NDArray[Any]] = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Categorical):
            found += [_entries(column, codes[:, i], feature.missing) for column in zip(*feature.codes, strict=True)]
        else:
            whole = isinstance(feature, Integer) and not feature.missing  # whole numbers have no NaN among them
            found.append(codes[:, i].astype(np.int64) if whole else codes[:, i])
    return found


def _entries(column: Sequence[Any], codes: Codes, missing: Fraction) -> npt.NDArray[Any]:
    """Return the entries of a column at the codes of its feature, NaN for a missing one."""
    entries = np.array(column)
    if not missing:
        return entries[codes.astype(np.int64)]
    # Numbers become floats; words, beside which NaN would become a word, become objects.
    plain = entries.astype(np.float64 if entries.dtype.kind in "iuf" else object)
    return np.append(plain, np.nan)[np.where(np.isnan(codes), len(plain), codes).astype(np.int64)]


def numbers_of(domain: Domain, codes: Codes) -> npt.NDArray[np.float64]:
    """Return points as an array of the model's columns; it may be the codes themselves."""
    if domain.codes_are_values:
        return codes
    return np.column_stack([block.astype(np.float64) for block in blocks_of(domain, codes)])


def frame_of(
    columns: dict[str, npt.NDArray[Any]], *, categories: Sequence[int] | None, domain: Domain | None = None
) -> Any:
    """Return columns as a frame; words, and the columns given, become categories for libraries that have them.

    Of a column in which every value is missing, `domain` says what a category would be: some libraries ask.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "Asking this model to predict") from error
    frame = pd.DataFrame(columns)
    if categories is None:
        return frame
    pairs = enumerate(columns.items())
    named = [name for k, (name, block) in pairs if k in categories or block.dtype.kind not in "biuf"]
    types: dict[str, Any] = dict.fromkeys(named, "category")
    for name, entry in zip(columns, () if domain is None else _entries_at_hand(domain), strict=False):
        if name in types and frame[name].isna().all():
            types[name] = pd.CategoricalDtype([entry])
    return frame.astype(types)


def _entries_at_hand(domain: Domain) -> list[Any]:
    """Return something that each of the model's columns may hold."""
    return [entry for f in domain.features for entry in (f.codes[0] if isinstance(f, Categorical) else (f.low,))]
