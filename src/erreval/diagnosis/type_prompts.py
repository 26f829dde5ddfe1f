"""How prompts tell a chat model what the eleven labels mean."""

from __future__ import annotations

from erreval.taxonomy import ALL_TYPES, DEFINITIONS


def definitions() -> str:
    """The eleven labels with their definitions, a line each, in the order of the taxonomy."""
    return "\n".join(f"- {t.value}: {DEFINITIONS[t]}" for t in ALL_TYPES)
