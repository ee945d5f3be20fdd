"""Counting problems: clauses with weights and a projection, in the formats of the Model Counting Competition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from axfi_kc.arguments import check_fields, checked, is_listable, is_whole, quoted
from axfi_kc.budget import Account, Budget, preparation
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import CircuitError

__all__ = ["TRACKS", "CountingProblem", "checked_clauses", "read_counting_problem"]


TRACKS = ("mc", "wmc", "pmc", "pwmc")
_MEANT = (b"c t", b"c p weight", b"c p show")
_HEADERS = {b"cnf": "mc", b"wcnf": "wmc", b"pcnf": "pmc", b"pwcnf": "pwmc"}  # those of 2020 say the track
_NUMBER = re.compile(rb"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?)")
_LONGEST = 1_000  # digits of a weight
_MOST_VARIABLES = 10_000_000


@dataclass(frozen=True, slots=True)
class CountingProblem:
    """Clauses whose models are counted.

    Attributes
    ----------
    n_variables
        Variables are numbered from 1 up to this.
    clauses
        Literals: a variable, or its negative for "not".
    weights
        Of the variables that have weights: what 1 and what 0 is worth. All others are worth 1 either way.
    shown
        The variables that models are projected to; None: to all. Of the others' weights nothing counts.
    track
        Which of the competition's tracks it belongs to, one of ``TRACKS``; by default what weights and projection say.

    Examples
    --------
    >>> CountingProblem(3, ((1, 2), (-2, 3)), weights={1: (Fraction(1, 3), Fraction(2, 3))}, shown=(1, 3)).track
    'pwmc'
    """

    n_variables: int
    clauses: tuple[tuple[int, ...], ...]
    weights: Mapping[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    shown: tuple[int, ...] | None = None
    track: str = ""

    def __post_init__(self) -> None:
        """Refuse literals of variables that do not exist, and weights or a projection that the track has not."""
        if not is_whole(self.n_variables) or self.n_variables < 0:
            raise CircuitError(
                f"A counting problem has 0 or more variables, but "
                f"{quoted(self.n_variables)} was given; give their number."
            )
        check_fields(self)
        own = ("p" if self.shown is not None else "") + ("wmc" if self.weights else "mc")
        object.__setattr__(self, "track", self.track or own)
        self._check_track()
        named = [
            *self.weights,
            *(() if self.shown is None else self.shown),
            *(abs(x) for clause in self.clauses for x in clause),
        ]
        strange = next((v for v in named if not 1 <= v <= self.n_variables), None)
        if strange is not None:
            raise CircuitError(
                f"The variables of a counting problem are 1 to {self.n_variables}, but {strange} was given; renumber "
                "them, and end no clause with 0."
            )

    def _check_track(self) -> None:
        if self.track not in TRACKS:
            raise CircuitError(f"A track is one of {', '.join(TRACKS)}, but {quoted(self.track)} was given; name one.")
        if (self.weights and "w" not in self.track) or (self.shown is not None and "p" not in self.track):
            found = "weights" if self.weights and "w" not in self.track else "a projection"
            raise CircuitError(
                f"A problem of the track {self.track!r} has no {found.removeprefix('a ')}, but {found} came with it; "
                "leave out one of the two."
            )

    @classmethod
    def of(cls, clauses: Iterable[Sequence[int]], n_variables: int | None = None) -> CountingProblem:
        """Return the problem of counting all models of clauses, given as sequences of literals.

        Raises
        ------
        CircuitError
            If a literal is no whole number other than 0, or of a variable that does not exist.
        """
        given = checked_clauses(clauses)
        largest = max((abs(x) for clause in given for x in clause), default=0)
        return cls(largest if n_variables is None else n_variables, given)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The variables that are projected out."""
        kept = set(range(1, self.n_variables + 1) if self.shown is None else self.shown)
        return tuple(v for v in range(1, self.n_variables + 1) if v not in kept)

    @property
    def grid(self) -> Grid:
        """A feature of two values for each variable, ``x1``, ``x2``, ...; one grid for all problems of this size."""
        if not self.n_variables:
            raise CircuitError("A circuit needs a variable, but the problem has none; give one, or count_models only.")
        return _boolean_grid(self.n_variables)

    @property
    def worths(self) -> list[list[Fraction]]:
        """What 0 and 1 of each variable are worth; of one that is projected out only 0 counts."""
        one = Fraction(1)
        rows = [list(self.weights.get(v, (one, one)))[::-1] for v in range(1, self.n_variables + 1)]
        for v in self.hidden:
            rows[v - 1] = [one, Fraction(0)]
        return rows

    @property
    def proper_clauses(self) -> list[tuple[int, ...]]:
        """The clauses without those that are always true, each literal and each clause once."""
        kept = dict.fromkeys(tuple(dict.fromkeys(clause)) for clause in self.clauses)
        return [clause for clause in kept if {-x for x in clause}.isdisjoint(clause)]


def checked_clauses(clauses: Any) -> tuple[tuple[int, ...], ...]:
    """Return clauses that somebody gave, their literals as Python's integers.

    Raises
    ------
    CircuitError
        If they are no sequences, or a literal is no whole number other than 0.
    """
    if not is_listable(clauses):
        raise CircuitError(
            f"Clauses are a file, or sequences of literals such as [(1, 2), (-1, 3)], but "
            f"{quoted(clauses)} was given; give "
            "these."
        )
    return tuple(_checked_clause(clause) for clause in clauses)


def _checked_clause(clause: Any) -> tuple[int, ...]:
    if not is_listable(clause):
        raise CircuitError(f"A clause is a sequence of literals, but {quoted(clause)} was given; write (1, -2) for it.")
    found = tuple(clause)
    strange = next((x for x in found if isinstance(x, bool) or not isinstance(x, int | np.integer) or not x), None)
    if strange is not None:
        raise CircuitError(f"A literal is a whole number other than 0, but {quoted(strange)} was given; write 3 or -3.")
    return tuple(map(int, found))


@lru_cache(maxsize=8)
def _boolean_grid(n_variables: int) -> Grid:
    # Making a grid of a hundred features takes longer than compiling some problems.
    account = Account(preparation(), goal="list of variables", advice="allow more, or number those that occur")
    domain = Domain([Integer(f"x{v}", 0, 1) for v in account.paced(range(1, n_variables + 1))])
    axis = Axis.of_values(domain.features[0])  # cut once: a hundred thousand of them take seconds
    return Grid(domain, tuple(replace(axis, feature=feature) for feature in account.paced(domain.features)))


@checked("path", "budget")
def read_counting_problem(path: FilePath, *, budget: Budget | None = None) -> CountingProblem:
    r"""Return the counting problem in a file.

    Parameters
    ----------
    path
        In the format of the Model Counting Competition: ``p cnf variables clauses``, ``c t mc|wmc|pmc|pwmc``,
        ``c p weight literal number 0``, ``c p show variables 0``; or in that of 2020, with the headers ``p cnf``,
        ``p wcnf``, ``p pcnf variables clauses shown`` and lines ``w literal number``, with or without a 0 at the end,
        and ``vp variables 0``.
    budget
        What reading may cost.

    Raises
    ------
    ModelFileError
        If the file is none of these, or names weights of one sign of a variable only: counters do not agree on what the
        other one is worth.

    Notes
    -----
    Linear. Numbers are exact: decimals, powers of ten and fractions. Where a line ``c t`` says the track, weights or a
    projection that do not belong to it are not used; otherwise all that is there is.

    A file that was cut off is refused, with one exception. Lines of weights, of a track or of a projection are not
    counted in the file (only the third number of ``p pcnf`` counts the variables shown): where they come after the
    clauses, the last of them can be missing unnoticed. Lines before the clauses are safe.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = "c t wmc\np cnf 2 1\nc p weight 1 0.3 0\nc p weight -1 7e-1 0\n1 2 0\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.cnf").write_text(text)
    ...     read_counting_problem(Path(folder, "a.cnf")).weights
    {1: (Fraction(3, 10), Fraction(7, 10))}
    """
    return _Reader(Source(path, budget=budget)).problem()


class _Reader:
    """Reads a file line by line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._header: list[int] | None = None
        self._track: str | None = None
        self._clauses: list[list[int]] = [[]]
        self._weights: dict[int, Fraction] = {}
        self._shown: list[int] | None = None

    def problem(self) -> CountingProblem:
        """Return what the file says."""
        for number, line in self._source.numbered():
            words = line.split()
            if words:
                self._read(number, words)
        source, header = self._source, self._header
        if header is None:
            source.fail(-1, "a header 'p cnf variables clauses'", "none")
        if self._clauses.pop() or len(self._clauses) != header[1]:
            source.fail(-1, f"{header[1]} clauses, each ended by 0", str(len(self._clauses)))
        track = self._track
        shown = None if track in ("mc", "wmc") else self._shown
        if shown is None and track in ("pmc", "pwmc"):
            source.fail(-1, "a line 'c p show variables 0', as the track is projected", "none")
        n_shown = len(set(self._shown or ()))
        if header[2:] not in ([], [n_shown]):
            source.fail(-1, f"{header[2]} variables that are shown, as the header says", str(n_shown))
        weights = {} if track in ("mc", "pmc") else self._both_signs()
        return CountingProblem(
            header[0],
            tuple(map(tuple, self._clauses)),
            weights,
            None if shown is None else tuple(dict.fromkeys(shown)),
            track or "",
        )

    def _read(self, number: int, words: list[bytes]) -> None:
        if words[0] == b"c":
            self._comment(number, words)
        elif words[0] == b"p":
            self._head(number, words)
        elif words[0] == b"vp":
            self._show(number, self._closed(number, words[1:]))
        elif words[0] == b"w":
            is_open = len(words) == 3 and not self._is_last(number)  # the 0 at the end may be left out
            self._weight(number, words[1:] if is_open else self._closed(number, words[1:]))
        else:
            literals = self._literals(number, words)
            for literal in literals:
                if literal:
                    self._clauses[-1].append(literal)
                else:
                    self._clauses.append([])

    def _comment(self, number: int, words: list[bytes]) -> None:
        if words[1:2] == [b"t"] and len(words) == 3:
            self._track = words[2].decode("ascii", "replace")
            if self._track not in TRACKS:
                self._source.fail_at(number, f"'c t' with one of the tracks {', '.join(TRACKS)}")
        elif words[1:3] == [b"p", b"weight"]:
            self._weight(number, self._closed(number, words[3:]))
        elif words[1:3] == [b"p", b"show"]:
            self._show(number, self._closed(number, words[3:]))
        elif self._is_last(number) and any(meant.startswith(b" ".join(words)) for meant in _MEANT):
            self._source.fail_at(
                number, "a whole line 'c t', 'c p weight' or 'c p show', or the end of a comment's line"
            )

    def _is_last(self, number: int) -> bool:
        """Tell whether a line lacks its end, so that it may have been cut off."""
        return number == len(self._source.lines) - 1

    def _closed(self, number: int, words: list[bytes]) -> list[bytes]:
        """Return what comes before the 0 at the end."""
        if words[-1:] != [b"0"]:
            self._source.fail_at(number, "a line that ends with 0")
        return words[:-1]

    def _head(self, number: int, words: list[bytes]) -> None:
        found = integers(words[2:])
        sizes = 3 if words[1:2] in ([b"pcnf"], [b"pwcnf"]) else 2
        wrong = self._header is not None or words[1:2] == [] or words[1] not in _HEADERS
        if wrong or found is None or len(found) not in (2, sizes) or min(found) < 0 or found[0] > _MOST_VARIABLES:
            self._source.fail_at(number, "one header 'p cnf variables clauses'")
        self._header = found
        if _HEADERS[words[1]] != "mc" and self._track is None:
            self._track = _HEADERS[words[1]]

    def _literals(self, number: int, words: Sequence[bytes]) -> list[int]:
        if self._header is None:
            self._source.fail_at(number, "the header 'p cnf variables clauses'")
        found = integers(words)
        if found is None or any(abs(x) > self._header[0] for x in found):
            self._source.fail_at(number, f"literals of the variables 1 to {self._header[0]}, and 0 at the end")
        return found

    def _show(self, number: int, words: list[bytes]) -> None:
        found = integers(words)
        if found is None or any(v <= 0 for v in found):
            self._source.fail_at(number, "variables that are shown, and 0 at the end")
        self._shown = [*(self._shown or ()), *found]

    def _weight(self, number: int, words: list[bytes]) -> None:
        literal = integers(words[:1])
        fits = literal is not None and len(words) == 2 and literal[0] and len(words[1]) <= _LONGEST
        if literal is None or not fits or not _NUMBER.fullmatch(words[1]) or words[1].rstrip(b"0")[-1:] == b"/":
            self._source.fail_at(number, "a literal and its weight, such as 'c p weight -3 0.25 0'")
        if literal[0] in self._weights:
            self._source.fail_at(number, "one weight of each literal")
        self._weights[literal[0]] = Fraction(words[1].decode("ascii"))

    def _both_signs(self) -> dict[int, tuple[Fraction, Fraction]]:
        found = {}
        for literal in self._weights:
            variable = abs(literal)
            if -literal not in self._weights:
                self._source.fail(
                    -1, f"weights of both signs of variable {variable}", "one", "write both, as counters do not agree"
                )
            found[variable] = self._weights[variable], self._weights[-variable]
        strange = next((v for v in (*found, *(self._shown or ())) if v > (self._header or [0])[0]), None)
        if strange is not None:
            self._source.fail(-1, "weights and projections of variables of the header", f"variable {strange}")
        return found
