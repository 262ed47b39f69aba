"""Creating Jobs: defaults, every create rule alone and several at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import Scenario, delete, get, post, scenario
from ._objects import JOBS, Object, cases, container, having, job, metadata, pod_spec, variants, without

NEVER = pod_spec(restartPolicy="Never")
INDEXED: Object = {"completionMode": "Indexed", "completions": 3, "parallelism": 2}


def _spec(*changes: tuple[str, Any]) -> list[Object]:
    return variants(job(), [(("spec", *path.split(".")), value) for path, value in changes])


def _rule(**rule: Any) -> Object:
    return job(podFailurePolicy={"rules": [rule]})


VALID = [
    job(),
    job(suspend=True),
    job(parallelism=0),
    job(completions=5),
    job(completions=5, parallelism=2),
    job(parallelism=4),
    job(backoffLimit=0),
    job(activeDeadlineSeconds=1),
    job(ttlSecondsAfterFinished=0),
    job(**INDEXED),
    job(**INDEXED, backoffLimitPerIndex=1),
    job(**INDEXED, backoffLimitPerIndex=1, maxFailedIndexes=2),
    job(**INDEXED, successPolicy={"rules": [{"succeededIndexes": "0,2", "succeededCount": 1}]}),
    job(podReplacementPolicy="Failed"),
    job(podFailurePolicy={"rules": []}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": [1, 2, 42]}),
    _rule(action="Ignore", onPodConditions=[{"type": "DisruptionTarget"}]),
    _rule(action="Count", onExitCodes={"containerName": "c", "operator": "NotIn", "values": [0, -1]}),
    job(template={"spec": pod_spec(restartPolicy="OnFailure")}),
    job(template={"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": NEVER}),
    job(managedBy="kueue.x-k8s.io/multikueue"),
    job(managedBy="example.com/a/b/c~d%!$&'()*+,;=:"),
    job(suspend=True, completionMode="Indexed", completions=0),
    metadata(job(), labels={"own": "label"}, annotations={"x": "y"}),
    job(
        manualSelector=True,
        selector={"matchLabels": {"a": "b"}},
        template={"metadata": {"labels": {"a": "b"}}, "spec": NEVER},
    ),
]

SIMPLE = _spec(
    ("parallelism", -1),
    ("completions", -1),
    ("backoffLimit", -1),
    ("activeDeadlineSeconds", -1),
    ("ttlSecondsAfterFinished", -1),
    ("backoffLimitPerIndex", -1),
    ("maxFailedIndexes", -1),
    ("completionMode", "Other"),
    ("completionMode", ""),
    ("podReplacementPolicy", "Never"),
    ("podReplacementPolicy", ""),
    ("backoffLimitPerIndex", 1),
    ("maxFailedIndexes", 1),
    ("completionMode", "Indexed"),
    ("template", {}),
    ("template.spec.restartPolicy", "Always"),
    ("template.spec.restartPolicy", "Sometimes"),
    ("template.spec.restartPolicy", ""),
    ("template.spec.containers", []),
    ("selector", {"matchLabels": {"a": "b"}}),
    ("selector", {"matchExpressions": [{"key": "a", "operator": "Bad"}]}),
    ("manualSelector", True),
    ("template.spec", {}),
    ("template.metadata.labels", {"job-name": "other"}),
    ("template.metadata.labels", {"controller-uid": "other"}),
    ("template.metadata.labels", {"batch.kubernetes.io/job-name": "other"}),
    ("template.metadata.labels", {"bad key!": "v"}),
    ("template.metadata.labels", {"k": "bad value!"}),
    ("template.metadata.annotations", {"bad key!": "v"}),
    ("template.metadata.finalizers", ["bad"]),
    ("template.metadata.name", "Anything_Goes"),
)

MANAGED_BY = _spec(
    *(
        ("managedBy", value)
        for value in (
            "",
            "noslash",
            "/path",
            "host/",
            "Upper.Case/x",
            "a_b.c/x",
            "a.b/sp ace",
            "a.b/é",
            "a.b/" + "x" * 59,
            "a.b/" + "x" * 60,
            "x" * 70,
            "/",
            "a..b/c",
            "a.b//c",
            "-a.b/c",
            "a.b/c?d",
            "kubernetes.io/other",
            "A" * 70,
        )
    )
)

INDEX_RULES = [
    job(completionMode="Indexed"),
    job(**{**INDEXED, "parallelism": 100001}),
    job(**INDEXED, maxFailedIndexes=4, backoffLimitPerIndex=1),
    job(**{**INDEXED, "completions": 200000}, backoffLimitPerIndex=1),
    job(**{**INDEXED, "completions": 200000, "parallelism": 10001}, backoffLimitPerIndex=1, maxFailedIndexes=10001),
    job(**{**INDEXED, "completions": 200000, "parallelism": 20000}),
    job(**{**INDEXED, "completions": 2147483647}),
    job(**{**INDEXED, "completions": 200000}, backoffLimitPerIndex=1, maxFailedIndexes=100001),
    job(**INDEXED, maxFailedIndexes=1),
    metadata(job(**INDEXED), name="a" * 62),
    metadata(job(**INDEXED), name="a.b"),
    metadata(job(**INDEXED), name="a" * 61),
    metadata(job(), name="a" * 64),
    metadata(job(), name="with.dots"),
]

SUCCESS_POLICY = [
    job(**INDEXED, successPolicy=policy)
    for policy in cases(
        {},
        {"rules": []},
        {"rules": [{}]},
        {"rules": [{"succeededIndexes": "x"}]},
        {"rules": [{"succeededIndexes": "0-1-2"}]},
        {"rules": [{"succeededIndexes": "1,0"}]},
        {"rules": [{"succeededIndexes": "3"}]},
        {"rules": [{"succeededIndexes": "0-3"}]},
        {"rules": [{"succeededIndexes": "1-1"}]},
        {"rules": [{"succeededIndexes": ""}]},
        {"rules": [{"succeededIndexes": "0, 1"}]},
        {"rules": [{"succeededCount": -1}]},
        {"rules": [{"succeededCount": 0}]},
        {"rules": [{"succeededCount": 4}]},
        {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]},
        {"rules": [{"succeededCount": 1}] * 21},
        {"rules": [{"succeededIndexes": "0"}, {"succeededIndexes": "a-b"}]},
    )
] + [job(successPolicy={"rules": [{"succeededCount": 1}]}), job(completions=3, successPolicy={"rules": []})]

FAILURE_POLICY = [
    _rule(),
    _rule(action="FailJob"),
    _rule(action="Bad", onPodConditions=[{"type": "X"}]),
    _rule(onPodConditions=[{"type": "X"}]),
    _rule(action="FailIndex", onPodConditions=[{"type": "X"}]),
    _rule(action="FailJob", onPodConditions=[{"type": "X"}], onExitCodes={"operator": "In", "values": [1]}),
    _rule(action="FailJob", onExitCodes={}),
    _rule(action="FailJob", onExitCodes={"operator": "Bad", "values": [1]}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": []}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": [0, 1]}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": [2, 1]}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": [1, 1]}),
    _rule(action="FailJob", onExitCodes={"operator": "NotIn", "values": [3, 2, 2, 0]}),
    _rule(action="FailJob", onExitCodes={"operator": "In", "values": list(range(1, 258))}),
    _rule(action="FailJob", onExitCodes={"containerName": "none", "operator": "In", "values": [1]}),
    _rule(action="FailJob", onPodConditions=[{}]),
    _rule(action="FailJob", onPodConditions=[{"type": "bad type"}]),
    _rule(action="FailJob", onPodConditions=[{"type": "X", "status": "Maybe"}]),
    _rule(action="FailJob", onPodConditions=[{"type": "X"}] * 21),
    job(podFailurePolicy={"rules": [{"action": "Count", "onPodConditions": [{"type": "X"}]}] * 21}),
    having(
        _rule(action="Count", onPodConditions=[{"type": "X"}]), "OnFailure", "spec", "template", "spec", "restartPolicy"
    ),
    having(
        _rule(action="Count", onPodConditions=[{"type": "X"}]), "TerminatingOrFailed", "spec", "podReplacementPolicy"
    ),
    having(_rule(action="Count", onPodConditions=[{"type": "X"}]), "Failed", "spec", "podReplacementPolicy"),
]

SEVERAL = [
    job(parallelism=-1, completions=-2, backoffLimit=-3, activeDeadlineSeconds=-4, ttlSecondsAfterFinished=-5),
    job(managedBy="bad", completionMode="Bad", podReplacementPolicy="Bad"),
    job(template={"spec": {"restartPolicy": "Always", "containers": [{}]}}, parallelism=-1),
    job(template={"spec": {"restartPolicy": "Never", "containers": [container(name=""), container(image="")]}}),
    metadata(job(parallelism=-1), name="Bad_Name", labels={"bad key": "x"}),
    without(job(), "spec"),
    without(job(), "metadata"),
    without(job(), "spec", "template"),
    {"apiVersion": "batch/v1", "kind": "Job"},
    {},
    {"kind": "Job"},
    {"apiVersion": "batch/v1"},
    metadata(job(), name=""),
    metadata(job(), generateName="Bad_"),
    job(backoffLimitPerIndex=-1, maxFailedIndexes=-1),
    job(maxFailedIndexes=1, completionMode="NonIndexed", backoffLimitPerIndex=2),
]


def _numbered(bodies: list[Object]) -> list[Object]:
    return [metadata(body, name=f"n{n}") if body["metadata"]["name"] == "j" else body for n, body in enumerate(bodies)]


def scenarios() -> Iterator[Scenario]:
    groups = {
        "simple": SIMPLE,
        "managedby": MANAGED_BY,
        "indexed": INDEX_RULES,
        "successpolicy": SUCCESS_POLICY,
        "failurepolicy": FAILURE_POLICY,
    }
    yield scenario("jobs-create-valid", [post(JOBS, body) for body in _numbered(VALID)])
    for name, bodies in groups.items():
        yield scenario(f"jobs-create-{name}", [post(JOBS, body) for body in _numbered(bodies)])
    yield scenario("jobs-create-several", [post(JOBS, body) for body in SEVERAL])
    yield scenario(
        "jobs-create-other",
        [
            post(JOBS, metadata(without(job(), "metadata", "name"), generateName="gen-")),
            post(JOBS, metadata(job(), generateName="gen-")),
            post(JOBS, metadata(without(job(), "metadata", "name"), generateName="g" * 70)),
            post(JOBS, metadata(job("ns"), namespace="elsewhere")),
            post(JOBS, metadata(job("rv"), resourceVersion="5")),
            post(JOBS + "?dryRun=All", metadata(job("rv"), resourceVersion="5")),
            post(
                JOBS,
                metadata(
                    job("uid"),
                    uid="11111111-1111-1111-1111-111111111111",
                    generation=7,
                    creationTimestamp="2020-01-01T00:00:00Z",
                ),
            ),
            post(JOBS, metadata(job("del"), deletionTimestamp="2020-01-01T00:00:00Z", deletionGracePeriodSeconds=5)),
            post(JOBS, {**job("st"), "status": {"active": 3, "startTime": "2020-01-01T00:00:00Z"}}),
            post(
                JOBS,
                metadata(
                    job("mf"),
                    managedFields=[
                        {
                            "manager": "m",
                            "operation": "Update",
                            "apiVersion": "batch/v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"f:spec": {"f:parallelism": {}}},
                        }
                    ],
                ),
            ),
            post(JOBS, metadata(job("mf2"), managedFields=[{"manager": "m", "operation": "Bad"}])),
            post(JOBS, metadata(job("sl"), selfLink="/x")),
            post(JOBS + "?dryRun=All", job("dry")),
            get(JOBS + "/dry"),
            post(JOBS + "?dryRun=Bad", job("dry")),
            post(JOBS + "?dryRun=", job("dry0")),
            post(JOBS + "?dryRun=All&dryRun=All", job("dry2")),
            post(JOBS + "?fieldManager=me", job("fm")),
            post(JOBS + "?fieldManager=" + "x" * 129, job("fm2")),
            post(JOBS + "?fieldManager=a%00b", job("fm3")),
            post(JOBS + "?fieldValidation=Bad", job("fv")),
            post(JOBS + "?pretty=true", job("pretty")),
            post(JOBS + "?timeout=5s", job("t")),
            post(JOBS + "?timeout=bad", job("t2")),
            post(JOBS + "/named", job("named")),
            post("/apis/batch/v1/jobs", job("all")),
            post("/apis/batch/v1/namespaces/missing-ns-x/jobs", job()),
            post(JOBS, {**job("k"), "kind": "CronJob"}),
            post(JOBS, {**job("k"), "apiVersion": "v1"}),
            post(JOBS, {**job("k"), "apiVersion": "batch/v2"}),
            post(JOBS, {**job("k"), "apiVersion": "batch/v1beta1"}),
            post(JOBS, {**job("k"), "apiVersion": "bad/v1/x"}),
            delete(JOBS + "/st"),
        ],
    )
