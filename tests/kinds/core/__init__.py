"""Tests of the core group."""
