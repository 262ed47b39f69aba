"""API responses for container logs, with a kubelet's errors where there is no log."""

from __future__ import annotations

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.node.process.logs import LogStream, PodLogs, read_log
from jobrelay.cluster.node.script import parse_script
from jobrelay.kinds.strategy import Obj

TEXT = "text/plain"


def container_log(logs: PodLogs, pod: Obj, container: str, options: PodLogOptions) -> ApiResponse:
    """The log of a container's last run, or of the one before; it can be followed while the run lasts."""
    path = logs.find(container, previous=options.previous)
    if path is None:
        name = pod["metadata"]["name"]
        if options.previous:
            raise errors.bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        raise errors.bad_request(
            f'container "{container}" in pod "{name}" is waiting to start: {_waiting_reason(pod, container)}'
        )
    open_log = logs.open_log(path)
    if options.follow and open_log is not None:
        return ApiResponse(200, b"", TEXT, stream=LogStream(open_log, options))
    return ApiResponse(200, read_log(path, options), TEXT)


def scripted_log(pod: Obj, options: PodLogOptions) -> ApiResponse:
    """The log that a scripted pod's annotation gives it."""
    text = parse_script(pod["metadata"].get("annotations") or {}, "Never").log.encode()
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    if options.tail is not None:
        lines = lines[-options.tail :] if options.tail else []
    body = b"".join(line + b"\n" for line in lines)
    return ApiResponse(200, body if options.limit is None else body[: options.limit], TEXT)


def _waiting_reason(pod: Obj, container: str) -> str:
    status = pod.get("status") or {}
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if one["name"] == container:
            reason: str = ((one.get("state") or {}).get("waiting") or {}).get("reason") or "ContainerCreating"
            return reason
    return "ContainerCreating"
