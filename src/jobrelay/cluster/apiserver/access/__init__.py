"""Access: authentication, impersonation, authorization."""

from jobrelay.cluster.apiserver.access.access import Access, authorize
from jobrelay.cluster.apiserver.access.rbac import MASTERS, Authorizer, attributes_of
from jobrelay.cluster.apiserver.access.tokens import ISSUER, TokenError, Tokens

__all__ = [
    "ISSUER", "MASTERS", "Access", "Authorizer", "TokenError", "Tokens", "attributes_of", "authorize",
]  # fmt: skip
