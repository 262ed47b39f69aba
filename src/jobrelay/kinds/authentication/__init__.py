"""The kinds of authentication.k8s.io: token requests."""
