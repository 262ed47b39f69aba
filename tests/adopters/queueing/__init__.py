"""Scripts of queues, Workloads and events, played to real Kueue and to this project's own admission."""
