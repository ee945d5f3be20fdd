"""Constraints written as text, as on a command line: ``age >= 18 or married == 'no'``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from axfi_kc.domain.constraints import (
    All,
    Constraint,
    Not,
    Some,
    Term,
    at_least_one,
    at_most_one,
    exactly_one,
    feature,
)
from axfi_kc.errors import DomainError

__all__ = ["constraint_from_text"]


_CALLS: dict[str, Callable[..., Any]] = {
    "feature": feature,
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


def constraint_from_text(text: str) -> Constraint:
    """Return the constraint that a text says, in the words of Python: comparisons, and, or, not, in; nothing is run.

    A feature is written by its name, or ``feature('its name')`` where that is no single word; ``>>`` implies.

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
    """
    if len(text) > _LONGEST:
        raise DomainError(
            f"A constraint in text has at most {_LONGEST:,} characters, but {len(text):,} were given; give several."
        )
    try:
        tree = ast.parse(text, mode="eval").body
        found = _read(tree)
    except SyntaxError as error:
        raise DomainError(
            f"Expected a constraint, such as age >= 18, but {text!r} stops making sense at character {error.offset}."
        ) from error
    except (_Strange, RecursionError, TypeError, AttributeError, ValueError, MemoryError) as error:
        # halves of characters and NUL are no text of Python's, and its parser runs out of memory where texts are deep
        raise DomainError(f"Expected a constraint, such as age >= 18, but {text!r} is none: {error}.") from error
    if not isinstance(found, Constraint):
        raise DomainError(f"Expected a constraint, such as age >= 18, but {text!r} compares nothing.")
    return found


class _Strange(Exception):
    """Something that is no part of the language."""


def _read(node: ast.expr) -> Any:
    if isinstance(node, ast.BoolOp):
        parts = tuple(map(_constraint, node.values))
        return All(parts) if isinstance(node.op, ast.And) else Some(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return Not((_constraint(node.operand),))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -ast.literal_eval(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift):
        return _constraint(node.left) >> _constraint(node.right)
    if isinstance(node, ast.Compare):
        return _compared(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and not node.keywords:
        return _CALLS[node.func.id](*map(_argument, node.args))
    if isinstance(node, ast.Name):
        return feature(node.id)
    if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set):
        return ast.literal_eval(node)
    raise _Strange(f"{ast.unparse(node)!r} is no comparison")


def _argument(node: ast.expr) -> Any:
    found = _read(node)
    return found.name if isinstance(found, Term) else found


def _constraint(node: ast.expr) -> Constraint:
    found = _read(node)
    if isinstance(found, Constraint):
        return found
    raise _Strange(f"{ast.unparse(node)!r} should be a comparison")


def _compared(node: ast.Compare) -> Constraint:
    """Return a comparison, or several in a chain."""
    values = [_read(part) for part in (node.left, *node.comparators)]
    found = [_SIGNS[type(sign)](a, b) for sign, a, b in zip(node.ops, values, values[1:], strict=False)]
    odd = next((part for part in found if not isinstance(part, Constraint)), None)
    if odd is not None:
        raise _Strange(f"{ast.unparse(node)!r} compares no feature")
    return found[0] if len(found) == 1 else All(tuple(found))
