"""The environment and the command line of a container: all sources of variables, and the expansion of `$(NAME)`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.names import is_env_var_name
from jobrelay.cluster.node.nodes import ADDRESS

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


class ConfigMissing(Exception):
    """An object that a container refers to does not exist; the message is the kubelet's."""


class Lookup(Protocol):
    """Reads ConfigMaps and Secrets by name; None if there is none."""

    async def config_map(self, name: str) -> Mapping[str, bytes] | None: ...

    async def secret(self, name: str) -> Mapping[str, bytes] | None: ...


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replaces `$(NAME)` by the variable's value, and `$$` by `$`; unknown names stay as they are."""

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return env.get(name, match.group(0))

    return _REFERENCE.sub(value, text)


def command_line(container: Mapping[str, Any], env: Mapping[str, str]) -> list[str]:
    """The command and arguments of a container; empty if it leaves them to its image."""
    return [expand(part, env) for part in (*(container.get("command") or ()), *(container.get("args") or ()))]


async def container_env(
    pod: Mapping[str, Any], container: Mapping[str, Any], lookup: Lookup, base: Mapping[str, str],
    capacity: Mapping[str, str],
) -> dict[str, str]:  # fmt: skip
    """All variables of a container; later ones override earlier ones. Raises ConfigMissing."""
    env = dict(base)
    for source in container.get("envFrom") or ():
        env |= await _all_of(source, lookup)
    for entry in container.get("env") or ():
        if entry.get("valueFrom"):
            value = await _value_from(entry["valueFrom"], pod, container, lookup, capacity)
            if value is not None:
                env[entry["name"]] = value
        else:
            env[entry["name"]] = expand(entry.get("value", ""), env)
    return env


def service_env(services: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The variables that describe a namespace's Services."""
    env: dict[str, str] = {}
    for service in services:
        address, ports = service["spec"].get("clusterIP", ""), service["spec"].get("ports") or ()
        if address in ("", "None") or not ports:
            continue
        name = _capitals(service["metadata"]["name"])
        env |= {f"{name}_SERVICE_HOST": address, f"{name}_SERVICE_PORT": str(ports[0]["port"])}
        env |= {f"{name}_SERVICE_PORT_{_capitals(one['name'])}": str(one["port"]) for one in ports if one.get("name")}
        env[f"{name}_PORT"] = _link(address, ports[0])
        for one in ports:
            protocol: str = one.get("protocol", "TCP")
            prefix = f"{name}_PORT_{one['port']}_{protocol}"
            env |= {
                prefix: _link(address, one), f"{prefix}_PROTO": protocol.lower(), f"{prefix}_PORT": str(one["port"]),
                f"{prefix}_ADDR": address,
            }  # fmt: skip
    return env


def _capitals(name: str) -> str:
    return name.upper().replace("-", "_")


def _link(address: str, port: Mapping[str, Any]) -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{port.get('protocol', 'TCP').lower()}://{host}:{port['port']}"


async def _all_of(source: Mapping[str, Any], lookup: Lookup) -> dict[str, str]:
    prefix = source.get("prefix", "")
    kind = "configMapRef" if "configMapRef" in source else "secretRef"
    reference = source[kind]
    found = await contents(kind == "secretRef", reference, lookup)
    named = {prefix + key: value.decode(errors="replace") for key, value in found.items()}
    return {key: value for key, value in named.items() if not is_env_var_name(key)}


async def contents(secret: bool, reference: Mapping[str, Any], lookup: Lookup) -> Mapping[str, bytes]:
    """The contents of the Secret or ConfigMap that a reference or a volume names. Raises ConfigMissing."""
    name = reference.get("secretName") or reference.get("name", "")
    held = await (lookup.secret(name) if secret else lookup.config_map(name))
    if held is None:
        if reference.get("optional"):
            return {}
        raise ConfigMissing(f'{"secret" if secret else "configmap"} "{name}" not found')
    return held


async def _value_from(
    source: Mapping[str, Any], pod: Mapping[str, Any], container: Mapping[str, Any], lookup: Lookup,
    capacity: Mapping[str, str],
) -> str | None:  # fmt: skip
    if field := source.get("fieldRef"):
        return field_value(pod, field["fieldPath"])
    if resource := source.get("resourceFieldRef"):
        return resource_value(resource_container(pod, container, resource), resource, capacity)
    for kind, secret in (("configMapKeyRef", False), ("secretKeyRef", True)):
        reference = source.get(kind)
        if reference is None:
            continue
        found = await contents(secret, reference, lookup)
        if reference["key"] in found:
            return found[reference["key"]].decode(errors="replace")
        if reference.get("optional"):
            return None
        key = f"{pod['metadata']['namespace']}/{reference.get('name', '')}"
        raise ConfigMissing(f"couldn't find key {reference['key']} in {'Secret' if secret else 'ConfigMap'} {key}")
    return None


def field_value(pod: Mapping[str, Any], path: str) -> str:
    """The value of a field path of the downward API."""
    metadata, spec = pod["metadata"], pod["spec"]
    if match := _SUBSCRIPT.fullmatch(path):
        return str((metadata.get(match.group(1)) or {}).get(match.group(2), ""))
    if path in ("metadata.labels", "metadata.annotations"):
        held = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f"{key}={go_quote(value)}" for key, value in sorted(held.items()))
    simple = {
        "metadata.name": metadata["name"], "metadata.namespace": metadata["namespace"], "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""), "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": ADDRESS, "status.podIP": ADDRESS, "status.hostIPs": ADDRESS, "status.podIPs": ADDRESS,
    }  # fmt: skip
    return str(simple.get(path, ""))


def resource_container(
    pod: Mapping[str, Any], own: Mapping[str, Any] | None, reference: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The container that a resourceFieldRef refers to."""
    name = reference.get("containerName")
    listed: Sequence[Mapping[str, Any]] = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]
    return next((one for one in listed if one["name"] == name), own or {})


def resource_value(container: Mapping[str, Any], reference: Mapping[str, Any], capacity: Mapping[str, str]) -> str:
    """A request or limit in units of the divisor, rounded up; a missing limit is the node's capacity."""
    which, _, name = reference["resource"].partition(".")
    held = ((container.get("resources") or {}).get(which) or {}).get(name)
    if held is None and which == "limits":
        held = capacity.get(name)
    divisor = quantity.number(reference.get("divisor") or "1") or 1
    return str(math.ceil(quantity.number(held or "0") / divisor))
