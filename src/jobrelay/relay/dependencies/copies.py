"""Copies of objects on workers: what they contain, how they are named, and how they are recognised.

A copy of a ConfigMap or a Secret has a name that depends on its contents. Workloads that need the same contents share
it, and a changed source gives another copy beside it: one that is in use is never changed. The digest in the name is
keyed, since a plain one would let anyone who sees the name guess a short password.

A copy carries a proof, as mirrors do (`jobrelay.relay.proofs`). Only what has a valid one is ever deleted, and only
what has also the right contents is used: an object of that name that somebody else made is left alone.

A service account keeps its name, because programs and roles know it by that. It is created empty where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from jobrelay.kube import Object, Resource
from jobrelay.kube.resource import CONFIGMAPS, SECRETS, SERVICEACCOUNTS
from jobrelay.relay.proofs import ProofKeys, ProofSubject
from jobrelay.workloads import ObjectName
from jobrelay.workloads.names import DOMAIN, ORIGIN, PROOF

_TRAINER: Final = "trainer.kubeflow.org"
RESOURCES: Final = {
    each.kind: each
    for each in (
        CONFIGMAPS,
        SECRETS,
        SERVICEACCOUNTS,
        Resource(_TRAINER, "v1alpha1", "trainingruntimes", "TrainingRuntime"),
        Resource(_TRAINER, "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", namespaced=False),
        Resource("tekton.dev", "v1", "pipelines", "Pipeline"),
        Resource("tekton.dev", "v1", "tasks", "Task"),
    )
}
"""The kinds of `jobrelay.relay.copy_rules.COPYABLE`."""
COPY: Final = f"{DOMAIN}copy"
"""Label of every copy."""
SOURCE: Final = f"{DOMAIN}copy-of"
"""Annotation of a copy: the name of its source, in the same namespace of the management cluster."""
CONTENTS: Final = f"{DOMAIN}contents"
"""Annotation of a copy: a proof of its contents, which is a keyed digest."""

_EXACT: Final = frozenset({CONFIGMAPS, SECRETS, SERVICEACCOUNTS})
"""Kinds whose objects a worker stores as they are sent. It may default fields of others."""
_NOT_CONTENTS: Final = frozenset({"apiVersion", "kind", "metadata", "status", "immutable"})
_OF_CLUSTER: Final = frozenset({"kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"})
"""Types of Secrets that mean something on their own cluster only."""
_LONGEST_NAME: Final = 253
_encode = msgspec.json.Encoder(order="deterministic").encode


class CopyFailed(Exception):
    """An object that a workload needs cannot be had on a worker."""

    def __init__(self, why: str, kind: str = "") -> None:
        super().__init__(why)
        self.kind = kind
        """The kind of the object that could not be copied; empty if none was tried."""


class Copy(msgspec.Struct, frozen=True):
    """A copy to be created."""

    target: ObjectName
    """The copy itself, on the worker."""
    body: dict[str, Any]
    contents: dict[str, Any]


def make_copy(source: Object, of: ObjectName, keys: ProofKeys, origin: str, cluster: str) -> Copy:
    """The copy of an object for a cluster (`cluster_binding`); raises CopyFailed."""
    contents = _contents(source, of)
    mark = keys.sign(_contents_subject(of, origin, contents))
    name = of.name if of.resource == SERVICEACCOUNTS else _named(of.name, mark)
    target = of._replace(name=name)
    proof = keys.sign(_subject(target, origin, cluster, of.name, mark))
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {ORIGIN: origin, COPY: "true"},
        "annotations": {SOURCE: of.name, CONTENTS: mark, PROOF: proof},
    }
    if of.namespace:
        metadata["namespace"] = of.namespace
    kind = {"apiVersion": of.resource.api_version, "kind": of.resource.kind}
    immutable = {"immutable": True} if of.resource in (CONFIGMAPS, SECRETS) else {}
    return Copy(target, {**kind, "metadata": metadata, **contents, **immutable}, contents)


def is_copy(found: Object, target: ObjectName, keys: ProofKeys, origin: str, clusters: Sequence[str]) -> bool:
    """Whether an object on a worker is a copy that we made there, judged by its metadata."""
    labels, annotations = found.metadata.labels, found.metadata.annotations
    if labels.get(ORIGIN) != origin or COPY not in labels:
        return False
    source, mark, proof = (annotations.get(key, "") for key in (SOURCE, CONTENTS, PROOF))
    return any(keys.verify(_subject(target, origin, each, source, mark), proof) for each in clusters)


def is_unchanged(found: Object, target: ObjectName, keys: ProofKeys, origin: str) -> bool:
    """Whether a copy holds what it was made with, as far as that can be checked for its kind."""
    if target.resource not in _EXACT:
        return True
    annotations = found.metadata.annotations
    source = target._replace(name=annotations.get(SOURCE, ""))
    subject = _contents_subject(source, origin, _of(found.decode()))
    return keys.verify(subject, annotations.get(CONTENTS, ""))


def has_contents(found: Object, copy: Copy) -> bool:
    """Whether an object on a worker holds exactly what a copy holds, and keeps it.

    A worker may default fields of other kinds that the source has not, so these may have more fields.
    """
    body = found.decode()
    if copy.target.resource in (CONFIGMAPS, SECRETS):
        return body.get("immutable") is True and _of(body) == copy.contents
    return _includes(_of(body), copy.contents)


def _contents(source: Object, of: ObjectName) -> dict[str, Any]:
    body = source.decode()
    if of.resource == SERVICEACCOUNTS:
        mounts = body.get("automountServiceAccountToken")
        return {"automountServiceAccountToken": mounts} if mounts is not None else {}
    if of.resource == SECRETS and body.get("type") in _OF_CLUSTER:
        raise CopyFailed(f"{of} is of type {body['type']}, which means nothing on another cluster", of.resource.kind)
    return _of(body)


def _of(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in _NOT_CONTENTS and value not in (None, {})}


def _includes(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and _includes(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        same = isinstance(found, list) and len(found) == len(wanted)
        return same and all(_includes(*pair) for pair in zip(found, wanted, strict=True))
    return bool(found == wanted)


def _named(name: str, mark: str) -> str:
    suffix = f"-{sha256(mark.encode()).hexdigest()[:10]}"
    return name[: _LONGEST_NAME - len(suffix)].rstrip("-.") + suffix


def _contents_subject(of: ObjectName, origin: str, contents: dict[str, Any]) -> ProofSubject:
    digest = sha256(_encode(contents)).hexdigest()
    return ProofSubject(origin, f"contents of {of.resource}", "", "", of.namespace, of.name, digest)


def _subject(target: ObjectName, origin: str, cluster: str, source: str, mark: str) -> ProofSubject:
    kind = f"copy of {target.resource}"
    return ProofSubject(origin, kind, source, cluster, target.namespace, target.name, mark)
