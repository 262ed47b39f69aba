"""The relay: delegated workloads run on worker clusters, and their status comes back."""
