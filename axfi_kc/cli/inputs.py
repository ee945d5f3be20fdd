"""Tables and models from files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from axfi_kc.circuits.files import FORMATS, format_of, load_circuit
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import (
    AxfiError,
    CircuitError,
    DomainError,
    MissingExtraError,
    ModelFileError,
    UnsupportedModelError,
)

__all__ = ["file_kind", "is_circuit_file", "load_circuit_model", "load_model", "load_skops", "read_table"]


_TRUSTED = ("sklearn.tree._tree.Tree",)  # compiled classes of scikit-learn that hold nothing but arrays
_PARQUET = (".parquet", ".pq")
_HEAD = 1 << 16


def read_table(path: Path) -> Any:
    """Return a CSV or Parquet file as a DataFrame.

    Raises
    ------
    MissingExtraError, DomainError
        Without pandas (or pyarrow), or if the file cannot be read.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", f"Reading {path.name}") from error
    if path.suffix in _PARQUET:
        return _read_parquet(pd, path)
    try:
        # "round_trip" rounds decimals once; pandas' own conversions are off by a digit, and crash on a huge exponent
        table = pd.read_csv(path, float_precision="round_trip")
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise DomainError(
            f"{path} cannot be read as CSV ({error}); give a comma-separated table with a header."
        ) from error
    _check_numbers(path, table)
    return table


def _check_numbers(path: Path, table: Any) -> None:
    """Raise if a column holds numbers only, one of them beyond floats: pandas leaves such a column as text."""
    for name, column in table.items():
        beyond = _beyond(column) if column.dtype.kind == "O" else None
        if beyond is not None:
            raise DomainError(
                f"{path}: column {name!r} should hold numbers that floats can hold, but {beyond!r} was found; "
                "correct it, or give the column other texts."
            )


def _beyond(texts: Iterable[Any]) -> str | None:
    """Return a text that says a number beyond floats, if all of them say numbers."""
    try:
        infinite = [str(text)[:40] for text in texts if math.isinf(float(text))]
    except (ValueError, TypeError):
        return None
    return infinite[0] if infinite else None


def _read_parquet(pd: Any, path: Path) -> Any:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", f"Reading {path.name}") from error
    except Exception as error:  # pyarrow's errors have no common base but Exception
        raise DomainError(f"{path} cannot be read as Parquet ({error}); write the table again.") from error


def file_kind(path: Path) -> str:
    """Return what a model file holds: ``"xgboost"``, ``"lightgbm"``, ``"skops"``, ``"circuit"``, ``"pickle"``.

    Suffixes say so, except that ``.json`` may be XGBoost's or a circuit's.

    Raises
    ------
    ModelFileError
        If there is no such file.
    """
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}; give the path of a saved model.")
    circuits = FORMATS.get(path.suffix, ())
    if any(not known.marks for known in circuits):
        return "circuit"
    if path.suffix == ".ubj":
        return "xgboost"
    if path.suffix == ".skops":
        return "skops"
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if b'"learner"' not in head and any(mark in head for known in circuits for mark in known.marks):
        return "circuit"
    if path.suffix == ".json":
        return "xgboost"
    return "lightgbm" if head.startswith((b"tree\n", b"tree\r\n")) else "pickle"


def is_circuit_file(path: Path) -> bool:
    """Tell whether a file holds a circuit."""
    return file_kind(path) == "circuit"


def load_circuit_model(path: Path, domain: Callable[[], Domain], *, code: str | None = None) -> Any:
    """Return a circuit from a file as a model with outputs 0 and 1.

    Parameters
    ----------
    path
        The file.
    domain
        Makes the domain, where the file does not say it itself.
    code
        How the file writes values in bits; by default what it says itself, or its format's reader takes.

    Raises
    ------
    AxfiError
        If the file cannot be read.
    """
    from axfi_kc.models.circuit_model import CircuitModel

    return CircuitModel.of(_circuit(path, domain, code), outputs=(0, 1))


def _circuit(path: Path, domain: Callable[[], Domain], code: str | None) -> Any:
    with suppress(CircuitError):  # a file that may say what its variables mean need not
        if format_of(path).describes:
            return load_circuit(path, code=code)
    return load_circuit(path, domain(), code=code)


def load_model(path: Path, domain: Domain, *, allow_pickle: bool) -> Any:
    """Return the model in a file.

    Raises
    ------
    AxfiError
        If it cannot be read, or is a pickle that was not allowed.
    """
    kind = file_kind(path)
    if kind == "xgboost":
        from axfi_kc.compilers import read_xgboost

        return read_xgboost(path, domain)
    if kind == "lightgbm":
        return _load_lightgbm(path, domain)
    if kind == "skops":
        return load_skops(path)
    if not allow_pickle:
        raise UnsupportedModelError(
            f"{path} is no XGBoost, LightGBM, skops or circuit file, and a pickle can run any code when it is loaded; "
            "save the model with skops, or add --allow-pickle if you trust the file's maker."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle may raise anything at all
        raise ModelFileError(f"{path} cannot be loaded as a pickled model ({error}); check the file.") from error


def _load_lightgbm(path: Path, domain: Domain) -> Any:
    """Return the model in a text of LightGBM; the library's own parser ends the process on a damaged one."""
    from axfi_kc.compilers.readers.lightgbm import read_lightgbm

    try:
        return read_lightgbm(path.read_text(encoding="utf-8"), domain)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path} is no text of LightGBM ({error}); save the model again.") from error


def load_skops(path: Path) -> Any:
    """Return the model in a skops file, if it holds nothing but what skops trusts.

    Raises
    ------
    AxfiError
        If it holds more, or cannot be read.
    """
    try:
        from skops.io import get_untrusted_types, load
        from skops.io.exceptions import UntrustedTypesFoundException
    except ImportError as error:
        raise MissingExtraError.of("skops", "sklearn", "Reading a .skops file") from error
    try:
        found = get_untrusted_types(file=path)
        return load(path, trusted=[t for t in found if t in _TRUSTED])
    except UntrustedTypesFoundException as error:
        types = ", ".join(t for t in found if t not in _TRUSTED)
        raise AxfiError(f"{path} holds types that skops does not trust ({types}); save a plain model.") from error
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise ModelFileError(
            f"{path} cannot be read as a skops file ({error}); save the model with skops.io.dump."
        ) from error
