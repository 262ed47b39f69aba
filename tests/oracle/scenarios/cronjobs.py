"""CronJobs: defaults, schedules, time zones, rules of the Job template, updates and status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import TABLE, Scenario, apply, get, patch, post, put, scenario
from ._objects import CRONJOBS, cronjob, having, metadata, pod_spec, variants, without

SCHEDULES = [
    "* * * * *",
    "*/1 * * * ?",
    "0 0 * * 0",
    "0 0 * * 7",
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
    "@yearly",
    "@annually",
    "@midnight",
    "@every 1h",
    "@every",
    "@every x",
    "@reboot",
    "",
    "bad",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * 32 * *",
    "* * * 13 *",
    "* * * 0 *",
    "0 0 * jan mon",
    "0 0 * JAN-MAR MON,FRI",
    "5-1 * * * *",
    "*/0 * * * *",
    "1-10/3 * * * *",
    "1/5 * * * *",
    "TZ=UTC * * * * *",
    "CRON_TZ=Europe/Berlin 0 0 * * *",
    "TZ=Bad/Zone * * * * *",
    "TZ=UTC",
    "1,2,3 * * * *",
    "a * * * *",
    "-1 * * * *",
    "0 0 31 2 *",
    "*/61 * * * *",
    "1--2 * * * *",
    "1-2-3 * * * *",
    "*/2/3 * * * *",
    "0 0 L * *",
    " * * * * *",
    "0 0 * * sun-sat",
    "*-5 * * * *",
]
ZONES = [
    "UTC",
    "Etc/UTC",
    "Europe/Berlin",
    "",
    "Local",
    "local",
    "Bad/Zone",
    "../etc",
    "America/New_York",
    "UTC+2",
    "europe/berlin",
    "a" * 300,
]

CHANGES: list[tuple[tuple[str | int, ...], Any]] = [
    (("spec", "concurrencyPolicy"), "Forbid"),
    (("spec", "concurrencyPolicy"), "Bad"),
    (("spec", "concurrencyPolicy"), ""),
    (("spec", "startingDeadlineSeconds"), -1),
    (("spec", "startingDeadlineSeconds"), 0),
    (("spec", "successfulJobsHistoryLimit"), -1),
    (("spec", "failedJobsHistoryLimit"), -1),
    (("spec", "failedJobsHistoryLimit"), 0),
    (("spec", "suspend"), None),
    (("spec", "jobTemplate", "spec", "parallelism"), -1),
    (("spec", "jobTemplate", "spec", "manualSelector"), True),
    (("spec", "jobTemplate", "spec", "manualSelector"), False),
    (("spec", "jobTemplate", "spec", "selector"), {"matchLabels": {"a": "b"}}),
    (("spec", "jobTemplate", "spec", "managedBy"), "bad"),
    (("spec", "jobTemplate", "spec", "managedBy"), "a.b/c"),
    (("spec", "jobTemplate", "spec", "template", "spec", "restartPolicy"), "Always"),
    (("spec", "jobTemplate", "spec", "template", "spec", "containers"), []),
    (("spec", "jobTemplate", "spec"), {}),
    (("spec", "jobTemplate"), {}),
    (("spec", "jobTemplate", "metadata"), {"labels": {"bad key": "x"}}),
    (("spec", "jobTemplate", "metadata"), {"labels": {"a": "b"}}),
    (("spec", "jobTemplate", "spec", "completionMode"), "Indexed"),
    (("spec", "jobTemplate", "spec", "backoffLimit"), -1),
    (("spec", "jobTemplate", "spec", "ttlSecondsAfterFinished"), 5),
    (("spec", "jobTemplate", "spec", "template", "metadata"), {"labels": {"a": "b"}}),
    (
        ("spec", "jobTemplate", "spec", "podFailurePolicy"),
        {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]},
    ),
    (("metadata", "name"), "a" * 53),
    (("metadata", "name"), "a" * 52),
    (("metadata", "name"), "with.dots"),
    (("metadata", "name"), "Bad_"),
    (("spec",), {}),
    (("spec", "timeZone"), None),
    (("spec", "colour"), "red"),
]


def scenarios() -> Iterator[Scenario]:
    yield scenario(
        "cronjobs-schedule",
        [post(CRONJOBS, body) for body in variants(cronjob(), [(("spec", "schedule"), s) for s in SCHEDULES])],
    )
    yield scenario(
        "cronjobs-timezone",
        [
            *(post(CRONJOBS, body) for body in variants(cronjob(), [(("spec", "timeZone"), z) for z in ZONES])),
            post(CRONJOBS, cronjob("both", schedule="TZ=UTC 0 0 * * *", timeZone="UTC")),
            post(CRONJOBS, cronjob("both2", schedule="CRON_TZ=UTC 0 0 * * *", timeZone="Bad")),
        ],
    )
    yield scenario(
        "cronjobs-create",
        [
            *(post(CRONJOBS, body) for body in variants(cronjob(), CHANGES)),
            post(
                CRONJOBS,
                without(cronjob(), "spec", "suspend")
                | {"spec": {**cronjob()["spec"], "concurrencyPolicy": "Replace", "startingDeadlineSeconds": 5}},
            ),
            post(
                CRONJOBS,
                cronjob("many", schedule="bad", concurrencyPolicy="Bad", timeZone="Bad", successfulJobsHistoryLimit=-1),
            ),
        ],
    )
    path = f"{CRONJOBS}/cj"
    yield scenario(
        "cronjobs-update",
        [
            post(CRONJOBS, cronjob()),
            *(
                patch(path, {"spec": change})
                for change in (
                    {"schedule": "1 * * * *"},
                    {"schedule": "TZ=UTC 1 * * * *"},
                    {"timeZone": "UTC"},
                    {"timeZone": "Bad"},
                    {"timeZone": None},
                    {"suspend": False},
                    {"suspend": True},
                    {"concurrencyPolicy": "Replace"},
                    {"concurrencyPolicy": None},
                    {"jobTemplate": {"spec": {"parallelism": 3}}},
                    {"jobTemplate": {"spec": {"managedBy": "a.b/c"}}},
                    {"jobTemplate": {"spec": {"managedBy": None}}},
                    {"successfulJobsHistoryLimit": None},
                    {"jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}}}},
                    {"schedule": ""},
                    {"schedule": None},
                )
            ),
            put(path, cronjob()),
            put(path, metadata(cronjob(schedule="2 2 2 2 *"), labels={"a": "b"})),
            get(path, TABLE),
            put(
                path + "/status",
                {**cronjob(schedule="3 3 3 3 *"), "status": {"lastScheduleTime": "2024-01-01T00:00:00Z"}},
            ),
            patch(path + "/status", {"status": {}, "metadata": {"labels": {"via": "status"}}}),
            patch(path + "/status", {"status": {"lastSuccessfulTime": "2024-01-01T00:00:00Z"}}),
            apply(
                path + "/status",
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "metadata": {"name": "cj"},
                    "status": {"lastScheduleTime": "2024-01-02T00:00:00Z"},
                },
            ),
            get(path + "/status"),
            get(path, TABLE),
            get(CRONJOBS + "?fieldSelector=spec.suspend=true"),
            get(CRONJOBS + "?fieldSelector=metadata.name=cj"),
            get(CRONJOBS + "?fieldSelector=status.x=1"),
        ],
    )
    old = having(cronjob("old"), pod_spec(restartPolicy="OnFailure"), "spec", "jobTemplate", "spec", "template", "spec")
    yield scenario(
        "cronjobs-versions",
        [
            post("/apis/batch/v1beta1/namespaces/{{ns}}/cronjobs", {**old, "apiVersion": "batch/v1beta1"}),
            get("/apis/batch/v1beta1"),
            get("/apis/batch/v2alpha1/cronjobs"),
            post(CRONJOBS, {**old, "apiVersion": "batch/v1beta1"}),
            get("/apis/batch/v1/cronjobs?limit=0&labelSelector=none=x"),
        ],
    )
