"""How the building of a target is held to a budget."""

from __future__ import annotations

from axfi_kc.budget import Budget, Watch
from axfi_kc.errors import BudgetError

__all__ = ["Account"]

_CHUNK = 256  # nodes between two looks at the clock: some milliseconds


class Account:
    """Counts nodes, seconds and bytes against a budget.

    Examples
    --------
    >>> account = Account(Budget(nodes=2), goal="diagram")
    >>> account.spend(2)
    >>> account.spend(1)
    Traceback (most recent call last):
        ...
    axfi_kc.errors.BudgetError: The budget was spent after 3 nodes and 0.00 s, and the diagram is not finished; ...
    """

    def __init__(self, budget: Budget | None, *, goal: str, remedy: str = "allow more, or try another order") -> None:
        self.nodes = 0
        self._watch = Watch(budget)
        self._goal, self._remedy = goal, remedy
        self._next_look = 0

    @property
    def seconds(self) -> float:
        """The seconds since the account was opened."""
        return self._watch.seconds

    def spend(self, nodes: int) -> None:
        """Count `nodes` more.

        Raises
        ------
        BudgetError
            If the budget does not allow them.
        """
        self.nodes += nodes
        if self.nodes > self._next_look:
            self.look()
            most = self._watch.budget.nodes
            self._next_look = self.nodes + _CHUNK if most is None else min(self.nodes + _CHUNK, most)

    def look(self) -> None:
        """Raise a BudgetError if the budget is spent."""
        if self._watch.is_spent(self.nodes):
            raise self.error()

    def error(self) -> BudgetError:
        """Return the error that says what was spent."""
        spent = self.seconds
        return BudgetError(
            f"The budget was spent after {self.nodes} nodes and {spent:.2f} s, and the {self._goal} is not finished; "
            f"{self._remedy}.",
            nodes=self.nodes,
            seconds=spent,
        )
