"""Ballot → Prompt. The words are in ``templates/``; no prompt text stands in code."""
