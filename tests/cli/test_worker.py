"""`jobrelay worker` and `jobrelay logs`: what operators and users do with workers."""

from __future__ import annotations

import json

from jobrelay.kube import Key, NotFound
from jobrelay.kube.resource import JOBS, SECRETS
from jobrelay.relay.names import COST, STATE
from jobrelay.relay.workers.multikueue import CLUSTERS
from tests.relay.fleets import NAMESPACE, MakeFleet

from .fleets import answering_fleet, call

KIND = CLUSTERS["v1beta2"]


async def test_a_worker_is_registered_with_labels_and_cost(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        kubeconfig = it.workers["worker-1"].kubeconfig
        result = await call(it, "worker", "add", "west", str(kubeconfig), "--label", "region=west", "--cost", "2")
        assert (result.exit_code, result.stderr) == (0, "worker west registered\n")
        found = await it.client.get(KIND, "west")
        assert (found.metadata.labels, found.metadata.annotations[COST]) == ({"region": "west"}, "2")
        assert (await it.client.get(SECRETS, "west", NAMESPACE)).key == Key(NAMESPACE, "west")
        assert (await call(it, "worker", "add", "west", str(kubeconfig))).stderr == "worker west updated\n"


async def test_an_unsafe_kubeconfig_is_refused(fleet: MakeFleet) -> None:
    async with fleet(1, start=False) as it:
        config = json.loads(it.workers["worker-1"].kubeconfig.read_bytes())
        config["clusters"][0]["cluster"] = {"server": "http://127.0.0.1:1"}
        path = it.management.kubeconfig.with_name("unsafe.kubeconfig")
        path.write_text(json.dumps(config))
        result = await call(it, "worker", "add", "west", str(path))
        assert result.exit_code == 2
        assert "is not encrypted; use https" in result.stderr
        path.unlink()


async def test_states_are_annotations_and_uncordon_removes_them(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        for verb, state in (("cordon", "cordoned"), ("drain", "draining")):
            assert (await call(it, "worker", verb, "worker-1")).stderr == f"worker worker-1 {state}\n"
            assert (await it.client.get(KIND, "worker-1")).metadata.annotations[STATE] == state
        await call(it, "worker", "uncordon", "worker-1")
        assert STATE not in (await it.client.get(KIND, "worker-1")).metadata.annotations


async def test_a_worker_is_removed_with_its_secret(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        assert (await call(it, "worker", "remove", "worker-1")).exit_code == 0
        assert [each.name for each in (await it.client.list(KIND)).items] == ["worker-2"]
        try:
            await it.client.get(SECRETS, "worker-1", NAMESPACE)
        except NotFound:
            return
        raise AssertionError("the Secret is still there")


async def test_an_unknown_worker_is_an_error_with_the_names_there_are(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "worker", "cordon", "nix")
        assert (result.exit_code, result.stderr) == (
            2,
            "error: worker 'nix' is not registered\nhint: registered workers: worker-1, worker-2\n",
        )


async def test_logs_come_from_the_worker() -> None:
    async with answering_fleet(registered=True) as it:
        job = {"metadata": {"annotations": {"jobrelay.dev/log": "hello\n"}}}
        body = (await it.submit("first")).decode()
        await it.finished("first")
        template = body["spec"]["template"] | job
        template["metadata"].pop("labels", None)
        spec = {"template": template, "managedBy": body["spec"]["managedBy"]}
        await it.client.create(JOBS, {"metadata": {"name": "train", "namespace": "default"}, "spec": spec})
        await it.finished()
        result = await call(it, "logs", "job/train")
        assert (result.exit_code, result.stdout) == (0, "hello\n")


async def test_logs_of_a_job_that_waits_say_so(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        await it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})
        result = await call(it, "logs", "job/train", "--pod-running-timeout", "0s")
        assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: no worker runs Job default/train yet")
