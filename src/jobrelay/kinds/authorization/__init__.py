"""The kinds of authorization.k8s.io: access reviews."""
