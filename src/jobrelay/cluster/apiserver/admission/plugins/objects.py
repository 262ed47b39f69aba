"""The stored objects that admission plugins read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest

Fields = Mapping[str, Any]


def all_of(admission: AdmissionRequest, key: str) -> list[Fields]:
    return [represent.cached(item.raw) for item in admission.server.store.snapshot(key).walk("")]


def all_inside(admission: AdmissionRequest, key: str) -> list[Fields]:
    """The objects in the namespace of the request."""
    return [represent.cached(item.raw) for item in admission.server.store.inside(key, admission.namespace)]


def one_of(admission: AdmissionRequest, key: str, namespace: str, name: str) -> Fields | None:
    item = admission.server.store.get(key, namespace, name)
    return represent.cached(item.raw) if item is not None else None
