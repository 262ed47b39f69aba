"""Installs CustomResourceDefinitions on a cluster and waits until their kinds are served.

Definitions are applied, so installing them again changes nothing. One of our own never takes the place of a
definition that came from elsewhere: it could only lose what that one checks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from jobrelay.kube import Client, NotFound, StatusError
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.operate.applying import MANAGER, find, same_content
from jobrelay.operate.crds.sources import Definition
from jobrelay.operate.errors import OperateError
from jobrelay.operate.manifests import LABELS

__all__ = ["Installed", "install_definitions"]

ESTABLISH_SECONDS: Final = 30.0

Result = Literal["created", "configured", "unchanged", "kept"]


class Installed(msgspec.Struct, frozen=True):
    """A definition that the cluster has now. `kept` is one from elsewhere that was there before one of our own."""

    name: str
    result: Result
    source: str


async def install_definitions(
    client: Client, definitions: Iterable[Definition], *, within: float = ESTABLISH_SECONDS
) -> tuple[Installed, ...]:
    """Applies all definitions and returns once all are established; raises OperateError."""
    installed = [Installed(each.name, await _install(client, each), each.source) for each in definitions]
    for each in installed:
        try:
            async with asyncio.timeout(within):
                await _established(client, each)
        except TimeoutError:
            raise OperateError(
                f"{each.name} ({each.source}) was not established within {within:g} s",
                f"`kubectl describe crd {each.name}` shows its conditions",
            ) from None
    return tuple(installed)


async def _install(client: Client, definition: Definition) -> Result:
    before = await find(client, CUSTOMRESOURCEDEFINITIONS, definition.name)
    if before is not None and definition.own and not LABELS.items() <= before.metadata.labels.items():
        return "kept"
    try:
        after = await client.apply(CUSTOMRESOURCEDEFINITIONS, definition.manifest, field_manager=MANAGER, force=True)
    except StatusError as error:
        raise OperateError(f"{definition.source}: {definition.name} was refused: {error}") from error
    if before is None:
        return "created"
    return "unchanged" if same_content(before, after) else "configured"


async def _established(client: Client, installed: Installed) -> None:
    """Waits until the kind is served; raises OperateError if its names are taken."""
    selector = f"metadata.name={installed.name}"
    while True:
        try:
            current = await client.get(CUSTOMRESOURCEDEFINITIONS, installed.name)
        except NotFound:
            raise OperateError(f"{installed.name} was deleted while it was installed") from None
        if _is_established(installed, current.decode()):
            return
        watch = client.watch(
            CUSTOMRESOURCEDEFINITIONS, field_selector=selector, resource_version=current.resource_version
        )
        async with watch as events:
            async for event in events:
                if event.object.name == installed.name and _is_established(installed, event.object.decode()):
                    return


def _is_established(installed: Installed, crd: Mapping[str, Any]) -> bool:
    conditions = {each["type"]: each for each in (crd.get("status") or {}).get("conditions") or ()}
    names = conditions.get("NamesAccepted", {})
    if names.get("status") == "False":
        raise OperateError(
            f"{installed.name} ({installed.source}): its names are not accepted: {names.get('message')}",
            "delete the definition that has them, or this one",
        )
    return bool(conditions.get("Established", {}).get("status") == "True")
