"""The kinds of coordination.k8s.io: Leases."""

from jobrelay.kinds.coordination.leases import STRATEGIES

__all__ = ["STRATEGIES"]
