"""Power indices of the game "the coalition contains a member of the family".

As scores they are those of the game in which a coalition wins if it is a weak AXp. In the dual game it wins if it is a
weak CXp; that game has the same indices and needs only the CXps, which are known, where the AXps would have to be
found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm
from operator import mul

from axfi_kc.budget import Account, Budget
from axfi_kc.families.set_family import SetFamily
from axfi_kc.families.zdd_store import EMPTY, FamilyStore
from axfi_kc.scores import register_score

__all__ = ["banzhaf_index", "shapley_shubik_index"]


@register_score("shapley_shubik", "Shapley-Shubik index of weak AXps", needs="game")
def shapley_shubik_index(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the Shapley-Shubik index of each element that occurs in the minimal sets of `family`.

    A coalition wins if it contains a set of the family. The index of j is the probability that j makes the
    coalition of those before it win, in a random order: the sum over the coalitions S without j that j makes
    win of ``1 / (m * comb(m - 1, |S|))``. Elements in no minimal set never do, and whether they are
    counted among the m changes nothing. The dual game, "the coalition meets every set", has the same index.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    The game becomes a decision diagram over the elements; its nodes times the elements.

    Examples
    --------
    >>> shapley_shubik_index(SetFamily.of([0b011, 0b101]))
    {0: Fraction(2, 3), 1: Fraction(1, 6), 2: Fraction(1, 6)}
    """
    account = _account(budget)
    minimal = family.minimal(budget=account.rest())
    m = minimal.support.bit_count()
    whole = lcm(*range(1, m + 1))  # m * comb(m - 1, s) divides it
    return _index(minimal, [whole // (m * comb(m - 1, s)) for s in range(m)], whole, account)


@register_score("banzhaf_waxp", "Banzhaf index of weak AXps", needs="game")
def banzhaf_index(family: SetFamily, *, budget: Budget | None = None) -> dict[int, Fraction]:
    """Return the Banzhaf index of each element that occurs in the minimal sets of `family`.

    The share of the coalitions without j that j makes win, where a coalition wins if it contains a
    set of the family; see :func:`shapley_shubik_index`.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    The game becomes a decision diagram over the elements; its nodes times the elements.

    Examples
    --------
    >>> banzhaf_index(SetFamily.of([0b011, 0b101]))
    {0: Fraction(3, 4), 1: Fraction(1, 4), 2: Fraction(1, 4)}
    """
    account = _account(budget)
    minimal = family.minimal(budget=account.rest())
    m = minimal.support.bit_count()
    return _index(minimal, [1] * m, 1 << max(m - 1, 0), account)


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="index of the game", advice="allow more, or limit max_size")


def _index(minimal: SetFamily, shares: Sequence[int], whole: int, account: Account) -> dict[int, Fraction]:
    game = _Game.of(minimal, account.rest())
    swings = game.swings(shares, account)
    return {e: Fraction(t, whole) for e, t in sorted(zip(game.elements, swings, strict=True))}


@dataclass(frozen=True, eq=False)
class _Game:
    """A decision diagram with a node for each state at each element, whether or not it matters there.

    ``levels[k]`` has for each state at element k the positions, in the next list, of the states
    that follow without and with the element; -1 stands for a lost game.
    """

    elements: list[int]
    levels: list[list[tuple[int, int]]]

    @classmethod
    def of(cls, family: SetFamily, budget: Budget) -> _Game:
        store = FamilyStore(budget)
        root = store.load(family.rows)
        used = sorted(set(family.rows[2:, 0].tolist()))
        # A family without sets is a lost game from the start.
        states, levels = [root] if root != EMPTY else [], []
        for level in used:
            place: dict[int, int] = {}
            moves = []
            for f in states:
                low, high = store.split(f, level)
                # With the element, its sets need one member less; minimising keeps equal states equal numbers.
                won = low if high == EMPTY else store.minimal(store.union(low, high))
                moves.append((_placed(place, low), _placed(place, won)))
            # One step per move: states may be many where the families are small.
            store.spend(len(moves))
            levels.append(moves)
            states = list(place)
        return cls([family.order[level] for level in used], levels)

    def swings(self, shares: Sequence[int], account: Account) -> list[int]:
        """Return for each element the sum, over the coalitions it makes win, of the share of their size."""
        above = self._above(account)
        below = [list(shares)]  # one state is left at the end: won
        found = []
        for moves, ways in zip(reversed(self.levels), reversed(above), strict=True):
            total, own = 0, []
            n = len(ways[0]) if ways else 0
            for (low, high), way in account.paced(zip(moves, ways, strict=True)):
                # A lost game wins with nothing that comes, at any size.
                without = below[low] if low >= 0 else [0] * (n + 1)
                joined = below[high] if high >= 0 else [0] * (n + 1)
                if low != high:
                    # Coalitions where the element turns the outcome: won with it, and not won without.
                    total += sum(map(mul, way, joined)) - sum(map(mul, way, without))
                # What is below is indexed by the size of what is above. Taking the element adds one to it, so
                # the list of the state after it is read one place further on.
                own.append([a + b for a, b in zip(without[: n - 1], joined[1:n], strict=True)])
            found.append(total)
            below = own
        return found[::-1]

    def _above(self, account: Account) -> list[list[list[int]]]:
        """Return for each state the number of coalitions of each size that lead to it."""
        found = [[[1]]] if self.levels and self.levels[0] else [[] for _ in self.levels[:1]]
        for level, moves in enumerate(self.levels[:-1]):
            following = [[0] * (level + 2) for _ in self.levels[level + 1]]
            for (low, high), way in account.paced(zip(moves, found[-1], strict=True)):
                for child, shift in ((low, 0), (high, 1)):
                    if child >= 0:
                        into = following[child]
                        into[shift : shift + len(way)] = map(int.__add__, into[shift : shift + len(way)], way)
            found.append(following)
        return found


def _placed(place: dict[int, int], state: int) -> int:
    return -1 if state == EMPTY else place.setdefault(state, len(place))
