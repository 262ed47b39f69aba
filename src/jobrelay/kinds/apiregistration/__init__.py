"""The kinds of apiregistration.k8s.io: APIServices."""

from jobrelay.kinds.apiregistration.apiservices import STRATEGIES

__all__ = ["STRATEGIES"]
