"""Asks the management cluster whose token it is (TokenReview), and what a caller may do (SubjectAccessReview).

Answers that say yes are kept for some seconds, so that a command with several requests costs one review of each kind.
Others are not kept: a right that was just given counts at once.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

import msgspec

from jobrelay.kube import Client, Clock, Resource
from jobrelay.relay.api.callers import Caller
from jobrelay.relay.api.failures import ApiFailure, unauthorized

TOKEN_REVIEWS: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
_KEPT_SECONDS: Final = 10.0
_MOST_KEPT: Final = 4096


class ResourceAttributes(msgspec.Struct, frozen=True):
    """The request to be authorized: `spec.resourceAttributes` of a SubjectAccessReview."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        part = f"/{self.subresource}" if self.subresource else ""
        named = f" {self.name!r}" if self.name else ""
        where = f"in the namespace {self.namespace!r}" if self.namespace else "at the cluster scope"
        return f"{self.verb} resource {f'{self.resource}{part}'!r}{named} in API group {self.group!r} {where}"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Answer(msgspec.Struct):
    allowed: bool = False
    denied: bool = False
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _Answer = msgspec.field(default_factory=_Answer)


class AccessReviews:
    """Asks as the relay; `client` must be one that sends writes in every replica."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._kept: dict[Any, tuple[float, Any]] = {}

    async def caller(self, token: str) -> Caller:
        """The user of a token; raises ApiFailure if it is not valid, and KubeError."""
        key = sha256(token.encode()).digest()
        known = self._known(key)
        if isinstance(known, Caller):
            return known
        answer = await self._ask(TOKEN_REVIEWS, {"token": token})
        if not answer.authenticated or not answer.user.username:
            raise unauthorized("the management cluster does not accept this token")
        user = answer.user
        extra = tuple((name, tuple(values)) for name, values in user.extra.items())
        found = Caller(user.username, user.uid, tuple(user.groups), extra, direct=True)
        self._keep(key, found)
        return found

    async def allows(self, caller: Caller, wanted: ResourceAttributes) -> bool:
        """Whether the management cluster lets a caller do something; raises KubeError."""
        key = (caller, wanted)
        if self._known(key) is True:
            return True
        attributes = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value}
        spec = {
            "user": caller.name,
            "uid": caller.uid,
            "groups": list(caller.groups),
            "extra": {name: list(values) for name, values in caller.extra},
            "resourceAttributes": {**attributes, "version": "*"},
        }
        answer = await self._ask(ACCESS_REVIEWS, spec)
        if not answer.allowed or answer.denied:
            return False
        self._keep(key, True)
        return True

    async def require(self, caller: Caller, wanted: ResourceAttributes) -> None:
        """Raises ApiFailure if a caller may not do something."""
        if not await self.allows(caller, wanted):
            raise ApiFailure(403, "Forbidden", f"User {caller.name!r} cannot {wanted}")

    async def _ask(self, resource: Resource, spec: dict[str, Any]) -> _Answer:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        return (await self._client.create(resource, body)).decode(_Review).status

    def _known(self, key: Any) -> Any:
        until, value = self._kept.get(key, (0.0, None))
        return value if self._clock.monotonic() < until else None

    def _keep(self, key: Any, value: Any) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = self._clock.monotonic() + _KEPT_SECONDS, value
