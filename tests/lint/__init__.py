"""Tests of the checks that `make lint` runs."""
