"""Looks for what workloads need on workers, makes copies of what is missing, and removes them again."""

from __future__ import annotations
