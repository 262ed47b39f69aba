"""The user that a container runs as: its security context, as far as this machine allows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

NOBODY: Final = 65534


class ProcessUser(NamedTuple):
    """A user, a group and supplemental groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def process_user(pod: Mapping[str, Any], container: Mapping[str, Any]) -> ProcessUser | None:
    """The user to switch to; None to stay the user who started the cluster. Only root can switch."""
    if os.getuid() != 0:
        return None
    whole = pod["spec"].get("securityContext") or {}
    own = whole | (container.get("securityContext") or {})
    uid, gid = own.get("runAsUser"), own.get("runAsGroup")
    if uid is None and own.get("runAsNonRoot"):
        uid = NOBODY
    groups = [*(whole.get("supplementalGroups") or ()), *([whole["fsGroup"]] if "fsGroup" in whole else [])]
    if uid is None and gid is None and not groups:
        return None
    return ProcessUser(uid or 0, gid or 0, tuple(groups))


def no_new_privileges(container: Mapping[str, Any]) -> bool:
    """Whether setuid programs must not give the container more rights."""
    return (container.get("securityContext") or {}).get("allowPrivilegeEscalation") is False
