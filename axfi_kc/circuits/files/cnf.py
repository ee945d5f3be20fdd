"""Clauses in the format of the Model Counting Competition, for counters, and for dsharp of problog's wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget, Watch
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files.asserted import asserted, unset
from axfi_kc.circuits.files.clause_nodes import nnf_of_clauses, nnf_of_gates
from axfi_kc.circuits.files.counting_problems import CountingProblem
from axfi_kc.circuits.files.nnf import parse_nnf
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, LITERAL, Nnf, circuit_of, nnf_of, undecomposable
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers, shown
from axfi_kc.circuits.files.variables import Variables, described_variables, description, is_described
from axfi_kc.circuits.targets.bit_codes import Bit
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import AxfiError, BudgetError, CircuitError, MissingExtraError, ModelFileError

__all__ = [
    "clauses_of",
    "compile_clauses_with_dsharp",
    "compile_with_dsharp",
    "parse_count_answer",
    "read_clauses",
    "read_cnf",
    "write_cnf",
]


_MOST_DIGITS = 1_000_000
_CHUNK = 4_000  # digits; Python converts 4,300 at a time


@checked("circuit", "path", "code", "weights", "projected")
def write_cnf(
    circuit: Circuit, path: FilePath, *, code: str = "direct", weights: bool = True, projected: bool = False
) -> Variables:
    """Write clauses with as many models as the circuit has points, and return their variables.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions; neither decomposability nor determinism is needed.
    path
        The file; it is replaced if it exists.
    code
        How a feature's cells are written; see :func:`~axfi_kc.circuits.targets.bit_codes.bits_of`.
    weights
        Whether literals get weights, exact fractions, that make the weighted count the circuit's probability.
        Without, the count is the number of points.
    projected
        Whether to name the variables that are not auxiliary, for counters that project.

    Returns
    -------
    Variables
        The bits followed by the auxiliary variables; for
        :func:`~axfi_kc.circuits.files.nnf.read_nnf` of what a compiler makes of the file.

    Raises
    ------
    CircuitError
        If the code is unknown, or there are no weights and some cell holds other than one value.

    Notes
    -----
    Each gate becomes an auxiliary variable, equivalent to it (Tseitin's encoding in both directions), so
    every point has one model. A cell of three or more whose code is not direct gets one too, to carry its
    weight. Features that the circuit was conditioned on are asserted, with the weight 1. Linear in the circuit over
    bits.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1, weights=[1, 2]), Integer("b", 0, 1)])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_cnf(build.circuit(build.literal(0, [1])), file := Path(folder, "a.cnf"))
    ...     print(file.read_text())
    c t wmc
    c axfi code direct
    c axfi feature {"kind": "integer", "name": "a", "low": "0", "high": "1", "cuts": [["0x0.0p+0", true]], ...
    c axfi feature {"kind": "integer", "name": "b", "low": "0", "high": "1", "cuts": [["0x0.0p+0", true]]}
    p cnf 2 1
    c p weight 1 2/3 0
    c p weight -1 1/3 0
    c p weight 2 1/2 0
    c p weight -2 1/2 0
    1 0
    <BLANKLINE>
    """
    fixed = dict(circuit.grid.fixed)
    circuit = asserted(circuit)
    variables = Variables.of_code(circuit.grid, code=code)
    if not weights:
        _check_single_values(circuit.grid)
    nnf = nnf_of(circuit, code=code)
    clauses = _Clauses(nnf)
    shares = _weights(variables, clauses, fixed) if weights else {}
    shown = [*range(1, nnf.n_variables + 1), *(v for v in shares if v > nnf.n_variables)]
    lines = [f"c t {'p' if projected else ''}{'wmc' if weights else 'mc'}", *description(circuit.grid, code)]
    lines.append(f"p cnf {clauses.n_variables} {len(clauses.lines)}")
    if projected:
        lines.append(" ".join(["c p show", *map(str, shown), "0"]))
    for variable, (one, zero) in shares.items():
        lines += [f"c p weight {variable} {one} 0", f"c p weight -{variable} {zero} 0"]
    write_whole(path, "\n".join(lines + clauses.lines) + "\n", what="The circuit")
    return variables.with_auxiliary(clauses.n_variables)


def clauses_of(circuit: Circuit, *, code: str = "direct") -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return clauses with one model for each cell vector of a circuit, and the number of their variables.

    Notes
    -----
    As :func:`write_cnf` writes them, without weights.
    """
    found = _Clauses(nnf_of(asserted(circuit), code=code))
    return tuple(tuple(map(int, line.split()[:-1])) for line in found.lines), found.n_variables


def _check_single_values(grid: Grid) -> None:
    for axis in grid.axes:
        if axis.counts is None or max(axis.counts) > 1:
            raise CircuitError(
                f"Models are as many as points where each cell is one value, but feature {axis.feature.name!r} has "
                "cells of several; write weights, or make the grid by Grid.of_values."
            )


class _Clauses:
    """The gates of `nnf` as equivalences, one auxiliary variable each, and the root as a unit clause."""

    def __init__(self, nnf: Nnf) -> None:
        self.n_variables = nnf.n_variables
        self.lines: list[str] = []
        literal_of: list[int] = []
        for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
            if kind == LITERAL:
                literal_of.append(parts[0])
            elif node == len(nnf.kinds) - 1:
                self._assert(kind, [literal_of[part] for part in parts])
                return
            else:
                literal_of.append(self.gate(kind, [literal_of[part] for part in parts]))
        self._add(literal_of[-1:])

    def _add(self, clause: Sequence[int]) -> None:
        literals = set(clause)
        if any(-literal in literals for literal in literals):
            return  # always true; clauses that all are make dsharp fail
        self.lines.append(" ".join([*map(str, clause), "0"]))

    def _assert(self, kind: int, literals: Sequence[int]) -> None:
        if kind == CONJUNCTION:
            for literal in literals:
                self._add([literal])
        elif literals:
            self._add(literals)
        else:  # an empty clause is more than some programs can read
            self.n_variables += 1
            self._add([self.n_variables])
            self._add([-self.n_variables])

    def gate(self, kind: int, literals: Sequence[int]) -> int:
        """Return a new variable that is equivalent to the gate of `literals`."""
        self.n_variables += 1
        sign = 1 if kind == CONJUNCTION else -1
        for literal in literals:
            self._add([-sign * self.n_variables, sign * literal])
        self._add([sign * self.n_variables, *(-sign * literal for literal in literals)])
        return self.n_variables


def _weights(variables: Variables, clauses: _Clauses, fixed: Mapping[int, int]) -> dict[int, tuple[Fraction, Fraction]]:
    """Return the weights of each variable that has some, for 1 and for 0; what is fixed is certain."""
    bits_of: dict[int, list[tuple[int, Bit]]] = {}
    for variable, bit in enumerate(variables.bits, 1):
        if bit is not None:
            bits_of.setdefault(bit.feature, []).append((variable, bit))
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for feature, bits in bits_of.items():
        axis = variables.grid.axes[feature]
        shares = [Fraction(numerator, axis.denominator) for numerator in axis.numerators]
        if feature in fixed:
            shares = [Fraction(cell == fixed[feature]) for cell in range(len(shares))]
        if len(shares) == 2:
            found[bits[0][0]] = shares[1], shares[0]
            continue
        is_direct = len(bits) == len(shares)
        for cell, share in enumerate(shares):
            literals = [variable if cell in bit.cells else -variable for variable, bit in bits]
            carrier = bits[cell][0] if is_direct else clauses.gate(CONJUNCTION, literals)
            found[carrier] = share, Fraction(1)
    return found


@checked("path", "domain", "variables", "code", "budget")
def read_cnf(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    r"""Return the conjunction of the clauses in a file, on the codes of the domain's points.

    Parameters
    ----------
    path
        The file; weights, projections and comments of others are not read.
    domain, code, budget
        As in :func:`~axfi_kc.circuits.files.load_circuit`; a file of this library says both. A line
        ``c axfi names ["a", "b"]`` before the others says which features of the domain the variables are about.
    variables
        Likewise; auxiliary ones come last. ``Variables.of_code(Grid.of_values(domain)).words`` says what the variables
        of a domain mean.

    Raises
    ------
    ModelFileError
        If the file is damaged, or has other variables than the features have bits.
    CircuitError
        If an auxiliary variable is not a gate of the variables before it.

    Notes
    -----
    Linear. Files of :func:`write_cnf` have auxiliary variables for gates; these gates are read back, and so is the
    circuit that was written. Clauses of others are deterministic, but their conjunction is in general not decomposable:
    compile it, or make an ordered diagram of it, before counting.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuits import queries
    >>> from axfi_kc.domain import Integer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "either.cnf")
    ...     _ = file.write_text("p cnf 2 1\n1 2 0\n")
    ...     queries.count(read_cnf(file, Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    3
    """
    source = Source(path, budget=budget)
    known = variables or described_variables(source, domain, code)
    own, spend = tuple(bit for bit in known.bits if bit is not None), source.account.spend
    # Our own files describe the features, and may have auxiliary variables beyond their bits.
    n, clauses = _parse(source, len(known.bits), more=variables is None and is_described(source))
    if n == len(own):
        return circuit_of(nnf_of_clauses(clauses, n, spend=spend), known, account=source.account)
    nnf = nnf_of_gates(clauses, len(own), spend=spend) if own == known.bits[: len(own)] else None
    if nnf is None:
        raise CircuitError(
            f"{source.name}: expected variables after the first {len(own)} to be gates of those before them, as in "
            "files of write_cnf, but found others; compile the file with compile_with_dsharp."
        )
    return circuit_of(nnf, Variables(known.grid, own), account=source.account)


def _parse(source: Source, n_bits: int, *, more: bool = False) -> tuple[int, list[list[int]]]:
    """Return the number of variables in a file, `n_bits` or, with `more`, above it, and its clauses."""
    header: list[int] | None = None
    clauses: list[list[int]] = [[]]
    for number, line in source.numbered():
        words = line.split()
        if not words or words[0] == b"c":
            continue
        if header is None:
            header = integers(words[2:]) if words[:2] == [b"p", b"cnf"] and len(words) == 4 else None
            if header is None or min(header) < 0:
                source.fail_at(number, "the header 'p cnf variables clauses'")
            if header[0] != n_bits and not (more and header[0] > n_bits):
                source.fail(
                    number,
                    f"{n_bits} variables, as many as the features have bits",
                    str(header[0]),
                    "give a domain of the features that they are about, or name these in a line before, as in "
                    '\'c axfi names ["a", "b"]\'',
                )
            continue
        literals = integers(words)
        if literals is None or max(max(literals), -min(literals)) > header[0]:
            source.fail_at(number, f"literals of the variables 1 to {header[0]}, and 0 at the end of a clause")
        for literal in literals:
            if literal:
                clauses[-1].append(literal)
            else:
                clauses.append([])
    if header is None or clauses.pop() or len(clauses) != header[1]:
        wanted = "a header 'p cnf variables clauses'" if header is None else f"{header[1]} clauses, each ended by 0"
        source.fail(-1, wanted, "none" if header is None else f"{len(clauses)}")
    return header[0], clauses


def read_clauses(source: Source) -> tuple[int, list[list[int]]]:
    """Return the number of variables that a file names, and its clauses."""
    header = next((line.split() for line in source.lines if line.startswith(b"p ")), [])
    numbers = integers(header[2:3]) if header[1:2] == [b"cnf"] else None
    if not numbers:
        source.fail(-1, "the header 'p cnf variables clauses'", shown(b" ".join(header)))
    return _parse(source, numbers[0])


@checked("text")
def parse_count_answer(text: str) -> int | Fraction:
    r"""Return the exact count in a model counter's answer.

    Parameters
    ----------
    text
        What the counter printed, in the format of the Model Counting Competition.

    Raises
    ------
    ModelFileError
        If there is no exact answer, or there are two.

    Examples
    --------
    >>> parse_count_answer("s SATISFIABLE\nc s type wmc\nc s exact arb frac 2/6\n")
    Fraction(1, 3)
    >>> parse_count_answer("s UNSATISFIABLE\n")
    0
    """
    lines = [line.split() for line in text.splitlines()]
    answers = [line[3:] for line in lines if line[:3] == ["c", "s", "exact"]]
    if not answers and ["s", "UNSATISFIABLE"] in lines:
        return 0
    found = " ".join(answers[0]) if len(answers) == 1 else f"{len(answers)} answers"
    match = re.fullmatch(r"arb int ([0-9]+)|arb frac ([0-9]+)/([0-9]+)", found)
    if match is None or max(map(len, filter(None, match.groups()))) > _MOST_DIGITS:
        raise ModelFileError(
            "Expected one line 'c s exact arb int N' or 'c s exact arb frac a/b' from the counter, but found "
            f"{found[:60]!r}; ask the counter for exact arithmetic."
        )
    if match[1] is not None:
        return _integer(match[1])
    if not match[3].strip("0"):
        raise ModelFileError(f"Expected a fraction from the counter, but found {found[:60]!r}; run it again.")
    return Fraction(_integer(match[2]), _integer(match[3]))


def _integer(digits: str) -> int:
    """Return the integer with these digits, which may be more than Python converts at once."""
    chunks = [digits[max(0, k - _CHUNK) : k] for k in range(len(digits), 0, -_CHUNK)]
    values, base = [int(chunk) for chunk in chunks], 10**_CHUNK
    while len(values) > 1:
        values += [0] * (len(values) % 2)
        values = [low + high * base for low, high in zip(values[::2], values[1::2], strict=True)]
        base *= base
    return values[0]


_FOLDERS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


@checked("code", "budget")
def compile_with_dsharp(
    problem: Circuit | FilePath,
    *,
    variables: Variables | None = None,
    code: str = "direct",
    budget: Budget | None = None,
) -> Circuit:
    """Return the d-DNNF that dsharp makes of a circuit or of clauses.

    Parameters
    ----------
    problem
        A circuit, which is written as clauses by :func:`~axfi_kc.circuits.files.cnf.write_cnf`; or a file of clauses.
    variables
        For a file, what its variables say.
    code
        For a circuit, how the features' cells are written.
    budget
        ``seconds`` for everything; ``bytes`` for dsharp's own address space; ``nodes`` for reading what it wrote.

    Raises
    ------
    MissingExtraError
        If problog is not installed, or has no dsharp for this system.
    ModelFileError, CircuitError
        If what it wrote is no decomposable circuit.

    Notes
    -----
    dsharp is known to write wrong circuits now and then. What it writes is parsed and checked for
    decomposability, but not for determinism, nor against the clauses: count by a second route as well.
    """
    watch = Watch(budget)
    if not isinstance(problem, Circuit):
        if variables is None:
            raise CircuitError("A file of clauses does not say what its variables mean; pass variables=.")
        n, found = read_clauses(Source(problem, budget=budget))
        return compile_clauses_with_dsharp(CountingProblem.of(found, n), variables, budget=_rest(watch, budget))
    # What is set stays set, and dsharp compiles the rest.
    free = replace(problem, grid=unset(problem.grid)) if problem.grid.fixed else problem
    clauses, n = clauses_of(free, code=code)
    known = Variables.of_code(free.grid, code=code).with_auxiliary(n)
    made = compile_clauses_with_dsharp(CountingProblem(n, clauses), known, budget=_rest(watch, budget))
    return replace(made, grid=problem.grid) if problem.grid.fixed else made


def _rest(watch: Watch, budget: Budget | None) -> Budget | None:
    return None if budget is None else watch.rest()


def compile_clauses_with_dsharp(
    problem: CountingProblem, variables: Variables, *, budget: Budget | None = None
) -> Circuit:
    """Return the d-DNNF that dsharp makes of the clauses of a problem.

    As :func:`compile_with_dsharp` otherwise.
    """
    watch, program, clauses = Watch(budget), _program(), problem.proper_clauses
    if () in clauses or not clauses:
        return CircuitBuilder(variables.grid).circuit(CircuitBuilder.false if clauses else CircuitBuilder.true)
    with tempfile.TemporaryDirectory() as folder:
        path, made = Path(folder, "clauses.cnf"), Path(folder, "circuit.nnf")
        lines = [" ".join([*map(str, clause), "0"]) for clause in clauses]
        text = "\n".join([f"p cnf {problem.n_variables} {len(lines)}", *lines, ""])
        path.write_text(text, encoding="ascii", newline="\n")
        ended = _run([str(program), "-Fnnf", str(made), str(path)], folder, watch.rest())
        if not made.exists():
            raise _unfinished(ended, budget)
        return _read(Source(made, budget=_rest(watch, budget)), variables)


def _unfinished(ended: subprocess.CompletedProcess[bytes], budget: Budget | None) -> AxfiError:
    """Return the error for a dsharp that wrote no circuit.

    Without memory it ends with SIGABRT and the message std::bad_alloc, or the system kills it.
    """
    if b"bad_alloc" in ended.stderr or ended.returncode == -9:
        limit = "" if budget is None or budget.bytes is None else f" within the budget of {budget.bytes} bytes"
        return BudgetError(
            f"dsharp ran out of memory{limit} before the circuit was complete; allow more memory (it takes 1.2 GB even "
            "for few clauses), or use another target or via='dd'."
        )
    return CircuitError(
        f"Expected dsharp to write a circuit, but it ended with the code {ended.returncode} and wrote none; use "
        "another target, or via='dd'."
    )


def _read(source: Source, variables: Variables) -> Circuit:
    """Return the circuit that dsharp wrote, given at least one clause that is not always true."""
    if source.lines[0].startswith(b"nnf 0 "):
        # False: of 1,024 variables and more it then writes no node, since 0 * 2**1024 is NaN in its floats.
        return CircuitBuilder(variables.grid).circuit(CircuitBuilder.false)
    nnf = parse_nnf(source, n_variables=len(variables.bits), dialect="c2d")
    if nnf.n_variables > len(variables.bits) or (node := undecomposable(nnf, account=source.account)) is not None:
        found = f"{nnf.n_variables} variables" if nnf.n_variables > len(variables.bits) else f"node {node}"
        raise CircuitError(
            f"Expected dsharp to write a decomposable circuit of {len(variables.bits)} variables, but {found} says "
            "otherwise; use another target."
        )
    return circuit_of(nnf, variables, account=source.account)


def _program() -> Path:
    spec = find_spec("problog")
    found = Path(spec.origin).parent / "bin" / _FOLDERS.get(sys.platform, "") if spec and spec.origin else None
    if found is None or not (found / "dsharp").is_file():
        raise MissingExtraError(
            "Compiling with dsharp needs problog's program of that name, which is not installed: pip install problog."
        )
    return found / "dsharp"


def _run(command: list[str], folder: str, budget: Budget) -> subprocess.CompletedProcess[bytes]:
    limits = str(budget.bytes or -1), "-1" if budget.seconds is None else str(int(budget.seconds) + 1)
    # Without limits dsharp is started directly: an interpreter that sets them takes longer than small problems do.
    starter = [sys.executable, "-c", _LIMITED, *limits] if limits != ("-1", "-1") else []
    try:
        return subprocess.run(  # noqa: S603  # our own arguments, no shell
            [*starter, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=budget.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BudgetError(
            f"dsharp did not finish within {budget.seconds:g} seconds; allow more, or use another target.",
            seconds=budget.seconds or 0.0,
        ) from None


# limits are set by the process itself: a hook between fork and exec is not safe beside threads
_LIMITED = """
import os, sys
try:
    import resource
    for kind, limit in ((resource.RLIMIT_AS, int(sys.argv[1])), (resource.RLIMIT_CPU, int(sys.argv[2]))):
        least = min([n for n in (limit, *resource.getrlimit(kind)) if n >= 0], default=-1)  # -1: no limit
        resource.setrlimit(kind, (least, least))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass
os.execv(sys.argv[3], sys.argv[3:])
"""
