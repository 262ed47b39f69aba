"""What pod templates name, and that other names can be put there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.types import Type, type_named
from jobrelay.kube.resource import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, SECRETS, SERVICEACCOUNTS
from jobrelay.workloads import ObjectName, Reference, references_of
from jobrelay.workloads.references import (
    _FIELDS,
    PRIORITYCLASSES,
    RESOURCECLAIMTEMPLATES,
    RUNTIMECLASSES,
    merged,
    pod_references,
    renamed,
)
from tests.workloads.jobs import ADAPTER, PARAMETERS, POD, job
from tests.workloads.stories import as_object

Obj = dict[str, Any]
CONTAINER: Obj = {"name": "c", "image": "i"}


def found(pod: Obj) -> list[str]:
    """The references of a pod, as `Kind namespace/name`, those that are optional with a question mark."""
    references = pod_references({"spec": pod}, "team")
    return [f"{each.target}{'?' if each.optional else ''}" for each in merged(references)]


def put(root: Obj, pattern: str, name: str, *, optional: bool = False) -> None:
    """Write a name where a pattern says; each `*` adds an item to its list."""
    *parents, last = pattern.split("/")
    node: Any = root
    for part, following in zip(parents, [*parents, last][1:], strict=True):
        if part == "*":
            node.append([] if following == "*" else {})
            node = node[-1]
        else:
            node = node.setdefault(part, [] if following == "*" else {})
    node[last] = name
    if optional:
        node["optional"] = True


@pytest.mark.parametrize("pattern", _FIELDS)
def test_every_field_is_found_and_can_be_renamed(pattern: str) -> None:
    pod: Obj = {}
    put(pod, pattern, "settings")
    (each,) = pod_references({"spec": pod}, "team", ("spec", "template"))
    assert each.resource == _FIELDS[pattern]
    assert each.namespace == ("team" if each.resource.namespaced else "")
    wanted: Obj = {}
    put(wanted, pattern, "settings-1")
    whole = renamed({"spec": {"template": {"spec": pod}}}, [each], {each.target: "settings-1"})
    assert whole == {"spec": {"template": {"spec": wanted}}}


NO_OBJECT = {
    "affinity", "dnsConfig", "hostAliases", "hostname", "hostnameOverride", "nodeName", "os", "resources",
    "schedulerName", "schedulingGates", "securityContext",
}  # fmt: skip
NO_OBJECT_BELOW = {
    "volumes/*/name", "volumes/*/ephemeral", "volumes/*/downwardAPI", "volumes/*/projected/sources/*/downwardAPI",
    "volumes/*/projected/sources/*/podCertificate", "volumes/*/projected/sources/*/clusterTrustBundle/signerName",
    "volumes/*/image", "volumes/*/gcePersistentDisk", "volumes/*/flocker", "volumes/*/vsphereVolume",
    "volumes/*/azureDisk", "volumes/*/azureFile/shareName", "volumes/*/iscsi/initiatorName",
    "volumes/*/scaleIO/volumeName", "volumes/*/storageos/volumeName", "volumes/*/storageos/volumeNamespace",
    "resourceClaims/*/name",
    *(
        f"{group}/*/{part}"
        for group in ("containers", "initContainers", "ephemeralContainers")
        for part in (
            "name", "targetContainerName", "ports", "env/*/name", "env/*/valueFrom/resourceFieldRef",
            "env/*/valueFrom/fileKeyRef", "resources", "resizePolicy", "volumeMounts", "volumeDevices",
            "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext", "envFrom/*/prefix",
        )
    ),
}  # fmt: skip


def strings(kind: Type, path: str) -> Iterator[str]:
    for name, field in kind.fields.items():
        below, type_ = f"{path}/{name}".lstrip("/"), field.type
        if below in NO_OBJECT or below in NO_OBJECT_BELOW:
            continue
        while type_.kind in ("list", "map") and type_.elem is not None:
            type_, below = type_.elem, f"{below}/*"
        if type_.kind == "struct":
            yield from strings(type_, below)
        elif type_.kind == "s" and ("name" in name.lower() or name in ("endpoints", "serviceAccount")):
            yield below


def test_every_name_in_the_type_of_pods_is_a_reference_or_known_to_be_none() -> None:
    pods = type_named("io.k8s.api.core.v1.PodSpec")
    assert pods is not None
    assert sorted(set(strings(pods, ""))) == sorted(_FIELDS)


def test_what_exists_everywhere_is_no_reference() -> None:
    root = {"name": "ca", "configMap": {"name": "kube-root-ca.crt"}}
    pod = {"serviceAccountName": "default", "priorityClassName": "system-node-critical", "volumes": [root]}
    assert found(pod) == []


def test_an_object_that_is_named_twice_is_one_reference_and_optional_only_if_both_are() -> None:
    optional: Obj = {"secretRef": {"name": "token", "optional": True}}
    env = {"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}
    assert found({"containers": [CONTAINER | {"envFrom": [optional]}]}) == ["Secret team/token?"]
    assert found({"containers": [CONTAINER | {"envFrom": [optional], "env": [env]}]}) == ["Secret team/token"]
    pod = {"serviceAccountName": "runner", "serviceAccount": "runner"}
    (each,) = merged(pod_references({"spec": pod}, "team"))
    assert each == Reference(
        SERVICEACCOUNTS, "runner", "team", paths=(("spec", "serviceAccountName"), ("spec", "serviceAccount"))
    )


def test_an_object_that_another_one_names_too_cannot_be_renamed() -> None:
    own, deep = Reference(SECRETS, "token", "team", paths=(("spec",),)), Reference(SECRETS, "token", "team")
    assert merged([own, deep]) == merged([deep, own]) == (deep,)


def test_a_job_names_what_its_pods_name_and_its_mirror_names_the_same() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    pod = POD | {"volumes": volumes, "priorityClassName": "high", "runtimeClassName": "gvisor"}
    original = as_object(job(template={"spec": pod}))
    kinds = [each.resource for each in references_of(ADAPTER, original)]
    assert sorted(kinds, key=str) == sorted([PERSISTENTVOLUMECLAIMS, PRIORITYCLASSES, RUNTIMECLASSES], key=str)
    mirror = as_object(ADAPTER.mirror(original, PARAMETERS))
    assert references_of(ADAPTER, mirror) == references_of(ADAPTER, original)


@pytest.mark.parametrize(
    "pod", [{}, {"volumes": "none"}, {"containers": [None, 3, "c"]}, {"imagePullSecrets": [{"name": 7}]}, {"env": {}}]
)
def test_what_is_not_a_pod_has_no_references(pod: Obj) -> None:
    assert found(pod) == []
    assert pod_references({"spec": None}, "team") == []


NAMES = st.sampled_from(["a", "b", "settings", "token"])
FIELDS = st.tuples(st.sampled_from(sorted(_FIELDS)), NAMES, st.booleans())


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], Any]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {at: leaf for key, below in items for at, leaf in leaves(below, (*path, key)).items()}
    return {path: value}


@given(fields=st.lists(FIELDS, max_size=12), chosen=st.sets(NAMES))
def test_renaming_changes_exactly_the_names_at_the_paths(fields: list[tuple[str, str, bool]], chosen: set[str]) -> None:
    pod: Obj = {"containers": [{"name": "settings", "image": "token"}]}
    for pattern, name, optional in fields:
        put(pod, pattern, name, optional=optional)
    body = {"spec": {"template": {"spec": pod}}}
    before, references = copy.deepcopy(body), merged(pod_references({"spec": pod}, "team", ("spec", "template")))
    names = {each.target: f"{each.name}-copy" for each in references if each.name in chosen}
    after = leaves(renamed(body, references, names))
    expected = leaves(body) | {
        path: names[each.target] for each in references if each.target in names for path in each.paths
    }
    assert after == expected
    assert body == before


def test_a_path_that_is_not_there_is_left_alone() -> None:
    target = ObjectName(CONFIGMAPS, "team", "a")
    reference = Reference(CONFIGMAPS, "a", "team", paths=(("spec", "volumes", 3, "configMap", "name"),))
    for body in ({}, {"spec": None}, {"spec": {"volumes": [{}]}}):
        assert renamed(body, [reference], {target: "b"}) == body


def test_names_read_well() -> None:
    assert str(ObjectName(SECRETS, "team", "token")) == "Secret team/token"
    assert str(ObjectName(PRIORITYCLASSES, "", "high")) == "PriorityClass high"
    claims = ObjectName(RESOURCECLAIMTEMPLATES, "team", "gpu")
    assert str(claims) == "ResourceClaimTemplate team/gpu"
