"""Boolean expressions as circuits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from axfi_kc.arguments import checked, quoted
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files.variables import boolean_domain
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.signed_nodes import Signed, SignedNodes
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["from_expression"]


class _Token(NamedTuple):
    """A word of an expression, where it begins, and what it is."""

    text: str
    at: int
    kind: str  # "name", "constant", "not", "(", ")", an operator, or "end"


_WORDS = re.compile(
    r"\s*(?:(?P<quoted>'[^']*'|\"[^\"]*\")|(?P<name>[^\W\d][\w.]*)|(?P<number>\d+)"
    r"|(?P<symbol><->|<=>|->|=>|>>|==|&&|\|\||/\\|\\/|[&|^~!()]))"
)
_SYMBOLS = {
    "&": "and", "&&": "and", "/\\": "and", "and": "and",
    "|": "or", "||": "or", "\\/": "or", "or": "or",
    "^": "xor", "xor": "xor",
    "->": "implies", "=>": "implies", ">>": "implies", "implies": "implies",
    "<->": "equiv", "<=>": "equiv", "==": "equiv", "equiv": "equiv",
    "~": "not", "!": "not", "not": "not",
    "(": "(", ")": ")",
}  # fmt: skip
_CONSTANTS = {"0": False, "1": True, "false": False, "true": True, "False": False, "True": True}
_BINDING = {"equiv": 1, "implies": 2, "or": 3, "xor": 4, "and": 5, "not": 6}
_RIGHT = {"implies", "not"}  # a -> b -> c is a -> (b -> c)


@checked("domain", "names")
def from_expression(text: str, domain: Domain | None = None, *, names: str | Iterable[str] | None = None) -> Circuit:
    """Return the circuit of a Boolean expression.

    Parameters
    ----------
    text
        Names, ``0``, ``1``, parentheses and, from the strongest binding down, ``~`` (also ``!``, ``not``), ``&``
        (``and``),
        ``^`` (``xor``), ``|`` (``or``), ``->`` (``>>``, ``implies``) and ``<->`` (``==``). Names that are no words
        are quoted.
    domain
        The features, those that occur having two values; a name says that its feature has the second one.
    names
        Without a domain, the names of all variables in order; by default those that occur, as they come.

    Raises
    ------
    CircuitError
        If the text is no expression, with the position of what is wrong, or a name is unknown.

    Notes
    -----
    Linear. The circuit has the shape of the expression, with disjunctions whose parts exclude each other; where
    a feature comes twice it must as a rule be compiled before it is counted: ``from_expression(...).compile("obdd")``.

    Examples
    --------
    >>> from axfi_kc import queries
    >>> f = from_expression("x & (y | ~z)")
    >>> f.grid.domain.names, queries.count(f), list(queries.models(f))
    (('x', 'y', 'z'), 3, [(1, 0, 0), (1, 1, 0), (1, 1, 1)])
    >>> from_expression("x & | y")
    Traceback (most recent call last):
    axfi_kc.errors.CircuitError: Expected a name, a constant, '~' or '(' at position 4 of 'x & | y', but found '|'; ...
    """
    if not isinstance(text, str):
        raise CircuitError(f"An expression is a text such as 'x & ~y', but {quoted(text)} was given; write one.")
    tokens = _tokens(text)
    occurring = list(dict.fromkeys(token.text for token in tokens if token.kind == "name"))
    known = domain or boolean_domain(occurring if names is None else names)
    grid = Grid.of_values(known)
    for token in tokens:
        if token.kind == "name" and (token.text not in known.names or grid.n_cells[known.index(token.text)] != 2):
            raise _error(
                text, token.at, f"one of the names {', '.join(known.names[:6])} of two values", repr(token.text)
            )
    return _Reading(text, tokens, SignedNodes(CircuitBuilder(grid)), known).circuit()


def _tokens(text: str) -> list[_Token]:
    found, at = list[_Token](), 0
    end = len(text.rstrip())
    while at < end:
        match = _WORDS.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _error(text, at, "a name, a constant or an operator", repr(text[at]))
        word, start = match[0].lstrip(), match.end() - len(match[0].lstrip())
        kind = _SYMBOLS.get(word) or ("constant" if word in _CONSTANTS else "name")
        if match["number"] and kind != "constant":
            raise _error(text, start, "a name, or the constant 0 or 1", repr(word))
        found.append(_Token(word[1:-1] if match["quoted"] else word, start, "name" if match["quoted"] else kind))
        at = match.end()
    return [*found, _Token("", len(text), "end")]


def _error(text: str, at: int, expected: str, found: str) -> CircuitError:
    shown = text if len(text) <= 60 else "..." + text[max(0, at - 25) : at + 25] + "..."
    return CircuitError(f"Expected {expected} at position {at} of {shown!r}, but found {found}; correct it there.")


class _Reading:
    """Reads tokens with two stacks (operators that wait, nodes that are made), so that nesting takes no recursion."""

    def __init__(self, text: str, tokens: list[_Token], nodes: SignedNodes, domain: Domain) -> None:
        self._text, self._tokens, self._nodes, self._domain = text, tokens, nodes, domain
        self._waiting: list[_Token] = []
        self._made: list[Signed] = []

    def circuit(self) -> Circuit:
        """Return the circuit of the whole text."""
        wants_operand = True
        for token in self._tokens:
            wants_operand = self._operand(token) if wants_operand else self._operator(token)
        circuit = self._nodes.build.circuit(self._made[0][0])
        note_deterministic(circuit)  # each disjunction is "the first, or else the rest"
        return circuit

    def _operand(self, token: _Token) -> bool:
        """Take the beginning of an operand; return whether one is still wanted."""
        if token.kind in ("not", "("):
            self._waiting.append(token)
            return True
        if token.kind not in ("name", "constant"):
            found = repr(token.text) if token.text else "the end"
            raise _error(self._text, token.at, "a name, a constant, '~' or '('", found)
        self._made.append(self._leaf(token))
        return False

    def _leaf(self, token: _Token) -> Signed:
        if token.kind == "constant":
            return self._nodes.true if _CONSTANTS[token.text] else self._nodes.false
        return self._nodes.decision(self._domain.index(token.text), [([1], self._nodes.true)])

    def _operator(self, token: _Token) -> bool:
        """Take what follows an operand; return whether another operand is wanted."""
        if token.kind in ("name", "constant", "not", "("):
            raise _error(self._text, token.at, "an operator", repr(token.text))
        binding = _BINDING.get(token.kind, 0)
        while self._waiting and self._waiting[-1].kind != "(":
            above = self._waiting[-1].kind
            if _BINDING[above] < binding or (_BINDING[above] == binding and token.kind in _RIGHT):
                break
            self._join(self._waiting.pop().kind)
        if token.kind == ")":
            if not self._waiting:
                raise _error(self._text, token.at, "an operator or the end", "')' without its '('")
            self._waiting.pop()
            return False
        if token.kind == "end":
            if self._waiting:
                raise _error(self._text, token.at, "')' for that '('", "the end")
            return False
        self._waiting.append(token)
        return True

    def _join(self, kind: str) -> None:
        last = self._made.pop()
        self._made.append(last[::-1] if kind == "not" else self._nodes.apply(kind, self._made.pop(), last))
