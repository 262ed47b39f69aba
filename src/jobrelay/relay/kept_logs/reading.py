"""Reads the kept log of a workload, and says that it is one."""

from __future__ import annotations

from jobrelay.kube import Client, Forbidden, NotFound
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.kept_logs.kept import KeptLog, config_map_name, read_config_map


async def read_kept(client: Client, namespace: str, uid: str) -> KeptLog | None:
    """What is kept of the original with this uid; None if there is nothing, or it may not be read. Raises KubeError."""
    try:
        return read_config_map(await client.get(CONFIGMAPS, config_map_name(uid), namespace))
    except (NotFound, Forbidden):
        return None


def kept_notice(kept: KeptLog) -> str:
    """What a reader has to know beside the lines."""
    cut = "the last part" if any(log.cut for log in kept.logs) else "the whole"
    return f"the pods of run {kept.run} on {kept.cluster} are gone; this is {cut} of their logs, kept at {kept.at}"
