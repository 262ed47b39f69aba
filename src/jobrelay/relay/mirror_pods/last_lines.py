"""The last lines that containers have written: of those that crashed, they often say why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jobrelay.kube import Client, KubeError, Object

_LONGEST: Final = 500
_MOST: Final = 3


async def last_lines(client: Client, containers: Iterable[tuple[Object, str]]) -> dict[tuple[str, str], str]:
    """The last lines of some containers' logs, by pod and container; of many, those of the first ones."""
    found = {}
    for pod, container in list(containers)[:_MOST]:
        try:
            async with client.logs(pod.name, pod.namespace, container=container, tail_lines=1) as chunks:
                text = b"".join([chunk async for chunk in chunks])[-_LONGEST:]
        except KubeError:
            continue
        found[pod.name, container] = text.decode(errors="replace").strip()
    return found
