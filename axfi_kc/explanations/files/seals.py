"""Checksums of rows and parts of a stream, so that one that is changed, cut, swapped or of another run is noticed.

Each is a keyed BLAKE2b of 64 bits; the key is the fingerprint of the run. They are against accidents, not against
somebody who means to deceive: `axfi_kc.verify` is what tells whether an explanation is true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

__all__ = ["is_sealed", "part_seal", "plain_line", "sealed"]


_BYTES = 8
_SEAL = re.compile(rb', "check": "([0-9a-f]{16})"}\n?\Z')
_LENGTH = len(b', "check": "0123456789abcdef"}\n')


def sealed(entries: Mapping[str, Any], key: bytes) -> bytes:
    """Return entries as one line of JSON that ends with its checksum.

    Examples
    --------
    >>> line = sealed({"row": 0}, b"run")
    >>> line.strip(), is_sealed(line, b"run"), is_sealed(line.replace(b"0,", b"1,"), b"run"), is_sealed(line, b"other")
    (b'{"row": 0, "check": "d86670a1bf6afa24"}', True, False, False)
    """
    begin = plain_line(entries)[:-2]
    return b'%s, "check": "%s"}\n' % (begin, _digest(begin, key))


def plain_line(entries: Mapping[str, Any]) -> bytes:
    """Return entries as one line of JSON."""
    try:
        return json.dumps(entries, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a pair, which UTF-8 cannot hold
        return json.dumps(entries, allow_nan=False).encode() + b"\n"


def is_sealed(line: bytes, key: bytes) -> bool:
    """Tell whether a line ends with its own checksum; see :func:`sealed`."""
    found = _SEAL.search(line, max(0, len(line) - _LENGTH))
    return found is not None and _digest(memoryview(line)[: found.start()], key) == found[1]


def _digest(content: bytes | memoryview, key: bytes) -> bytes:
    return blake2b(content, digest_size=_BYTES, key=key).hexdigest().encode()


def part_seal(content: bytes, key: bytes, start: int, stop: int) -> str:
    """Return the checksum of a file of the rows ``start:stop``.

    Examples
    --------
    >>> part_seal(b"rows", b"run", 0, 64) == part_seal(b"rows", b"run", 64, 128)
    False
    """
    digest = blake2b(b"%d:%d:" % (start, stop), digest_size=_BYTES, key=key)
    digest.update(content)
    return digest.hexdigest()
