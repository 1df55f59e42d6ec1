"""Weights on disk: GGUF files read, rewritten, measured, and kept in the cache folder."""
