"""Circuits as JSON with named features: ``features`` (values and literals), ``nodes`` and ``root``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf, children_first, circuit_of
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers
from axfi_kc.circuits.files.variables import Variables, check_same_domain
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import AxfiError, ModelFileError

__all__ = ["load_node_list", "read_node_list"]


_GATES = {"AND": CONJUNCTION, "OR": DISJUNCTION}


@checked("path", "budget")
def read_node_list(path: FilePath | Mapping[str, Any], *, budget: Budget | None = None) -> tuple[Circuit, Domain]:
    """Return the circuit of a node list, and its domain.

    Parameters
    ----------
    path
        A JSON file, or what it holds: ``features``, a list of ``{"name", "values", "literals"}`` with a literal
        per value; ``nodes``, which maps a number to ``["L", literal]``, ``["AND", [numbers]]`` or
        ``["OR", [numbers]]``; and ``root``, a number.
    budget
        What reading may cost; a node of it is an integer of the file, or a node made of it.

    Notes
    -----
    Linear. Features are categorical; nodes may come in any order.

    Examples
    --------
    >>> colour = {"name": "colour", "values": ["red", "blue"], "literals": [1, -1]}
    >>> circuit, domain = read_node_list({"features": [colour], "root": 7, "nodes": {"7": ["L", "1"]}})
    >>> domain.names, circuit.size
    (('colour',), Size(nodes=1, edges=1))
    """
    name, document, account = _opened(path, budget)
    variables = _variables(name, _entry(name, document, "features", list))
    nodes = _nodes(name, _entry(name, document, "nodes", dict), len(variables.bits), spend=account.spend)
    root = _number(_entry(name, document, "root", (int, str)))
    nnf = Nnf(len(variables.bits))
    number: dict[int, int] = {}
    for node in _children_first(name, nodes, root):
        account.spend(1)
        kind, parts = nodes[node]
        number[node] = nnf.add(kind, parts if kind == LITERAL else [number[part] for part in parts])
    return circuit_of(nnf, variables, account=account), variables.grid.domain


def load_node_list(path: FilePath, domain: Domain | None = None, *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of a node list in a file, over its own features; a domain that is given must be the same."""
    circuit, found = read_node_list(path, budget=budget)
    if domain is not None:
        check_same_domain(Path(path).name, domain, found)
    return circuit


def _opened(path: FilePath | Mapping[str, Any], budget: Budget | None) -> tuple[str, Any, Account]:
    """Return a name for messages, the document, and what pays for the rest."""
    if isinstance(path, Mapping):
        return "node list", path, Account(budget, goal="circuit of the node list", advice="allow more")
    source = Source(path, budget=budget)
    return source.name, source.document(), source.account


def _error(name: str, expected: str, found: object) -> ModelFileError:
    text = found if isinstance(found, str) else repr(found)
    return ModelFileError(f"{name}: expected {expected}, but found {text[:80]}; write the file again.")


def _entry(name: str, document: Any, key: str, kind: Any) -> Any:
    found = document.get(key) if isinstance(document, Mapping) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise _error(name, f"an entry {key!r}", "none" if found is None else found)
    return found


def _number(value: Any) -> int | None:
    """Return an integer, or one written as text; None for anything else."""
    if isinstance(value, str):
        found = integers([value.encode("ascii", "replace")])
        return found[0] if found else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _variables(name: str, entries: list[Any]) -> Variables:
    features: list[Categorical] = []
    rows: list[list[int]] = []
    for entry in entries:
        values, literals = _entry(name, entry, "values", list), _entry(name, entry, "literals", list)
        numbers = [_number(k) for k in literals]
        if None in numbers:
            raise _error(name, "literals that are integers", literals)
        rows.append([k for k in numbers if k is not None])
        try:
            features.append(Categorical(_entry(name, entry, "name", str), values))
        except (AxfiError, TypeError):
            raise _error(name, "different values, at least one", values) from None
    try:
        return Variables.of_literals(Grid.of_values(Domain(features)), rows)
    except AxfiError as error:
        raise ModelFileError(f"{name}: {error}") from error


def _nodes(
    name: str, entries: Mapping[str, Any], n_variables: int, *, spend: Callable[[int], None]
) -> dict[int, tuple[int, list[int]]]:
    nodes: dict[int, tuple[int, list[int]]] = {}
    for key, entry in entries.items():
        spend(1)
        node = _number(key)
        if node is None or node in nodes:
            raise _error(name, "a node number that is new", key)
        if not isinstance(entry, list | tuple) or len(entry) != 2:
            raise _error(name, f"node {node} as [kind, content]", entry)
        nodes[node] = _node(name, node, entry[0], entry[1], n_variables)
    return nodes


def _node(name: str, node: int, kind: Any, content: Any, n_variables: int) -> tuple[int, list[int]]:
    if kind == "L":
        literal = _number(content)
        if literal is None or not 0 < abs(literal) <= n_variables:
            raise _error(name, f"node {node} to be a literal of the variables 1 to {n_variables}", content)
        return LITERAL, [literal]
    parts = [_number(part) for part in content] if isinstance(content, list | tuple) else [None]
    if not isinstance(kind, str) or kind not in _GATES or None in parts:
        raise _error(name, f"node {node} as ['L', literal], ['AND', numbers] or ['OR', numbers]", [kind, content])
    return _GATES[kind], [part for part in parts if part is not None]


def _children_first(name: str, nodes: Mapping[int, tuple[int, list[int]]], root: int | None) -> Iterator[int]:
    """Return the nodes below the root, each after its children."""
    if root is None or root not in nodes:
        raise _error(name, "the root among the nodes", root)

    def parts_of(node: int) -> list[int]:
        kind, parts = nodes[node]
        strange = next((part for part in parts if part not in nodes), None) if kind != LITERAL else None
        if strange is not None:
            raise _error(name, f"the parts of node {node} among the nodes", strange)
        return parts if kind != LITERAL else []

    def fail(_: int, part: int) -> NoReturn:
        raise _error(name, "an acyclic circuit", f"a way from node {part} back to itself")

    return children_first(root, parts_of, fail)
