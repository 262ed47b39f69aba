"""Kubernetes objects as immutable values.

An `Object` is its metadata, decoded, over the raw JSON bytes of everything. Caches hold tens of thousands of these, so
the rest is decoded only by whoever needs it and thrown away after: `obj.decode()` for a fresh dict to build upon,
`obj.decode(SomeStruct)` for a typed reading of just the fields that struct names. Nobody ever deep-copies an object,
and `managedFields`, often half of the bytes, are never decoded at all unless asked for.

Decoding keeps no reference to the buffer an object arrived in, or one small object would pin a whole list in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, overload

import msgspec

from .errors import ProtocolError
from .resource import Resource

__all__ = [
    "Body",
    "Key",
    "Metadata",
    "Object",
    "ObjectList",
    "OwnerReference",
    "decode_list",
    "decode_object",
    "encode",
]

T = TypeVar("T")

Body = Mapping[str, Any] | bytes
"""What may be sent: a mapping to encode, or JSON bytes as they are."""


class Key(NamedTuple):
    """Namespace and name: what a reconciler is called with. Cluster-scoped objects have an empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The object that an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The part of ObjectMeta that controllers read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str | None = None
    creation_timestamp: str | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(msgspec.Struct, frozen=True, gc=False):
    """One object: decoded metadata over raw JSON."""

    metadata: Metadata
    raw: bytes
    key: Key = Key("", "")
    """Follows from the metadata, whatever is given; kept because caches and queues ask for it all the time."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "key", Key(self.metadata.namespace, self.metadata.name))

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def resource_version(self) -> str:
        return self.metadata.resource_version

    @property
    def deleting(self) -> bool:
        """Whether deletion was requested and only finalizers or grace keep the object."""
        return self.metadata.deletion_timestamp is not None

    @overload
    def decode(self) -> dict[str, Any]: ...

    @overload
    def decode(self, view: type[T]) -> T: ...

    def decode(self, view: Any = dict[str, Any]) -> Any:
        """Decode everything as a fresh dict, or what `view` names as a typed value."""
        try:
            return _decoder(view).decode(self.raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ProtocolError(f"{self.key} is not what was expected: {error}") from error


class ObjectList(msgspec.Struct, frozen=True, gc=False):
    """Objects as they were at one resourceVersion."""

    items: tuple[Object, ...]
    resource_version: str
    continue_token: str = ""


class _ObjectHeader(msgspec.Struct, rename="camel", gc=False):
    metadata: Metadata
    kind: str = ""
    api_version: str = ""


class _ListMetadata(msgspec.Struct, rename={"continue_": "continue", "resource_version": "resourceVersion"}, gc=False):
    resource_version: str = ""
    continue_: str = ""


class _List(msgspec.Struct, gc=False):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


_encoder = msgspec.json.Encoder()


@cache
def _decoder(view: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(view)


def encode(body: Body) -> bytes:
    """JSON bytes of what is to be sent."""
    return body if isinstance(body, bytes) else _encoder.encode(body)


def decode_object(raw: bytes | msgspec.Raw) -> Object:
    """Read one object."""
    return _object(bytes(raw), None)


def decode_list(raw: bytes, resource: Resource) -> ObjectList:
    """Read one page of a list.

    API servers leave `kind` and `apiVersion` out of the items of a built-in list; they are put back, so that an
    object reads the same whether it came from a list, a watch or a get.
    """
    try:
        page = _decoder(_List).decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"not a list of {resource}: {error}") from error
    items = tuple(_object(bytes(item), resource) for item in page.items or ())
    return ObjectList(items, page.metadata.resource_version, page.metadata.continue_)


def _object(raw: bytes, resource: Resource | None) -> Object:
    try:
        header = _decoder(_ObjectHeader).decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"not a Kubernetes object: {error}") from error
    if resource is not None and not header.kind:
        head = _encoder.encode({"kind": resource.kind, "apiVersion": resource.api_version})
        raw = head[:-1] + b"," + raw.lstrip()[1:]
    return Object(header.metadata, raw)
