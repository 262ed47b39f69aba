"""Tests of CustomResourceDefinitions and custom resources."""
