"""Setting up real clusters: what the relay needs on the management cluster, and who it is on workers.

What is to be there is made by pure functions (`management`, `identity`, `policy`); `applying`, `joining` and `leaving` bring
it about and undo it, `checking` looks at what is.
"""
