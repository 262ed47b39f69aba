"""The requests that are about no resource: discovery, the version, and who issues tokens."""

from __future__ import annotations

from jobrelay.cluster.apiserver.openapi.definitions import META
from jobrelay.cluster.apiserver.openapi.operation import BUILT_IN, JSON_YAML, STRING, Operation, group_title, tag


def discovery_of_version(group: str, version: str) -> Operation:
    path = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
    title = group_title(group) + version[:1].upper() + version[1:]
    return _discovery(
        path, f"get{title}APIResources", tag(group, version), "get available resources", "APIResourceList"
    )


def discovery_of_group(group: str) -> Operation:
    return _discovery(
        f"/apis/{group}/", f"get{group_title(group)}APIGroup", tag(group), "get information of a group", "APIGroup"
    )


def _discovery(path: str, operation_id: str, of: str, text: str, answer: str) -> Operation:
    return Operation(path, "get", operation_id, of, text, META + answer, consumes=BUILT_IN)


def operations() -> list[Operation]:
    """The requests that are about no group."""
    issuer, keys = "getServiceAccountIssuerOpenIDConfiguration", "getServiceAccountIssuerOpenIDKeyset"
    versions = "get available API versions"
    return [
        Operation(
            "/.well-known/openid-configuration/", "get", issuer, "WellKnown",
            "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'", STRING,
            consumes=(), produces=JSON_YAML[:1],
        ),
        Operation(
            "/openid/v1/jwks/", "get", keys, "openid",
            "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)", STRING,
            consumes=(), produces=("application/jwk-set+json",),
        ),
        _discovery("/api/", "getCoreAPIVersions", "core", versions, "APIVersions"),
        _discovery("/apis/", "getAPIVersions", "apis", versions, "APIGroupList"),
        Operation(
            "/version/", "get", "getCodeVersion", "version", "get the version information for this server",
            "io.k8s.apimachinery.pkg.version.Info", consumes=JSON_YAML[:1], produces=JSON_YAML[:1],
        ),
    ]  # fmt: skip
