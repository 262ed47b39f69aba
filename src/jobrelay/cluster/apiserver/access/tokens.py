"""Service account tokens: JSON web tokens signed with the cluster's key (ES256).

Only this one issuer and one algorithm are ever accepted, so a general JWT library would be more code to guard than the
forty lines below. A token names its service account, and dies with it: uid and existence are checked on each use.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.cluster.apiserver.request import UserInfo

ISSUER: Final = "https://kubernetes.default.svc"
Lookup = Callable[[str, str, str], dict[str, Any] | None]  # (resource key, namespace, name) -> stored object


LEEWAY: Final = 60  # seconds
_INVALID: Final = "invalid bearer token"
_OUT_OF_TIME: Final = {"exp": "has expired", "nbf": "is not valid yet", "iat": "is issued in the future"}


class TokenError(Exception):
    """A token that is not accepted; the message says why."""


def _refused(why: str) -> TokenError:
    return TokenError(f"[{_INVALID}, {why}]")


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class _Head(msgspec.Struct):
    alg: str = ""


class _Bound(msgspec.Struct):
    """An object that a token is bound to: it dies with it."""

    name: str
    uid: str


class _Private(msgspec.Struct):
    namespace: str
    serviceaccount: _Bound
    pod: _Bound | None = None
    secret: _Bound | None = None


class _Claims(msgspec.Struct, rename={"private": "kubernetes.io"}):
    """The claims of a token; times are checked later, by Go's words."""

    iss: str
    sub: str
    jti: str
    private: _Private
    aud: str | list[str] = []
    exp: Any = None
    nbf: Any = None
    iat: Any = None


class Tokens:
    """Issues and checks tokens of one cluster; `uid` makes their ids."""

    def __init__(
        self,
        key: bytes,
        lookup: Lookup,
        now: Callable[[], dt.datetime],
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        loaded = serialization.load_pem_private_key(key, password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        self._key, self._lookup, self._now, self._uid = loaded, lookup, now, uid
        public = loaded.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self._kid = _encode(hashlib.sha256(public).digest())

    def issue(
        self, account: dict[str, Any], audiences: Sequence[str], seconds: int, bound: dict[str, Any] | None
    ) -> tuple[str, dt.datetime]:
        """A token for a service account, and when it expires."""
        now = self._now()
        end = now + dt.timedelta(seconds=seconds)
        metadata = account["metadata"]
        private: dict[str, Any] = {
            "namespace": metadata["namespace"],
            "serviceaccount": {"name": metadata["name"], "uid": metadata["uid"]},
        }
        if bound is not None:
            private[bound["kind"].lower()] = {"name": bound["name"], "uid": bound["uid"]}
        claims = {
            "aud": list(audiences), "exp": int(end.timestamp()), "iat": int(now.timestamp()), "iss": ISSUER,
            "jti": self._uid(), "kubernetes.io": private, "nbf": int(now.timestamp()),
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }  # fmt: skip
        head = msgspec.json.encode({"alg": "ES256", "kid": self._kid})
        signed = f"{_encode(head)}.{_encode(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}", end

    def check(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[UserInfo, list[str]]:
        """The user of a token, and which of the audiences it is valid for."""
        claims = self._claims(token)
        if claims.iss != ISSUER:
            raise TokenError(_INVALID)
        given = claims.aud or [ISSUER]
        given = [given] if isinstance(given, str) else given
        shared = [audience for audience in audiences if audience in given]
        if not shared:
            own, target = (" ".join(go_quote(a) for a in many) for many in (given, audiences))
            raise _refused(f"token audiences [{own}] is invalid for the target audiences [{target}]")
        self._check_times(claims)
        private = claims.private
        self._alive("serviceaccounts", private.namespace, private.serviceaccount)
        for bound, key in ((private.pod, "pods"), (private.secret, "secrets")):
            if bound is not None:
                self._alive(key, private.namespace, bound)
        extra = {}
        if private.pod is not None:
            extra["authentication.kubernetes.io/pod-name"] = (private.pod.name,)
            extra["authentication.kubernetes.io/pod-uid"] = (private.pod.uid,)
        extra["authentication.kubernetes.io/credential-id"] = (f"JTI={claims.jti}",)
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{private.namespace}")
        return UserInfo(claims.sub, groups, private.serviceaccount.uid, extra), shared

    def _check_times(self, claims: _Claims) -> None:
        """Refuses a token outside of its time; clocks may differ by the leeway."""
        now = int(self._now().timestamp())
        for name in ("exp", "nbf", "iat"):
            value = getattr(claims, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _refused("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate")
            if (now - LEEWAY > int(value)) if name == "exp" else (now + LEEWAY < int(value)):
                raise _refused(f"service account token {_OUT_OF_TIME[name]}")

    def _alive(self, key: str, namespace: str, wanted: _Bound) -> None:
        found = self._lookup(key, namespace, wanted.name)
        if found is None or found["metadata"]["uid"] != wanted.uid:
            raise TokenError(_INVALID)

    def _claims(self, token: str) -> _Claims:
        try:
            head, body, signature = token.split(".")
            raw = _decode(signature)
            der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            self._key.public_key().verify(der, f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
            if msgspec.json.decode(_decode(head), type=_Head).alg != "ES256":
                raise TokenError(_INVALID)
            return msgspec.json.decode(_decode(body), type=_Claims)
        except (ValueError, InvalidSignature, *UNREADABLE):
            raise TokenError(_INVALID) from None
