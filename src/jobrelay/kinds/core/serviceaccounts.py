"""Service accounts: little more than names; of a secret reference only the name is kept."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.strategy import Obj, Strategy, Update

ENFORCE_MOUNTABLE_SECRETS: Final = "kubernetes.io/enforce-mountable-secrets"
_WARNING: Final = (
    f"metadata.annotations[{ENFORCE_MOUNTABLE_SECRETS}]: deprecated in v1.32+;"
    " prefer separate namespaces to isolate access to mounted secrets"
)


def keep_secret_names(account: Obj) -> None:
    if account.get("secrets"):
        account["secrets"] = [{"name": ref["name"]} if ref.get("name") else {} for ref in account["secrets"]]


def validate(account: Obj) -> list[FieldError]:
    return validate_object_meta(account["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"]) + validate(new)


def _annotated(account: Obj) -> bool:
    return ENFORCE_MOUNTABLE_SECRETS in (account["metadata"].get("annotations") or {})


STRATEGIES: Final = {
    ("", "serviceaccounts"): Strategy(
        prepare_create=keep_secret_names,
        validate_create=validate,
        warn_create=lambda account: [_WARNING] if _annotated(account) else [],
        update=Update(
            prepare=lambda new, old: keep_secret_names(new),
            validate=validate_update,
            warn=lambda new, old: [_WARNING] if _annotated(new) and not _annotated(old) else [],
        ),
        delete_returns_object=True,
    )
}
