"""What is said of some rows, by their labels, which need not be distinct."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, TypeVar

__all__ = ["LabelledRows"]


T = TypeVar("T")


class LabelledRows(Mapping[Any, T]):
    """A mapping from labels of rows that counts and lists rows: two of one label are two.

    Parameters
    ----------
    pairs
        The label of each row, and what is said of it.

    Examples
    --------
    >>> found = LabelledRows([("a", 1), ("b", 2), ("a", 3)])
    >>> found, len(found), found["a"]
    ({'a': 1, 'b': 2, 'a': 3}, 3, 1)
    >>> list(found.items())
    [('a', 1), ('b', 2), ('a', 3)]
    """

    __slots__ = ("_first", "_pairs")

    def __init__(self, pairs: Iterable[tuple[Any, T]] = ()) -> None:
        self._pairs = tuple(pairs)
        self._first = dict(reversed(self._pairs))

    def __getitem__(self, label: Any) -> T:
        """Return what is said of the first row of that label."""
        return self._first[label]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the label of each row."""
        return (label for label, _ in self._pairs)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._pairs)

    def items(self) -> ItemsView[Any, T]:
        """Return the label of each row with what is said of it."""
        return _Items(self)

    def values(self) -> ValuesView[T]:
        """Return what is said of each row."""
        return _Values(self)

    def __eq__(self, other: object) -> bool:
        """Tell whether the same is said of the same rows, in whatever order."""
        return isinstance(other, Mapping) and Counter(self.items()) == Counter(other.items())

    def __hash__(self) -> int:
        """Return a hash that equal mappings share."""
        return hash(frozenset(Counter(self._pairs).items()))

    def __repr__(self) -> str:
        """Return all rows, as a dictionary is shown."""
        return f"{{{', '.join(f'{label!r}: {said!r}' for label, said in self._pairs)}}}"


class _Items(ItemsView[Any, T]):
    _mapping: LabelledRows[T]

    def __iter__(self) -> Iterator[tuple[Any, T]]:
        return iter(self._mapping._pairs)


class _Values(ValuesView[T]):
    _mapping: LabelledRows[T]

    def __iter__(self) -> Iterator[T]:
        return (said for _, said in self._mapping._pairs)
