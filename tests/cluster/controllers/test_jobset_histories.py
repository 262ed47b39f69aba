"""Random lives of JobSets: whatever their Jobs do, what was decided once stays, and every JobSet comes to rest."""

from __future__ import annotations

import copy
import datetime as dt
from random import Random
from typing import Any

import pytest

from jobrelay.apimachinery.times import format_time, parse_time
from jobrelay.cluster.controllers.jobset.decide import JobSetPlan, decide

from .jobset_objects import NOW, jobset, replicated, view

Obj = dict[str, Any]
ENDED = ("Complete", "Failed")


class Life:
    """A JobSet and its Jobs, which progress at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = parse_time(NOW)
        self.body = self._jobset()
        self.jobs: dict[str, Obj] = {}
        self.resting = False

    def _jobset(self) -> Obj:
        choose = self.random.choice
        jobs = [replicated(name, choose([1, 2, 3])) for name in "abc"[: choose([1, 2, 3])]]
        spec: Obj = {}
        if order := choose(["AnyOrder", "InOrder", ""]):
            spec["startupPolicy"] = {"startupPolicyOrder": order}
        elif len(jobs) > 1:
            jobs[-1]["dependsOn"] = [{"name": "a", "status": choose(["Ready", "Complete"])}]
        if choose([True, False]):
            rules = choose([[], [{"action": "FailJobSet", "targetReplicatedJobs": ["b"]}]])
            strategy = choose(["Recreate", "BlockingRecreate"])
            spec["failurePolicy"] = {"maxRestarts": choose([0, 1, 3]), "rules": rules, "restartStrategy": strategy}
        if choose([True, False]):
            spec["successPolicy"] = {"operator": choose(["All", "Any"]), "targetReplicatedJobs": choose([[], ["a"]])}
        return jobset(*jobs, suspend=choose([True, False]), **spec)

    def look(self) -> JobSetPlan:
        """Decides, checks the plan, and carries it out."""
        plan = decide(view(self.body), copy.deepcopy(list(self.jobs.values())), self.now)
        self._check(plan)
        for job in plan.delete_jobs:
            self.jobs[job["metadata"]["name"]]["metadata"]["deletionTimestamp"] = format_time(self.now)
        for job in plan.create_jobs:
            self.jobs[job["metadata"]["name"]] = {**job, "status": {}}
        for job in plan.update_jobs:
            self.jobs[job["metadata"]["name"]] = job
        if plan.status is not None:
            self.body = {**self.body, "status": plan.status}
        return plan

    def _check(self, plan: JobSetPlan) -> None:
        old, new = self.body.get("status") or {}, plan.status
        assert not {job["metadata"]["name"] for job in plan.create_jobs} & self.jobs.keys()
        assert all(self.jobs[job["metadata"]["name"]] for job in (*plan.delete_jobs, *plan.update_jobs))
        if new is None:
            assert plan.events == []
            return
        assert new["restarts"] >= old.get("restarts", 0)
        assert new.get("restartsCountTowardsMax", 0) >= old.get("restartsCountTowardsMax", 0)
        if "terminalState" in old:
            assert new["terminalState"] == old["terminalState"]
            assert plan.create_jobs == plan.update_jobs == []
            assert new["conditions"] == old["conditions"]

    def live(self) -> None:
        """One Job gets a step further, or the user changes his mind."""
        self.now += dt.timedelta(seconds=1)
        if self.random.random() < 0.1 and not self.resting:
            self.body["spec"]["suspend"] = not self.body["spec"]["suspend"]
        if self.jobs:
            self._progress(self.random.choice(sorted(self.jobs)))

    def _progress(self, name: str) -> None:
        job = self.jobs[name]
        if job["metadata"].get("deletionTimestamp"):
            del self.jobs[name]
        elif "conditions" in job["status"]:
            return
        elif job["spec"]["suspend"]:
            job["status"] = {}
        elif job["status"].get("ready"):
            ended = self.random.choices(ENDED, (4, 1))[0]
            condition = {"type": ended, "status": "True", "lastTransitionTime": format_time(self.now)}
            job["status"] = {"conditions": [condition]}
        else:
            job["status"] = {"active": 1, "ready": job["status"].get("active", 0)}

    @property
    def finished(self) -> bool:
        return "terminalState" in (self.body.get("status") or {})


@pytest.mark.parametrize("seed", range(150))
def test_a_jobset_comes_to_its_end(seed: int) -> None:
    life = Life(seed)
    for step in range(2000):
        life.look()
        life.live()
        if step == 200:
            life.resting, life.body["spec"]["suspend"] = True, False
        if life.finished and life.resting and all("conditions" in job["status"] for job in life.jobs.values()):
            break
    assert life.finished
    life.look()
    assert life.look() == JobSetPlan()
