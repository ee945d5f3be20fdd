"""Every public door, found and not listed: what `axfi_kc.__all__` and the modules of `_ROOMS` reach, method by method.

A new door is found by itself; how it is called rightly is told in `tests/support/door_calls.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.targets import Ddnnf, Mdd, Obdd, Sdd

__all__ = ["Door", "doors"]

_ROOMS = ("plots", "explanations.page", "circuits.exchange", "circuits.files")
_RESULTS = (Circuit, Psdd, Ddnnf, Mdd, Obdd, Sdd)  # what public doors give, under names that few people import

Parameter = inspect.Parameter


@dataclass(frozen=True, slots=True)
class Door:
    """One public callable, or a property.

    Attributes
    ----------
    name
        Its path, such as ``"Explanation.scores"``.
    owner
        The class of which it is called on an instance; None of functions, classes and class methods.
    target
        What is called; None of a property.
    parameters
        Its parameters, without `self`.
    """

    name: str
    owner: str | None
    target: Callable[..., Any] | None
    parameters: tuple[Parameter, ...]

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters that must be given."""
        several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        return tuple(p.name for p in self.parameters if p.default is Parameter.empty and p.kind not in several)

    def call(self, owner: Any, given: dict[str, Any]) -> Any:
        """Call it, on `owner` if it has one."""
        if self.target is None:
            return getattr(owner, self.name.rpartition(".")[2])
        first, several, rest = [] if self.owner is None else [owner], [], {}
        for p in self.parameters:
            if p.name not in given:
                continue
            if p.kind is Parameter.POSITIONAL_ONLY:
                first.append(given[p.name])
            elif p.kind is Parameter.VAR_POSITIONAL:
                several.append(given[p.name])
            else:
                rest["magic" if p.kind is Parameter.VAR_KEYWORD else p.name] = given[p.name]
        return self.target(*first, *several, **rest)


def doors() -> tuple[Door, ...]:
    """Return all of them, each once."""
    found: dict[int, list[Door]] = {}
    for name, thing in _names():
        if id(thing) not in found:
            found[id(thing)] = list(_of(name, thing))
    return tuple(door for some in found.values() for door in some)


def _names() -> Iterator[tuple[str, Any]]:
    yield from _within("", ax)
    for room in _ROOMS:
        yield from _within(f"{room}.", import_module(f"axfi_kc.{room}"))
    for result in _RESULTS:
        yield result.__name__, result


def _within(prefix: str, module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in module.__all__:
        thing = getattr(module, name)
        if isinstance(thing, ModuleType):
            yield from _within(f"{prefix}{name}.", thing)
        else:
            yield f"{prefix}{name}", thing


def _of(name: str, thing: Any) -> Iterator[Door]:
    if not inspect.isclass(thing):
        if callable(thing):
            yield Door(name, None, thing, _parameters(thing))
        return
    if issubclass(thing, BaseException):
        return
    if not inspect.isabstract(thing) and not _holds_fields(thing):
        yield Door(name, None, thing, _parameters(thing))
    for member in dir(thing):
        if not member.startswith("_"):
            yield from _member(f"{name}.{member}", thing, inspect.getattr_static(thing, member))


def _holds_fields(kind: type) -> bool:
    """Tell whether it is made of its fields and looks at none, or of private ones: only this library makes such."""
    if any(p.name.startswith("_") for p in _parameters(kind)):
        return True
    maker = next(k for k in kind.__mro__ if "__init__" in vars(k))
    is_generated = is_dataclass(maker) and maker.__dataclass_params__.init  # type: ignore[attr-defined]
    return maker is object or (is_generated and not hasattr(kind, "__post_init__"))


def _member(name: str, owner: type, member: Any) -> Iterator[Door]:
    if isinstance(member, property):
        yield Door(name, owner.__name__, None, ())
    elif isinstance(member, classmethod | staticmethod):
        bound = getattr(owner, name.rpartition(".")[2])
        yield Door(name, None, bound, _parameters(bound))
    elif inspect.isfunction(member) and member.__module__.startswith("axfi_kc"):
        yield Door(name, owner.__name__, member, _parameters(member)[1:])


def _parameters(thing: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(inspect.signature(thing).parameters.values())
