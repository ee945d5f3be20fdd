"""One call of a public door with one odd value: what came of it."""

from __future__ import annotations

import contextlib
import io
import signal
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from matplotlib import pyplot as plt

import axfi_kc as ax
from tests.support.door_calls import given_to, owner_of
from tests.support.odd_values import ODD
from tests.support.public_doors import Door

__all__ = ["Trial", "trial", "trials"]

_SECONDS = 20  # that no call with an odd value takes, on a busy machine either
_LONGEST = 2_000  # characters of a message


class _TooLong(BaseException):
    """A call has not come back."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one call came to.

    Attributes
    ----------
    door, parameter, value
        What was called with what.
    complaint
        What is wrong with the answer: an error that is not ours, a message that goes on and on, no answer; None: it
        was refused as it should be, or taken.
    accepted
        Whether it was taken.
    """

    door: str
    parameter: str
    value: str
    complaint: str | None
    accepted: bool


def trials(door: Door) -> Iterator[Trial]:
    """Call a door with every odd value for every parameter."""
    for parameter in door.parameters:
        for value in ODD:
            yield trial(door, parameter.name, value)


def trial(door: Door, parameter: str, value: str) -> Trial:
    """Call a door with one odd value, and whatever else it requires as it should be."""
    owner = owner_of(door)
    given = given_to(door) | {parameter: ODD[value]()}
    complaint, accepted = None, False
    try:
        with _limited(), _silent():
            result = door.call(owner, given)
            if isinstance(result, Iterator):  # what is lazy raises when it is asked
                list(islice(result, 3))
        accepted = True
    except ax.AxfiError as error:
        if len(str(error)) > _LONGEST:
            complaint = f"{type(error).__name__} with a message of {len(str(error))} characters"
    except _TooLong:
        complaint = f"no answer within {_SECONDS} s"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = [f for f in frames if "axfi_kc" in f.filename or "compilers" in f.filename or f is frames[0]][-1]
        complaint = f"{type(error).__name__}: {_text(error)} ({last.filename.rpartition('/')[2]}:{last.lineno})"
    return Trial(door.name, parameter, value, complaint, accepted)


def _text(error: Exception) -> str:
    try:
        return str(error)[:100]
    except Exception:
        return "?"


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
    plt.close("all")
