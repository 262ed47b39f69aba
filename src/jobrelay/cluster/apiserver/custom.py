"""Custom resources as the server serves them: one version of a CRD, with everything a request may ask of it.

Objects are stored in the storage version. A version whose schema differs from that one shows and stores them pruned and
defaulted by both; so does every version of a definition that was changed, since older objects may not fit it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from jobrelay.apimachinery import gojson, yaml
from jobrelay.apimachinery.apply import Schema, custom_schema
from jobrelay.apimachinery.decode import DecodeError, Notes
from jobrelay.cluster.apiserver import body, errors, negotiate
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import Served, Subresource
from jobrelay.kinds import tables
from jobrelay.kinds.apiextensions import objects
from jobrelay.kinds.apiextensions import strategy as crd_strategy
from jobrelay.kinds.apiextensions.structural import Node
from jobrelay.kinds.strategy import Obj, Strategy
from jobrelay.kinds.tables import TableSpec

Convert = Callable[[Obj], Obj]
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


class CustomKind:
    """The part of a `Served` that only custom resources have."""

    def __init__(self, crd: Obj, version: Obj) -> None:
        self._crd, self._version = crd, version
        self.kind = crd_strategy.custom_kind(crd, version["name"])
        self.scale: Obj = self.kind.scale or {}
        self.terminating = False

    @functools.cached_property
    def strategy(self) -> Strategy:
        return crd_strategy.custom_strategy(self.kind)

    @functools.cached_property
    def table(self) -> TableSpec:
        return tables.crd_table(self._version.get("additionalPrinterColumns") or [])

    @functools.cached_property
    def apply_schema(self) -> Schema:
        return custom_schema(self.kind.schema or None, self.kind.api_version, self.kind.kind)

    @functools.cached_property
    def versions(self) -> frozenset[str]:
        """The apiVersions of all versions, served or not."""
        return frozenset(f"{self.kind.group}/{version['name']}" for version in self._crd["spec"]["versions"])

    def schema_of(self, api_version: str) -> Schema | None:
        """What server-side apply knows of another version; None when there is none of that name."""
        if api_version == self.kind.api_version:
            return self.apply_schema
        return _other_schema(self, api_version) if api_version in self.versions else None

    def other(self, name: str) -> crd_strategy.CustomKind:
        return crd_strategy.custom_kind(self._crd, name)

    @functools.cached_property
    def fingerprint(self) -> bytes:
        """Changes whenever the published schema may have changed."""
        spec = self._crd["spec"]
        return hashlib.sha256(msgspec.json.encode([spec["scope"], spec["names"], self._version])).digest()

    def published(self, *, v2: bool) -> tuple[Obj, Obj]:
        """The schemas of the kind and of its list, as OpenAPI documents show them."""
        from jobrelay.kinds.apiextensions import openapi

        version = self._version["name"]
        return (
            openapi.openapi_schema(self._crd, version, v2=v2),
            openapi.openapi_list_schema(self._crd, version, v2=v2),
        )

    def decode(self, value: Any, notes: Notes | None) -> Obj:
        if not isinstance(value, dict):
            value = {}
        try:
            obj, unknown = objects.decode_custom(value, self._node(value), group=self.kind.group, kind=self.kind.kind)
        except objects.CustomDecodeError as error:
            raise DecodeError(str(error)) from None
        if notes is not None:
            for path in unknown:
                notes.add(f'unknown field "{path}"')
        obj.setdefault("metadata", {})
        return obj

    def _node(self, value: Obj) -> Node | None:
        """The schema of the version that the object names; one that does not exist allows nothing."""
        api_version = value.get("apiVersion", self.kind.api_version)
        if api_version == self.kind.api_version:
            return self.kind.node
        return self.other(api_version.rpartition("/")[2]).node if api_version in self.versions else None

    def read(self, request: ApiRequest, directive: str, media: str) -> Obj:
        """The object in a request's body."""
        if media == negotiate.PROTOBUF:
            raise errors.unsupported_media_type((negotiate.JSON, negotiate.YAML))
        notes = Notes() if directive != "Ignore" else None
        value = self._parse(request, media, notes)
        if problem := objects.type_problem(value, request.body):
            raise errors.bad_request(objects.unrecognized(self.kind.kind, problem, request.body))
        try:
            obj = self.decode(value, notes)
        except DecodeError as error:
            raise self._unhandled(value, str(error)) from None
        body.report(request, notes, directive, lambda text: self._unhandled(value, text))
        if problem := objects.version_problem(obj, self.kind.api_version):
            raise errors.bad_request(problem)
        return obj

    def _parse(self, request: ApiRequest, media: str, notes: Notes | None) -> Any:
        try:
            if media == negotiate.YAML:
                duplicates: list[str] = []
                value = yaml.load(request.body, duplicates)
            else:
                value = gojson.loads_keeping_repeats(request.body)
                duplicates = [f'duplicate field "{path}"' for path in gojson.repeated(value)]
                value = gojson.loads(request.body) if duplicates else value
        except (gojson.JsonError, yaml.YamlError) as error:
            why = str(error) if media == negotiate.YAML else f"couldn't get version/kind; json parse error: {error}"
            raise errors.bad_request(objects.unrecognized(self.kind.kind, why, request.body)) from None
        if media == negotiate.YAML and duplicates:
            duplicates = [body.repeated_keys(duplicates)]
        if notes is not None:
            for text in duplicates:
                notes.add(text)
        return value

    def _unhandled(self, value: Obj, why: str) -> errors.ApiError:
        version = str(value.get("apiVersion", "")).rpartition("/")[2]
        return errors.bad_request(
            f'{value.get("kind")} in version "{version}" cannot be handled as a {self.kind.kind}: {why}'
        )


@functools.lru_cache(maxsize=256)
def _other_schema(kind: CustomKind, api_version: str) -> Schema:
    found = kind.other(api_version.rpartition("/")[2])
    return custom_schema(found.schema or None, api_version, found.kind)


def check_route(request: ApiRequest, served: Served) -> None:
    """What a custom resource's path may ask for; raises otherwise. Requests to deprecated versions are warned of it."""
    info = request.info
    assert served.custom is not None
    if served.namespaced != bool(info.namespace) and not (served.namespaced and info.verb in ("list", "watch")):
        raise errors.page_not_found()
    if served.custom.kind.deprecation:
        request.warn(served.custom.kind.deprecation)
    if info.subresource and info.subresource not in served.subresources:
        raise errors.not_found(served.group, served.plural, info.name)
    verbs = served.subresources[info.subresource].verbs if info.subresource else served.verbs
    if info.verb not in verbs:
        raise errors.method_not_supported(served.group, served.plural, info.verb)


def served_versions(crd: Obj) -> list[Served]:
    """The resources that a CRD adds."""
    spec, names = crd["spec"], crd["spec"]["names"]
    storage = next((v["name"] for v in spec["versions"] if v.get("storage")), "")
    made = []
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        custom = CustomKind(crd, version)
        to_storage, from_storage = _conversions(crd, custom, storage)
        made.append(
            Served(
                group=spec["group"],
                version=version["name"],
                plural=names["plural"],
                kind=names["kind"],
                singular=names.get("singular", names["kind"].lower()),
                namespaced=spec["scope"] == "Namespaced",
                verbs=VERBS,
                short=tuple(names.get("shortNames") or ()),
                categories=tuple(names.get("categories") or ()),
                subresources=_subresources(spec["group"], version, names["kind"]),
                list_kind=names.get("listKind") or f"{names['kind']}List",
                custom=custom,
                storage_version=storage,
                to_storage=to_storage,
                from_storage=from_storage,
            )
        )
    return made


def _conversions(crd: Obj, custom: CustomKind, storage: str) -> tuple[Convert | None, Convert | None]:
    """How objects go to the storage version and come back; None where they need no change."""
    kind = custom.kind
    if kind.version == storage:
        changed = crd["metadata"].get("generation", 1) > 1 or len(crd["spec"]["versions"]) > 1
        return None, (lambda obj: crd_strategy.from_storage(obj, kind, kind)) if changed else None
    stored = custom.other(storage)
    return (
        lambda obj: crd_strategy.to_storage(obj, stored),
        lambda obj: crd_strategy.from_storage(obj, stored, kind),
    )


def _subresources(group: str, version: Obj, kind: str) -> dict[str, Subresource]:
    given = version.get("subresources") or {}
    verbs = ("get", "patch", "update")
    found = {}
    if given.get("status") is not None:
        found["status"] = Subresource("status", group, version["name"], kind, verbs)
    if given.get("scale") is not None:
        found["scale"] = Subresource("scale", "autoscaling", "v1", "Scale", verbs)
    return found
