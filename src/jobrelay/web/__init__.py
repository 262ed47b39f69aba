"""The dashboard: pages about the workloads, rendered on the server, for `jobrelay dashboard` and inside `relay run`.

It has no rights of its own. Whatever a page shows is read from the management cluster and from the relay's API there
with the identity of the person who reads them, so RBAC decides about pages as it does about commands. It changes
nothing.
"""
