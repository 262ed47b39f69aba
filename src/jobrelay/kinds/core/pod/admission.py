"""What admission plugins that are always on do to pods: service account, priority, tolerations, runtime class.

The functions are pure: the server looks the named objects up and passes them in. A refusal is returned as the HTTP code
and the message; the server stops there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import go_quote
from jobrelay.kinds.core.pod.common import MIRROR_ANNOTATION, Fields, all_containers

Obj = dict[str, Any]
Refusal = tuple[int, str]
_CREDENTIALS_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_CREDENTIALS_VOLUME: Final = "kube-api-access-"
_ENFORCE_SECRETS: Final = "kubernetes.io/enforce-mountable-secrets"
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit_pod(
    pod: Obj,
    *,
    service_account: Fields | None,
    priority_classes: Sequence[Fields],
    random_suffix: str,
    runtime_class: Fields | None = None,
) -> Refusal | None:
    """Changes a pod that is about to be created. `service_account` is the one that the pod names, or `default`."""
    message = (
        _admit_service_account(pod, service_account, random_suffix)
        or _admit_priority(pod, priority_classes)
        or default_toleration_seconds(pod)
        or _admit_runtime_class(pod, runtime_class)
    )
    return (403, f"pods {go_quote(_name(pod))} is forbidden: {message}") if message else None


def admit_pod_update(new: Obj, old: Obj) -> None:
    """Changes an update of a pod's main resource: computed fields that the client left out come back."""
    for name in ("priority", "preemptionPolicy"):
        if new["spec"].get(name) is None and old["spec"].get(name) is not None:
            new["spec"][name] = old["spec"][name]
    default_toleration_seconds(new)


def _name(pod: Obj) -> str:
    metadata = pod["metadata"]
    name: str = metadata.get("name") or metadata.get("generateName") or "Unknown!"
    return name


def service_account_of(pod: Fields) -> str:
    """The name of the service account that admission looks up; empty for mirror pods, which have none."""
    if MIRROR_ANNOTATION in (pod["metadata"].get("annotations") or {}):
        return ""
    name: str = pod["spec"].get("serviceAccountName") or "default"
    return name


def _admit_service_account(pod: Obj, account: Fields | None, suffix: str) -> str:
    spec, name = pod["spec"], service_account_of(pod)
    if not name:
        return _refuse_mirror_pod(spec)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if account is None:
        place = f"{pod['metadata'].get('namespace', '')}/{name}"
        return f"error looking up service account {place}: serviceaccount {go_quote(name)} not found"
    if spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True)):
        _mount_token(spec, suffix)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(secret) for secret in account["imagePullSecrets"]]
    annotations = (account.get("metadata") or {}).get("annotations") or {}
    if annotations.get(_ENFORCE_SECRETS, "").lower() in ("1", "t", "true"):
        return _refuse_secrets(spec, account)
    return ""


def _refuse_mirror_pod(spec: Fields) -> str:
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    referred = bool(spec.get("imagePullSecrets"))
    for container in all_containers(spec):
        referred |= any((v.get("valueFrom") or {}).get("secretKeyRef") for v in container.get("env") or ())
        referred |= any(source.get("secretRef") for source in container.get("envFrom") or ())
    sources = [s for v in spec.get("volumes") or () for s in (v.get("projected") or {}).get("sources") or ()]
    if referred or any(v.get("secret") for v in spec.get("volumes") or ()) or any(s.get("secret") for s in sources):
        return "a mirror pod may not reference secrets"
    if any(source.get("serviceAccountToken") for source in sources):
        return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


def _mount_token(spec: Obj, suffix: str) -> None:
    volumes = spec.get("volumes") or []
    existing = next((v["name"] for v in volumes if v.get("name", "").startswith(_CREDENTIALS_VOLUME)), "")
    name = existing or _CREDENTIALS_VOLUME + suffix
    needed = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = container.get("volumeMounts") or []
        if any(mount.get("mountPath") == _CREDENTIALS_PATH for mount in mounts):
            continue
        container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _CREDENTIALS_PATH}]
        needed = True
    if needed and not existing:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_source()}]


def _token_source() -> Obj:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": certificate},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


def _refuse_secrets(spec: Fields, account: Fields) -> str:
    """Of an account that enforces it, only the secrets that it names may be used."""
    allowed = {secret.get("name", "") for secret in account.get("secrets") or ()}
    owner = (account.get("metadata") or {}).get("name", "")
    reason = f"is not allowed because service account {owner} does not reference that"
    for volume in spec.get("volumes") or ():
        name = (volume.get("secret") or {}).get("secretName", "")
        if volume.get("secret") is not None and name not in allowed:
            return f'volume with secret.secretName="{name}" {reason} secret'
    for kind, label in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(kind) or ():
            for what, name in _secret_uses(container):
                if name not in allowed:
                    user = f"{label} {container.get('name', '')} with {what}"
                    return f'{user} referencing secret.secretName="{name}" {reason} secret'
    pullable = {secret.get("name", "") for secret in account.get("imagePullSecrets") or ()}
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name", "") not in pullable:
            return f'imagePullSecrets[{i}].name="{secret.get("name", "")}" {reason} imagePullSecret'
    return ""


def _secret_uses(container: Fields) -> Iterable[tuple[str, str]]:
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name", "")


def _admit_priority(pod: Obj, classes: Sequence[Fields]) -> str:
    spec = pod["spec"]
    name = spec.get("priorityClassName", "")
    if name:
        chosen = next((c for c in classes if c["metadata"].get("name") == name), None)
        if chosen is None:
            return f"no PriorityClass with name {name} was found"
    else:
        chosen = min((c for c in classes if c.get("globalDefault")), key=lambda c: c.get("value", 0), default=None)
    priority, policy = 0, "PreemptLowerPriority"
    if chosen is not None:
        spec["priorityClassName"] = chosen["metadata"]["name"]
        priority, policy = chosen.get("value", 0), chosen.get("preemptionPolicy", "")
    given = spec.get("priority")
    if given is not None and given != priority:
        return (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller"
            f" computed {priority} from the given PriorityClass name"
        )
    spec["priority"] = priority
    own = spec.get("preemptionPolicy")
    if policy and own is not None and own != policy:
        return (
            f"the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name"
        )
    if policy:
        spec["preemptionPolicy"] = policy
    return ""


def default_toleration_seconds(pod: Obj) -> str:
    """Adds the default tolerations: pods leave a node that is not ready after five minutes."""
    spec = pod["spec"]
    tolerations = spec.get("tolerations") or []
    added = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for taint in _TOLERATED
        if not any(t.get("key", "") in ("", taint) and t.get("effect", "") in ("", "NoExecute") for t in tolerations)
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]
    return ""


def _admit_runtime_class(pod: Obj, runtime_class: Fields | None) -> str:
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if name is not None and runtime_class is None:
        return f"pod rejected: RuntimeClass {go_quote(name)} not found"
    fixed = ((runtime_class or {}).get("overhead") or {}).get("podFixed") if name is not None else None
    if fixed:
        if spec.get("overhead") and spec["overhead"] != fixed:
            return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        spec["overhead"] = dict(fixed)
    elif spec.get("overhead"):
        return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    if name is None or runtime_class is None:
        return ""
    return _merge_scheduling(spec, runtime_class.get("scheduling") or {})


def _merge_scheduling(spec: Obj, scheduling: Mapping[str, Any]) -> str:
    selector, wanted = spec.get("nodeSelector") or {}, scheduling.get("nodeSelector") or {}
    for key, value in wanted.items():
        if key in selector and selector[key] != value:
            return (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                f" pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
    if wanted:
        spec["nodeSelector"] = {**selector, **wanted}
    added = [t for t in scheduling.get("tolerations") or () if t not in (spec.get("tolerations") or ())]
    if added:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *added]
    return ""
