"""Workloads as objects of the API: their names, and how they are shown.

All kinds share one resource, so the name of an object has the kind in it: `job:train`, `rayjob:train`. Where two kinds
have the same name in different groups, it is `jobs.batch:train`. A name without a kind is that of a Job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from jobrelay.kinds.tables.ages import since
from jobrelay.kube import Object
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.failures import not_found
from jobrelay.relay.api.names import API_VERSION
from jobrelay.relay.explain import DelegatedWorkload
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef

_COLUMNS: Final = ("Name", "Cluster", "Run", "Stage", "Age", "Why")


class Found(NamedTuple):
    """A workload that a request names."""

    kind: WorkloadKind
    original: Object

    @property
    def ref(self) -> WorkloadRef:
        return WorkloadRef(self.kind.name, self.original.key)

    @property
    def described(self) -> str:
        return f"{self.kind.adapter.resource.kind} {self.original.key}"


def find_kind(kinds: Mapping[str, WorkloadKind], name: str) -> tuple[WorkloadKind, str]:
    """The kind and the name of the original that a name in the API means; raises ApiFailure."""
    prefix, colon, rest = name.rpartition(":")
    wanted = prefix.lower() if colon else str(JOBS)
    matching = [kind for kind in kinds.values() if wanted in _aliases(kind)]
    exact = [kind for kind in matching if kind.name == wanted]
    if len(exact or matching) != 1:
        known = ", ".join(sorted(short_names(kinds).values()))
        raise not_found(f"the relay knows no kind {prefix or name!r}, or more than one; write KIND:NAME with: {known}")
    return (exact or matching)[0], rest


def _aliases(kind: WorkloadKind) -> tuple[str, ...]:
    resource = kind.adapter.resource
    return (kind.name, resource.kind.lower(), resource.plural, f"{resource.kind.lower()}.{resource.group}")


def find(kinds: Mapping[str, WorkloadKind], namespace: str, name: str) -> tuple[WorkloadKind, Key]:
    """The kind and key that a request names, whether or not there is such an original; raises ApiFailure."""
    kind, own = find_kind(kinds, name)
    return kind, Key(namespace, own)


def short_names(kinds: Mapping[str, WorkloadKind]) -> dict[str, str]:
    """By name of a kind: what stands for it in the names of workloads."""
    words = {name: kind.adapter.resource.kind.lower() for name, kind in kinds.items()}
    used = Counter(words.values())
    return {name: word if used[word] == 1 else name for name, word in words.items()}


def workload_object(short: str, original: Object, view: DelegatedWorkload) -> dict[str, Any]:
    """A workload as the API shows it; `short` stands for its kind."""
    metadata = {
        "name": f"{short}:{original.name}",
        "namespace": original.namespace,
        "uid": original.uid,
        "creationTimestamp": original.metadata.creation_timestamp,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": metadata,
        "status": msgspec.to_builtins(view),
    }


def workload_list(items: Sequence[Mapping[str, Any]], unseen: Sequence[str]) -> dict[str, Any]:
    """A list; `unseen` are kinds that have workloads there which the caller may not list."""
    more = {"unseen": list(unseen)} if unseen else {}
    return {"apiVersion": API_VERSION, "kind": "WorkloadList", "metadata": {}, "items": list(items), **more}


def workload_table(items: Sequence[Mapping[str, Any]], now: datetime) -> dict[str, Any]:
    """The same as kubectl prints it."""
    columns = [
        {
            "name": name,
            "type": "integer" if name == "Run" else "string",
            "format": "",
            "description": name,
            "priority": 0,
        }
        for name in _COLUMNS
    ]
    columns[0]["format"] = "name"
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "Table",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": [{"cells": _cells(each, now), "object": _partial(each)} for each in items],
    }


def _cells(item: Mapping[str, Any], now: datetime) -> list[Any]:
    metadata, status = item["metadata"], item["status"]
    quiet = status["stage"] in ("Running", "Finished") and not status.get("troubles")
    why = "" if quiet else status["sentence"]
    age = since(metadata["creationTimestamp"], now)
    return [metadata["name"], status.get("cluster", ""), status.get("epoch", 0), status["stage"], age, why]


def _partial(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": item["metadata"]}
