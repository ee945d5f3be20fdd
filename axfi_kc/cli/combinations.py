"""Options that cannot act beside the others that were given: one sentence, instead of being ignored.

To add one: a line in the table below. ``tests/cli/test_combinations.py`` tries every option of every command, and fails
where one changes nothing and is not refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from axfi_kc.circuits.targets import targets_with
from axfi_kc.cli.inputs import CHOW_LIU, file_kind
from axfi_kc.errors import DomainError

__all__ = ["check_combinations", "flags", "is_told"]


class _Rule(NamedTuple):
    """When options of some commands act, and what to say if they do not."""

    dests: tuple[str, ...]
    acts: Callable[[Any], bool]
    words: str
    commands: tuple[str, ...] = ()  # all that have the options, if none are named


def check_combinations(options: argparse.Namespace) -> None:
    """Raise if an option was given that cannot act.

    Raises
    ------
    DomainError
        In one sentence, which says why.
    """
    is_saved = options.command == "report" and options.data is None  # of these report refuses all that is decided
    for rule in _RULES:
        if options.command in rule.commands or (not rule.commands and not is_saved):
            given = [dest for dest in rule.dests if hasattr(options, dest) and is_told(options, dest)]
            if given and not rule.acts(options):
                raise DomainError(f"{flags(given)} {rule.words}.")


def is_told(options: argparse.Namespace, dest: str) -> bool:
    """Tell whether an option has another value than the one it has when nothing is said; nan equals nothing."""
    value, usual = getattr(options, dest), options.default_of(dest)
    return value is not usual and value != usual


def flags(dests: Sequence[str]) -> str:
    """Return options as they are typed."""
    return ", ".join(f"--{dest.replace('_', '-')}" for dest in dests)


def _reads(*kinds: str) -> Callable[[Any], bool]:
    """Return what tells whether a model is read of a file of these kinds."""
    return lambda o: file_kind(o.model) in kinds


def _reads_bits(options: Any) -> bool:
    distribution = str(options.distribution or "")
    return distribution.endswith(".psdd") or _reads("circuit")(options)


def _is_stream(options: Any) -> bool:
    from axfi_kc.explanations.files.stores import SUFFIXES

    return options.result.suffix in SUFFIXES


def _can_search(options: Any) -> bool:
    from axfi_kc.compilers.size_study import SEARCHES

    wanted = [[search] for search in options.searches] + [["sift", "vtree"]] * options.reorder
    able = [{target for search in searches for target in SEARCHES[search]} for searches in wanted]
    return all(targets & {*options.to} for targets in able)


def _compiles_with(option: str) -> Callable[[Any], bool]:
    return lambda o: any(target in targets_with(option) for target in o.to)


_FURTHER = ("interactions", "min_precision", "inflate")
_LEAVE = "leave it out"
_RULES = (
    _Rule(
        ("smoothing",),
        lambda o: o.distribution == CHOW_LIU,
        f"is added to the counts of --distribution {CHOW_LIU}, which was not asked for; add that, or {_LEAVE}",
    ),
    _Rule(
        ("measures",),
        lambda o: o.distribution is None,
        f"is about features that are independent, but --distribution says how they hang together; {_LEAVE}",
    ),
    _Rule(
        ("missing",),
        _reads("xgboost"),
        f"is for files of XGBoost, which do not hold that number, but the model is in none; {_LEAVE}",
    ),
    _Rule(
        ("bits",),
        _reads_bits,
        f"says how a circuit or a .psdd writes values in bits, but none is read; {_LEAVE}",
    ),
    _Rule(
        ("norm", "unit", "distance_weight"),
        lambda o: o.radius is not None or getattr(o, "radii", False),
        f"says how --radius is measured, which was not given; add that, or {_LEAVE}",
    ),
    _Rule(
        _FURTHER,
        lambda o: o.out is not None,
        f"is written to the file of results, but --out does not name one; add that, or {_LEAVE}",
        ("batch",),
    ),
    _Rule(("limit",), lambda o: not o.json, f"is of printed tables, and --json prints none; {_LEAVE}", ("batch",)),
    _Rule(
        ("class_names",),
        lambda o: o.out is not None or o.by is not None or o.toward is not None,
        f"is seen in --out, --by and --toward only, but none of them was given; add one, or {_LEAVE}",
        ("batch",),
    ),
    _Rule(
        ("n_jobs", "on_error"),
        lambda o: o.row is None,
        f"is about many rows, but --row asks for one; {_LEAVE}",
        ("report",),
    ),
    _Rule(
        _FURTHER,
        lambda o: not o.explore,
        f"was given, but a page to explore shows scores, CXps and AXps; {_LEAVE}",
        ("report",),
    ),
    _Rule(
        ("radii",),
        lambda o: o.explore and o.data is not None,
        "are for --explore with a model and a table, but one of them is missing; add it",
        ("report",),
    ),
    _Rule(
        ("circuit_of",),
        lambda o: o.circuit is not None,
        "says which CXp, but --circuit FILE does not say where to write it; add that",
    ),
    _Rule(("rows",), _is_stream, f"is about batches, but the file holds one explanation; {_LEAVE}", ("verify",)),
    _Rule(
        ("save",),
        lambda o: o.to is not None,
        "writes a circuit in the language of --to, but none was given; name one",
        ("count",),
    ),
    _Rule(
        ("verbose",),
        lambda o: _is_stream(o) and not o.json,
        f"is about what is printed of batches: of one explanation, and with --json, all is there in any case; {_LEAVE}",
        ("verify",),
    ),
    _Rule(
        ("codes",),
        _compiles_with("code"),
        f"is for {' and '.join(targets_with('code'))}, but --to names neither; {_LEAVE}",
    ),
    _Rule(
        ("vtrees",),
        _compiles_with("vtree"),
        f"is for {' and '.join(targets_with('vtree'))}, but --to does not name it; {_LEAVE}",
    ),
    _Rule(
        ("searches", "reorder"),
        _can_search,
        f"finds nothing to search: sift is for mdd and obdd, window for mdd, vtree for sdd; name one, or {_LEAVE}",
    ),
)
