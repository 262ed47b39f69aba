"""The line of a write: immutable requests, and steps in the real server's order."""

from __future__ import annotations

import pytest

from jobrelay.cluster.apiserver.admission import CREATE, DELETE, UPDATE
from jobrelay.cluster.apiserver.request import UserInfo, received

from .serving import CONFIGMAPS, Server, binding, config, role

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
