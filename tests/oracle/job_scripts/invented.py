"""Scripts made up from a seed: any Job, and then whatever may happen to it and its pods.

What cannot be compared is left out. Pods of one Job that are alike are chosen by what they are (`any ready`), not by
name, and an Indexed Job is not scaled down to some of its pods, since which of equal ones go is chance. Most failures
are old, so that replacements do not fall on the edge of a step, and pods that nobody runs are not deleted, since they
wait for the next round of pod garbage collection.
"""

from __future__ import annotations

from random import Random
from typing import Any

Obj = dict[str, Any]

_STATUSES = (
    "running", "ready -100", "ready -40", "succeeded", "succeeded", "succeeded", "failed 1 -9000", "failed 42 -9000",
    "failed 7 -9000", "disrupted -9000", "failed 1", "restarted 1", "restarted 3", "pending",
)  # fmt: skip
_RULES = (
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [1]}},
    {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1, 7]}},
)
_CLASSES = ("any pending", "any running", "any ready", "any running", "all", "any active")


def invent(seed: int, count: int) -> dict[str, list[Obj]]:
    return {f"invented/{seed}-{number}": _script(Random(f"{seed}-{number}")) for number in range(count)}


def _script(random: Random) -> list[Obj]:
    spec = _spec(random)
    steps: list[Obj] = [{"create": spec}]
    steps += [_step(random, spec) for _ in range(random.randint(3, 7))]
    return steps


def _spec(random: Random) -> Obj:
    indexed, queue = random.random() < 0.5, random.random() < 0.15
    spec: Obj = {"parallelism": random.randint(1, 4)}
    if indexed or not queue:
        spec["completions"] = random.randint(1, 6)
    _maybe(random, spec, "backoffLimit", 0.6, [0, 1, 2, 3])
    _maybe(random, spec, "suspend", 0.1, [True])
    _maybe(random, spec, "podReplacementPolicy", 0.3, ["Failed", "TerminatingOrFailed"])
    _maybe(random, spec, "activeDeadlineSeconds", 0.1, [800])
    _maybe(random, spec, "ttlSecondsAfterFinished", 0.05, [0])
    if random.random() < 0.3:
        spec["podFailurePolicy"] = {"rules": random.sample(_RULES, random.randint(1, 3))}
        spec["podReplacementPolicy"] = "Failed"
    elif random.random() < 0.2:
        spec["template"] = {"spec": {"restartPolicy": "OnFailure"}}
    if indexed:
        _index(random, spec)
    return spec


def _index(random: Random, spec: Obj) -> None:
    spec["completionMode"] = "Indexed"
    if random.random() < 0.4:
        spec["backoffLimitPerIndex"] = random.randint(0, 2)
        _maybe(random, spec, "maxFailedIndexes", 0.4, range(spec["completions"]))
    if random.random() < 0.3:
        last = spec["completions"] - 1
        rules: list[Obj] = [
            {"succeededIndexes": f"0-{last}" if last else "0", "succeededCount": 1},
            {"succeededCount": spec["completions"]},
            {"succeededIndexes": str(last)},
        ]
        spec["successPolicy"] = {"rules": random.sample(rules, random.randint(1, 2))}


def _maybe(random: Random, spec: Obj, key: str, chance: float, values: Any) -> None:
    if random.random() < chance:
        spec[key] = random.choice(list(values))


def _step(random: Random, spec: Obj) -> Obj:
    which, gone = _which(random, spec), random.choice(("any running", "any ready", "any running", "all running"))
    steps: list[tuple[int, Obj]] = [
        (12, {"pods": {which: random.choice(_STATUSES)}}),
        (4, {"pods": {which: random.choice(_STATUSES), _which(random, spec): random.choice(_STATUSES)}}),
        (2, {"delete": gone}),
        (2, {"kill": random.choice(("any terminating", "all terminating"))}),
        (1, {"kill": gone}),
        (1, {"evict": gone}),
        (2, {"patch": {"spec": {"suspend": random.random() < 0.5}}}),
        (2, {"patch": {"spec": {"parallelism": _parallelism(random, spec)}}}),
        (1, {"patch": {"spec": {"backoffLimit": random.randint(0, 4)}}}),
        (1, {"patch_pods": {which: {"metadata": {"finalizers": None}}}}),
        (1, {"patch_pods": {which: {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "x"}}}}}),
        (1, {"delete_job": random.choice(("Background", "Foreground", "Orphan"))}),
        (1, {"patch": {"spec": {"activeDeadlineSeconds": random.choice((1, 900))}}}),
        (1, {"status": _written(random)}),
        (1, {"create_pod": _orphan(random, spec)}),
    ]
    if "completionMode" in spec:
        size = random.randint(max(spec["completions"] - 2, 0), spec["completions"] + 2)
        steps.append((1, {"patch": {"spec": {"completions": size, "parallelism": size}}}))
    weights, choices = zip(*steps, strict=True)
    return dict(random.choices(choices, weights)[0])


def _written(random: Random) -> Obj:
    """What others write into a status: often it is refused."""
    word = {"status": "True", "reason": "Mine", "message": "so be it", "lastTransitionTime": "now"}
    choices: tuple[Obj, ...] = (
        {"failed": random.randint(0, 4)},
        {"succeeded": random.randint(0, 3)},
        {"active": 3, "ready": random.randint(0, 3)},
        {"conditions": [{"type": "FailureTarget", **word}]},
        {"conditions": [{"type": "SuccessCriteriaMet", **word}]},
        {"completedIndexes": random.choice(("0", "1-2", "0,9"))},
        {"startTime": "now-600"},
    )
    return random.choice(choices)


def _orphan(random: Random, spec: Obj) -> Obj:
    """A pod that matches the Job's selector, perhaps with an index."""
    pod: Obj = {
        "name": f"orphan-{random.randrange(10**6)}",
        "labels": {"batch.kubernetes.io/controller-uid": "{{uid}}"},
    }
    if "completionMode" in spec and random.random() < 0.8:
        pod["annotations"] = {"batch.kubernetes.io/job-completion-index": str(random.randint(0, spec["completions"]))}
    if random.random() < 0.6:
        pod["status"] = random.choice(_STATUSES)
    return pod


def _which(random: Random, spec: Obj) -> str:
    if "completionMode" in spec:
        return random.choice((f"index {random.randrange(spec['completions'])}", "all"))
    return random.choice(_CLASSES)


def _parallelism(random: Random, spec: Obj) -> int:
    return random.choice((0, 9)) if "completionMode" in spec else random.randint(0, 6)
