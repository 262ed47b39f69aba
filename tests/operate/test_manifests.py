"""What `jobrelay install` makes, and the files made of it."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.cluster import Cluster
from jobrelay.operate.applying import Step, apply
from jobrelay.operate.identity import RelayIdentity, identity_manifests
from jobrelay.operate.kinds import KindFile
from jobrelay.operate.management import Installation, management_manifests
from jobrelay.operate.manifests import resource_of
from jobrelay.operate.roles import user_roles
from jobrelay.relay.api.names import FRONT_PROXY
from jobrelay.relay.workers import ensure_crds
from jobrelay.workloads.declared import decode_description
from jobrelay.workloads.kind_files import KIND_FILE
from tests.apimachinery.documents import documents
from tests.cli.command import run
from tools.deployfiles import deploy_files

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
READING = {"get", "list", "watch"}


def _kinds(made: list[dict[str, Any]]) -> list[str]:
    return [each["kind"] for each in made]


def _rules(made: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [rule for each in made if each["kind"] == kind for rule in each["rules"]]


@pytest.mark.parametrize("path", sorted(deploy_files()))
def test_files_are_up_to_date(path: str) -> None:
    assert (DEPLOY / path).read_text() == deploy_files()[path], "run `make deploy-files`"


def test_there_are_no_other_files() -> None:
    found = {str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()}
    monitoring = {f"monitoring/{name}" for name in ("alerts.yaml", "dashboard.json", "servicemonitor.yaml")}
    assert found == {*deploy_files(), "Dockerfile", "Dockerfile.dockerignore", *monitoring}


def test_kustomize_has_what_install_prints() -> None:
    found = [each for name in ("crds", "relay") for each in documents(deploy_files()[f"kustomize/{name}.yaml"])]
    assert found == management_manifests(Installation())


def _rendered(text: str, values: dict[str, Any], namespace: str) -> str:
    """A chart's template, as far as ours uses the language."""
    lists = {"arguments": values["arguments"], "copies": [f"--copy={each}" for each in values["copies"]]}
    for name, items in lists.items():
        shown = "".join(f"\n        - {json.dumps(each)}" for each in items)
        loop = rf"\n *\{{\{{- range \.Values\.{name} \}}\}}.*?\{{\{{- end \}}\}}"
        text = re.sub(loop, lambda _, shown=shown: shown, text, flags=re.DOTALL)  # type: ignore[misc]
    text = text.replace("{{ .Release.Namespace }}", namespace)
    text = text.replace("{{ .Values.image | quote }}", json.dumps(values["image"]))
    return text.replace("{{ .Values.replicas }}", str(values["replicas"]))


@pytest.mark.parametrize("arguments", [(), ("--fencing", "--keep-finished=1h")])
def test_the_chart_renders_to_what_install_prints(arguments: tuple[str, ...]) -> None:
    values = yaml.load(deploy_files()["helm/values.yaml"]) | {"arguments": list(arguments)}
    text = _rendered(deploy_files()["helm/templates/relay.yaml"], values, "elsewhere")
    assert "{{" not in text
    expected = management_manifests(Installation("elsewhere", arguments=arguments))
    wanted = [each for each in expected if each["kind"] not in ("CustomResourceDefinition", "Namespace")]
    assert documents(text) == wanted
    assert documents(deploy_files()["helm/crds/crds.yaml"]) == expected[:2]


async def test_an_api_server_takes_it_and_a_second_time_changes_nothing() -> None:
    async with Cluster(controllers="none") as cluster:
        client = cluster.client()
        await ensure_crds(client)
        for expected in ({"left as it is", "created"}, {"left as it is", "unchanged"}):
            steps: list[Step] = []
            await apply(client, management_manifests(Installation()), "management", steps.append, dry_run=False)
            assert {step.action for step in steps} == expected


async def test_the_pods_are_restricted_as_their_namespace_wants_it() -> None:
    namespace = next(each for each in management_manifests(Installation()) if each["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    pod = management_manifests(Installation())[-1]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert (container["livenessProbe"]["httpGet"]["path"], container["readinessProbe"]["httpGet"]["path"]) == (
        "/healthz",
        "/readyz",
    )


def test_the_relay_reads_secrets_nowhere_but_at_home() -> None:
    made = management_manifests(Installation())
    everywhere = [rule for rule in _rules(made, "ClusterRole") if rule.get("resourceNames") != [FRONT_PROXY]]
    assert not any({"secrets", "configmaps", "pods", "*"} & set(rule["resources"]) for rule in everywhere)
    assert not any({"create", "delete", "update", "*"} & set(rule["verbs"]) for rule in everywhere[:2])


def test_a_worker_is_given_nothing_cluster_wide_unless_asked() -> None:
    made = identity_manifests(RelayIdentity("jobrelay-x", "west", ("a",)))
    assert "ClusterRole" not in _kinds(made)
    wide = _rules(identity_manifests(RelayIdentity("jobrelay-x", "west", ("a",), cluster_wide=True)), "ClusterRole")
    assert [set(rule["verbs"]) for rule in wide] == [READING, READING]


def test_no_rule_names_secrets_or_everything() -> None:
    for rule in _rules(identity_manifests(RelayIdentity("jobrelay-x", "west", ("a", "b"), cluster_wide=True)), "Role"):
        assert not {"secrets", "*"} & {*rule["resources"], *rule["verbs"], *rule["apiGroups"]}


def test_the_policy_is_there_before_any_right_is() -> None:
    kinds = _kinds(identity_manifests(RelayIdentity("jobrelay-x", "west", ("a",))))
    assert kinds.index("ValidatingAdmissionPolicyBinding") < kinds.index("Role")


def test_a_described_kind_comes_with_its_config_map_and_its_rights() -> None:
    text = (EXAMPLES / "kinds" / "render.yaml").read_text()
    kind = decode_description(text, "render.yaml").api_resource
    made = management_manifests(Installation(kinds=(KindFile(kind, text),)))
    own = {each["kind"]: each for each in made if each["metadata"]["name"] == "jobrelay-kinds"}
    assert list(own) == ["ConfigMap", "ClusterRole", "ClusterRoleBinding"]
    assert own["ConfigMap"]["metadata"]["labels"][KIND_FILE] == "true"
    assert own["ConfigMap"]["data"] == {f"{kind}.yaml": text}
    granted = [(rule["resources"], rule["verbs"]) for rule in own["ClusterRole"]["rules"]]
    assert granted == [([kind.plural], ["get", "list", "watch", "patch"]), ([f"{kind.plural}/status"], ["patch"])]


def test_install_takes_files_with_kinds_and_says_what_is_wrong_with_one(tmp_path: pathlib.Path) -> None:
    file = EXAMPLES / "kinds" / "render.yaml"
    result = run("install", "--kind-file", str(file))
    assert "jobrelay-kinds" in {each["metadata"]["name"] for each in documents(result.stdout)}
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: WorkloadKind\n")
    assert "broken.yaml: missing field `apiVersion`" in run("install", "--kind-file", str(broken)).stderr
    twice = run("install", "--kind-file", str(file), "--kind-file", str(file))
    assert "two workload adapters are for renders.film.example.com" in twice.stderr


def test_every_kind_has_its_place() -> None:
    for each in management_manifests(Installation()) + identity_manifests(
        RelayIdentity("jobrelay-x", "west", ("a",), True)
    ):
        assert resource_of(each).kind == each["kind"]


def test_install_prints_yaml_that_can_be_piped() -> None:
    result = run("install", "--namespace", "elsewhere", "--image", "r.example/j:1", "--replicas", "3")
    assert result.returncode == 0
    chosen = Installation("elsewhere", "r.example/j:1", 3)
    assert documents(result.stdout) == management_manifests(chosen)


def test_the_api_is_registered_with_a_service_that_leads_to_its_port() -> None:
    made = {(each["kind"], each["metadata"]["name"]): each for each in management_manifests(Installation("here"))}
    spec = made["APIService", "v1.relay.jobrelay.dev"]["spec"]
    assert spec["service"] == {"namespace": "here", "name": "jobrelay-api", "port": 443}
    [container] = made["Deployment", "jobrelay"]["spec"]["template"]["spec"]["containers"]
    [port] = made["Service", "jobrelay-api"]["spec"]["ports"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert f"--api-listen=0.0.0.0:{ports[port['targetPort']]}" in container["args"]


def test_users_see_their_workloads_and_only_operators_the_workers() -> None:
    roles = {each["metadata"]["name"]: each for each in user_roles("jobrelay")}
    user = roles["jobrelay-user"]
    assert user["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert all("workers" not in rule["resources"] for rule in user["rules"])
    assert any("workers" in rule["resources"] for rule in roles["jobrelay-operator"]["rules"])
    assert {verb for rule in user["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def test_commands_in_pods_are_granted_to_who_edits_and_to_relays_that_are_let() -> None:
    commands = {each["metadata"]["name"]: each for each in user_roles("jobrelay")}["jobrelay-exec"]
    labels = {name for name in commands["metadata"]["labels"] if "aggregate-to" in name}
    assert labels == {f"rbac.authorization.k8s.io/aggregate-to-{role}" for role in ("edit", "admin")}
    plain, more = (
        identity_manifests(RelayIdentity("jobrelay-x", "west", ("a",), commands=let)) for let in (False, True)
    )
    added = [rule for rule in _rules(more, "Role") if rule not in _rules(plain, "Role")]
    assert added == [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}]
