"""Tests of what Kubernetes objects mean."""
