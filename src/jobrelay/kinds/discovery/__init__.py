"""The kinds of discovery.k8s.io: EndpointSlices."""

from jobrelay.kinds.discovery.endpointslices import STRATEGIES

__all__ = ["STRATEGIES"]
