"""Calls that the API server makes: to webhooks and to other API servers, on loopback only.

    target = Target.from_client_config(config)                       # of a webhook, a CRD's conversion, an APIService
    answer = await Outbound(store).send(target, b"{...}", seconds=10)

A target is an `https` URL or a reference to a Service, which is resolved anew for each call (`services.resolve`). Its
certificate is verified by the CA bundle, or by the system's CAs without one; a Service's must be valid for
`<name>.<namespace>.svc`. Connections are kept alive. What fails is an `OutboundError` in the words of Go's client:
`Post "https://...": dial tcp 127.0.0.1:1: connect: connection refused`.
"""

from jobrelay.cluster.apiserver.outbound.certificates import explained
from jobrelay.cluster.apiserver.outbound.client import Outbound, OutboundAnswer
from jobrelay.cluster.apiserver.outbound.failures import FAILURES, OutboundError
from jobrelay.cluster.apiserver.outbound.refusals import refused
from jobrelay.cluster.apiserver.outbound.services import ServiceEndpoint, resolve
from jobrelay.cluster.apiserver.outbound.targets import CallTarget, ServiceReference

__all__ = [
    "FAILURES",
    "CallTarget",
    "Outbound",
    "OutboundAnswer",
    "OutboundError",
    "ServiceEndpoint",
    "ServiceReference",
    "explained",
    "refused",
    "resolve",
]
