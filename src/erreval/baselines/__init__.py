"""Reference-free baselines from the literature, the trivial ones included."""
