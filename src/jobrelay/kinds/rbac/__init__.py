"""The kinds of rbac.authorization.k8s.io: roles and their bindings."""

from jobrelay.kinds.rbac.roles import STRATEGIES

__all__ = ["STRATEGIES"]
