"""What kustomize and Helm make of the files in deploy/, by the real programs, and that a real API server takes it."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.operate.kinds import KindFile
from jobrelay.operate.management import Installation, management_manifests
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.workloads.declared import decode_description
from tests.apimachinery.documents import documents
from tests.real.clusters import Planes, programs, reached
from tests.relay.fleets import NAMESPACE

from .fleets import make_namespaces

pytestmark = pytest.mark.real
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
HELM = "helm.sh/helm/v3/cmd/helm"


def _run(*line: object, stdin: str = "") -> str:
    done = subprocess.run([str(each) for each in line], input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _by_name(made: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


def _by_place(made: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in made}


def _helm() -> str:
    found = shutil.which("helm") or shutil.which("helm", path=str(programs()))
    if found is None:
        pytest.skip(f"Helm is not on PATH: `go install {HELM}@latest` builds it")
    return found


def _kustomized() -> str:
    return _run(programs() / "kubectl", "kustomize", DEPLOY / "kustomize")


def _charted(*more: str, namespace: str = NAMESPACE) -> str:
    line = (_helm(), "template", "jobrelay", DEPLOY / "helm", "--kube-version=1.35", "--namespace", namespace)
    return _run(*line, "--include-crds", *more)


def test_kustomize_makes_what_install_prints() -> None:
    assert _by_name(documents(_kustomized())) == _by_name(management_manifests(Installation()))


def test_helm_makes_what_install_prints_but_for_the_namespace() -> None:
    values = {"image": "r.example/j:1", "replicas": 3, "arguments": ["--fencing", "--keep-finished=1h"]}
    chosen = (f"--set-json={name}={json.dumps(value)}" for name, value in values.items())
    found = _by_name(documents(_charted(*chosen, namespace="elsewhere")))
    wanted = _by_name(
        management_manifests(Installation("elsewhere", "r.example/j:1", 3, ("--fencing", "--keep-finished=1h")))
    )
    assert found == {key: each for key, each in wanted.items() if key[0] != "Namespace"}


def test_helm_makes_what_install_prints_for_further_kinds_and_copies() -> None:
    rules = ["ConfigMap", "Secret:team-a,team-b", "Pipeline:team-a"]
    described = (EXAMPLES / "kinds" / "render.yaml").read_text()
    values = {"copies": rules, "kinds": [yaml.load(described)]}
    found = _by_place(documents(_charted(*(f"--set-json={name}={json.dumps(each)}" for name, each in values.items()))))
    kind = KindFile(decode_description(described, "render.yaml").api_resource, described)
    wanted = _by_place(management_manifests(Installation(copies=parse_rules(rules), kinds=(kind,))))
    told = found["ConfigMap", NAMESPACE, "jobrelay-kinds"].pop("data")
    assert yaml.load(told[kind.key]) == yaml.load(
        wanted["ConfigMap", NAMESPACE, "jobrelay-kinds"].pop("data")[kind.key]
    )
    assert found == {key: each for key, each in wanted.items() if key[0] != "Namespace"}


@pytest.mark.parametrize(("copied", "told"), [("Secret", "namespaces that are named"), ("Pod", "Pod cannot be copied")])
def test_helm_refuses_what_cannot_be_copied(copied: str, told: str) -> None:
    line = [
        _helm(),
        "template",
        "jobrelay",
        str(DEPLOY / "helm"),
        "--kube-version=1.35",
        f'--set-json=copies=["{copied}"]',
    ]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, told in done.stderr) == (1, True)


@pytest.mark.parametrize("render", [_kustomized, _charted])
async def test_a_real_api_server_takes_it(planes: Planes, render: Any) -> None:
    async with reached(planes.get(["management"])[0]) as real:
        await make_namespaces(real.client(), NAMESPACE)
        line = ("--kubeconfig", real.kubeconfig, "apply", "--server-side", "--force-conflicts", "--dry-run=server")
        told = _run(programs() / "kubectl", *line, "-f", "-", stdin=render())
        assert "deployment.apps/jobrelay serverside-applied" in told
