"""Measures the speed and size that the project promises, in one run: `python -m bench`."""
