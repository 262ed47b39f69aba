"""Proofs that an object on a worker is a mirror that a relay of this management cluster has created.

Labels and annotations prove nothing: anyone who may create Jobs in some namespace of a worker can copy them. So a
mirror carries a keyed digest (HMAC-SHA256) of everything that says which run it is and where it has to be: origin, kind
and uid of the original, cluster, namespace, name and epoch. The keys are in a Secret of the management cluster and
never leave it. A proof that is copied to another place, or beside another epoch, is not valid there.

A proof cannot contain the uid of the mirror itself, which its API server chooses when the request is over. So someone
who may create Jobs in the very namespace can delete a mirror and put a copy with the same proof in its place. Against
these, only permissions on the worker help.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Sequence
from functools import lru_cache
from hmac import compare_digest, digest
from typing import Final, NamedTuple

import msgspec

_VERSION: Final = "v1."
_MIN_LENGTH: Final = 32
_REMEMBERED: Final = 4096
"""How many proofs are remembered: that of a mirror is needed when it is created, seen, and each time it is compared."""
_encode = msgspec.json.Encoder().encode


class InvalidKeys(ValueError):
    """A text is not one of keys."""


class ProofSubject(NamedTuple):
    """What a proof is bound to."""

    origin: str
    kind: str
    uid: str
    """Of the original."""
    cluster: str
    """See `cluster_binding`."""
    namespace: str
    name: str
    epoch: str


def cluster_binding(worker: str, identity: str) -> str:
    """What binds a proof to a cluster: its identity, or the worker's name where the identity may not be read.

    Without the name, a proof from one of these clusters would be valid on all of them.
    """
    return identity or f"name:{worker}"


class ProofKeys:
    """Some keys: the first one signs, all of them verify, so that a key can be replaced while mirrors run."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = tuple(keys)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProofKeys) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def sign(self, subject: ProofSubject) -> str:
        """The proof for a mirror."""
        return _sign(self._keys[0], subject)

    def verify(self, subject: ProofSubject, proof: str) -> bool:
        """Whether one of the keys has signed this."""
        given = proof.encode()
        return any(compare_digest(_sign(key, subject).encode(), given) for key in self._keys)

    def text(self) -> str:
        """The keys as a Secret holds them: one in each line, in base64."""
        return "".join(f"{urlsafe_b64encode(key).decode()}\n" for key in self._keys)


def parse_keys(text: str) -> ProofKeys:
    """The keys in a Secret's text; raises InvalidKeys."""
    keys = [_parse_key(line.strip(), number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not keys:
        raise InvalidKeys("it holds no key")
    return ProofKeys(keys)


def _parse_key(line: str, number: int) -> bytes:
    try:
        key = b64decode(line.replace("-", "+").replace("_", "/"), validate=True)
    except (Base64Error, ValueError):
        raise InvalidKeys(f"line {number} is not base64") from None
    if len(key) < _MIN_LENGTH:
        raise InvalidKeys(f"the key in line {number} has {len(key)} bytes, but needs {_MIN_LENGTH}")
    return key


@lru_cache(_REMEMBERED)
def _sign(key: bytes, subject: ProofSubject) -> str:
    made = digest(key, _encode((_VERSION, *subject)), "sha256")
    return _VERSION + urlsafe_b64encode(made).decode().rstrip("=")
