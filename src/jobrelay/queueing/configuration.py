"""Kueue's configuration file (`config.kueue.x-k8s.io`), as far as it says how workloads are admitted.

What only concerns the process of Kueue's manager (ports, certificates, its lease, its client) has no meaning here and
is accepted. What would change admission and is not done here is refused, and so is what nobody knows: a setting that
silently does nothing is worse than an error.
"""

from __future__ import annotations

import difflib
import pathlib
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from jobrelay.apimachinery import yaml
from jobrelay.apimachinery.times import TimeError, parse_duration
from jobrelay.queueing import core

__all__ = ["Configuration", "ConfigurationError", "read_configuration"]

_VERSIONS: Final = ("config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1")
_OF_THE_PROCESS: Final = frozenset(
    {
        "namespace", "health", "metrics", "webhook", "leaderElection", "controller", "clientConnection", "tls",
        "internalCertManagement", "queueVisibility", "visibilityServer", "multiKueue", "featureGates",
        "pprofBindAddress", "metadata",
    }
)  # fmt: skip
_NOT_DONE: Final = frozenset({"admissionFairSharing", "objectRetentionPolicies"})
_IGNORED_INTEGRATIONS: Final = frozenset({"externalFrameworks", "podOptions"})
_SYSTEM: Final = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}
    ]
}


class ConfigurationError(Exception):
    """A configuration that cannot be used; `hint` says how to mend it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class _Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    pass


class RequeuingStrategy(_Part, frozen=True):
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_seconds: int = 60
    backoff_max_seconds: int = 3600


class PodsReady(_Part, frozen=True):
    """`waitForPodsReady`."""

    enable: bool = True
    timeout: str = "30m"
    recovery_timeout: str | None = None
    block_admission: bool = False
    requeuing_strategy: RequeuingStrategy = RequeuingStrategy()


class FairSharingConfiguration(_Part, frozen=True):
    enable: bool = True
    preemption_strategies: tuple[Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"], ...] = ()


class Integrations(_Part, frozen=True):
    frameworks: tuple[str, ...] | None = None
    label_keys_to_copy: tuple[str, ...] = ()


class Resources(_Part, frozen=True):
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"


class Configuration(_Part, frozen=True):
    """The settings that change what is admitted."""

    api_version: str = _VERSIONS[0]
    kind: Literal["Configuration"] = "Configuration"
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: dict[str, Any] = msgspec.field(default_factory=lambda: dict(_SYSTEM))
    wait_for_pods_ready: PodsReady = PodsReady()
    integrations: Integrations = Integrations()
    fair_sharing: FairSharingConfiguration | None = None
    resources: Resources = Resources()

    @property
    def frameworks(self) -> frozenset[str] | None:
        """The kinds that can be queued, as `batch/job`; None for all that the relay knows."""
        named = self.integrations.frameworks
        return None if named is None else frozenset(named)

    def core(self) -> core.Config:
        """The settings of the core."""
        ready, fair = self.wait_for_pods_ready, self.fair_sharing
        strategy = ready.requeuing_strategy
        found = core.WaitForPodsReady(
            _seconds("waitForPodsReady.timeout", ready.timeout) if ready.enable else float("inf"),
            None if ready.recovery_timeout is None else _seconds("recoveryTimeout", ready.recovery_timeout),
            ready.block_admission and ready.enable,
            strategy.timestamp,
            strategy.backoff_base_seconds,
            strategy.backoff_max_seconds,
            strategy.backoff_limit_count,
        )
        shares = None
        if fair is not None and fair.enable:
            shares = core.FairSharing(fair.preemption_strategies) if fair.preemption_strategies else core.FairSharing()
        return core.Config(shares, found, self.resources.quota_check_strategy == "IgnoreUndeclared")


def _seconds(where: str, text: str) -> float:
    try:
        return parse_duration(text) / 1e9
    except TimeError as error:
        raise ConfigurationError(f"{where}: {error}", "write a duration such as 5m or 90s") from None


def read_configuration(path: pathlib.Path) -> Configuration:
    """The configuration in a file; raises ConfigurationError."""
    try:
        content = yaml.load(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", "name a file with Kueue's Configuration") from None
    try:
        return parse_configuration(content)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}", error.hint) from None


def parse_configuration(content: Any) -> Configuration:
    """A decoded configuration; raises ConfigurationError."""
    if not isinstance(content, dict) or content.get("kind") != "Configuration":
        raise ConfigurationError("it is not a Configuration", f"write kind: Configuration, apiVersion: {_VERSIONS[0]}")
    if content.get("apiVersion") not in _VERSIONS:
        raise ConfigurationError(f"apiVersion {content.get('apiVersion')!r} is not known", f"use {_VERSIONS[0]}")
    if not_done := sorted(_NOT_DONE & content.keys()):
        raise ConfigurationError(f"{not_done[0]} is not supported", "remove it: it would change nothing here")
    kept = {name: value for name, value in content.items() if name not in _OF_THE_PROCESS}
    if isinstance(kept.get("integrations"), dict):
        inner = kept["integrations"].items()
        kept["integrations"] = {name: value for name, value in inner if name not in _IGNORED_INTEGRATIONS}
    try:
        found = msgspec.convert(kept, Configuration)
    except msgspec.ValidationError as error:
        raise ConfigurationError(str(error), _hint(str(error), kept)) from None
    found.core()
    return found


def _hint(message: str, content: Mapping[str, Any]) -> str:
    """The field that was probably meant."""
    unknown = message.split("unknown field `")
    if len(unknown) < 2:
        return "see Kueue's reference of Configuration for the values of this field"
    name = unknown[1].split("`")[0]
    parts = (Configuration, PodsReady, RequeuingStrategy, FairSharingConfiguration, Integrations, Resources)
    known = {field.encode_name for part in parts for field in msgspec.structs.fields(part)}
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"remove {name}: it is not supported"
