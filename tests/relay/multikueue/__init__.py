"""The relay as the controller of MultiKueue checks."""
