"""The kinds of the core group that are not pods: what is particular about each of them."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds.core import (
    claims,
    configmaps,
    endpoints,
    events,
    limitranges,
    namespaces,
    nodes,
    resourcequotas,
    secrets,
    serviceaccounts,
    services,
    volumes,
)
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    **claims.STRATEGIES,
    **configmaps.STRATEGIES,
    **endpoints.STRATEGIES,
    **events.STRATEGIES,
    **limitranges.STRATEGIES,
    **namespaces.STRATEGIES,
    **nodes.STRATEGIES,
    **resourcequotas.STRATEGIES,
    **secrets.STRATEGIES,
    **serviceaccounts.STRATEGIES,
    **services.STRATEGIES,
    **volumes.STRATEGIES,
}
