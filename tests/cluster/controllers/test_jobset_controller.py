"""JobSets on a running control plane."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from jobrelay.cluster.controllers import jobset as jobset_controller
from jobrelay.cluster.controllers.catalog import ALL, select_controllers
from jobrelay.operate.crds import make_definitions

from .jobset_objects import jobset, replicated
from .running import World, world

Obj = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CORE = "/api/v1/namespaces/default"
MERGE = "application/merge-patch+json"


async def define(w: World) -> None:
    """Defines JobSets without rules, which are evaluated in a thread that a fake clock does not wait for."""
    (definition,) = make_definitions("jobset")
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for schema in (spec, spec["properties"]["managedBy"]):
        del schema["x-kubernetes-validations"]
    await w.server.ok("POST", DEFINITIONS, definition)
    await w.pass_(1)


async def make(w: World, *jobs: Obj, **spec: Any) -> None:
    body = jobset(*jobs, **spec)
    body["metadata"] = {"name": "s"}
    await w.server.ok("POST", JOBSETS, body)
    await w.pass_()


async def report(w: World, name: str, end: str = "", **status: Any) -> None:
    """Writes a Job's status, as the Job controller would."""
    now = w.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    status |= {"startTime": now}
    if end:
        before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[end]
        common = {"status": "True", "lastTransitionTime": now, "reason": "BackoffLimitExceeded"}
        status["conditions"] = [{"type": each, **common} for each in (before, end)]
    if end == "Complete":
        status["completionTime"] = now
    await w.server.ok("PATCH", f"{JOBS}/{name}/status", {"status": status}, media=MERGE)
    await w.pass_()


async def status(w: World) -> Obj:
    found: Obj = (await w.get(f"{JOBSETS}/s"))["status"]
    return found


async def events(w: World) -> list[tuple[str, str]]:
    found = (await w.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    return [(event["reason"], event["note"]) for event in sorted(found, key=lambda each: str(each["eventTime"]))]


async def test_a_jobset_runs_to_its_end() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w, replicated(replicas=2))
        assert await w.names(JOBS) == ["s-w-0", "s-w-1"]
        assert await w.names(f"{CORE}/services") == ["kubernetes", "s"]
        for name in ("s-w-0", "s-w-1"):
            await report(w, name, "Complete", succeeded=1)
        found = await status(w)
        assert found["terminalState"] == "Completed"
        assert [(each["name"], each["succeeded"]) for each in found["replicatedJobsStatus"]] == [("w", 2)]
        assert await events(w) == [("AllJobsCompleted", "jobset completed successfully")]


async def test_a_failure_restarts_it_and_then_fails_it() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w, failurePolicy={"maxRestarts": 1})
        first = (await w.get(f"{JOBS}/s-w-0"))["metadata"]["uid"]
        await report(w, "s-w-0", "Failed", failed=1)
        second = await w.get(f"{JOBS}/s-w-0")
        assert second["metadata"]["uid"] != first
        assert second["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"
        await report(w, "s-w-0", "Failed", failed=1)
        found = await status(w)
        assert (found["terminalState"], found["restarts"]) == ("Failed", 1)


async def test_it_is_suspended_and_resumed() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w, suspend=True)
        assert (await w.get(f"{JOBS}/s-w-0"))["spec"]["suspend"] is True
        for suspend, reason in ((False, "ResumeJobs"), (True, "SuspendedJobs"), (False, "ResumeJobs")):
            await w.server.ok("PATCH", f"{JOBSETS}/s", {"spec": {"suspend": suspend}}, media=MERGE)
            await w.pass_()
            assert (await w.get(f"{JOBS}/s-w-0"))["spec"]["suspend"] is suspend
            assert [each["reason"] for each in (await status(w))["conditions"]] == [reason]


async def test_a_finished_one_is_deleted_in_time() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w, ttlSecondsAfterFinished=60)
        await report(w, "s-w-0", "Complete", succeeded=1)
        await w.pass_(59)
        assert await w.names(JOBSETS) == ["s"]
        await w.pass_(2)
        assert (await w.names(JOBSETS), await w.names(JOBS)) == ([], [])


async def test_claims_are_made_once() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        await make(w, volumeClaimPolicies=[{"templates": [{"metadata": {"name": "data"}, "spec": spec}]}])
        await report(w, "s-w-0", active=1)
        assert await w.names(f"{CORE}/persistentvolumeclaims") == ["data-s"]
        assert await events(w) == []


async def test_a_service_that_was_deleted_comes_back() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w)
        await w.server.ok("DELETE", f"{CORE}/services/s")
        await w.pass_()
        assert "s" in await w.names(f"{CORE}/services")


async def test_a_job_of_somebody_else_is_in_the_way() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
        await w.server.ok("POST", JOBS, {"metadata": {"name": "s-w-0"}, "spec": {"template": {"spec": pod}}})
        await make(w, replicated(replicas=2))
        (reason, note), *_ = await events(w)
        assert (reason, note) == (
            "JobCreationFailed",
            'job "s-w-0" creation failed with error: jobs.batch "s-w-0" already exists',
        )
        assert await w.names(JOBS) == ["s-w-0", "s-w-1"]
        await w.server.ok("DELETE", f"{JOBS}/s-w-0", {"propagationPolicy": "Background"})
        await w.pass_(60)
        assert (await w.get(f"{JOBS}/s-w-0"))["metadata"]["ownerReferences"][0]["kind"] == "JobSet"


@pytest.mark.parametrize(
    ("job", "path"),
    [
        (replicated(dependsOn="nothing"), "$.spec.replicatedJobs[0].dependsOn"),
        (replicated(job={"template": {"spec": {"containers": "none"}}}), "$.spec.replicatedJobs[0]"),
        (replicated(job={"template": {"metadata": {"labels": {"a": 1}}}}), "$.spec.replicatedJobs[0]"),
    ],
)
async def test_one_that_cannot_be_read_is_reported(job: Obj, path: str) -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w, job)
        ((reason, note),) = await events(w)
        assert reason == "InvalidJobSet"
        assert note.endswith(f"at `{path}`")


async def test_a_status_that_cannot_be_read_is_reported() -> None:
    async with world(jobset_controller.set_up) as w:
        await define(w)
        await make(w)
        await w.server.ok("PATCH", f"{JOBSETS}/s/status", {"status": {"conditions": "all"}}, media=MERGE)
        await w.pass_()
        ((reason, _),) = await events(w)
        assert reason == "InvalidJobSet"


async def test_the_definition_may_come_later_and_go() -> None:
    with capture_logs() as logs:
        async with world(jobset_controller.set_up) as w:
            await w.pass_(60)
            (warning,) = [each["event"] for each in logs if each["log_level"] == "warning"]
            assert warning == (
                "jobsets.jobset.x-k8s.io are not served; waiting for their definition. "
                "`jobrelay cluster crds add jobset` installs it"
            )
            for _ in range(2):
                await define(w)
                await make(w)
                assert await w.names(JOBS) == ["s-w-0"]
                await w.server.ok("DELETE", f"{DEFINITIONS}/jobsets.jobset.x-k8s.io")
                await w.pass_(60)
                assert await w.names(JOBS) == []


def test_it_runs_only_where_it_is_asked_for() -> None:
    assert "jobset" not in select_controllers("all")
    assert select_controllers("all, jobset") == {*ALL, "jobset"}
    assert select_controllers("job-controller,jobset") == {"job-controller", "jobset"}
