"""Resource quotas: what objects use, whether a write fits, and what a namespace has used. Pure functions."""
