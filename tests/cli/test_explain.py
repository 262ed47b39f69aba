"""`jobrelay explain`: one sentence, the facts, and the verdict on every worker."""

from __future__ import annotations

import json

from jobrelay.cli.explanation import explanation_lines
from jobrelay.cli.listing import reason_of
from tests.relay.fleets import Fleet, MakeFleet

from .fleets import answering_fleet, call

VERDICTS = {
    "kind": "Job",
    "namespace": "default",
    "name": "train",
    "stage": "WaitingForPlacement",
    "sentence": "Waits for room.",
    "fenced": True,
    "problems": ["policy x took too long"],
    "dependencies": [
        {"object": "ConfigMap default/settings", "present": ["a"], "missing": ["b", "c"]},
        {"object": "Secret default/token", "optional": True, "copies": {"a": "token-1"}, "copyable": ["b"]},
        {"object": "PriorityClass high", "unchecked": {"a": "the relay may not get it"}},
        {"object": "PersistentVolumeClaim default/data"},
    ],
    "workers": [
        {
            "worker": "a",
            "ok": True,
            "sentence": "has room",
            "score": 1.5,
            "parts": [{"policy": "cost", "score": 0.5, "weight": 3}],
        },
        {"worker": "long-name", "ok": False, "sentence": "is too small", "wouldChange": "a larger node"},
    ],
}


def test_the_text_has_the_arithmetic_and_what_would_change_it() -> None:
    assert list(explanation_lines(VERDICTS)) == [
        "Waits for room.",
        "",
        "  job       default/train",
        "  stage     WaitingForPlacement",
        "  fenced    yes: it never runs on two workers at the same time",
        "  problem   policy x took too long",
        "  needs     ConfigMap default/settings: on a; missing on b, c",
        "  needs     Secret default/token (optional): to be copied to b; copied to a as token-1",
        "  needs     PriorityClass high: cannot be checked on a (the relay may not get it), taken to be there",
        "  needs     PersistentVolumeClaim default/data",
        "",
        "Workers, if it were placed now:",
        "  a           yes   has room (score 1.500: cost 0.500 x 3)",
        "  long-name   no    is too small",
        "                    would change it: a larger node",
    ]


def test_the_text_has_the_place_in_line_and_when_it_will_start() -> None:
    times = {"earliest": "2026-01-01T12:00:00Z", "latest": "2026-01-01T12:05:00Z"}
    found = VERDICTS | {"line": {"place": 3, "of": 12, **times, "claims": "west"}}
    starts = "starts between 2026-01-01T12:00:00Z and 2026-01-01T12:05:00Z"
    assert f"  line      3 of 12, {starts}; west is kept free for it" in list(explanation_lines(found))
    assert reason_of({"sentence": "Waits for room.", "line": {"place": 1, "of": 2}}) == "Place 1 of 2. Waits for room."


async def test_the_relay_is_asked(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(seconds=1000)
        place = await it.known_to_run()
        for name in ("job/train", "jobs.batch/train", "train"):
            shown = (await call(it, "explain", name)).stdout
            assert shown.startswith(f"It has been running on {place} since ")
            assert f"  cluster   {place} (run 1)" in shown
        found = json.loads((await call(it, "explain", "job/train", "-o", "json")).stdout)
        assert (found["stage"], found["cluster"]) == ("Running", place)


async def test_without_the_relay_objects_and_events_are_shown(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        await it.submit()
        await it.finished()
        result = await call(it, "explain", "job/train", "--lease-name", "another")
        assert f"It is complete, and assigned to {await it.place()}." in result.stdout
        assert "Workers:" in result.stdout
        assert "note: the relay could not be reached: no relay has run here" in result.stderr


async def test_a_job_that_is_not_delegated_is_said_to_be_so(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(managed_by=None)
        assert (
            "It is not delegated to the relay: spec.managedBy is not set, and would have to be jobrelay.dev/relay."
            in (await call(it, "explain", "train")).stdout
        )


async def test_a_job_of_another_controller_is_said_to_be_its(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(managed_by="example.com/others")
        shown = " ".join((await call(it, "explain", "train")).stdout.split())
        assert "owner It belongs to the controller example.com/others. There is no trace of that controller" in shown
        found = json.loads((await call(it, "explain", "train", "-o", "json")).stdout)["controller"]
        assert (found["name"], found["alive"]) == ("example.com/others", None)


async def test_the_owner_of_a_job_is_alive_if_it_writes(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(managed_by=None, suspend=True)
        await it.until(lambda: has_status(it))
        shown = " ".join((await call(it, "explain", "train", "--lease-name", "another")).stdout.split())
        assert "It belongs to the cluster's own Job controller. That controller is alive:" in shown


async def has_status(it: Fleet) -> bool:
    return bool((await it.job()).get("status"))


async def test_a_job_of_the_relay_has_no_other_owner(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        assert "owner" not in (await call(it, "explain", "train")).stdout


async def test_a_job_that_is_not_there_is_an_error(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        result = await call(it, "explain", "job/nix")
        assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: Job default/nix does not exist")
        assert "is not a kind that can be delegated" in (await call(it, "explain", "pod/nix")).stderr
