"""Target languages by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from axfi_kc.circuit import Circuit
from axfi_kc.errors import CircuitError, UnsupportedTargetError
from axfi_kc.targets.ddnnf import ddnnf_of
from axfi_kc.targets.mdd import mdd_of
from axfi_kc.targets.obdd import obdd_of
from axfi_kc.targets.protocols import Target
from axfi_kc.targets.sdd import sdd_of

__all__ = ["TARGETS", "options_of", "target_of"]

_MAKERS: Mapping[str, Callable[..., Target]] = {"mdd": mdd_of, "obdd": obdd_of, "sdd": sdd_of, "ddnnf": ddnnf_of}
TARGETS = tuple(_MAKERS)


def _maker(name: str) -> Callable[..., Target]:
    if name not in _MAKERS:
        raise UnsupportedTargetError(
            f"A target must be one of {', '.join(map(repr, TARGETS))}, but {name!r} was given; name one of these."
        )
    return _MAKERS[name]


def options_of(name: str) -> tuple[str, ...]:
    """Return the options that the target `name` has.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.

    Examples
    --------
    >>> options_of("mdd")
    ('order', 'budget')
    """
    return tuple(signature(_maker(name)).parameters)[1:]


def target_of(name: str, circuit: Circuit, **options: Any) -> Target:
    """Return `circuit` in the language `name`.

    Parameters
    ----------
    name
        One of ``TARGETS``.
    circuit
        Of any kind.
    options
        As in the target's own function (:func:`~axfi_kc.targets.mdd.mdd_of` and so on): order, code,
        vtree, budget, ... Those that are None are left to the target's default.

    Raises
    ------
    UnsupportedTargetError
        If there is no such target.
    CircuitError
        If the target does not have an option, or does not take its value.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> one = build.circuit(build.literal(0, [1]))
    >>> [target_of(name, one).count() for name in TARGETS] == [1] * len(TARGETS)
    True
    >>> target_of("mdd", one, code="binary")
    Traceback (most recent call last):
        ...
    axfi_kc.errors.CircuitError: The target 'mdd' takes order, budget, but code was given; leave it out.
    """
    make, known = _maker(name), options_of(name)
    given = {option: value for option, value in options.items() if value is not None}
    strange = [option for option in given if option not in known]
    if strange:
        raise CircuitError(
            f"The target {name!r} takes {', '.join(known)}, but {', '.join(strange)} was given; leave it out."
        )
    return make(circuit, **given)
