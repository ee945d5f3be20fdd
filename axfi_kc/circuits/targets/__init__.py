"""Target languages: circuits in the hands of other libraries or our own, and the way back.

Whatever takes a budget raises BudgetError when it is spent.

To add one:

1. write a file here with a class as :class:`Target` says, and ``mine_of(circuit, *, order=None, budget=None) -> Mine``;
2. say below, in one call, what the other rooms must know: ``register(Language("mine", mine_of, ordered=True))``;
3. ``compile_model``, ``Explainer``, ``compare_sizes``, the command line and all messages ask :data:`TARGETS`;
4. options are the parameters of ``mine_of``; those called ``order``, ``code``, ``vtree`` and ``budget`` are filled in;
5. derive a class of ``tests/contract`` for it, and it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from types import MappingProxyType
from typing import Any, Protocol, Self, runtime_checkable

from axfi_kc.arguments import quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, Form, Size, circuit_in
from axfi_kc.circuits.queries.languages import add_language, remove_language
from axfi_kc.circuits.targets.bit_codes import CODES, Bit, bits_of
from axfi_kc.circuits.targets.ddnnf import Ddnnf, ddnnf_of
from axfi_kc.circuits.targets.mdd import Mdd, mdd_of
from axfi_kc.circuits.targets.mdd_reordering import reordered, sifted
from axfi_kc.circuits.targets.obdd import Obdd, obdd_of
from axfi_kc.circuits.targets.sdd import Sdd, sdd_of
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, UnsupportedTargetError

__all__ = [
    "CODES",
    "TARGETS",
    "Bit",
    "Closed",
    "Ddnnf",
    "Language",
    "Mdd",
    "Obdd",
    "Sdd",
    "Target",
    "Vtree",
    "bits_of",
    "ddnnf_of",
    "language_of",
    "mdd_of",
    "obdd_of",
    "options_of",
    "register",
    "reordered",
    "sdd_of",
    "sifted",
    "target_of",
    "targets_with",
    "unregister",
]


@runtime_checkable
class Target(Protocol):
    """A set of points in some target language.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> isinstance(mdd_of(build.circuit(build.literal(0, [1]))), Target)
    True
    """

    @property
    def grid(self) -> Grid:
        """The cells that points are made of."""

    @property
    def language(self) -> str:
        """The name of the language, as in ``TARGETS``."""

    @property
    def size(self) -> Size:
        """Nodes and edges in the language's own terms; constants are not counted."""

    @property
    def bytes(self) -> int:
        """An estimate of the memory it takes; each target says of what."""

    def to_circuit(self) -> Circuit:
        """Return the points as a deterministic, decomposable circuit over cells."""

    def count(self, *, budget: Budget | None = None) -> int:
        """Return the number of points of the domain, exactly."""

    def probability(self, *, budget: Budget | None = None) -> Fraction:
        """Return the probability of the points under the domain's measure, exactly."""


@runtime_checkable
class Closed(Target, Protocol):
    """A target whose language is closed under the Boolean operations, in time polynomial for two operands."""

    def conjoin(self, other: Self, /) -> Self:
        """Return the points in both."""

    def disjoin(self, other: Self, /) -> Self:
        """Return the points in one of the two."""

    def negate(self) -> Self:
        """Return all other points."""


@dataclass(frozen=True, slots=True)
class Language:
    """What the other rooms must know of a target language.

    Attributes
    ----------
    name
        As in ``compile_model(target=...)``; also the ``language`` of what `make` returns.
    make
        Returns a circuit of any kind in this language; its keyword parameters are the target's options.
    ordered
        Whether ``to_circuit()`` is an ordered decision diagram. CXps are then found as a family, which may be too
        large to list; of any other circuit they are found by a search.
    direct
        Whether the most direct circuit of a model is best to start from, such as the paths of a single tree, and
        not an ordered diagram.
    search
        The option that looks for a better order or vtree, if there is one.
    searched
        What an order is called after that search.
    """

    name: str
    make: Callable[..., Target]
    ordered: bool = False
    direct: bool = False
    search: str | None = None
    searched: str = "sifted"

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the target."""
        return tuple(signature(self.make).parameters)[1:]


_LANGUAGES: dict[str, Language] = {}
TARGETS: Mapping[str, Language] = MappingProxyType(_LANGUAGES)
"""Every target language by its name; the only list of them."""


def register(language: Language) -> None:
    """Make a target language known to every other room.

    Raises
    ------
    UnsupportedTargetError
        If its name is taken.
    """
    name = language.name
    if not isinstance(name, str) or not name.isidentifier() or name in _LANGUAGES or name == "auto":
        raise UnsupportedTargetError(
            f"A target needs an identifier as a name that no other has, but "
            f"{quoted(name)} was given; choose another one."
        )
    _LANGUAGES[language.name] = language
    # what a circuit of ours can be asked follows from its form
    add_language(language.name, like="mdd" if language.ordered else "ddnnf")


def unregister(name: str) -> None:
    """Forget a target language that was registered; those of the library stay.

    Raises
    ------
    UnsupportedTargetError
        If there is no such language, or it is one of the library's own.
    """
    if name not in _LANGUAGES or name in _OWN:
        raise UnsupportedTargetError(f"Only a registered target can be unregistered, but {quoted(name)} was given.")
    del _LANGUAGES[name]
    remove_language(name)


def language_of(name: str) -> Language:
    """Return what is known of the target `name`.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.
    """
    if not isinstance(name, str) or name not in _LANGUAGES:
        raise UnsupportedTargetError(
            f"A target must be one of {', '.join(map(repr, TARGETS))}, but {quoted(name)} was given; name one of these."
        )
    return _LANGUAGES[name]


def options_of(name: str) -> tuple[str, ...]:
    """Return the options that the target `name` has.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.

    Examples
    --------
    >>> options_of("mdd")
    ('order', 'sift', 'budget')
    """
    return language_of(name).options


def targets_with(option: str) -> tuple[str, ...]:
    """Return the targets that have an option.

    Examples
    --------
    >>> targets_with("code"), targets_with("vtree")
    (('obdd', 'sdd'), ('sdd',))
    """
    return tuple(name for name, language in TARGETS.items() if option in language.options)


def target_of(name: str, circuit: Form, **options: Any) -> Target:
    """Return `circuit` in the language `name`.

    Parameters
    ----------
    name
        One of ``TARGETS``.
    circuit
        Of any kind.
    options
        As in the target's own function (:func:`~axfi_kc.circuits.targets.mdd.mdd_of` and so on): order, code,
        vtree, budget, ... Those that are None are left to the target's default.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.
    CircuitError
        If the target does not have an option, or does not take its value.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> one = build.circuit(build.literal(0, [1]))
    >>> [target_of(name, one).count() for name in TARGETS] == [1] * len(TARGETS)
    True
    >>> target_of("mdd", one, code="binary")
    Traceback (most recent call last):
        ...
    axfi_kc.errors.CircuitError: The target 'mdd' takes order, sift, budget, but code was given; leave it out.
    """
    language = language_of(name)
    known = language.options
    given = {option: value for option, value in options.items() if value is not None}
    strange = [option for option in given if option not in known]
    if strange:
        raise CircuitError(
            f"The target {name!r} takes {', '.join(known)}, but {', '.join(strange)} was given; leave it out."
        )
    return language.make(circuit_in(circuit), **given)


register(Language("mdd", mdd_of, ordered=True, search="sift"))
register(Language("obdd", obdd_of, ordered=True, search="sift"))
register(Language("sdd", sdd_of, search="minimise", searched="searched"))
register(Language("ddnnf", ddnnf_of, direct=True))
_OWN = frozenset(_LANGUAGES)
