"""kubectl auth, and what someone with few rights gets to see."""

from __future__ import annotations

import base64
import pathlib

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def robot(kubectl: Kubectl, tmp_path: pathlib.Path) -> Kubectl:
    """kubectl as a ServiceAccount that may read pods of its namespace, by a token."""
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "readers", "--verb=get,list,watch", "--resource=pods")
    kubectl("create", "rolebinding", "robots", "--role=readers", f"--serviceaccount={kubectl.namespace}:robot")
    token = kubectl("create", "token", "robot").strip()
    return kubectl.using(_with_token(kubectl.kubeconfig, token, tmp_path / "robot.kubeconfig"))


def test_the_admin_may_do_all(admin: Kubectl) -> None:
    assert admin("auth", "can-i", "*", "*") == "yes\n"
    assert ["*.*", "[]", "[]", "[*]"] in [line.split() for line in admin("auth", "can-i", "--list").splitlines()]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("list pods", "yes"),
        ("get pods/p", "yes"),
        ("create pods", "no"),
        ("list pods --subresource=log", "no"),
        ("list secrets", "no"),
        ("get /healthz", "yes"),
        ("get /metrics", "no"),
    ],
)
def test_questions_of_the_robot(robot: Kubectl, question: str, answer: str) -> None:
    assert robot.run("auth", "can-i", *question.split()).stdout.split("\n")[0].split(" ")[0] == answer


def test_rights_of_the_robot(robot: Kubectl) -> None:
    lines = [line.split() for line in robot("auth", "can-i", "--list").splitlines()]
    assert ["pods", "[]", "[]", "[get", "list", "watch]"] in lines
    assert ["selfsubjectaccessreviews.authorization.k8s.io", "[]", "[]", "[create]"] in lines


def test_questions_for_someone_else(kubectl: Kubectl, robot: Kubectl) -> None:
    robot_name = f"system:serviceaccount:{kubectl.namespace}:robot"
    assert kubectl("auth", "can-i", "list", "pods", f"--as={robot_name}") == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "pods", f"--as={robot_name}").stdout == "no\n"
    assert kubectl("auth", "can-i", "delete", "pods", "--as=x", "--as-group=system:masters") == "yes\n"


def test_who_the_robot_is(robot: Kubectl) -> None:
    status = robot.object("auth", "whoami")["status"]["userInfo"]
    assert status["username"] == f"system:serviceaccount:{robot.namespace}:robot"
    assert f"system:serviceaccounts:{robot.namespace}" in status["groups"]


def test_who_the_admin_is(admin: Kubectl) -> None:
    assert "system:masters" in admin("auth", "whoami")


def test_what_is_allowed(robot: Kubectl) -> None:
    assert robot("get", "pods") == ""


def test_what_is_forbidden(robot: Kubectl) -> None:
    who = f'User "system:serviceaccount:{robot.namespace}:robot"'
    where = f'in the namespace "{robot.namespace}"'
    error = robot.error("get", "secrets")
    assert (
        error == f"Error from server (Forbidden): secrets is forbidden: {who} cannot list resource "
        f'"secrets" in API group "" {where}\n'
    )
    error = robot.error("delete", "pod", "p")
    assert f'pods "p" is forbidden: {who} cannot delete resource "pods" in API group "" {where}' in error


def test_what_is_forbidden_in_the_whole_cluster(robot: Kubectl) -> None:
    assert 'cannot list resource "pods" in API group "" at the cluster scope' in robot.error("get", "pods", "-A")


def test_rights_that_one_does_not_have_cannot_be_given(kubectl: Kubectl, robot: Kubectl) -> None:
    kubectl("create", "role", "managers", "--verb=create,update", "--resource=roles,rolebindings")
    kubectl("create", "rolebinding", "managers", "--role=managers", f"--serviceaccount={kubectl.namespace}:robot")
    error = robot.error("create", "role", "thief", "--verb=get", "--resource=secrets")
    assert "is attempting to grant RBAC permissions not currently held" in error
    assert '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}' in error


def test_impersonation_needs_a_right(robot: Kubectl) -> None:
    assert 'cannot impersonate resource "users"' in robot.error("get", "pods", "--as=admin")


def test_a_wrong_token(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    stranger = kubectl.using(_with_token(kubectl.kubeconfig, "nonsense", tmp_path / "stranger.kubeconfig"))
    assert "You must be logged in to the server (Unauthorized)" in stranger.error("get", "--raw", "/api/v1/pods")


def test_reconcile_keeps_what_is_there(kubectl: Kubectl) -> None:
    kubectl("create", "role", "r", "--verb=get", "--resource=pods")
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": [rule]}
    role["metadata"] = {"name": "r", "namespace": kubectl.namespace}
    assert "reconciled" in kubectl("auth", "reconcile", "-f", "-", given=role)
    assert kubectl.value(".rules[*].verbs", "role", "r") == '["get"] ["list"]'


def test_a_certificate_request_is_approved(kubectl: Kubectl) -> None:
    name = f"csr-{kubectl.namespace}"
    spec = {"request": _request(), "signerName": "example.com/tests", "usages": ["client auth"]}
    given = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "spec": spec}
    kubectl("create", "-f", "-", given={**given, "metadata": {"name": name}})
    kubectl("certificate", "approve", name)
    assert kubectl.rows("get", "csr", name)[1][-1] == "Approved"
    kubectl("delete", "csr", name)


def _with_token(kubeconfig: pathlib.Path, token: str, path: pathlib.Path) -> pathlib.Path:
    written = yaml.safe_load(kubeconfig.read_text())
    written["users"] = [{"name": each["name"], "user": {"token": token}} for each in written["users"]]
    path.write_text(yaml.safe_dump(written))
    return path


def _request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
