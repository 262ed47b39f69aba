"""The kinds of node.k8s.io: RuntimeClasses."""

from jobrelay.kinds.node.runtimeclasses import STRATEGIES

__all__ = ["STRATEGIES"]
