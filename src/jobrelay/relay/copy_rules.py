"""Which objects may be copied to workers, as an operator allows it: by kind and namespace.

Nothing is copied unless its kind is named. There is no word for all kinds, and Secrets need their namespaces too:
whoever may read Secrets in a namespace of a worker reads what is copied there.

Never copied are claims of volumes and devices, whose contents a copy would not have, and classes of priority and
runtime, which act on the workloads of everybody on a worker.

This module imports little, since commands need it for their options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jobrelay.workloads import ObjectName

COPYABLE: Final[Mapping[str, str]] = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "TrainingRuntime": "trainingruntimes.trainer.kubeflow.org",
    "ClusterTrainingRuntime": "clustertrainingruntimes.trainer.kubeflow.org",
    "Pipeline": "pipelines.tekton.dev",
    "Task": "tasks.tekton.dev",
}
"""The kinds that can be copied, and how the API calls them."""
_IN_NO_NAMESPACE: Final = frozenset({"ClusterTrainingRuntime"})


class CopyRuleError(ValueError):
    """A rule cannot be read."""


@dataclass(frozen=True, slots=True)
class CopyRules:
    """By kind: the namespaces whose objects may be copied; None stands for all."""

    namespaces: Mapping[str, frozenset[str] | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.namespaces)

    def texts(self) -> list[str]:
        """The rules in the form that `parse_rules` reads."""
        return [f"{kind}:{','.join(sorted(where))}" if where else kind for kind, where in self.namespaces.items()]

    def allow(self, target: ObjectName) -> bool:
        """Whether an object may be copied."""
        kind = target.resource.kind
        if kind not in self.namespaces or COPYABLE[kind] != str(target.resource):
            return False
        where = self.namespaces[kind]
        return where is None or target.namespace in where


def parse_rules(texts: Iterable[str]) -> CopyRules:
    """Rules of the form KIND or KIND:NAMESPACE,...; raises CopyRuleError."""
    from jobrelay.apimachinery.names import name_is_dns_label

    found: dict[str, frozenset[str] | None] = {}
    for text in texts:
        kind, colon, rest = text.partition(":")
        if kind not in COPYABLE:
            raise CopyRuleError(f"{kind!r} cannot be copied; these can: {', '.join(COPYABLE)}")
        names = frozenset(name.strip() for name in rest.split(",") if name.strip()) if colon else None
        if names is not None and (not names or any(name_is_dns_label(name, False) for name in names)):
            raise CopyRuleError(f"{rest!r} is not a list of namespaces separated by commas")
        if names is None and kind == "Secret":
            raise CopyRuleError("Secrets are copied only from namespaces that are named: Secret:NAMESPACE,...")
        if names is not None and kind in _IN_NO_NAMESPACE:
            raise CopyRuleError(f"a {kind} is in no namespace")
        before = found.get(kind, frozenset())
        found[kind] = None if names is None or before is None else before | names
    return CopyRules(found)
