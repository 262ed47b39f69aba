"""The parameters that a binding evaluates its policy with: none, one object, or all that a selector selects."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.cluster.store import Item
from jobrelay.kinds.admissionregistration.compiled import Binding, Policy
from jobrelay.kinds.strategy import Obj

_CLUSTER_SCOPED: Final = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NO_NAMESPACE: Final = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NONE_FOUND: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"
NONE: Final[tuple[Obj | None, ...]] = (None,)


class PolicyConfigurationError(Exception):
    """A policy or a binding that cannot be evaluated as it is configured."""


def param_resource(server: ServerContext, policy: Policy) -> ServedResource | None:
    """The resource of a policy's parameters; raises ConfigurationError for one that is not served."""
    if policy.param_kind is None:
        return None
    version, kind = policy.param_kind.get("apiVersion", ""), policy.param_kind.get("kind", "")
    served = server.resources.by_kind(version, kind)
    if served is None:
        shown = version if "/" in version else f"/{version}"
        raise PolicyConfigurationError(f"failed to find resource referenced by paramKind: '{shown}, Kind={kind}'")
    return served


def collect(
    server: ServerContext, served: ServedResource | None, binding: Binding, namespace: str
) -> tuple[Obj | None, ...]:
    """The parameters of a binding for a request in a namespace; raises ConfigurationError."""
    reference = binding.param_ref
    if served is None or reference is None:
        return NONE
    place = ""
    if served.namespaced:
        place = reference.get("namespace") or namespace
        if not place:
            raise PolicyConfigurationError(_NO_NAMESPACE)
    elif reference.get("namespace"):
        raise PolicyConfigurationError(_CLUSTER_SCOPED)
    found = tuple(_object(served, item) for item in _items(server, served, reference, place))
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise PolicyConfigurationError(_NONE_FOUND)
    return found


def _items(server: ServerContext, served: ServedResource, reference: Any, namespace: str) -> list[Item]:
    if name := reference.get("name"):
        item = server.store.get(served.key, namespace, name)
        return [item] if item is not None else []
    selector = selector_from_object(reference.get("selector"))
    return [
        item
        for item in server.store.snapshot(served.key).walk(namespace)
        if selector.matches(represent.cached(item.raw)["metadata"].get("labels"))
    ]


def _object(served: ServedResource, item: Item) -> Obj:
    """A parameter as expressions see it; what owns the fields of a built-in object is not shown."""
    obj = represent.versioned(served, represent.cached(item.raw))
    if served.custom is None:
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return obj
