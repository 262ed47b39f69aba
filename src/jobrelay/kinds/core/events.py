"""Core events. The same events are served by events.k8s.io, whose stricter rules are in `jobrelay.kinds.events`.

An event with `eventTime` is of the new style and must have a reporter, an action and a reason; one without is of the
old style and must only be in the namespace of its object.
"""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, required
from jobrelay.apimachinery.names import is_dns1123_subdomain, size
from jobrelay.kinds.core.checks import qualified_name, unsupported_label
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

MAX_NOTE: Final = 1024
MAX_WORD: Final = 128
_NAMESPACE: Final = Path("involvedObject.namespace")
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
FIELD_LABELS: Final = frozenset(
    {"metadata.name", "metadata.namespace", "reason", "reportingComponent", "source", "type"}
    | {f"involvedObject.{name}" for name in _INVOLVED}
)


def validate(event: Obj, reporter: str = "reportingComponent") -> list[FieldError]:
    """What every event must satisfy; `reporter` is the reporting controller's name in the API that is asked."""
    namespace = event["metadata"].get("namespace", "")
    involved = event["involvedObject"].get("namespace", "")
    mismatch = [invalid(_NAMESPACE, involved, "does not match event.namespace")]
    if event.get("eventTime") is None:
        fits = namespace in ("", "default") if not involved else namespace == involved
        errors = [] if fits else mismatch
    else:
        errors = [] if involved or namespace in ("default", "kube-system") else mismatch
        errors += _validate_report(event, reporter)
    return errors + [invalid(Path("namespace"), namespace, text) for text in is_dns1123_subdomain(namespace)]


def _validate_report(event: Obj, reporter: str) -> list[FieldError]:
    controller = event.get("reportingComponent", "")
    errors = [] if controller else [required(Path(reporter))]
    errors += qualified_name(controller, Path(reporter))
    for name in ("reportingInstance", "action", "reason"):
        if not event.get(name):
            errors.append(required(Path(name)))
        elif size(event[name]) > MAX_WORD:
            errors.append(invalid(Path(name), "", f"can have at most {MAX_WORD} characters"))
    if size(event.get("message", "")) > MAX_NOTE:
        errors.append(invalid(Path("message"), "", f"can have at most {MAX_NOTE} characters"))
    return errors


def fields(event: Obj) -> dict[str, str]:
    involved = {f"involvedObject.{name}": event["involvedObject"].get(name, "") for name in _INVOLVED}
    reporter = event.get("reportingComponent", "")
    return metadata_fields(event) | involved | {
        "reason": event.get("reason", ""),
        "reportingComponent": reporter,
        "source": event["source"].get("component") or reporter,
        "type": event.get("type", ""),
    }  # fmt: skip


STRATEGIES: Final = {
    ("", "events"): Strategy(
        validate_create=validate,
        update=UpdateStrategy(validate=lambda new, old: validate(new)),
        create_on_update=True,
        fields=fields,
        field_labels=FIELD_LABELS,
        unsupported_field=unsupported_label,
    )
}
