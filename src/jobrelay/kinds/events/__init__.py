"""The kinds of events.k8s.io: Events."""
