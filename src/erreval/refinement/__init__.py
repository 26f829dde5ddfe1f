"""Uncertainty, inconsistency, selection: plain numpy, no I/O."""
