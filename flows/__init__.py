"""Prefect: what runs when. A task runs a stage, it never does the work itself."""

from flows.environment import prepare

prepare()  # Prefect reads its environment while it is imported, so this comes before any module here can import it.
