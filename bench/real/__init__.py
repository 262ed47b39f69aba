"""The relay on real clusters, and embedded clusters beside real ones, measured in one run. `python -m bench.real`."""
