"""CronJobs on a running control plane."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.controllers import cronjob, ttl

from .running import World, world

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRONJOBS = "/apis/batch/v1/namespaces/default/cronjobs"
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
Obj = dict[str, Any]


async def make(w: World, **spec: Any) -> None:
    body = {
        "metadata": {"name": "c"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}, **spec},
    }
    await w.server.ok("POST", CRONJOBS, body)
    await w.pass_()


async def finish(w: World, name: str) -> None:
    now = w.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now} for kind in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": now, "completionTime": now, "conditions": conditions}
    await w.server.ok("PATCH", f"{JOBS}/{name}/status", {"status": status}, media="application/merge-patch+json")
    await w.pass_()


async def test_every_time_of_the_schedule_makes_a_job() -> None:
    async with world(cronjob.set_up) as w:
        await make(w)
        await w.pass_(601)
        assert len(await w.names(JOBS)) == 2
        status = (await w.get(f"{CRONJOBS}/c"))["status"]
        assert [reference["name"] for reference in status["active"]] == await w.names(JOBS)


async def test_a_finished_job_makes_room() -> None:
    async with world(cronjob.set_up) as w:
        await make(w, concurrencyPolicy="Forbid")
        await w.pass_(601)
        (first,) = await w.names(JOBS)
        await finish(w, first)
        await w.pass_(1)
        assert len(await w.names(JOBS)) == 2


async def test_history_is_bounded() -> None:
    async with world(cronjob.set_up) as w:
        await make(w, successfulJobsHistoryLimit=1)
        for _ in range(3):
            await w.pass_(300.5)
            await finish(w, (await w.names(JOBS))[-1])
        assert len(await w.names(JOBS)) == 1


async def test_a_deleted_cronjob_takes_its_jobs_along() -> None:
    async with world(cronjob.set_up) as w:
        await make(w)
        await w.pass_(301)
        await w.server.ok("DELETE", f"{CRONJOBS}/c", {"propagationPolicy": "Background"})
        await w.pass_()
        assert await w.names(JOBS) == []


async def test_what_happens_is_reported() -> None:
    async with world(cronjob.set_up) as w:
        await make(w)
        await w.pass_(301)
        events = (await w.get("/api/v1/namespaces/default/events"))["items"]
        (name,) = await w.names(JOBS)
        assert [(e["reason"], e["message"]) for e in events] == [("SuccessfulCreate", f"Created job {name}")]


async def test_a_finished_job_goes_after_its_time() -> None:
    async with world(ttl.set_up) as w:
        spec = {"suspend": True, "ttlSecondsAfterFinished": 60, "template": TEMPLATE}
        await w.server.ok("POST", JOBS, {"metadata": {"name": "j"}, "spec": spec})
        await finish(w, "j")
        await w.pass_(59)
        assert await w.names(JOBS) == ["j"]
        await w.pass_(2)
        assert await w.names(JOBS) == []


async def test_a_new_schedule_does_not_make_up_for_the_past() -> None:
    async with world(cronjob.set_up) as w:
        await make(w, schedule="0 0 1 1 *")
        await w.pass_(200)
        change = {"spec": {"schedule": "* * * * *"}}
        await w.server.ok("PATCH", f"{CRONJOBS}/c", change, media="application/merge-patch+json")
        await w.pass_(1)
        assert await w.names(JOBS) == []
        await w.pass_(60)
        assert len(await w.names(JOBS)) == 1
