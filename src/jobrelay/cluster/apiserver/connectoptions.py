"""The options of a connection to a pod (exec, attach, port forwarding) as the object that admission sees."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.goint import read_int
from jobrelay.cluster.apiserver.request import ApiRequest, flag
from jobrelay.kinds.strategy import Obj

_FLAGS: Final = ("stdin", "stdout", "stderr", "tty")


def connect_options(request: ApiRequest, kind: str) -> Obj:
    """A PodExecOptions, PodAttachOptions or PodPortForwardOptions, made of the query."""
    found: Obj = {"kind": kind, "apiVersion": "v1"}
    query = request.query
    if kind == "PodPortForwardOptions":
        ports = [read_int(port) for text in query.get("ports", ()) for port in text.split(",") if port.isdecimal()]
        return {**found, "ports": ports} if ports else found
    found |= {name: True for name in _FLAGS if flag(query, name)}
    if container := request.first("container"):
        found["container"] = container
    if kind == "PodExecOptions":
        found["command"] = query.get("command") or None
    return found
