"""The kinds of flowcontrol.apiserver.k8s.io: FlowSchemas and PriorityLevelConfigurations."""

from typing import Final

from jobrelay.kinds.flowcontrol import flowschemas, prioritylevels
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {**flowschemas.STRATEGIES, **prioritylevels.STRATEGIES}
