"""Kubernetes objects as immutable values.

An `Object` is decoded metadata and the raw JSON of the whole object. Caches hold tens of thousands of them, so the rest
is decoded on demand and not kept: `obj.decode()` returns a new dict, `obj.decode(SomeStruct)` a typed view of the
fields that the struct names. Objects are never copied, and `managedFields`, often half of the bytes, is not decoded.

An object keeps no reference to the buffer that it was read from; otherwise one small object would keep a whole list in
memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, overload

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .errors import ProtocolError
from .resource import Resource

__all__ = [
    "Body", "Key", "Metadata", "Object", "ObjectList", "OwnerReference", "decode_list", "decode_object", "encode",
]  # fmt: skip

T = TypeVar("T")

Body = Mapping[str, Any] | bytes
"""The body of a request: a mapping, or JSON that is sent as it is."""


class Key(NamedTuple):
    """Namespace and name of an object; the namespace of cluster-scoped objects is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner of an object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields of ObjectMeta that controllers read."""

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
        """The owner that controls this object, if there is one."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(msgspec.Struct, frozen=True, gc=False):
    """An immutable object: decoded metadata and raw JSON."""

    metadata: Metadata
    raw: bytes
    key: Key = Key("", "")
    """Always set from the metadata; a field because caches and queues read it often."""

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
        """Whether the object has a deletion timestamp."""
        return self.metadata.deletion_timestamp is not None

    @overload
    def decode(self) -> dict[str, Any]: ...

    @overload
    def decode(self, view: type[T]) -> T: ...

    def decode(self, view: Any = dict[str, Any]) -> Any:
        """Decode the whole object as a new dict, or as the type `view` the fields that it names."""
        try:
            return _decoder(view).decode(self.raw)
        except UNREADABLE as error:
            raise ProtocolError(f"{self.key} is not what was expected: {error}") from error


class ObjectList(msgspec.Struct, frozen=True, gc=False):
    """A list of objects at one resourceVersion, or a page of it."""

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
    """The JSON of a body."""
    return body if isinstance(body, bytes) else _encoder.encode(body)


def decode_list(raw: bytes, resource: Resource) -> ObjectList:
    """Decode one page of a list.

    API servers omit `kind` and `apiVersion` from the items of built-in lists. They are added here, so that objects from
    a list, a watch and a get are alike.
    """
    try:
        page = _decoder(_List).decode(raw)
    except UNREADABLE as error:
        raise ProtocolError(f"not a list of {resource}: {error}") from error
    items = tuple(decode_object(item, resource) for item in page.items or ())
    return ObjectList(items, page.metadata.resource_version, page.metadata.continue_)


def decode_object(raw: bytes | msgspec.Raw, resource: Resource | None = None) -> Object:
    """Decode one object; with a resource, `kind` and `apiVersion` are added if they are missing."""
    raw = bytes(raw)
    try:
        header = _decoder(_ObjectHeader).decode(raw)
    except UNREADABLE as error:
        raise ProtocolError(f"not a Kubernetes object: {error}") from error
    if resource is not None and not header.kind:
        head = _encoder.encode({"kind": resource.kind, "apiVersion": resource.api_version})
        raw = head[:-1] + b"," + raw.lstrip()[1:]
    return Object(header.metadata, raw)
