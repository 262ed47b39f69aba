"""Small things that all checks of a pod share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.kinds.core.volumesources import no_backsteps

Errors = list[FieldError]
Fields = Mapping[str, Any]
CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")
CORE: Final = "io.k8s.api.core.v1."
WHOLE: Final = Path("[]")  # how the server writes an empty path
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"


def visit_containers(spec: Fields, path: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """All containers with their places: init containers first, then the containers, then ephemeral ones."""
    for name in CONTAINER_LISTS:
        for i, container in enumerate(spec.get(name) or ()):
            yield container, path.child(name).index(i)


def all_containers(spec: Fields) -> Iterator[dict[str, Any]]:
    for name in CONTAINER_LISTS:
        yield from spec.get(name) or ()


def invalid_each(path: Path, value: Any, texts: list[str]) -> Errors:
    return [invalid(path, value, text) for text in texts]


def is_sidecar(container: Fields) -> bool:
    """Whether an init container keeps running next to the containers."""
    return container.get("restartPolicy") == "Always"


def local_descending_path(value: str, path: Path) -> Errors:
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + no_backsteps(value, path)


def local_non_reserved_path(value: str, path: Path) -> Errors:
    errors = local_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors


def file_mode(mode: int | None, path: Path) -> Errors:
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")]
