"""Rules that no row of a table violates, proposed for a person to accept as constraints."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_frame, is_whole, quoted
from axfi_kc.domain.constraints import All, Between, Constraint, Member, Not, constraint_of, constraints_in
from axfi_kc.domain.features import is_missing
from axfi_kc.domain.from_tables import as_array
from axfi_kc.domain.measures import counted
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import DomainError, ResultFileError
from axfi_kc.json_text import distinct_keys

__all__ = ["Rule", "load_rules", "mine_rules", "rules_document", "save_rules"]


_MOST_VALUES = 32  # of a column that rules are about
_Item = tuple[int, int]  # a column, and which of its values
_Excluded = frozenset[frozenset[_Item]]  # what never occurs together, which says what a rule means


@dataclass(frozen=True, repr=False)
class Rule:
    """A constraint that all rows meet, which ``domain.where`` takes as it is.

    Attributes
    ----------
    constraint
        What it says of a point.
    support
        How many rows it is about: those that meet the premise of an implication; for what excludes each other, in how
        many rows it would be expected together if the features were independent, rounded down. 0 if nobody says.

    Examples
    --------
    >>> from axfi_kc.domain.constraints import at_most_one
    >>> Rule(at_most_one("a", "b"), 5)
    Rule(at most 1 of: a = 1, b = 1, support=5)
    """

    constraint: Constraint
    support: int = 0

    def __post_init__(self) -> None:
        """Take one constraint, or a text that says one, and a number of rows."""
        several = list(constraints_in(self.constraint))
        if len(several) != 1:
            raise DomainError(f"A rule is one constraint, but {len(several)} were given; make a rule of each.")
        if not is_whole(self.support) or self.support < 0:
            raise DomainError(
                f"The support of a rule is how many rows it is about, but {quoted(self.support)} was given; count them."
            )
        object.__setattr__(self, "constraint", several[0])
        object.__setattr__(self, "support", int(self.support))

    def __str__(self) -> str:
        """Return the rule in words."""
        return f"{self.constraint}  ({counted(self.support, 'row')})" if self.support else str(self.constraint)

    def __repr__(self) -> str:
        """Return the rule in words, as such."""
        return f"Rule({self.constraint}, support={self.support})" if self.support else f"Rule({self.constraint})"


constraints_in.register(Rule, lambda rule: (rule.constraint,))


@checked("max_size", "min_support")
def mine_rules(X: Any, *, max_size: int = 2, min_support: int = 20, names: Sequence[str] | None = None) -> list[Rule]:
    """Propose exclusions and implications that no row of a table violates, those about most rows first.

    Parameters
    ----------
    X
        A frame, or an array with `names`. Columns of more than 32 different values are left out.
    max_size
        How many features a rule may be about: 2, or 3 for ``a = 1 and b = 0 imply c = 1`` as well.
    min_support
        About how many rows a rule must be at least; what is rare may be absent by chance. For an implication these are
        the rows that meet its premise; for an exclusion, and for flags put together, those in which independent
        features would have what never occurs together.
    names
        The names of an array's columns; a frame names its own.

    Returns
    -------
    list of Rule
        Flags that exclude each other are put together: at most one of them, or exactly one, holds. An implication and
        its contrapositive are one rule, said as the one whose premise more rows meet.

    Raises
    ------
    DomainError
        If `max_size` or `min_support` is out of range, or names are given for a frame.

    Notes
    -----
    Columns times columns times rows, and for triples once more times values. A rule says what was seen, not what must
    be: read it before you accept it.

    Examples
    --------
    >>> rows = [[0, 1, 5], [1, 0, 5], [0, 0, 7], [1, 0, 7]] * 10
    >>> for rule in mine_rules(np.array(rows), names=["a", "b", "c"], min_support=5):
    ...     print(rule)
    if c = 7 then b = 0  (20 rows)
    at most 1 of: a = 1, b = 1  (5 rows)
    """
    if max_size not in (2, 3) or min_support < 1:
        raise DomainError(
            f"max_size must be 2 or 3 and min_support at least 1, but "
            f"{quoted(max_size)} and {quoted(min_support)} were given."
        )
    table = _Table.of(X, names)
    found = [*_groups(table, min_support)]
    grouped = {frozenset(rule.constraint.names) for rule in found}
    covered = [g for g in grouped if len(g) > 1]
    implications = _each_once(_implications(table, min_support, max_size))
    for rule in (*implications, *_exclusions(table, min_support)):
        mentioned = set(rule.constraint.names)
        if not any(mentioned <= group for group in covered):
            found.append(rule)
    order = {id(rule): k for k, rule in enumerate(found)}
    return sorted(found, key=lambda rule: (-rule.support, order[id(rule)]))


def rules_document(rules: Iterable[object]) -> dict[str, Any]:
    """Return rules, or constraints, as JSON can hold them.

    Examples
    --------
    >>> from axfi_kc.domain.constraints import feature
    >>> rules_document([feature("a") > 3])["rules"][0]["words"]
    'a > 3'
    """
    several = (one if isinstance(one, Rule) else Rule(c) for one in rules for c in constraints_in(one))
    entries = []
    for rule in several:
        support = {"support": rule.support} if rule.support else {}
        entries.append({"words": str(rule.constraint), **support, "constraint": rule.constraint.document()})
    return {"rules": entries}


@checked("rules", "path")
def save_rules(rules: Iterable[Rule | Constraint | str], path: str | os.PathLike[str]) -> None:
    """Write rules to a JSON file, which :func:`load_rules` and ``--rules`` of the command line read.

    Parameters
    ----------
    rules
        What was mined, constraints, or texts that say some; a function is tabulated first by ``domain.where``, so take
        it from ``domain.constraints``.
    path
        The file; it is replaced if it exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_rules(["a > 3", "b == 1"], file := Path(folder, "rules.json"))
    ...     load_rules(file)
    [Rule(a > 3), Rule(b = 1)]
    """
    write_whole(path, json.dumps(rules_document(rules), indent=1) + "\n", what="The list of rules")


@checked("path")
def load_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """Return the rules in a JSON file that ``axfi-kc rules --out`` or :func:`save_rules` wrote, or what you left of it.

    Parameters
    ----------
    path
        The file: an object with a list ``rules`` of objects with a ``constraint`` each. Their words are not read.

    Raises
    ------
    DomainError
        If there is no such file, or it holds no rules; the message says where.

    Examples
    --------
    >>> import tempfile
    >>> rows = np.array([[0, 1], [1, 0], [0, 0], [1, 0]] * 10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_rules(mine_rules(rows, names=["a", "b"], min_support=5), file := Path(folder, "rules.json"))
    ...     load_rules(file)
    [Rule(at most 1 of: a = 1, b = 1, support=5)]
    """
    file = Path(path)
    found = []
    for k, entry in enumerate(_entries(file)):
        support = entry.get("support", 0)
        if not is_whole(support) or support < 0:
            raise _no_rules(file, f"the support of rule {k} is no number of rows")
        try:
            found.append(Rule(constraint_of(entry["constraint"]), support))
        except (DomainError, ResultFileError) as error:
            raise _no_rules(file, f"the constraint of rule {k} describes none") from error
    return found


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file of rules, each an object with a constraint."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=distinct_keys)
    except FileNotFoundError as error:
        raise DomainError(f"There is no file of rules {path}; make it with axfi-kc rules DATA --out {path}.") from error
    except UnicodeDecodeError as error:
        raise _no_rules(path, "it is no text in UTF-8") from error
    except json.JSONDecodeError as error:
        raise _no_rules(path, f"it is no JSON from line {error.lineno}, column {error.colno} on") from error
    except RecursionError as error:
        raise _no_rules(path, "it is nested too deep") from error
    except OSError as error:
        raise _no_rules(path, "it cannot be read") from error
    except ValueError as error:  # of a key that occurs twice
        raise _no_rules(path, str(error)) from error
    entries = found.get("rules") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not all(isinstance(e, dict) and "constraint" in e for e in entries):
        raise _no_rules(path, "it has no list 'rules' of objects with a 'constraint' each")
    return entries


def _no_rules(path: Path, why: str) -> DomainError:
    return DomainError(f"{path} holds no rules, because {why}; make it with axfi-kc rules DATA --out {path}.")


@dataclass(frozen=True)
class _Table:
    """Columns of few values, as numbers of values."""

    names: list[str]
    values: list[list[Any]]
    codes: npt.NDArray[np.int64]  # rows by columns

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None) -> _Table:
        if is_frame(X):
            if names is not None:
                raise DomainError(
                    f"names= of mine_rules names the columns of an array, but a frame and {quoted(names)} were given; "
                    "leave names= out, or give the frame of these columns."
                )
            if not len(X) or len(set(map(str, X.columns))) != len(X.columns):
                raise DomainError("Rules are mined from a table with rows, and a name of its own for each column.")
            columns = {str(n): X[n].to_numpy().tolist() for n in X.columns}
        else:
            data = as_array(X)
            if data.ndim != 2 or not data.size:
                raise DomainError(
                    f"Expected a table with rows and columns, but an array of shape {data.shape} was given."
                )
            labels = [f"x{j}" for j in range(data.shape[1])] if names is None else list(names)
            if len(labels) != data.shape[1] or len(set(labels)) != len(labels):
                raise DomainError(f"Expected {data.shape[1]} different names, one per column, but {labels} were given.")
            columns = {n: data[:, j].tolist() for j, n in enumerate(labels)}
        kept, values, codes = [], [], []
        for name, column in columns.items():
            plain = [None if is_missing(v) else v for v in column]
            distinct = sorted(set(plain), key=lambda v: (v is None, str(type(v)), v if v is not None else 0))
            if 2 <= len(distinct) <= _MOST_VALUES:
                place = {v: k for k, v in enumerate(distinct)}
                kept.append(name)
                values.append(distinct)
                codes.append([place[v] for v in plain])
        return cls(
            kept, values, np.array(codes, dtype=np.int64).reshape(len(kept), len(columns[kept[0]]) if kept else 0).T
        )

    def member(self, item: _Item) -> Constraint:
        return Member(self.names[item[0]], (self.values[item[0]][item[1]],))

    def crossed(self, i: int, j: int, rows: Any = slice(None)) -> npt.NDArray[np.int64]:
        """Return how often each value of one column meets each of another."""
        width = len(self.values[j])
        found = np.bincount(self.codes[rows, i] * width + self.codes[rows, j], minlength=len(self.values[i]) * width)
        return found.reshape(-1, width)

    def flag(self, i: int) -> int | None:
        """Return which value of a column of 0 and 1 is 1."""
        return 1 if self.values[i] == [0, 1] else None


def _expected(table: _Table, counts: npt.NDArray[np.int64], x: int, y: int) -> int:
    return int(Fraction(int(counts[x].sum()) * int(counts[:, y].sum()), len(table.codes)))


def _groups(table: _Table, least: int) -> Iterator[Rule]:
    """Yield sets of flags of which no two occur together, greedily, each flag in one of them."""
    flags = [i for i in range(len(table.names)) if table.flag(i) is not None]
    expected: dict[frozenset[int], int] = {}
    for i, j in combinations(flags, 2):
        counts = table.crossed(i, j)
        if counts[1, 1] == 0:
            expected[frozenset((i, j))] = _expected(table, counts, 1, 1)
    free = set(flags)
    for start in sorted(flags, key=lambda i: -sum(e for pair, e in expected.items() if i in pair)):
        group = [start] if start in free else []
        for j in flags:
            pairs = [frozenset((i, j)) for i in group]
            # One that is too rare to be missed beside each of the others may still be missed beside all of them.
            if j in free and pairs and all(p in expected for p in pairs) and sum(expected[p] for p in pairs) >= least:
                group.append(j)
        if len(group) > 1:
            free -= set(group)
            parts = tuple(table.member((i, 1)) for i in sorted(group))
            always = (table.codes[:, group].sum(axis=1) == 1).all()
            support = sum(expected[frozenset(pair)] for pair in combinations(group, 2))
            yield Rule(Between(parts, 1 if always else 0, 1), support)


def _each_once(rules: Iterable[tuple[_Excluded, Rule]]) -> Iterable[Rule]:
    """Return of rules that mean the same the one that is about most rows."""
    found: dict[_Excluded, Rule] = {}
    for meaning, rule in rules:
        if meaning not in found or found[meaning].support < rule.support:
            found[meaning] = rule
    return found.values()


def _implications(table: _Table, least: int, max_size: int) -> Iterator[tuple[_Excluded, Rule]]:
    width = range(len(table.names))
    for i in width:
        for x in range(len(table.values[i])):
            yield from _followed(table, [(i, x)], least)
    if max_size < 3:
        return
    for i, j in combinations(width, 2):
        for x in range(len(table.values[i])):
            for y in range(len(table.values[j])):
                yield from _followed(table, [(i, x), (j, y)], least)


def _followed(table: _Table, items: list[_Item], least: int) -> Iterator[tuple[_Excluded, Rule]]:
    """Yield what every row with these values has in common and other rows have not, with what that excludes."""
    rows = np.flatnonzero(np.all([table.codes[:, i] == x for i, x in items], axis=0))
    if len(rows) < least:
        return
    known = {i for i, _ in items}
    for k in range(len(table.names)):
        if k in known or (table.codes[rows, k] != table.codes[rows[0], k]).any():
            continue
        # Of a pair only what neither of its halves says already.
        if len(items) > 1 and any(_follows(table, item, k) for item in items):
            continue
        premise = table.member(items[0]) if len(items) == 1 else All(tuple(map(table.member, items)))
        value = int(table.codes[rows[0], k])
        others = (y for y in range(len(table.values[k])) if y != value)
        excluded = frozenset(frozenset((*items, (k, y))) for y in others)
        yield excluded, Rule(premise >> table.member((k, value)), len(rows))


def _follows(table: _Table, item: _Item, k: int) -> bool:
    rows = table.codes[:, item[0]] == item[1]
    return bool((table.codes[rows, k] == table.codes[rows, k][0]).all())


def _exclusions(table: _Table, least: int) -> Iterator[Rule]:
    """Yield pairs of values that never meet, unless an implication says it."""
    for i, j in combinations(range(len(table.names)), 2):
        counts = table.crossed(i, j)
        for x, y in zip(*np.nonzero(counts == 0), strict=True):
            expected = _expected(table, counts, x, y)
            # With one value left on either side it is an implication.
            alone = (counts[x] > 0).sum() == 1 or (counts[:, y] > 0).sum() == 1
            if expected >= least and not alone:
                both = All((table.member((i, int(x))), table.member((j, int(y)))))
                yield Rule(Not((both,)), expected)
