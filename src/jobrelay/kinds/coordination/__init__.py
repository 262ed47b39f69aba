"""The kinds of coordination.k8s.io: Leases."""
