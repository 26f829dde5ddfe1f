"""Trained Error Identifiers as files: what may lie in a folder of one, archives, pulling, and finding one by name."""
