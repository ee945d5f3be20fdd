"""Files of circuits, of this library and of other programs, read and written without trusting them.

A reader raises ModelFileError for a damaged file, CircuitError for one that does not fit the domain, and
BudgetError when its budget is spent.

To add one:

1. write a file here with ``read_mine(path, domain=None, *, variables=None, code=None, budget=None) -> Circuit`` and
   ``write_mine(circuit, path, *, code="direct")``; keyword parameters that it does not need may be left out;
2. say below, in one call, what the other rooms must know: ``register(Format((".mine",), read_mine, write_mine))``;
3. ``load_circuit``, ``save_circuit``, ``CompiledModel.save``, the command line and all messages ask :data:`FORMATS`;
4. read lines through :class:`~axfi_kc.circuits.files.text_lines.Source`, which says where a file is damaged
   and obeys budgets;
5. enter it in ``tests/fuzz``, and it is fed damaged files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, circuit_in
from axfi_kc.circuits.files.bdd import read_dd_json, read_dddmp, write_dd_json, write_dddmp
from axfi_kc.circuits.files.cnf import compile_with_dsharp, parse_count_answer, read_cnf, write_cnf
from axfi_kc.circuits.files.nnf import read_nnf, write_nnf
from axfi_kc.circuits.files.node_lists import load_node_list, read_node_list
from axfi_kc.circuits.files.sdd import load_sdd, read_sdd, read_vtree, write_sdd, write_vtree
from axfi_kc.circuits.files.text_lines import FilePath
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.domain.domain import Domain
from axfi_kc.durable_files import check_place
from axfi_kc.errors import CircuitError, ModelFileError

__all__ = [
    "FORMATS",
    "Format",
    "Variables",
    "compile_with_dsharp",
    "format_of",
    "load_circuit",
    "parse_count_answer",
    "read_cnf",
    "read_dd_json",
    "read_dddmp",
    "read_nnf",
    "read_node_list",
    "read_sdd",
    "read_vtree",
    "register",
    "save_circuit",
    "unregister",
    "write_cnf",
    "write_dd_json",
    "write_dddmp",
    "write_nnf",
    "write_sdd",
    "write_vtree",
]


@dataclass(frozen=True, slots=True)
class Format:
    """What the other rooms must know of a file format.

    Attributes
    ----------
    suffixes
        Which file names it goes by, each with its dot.
    read
        Returns the circuit in a file, given its path and a domain or None; it gets those of ``variables``, ``code``
        and ``budget`` that are its parameters.
    write
        Writes to a path: a target of `language`, or any circuit; it gets ``code`` if that is its parameter.
        None: files are only read.
    language
        The target whose own form it is; None: any circuit will do.
    describes
        Whether files may say themselves what their variables mean; others need a domain.
    marks
        Texts of which one occurs in every such file, where other programs use the suffix as well.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., Circuit]
    write: Callable[..., object] | None = None
    language: str | None = None
    describes: bool = False
    marks: tuple[bytes, ...] = ()


_FORMATS: dict[str, tuple[Format, ...]] = {}
FORMATS: Mapping[str, tuple[Format, ...]] = MappingProxyType(_FORMATS)
"""The formats of each suffix; the only list of them."""


@checked("known")
def register(known: Format) -> None:
    """Make a file format known to every other room, once; among formats of one suffix, marks decide."""
    for suffix in known.suffixes:
        _FORMATS[suffix] = (*(other for other in _FORMATS.get(suffix, ()) if other != known), known)


@checked("known")
def unregister(known: Format) -> None:
    """Forget a file format that was registered."""
    for suffix in known.suffixes:
        rest = tuple(other for other in _FORMATS[suffix] if other != known)
        _FORMATS.pop(suffix)
        if rest:
            _FORMATS[suffix] = rest


@checked("path")
def format_of(path: FilePath) -> Format:
    """Return the format of a file: by its suffix, and by what it holds where formats share one.

    Raises
    ------
    ModelFileError
        If the suffix is unknown, or there is no such file.
    """
    file = Path(path)
    candidates = FORMATS.get(file.suffix, ())
    if not candidates:
        raise _unknown(file)
    if not file.is_file():
        raise ModelFileError(f"There is no file {file}; give the path of a saved circuit.")
    if len(candidates) == 1:
        return candidates[0]
    text = file.read_bytes()
    # the last one reads what no mark decides: its message says what is missing
    return next((known for known in candidates if any(mark in text for mark in known.marks)), candidates[-1])


@checked("path", "domain", "variables", "code", "budget")
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
        ``.nnf`` (c2d, dsharp or d4), ``.cnf``, ``.dddmp``, ``.json`` (a node list, or dd's), ``.sdd`` (a ``.vtree``
        of the same name beside it is used for checks), or any other suffix in ``axfi_kc.circuits.files.FORMATS``.
    domain
        The features, each value a cell. A node list brings its own, and so does an ``.nnf`` of this library.
    variables
        What each variable says, where it is not the numbering of a code; then `domain` and `code` are not used.
    code
        How the features' values are written; by default what the format's reader takes.
    budget
        What reading may cost; a node of it is a line of the file (in JSON, an integer), or a node made of it.

    Raises
    ------
    ModelFileError
        If there is no such file, it is damaged or does not fit the variables, or its suffix is unknown.
    CircuitError
        If it does not fit the domain, or neither domain nor variables are given where the file does not say them.

    Notes
    -----
    Linear; see each reader.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_circuit(build.circuit(build.literal(0, [1])), file := Path(folder, "one.nnf"))
    ...     load_circuit(file).grid.domain
    Domain(a: an integer from 0 to 2)
    """
    file, known = Path(path), format_of(path)
    return known.read(file, domain, **_taken(known.read, variables=variables, code=code, budget=budget))


def _taken(function: Callable[..., object], **options: Any) -> dict[str, Any]:
    """Return the options that are given and that a function has."""
    parameters = signature(function).parameters
    return {name: value for name, value in options.items() if value is not None and name in parameters}


def _unknown(file: Path) -> ModelFileError:
    return ModelFileError(
        f"{file.name}: expected one of the suffixes {', '.join(FORMATS)}, but found {file.suffix!r}; rename the file."
    )


@checked("path", "code")
def save_circuit(circuit: Any, path: FilePath, *, code: str = "direct") -> None:
    """Write a circuit or a target to a file, whose suffix says the format.

    Parameters
    ----------
    circuit
        A circuit, or a target such as :class:`~axfi_kc.circuits.targets.obdd.Obdd`.
    path
        ``.nnf`` and ``.cnf`` for any; ``.dddmp`` and ``.json`` (dd's) for an OBDD; ``.sdd`` for an SDD.
    code
        How cells are written; diagrams keep their own.

    Raises
    ------
    ModelFileError
        If the suffix is unknown.
    FileWriteError
        If the folder does not exist, or the file cannot be written.
    CircuitError
        If this format cannot hold this circuit.

    Notes
    -----
    Linear; see each writer. Files know nothing of features that are set: of a conditioned circuit they say that these
    lie in their cells, and what is read back is the circuit of its points over all features.
    """
    file = Path(path)
    found = getattr(circuit, "language", "circuit") if hasattr(type(circuit), "language") else "circuit"
    known = format_to_write(file, found)
    write = known.write
    if write is not None:
        check_place(file, "The circuit")
        plain = known.language is None and not isinstance(circuit, Circuit)
        write(circuit_in(circuit) if plain else circuit, file, **_taken(write, code=code))


def format_to_write(file: Path, language: str = "circuit") -> Format:
    """Return the format in which a file holds a target of a language, or a circuit.

    Raises
    ------
    ModelFileError, CircuitError
        If the suffix is unknown; if its format is only read, or holds another language.
    """
    if file.suffix not in FORMATS:
        raise _unknown(file)
    known = next((known for known in FORMATS[file.suffix] if known.write is not None), None)
    if known is None:
        raise CircuitError(f"{file.name}: files of this format are only read; save as {_for_any()}.")
    if known.language not in (None, language):
        raise CircuitError(
            f"{file.name}: expected the target {known.language!r}, but found {language!r}; compile to "
            f"{known.language!r} first, or save as {_for_any()}."
        )
    return known


def _for_any() -> str:
    """Return the suffixes under which any circuit can be written."""
    suffixes = [s for s, found in FORMATS.items() if any(f.write is not None and f.language is None for f in found)]
    return " or ".join(suffixes)


register(Format((".nnf",), read_nnf, write_nnf, describes=True))
register(Format((".cnf",), read_cnf, write_cnf, describes=True))
register(Format((".dddmp",), read_dddmp, write_dddmp, language="obdd"))
register(Format((".json",), read_dd_json, write_dd_json, language="obdd", marks=(b'"level_of_var"',)))
register(Format((".json",), load_node_list, describes=True, marks=(b'"nodes"', b'"literals"')))
register(Format((".sdd",), load_sdd, write_sdd, language="sdd", describes=True))
