"""The hooks of PodTemplates."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.core.pod.warnings import pod_template_warnings
from jobrelay.kinds.generation import bump_generation, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, Update

_TEMPLATE: Final = Path("template")


def _default(obj: Obj) -> None:
    default_pod_template(obj["template"])


def _prepare_create(obj: Obj) -> None:
    start_generation(obj)
    drop_disabled_template_fields(obj["template"])


def _validate_create(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + validate_pod_template_spec(obj["template"], _TEMPLATE)


def _prepare_update(new: Obj, old: Obj) -> None:
    drop_disabled_template_fields(new["template"], old["template"])
    bump_generation(new, old, changed=new["template"] != old["template"])


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + validate_pod_template_spec(new["template"], _TEMPLATE)


def _warn_update(new: Obj, old: Obj) -> list[str]:
    return pod_template_warnings(new["template"], _TEMPLATE) if new["template"] != old["template"] else []


POD_TEMPLATES: Final = Strategy(
    delete_returns_object=True,
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate_create,
    warn_create=lambda obj: pod_template_warnings(obj["template"], _TEMPLATE),
    update=Update(_prepare_update, _validate_update, _warn_update),
)
