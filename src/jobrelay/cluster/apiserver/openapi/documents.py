"""Whole documents: version 3 has one for every group version and a few small ones, version 2 is a single one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from jobrelay.cluster.apiserver.openapi import general
from jobrelay.cluster.apiserver.openapi.definitions import V2, V3, Definitions, references
from jobrelay.cluster.apiserver.openapi.operation import Operation, definition_name
from jobrelay.cluster.apiserver.openapi.operations import ResourceOperations
from jobrelay.cluster.apiserver.openapi.parameters import Parameters
from jobrelay.cluster.apiserver.openapi.rendering import CUSTOM_INFO, INFO, SECURITY, PathsV2, paths_v3
from jobrelay.cluster.apiserver.resources import ServedResource

Obj = dict[str, Any]


@dataclass(frozen=True)
class DocumentScope:
    """What one document of version 3 covers: a path, and the resources of its group version if it is one."""

    path: str
    group: str = ""
    version: str = ""
    resources: tuple[ServedResource, ...] = ()

    @property
    def custom(self) -> bool:
        return any(served.custom for served in self.resources)

    def operations(self, parameters: Parameters) -> list[Operation]:
        if not self.version:
            if self.group:
                return [general.discovery_of_group(self.group)]
            return [o for o in general.operations() if o.path.strip("/") == self.path]
        made = [] if self.custom else [general.discovery_of_version(self.group, self.version)]
        return made + [o for served in self.resources for o in ResourceOperations(served, parameters)]


def custom_definitions(resources: Iterable[ServedResource], *, v2: bool) -> dict[str, Obj]:
    """The schemas of custom resources and of their lists."""
    found: dict[str, Obj] = {}
    for served in resources:
        if served.custom is not None:
            one, many = served.custom.published(v2=v2)
            found[definition_name(served.group, served.version, served.kind)] = one
            found[definition_name(served.group, served.version, served.list_kind)] = many
    return found


def _referenced(document: Any, prefix: str, find: Callable[[str], Obj]) -> dict[str, Obj]:
    """All definitions that a document refers to, also through others, in the order of their names."""
    found: dict[str, Obj] = {}
    pending = list(references(document, prefix))
    while pending:
        name = pending.pop()
        if name not in found and not name.startswith("#"):
            found[name] = find(name)
            pending += references(found[name], prefix)
    return dict(sorted(found.items()))


def document_v3(part: DocumentScope) -> Obj:
    definitions = Definitions()
    paths = paths_v3(part.operations(Parameters(definitions)))
    custom = custom_definitions(part.resources, v2=False)
    schemas = _referenced(paths, V3, lambda name: custom.get(name) or definitions.v3(name, custom=part.custom))
    components: Obj = {"schemas": schemas} if schemas else {}
    if part.custom:
        return {"openapi": "3.0.0", "info": CUSTOM_INFO, "paths": paths, "components": components}
    components["securitySchemes"] = SECURITY
    return {"openapi": "3.0.0", "info": INFO, "paths": paths, "components": components}


def document_v2(parts: Iterable[DocumentScope]) -> Obj:
    definitions = Definitions()
    parts = list(parts)
    parameters = Parameters(definitions)
    writer = PathsV2()
    paths = writer.paths(o for part in parts for o in part.operations(parameters))
    custom = custom_definitions((served for part in parts for served in part.resources), v2=True)
    schemas = _referenced([paths, writer.shared], V2, lambda name: custom.get(name) or definitions.v2(name))
    return {
        "swagger": "2.0", "info": INFO, "paths": paths, "definitions": schemas,
        "parameters": writer.shared, "securityDefinitions": SECURITY, "security": [{"BearerToken": []}],
    }  # fmt: skip
