"""Every exception this library raises on purpose.

Each one derives from :class:`AxfiError` and from the built-in a caller would expect, so both
``except ax.AxfiError`` and ``except ValueError`` work. A message says what was expected, what
was found and what to do.
"""

from __future__ import annotations

import sys
import warnings

__all__ = [
    "ArgumentError",
    "ArgumentValueError",
    "AxfiError",
    "AxfiWarning",
    "BudgetError",
    "CircuitError",
    "ConstantModelError",
    "DomainError",
    "FileWriteError",
    "IncompleteError",
    "MissingExtraError",
    "ModelFileError",
    "ResultFileError",
    "RoundingError",
    "SimilarityError",
    "UnfittedModelError",
    "UnknownFeatureError",
    "UnsupportedModelError",
    "UnsupportedTargetError",
    "VerificationError",
    "WeightError",
]


_LONGEST = 600  # letters of a message


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return `text`, its middle left out where it is longer than `longest` letters.

    Messages name what was found, and what was found in a file may have megabytes. They begin with what was expected
    and end with what to do, so that both are kept.

    Examples
    --------
    >>> shortened("Expected a number, but xxxxxxxxxxxxxxxxxxxxxxx was found; correct it.", 50)
    'Expected a number, but xxxxxx … found; correct it.'
    """
    if len(text) <= longest:
        return text
    end = (longest - 3) * 2 // 5
    return f"{text[: longest - 3 - end]} … {text[len(text) - end :]}"


class AxfiError(Exception):
    """Base of every error raised on purpose by axfi_kc; a message that quotes a megabyte is cut in the middle."""

    def __init__(self, message: object = "", *more: object) -> None:
        super().__init__(shortened(str(message)), *more)


class ArgumentError(AxfiError, TypeError):
    """An argument is of another kind than the function takes."""


class ArgumentValueError(AxfiError, ValueError):
    """An argument is of the right kind, but no value that the function takes."""


class AxfiWarning(UserWarning):
    """Something was left out that the caller may have meant to be used, or something was used that is not proved."""

    def __init__(self, message: object = "", *more: object) -> None:
        super().__init__(shortened(str(message)), *more)


def warn_caller(words: str) -> None:
    """Warn of something, and point to the caller's own line, the first outside this library."""
    frame, depth = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "axfi_kc":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(words, AxfiWarning, stacklevel=depth)


class DomainError(AxfiError, ValueError):
    """A domain is ill-formed, or a value does not belong to it."""


class UnknownFeatureError(AxfiError, KeyError):
    """A feature name is not one of the domain's."""

    def __str__(self) -> str:
        """Return the message itself; ``KeyError`` would show its repr."""
        return str(self.args[0])


class UnsupportedModelError(AxfiError, TypeError):
    """No reader knows this model, or it uses something that has no exact neutral form."""


class UnsupportedTargetError(AxfiError, ValueError):
    """No compiler knows this target language."""


class UnfittedModelError(AxfiError, ValueError):
    """The estimator has not been fitted."""


class ModelFileError(AxfiError, ValueError):
    """A model file is damaged, or is not of the format it should be."""


class ResultFileError(AxfiError, ValueError):
    """A file of results is damaged, of another format, or belongs to another run."""


class FileWriteError(ResultFileError, OSError):
    """A file cannot be written: a full disk, a missing folder, no permission; what was there before is untouched."""

    @classmethod
    def of(cls, message: str, cause: Exception) -> FileWriteError:
        """Return the error with the number that the system gave the cause, if it did."""
        error = cls(message)
        error.errno = getattr(cause, "errno", None)
        return error


class ConstantModelError(AxfiError, ValueError):
    """The model has one output over its whole domain: there is nothing to explain."""


class SimilarityError(AxfiError, ValueError):
    """The notion of similar outputs does not fit the model (regression needs ``delta``)."""


class WeightError(AxfiError, ValueError):
    """The kind of weight is unknown, or does not exist for these features."""


class RoundingError(AxfiError, ArithmeticError):
    """The library's floating point gives another output at an instance than exact arithmetic does."""


class VerificationError(AxfiError, ValueError):
    """A saved explanation does not hold of the model it is about."""


class IncompleteError(AxfiError, ValueError):
    """The answer needs what is not known: all CXps, or the model of a saved explanation."""


class CircuitError(AxfiError, ValueError):
    """A circuit is ill-formed, or lacks the property that an operation needs."""


class MissingExtraError(AxfiError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, package: str, extra: str, purpose: str) -> MissingExtraError:
        """Return the error that names the pip command; that of the package works wherever axfi_kc came from."""
        return cls(f"{purpose} needs {package}, which is not installed: pip install {package} (part of our [{extra}]).")


class BudgetError(AxfiError, RuntimeError):
    """A budget of seconds or nodes was spent before the answer was complete.

    Attributes
    ----------
    cxps
        The CXps found so far, as tuples of feature names; each one is certified.
    axps
        The AXps found so far, likewise.
    nodes, seconds
        What was spent.
    row
        Where among several instances the one is whose budget it was; None: there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        cxps: tuple[tuple[str, ...], ...] = (),
        axps: tuple[tuple[str, ...], ...] = (),
        nodes: int = 0,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.cxps = cxps
        self.axps = axps
        self.nodes = nodes
        self.seconds = seconds
        self.row: int | None = None
