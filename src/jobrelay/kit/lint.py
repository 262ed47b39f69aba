"""What would become of a Job or of a status if it were sent, found out without a cluster.

A status is judged by the rules S1 to S34. A Job goes the way of a create: it is decoded, defaulted, completed and
validated as the embedded API server does it. What is left is mirrored as the relay mirrors it, and goes the same way
once more: what is wrong then, a worker would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from jobrelay.apimachinery.decode import DecodeError, Notes
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER
from jobrelay.kinds.batch.job.status import broken_rules
from jobrelay.kinds.batch.job.strategy import JOB
from jobrelay.kit.rules import canonical_job
from jobrelay.kube import Key, Object
from jobrelay.kube.objects import decode_object
from jobrelay.relay.workload_kind import mirror_name
from jobrelay.workloads.adapter import MirrorParameters
from jobrelay.workloads.dependencies import references_of
from jobrelay.workloads.job import JobAdapter

__all__ = ["LintFinding", "lint_job", "lint_status"]

Obj = dict[str, Any]
_ADAPTER: Final = JobAdapter()
_UID: Final = "00000000-0000-0000-0000-000000000000"
_GENERATED: Final = "xxxxx"
_DROPPED: Final = {
    "managedBy": "so that the worker's own Job controller runs the mirror",
    "ttlSecondsAfterFinished": "so that the worker does not delete the mirror before its end was seen; it applies to "
    "the original",
    "selector": "since the worker generates one",
}
"""Why the mirror has no such field."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is wrong with a Job or a status, or worth knowing about it.

    - `severity`: an `error` is refused, a `warning` is accepted and probably not meant so, a `note` is information.
    - `subject`: `status`, `job`, or `mirror` for what concerns the relay's workers.
    - `field` and `message` are those of the API server's answer, as far as there is one.
    - `rule` is the number of a status rule, and `meaning` that rule in a sentence.
    """

    severity: Literal["error", "warning", "note"]
    subject: Literal["status", "job", "mirror"]
    field: str
    message: str
    rule: str = ""
    meaning: str = ""


def lint_status(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[LintFinding, ...]:
    """What is wrong with replacing the status of the Job `old` by that of `new`, of which nothing else is read.

    Raises `apimachinery.decode.DecodeError` if `old` is not a Job.
    """
    before, notes = _defaulted(old), Notes()
    try:
        after = canonical_job({**old, "status": new.get("status") or {}}, notes)
    except DecodeError as error:
        return (LintFinding("error", "status", "status", str(error)),)
    broken = broken_rules(after | {"spec": before["spec"]}, before)
    found = [
        LintFinding("error", "status", error.field, error.body(), rule.name, rule.meaning) for rule, error in broken
    ]
    found += [LintFinding("warning", "status", "status", text) for text in notes.texts if '"status.' in text]
    return tuple(found)


def lint_job(job: Mapping[str, Any]) -> tuple[LintFinding, ...]:
    """What an API server would refuse about a new Job, what a worker would refuse about its mirror, and what the mirror
    leaves out or needs there."""
    notes = Notes()
    try:
        made = _defaulted(job, notes)
    except DecodeError as error:
        return (LintFinding("error", "job", "", str(error)),)
    found = [LintFinding("warning", "job", "", text) for text in notes.texts]
    _fill_in(made)
    found += _created(made, "job")
    if any(each.severity == "error" for each in found) or not _may_be_delegated(made):
        return tuple(found)
    JOB.canonicalize(made)
    return (*found, *_mirrored(decode_object(msgspec.json.encode(made)), job))


def _defaulted(job: Mapping[str, Any], notes: Notes | None = None) -> Obj:
    made = canonical_job(job, notes)
    JOB.default(made)
    return made


def _fill_in(made: Obj) -> None:
    """What an API server sets itself before it validates."""
    metadata = made["metadata"]
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + _GENERATED
    metadata.setdefault("namespace", "default")
    metadata["uid"] = _UID


def _created(made: Obj, subject: Literal["job", "mirror"], where: str = "") -> Iterator[LintFinding]:
    """The answer to a create; completes the object as it goes."""
    JOB.prepare_create(made)
    errors = JOB.validate_create(made)
    for error in errors:
        yield LintFinding("error", subject, error.field, error.body() + where)
    if not errors and subject == "job":
        for text in JOB.warn_create(made):
            yield LintFinding("warning", subject, "", text)


def _may_be_delegated(made: Obj) -> bool:
    """Whether the relay takes this Job, or would if its `managedBy` said so."""
    name = made["spec"].get("managedBy", BUILT_IN_CONTROLLER)
    return name == BUILT_IN_CONTROLLER or name in _ADAPTER.managers


def _mirrored(original: Object, given: Mapping[str, Any]) -> Iterator[LintFinding]:
    mirror = _mirror(original, own_cluster=False)
    yield from _created(_defaulted(mirror), "mirror")
    here = _mirror(original, own_cluster=True)
    where = " (only if the management cluster itself is the worker)"
    for each in _created(_defaulted(here), "mirror", where):
        yield LintFinding("warning", "mirror", each.field, each.message)
    for name in sorted(given["spec"].keys() & _DROPPED.keys() - mirror["spec"].keys()):
        yield LintFinding("note", "mirror", f"spec.{name}", f"is left out, {_DROPPED[name]}")
    for reference in references_of(_ADAPTER, original):
        if not reference.optional:
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in reference.paths[0])
            yield LintFinding("note", "mirror", path[1:], f"{reference.target} has to be on the worker too")


def _mirror(original: Object, *, own_cluster: bool) -> Obj:
    name = mirror_name(Key(original.namespace, original.name), own_cluster=own_cluster)
    body = _ADAPTER.mirror(original, MirrorParameters(origin="lint", epoch=1, name=name))
    body["metadata"]["uid"] = _UID
    return body
