"""Detectors of errors in questions: one module per error type, no training, milliseconds, each with its evidence.

``registry.run_detectors`` asks all of them; ``base.Detector`` says what one is.
"""
