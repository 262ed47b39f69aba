"""Who may do what: RBAC, escalation, impersonation, reviews."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.request import UserInfo

from .serving import ADMIN, CONFIGMAPS, MERGE, Obj, Server, binding, config, role

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
ALICE = UserInfo("alice", ("staff",))


async def allow(server: Server, *rules: Obj) -> None:
    """Gives alice rules in the default namespace."""
    await server.ok("POST", ROLES, role(*rules))
    await server.ok("POST", BINDINGS, binding("alice"))


@pytest.mark.parametrize(
    ("method", "path", "subject", "action"),
    [
        ("GET", CONFIGMAPS, "configmaps is ", 'list resource "configmaps" in API group "" in the namespace "default"'),
        (
            "GET", f"{CONFIGMAPS}/a", 'configmaps "a" is ',
            'get resource "configmaps" in API group "" in the namespace "default"',
        ),
        (
            "DELETE", "/apis/batch/v1/jobs", "jobs.batch is ",
            'deletecollection resource "jobs" in API group "batch" at the cluster scope',
        ),
        (
            "PUT", "/apis/batch/v1/namespaces/n/jobs/j/status", 'jobs.batch "j" is ',
            'update resource "jobs/status" in API group "batch" in the namespace "n"',
        ),
        ("GET", "/metrics", "", 'get path "/metrics"'),
    ],
)  # fmt: skip
async def test_nothing_is_allowed_that_no_rule_allows(
    server: Server, method: str, path: str, subject: str, action: str
) -> None:
    answer = await server.call(method, path, user=ALICE)
    text = f'{subject}forbidden: User "alice" cannot {action}'
    assert (answer.code, answer.reason, answer.message) == (403, "Forbidden", text)


async def test_a_role_and_a_binding_allow(server: Server) -> None:
    await allow(server, READ)
    assert (await server.call("GET", CONFIGMAPS, user=ALICE)).code == 200
    assert (await server.call("POST", CONFIGMAPS, config(), user=ALICE)).code == 403
    assert (await server.call("GET", "/api/v1/namespaces/kube-system/configmaps", user=ALICE)).code == 403
    assert (await server.call("GET", CONFIGMAPS, user=UserInfo("bob"))).code == 403


async def test_rights_end_with_the_binding(server: Server) -> None:
    await allow(server, READ)
    await server.ok("DELETE", f"{BINDINGS}/b")
    assert (await server.call("GET", CONFIGMAPS, user=ALICE)).code == 403


async def test_a_binding_to_a_group_and_to_a_cluster_role(server: Server) -> None:
    await server.ok("POST", f"{RBAC}/clusterroles", role(READ, name="reader", kind="ClusterRole"))
    bound = binding("staff", "reader", kind="ClusterRoleBinding", role_kind="ClusterRole")
    bound["subjects"][0]["kind"] = "Group"
    await server.ok("POST", f"{RBAC}/clusterrolebindings", bound)
    assert (await server.call("GET", "/api/v1/configmaps", user=ALICE)).code == 200


async def test_names_of_objects_limit_a_rule(server: Server) -> None:
    await allow(server, {**READ, "resourceNames": ["a"]})
    for name in "ab":
        await server.ok("POST", CONFIGMAPS, config(name))
    assert (await server.call("GET", f"{CONFIGMAPS}/a", user=ALICE)).code == 200
    assert (await server.call("GET", f"{CONFIGMAPS}/b", user=ALICE)).code == 403
    assert (await server.call("GET", CONFIGMAPS, user=ALICE)).code == 403
    assert (await server.call("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name=a", user=ALICE)).names == ["a"]


async def test_a_missing_role_is_told(server: Server) -> None:
    await server.ok("POST", BINDINGS, binding("alice", "none"))
    answer = await server.call("GET", CONFIGMAPS, user=ALICE)
    assert answer.message.endswith('in the namespace "default": RBAC: role.rbac.authorization.k8s.io "none" not found')


async def test_aggregated_roles_collect_rules(server: Server) -> None:
    controllers = server.start_controllers()
    whole = role(name="whole", kind="ClusterRole")
    del whole["rules"]
    whole["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"into": "whole"}}]}
    part = role(READ, name="part", kind="ClusterRole")
    part["metadata"]["labels"] = {"into": "whole"}
    for sent in (whole, part):
        await server.ok("POST", f"{RBAC}/clusterroles", sent)
    await server.settle()
    assert (await server.ok("GET", f"{RBAC}/clusterroles/whole"))["rules"] == [READ]
    controllers.stop()


async def test_nobody_grants_what_they_do_not_hold(server: Server) -> None:
    everything = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create", "get", "update"]}
    await allow(server, everything, READ)
    assert (await server.call("POST", ROLES, role(READ, name="fine"), user=ALICE)).code == 201
    answer = await server.call("POST", ROLES, role({**READ, "verbs": ["delete"]}, name="more"), user=ALICE)
    assert (answer.code, "is attempting to grant RBAC permissions not currently held" in answer.message) == (403, True)
    answer = await server.call("POST", BINDINGS, binding("bob", "admin", role_kind="ClusterRole", name="c"), user=ALICE)
    assert (answer.code, "is attempting to grant RBAC permissions not currently held" in answer.message) == (403, True)


@pytest.mark.parametrize(("verb", "resource"), [("escalate", "roles"), ("bind", "clusterroles")])
async def test_rights_to_grant_rights(server: Server, verb: str, resource: str) -> None:
    group = "rbac.authorization.k8s.io"
    writing = {"apiGroups": [group], "resources": ["roles", "rolebindings"], "verbs": ["create"]}
    await allow(server, writing, {"apiGroups": [group], "resources": [resource], "verbs": [verb]})
    path, sent = (
        (ROLES, role(READ, name="more"))
        if verb == "escalate"
        else (BINDINGS, binding("bob", "admin", role_kind="ClusterRole", name="c"))
    )
    assert (await server.call("POST", path, sent, user=ALICE)).code == 201


async def test_anonymous_sees_health_and_version(server: Server) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert (await server.call("GET", path, user=None)).code == 200
    answer = await server.call("GET", "/api", user=None)
    assert answer.message == 'forbidden: User "system:anonymous" cannot get path "/api"'


async def test_every_user_can_discover(server: Server) -> None:
    for path in ("/api", "/apis", "/api/v1", "/apis/batch/v1", "/version"):
        assert (await server.call("GET", path, user=ALICE)).code == 200


async def test_an_admin_acts_as_another(server: Server) -> None:
    await allow(server, READ)
    assert (await server.call("GET", CONFIGMAPS, headers={"Impersonate-User": "alice"})).code == 200
    answer = await server.call("POST", CONFIGMAPS, config(), headers={"Impersonate-User": "alice"})
    assert 'User "alice" cannot create resource "configmaps"' in answer.message


async def test_impersonation_needs_a_right(server: Server) -> None:
    answer = await server.call("GET", CONFIGMAPS, user=ALICE, headers={"Impersonate-User": "bob"})
    assert (
        answer.message == 'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


async def test_groups_are_not_impersonated_without_a_user(server: Server) -> None:
    answer = await server.call("GET", CONFIGMAPS, headers={"Impersonate-Group": "g"})
    assert (answer.code, "without impersonating a user" in answer.message) == (400, True)


async def whoami(server: Server, **more: object) -> Obj:
    body = await server.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, **more)
    info: Obj = body["status"]["userInfo"]
    return info


async def test_everybody_can_ask_who_they_are(server: Server) -> None:
    headers = {
        "Impersonate-User": "x",
        "Impersonate-Group": ["g", "h"],
        "Impersonate-Uid": "1",
        "Impersonate-Extra-Scopes": "s",
    }
    assert await whoami(server, user=ALICE) == {"username": "alice", "groups": ["staff", "system:authenticated"]}
    assert await whoami(server, headers=headers) == {
        "username": "x", "uid": "1", "groups": ["g", "h", "system:authenticated"], "extra": {"scopes": ["s"]},
    }  # fmt: skip


async def can(server: Server, attributes: Obj, user: UserInfo = ALICE) -> Obj:
    spec = {"spec": {"resourceAttributes": attributes}}
    body = await server.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", spec, user=user)
    status: Obj = body["status"]
    return status


async def test_everybody_can_ask_what_they_may(server: Server) -> None:
    await allow(server, READ)
    wanted = {"verb": "get", "resource": "configmaps", "namespace": "default"}
    assert await can(server, wanted) == {
        "allowed": True, "reason": 'RBAC: allowed by RoleBinding "b/default" of Role "r" to User "alice"',
    }  # fmt: skip
    assert await can(server, {**wanted, "verb": "delete"}) == {"allowed": False}
    assert await can(server, {**wanted, "verb": "delete"}, ADMIN) == {"allowed": True}


async def test_an_admin_asks_about_others(server: Server) -> None:
    spec = {"user": "bob", "nonResourceAttributes": {"verb": "get", "path": "/healthz"}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert (await server.ok("POST", path, {"spec": spec}))["status"]["allowed"] is False
    spec["groups"] = ["system:authenticated"]
    assert (await server.ok("POST", path, {"spec": spec}))["status"]["allowed"] is True
    answer = await server.call("POST", path, {"spec": {}})
    assert (answer.code, answer.message.startswith('.authorization.k8s.io "" is invalid')) == (422, True)


async def test_rules_are_listed(server: Server) -> None:
    await allow(server, READ)
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = (await server.ok("POST", path, {"spec": {"namespace": "default"}}, user=ALICE))["status"]
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]} in status["resourceRules"]
    assert (await server.call("POST", path, {"spec": {}}, user=ALICE)).message == "no namespace on request"


async def test_the_role_of_a_binding_cannot_be_changed(server: Server) -> None:
    await allow(server, READ)
    answer = await server.call("PATCH", f"{BINDINGS}/b", {"roleRef": {"name": "other"}}, media=MERGE)
    assert (answer.code, "cannot change roleRef" in answer.message) == (422, True)
