"""`jobrelay events` and `describe`, on a fleet."""

from __future__ import annotations

import asyncio
import json
import subprocess

from jobrelay.kube.resource import JOBS
from tests.relay.fleets import Fleet, MakeFleet

from .command import COMMAND, ENVIRONMENT
from .fleets import answering_fleet, call


async def told(it: Fleet, name: str = "train") -> list[str]:
    rows = json.loads((await call(it, "events", f"job/{name}", "-o", "json")).stdout)
    return [row["reason"] for row in rows]


async def test_events_are_those_of_one_workload_or_of_all(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        for name in ("train", "other"):
            await it.submit(name)
            await it.finished(name)
        await it.until(lambda: told(it))
        await it.until(lambda: told(it, "other"))
        head, *rows = (await call(it, "events")).stdout.splitlines()
        assert head.split() == ["AGE", "TYPE", "OBJECT", "REASON", "MESSAGE"]
        assert {row.split()[2] for row in rows} == {"job/train", "job/other"}
        assert {row.split()[2] for row in (await call(it, "events", "train")).stdout.splitlines()[1:]} == {"job/train"}
        none = await call(it, "events", "-n", "kube-public")
        assert (none.stdout, none.stderr) == ("", "no events found\n")


async def test_a_watch_prints_what_comes(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})
        command = [*COMMAND, "events", "-w", "--kubeconfig", str(it.management.kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            try:
                assert process.stdout is not None
                assert "job/train" in await asyncio.to_thread(process.stdout.readline)
                await it.submit("second", annotations={"jobrelay.dev/clusters": "nowhere"})
                line = await asyncio.to_thread(process.stdout.readline)
                assert ("job/second" in line, "NotPlaced: " in line) == (True, True)
            finally:
                process.kill()


async def test_a_workload_is_described_from_its_creation_to_its_end(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        found = json.loads((await call(it, "describe", "job/train", "-o", "json")).stdout)
        shown = [each["what"] for each in found["timeline"]]
        assert (shown[0], found["status"]) == ("created", "Complete")
        assert f"assigned to {found['cluster']} (run 1)" in shown
        assert any(each.startswith("Complete: ") for each in shown)
        text = (await call(it, "describe", "job/train")).stdout
        assert text.startswith(f"job/train in default: Complete on {found['cluster']} (run 1), ")


async def test_what_does_not_exist_is_an_error(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        for command in ("describe", "events"):
            result = await call(it, command, "job/nix")
            assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: Job default/nix does not exist")
        assert not (await it.client.list(JOBS, "default")).items
