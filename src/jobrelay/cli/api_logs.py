"""Prints logs through the relay's API, for which a user needs no rights but those to their own workloads."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import click

from jobrelay.cli.colours import coloured, log_prefix
from jobrelay.cli.errors import Failure
from jobrelay.operate.relay_client import NotServed, NotStarted, api_log
from jobrelay.sdk.progress import PATIENCE

if TYPE_CHECKING:
    from jobrelay.kube import Client, Resource
    from jobrelay.sdk.pod_logs import LogOptions

__all__ = ["print_api_logs"]

_POLL_INTERVAL = 0.5
_LEAD = b"jobrelay: "
_PREFIX = re.compile(rb"^\[([a-z0-9.-]+)/([a-z0-9.-]+)\] ")
_KEPT = _LEAD + b"the pods of run "


async def print_api_logs(
    client: Client, kind: Resource, name: str, namespace: str, options: LogOptions, prefix: bool, within: float
) -> bool:
    """Prints the log of a workload, once something of it has started; returns whether the API is served.

    Raises Failure if nothing has started `within` that many seconds, unless the log is followed, and KubeError.
    """
    end = math.inf if options.follow else time.monotonic() + within
    query = {
        "container": options.container,
        "tailLines": options.tail,
        "index": options.index,
        "sinceSeconds": math.ceil(options.since) if options.since is not None else None,
        "timestamps": "true" if options.timestamps else None,
        "follow": "true" if options.follow else None,
        "prefix": "true" if prefix else None,
    }
    told, patient_until = "", time.monotonic() + PATIENCE
    while True:
        try:
            async with api_log(client, kind, name, namespace, query) as chunks:
                await _print(_with_coloured_prefixes(chunks) if prefix and coloured(sys.stdout) else chunks)
            return True
        except NotServed:
            return False
        except NotStarted as error:
            if time.monotonic() >= end:
                raise Failure(str(error), f"`jobrelay explain {kind}/{name} -n {namespace}` says why") from None
            if options.follow and str(error) != told and time.monotonic() >= patient_until:
                told = str(error)
                click.echo(f"note: {told}", err=True)
        await asyncio.sleep(_POLL_INTERVAL)


async def _print(chunks: AsyncIterator[bytes]) -> None:
    """Print a log; that it is a kept one is no part of it, and goes to stderr."""
    begin: bytes | None = b""
    async for chunk in chunks:
        if begin is None:
            _write(chunk)
            continue
        begin += chunk
        if _may_be_notice(begin):
            continue
        _write(_without_notice(begin))
        begin = None
    _write(_without_notice(begin or b""))


async def _with_coloured_prefixes(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same by whole lines, the beginnings of which are in the colours of their pods."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield _PREFIX.sub(_colour_prefix, line) + b"\n"
    if rest:
        yield _PREFIX.sub(_colour_prefix, rest)


def _colour_prefix(found: re.Match[bytes]) -> bytes:
    return log_prefix(found[1].decode(), found[2].decode()).encode()


def _may_be_notice(begin: bytes) -> bool:
    """Whether a log may begin with a notice that has not come whole yet."""
    return _KEPT.startswith(begin[: len(_KEPT)]) and b"\n" not in begin


def _without_notice(begin: bytes) -> bytes:
    notice, newline, rest = begin.partition(b"\n")
    if not newline or not notice.startswith(_KEPT):
        return begin
    click.echo(f"note: {notice.removeprefix(_LEAD).decode(errors='replace')}", err=True)
    return rest


def _write(shown: bytes) -> None:
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
