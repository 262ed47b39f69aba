"""MultiKueue's own controller against the relay, beside real Kueue on real clusters. See `__main__`."""
