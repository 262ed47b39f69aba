"""A certificate with its key. It is apart from `pki`, since code that only holds one needs no cryptography."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KeyPair"]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes
