"""Somebody's library of one class, which knows nothing of explanations."""

from __future__ import annotations


class Signpost:
    """Above or below a number, which it says in words and only point by point."""

    def __init__(self, cut: float) -> None:
        self.cut = cut

    def predict(self, *, point: list[float]) -> str:
        return "low" if point[0] <= self.cut else "high"
