"""JSON objects in which no key occurs twice: whoever reads one reads the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["distinct_keys"]


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's entries; for ``json.loads(..., object_pairs_hook=distinct_keys)``.

    Raises
    ------
    ValueError
        If a key occurs twice: some readers take the first, others the last.

    Examples
    --------
    >>> import json
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=distinct_keys)
    Traceback (most recent call last):
        ...
    ValueError: the key 'a' occurs twice
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:40]!r} occurs twice")
    return found
