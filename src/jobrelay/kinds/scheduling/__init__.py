"""The kinds of scheduling.k8s.io: PriorityClasses."""

from jobrelay.kinds.scheduling.priorityclasses import STRATEGIES

__all__ = ["STRATEGIES"]
