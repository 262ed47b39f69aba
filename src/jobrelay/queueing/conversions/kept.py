"""Fields that only v1beta2 has, kept in an annotation while an object is seen as v1beta1.

So a client of v1beta1 that reads an object and writes it again takes nothing away from it. Kueue's own conversion drops
these fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

KEPT: Final = "jobrelay.dev/v1beta2-fields"
"""The annotation: the fields by their paths, as JSON."""

Path = tuple[str, ...]
"""Names of fields; `*` stands for each item of a list, which has a name."""
_EACH: Final = "*"


def keep(obj: dict[str, Any], paths: Mapping[Path, type]) -> None:
    """Move fields into the annotation."""
    found = {where: parent.pop(path[-1]) for path in paths for where, parent in _parents(obj, path)}
    if found:
        annotations = obj.setdefault("metadata", {}).get("annotations") or {}
        text = msgspec.json.encode(found, order="sorted").decode()
        obj["metadata"]["annotations"] = {**annotations, KEPT: text}


def restore(obj: dict[str, Any], paths: Mapping[Path, type]) -> None:
    """Put fields of the annotation back, where there still is a place for them, and remove the annotation."""
    metadata = obj.get("metadata") or {}
    annotations = dict(metadata.get("annotations") or {})
    text = annotations.pop(KEPT, None)
    if text is None:
        return
    metadata["annotations"] = annotations
    if not annotations:
        del metadata["annotations"]
    kept = _decoded(text)
    for path, type_ in paths.items():
        for where, parent in _parents(obj, path, present=False):
            if isinstance(kept.get(where), type_):
                parent[path[-1]] = kept[where]


def _decoded(text: Any) -> dict[str, Any]:
    """The fields in an annotation, which anybody may have written."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, TypeError, RecursionError):
        return {}


def _parents(obj: Any, path: Path, where: str = "", *, present: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects that have a field, or could have it, each with the place of that field."""
    name, *rest = path
    if name == _EACH:
        for each in obj if isinstance(obj, list) else ():
            yield from _parents(each, tuple(rest), f"{where}[{each.get('name', '')}]", present=present)
    elif not isinstance(obj, dict):
        return
    elif rest:
        yield from _parents(obj.get(name), tuple(rest), f"{where}.{name}", present=present)
    elif present == (name in obj):
        yield f"{where}.{name}", obj
