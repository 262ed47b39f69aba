"""The kinds of the core group that are not pods: what is particular about each of them."""

from __future__ import annotations
