"""As whom a container runs: what its security context says, as far as this machine lets us."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

NOBODY: Final = 65534


class ProcessUser(NamedTuple):
    """A user, a group, and further groups."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


def process_user(pod: Mapping[str, Any], container: Mapping[str, Any]) -> ProcessUser | None:
    """Whom to become; None to stay who started the cluster, which is all that anybody but root can do."""
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


def keeps_privileges(container: Mapping[str, Any]) -> bool:
    """Whether programs with more rights than their caller are to be without effect."""
    return (container.get("securityContext") or {}).get("allowPrivilegeEscalation") is False
