"""Shown beside a failed test: what the clusters and the relay logged during it, and the events in its namespace.

Logs are shared by all tests of a session, so the position in each is noted before a test.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from jobrelay.testing.session import SessionClusters

if TYPE_CHECKING:
    from jobrelay.kube import Client
    from jobrelay.kube.objects import ObjectList

__all__ = ["FailureReport"]

_LINES: Final = 40


class FailureReport:
    """Notes where logs end when it is made; `sections` has what came later."""

    def __init__(self, clusters: SessionClusters, namespace: str) -> None:
        self._clusters, self._namespace = clusters, namespace
        self._positions = {log: _size(log) for log in clusters.logs.values()}

    def sections(self) -> Iterator[tuple[str, str]]:
        """Titles and texts, without those that would be empty."""
        for name, log in self._clusters.logs.items():
            if text := _read_from(log, self._positions[log]):
                yield f"jobrelay: log of {name}", text
        for name in self._clusters.kubeconfigs:
            if text := self._events(name):
                yield f"jobrelay: events in {self._namespace} on {name}", text

    def _events(self, cluster: str) -> str:
        from jobrelay.fleet.errors import FleetError
        from jobrelay.kube import KubeError
        from jobrelay.kube.resource import EVENTS_CORE

        async def listed(client: Client) -> ObjectList:
            return await client.list(EVENTS_CORE, self._namespace)

        try:
            found = [each.decode() for each in self._clusters.call(cluster, listed).items]
        except (KubeError, FleetError) as error:
            return f"they cannot be read: {error}"
        return "\n".join(map(_event_line, sorted(found, key=_event_time)[-_LINES:]))


def _event_time(event: Mapping[str, Any]) -> str:
    return str(event.get("eventTime") or event.get("firstTimestamp") or event["metadata"]["creationTimestamp"])


def _event_line(event: Mapping[str, Any]) -> str:
    about = event["involvedObject"]
    return f"{event.get('type')} {about['kind']}/{about['name']} {event.get('reason')}: {event.get('message')}"


def _size(log: pathlib.Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _read_from(log: pathlib.Path, position: int) -> str:
    """The last lines that were written after a position."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(position)
        lines = file.read().decode(errors="replace").splitlines()
    left_out = [f"... {len(lines) - _LINES} lines before these are in {log}"] if len(lines) > _LINES else []
    return "\n".join(left_out + lines[-_LINES:])
