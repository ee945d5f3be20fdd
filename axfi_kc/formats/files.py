"""Any circuit file by its suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit
from axfi_kc.domain import Domain
from axfi_kc.errors import CircuitError, ModelFileError
from axfi_kc.formats.bdd_files import read_dd_json, read_dddmp, write_dd_json, write_dddmp
from axfi_kc.formats.cnf import read_cnf, write_cnf
from axfi_kc.formats.nnf import read_nnf, write_nnf
from axfi_kc.formats.node_lists import read_node_list
from axfi_kc.formats.sdd_files import read_sdd, write_sdd
from axfi_kc.formats.text_lines import FilePath
from axfi_kc.formats.variables import Variables

__all__ = ["SUFFIXES", "load_circuit", "save_circuit"]

SUFFIXES = (".nnf", ".cnf", ".dddmp", ".json", ".sdd")


def load_circuit(
    path: FilePath,
    domain: Domain | None = None,
    *,
    variables: Variables | None = None,
    code: str | None = None,
    budget: Budget | None = None,
) -> Circuit:
    """Return the circuit in a file, whose suffix says its format.

    Parameters
    ----------
    path
        ``.nnf`` (c2d, dsharp or d4), ``.cnf``, ``.dddmp``, ``.json`` (a node list, or dd's) or ``.sdd``; a
        ``.vtree`` of the same name beside the last is used for checks.
    domain
        The features, each value a cell. A node list brings its own, and so does an ``.nnf`` of this library.
    variables
        What each variable says, where it is not the numbering of a code.
    code
        How the features' values are written; by default what the format's reader takes.
    budget
        What reading may cost; a node of it is a line of the file (in JSON, an integer), or a node made of it.

    Raises
    ------
    ModelFileError
        If the file is damaged or its suffix unknown.
    CircuitError
        If it does not fit the domain.
    BudgetError
        If the budget is spent.

    Notes
    -----
    Linear; see each reader.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_circuit(build.circuit(build.literal(0, [1])), file := Path(folder, "one.nnf"))
    ...     load_circuit(file).grid.domain
    Domain(a: an integer from 0 to 2)
    """
    file = Path(path)
    given: dict[str, Any] = {"budget": budget} if code is None else {"budget": budget, "code": code}
    if file.suffix == ".json" and _is_node_list(file):
        circuit, found = read_node_list(file, budget=budget)
        _check_names(file, found, domain)
        return circuit
    if file.suffix == ".sdd":
        vtree = file.with_suffix(".vtree")
        return read_sdd(file, domain, variables=variables, vtree=vtree if vtree.exists() else None, **given)
    readers: dict[str, Callable[..., Circuit]] = {
        ".nnf": read_nnf,
        ".cnf": read_cnf,
        ".dddmp": read_dddmp,
        ".json": read_dd_json,
    }
    if file.suffix not in readers:
        raise _unknown(file)
    return readers[file.suffix](file, domain, variables=variables, **given)


def _unknown(file: Path) -> ModelFileError:
    return ModelFileError(
        f"{file.name}: expected one of the suffixes {', '.join(SUFFIXES)}, but found {file.suffix!r}; rename the file."
    )


def _is_node_list(file: Path) -> bool:
    return b'"level_of_var"' not in file.read_bytes()


def _check_names(file: Path, found: Domain, wanted: Domain | None) -> None:
    if wanted is not None and wanted != found:
        raise ModelFileError(f"{file.name}: expected a circuit over {wanted!r}, but found {found!r}; pass no domain.")


def save_circuit(circuit: Any, path: FilePath, *, code: str = "direct") -> None:
    """Write a circuit or a target to a file, whose suffix says the format.

    Parameters
    ----------
    circuit
        A circuit, or a target such as :class:`~axfi_kc.targets.obdd.Obdd`.
    path
        ``.nnf`` and ``.cnf`` for any; ``.dddmp`` and ``.json`` (dd's) for an OBDD; ``.sdd`` for an SDD.
    code
        How cells are written; diagrams keep their own.

    Raises
    ------
    ModelFileError
        If the suffix is unknown.
    CircuitError
        If this format cannot hold this circuit.

    Notes
    -----
    Linear; see each writer.
    """
    file = Path(path)
    language = getattr(circuit, "language", "obdd" if hasattr(circuit, "bits") else "circuit")
    diagrams: dict[str, tuple[str, Callable[..., None]]] = {
        ".dddmp": ("obdd", write_dddmp),
        ".json": ("obdd", write_dd_json),
        ".sdd": ("sdd", write_sdd),
    }
    if file.suffix in diagrams:
        wanted, write = diagrams[file.suffix]
        if language != wanted:
            raise CircuitError(
                f"{file.name}: expected the target {wanted!r}, but found {language!r}; compile to {wanted!r} first, or "
                "save as .nnf."
            )
        write(circuit, file)
    elif file.suffix in (".nnf", ".cnf"):
        plain = circuit if isinstance(circuit, Circuit) else circuit.to_circuit()
        write_any: Callable[..., object] = write_nnf if file.suffix == ".nnf" else write_cnf
        write_any(plain, file, code=code)
    else:
        raise _unknown(file)
