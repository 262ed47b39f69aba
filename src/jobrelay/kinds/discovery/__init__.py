"""The kinds of discovery.k8s.io: EndpointSlices."""
