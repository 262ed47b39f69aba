"""kubectl create: every noun it knows, files, folders, lists and streams."""

from __future__ import annotations

import json
import pathlib

import pytest

from .kubectl import Kubectl
from .objects import config_map, job, pod

pytestmark = pytest.mark.kubectl


@pytest.mark.parametrize(
    ("words", "kind", "path", "value"),
    [
        ("job x --image=busybox -- date -u", "job", ".spec.template.spec.containers[0].command", '["date","-u"]'),
        ("cronjob x --image=busybox --schedule=0/5?*?*?*?*", "cronjob", ".spec.concurrencyPolicy", "Allow"),
        ("configmap x --from-literal=a=b", "configmap", ".data", '{"a":"b"}'),
        ("secret generic x --from-literal=a=b", "secret", ".data.a", "Yg=="),
        (
            "secret docker-registry x --docker-username=u --docker-password=p",
            "secret",
            ".type",
            "kubernetes.io/dockerconfigjson",
        ),
        ("serviceaccount x", "serviceaccount", ".metadata.name", "x"),
        ("role x --verb=get,list --resource=pods,jobs.batch", "role", ".rules[1].apiGroups", '["batch"]'),
        ("rolebinding x --clusterrole=view --user=u", "rolebinding", ".subjects[0].name", "u"),
        ("quota x --hard=pods=2,cpu=1", "quota", ".spec.hard", '{"cpu":"1","pods":"2"}'),
        ("poddisruptionbudget x --selector=a=b --min-available=1", "pdb", ".spec.minAvailable", "1"),
        ("deployment x --image=nginx --replicas=2 --port=80", "deployment", ".spec.strategy.type", "RollingUpdate"),
        ("service clusterip x --tcp=80:8080", "service", ".spec.ports[0].targetPort", "8080"),
        ("service nodeport x --tcp=80", "service", ".spec.type", "NodePort"),
        ("service externalname x --external-name=example.com", "service", ".spec.externalName", "example.com"),
        ("ingress x --rule=example.com/a=web:80", "ingress", ".spec.rules[0].http.paths[0].pathType", "Exact"),
    ],
)
def test_nouns(kubectl: Kubectl, words: str, kind: str, path: str, value: str) -> None:
    kubectl("create", *(word.replace("?", " ") for word in words.split()))
    assert kubectl.value(path, kind, "x") == value


@pytest.mark.parametrize(
    ("words", "kind", "path", "value"),
    [
        ("namespace {}", "namespace", ".status.phase", "Active"),
        ("clusterrole {} --verb=get --resource=nodes", "clusterrole", ".rules[0].resources", '["nodes"]'),
        ("clusterrole {} --verb=get --non-resource-url=/logs", "clusterrole", ".rules[0].nonResourceURLs", '["/logs"]'),
        ("clusterrolebinding {} --clusterrole=view --group=g", "clusterrolebinding", ".roleRef.name", "view"),
        ("priorityclass {} --value=7 --description=d", "priorityclass", ".value", "7"),
    ],
)
def test_nouns_of_the_cluster(kubectl: Kubectl, words: str, kind: str, path: str, value: str) -> None:
    name = f"{kubectl.namespace}-{kind}"
    kubectl("create", *words.format(name).split())
    try:
        assert kubectl.value(path, kind, name) == value
    finally:
        kubectl("delete", kind, name, "--wait=false")


def test_a_job_of_a_cron_job(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "c", "--image=busybox", "--schedule=@daily")
    kubectl("create", "job", "j", "--from=cronjob/c")
    assert kubectl.value(".metadata.ownerReferences[0].name", "job", "j") == "c"
    assert kubectl.value(r".metadata.annotations.cronjob\.kubernetes\.io/instantiate", "job", "j") == "manual"


def test_a_token_is_a_signed_one(kubectl: Kubectl) -> None:
    assert kubectl("create", "token", "default", "--duration=10m").count(".") == 2


def test_a_token_of_nobody(kubectl: Kubectl) -> None:
    assert 'serviceaccounts "nobody" not found' in kubectl.error("create", "token", "nobody")


def test_run_makes_a_pod(kubectl: Kubectl) -> None:
    assert kubectl("run", "p", "--image=busybox", "--restart=Never") == "pod/p created\n"
    assert kubectl.value(".metadata.labels.run", "pod", "p") == "p"


def test_expose_makes_a_service(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--port=80")
    kubectl("expose", "deployment", "web")
    assert kubectl.value(".spec.selector", "service", "web") == '{"app":"web"}'
    assert kubectl.value(".spec.clusterIP", "service", "web").count(".") == 3


def test_autoscale_makes_an_autoscaler(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("autoscale", "deployment", "web", "--max=3", "--min=1", "--cpu-percent=50")
    assert kubectl.value(".spec.maxReplicas", "hpa", "web") == "3"


def test_what_is_there_already(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a")
    error = kubectl.error("create", "configmap", "a")
    assert error == 'error: failed to create configmap: configmaps "a" already exists\n'


def test_a_folder_of_files(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(config_map("a")))
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata:\n  name: b\nstringData:\n  k: v\n")
    assert kubectl("create", "-f", str(tmp_path)).splitlines() == ["configmap/a created", "secret/b created"]
    assert kubectl.value(".data.k", "secret", "b") == "dg=="


def test_a_list(kubectl: Kubectl) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": [config_map("a"), job("j")]}
    assert kubectl("create", "-f", "-", given=items).splitlines() == ["configmap/a created", "job.batch/j created"]


def test_a_list_that_kubectl_wrote(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[config_map("a", labels={"mine": "1"}), config_map("b", labels={"mine": "1"})])
    written = kubectl("get", "cm", "-l", "mine", "-o", "yaml").replace("resourceVersion:", "selfLink:")
    kubectl("delete", "cm", "-l", "mine")
    assert kubectl("create", "-f", "-", given=written).splitlines() == ["configmap/a created", "configmap/b created"]


def test_generated_names(kubectl: Kubectl) -> None:
    given = config_map("x")
    given["metadata"] = {"generateName": "made-"}
    names = {kubectl("create", "-f", "-", "-o", "name", given=given) for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("configmap/made-") for name in names)


def test_a_server_dry_run_shows_defaults_and_stores_nothing(kubectl: Kubectl) -> None:
    shown = kubectl.object("create", "-f", "-", "--dry-run=server", given=job("j"))
    assert shown["spec"]["backoffLimit"] == 6
    assert kubectl("get", "job", "j", "--ignore-not-found") == ""


def test_a_client_dry_run(kubectl: Kubectl) -> None:
    assert "kind: Job" in kubectl("create", "job", "j", "--image=x", "--dry-run=client", "-o", "yaml")


def test_errors_of_values_are_told_with_their_fields(kubectl: Kubectl) -> None:
    error = kubectl.error("create", "-f", "-", given=job("j", parallelism=-1, backoffLimit=-1))
    assert 'The Job "j" is invalid:' in error
    assert "* spec.parallelism: Invalid value: -1: must be greater than or equal to 0" in error
    assert "* spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0" in error


def test_unknown_and_duplicate_fields_are_refused(kubectl: Kubectl) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ncolour: red\n"
    assert 'unknown field "colour"' in kubectl.error("create", "-f", "-", given=text)


def test_an_unknown_kind(kubectl: Kubectl) -> None:
    given = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    assert 'no matches for kind "Gadget" in version "example.com/v1"' in kubectl.error("create", "-f", "-", given=given)


def test_a_pod_with_an_unknown_service_account(kubectl: Kubectl) -> None:
    error = kubectl.error("create", "-f", "-", given=pod("p", serviceAccountName="nobody"))
    assert 'serviceaccount "nobody" not found' in error


def test_a_namespace_that_is_not_there(kubectl: Kubectl) -> None:
    assert 'namespaces "no-such" not found' in kubectl.within("no-such").error("create", "configmap", "a")


def test_raw(kubectl: Kubectl) -> None:
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    assert json.loads(kubectl("create", "--raw", path, "-f", "-", given=config_map("a")))["metadata"]["name"] == "a"
