"""Aggregated APIs: groups and versions that an APIService hands over to another API server, on loopback.

apis.py          which they are, by the APIServices in the store
availability.py  whether their servers answer, and what they serve
proxy.py         requests on their way there, with the caller's identity in headers
tunnel.py        connections that change their protocol
"""

from jobrelay.cluster.apiserver.aggregation.apis import RemoteApi, RemoteApis
from jobrelay.cluster.apiserver.aggregation.availability import AvailabilityController
from jobrelay.cluster.apiserver.aggregation.proxy import Proxy

__all__ = ["AvailabilityController", "Proxy", "RemoteApi", "RemoteApis"]
