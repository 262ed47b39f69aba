"""Kubernetes batch work across many clusters."""

__version__ = "0.1.0"
