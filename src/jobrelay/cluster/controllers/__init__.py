"""The cluster's own controllers: what happens by itself after a write."""
