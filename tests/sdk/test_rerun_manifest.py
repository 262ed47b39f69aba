"""A workload again: what the user wrote, and nothing that was added."""

from __future__ import annotations

from typing import Any

from jobrelay.kube.objects import decode_object, encode
from jobrelay.sdk.rerun import rerun_manifest
from jobrelay.workloads import JobAdapter, load_adapters
from tests.relay.fleets import MakeFleet, job

JOB = JobAdapter()


async def test_a_finished_job_becomes_what_was_submitted(fleet: MakeFleet) -> None:
    async with fleet() as it:
        await it.submit(annotations={"jobrelay.dev/clusters": "worker-1"}, ttlSecondsAfterFinished=600)
        await it.finished()
        found = await it.client.get(JOB.resource, "train", "default")
        made = rerun_manifest(JOB, found)
        assert made["metadata"] == {
            "generateName": "train-",
            "namespace": "default",
            "annotations": {"jobrelay.dev/clusters": "worker-1"},
        }
        assert (made["spec"]["managedBy"], made["spec"]["ttlSecondsAfterFinished"]) == ("jobrelay.dev/relay", 600)
        assert "selector" not in made["spec"]
        assert not made["spec"]["template"]["metadata"]["labels"]
        assert "status" not in made
        assert (await it.client.create(JOB.resource, made, dry_run=True)).name.startswith("train-")


def test_a_name_that_is_given_is_taken_and_a_generated_one_is_generated_again() -> None:
    body: dict[str, Any] = job("train-abcde")
    body["metadata"]["generateName"] = "train-"
    obj = decode_object(encode(body))
    assert rerun_manifest(JOB, obj)["metadata"]["generateName"] == "train-"
    assert rerun_manifest(JOB, obj, "second")["metadata"]["name"] == "second"


def test_a_long_name_leaves_room_for_the_generated_part() -> None:
    made = rerun_manifest(JOB, decode_object(encode(job("x" * 63))))
    assert len(made["metadata"]["generateName"]) == 58


def test_other_kinds_keep_their_spec_and_labels() -> None:
    adapter = next(each for each in load_adapters() if each.resource.kind == "RayJob")
    spec = {"managedBy": "kueue.x-k8s.io/multikueue", "entrypoint": "python a.py"}
    metadata = {"name": "a", "namespace": "b", "labels": {"team": "x"}, "finalizers": ["ray.io/x"], "uid": "1"}
    body = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec, "status": {"x": 1}}
    made = rerun_manifest(adapter, decode_object(encode(body)))
    assert made["spec"] == spec
    assert made["metadata"] == {"generateName": "a-", "namespace": "b", "labels": {"team": "x"}}
