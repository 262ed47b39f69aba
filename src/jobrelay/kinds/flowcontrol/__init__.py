"""The kinds of flowcontrol.apiserver.k8s.io: FlowSchemas and PriorityLevelConfigurations."""

from jobrelay.kinds.flowcontrol.flowschemas import STRATEGIES

__all__ = ["STRATEGIES"]
