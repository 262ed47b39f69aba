"""The container of a request for logs, exec or attach, and the options of a request for logs."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid
from jobrelay.kinds.core.pod.common import WHOLE, Fields, all_containers

Obj = dict[str, Any]


class ContainerError(ValueError):
    """No such container, or more than one to choose from; a 400 with this message."""


def choose_container(pod: Obj, name: str) -> str:
    """The container that is meant: the named one, or the only one."""
    spec, pod_name = pod["spec"], pod["metadata"].get("name", "")
    names = [container.get("name", "") for container in all_containers(spec)]
    if name:
        if name not in names:
            raise ContainerError(f"container {name} is not valid for pod {pod_name}")
        return name
    containers = spec.get("containers") or []
    if len(containers) == 1:
        only: str = containers[0].get("name", "")
        return only
    choice = f", choose one of: [{' '.join(names)}]" if containers else ""
    raise ContainerError(f"a container name must be specified for pod {pod_name}{choice}")


_COUNTS: Final = (("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1))


def validate_log_options(options: Fields) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, least in _COUNTS:
        value = options.get(name)
        if name == "sinceSeconds" and value is not None and options.get("sinceTime") is not None:
            text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            errors.append(forbidden(WHOLE, text))
        elif value is not None and value < least:
            text = "must be greater than or equal to 0" if least == 0 else "must be greater than 0"
            errors.append(invalid(Path(name), value, text))
    if options.get("stream") is not None:
        errors.append(forbidden(Path("stream"), "may not be specified"))
    return errors
