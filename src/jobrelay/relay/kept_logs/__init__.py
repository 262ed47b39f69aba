"""The last part of the logs of pods whose mirror was removed, within bounds that the operator sets.

It is in ConfigMaps of the relay's own namespace, one for each workload. So it survives the relay, all replicas find it,
and users read it only through the relay, which asks RBAC about the original first; it takes nothing of their quotas.
The bounds keep it small beside what the API server holds anyway.
"""
