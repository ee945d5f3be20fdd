"""JSON without loss: exact numbers and values, and objects in which no key occurs twice.

A number whose kind is known (a weight, a score, a bound) is an int up to 2**53 and otherwise text:
``"a/b"`` or the integer itself, in hexadecimal beyond what Python converts from decimal. A value
whose kind is not known (an instance's, a label) stays what it is where JSON has it, and is wrapped
in an object of one key elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from axfi_kc.errors import DomainError, ResultFileError, shortened

__all__ = ["distinct_keys", "number_of", "number_text", "ratio_text", "value_of", "value_text"]


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's entries; for ``json.loads(..., object_pairs_hook=distinct_keys)``.

    Raises
    ------
    ValueError
        If a key occurs twice: some readers take the first, others the last.

    Examples
    --------
    >>> import json
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=distinct_keys)
    Traceback (most recent call last):
        ...
    ValueError: the key 'a' occurs twice
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:40]!r} occurs twice")
    return found


_EXACT_INTEGERS = 2**53  # what every JSON reader holds, as many hold float64 only
_DECIMAL_BITS = 13_000  # below Python's limit of 4,300 digits
_LONGEST = 100_000  # characters of one number in a file
_SHOWN = 60  # characters of it in a message


def number_text(number: Fraction | int) -> int | str:
    """Return an exact number as JSON can hold it.

    Examples
    --------
    >>> number_text(Fraction(43, 146)), number_text(Fraction(6, 2)), number_text(2**60)
    ('43/146', 3, '1152921504606846976')
    """
    return _lowest(number.numerator, number.denominator)


def ratio_text(above: int, below: int) -> int | str:
    """Return what :func:`number_text` makes of above / below, without a Fraction: files have millions of them.

    Examples
    --------
    >>> ratio_text(86, 292), ratio_text(6, 2), ratio_text(0, 7)
    ('43/146', 3, 0)
    """
    if not above:
        return 0
    common = gcd(above, below)
    return _lowest(above // common, below // common)


def _lowest(above: int, below: int) -> int | str:
    if below == 1:
        return above if -_EXACT_INTEGERS <= above <= _EXACT_INTEGERS else _integer_text(above)
    if above.bit_length() < _DECIMAL_BITS and below.bit_length() < _DECIMAL_BITS:  # nearly always; calls cost more
        return f"{above}/{below}"
    return f"{_integer_text(above)}/{_integer_text(below)}"


def _integer_text(number: int) -> str:
    return str(number) if number.bit_length() < _DECIMAL_BITS else hex(number)


def number_of(text: Any, what: str = "number") -> Fraction:
    """Return the number that :func:`number_text` wrote.

    Raises
    ------
    ResultFileError
        If `text` is no such number.

    Examples
    --------
    >>> number_of("43/146"), number_of(3)
    (Fraction(43, 146), Fraction(3, 1))
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return Fraction(text)
    # Python limits decimal digits, but not hexadecimal ones: the length bounds the gcd that a Fraction takes.
    if isinstance(text, str) and len(text) <= _LONGEST:
        above, slash, below = text.partition("/")
        try:
            return Fraction(int(above, _base(above)), int(below, _base(below)) if slash else 1)
        except (ValueError, ZeroDivisionError):
            pass
    raise ResultFileError(f"The {what} must be an integer or text such as '1/3', but {_shown(text)} was found.")


def _base(text: str) -> int:
    return 16 if "x" in text else 10


def _shown(text: Any) -> str:
    return shortened(repr(text), _SHOWN)


def value_text(value: Any) -> Any:
    """Return a value or a label as JSON can hold it.

    Raises
    ------
    DomainError
        If it is of a type that no file can give back.

    Examples
    --------
    >>> value_text("a"), value_text(1.5), value_text(Fraction(1, 3)), value_text((1, "b"))
    ('a', 1.5, {'fraction': '1/3'}, {'tuple': [1, 'b']})
    """
    plain = value.item() if isinstance(value, np.generic) else value
    # bool before int, whose subclass it is: a label True must not come back as 1.
    if plain is None or isinstance(plain, str | bool):
        return plain
    if isinstance(plain, int):
        text = number_text(plain)
        return text if isinstance(text, int) else {"int": text}
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else {"float": repr(plain)}
    if isinstance(plain, Fraction):
        return {"fraction": number_text(plain)}
    if isinstance(plain, tuple) and all(not isinstance(part, tuple) for part in plain):
        return {"tuple": [value_text(part) for part in plain]}
    raise DomainError(
        f"Results are saved with values that are text, numbers, booleans, None or tuples, but {_shown(value)} is "
        f"{type(value).__name__}; use its text instead."
    )


def value_of(text: Any) -> Hashable:
    """Return the value that :func:`value_text` wrote.

    Raises
    ------
    ResultFileError
        If `text` is no such value.

    Examples
    --------
    >>> value_of({"fraction": "1/3"}), value_of("a")
    (Fraction(1, 3), 'a')
    """
    if text is None or isinstance(text, str | bool | int):
        return text
    if isinstance(text, float) and math.isfinite(text):
        return text
    if isinstance(text, dict) and len(text) == 1:
        ((tag, inner),) = text.items()
        # No tuple within a tuple, as in value_text: a file cannot drive this recursion deeper than one level.
        if tag == "tuple" and isinstance(inner, list) and not any(_is_tuple(part) for part in inner):
            return tuple(value_of(part) for part in inner)
        if tag == "fraction":
            return number_of(inner, "value")
        if tag == "int":
            return int(number_of(inner, "value"))
        if tag == "float" and inner in ("inf", "-inf"):
            return float(inner)
    raise ResultFileError(f"Expected text, a number or a tagged value, but {_shown(text)} was found.")


def _is_tuple(text: Any) -> bool:
    return isinstance(text, dict) and "tuple" in text
