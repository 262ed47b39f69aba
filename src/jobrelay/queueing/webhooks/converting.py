"""Has definitions of our own converted by the relay, and serves v1beta1 of their kinds from then on.

Without the relay's API they have no conversion, and those of their kinds that differ are served as v1beta2 only. While
a relay that converts is away, API servers still read and write what is stored (v1beta2), and refuse v1beta1.
Definitions that Kueue has replaced have its own webhook, and are left as they are.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.kube import Cache, Client, Clock, Forbidden, NotFound, Object, json_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.logs import get_logger
from jobrelay.queueing import names
from jobrelay.queueing.conversions import CONVERTED, OLD
from jobrelay.queueing.resources import GROUP
from jobrelay.queueing.webhooks.configurations import target
from jobrelay.queueing.webhooks.registration import KeptRegistration, is_kept
from jobrelay.relay.api.registration import Registered

__all__ = ["CONVERT", "DEFINITIONS", "ConversionRegistration"]

log = get_logger(__name__)

CONVERT: Final = "/queueing/convert"
DEFINITIONS: Final = tuple(sorted(f"{kind.lower()}s.{GROUP}" for kind in CONVERTED))
"""The names of the definitions whose versions differ."""
_OURS: Final = "app.kubernetes.io/part-of=jobrelay"


class ConversionRegistration(KeptRegistration):
    """Registers the relay as what converts the definitions of our own."""

    def __init__(self, client: Client, registered: Registered, *, clock: Clock) -> None:
        self._client = client
        webhook = {"clientConfig": target(registered, CONVERT), "conversionReviewVersions": ["v1"]}
        self._wanted = {"strategy": "Webhook", "webhook": webhook}
        self._found = Cache(client, CUSTOMRESOURCEDEFINITIONS, clock=clock, label_selector=_OURS, terminal=(Forbidden,))
        super().__init__([self._found], "the conversion of queues", clock=clock)

    async def _register(self) -> None:
        for definition in list(self._found):
            if definition.name in DEFINITIONS:
                await self._register_definition(definition)

    async def _register_definition(self, definition: Object) -> None:
        operations = conversion_patch(definition.decode()["spec"], self._wanted)
        if not operations:
            return
        try:
            await self._client.patch(
                CUSTOMRESOURCEDEFINITIONS, definition.name, json_patch(operations), field_manager=names.MANAGER
            )
        except NotFound:
            return  # the watch shows it
        log.info("registered the conversion of a definition", name=definition.name)


def conversion_patch(spec: dict[str, Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """JSON patch operations on a definition; none if it is as it should be, or somebody else converts it."""
    found = spec.get("conversion") or {}
    if not _is_free(found):
        return []
    operations: list[dict[str, Any]] = []
    if not is_kept(found, wanted):
        operations.append({"op": "add", "path": "/spec/conversion", "value": wanted})
    for index, version in enumerate(spec["versions"]):
        if version["name"] == OLD and not version["served"]:
            path = f"/spec/versions/{index}"
            operations.append({"op": "test", "path": f"{path}/name", "value": OLD})
            operations.append({"op": "replace", "path": f"{path}/served", "value": True})
    return operations


def _is_free(conversion: dict[str, Any]) -> bool:
    """Whether nobody converts, or a relay does."""
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    where = client.get("url") or (client.get("service") or {}).get("path") or ""
    return conversion.get("strategy") != "Webhook" or str(where).endswith(CONVERT)
