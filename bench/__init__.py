"""How fast, how small: the figures that the project promises, measured in one run. `python -m bench`."""
