"""The mirror of a workload of a declared kind: how it is built, and which changes of the original are forwarded.

The mirror is the original's spec without what belongs to the management cluster: managedBy, or no controller would run
it, and what the description drops. Later only the suspension, and fields that the description names, are forwarded.
A field that the original does not have is left to the worker, whose API may have defaulted it: otherwise the two would
change it back and forth.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from jobrelay.kube import Object
from jobrelay.workloads.adapter import MirrorParameters
from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.description import Forward, KindDescription
from jobrelay.workloads.declared.predicates import holds
from jobrelay.workloads.metadata import metadata_patch, mirror_metadata
from jobrelay.workloads.references import FieldPath

_NAMES = ("name", "groupName")
"""Fields by which entries of lists are told apart."""


def mirror(kind: KindDescription, original: Object, parameters: MirrorParameters) -> dict[str, Any]:
    """The body of the mirror to create."""
    resource = kind.api_resource
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": mirror_metadata(original, parameters),
        "spec": mirror_spec(kind, original.decode()),
    }
    for path in kind.mirror.drop:
        if path.startswith("metadata."):
            paths.remove(path, body)
    if parameters.suspend and kind.suspension is not None:
        paths.put(paths.plain(kind.suspension.path), body, kind.suspension.suspended)
    if parameters.deadline is not None and kind.deadline is not None:
        paths.put(paths.plain(kind.deadline.path), body, parameters.deadline)
    return body


def mirror_spec(kind: KindDescription, original: dict[str, Any]) -> dict[str, Any]:
    """The spec of a mirror; `original` is changed."""
    whole = {"spec": original.get("spec") if isinstance(original.get("spec"), dict) else {}}
    for path in (kind.managed_by.path, *kind.mirror.drop):
        paths.remove(path, whole)
    for path, value in kind.mirror.add.items():
        paths.put(paths.plain(path), whole, copy.deepcopy(value))
    return whole["spec"] or {}


def mirror_patch(
    kind: KindDescription, original: Object, mirror: Object, parameters: MirrorParameters, *, started: bool
) -> dict[str, Any] | None:
    """A merge patch that brings a mirror in line with its original; `started` says whether the mirror has started."""
    patch: dict[str, Any] = {}
    if metadata := metadata_patch(original, mirror, parameters):
        patch["metadata"] = metadata
    wanted, found = original.decode(), mirror.decode()
    _forward_suspension(kind, wanted, found, parameters, patch, started=started)
    if (
        parameters.deadline is not None
        and kind.deadline is not None
        and kind.deadline.extendable
        and paths.first(kind.deadline.path, found) != parameters.deadline
    ):
        paths.put(paths.plain(kind.deadline.path), patch, parameters.deadline)
    for forward in kind.mirror.forwards:
        _forward(forward, wanted, found, patch)
    return patch or None


def _forward_suspension(
    kind: KindDescription,
    wanted: Mapping[str, Any],
    found: Mapping[str, Any],
    parameters: MirrorParameters,
    patch: dict[str, Any],
    *,
    started: bool,
) -> None:
    """Other values of the same field are forwarded too: Tekton's runs are cancelled by it."""
    rule = kind.suspension
    if rule is None:
        return
    want, have = (_or_running(paths.first(rule.path, each), rule.running) for each in (wanted, found))
    want = rule.suspended if parameters.suspend else want
    if want == have or (started and rule.before_start_only and want == rule.suspended):
        return
    paths.put(paths.plain(rule.path), patch, want)


def _or_running(value: Any, running: bool | str) -> Any:
    return running if value is None else value


def _forward(forward: Forward, wanted: dict[str, Any], found: dict[str, Any], patch: dict[str, Any]) -> None:
    if holds(forward.unless, wanted):
        return
    for place, want in paths.located(paths.parse(forward.path), wanted):
        changed = _changed(want, _get(place, found))
        if changed is None or not _same_entries(place, wanted, found):
            continue
        listed = next((index for index, key in enumerate(place) if isinstance(key, int)), None)
        if listed is None:
            paths.put(place, patch, changed)
            continue
        # A merge patch replaces a list as a whole.
        whole = _get(place[:listed], patch)
        if whole is None:
            whole = copy.deepcopy(_get(place[:listed], found))
            paths.put(place[:listed], patch, whole)
        paths.put(place[listed:], whole, want)


def _changed(want: Any, have: Any) -> Any:
    """What a merge patch has to contain for `want`; None if nothing. Fields that only `have` has stay."""
    if not isinstance(want, dict) or not isinstance(have, dict):
        return None if want == have else want
    return {key: part for key, each in want.items() if (part := _changed(each, have.get(key))) is not None} or None


def _same_entries(place: FieldPath, wanted: Any, found: Any) -> bool:
    """Whether the entries of lists on the way to a place are the same ones in both objects."""
    for index, key in enumerate(place):
        if isinstance(key, int):
            mine, other = _get(place[: index + 1], wanted), _get(place[: index + 1], found)
            if type(mine) is not type(other):
                return False
            if isinstance(mine, dict) and any(mine.get(name) != other.get(name) for name in _NAMES):
                return False
    return True


def _get(place: FieldPath, obj: Any) -> Any:
    for key in place:
        try:
            obj = obj[key]
        except (KeyError, IndexError, TypeError):
            return None
    return obj
