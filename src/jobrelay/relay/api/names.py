"""The names of the API, and of the objects on the management cluster that belong to it."""

from __future__ import annotations

from typing import Final

GROUP: Final = "relay.jobrelay.dev"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
BASE: Final = f"/apis/{API_VERSION}"
API_SERVICE: Final = f"{VERSION}.{GROUP}"
"""The name of its APIService."""
SERVICE: Final = "jobrelay-api"
"""The Service by which the API server reaches relays."""
AUTHORITY: Final = "jobrelay-api-ca"
"""The Secret with the authority that signs the certificates of relays."""
PORT: Final = 8443
PRIORITIES: Final = {"groupPriorityMinimum": 1000, "versionPriority": 100}
FRONT_PROXY: Final = "extension-apiserver-authentication"
"""The ConfigMap in kube-system by which an API server says how its front proxy is known."""


def service_host(namespace: str) -> str:
    """The name that the API server expects in the certificate of a relay."""
    return f"{SERVICE}.{namespace}.svc"
