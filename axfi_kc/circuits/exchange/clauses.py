"""Clauses in memory, and files of clauses whose variables need no domain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from axfi_kc.arguments import checked, is_path
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.files.asserted import unset
from axfi_kc.circuits.files.clause_nodes import nnf_of_clauses, nnf_of_gates
from axfi_kc.circuits.files.cnf import clauses_of, read_clauses
from axfi_kc.circuits.files.counting_problems import checked_clauses
from axfi_kc.circuits.files.nnf_nodes import circuit_of
from axfi_kc.circuits.files.text_lines import Source
from axfi_kc.circuits.files.variables import (
    MOST_NAMES,
    Variables,
    boolean_domain,
    described_variables,
    is_described,
    outer_names,
)
from axfi_kc.circuits.queries.transformations import account_of, copied
from axfi_kc.circuits.targets.obdd import obdd_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import CircuitError

__all__ = ["Cnf", "from_cnf", "to_cnf"]


@dataclass(frozen=True, slots=True)
class Cnf:
    """Clauses over numbered variables, and what the variables are.

    Attributes
    ----------
    clauses
        Literals k and -k of the variables from 1 on, as PySAT and others take them.
    variables
        The bits of the features, followed by auxiliary variables that the clauses define.
    """

    clauses: tuple[tuple[int, ...], ...]
    variables: Variables

    @property
    def n_variables(self) -> int:
        """The number of variables, auxiliary ones included."""
        return len(self.variables.bits)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all variables, variable 1 first; auxiliary ones are called ``aux7`` and so on."""
        return tuple(outer_names(self.variables.grid, self.variables.bits))

    def __str__(self) -> str:
        """Return the clauses in DIMACS format."""
        head = f"p cnf {self.n_variables} {len(self.clauses)}"
        return "\n".join([head, *(" ".join(map(str, [*clause, 0])) for clause in self.clauses), ""])


@checked("code")
def to_cnf(form: Form, *, code: str = "direct") -> Cnf:
    """Return clauses with exactly one model for each point of a form.

    Parameters
    ----------
    form
        Any circuit, target or compiled model.
    code
        How features of more than two cells are written in variables.

    Notes
    -----
    Linear. Each gate becomes an auxiliary variable that is equivalent to it, so the models without these are the
    points; :func:`from_cnf` forgets them again. Features that the form was conditioned on are asserted.
    :func:`axfi_kc.circuits.files.cnf.write_cnf` writes the same to a file.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> cnf = ax.from_expression("x & (y | ~z)").to_cnf()
    >>> cnf.names, cnf.clauses[0]
    (('x', 'y', 'z', 'aux4', 'aux5'), (-4, -2))
    >>> from_cnf(cnf) == ax.from_expression("x & (y | ~z)")
    True
    """
    circuit = circuit_in(form)
    clauses, n_variables = clauses_of(circuit, code=code)
    return Cnf(clauses, Variables.of_code(unset(circuit.grid), code=code).with_auxiliary(n_variables))


@checked("domain", "names", "code", "budget")
def from_cnf(
    cnf: Cnf | str | os.PathLike[str] | Iterable[Sequence[int]],
    domain: Domain | None = None,
    *,
    names: str | Iterable[str] | None = None,
    code: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    """Return the conjunction of clauses.

    Parameters
    ----------
    cnf
        A file in DIMACS format, clauses of literals, or what :func:`to_cnf` returns.
    domain
        The features whose bits the variables are. By default each variable becomes a feature with the values 0 and 1.
    names
        The names of these, variable 1 first; by default what the file says, or ``x1``, ``x2``, ...
    code
        How features of more than two values are written in variables; by default what the file says, or "direct".
    budget
        What reading may cost; a node is a line or a literal.

    Raises
    ------
    ModelFileError, CircuitError
        If the file is damaged, or a literal is none of the variables'.

    Notes
    -----
    Linear where auxiliary variables are gates, as those of :func:`to_cnf` are: the gates take their place. Other
    auxiliary variables are forgotten on a diagram, which is exponential at worst. Clauses that share variables make a
    conjunction that is not decomposable: compile it before counting.

    Examples
    --------
    >>> from axfi_kc import queries
    >>> either = from_cnf([(1, 2), (-1, 3)], names="xyz")
    >>> queries.count(either.compile("obdd"))
    4
    """
    account = account_of(budget)
    if isinstance(cnf, Cnf):
        own = Variables(cnf.variables.grid, tuple(bit for bit in cnf.variables.bits if bit is not None))
        return _without_auxiliary(cnf.clauses, cnf.n_variables, own, account)
    if is_path(cnf):
        return _of_file(Path(cnf), domain, names, code, budget)
    clauses = checked_clauses(cnf)
    n = max((abs(literal) for clause in clauses for literal in clause), default=0)
    if n > MOST_NAMES and domain is None:
        raise CircuitError(f"Without a domain there may be {MOST_NAMES} variables, but {n} is used; pass domain=.")
    grid = Grid.of_values(domain or boolean_domain(_called(names, max(n, 1))))
    known = Variables.of_code(grid, code=code or "direct")
    if n > len(known.bits):
        raise CircuitError(f"There are {len(known.bits)} variables, but a clause has the literal {n}; add names.")
    return circuit_of(nnf_of_clauses(clauses, len(known.bits), spend=account.spend), known, account=account)


def _called(names: Iterable[str] | None, n: int) -> list[str]:
    return [f"x{k + 1}" for k in range(n)] if names is None else list(names)


def _of_file(
    path: Path, domain: Domain | None, names: Iterable[str] | None, code: str | None, budget: Budget | None
) -> Circuit:
    """Return the clauses of a file, over what it is said to be, what it says itself, or numbered variables."""
    source = Source(path, budget=budget)
    n, clauses = read_clauses(source)
    if names is not None:
        domain = boolean_domain(names)
    if domain is None and not is_described(source):
        if not 1 <= n <= MOST_NAMES:  # a header is easily written
            source.fail(-1, f"1 to {MOST_NAMES} variables without a domain", str(n), "pass domain=")
        domain = boolean_domain(_called(None, n))
    known = described_variables(source, domain, code)
    if len(known.bits) < n and is_described(source):  # what our own files have beyond the features' bits
        return _without_auxiliary(clauses, n, known, source.account)
    if len(known.bits) != n:
        source.fail(-1, f"{len(known.bits)} variables, as many as the features have bits", str(n))
    return circuit_of(nnf_of_clauses(clauses, n, spend=source.account.spend), known, account=source.account)


def _without_auxiliary(clauses: Sequence[Sequence[int]], n: int, own: Variables, account: Account) -> Circuit:
    """Return the circuit of the bits alone: clauses define auxiliary variables, so to forget them loses nothing."""
    n_features, n_bits = len(own.grid.axes), len(own.bits)
    nnf = nnf_of_gates(clauses, n_bits, spend=account.spend)
    if nnf is not None:
        return circuit_of(nnf, own, account=account)
    if n > MOST_NAMES:  # a header is easily written
        raise CircuitError(
            f"At most {MOST_NAMES} variables can be forgotten, but there are {n}; number only those that occur."
        )
    extra = [Integer(f"aux{k} of the clauses", 0, 1) for k in range(n_bits + 1, n + 1)]
    whole = Grid(Domain([*own.grid.domain.features, *extra]), (*own.grid.axes, *map(Axis.of_values, extra)))
    kept = Variables.of_code(whole, code=_code_of(own))
    circuit = circuit_of(nnf_of_clauses(clauses, n, spend=account.spend), kept, account=account)
    found = obdd_of(circuit, budget=account.rest()).quantify(range(n_features, len(whole.axes))).to_circuit()
    build = CircuitBuilder(own.grid)
    return build.circuit(copied(found, build, None))


def _code_of(variables: Variables) -> str:
    """Return the code that the bits are in."""
    codes = ("direct", "order", "binary")
    return next(c for c in codes if Variables.of_code(variables.grid, code=c).bits == variables.bits)
