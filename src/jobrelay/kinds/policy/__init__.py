"""The kinds of policy: PodDisruptionBudgets."""

from jobrelay.kinds.policy.poddisruptionbudget import STRATEGIES

__all__ = ["STRATEGIES"]
