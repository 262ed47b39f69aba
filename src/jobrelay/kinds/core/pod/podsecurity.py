"""Pod Security admission: the labels of a namespace name the standards that its pods must meet or are warned about.

`enforce` refuses pods; `warn` warns about pods and about the templates of controllers; `audit` is checked but has no
effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.field import FieldError, Path, go_quote, invalid
from jobrelay.kinds.core.pod.common import Fields
from jobrelay.kinds.core.pod.securitychecks import NEWEST, Violation, violations

Obj = dict[str, Any]
_LEVELS: Final = ("privileged", "baseline", "restricted")
_LABELS: Final = Path("metadata.labels")
_MINOR = re.compile(r"v1\.(0|[1-9][0-9]*)")
_MAX_PODS: Final = 3000
_TEMPLATES: Final = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}


class LevelVersion(NamedTuple):
    """A level of a version of the standards; without a version, of the newest."""

    level: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"

    def violations(self, metadata: Fields, spec: Fields) -> list[Violation]:
        minor = NEWEST if self.version == "latest" else min(int(self.version[3:]), NEWEST)
        return violations(self.level, minor, metadata.get("annotations") or {}, spec)


class PodSecurityLevels(NamedTuple):
    enforce: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


def policy_of(labels: Mapping[str, str] | None) -> tuple[PodSecurityLevels, list[FieldError]]:
    """The policy of a namespace, and what is wrong with its labels. Where enforcing is unclear, it is restricted."""
    given = labels or {}
    errors: list[FieldError] = []
    found: dict[str, LevelVersion] = {}
    for mode in ("enforce", "audit", "warn"):
        key = f"pod-security.kubernetes.io/{mode}"
        level, version = given.get(key, "privileged"), given.get(f"{key}-version", "latest")
        if level not in _LEVELS:
            errors.append(invalid(_LABELS.key(key), level, f"must be one of {', '.join(_LEVELS)}"))
            level = "restricted" if mode == "enforce" else "privileged"
        if version != "latest" and not _MINOR.fullmatch(version):
            errors.append(invalid(_LABELS.key(f"{key}-version"), version, 'must be "latest" or "v1.x"'))
            version = "latest"
        found[mode] = LevelVersion(level, version)
    enforce, warn = found["enforce"], found["warn"]
    if (
        "pod-security.kubernetes.io/warn" not in given
        and given.get("pod-security.kubernetes.io/enforce") == enforce.level
    ):
        versioned = "pod-security.kubernetes.io/warn-version" in given
        warn = LevelVersion(enforce.level, warn.version if versioned else enforce.version)
    return PodSecurityLevels(enforce, warn), errors


def _detail(found: Iterable[Violation]) -> str:
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)


def admit_pod_security(
    labels: Mapping[str, str] | None, metadata: Fields, spec: Fields, *, enforce: bool
) -> tuple[str, list[str]]:
    """Why a pod is forbidden (empty: it is not), and warnings. Templates of controllers are not enforced."""
    policy, _ = policy_of(labels)
    if enforce and (found := policy.enforce.violations(metadata, spec)):
        return f"violates PodSecurity {go_quote(str(policy.enforce))}: {_detail(found)}", []
    found = policy.warn.violations(metadata, spec)
    return "", [f"would violate PodSecurity {go_quote(str(policy.warn))}: {_detail(found)}"] if found else []


def template_of(group: str, plural: str, obj: Obj) -> Obj | None:
    """The pod template of an object, for kinds that Pod Security checks."""
    steps = _TEMPLATES.get((group, plural))
    if steps is None:
        return None
    value: Any = obj
    for step in steps:
        value = (value or {}).get(step)
    template: Obj | None = value
    return template


def is_significant_update(new: Obj, old: Obj) -> bool:
    """Whether an update of a pod can make it less secure: containers come, go, or get another image."""
    for name in ("containers", "initContainers"):
        ours, theirs = new["spec"].get(name) or (), old["spec"].get(name) or ()
        if [c.get("image", "") for c in ours] != [c.get("image", "") for c in theirs]:
            return True
    known = {c.get("name", ""): c.get("image", "") for c in old["spec"].get("ephemeralContainers") or ()}
    added = new["spec"].get("ephemeralContainers") or ()
    return any(known.get(c.get("name", "")) != c.get("image", "") for c in added)


def validate_namespace_labels(new: Mapping[str, str] | None, old: Mapping[str, str] | None = None) -> list[FieldError]:
    """Wrong labels are refused, unless they were just as wrong before."""
    errors = policy_of(new)[1]
    return [] if errors and errors == policy_of(old)[1] else errors


def namespace_warnings(
    name: str, new: Mapping[str, str] | None, old: Mapping[str, str] | None, pods: list[Obj]
) -> list[str]:
    """Warnings when a namespace starts to enforce more than its pods meet."""
    enforce, before = policy_of(new)[0].enforce, policy_of(old)[0].enforce
    weaker = enforce.version == before.version and _LEVELS.index(enforce.level) <= _LEVELS.index(before.level)
    if enforce == before or enforce.level == "privileged" or weaker:
        return []
    ordered = _one_of_each_controller_first(pods)
    seen: dict[str, list[str]] = {}
    for pod in ordered[:_MAX_PODS]:
        if found := enforce.violations(pod["metadata"], pod["spec"]):
            seen.setdefault(", ".join(reason for reason, _ in found), []).append(pod["metadata"]["name"])
    warnings = []
    if len(ordered) > _MAX_PODS:
        text = f"only checked against the first {_MAX_PODS} of {len(ordered)} existing pods"
        warnings.append(f"new PodSecurity enforce level {text}")
    if seen:
        text = f"violate the new PodSecurity enforce level {go_quote(str(enforce))}"
        warnings.append(f"existing pods in namespace {go_quote(name)} {text}")
    return warnings + sorted(f"{_counted(names)}: {reasons}" for reasons, names in seen.items())


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    more = f" (and {others} other pod{'' if others == 1 else 's'})" if others else ""
    return f"{min(names)}{more}"


def _one_of_each_controller_first(pods: list[Obj]) -> list[Obj]:
    first, rest, seen = [], [], set()
    for pod in pods:
        owner = next((o.get("uid") for o in pod["metadata"].get("ownerReferences") or () if o.get("controller")), None)
        if owner is not None and owner in seen:
            rest.append(pod)
            continue
        seen.add(owner)
        first.append(pod)
    return first + rest
