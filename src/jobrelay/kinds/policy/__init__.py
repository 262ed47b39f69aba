"""The kinds of policy: PodDisruptionBudgets."""
