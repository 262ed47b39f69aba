"""What the declared kinds need of a worker, and which pods and other objects belong to them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jobrelay.kube.objects import Key
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.workloads.builtin.tekton import PIPELINES, TASKS
from jobrelay.workloads.names import MULTIKUEUE, RELAY

from .declared_kinds import ADAPTERS, KINDS, Obj, as_object, at, case, original

OPEN = {"jobset", "mpijob", "appwrapper", "pipelinerun", "taskrun"}
AUTOSCALED = {"enableInTreeAutoscaling": True}


def counts(kind: str, change: Obj | None = None) -> list[list[Any]]:
    sets = ADAPTERS[kind].demand(as_object(original(kind, change=change))).pod_sets
    return [[each.count, float(each.requests.get("cpu", 0))] for each in sets]


def named(kind: str, change: Obj | None = None, found: Any = None) -> set[str]:
    references = ADAPTERS[kind].references(as_object(original(kind, change=change)), found or {})
    return {f"{each.resource.kind} {each.namespace}/{each.name}" for each in references}


@pytest.mark.parametrize("kind", KINDS)
def test_pod_sets(kind: str) -> None:
    assert counts(kind) == case(kind)["demand"]


@pytest.mark.parametrize("kind", KINDS)
def test_templates_are_where_their_paths_say(kind: str) -> None:
    whole = original(kind)
    for place, template in ADAPTERS[kind].pod_templates(as_object(whole)):
        found: Any = whole
        for key in place:
            found = found.get(key) if isinstance(found, dict) else found[key]
        assert found == template or (place == ("spec", "submitterPodTemplate") and found is None)


@pytest.mark.parametrize("kind", KINDS)
def test_who_may_delegate(kind: str) -> None:
    adapter = ADAPTERS[kind]
    assert adapter.managers == ({RELAY, MULTIKUEUE} if kind in OPEN else {MULTIKUEUE})
    assert (adapter.native != "", adapter.enforces_deadline) == (True, False)
    assert bool(adapter.runs_anyway) == (kind == "jaxjob")
    facts = adapter.read(as_object(original(kind, change=at(adapter.managed_by_path, "example.com/x"))))
    assert facts.managed_by == "example.com/x"


def test_a_shape_does_not_depend_on_the_name_or_the_command() -> None:
    one, other = original("jobset"), original("jobset")
    other["metadata"]["name"] = "other"
    other["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["containers"][0]["command"] = ["y"]
    shapes = {ADAPTERS["jobset"].demand(as_object(each)).shape for each in (one, other)}
    assert len(shapes) == 1
    assert ADAPTERS["jobset"].demand(as_object(original("jobset", change={"coordinator": {}}))).shape not in shapes


def test_the_longest_grace_counts() -> None:
    assert ADAPTERS["jobset"].demand(as_object(original("jobset"))).grace == 90.0


def test_the_autoscaler_and_a_sidecar_are_part_of_the_head() -> None:
    assert counts("raycluster", AUTOSCALED)[0] == [1, 2.5]
    assert counts("rayjob", {"submissionMode": "SidecarMode", "rayClusterSpec": AUTOSCALED}) == [[1, 3.0], [4, 1]]


def test_a_taskrun_may_say_what_its_pod_needs() -> None:
    change = {"computeResources": {"requests": {"cpu": "7"}}}
    (pods,) = ADAPTERS["taskrun"].demand(as_object(original("taskrun", change=change))).pod_sets
    assert (pods.requests["cpu"], pods.node_selector) == (Fraction(7), {"disk": "fast"})


def test_nodes_of_a_trainjob_are_selected_by_its_patches() -> None:
    pod = {"nodeSelector": {"gpu": "yes"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patch = {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    change = {"runtimePatches": [patch]}
    (pods,) = ADAPTERS["trainjob"].demand(as_object(original("trainjob", change=change))).pod_sets
    assert (pods.node_selector, len(pods.tolerations)) == ({"gpu": "yes"}, 1)


RUNTIMES = RESOURCES["ClusterTrainingRuntime"]


def runtime(*jobs: Obj, **policy: Any) -> Any:
    """What is found when a TrainJob names a runtime with these Jobs."""
    body = {"metadata": {"name": "torch", "uid": "r", "resourceVersion": "7"}}
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}
    return {(RUNTIMES, Key("", "torch")): as_object(body | {"spec": spec})}


def runtime_job(name: str, cpu: str, step: str = "", parallelism: int = 1, **pod: Any) -> Obj:
    containers = [{"name": "node", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    template = {"spec": {"parallelism": parallelism, "template": {"spec": {"containers": containers, **pod}}}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    return {"name": name, "template": {"metadata": {"labels": labels}, **template}}


def trained(found: Any, **spec: Any) -> list[list[Any]]:
    body = original("trainjob")
    body["spec"] = {"runtimeRef": {"name": "torch"}, **spec}
    sets = ADAPTERS["trainjob"].demand(as_object(body), found).pod_sets
    return [[each.count, float(each.requests.get("cpu", 0))] for each in sets]


class TestRuntimes:
    """The pods of a TrainJob are those of its runtime."""

    def test_the_job_that_trains_runs_on_as_many_nodes_as_asked_for(self) -> None:
        found = runtime(
            runtime_job("init", "1", "dataset-initializer", 2), runtime_job("node", "4", "trainer"), numNodes=3
        )
        assert trained(found) == [[2, 1], [3, 4]]
        assert trained(found, trainer={"numNodes": 5}) == [[2, 1], [5, 4]]

    def test_resources_per_node_take_the_place_of_those_of_the_runtime(self) -> None:
        found = runtime(runtime_job("init", "1"), runtime_job("node", "4", "trainer"))
        assert trained(found, trainer={"resourcesPerNode": {"requests": {"cpu": "9"}}}) == [[1, 1], [1, 9]]

    def test_with_mpi_the_launcher_may_be_one_of_the_nodes(self) -> None:
        jobs = (runtime_job("node", "4"), runtime_job("launcher", "2", "trainer"))
        assert trained(runtime(*jobs, numNodes=3, mpi={})) == [[3, 4], [1, 2]]
        found = runtime(*jobs, numNodes=3, mpi={"runLauncherAsNode": True})
        assert trained(found) == [[2, 4], [1, 2]]
        assert trained(found, trainer={"resourcesPerNode": {"requests": {"cpu": "9"}}}) == [[2, 9], [1, 9]]
        assert trained(found, trainer={"numNodes": 1}) == [[1, 4], [1, 2]]

    def test_patches_are_merged_into_the_job_of_their_name(self) -> None:
        more = {"containers": [{"name": "node", "resources": {"requests": {"cpu": "6"}}}], "nodeSelector": {"gpu": "a"}}
        job = {"name": "node", "template": {"spec": {"template": {"spec": more}}}}
        patch = {"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
        body = original("trainjob")
        body["spec"] = {"runtimeRef": {"name": "torch"}, "runtimePatches": [patch]}
        found = runtime(runtime_job("init", "1"), runtime_job("node", "4", "trainer", nodeSelector={"disk": "fast"}))
        first, second = ADAPTERS["trainjob"].demand(as_object(body), found).pod_sets
        assert (first.requests["cpu"], first.node_selector) == (1, {})
        assert (second.requests["cpu"], second.requests["memory"]) == (6, 2**30)
        assert second.node_selector == {"disk": "fast", "gpu": "a"}

    def test_what_the_pods_of_a_runtime_name_is_needed_too(self) -> None:
        found = runtime(runtime_job("node", "1", "trainer", serviceAccountName="trainer"))
        assert named("trainjob", found=found) == {
            "ClusterTrainingRuntime /torch", "Secret work/hub", "ServiceAccount work/trainer",
        }  # fmt: skip

    def test_another_version_of_a_runtime_is_another_basis(self) -> None:
        whole = as_object(original("trainjob"))
        without, with_ = (ADAPTERS["trainjob"].demand(whole, each) for each in ({}, runtime(runtime_job("node", "1"))))
        assert (without.basis, with_.basis, without.shape) == ("", "r/7", with_.shape)


def test_the_tasks_that_a_run_names_are_counted_once_they_are_found() -> None:
    def step(cpu: str) -> Obj:
        return {"steps": [{"name": "s", "computeResources": {"requests": {"cpu": cpu}}}]}

    def obj(name: str, spec: Obj) -> Any:
        return as_object({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": spec})

    change = {"pipelineSpec": None, "pipelineRef": {"name": "p"}}
    run = as_object(original("pipelinerun", change=change))
    found = {(PIPELINES, Key("work", "p")): obj("p", {"tasks": [{"taskRef": {"name": "t"}}, {"taskSpec": step("3")}]})}
    assert [float(each.requests.get("cpu", 0)) for each in ADAPTERS["pipelinerun"].demand(run).pod_sets] == [0]
    assert [each.requests["cpu"] for each in ADAPTERS["pipelinerun"].demand(run, found).pod_sets] == [3]
    found[TASKS, Key("work", "t")] = obj("t", step("5"))
    assert [each.requests["cpu"] for each in ADAPTERS["pipelinerun"].demand(run, found).pod_sets] == [5]


@pytest.mark.parametrize(
    ("kind", "selector"),
    [
        ("jobset", "jobset.sigs.k8s.io/jobset-name=m"),
        ("tfjob", "training.kubeflow.org/job-name=m,training.kubeflow.org/operator-name=tfjob-controller"),
        ("mpijob", "training.kubeflow.org/job-name=m,training.kubeflow.org/operator-name=mpi-operator"),
        ("raycluster", "ray.io/cluster=m"),
        ("rayjob", ""),
        ("rayservice", ""),
        ("appwrapper", "workload.codeflare.dev/appwrapper=m"),
        ("taskrun", "tekton.dev/taskRun=m"),
    ],
)
def test_pods_are_found_by_a_label(kind: str, selector: str) -> None:
    assert ADAPTERS[kind].pod_selector("m") == selector


def test_pods_of_ray_have_the_names_of_clusters_that_only_the_status_tells() -> None:
    job = as_object(original("rayjob", {"rayClusterName": "tune-abcde"}))
    assert ADAPTERS["rayjob"].pod_selector("m", job) == "ray.io/cluster=tune-abcde"
    both = {"activeServiceStatus": {"rayClusterName": "a"}, "pendingServiceStatus": {"rayClusterName": "b"}}
    assert (
        ADAPTERS["rayservice"].pod_selector("m", as_object(original("rayservice", both))) == "ray.io/cluster in (a,b)"
    )
    first = as_object(original("rayservice", {"activeServiceStatus": {"rayClusterName": "a"}}))
    assert ADAPTERS["rayservice"].pod_selector("m", first) == "ray.io/cluster in (a,)"
    assert ADAPTERS["rayservice"].pod_selector("m", as_object(original("rayservice"))) == ""


def test_a_name_that_no_label_can_have_selects_no_pods() -> None:
    """A server would refuse such a selector, and the workload would wait for ever."""
    assert (ADAPTERS["jobset"].pod_selector("x" * 63) != "", ADAPTERS["jobset"].pod_selector("x" * 64)) == (True, "")


def pod(labels: dict[str, str], **owner: str) -> Any:
    owners = [{"name": "x", "controller": True, **owner}] if owner else []
    return as_object({"metadata": {"name": "p", "labels": labels, "ownerReferences": owners}})


def test_pods_name_their_owner_by_a_label_or_a_reference() -> None:
    of_cluster = pod({}, apiVersion="ray.io/v1", kind="RayCluster", uid="u")
    assert ADAPTERS["raycluster"].pod_owner(of_cluster) == "u"
    assert ADAPTERS["pytorchjob"].pod_owner(of_cluster) == ""
    assert ADAPTERS["jobset"].pod_owner(pod({"jobset.sigs.k8s.io/jobset-uid": "v"})) == "v"
    assert ADAPTERS["appwrapper"].pod_owner(pod({})) == ""


class TestReferences:
    def test_of_a_trainjob(self) -> None:
        assert named("trainjob") == {"ClusterTrainingRuntime /torch", "Secret work/hub"}
        own = {"runtimeRef": {"kind": "TrainingRuntime"}}
        assert named("trainjob", own) == {"TrainingRuntime work/torch", "Secret work/hub"}

    def test_of_a_training_job(self) -> None:
        assert named("pytorchjob") == {"PriorityClass /high"}

    def test_of_a_pipelinerun(self) -> None:
        assert named("pipelinerun") == {"ServiceAccount work/builder", "Task work/lint"}

    def test_of_what_was_found_for_a_pipelinerun(self) -> None:
        tasks = [{"taskRef": {"name": "b"}}, {"taskRef": {"name": "c", "resolver": "git"}}]
        pipeline = as_object({"metadata": {"name": "p"}, "spec": {"tasks": tasks}})
        task = as_object({"metadata": {"name": "b"}, "spec": {"volumes": [{"secret": {"secretName": "key"}}]}})
        change = {"pipelineSpec": {"tasks": []}, "pipelineRef": {"name": "p"}}
        known = {(PIPELINES, Key("work", "p")): pipeline}
        first = {"ServiceAccount work/builder", "Pipeline work/p"}
        assert named("pipelinerun", change) == first
        assert named("pipelinerun", change, known) == first | {"Task work/b"}
        known[TASKS, Key("work", "b")] = task
        assert named("pipelinerun", change, known) == first | {"Task work/b", "Secret work/key"}

    def test_paths_lead_to_the_name(self) -> None:
        (reference,) = ADAPTERS["pytorchjob"].references(as_object(original("pytorchjob")), {})
        assert reference.paths == (("spec", "runPolicy", "schedulingPolicy", "priorityClass"),)
