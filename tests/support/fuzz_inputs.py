"""Inputs for readers of files: valid ones, ones with a few hostile changes, and random ones of a grammar.

Making one takes some tens of microseconds: valid files are cut into tokens once, and a mutation is an
edit of a list of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

Tokens = list[bytes]

_TOKEN = re.compile(rb'\s+|"[^"\n]*"|[A-Za-z_]+|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|.', re.DOTALL)
_NUMBER = re.compile(rb"-?\d+")

NUMBERS = (
    *(b"0", b"1", b"-1", b"2", b"-2", b"7", b"00", b"+1", b"-0", b"1_0", b"0x10", b"1.5", b"1e3"),
    *(b"1e400", b"-1e400", b"1e-400", b"NaN", b"-NaN", b"nan", b"inf", b"-inf", b"Infinity", b"-Infinity"),
    *(str(2**k + d).encode() for k in (7, 8, 31, 32, 53, 63, 64, 70, 1000) for d in (-1, 0)),
    *(str(-(2**k)).encode() for k in (31, 63, 70)),
    *(b"999999999999", b"16777217." + b"0" * 400 + b"1", b"1e999999999", b"1e-999999999", b"\xd9\xa3", b"1/0", b"1/3"),
)
WORDS = (
    *(
        b"",
        b" ",
        b"\n",
        b"\r\n",
        b"\t",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b'"',
        b"'",
    ),
    *(
        b"null",
        b"true",
        b"false",
        b"[]",
        b"{}",
        b'""',
        b'"a"',
        b"[[]]",
        b'{"a": 1}',
        b"c",
        b"L",
        b"A",
        b"O",
        b"T",
        b"F",
    ),
    *(b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"../../x", b"/dev/zero", b"%s%n", b"\\u0000", b'"\\ud800"'),
)
_RARE = (
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"9" * 5_000,
    b"9" * 1_000_000,
    b"0." + b"3" * 100_000,
    b" " * 100_000,
    b"\n" * 20_000,
    b"1 " * 20_000,
)


def tokens_of(data: bytes) -> Tokens:
    """Cut a file into words, numbers, blanks and signs."""
    return _TOKEN.findall(data)


def _replace(rng: Random, t: Tokens) -> None:
    t[rng.randrange(len(t))] = rng.choice(NUMBERS if rng.random() < 0.6 else WORDS)


def _number(rng: Random, t: Tokens) -> None:
    """Replace a number: by a hostile one, a neighbour, its negative, or another of the same file."""
    at = rng.randrange(len(t))
    for k in (*range(at, len(t)), *range(at)):
        if t[k][-1:].isdigit() and _NUMBER.fullmatch(t[k]) and len(t[k]) < 30:
            value, other = int(t[k]), t[rng.randrange(len(t))]
            t[k] = rng.choice((b"%d" % (value + 1), b"%d" % (value - 1), b"%d" % -value, other, rng.choice(NUMBERS)))
            return


def _delete(rng: Random, t: Tokens) -> None:
    at = rng.randrange(len(t))
    del t[at : at + rng.choice((1, 1, 2, 3, 8))]


def _repeat(rng: Random, t: Tokens) -> None:
    at = rng.randrange(len(t))
    piece = t[at : at + rng.choice((1, 2, 5, 12))]
    t[at:at] = piece * rng.choice((1, 1, 2, 30))


def _swap(rng: Random, t: Tokens) -> None:
    i, j = rng.randrange(len(t)), rng.randrange(len(t))
    t[i], t[j] = t[j], t[i]


def _move(rng: Random, t: Tokens) -> None:
    at, width = rng.randrange(len(t)), rng.choice((2, 6, 14))
    piece = t[at : at + width]
    del t[at : at + width]
    to = rng.randrange(len(t) + 1)
    t[to:to] = piece


def _cut(rng: Random, t: Tokens) -> None:
    del t[rng.randrange(len(t)) :]


def _insert(rng: Random, t: Tokens) -> None:
    t.insert(rng.randrange(len(t) + 1), rng.choice(NUMBERS if rng.random() < 0.5 else WORDS))


def _junk(rng: Random, t: Tokens) -> None:
    t.insert(rng.randrange(len(t) + 1), rng.randbytes(rng.choice((1, 2, 8, 64))))


_EDITS: tuple[Callable[[Random, Tokens], None], ...] = (
    *(_replace, _number, _number, _number, _number, _delete, _repeat, _swap, _swap, _move, _cut, _insert, _junk),
)


def mutated(rng: Random, valid: Tokens) -> bytes:
    """Return a file with one to four edits; rarely with something very large."""
    t = valid.copy()
    if rng.random() < 0.3:  # gently, so that the file stays one
        _number(rng, t)
        return b"".join(t)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if t:
            rng.choice(_EDITS)(rng, t)
    if rng.random() < 0.0001:
        t.insert(rng.randrange(len(t) + 1), rng.choice(_RARE))
    return b"".join(t)


def mutated_bytes(rng: Random, valid: bytes) -> bytes:
    """Return a binary file with one to four changed, removed, repeated or added pieces."""
    data = bytearray(valid)
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        at, how = rng.randrange(len(data) + 1), rng.randrange(7)
        if how == 0:
            del data[at:]
        elif how == 1:
            del data[at : at + rng.choice((1, 1, 2, 8))]
        elif how == 2:
            data[at:at] = data[at : at + rng.choice((1, 4, 16, 64))] * rng.choice((1, 1, 3, 40))
        elif how == 3:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
        elif how == 4 and at < len(data):
            data[at] = rng.choice(b"[]{}$#NZTFiUIlLdDCSH\x00\x01\x7f\x80\xff")
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    if rng.random() < 0.0001:
        data[rng.randrange(len(data) + 1) :] = rng.choice((b"[" * 100_000, b"{i\x01a" * 50_000, b"N" * 100_000))
    return bytes(data)


@dataclass(frozen=True)
class Grammar:
    """Lines with slots: `#` a small number, `@` a number of any kind, `$` a short list of small numbers."""

    head: Sequence[bytes]
    lines: Sequence[bytes]
    tail: Sequence[bytes] = ()

    def text(self, rng: Random) -> bytes:
        chosen = [*self.head, *(rng.choice(self.lines) for _ in range(rng.randrange(8))), *self.tail]
        return b"\n".join([self._filled(rng, line) for line in chosen]) + b"\n"

    @staticmethod
    def _filled(rng: Random, line: bytes) -> bytes:
        parts: Tokens = []
        for word in line.split(b" "):
            if word == b"#":
                parts.append(b"%d" % rng.randrange(7))
            elif word == b"@":
                parts.append(b"%d" % rng.randint(-5, 5) if rng.random() < 0.9 else rng.choice(NUMBERS))
            elif word == b"$":
                parts += [b"%d" % rng.randrange(6) for _ in range(rng.randrange(4))]
            else:
                parts.append(word)
        return b" ".join(parts)
