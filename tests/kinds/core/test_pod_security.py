"""Pod Security: what each standard forbids, in the real server's words."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kinds.core.pod.podsecurity import (
    Standard,
    admit_pod_security,
    is_significant_update,
    namespace_warnings,
    policy_of,
    template_of,
    validate_namespace_labels,
)

LABEL = "pod-security.kubernetes.io/"
GOOD: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {"name": "c", "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    ],
}


def found(
    level: str, spec: dict[str, Any], version: str = "latest", annotations: dict[str, str] | None = None
) -> list[str]:
    made = Standard(level, version).violations(
        {"annotations": annotations or {}}, {"containers": [{"name": "c"}], **spec}
    )
    return [f"{reason}: {detail}" for reason, detail in made]


def container(**context: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "securityContext": context}]}


def test_a_careful_pod_meets_every_standard() -> None:
    assert found("restricted", GOOD) == []


def test_a_plain_pod_is_baseline_but_not_restricted() -> None:
    assert found("baseline", {}) == []
    assert [text.partition(":")[0] for text in found("restricted", {})] == [
        "allowPrivilegeEscalation != false", "unrestricted capabilities", "runAsNonRoot != true", "seccompProfile",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"hostPID": True, "hostNetwork": True}, "host namespaces: hostNetwork=true, hostPID=true"),
        (container(privileged=True), 'privileged: container "c" must not set securityContext.privileged=true'),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, 'hostPath volumes: volume "v"'),
        (
            container(capabilities={"add": ["SYS_TIME", "CHOWN"]}),
            'non-default capabilities: container "c" must not include "SYS_TIME" in securityContext.capabilities.add',
        ),
        (
            {
                "containers": [
                    {"name": "a", "ports": [{"hostPort": 2}, {"hostPort": 1}]},
                    {"name": "b", "ports": [{"hostPort": 1}]},
                ]
            },
            'hostPort: containers "a", "b" use hostPorts 1, 2',
        ),
        (
            {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]},
            'probe or lifecycle host: container "c" uses probe or lifecycle host "h"',
        ),
        (
            {"securityContext": {"seLinuxOptions": {"type": "t", "user": "u"}}},
            'seLinuxOptions: pod set forbidden securityContext.seLinuxOptions: type "t"; user may not be set',
        ),
        ({"securityContext": {"sysctls": [{"name": "kernel.x"}]}}, "forbidden sysctls: kernel.x"),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile: pod must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
    ],
)
def test_what_baseline_forbids(spec: dict[str, Any], text: str) -> None:
    assert found("baseline", spec) == [text]


def test_older_versions_know_less() -> None:
    probe = {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]}
    assert found("baseline", probe, version="v1.33") == []
    assert found("baseline", {}, "v1.18", {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}) == [
        'seccompProfile: forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined"'
    ]


def test_user_namespaces_may_have_a_root() -> None:
    spec = GOOD | {
        "hostUsers": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, "runAsUser": 0},
    }
    assert found("restricted", spec) == []
    assert len(found("restricted", spec, version="v1.34")) == 2


def test_enforcing_refuses_and_warning_warns() -> None:
    labels = {LABEL + "enforce": "baseline", LABEL + "warn": "restricted"}
    refused, _ = admit_pod_security(labels, {}, {"hostPID": True, "containers": [{"name": "c"}]}, enforce=True)
    assert refused == 'violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    refused, warnings = admit_pod_security(labels, {}, {"containers": [{"name": "c"}]}, enforce=True)
    assert refused == ""
    assert warnings[0].startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false (')


def test_enforcing_also_warns_about_templates() -> None:
    labels = {LABEL + "enforce": "baseline", LABEL + "enforce-version": "v1.30"}
    assert admit_pod_security(labels, {}, {"hostPID": True}, enforce=False) == (
        "",
        ['would violate PodSecurity "baseline:v1.30": host namespaces (hostPID=true)'],
    )


def test_wrong_labels_are_refused_unless_they_were_there() -> None:
    labels = {LABEL + "enforce": "strict", LABEL + "warn-version": "2"}
    assert [error.text() for error in validate_namespace_labels(labels)] == [
        f'metadata.labels[{LABEL}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
        f'metadata.labels[{LABEL}warn-version]: Invalid value: "2": must be "latest" or "v1.x"',
    ]
    assert validate_namespace_labels(labels, labels) == []
    assert policy_of(labels)[0].enforce == Standard("restricted", "latest")


def test_a_stricter_namespace_names_the_pods_that_violate_it() -> None:
    pods = [{"metadata": {"name": name}, "spec": {"hostPID": True}} for name in ("b", "a", "c")]
    assert namespace_warnings("n", {LABEL + "enforce": "baseline"}, {}, pods) == [
        'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]
    assert namespace_warnings("n", {}, {LABEL + "enforce": "baseline"}, pods) == []


def test_only_other_images_matter_in_updates() -> None:
    old = {"spec": {"containers": [{"name": "c", "image": "a"}]}}
    assert not is_significant_update(old, old)
    assert is_significant_update({"spec": {"containers": [{"name": "c", "image": "b"}]}}, old)


def test_templates_of_controllers() -> None:
    cron_job: dict[str, Any] = {"spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}}
    assert template_of("batch", "cronjobs", cron_job) == {"spec": {}}
    assert template_of("", "services", {}) is None
