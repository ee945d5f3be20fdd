"""The compiler dsharp, which the wheel of problog brings: clauses into d-DNNF."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from axfi_kc.budget import Budget, Watch
from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.errors import BudgetError, CircuitError, MissingExtraError
from axfi_kc.formats.cnf import write_cnf
from axfi_kc.formats.nnf import parse_nnf
from axfi_kc.formats.nnf_nodes import circuit_of, undecomposable
from axfi_kc.formats.text_lines import FilePath, Source
from axfi_kc.formats.variables import Variables

__all__ = ["compile_with_dsharp"]

_FOLDERS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


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
        A circuit, which is written as clauses by :func:`~axfi_kc.formats.cnf.write_cnf`; or a file of clauses.
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
    BudgetError
        If the budget is spent.
    ModelFileError, CircuitError
        If what it wrote is no decomposable circuit.

    Notes
    -----
    dsharp is known to write wrong circuits now and then. What it writes is parsed and checked for
    decomposability, but not for determinism, nor against the clauses: count by a second route as well.
    """
    program, watch = _program(), Watch(budget)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "circuit.nnf")
        if isinstance(problem, Circuit):
            clauses = Path(folder, "clauses.cnf")
            variables = write_cnf(problem, clauses, code=code, weights=True)
        elif variables is None:
            raise CircuitError("A file of clauses does not say what its variables mean; pass variables=.")
        else:
            clauses = Path(problem).resolve()
        if _is_empty(clauses):  # on which dsharp writes no node
            return CircuitBuilder(variables.grid).circuit(CircuitBuilder.true)
        _run([str(program), "-Fnnf", str(made), str(clauses)], folder, watch.budget)
        if not made.exists():
            raise CircuitError("dsharp ended without writing a circuit; check the clauses, or use another target.")
        source = Source(made, budget=None if budget is None else watch.rest())
        nnf = parse_nnf(source, n_variables=len(variables.bits), dialect="c2d")
    if nnf.n_variables > len(variables.bits) or (node := undecomposable(nnf, account=source.account)) is not None:
        found = f"{nnf.n_variables} variables" if nnf.n_variables > len(variables.bits) else f"node {node}"
        raise CircuitError(
            f"Expected dsharp to write a decomposable circuit of {len(variables.bits)} variables, but {found} says "
            "otherwise; use another target."
        )
    return circuit_of(nnf, variables, account=source.account)


def _is_empty(clauses: Path) -> bool:
    header = next((line for line in clauses.read_bytes().split(b"\n") if line.startswith(b"p ")), b"")
    return header.split()[-1:] == [b"0"]


def _program() -> Path:
    spec = find_spec("problog")
    found = Path(spec.origin).parent / "bin" / _FOLDERS.get(sys.platform, "") if spec and spec.origin else None
    if found is None or not (found / "dsharp").is_file():
        raise MissingExtraError(
            "Compiling with dsharp needs problog's program of that name, which is not installed: pip install problog."
        )
    return found / "dsharp"


def _run(command: list[str], folder: str, budget: Budget) -> None:
    limits = str(budget.bytes or -1), "-1" if budget.seconds is None else str(int(budget.seconds) + 1)
    try:
        subprocess.run(  # noqa: S603  # our own arguments, no shell
            [sys.executable, "-c", _LIMITED, *limits, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
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
        if limit >= 0:
            resource.setrlimit(kind, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass
os.execv(sys.argv[3], sys.argv[3:])
"""
