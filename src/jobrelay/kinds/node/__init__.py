"""The kinds of node.k8s.io: RuntimeClasses."""
