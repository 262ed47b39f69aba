"""TokenRequests: defaults and checks. The API server issues the tokens."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.kinds.strategy import Obj

MIN_TOKEN_SECONDS: Final = 600
DEFAULT_TOKEN_SECONDS: Final = 3600
_SPEC: Final = Path("spec")


def default(request: Obj) -> None:
    if request["spec"].get("expirationSeconds") is None:
        request["spec"]["expirationSeconds"] = DEFAULT_TOKEN_SECONDS


def validate(request: Obj) -> list[FieldError]:
    seconds, at = request["spec"].get("expirationSeconds", 0), _SPEC.child("expirationSeconds")
    if seconds < MIN_TOKEN_SECONDS:
        return [invalid(at, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > 1 << 32:
        return [invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def validate_metadata(request: Obj, name: str, namespace: str) -> list[FieldError]:
    """The metadata of a token request may repeat the account's, and nothing else."""
    metadata = request["metadata"]
    for field, wanted in (("name", name), ("namespace", namespace)):
        given = metadata.get(field, "")
        if given and given != wanted:
            detail = f"must match the service account {field} if specified"
            return [invalid(Path("metadata").child(field), given, detail)]
    return []
