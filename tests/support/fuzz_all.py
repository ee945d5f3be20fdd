"""Every reader that is fuzzed: those of circuits, models, tables and results, of what spaces are made of, and skops."""

from __future__ import annotations

import json
import struct
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits.exchange.expressions import from_expression
from axfi_kc.domain.constraint_text import constraint_from_text
from axfi_kc.domain.distribution import read_distribution
from axfi_kc.domain.grid import Grid
from axfi_kc.models.support import possible_share
from tests.support import skops_edits
from tests.support.fuzz_inputs import Grammar, mutated, mutated_bytes, tokens_of
from tests.support.fuzz_readers import DOMAIN, FOLDER, Reader
from tests.support.fuzz_readers import READERS as _READERS
from tests.support.random_distributions import random_distribution
from tests.support.random_networks import domain_of, random_network
from tests.support.random_spaces import random_constraint, random_region

_POOL = 60


def _rules() -> list[bytes]:
    """Return files of constraints, as ``axfi-kc rules --out`` writes them."""
    rng, found = Random(13), list[bytes]()
    while len(found) < _POOL:
        rules = [random_constraint(rng, DOMAIN) for _ in range(rng.randint(0, 3))]
        try:
            _share(DOMAIN.where(*rules) if rules else DOMAIN)
        except ax.AxfiError:  # they contradict each other
            continue
        listed = [{"words": str(r), "support": 3, "constraint": r.document()} for r in rules]
        found.append(json.dumps({"rules": listed}, indent=1).encode())
    return found


def _read_rules(file: Path) -> Any:
    """Read constraints, and ask how much of a domain is possible."""
    rules = ax.load_rules(file)
    return _share(DOMAIN.where(*rules) if rules else DOMAIN)


def _share(domain: ax.Domain) -> Any:
    return possible_share(Grid.of_values(domain))


def _words() -> list[bytes]:
    texts = [
        "a >= 1 or b == 'y'",
        "(b in ['x', 'z']) >> (not at_most_one('a', c == 1))",
        "feature('c') < 1 and -1 <= c <= 2",
        "exactly_one('a', c == 1) or not (a = 0)",
        "if a = 1 then c in {0, 1}",
        "at most 1 of: a = 1, b = 'x'",
        "c != 0 and b not in ('x',)",
    ]
    return [text.encode() for text in texts]


def _read_words(file: Path) -> Any:
    text = file.read_bytes().decode("utf-8", "surrogateescape")  # as arguments of a command come
    return _share(DOMAIN.where(constraint_from_text(text)))


def _expressions() -> list[bytes]:
    texts = ["x & (y | ~z)", "a -> b -> c <-> d", "~(p ^ q) \\/ 0 & 'odd name'", "not x and y or 1 xor z", "(((x)))"]
    return [text.encode() for text in texts]


def _read_expression(file: Path) -> Any:
    return from_expression(file.read_bytes().decode("utf-8", "surrogateescape")).size


def _distributions() -> list[bytes]:
    """Return files of distributions of every kind that ``save`` writes."""
    rng, found = Random(14), list[bytes]()
    for k in range(_POOL):
        if k % 4 == 0:
            network = random_network(rng, n=3)
            made = domain_of(network).with_distribution(network).distribution
        else:
            made = random_distribution(rng, DOMAIN, rng.choice(("tree", "fitted", "product", "mixture")))
        found.append(json.dumps(made.document()).encode())
    return found


def _read_distribution(file: Path) -> Any:
    """Read a distribution, and ask what a state of its first feature weighs."""
    found = read_distribution(file)
    return found.total([[1] + [0] * (s.size - 1) if k == 0 else None for k, s in enumerate(found.states)])


def _answers() -> list[bytes]:
    """Return results with constraints, regions, classes that were asked about, precisions and boxes."""
    rng, found = Random(15), list[bytes]()
    while len(found) < _POOL // 2:
        domain, table = DOMAIN, {p: rng.randrange(3) for p in DOMAIN.points()}
        try:
            if rng.random() < 0.6:
                domain = domain.where(random_constraint(rng, DOMAIN))
            options: dict[str, Any] = {}
            if rng.random() < 0.4:
                options["within"] = random_region(rng, DOMAIN)
            if rng.random() < 0.4:
                options["toward"] = rng.randrange(3)
            e = ax.Explainer(table.__getitem__, domain, max_size=rng.choice((None, 1, 2)), **options).explain(
                rng.choice(list(table))
            )
            further: dict[str, Any] = {"min_precision": 0.75, "inflate": True} if rng.random() < 0.4 else {}
            pairs = ["shapley"] if rng.random() < 0.5 else []
            found.append(e.to_json(interactions=pairs, **further).encode())
        except ax.AxfiError:
            continue
    return found


def _read_answers(file: Path) -> Any:
    saved = ax.Explanation.from_json(file.read_bytes())
    return saved.scores("shapley"), saved.relevant, saved.further


def _whole_skops() -> list[bytes]:
    return [skops_edits.dumped(kind) for kind in skops_edits.KINDS]


class SkopsReader(Reader):
    """Alters the archive, its description, and its arrays."""

    def input(self, rng: Random) -> bytes:
        chance, kind = rng.random(), rng.choice(skops_edits.KINDS)
        if chance < 0.05:
            return skops_edits.dumped(kind)
        if chance < 0.15:
            return mutated_bytes(rng, skops_edits.dumped(kind))
        schema, parts = _taken_apart(kind)
        parts = dict(parts)
        if chance < 0.5:
            return skops_edits.joined(mutated(rng, _schema_tokens(kind)), parts)
        for _ in range(rng.choice((1, 1, 2))):
            _alter(rng, parts)
        text = mutated(rng, _schema_tokens(kind)) if rng.random() < 0.1 else json.dumps(schema)
        return skops_edits.joined(text, parts, **({"compression": ZIP_DEFLATED} if rng.random() < 0.1 else {}))


@cache
def _taken_apart(kind: str) -> tuple[Any, dict[str, bytes]]:
    return skops_edits.parts_of(skops_edits.dumped(kind))


@cache
def _schema_tokens(kind: str) -> list[bytes]:
    return tokens_of(json.dumps(_taken_apart(kind)[0]).encode())


_ODD = (-7, -1, 0, 1, 2, 3, 99, 10**6, 2**31 - 1, -(2**31), 2**62)


def _alter(rng: Random, parts: dict[str, bytes]) -> None:
    """Change an entry of an array, its type or its shape, or its bytes."""
    name = rng.choice(list(parts))
    way = rng.random()
    if way < 0.2:
        parts[name] = mutated_bytes(rng, parts[name])
        return
    if way < 0.3:
        parts[name] = parts[rng.choice(list(parts))]
        return
    node = {"file": name}
    try:
        array = skops_edits.array_of(parts, node).copy()
    except Exception:  # it was altered before
        return
    if way < 0.4:
        array = array.ravel()[: rng.randint(0, array.size)]
    elif way < 0.5 and array.dtype.names is None:
        array = array.astype(rng.choice(("f4", "i8", "U8", "c16")))
    elif array.size:
        _put(rng, array)
    skops_edits.put_array(parts, node, array)


def _put(rng: Random, array: Any) -> None:
    """Put something odd into an array, or into a field of one of its nodes."""
    place = np.unravel_index(rng.randrange(array.size), array.shape)
    where = array[rng.choice(array.dtype.names)] if array.dtype.names else array
    value: Any = rng.choice((*_ODD, np.nan, np.inf, 1e300, struct.unpack("d", rng.randbytes(8))[0]))
    with np.errstate(all="ignore"):
        try:
            where[place] = value
        except (OverflowError, ValueError, TypeError):
            where[place] = 0 if where.dtype.kind in "iufb" else where[place]


@cache
def _skops_table() -> Path:
    path = Path(tempfile.mkdtemp(dir=FOLDER), "data.csv")
    X, _ = skops_edits.data()
    np.savetxt(path, X, delimiter=",", header="a,b,c,d", comments="")
    return path


def _read_skops(file: Path) -> Any:
    """Explain a row through the command line, as far as files go: loading, reading and its own predict."""
    from tests.support.fuzz_readers import run_command

    return run_command(["explain", str(file), str(_skops_table()), "--row", "3", "--json", "--seconds", "1"])


_TEXT = Grammar((), (*(b"a >= @", b"b in ['x', $]", b"not (c < @)", b"at_most_one('a', @)", b"a == # and c != $"),))
_EXPRESSION = Grammar((), (b"x & (y | ~ z)", b"~ @ ^ $", b"( a -> b ) <-> #", b"'q' | 0"))

READERS: dict[str, Reader] = {
    **_READERS,
    "rules": Reader(_rules, _read_rules, ".json"),
    "constraint-text": Reader(_words, _read_words, ".txt", grammar=_TEXT),
    "expression": Reader(_expressions, _read_expression, ".txt", grammar=_EXPRESSION),
    "distribution": Reader(_distributions, _read_distribution, ".json"),
    "result-answers": Reader(_answers, _read_answers, ".json"),
}
if find_spec("skops") and find_spec("sklearn"):
    READERS["skops"] = SkopsReader(_whole_skops, _read_skops, ".skops", binary=True)
