"""Which placement policy applies in a namespace: the one that its annotation names, or the relay's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from jobrelay.kube import Cache
from jobrelay.kube.objects import Key
from jobrelay.logs import get_logger
from jobrelay.relay.names import PLACEMENT
from jobrelay.relay.placement import PlacementPolicy, PolicyError

log = get_logger(__name__)

_NONE: Mapping[str, str] = {}
_MOST_PARSED: Final = 1024


class NamespacePolicies:
    """Reads namespaces from a cache; a policy that cannot be parsed is logged once, and the relay's own applies."""

    def __init__(self, namespaces: Cache, parse: Callable[[str], PlacementPolicy], default: str) -> None:
        self._namespaces, self._parser = namespaces, parse
        self._default = parse(default)
        self._parsed: dict[str, PlacementPolicy] = {}

    def __call__(self, namespace: str) -> tuple[PlacementPolicy, Mapping[str, str]]:
        """The policy of a namespace, and the namespace's annotations."""
        found = self._namespaces.get(Key("", namespace))
        annotations = found.metadata.annotations if found is not None else _NONE
        text = annotations.get(PLACEMENT)
        return (self._parse(text, namespace) if text else self._default), annotations

    def _parse(self, text: str, namespace: str) -> PlacementPolicy:
        policy = self._parsed.get(text)
        if policy is None:
            try:
                policy = self._parser(text)
            except PolicyError as error:
                log.warning("the namespace's placement policy cannot be used", namespace=namespace, error=str(error))
                policy = self._default
            if len(self._parsed) >= _MOST_PARSED:
                self._parsed.clear()
            self._parsed[text] = policy
        return policy
