"""Pod Security: pods are refused, pods and templates warned about, by the labels of their namespace."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import STRATEGIC, Scenario, Step, apply, get, patch, post, put, scenario
from ._objects import (
    CORE,
    CRONJOBS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    Object,
    container,
    cronjob,
    deployment,
    job,
    metadata,
    pod,
)

LABEL = "pod-security.kubernetes.io"
TEMPLATES = f"{CORE}/podtemplates"
CONTROLLERS = f"{CORE}/replicationcontrollers"
APPS = "/apis/apps/v1/namespaces/{{ns}}"
DROPPED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SAFE = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def label(**modes: str | None) -> Step:
    """Labels the namespace; `_` stands for a dash."""
    labels = {f"{LABEL}/{mode.replace('_', '-')}": value for mode, value in modes.items()}
    return patch(CORE, {"metadata": {"labels": labels}})


def settled(step: Step, code: int) -> Step:
    """A step that is repeated until the server acts by the newest labels."""
    return Step(**{**step.__dict__, "until": code})


def safe(name: str = "safe", **spec: object) -> Object:
    return pod(name, **{"securityContext": SAFE, "containers": [container(securityContext=DROPPED)], **spec})


def _enforced() -> Iterator[Step]:
    yield post(PODS, pod("before", hostNetwork=True))
    yield label(enforce="baseline")
    yield settled(post(f"{PODS}?dryRun=All", pod("a", hostPID=True)), 403)
    yield post(PODS, pod("a", hostIPC=True, hostNetwork=True))
    yield post(PODS, pod("a", containers=[container(securityContext={"privileged": True})]))
    yield post(PODS, metadata(pod("a", hostPID=True), name=None, generateName="gen-"))
    yield apply(f"{PODS}/a", pod("a", hostPID=True))
    yield post(PODS, pod("a"))
    yield patch(f"{PODS}/before", {"metadata": {"labels": {"x": "y"}}})
    yield patch(f"{PODS}/before", {"spec": {"containers": [{"name": "c", "image": "img:2"}]}}, STRATEGIC)
    yield patch(f"{PODS}/a", {"spec": {"containers": [{"name": "c", "image": "img:2"}]}}, STRATEGIC)
    bad = {"name": "e", "image": "img:1", "securityContext": {"privileged": True}}
    yield patch(f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": [bad]}}, STRATEGIC)
    good = {"name": "f", "image": "img:1"}
    yield patch(f"{PODS}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": [good]}}, STRATEGIC)
    yield patch(f"{PODS}/before/status", {"status": {"phase": "Running"}})
    yield label(enforce="restricted", enforce_version="v1.24")
    yield settled(post(f"{PODS}?dryRun=All", pod("b")), 403)
    yield post(PODS, safe())
    yield post(PODS, safe("linux", os={"name": "linux"}))
    yield post(PODS, pod("windows", os={"name": "windows"}))
    yield label(enforce_version="v1.99")
    yield settled(post(f"{PODS}?dryRun=All", pod("windows", os={"name": "windows"})), 403)
    yield post(PODS, safe("own", hostUsers=False))


def _warned() -> Iterator[Step]:
    yield label(warn="restricted", audit="restricted")
    yield post(PODS, pod("z"))
    yield post(PODS, pod("a", hostPID=True))
    yield post(PODS, safe())
    yield label(enforce="baseline", enforce_version="v1.30", warn_version="v1.22")
    yield settled(post(f"{PODS}?dryRun=All", pod("b", hostPID=True)), 403)
    yield post(PODS, pod("b"))
    yield label(warn=None)
    yield post(JOBS, job("none"))
    yield post(JOBS, job("j", template={"spec": {**pod(hostPID=True)["spec"], "restartPolicy": "Never"}}))


def _templates() -> Iterator[Step]:
    yield label(enforce="restricted", warn="baseline", audit="restricted")
    yield settled(post(f"{PODS}?dryRun=All", pod("z")), 403)
    bad = {"metadata": {"labels": {"app": "x"}}, "spec": pod(hostPID=True)["spec"]}
    select = {"matchLabels": {"app": "x"}}
    once = {"spec": {**pod(hostPID=True)["spec"], "restartPolicy": "Never"}}
    yield post(JOBS, job("a", template=once))
    yield post(JOBS, job("b"))
    yield patch(f"{JOBS}/a", {"metadata": {"labels": {"x": "y"}}})
    yield patch(f"{JOBS}/a/status", {"status": {"active": 1}})
    yield post(CRONJOBS, cronjob("a", jobTemplate={"spec": {"template": once}}))
    yield post(DEPLOYMENTS, deployment("a", selector=select, template=bad, replicas=0))
    yield put(f"{DEPLOYMENTS}/a", deployment("a", selector=select, template=bad, replicas=0))
    more: Object = {"metadata": {"name": "a"}, "spec": {"selector": select, "template": bad, "replicas": 0}}
    yield post(f"{APPS}/replicasets", {"apiVersion": "apps/v1", "kind": "ReplicaSet", **more})
    yield post(f"{APPS}/statefulsets", {"apiVersion": "apps/v1", "kind": "StatefulSet", **more})
    daemon = {"metadata": {"name": "a"}, "spec": {"selector": select, "template": bad}}
    yield post(f"{APPS}/daemonsets", {"apiVersion": "apps/v1", "kind": "DaemonSet", **daemon})
    old = {"metadata": {"name": "a"}, "spec": {"selector": {"app": "x"}, "template": bad, "replicas": 0}}
    yield post(CONTROLLERS, {"apiVersion": "v1", "kind": "ReplicationController", **old})
    empty = {"metadata": {"name": "b"}, "spec": {"replicas": 0}}
    yield post(CONTROLLERS, {"apiVersion": "v1", "kind": "ReplicationController", **empty})
    yield post(TEMPLATES, {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": bad})


def _labels() -> Iterator[Step]:
    yield post(PODS, pod("a", hostPID=True))
    yield post(PODS, pod("b", hostPID=True))
    yield post(PODS, pod("c", hostNetwork=True))
    yield post(PODS, pod("d"))
    yield get(f"{PODS}/d")
    for modes in (
        {"enforce": "none"},
        {"enforce": "baseline", "enforce_version": "1.30"},
        {"warn": "", "audit": "x", "enforce_version": "v1.x"},
        {"enforce": "baseline"},
        {"enforce": "restricted"},
        {"enforce": "baseline"},
        {"enforce_version": "v1.20"},
        {"enforce": "restricted", "enforce_version": "v1.999"},
        {"enforce": "privileged"},
        {"enforce": "Restricted"},
    ):
        yield label(**modes)  # type: ignore[arg-type]
    yield patch(f"{CORE}?dryRun=All", {"metadata": {"labels": {f"{LABEL}/enforce": "baseline"}}})
    yield patch(f"{CORE}/status", {"metadata": {"labels": {f"{LABEL}/enforce": "baseline"}}})


def scenarios() -> list[Scenario]:
    return [
        scenario("pod-security-enforced", _enforced()),
        scenario("pod-security-warned", _warned()),
        scenario("pod-security-templates", _templates()),
        scenario("pod-security-labels", _labels()),
    ]
