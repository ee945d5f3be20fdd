"""Bayesian networks in files: the interchange format BIF (``.bif``) and Hugin's ``.net``.

Decimal numbers are taken exactly. Files are read token by token, without recursion, in time linear in their length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from os import PathLike
from pathlib import Path
from typing import NoReturn

from axfi_kc.arguments import checked
from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.errors import ModelFileError

__all__ = ["NETWORK_FORMATS", "read_bif", "read_hugin", "read_network"]


FilePath = str | PathLike[str]
_LARGEST_FILE = 1 << 28  # bytes
_MOST_FILLED = 1 << 16  # rows that the word "default" of one file may stand for
_PUNCTUATION = frozenset("{}()[]|,;")
_QUOTED = r'"[^"\n]*"|"'
_MARK = r"[{}()\[\]|,;]"
_PLAIN = r'[^\s{}()\[\]|,;"]+'
_GROUP = r'[(\[][^{}()\[\]|;"\n]*[)\]]'  # brackets inside a state's name, as in (0,5]
_BIF = re.compile(rf"//[^\n]*|/\*|{_QUOTED}|{_PLAIN}|{_MARK}")
_BIF_STATES = re.compile(rf"//[^\n]*|/\*|{_QUOTED}|(?:{_PLAIN}|{_GROUP})+|{_MARK}")
_NET = re.compile(rf'%[^\n]*|{_QUOTED}|[^\s{{}}()\[\]|,;="]+|=|{_MARK}')
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")
_END = "the end of the file"


class _Tokens:
    """The tokens of a file, one after the other, and the errors that name their lines."""

    def __init__(self, path: FilePath, pattern: re.Pattern[str]) -> None:
        file = Path(path)
        self.name = file.name
        try:
            if file.stat().st_size > _LARGEST_FILE:
                raise ModelFileError(
                    f"{file.name}: expected at most {_LARGEST_FILE} bytes, but it is larger; split it."
                )
            self._text = file.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise ModelFileError(f"{path} cannot be read ({error.strerror}); give the path of a network.") from error
        except UnicodeDecodeError as error:
            raise ModelFileError(f"{self.name}: expected UTF-8, but byte {error.start} is none; save it so.") from error
        self._pattern = pattern
        self._found = self._tokens()
        self.at = 0
        self.ahead = ""
        self.next()

    def _tokens(self) -> Iterator[tuple[str, int]]:
        at = 0
        while (match := self._pattern.search(self._text, at)) is not None:
            lexeme, at = match.group(), match.end()
            if lexeme == "/*":
                closed = self._text.find("*/", at)
                if closed < 0:
                    self.at = match.start()
                    self.fail("the end of a comment, '*/'", "none")
                at = closed + 2
            elif not lexeme.startswith("%" if self._pattern is _NET else "//"):
                yield lexeme, match.start()

    def next(self) -> str:
        """Return the token that was next, and go on; an empty one at the end of the file."""
        before = self.ahead
        self.ahead, self.at = next(self._found, ("", len(self._text)))
        return before

    def fail(self, expected: str, found: str | None = None) -> NoReturn:
        """Raise the error that the next token deserves."""
        line = self._text.count("\n", 0, self.at) + 1
        what = found or (repr(self.ahead[:40]) if self.ahead else _END)
        raise ModelFileError(f"{self.name}, line {line}: expected {expected}, but found {what}; write the file again.")

    def take(self, wanted: str) -> None:
        """Go over a token that must be there."""
        if self.ahead != wanted:
            self.fail(repr(wanted))
        self.next()

    def takes(self, wanted: str) -> bool:
        """Go over a token if it is there."""
        if self.ahead == wanted:
            self.next()
            return True
        return False

    def word(self, what: str) -> str:
        """Return a name, with or without quotes."""
        mark = self.ahead in _PUNCTUATION or (self.ahead == "=" and self._pattern is _NET)
        if not self.ahead or mark or self.ahead == '"':
            self.fail(what)
        word = self.next()
        return word[1:-1] if word[0] == '"' else word

    def states(self, opening: str, closing: str, what: str) -> list[str]:
        """Return the names of states of a BIF file between two marks; commas between them may be left out."""
        if self.ahead != opening:
            self.fail(repr(opening))
        # A token is found when the one before it is taken, so the pattern changes just before each mark is taken.
        self._pattern = _BIF_STATES
        self.next()
        found = list[str]()
        while self.ahead != closing:
            found.append(self.word(what))
            self.takes(",")
        self._pattern = _BIF
        self.next()
        return found

    def number(self) -> Fraction:
        """Return a decimal number, exactly."""
        if _NUMBER.fullmatch(self.ahead) is None:
            self.fail("a decimal number")
        return Fraction(self.next())

    def skip_statement(self) -> None:
        """Go over everything up to the next semicolon."""
        while not self.takes(";"):
            if not self.ahead or self.ahead in "{}":
                self.fail("';'")
            self.next()

    def skip_block(self) -> None:
        """Go over a block in braces, with those inside it."""
        self.take("{")
        depth = 1
        while depth:
            if not self.ahead:
                self.fail("'}'")
            depth += {"{": 1, "}": -1}.get(self.next(), 0)


@dataclass(slots=True)
class _Parts:
    """What a file has said so far."""

    states: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, list[list[Fraction]]] = field(default_factory=dict)
    filled: int = 0

    def declare(self, tokens: _Tokens, name: str) -> None:
        """Note a variable, which must be new."""
        if name in self.states:
            tokens.fail("each variable once", f"{name[:40]!r} a second time")
        self.states[name] = []

    def shape(self, tokens: _Tokens, name: str, parents: list[str]) -> list[int]:
        """Return how many states the parents and the variable of a table have."""
        if name in self.rows:
            tokens.fail("one table for each variable", f"a second one of {name[:40]!r}")
        odd = next((n for n in (name, *parents) if n not in self.states), None)
        if odd is not None:
            tokens.fail("a variable that was declared above", repr(odd[:40]))
        return [len(self.states[n]) for n in (*parents, name)]

    def network(self, tokens: _Tokens) -> BayesianNetwork:
        """Return the network, if everything has been said."""
        lost = next((name for name in self.states if name not in self.rows), None)
        if lost is not None or not self.states:
            tokens.fail("variables and a table for each", "none" if lost is None else f"none of {lost[:40]!r}")
        return BayesianNetwork.of_rows(self.states, self.rows, parents=self.parents)


def _folded(flat: list[Fraction], width: int) -> list[list[Fraction]]:
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def read_bif(path: FilePath) -> BayesianNetwork:
    r"""Return the network in a BIF file.

    Notes
    -----
    Linear in the file. The numbers of a ``table`` with parents run through the variable's own states slowest and the
    last parent's fastest, as the format says. Properties are skipped. Names of states may be those of published
    networks: ``>=7.5``, ``5-12``, ``LOW/NORMAL``, ``(0,5]``. Names with blanks, a lone bracket, a bar or a semicolon
    need double quotes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rain.bif")
    ...     _ = file.write_text("variable rain { type discrete [2] { n, y }; }  probability (rain) { table 0.8 0.2; }")
    ...     read_bif(file).probability({"rain": "y"})
    Fraction(1, 5)
    """
    tokens, parts = _Tokens(path, _BIF), _Parts()
    while tokens.ahead:
        word = tokens.word("'network', 'variable' or 'probability'")
        if word == "network":
            if tokens.ahead != "{":
                tokens.word("a name")
            tokens.skip_block()
        elif word == "variable":
            _bif_variable(tokens, parts)
        elif word == "probability":
            _bif_table(tokens, parts)
        else:
            tokens.fail("'network', 'variable' or 'probability'", repr(word[:40]))
    return parts.network(tokens)


def _bif_variable(tokens: _Tokens, parts: _Parts) -> None:
    name = tokens.word("a variable's name")
    parts.declare(tokens, name)
    tokens.take("{")
    while not tokens.takes("}"):
        word = tokens.word("'type', 'property' or '}'")
        if word != "type":
            tokens.skip_statement()
            continue
        tokens.take("discrete")
        tokens.take("[")
        claimed = tokens.word("a number of states")
        tokens.take("]")
        parts.states[name] += tokens.states("{", "}", "a state")
        tokens.take(";")
        if claimed != str(len(parts.states[name])):
            tokens.fail(f"{claimed[:40]} states of {name[:40]!r}", str(len(parts.states[name])))
    if not parts.states[name]:
        tokens.fail(f"the states of {name[:40]!r}", "none")


def _bif_table(tokens: _Tokens, parts: _Parts) -> None:
    tokens.take("(")
    name, parents = tokens.word("a variable's name"), list[str]()
    if tokens.takes("|"):
        while tokens.ahead != ")":
            parents.append(tokens.word("a parent's name"))
            tokens.takes(",")
    tokens.take(")")
    shape = parts.shape(tokens, name, parents)
    tokens.take("{")
    rows: dict[tuple[str, ...], list[Fraction]] = {}
    default: list[Fraction] | None = None
    whole: list[Fraction] | None = None
    while not tokens.takes("}"):
        if tokens.ahead == "(":
            key = tuple(tokens.states("(", ")", "a parent's state"))
            if key in rows:
                tokens.fail("each combination of the parents' states once", "one a second time")
            rows[key] = _numbers(tokens)
        elif tokens.takes("table"):
            whole = _numbers(tokens)
        elif tokens.takes("default"):
            default = _numbers(tokens)
        else:
            tokens.word("'table', 'default', 'property' or a combination of the parents' states")
            tokens.skip_statement()
    parts.parents[name] = parents
    parts.rows[name] = _bif_rows(tokens, parts, [*parents, name], shape, rows, whole, default)


def _numbers(tokens: _Tokens) -> list[Fraction]:
    found = list[Fraction]()
    while not tokens.takes(";"):
        found.append(tokens.number())
        tokens.takes(",")
    return found


def _bif_rows(
    tokens: _Tokens,
    parts: _Parts,
    scope: list[str],
    shape: list[int],
    rows: Mapping[tuple[str, ...], list[Fraction]],
    whole: list[Fraction] | None,
    default: list[Fraction] | None,
) -> list[list[Fraction]]:
    """Return the rows of a table, of whichever way they were given."""
    size, width, name = math.prod(shape), shape[-1], scope[-1][:40]
    if whole is not None:
        if rows or default or len(whole) != size:
            tokens.fail(f"{size} numbers in the table of {name!r} and nothing else", str(len(whole)))
        step = size // width
        return [whole[k::step] for k in range(step)]
    missing = size // width - len(rows)
    parts.filled += missing if default is not None else 0
    if (missing and default is None) or parts.filled > _MOST_FILLED:
        tokens.fail(f"a row for each of {size // width} combinations in the table of {name!r}", str(len(rows)))
    found = list[list[Fraction]]()
    used = 0
    for key in product(*(parts.states[parent] for parent in scope[:-1])):
        row = rows.get(key, default)
        used += key in rows
        if row is None or len(row) != width:
            tokens.fail(
                f"{width} numbers in each row of the table of {name!r}", "none" if row is None else str(len(row))
            )
        found.append(row)
    if used != len(rows):
        tokens.fail(f"combinations of the parents' states in the table of {name!r}", "another")
    return found


def read_hugin(path: FilePath) -> BayesianNetwork:
    r"""Return the network in a Hugin ``.net`` file.

    Notes
    -----
    Linear in the file. Only discrete chance nodes are read; positions, labels and the like are skipped.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rain.net")
    ...     _ = file.write_text('net {}\nnode rain { states = ("no" "yes"); }\npotential (rain) { data = (0.8 0.2); }')
    ...     read_hugin(file).probability({"rain": "yes"})
    Fraction(1, 5)
    """
    tokens, parts = _Tokens(path, _NET), _Parts()
    while tokens.ahead:
        word = tokens.word("'net', 'node' or 'potential'")
        if word == "net":
            tokens.skip_block()
        elif word in ("node", "discrete"):
            if word == "discrete":
                tokens.take("node")
            _hugin_node(tokens, parts)
        elif word == "potential":
            _hugin_table(tokens, parts)
        else:
            tokens.fail("'net', 'node' or 'potential' (of discrete chance nodes)", repr(word[:40]))
    return parts.network(tokens)


def _hugin_node(tokens: _Tokens, parts: _Parts) -> None:
    name = tokens.word("a node's name")
    parts.declare(tokens, name)
    tokens.take("{")
    while not tokens.takes("}"):
        word = tokens.word("a field of a node, or '}'")
        tokens.take("=")
        if word != "states":
            tokens.skip_statement()
            continue
        tokens.take("(")
        if parts.states[name]:
            tokens.fail(f"the states of {name[:40]!r} once", "them a second time")
        while not tokens.takes(")"):
            parts.states[name].append(tokens.word("a state"))
        tokens.take(";")
    if not parts.states[name]:
        tokens.fail(f"the states of {name[:40]!r}", "none")


def _hugin_table(tokens: _Tokens, parts: _Parts) -> None:
    tokens.take("(")
    name, parents = tokens.word("a node's name"), list[str]()
    if tokens.takes("|"):
        while tokens.ahead != ")":
            parents.append(tokens.word("a parent's name"))
    tokens.take(")")
    shape = parts.shape(tokens, name, parents)
    tokens.take("{")
    found: list[Fraction] | None = None
    while not tokens.takes("}"):
        word = tokens.word("'data' or '}'")
        tokens.take("=")
        if word == "data" and found is None:
            found = _nested_numbers(tokens)
        else:
            tokens.skip_statement()
    if found is None or len(found) != math.prod(shape):
        tokens.fail(f"{math.prod(shape)} numbers in the data of {name[:40]!r}", str(len(found or ())))
    parts.parents[name] = parents
    parts.rows[name] = _folded(found, shape[-1])


def _nested_numbers(tokens: _Tokens) -> list[Fraction]:
    """Return the numbers inside parentheses, in order: how they are nested says nothing that their number does not."""
    tokens.take("(")
    depth, found = 1, list[Fraction]()
    while depth:
        if tokens.takes("("):
            depth += 1
        elif tokens.takes(")"):
            depth -= 1
        else:
            found.append(tokens.number())
    tokens.take(";")
    return found


NETWORK_FORMATS: dict[str, Callable[[FilePath], BayesianNetwork]] = {".bif": read_bif, ".net": read_hugin}
"""The readers of networks, by suffix."""


@checked("path")
def read_network(path: FilePath) -> BayesianNetwork:
    """Return the Bayesian network in a file; the suffix says in which format: ``.bif`` or ``.net`` (Hugin).

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ModelFileError
        If the suffix is none of these, or the file is damaged.
    DomainError
        If the tables do not add up to 1, or there is a cycle.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "coin.net")
    ...     _ = file.write_text('node coin { states = ("h" "t"); }  potential (coin) { data = (0.5 0.5); }')
    ...     read_network(file)
    BayesianNetwork(coin)
    """
    reader = NETWORK_FORMATS.get(Path(path).suffix.lower())
    if reader is None:
        raise ModelFileError(
            f"{Path(path).name}: expected a network in a file ending in {' or '.join(NETWORK_FORMATS)}; convert it."
        )
    return reader(path)
