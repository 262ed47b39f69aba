"""The workload kinds of a relay, for roles, checks, commands and leaving.

They are those that this installation has adapters for, those in the ConfigMaps that the relay reads, and those in files
that it was given, which are to be given here as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobrelay.kube import Client, Forbidden, Resource
from jobrelay.kube.discovery import served_of
from jobrelay.kube.resource import CONFIGMAPS, is_built_in
from jobrelay.operate.manifests import Manifest, rule
from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.kind_files import KIND_FILE, GivenKind, read_config_maps
from jobrelay.workloads.registry import usable_kinds

__all__ = ["KindFile", "installed_kinds", "kind_rules", "plurals_by_group", "relay_adapters", "served_adapters"]


@dataclass(frozen=True, slots=True)
class KindFile:
    """The text of a file that describes a kind."""

    resource: Resource
    text: str

    @property
    def key(self) -> str:
        """Its key in a ConfigMap."""
        return f"{self.resource}.yaml"


async def relay_adapters(
    management: Client, relay_namespace: str, given: Sequence[GivenKind] = ()
) -> tuple[Adapter, ...]:
    """The adapters of a relay's kinds. A ConfigMap that cannot be used, or may not be read, is left out: the relay says
    what is wrong with it."""
    try:
        found = (await management.list(CONFIGMAPS, relay_namespace, label_selector=f"{KIND_FILE}=true")).items
    except Forbidden:
        found = ()
    taken, _ = usable_kinds(given, read_config_maps(found).kinds)
    return load_adapters(given=taken, deferred=True)


def installed_kinds() -> tuple[Resource, ...]:
    """The kinds that this installation has adapters for."""
    return tuple(adapter.resource for adapter in load_adapters())


def plurals_by_group(resources: Iterable[Resource]) -> dict[str, list[str]]:
    """The plural names of kinds by API group; Jobs come first."""
    found: dict[str, list[str]] = {}
    for _, group, plural in sorted({(not is_built_in(each), each.group, each.plural) for each in resources}):
        found.setdefault(group, []).append(plural)
    return found


def kind_rules(resources: Iterable[Resource], verbs: str, subresource: str = "") -> list[Manifest]:
    """Rules of a role for kinds, or for a subresource of them."""
    part = f"/{subresource}" if subresource else ""
    return [
        rule(group, " ".join(f"{plural}{part}" for plural in plurals), verbs)
        for group, plurals in plurals_by_group(resources).items()
    ]


async def served_adapters(management: Client, adapters: Iterable[Adapter]) -> list[Adapter]:
    """Those adapters whose kinds the management cluster serves, so that the relay follows them."""
    known = list(adapters)
    served = await served_of(management, [each.resource for each in known if not is_built_in(each.resource)])
    return [each for each in known if is_built_in(each.resource) or each.resource in served]
