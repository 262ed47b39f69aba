"""The kinds that the relay gives to workers: `relayed/*.yaml` has an object of each kind of a manager.

    object   the object; `{name}` in its texts is its name
    pods     where its pods get their annotations: pod templates, or what else has metadata
    named    or the field with the name of an object of `setup`, which has them
    runs     what it shows when it runs, where that is more than that it has started
    failed   what it shows when it has failed, where a failure is no end
    broken   what is changed in the object that is to fail, where its pods cannot say so
    stopped  what somebody on a worker sets the field of its suspension to, where a run can be cancelled only
    mutable  whether its API lets managedBy be removed and added later; or the version of the API that loses it

`setup` is created on each cluster that runs the manager.
"""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import yaml

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kube import Object, Resource
from jobrelay.relay.names import CLUSTERS, PREFERRED
from jobrelay.workloads import Adapter, Workload
from jobrelay.workloads.builtin import built_in_adapters, built_in_descriptions
from jobrelay.workloads.declared import DeclaredAdapter, KindDescription, paths
from jobrelay.workloads.names import MULTIKUEUE

from .managers import Manager, Obj, contains
from .story import NAMESPACE

FOLDER: Final = pathlib.Path(__file__).with_name("relayed")
SCRIPTS: Final = {
    "succeeds": {"jobrelay.dev/run-seconds": "2"},
    "fails": {"jobrelay.dev/exit-code": "3"},
    "lasts": {"jobrelay.dev/run-seconds": "forever"},
}
"""What pods do, by the names that objects of `setup` have too."""


@dataclass(frozen=True)
class RelayedKind:
    """A kind as its file describes it, and as the relay does."""

    object: Obj
    pods: tuple[str, ...] = ()
    named: str = ""
    runs: Obj = field(default_factory=dict)
    failed: Obj = field(default_factory=dict)
    broken: Obj = field(default_factory=dict)
    stopped: str = ""
    mutable: bool | str = False

    @property
    def kind(self) -> str:
        name: str = self.object["kind"]
        return name

    @property
    def description(self) -> KindDescription:
        return built_in_descriptions()[self.kind]

    @property
    def resource(self) -> Resource:
        return self.description.api_resource

    @property
    def ends(self) -> bool:
        return self.description.status.succeeded != ()

    @property
    def can_fail(self) -> bool:
        return self.ends or self.failed != {}

    def adapter(self) -> Adapter:
        """The built-in one, or for a kind that is refused the one of a description that says nothing of that, as an
        operator may give it to the relay where the kind's own controller does not run on the management cluster."""
        if self.description.runs_anyway:
            return DeclaredAdapter(msgspec.structs.replace(self.description, runs_anyway=""))
        return next(each for each in built_in_adapters() if each.resource == self.resource)

    def made(self, name: str, script: str, *, on: str = "", prefers: str = "", delegated: bool = True) -> Obj:
        """An object whose pods follow a script, for the worker `on`, or for any but rather the one that it prefers."""
        body: Obj = json.loads(json.dumps(self.object).replace("{name}", name))
        if script == "fails" and self.broken:
            body = apply_merge_patch(body, copy.deepcopy(self.broken))
        for path in self.pods:
            for place, _ in list(paths.located(paths.parse(path), body)):
                paths.put((*place, "metadata", "annotations"), body, dict(SCRIPTS[script]))
        if self.named:
            paths.put(paths.plain(self.named), body, script)
        self._delegate(body, delegated=delegated)
        metadata = body.setdefault("metadata", {})
        metadata |= {"name": name, "namespace": NAMESPACE}
        wanted = {CLUSTERS: on, PREFERRED: prefers}
        metadata["annotations"] = metadata.get("annotations", {}) | {key: text for key, text in wanted.items() if text}
        return body

    def _delegate(self, body: Obj, *, delegated: bool) -> None:
        """Set managedBy; one that is not delegated has no nested one either, or its children would be."""
        path = self.description.managed_by.path
        if delegated:
            paths.put(paths.plain(path), body, MULTIKUEUE)
            return
        for each in (path, *self.description.mirror.drop):
            if each.endswith("managedBy"):
                paths.remove(each, body)

    def is_running(self, adapter: Adapter, obj: Object) -> bool:
        facts: Workload = adapter.read(obj)
        return facts.started is not None and facts.end is None and contains(obj.decode(), self.runs)

    def has_failed(self, adapter: Adapter, obj: Object) -> bool:
        if self.failed:
            return contains(obj.decode(), self.failed)
        end = adapter.read(obj).end
        return end is not None and not end.succeeded


@dataclass(frozen=True)
class Relayed:
    """The kinds of one manager, and what is created first."""

    setup: tuple[Obj, ...]
    kinds: tuple[RelayedKind, ...]


def load(manager: Manager) -> Relayed:
    found: Mapping[str, Any] = yaml.safe_load((FOLDER / f"{manager.name}.yaml").read_text())
    kinds = tuple(RelayedKind(**{**each, "pods": tuple(each.get("pods", ()))}) for each in found["kinds"])
    return Relayed(tuple(found.get("setup", ())), kinds)
