"""The human queue and those who answer it."""
