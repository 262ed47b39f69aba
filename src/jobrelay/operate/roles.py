"""The rights that the API for users needs, and the roles of the people who use it."""

from __future__ import annotations

from typing import Final

from jobrelay.kube.resource import APISERVICES
from jobrelay.operate.kinds import installed_kinds, kind_rules
from jobrelay.operate.manifests import Manifest, role, rule
from jobrelay.relay.api.names import API_SERVICE, FRONT_PROXY, GROUP

__all__ = ["api_rules", "user_roles"]

_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
_OF_USERS: Final = "activity overview workloads workloads/events workloads/log"


def api_rules() -> list[Manifest]:
    """The relay's: token and access reviews, the front proxy's ConfigMap, the events of what callers may see, and
    its own registration.

    The front proxy is described in namespace kube-system. It is no role there, since kustomize and Helm put all roles
    of an application into one namespace.
    """
    return [
        rule("authentication.k8s.io", "tokenreviews", "create"),
        rule("authorization.k8s.io", "subjectaccessreviews", "create"),
        rule("", "configmaps", "get list watch", FRONT_PROXY),
        rule("", "events", "list"),
        rule(APISERVICES.group, APISERVICES.plural, "get list watch patch", API_SERVICE),
    ]


def user_roles(name: str) -> list[Manifest]:
    """The roles of people: users see their workloads, operators all of them, and the workers.

    Users see nothing that they may not see of the originals too, so their role is part of view, edit and admin. To ask
    what would become of a workload, and to run commands in pods, is part of edit and admin, as it is of the same roles
    to create workloads and to run commands in the pods of a cluster itself.
    """
    operator = [
        rule(GROUP, f"{_OF_USERS} workers", "get list"),
        rule(GROUP, "activity", "watch"),
        rule(GROUP, "previews", "create"),
        *kind_rules(installed_kinds(), "get list watch"),
        rule("kueue.x-k8s.io", "multikueueclusters multikueueconfigs", "get list watch patch"),
    ]
    users = [rule(GROUP, _OF_USERS, "get list"), rule(GROUP, "activity", "watch")]
    return [
        role(f"{name}-user", "", users, _part_of("view", "edit", "admin")),
        role(f"{name}-submit", "", [rule(GROUP, "previews", "create")], _part_of("edit", "admin")),
        role(f"{name}-exec", "", [rule(GROUP, "workloads/exec", "create get")], _part_of("edit", "admin")),
        role(f"{name}-operator", "", operator),
    ]


def _part_of(*roles: str) -> dict[str, str]:
    return {f"{_AGGREGATE}{each}": "true" for each in roles}
