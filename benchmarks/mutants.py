"""Mutants of a module: one changed operator, comparison, condition or constant, or one statement less.

A mutant is put into a running process by giving the functions that are already there other code, so that nothing
is imported again and a forked process can judge it within milliseconds.
"""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

__all__ = ["NAMES", "Mutant", "Place", "functions_of", "live_functions", "mutant", "places"]

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# the modules that score, count and enumerate, the most important first
NAMES = [
    "axfi_kc.scores",
    "axfi_kc.scores.axfi",
    "axfi_kc.scores.family_indices",
    "axfi_kc.families.masks",
    "axfi_kc.families.hitting_kernels",
    "axfi_kc.circuits.queries.counting",
    "axfi_kc.engines.boxes.engine",
    "axfi_kc.engines.boxes.kernels",
    "axfi_kc.engines.ensemble.search",
    "axfi_kc.engines.ensemble.search_kernels",
    "axfi_kc.engines.ensemble.bound_kernels",
    "axfi_kc.engines.ensemble.cover_kernels",
    "axfi_kc.engines.ensemble.engine",
    "axfi_kc.engines.found",
    "axfi_kc.circuits.queries.counting",
    "axfi_kc.circuits.queries.recounting",
    "axfi_kc.circuits.queries.determinism",
    "axfi_kc.circuits.queries.counting",
    "axfi_kc.circuits.queries.counting_kernels",
    "axfi_kc.circuits.modular",
    "axfi_kc.scores.forest",
    "axfi_kc.engines.diagram.engine",
    "axfi_kc.engines.diagram.ordered_diagram",
    "axfi_kc.engines.circuit.engine",
    "axfi_kc.engines.circuit.search",
    "axfi_kc.engines.circuit.regions",
    "axfi_kc.engines.circuit.kernels",
    "axfi_kc.engines.linear.engine",
    "axfi_kc.engines.linear.kernels",
    "axfi_kc.engines.linear.weights",
    "axfi_kc.engines.linear.half_spaces",
    "axfi_kc.engines.linear.mixtures",
    "axfi_kc.engines.linear.union_weights",
    "axfi_kc.engines.linear.weights",
    "axfi_kc.engines.linear.covers",
    "axfi_kc.engines.linear.union_weights",
    "axfi_kc.scores.power_indices",
    "axfi_kc.families.weighted_dag",
    "axfi_kc.families.set_family",
    "axfi_kc.families.force",
    "axfi_kc.families.zdd_store",
    "axfi_kc.families.zdd_kernels",
    "axfi_kc.engines.ensemble.layout",
    "axfi_kc.engines.ensemble.layout_kernels",
    "axfi_kc.engines.per_output",
    "axfi_kc.engines",
    "axfi_kc.circuits.queries.satisfiability",
    "axfi_kc.circuits.queries.truth_kernels",
    "axfi_kc.circuits.queries.structure_kernels",
    "axfi_kc.scores.shap.kernels",
]
_WIDEST = 110  # characters of a change that are shown
Key = tuple[str, int]  # a function's qualified name and first line


@dataclass(frozen=True)
class Place:
    """What can be changed, and how; `first` and `last` are the lines of its statement, without the block below it."""

    node: ast.AST
    how: str
    function: str
    first: int
    last: int


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the code of the functions that differ, and what was changed in words."""

    module: str
    number: int
    function: str
    line: int
    first: int
    last: int
    what: str
    code: dict[Key, CodeType]


def places(tree: ast.Module) -> list[Place]:
    """Return what can be changed within functions, in a fixed order."""
    return [place for name, function in _functions(tree) for s in function.body for place in _within(s, name, s)]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    todo: list[tuple[str, ast.AST]] = [("", tree)]
    while todo:
        prefix, node = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            is_named = isinstance(child, ast.FunctionDef | ast.ClassDef)
            name = f"{prefix}{child.name}" if is_named else prefix
            if isinstance(child, ast.FunctionDef):
                yield name, child
            todo.append((f"{name}." if is_named else prefix, child))


def _within(node: ast.AST, function: str, statement: ast.stmt) -> Iterator[Place]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.ClassDef):
        return  # messages are no results; functions within are visited on their own
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return  # a guard against mistakes of our own, without effect while there are none
    statement = node if isinstance(node, ast.stmt) else statement
    for how in _changes(node):
        yield Place(node, how, function, *_lines(statement))
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield from _within(child, function, statement)


def _changes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield "operator"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "comparison"
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition"
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "constant"
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "dropped"


def _lines(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno
    return statement.lineno, max(statement.lineno, last or 0)


def mutant(module: str, source: str, number: int) -> Mutant:
    """Return the module's mutant `number`; its code is empty if the compiler makes the same of it."""
    tree = ast.parse(source)
    before = _unchanged(source)
    place = places(tree)[number]
    node, shown = place.node, _shown(place)
    if place.how == "operator":
        node.op = SWAPS[type(node.op)]()
    elif place.how == "comparison":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif place.how == "condition":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif place.how == "constant":
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        _drop(tree, node)
    after = functions_of(ast.fix_missing_locations(tree))
    changed = {key: code for key, code in after.items() if code != before[key]}
    what = f"{shown}  ->  {'(dropped)' if place.how == 'dropped' else _shown(place)}"
    return Mutant(module, number, place.function, node.lineno, place.first, place.last, what, changed)


@cache
def _unchanged(source: str) -> dict[Key, CodeType]:
    return functions_of(ast.parse(source))


def _shown(place: Place) -> str:
    """Return the changed expression, or the head of the changed statement."""
    text = ast.unparse(place.node).splitlines()[0]
    return text if len(text) <= _WIDEST else text[:_WIDEST] + "..."


def _drop(tree: ast.Module, node: ast.AST) -> None:
    for parent in ast.walk(tree):
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and node in value:
                value[value.index(node)] = ast.copy_location(ast.Pass(), node)


def functions_of(tree: ast.Module) -> dict[Key, CodeType]:
    """Return the code of a module's functions and methods; functions within functions are part of theirs."""
    found: dict[Key, CodeType] = {}
    todo = [compile(tree, "mutant", "exec")]
    while todo:
        for constant in todo.pop().co_consts:
            if isinstance(constant, CodeType) and constant.co_flags & inspect.CO_OPTIMIZED:
                found[constant.co_qualname, constant.co_firstlineno] = constant
            elif isinstance(constant, CodeType):
                todo.append(constant)  # the body of a class
    return found


def live_functions(paths: dict[str, Path]) -> dict[str, dict[Key, list[FunctionType]]]:
    """Return the functions of each module that this process holds; `paths` names the modules' files."""
    modules = {str(path): name for name, path in paths.items()}
    found: dict[str, dict[Key, list[FunctionType]]] = {name: {} for name in paths}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and (name := modules.get(function.__code__.co_filename)):
            code = function.__code__
            found[name].setdefault((code.co_qualname, code.co_firstlineno), []).append(function)
    return found
