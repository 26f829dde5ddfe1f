"""Detectors with evidence, error injection, the Error Identifier and the Verifier."""
