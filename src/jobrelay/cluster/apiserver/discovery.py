"""Discovery: which groups, versions and resources there are, in the legacy form and in the aggregated one."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from jobrelay.cluster.apiserver import errors, negotiate, represent
from jobrelay.cluster.apiserver.aggregation import RemoteApi, RemoteApis
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.resources import ResourceTable, ServedResource, Subresource
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.kinds.apiextensions.strategy import version_priority

Obj = dict[str, Any]
_CUSTOM_PRIORITY: Final = 1000  # of groups that CustomResourceDefinitions make
AGGREGATED: Final = ("v2",)


def storage_hash(served: ServedResource) -> str:
    """The fingerprint of the version that objects are stored in."""
    group = "" if served.key == "events" else served.group
    text = f"{group}/{served.storage_version}/{served.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


class Discovery:
    def __init__(self, resources: ResourceTable, address: str, remote: RemoteApis) -> None:
        self._resources, self._address, self.remote = resources, address, remote

    def _versions(self, group: str) -> list[str]:
        versions = self._resources.groups.get(group, [])
        if not self._built_in(group):
            versions = sorted(versions, key=version_priority, reverse=True)
        return list(dict.fromkeys([*versions, *(api.version for api in self.remote.of_group(group))]))

    def is_group(self, group: str) -> bool:
        return bool(group) and (group in self._resources.groups or bool(self.remote.of_group(group)))

    def _built_in(self, group: str) -> bool:
        return any(s.custom is None for s in self._resources if s.group == group)

    def _groups(self) -> list[str]:
        built_in = [g for g in self._resources.groups if g and self._built_in(g)]
        others = {g: _CUSTOM_PRIORITY for g in self._resources.groups if g and g not in built_in}
        for api in self.remote.by_version.values():
            if api.group not in built_in:
                others[api.group] = max(others.get(api.group, 0), api.group_priority)
        return built_in + sorted(others, key=lambda group: (-others[group], group))

    # Legacy.

    def api_versions(self) -> Obj:
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}

    def group(self, group: str) -> Obj:
        versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in self._versions(group)]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, group: str, version: str) -> Obj:
        listed = []
        for served in self._resources.in_version(group, version):
            listed.append(_legacy(served))
            listed += [_legacy_sub(served, sub) for sub in served.subresources.values()]
        if self._built_in(group):
            listed.sort(key=lambda entry: str(entry["name"]))
        name = f"{group}/{version}" if group else version
        head: Obj = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return {**head, "groupVersion": name, "resources": listed}

    # Aggregated.

    def aggregated(self, groups: list[str], version: str) -> Obj:
        items = [self._aggregated_group(group) for group in groups]
        return {
            "kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {},
            "items": items,
        }  # fmt: skip

    def _aggregated_group(self, group: str) -> Obj:
        versions = []
        for version in self._versions(group):
            if (api := self.remote.by_version.get((group, version))) is not None:
                versions.append(self._remote_version(api))
                continue
            listed = [_aggregated(served) for served in self._resources.in_version(group, version)]
            versions.append({"version": version, "resources": listed, "freshness": "Current"})
        return {"metadata": {"name": group} if group else {}, "versions": versions}

    def _remote_version(self, api: RemoteApi) -> Obj:
        listed = _aggregated_entries(self.remote.resources.get((api.group, api.version), []))
        found: Obj = {"version": api.version}
        if listed:
            found["resources"] = listed
        return {**found, "freshness": "Current" if api.available else "Stale"}

    def answer(self, request: ApiRequest) -> ApiResponse | None:
        """The answer for a discovery path, or None when the path is another one."""
        parts = request.path.strip("/").split("/")
        if parts[0] not in ("api", "apis") or len(parts) > 3:
            return None
        if len(parts) == 1:
            return self._root(request, parts[0])
        out = negotiate.output(request.header("accept"), pretty=False)
        if parts[0] == "api":
            if parts != ["api", "v1"]:
                raise errors.no_such_resource()
            return represent.finish(represent.encode(self.resource_list("", "v1")), out)
        group = parts[1]
        if not self.is_group(group):
            raise errors.page_not_found()
        if len(parts) == 2:
            found = {"kind": "APIGroup", "apiVersion": "v1", **self.group(group)}
            return represent.finish(represent.encode(found), out)
        if group not in self._resources.groups:
            raise errors.page_not_found()
        if parts[2] not in self._resources.groups[group]:
            raise errors.no_such_resource()
        return represent.finish(represent.encode(self.resource_list(group, parts[2])), out)

    def _root(self, request: ApiRequest, prefix: str) -> ApiResponse:
        groups = [""] if prefix == "api" else self._groups()
        for range_ in negotiate.parse_accept(request.header("accept")):
            params = dict(range_.params)
            if params.get("as") == "APIGroupDiscoveryList" and params.get("v") in AGGREGATED:
                version = params["v"]
                media = f"{negotiate.JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                etag = hashlib.sha512(str(self._resources.changed).encode()).hexdigest()[:64].upper()
                body = represent.encode(self.aggregated(groups, version))
                return ApiResponse(200, body + b"\n", media, {"Vary": "Accept", "ETag": f'"{etag}"'})
            if not params and range_.media in (negotiate.JSON, "*/*", negotiate.YAML):
                break
        out = negotiate.output(request.header("accept"), pretty=False)
        found = self.api_versions()
        if prefix == "apis":
            found = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self.group(g) for g in groups]}
        answer = represent.finish(represent.encode(found), out)
        answer.headers["Vary"] = "Accept"
        return answer


def _other_names(served: ServedResource) -> Obj:
    found = {"shortNames": list(served.short), "categories": list(served.categories)}
    return {key: names for key, names in found.items() if names}


def _legacy(served: ServedResource) -> Obj:
    entry: Obj = {
        "name": served.plural, "singularName": served.singular, "namespaced": served.namespaced, "kind": served.kind,
        "verbs": list(served.verbs),
    }  # fmt: skip
    entry |= _other_names(served)
    if "list" in served.verbs and served.storage_version and served.plural != "componentstatuses":
        entry["storageVersionHash"] = storage_hash(served)
    return entry


def _legacy_sub(served: ServedResource, sub: Subresource) -> Obj:
    entry: Obj = {
        "name": f"{served.plural}/{sub.name}", "singularName": "", "namespaced": served.namespaced, "kind": sub.kind,
        "verbs": list(sub.verbs),
    }  # fmt: skip
    if (sub.group or sub.version) and (served.custom is None or sub.kind != served.kind):
        entry |= {"group": sub.group, "version": sub.version} if sub.group else {"version": sub.version}
    return entry


def _aggregated(served: ServedResource) -> Obj:
    entry: Obj = {
        "resource": served.plural,
        "responseKind": {
            "group": served.group if served.custom else "",
            "version": served.version if served.custom else "",
            "kind": served.kind,
        },
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    } | _other_names(served)
    if served.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": list(sub.verbs),
            }
            for sub in served.subresources.values()
        ]
    return entry


def _aggregated_entries(listed: list[Obj]) -> list[Obj]:
    """The entries of an APIResourceList in their aggregated form: subresources are inside their resources."""
    found: dict[str, Obj] = {}
    for entry in listed:
        name, _, subresource = str(entry.get("name", "")).partition("/")
        kind = {
            "group": entry.get("group", ""), "version": entry.get("version", ""), "kind": entry.get("kind", ""),
        }  # fmt: skip
        if subresource:
            parent = found.setdefault(name, {"resource": name})
            made = {"subresource": subresource, "responseKind": kind, "verbs": entry.get("verbs") or []}
            parent.setdefault("subresources", []).append(made)
            continue
        scope = "Namespaced" if entry.get("namespaced") else "Cluster"
        made = {
            "resource": name, "responseKind": kind, "scope": scope, "singularResource": entry.get("singularName", ""),
            "verbs": entry.get("verbs") or [],
        }  # fmt: skip
        found[name] = made | {key: entry[key] for key in ("shortNames", "categories") if entry.get(key)}
    return list(found.values())
