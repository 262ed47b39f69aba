"""`jobrelay logs` after the end and over moves: for administrators and for plain users."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib

from click.testing import Result

from jobrelay.kube.resource import JOBS
from jobrelay.operate.registry import register_worker
from jobrelay.relay.api.names import BASE
from jobrelay.relay.model import State
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet, talking
from tests.relay.fleets import NAMESPACE

from .test_plain_user import run

LOG = f"{BASE}/namespaces/default/workloads/train/log"
NOTICE = "note: the pods of run 1 on worker-1 are gone; this is the whole of their logs, kept at "


async def removed(served: ApiFleet) -> None:
    """A Job has ended, and its mirror is gone."""
    await served.it.client.create(JOBS, talking())
    await served.it.finished()

    async def gone() -> bool:
        return not await served.it.mirrors()

    await served.it.until(gone, 60)


def check_kept(result: Result) -> None:
    assert (result.exit_code, result.stdout) == (0, "hello\nbye\n"), result.stderr
    assert result.stderr.startswith(NOTICE)


async def test_a_plain_user_reads_what_was_kept(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet, workers=1, keep_finished=0.0, keep_logs=4096) as served:
        ann = await served.kubeconfig(tmp_path)
        await removed(served)
        check_kept(await run(ann, "logs", "job/train"))
        check_kept(await run(ann, "logs", "job/train", "-f"))
        last = await run(ann, "logs", "job/train", "--tail", "1", "--prefix")
        assert last.stdout.partition("] ")[::2] == (last.stdout.partition("] ")[0], "bye\n")
        bob = await served.kubeconfig(tmp_path, "bob", "other")
        refused = await run(bob, "logs", "job/train", "-n", "default")
        assert (refused.exit_code, refused.stdout) == (2, "")


async def test_an_administrator_reads_what_was_kept() -> None:
    async with fleets.fleet(1, keep_finished=0.0, keep_logs=4096) as it:
        for name, cluster in it.workers.items():
            await register_worker(it.client, name, cluster.kubeconfig.read_bytes(), NAMESPACE)
        await removed(ApiFleet(it, None))  # type: ignore[arg-type]
        for options in ((), ("-f",)):
            check_kept(await run(it.management.kubeconfig, "logs", "job/train", *options))


async def test_a_plain_user_follows_a_job_to_another_worker() -> None:
    async with serving_fleet(fleets.fleet) as served, served.user() as ann:
        it = served.it
        await it.client.create(JOBS, talking(1000))
        first, seen = await it.known_to_run(), b""
        async with asyncio.timeout(120), ann.stream(LOG, {"follow": "true"}) as chunks:
            async for chunk in chunks:
                seen += chunk
                if seen == b"hello\nbye\n":
                    specs = dict(it.source.specs)
                    it.source.change(specs | {first: dataclasses.replace(specs[first], state=State.DRAINING)})
                elif seen.count(b"bye\n") == 2:
                    second = await it.place()
                    await it.client.delete(JOBS, "train", "default")  # nothing more can come
        assert second != first
        assert seen.decode() == f"hello\nbye\njobrelay: Job default/train moves to {second} (run 2)\nhello\nbye\n"
