"""Clauses in memory, and files of clauses whose variables need no domain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.files.cnf import clauses_of, nnf_of_clauses, read_cnf
from axfi_kc.circuits.files.nnf_nodes import circuit_of
from axfi_kc.circuits.files.text_lines import Source, integers
from axfi_kc.circuits.files.variables import Variables, boolean_domain, described_names, outer_names
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
    points; :func:`from_cnf` forgets them again. :func:`axfi_kc.circuits.files.cnf.write_cnf` writes the same to a file.

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
    return Cnf(clauses, Variables.of_code(circuit.grid, code=code).with_auxiliary(n_variables))


def from_cnf(
    cnf: Cnf | str | os.PathLike[str] | Iterable[Sequence[int]],
    domain: Domain | None = None,
    *,
    names: Iterable[str] | None = None,
    code: str = "direct",
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
        How features of more than two values are written in variables.
    budget
        What reading may cost; a node is a line or a literal.

    Raises
    ------
    ModelFileError, CircuitError
        If the file is damaged, or a literal is none of the variables'.

    Notes
    -----
    Linear; auxiliary variables of a :class:`Cnf` are forgotten on a diagram, which is exponential at worst. The result
    is a conjunction of clauses that share variables: compile it before counting.

    Examples
    --------
    >>> from axfi_kc import queries
    >>> either = from_cnf([(1, 2), (-1, 3)], names="xyz")
    >>> queries.count(either.compile("obdd"))
    4
    """
    account = account_of(budget)
    if isinstance(cnf, Cnf):
        return _without_auxiliary(cnf)
    if isinstance(cnf, str | os.PathLike):
        return read_cnf(cnf, domain or boolean_domain(_names_in(Path(cnf), names)), code=code, budget=budget)
    clauses = [_clause(clause) for clause in cnf]
    n = max((abs(literal) for clause in clauses for literal in clause), default=0)
    known = Variables.of_code(Grid.of_values(domain or boolean_domain(_called(names, max(n, 1)))), code=code)
    if n > len(known.bits):
        raise CircuitError(f"There are {len(known.bits)} variables, but a clause has the literal {n}; add names.")
    return circuit_of(nnf_of_clauses(clauses, len(known.bits), spend=account.spend), known, account=account)


def _clause(clause: Any) -> list[int]:
    found = list(clause)
    strange = next((k for k in found if isinstance(k, bool) or not isinstance(k, int) or k == 0), None)
    if strange is not None:
        raise CircuitError(f"A clause is made of literals k and -k, k >= 1, but {strange!r} was given; correct it.")
    return found


def _called(names: Iterable[str] | None, n: int) -> list[str]:
    return [f"x{k + 1}" for k in range(n)] if names is None else list(names)


def _names_in(path: Path, names: Iterable[str] | None) -> list[str]:
    """Return the names of a file's variables: those given, those it says itself, or numbered ones."""
    source = Source(path)
    if names is not None:
        return list(names)
    header = next((line.split() for _, line in source.beginning() if line[:1] == b"p"), [])
    numbers = integers(header[2:]) if header[:2] == [b"p", b"cnf"] and len(header) == 4 else None
    if numbers is None or numbers[0] < 1:
        source.fail(-1, "the header 'p cnf variables clauses' with a variable", "another one")
    return described_names(source, numbers[0]) or _called(None, numbers[0])


def _without_auxiliary(cnf: Cnf) -> Circuit:
    """Return the circuit of the bits alone: clauses define auxiliary variables, so to forget them loses nothing."""
    own = cnf.variables
    n_features, n_bits = len(own.grid.axes), sum(bit is not None for bit in own.bits)
    extra = [Integer(f"aux{k} of the clauses", 0, 1) for k in range(n_bits + 1, len(own.bits) + 1)]
    whole = Grid(Domain([*own.grid.domain.features, *extra]), (*own.grid.axes, *map(Axis.of_values, extra)))
    kept = Variables.of_code(whole, code=_code_of(own))
    circuit = circuit_of(nnf_of_clauses(cnf.clauses, len(own.bits), spend=lambda _: None), kept)
    found = obdd_of(circuit).quantify(range(n_features, len(whole.axes))).to_circuit()
    build = CircuitBuilder(own.grid)
    return build.circuit(copied(found, build, None))


def _code_of(variables: Variables) -> str:
    """Return the code that the bits are in."""
    bits = [bit for bit in variables.bits if bit is not None]
    codes = ("direct", "order", "binary")
    return next(c for c in codes if list(Variables.of_code(variables.grid, code=c).bits) == bits)
