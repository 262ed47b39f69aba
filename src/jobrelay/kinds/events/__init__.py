"""The kinds of events.k8s.io: Events."""

from jobrelay.kinds.events.events import STRATEGIES

__all__ = ["STRATEGIES"]
