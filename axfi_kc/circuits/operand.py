"""What every form of a circuit can do by itself: operators, and ways into other languages and libraries.

The operations stand on targets and files, which stand on circuits; so they are named here and imported on sight.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import checked

if TYPE_CHECKING:
    import networkx as nx

    from axfi_kc.circuits.exchange.clauses import Cnf
    from axfi_kc.circuits.targets import Target

__all__ = ["Operand"]


def _operations() -> Any:
    return import_module("axfi_kc.circuits.operations")


class Operand:
    """A set of points of a domain: a circuit, or a target in some language.

    ``a & b``, ``a | b``, ``a ^ b``, ``a >> b`` and ``~a`` are the points in both, in one, in exactly one, in b or not
    in a, and all others. ``a == b`` says that both are the same set of points of the same domain, in whatever language,
    order or shape; ``a <= b`` that every point of a is one of b. Equal sets have equal hashes. See
    :mod:`axfi_kc.circuits.operations` for what each costs and which language refuses it.
    """

    __slots__ = ()

    def __and__(self, other: object) -> Any:
        """Return the points in both."""
        return _operations().operated("and", self, other)

    def __or__(self, other: object) -> Any:
        """Return the points in one of the two."""
        return _operations().operated("or", self, other)

    def __xor__(self, other: object) -> Any:
        """Return the points in exactly one of the two."""
        return _operations().operated("xor", self, other)

    def __rshift__(self, other: object) -> Any:
        """Return the points that are in the second if they are in the first."""
        return _operations().operated("implies", self, other)

    def __invert__(self) -> Any:
        """Return all other points."""
        return _operations().negate(self)

    def __eq__(self, other: object) -> bool:
        """Tell whether both are the same points of the same domain."""
        if self is other:
            return True
        if not isinstance(other, Operand):
            return NotImplemented
        return bool(_operations().is_same(self, other))

    def __le__(self, other: object) -> bool:
        """Tell whether every point of the first is one of the second."""
        if not isinstance(other, Operand):
            return NotImplemented
        return bool(_operations().is_within(self, other))

    def __ge__(self, other: object) -> bool:
        """Tell whether every point of the second is one of the first."""
        if not isinstance(other, Operand):
            return NotImplemented
        return bool(_operations().is_within(other, self))

    def __hash__(self) -> int:
        """Return the same number for the same points of the same domain."""
        return int(_operations().fingerprint(self))

    @checked("target")
    def compile(self, target: str = "mdd", **options: Any) -> Target:
        """Return the same points in a target language; see :func:`axfi_kc.circuits.targets.target_of`."""
        found: Target = import_module("axfi_kc.circuits.targets").target_of(target, self, **options)
        return found

    @checked("code")
    def to_dd(self, manager: Any, *, code: str = "order") -> Any:
        """Return the same function as a node of a manager of dd.

        See :func:`axfi_kc.circuits.exchange.dd_nodes.to_dd`.
        """
        return import_module("axfi_kc.circuits.exchange.dd_nodes").to_dd(self, manager, code=code)

    @checked("code", "variables")
    def to_pysdd(self, manager: Any, *, code: str = "order", variables: Mapping[str, int] | None = None) -> Any:
        """Return the same function as a node of a manager of PySDD.

        See :func:`axfi_kc.circuits.exchange.pysdd_nodes.to_pysdd`.
        """
        module = import_module("axfi_kc.circuits.exchange.pysdd_nodes")
        return module.to_pysdd(self, manager, code=code, variables=variables)

    def to_networkx(self) -> nx.DiGraph:
        """Return the circuit as a networkx graph; see :func:`axfi_kc.circuits.exchange.graphs.to_networkx`."""
        found: nx.DiGraph = import_module("axfi_kc.circuits.exchange.graphs").to_networkx(self)
        return found

    @checked("code")
    def to_cnf(self, *, code: str = "direct") -> Cnf:
        """Return clauses with as many models as there are points.

        See :func:`axfi_kc.circuits.exchange.clauses.to_cnf`.
        """
        found: Cnf = import_module("axfi_kc.circuits.exchange.clauses").to_cnf(self, code=code)
        return found
