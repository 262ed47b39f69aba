"""Every request to a resource.

They follow from the table of resources alone: the verbs of a resource and of its subresources, its scope and its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from jobrelay.cluster.apiserver.openapi.definitions import META
from jobrelay.cluster.apiserver.openapi.operation import (
    ANY,
    BUILT_IN,
    JSON_YAML,
    STRING,
    Operation,
    definition_name,
    group_title,
    tag,
)
from jobrelay.cluster.apiserver.openapi.parameters import CONNECTS, LOG, NAMESPACE, REST_OF_PATH, Parameter, Parameters
from jobrelay.cluster.apiserver.resources import ServedResource, Subresource

_STREAMING: Final = (*BUILT_IN, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PATCHES: Final = (
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)  # fmt: skip
_CONNECT_METHODS: Final = {"get": ("get", "head", "options"), "create": ("post",), "update": ("put",)}
_ANSWERED_WITH_OBJECT: Final = frozenset(
    {
        ("", "PersistentVolumeClaim"), ("", "Pod"), ("", "PodTemplate"), ("", "ResourceQuota"), ("", "ServiceAccount"),
        ("", "Service"), ("", "PersistentVolume"), ("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "StorageClass"), ("storage.k8s.io", "VolumeAttachment"),
        ("storage.k8s.io", "VolumeAttributesClass"), ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceClaim"), ("resource.k8s.io", "ResourceClaimTemplate"),
        ("resource.k8s.io", "ResourceSlice"),
    }
)  # fmt: skip
_USE_WATCH: Final = "deprecated: use the 'watch' parameter with a list operation instead"


def _article(noun: str) -> str:
    if noun.endswith("s") and not noun.endswith("ss"):
        return ""
    return "an " if noun[0].lower() in "aeiou" else "a "


@dataclass
class ResourceOperations:
    """The operations of one resource."""

    served: ServedResource
    parameters: Parameters
    _root: str = field(init=False)

    def __post_init__(self) -> None:
        served = self.served
        self._root = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
        self._title = group_title(served.group) + served.version[:1].upper() + served.version[1:]
        self._scope = "Namespaced" if served.namespaced else ""
        self._path_parameters = (NAMESPACE,) if served.namespaced else ()
        self._scoped = "/namespaces/{namespace}" if served.namespaced else ""
        self._produces = BUILT_IN if served.custom is None else JSON_YAML
        self._consumes = ANY if served.custom is None else JSON_YAML
        self._reading = self.parameters.read if served.custom is None else self.parameters.read_custom
        self._patches = tuple(p for p in _PATCHES if served.custom is None or "strategic" not in p)
        self._watched = served.custom is None and "watch" in served.verbs

    def __iter__(self) -> Iterator[Operation]:
        yield from self._collection()
        yield from self._item()
        if self._watched:
            yield from self._watches()
        for subresource in self.served.subresources.values():
            yield from self._subresource(subresource)

    # The pieces that operations share.

    @property
    def _name(self) -> Parameter:
        return Parameter("name", "string", f"name of the {self.served.kind}", required=True)

    def _make(
        self,
        path: str,
        method: str,
        verb: str,
        description: str,
        answer: str,
        *,
        action: str,
        parameters: tuple[Parameter, ...],
        suffix: str = "",
        codes: tuple[str, ...] = ("200",),
        consumes: tuple[str, ...] = (),
        produces: tuple[str, ...] = (),
        body: str = "",
        body_required: bool = True,
    ) -> Operation:
        served = self.served
        return Operation(
            path, method, f"{verb}{self._title}{self._scope}{served.kind}{suffix}", tag(served.group, served.version),
            description, answer, codes, consumes or self._consumes, produces or self._produces, parameters, body,
            body_required, action, (served.group, served.version, served.kind),
        )  # fmt: skip

    def _definition(self, kind: str = "") -> str:
        return definition_name(self.served.group, self.served.version, kind or self.served.kind)

    # The requests to collections and objects.

    def _collection(self) -> Iterator[Operation]:
        served, kind = self.served, self.served.kind
        path, scope = f"{self._root}{self._scoped}/{served.plural}", self._path_parameters
        if "list" in served.verbs:
            if served.namespaced:
                everywhere = self._list(f"{self._root}/{served.plural}", ())
                everywhere.id = f"list{self._title}{kind}ForAllNamespaces"
                yield everywhere
            yield self._list(path, scope)
        if "create" in served.verbs:
            yield self._make(
                path, "post", "create", f"create {_article(kind)}{kind}", self._definition(), action="post",
                codes=("200", "201", "202"), parameters=(*self.parameters.write, *scope), body=self._definition(),
            )  # fmt: skip
        if "deletecollection" in served.verbs:
            made = self._make(
                path, "delete", "delete", f"delete collection of {kind}", META + "Status", action="deletecollection",
                parameters=(*(self.parameters.list if served.custom else self.parameters.deletecollection), *scope),
                body_required=False,
                body="" if served.custom else META + "DeleteOptions",
            )  # fmt: skip
            made.id = f"delete{self._title}Collection{self._scope}{kind}"
            yield made

    def _list(self, path: str, scope: tuple[Parameter, ...]) -> Operation:
        words = "list or watch" if self._watched else "list"
        return self._make(
            path, "get", "list", f"{words} objects of kind {self.served.kind}", self._definition(self.served.list_kind),
            action="list", parameters=(*self.parameters.list, *scope),
            produces=_STREAMING if self.served.custom is None else JSON_YAML,
        )  # fmt: skip

    def _item(self) -> Iterator[Operation]:
        served, kind, own = self.served, self.served.kind, self._definition()
        path = f"{self._root}{self._scoped}/{served.plural}/{{name}}"
        scope = (*self._path_parameters, self._name)
        if "get" in served.verbs:
            text = f"read the specified {kind}"
            yield self._make(path, "get", "read", text, own, action="get", parameters=(*self._reading, *scope))
        yield from self._changes(path, served.verbs, kind, own, "the specified ", "")
        if "delete" in served.verbs:
            answer = own if (served.group, kind) in _ANSWERED_WITH_OBJECT else META + "Status"
            yield self._make(
                path, "delete", "delete", f"delete {_article(kind)}{kind}", answer, action="delete",
                codes=("200", "202"),
                parameters=(*self.parameters.delete, *scope), body=META + "DeleteOptions", body_required=False,
            )  # fmt: skip

    def _changes(
        self, path: str, verbs: Iterable[str], kind: str, schema: str, what: str, suffix: str
    ) -> Iterator[Operation]:
        scope = (*self._path_parameters, self._name)
        if "update" in verbs:
            yield self._make(
                path, "put", "replace", f"replace {what}{kind}", schema, action="put", codes=("200", "201"),
                suffix=suffix,
                parameters=(*self.parameters.write, *scope), body=schema,
            )  # fmt: skip
        if "patch" in verbs:
            yield self._make(
                path, "patch", "patch", f"partially update {what}{kind}", schema, action="patch", suffix=suffix,
                codes=("200", "201") if self.served.custom is None else ("200",), consumes=self._patches,
                parameters=(*self.parameters.patch, *scope), body=META + "Patch",
            )  # fmt: skip

    def _watches(self) -> Iterator[Operation]:
        served, kind = self.served, self.served.kind
        scope = self._path_parameters
        text = f"watch individual changes to a list of {kind}. {_USE_WATCH}."
        if served.namespaced:
            everywhere = self._watch(f"{self._root}/watch/{served.plural}", text, ())
            everywhere.id = f"watch{self._title}{kind}ListForAllNamespaces"
            yield everywhere
        path = f"{self._root}/watch{self._scoped}/{served.plural}"
        yield self._watch(path, text, scope)
        single = "filtered to a single item with the 'fieldSelector' parameter"
        text = f"watch changes to an object of kind {kind}. {_USE_WATCH}, {single}."
        one = self._watch(f"{path}/{{name}}", text, (*scope, self._name))
        one.id, one.action = one.id.removesuffix("List"), "watch"
        yield one

    def _watch(self, path: str, text: str, scope: tuple[Parameter, ...]) -> Operation:
        return self._make(
            path, "get", "watch", text, META + "WatchEvent", suffix="List", action="watchlist", produces=_STREAMING,
            parameters=(*self.parameters.list, *scope),
        )  # fmt: skip

    # The requests to subresources.

    def _subresource(self, sub: Subresource) -> Iterator[Operation]:
        served = self.served
        version = sub.version or served.version
        gvk = (sub.group if sub.version else served.group, version, sub.kind)
        path = f"{self._root}{self._scoped}/{served.plural}/{{name}}/{sub.name}"
        suffix = sub.name[:1].upper() + sub.name[1:]
        if sub.name in CONNECTS:
            made = self._connects(path, sub, suffix)
        elif sub.name == "log":
            made = iter([self._log(path)])
        else:
            made = self._plain(path, sub, gvk, suffix)
        for operation in made:
            if served.custom is None:
                operation.kind = gvk
            yield operation

    def _plain(self, path: str, sub: Subresource, gvk: tuple[str, str, str], suffix: str) -> Iterator[Operation]:
        kind, schema = self.served.kind, definition_name(*gvk)
        scope = (*self._path_parameters, self._name)
        if "get" in sub.verbs:
            text = f"read {sub.name} of the specified {kind}"
            yield self._make(
                path, "get", "read", text, schema, suffix=suffix, action="get", parameters=(*self._reading, *scope)
            )
        if "create" in sub.verbs:
            yield self._make(
                path, "post", "create", f"create {sub.name} of {_article(kind)}{kind}", schema, suffix=suffix,
                action="post",
                codes=("200", "201", "202"), parameters=(*self.parameters.write, *scope), body=schema,
            )  # fmt: skip
        yield from self._changes(path, sub.verbs, kind, schema, f"{sub.name} of the specified ", suffix)

    def _log(self, path: str) -> Operation:
        scope = (*self._path_parameters, self._name)
        return self._make(
            path, "get", "read", f"read log of the specified {self.served.kind}", STRING, suffix="Log", action="get",
            parameters=(*LOG, *scope), produces=("text/plain", *BUILT_IN),
        )  # fmt: skip

    def _connects(self, path: str, sub: Subresource, suffix: str) -> Iterator[Operation]:
        forwards = sub.name == "proxy"
        methods = [
            m for verb in sub.verbs for m in _CONNECT_METHODS.get(verb, (verb,)) if forwards or m in ("get", "post")
        ]
        scope = (*CONNECTS[sub.name], *self._path_parameters, self._name)
        paths = [(path, suffix, scope)]
        if forwards:
            paths.append((path + "/{path}", suffix + "WithPath", (*scope, REST_OF_PATH)))
        for where, ending, options in paths:
            for method in methods:
                made = self._make(
                    where, method, "connect", f"connect {method.upper()} requests to {sub.name} of {self.served.kind}",
                    STRING,
                    action="connect", parameters=options, consumes=ANY, produces=ANY,
                )  # fmt: skip
                made.id = f"connect{self._title}{method.title()}{self._scope}{self.served.kind}{ending}"
                yield made
