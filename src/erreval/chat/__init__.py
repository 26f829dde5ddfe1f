"""Clients for chat models."""
