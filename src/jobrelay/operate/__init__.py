"""Setting up real clusters: what the relay needs on the management cluster, and who it is on workers.

What is to be there is made by pure functions (`management`, `identity`, `policy`); `joining`, `installing` and `checking` bring it
about or compare it with what is.
"""
