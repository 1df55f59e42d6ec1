"""Prompt → Reply: models, and the chain that caches, counts, retries and limits their calls."""
