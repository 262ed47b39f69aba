"""The names of copies in mirrors.

A mirror that uses copies has their names where its original has those of the sources. An annotation says which, so that
the two can be compared, and so that it is known which copies are in use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import Object
from jobrelay.kube.objects import encode
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.workloads import Adapter, MirrorParameters, ObjectName, references_of
from jobrelay.workloads.names import DOMAIN
from jobrelay.workloads.references import renamed

COPIES: Final = f"{DOMAIN}copies"
"""Annotation of a mirror: the copies that it uses, as {"ConfigMap/settings": "settings-0a1b2c3d4e"}."""

_decode = msgspec.json.Decoder(dict[str, str]).decode


def with_copies(
    adapter: Adapter, original: Object, body: Mapping[str, Any], names: Mapping[ObjectName, str]
) -> dict[str, Any]:
    """The body of a mirror that uses copies; `names` has the name of each copy by its source."""
    if not names:
        return dict(body)
    made = renamed(body, references_of(adapter, original), names)
    listed = {f"{source.resource.kind}/{source.name}": name for source, name in sorted(names.items(), key=str)}
    metadata = made["metadata"]
    annotations = {**(metadata.get("annotations") or {}), COPIES: encode(listed).decode()}
    return made | {"metadata": {**metadata, "annotations": annotations}}


def copies_of(mirror: Object) -> dict[ObjectName, str]:
    """By source, the names of the copies that a mirror says it uses."""
    return dict(_read(mirror))


def _read(mirror: Object) -> Iterator[tuple[ObjectName, str]]:
    text = mirror.metadata.annotations.get(COPIES)
    if not text:
        return
    try:
        listed = _decode(text)
    except UNREADABLE:
        return  # somebody changed it
    for what, name in listed.items():
        kind, _, source = what.partition("/")
        if (resource := RESOURCES.get(kind)) is not None:
            yield ObjectName(resource, mirror.namespace if resource.namespaced else "", source), name


def mirror_patch(
    adapter: Adapter, original: Object, mirror: Object, parameters: MirrorParameters
) -> dict[str, Any] | None:
    """What the adapter would change of a mirror, to which names of copies are no difference."""
    copies = copies_of(mirror)
    if not copies:
        return adapter.mirror_patch(original, mirror, parameters)
    sources = {source._replace(name=name): source.name for source, name in copies.items()}
    raw = encode(renamed(mirror.decode(), references_of(adapter, mirror), sources))
    patch = adapter.mirror_patch(original, Object(mirror.metadata, raw), parameters)
    return renamed(patch, references_of(adapter, original), copies) if patch is not None else None
