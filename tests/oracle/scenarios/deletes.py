"""Deletes: options in body and query, preconditions, propagation, finalizers, grace periods, whole collections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import PARTIAL, TABLE, YAML, Scenario, Step, delete, get, patch, post, put, scenario
from ._objects import (
    CONFIGMAPS,
    CORE,
    CRONJOBS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    configmap,
    cronjob,
    deployment,
    job,
    metadata,
    pod,
)

OPTIONS: list[Any] = [
    {},
    {"propagationPolicy": "Bad"},
    {"propagationPolicy": ""},
    {"propagationPolicy": 5},
    {"orphanDependents": True, "propagationPolicy": "Orphan"},
    {"gracePeriodSeconds": -1},
    {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": 1.5},
    {"dryRun": ["All"]},
    {"dryRun": ["Bad"]},
    {"dryRun": "All"},
    {"preconditions": {"uid": "u"}},
    {"preconditions": {"resourceVersion": "1"}},
    {"preconditions": {"uid": "u", "resourceVersion": "1"}},
    {"preconditions": {}},
    {"unknown": 1},
    {"kind": "Job"},
    {"kind": "DeleteOptions", "apiVersion": "v1"},
    {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
    {"kind": "DeleteOptions", "apiVersion": "bad/v9"},
    {"apiVersion": "v1"},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
    {"ignoreStoreReadErrorWithClusterBreakingPotential": True, "dryRun": ["All"]},
    "null",
    "[]",
    "",
    "x",
    "{",
    {"dryRun": ["All", "All"]},
    {"propagationPolicy": "Background", "dryRun": ["All"], "gracePeriodSeconds": 0},
]
QUERIES = [
    "propagationPolicy=Bad",
    "propagationPolicy=Orphan",
    "propagationPolicy=",
    "orphanDependents=true",
    "orphanDependents=true&propagationPolicy=Background",
    "orphanDependents=bad",
    "gracePeriodSeconds=-1",
    "gracePeriodSeconds=abc",
    "gracePeriodSeconds=0",
    "dryRun=All",
    "dryRun=Bad",
    "preconditions.uid=u",
    "pretty=true",
    "unknown=1",
    "propagationPolicy=Foreground&dryRun=All",
]


def _each(collection: str, make: Any, cases: list[Step], look: bool = True) -> Iterator[Step]:
    """A fresh object before each delete; `X` in the path is its name."""
    for number, step in enumerate(cases):
        yield post(collection, make(f"o{number}"))
        yield Step(**{**step.__dict__, "path": step.path.replace("X", f"o{number}")})
        if look and "rphan" not in step.path:
            yield get(f"{collection}/o{number}", PARTIAL)


def _body_options(collection: str) -> list[Step]:
    return [delete(f"{collection}/X", options) for options in OPTIONS]


def _finalizers() -> Iterator[Step]:
    path = f"{CONFIGMAPS}/f"
    yield post(
        CONFIGMAPS,
        metadata(configmap("f"), finalizers=["example.com/a", "example.com/b"]),
        capture={"uid": "metadata.uid", "rv": "metadata.resourceVersion"},
    )
    yield delete(path, {"preconditions": {"uid": "other"}})
    yield delete(path, {"preconditions": {"resourceVersion": "{{rv}}", "uid": "{{uid}}"}})
    yield delete(path)
    yield delete(path, {"gracePeriodSeconds": 0})
    yield get(path)
    yield post(CONFIGMAPS, configmap("f"))
    yield patch(path, {"metadata": {"finalizers": ["example.com/a", "example.com/c"]}})
    yield patch(path, {"data": {"still": "writable"}})
    yield patch(path, {"metadata": {"deletionTimestamp": None}})
    yield patch(path, {"metadata": {"finalizers": ["example.com/b"]}})
    yield put(path, metadata(configmap("f"), finalizers=[]))
    yield get(path)
    yield post(CONFIGMAPS, metadata(configmap("g"), finalizers=["bad"]))
    yield post(CONFIGMAPS, metadata(configmap("g"), finalizers=["example.com/a", "example.com/a"]))
    yield delete(f"{CONFIGMAPS}/g", {"dryRun": ["All"]})
    yield delete(f"{CONFIGMAPS}/g")
    yield patch(f"{CONFIGMAPS}/g", {"metadata": {"finalizers": None}})
    yield patch(f"{CONFIGMAPS}/g", {"metadata": {"finalizers": None}})


def _pods() -> Iterator[Step]:
    bound = {"nodeName": "n-{{run}}"}
    for name, spec, options in (
        ("a", {}, None),
        ("b", bound, None),
        ("c", bound, {"gracePeriodSeconds": 5}),
        ("d", bound, {"gracePeriodSeconds": 0}),
        ("e", {**bound, "terminationGracePeriodSeconds": 0}, None),
        ("f", bound, {"gracePeriodSeconds": -5}),
        ("g", {}, {"gracePeriodSeconds": 10}),
    ):
        yield post(PODS, pod(name, **spec))
        yield delete(f"{PODS}/{name}", options)
        yield get(f"{PODS}/{name}", PARTIAL)
    yield post(PODS, pod("h", **bound))
    yield delete(
        f"{PODS}/h", {"propagationPolicy": "Foreground"}
    )  # soon the garbage collector takes its finalizer away
    for options in ({"gracePeriodSeconds": 60}, {"gracePeriodSeconds": 2}, {}, {"gracePeriodSeconds": 0}):
        yield delete(f"{PODS}/c", options)
    yield get(f"{PODS}/b", TABLE)
    yield post(PODS, metadata(pod("i", **bound), finalizers=["example.com/a"]))
    yield patch(f"{PODS}/i/status", {"status": {"phase": "Succeeded"}})
    yield delete(f"{PODS}/i")
    yield patch(f"{PODS}/i", {"metadata": {"finalizers": None}})
    yield delete(f"{PODS}/b?gracePeriodSeconds=0")


def _collections() -> Iterator[Step]:
    for number in range(4):
        yield post(CONFIGMAPS, metadata(configmap(f"c{number}"), labels={"n": str(number), "set": "x"}))
    yield delete(f"{CONFIGMAPS}?labelSelector=n=0&dryRun=All")
    yield delete(f"{CONFIGMAPS}?labelSelector=n=0")
    yield delete(f"{CONFIGMAPS}?labelSelector=n=0")
    yield delete(f"{CONFIGMAPS}?labelSelector=!!")
    yield delete(f"{CONFIGMAPS}?fieldSelector=bad=x")
    yield delete(f"{CONFIGMAPS}?fieldSelector=metadata.name=c1", {"propagationPolicy": "Background"})
    yield delete(f"{CONFIGMAPS}?labelSelector=set=x&limit=1")
    yield delete(f"{CONFIGMAPS}?labelSelector=set=x", {"preconditions": {"uid": "u"}})
    yield delete(f"{CONFIGMAPS}?labelSelector=set=x", headers={"Accept": TABLE})
    yield post(JOBS, job())
    yield delete(JOBS)
    yield post(PODS, pod())
    yield delete(PODS)
    yield delete(PODS, {"kind": "Bad"})
    yield delete(f"{CORE}/services")
    yield delete("/apis/batch/v1/jobs")
    yield delete("/api/v1/namespaces?labelSelector=none=x")


def scenarios() -> Iterator[Scenario]:
    yield scenario("delete-options-body", _each(CONFIGMAPS, configmap, _body_options(CONFIGMAPS)))
    yield scenario(
        "delete-options-query", _each(CONFIGMAPS, configmap, [delete(f"{CONFIGMAPS}/X?{query}") for query in QUERIES])
    )
    yield scenario(
        "delete-options-both",
        _each(
            CONFIGMAPS,
            configmap,
            [
                delete(f"{CONFIGMAPS}/X?dryRun=All", {}),
                delete(f"{CONFIGMAPS}/X?dryRun=All", {"propagationPolicy": "Background"}),
                delete(f"{CONFIGMAPS}/X", "propagationPolicy: Background\n", content_type=YAML),
                delete(f"{CONFIGMAPS}/X", {}, content_type=""),
                delete(f"{CONFIGMAPS}/X", {"a": 1, "dryRun": ["All"]}, content_type="bad"),
            ],
        ),
    )
    for policy in ("", "Background", "Orphan", "Foreground"):
        body = {"propagationPolicy": policy} if policy else None
        yield scenario(
            f"delete-propagation-{policy.lower() or 'none'}",
            [
                *_each(JOBS, job, [delete(f"{JOBS}/X", body), delete(f"{JOBS}/X?dryRun=All")], False),
                *_each(CRONJOBS, cronjob, [delete(f"{CRONJOBS}/X", body)], False),
                *_each(DEPLOYMENTS, deployment, [delete(f"{DEPLOYMENTS}/X", body)], False),
            ],
        )
    yield scenario(
        "delete-jobs-warning",
        [
            s
            for n, query in enumerate(
                (
                    "",
                    "?orphanDependents=true",
                    "?orphanDependents=false",
                    "?propagationPolicy=Orphan&dryRun=All",
                    "?gracePeriodSeconds=0",
                    "?dryRun=All",
                )
            )
            for s in (post(JOBS, job(f"w{n}")), delete(f"{JOBS}/w{n}{query}"))
        ],
    )
    yield scenario("delete-finalizers", _finalizers())
    yield scenario("delete-pods", _pods())
    yield scenario("delete-collections", _collections())
