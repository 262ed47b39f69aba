"""Definitions of our own and those of files, on a cluster."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from jobrelay.apimachinery.decode import decode
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.kinds.apiextensions import definition as definitions
from jobrelay.kube import Client, Invalid, Resource, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.crds import KNOWN, install_definitions, make_definitions, read_definitions
from jobrelay.operate.errors import OperateError
from tests.relay.fleets import AnyCluster

Obj = dict[str, Any]

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
TRAINJOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
RAYJOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")


@pytest.fixture
def client(any_cluster: AnyCluster) -> Client:
    return any_cluster.client()


def crd(name: str = "things", **more: Any) -> Obj:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": "test.example",
        "scope": "Namespaced",
        "names": {"kind": name.capitalize(), "plural": name},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, **more}],
    }
    metadata = {"name": f"{name}.test.example"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": metadata, "spec": spec}


def write(path: pathlib.Path, *documents: Obj) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def made(resource: Resource, spec: Obj) -> Obj:
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**kind, "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize("name", KNOWN)
def test_our_definitions_are_valid(name: str) -> None:
    type_ = type_for_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert type_ is not None
    for manifest in make_definitions(name):
        body = decode(manifest, type_)
        definitions.default(body)
        definitions.prepare_create(body)
        assert [error.text() for error in definitions.validate_create(body)] == []


async def test_all_of_our_definitions_are_served(client: Client) -> None:
    found = await install_definitions(client, read_definitions(KNOWN).found)
    assert {each.result for each in found} == {"created"}
    for each in found:
        body = (await client.get(CUSTOMRESOURCEDEFINITIONS, each.name)).decode()
        conditions = {each["type"]: each["status"] for each in body["status"]["conditions"]}
        assert conditions["Established"] == "True"


async def test_installing_again_changes_nothing(client: Client) -> None:
    read = read_definitions(["jobset"])
    await install_definitions(client, read.found)
    assert [each.result for each in await install_definitions(client, read.found)] == ["unchanged"]


async def test_a_file_takes_the_place_of_what_was_there(client: Client, tmp_path: pathlib.Path) -> None:
    await install_definitions(client, read_definitions([write(tmp_path / "a.yaml", crd())]).found)
    changed = write(tmp_path / "a.yaml", crd(subresources={"status": {}}))
    (found,) = await install_definitions(client, read_definitions([changed]).found)
    assert found.result == "configured"


async def test_ours_never_take_the_place_of_real_ones(client: Client, tmp_path: pathlib.Path) -> None:
    (ours,) = make_definitions("jobset")
    real = {**ours, "metadata": {"name": ours["metadata"]["name"]}}
    await install_definitions(client, read_definitions([write(tmp_path / "real.yaml", real)]).found)
    assert [each.result for each in await install_definitions(client, read_definitions(["jobset"]).found)] == ["kept"]


async def test_real_ones_take_the_place_of_ours(client: Client, tmp_path: pathlib.Path) -> None:
    await install_definitions(client, read_definitions(["jobset"]).found)
    (ours,) = make_definitions("jobset")
    real = write(tmp_path / "real.yaml", {**ours, "metadata": {"name": ours["metadata"]["name"]}})
    (found,) = await install_definitions(client, read_definitions([real]).found)
    assert found.result == "configured"
    assert "labels" not in (await client.get(CUSTOMRESOURCEDEFINITIONS, found.name)).decode()["metadata"]


async def test_a_refusal_names_the_file(client: Client, tmp_path: pathlib.Path) -> None:
    bad = crd()
    bad["spec"]["scope"] = "Anywhere"
    source = write(tmp_path / "bad.yaml", crd("others"), bad)
    with pytest.raises(OperateError, match=r"bad.yaml, document 2: things.test.example was refused: .*Anywhere"):
        await install_definitions(client, read_definitions([source]).found)


async def test_names_that_are_taken_are_an_error(client: Client, tmp_path: pathlib.Path) -> None:
    taken = crd("others")
    taken["spec"]["names"]["kind"] = "Things"
    source = write(tmp_path / "a.yaml", crd(), taken)
    with pytest.raises(OperateError, match=r"others.test.example .*names are not accepted"):
        await install_definitions(client, read_definitions([source]).found)


async def test_a_jobset_gets_the_defaults_of_its_webhook(client: Client) -> None:
    await install_definitions(client, read_definitions(["jobset"]).found)
    template: Obj = {"spec": {"template": {"spec": {"containers": []}}}}
    body = await client.create(JOBSETS, made(JOBSETS, {"replicatedJobs": [{"name": "w", "template": template}]}))
    spec = body.decode()["spec"]
    assert spec["network"] == {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
    assert (spec["startupPolicy"], spec["successPolicy"]) == ({"startupPolicyOrder": "AnyOrder"}, {"operator": "All"})
    (replicated,) = spec["replicatedJobs"]
    assert (replicated["replicas"], replicated["groupName"]) == (1, "default")
    assert replicated["template"]["spec"]["completionMode"] == "Indexed"
    assert replicated["template"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


@pytest.mark.parametrize("manager", ["", "nobody", "Example.com/x", "a/" + 62 * "x"])
async def test_a_jobset_names_a_manager_by_its_domain(client: Client, manager: str) -> None:
    await install_definitions(client, read_definitions(["jobset"]).found)
    with pytest.raises(Invalid, match="managedBy"):
        await client.create(JOBSETS, made(JOBSETS, {"managedBy": manager}))


@pytest.mark.parametrize("change", ["example.com/b", None])
async def test_the_manager_of_a_jobset_stays(client: Client, change: str | None) -> None:
    await install_definitions(client, read_definitions(["jobset"]).found)
    await client.create(JOBSETS, made(JOBSETS, {"managedBy": "example.com/a"}))
    with pytest.raises(Invalid, match="managedBy is immutable"):
        await client.patch(JOBSETS, "a", merge_patch({"spec": {"managedBy": change}}), "default")


async def test_a_trainjob_has_a_manager(client: Client) -> None:
    await install_definitions(client, read_definitions(["trainer"]).found)
    found = (await client.create(TRAINJOBS, made(TRAINJOBS, {"runtimeRef": {"name": "r"}}))).decode()["spec"]
    assert found["managedBy"] == "trainer.kubeflow.org/trainjob-controller"
    with pytest.raises(Invalid, match="managedBy is immutable"):
        await client.patch(TRAINJOBS, "a", merge_patch({"spec": {"managedBy": MULTIKUEUE}}), "default")


async def test_a_rayjob_takes_one_of_two_managers(client: Client) -> None:
    await install_definitions(client, read_definitions(["kuberay"]).found)
    with pytest.raises(Invalid, match=r"must be ray.io/kuberay-operator or"):
        await client.create(RAYJOBS, made(RAYJOBS, {"managedBy": "jobrelay.dev/relay"}))
    with pytest.raises(Invalid, match=r"must be ray.io/kuberay-operator or"):
        await client.create(RAYJOBS, made(RAYJOBS, {"rayClusterSpec": {"managedBy": "jobrelay.dev/relay"}}))
    await client.create(RAYJOBS, made(RAYJOBS, {"managedBy": MULTIKUEUE}))


async def test_the_manager_of_a_rayjob_may_be_dropped_but_not_changed(client: Client) -> None:
    await install_definitions(client, read_definitions(["kuberay"]).found)
    await client.create(RAYJOBS, made(RAYJOBS, {"managedBy": MULTIKUEUE}))
    with pytest.raises(Invalid, match="managedBy is immutable"):
        await client.patch(RAYJOBS, "a", merge_patch({"spec": {"managedBy": "ray.io/kuberay-operator"}}), "default")
    await client.patch(RAYJOBS, "a", merge_patch({"spec": {"managedBy": None}}), "default")


def test_a_folder_is_read_without_its_subfolders(tmp_path: pathlib.Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path / "a.yaml", crd("as"))
    write(tmp_path / "b.yml", crd("bs"))
    write(tmp_path / "below" / "c.yaml", crd("cs"))
    (tmp_path / "readme.md").write_text("no")
    assert [each.name for each in read_definitions([str(tmp_path)]).found] == ["as.test.example", "bs.test.example"]


def test_other_objects_are_counted(tmp_path: pathlib.Path) -> None:
    source = write(tmp_path / "a.yaml", {"kind": "Namespace", "apiVersion": "v1"}, crd(), {"kind": "Deployment"})
    read = read_definitions([source])
    assert [each.source for each in read.found] == [f"{source}, document 2"]
    assert read.left_out == {source: 2}


def test_a_list_is_read(tmp_path: pathlib.Path) -> None:
    source = write(tmp_path / "a.yaml", {"kind": "List", "apiVersion": "v1", "items": [crd("as"), crd("bs")]})
    assert [each.source for each in read_definitions([source]).found] == [f"{source}, items[0]", f"{source}, items[1]"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: [", r"a.yaml is not YAML: "),
        ("a: 1", r"a.yaml is not a Kubernetes object: it has no kind"),
        ("kind: Pod", r"a.yaml has no CustomResourceDefinition"),
        ("", r"a.yaml has no CustomResourceDefinition"),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1", r"v1beta1' are not served"),
        ("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1", r"no metadata.name"),
        ("kind: Pod\n---\n- 1", r"a.yaml, document 2 is not a Kubernetes object"),
    ],
)
def test_an_error_names_the_file_and_the_document(tmp_path: pathlib.Path, text: str, words: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(OperateError, match=words):
        read_definitions([str(tmp_path / "a.yaml")])


def test_an_unknown_name_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(OperateError, match="'jobsets' is neither a file or folder nor the name") as raised:
        read_definitions(["jobsets"])
    assert raised.value.hint == f"names are {', '.join(KNOWN)}"


def test_a_kind_that_is_defined_twice_is_an_error(tmp_path: pathlib.Path) -> None:
    source = write(tmp_path / "a.yaml", make_definitions("jobset")[0])
    with pytest.raises(OperateError, match=r"jobsets.jobset.x-k8s.io is defined twice: by jobset and by .*a.yaml"):
        read_definitions(["jobset", source])


def test_an_empty_folder_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OperateError, match="has no YAML or JSON files"):
        read_definitions([str(tmp_path)])
