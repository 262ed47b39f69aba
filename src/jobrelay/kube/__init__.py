"""A client for any Kubernetes API: a real cluster, an embedded one, or a script in a test.

`connect` opens a `Client` from a kubeconfig. A `Cache` on a client holds the objects of one kind and follows their
changes. `EventRecorder` writes Events, `LeaderElection` holds a Lease. Names are imported when they are first used, and
the HTTP library when the first network connection is made.

    async with connect() as client:
        jobs = await client.list(JOBS, "default")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .cache import Cache
    from .client import Client
    from .clock import Clock, FakeClock, SystemClock
    from .config import connect, find_connection
    from .connection import Connection, in_cluster
    from .discovery import Version, server_version, serves
    from .errors import (
        AlreadyExists,
        BadRequest,
        ConfigError,
        Conflict,
        ConnectError,
        CredentialsError,
        Expired,
        Forbidden,
        InternalError,
        Invalid,
        KubeError,
        MethodNotAllowed,
        NotAcceptable,
        NotFound,
        ProtocolError,
        RequestTooLarge,
        ServerTimeout,
        ServiceUnavailable,
        Status,
        StatusError,
        TooManyRequests,
        TransportError,
        TransportTimeout,
        Unauthorized,
        UnsupportedMediaType,
    )
    from .events import CORE_V1, EVENTS_V1, EventNote, EventRecorder, ObjectReference
    from .fault_injection import FaultyTransport
    from .kubeconfig import Kubeconfig
    from .leader_election import LeaderElection, LeadershipLost
    from .objects import Key, Metadata, Object, ObjectList, OwnerReference
    from .patch import Patch, apply_patch, json_patch, merge_patch, strategic_patch
    from .query import ListQuery, LogQuery, Selectors, WatchQuery, WriteQuery
    from .resource import Resource
    from .transport import Headers, Request, Response, Transport
    from .watch import EventType, WatchEvent

__all__ = [
    "CORE_V1", "EVENTS_V1", "AlreadyExists", "BadRequest", "Cache", "Client", "Clock", "ConfigError", "Conflict",
    "ConnectError", "Connection", "CredentialsError", "EventNote", "EventRecorder", "EventType", "Expired", "FakeClock",
    "FaultyTransport", "Forbidden", "Headers", "InternalError", "Invalid", "Key", "KubeError", "Kubeconfig",
    "LeaderElection", "LeadershipLost", "ListQuery", "LogQuery", "Metadata", "MethodNotAllowed", "NotAcceptable",
    "NotFound", "Object", "ObjectList", "ObjectReference", "OwnerReference", "Patch", "ProtocolError", "Request",
    "RequestTooLarge", "Resource", "Response", "Selectors", "ServerTimeout", "ServiceUnavailable", "Status",
    "StatusError", "SystemClock", "TooManyRequests", "Transport", "TransportError", "TransportTimeout", "Unauthorized",
    "UnsupportedMediaType", "Version", "WatchEvent", "WatchQuery", "WriteQuery", "apply_patch", "connect",
    "find_connection", "in_cluster", "json_patch", "merge_patch", "server_version", "serves", "strategic_patch",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        "errors",
        cache="Cache",
        client="Client",
        clock="Clock FakeClock SystemClock",
        config="connect find_connection",
        connection="Connection in_cluster",
        discovery="Version server_version serves",
        events="CORE_V1 EVENTS_V1 EventNote EventRecorder ObjectReference",
        fault_injection="FaultyTransport",
        kubeconfig="Kubeconfig",
        leader_election="LeaderElection LeadershipLost",
        objects="Key Metadata Object ObjectList OwnerReference",
        patch="Patch apply_patch json_patch merge_patch strategic_patch",
        query="ListQuery LogQuery Selectors WatchQuery WriteQuery",
        resource="Resource",
        transport="Headers Request Response Transport",
        watch="EventType WatchEvent",
    )
