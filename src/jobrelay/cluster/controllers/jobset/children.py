"""The objects that a JobSet has: Jobs, the headless Service of their pods, and volume claims. Pure functions."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from typing import Any

from jobrelay.cluster.controllers.jobset import names
from jobrelay.cluster.controllers.jobset.views import ClaimTemplate, JobSet, ReplicatedJob

__all__ = ["job_name", "make_claims", "make_job", "make_service"]

Obj = dict[str, Any]


def job_name(jobset: JobSet, replicated: ReplicatedJob, index: int) -> str:
    return f"{jobset.metadata.name}-{replicated.name}-{index}"


def make_job(jobset: JobSet, replicated: ReplicatedJob, index: int) -> Obj:
    """One Job of a replicated job."""
    template = copy.deepcopy(replicated.template)
    spec: Obj = template.get("spec") or {}
    pod: Obj = spec.setdefault("template", {})
    pod["metadata"] = _marked(pod.get("metadata") or {}, jobset, replicated, index)
    pod_spec: Obj = pod.setdefault("spec", {})
    spec.setdefault("completionMode", "Indexed")
    pod_spec.setdefault("restartPolicy", "OnFailure")
    if jobset.network.enable_dns_hostnames:
        pod_spec["subdomain"] = jobset.subdomain
    spec["suspend"] = jobset.suspended
    metadata = _marked(_template_metadata(template), jobset, replicated, index)
    metadata |= {"name": job_name(jobset, replicated, index), "namespace": jobset.metadata.namespace}
    metadata["ownerReferences"] = [_owner(jobset)]
    if names.EXCLUSIVE in metadata["annotations"] and names.NODE_SELECTOR in metadata["annotations"]:
        _select_node(pod_spec, metadata)
    _add_volumes(pod_spec, jobset, replicated.mounted)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _template_metadata(template: Obj) -> Obj:
    given = template.get("metadata") or {}
    return {key: given[key] for key in ("labels", "annotations") if given.get(key)}


def _marked(metadata: Obj, jobset: JobSet, replicated: ReplicatedJob, index: int) -> Obj:
    """Metadata of a Job or its pods with JobSet's marks, which are labels and annotations both."""
    marks = _marks(jobset, replicated, index)
    annotations = {**(metadata.get("annotations") or {}), **marks}
    own_template = (replicated.template.get("metadata") or {}).get("annotations") or {}
    for placement in (jobset.metadata.annotations or {}, own_template):
        if names.EXCLUSIVE in placement:
            chosen = (names.EXCLUSIVE, names.NODE_SELECTOR)
            annotations |= {key: placement[key] for key in chosen if key in placement}
    return {**metadata, "labels": {**(metadata.get("labels") or {}), **marks}, "annotations": annotations}


def _marks(jobset: JobSet, replicated: ReplicatedJob, index: int) -> dict[str, str]:
    name, namespace = job_name(jobset, replicated, index), jobset.metadata.namespace
    group = [each for each in jobset.replicated_jobs if each.group_name == replicated.group_name]
    marks = {
        names.JOBSET_NAME: jobset.metadata.name,
        names.JOBSET_UID: jobset.metadata.uid,
        names.REPLICATED_JOB: replicated.name,
        names.RESTARTS: str(jobset.restarts),
        names.REPLICAS: str(replicated.replicas),
        names.GLOBAL_REPLICAS: str(sum(each.replicas for each in jobset.replicated_jobs)),
        names.JOB_INDEX: str(index),
        names.JOB_KEY: hashlib.sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest(),
        names.GLOBAL_INDEX: str(_before(jobset.replicated_jobs, replicated) + index),
        names.GROUP_NAME: replicated.group_name,
        names.GROUP_REPLICAS: str(sum(each.replicas for each in group)),
        names.GROUP_INDEX: str(_before(group, replicated) + index),
    }
    coordinator = jobset.spec.coordinator
    if coordinator is not None:
        pod = f"{coordinator.replicated_job}-{coordinator.job_index}-{coordinator.pod_index}"
        marks[names.COORDINATOR] = f"{jobset.metadata.name}-{pod}.{jobset.subdomain}"
    return marks


def _before(replicated: tuple[ReplicatedJob, ...] | list[ReplicatedJob], one: ReplicatedJob) -> int:
    """How many Jobs come before those of one replicated job."""
    total = 0
    for each in replicated:
        if each.name == one.name:
            break
        total += each.replicas
    return total


def _owner(jobset: JobSet) -> Obj:
    return {
        "apiVersion": names.JOBSETS.api_version, "kind": names.JOBSETS.kind, "name": jobset.metadata.name,
        "uid": jobset.metadata.uid, "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def _select_node(pod_spec: Obj, metadata: Obj) -> None:
    """Exclusive placement on nodes that somebody has labelled and tainted for this Job."""
    selected = f"{metadata['namespace']}_{metadata['name']}"
    pod_spec["nodeSelector"] = {**(pod_spec.get("nodeSelector") or {}), names.NAMESPACED_JOB: selected}
    tolerated = {"key": names.NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
    pod_spec["tolerations"] = [*(pod_spec.get("tolerations") or ()), tolerated]


def make_service(jobset: JobSet) -> Obj | None:
    """The headless Service by which the pods' host names are found, if there is to be one."""
    if not jobset.network.enable_dns_hostnames:
        return None
    spec: Obj = {"clusterIP": "None", "selector": {names.JOBSET_NAME: jobset.metadata.name}}
    if jobset.network.publish_not_ready_addresses is not False:
        spec["publishNotReadyAddresses"] = True
    where = {"name": jobset.subdomain, "namespace": jobset.metadata.namespace}
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {**where, "ownerReferences": [_owner(jobset)]}, "spec": spec,
    }  # fmt: skip


def _claim_templates(jobset: JobSet) -> Iterator[tuple[ClaimTemplate, bool]]:
    """The templates of volume claims, and whether the claim is deleted with the JobSet."""
    for policy in jobset.spec.volume_claim_policies or ():
        retained = policy.retention_policy is not None and policy.retention_policy.when_deleted == "Retain"
        for template in policy.templates or ():
            yield template, not retained


def _claim_name(jobset: JobSet, template: ClaimTemplate) -> str:
    return f"{template.metadata.name}-{jobset.metadata.name}"


def make_claims(jobset: JobSet) -> list[Obj]:
    """The volume claims that Jobs of the JobSet share."""
    found = []
    for template, owned in _claim_templates(jobset):
        given = template.metadata
        metadata: Obj = {"name": _claim_name(jobset, template), "namespace": jobset.metadata.namespace}
        metadata["labels"] = {**(given.labels or {}), names.JOBSET_NAME: jobset.metadata.name}
        if given.annotations:
            metadata["annotations"] = dict(given.annotations)
        if owned:
            metadata["ownerReferences"] = [_owner(jobset)]
        spec = copy.deepcopy(template.spec or {})
        found.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
    return found


def _add_volumes(pod_spec: Obj, jobset: JobSet, mounted: frozenset[str]) -> None:
    """Adds the volumes of claims that a container mounts."""
    for template, _ in _claim_templates(jobset):
        name = template.metadata.name
        if name in mounted:
            claim = {"name": name, "persistentVolumeClaim": {"claimName": _claim_name(jobset, template)}}
            pod_spec["volumes"] = [*(pod_spec.get("volumes") or ()), claim]
