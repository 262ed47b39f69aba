"""`jobrelay get jobs -w`, and the names that shells complete."""

from __future__ import annotations

import asyncio

import pytest
from click.shell_completion import ShellComplete

from jobrelay.cli import root
from jobrelay.cli.listing import Listing
from jobrelay.cli.management import Management
from jobrelay.cli.watch import WorkloadWatch
from jobrelay.workloads import JobAdapter

from .fleets import answering_fleet


async def test_every_change_of_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    async with answering_fleet() as it:
        management = Management(it.management.kubeconfig)
        columns = ["name", "cluster", "run", "status", "why"]
        listing = Listing((JobAdapter(),), "default")
        following = asyncio.create_task(WorkloadWatch(it.client, management, listing, "table", columns).run())
        await it.submit("standard", managed_by=None)
        await it.submit(seconds=0.2)
        shown = ""
        while "Complete" not in shown:
            await asyncio.sleep(0.02)
            assert not following.done()
            shown += capsys.readouterr().out
        following.cancel()
        await asyncio.wait({following})
    head, *lines = shown.splitlines()
    assert head.split() == ["NAME", "CLUSTER", "RUN", "STATUS", "WHY"]
    assert {line.split()[0] for line in lines} == {"train"}
    assert len(lines) == len(set(lines))
    assert "Running" in shown


def completed(words: list[str], incomplete: str) -> list[str]:
    found = ShellComplete(root, {}, "jobrelay", "_JOBRELAY_COMPLETE").get_completions(words, incomplete)
    return [item.value for item in found]


async def test_shells_complete_names_from_the_management_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering_fleet(registered=True) as it:
        monkeypatch.setenv("KUBECONFIG", str(it.management.kubeconfig))
        await it.submit()
        await it.submit("standard", managed_by=None)
        assert await asyncio.to_thread(completed, ["worker", "drain"], "worker-2") == ["worker-2"]
        assert await asyncio.to_thread(completed, ["explain"], "job/t") == ["job/train"]
        assert await asyncio.to_thread(completed, ["logs"], "") == ["job/train"]


def test_nobody_to_ask_means_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nix/there")
    assert completed(["worker", "drain"], "") == []
