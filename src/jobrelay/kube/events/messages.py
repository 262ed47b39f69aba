"""What an Event says, and which object it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from jobrelay.kube.objects import Object
from jobrelay.kube.resource import Resource

__all__ = ["EventMessage", "EventNote", "ObjectReference"]


class _TypeMeta(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


class ObjectReference(NamedTuple):
    """The object that an Event is about, or with `field_path` a part of it, such as `spec.containers{main}`."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    field_path: str = ""

    @classmethod
    def of(cls, obj: Object, resource: Resource | None = None) -> ObjectReference:
        """Refer to an object of `resource`. Without that it is decoded, and must name its kind (`ProtocolError`)."""
        kind = obj.decode(_TypeMeta) if resource is None else resource
        return cls(kind.api_version, kind.kind, obj.name, obj.namespace, obj.uid)

    def encode(self) -> dict[str, str]:
        """The reference as JSON, without empty fields."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "fieldPath": self.field_path,
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class EventNote:
    """What happened to an object: a value that a pure function returns for `EventRecorder.record`."""

    reason: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"


class EventMessage(NamedTuple):
    """Everything that one call of `EventRecorder.event` says."""

    regarding: ObjectReference
    type: str
    reason: str
    note: str
    action: str = ""
    related: ObjectReference | None = None
    version: str = ""

    @property
    def group(self) -> tuple[object, ...]:
        """Events with the same group are similar: they differ in their notes."""
        return self[:3]

    @property
    def identity(self) -> tuple[object, ...]:
        """Events with the same identity are repetitions of one another."""
        return self[:6]
