"""Negation normal forms in ``.nnf`` files, in the dialects of c2d (and dsharp) and of d4.

d4 numbers its nodes, and gives arcs lines of their own that carry literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.asserted import asserted
from axfi_kc.circuits.files.nnf_arrays import LARGE, FlatNnf, built_circuit, c2d_text, fits, scanned, written_nnf
from axfi_kc.circuits.files.nnf_nodes import (
    CONJUNCTION,
    DISJUNCTION,
    LITERAL,
    Nnf,
    children_first,
    circuit_of,
    first_bits,
    nnf_of,
)
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers, is_comment
from axfi_kc.circuits.files.variables import Variables, described_variables, description
from axfi_kc.circuits.targets.bit_codes import CODES
from axfi_kc.domain.domain import Domain
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import CircuitError

__all__ = ["DIALECTS", "d4_lines", "parse_d4", "parse_nnf", "read_nnf", "write_nnf"]


_KINDS = {b"o": DISJUNCTION, b"a": CONJUNCTION, b"t": CONJUNCTION, b"f": DISJUNCTION}
_ROOT = 1
_TRUE, _TOP = -1, -2  # where an arc leads that carries only literals, and the root that is written above the circuit's


class _Lines:
    """The nodes and arcs of a file by their numbers, in no order."""

    def __init__(self, source: Source, n_variables: int) -> None:
        self.source = source
        self.n_variables = n_variables
        self.kind_of: dict[int, int] = {}
        self.line_of: dict[int, int] = {}
        self.is_leaf: set[int] = set()
        self.arcs_of: dict[int, list[Sequence[int]]] = {}  # (line, child, literals...)
        self.ends_at_root = False  # whether the last line is an arc of the root
        for number, line in source.numbered():
            words = line.split()
            if words and words[0] != b"c":
                self._add(number, words)
        if _ROOT not in self.kind_of:
            source.fail(-1, f"a root, node {_ROOT}", "none")

    def _add(self, number: int, words: list[bytes]) -> None:
        is_node = words[0] in _KINDS
        numbers = integers(words[1:] if is_node else words)
        if numbers is None or not numbers or numbers[-1] != 0:
            self.source.fail_at(number, "a node 'o|a|t|f number 0' or an arc 'from to literals... 0'")
        if len(numbers) != 2 if is_node else 0 in numbers[:-1]:
            self.source.fail(
                number,
                "a plain line of d4",
                "the fields of d4's certified variant",
                "have d4 write the circuit without certificate",
            )
        if is_node:
            self._add_node(number, words[0], numbers[0])
        else:
            self._add_arc(number, numbers)

    def _add_node(self, number: int, letter: bytes, node: int) -> None:
        if node < 1 or node in self.kind_of:
            self.source.fail(number, "a node number above 0 that is new", str(node))
        self.kind_of[node] = _KINDS[letter]
        self.line_of[node] = number
        self.ends_at_root = False
        if letter in (b"t", b"f"):
            self.is_leaf.add(node)

    def _add_arc(self, number: int, numbers: list[int]) -> None:
        literals = numbers[2:-1]
        if len(numbers) < 3:
            self.source.fail_at(number, "an arc 'from to literals... 0'")
        if literals and max(max(literals), -min(literals)) > self.n_variables:
            self.source.fail_at(number, f"literals of the variables 1 to {self.n_variables}")
        self.arcs_of.setdefault(numbers[0], []).append((number, *numbers[1:-1]))
        self.ends_at_root = numbers[0] == _ROOT

    def children_first(self) -> Iterator[int]:
        """Return the nodes below the root, each after its children."""
        # Before the walk, which then meets declared nodes only; faults that the root does not reach are found, too.
        self._check_arcs()
        self._check_whole()
        return children_first(_ROOT, lambda node: [arc[1] for arc in self.arcs_of.get(node, ())], self._fail_at_cycle)

    def _fail_at_cycle(self, node: int, child: int) -> NoReturn:
        line = next(arc[0] for arc in self.arcs_of[node] if arc[1] == child)
        self.source.fail(line, "an acyclic circuit", f"an arc back to node {child}")

    def _check_arcs(self) -> None:
        for node, arcs in self.arcs_of.items():
            if node not in self.kind_of or node in self.is_leaf:
                found = "a constant" if node in self.is_leaf else "which no line declares"
                self.source.fail(arcs[0][0], "an arc from a node 'o' or 'a'", f"one from node {node}, {found}")
            for arc in arcs:
                if arc[1] not in self.kind_of:
                    self.source.fail(arc[0], "an arc to a declared node", f"one to node {arc[1]}")

    def _check_whole(self) -> None:
        """Raise where lines are missing.

        d4 writes a node, then for each child all below it and the arc to it. So whole files end with an arc of the
        root, and a node to which no arc leads is a dead one of d4's. In other files its arc was cut off.
        """
        bare = next((k for k in self.kind_of if k not in self.arcs_of and k not in self.is_leaf), None)
        if bare is not None:
            self.source.fail(self.line_of[bare], f"arcs from node {bare}, an 'o' or 'a'", "none")
        met = {arc[1] for arcs in self.arcs_of.values() for arc in arcs} | {_ROOT}
        lost = next((k for k in self.kind_of if k not in met), None)
        if lost is not None and not self.ends_at_root:
            self.source.fail(self.line_of[lost], f"an arc to node {lost}, or one of the root as the last line", "none")


def parse_d4(source: Source, *, n_variables: int) -> Nnf:
    """Return the nodes of a file in d4's dialect that the root reaches (cost: linear)."""
    lines = _Lines(source, n_variables)
    nnf, literals, number = Nnf(n_variables), dict[int, int](), dict[int, int]()
    for node in lines.children_first():
        source.account.spend(1)
        parts: list[int] = []
        for _, child, *carried in lines.arcs_of.get(node, ()):
            for literal in carried:
                if literal not in literals:
                    literals[literal] = nnf.add(LITERAL, (literal,))
            if carried:
                parts.append(nnf.add(CONJUNCTION, [*(literals[k] for k in carried), number[child]]))
            else:
                parts.append(number[child])
        number[node] = nnf.add(lines.kind_of[node], parts)
    return nnf


def d4_lines(nnf: Nnf) -> list[str]:
    """Return the lines of a file in d4's dialect; conjunctions of literals and at most one gate become arcs."""
    ends = _ends(nnf)
    # A node that becomes an arc has no number. The root has one arc, in the last line: a file that was cut lacks it.
    named = [node for node in reversed(range(len(nnf.kinds))) if ends[node] == (node,)]
    number = {_TOP: _ROOT} | {node: k for k, node in enumerate(named, _ROOT + 1)}
    number[_TRUE] = len(number) + 1
    lines = [f"o {_ROOT} 0", *(f"{_letter(nnf, node)} {number[node]} 0" for node in named)]
    arcs = [*(arc for node in named for arc in _arcs(nnf, node, ends)), (_TOP, *ends[-1])]
    if any(arc[1] == _TRUE for arc in arcs):
        lines.append(f"t {number[_TRUE]} 0")
    lines += [" ".join(map(str, (number[start], number[end], *literals, 0))) for start, end, *literals in arcs]
    return lines


def _letter(nnf: Nnf, node: int) -> str:
    if nnf.parts[node]:
        return "o" if nnf.kinds[node] == DISJUNCTION else "a"
    return "f" if nnf.kinds[node] == DISJUNCTION else "t"


def _ends(nnf: Nnf) -> list[tuple[int, ...]]:
    """Return for each node where an arc to it leads, and the literals that such an arc carries."""
    ends: list[tuple[int, ...]] = []
    for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
        end: tuple[int, ...] = (node,)
        if kind == LITERAL:
            end = _TRUE, parts[0]
        elif kind == CONJUNCTION:
            gates = [part for part in parts if nnf.kinds[part] != LITERAL]
            # At most one gate, as an arc has one end, and at least one literal. The gate must be a node itself: one
            # that is an arc has no number to lead to.
            if len(gates) < min(2, len(parts)) and all(ends[gate] == (gate,) for gate in gates):
                end = (*(gates or [_TRUE]), *(nnf.parts[part][0] for part in parts if nnf.kinds[part] == LITERAL))
        ends.append(end)
    return ends


def _arcs(nnf: Nnf, node: int, ends: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the arcs of a node; the literals of a conjunction go on one arc."""
    if nnf.kinds[node] == DISJUNCTION:
        return [(node, *ends[part]) for part in nnf.parts[node]]
    gates = [(node, *ends[part]) for part in nnf.parts[node] if nnf.kinds[part] != LITERAL]
    literals = [nnf.parts[part][0] for part in nnf.parts[node] if nnf.kinds[part] == LITERAL]
    return [*gates, (node, _TRUE, *literals)] if literals else gates


DIALECTS = ("c2d", "d4")
_NODE = "a node 'L literal', 'A n children' or 'O variable n children' with children above it"


@checked("path", "domain", "variables", "code", "dialect", "budget")
def read_nnf(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str | None = None,
    dialect: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    r"""Return the circuit in an ``.nnf`` file, on the codes of the domain's points.

    Parameters
    ----------
    path, domain, variables, code, budget
        As in :func:`~axfi_kc.circuits.files.load_circuit`; the code is by default what the file says, or "direct".
    dialect
        "c2d" or "d4"; by default seen from the text.

    Raises
    ------
    ModelFileError
        If the file is of the certified variant of d4, too.
    CircuitError
        If there are auxiliary variables and the circuit is not decomposable, so that they cannot be forgotten.

    Notes
    -----
    Linear. Determinism is not checked here, but by the first count; bit vectors that are no code play no part. Two bits
    of one feature in different parts of a conjunction make a circuit that is not decomposable in the features,
    which linear counting refuses: make an ordered diagram of it.

    Files that were cut short are refused. The header of c2d's files counts nodes and edges, and a last line without its
    end is refused where its last number could have more digits. d4's files count nothing: a file that lacks only the
    last arcs of a root with several arcs, to nodes that other arcs lead to as well, cannot be told from a whole one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from axfi_kc.circuits import queries
    >>> from axfi_kc.domain import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "either.nnf")
    ...     _ = file.write_text("nnf 5 4 2\nL 1\nL -1\nL 2\nA 2 1 2\nO 1 2 0 3\n")
    ...     queries.count(read_nnf(file, domain))
    3
    """
    source = Source(path, budget=budget)
    known = variables or described_variables(source, domain, code)
    n_bits = len(known.bits)
    made = _read_fast(source, known) if dialect in (None, "c2d") else None
    if made is not None:
        return made
    nnf = parse_nnf(source, n_variables=n_bits, dialect=dialect)
    if nnf.n_variables != n_bits:
        source.fail(
            -1,
            f"{n_bits} variables, as many as the features have bits",
            str(nnf.n_variables),
            "name the code, or pass variables=",
        )
    return circuit_of(nnf, known, account=source.account)


def _read_fast(source: Source, variables: Variables) -> Circuit | None:
    """Return the circuit of a large and regular file of c2d; None for any other, which is read line by line."""
    if variables.has_auxiliary or not fits(variables):
        return None
    first, line = next((found for found in source.beginning() if not is_comment(found[1])), (0, b""))
    words = line.split()
    given = integers(words[1:]) if words[:1] == [b"nnf"] else None
    if given is None or len(given) != 3 or min(given) < 0 or given[2] != len(variables.bits):
        return None
    nnf = scanned(source.data, first, (given[0], given[1], given[2]))
    if nnf is None or given[1] not in _edge_counts(len(nnf.parts) - int((nnf.kinds == LITERAL).sum())):
        return None
    last = nnf.parts[int(nnf.offsets[-2]) :].tolist()
    if not source.is_ended and _could_go_on(int(nnf.kinds[-1]), last, len(nnf), nnf.n_variables):
        return None
    source.account.spend(len(nnf))
    return built_circuit(nnf, variables, source.account)


def parse_nnf(source: Source, *, n_variables: int, dialect: str | None = None) -> Nnf:
    """Return the nodes of a file in either dialect; the one of d4 does not say its number of variables."""
    if dialect not in (None, *DIALECTS):
        raise CircuitError(
            f"A dialect must be 'c2d', 'd4' or None, but {quoted(dialect)} was given; name one of these."
        )
    for number, line in enumerate(source.lines):
        words = line.split(None, 1)
        if not words or words[0] == b"c":
            continue
        if (dialect or "c2d") == "c2d" and words[0] == b"nnf":
            return _parse_c2d(source, number)
        if (dialect or "d4") == "d4" and words[0] in (b"o", b"a", b"t", b"f"):
            return parse_d4(source, n_variables=n_variables)
        source.fail_at(number, "the header 'nnf nodes edges variables' of c2d, or a node 'o 1 0' of d4")
    return source.fail(-1, "a circuit", "no line of one")


def _parse_c2d(source: Source, header: int) -> Nnf:
    given = integers(source.lines[header].split()[1:])
    if given is None or len(given) != 3 or min(given) < 0:
        source.fail_at(header, "the header 'nnf nodes edges variables'")
    n_nodes, n_edges, n_variables = given
    nnf, last = Nnf(n_variables), header
    for number, line in source.numbered(header + 1):
        words = line.split()
        if not words or words[0] == b"c":
            continue
        last = number
        try:
            if b"_" in line:  # Python takes 1_0 for 10
                raise ValueError
            _add(nnf, words[0], list(map(int, words[1:])))
        except ValueError:
            source.fail_at(number, _NODE)
    if not nnf.kinds:
        source.fail(-1, "at least one node, the root last", "none")
    if len(nnf.kinds) != n_nodes:
        source.fail(header, f"the {n_nodes} nodes that the header claims", str(len(nnf.kinds)))
    found = sum(len(parts) for kind, parts in zip(nnf.kinds, nnf.parts, strict=True) if kind != LITERAL)
    if n_edges not in _edge_counts(found):
        source.fail(header, f"the {n_edges} edges that the header claims", str(found))
    if _could_go_on(nnf.kinds[-1], nnf.parts[-1], n_nodes, n_variables):
        source.require_end(last)
    return nnf


def _edge_counts(n: int) -> tuple[int, ...]:
    """Return the counts of n edges in headers: dsharp's is one more if its root had one child, ddnnife's is 0."""
    return 0, n, n + 1


def _could_go_on(kind: int, parts: Sequence[int], n_nodes: int, n_variables: int) -> bool:
    """Tell whether the last number of the root's line could have more digits: that of a literal, or of a child."""
    most = n_variables if kind == LITERAL else n_nodes - 2
    return len(parts) > 0 and 0 < 10 * abs(parts[-1]) <= most


def _add(nnf: Nnf, kind: bytes, numbers: list[int]) -> None:
    """Append the node of a line; a ValueError says that it is none."""
    if kind == b"L":
        if len(numbers) != 1 or not 0 < abs(numbers[0]) <= nnf.n_variables:
            raise ValueError
        nnf.kinds.append(LITERAL)
        nnf.parts.append(numbers)
        return
    skipped = 2 if kind == b"O" else 1
    parts = numbers[skipped:]
    if kind not in (b"A", b"O") or len(numbers) < skipped or len(parts) != numbers[skipped - 1]:
        raise ValueError
    if parts and (min(parts) < 0 or max(parts) >= len(nnf.kinds)):
        raise ValueError
    # The variable that decides is the compiler's claim: it is checked to be one, and nothing relies on it.
    if kind == b"O" and not 0 <= numbers[0] <= nnf.n_variables:
        raise ValueError
    nnf.kinds.append(CONJUNCTION if kind == b"A" else DISJUNCTION)
    nnf.parts.append(parts)


@checked("circuit", "path", "code", "dialect")
def write_nnf(circuit: Circuit, path: FilePath, *, code: str = "direct", dialect: str = "c2d") -> None:
    """Write the codes of the circuit's points to an ``.nnf`` file.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions.
    path
        The file; it is replaced if it exists.
    code
        How a feature's cells are written; see :func:`~axfi_kc.circuits.targets.bit_codes.bits_of`.
    dialect
        "c2d", with comment lines from which :func:`read_nnf` gets the features back, or "d4", which has no comments.

    Raises
    ------
    CircuitError
        If the code or the dialect is unknown.

    Notes
    -----
    The models of the file over all its variables are the codes of the circuit's points, one each;
    see :func:`~axfi_kc.circuits.files.nnf_nodes.nnf_of` for what is kept and what it costs. Features that the
    circuit was conditioned on are asserted to lie in their cells.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Categorical, Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Categorical("a", "xyz")])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_nnf(build.circuit(build.literal(0, [1])), file := Path(folder, "y.nnf"), dialect="d4")
    ...     print(file.read_text())
    o 1 0
    a 2 0
    t 3 0
    2 3 2 -3 0
    2 3 -1 0
    1 2 0
    <BLANKLINE>
    """
    if dialect not in DIALECTS:
        raise CircuitError(f"A dialect must be 'c2d' or 'd4', but {quoted(dialect)} was given; name one of these.")
    if code not in CODES:
        raise CircuitError(f"A code is one of {', '.join(CODES)}, but {quoted(code)} was given; name one of these.")
    circuit = asserted(circuit)
    if dialect == "d4":
        text = _text(d4_lines(nnf_of(circuit, code=code)))
    else:
        text = _text(description(circuit.grid, code)) + _c2d_text(circuit, code)
    write_whole(path, text, what="The circuit")


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _c2d_text(circuit: Circuit, code: str) -> bytes:
    flat = written_nnf(circuit, first_bits(circuit.grid, code), code=code)
    if flat is not None:
        return c2d_text(flat, {})
    nnf = nnf_of(circuit, code=code)
    if len(nnf.kinds) < LARGE:
        return _text(_c2d_lines(nnf))
    return c2d_text(FlatNnf.of(nnf.n_variables, nnf.kinds, nnf.parts), nnf.choices)


def _c2d_lines(nnf: Nnf) -> Iterable[str]:
    edges = sum(len(parts) for kind, parts in zip(nnf.kinds, nnf.parts, strict=True) if kind != LITERAL)
    yield f"nnf {len(nnf.kinds)} {edges} {nnf.n_variables}"
    for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
        if kind == LITERAL:
            yield f"L {parts[0]}"
            continue
        first = "A" if kind == CONJUNCTION else f"O {nnf.choices.get(node, 0)}"
        yield " ".join([first, str(len(parts)), *map(str, parts)])
