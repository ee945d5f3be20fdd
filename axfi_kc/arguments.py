"""Whether what is given to a public function is what its annotations promise to take.

A public function has some parameters `checked`: before it runs, what is given for them is compared with their
annotations, and the first that does not fit is refused with an :class:`~axfi_kc.errors.ArgumentError`. Only the kind is
looked at (a whole number, a list of texts, a Domain), never what a value means; that is for the function to say, and
so are parameters that are not named. What fits no parameter (a name that none has, one value too many) is refused
likewise. Nothing else is caught: an error inside a function is an error inside a function.

What has no kind is let through: ``Any``, protocols, and what is imported for annotations only and not public.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from difflib import get_close_matches
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from numbers import Rational
from typing import Any, NamedTuple, ParamSpec, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.errors import ArgumentError, ArgumentValueError, shortened

__all__ = [
    "called",
    "check_fields",
    "checked",
    "has",
    "is_frame",
    "is_hashable",
    "is_listable",
    "is_path",
    "is_table",
    "is_whole",
    "number_array",
    "quoted",
    "whole",
    "wholes",
]

P = ParamSpec("P")
T = TypeVar("T")
_LONGEST = 80  # characters of a value in a message


def quoted(value: object) -> str:
    """Return a value in a message: short, in one line, and whatever its own `repr` does.

    Examples
    --------
    >>> quoted("red"), quoted(list(range(1000))), quoted(10**5000)
    ("'red'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11...95, 996, 997, 998, 999]', 'an int of 16610 bits')
    >>> quoted(np.eye(2))
    'array([[1., 0.], [0., 1.]])'
    """
    if isinstance(value, int) and value.bit_length() > 8 * _LONGEST:
        return f"an int of {value.bit_length()} bits"
    try:
        if is_frame(value):
            rows, columns = value.shape  # type: ignore[attr-defined]
            return f"a {type(value).__name__} of {rows:d} rows and {columns:d} columns"
        text = repr(value)
        # The blanks of a text are its own; those of an array only set it in columns.
        return shortened(text if isinstance(value, str) else " ".join(text.split()), _LONGEST)
    except Exception:  # a repr is foreign code, and may do anything
        return f"something of type {type(value).__name__}"


def whole(value: Any, name: str, *, least: int, most: int = sys.maxsize) -> int:
    """Return a whole number between two others.

    Raises
    ------
    ArgumentError
        If it is no whole number.
    ArgumentValueError
        If it is another.

    Examples
    --------
    >>> whole(np.int64(3), "order", least=1)
    3
    """
    words = f"a whole number from {least} up" if most == sys.maxsize else f"a whole number from {least} to {most}"
    if not is_whole(value):
        raise ArgumentError(f"{name} must be {words}, but {quoted(value)} was given; give one.")
    if not least <= value <= most:
        raise ArgumentValueError(f"{name} must be {words}, but {quoted(value)} was given; give one.")
    return int(value)


def wholes(values: Iterable[Any], name: str, *, below: int) -> list[int]:
    """Return whole numbers from 0 up, all below another.

    Examples
    --------
    >>> wholes((2, 0), "features", below=3)
    [2, 0]
    """
    return [whole(value, f"Each of {name}", least=0, most=below - 1) for value in values]


def number_array(values: Any, name: str, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
    """Return an array of whole numbers or floats; None in its shape stands for any length.

    Raises
    ------
    ArgumentError
        If these are no numbers.
    ArgumentValueError
        If they are of another shape.

    Examples
    --------
    >>> number_array([[1, 2]], "codes", (None, 2))
    array([[1, 2]])
    """
    try:
        found = np.asarray(values)
    except Exception as error:  # of rows that differ in length, or foreign code
        raise ArgumentError(f"{name} must be numbers, but {quoted(values)} was given; give an array.") from error
    if found.dtype.kind not in "iufb":
        raise ArgumentError(f"{name} must be numbers, but {quoted(values)} was given; give an array.")
    if len(found.shape) != len(shape) or any(n not in (None, k) for n, k in zip(shape, found.shape, strict=True)):
        wanted = " x ".join("any" if n is None else str(n) for n in shape)
        raise ArgumentValueError(
            f"{name} must be an array of {wanted} numbers, but one of {found.shape} was given; reshape it."
        )
    return found


def called(function: Callable[..., Any], name: str, *given: Any) -> Any:
    """Return what a function that somebody gave us makes of `given`; what it raises by itself is its own affair.

    Raises
    ------
    ArgumentError
        If it cannot be called so at all.

    Examples
    --------
    >>> called(max, "score", 1, 2)
    2
    >>> called(lambda a: a, "score", 1, 2)
    Traceback (most recent call last):
        ...
    axfi_kc.errors.ArgumentError: score must be a function of 2 arguments, but ... cannot be called so (...); ...
    """
    try:
        return function(*given)
    except TypeError as error:
        if _is_from_inside(error):
            raise
        raise ArgumentError(
            f"{name} must be a function of {len(given)} argument{'s' * (len(given) > 1)}, but "
            f"{quoted(function)} cannot be "
            f"called so ({error}); correct it."
        ) from error


def _is_from_inside(error: TypeError) -> bool:
    """Tell whether an error that was just caught is the function's own, which was called, and not about the call."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


class _Kind(NamedTuple):
    """What an annotation promises to take: a test, words for it, and what makes such a thing of a table, if any."""

    fits: Callable[[Any], bool]
    words: str
    is_choice: bool = False
    of_table: str = ""

    def advice(self, value: object) -> str:
        """Return what to do instead of giving `value`."""
        if self.of_table and is_table(value):
            return f"make one of the table with {self.of_table}(table)"
        if self.is_choice:
            return "give one of these"
        return "give one" if self.words.startswith(("a ", "an ")) else f"give {self.words}"


def checked(*names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator: the function refuses arguments for these parameters of another kind than annotated.

    Notes
    -----
    About a microsecond per call. Annotations are read at the first call: names in them may be defined below.

    Examples
    --------
    >>> @checked("most")
    ... def first(names: Sequence[str], *, most: int | None = None) -> str:
    ...     return names[0]
    >>> first(["a"], most=2)
    'a'
    >>> first(["a"], most="2")
    Traceback (most recent call last):
        ...
    axfi_kc.errors.ArgumentError: most= of first takes a whole number or None, but '2' was given; give one of these.
    >>> first(["a"], mots=2)
    Traceback (most recent call last):
        ...
    axfi_kc.errors.ArgumentError: first takes names= and most=, but mots= was given; did you mean most=?
    """

    def with_checks(function: Callable[P, T]) -> Callable[P, T]:
        places = {name: place for place, name in enumerate(signature(function).parameters)}
        kinds: dict[str, tuple[int, _Kind]] = {}

        def learn() -> None:
            hints = _hints(function, function.__globals__)
            found = {name: _kind_of(hints[name]) for name in names}
            kinds.update({name: (places[name], kind) for name, kind in found.items() if kind is not None})

        @wraps(function)
        def door(*args: P.args, **kwargs: P.kwargs) -> T:
            if not kinds:
                learn()
            for name, (place, kind) in kinds.items():
                value = args[place] if place < len(args) else kwargs.get(name, _LEFT_OUT)
                if value is not _LEFT_OUT and not kind.fits(value):
                    raise _refusal(name, function.__qualname__, kind, value)
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if _is_from_inside(error):
                    raise
                raise ArgumentError(_misfit(function, args, kwargs) or str(error)) from None

        return door

    return with_checks


_LEFT_OUT = object()


def _misfit(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return why a function cannot be called so: what fits no parameter, or is missing; nothing if that is not why."""
    known, values = list(signature(function).parameters.values()), list(args)
    if known and known[0].name in ("self", "cls"):
        known, values = known[1:], values[1:]
    wrong = _odd_name(known, kwargs) or _odd_value(known, values, kwargs) or _left_out(known, values, kwargs)
    takes = _together([f"{p.name}=" for p in known]) or "nothing"
    return wrong and f"{function.__qualname__.removesuffix('.__init__')} takes {takes}, but {wrong}"


def _odd_name(known: Sequence[Parameter], kwargs: Mapping[str, Any]) -> str:
    names = [p.name for p in known]
    odd = next((name for name in kwargs if name not in names), None)
    if odd is None or any(p.kind is p.VAR_KEYWORD for p in known):
        return ""
    near = get_close_matches(odd, names, n=1)
    return f"{odd}= was given; {f'did you mean {near[0]}=?' if near else 'give one of these.'}"


def _odd_value(known: Sequence[Parameter], values: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    n_places = sum(p.kind is not p.KEYWORD_ONLY for p in known)
    if len(values) <= n_places or any(p.kind is p.VAR_POSITIONAL for p in known):
        return ""
    odd = quoted(values[n_places])
    named = next((p.name for p in known[n_places:] if p.name not in kwargs), None)
    return f"{odd} was given without a name; " + ("leave it out." if named is None else f"did you mean {named}={odd}?")


def _left_out(known: Sequence[Parameter], values: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    needed = (
        p for p in known[len(values) :] if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )
    names = [f"{p.name}=" for p in needed if p.name not in kwargs]
    what = "is missing; give it." if len(names) == 1 else "are missing; give them."
    return f"{_together(names)} {what}" if names else ""


def _together(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def check_fields(made: Any) -> None:
    """Refuse a dataclass whose fields are of another kind than their annotations say; for its ``__post_init__``."""
    owner = type(made)
    if owner not in _FIELDS:
        hints = _hints(owner, vars(sys.modules[owner.__module__]))
        names = [n for n, f in owner.__dataclass_fields__.items() if f.init]
        _FIELDS[owner] = [(n, _kind_of(hints[n], numbers=True)) for n in names]
    for name, kind in _FIELDS[owner]:
        value = getattr(made, name)
        if kind is not None and not kind.fits(value):
            raise _refusal(name, owner.__name__, kind, value)


_FIELDS: dict[type, list[tuple[str, _Kind | None]]] = {}


def _refusal(name: str, function: str, kind: _Kind, value: object) -> ArgumentError:
    where = function.removesuffix(".__init__")
    return ArgumentError(f"{name}= of {where} takes {kind.words}, but {quoted(value)} was given; {kind.advice(value)}.")


class _Elsewhere(type):
    """The type of names that are only imported for annotations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Any

    def __getitem__(cls, _: object) -> Any:
        return Any


class _Unknown(metaclass=_Elsewhere):
    pass


class _Names(dict[str, Any]):
    """The names of a module, what is public under other names, and something for every name beyond."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return vars(sys.modules["axfi_kc"]).get(name, _Unknown)


def _hints(thing: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    return typing.get_type_hints(thing, localns=_Names(names))


def _kind_of(hint: Any, *, numbers: bool = False) -> _Kind | None:
    """Return what a hint promises to take; None: anything, as far as can be told.

    Numbers that something holds may be a million, and whoever uses them looks at them; here only if `numbers` says so.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _either([_kind_of(part, numbers=numbers) for part in inner])
    if origin is not None and origin in _HOLDERS:
        return _holding(origin, inner, numbers=numbers)
    if hint in _KINDS or origin in _KINDS:
        return _KINDS[hint if hint in _KINDS else origin]
    plain = origin or hint
    if not isinstance(plain, type) or plain in (object, _Unknown, Any) or getattr(plain, "_is_protocol", False):
        return None
    of_table = f"{plain.__name__}.from_data" if hasattr(plain, "from_data") else ""
    words = f"{_article(plain.__name__)} {plain.__name__}"
    return _Kind(lambda value: isinstance(value, plain), words, of_table=of_table)


def _article(word: str) -> str:
    return "an" if word[:1] in "AEIOUaeiou" else "a"


def _either(parts: list[_Kind | None]) -> _Kind | None:
    known = [kind for kind in parts if kind is not None]
    if len(known) < len(parts):
        return None
    kinds = [kind for kind in dict.fromkeys(known) if kind is not _WHOLE or _NUMBER not in known]
    if len(kinds) == 1:
        return kinds[0]
    tests, words = tuple(kind.fits for kind in kinds), [kind.words for kind in kinds]
    text = f"{', '.join(words[:-1])} or {words[-1]}"
    of_table = next((kind.of_table for kind in kinds if kind.of_table), "")
    return _Kind(lambda value: any(test(value) for test in tests), text, is_choice=True, of_table=of_table)


def _holding(origin: Any, inner: tuple[Any, ...], *, numbers: bool) -> _Kind:
    """Return the kind of what holds others; each is looked at where all are there: an iterator is not used up."""
    holder, kinds = _HOLDERS[origin], [_kind_of(part, numbers=numbers) for part in inner if part is not Ellipsis]
    if origin is tuple and Ellipsis not in inner:
        return _row(holder, kinds)
    held = kinds[0]
    words = f"{holder.words} {_BETWEEN[holder]} {_PLURAL.get(held.words, held.words)}" if held else holder.words
    looked_at = [None if kind in (_WHOLE, _NUMBER) and not numbers else kind for kind in kinds]
    if holder is _MAPPING:
        keys, values = looked_at
        return _Kind(lambda value: holder.fits(value) and _fit(keys, value) and _fit(values, value.values()), words)
    one = looked_at[0]
    if inner[0] is Hashable:  # letters are values like others
        return _Kind(lambda value: isinstance(value, str) or (holder.fits(value) and _fit(one, value)), words)
    return _Kind(lambda value: holder.fits(value) and _fit(one, value), words)


def _row(holder: _Kind, parts: list[_Kind | None]) -> _Kind:
    """Return the kind of so many things, each of its own kind."""

    def fits(value: Any) -> bool:
        return (
            holder.fits(value)
            and len(value) == len(parts)
            and all(part is None or part.fits(held) for part, held in zip(parts, value, strict=True))
        )

    return _Kind(fits, f"a row of {len(parts)}")


def _fit(kind: _Kind | None, held: Any) -> bool:
    # An iterator would be used up, and a batch would have to make its explanations.
    is_at_hand: bool = isinstance(held, _AT_HAND)
    return kind is None or not is_at_hand or all(kind.fits(one) for one in held)


def is_whole(value: Any) -> bool:
    """Tell whether something is a whole number, Python's or NumPy's; True is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | Rational | np.integer | np.floating) and not isinstance(value, bool)


def is_hashable(value: Any) -> bool:
    """Tell whether something can be a label: it has a hash, and so an equality that is no array."""
    try:
        hash(value)
    except Exception:  # of what it holds, or foreign code
        return False
    return True


def is_listable(value: Any) -> bool:
    """Tell whether something can be gone through; text would be read letter by letter.

    Examples
    --------
    >>> is_listable({"a"}), is_listable("a"), is_listable(1), is_listable(np.array(1))
    (True, False, False, False)
    """
    if isinstance(value, list | tuple):
        return True
    if isinstance(value, str | bytes | bytearray):
        return False
    try:
        iter(value)
    except Exception:  # foreign code
        return False
    return True


def has(value: Any, name: str) -> bool:
    """Tell whether something has an attribute; what it says of itself is foreign code, which may raise anything.

    Examples
    --------
    >>> has("text", "upper"), has("text", "magic")
    (True, False)
    """
    try:
        return hasattr(value, name)
    except Exception:
        return False


def is_frame(value: Any) -> bool:
    """Tell whether something is a data frame of some library."""
    # By what it can do and not by its type, so that no data frame library has to be imported.
    try:
        return hasattr(value, "columns") and hasattr(value, "to_numpy") and getattr(value, "ndim", 2) == 2
    except Exception:  # what an object says of itself is foreign code
        return False


def is_table(value: Any) -> bool:
    """Tell whether something is a table: a data frame, or an array of rows and columns.

    Examples
    --------
    >>> is_table(np.eye(2)), is_table(np.arange(2)), is_table([[1, 2]])
    (True, False, False)
    """
    return is_frame(value) or (isinstance(value, np.ndarray) and value.ndim == 2)


def is_path(value: Any) -> TypeGuard[str | os.PathLike[str]]:
    """Tell whether something is a path of a file, as text or an object."""
    try:
        return isinstance(os.fspath(value), str)
    except Exception:  # it is none, or foreign code
        return False


def _can_be_counted(value: Any) -> bool:
    # A table is gone through by the names of its columns, which nobody means.
    is_sized = isinstance(value, Sized) and not isinstance(value, Mapping) and not has(value, "columns")
    return is_sized and is_listable(value)


_WHOLE = _Kind(is_whole, "a whole number")
_NUMBER = _Kind(_is_number, "a number")
_LIST = _Kind(_can_be_counted, "a list")
_ITEMS = _Kind(is_listable, "a list")
_MAPPING = _Kind(lambda value: isinstance(value, Mapping), "a mapping")
_KINDS: dict[Any, _Kind] = {
    type(None): _Kind(lambda value: value is None, "None"),
    bool: _Kind(lambda value: isinstance(value, bool | np.bool_), "True or False", is_choice=True),
    int: _WHOLE,
    np.integer: _WHOLE,
    float: _NUMBER,
    Fraction: _NUMBER,
    np.floating: _NUMBER,
    str: _Kind(lambda value: isinstance(value, str), "text"),
    bytes: _Kind(lambda value: isinstance(value, bytes), "bytes"),
    os.PathLike: _Kind(is_path, "a path"),
    np.ndarray: _Kind(lambda value: isinstance(value, np.ndarray), "an array"),
    Callable: _Kind(callable, "a function"),
    Hashable: _Kind(is_hashable, "something hashable"),
}
_AT_HAND: tuple[type, ...] = (list, tuple, set, frozenset, dict, type({}.values()), range, np.ndarray)
_BETWEEN = {_LIST: "of", _ITEMS: "of", _MAPPING: "from"}
_PLURAL = {"text": "texts", "a list": "lists", "a mapping": "mappings", "a number": "numbers"}
_PLURAL |= {"a whole number": "whole numbers", "something hashable": "hashable things"}
_HOLDERS: dict[Any, _Kind] = {
    tuple: _LIST,
    list: _LIST,
    set: _LIST,
    frozenset: _LIST,
    Sequence: _LIST,
    Collection: _LIST,
    Iterable: _ITEMS,
    Mapping: _MAPPING,
    dict: _MAPPING,
}
