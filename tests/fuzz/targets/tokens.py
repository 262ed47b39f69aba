"""Bearer tokens: any text, and any claims under a good signature."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from jobrelay.cluster.apiserver.access.tokens import TokenError, Tokens, _encode
from tests.cluster.apiserver.serving import START, signing_key

from ..target import Check, Target
from .documents import JSON_WORDS

_HEAD: Final = b'{"alg":"ES256"}'
_WORDS: Final = (
    *JSON_WORDS, b'"iss":"https://kubernetes.default.svc"', b'"aud":', b'"exp":', b'"nbf":', b'"iat":', b'"sub":',
    b'"jti":',
    b'"kubernetes.io":{', b'"namespace":"default"', b'"serviceaccount":{', b'"name":"default"', b'"uid":"1"',
    b'"pod":{',
    b"1767272400", b"1e400",
)  # fmt: skip


def _lookup(key: str, namespace: str, name: str) -> dict[str, Any] | None:
    return {"metadata": {"uid": "1"}} if namespace == "default" else None


@contextmanager
def _any_text() -> Iterator[Check]:
    tokens = Tokens(signing_key(), _lookup, lambda: START)
    yield lambda data: tokens.check(data.decode("utf-8", "replace"))


@contextmanager
def _any_claims() -> Iterator[Check]:
    """Only the owner of the key can sign; still, claims of another version of this program may be here."""
    key: Any = serialization.load_pem_private_key(signing_key(), password=None)
    tokens = Tokens(signing_key(), _lookup, lambda: START)

    def check(data: bytes) -> None:
        head, _, claims = data.rpartition(b"\n")
        signed = f"{_encode(head or _HEAD)}.{_encode(claims)}"
        r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        user, audiences = tokens.check(f"{signed}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}")
        assert user.name
        assert audiences

    yield check


TOKENS: Final = (
    Target("token", _any_text, (TokenError,), (b".", b"eyJ", b"=", b"-", b"_", b"eyJhbGciOiJFUzI1NiJ9")),
    Target("signed-claims", _any_claims, (TokenError,), _WORDS),
)
