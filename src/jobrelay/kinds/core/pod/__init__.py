"""Pods and pod templates: defaults, checks, warnings, strategies."""
