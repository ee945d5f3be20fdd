"""Sentential decision diagrams and their vtrees in the files of the SDD library: ``.sdd`` and ``.vtree``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, has, quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.asserted import asserted
from axfi_kc.circuits.files.diagram_arrays import SddLines, scanned_sdd
from axfi_kc.circuits.files.nnf_arrays import built_circuit, fits
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf, circuit_of
from axfi_kc.circuits.files.sdd_primes import FALSE, TRUE, PlacedNode, are_exclusive, vtree_spans
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers, is_comment
from axfi_kc.circuits.files.variables import Variables, described_variables, description
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.domain import Domain
from axfi_kc.durable_files import write_pair, write_whole
from axfi_kc.errors import ArgumentError, ModelFileError

__all__ = ["load_sdd", "parse_vtree", "read_sdd", "read_vtree", "write_sdd", "write_vtree"]


_NODE = "'F id', 'T id', 'L id vtree literal' or 'D id vtree n (prime sub)...' with a new id and children above it"


@checked("vtree", "path")
def write_vtree(vtree: Vtree, path: FilePath) -> None:
    """Write a vtree over bits; bit k is variable k + 1, and nodes are numbered from left to right.

    Notes
    -----
    Linear.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_vtree(Vtree((-1, -1, 0), (-1, -1, 1), (0, 1, -1)), file := Path(folder, "a.vtree"))
    ...     print(file.read_text())
    ...     read_vtree(file)
    vtree 3
    L 0 1
    L 2 2
    I 1 0 2
    <BLANKLINE>
    Vtree(left=(-1, -1, 0), right=(-1, -1, 1), leaves=(0, 1, -1))
    """
    write_whole(path, vtree.text, what="The vtree")


@checked("path", "budget")
def read_vtree(path: FilePath, *, budget: Budget | None = None) -> Vtree:
    """Return the vtree in a file (cost: linear); a node of the budget is a line."""
    return parse_vtree(Source(path, budget=budget))[0]


def _rows(source: Source, word: bytes) -> Iterator[tuple[int, bytes, list[int]]]:
    """Yield number, letter and integers of each line after the header, which says how many there are."""
    claimed, found = -1, 0
    for number, line in source.numbered():
        words = line.split()
        if not words or words[0] == b"c":
            continue
        numbers = integers(words[1:])
        if claimed < 0:
            if words[0] != word or numbers is None or len(numbers) != 1 or numbers[0] < 1:
                source.fail_at(number, f"the header '{word.decode()} nodes'")
            claimed = numbers[0]
        elif numbers is None:
            source.fail_at(number, "a letter and integers")
        else:
            found += 1
            yield number, words[0], numbers
    if claimed < 0 or found != claimed:
        wanted = f"the header '{word.decode()} nodes'" if claimed < 0 else f"the {claimed} nodes that the header claims"
        source.fail(-1, wanted, "none" if claimed < 0 else str(found))


def parse_vtree(source: Source) -> tuple[Vtree, dict[int, int]]:
    """Return the vtree, and the node of each number in the file."""
    number: dict[int, int] = {}
    # `free` has the nodes without a parent. A child leaves it once, so there is no sharing; if one is left it is the
    # last line's, which no later line could name: the root is last, as Vtree wants it.
    free: set[int] = set()
    variables: set[int] = set()
    rows: list[tuple[int, int, int]] = []
    for line, letter, numbers in _rows(source, b"vtree"):
        if letter == b"L" and len(numbers) == 2 and numbers[1] > 0 and numbers[1] not in variables:
            variables.add(numbers[1])
            row = -1, -1, numbers[1] - 1
        elif letter == b"I" and len(numbers) == 3 and {*numbers[1:]} <= free and numbers[1] != numbers[2]:
            free -= {*numbers[1:]}
            row = number[numbers[1]], number[numbers[2]], -1
        else:
            source.fail_at(line, "'L id variable' with a new variable, or 'I id left right' with children above it")
        if numbers[0] in number:
            source.fail_at(line, "a new id")
        free.add(numbers[0])
        number[numbers[0]] = len(rows)
        rows.append(row)
    if len(free) != 1:
        source.fail(-1, "one root", f"{len(free)} nodes that are no child")
    if letter == b"L":  # a child that lacks digits is another one, and leaves two roots
        source.require_end(line)
    left, right, leaves = zip(*rows, strict=True)
    return Vtree(left, right, leaves), number


def _description(sdd: Any) -> list[str]:
    """Return comment lines that say what the variables mean, as far as the diagram knows."""
    if not hasattr(sdd, "bits"):
        return []
    tested = dict.fromkeys(bit.feature for bit in sdd.bits)
    order = [*tested, *(i for i in range(len(sdd.grid.axes)) if i not in tested)]
    return description(sdd.grid, sdd.code, order=order)


@checked("path", "domain", "vtree", "variables", "code", "budget")
def read_sdd(
    path: FilePath,
    domain: Domain | None = None,
    *,
    vtree: FilePath | None = None,
    variables: Variables | None = None,
    code: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    r"""Return the circuit of a sentential decision diagram, on the codes of the domain's points.

    Parameters
    ----------
    path, domain, variables, code, budget
        As in :func:`~axfi_kc.circuits.files.load_circuit`; the code is by default what the file says, or "direct".
    vtree
        The ``.vtree`` file; with it, every node is checked to respect the vtree, and whether primes exclude each
        other. Where they do, :func:`~axfi_kc.circuits.queries.determinism` knows the circuit to be deterministic.

    Notes
    -----
    Linear, but for the check of primes, which looks at pairs of nodes and gives up when there are too many. That primes
    cover everything is not checked.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuits import queries
    >>> from axfi_kc.domain import Integer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "either.sdd")
    ...     _ = file.write_text("sdd 5\nL 1 0 1\nT 2\nL 3 0 -1\nL 4 2 2\nD 0 1 2 1 2 3 4\n")
    ...     queries.count(read_sdd(file, Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    3
    """
    source = Source(path, budget=budget)
    known = variables or described_variables(source, domain, code)
    check = _Scopes(source.beside(vtree)) if vtree is not None else None
    if check is not None:
        check.require(len(known.bits))
    made = _built(source, known, check)
    if made is None:
        placed: list[PlacedNode] = []
        circuit = circuit_of(_parse_sdd(source, len(known.bits), check, placed), known, account=source.account)
        made = circuit, check is not None and are_exclusive(placed, check.vtree)
    # On codes, too: a point has one code, so parts that share no model share no point.
    circuit, is_exclusive = made
    if is_exclusive:
        note_deterministic(circuit)
    return circuit


def _built(source: Source, variables: Variables, check: _Scopes | None) -> tuple[Circuit, bool] | None:
    """Return the circuit of a large and regular file, and whether primes were shown to exclude each other.

    None for any other file, which is read line by line.
    """
    if variables.has_auxiliary or not fits(variables):
        return None
    first, line = next((found for found in source.beginning() if not is_comment(found[1])), (0, b""))
    words = line.split()
    claimed = integers(words[1:]) if words[:1] == [b"sdd"] else None
    if claimed is None or len(claimed) != 1 or not source.is_ended:
        return None
    lines = scanned_sdd(source.data, first, claimed[0], len(variables.bits))
    if lines is None or (check is not None and not check.are_placed(lines)):
        return None
    source.account.spend(len(lines.places))
    circuit = built_circuit(lines.nnf(len(variables.bits)), variables, source.account)
    if circuit is None or check is None:
        return None if circuit is None else (circuit, False)
    return circuit, lines.have_opposite_primes or are_exclusive(check.all_placed(lines), check.vtree)


class _Scopes:
    """Tells whether nodes lie where a vtree wants them."""

    def __init__(self, source: Source) -> None:
        vtree, self._number = parse_vtree(source)
        self._source = source
        self.vtree = vtree
        self._spans = vtree_spans(vtree)

    def require(self, n_variables: int) -> None:
        """Raise if the vtree is one of another number of variables."""
        found = sum(leaf >= 0 for leaf in self.vtree.leaves)
        if found != n_variables:
            expected = f"{n_variables} variables, as many as the features have bits"
            self._source.fail(-1, expected, str(found), "name the code, or pass variables=")

    def placed(self, letter: bytes, numbers: list[int], position: Mapping[int, int]) -> PlacedNode:
        """Return a node whose line was checked."""
        if letter in (b"F", b"T"):
            return PlacedNode(FALSE if letter == b"F" else TRUE)
        if letter == b"L":
            return PlacedNode(self._number[numbers[1]], numbers[2])
        ends = [position[k] for k in numbers[3:]]
        return PlacedNode(self._number[numbers[1]], 0, tuple(zip(ends[::2], ends[1::2], strict=True)))

    def are_placed(self, lines: SddLines) -> bool:
        """Tell whether all nodes of a diagram lie where the vtree wants them."""
        nodes = self._nodes_at(lines.places)
        is_leaf, is_decision = lines.literals != 0, np.diff(lines.offsets) > 0
        if (nodes[is_leaf | is_decision] < 0).any():
            return False
        leaves, left, right = (np.array(k, np.int64) for k in (self.vtree.leaves, self.vtree.left, self.vtree.right))
        if (leaves[nodes[is_leaf]] != np.abs(lines.literals[is_leaf]) - 1).any():
            return False
        at = np.repeat(nodes, np.diff(lines.offsets))  # the place of the decision that each end belongs to
        sides = np.where(np.arange(len(at)) % 2, right[at], left[at])
        if (sides < 0).any():
            return False
        starts, stops = np.array([(span.start, span.stop) for span in self._spans], dtype=np.int64).T
        inner = nodes[lines.ends]
        fits_in = (starts[sides] <= starts[inner]) & (stops[inner] <= stops[sides])
        return bool((fits_in | (lines.places[lines.ends] < 0)).all())

    def _nodes_at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the vtree's nodes at numbers of its file; -1 where there is none."""
        known = np.full(max(self._number, default=0) + 2, -1, np.int64)
        known[list(self._number)] = list(self._number.values())
        return known[np.where((places >= 0) & (places < len(known)), places, len(known) - 1)]

    def all_placed(self, lines: SddLines) -> list[PlacedNode]:
        """Return the nodes of a diagram, all of which lie where the vtree wants them."""
        nodes = np.where(lines.places < 0, lines.places, self._nodes_at(lines.places))
        pairs, offsets = list(zip(*[iter(lines.ends.tolist())] * 2, strict=True)), (lines.offsets // 2).tolist()
        spans = (tuple(pairs[a:b]) for a, b in pairwise(offsets))
        return list(map(PlacedNode, nodes.tolist(), lines.literals.tolist(), spans))

    def is_literal(self, place: int, literal: int) -> bool:
        node = self._number.get(place)
        return node is not None and self.vtree.leaves[node] == abs(literal) - 1

    def is_decision(self, place: int, primes: Sequence[int | None], subs: Sequence[int | None]) -> bool:
        """Tell whether primes lie left and subs right below a node; None is the place of a constant."""
        node = self._number.get(place)
        if node is None or self.vtree.left[node] < 0:
            return False
        sides = (primes, self._spans[self.vtree.left[node]]), (subs, self._spans[self.vtree.right[node]])
        return all(k is None or self._is_within(k, span) for places, span in sides for k in places)

    def _is_within(self, place: int, span: range) -> bool:
        inner = self._spans[self._number[place]]
        return span.start <= inner.start and inner.stop <= span.stop


def load_sdd(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    """Return what :func:`read_sdd` does, checked against the ``.vtree`` of the same name if there is one beside it."""
    vtree = Path(path).with_suffix(".vtree")
    beside = vtree if vtree.exists() else None
    return read_sdd(path, domain, vtree=beside, variables=variables, code=code, budget=budget)


def _parse_sdd(source: Source, n_variables: int, check: _Scopes | None, placed: list[PlacedNode]) -> Nnf:
    """Return the nodes over variables; with a vtree, `placed` gets those of the diagram itself."""
    nnf, number, position = Nnf(n_variables), dict[int, int](), dict[int, int]()
    places: dict[int, int | None] = {}
    for line, letter, numbers in _rows(source, b"sdd"):
        if not numbers or numbers[0] < 0 or numbers[0] in number or not _is_node(letter, numbers, number, n_variables):
            source.fail_at(line, _NODE)
        places[numbers[0]] = None if letter in b"FT" else numbers[1]
        if check is not None and not _fits(check, letter, numbers, places):
            source.fail_at(line, "a node that respects the vtree")
        if check is not None:
            position[numbers[0]] = len(placed)
            placed.append(check.placed(letter, numbers, position))
        number[numbers[0]] = _add(nnf, letter, numbers, number)
    if not source.is_ended and _could_go_on(letter, str(numbers[-1]), number, n_variables):
        source.require_end(line)
    return nnf


def _could_go_on(letter: bytes, last: str, known: Iterable[int], n_variables: int) -> bool:
    """Tell whether the last number of the root's line, in digits, begins another one that may stand there."""
    if letter == b"L":
        return 10 * abs(int(last)) <= n_variables
    return letter == b"D" and any(str(k).startswith(last) and str(k) != last for k in known)


def _is_node(letter: bytes, numbers: list[int], known: dict[int, int], n_variables: int) -> bool:
    if letter in (b"F", b"T"):
        return len(numbers) == 1
    if letter == b"L":
        return len(numbers) == 3 and 0 < abs(numbers[2]) <= n_variables
    elements = numbers[3:]
    return letter == b"D" and elements != [] and len(elements) == 2 * numbers[2] and all(k in known for k in elements)


def _fits(check: _Scopes, letter: bytes, numbers: list[int], places: dict[int, int | None]) -> bool:
    if letter == b"L":
        return check.is_literal(numbers[1], numbers[2])
    ends = [places[k] for k in numbers[3:]]
    return letter != b"D" or check.is_decision(numbers[1], ends[::2], ends[1::2])


def _add(nnf: Nnf, letter: bytes, numbers: list[int], number: dict[int, int]) -> int:
    if letter == b"L":
        return nnf.add(LITERAL, (numbers[2],))
    if letter != b"D":
        return nnf.add(CONJUNCTION if letter == b"T" else DISJUNCTION, ())
    ends = [number[k] for k in numbers[3:]]
    # Primes exclude each other, so this is deterministic; prime and sub share no variable, so it is decomposable.
    return nnf.add(DISJUNCTION, [nnf.add(CONJUNCTION, pair) for pair in zip(ends[::2], ends[1::2], strict=True)])


@checked("sdd", "path", "vtree")
def write_sdd(sdd: Any, path: FilePath, *, vtree: FilePath | None = None) -> None:
    """Write a sentential decision diagram, and its vtree, so that the SDD library loads them.

    Parameters
    ----------
    sdd
        An :class:`~axfi_kc.circuits.targets.sdd.Sdd`, or what has its ``vtree`` and ``nodes``.
    path
        The file; it is replaced if it exists.
    vtree
        The file of the vtree; by default `path` with the suffix ``.vtree``.

    Notes
    -----
    Linear. Nodes that the root does not reach are left out.
    """
    if not (has(sdd, "vtree") and has(sdd, "nodes")):
        raise ArgumentError(f"write_sdd takes an Sdd, but {quoted(sdd)} was given; compile to 'sdd' first.")
    if not Path(path).name:
        raise ModelFileError(f"An SDD needs a file to be written to, but {quoted(path)} names none; give a path.")
    nodes = asserted(sdd).nodes
    offsets, ends = nodes.offsets.tolist(), list(zip(nodes.primes.tolist(), nodes.subs.tolist(), strict=True))
    places, literals = nodes.vtree_nodes.tolist(), nodes.literals.tolist()
    reached = bytearray(int(nodes.root) + 1)
    reached[-1] = 1
    # Children come before parents, so one pass from the root, which is last, marks all that it reaches.
    for node in reversed(range(len(reached))):
        if reached[node]:
            for end in (k for pair in ends[offsets[node] : offsets[node + 1]] for k in pair):
                reached[end] = 1
    number: dict[int, int] = {}  # without gaps: the SDD library makes a table of as many as the header says
    lines = [*_description(sdd), f"sdd {sum(reached)}"]
    for node in (k for k, is_reached in enumerate(reached) if is_reached):
        number[node] = k = len(number)
        if node < 2:
            lines.append(f"{'FT'[node]} {k}")
        elif literals[node]:
            lines.append(f"L {k} {places[node]} {literals[node]}")
        else:
            elements = [number[end] for pair in ends[offsets[node] : offsets[node + 1]] for end in pair]
            lines.append(" ".join(map(str, ["D", k, places[node], len(elements) // 2, *elements])))
    beside = Path(path).with_suffix(".vtree") if vtree is None else vtree
    write_pair(path, "\n".join(lines) + "\n", beside, sdd.vtree.text, what="The SDD")
