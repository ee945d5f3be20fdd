"""Negation normal forms in the dialects of c2d (and dsharp) and of d4: ``.nnf`` files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit
from axfi_kc.domain import Domain
from axfi_kc.errors import CircuitError
from axfi_kc.formats.descriptions import described_variables, description
from axfi_kc.formats.nnf_codes import nnf_of
from axfi_kc.formats.nnf_d4 import d4_lines, parse_d4
from axfi_kc.formats.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf, circuit_of
from axfi_kc.formats.text_lines import FilePath, Source, integers
from axfi_kc.formats.variables import Variables

__all__ = ["DIALECTS", "parse_nnf", "read_nnf", "write_nnf"]

DIALECTS = ("c2d", "d4")
_NODE = "a node 'L literal', 'A n children' or 'O variable n children' with children above it"


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
    path
        The file.
    domain
        The features, each value a cell; by default what the file says of itself, if this library wrote it.
    variables
        What each variable says, where it is not the numbering of a code; then `domain` and `code` are not used.
    code
        How the features' values are written: "direct", "order" or "binary"; by default what the file says,
        or "direct".
    dialect
        "c2d" or "d4"; by default seen from the text.
    budget
        What reading may cost; a node of it is a line of the file, or a node made of it.

    Raises
    ------
    ModelFileError
        If the file is damaged, is of the certified variant of d4, or does not fit the variables.
    CircuitError
        If there are auxiliary variables and the circuit is not decomposable, so that they cannot be forgotten.
    BudgetError
        If the budget is spent.

    Notes
    -----
    Linear. Determinism is not checked; bit vectors that are no code play no part. Two bits of one
    feature in different parts of a conjunction make a circuit that is not decomposable in the features,
    which linear counting refuses: make an ordered diagram of it.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc import queries
    >>> from axfi_kc.features import Integer
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
    nnf = parse_nnf(source, n_variables=n_bits, dialect=dialect)
    if nnf.n_variables != n_bits:
        source.fail(
            -1,
            f"{n_bits} variables, as many as the features have bits",
            str(nnf.n_variables),
            "name the code, or pass variables=",
        )
    return circuit_of(nnf, known, account=source.account)


def parse_nnf(source: Source, *, n_variables: int, dialect: str | None = None) -> Nnf:
    """Return the nodes of a file in either dialect; the one of d4 does not say its number of variables."""
    if dialect not in (None, *DIALECTS):
        raise CircuitError(f"A dialect must be 'c2d', 'd4' or None, but {dialect!r} was given; name one of these.")
    for number, line in enumerate(source.lines):
        words = line.split(None, 1)
        if not words or _is_comment(words[0]):
            continue
        if (dialect or "c2d") == "c2d" and words[0] == b"nnf":
            return _parse_c2d(source, number)
        if (dialect or "d4") == "d4" and words[0] in (b"o", b"a", b"t", b"f"):
            return parse_d4(source, n_variables=n_variables)
        source.fail_at(number, "the header 'nnf nodes edges variables' of c2d, or a node 'o 1 0' of d4")
    return source.fail(-1, "a circuit", "no line of one")


def _is_comment(word: bytes) -> bool:
    return word == b"c"


def _parse_c2d(source: Source, header: int) -> Nnf:
    given = integers(source.lines[header].split()[1:])
    if given is None or len(given) != 3 or min(given) < 0:
        source.fail_at(header, "the header 'nnf nodes edges variables'")
    n_nodes, _, n_variables = given  # dsharp miscounts the edges of a literal
    nnf = Nnf(n_variables)
    for number, line in source.numbered(header + 1):
        words = line.split()
        if not words or _is_comment(words[0]):
            continue
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
    return nnf


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
    if kind == b"O" and not 0 <= numbers[0] <= nnf.n_variables:
        raise ValueError
    nnf.kinds.append(CONJUNCTION if kind == b"A" else DISJUNCTION)
    nnf.parts.append(parts)


def write_nnf(circuit: Circuit, path: FilePath, *, code: str = "direct", dialect: str = "c2d") -> None:
    """Write the codes of the circuit's points to an ``.nnf`` file.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions.
    path
        The file; it is replaced if it exists.
    code
        How a feature's cells are written; see :func:`~axfi_kc.targets.bit_codes.bits_of`.
    dialect
        "c2d", with comment lines from which :func:`read_nnf` gets the features back, or "d4", which has no comments.

    Raises
    ------
    CircuitError
        If the code or the dialect is unknown.

    Notes
    -----
    The models of the file over all its variables are the codes of the circuit's points, one each;
    see :func:`~axfi_kc.formats.nnf_codes.nnf_of` for what is kept and what it costs.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.features import Categorical
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Categorical("a", "xyz")])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_nnf(build.circuit(build.literal(0, [1])), file := Path(folder, "y.nnf"), dialect="d4")
    ...     print(file.read_text())
    a 1 0
    t 2 0
    1 2 2 -3 0
    1 2 -1 0
    <BLANKLINE>
    """
    if dialect not in DIALECTS:
        raise CircuitError(f"A dialect must be 'c2d' or 'd4', but {dialect!r} was given; name one of these.")
    nnf = nnf_of(circuit, code=code)
    lines = d4_lines(nnf) if dialect == "d4" else [*description(circuit.grid, code), *_c2d_lines(nnf)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def _c2d_lines(nnf: Nnf) -> Iterable[str]:
    edges = sum(len(parts) for kind, parts in zip(nnf.kinds, nnf.parts, strict=True) if kind != LITERAL)
    yield f"nnf {len(nnf.kinds)} {edges} {nnf.n_variables}"
    for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
        if kind == LITERAL:
            yield f"L {parts[0]}"
            continue
        first = "A" if kind == CONJUNCTION else f"O {nnf.choices.get(node, 0)}"
        yield " ".join([first, str(len(parts)), *map(str, parts)])
