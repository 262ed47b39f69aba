"""The admission policy that restricts the relay's identity on a worker beyond what roles can express.

A role allows verbs on kinds. This policy inspects the objects: the identity may only create workloads that are marked
as its mirrors, and may only change or delete those with its own label. The pods of its Jobs cannot reach the node.
Those of other kinds are made by the kind's own controller, and what restricts them is Pod Security of the namespace.
The policy applies to no other user.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jobrelay.kube import Resource
from jobrelay.kube.resource import JOBS, VALIDATINGADMISSIONPOLICIES, VALIDATINGADMISSIONPOLICYBINDINGS
from jobrelay.operate.kinds import plurals_by_group
from jobrelay.operate.manifests import Manifest, manifest
from jobrelay.workloads.names import EPOCH, ORIGIN, ORIGIN_NAME, ORIGIN_UID

__all__ = ["policy", "policy_binding"]

_CONTAINERS: Final = "variables.containers.all(c, !has(c.securityContext) || ({rule}))"


def policy(name: str, username: str, origin: str, labels: dict[str, str], mirrored: Iterable[Resource]) -> Manifest:
    """The policy for one user, whose mirrors are of these kinds and have `origin` in their label."""
    kinds = [
        {"apiGroups": [group], "apiVersions": ["*"], "resources": plurals, "operations": ["CREATE", "UPDATE", "DELETE"]}
        for group, plurals in plurals_by_group(mirrored).items()
    ]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": kinds},
        "matchConditions": [{"name": "relay", "expression": f"request.userInfo.username == '{username}'"}],
        "variables": _variables(),
        "validations": [*_marks(origin), *_sandbox()],
    }
    return manifest(VALIDATINGADMISSIONPOLICIES, name, labels=labels, spec=spec)


def policy_binding(name: str, labels: dict[str, str]) -> Manifest:
    spec = {"policyName": name, "validationActions": ["Deny"]}
    return manifest(VALIDATINGADMISSIONPOLICYBINDINGS, name, labels=labels, spec=spec)


def _variables() -> list[Manifest]:
    pod = "object.spec.template.spec"
    containers = f"{pod}.containers + (has({pod}.initContainers) ? {pod}.initContainers : [])"
    return [{"name": "pod", "expression": pod}, {"name": "containers", "expression": containers}]


def _marks(origin: str) -> list[Manifest]:
    """Only its own mirrors, before and after a change."""
    annotations = " && ".join(f"'{name}' in object.metadata.annotations" for name in (ORIGIN_UID, ORIGIN_NAME, EPOCH))
    return [
        _validation(
            f"request.operation == 'DELETE' || ({_labelled('object', origin)})",
            f"a mirror must have label {ORIGIN}={origin}",
        ),
        _validation(
            f"request.operation == 'DELETE' || (has(object.metadata.annotations) && {annotations})",
            f"a mirror must have annotations {ORIGIN_UID}, {ORIGIN_NAME} and {EPOCH}",
        ),
        _validation(
            f"request.operation == 'CREATE' || ({_labelled('oldObject', origin)})",
            f"only objects with label {ORIGIN}={origin} may be changed or deleted",
        ),
    ]


def _labelled(which: str, origin: str) -> str:
    labels = f"{which}.metadata.labels"
    return f"has({labels}) && '{ORIGIN}' in {labels} && {labels}['{ORIGIN}'] == '{origin}'"


def _sandbox() -> list[Manifest]:
    """No access to the node."""
    unprivileged = "!has(c.securityContext.privileged) || !c.securityContext.privileged"
    windows = "c.securityContext.windowsOptions"
    return [
        *(
            _pods(f"!has(variables.pod.{field}) || !variables.pod.{field}", f"{field} is not allowed")
            for field in ("hostNetwork", "hostPID", "hostIPC")
        ),
        _pods(
            "!has(variables.pod.volumes) || variables.pod.volumes.all(v, !has(v.hostPath))",
            "hostPath volumes are not allowed",
        ),
        _pods(_CONTAINERS.format(rule=unprivileged), "privileged containers are not allowed"),
        _pods(
            _CONTAINERS.format(rule=f"!has({windows}) || !has({windows}.hostProcess) || !{windows}.hostProcess"),
            "host processes are not allowed",
        ),
        _pods(
            "!has(variables.pod.securityContext) || !has(variables.pod.securityContext.windowsOptions)"
            " || !has(variables.pod.securityContext.windowsOptions.hostProcess)"
            " || !variables.pod.securityContext.windowsOptions.hostProcess",
            "host processes are not allowed",
        ),
    ]


def _pods(expression: str, message: str) -> Manifest:
    """A rule about the pods of Jobs."""
    others = f"request.operation == 'DELETE' || request.resource.group != '{JOBS.group}'"
    return _validation(f"{others} || ({expression})", message)


def _validation(expression: str, message: str) -> Manifest:
    return {"expression": expression, "message": f"jobrelay: {message}", "reason": "Forbidden"}
