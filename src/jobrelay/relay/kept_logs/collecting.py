"""Reads the last part of the logs of a mirror's pods.

Pods that failed come first, since their logs are asked for most; of many pods only the first ones are read. The number
of bytes that a worker sends is bounded by the number of lines that are asked for, and by the time limit of the caller.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from jobrelay.kube import BadRequest, Client, NotFound, Object
from jobrelay.relay.kept_logs.kept import ContainerLog
from jobrelay.relay.mirror_pods.listing import MirrorPods, container_names, has_started, index_of

_MOST_PODS: Final = 16
_MOST_BYTES: Final = 512 * 1024
"""Of one workload, before it is compressed: a ConfigMap holds 1 MiB at most."""
_SHORT_LINE: Final = 32


async def collect_logs(pods: MirrorPods, per_pod: int) -> tuple[ContainerLog, ...]:
    """The last `per_pod` bytes of each pod's log, shared by its containers; raises KubeError."""
    started = [pod for pod in await pods.list() if has_started(pod)]
    taken: list[ContainerLog] = []
    left = _MOST_BYTES
    for pod in sorted(started, key=_has_failed, reverse=True)[:_MOST_PODS]:
        names = container_names(pod)
        for name in names:
            size = min(per_pod // len(names), left)
            log = await _take(pods.client, pod, name, size) if size > 0 else None
            if log is not None:
                taken.append(log)
                left -= len(log.text.encode())
    return tuple(taken)


def _has_failed(pod: Object) -> bool:
    return (pod.decode().get("status") or {}).get("phase") == "Failed"


async def _take(client: Client, pod: Object, container: str, size: int) -> ContainerLog | None:
    lines = max(1, size // _SHORT_LINE)
    try:
        async with client.logs(
            pod.name, pod.namespace, container=container, tail_lines=lines, timestamps=True
        ) as chunks:
            raw, cut = await last_bytes(chunks, size)
    except (BadRequest, NotFound):
        return None  # it has not started, or is gone with its node
    return ContainerLog(pod.name, container, raw.decode(errors="replace"), index_of(pod), cut) if raw else None


async def last_bytes(chunks: AsyncIterator[bytes], size: int) -> tuple[bytes, bool]:
    """The last whole lines within this number of bytes, and whether something before them was left out.

    Of a last line that is longer alone, its end.
    """
    held, cut = b"", False
    async for chunk in chunks:
        held += chunk
        if len(held) > size:
            held, cut = held[-size:], True
    if cut and b"\n" in held[:-1]:
        held = held.partition(b"\n")[2]
    return held, cut
