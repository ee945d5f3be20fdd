"""Binary decision diagrams with complemented arcs, in files of CUDD (DDDMP) and of the library dd (JSON)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.asserted import asserted
from axfi_kc.circuits.files.diagram_arrays import FlatBdd, scanned_dd_json, scanned_dddmp
from axfi_kc.circuits.files.nnf_arrays import built_circuit, fits
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf, circuit_of
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers, shown
from axfi_kc.circuits.files.variables import Variables, boolean_domain, outer_names
from axfi_kc.circuits.targets.obdd import Obdd
from axfi_kc.domain.domain import Domain
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import CircuitError
from axfi_kc.json_text import distinct_keys

__all__ = [
    "TRUE",
    "Bdd",
    "bdd_of",
    "circuit_of_bdd",
    "nnf_of_bdd",
    "read_dd_json",
    "read_dddmp",
    "variable_numbers",
    "write_dd_json",
    "write_dddmp",
]


TRUE = 1  # and -1 is false
_PLAIN = re.compile(r"[!-~]+")  # printable ASCII without spaces
_JSON_NODE = re.compile(rb'"[0-9]+": \[')


@dataclass(frozen=True, slots=True)
class Bdd:
    """An ordered diagram as files hold it.

    Attributes
    ----------
    names
        The variables, from the top of the order down.
    nodes
        Node k + 2 as (level, where it goes on 0, where on 1), children first. A number below zero
        stands for the complement; 1 is true.
    root
        Such a number.
    """

    names: tuple[str, ...]
    nodes: Sequence[tuple[int, int, int]]
    root: int


def bdd_of(obdd: Obdd) -> Bdd:
    """Return a diagram in the form of CUDD: arcs for 1 are never complemented (cost: linear)."""
    reference = {0: -TRUE, 1: TRUE}
    number: dict[tuple[int, int, int], int] = {}
    for node, fork in obdd.forks.items():
        low, high = reference[fork.low], reference[fork.high]
        # A node whose 1-arc would be complemented is made as its complement and referred to with a minus. So a function
        # and its complement share one node, in one form.
        sign = 1 if high > 0 else -1
        key = fork.level, sign * low, sign * high
        reference[node] = sign * number.setdefault(key, len(number) + 2)
    return Bdd(tuple(outer_names(obdd.grid, obdd.bits)), list(number), reference[obdd.top])


def variable_numbers(names: Sequence[str], variables: Variables, *, partial: bool = False) -> list[int]:
    """Return the variable that each name is; with fewer names than bits, the file's cells are others.

    A variable goes by the name of its feature (:func:`~axfi_kc.circuits.files.variables.outer_names`) or by that of
    its bit.
    """
    outer = outer_names(variables.grid, variables.bits)
    number = {name: k for k, name in enumerate(outer, 1) if variables.bits[k - 1] is not None}
    if not set(names) <= set(number):
        number = {bit.name: k for k, bit in enumerate(variables.bits, 1) if bit is not None}
    unknown = next((name for name in names if name not in number), None)
    features = set(variables.grid.domain.names)
    of_features = len(names) != len(number) and all({n, n.rpartition("_")[0]} & features for n in names)
    if unknown is not None and not of_features:
        raise CircuitError(
            f"Expected variables named as the features' bits ({', '.join(list(number)[:3])}, ...), but the file has "
            f"{unknown[:40]!r}; name the code it was written with, or pass variables= with these names."
        )
    if unknown is not None or (len(names) != len(number) and not partial):
        raise CircuitError(
            f"Expected {len(number)} variables, as many as the features have bits, but the file declares {len(names)}; "
            "it was written over other cells or with another code, so name that code or pass variables=."
        )
    return [number[name] for name in names]


def circuit_of_bdd(bdd: Bdd, variables: Variables, *, partial: bool = False, account: Account | None = None) -> Circuit:
    """Return the circuit of a diagram whose variables are bits by name (cost: linear).

    With `partial`, bits that are no variable of the diagram are those it does not depend on.
    """
    return circuit_of(nnf_of_bdd(bdd, variables, partial=partial), variables, account=account)


def nnf_of_bdd(bdd: Bdd, variables: Variables, *, partial: bool = False) -> Nnf:
    """Return the diagram without complements (cost: linear; a node met both ways is made twice)."""
    if partial:
        used = {level for level, _, _ in bdd.nodes}
        found = variable_numbers([n for k, n in enumerate(bdd.names) if k in used], variables, partial=True)
        numbers = dict(zip(sorted(used), found, strict=True))
    else:
        numbers = dict(enumerate(variable_numbers(bdd.names, variables)))
    nnf = Nnf(len(variables.bits))
    made = {TRUE: nnf.add(CONJUNCTION, ()), -TRUE: nnf.add(DISJUNCTION, ())}
    literals: dict[int, int] = {}
    for node in _met(bdd):
        level, low, high = bdd.nodes[abs(node) - 2]
        sign = 1 if node > 0 else -1
        ends = []
        # The complement of a node has both ends complemented, so signs are pushed down until they meet a constant.
        for literal, end in ((numbers[level], sign * high), (-numbers[level], sign * low)):
            if literal not in literals:
                literals[literal] = nnf.add(LITERAL, (literal,))
            ends.append(nnf.add(CONJUNCTION, (literals[literal], made[end])))
        made[node] = nnf.add(DISJUNCTION, ends)
    # The last node is the root of an Nnf, but a constant root was made first.
    nnf.add(CONJUNCTION, (made[bdd.root],))
    return nnf


def _met(bdd: Bdd) -> list[int]:
    """Return the nodes that the root reaches, with their signs, children first."""
    seen, stack = {bdd.root}, [bdd.root]
    while stack:
        node = stack.pop()
        if abs(node) == TRUE:
            continue
        _, low, high = bdd.nodes[abs(node) - 2]
        for end in (low, high) if node > 0 else (-low, -high):
            if end not in seen:
                seen.add(end)
                stack.append(end)
    return sorted((node for node in seen if abs(node) != TRUE), key=lambda node: (abs(node), node < 0))


_Entries = dict[int, tuple[int, int, int, int]]  # number in the file: line, level, low, high


@checked("obdd", "path")
def write_dddmp(obdd: Obdd, path: FilePath) -> None:
    """Write a diagram as DDDMP 2.0 text, which CUDD and dd load.

    Parameters
    ----------
    obdd
        The diagram; variables are called as their features, with the bit's number where there are several.
    path
        The file; it is replaced if it exists.

    Notes
    -----
    Linear.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Grid, Integer
    >>> from axfi_kc.circuits.targets import obdd_of
    >>> build = CircuitBuilder(Grid.of_values(domain := Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dddmp(obdd_of(build.circuit(build.literal(0, [2]))), file := Path(folder, "a.dddmp"))
    ...     print(file.read_text().split(".nodes")[1])
    ...     read_dddmp(file, domain).size
    <BLANKLINE>
    1 T 1 0 0
    2 a_1 1 1 -1
    3 a_0 0 2 -1
    .end
    <BLANKLINE>
    Size(nodes=1, edges=1)
    """
    bdd = bdd_of(asserted(obdd))
    if not all(_PLAIN.fullmatch(name) for name in bdd.names):  # it is text of words: other names cannot be held
        bdd = replace(bdd, names=tuple(bit.name for bit in obdd.bits))
    levels = sorted({level for level, _, _ in bdd.nodes})
    names = [bdd.names[level] for level in levels]
    head = [
        ".ver DDDMP-2.0",
        ".mode A",
        ".varinfo 3",
        f".nnodes {len(bdd.nodes) + 1}",
        f".nvars {len(bdd.names)}",
        f".nsuppvars {len(levels)}",
        " ".join([".suppvarnames", *names]),
        " ".join([".orderedvarnames", *bdd.names]),
        " ".join([".ids", *map(str, levels)]),
        " ".join([".permids", *map(str, levels)]),
        ".nroots 1",
        f".rootids {bdd.root}",
        ".nodes",
        "1 T 1 0 0",
    ]
    # CUDD wants the position among the variables that occur, not the level.
    position = {level: k for k, level in enumerate(levels)}
    body = [f"{k} {bdd.names[i]} {position[i]} {high} {low}" for k, (i, low, high) in enumerate(bdd.nodes, 2)]
    write_whole(path, "\n".join([*head, *body, ".end", ""]), what="The diagram")


@checked("path", "domain", "variables", "code", "budget")
def read_dddmp(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str = "order",
    budget: Budget | None = None,
) -> Circuit:
    """Return the circuit of a diagram in DDDMP text with names of variables (``.varinfo 3``).

    Parameters
    ----------
    path, domain, code, budget
        As in :func:`~axfi_kc.circuits.files.load_circuit`; there must be one root. Without a domain, each variable is a
        feature of its name with the values 0 and 1.
    variables
        Bits by name, where the names are not those of a code.

    Notes
    -----
    Linear in nodes and sets of cells. Where the bits of each feature are neighbours in the order, the circuit
    is an ordered decision diagram over features.
    """
    source = Source(path, budget=budget)
    names, flat = _scanned_dddmp(source)
    made = None if flat is None else _built(source, flat, names, _known(names, domain, variables, code))
    if made is not None:
        return made
    bdd = _parse_dddmp(source)
    return circuit_of_bdd(bdd, _known(bdd.names, domain, variables, code), account=source.account)


def _built(source: Source, bdd: FlatBdd, names: Sequence[str], variables: Variables) -> Circuit | None:
    """Return the circuit of a large and regular file; None if kernels refuse it, and it is read line by line."""
    if variables.has_auxiliary or not fits(variables):
        return None
    source.account.spend(2 * len(bdd.levels))
    nnf = bdd.nnf(variable_numbers(names, variables), len(variables.bits))
    return built_circuit(nnf, variables, source.account)


def _scanned_dddmp(source: Source) -> tuple[Sequence[str], FlatBdd | None]:
    """Return the variables and nodes of a large and regular file; None for others."""
    fields: dict[bytes, list[bytes]] = {}
    first = -1
    for after, line in source.beginning():
        words = line.split()
        if words == [b".nodes"]:
            first = after
            break
        if words and (not words[0].startswith(b".") or words[0] in fields):
            break
        if words:
            fields[words[0]] = words[1:]
    single = [integers(fields.get(key, [])) or [] for key in (b".rootids", b".nnodes")]
    given = fields.get(b".orderedvarnames", [])
    names = [name.decode("utf-8", "replace") for name in given]
    is_whole = first >= 0 and names and len({*names}) == len(names) and [len(k) for k in single] == [1, 1]
    if not is_whole or any(fields.get(key) != [value] for key, value in _DDDMP):
        return (), None
    return names, scanned_dddmp(source.data, first, given, _positions(fields), single[1][0], single[0][0])


def _positions(fields: Mapping[bytes, Sequence[bytes]]) -> list[int]:
    """Return the position of each level among those that occur, -1 for others; nothing if the head lacks them."""
    occur = fields.get(b".suppvarnames")
    if occur is None:
        return []
    known, found, n = {*occur}, list[int](), 0
    for name in fields.get(b".orderedvarnames", []):
        found.append(n if name in known else -1)
        n += name in known
    return found


_DDDMP = ((b".ver", b"DDDMP-2.0"), (b".mode", b"A"), (b".varinfo", b"3"), (b".nroots", b"1"))


def _parse_dddmp(source: Source) -> Bdd:
    fields, first = _dddmp_fields(source)
    for key, value in _DDDMP:
        if fields.get(key) != [value]:
            found = shown(b" ".join(fields.get(key, [])))
            source.fail(-1, f"the line '{key.decode()} {value.decode()}'", found, "dump one diagram as text with names")
    names = tuple(name.decode("utf-8", "replace") for name in fields.get(b".orderedvarnames", []))
    places = dict(zip(names, enumerate(_positions(fields) or [None] * len(names)), strict=True))
    single = [integers(fields.get(key, [])) or [] for key in (b".rootids", b".nnodes")]
    if b".orderedvarnames" not in fields or len(places) != len(names) or [len(k) for k in single] != [1, 1]:
        source.fail(-1, "lines '.orderedvarnames', '.rootids' and '.nnodes'", "others")
    (root,), (size,) = single
    entries: _Entries = {}
    for number, line in source.numbered(first):
        words = line.split()
        if words == [b".end"]:
            break
        _add_dddmp(source, number, words, places, entries)
    else:
        source.fail(-1, "the line '.end'", "none")
    if any(line.strip() for line in source.lines[number + 1 :]):
        source.fail(number + 1, "nothing after '.end'", "more lines")
    if len(entries) != size:
        source.fail(-1, f"the {size} nodes of '.nnodes'", str(len(entries)))
    terminal = next((k for k, entry in entries.items() if entry[1] < 0), 0)
    return _bdd(source, names, entries, root, {terminal: TRUE} if terminal else {})


def _dddmp_fields(source: Source) -> tuple[dict[bytes, list[bytes]], int]:
    """Return the words of each line of the head, and the number of the first line after it."""
    fields: dict[bytes, list[bytes]] = {}
    for number, line in source.numbered():
        words = line.split()
        if words == [b".nodes"]:
            return fields, number + 1
        if words and (not words[0].startswith(b".") or words[0] in fields):
            source.fail_at(number, "a line of the head such as '.nvars 3', each once, and then '.nodes'")
        if words:
            fields[words[0]] = words[1:]
    return source.fail(-1, "the line '.nodes'", "none")


def _add_dddmp(
    source: Source, number: int, words: list[bytes], places: Mapping[str, tuple[int, int | None]], entries: _Entries
) -> None:
    """Enter the node of a line, given the level of each variable, and its position where that is known."""
    numbers = integers([words[0], *words[2:]]) if len(words) == 5 else None
    if numbers is None or numbers[0] < 1 or numbers[0] in entries:
        source.fail_at(number, "a node 'number name position then else' with a new number")
    level, position = places.get(words[1].decode("utf-8", "replace"), (-1, None))
    if words[1] in (b"T", b"1") and numbers[2:] == [0, 0]:
        if any(entry[1] < 0 for entry in entries.values()):
            source.fail_at(number, "one terminal node")
        entries[numbers[0]] = number, -1, 0, 0
    elif level < 0 or position == -1:
        source.fail_at(number, "a variable of '.orderedvarnames', and of '.suppvarnames' if there is such a line")
    elif position not in (None, numbers[1]):
        source.fail(number, f"position {position}, that of its variable among '.suppvarnames'", str(numbers[1]))
    else:
        entries[numbers[0]] = number, level, numbers[3], numbers[2]


def _bdd(source: Source, names: tuple[str, ...], entries: _Entries, root: int, constants: Mapping[int, int]) -> Bdd:
    """Return the diagram of entries in any order, after checking that levels increase on every arc."""
    # Levels increase on every arc, so going by level from the bottom numbers children first; the check below, which
    # also rules out cycles, fails for files where they do not.
    order = sorted((k for k in entries if entries[k][1] >= 0), key=lambda k: -entries[k][1])
    number = dict(constants) | {k: position for position, k in enumerate(order, 2)}

    def reference(line: int, k: int) -> int:
        if abs(k) not in number:
            source.fail(line, "a number of a node", str(k)[:40])
        return number[abs(k)] if k > 0 else -number[abs(k)]

    nodes: list[tuple[int, int, int]] = []
    for k in order:
        source.account.spend(1)
        line, level, *ends = entries[k]
        low, high = (reference(line, end) for end in ends)
        if any(
            abs(end) != TRUE and (abs(end) - 2 >= len(nodes) or nodes[abs(end) - 2][0] <= level) for end in (low, high)
        ):
            source.fail(line, "arcs to variables further down the order", f"others at node {k}")
        nodes.append((level, low, high))
    return Bdd(names, nodes, reference(-1, root))


@checked("obdd", "path")
def write_dd_json(obdd: Obdd, path: FilePath) -> None:
    """Write a diagram as dd's JSON, which dd's managers load: one node a line, as dd wants it (cost: linear)."""
    bdd = bdd_of(asserted(obdd))
    levels = {name: level for level, name in enumerate(bdd.names)}
    end = {TRUE: '"T"', -TRUE: '"F"'}
    lines = [f'"level_of_var": {json.dumps(levels)}', f'"roots": [{bdd.root}]']
    lines += [
        f'"{k}": [{level}, {end.get(low, low)}, {end.get(high, high)}]'
        for k, (level, low, high) in enumerate(bdd.nodes, 2)
    ]
    write_whole(path, "{\n" + ",\n".join(lines) + "\n}\n", what="The diagram")


@checked("path", "domain", "variables", "code", "budget")
def read_dd_json(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str = "order",
    budget: Budget | None = None,
) -> Circuit:
    """Return the circuit of a diagram in dd's JSON.

    Notes
    -----
    Parameters and cost are those of :func:`read_dddmp`. dd itself writes the constants, as roots, in a way that
    cannot be read.
    """
    source = Source(path, budget=budget)
    names, flat = _scanned_dd_json(source)
    made = None if flat is None else _built(source, flat, names, _known(names, domain, variables, code))
    if made is not None:
        return made
    bdd = _parse_dd_json(source)
    return circuit_of_bdd(bdd, _known(bdd.names, domain, variables, code), account=source.account)


def _known(names: Sequence[str], domain: Domain | None, variables: Variables | None, code: str) -> Variables:
    """Return what the variables mean: without a domain, each is a feature of its name."""
    if variables is None and domain is None:
        domain = boolean_domain(names)
    return Variables.given(domain, variables, code, kind="A diagram's file")


def _scanned_dd_json(source: Source) -> tuple[Sequence[str], FlatBdd | None]:
    """Return the variables and nodes of a large and regular file; None for others."""
    begin = 0
    for after, line in source.beginning():
        if _JSON_NODE.match(line):
            break
        begin = after
    else:
        return (), None
    head = source.data[:begin].rstrip()
    try:
        # The head is an object of its own, but for its end.
        document = json.loads(head[:-1] + b"}", object_pairs_hook=distinct_keys) if head.endswith(b",") else None
    except (ValueError, RecursionError):
        return (), None
    levels, roots = _json_levels(document), _json_roots(document)
    if document is None or levels is None or roots is None or len(document) != 2:
        return (), None
    names = sorted(levels, key=levels.__getitem__)
    return names, scanned_dd_json(source.data, begin, len(levels), _json_number(roots[0]))


def _json_levels(document: Any) -> dict[str, int] | None:
    """Return the level of each variable; None if these are not the levels from 0 on, each once."""
    levels = document.get("level_of_var") if isinstance(document, dict) else None
    # By repr, because in Python True == 1 == 1.0, and only integers are levels.
    if not isinstance(levels, dict) or {repr(k) for k in levels.values()} != {repr(k) for k in range(len(levels))}:
        return None
    return levels


def _json_roots(document: Any) -> list[Any] | None:
    """Return the one root as a list; None for others."""
    roots = document.get("roots") if isinstance(document, dict) else None
    found = list(roots.values()) if isinstance(roots, dict) else roots
    return found if isinstance(found, list) and len(found) == 1 and _json_number(found[0]) is not None else None


def _parse_dd_json(source: Source) -> Bdd:
    document = source.document()
    levels, found = _json_levels(document), _json_roots(document)
    given = document if isinstance(document, dict) else {}
    if levels is None:
        source.fail(-1, "'level_of_var' with the levels from 0 on, each once", _abridged(given.get("level_of_var")))
    if found is None:
        source.fail(-1, "'roots' with one root, a number", _abridged(given.get("roots")), "dump one diagram")
    del document["level_of_var"], document["roots"]
    entries: _Entries = {}
    for key, entry in document.items():
        node, row = integers([key.encode("ascii", "replace")]), _json_row(entry, len(levels))
        if node is None or node[0] <= TRUE or node[0] in entries or row is None:
            source.fail(-1, '"number": [level, low, high] with a new number above 1', _abridged({key: entry}))
        entries[node[0]] = -1, *row
    names = tuple(sorted(levels, key=levels.__getitem__))
    return _bdd(source, names, entries, _json_number(found[0]), {TRUE: TRUE})


def _abridged(value: object) -> str:
    return shown(repr(value)[:80].encode())


def _json_row(entry: Any, n_levels: int) -> tuple[int, int, int] | None:
    """Return level, low and high; None if they are none."""
    if not isinstance(entry, list) or len(entry) != 3:
        return None
    level, low, high = entry[0], _json_number(entry[1]), _json_number(entry[2])
    if type(level) is not int or not 0 <= level < n_levels or low is None or high is None:
        return None
    return level, low, high


def _json_number(value: Any) -> Any:
    """Return an end of an arc as a number, T and F as 1 and -1; None for anything else."""
    if isinstance(value, str):
        return {"T": TRUE, "F": -TRUE}.get(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
