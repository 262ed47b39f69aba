"""Tests of what is true of any kind."""
