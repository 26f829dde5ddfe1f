"""Prefect: what runs when. A task runs a stage, it never does the work itself."""
