"""Constraints written as text, as on a command line: ``age >= 18 or married == 'no'``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unicodedata import normalize

from axfi_kc.domain.constraints import (
    All,
    Constraint,
    Not,
    Some,
    Term,
    at_least_one,
    at_most_one,
    constraints_in,
    exactly_one,
    feature,
)
from axfi_kc.domain.measures import abridged
from axfi_kc.errors import DomainError

__all__ = ["constraint_from_text"]


def _named(*names: Any) -> Term:
    if len(names) == 1 and isinstance(names[0], str):
        return feature(names[0])
    raise _Strange("feature takes one name, as in feature('its name')")


_CALLS: dict[str, Callable[..., Any]] = {
    "feature": _named,
    "at_most_one": at_most_one,
    "at_least_one": at_least_one,
    "exactly_one": exactly_one,
}
_SIGNS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Is: lambda a, b: a == b,
    ast.IsNot: lambda a, b: a != b,
    ast.In: lambda a, b: a.isin(b),
    ast.NotIn: lambda a, b: ~a.isin(b),
}
_LONGEST = 10_000
_Side = tuple[ast.expr, Any]  # of a comparison: how it is written, and what that says


def constraint_from_text(text: str) -> Constraint:
    """Return the constraint that a text says, in the words of Python: comparisons, and, or, not, in; nothing is run.

    A feature is written by its name, or ``feature('its name')`` where that is no single word; ``>>`` implies. What a
    constraint prints is read as well, as far as it is made of comparisons of such names: ``=``, ``if ... then ...`` and
    ``at most 1 of: ...``. Numbers are printed to six digits, and are read as they are printed.

    Raises
    ------
    DomainError
        If the text says no constraint; the message says where.

    Examples
    --------
    >>> print(constraint_from_text("age >= 18 or married == 'no'"))
    age >= 18 or married = 'no'
    >>> print(constraint_from_text("(feature('Marital Status') in [1, 2]) >> (not at_most_one('a', 'b'))"))
    if Marital Status in {1, 2} then not (at most 1 of: a = 1, b = 1)
    >>> constraint_from_text("if a = 1 then b = 0") == constraint_from_text("(a == 1) >> (b == 0)")
    True
    """
    if len(text) > _LONGEST:
        raise DomainError(
            f"A constraint in text has at most {_LONGEST:,} characters, but {len(text):,} were given; give several."
        )
    if not text.strip():
        raise DomainError("Expected a constraint, such as age >= 18, but the text is empty; write one.")
    try:
        _check_plain(text)
        printed = _printed(text.strip())
        return _written(text) if printed is None else printed
    except DomainError:
        raise
    except SyntaxError as error:
        raise DomainError(
            f"Expected a constraint, such as age >= 18, but {text!r} {_trouble(text, error.offset)}."
        ) from error
    except _Strange as error:
        raise DomainError(f"Expected a constraint, such as age >= 18, but in {text!r}, {error}; correct it.") from error
    except (RecursionError, MemoryError) as error:
        raise DomainError(
            f"A constraint in text may be nested some 100 deep, but {abridged(text, 60)!r} is deeper; give several."
        ) from error
    except ValueError as error:  # halves of characters and NUL are no text of Python's
        raise DomainError(f"Expected a constraint, such as age >= 18, but {text!r} is no text; correct it.") from error


constraints_in.register(str, lambda text: (constraint_from_text(text),))


class _Strange(Exception):
    """Something that is no part of the language."""


_QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_EQUALS = re.compile(rf"{_QUOTED}|(?<![=!<>])=(?!=)")
_IF_THEN = re.compile(rf"if\s((?:{_QUOTED}|[^'\"])*?)\sthen\s(.*)", re.DOTALL)
_ONE_OF = re.compile(r"(at most|at least|exactly) 1 of:(.*)", re.DOTALL)


def _check_plain(text: str) -> None:
    """Raise if Python would not read a text as it stands there: comments, and letters that it takes for others."""
    if "'''" in text or '"""' in text:
        raise _Strange("three quotes in a row are not read")
    bare = re.sub(_QUOTED, "", text)
    if "#" in bare:
        raise _Strange("# is not read; in the name of a feature it is, as in feature('#rooms')")
    odd = next((word for word in re.findall(r"\w+", bare) if normalize("NFKC", word) != word), None)
    if odd is not None:
        raise _Strange(f"{odd} has letters that stand for others; write feature({odd!r})")


def _doubled(text: str) -> str:
    """Return a text with ``==`` where it has ``=``, as in what constraints print; quoted text stays as it is."""
    return _EQUALS.sub(lambda found: "==" if found[0] == "=" else found[0], text)


def _written(text: str) -> Constraint:
    return _constraint(ast.parse(_doubled(text.strip()), mode="eval").body)


def _printed(text: str) -> Constraint | None:
    """Return what a whole text says in the words that constraints print and Python has not; None: it has none."""
    implied, counted = _IF_THEN.fullmatch(text), _ONE_OF.fullmatch(text)
    if implied is not None:
        return _written(implied[1]) >> _written(implied[2])
    if counted is None:
        return None
    listed = ast.parse(_doubled(f"({counted[2].strip()},)"), mode="eval").body
    parts = listed.elts if isinstance(listed, ast.Tuple) else [listed]
    return _COUNTS[counted[1]](*map(_constraint, parts))


_COUNTS = {"at most": at_most_one, "at least": at_least_one, "exactly": exactly_one}
_WORDS = {"if": "write (a) >> (b) for if a then b", "of": "write at_most_one(a, b), at_least_one or exactly_one"}


def _trouble(text: str, offset: int | None) -> str:
    """Return where a text stops making sense, and what to do."""
    for word, advice in _WORDS.items():
        if re.search(rf"\b{word}\b", re.sub(_QUOTED, "", text)):
            return f"has the word {word} within it; {advice}"
    # Python counts from 1, says 0 of what should follow the last character, and nothing of NUL.
    if not offset:
        return f"{'is no text' if offset is None else 'lacks something at its end'}; correct it"
    doubled = [found.start() for found in _EQUALS.finditer(text) if found[0] == "="]
    for place in doubled:  # a character before it was read as two
        offset -= place + 1 < offset
    return f"stops making sense at character {offset}; correct it"


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = tuple(map(_constraint, node.values))
        return All(parts) if isinstance(node.op, ast.And) else Some(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return Not((_constraint(node.operand),))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift):
        return _constraint(node.left) >> _constraint(node.right)
    if isinstance(node, ast.Compare):
        _check_no_arrow(node)
        return _compared(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and not node.keywords:
        return _CALLS[node.func.id](*map(_argument, node.args))
    if isinstance(node, ast.Call):
        raise _Strange(f"{ast.unparse(node.func)} is not one of {', '.join(_CALLS)}, with which texts make do")
    if isinstance(node, ast.Name):
        return feature(node.id)
    if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set | ast.UnaryOp):
        return _literal(node)
    raise _Strange(f"{ast.unparse(node)} is no comparison")


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Set):  # in the order in which it is written, which a set of Python's does not keep
        return [_literal(part) for part in node.elts]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):  # of names in a list, or of a list in a set
        raise _Strange(f"{ast.unparse(node)} should be numbers, or texts in quotes") from None


def _argument(node: ast.expr) -> Any:
    found = _read(node)
    return found.name if isinstance(found, Term) else found


def _constraint(node: ast.expr) -> Constraint:
    found = _read(node)
    if isinstance(found, Constraint):
        return found
    raise _Strange(f"{ast.unparse(node)} should be a comparison")


def _check_no_arrow(node: ast.Compare) -> None:
    """Raise if ``>>`` stands between comparisons without parentheses, where Python lets it bind first."""
    sides = [node.left, *node.comparators]
    for k, side in enumerate(sides):
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.RShift):
            premise = _chain([*sides[:k], side.left], node.ops[:k])
            conclusion = _chain([side.right, *sides[k + 1 :]], node.ops[k:])
            raise _Strange(f">> takes comparisons in parentheses, as in {premise} >> {conclusion}")


def _chain(sides: list[ast.expr], signs: list[ast.cmpop]) -> str:
    return f"({ast.unparse(ast.Compare(sides[0], signs, sides[1:]) if signs else sides[0])})"


def _compared(node: ast.Compare) -> Constraint:
    """Return a comparison, or several in a chain."""
    sides = [(part, _read(part)) for part in (node.left, *node.comparators)]
    found = [_one(sign, *pair) for sign, pair in zip(node.ops, pairwise(sides), strict=True)]
    return found[0] if len(found) == 1 else All(tuple(found))


def _one(sign: ast.cmpop, left: _Side, right: _Side) -> Constraint:
    (a_node, a), (b_node, b) = left, right
    if isinstance(sign, ast.In | ast.NotIn):
        if not isinstance(a, Term):
            raise _Strange(f"{ast.unparse(a_node)} should be a feature, as in age in [18, 19]")
        if not isinstance(b, list | tuple):
            raise _Strange(f"{ast.unparse(b_node)} should be a list, as in {a.name} in [18, 19]")
    if any(isinstance(node, ast.Name) and node.id == "missing" for node, _ in (left, right)):
        raise _Strange("missing is written None, as in age == None, and a feature of that name feature('missing')")
    odd = next((node for node, value in (left, right) if isinstance(value, Constraint)), None)
    if odd is not None:
        raise _Strange(f"{ast.unparse(odd)} should be a feature or a value")
    if not isinstance(a, Term) and not isinstance(b, Term):
        raise _Strange(f"neither of {ast.unparse(a_node)} and {ast.unparse(b_node)} is a feature")
    made: Constraint = _SIGNS[type(sign)](a, b)
    return made
