"""What writes of roles, creates by update and connections to pods need; each answer is that of kube-apiserver
v1.35.4."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.cluster.apiserver.request import UserInfo

from .serving import (
    APPLY,
    CONFIGMAPS,
    JSON,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    Obj,
    Server,
    binding,
    config,
    pod,
    role,
)

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = f"/apis/{GROUP}/v1/clusterroles"
CLUSTER_BINDINGS = f"/apis/{GROUP}/v1/clusterrolebindings"
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
BINDINGS = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ALICE = UserInfo("alice", ("staff",))
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
READ = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
NOT_HELD = (
    'is forbidden: user "alice" (groups=["staff" "system:authenticated"]) is attempting to grant RBAC permissions not '
    'currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
)
NOT_ADMIN = "is forbidden: must have cluster-admin privileges to use the aggregationRule"
INTO_VIEW = {"metadata": {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}}
SELECTS: Obj = {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}


def rule(verbs: list[str], *resources: str, group: str = "", names: list[str] | None = None) -> Obj:
    made: Obj = {"apiGroups": [group], "resources": list(resources), "verbs": verbs}
    return made | ({"resourceNames": names} if names else {})


async def grant(server: Server, *rules: Obj, name: str = "granted") -> None:
    """Gives alice rules everywhere."""
    await server.ok("POST", CLUSTER_ROLES, role(*rules, name=name, kind="ClusterRole"))
    bound = binding("alice", name, kind="ClusterRoleBinding", role_kind="ClusterRole", name=name)
    await server.ok("POST", CLUSTER_BINDINGS, bound)


@pytest.fixture
async def roles(server: Server) -> Server:
    """Alice writes roles and bindings; there are some that grant what she does not hold."""
    kinds = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    await grant(server, rule(["create", "update", "patch", "get"], *kinds, group=GROUP), READ)
    await server.ok("POST", CLUSTER_ROLES, role(SECRETS, name="strong", kind="ClusterRole"))
    await server.ok("POST", CLUSTER_ROLES, role(name="whole", kind="ClusterRole") | {"aggregationRule": SELECTS})
    await server.ok("POST", ROLES, role(SECRETS, name="strong"))
    await server.ok("POST", BINDINGS, binding("bob", "strong", role_kind="ClusterRole", name="strong"))
    return server


def applied(name: str, **more: Any) -> Obj:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": metadata, **more}


STRONG = f"{CLUSTER_ROLES}/strong"
LABELLED = role(SECRETS, name="strong", kind="ClusterRole")
LABELLED["metadata"]["labels"] = {"a": "b"}


@pytest.mark.parametrize(
    ("method", "path", "body", "media", "code", "why"),
    [
        ("PATCH", STRONG, INTO_VIEW, MERGE, 403, NOT_HELD),
        ("PATCH", STRONG, INTO_VIEW, STRATEGIC, 403, NOT_HELD),
        ("PATCH", STRONG, [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}], JSON_PATCH, 403, NOT_HELD),
        ("PATCH", f"{STRONG}?fieldManager=f", applied("strong", **INTO_VIEW), APPLY, 403, NOT_HELD),
        ("PUT", STRONG, LABELLED, JSON, 403, NOT_HELD),
        ("PATCH", STRONG, {"metadata": {"annotations": {"a": "b"}}}, MERGE, 403, NOT_HELD),
        ("PATCH", f"{ROLES}/strong", {"metadata": {"labels": {"a": "b"}}}, MERGE, 403, NOT_HELD),
        ("PATCH", f"{BINDINGS}/strong", {"metadata": {"labels": {"a": "b"}}}, MERGE, 403, NOT_HELD),
        ("PATCH", STRONG, {"aggregationRule": SELECTS}, MERGE, 403, NOT_HELD),
        ("PATCH", f"{CLUSTER_ROLES}/whole", {"metadata": {"labels": {"a": "b"}}}, MERGE, 403, NOT_ADMIN),
        ("PATCH", f"{CLUSTER_ROLES}/whole", {"rules": [READ]}, MERGE, 403, NOT_ADMIN),
        ("PATCH", f"{CLUSTER_ROLES}/whole", {"aggregationRule": None}, MERGE, 403, NOT_ADMIN),
        ("POST", CLUSTER_ROLES, applied("n", aggregationRule=SELECTS), JSON, 403, NOT_ADMIN),
        ("POST", CLUSTER_ROLES, applied("n", aggregationRule=SELECTS, rules=[SECRETS]), JSON, 403, NOT_HELD),
        ("PATCH", STRONG, {}, MERGE, 200, ""),
        ("PATCH", STRONG, {"metadata": {"finalizers": ["x.io/y"], "ownerReferences": [OWNER]}}, MERGE, 200, ""),
        ("PATCH", STRONG, {"rules": []}, MERGE, 200, ""),
        ("POST", CLUSTER_ROLES, applied("n", rules=[READ], **INTO_VIEW), JSON, 201, ""),
    ],
)  # fmt: skip
async def test_any_change_of_a_role_needs_the_rights_that_it_grants(
    roles: Server, method: str, path: str, body: Any, media: str, code: int, why: str
) -> None:
    answer = await roles.call(method, path, body, user=ALICE, media=media)
    assert (answer.code, answer.message.partition('" ')[2]) == (code, why)


async def test_the_right_to_escalate_one_role_does_not_create_it_by_post(roles: Server) -> None:
    await grant(roles, rule(["escalate"], "clusterroles", group=GROUP, names=["named"]), name="named-only")
    sent = role(SECRETS, name="named", kind="ClusterRole")
    assert (await roles.call("POST", CLUSTER_ROLES, sent, user=ALICE)).message.partition('" ')[2] == NOT_HELD
    assert (await roles.call("PUT", f"{CLUSTER_ROLES}/named", sent, user=ALICE)).code == 201


LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}


@pytest.mark.parametrize("dry", ["", "dryRun=All"])
@pytest.mark.parametrize(
    ("method", "path", "body", "media", "resource", "group"),
    [
        ("PATCH", f"{CONFIGMAPS}/a?fieldManager=f", config(), APPLY, "configmaps", ""),
        ("PUT", f"{LEASES}/a", LEASE, JSON, "leases", "coordination.k8s.io"),
        ("PUT", f"{ROLES}/a", role(name="a"), JSON, "roles", GROUP),
    ],
)
async def test_an_update_that_creates_needs_create(
    server: Server, method: str, path: str, body: Obj, media: str, resource: str, group: str, dry: str
) -> None:
    await grant(server, rule(["update", "patch"], resource, group=group))
    path += ("&" if "?" in path else "?") + dry
    answer = await server.call(method, path, body, user=ALICE, media=media)
    known = f"{resource}.{group}" if group else resource
    text = f'{known} "a" is forbidden: User "alice" cannot create resource "{resource}" in API group "{group}" in the '
    assert (answer.code, answer.message) == (403, f'{text}namespace "default"')
    assert answer.body["details"]["name"] == "a"
    await grant(server, rule(["create"], resource, group=group, names=["a"]), name="creator")
    assert (await server.call(method, path, body, user=ALICE, media=media)).code in (200, 201)


async def test_what_is_wrong_with_an_object_comes_before_the_right_to_create_it(server: Server) -> None:
    await grant(server, rule(["patch"], "configmaps"))
    bad = config() | {"data": {"bad key": "x"}}
    assert (await server.call("PATCH", f"{CONFIGMAPS}/a?fieldManager=f", bad, user=ALICE, media=APPLY)).code == 422


WEBSOCKET = {"Connection": "Upgrade", "Upgrade": "websocket"}


@pytest.mark.parametrize("headers", [{}, WEBSOCKET], ids=["plain", "websocket"])
@pytest.mark.parametrize("what", ["exec", "attach", "portforward"])
async def test_connecting_by_get_needs_create(server: Server, what: str, headers: dict[str, str]) -> None:
    await server.ok("POST", PODS, pod())
    await grant(server, rule(["get"], f"pods/{what}"))
    for name in ("p", "missing"):
        answer = await server.call("GET", f"{PODS}/{name}/{what}?command=true", user=ALICE, headers=headers)
        assert (answer.code, answer.message) == (403, f'pods "{name}" is forbidden: ')
    await grant(server, rule(["create"], f"pods/{what}"), name="creator")
    answer = await server.call("GET", f"{PODS}/p/{what}?command=true", user=ALICE, headers=headers)
    assert (answer.code, answer.message) == (400, "pod p does not have a host assigned")
