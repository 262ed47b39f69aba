"""The line of a write: immutable requests, and steps in the real server's order."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.admission import CREATE, DELETE, UPDATE
from jobrelay.cluster.apiserver.request import UserInfo, received

from .serving import CONFIGMAPS, MERGE, PODS, STRATEGIC, Server, binding, config, pod, role

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
ALICE = UserInfo("alice")


@pytest.mark.parametrize("field", ["body", "user", "info", "headers"])
def test_a_request_cannot_be_changed(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(received("GET", "/api", {}), field, None)


@pytest.mark.parametrize("chain", [CREATE, UPDATE, DELETE])
def test_each_step_is_in_its_chain_once_and_by_name(chain: tuple[tuple[object, ...], ...]) -> None:
    names = [step.__name__ for part in chain for step in part]  # type: ignore[attr-defined]
    assert len(set(names)) == len(names)
    assert "<lambda>" not in names


async def test_a_stale_update_that_grants_too_much_is_forbidden_before_it_is_a_conflict(server: Server) -> None:
    rules = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["update"]}
    made = await server.ok("POST", ROLES, role(rules))
    await server.ok("POST", BINDINGS, binding("alice"))
    made["metadata"]["resourceVersion"] = "1"
    made["rules"].append({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]})
    assert (await server.call("PUT", f"{ROLES}/r", made, user=ALICE)).code == 403
    assert (await server.call("PUT", f"{ROLES}/r", made)).code == 409


async def test_warnings_of_decoding_come_with_the_refusal_of_admission(server: Server) -> None:
    sent = {**config(), "colour": "red", "metadata": {"name": "Not_A_Name"}}
    answer = await server.call("POST", CONFIGMAPS, sent)
    assert (answer.code, answer.warnings) == (422, ['unknown field "colour"'])


RANGES = "/api/v1/namespaces/default/limitranges"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


async def test_a_claim_is_held_to_its_limits_when_it_changes(server: Server) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await server.ok("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    bounds = {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}}
    await server.ok("POST", RANGES, {"metadata": {"name": "l"}, "spec": {"limits": [bounds]}})
    label = {"metadata": {"labels": {"a": "b"}}}
    answer = await server.call("PATCH", f"{CLAIMS}/c", label, media=MERGE)
    why = "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"
    assert (answer.code, answer.message) == (403, f'persistentvolumeclaims "c" is forbidden: {why}')
    await server.ok("DELETE", f"{CLAIMS}/c")
    assert (await server.call("PATCH", f"{CLAIMS}/c", label, media=MERGE)).code == 200


async def test_a_pod_is_held_to_its_limits_when_it_is_resized(server: Server) -> None:
    small = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    await server.ok("POST", PODS, pod(containers=[{"name": "c", "image": "i", "resources": small}]))
    bounds = {"type": "Container", "max": {"cpu": "2"}}
    await server.ok("POST", RANGES, {"metadata": {"name": "l"}, "spec": {"limits": [bounds]}})
    large = {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}
    change = {"spec": {"containers": [{"name": "c", "resources": large}]}}
    answer = await server.call("PATCH", f"{PODS}/p/resize", change, media=STRATEGIC)
    assert (answer.code, answer.message) == (
        403, 'pods "p" is forbidden: maximum cpu usage per Container is 2, but limit is 3'
    )  # fmt: skip
    assert (await server.call("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, media=MERGE)).code == 200
