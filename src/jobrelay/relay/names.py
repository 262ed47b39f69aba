"""Names that the relay writes on objects or reads from them."""

from __future__ import annotations

from typing import Final

# On the original.
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

# On MultiKueueCluster objects.
STATE: Final = "jobrelay.dev/state"
"""Annotation: `cordoned` takes nothing new, `draining` is emptied, `lost` is dead for good."""
COST: Final = "jobrelay.dev/cost"
WEIGHT: Final = "jobrelay.dev/weight"
NAMESPACES: Final = "jobrelay.dev/namespaces"
"""Annotation: the namespaces that the worker serves, comma separated; all if it is absent."""

# On the relay's Lease.
ENDPOINT: Final = "jobrelay.dev/endpoint"
"""Annotation: the address of the leading relay."""

# On Secrets with a worker's kubeconfig.
RENEW: Final = "jobrelay.dev/renew-token"
"""Annotation: `true` has the relay renew the service account token in the kubeconfig."""
