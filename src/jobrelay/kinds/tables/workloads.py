"""The tables of kinds that run pods: batch, apps, replication controllers, autoscalers, disruption budgets."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from jobrelay.kinds.tables import texts
from jobrelay.kinds.tables.ages import between, since
from jobrelay.kinds.tables.autoscaling import HORIZONTAL_POD_AUTOSCALERS
from jobrelay.kinds.tables.columns import AGE, Cell, Column, Obj, TableSpec, at, col, count, field, number, table, wide
from jobrelay.kinds.tables.core import CONTAINERS_TEXT, IMAGES_TEXT

_JOB_WORDS: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _containers(path: str) -> tuple[Column, Column]:
    find: Cell = at(path, {})
    return (
        wide("Containers", lambda obj, now: texts.container_names(find(obj, now)), text=CONTAINERS_TEXT),
        wide("Images", lambda obj, now: texts.container_images(find(obj, now)), text=IMAGES_TEXT),
    )


def _selector(path: str, doc: str, **rest: Any) -> Column:
    find: Cell = at(path, None)
    return wide("Selector", lambda obj, now: texts.selector_text(find(obj, now)), doc, **rest)


_TEMPLATE: Final = _containers("spec.template.spec")


def _job_status(job: Obj, now: dt.datetime) -> str:
    conditions = (job.get("status") or {}).get("conditions")
    if texts.is_true(conditions, "Complete"):
        return "Complete"
    if texts.is_true(conditions, "Failed"):
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((word for word in _JOB_WORDS if texts.is_true(conditions, word)), "Running")


def _completions(job: Obj, now: dt.datetime) -> str:
    spec, done = job["spec"], (job.get("status") or {}).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: Obj, now: dt.datetime) -> str:
    status = job.get("status") or {}
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return between(start, end) if end else since(start, now)


def _last_schedule(cron_job: Obj, now: dt.datetime) -> str:
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    return since(last, now) if last else texts.NONE


def _ready_of_desired(obj: Obj, now: dt.datetime) -> str:
    return f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{obj['spec'].get('replicas') or 0}"


def _controller(revision: Obj, now: dt.datetime) -> str:
    owner = next((ref for ref in revision["metadata"].get("ownerReferences") or () if ref.get("controller")), None)
    if owner is None:
        return texts.NONE
    group = owner["apiVersion"].rpartition("/")[0]
    kind = f"{owner['kind']}.{group}" if group else owner["kind"]
    return f"{kind.lower()}/{owner['name']}"


def _disruption_limit(name: str) -> Cell:
    find = at(f"spec.{name}", "N/A")
    return lambda obj, now: str(find(obj, now))


_JOBS: Final = table(
    col("Status", _job_status, text="Status of the job."),
    col("Completions", _completions, "batch.v1.JobStatus.succeeded"),
    col("Duration", _job_duration, text="Time required to complete the job."),
    AGE,
    *_TEMPLATE,
    _selector("spec.selector", "batch.v1.JobSpec.selector"),
)

_CRON_JOBS: Final = table(
    field("Schedule", "spec.schedule", "batch.v1.CronJobSpec"),
    field("Timezone", "spec.timeZone", "batch.v1.CronJobSpec", texts.NONE),
    col(
        "Suspend",
        lambda obj, now: texts.true_or_false(obj["spec"].get("suspend")),
        "batch.v1.CronJobSpec.suspend",
        type="boolean",
    ),
    col("Active", count("status.active"), "batch.v1.CronJobStatus.active", type="integer"),
    col("Last Schedule", _last_schedule, "batch.v1.CronJobStatus.lastScheduleTime"),
    AGE,
    *_containers("spec.jobTemplate.spec.template.spec"),
    _selector("spec.jobTemplate.spec.selector", "batch.v1.JobSpec.selector"),
)

_DAEMON_SETS: Final = table(
    number("Desired", "status.desiredNumberScheduled", "apps.v1.DaemonSetStatus"),
    number("Current", "status.currentNumberScheduled", "apps.v1.DaemonSetStatus"),
    number(
        "Ready",
        "status.numberReady",
        "apps.v1.DaemonSetStatus",
        edits=(("numberReady is the", "The"), ("with a Ready Condition", "and ready")),
    ),
    number("Up-to-date", "status.updatedNumberScheduled", "apps.v1.DaemonSetStatus"),
    number("Available", "status.numberAvailable", "apps.v1.DaemonSetStatus"),
    col(
        "Node Selector",
        lambda obj, now: texts.labels_text(at("spec.template.spec.nodeSelector", {})(obj, now)),
        "core.v1.PodSpec.nodeSelector",
    ),
    AGE,
    *_TEMPLATE,
    _selector(
        "spec.selector",
        "apps.v1.DaemonSetSpec.selector",
        edits=(("It must match the pod template's labels", "If empty, defaulted to labels on Pod template"),),
    ),
)

_DEPLOYMENTS: Final = table(
    col("Ready", _ready_of_desired, text="Number of the pod with ready state"),
    field("Up-to-date", "status.updatedReplicas", "apps.v1.DeploymentStatus", 0),
    field("Available", "status.availableReplicas", "apps.v1.DeploymentStatus", 0),
    AGE,
    *_TEMPLATE,
    _selector(
        "spec.selector", "apps.v1.DeploymentSpec.selector", edits=((" It must match the pod template's labels.", ""),)
    ),
)

_REPLICA_SETS: Final = table(
    number("Desired", "spec.replicas", "apps.v1.ReplicaSetSpec"),
    number("Current", "status.replicas", "apps.v1.ReplicaSetStatus"),
    number("Ready", "status.readyReplicas", "apps.v1.ReplicaSetStatus"),
    AGE,
    *_TEMPLATE,
    _selector(
        "spec.selector",
        "apps.v1.ReplicaSetSpec.selector",
        edits=(
            (" It must match the pod template's labels.", ""),
            (
                "Label keys",
                "If the selector is empty, it is defaulted to the labels present on the pod template. Label keys",
            ),
        ),
    ),
)

_REPLICATION_CONTROLLERS: Final = table(
    number("Desired", "spec.replicas", "core.v1.ReplicationControllerSpec"),
    number("Current", "status.replicas", "core.v1.ReplicationControllerStatus"),
    number("Ready", "status.readyReplicas", "core.v1.ReplicationControllerStatus"),
    AGE,
    *_TEMPLATE,
    wide(
        "Selector",
        lambda obj, now: texts.labels_text(obj["spec"].get("selector")),
        "core.v1.ReplicationControllerSpec.selector",
    ),
)

_DISRUPTION_BUDGETS: Final = table(
    col("Min Available", _disruption_limit("minAvailable"), text="The minimum number of pods that must be available."),
    col(
        "Max Unavailable",
        _disruption_limit("maxUnavailable"),
        text="The maximum number of pods that may be unavailable.",
    ),
    col(
        "Allowed Disruptions",
        at("status.disruptionsAllowed", 0),
        text="Calculated number of pods that may be disrupted at this time.",
        type="integer",
    ),
    AGE,
)

_REVISIONS: Final = table(
    col("Controller", _controller, text="Controller of the object"),
    field("Revision", "revision", "apps.v1.ControllerRevision", 0, edits=(("Revision", "revision"),)),
    AGE,
)

SCALE: Final = TableSpec(
    (
        field("Name", "metadata.name", "meta.v1.ObjectMeta"),
        number("Desired", "spec.replicas", "autoscaling.v1.ScaleSpec"),
        number("Available", "status.replicas", "autoscaling.v1.ScaleStatus"),
        AGE,
    )
)

TABLES: Final[dict[tuple[str, str], TableSpec]] = {
    ("batch", "jobs"): _JOBS,
    ("batch", "cronjobs"): _CRON_JOBS,
    ("apps", "daemonsets"): _DAEMON_SETS,
    ("apps", "deployments"): _DEPLOYMENTS,
    ("apps", "replicasets"): _REPLICA_SETS,
    ("apps", "statefulsets"): table(
        col("Ready", _ready_of_desired, text="Number of the pod with ready state"), AGE, *_TEMPLATE
    ),
    ("apps", "controllerrevisions"): _REVISIONS,
    ("", "replicationcontrollers"): _REPLICATION_CONTROLLERS,
    ("policy", "poddisruptionbudgets"): _DISRUPTION_BUDGETS,
    ("autoscaling", "horizontalpodautoscalers"): HORIZONTAL_POD_AUTOSCALERS,
    ("autoscaling", "scales"): SCALE,
}
