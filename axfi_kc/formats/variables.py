"""Which Boolean variable of a file says what about which feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axfi_kc.errors import CircuitError
from axfi_kc.grid import Grid
from axfi_kc.targets.bit_codes import Bit, bits_of

__all__ = ["Variables"]


@dataclass(frozen=True, slots=True)
class Variables:
    """The Boolean variables of a file; variable k + 1 is ``bits[k]``.

    Attributes
    ----------
    grid
        The cells that the bits encode.
    bits
        What each variable says; None for an auxiliary variable, which the others define and
        which is forgotten when a circuit is read.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Categorical, Integer
    >>> grid = Grid.of_values(Domain([Categorical("a", "xyz"), Integer("b", 0, 1)]))
    >>> [bit.name for bit in Variables.of_code(grid).bits]
    ['x0_0', 'x0_1', 'x0_2', 'x1_0']
    >>> [tuple(bit.cells) for bit in Variables.of_literals(grid, [[1, 2, 3], [4, -4]]).bits]
    [(0,), (1,), (2,), (0,)]
    """

    grid: Grid
    bits: tuple[Bit | None, ...]

    @classmethod
    def of_code(cls, grid: Grid, *, code: str = "direct", order: Sequence[int] | None = None) -> Variables:
        """Return the bits of each feature one after the other.

        Parameters
        ----------
        grid
            The cells.
        code
            "direct" (bit k says: cell = k), "order" (cell > k) or "binary"; a feature of two cells has one bit.
        order
            Every feature once; the domain's order by default.

        Raises
        ------
        CircuitError
            If the code is unknown, or the order is none.
        """
        n = len(grid.axes)
        features = list(range(n)) if order is None else list(order)
        if sorted(features) != list(range(n)):
            raise CircuitError(
                f"An order must hold each feature number from 0 to {n - 1} once, but {features} was given; correct it."
            )
        return cls(grid, tuple(bit for i in features for bit in bits_of(grid, i, code=code)))

    @classmethod
    def of_literals(cls, grid: Grid, literals: Sequence[Sequence[int]]) -> Variables:
        """Return the bits by the literal that says each value.

        Parameters
        ----------
        grid
            The cells.
        literals
            For each feature and each of its cells, the literal that is true on this cell and false on the
            feature's others: ``[1, -1]`` for two cells in one variable, ``[3, 4, 5]`` for a variable each.

        Raises
        ------
        CircuitError
            If a cell lacks its literal, a variable belongs to two features or to none, or its signs disagree.
        """
        bits: dict[int, Bit] = {}
        given = list(literals)
        if len(given) != len(grid.axes):
            raise CircuitError(
                f"Expected the literals of {len(grid.axes)} features, but those of {len(given)} were given; add a list "
                "for each feature."
            )
        for feature, row in enumerate(given):
            for variable, cells in _cells_of(grid, feature, row).items():
                if variable in bits:
                    raise CircuitError(
                        f"Each variable must belong to one feature, but variable {variable} belongs to features "
                        f"{bits[variable].feature} and {feature}; renumber it."
                    )
                bits[variable] = Bit(f"v{variable}", feature, cells)
        if bits and max(bits) != len(bits):
            missing = next(v for v in range(1, len(bits) + 1) if v not in bits)
            raise CircuitError(
                f"Variables must be numbered from 1 without gaps, but variable {missing} belongs to no feature and "
                f"variable {max(bits)} does; renumber them."
            )
        return cls(grid, tuple(bits[v] for v in sorted(bits)))

    @property
    def has_auxiliary(self) -> bool:
        """Whether some variable is to be forgotten."""
        return None in self.bits

    def with_auxiliary(self, n_variables: int) -> Variables:
        """Return these variables followed by auxiliary ones, `n_variables` in all."""
        return Variables(self.grid, self.bits + (None,) * (n_variables - len(self.bits)))


def _cells_of(grid: Grid, feature: int, literals: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the variables of a feature, each with the cells on which it is 1."""
    n, name = grid.n_cells[feature], grid.axes[feature].feature.name
    if len(literals) != n or 0 in literals or len(set(literals)) != n:
        raise CircuitError(
            f"Feature {name!r} has {n} values and needs as many different literals, none of them 0, but "
            f"{str(list(literals))[:80]} was given; give one per value."
        )
    if n > 2 and len({abs(k) for k in literals}) != n:
        raise CircuitError(
            f"Both signs of a variable can only tell two values apart, but feature {name!r} has {n}; give each value "
            "a variable of its own."
        )
    cells: dict[int, tuple[int, ...]] = {}
    for cell, literal in enumerate(literals):
        others = tuple(c for c in range(n) if c != cell) if literal < 0 else ()
        cells.setdefault(abs(literal), others if literal < 0 else (cell,))
    return cells
