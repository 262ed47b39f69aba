"""Names that the relay writes on objects or reads from them."""

from __future__ import annotations

from typing import Final

# `.spec.managedBy`
RELAY: Final = "jobrelay.dev/relay"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"

# On the original.
ASSIGNMENT: Final = "jobrelay.dev/assignment"
CLUSTERS: Final = "jobrelay.dev/clusters"
"""Annotation: worker names, comma separated; the workload runs on one of these only."""
PREFERRED: Final = "jobrelay.dev/preferred-clusters"
"""Annotation: worker names in the order of preference."""
CLUSTER_SELECTOR: Final = "jobrelay.dev/cluster-selector"
"""Annotation: a label selector over the workers' labels."""

# On the original or on its namespace.
FENCING: Final = "jobrelay.dev/fencing"
"""Annotation: `true` turns fencing on, `false` off."""
PLACEMENT: Final = "jobrelay.dev/placement"
"""Annotation on a namespace: the placement policy, as of `--placement`."""

# On mirrors.
ORIGIN: Final = "jobrelay.dev/origin"
KUEUE_ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"
ORIGIN_UID: Final = "jobrelay.dev/origin-uid"
ORIGIN_NAME: Final = "jobrelay.dev/origin-name"
EPOCH: Final = "jobrelay.dev/epoch"

# On MultiKueueCluster objects.
STATE: Final = "jobrelay.dev/state"
"""Annotation: `cordoned` takes nothing new, `draining` is emptied, `lost` is dead for good."""
COST: Final = "jobrelay.dev/cost"
WEIGHT: Final = "jobrelay.dev/weight"
