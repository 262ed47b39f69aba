"""The served resources as values: built-in ones from a table, custom ones added and removed with their CRDs.

A `ServedResource` is one resource in one version. Versions of the same resource share `key`, under which objects are
stored. Stored JSON never holds apiVersion and kind: they are put in front when an object goes out, so the same bytes
serve lists (whose items have neither for built-in kinds), watches and every version.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from jobrelay.apimachinery.decode import DecodeError, Notes, decode
from jobrelay.apimachinery.types import Type, type_for_kind
from jobrelay.kinds import registry
from jobrelay.kinds.strategy import Obj, Strategy

if TYPE_CHECKING:
    from jobrelay.kinds.apiextensions.strategy import CustomKind


@dataclass(frozen=True, slots=True)
class Subresource:
    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Conversions(Protocol):
    """The conversions that one request has needed so far."""

    def convert(self, obj: Obj, api_version: str) -> Obj:
        """An object in another version, if it was fetched."""

    async def fetch(self, objects: Sequence[Obj], api_version: str) -> None:
        """Has objects converted."""

    async def try_fetch(self, obj: Obj, api_version: str) -> None:
        """Has one object converted, if that is possible."""

    def ask(self, obj: Obj, api_version: str) -> Generator[Any, Any, None]:
        """Has one object converted, as a step of a write."""


class VersionWebhook(Protocol):
    """What converts the objects of one version of a custom resource."""

    def bound(self, served: ServedResource, *, shared: bool) -> ServedResource:
        """The resource for one request; `shared` conversions may have been made for others."""

    def unbound(self, served: ServedResource) -> ServedResource:
        """The resource for objects that are converted already: the same one for all requests."""


@dataclass(eq=False)
class ServedResource:
    group: str
    version: str
    plural: str
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: dict[str, Subresource] = field(default_factory=dict)
    list_kind: str = ""
    key: str = ""
    custom: CustomKind | None = None
    storage_version: str = ""
    from_storage: Callable[[Obj], Obj] | None = None
    to_storage: Callable[[Obj], Obj] | None = None
    in_version: Callable[[Obj, str], Obj] | None = None  # an object in another version; None: all have the same fields
    webhook: VersionWebhook | None = None  # what converts objects, if a webhook does
    conversions: Conversions | None = None  # those of one request
    terminating: bool = False  # its CustomResourceDefinition is being deleted

    def __post_init__(self) -> None:
        self.storage_version = self.storage_version or self.version
        self.list_kind = self.list_kind or f"{self.kind}List"
        self.key = self.key or (f"{self.plural}.{self.group}" if self.group else self.plural)
        self.prefix = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()

    @functools.cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @functools.cached_property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @functools.cached_property
    def type(self) -> Type:
        """The built-in type; custom resources have none."""
        found = type_for_kind(self.api_version, self.kind)
        assert found is not None, self.kind
        return found

    @functools.cached_property
    def strategy(self) -> Strategy:
        if self.custom is not None:
            return self.custom.strategy
        return registry.strategy(self.group, self.plural)

    @functools.cached_property
    def unconverted(self) -> ServedResource:
        """The same resource for objects that are in its version already."""
        return dataclasses.replace(
            self, from_storage=None, to_storage=None, in_version=None, webhook=None, conversions=None
        )

    def decode(self, value: Any, notes: Notes | None) -> Obj:
        """The canonical object of a JSON value; raises DecodeError. `notes` collects what strict decoding refuses."""
        if self.custom is not None:
            return self._decode_custom(self.custom, value if isinstance(value, dict) else {}, notes)
        made: Obj = decode(value if value is not None else {}, self.type, notes)
        made["apiVersion"], made["kind"] = self.api_version, self.kind
        return made

    def _decode_custom(self, kind: CustomKind, value: Obj, notes: Notes | None) -> Obj:
        from jobrelay.kinds.apiextensions.objects import CustomDecodeError

        try:
            obj, unknown = kind.decode(value)
        except CustomDecodeError as error:
            raise DecodeError(str(error)) from None
        if notes is not None:
            for path in unknown:
                notes.add(f'unknown field "{path}"')
        return obj

    @functools.cached_property
    def apply_schema(self) -> Any:
        """The schema that server-side apply merges by."""
        from jobrelay.apimachinery.apply import built_in_schema

        return self.custom.apply_schema if self.custom is not None else built_in_schema(self.api_version, self.kind)

    @functools.cached_property
    def blank(self) -> Obj:
        """An object of this kind with nothing set, as bookmarks carry it; not to be changed."""
        if self.custom is not None:
            return {"kind": self.kind, "apiVersion": self.api_version}
        return {"kind": self.kind, "apiVersion": self.api_version, **decode({}, self.type)}

    def complete(self, raw: bytes) -> bytes:
        """Stored JSON as the whole object."""
        return self.prefix + raw[1:]


class ResourceTable:
    """All resources that are served now. `changed` counts additions and removals."""

    def __init__(self) -> None:
        self._by_path: dict[tuple[str, str, str], ServedResource] = {}
        self.groups: dict[str, list[str]] = {}
        self.changed = 0
        for served in _built_in_resources():
            self.add(served)

    def add(self, served: ServedResource) -> None:
        self._by_path[served.group, served.version, served.plural] = served
        versions = self.groups.setdefault(served.group, [])
        if served.version not in versions:
            versions.append(served.version)
        self.changed += 1

    def remove_custom(self, group: str, plural: str) -> None:
        """Removes all versions of a custom resource, and groups and versions left empty."""
        for path in [p for p, s in self._by_path.items() if p[0] == group and p[2] == plural and s.custom]:
            del self._by_path[path]
        versions = [v for v in self.groups.get(group, []) if any(p[:2] == (group, v) for p in self._by_path)]
        if versions:
            self.groups[group] = versions
        else:
            self.groups.pop(group, None)
        self.changed += 1

    def touch(self) -> None:
        """Something else that is served was changed."""
        self.changed += 1

    def get(self, group: str, version: str, plural: str) -> ServedResource | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> ServedResource | None:
        group, _, version = api_version.rpartition("/")
        for served in self.in_version(group, version):
            if served.kind == kind:
                return served
        return None

    def in_version(self, group: str, version: str) -> list[ServedResource]:
        found = [s for (g, v, _), s in self._by_path.items() if (g, v) == (group, version)]
        return sorted(found, key=lambda served: served.plural)

    def __iter__(self) -> Iterator[ServedResource]:
        return iter(list(self._by_path.values()))


_STORED_AS = {  # the versions that a real server of this release stores, where they differ from the one served
    "horizontalpodautoscalers.autoscaling": "v2",
    "volumeattributesclasses.storage.k8s.io": "v1beta1",
    "customresourcedefinitions.apiextensions.k8s.io": "v1beta1",
}


@functools.lru_cache(1)
def _built_in_resources() -> tuple[ServedResource, ...]:
    """They are the same in all tables, since nothing changes them."""
    return tuple(map(_built_in, registry.resources()))


def _built_in(entry: dict[str, Any]) -> ServedResource:
    subresources = {
        s["name"]: Subresource(s["name"], s["group"], s["version"], s["kind"], tuple(s["verbs"]))
        for s in entry["subresources"]
    }
    served = ServedResource(
        group=entry["group"], version=entry["version"], plural=entry["plural"], kind=entry["kind"],
        singular=entry["singular"], namespaced=entry["namespaced"], verbs=tuple(entry["verbs"]),
        short=tuple(entry["short"]), categories=tuple(entry["categories"]), subresources=subresources,
    )  # fmt: skip
    served.storage_version = _STORED_AS.get(served.qualified, served.version)
    conversion = registry.conversion(served.group, served.version, served.plural)
    if conversion is not None:
        served.key, served.to_storage, served.from_storage = conversion
    return served
