"""A tiny protobuf writer, enough to send a few kinds the way client-go does.

A message is a list of (field number, value): text and bytes are length-delimited, integers and booleans are varints,
a nested list is a nested message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MAGIC = b"k8s\x00"
Message = Sequence[tuple[int, Any]]


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode(message: Message) -> bytes:
    return b"".join(_field(number, value) for number, value in message)


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, bool | int):
        return varint(number << 3) + varint(int(value))
    payload = value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else encode(value)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def envelope(version: str, kind: str, raw: bytes | Message, content_type: str = "") -> bytes:
    """runtime.Unknown: typeMeta (1), raw (2), contentEncoding (3), contentType (4)."""
    payload = raw if isinstance(raw, bytes) else encode(raw)
    unknown: list[tuple[int, Any]] = [(1, [(1, version), (2, kind)]), (2, payload), (3, ""), (4, content_type)]
    return MAGIC + encode(unknown)


def entry(key: str, value: str | bytes) -> Message:
    """One entry of a map."""
    return [(1, key), (2, value)]
