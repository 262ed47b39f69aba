"""Validation of writes to the status of a pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import Path, duplicate, forbidden, internal, invalid
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.ips import ip_warnings, is_valid_ip_for_legacy_field, parse_ip
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta_update
from jobrelay.apimachinery.names import is_valid_user_id, name_is_dns_subdomain
from jobrelay.kinds.core.checks import qualified_name
from jobrelay.kinds.core.pod.common import CORE, Errors, Fields, invalid_each
from jobrelay.kinds.core.pod.lifecycle import Obj, validate_annotation_updates

STATUS: Final = Path("status")
_STATUS_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def prepare_status_update(new: Obj, old: Obj) -> None:
    """Takes only the status; newer fields that older writers omit are kept."""
    new["spec"] = old["spec"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"):
        if name in old["metadata"]:
            new["metadata"][name] = old["metadata"][name]
        else:
            new["metadata"].pop(name, None)
    status, stored = new.setdefault("status", {}), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and stored.get(name):
            status[name] = stored[name]
    _keep_condition_generations(status, stored)
    drop_disabled_status_fields(status, stored)


def _keep_condition_generations(status: Obj, stored: Obj) -> None:
    known: dict[str, list[int]] = {}
    for condition in stored.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        left = known.get(condition.get("type", ""))
        generation = left.pop(0) if left else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def drop_disabled_status_fields(status: Obj, stored: Obj) -> None:
    if "resources" not in stored and "allocatedResources" not in stored:
        status.pop("resources", None)
        status.pop("allocatedResources", None)
    if "extendedResourceClaimStatus" not in stored:
        status.pop("extendedResourceClaimStatus", None)
    for name in _STATUS_LISTS:
        for container in status.get(name) or ():
            container.pop("allocatedResourcesStatus", None)


def validate_status_update(new: Obj, old: Obj) -> Errors:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_annotation_updates(new, old)
    status, stored, spec = new.get("status") or {}, old.get("status") or {}, old["spec"]
    errors += _validate_conditions(status.get("conditions") or (), STATUS.child("conditions"))
    errors += _validate_nomination(status.get("nominatedNodeName", ""), stored.get("nominatedNodeName", ""), spec)
    if status.get("observedGeneration", 0) < 0:
        at = STATUS.child("observedGeneration")
        errors.append(invalid(at, status["observedGeneration"], "must be a non-negative integer"))
    errors += validate_immutable_field(status.get("qosClass", ""), stored.get("qosClass", ""), STATUS.child("qosClass"))
    for name in _STATUS_LISTS:
        errors += _validate_transitions(name, status, stored, spec)
    errors += _validate_claim_statuses(status, spec)
    errors += (
        _validate_ips(status, stored, "podIPs") + _validate_host_ip(status) + _validate_ips(status, stored, "hostIPs")
    )
    for name in _STATUS_LISTS:
        errors += _validate_users(
            status.get(name) or (), STATUS.child(name), (spec.get("os") or {}).get("name", "linux")
        )
    return errors


def status_update_warnings(new: Obj, old: Obj) -> list[str]:
    warnings: list[str] = []
    for name in ("podIPs", "hostIPs"):
        for i, address in enumerate((new.get("status") or {}).get(name) or ()):
            warnings += ip_warnings(STATUS.child(name).index(i).child("ip"), address.get("ip", ""))
    return warnings


def _validate_conditions(conditions: Iterable[Fields], path: Path) -> Errors:
    errors: Errors = []
    for i, condition in enumerate(conditions):
        generation, kind = condition.get("observedGeneration", 0), condition.get("type", "")
        if generation < 0:
            at = path.index(i).child("observedGeneration")
            errors.append(invalid(at, generation, "must be a non-negative integer"))
        if kind not in ("PodScheduled", "Ready", "Initialized"):
            errors += qualified_name(kind, path.index(i).child("Type"))
    return errors


def _validate_nomination(name: str, stored: str, spec: Fields) -> Errors:
    if not name or name == stored:
        return []
    at = STATUS.child("nominatedNodeName")
    errors = invalid_each(at, name, name_is_dns_subdomain(name, False))
    if spec.get("nodeName"):
        errors.append(forbidden(at, "may not be set on pods that are already bound to a node"))
    return errors


def _validate_transitions(name: str, status: Fields, stored: Fields, spec: Fields) -> Errors:
    """A container that ended stays ended unless its restart policy starts it again."""
    errors: Errors = []
    running = {s.get("name", "") for s in status.get(name) or () if (s.get("state") or {}).get("terminated") is None}
    listed = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}.get(name, "")
    containers = {c.get("name", ""): c for c in spec.get(listed) or ()}
    for i, before in enumerate(stored.get(name) or ()):
        ended = (before.get("state") or {}).get("terminated")
        container = containers.get(before.get("name", ""))
        if ended is None or before.get("name", "") not in running:
            continue
        if container is None or not may_restart(container, spec, ended.get("exitCode", 0)):
            text = "may not be transitioned to non-terminated state"
            errors.append(forbidden(STATUS.child(name).index(i).child("state"), text))
    return errors


def may_restart(container: Fields, spec: Fields, exit_code: int) -> bool:
    """Whether a container that ended with this code starts again: by its rules, its policy, or the pod's."""
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            if (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _validate_claim_statuses(status: Fields, spec: Fields) -> Errors:
    errors: Errors = []
    known = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        at, name, claim_name = (
            STATUS.child("resourceClaimStatuses").index(i),
            claim.get("name", ""),
            claim.get("resourceClaimName"),
        )
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(at.child("name"), name, text))
        if name in seen:
            errors.append(duplicate(at.child("name"), name))
        seen.add(name)
        if claim_name is not None:
            errors += invalid_each(at.child("name"), claim_name, name_is_dns_subdomain(claim_name, False))
    return errors


def _validate_host_ip(status: Fields) -> Errors:
    addresses = status.get("hostIPs") or ()
    if not addresses or addresses[0].get("ip", "") == status.get("hostIP", ""):
        return []
    detail = "must be equal to `hostIP`"
    return [invalid(STATUS.child("hostIPs").index(0).child("ip"), addresses[0].get("ip", ""), detail)]


def _validate_ips(status: Fields, stored: Fields, name: str) -> Errors:
    path = STATUS.child(name)
    addresses = [entry.get("ip", "") for entry in status.get(name) or ()]
    known = {entry.get("ip", "") for entry in stored.get(name) or ()}
    errors: Errors = []
    for i, address in enumerate(addresses):
        if address not in known:
            errors += is_valid_ip_for_legacy_field(path.index(i), address)
    return errors + (_validate_dual_stack(addresses, status[name], path) if len(addresses) > 1 else [])


def _validate_dual_stack(addresses: Sequence[str], listed: list[dict[str, Any]], path: Path) -> Errors:
    parsed = [parse_ip(address) for address in addresses]
    errors: Errors = []
    if None in parsed:
        i = parsed.index(None)
        errors.append(internal(path, f"failed to check for dual stack with error:invalid IP[{i}]: {addresses[i]}"))
    versions = {address.version for address in parsed if address is not None}
    if errors or len(versions) < 2 or len(addresses) > 2:
        shown = struct_value(listed, f"[{CORE}{'PodIP' if path == STATUS.child('podIPs') else 'HostIP'}")
        errors.append(invalid(path, shown, "may specify no more than one IP for each IP family"))
    return errors


def _validate_users(statuses: Iterable[Fields], path: Path, os: str) -> Errors:
    errors: Errors = []
    for i, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        if user is None:
            continue
        at = path.index(i).child("user", "linux")
        if os == "windows":
            errors.append(forbidden(at, "cannot be set for a windows pod"))
        elif os == "linux":
            for name in ("uid", "gid"):
                errors += invalid_each(at.child(name), user.get(name, 0), is_valid_user_id(user.get(name, 0)))
            for j, group in enumerate(user.get("supplementalGroups") or ()):
                errors += invalid_each(at.child("supplementalGroups").index(j), group, is_valid_user_id(group))
    return errors
