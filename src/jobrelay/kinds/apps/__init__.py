"""apps/v1: the controllers' own kinds, and the scale view on them."""

from typing import Final

from jobrelay.kinds.apps.controllerrevision import CONTROLLER_REVISION
from jobrelay.kinds.apps.daemonset import DAEMON_SET
from jobrelay.kinds.apps.deployment import DEPLOYMENT
from jobrelay.kinds.apps.replicaset import REPLICA_SET
from jobrelay.kinds.apps.scale import apply_scale, scale_of, validate_scale
from jobrelay.kinds.apps.statefulset import STATEFUL_SET
from jobrelay.kinds.strategy import Strategy

__all__ = ["STRATEGIES", "apply_scale", "scale_of", "validate_scale"]

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("apps", "deployments"): DEPLOYMENT,
    ("apps", "replicasets"): REPLICA_SET,
    ("apps", "statefulsets"): STATEFUL_SET,
    ("apps", "daemonsets"): DAEMON_SET,
    ("apps", "controllerrevisions"): CONTROLLER_REVISION,
}
