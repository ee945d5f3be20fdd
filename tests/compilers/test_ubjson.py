"""UBJSON: every value, and nothing that a hostile file claims."""

from __future__ import annotations

import struct

import pytest

from axfi_kc.compilers.readers.ubjson import parse_ubjson
from axfi_kc.errors import ModelFileError


@pytest.mark.parametrize(
    "data",
    [
        b"[$d#L" + struct.pack(">q", 2**62),
        b"[$d#L" + struct.pack(">q", -1),
        b"S" + b"L" + struct.pack(">q", 2**62),
        b"[#L" + struct.pack(">q", 2**40),
        b"[$T#U\xff",
        b"[$Z#L" + struct.pack(">q", 3) + b"xxx",
        b"[$U",
        b"[$#U\x01",
        b"{#U\x02U\x01aT",
        b"[" * 10_000,
        b"{U\x01a" * 10_000,
        b"SU\x02\xff\xff",
        b"Q",
        b"TT",
        b"N",
        b"H",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_hostile_ubjson(data) -> None:
    with pytest.raises(ModelFileError):
        parse_ubjson(data)


def test_ubjson_values() -> None:
    assert parse_ubjson(b"[TFZNCxU\x07i\xffI\x01\x00D" + struct.pack(">d", 0.5) + b"]") == [
        True,
        False,
        None,
        "x",
        7,
        -1,
        256,
        0.5,
    ]
    assert parse_ubjson(b"{$U#U\x01U\x01a\x09") == {"a": 9}
    assert parse_ubjson(b"[$S#U\x02U\x01aU\x01b") == ["a", "b"]
