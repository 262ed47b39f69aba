"""kubectl get in every output form, with selections, sorting and paging."""

from __future__ import annotations

import json

import pytest
import yaml

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl

KINDS = """nodes namespaces secrets serviceaccounts services endpoints events pvc pv limits quota rc podtemplates jobs
cronjobs deployments replicasets statefulsets daemonsets leases roles rolebindings clusterroles clusterrolebindings pc
pdb sc netpol ingress runtimeclasses deviceclasses crds validatingwebhookconfigurations hpa endpointslices csr"""


@pytest.fixture
def three(kubectl: Kubectl) -> Kubectl:
    """kubectl in a namespace with three ConfigMaps."""
    kinds = {"a": "x", "b": "x", "c": "y"}
    kubectl("create", "-f", "-", given=[config_map(name, labels={"kind": kind}) for name, kind in kinds.items()])
    return kubectl


def test_table(three: Kubectl) -> None:
    rows = three.rows("get", "configmaps", "-l", "kind=x")
    assert rows[0] == ["NAME", "DATA", "AGE"]
    assert [row[:2] for row in rows[1:]] == [["a", "1"], ["b", "1"]]


def test_no_rows(kubectl: Kubectl) -> None:
    done = kubectl.run("get", "jobs")
    assert done.stderr == f"No resources found in {kubectl.namespace} namespace.\n"


def test_table_without_head(three: Kubectl) -> None:
    assert three.rows("get", "cm", "a", "--no-headers")[0][:2] == ["a", "1"]


def test_wide_table_of_jobs(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=job("sleep", parallelism=2, completions=3))
    rows = kubectl.rows("get", "jobs", "-o", "wide")
    assert rows[0] == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert rows[1][0:3:2] == ["sleep", "0/3"]
    assert rows[1][-3:-1] == ["main", "busybox"]


def test_wide_table_of_pods(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=pod("p"))
    rows = kubectl.rows("get", "pods", "-o", "wide")
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert rows[1][:4] == ["p", "0/2", "Pending", "0"]


def test_yaml_of_one(three: Kubectl) -> None:
    found = yaml.safe_load(three("get", "cm", "a", "-o", "yaml"))
    assert found["data"] == {"colour": "red"}
    assert "managedFields" not in found["metadata"]


def test_yaml_with_managed_fields(three: Kubectl) -> None:
    found = yaml.safe_load(three("get", "cm", "a", "-o", "yaml", "--show-managed-fields"))
    assert found["metadata"]["managedFields"][0]["manager"] == "kubectl-create"


def test_json_of_several_is_a_list(three: Kubectl) -> None:
    found = three.object("get", "cm", "a", "c")
    assert found["kind"] == "List"
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "c"]


def test_names(three: Kubectl) -> None:
    assert three("get", "cm", "-l", "kind", "-o", "name").split() == ["configmap/a", "configmap/b", "configmap/c"]


def test_jsonpath(three: Kubectl) -> None:
    path = "jsonpath={range .items[*]}{.metadata.name}={.data.colour};{end}"
    assert three("get", "cm", "-l", "kind", "-o", path) == "a=red;b=red;c=red;"


def test_jsonpath_as_json(three: Kubectl) -> None:
    assert json.loads(three("get", "cm", "a", "-o", "jsonpath-as-json={.data}")) == [{"colour": "red"}]


def test_custom_columns(three: Kubectl) -> None:
    rows = three.rows("get", "cm", "-l", "kind=y", "-o", "custom-columns=WHO:.metadata.name,NONE:.spec.x")
    assert rows == [["WHO", "NONE"], ["c", "<none>"]]


def test_go_template(three: Kubectl) -> None:
    template = "go-template={{range .items}}{{.metadata.name}} {{end}}"
    assert three("get", "cm", "-l", "kind", "-o", template).split() == ["a", "b", "c"]


def test_sorting(three: Kubectl) -> None:
    three("label", "cm", "a", "kind=z", "--overwrite")
    rows = three.rows("get", "cm", "-l", "kind", "--sort-by=.metadata.labels.kind")
    assert [row[0] for row in rows[1:]] == ["b", "c", "a"]


def test_all_namespaces(three: Kubectl) -> None:
    rows = three.rows("get", "cm", "-A", "-l", "kind=y")
    assert rows[0][:2] == ["NAMESPACE", "NAME"]
    assert [three.namespace, "c"] in [row[:2] for row in rows]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("kind=x", "a b"),
        ("kind!=x,kind", "c"),
        ("kind in (x,y)", "a b c"),
        ("kind notin (x),kind", "c"),
        ("!kind", ""),
    ],
)
def test_label_selectors(three: Kubectl, selector: str, names: str) -> None:
    found = three("get", "cm", "-l", selector, "-o", "jsonpath={.items[*].metadata.name}").split()
    assert [name for name in found if name != "kube-root-ca.crt"] == names.split()


def test_field_selector(three: Kubectl) -> None:
    assert three("get", "cm", "--field-selector=metadata.name=b", "-o", "name") == "configmap/b\n"


def test_field_selector_that_a_kind_does_not_have(three: Kubectl) -> None:
    assert "field label not supported" in three.error("get", "pods", "--field-selector=spec.colour=red")


def test_label_columns(three: Kubectl) -> None:
    assert three.rows("get", "cm", "c", "-L", "kind")[1][-1] == "y"
    assert three.rows("get", "cm", "c", "--show-labels")[1][-1] == "kind=y"


def test_paging(three: Kubectl) -> None:
    done = three.run("get", "cm", "-l", "kind", "--chunk-size=1", "-v=6")
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["a", "b", "c"]
    assert done.stderr.count("continue=") >= 2


def test_several_kinds_at_once(three: Kubectl) -> None:
    three("create", "-f", "-", given=job("j"))
    text = three("get", "cm,jobs")
    assert "configmap/a" in text
    assert "job.batch/j" in text


def test_everything_of_a_category(three: Kubectl) -> None:
    three("create", "-f", "-", given=[job("j"), pod("p")])
    assert {"pod/p", "job.batch/j"} <= set(three("get", "all", "-o", "name").split())


def test_objects_of_a_file(three: Kubectl) -> None:
    assert three("get", "-f", "-", "-o", "name", given=config_map("a")) == "configmap/a\n"


def test_a_kind_with_its_group_and_version(three: Kubectl) -> None:
    three("create", "-f", "-", given=job("j"))
    for kind in ("job", "jobs.batch", "jobs.v1.batch", "Job"):
        assert three("get", kind, "j", "-o", "name") == "job.batch/j\n"


def test_an_object_that_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.error("get", "job", "x") == 'Error from server (NotFound): jobs.batch "x" not found\n'
    assert kubectl("get", "job", "x", "--ignore-not-found") == ""


def test_a_subresource(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
    assert kubectl.object("get", "deployment", "web", "--subresource=scale")["spec"]["replicas"] == 3


@pytest.mark.parametrize("kind", KINDS.split())
def test_every_kind_is_served(kubectl: Kubectl, kind: str) -> None:
    assert kubectl.object("get", kind)["kind"] == "List"
