"""Random histories of Jobs as a correct controller would write them, and random steps that none would.

A history is a list of versions of one Job, by a seed. Pods start, succeed and fail at random; the Job may be suspended,
resumed and scaled; its end is announced and then final. A fault makes one version of a history wrong, in a way that a
given rule is about.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from jobrelay.apimachinery.times import format_time
from jobrelay.kit import Indexes

Obj = dict[str, Any]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
START = {"startTime": format_time(BEGIN)}


class JobModel:
    """A Job and its correct controller."""

    def __init__(self, random: Random) -> None:
        self.random, self.now = random, BEGIN
        self.spec = self._drawn_spec()
        self.status: Obj = {}
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.done: set[int] = set()
        self.bad: set[int] = set()
        self.uids = 0
        self.versions: list[Obj] = []
        self.keep()

    def _drawn_spec(self) -> Obj:
        random = self.random
        spec: Obj = {"parallelism": random.randint(1, 4), "backoffLimit": random.randint(0, 4), "suspend": False}
        kind = random.choice(["plain", "queue", "indexed", "per index", "policy"])
        if kind != "queue":
            spec["completions"] = random.randint(1, 5)
        if kind not in ("queue", "plain"):
            spec["completionMode"] = "Indexed"
        if kind == "per index":
            spec |= {"backoffLimitPerIndex": 0, "backoffLimit": 2**31 - 1}
        if kind == "policy":
            spec["successPolicy"] = {"rules": [{"succeededCount": 1}]}
        if random.random() < 0.3:
            spec["suspend"] = True
        return spec

    def keep(self) -> None:
        """The next version, a second or some later."""
        self.now += timedelta(seconds=self.random.randint(1, 20))
        metadata = {
            "name": "j", "namespace": "default", "uid": "u", "creationTimestamp": format_time(BEGIN),
            "managedFields": [{"manager": "m", "subresource": "status"}] if self.status else [],
        }  # fmt: skip
        self.versions.append(copy.deepcopy({"metadata": metadata, "spec": self.spec, "status": self.status}))

    def put(self, **fields: Any) -> None:
        self.status |= {"ready": 0, "terminating": 0, "uncountedTerminatedPods": {}} | self.status | fields
        self.status["ready"] = self.random.randint(0, self.active)
        self.keep()

    @property
    def active(self) -> int:
        active: int = self.status.get("active", 0)
        return active

    @property
    def wanted(self) -> int:
        completions = self.spec.get("completions")
        left = completions - self.status.get("succeeded", 0) - len(self.bad) if completions is not None else 1
        return max(min(left, self.spec["parallelism"]), 0)

    def say(self, type: str, status: str = "True", reason: str = "Reason") -> None:
        time = format_time(self.now)
        said = {"type": type, "status": status, "reason": reason, "message": "", "lastTransitionTime": time}
        others = [each for each in self.status.get("conditions", ()) if each["type"] != type]
        self.status["conditions"] = [*others, said]

    def live(self) -> list[Obj]:
        """The whole history."""
        for _ in range(self.random.randint(3, 14)):
            if self.step():
                return self.versions
        self.end("Complete" if self.enough else "Failed")
        return self.versions

    @property
    def enough(self) -> bool:
        if "successPolicy" in self.spec:
            return bool(self.done)
        wanted = self.spec.get("completions", 1)
        succeeded: int = self.status.get("succeeded", 0)
        return succeeded >= wanted

    def step(self) -> bool:
        """Something happens; True if the Job has ended by it."""
        if self.spec["suspend"]:
            self.suspended()
        elif self.active == 0:
            self.start()
        else:
            self.random.choice([self.pod_ends, self.pod_ends, self.suspend, self.scale])()
        if self.enough and not self.spec["suspend"]:
            self.end("Complete")
            return True
        if len(self.bad) and len(self.bad) + len(self.done) >= self.spec["completions"]:
            self.end("Failed")
            return True
        return False

    def start(self) -> None:
        self.put(active=self.wanted, startTime=self.status.get("startTime") or format_time(self.now))

    def suspend(self) -> None:
        self.spec["suspend"] = True
        self.keep()

    def suspended(self) -> None:
        self.say("Suspended", reason="JobSuspended")
        self.put(active=0)
        self.spec["suspend"] = False
        self.keep()
        self.say("Suspended", "False", "JobResumed")
        self.put(startTime=format_time(self.now))

    def scale(self) -> None:
        self.spec["parallelism"] = max(self.spec["parallelism"] + self.random.choice([-1, 1]), 1)
        self.keep()
        self.put(active=self.wanted)

    def pod_ends(self) -> None:
        outcome = self.random.choice(["succeeded", "succeeded", "failed"])
        if self.indexed and outcome == "succeeded":
            self.done.add(min(set(range(self.spec["completions"])) - self.done - self.bad))
            indexes = str(Indexes.of(self.done))
            self.put(active=self.active - 1, succeeded=len(self.done), completedIndexes=indexes)
            return
        self.uids += 1
        self.put(active=self.active - 1, uncountedTerminatedPods={outcome: [f"pod-{self.uids}"]})
        if self.indexed and "backoffLimitPerIndex" in self.spec:
            self.bad.add(min(set(range(self.spec["completions"])) - self.done - self.bad))
            self.status["failedIndexes"] = str(Indexes.of(self.bad))
        self.put(**{outcome: self.status.get(outcome, 0) + 1}, uncountedTerminatedPods={})

    def end(self, type: str) -> None:
        if "startTime" not in self.status:
            self.spec["suspend"] = False
            self.keep()
            self.start()
        self.say("SuccessCriteriaMet" if type == "Complete" else "FailureTarget")
        self.put(active=0, terminating=self.active)
        self.say(type)
        times = {"completionTime": format_time(self.now)} if type == "Complete" else {}
        self.put(terminating=0, **times)


def history(seed: int) -> list[Obj]:
    """The versions of one Job, all of them right."""
    return JobModel(Random(seed)).live()


# Faults: what makes the newer of two versions wrong, or None where it cannot.

Fault = Callable[[Obj, Obj], Obj | None]


def put(**fields: Any) -> Fault:
    return lambda old, new: {**new["status"], **fields}


def without(status: Obj, *names: str) -> Obj:
    return {name: value for name, value in status.items() if name not in names}


def true(status: Obj) -> set[str]:
    return {each["type"] for each in status.get("conditions", ()) if each["status"] == "True"}


def with_conditions(status: Obj, *types: str) -> Obj:
    more = [{"type": each, "status": "True", "reason": "Reason", "message": ""} for each in types]
    return {**status, "conditions": [*status.get("conditions", ()), *more]}


def said(*types: str, **fields: Any) -> Fault:
    """The types become true, although nothing else about an end is."""
    return lambda old, new: None if true(new["status"]) else {**with_conditions(new["status"], *types), **fields}


def dropped(type: str) -> Fault:
    """A condition that was true is gone."""

    def fault(old: Obj, new: Obj) -> Obj | None:
        if type not in true(old["status"]):
            return None
        left = [each for each in new["status"]["conditions"] if each["type"] != type]
        return {**new["status"], "conditions": left}

    return fault


def ended(old: Obj, new: Obj) -> str:
    """The end that comes with the newer version."""
    return next(iter((true(new["status"]) - true(old["status"])) & {"Complete", "Failed"}), "")


def at_end(type: str, change: Callable[[Obj], Obj]) -> Fault:
    return lambda old, new: change(new["status"]) if ended(old, new) and type in ("", ended(old, new)) else None


def lower(field: str) -> Fault:
    def fault(old: Obj, new: Obj) -> Obj | None:
        elastic = new["spec"].get("completions") == new["spec"]["parallelism"]
        if not old["status"].get(field) or elastic:
            return None
        return {**new["status"], field: old["status"][field] - 1}

    return fault


def indexed(change: Callable[[Obj, Obj], Obj | None], wanted: bool = True) -> Fault:
    def fault(old: Obj, new: Obj) -> Obj | None:
        return change(old, new) if (new["spec"].get("completionMode") == "Indexed") is wanted else None

    return fault


def per_index(change: Callable[[Obj, Obj], Obj | None]) -> Fault:
    return lambda old, new: change(old, new) if "backoffLimitPerIndex" in new["spec"] else None


def restarted(old: Obj, new: Obj) -> Obj | None:
    before = old["status"].get("startTime")
    resumed = any(each["type"] == "Suspended" for each in new["status"].get("conditions", ()))
    return None if before is None or resumed or new["spec"]["suspend"] else without(new["status"], "startTime")


def overlap(old: Obj, new: Obj) -> Obj | None:
    completed = new["status"].get("completedIndexes")
    return {**new["status"], "failedIndexes": completed} if completed else None


def moved_completion(old: Obj, new: Obj) -> Obj | None:
    known = old["status"].get("completionTime")
    return {**new["status"], "completionTime": "2027-01-01T00:00:00Z"} if known else None


def unfinished(change: Callable[[Obj, Obj], Obj | None]) -> Fault:
    def fault(old: Obj, new: Obj) -> Obj | None:
        return None if true(new["status"]) - {"Suspended"} else change(old, new)

    return fault


def unannounced(old: Obj, new: Obj) -> Obj | None:
    start = new["status"].get("startTime")
    if true(new["status"]) or start is None or new["spec"]["suspend"]:
        return None
    return {**with_conditions(new["status"], "FailureTarget", "Failed"), "active": 0, "ready": 0,
            "uncountedTerminatedPods": {}} if accounted(old, new) else None  # fmt: skip


def accounted(old: Obj, new: Obj) -> bool:
    return not old["status"].get("uncountedTerminatedPods") and not new["status"].get("uncountedTerminatedPods")


def other_message(status: Obj) -> Obj:
    ends = ("Complete", "Failed")
    changed = [{**each, "message": "x"} if each["type"] in ends else each for each in status["conditions"]]
    return {**status, "conditions": changed}


def twice(old: Obj, new: Obj) -> Obj | None:
    known = new["status"].get("conditions", [])
    return {**new["status"], "conditions": [*known, known[-1]]} if known and not finished(old) else None


def finished(version: Obj) -> bool:
    return bool(true(version["status"]) & {"Complete", "Failed"})


def after_the_end(old: Obj, new: Obj) -> Obj | None:
    return with_conditions(old["status"], "example.com/Late") if finished(old) else None


def forgotten_index(old: Obj, new: Obj) -> Obj | None:
    failed = old["status"].get("failedIndexes")
    return {**new["status"], "failedIndexes": ""} if failed and not finished(old) else None


def too_few(status: Obj) -> Obj:
    return {**status, "succeeded": status["succeeded"] - 1}


def early(old: Obj, new: Obj) -> Obj | None:
    """Complete although there are not enough successes."""
    status, completions = new["status"], new["spec"].get("completions", 1)
    if "successPolicy" in new["spec"] or true(status) or status.get("succeeded", 0) >= completions:
        return None
    if "startTime" not in status or not accounted(old, new):
        return None
    over = {"active": 0, "ready": 0, "completionTime": "2027-01-01T00:00:00Z", "uncountedTerminatedPods": {}}
    return {**with_conditions(status, "SuccessCriteriaMet", "Complete"), **over}


def too_many(old: Obj, new: Obj) -> Obj | None:
    more = max(new["spec"]["parallelism"], old["status"].get("active", 0)) + 1
    return {**START, **new["status"], "active": more} if not true(new["status"]) else None


def timeless(old: Obj, new: Obj) -> Obj | None:
    started = "startTime" in old["status"]
    return without(new["status"], "startTime") if new["status"].get("active") and not started else None


def started_suspended(old: Obj, new: Obj) -> Obj | None:
    if not new["spec"]["suspend"] or finished(new):
        return None
    return {**START, **new["status"], "active": old["status"].get("active", 0) + 1}


def wrongly_suspended(old: Obj, new: Obj) -> Obj | None:
    known = any(each["type"] == "Suspended" for each in new["status"].get("conditions", ()))
    return None if new["spec"]["suspend"] or known or finished(old) else with_conditions(new["status"], "Suspended")


def before_creation(old: Obj, new: Obj) -> Obj | None:
    first = "startTime" in new["status"] and "startTime" not in old["status"]
    return {**new["status"], "startTime": "2000-01-01T00:00:00Z"} if first else None


def uncounted(old: Obj, new: Obj) -> Obj | None:
    listed = old["status"].get("uncountedTerminatedPods", {})
    outcome = next(iter(listed), "")
    if not outcome or new["status"].get("uncountedTerminatedPods"):
        return None
    return {**new["status"], outcome: old["status"].get(outcome, 0)}


FAULTS: dict[str, Fault] = {
    "S1": put(active=-1),
    "S2": put(succeeded=-1),
    "S3": put(failed=-1),
    "S4": put(ready=-1),
    "S5": put(terminating=-1),
    "S6": put(uncountedTerminatedPods={"failed": [""]}),
    "S7": put(uncountedTerminatedPods={"succeeded": ["a"], "failed": ["a"]}),
    "S8": said("Complete", "Failed"),
    "S9": said("Complete", "FailureTarget"),
    "S10": unfinished(put(completionTime="2026-06-01T00:00:00Z")),
    "S11": at_end("Complete", lambda status: without(status, "completionTime")),
    "S12": at_end("Complete", lambda status: {**status, "completionTime": "2001-01-01T00:00:00Z"}),
    "S13": said("Failed"),
    "S14": said("Complete"),
    "S15": at_end("", lambda status: {**status, "active": 1}),
    "S16": at_end("", lambda status: without(status, "startTime")),
    "S17": at_end("", lambda status: {**status, "uncountedTerminatedPods": {"failed": ["a"]}}),
    "S18": indexed(lambda old, new: {**new["status"], "completedIndexes": "3-1"}),
    "S19": per_index(lambda old, new: {**new["status"], "failedIndexes": "99"}),
    "S20": indexed(lambda old, new: {**new["status"], "completedIndexes": "0"}, wanted=False),
    "S21": lambda old, new: None if "backoffLimitPerIndex" in new["spec"] else {**new["status"], "failedIndexes": ""},
    "S22": per_index(overlap),
    "S23": at_end("", lambda status: {**status, "terminating": 1}),
    "S24": lambda old, new: {**new["status"], "ready": new["status"].get("active", 0) + 1},
    "S25": said("SuccessCriteriaMet", "Failed"),
    "S26": said("SuccessCriteriaMet", "FailureTarget"),
    "S27": lambda old, new: said("Complete")(old, new) if "successPolicy" in new["spec"] else None,
    "S28": dropped("FailureTarget"),
    "S29": lower("failed"),
    "S30": lower("succeeded"),
    "S31": moved_completion,
    "S32": restarted,
    "S33": dropped("SuccessCriteriaMet"),
    "C1": unannounced,
    "C2": at_end("", other_message),
    "C3": twice,
    "C4": after_the_end,
    "C5": indexed(lambda old, new: None if finished(old) else {**new["status"],
                  "succeeded": new["status"].get("succeeded", 0) + 1}),
    "C6": forgotten_index,
    "C7": early,
    "C8": too_many,
    "C9": timeless,
    "C10": started_suspended,
    "C11": wrongly_suspended,
    "C13": before_creation,
    "C14": uncounted,
}  # fmt: skip
"""By the rule that they break. S34 needs a status that S14 forbids; C12 is about who writes."""
