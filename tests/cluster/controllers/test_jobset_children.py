"""The objects that a JobSet has."""

from __future__ import annotations

from jobrelay.cluster.controllers.jobset.children import make_claims, make_job, make_service

from .jobset_objects import Obj, jobset, replicated, view

PREFIX = "jobset.sigs.k8s.io/"
OWNER = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "u", "controller": True,
    "blockOwnerDeletion": True,
}  # fmt: skip


def test_a_job_and_its_pods_have_the_marks_of_their_place() -> None:
    group: Obj = {"groupName": "g"}
    found = view(jobset(replicated("a", 2, **group), replicated("b", 3), replicated("c", 4, **group)))
    job = make_job(found, found.replicated_jobs[2], 1)
    marks = {
        "jobset-name": "s", "jobset-uid": "u", "replicatedjob-name": "c", "restart-attempt": "0",
        "replicatedjob-replicas": "4", "global-replicas": "9", "job-index": "1", "job-global-index": "6",
        "job-key": "e66e0194c0d8ea7239b318e0c1e60ddd42dab7d2", "group-name": "g", "group-replicas": "6",
        "job-group-index": "3",
    }  # fmt: skip
    expected = {f"{PREFIX}{key}": value for key, value in marks.items()}
    pod = job["spec"]["template"]["metadata"]
    assert job["metadata"]["labels"] == job["metadata"]["annotations"] == expected
    assert pod["labels"] == pod["annotations"] == expected
    assert job["metadata"]["ownerReferences"] == [OWNER]


def test_a_job_has_what_its_template_has_and_the_defaults() -> None:
    given = replicated(job={"backoffLimit": 3})
    given["template"]["metadata"] = {"labels": {"a": "b"}, "name": "ignored"}
    found = view(jobset(given))
    job = make_job(found, found.replicated_jobs[0], 0)
    assert (job["metadata"]["name"], job["metadata"]["labels"]["a"]) == ("s-w-0", "b")
    spec = job["spec"]
    assert (spec["backoffLimit"], spec["completionMode"], spec["suspend"]) == (3, "Indexed", False)
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert spec["template"]["spec"]["subdomain"] == "s"


def test_the_coordinator_has_an_address() -> None:
    found = view(jobset(coordinator={"replicatedJob": "w", "podIndex": 2}, network={"subdomain": "net"}))
    job = make_job(found, found.replicated_jobs[0], 0)
    assert job["metadata"]["labels"][f"{PREFIX}coordinator"] == "s-w-0-2.net"


def test_exclusive_placement_on_labelled_nodes() -> None:
    annotations = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
        "alpha.jobset.sigs.k8s.io/node-selector": "true",
    }
    found = view(jobset(annotations=annotations))
    job = make_job(found, found.replicated_jobs[0], 0)
    assert job["metadata"]["annotations"].items() >= annotations.items()
    assert not job["metadata"]["labels"].keys() & annotations.keys()
    pod = job["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"alpha.jobset.sigs.k8s.io/namespaced-job": "default_s-w-0"}
    assert pod["tolerations"][0]["key"] == "alpha.jobset.sigs.k8s.io/no-schedule"


def test_making_a_job_does_not_change_the_jobset() -> None:
    body = jobset()
    found = view(body)
    make_job(found, found.replicated_jobs[0], 0)
    assert body == jobset()


def test_the_service_has_no_address() -> None:
    service = make_service(view(jobset()))
    assert service is not None
    assert service["spec"] == {
        "clusterIP": "None", "selector": {f"{PREFIX}jobset-name": "s"}, "publishNotReadyAddresses": True,
    }  # fmt: skip
    assert service["metadata"] == {"name": "s", "namespace": "default", "ownerReferences": [OWNER]}


def test_without_host_names_there_is_no_service() -> None:
    found = view(jobset(network={"enableDNSHostnames": False}))
    assert make_service(found) is None
    assert "subdomain" not in make_job(found, found.replicated_jobs[0], 0)["spec"]["template"]["spec"]


def test_claims_are_shared_by_the_pods_that_mount_them() -> None:
    policies = [
        {"templates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}]},
        {"templates": [{"metadata": {"name": "kept"}}], "retentionPolicy": {"whenDeleted": "Retain"}},
    ]
    mounting = replicated("a")
    mounting["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "data"}]
    found = view(jobset(mounting, replicated("b"), volumeClaimPolicies=policies))
    data, kept = make_claims(found)
    assert (data["metadata"]["name"], data["metadata"]["ownerReferences"]) == ("data-s", [OWNER])
    assert (kept["metadata"]["name"], "ownerReferences" in kept["metadata"]) == ("kept-s", False)
    first, second = (make_job(found, each, 0)["spec"]["template"]["spec"] for each in found.replicated_jobs)
    assert first["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-s"}}]
    assert "volumes" not in second
